# SPDX-License-Identifier: MIT
"""Help, docs/commands.md, manual pages and completion, which are made from the descriptions of the options; what README.md shows."""
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from support import BIN, program

ROOT = Path(__file__).resolve().parents[2]


def print_help(*arguments):
    return program("help", *arguments).stdout


def commands():
    lines = print_help().split("\n")
    return [line.split()[0] for line in lines if re.match("  [a-z]", line)]


class Documentation(unittest.TestCase):
    def test_the_page_of_commands_is_the_one_of_this_program(self):
        self.assertEqual((ROOT / "docs/commands.md").read_text(), print_help("--markdown"),
                         "make it anew: build/release/bin/lexformer help --markdown > docs/commands.md")

    def test_the_readme_shows_what_its_first_program_and_match_print(self):
        readme = (ROOT / "README.md").read_text()
        code, shown = re.search(r"```cpp\n(.*?)```\s*```\nmatch: ([^\n]*)", readme, flags=re.S).groups()
        pairs = "".join(f"{left}\t{right}\n" for left, right in re.findall(r'\{"([^"]*)", "([^"]*)"\}', code))
        scores = program("score_pairs", "--model", ROOT / "weights/matcher-small", text=pairs).stdout.split()
        self.assertEqual([round(float(score), 3) for score in scores], [round(float(score), 3) for score in shown.split(", ")])
        data = ROOT / "examples/data"
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([sys.executable, data / "make_tables.py", folder], check=True)
            for name in ("a.csv", "b.csv", "matches.csv"):
                self.assertEqual(Path(folder, name).read_bytes(), (data / name).read_bytes())
            done = program("match", data / "a.csv", data / "b.csv", "--out", f"{folder}/m.csv", "--matches-only", "--text")
            self.assertEqual(done.returncode, 0, done.stderr)
            written = Path(folder, "m.csv").read_text()
            found = [row.split(",")[:2] for row in written.splitlines()[1:]]
            self.assertEqual(found, [row.split(",")[:2] for row in (data / "matches.csv").read_text().splitlines()[1:]])
            for row in re.search(r"```\n(left_id,.*?)```", readme, flags=re.S).group(1).splitlines():
                for part in row.split("[...]"):
                    self.assertIn(part.strip(), written)

    def test_every_command_has_help_with_a_text_for_each_option(self):
        self.assertGreater(len(commands()), 30)
        for name in commands():
            text = print_help(name)
            self.assertEqual(text, program(name, "--help").stdout)
            self.assertIn(f"Usage: lexformer {name} [OPTIONS]", text)
            lines = text.split("\n")
            for line, following in zip(lines, lines[1:]):
                self.assertLessEqual(len(line), 120, f"{name}: {line}")
                if line.startswith("  -") and len(line.split("  ")) < 3 + (len(line) < 36):
                    self.assertTrue(following.startswith(" " * 36) or line[36:].strip(), f"{name}: no text: {line}")

    def test_manual_pages_have_no_warnings(self):
        if shutil.which("groff") is None:
            self.skipTest("groff is not installed")
        for name in commands():
            done = subprocess.run(["groff", "-man", "-Tutf8", "-ww", "-z"], input=print_help("--man", name), capture_output=True, encoding="utf-8")
            self.assertEqual((done.returncode, done.stderr), (0, ""), name)

    def test_completion(self):
        def complete(*words):
            script = (f"source <({BIN}/lexformer help --bash-completion); COMP_WORDS=({' '.join(words)}); COMP_CWORD={len(words) - 1}; "
                      "_lexformer; printf '%s\\n' \"${COMPREPLY[@]}\"")
            return subprocess.run(["bash", "-c", script], capture_output=True, encoding="utf-8", check=True).stdout.split()
        self.assertEqual(complete("lexformer", "eval"), ["evaluate", "evaluate_matches", "evaluate_words"])
        self.assertEqual(complete("lexformer", "match", "--min"), ["--min-precision", "--min-recall"])
        self.assertEqual(complete("lexformer", "match", "--blocking", "to"), ["tokens"])

    def test_an_unknown_command(self):
        for arguments in (("help", "mtach"), ("help", "--man", "mtach"), ("mtach",)):
            done = program(*arguments)
            self.assertEqual(done.returncode, 2)
            self.assertIn("did you mean 'match'", done.stderr)


if __name__ == "__main__":
    unittest.main()
