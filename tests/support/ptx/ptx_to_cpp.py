#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Translates the PTX that nvcc makes of the kernels in cuda/ to C++, one function for each kernel, which runs as one thread.

ptx_host.hpp beside this file has what the functions use, and starts them in place of the kernels that the stand-in for CUDA's runtime
(../cuda_host) would run. So tests see nvcc's own code without a GPU: addresses, vector accesses, exchanges between lanes, barriers.

usage: ptx_to_cpp.py IN.ptx OUT.cpp... [--only REGEX] [--plant FAULT_N]
  With several outputs the kernels are spread over them.
  --only:  translates the kernels in whose mangled name REGEX is found; at least one must
  --plant: for tests, puts a fault into these kernels: no_barrier_N leaves out barrier N (from 0), wrong_lane_N lets a lane read its own value
           in exchange N by exclusive or, misaligned_N shifts load N from global memory by 2 bytes. They are run only after
           ptx_host::choose_set("FAULT_N"), in place of those of the same name
"""
import argparse
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from ptx_instructions import CPP, Translator  # noqa: E402
from ptx_parse import PtxError, parse, round_up  # noqa: E402

# The instructions that are counted besides their total.
KINDS = (("global_accesses", re.compile(r"(ld|st|atom)\.(global\.|(?!param|shared|local))|cp\.async\.cg")),
         ("shared_accesses", re.compile(r"(ld|st|atom)\.shared\.|ldmatrix\.|cp\.async\.cg")),
         ("matrix_products", re.compile(r"mma\.")))


def host_name(name):
    """The kernel's name as the host's compiler mangles it: nvcc gives each file its own anonymous namespace."""
    position = 0
    while match := re.search(r"(\d+)_GLOBAL__N__", name[position:]):
        digits = position + match.start(1)
        end = position + match.end(1) + int(match[1])
        name = name[:digits] + "12_GLOBAL__N_1" + name[end:]
        position = digits + len("12_GLOBAL__N_1")
    return name


def blocks_of(kernel):
    """The operations in runs that are entered at their start and left at their end."""
    blocks = [[]]
    for operation in kernel.operations:
        if operation.name.endswith(":") and blocks[-1]:
            blocks.append([])
        blocks[-1].append(operation)
        if operation.name.startswith("bra") or operation.name == "ret":
            blocks.append([])
    return [block for block in blocks if block]


def counted(block):
    """Adds what a block counts: two sums of 32 bits a word."""
    operations = [o for o in block if not o.name.endswith(":")]
    numbers = [len(operations)] + [sum(1 for o in operations if pattern.match(o.name)) for _, pattern in KINDS]
    lines = [f"  counted[{i // 2}] += {numbers[i] + (numbers[i + 1] << 32)}ull;\n" for i in (0, 2) if numbers[i] or numbers[i + 1]]
    return "".join(lines)


def function(module, kernel, number):
    """C++ of a kernel, and the bytes of its shared memory of known size."""
    symbols = {name: f"{offset}ull" for name, offset in kernel.parameters.items()}
    symbols |= {name: f"{offset}ull" for name, (offset, _) in kernel.memory.items()}
    text = " ".join(operand for operation in kernel.operations for operand in operation.operands)
    words = set(re.findall(r"[\w$]+", text))
    shared_bytes = 0
    for name, (alignment, size) in (module.shared | kernel.shared).items():
        if name in words:
            shared_bytes = round_up(shared_bytes, alignment)
            symbols[name] = f"{shared_bytes}ull"
            shared_bytes += size
    shared_bytes = round_up(shared_bytes, 16)
    symbols |= {name: f"{shared_bytes}ull" for name in module.dynamic}

    translator = Translator(kernel.registers, symbols)
    lines = []
    for block in blocks_of(kernel):
        for operation in block:
            if operation.name.endswith(":"):
                lines.append(f"{operation.name.replace('$', '_')};\n")
        lines.append(counted(block))
        for operation in block:
            if operation.name.endswith(":"):
                continue
            try:
                lines.append(f"  {translator.translate(operation)}\n")
            except PtxError as error:
                what = f"{operation.name} {', '.join(operation.operands)}".strip()
                raise PtxError(f"{module.file}:{operation.line}, kernel {host_name(kernel.name)}: {error} in '{what};'") from error
    variables = [f"  {CPP[kind]} {name}{{}};\n" for name, kind in kernel.registers.items() if name in words or f"!{name}" in words]
    guards = {operation.guard.lstrip("!") for operation in kernel.operations if operation.guard}
    variables += [f"  bool {name}{{}};\n" for name in sorted(guards - words)]
    start = (f"void kernel_{number}(const unsigned char* const parameters) {{\n"
             f"  constexpr std::size_t parameter_bytes = {kernel.parameter_bytes}, local_bytes = {kernel.local_bytes};\n"
             f"  alignas(16) unsigned char local[local_bytes + 1];\n  uint64_t counted[2] = {{}};\n  enter();\n")
    return start + "".join(variables) + "".join(lines) + "  leave(counted);\n}\n", shared_bytes


FAULTS = {"no_barrier": r"bar\.sync", "wrong_lane": r"shfl\.sync\.bfly\.b32", "misaligned": r"ld\.global\.[busf]32"}


def plant(kernel, file, fault):
    """Puts a fault into the kernel; `fault` is one of FAULTS, an underscore and a number."""
    kind, _, number = fault.rpartition("_")
    if kind not in FAULTS or not number.isdigit():
        raise PtxError(f"--plant: expected one of {', '.join(FAULTS)} with '_' and a number, found '{fault}'")
    places = [i for i, o in enumerate(kernel.operations) if re.fullmatch(FAULTS[kind], o.name)]
    if int(number) >= len(places):
        raise PtxError(f"{file}, kernel {kernel.name}: no place for the fault {fault}, there are {len(places)}")
    place = places[int(number)]
    operands = kernel.operations[place].operands
    if kind == "no_barrier":
        del kernel.operations[place]
    elif kind == "wrong_lane":
        operands[2] = "0"
    else:
        base, _, offset = operands[1].strip("[]").partition("+")
        operands[1] = f"[{base}+{int(offset or 0) + 2}]"


def translate(text, file, outputs=1, only="", fault=""):
    """The texts of so many C++ files."""
    module = parse(text, file)
    kernels = [kernel for kernel in module.kernels if re.search(only, kernel.name)]
    if only and not kernels:
        raise PtxError(f"{file}: '{only}' is found in no kernel's name")
    for kernel in kernels if fault else []:
        plant(kernel, file, fault)
    parts, loads = [[] for _ in range(outputs)], [0] * outputs
    for kernel in sorted(kernels, key=lambda k: -len(k.operations)):  # the longest first, always to the part with the least
        part = loads.index(min(loads))
        parts[part].append(kernel)
        loads[part] += len(kernel.operations)
    texts = []
    for part in parts:
        functions, registrations = [], []
        for number, kernel in enumerate(part):
            body, shared_bytes = function(module, kernel, number)
            functions.append(body)
            registrations.append(f'const Registration registration_{number}{{{{"{host_name(kernel.name)}", "{fault}", file, &kernel_{number}, '
                                 f"{kernel.parameter_bytes}, {shared_bytes}}}}};\n")
        texts.append(f'// Made by ptx_to_cpp.py from {file}.\n#include "ptx_host.hpp"\nusing namespace ptx_host;\nnamespace {{\n'
                     f'[[maybe_unused]] constexpr const char* file = "{file}";\n' + "".join(functions + registrations) + "}  // namespace\n")
    return texts


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("input")
    parser.add_argument("outputs", nargs="+")
    parser.add_argument("--only", default="")
    parser.add_argument("--plant", default="")
    arguments = parser.parse_args()
    try:
        with open(arguments.input, encoding="utf-8") as stream:
            text = stream.read()
        texts = translate(text, os.path.basename(arguments.input), len(arguments.outputs), arguments.only, arguments.plant)
        for path, text in zip(arguments.outputs, texts):
            with open(path, "w", encoding="utf-8") as stream:
                stream.write(text)
    except (PtxError, OSError) as error:
        sys.exit(f"ptx_to_cpp: {error}")


if __name__ == "__main__":
    main()
