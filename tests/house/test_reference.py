#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The generated reference comes out without a warning: every comment is one that Doxygen understands."""
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

root = Path(__file__).resolve().parents[2]
if shutil.which("doxygen") is None:
    print("skipped: no doxygen")
    sys.exit(77)
with tempfile.TemporaryDirectory() as folder:
    settings = (root / "docs/Doxyfile").read_text() + f'\nOUTPUT_DIRECTORY = "{folder}"\n'
    run = subprocess.run(["doxygen", "-"], input=settings, cwd=root, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    pages = [name for name in os.listdir(Path(folder) / "html") if name.endswith(".html")]
    if run.returncode != 0 or run.stdout.strip() or len(pages) < 100:
        sys.exit(f"{run.stdout}\ndoxygen ended with {run.returncode} and wrote {len(pages)} pages")
    print(f"{len(pages)} pages")
