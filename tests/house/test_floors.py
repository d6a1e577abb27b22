# SPDX-License-Identifier: MIT
"""The house rules that can be read off the text of the headers; see FLOORS and FORBIDDEN."""
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
INCLUDE = ROOT / "include"

# folder -> the folders that its files may include besides their own
FLOORS = {
    "core": "",
    "kernels/products": "core",
    "kernels": "core kernels/products",
    "autograd": "core kernels",
    "ops": "core kernels kernels/products autograd",
    "text": "core",
    "noise": "core text",
    "io": "core text",
    "nn": "core kernels kernels/products autograd ops io",
    "data": "core text noise io",
    "knowledge": "core text io data",
    "metrics": "core kernels ops text io data",
    "attention": "core kernels autograd ops nn text io data knowledge",
    "words": "core kernels autograd ops nn text noise io data",
    "models": "core kernels autograd ops nn text io data knowledge metrics attention words",
    "train": "core kernels autograd ops nn text noise io data knowledge metrics attention words models",
    "tables": "core kernels ops text io data metrics attention models train",
}
# one umbrella a room; that of the toolkit is lexformer.hpp
UMBRELLAS = {"lexformer.hpp", "words.hpp", "tables.hpp", "noise.hpp", "metrics.hpp", "knowledge.hpp"}
# folder of programs -> the folders that it may include besides lexformer/
PROGRAM_FLOORS = {"programs": "cli", "report": "report", "cli": "cli report", "match": "cli match report", "train": "cli train report", "use": "cli match train use",
                  "measure": "cli measure report", "terms": "",
                  "examples": "", "bench": "cli common.hpp"}
# external header -> who may include it
EXTERNAL = {
    r"Eigen/.*": r"kernels/products/gemm_eigen\.hpp",
    r"nlohmann/.*": r"io/json\w*\.hpp",
    r"pthread\.h|sched\.h": r"core/(cache_lock|device|parallel|processors)\.hpp",
    r"immintrin\.h": r"kernels/products/(amx_tile|gemm_amx|gemm_tile|gemm_int8_tile|linear_bfloat16_tile|panel_product|transpose16)\.hpp",
    r"sys/mman\.h": r"core/device\.hpp",
    r"sys/file\.h": r"io/file_lock\.hpp",
    r"fcntl\.h|sys/stat\.h": r"io/(file|file_lock)\.hpp",
    r"unistd\.h": r"io/(file|file_lock)\.hpp|kernels/products/amx_permission\.hpp",
    r"sys/syscall\.h": r"kernels/products/amx_permission\.hpp",
}
# forbidden in code (comments and strings removed)
FORBIDDEN = {
    r"\bstd::c(out|err|log)\b|\bf?printf\s*\(|\bputs\s*\(": "no printing in headers",
    r"\b(std::)?(exit|abort|_Exit|terminate)\s*\(": "no exit in headers: throw an Error",
    r"(?<!static_)\bassert\s*\(": "no assert for a user's mistake: throw an Error",
    r"\bstd::\w+_distribution\b|\bstd::(mt19937\w*|random_device)\b|\bs?rand\s*\(": "randomness comes from core/random.hpp",
    r"\b(std::)?(setlocale|stod|stof|stold|strtod|strtof|atof|isalpha|isalnum|isspace|isupper|islower|isdigit|ispunct|tolower|toupper)\s*\(":
        "depends on the locale",
    r"\bstd::(format|source_location|expected|mdspan)\b|\bviews::": "not on g++ 12 and clang 14",
    r"\busing\s+namespace\b": "no using-directives in headers",
    r"\bstd::unordered_(map|set)<(?!.*\b(\w*SeededHash|void\*|double)\b)(?!const void\*)": "an unordered container of keys from files needs SeededHash (core/hash.hpp)",
}
FORBIDDEN_HEADERS = {"iostream", "cassert", "assert.h", "format", "source_location", "expected", "regex", "locale", "cctype"}
MANY_LINES = 400
# header -> the most headers that a program reads with it which links lexformer::compiled
CLOSURES = {"attention/lea.hpp": 51, "models/cross_encoder.hpp": 103}


def code_only(text):
    """The text with comments and string literals blanked, lines kept."""
    pattern = r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"' + r"|(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+'"
    return re.sub(pattern, lambda m: re.sub(r"[^\n]", " ", m.group()), text, flags=re.S)


def check(name, text):
    """Yields (line, what) for each rule that the header `name` (relative to include/lexformer) breaks."""
    lines = text.split("\n")
    if lines[0] != "// SPDX-License-Identifier: MIT":
        yield 1, "the first line must be // SPDX-License-Identifier: MIT"
    if "#pragma once" not in lines:
        yield 1, "no #pragma once"
    folder = str(Path(name).parent) if "/" in name else ""
    if folder and folder not in FLOORS:
        yield 1, f"the folder {folder}/ is on no floor (tests/house/test_floors.py lists them)"
    for number, line in enumerate(lines, 1):
        match = re.match(r'\s*#\s*include\s*(["<])([^">]+)[">]', line)
        if not match:
            continue
        quote, target = match.groups()
        if target.startswith("lexformer/"):
            if quote == "<":
                yield number, f'write #include "{target}"'
            if not (INCLUDE / target).is_file():
                yield number, f"{target} does not exist"
            inner = target.removeprefix("lexformer/")
            floor = str(Path(inner).parent) if "/" in inner else ""
            if folder and inner in UMBRELLAS:
                yield number, "no header of a folder includes an umbrella"
            if folder and floor and floor != folder and floor not in FLOORS[folder].split():
                yield number, f"{folder}/ may not include {floor}/, only: {FLOORS[folder] or 'its own files'}"
        elif quote == '"':
            yield number, f'"{target}": includes are written "lexformer/..."'
        elif target in FORBIDDEN_HEADERS:
            yield number, f"<{target}> is not used in headers"
        elif "/" in target or target.endswith(".h"):
            allowed = [who for pattern, who in EXTERNAL.items() if re.fullmatch(pattern, target)]
            if not allowed or not re.fullmatch(allowed[0], name):
                yield number, f"<{target}> may be included by {allowed[0] if allowed else 'no header'} only"
    for number, line in enumerate(code_only(text).split("\n"), 1):
        for pattern, reason in FORBIDDEN.items():
            if re.search(pattern, line) and not (name == "core/hash.hpp" and "std::random_device" in line):
                yield number, reason


def self_test():
    """Plants one mistake of each kind: a checker that finds nothing is worth nothing."""
    start = "// SPDX-License-Identifier: MIT\n#pragma once\n"
    planted = {
        ("core/a.hpp", start + '#include "lexformer/kernels/products/gemm.hpp"\n'),
        ("text/a.hpp", start + "#include <nlohmann/json.hpp>\n"),
        ("ops/a.hpp", start + "#include <Eigen/Core>\n"),
        ("ops/a.hpp", start + "#include <cuda_runtime.h>\n"),
        ("core/a.hpp", start + "#include <iostream>\n"),
        ("core/a.hpp", start + 'inline void f() { std::printf("x"); }\n'),
        ("core/a.hpp", start + "std::normal_distribution<float> d;\n"),
        ("core/a.hpp", start + "std::unordered_map<std::string, int> m;\n"),
        ("attic/a.hpp", start),
        ("core/a.hpp", "#pragma once\n"),
        ("core/a.hpp", "// SPDX-License-Identifier: MIT\n"),
    }
    missed = [case for case in planted if not list(check(*case))]
    body = "inline int f(\n    int a) {\n  if (a) {\n    return 1;\n  }\n" + "  a += 1;\n" * 3 + "}\n"
    if [*long_functions(start + body, 8)] != [(3, "f", 9)] or [*long_functions(start + body, 9)]:
        sys.exit(f"the checker itself is broken: lengths: {[*long_functions(start + body, 8)]}")
    innocent = start + '// std::cout << "x"\ninline const char* f() { return "exit(1)"; }\nstatic_assert(true);\n'
    if missed or list(check("core/a.hpp", innocent)):
        sys.exit(f"the checker itself is broken: {missed or list(check('core/a.hpp', innocent))}")


def check_umbrellas(names):
    """Each header is included by the umbrella of its room, those of the toolkit by lexformer.hpp. Not io/json.hpp, which is slow to compile, nor
    tables/best_partners.hpp, text_index.hpp and tables of text/, which bodies alone use, nor those that use all number types."""
    implementation = {"kernels/products.hpp", *(f"kernels/products/{name}.hpp" for name in (
        "amx_permission", "amx_tile", "gemm_amx", "gemm_bfloat16", "gemm_blocks", "gemm_eigen", "gemm_int8_tile", "gemm_native", "gemm_tile", "linear_bfloat16_tile",
        "panel_product", "transpose16"))}
    apart = {"io/json.hpp", "text/grapheme_table.hpp", "text/letters_table.hpp", "text/normalization_table.hpp", "tables/best_partners.hpp", "tables/text_index.hpp", "models/compute.hpp", "models/open_scorer.hpp", "models/text_encoder.hpp", "models/word_tagger.hpp"}
    rooms = {umbrella.removesuffix(".hpp") for umbrella in UMBRELLAS}
    names = {name for name in names if "/" in name} - implementation - apart
    for umbrella in sorted(UMBRELLAS):
        room = umbrella.removesuffix(".hpp")
        expected = {name for name in names if (Path(name).parts[0] == room if room != "lexformer" else Path(name).parts[0] not in rooms)}
        included = re.findall(r'#include "lexformer/([^"]+)"', (INCLUDE / "lexformer" / umbrella).read_text())
        for name in sorted(expected - set(included)):
            yield f"include/lexformer/{umbrella}: does not include lexformer/{name}"
        for name in sorted(set(included) - expected - implementation - {"version.hpp"}):
            yield f"include/lexformer/{umbrella}: may not include lexformer/{name}"
        for name in sorted({n for n in included if included.count(n) > 1}):
            yield f"include/lexformer/{umbrella}: includes lexformer/{name} twice"


def closure(name):
    """The headers that a header includes, directly or not, without those of bodies (core/compiled.hpp)."""
    found, left = set(), [name]
    while left:
        depth = bodies = 0  # bodies: the depth of the #if LEXFORMER_BODIES, 0 outside of it
        for line in (INCLUDE / "lexformer" / left.pop()).read_text().split("\n"):
            directive = re.match(r'\s*#\s*(if|else|elif|endif|include)\w*(.*)', line)
            word, rest = directive.groups() if directive else ("", "")
            depth += (word == "if") - (word == "endif")
            if word == "if" and rest.startswith(" LEXFORMER_BODIES"):
                bodies = depth
            elif bodies and (depth < bodies or word == "else" and depth == bodies):
                bodies = 0
            target = re.match(r' "lexformer/(.*)"', rest)
            if word == "include" and target and not bodies and target.group(1) not in found:
                found.add(target.group(1))
                left.append(target.group(1))
    return found


def check_closures():
    for name, most in CLOSURES.items():
        if (count := len(closure(name))) > most:
            yield f"include/lexformer/{name}: includes {count} headers, directly or not; at most {most} (CLOSURES)"


def long_functions(text, most):
    """(line, name, lines) of the functions with more lines than `most`. The text is formatted: a body ends where its line is indented."""
    lines = code_only(text).split("\n")
    for end, line in enumerate(lines):
        if not re.fullmatch(r" *\}", line):
            continue
        indent = line[:-1]
        begin = next((k for k in range(end - 1, -1, -1) if lines[k].startswith(indent) and re.match(r"[^\s}#]", lines[k][len(indent):])), end)
        while begin > 0 and not re.search(r"[;{}]\s*$|^\s*$|^#|^\s*(public|private|protected):$", lines[begin - 1]):
            begin -= 1
        head = " ".join(lines[begin:end])
        name = re.match(r"[^={;]*?([~\w]+|operator\S+)\(", head)
        if name and end - begin + 1 > most and not re.match(r"\s*(namespace|class|struct|enum|if|for|while|switch|do|else|try|return)\b", head):
            yield begin + 1, name.group(1), end - begin + 1


def check_lengths():
    for path in sorted((*ROOT.glob("include/**/*.hpp"), *ROOT.glob("programs/**/*.?pp"), *ROOT.glob("examples/*.cpp"))):
        most = 60 if path.is_relative_to(INCLUDE) else 80
        for line, name, lines in long_functions(path.read_text(), most):
            yield f"{path.relative_to(ROOT)}:{line}: {name} has {lines} lines; at most {most}"


def check_programs():
    """The folders of programs/ include what PROGRAM_FLOORS says, examples the library alone. One file reads command lines."""
    for path in sorted((*ROOT.glob("programs/**/*.?pp"), *ROOT.glob("examples/*.cpp"), *ROOT.glob("bench/*.?pp"))):
        folder, name = path.parent.name, str(path.relative_to(ROOT))
        for target in re.findall(r'#include "([^"]+)"', path.read_text()):
            if target.split("/")[0] not in (*PROGRAM_FLOORS[folder].split(), "lexformer"):
                yield f"{name}: may not include {target}"
        if "<CLI/" in path.read_text() and name != "programs/cli/command_line.cpp":
            yield f"{name}: <CLI/...> is included by programs/cli/command_line.cpp only"


def main():
    self_test()
    errors = []
    headers = sorted((INCLUDE / "lexformer").rglob("*.hpp"))
    names = [str(path.relative_to(INCLUDE / "lexformer")) for path in headers]
    for path, name in zip(headers, names):
        text = path.read_text()
        errors += [f"{path.relative_to(ROOT)}:{line}: {what}" for line, what in check(name, text)]
        if text.count("\n") > MANY_LINES and "Do not edit" not in text[:400]:
            print(f"warning: {path.relative_to(ROOT)}: {text.count(chr(10))} lines; about 300 is the aim")
    errors += [*check_umbrellas(names), *check_closures(), *check_lengths(), *check_programs()]
    for folder in ("examples", "programs", "tests", "bench", "src", "tools", "cmake"):
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in {".cpp", ".py", ".sh", ".cmake"} or path.name == "CMakeLists.txt":
                if "SPDX-License-Identifier: MIT" not in "".join(path.open().readlines()[:2]):
                    errors.append(f"{path.relative_to(ROOT)}:1: no SPDX line")
    print("\n".join(errors) or f"{len(headers)} headers keep the house rules")
    return 1 if errors else 0


sys.exit(main())
