# SPDX-License-Identifier: MIT
"""Programs that are compiled with -O1 (programs/CMakeLists.txt) contain no kernel: the linker would take it for the library's, too."""
import json
import re
import shutil
import subprocess
import unittest
from support import BIN

COMMANDS = BIN.parent / "compile_commands.json"


class Objects(unittest.TestCase):
    @unittest.skipUnless(shutil.which("nm") and COMMANDS.exists(), "needs nm and a build folder")
    def test_no_kernel_is_compiled_with_o1(self):
        found = {}
        for entry in json.loads(COMMANDS.read_text()):
            command = entry["command"].split()
            path = BIN.parent / command[command.index("-o") + 1]
            if not re.search("/(programs|examples)/", entry["file"]) or "-O1" not in command or path.suffix != ".o" or not path.exists():
                continue
            names = subprocess.run(["nm", "-C", path], stdout=subprocess.PIPE, text=True, check=True).stdout
            found[path.stem] = set(re.findall(r" [wWvVtT] .*?Kernels<lexformer::Cpu>::(\w+)", names))
        if not found:
            self.skipTest("no program was compiled with -O1")
        self.assertEqual({name: kernels for name, kernels in found.items() if kernels}, {})


if __name__ == "__main__":
    unittest.main()
