# SPDX-License-Identifier: MIT
"""The tables of docs/results agree with docs/results/data: tools/tables.py --check passes, and finds mistakes planted in a copy."""
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True


def check(folder):
    command = [sys.executable, str(ROOT / "tools/tables.py"), "--check", "--folder", str(folder)]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return done.returncode, done.stdout.strip()


def planted(name, change):
    """What the check says about a copy in which `change` was applied to the text of one file."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder, "results")
        shutil.copytree(ROOT / "docs/results", copy)
        text = (copy / name).read_text(encoding="utf-8")
        changed = change(text)
        if changed == text:
            sys.exit(f"the mistake could not be planted in {name}")
        (copy / name).write_text(changed, encoding="utf-8")
        code, message = check(copy)
        if code == 0:
            sys.exit(f"the check misses a mistake in {name}")
        return message


code, message = check(ROOT / "docs/results")
if code:
    sys.exit(message)
digit = lambda text: re.sub(r"\| (\d)(\d*\.\d)", lambda m: f"| {9 - int(m.group(1))}{m.group(2)}", text, count=1)
mistakes = [("lea.md", digit, "lea.md differs from its data"), ("README.md", digit, "README.md differs from its data"),
            ("data/lea.csv", lambda text: text.replace("\nabt-buy,plain", "\nabt-buy,simple", 1), "lea.md differs from its data"),
            ("data/lea.csv", lambda text: text + "unused,x,y,1,,,,,,\n", "no page shows the experiment unused"),
            ("data/lea.csv", lambda text: text + "unused,x\n", "does not have 10 cells"),
            ("lea.md", lambda text: text + "\n| a | b |\n|---|---|\n| 1 | 2 |\n", "a table without marker"),
            ("lea.md", lambda text: text.replace("<!-- end of table -->", "", 1), "no '<!-- end of table -->'"),
            ("lea.md", lambda text: text.replace("experiment=abt-buy ", "experiment=nothing ", 1), "has no experiment nothing"),
            ("data/claims.csv", lambda text: text + "A claim,lea,nothing,x,y\n", "no number for 'A claim'")]
for name, change, expected in mistakes:
    said = planted(name, change)
    if expected not in said:
        sys.exit(f"a mistake in {name} should give '{expected}', not: {said}")
print(f"{message}; {len(mistakes)} planted mistakes are found")
