# SPDX-License-Identifier: MIT
"""The translator of PTX in tests/support/ptx: what it reads and refuses, and the table of instruction counts. Needs Python alone; what the
translation computes is tested by tests/ptx."""
import contextlib
import io
import stat
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/support/ptx"))
sys.dont_write_bytecode = True
import compare_counts
import ptx_to_cpp
from ptx_parse import PtxError, parse


def kernel(*lines, name="k", before="", parameters=".param .u64 k_0"):
    """PTX of one kernel, whose first line is line 6."""
    body = "".join(f"\t{line}\n" for line in lines)
    return f".version 9.0\n.target sm_80\n{before}\n.visible .entry {name}({parameters})\n{{\n{body}}}\n"


REGISTERS = ".reg .b32 %r<4>; .reg .pred %p<2>; .reg .b16 %rs<2>; .reg .f32 %f<2>; .reg .b64 %rd<3>;"


class Refused(unittest.TestCase):
    def refused(self, expected, *lines, **options):
        with self.assertRaises(PtxError) as caught:
            ptx_to_cpp.translate(kernel(REGISTERS, *lines, **options), "a.ptx")
        self.assertEqual(str(caught.exception), expected)

    def test_instructions(self):
        where = "a.ptx:7, kernel k: "
        self.refused(where + "unknown instruction in 'tanh.approx.f32 r_f0, r_f1;'", "tanh.approx.f32 %f0, %f1;")
        for name in ("add.sat.s32", "add.f16x2", "fma.rz.f32", "cvt.rn.satfinite.e4m3x2.f32", "ld.volatile.global.u32", "atom.global.add.f32",
                     "shfl.bfly.b32", "div.full.f32", "mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32", "ld.global.v8.u32", "setp.lt.and.s32"):
            with self.subTest(name):
                self.refused(f"{where}unknown instruction in '{name} r_r0, r_r1;'", f"{name} %r0, %r1;")
        self.refused(where + "unknown comparison 'qq' in 'setp.qq.s32 r_p0, r_r0, r_r1;'", "setp.qq.s32 %p0, %r0, %r1;")
        self.refused(where + "unknown comparison 'ltu' in 'setp.ltu.s32 r_p0, r_r0, r_r1;'", "setp.ltu.s32 %p0, %r0, %r1;")
        self.refused(where + "unknown rounding in 'cvt.f32.s32 r_f0, r_r1;'", "cvt.f32.s32 %f0, %r1;")
        self.refused(where + "unknown barrier '1' in 'bar.sync 1;'", "bar.sync 1;")

    def test_operands(self):
        where = "a.ptx:7, kernel k: "
        self.refused(where + "unknown operand '%clock' in 'mov.u32 r_r0, %clock;'", "mov.u32 %r0, %clock;")
        self.refused(where + "unknown operand '%r9' in 'mov.u32 r_r0, %r9;'", "mov.u32 %r0, %r9;")
        self.refused(where + "unknown operand 'table' in 'mov.u64 r_rd0, table;'", "mov.u64 %rd0, table;")
        self.refused(where + "2 operands in 'add.s32 r_r0, r_r1;'", "add.s32 %r0, %r1;")
        self.refused(where + "3 registers in place of 4 in 'ld.global.v4.u32 {r_r0, r_r1, r_r2}, [r_rd0];'", "ld.global.v4.u32 {%r0, %r1, %r2}, [%rd0];")
        self.refused(where + "2 registers in place of 4 in 'ldmatrix.sync.aligned.m8n8.x4.shared.b16 {r_r0, r_r1}, [r_r2];'",
                     "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r0, %r1}, [%r2];")
        self.refused(where + "8 bytes in place of 16 in 'cp.async.cg.shared.global [r_r0], [r_rd0], 8, r_r1;'", "cp.async.cg.shared.global [%r0], [%rd0], 8, %r1;")
        self.refused(where + "bits 16 and 32 in place of 32 and 32 in 'bfi.b64 r_rd0, r_rd1, r_rd2, 16, 32;'", "bfi.b64 %rd0, %rd1, %rd2, 16, 32;")
        self.refused(where + "unknown address '[r_rd0+r_rd1]' in 'ld.global.u32 r_r0, [r_rd0+r_rd1];'", "ld.global.u32 %r0, [%rd0+%rd1];")
        self.refused(where + "a register of type b16 in place of u32 in 'add.u32 r_r0, r_rs0, 1;'", "add.u32 %r0, %rs0, 1;")
        self.refused(where + "a result of type u64 for a register of type b32 in 'cvt.u64.u32 r_r0, r_r1;'", "cvt.u64.u32 %r0, %r1;")
        self.refused(where + "a result of type f32 for a register of type b64 in 'add.f32 r_rd0, r_f0, r_f1;'", "add.f32 %rd0, %f0, %f1;")

    def test_declarations(self):
        self.refused("a.ptx:3: unknown declaration '.global .align 4 .b8 table[64]'", "ret;", before=".global .align 4 .b8 table[64];")
        self.refused("a.ptx:3: unknown declaration '.func f(.param .b32 x)'", "ret;", before=".func f(.param .b32 x);")
        self.refused("a.ptx:4, kernel k: unknown parameter '.param .texref t'", "ret;", parameters=".param .texref t")
        self.refused("a.ptx:7, kernel k: unknown declaration '.local .align 4 .u32 x[4]'", ".local .align 4 .u32 x[4];")
        self.refused("a.ptx:7, kernel k: unknown registers '.reg .b128 %q<2>'", ".reg .b128 %q<2>;")
        self.refused("a.ptx:7, kernel k: unknown statement '.branchtargets A, B'", ".branchtargets A, B;")
        with self.assertRaisesRegex(PtxError, "a.ptx:4, kernel k: the kernel has no end"):
            parse(kernel("ret;").rstrip("}\n"), "a.ptx")
        with self.assertRaisesRegex(PtxError, "a.ptx:7, kernel k: 'ret' has no end"):
            parse(kernel("ret"), "a.ptx")

    def test_program(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "b.ptx")
            path.write_text(kernel(REGISTERS, "nonsense;"))
            for arguments, expected in ((["b.ptx"], "b.ptx:7, kernel k: unknown instruction in 'nonsense;'"), (["c.ptx"], "No such file"),
                                        (["b.ptx", "--only", "other"], "b.ptx: 'other' is found in no kernel's name"),
                                        (["b.ptx", "--plant", "wrong_lane_0"], "no place for the fault wrong_lane_0, there are 0"),
                                        (["b.ptx", "--plant", "other_0"], "found 'other_0'")):
                name, *rest = arguments
                with mock.patch.object(sys, "argv", ["ptx_to_cpp", str(Path(folder, name)), str(Path(folder, "out.cpp")), *rest]):
                    with self.assertRaises(SystemExit) as caught:
                        ptx_to_cpp.main()
                self.assertIn(expected, caught.exception.code)
                self.assertTrue(caught.exception.code.startswith("ptx_to_cpp: "))
            self.assertFalse(Path(folder, "out.cpp").exists())


class Read(unittest.TestCase):
    def test_parameters_and_memory(self):
        text = kernel(".local .align 8 .b8 depot[12];", ".shared .align 8 .b8 own[24];", REGISTERS, "mov.u32 %r0, own;", "mov.u32 %r1, of_file;",
                      "mov.u32 %r2, dynamic;", "ret;", before=".shared .align 16 .b8 of_file[20], unused[4];".split(",")[0] + "; .extern .shared .b8 dynamic[];",
                      parameters=".param .u8 a, .param .align 8 .b8 b[12], .param .u64 .ptr .align 1 c, .param .u16 d")
        module = parse(text, "a.ptx")
        self.assertEqual(module.dynamic, {"dynamic"})
        self.assertEqual(module.shared, {"of_file": (16, 20)})
        found = module.kernels[0]
        self.assertEqual(found.parameters, {"a": 0, "b": 8, "c": 24, "d": 32})
        self.assertEqual(found.parameter_bytes, 34)
        self.assertEqual((found.memory, found.local_bytes), ({"depot": (0, 12)}, 12))
        cpp = ptx_to_cpp.translate(text, "a.ptx")[0]
        for line in ("r_r1 = (uint32_t)(uint32_t)((uint32_t)(0ull));", "((uint32_t)(24ull));", "((uint32_t)(48ull));", '"k", "", file, &kernel_0, 34, 48'):
            self.assertIn(line, cpp)

    def test_lines_comments_and_scopes(self):
        text = kernel(REGISTERS, "/* two", "lines */ mov.u32 %r0, 1; // mov.u32 %r0, 2;", "{", ".reg .b32 %r0;", "mov.u32 %r0, 3;", "}", "$L_1:", "@!%p0 bra $L_1;")
        operations = parse(text, "a.ptx").kernels[0].operations
        self.assertEqual([(o.line, o.name, o.operands, o.guard) for o in operations],
                         [(8, "mov.u32", ["r_r0", "1"], ""), (11, "mov.u32", ["r_r0_1", "3"], ""), (13, "$L_1:", [], ""), (14, "bra", ["$L_1"], "!r_p0")])

    def test_names_parts_and_counts(self):
        self.assertEqual(ptx_to_cpp.host_name("_ZN1a44_GLOBAL__N__4be99380_7_rows_cu_9d417648_84681kINS_43_GLOBAL__N__4be99380_7_rows_c_9d417648_84681FEEEvv"),
                         "_ZN1a12_GLOBAL__N_11kINS_12_GLOBAL__N_11FEEEvv")
        text = kernel("ret;", name="one") + kernel(REGISTERS, "ld.global.u32 %r0, [%rd0];", "ld.shared.u32 %r1, [%r0];", "@%p0 ret;", "st.u32 [%rd0], %r1;", "ret;", name="two")
        parts = ptx_to_cpp.translate(text, "a.ptx", outputs=2)
        self.assertIn('"two"', parts[0])
        self.assertNotIn('"one"', parts[0])
        self.assertIn('"one"', parts[1])
        self.assertIn(f"counted[0] += {3 + (1 << 32)}ull;\n  counted[1] += 1ull;", parts[0])  # up to the first ret
        self.assertIn(f"counted[0] += {2 + (1 << 32)}ull;", parts[0])
        self.assertEqual(ptx_to_cpp.translate(text, "a.ptx", only="tw")[0].count("Registration registration"), 1)

    def test_planted_faults(self):
        text = kernel(REGISTERS, "bar.sync 0;", "ld.global.u32 %r0, [%rd0+4];", "shfl.sync.bfly.b32 %r0, %r0, 16, 31, -1;", "bar.sync 0;")
        line = {"no_barrier_0": "", "no_barrier_1": "", "misaligned_0": "+ 6ull", "wrong_lane_0": "source_bfly((uint32_t)0ull"}
        for fault, expected in line.items():
            cpp = ptx_to_cpp.translate(text, "a.ptx", fault=fault)[0]
            self.assertEqual(cpp.count("cuda_host::barrier"), 1 if "barrier" in fault else 2)
            self.assertIn(expected, cpp)
            self.assertIn(f'"k", "{fault}"', cpp)


class Counts(unittest.TestCase):
    HEAD = "# nvcc 13.0.88\ncase\tkernel\tinstructions\tglobal\n"

    def compare(self, table, found, *options):
        with tempfile.TemporaryDirectory() as folder:
            program, path = Path(folder, "program"), Path(folder, "table.tsv")
            program.write_text("#!/bin/sh\ncat <<'END'\n" + found + "END\n")
            program.chmod(program.stat().st_mode | stat.S_IXUSR)
            path.write_text(table)
            with mock.patch.object(sys, "argv", ["compare_counts.py", str(program), str(path), *options]), contextlib.redirect_stdout(io.StringIO()) as out:
                code = compare_counts.main()
            self.text = path.read_text()
        return code, out.getvalue()

    def test_small_changes_pass(self):
        self.assertEqual(self.compare(self.HEAD + "a\tk\t100\t40\n", self.HEAD.replace(".88", ".99") + "a\tk\t105\t38\n")[0], 0)

    def test_changes_are_shown(self):
        code, out = self.compare(self.HEAD + "a\tk\t100\t40\nb\tk\t7\t7\n", self.HEAD + "a\tk\t106\t40\nc\tk\t7\t7\n")
        self.assertEqual(code, 1)
        self.assertIn("- a  k  instructions=100  global=40\n+ a  k  instructions=106 (+6.0 %)  global=40\n- b  k  instructions=7  global=7\n+ c  k", out)
        self.assertIn("table.tsv --write\n", out)
        self.assertEqual(self.compare(self.HEAD + "a\tk\t100\t0\n", self.HEAD + "a\tk\t100\t1\n")[0], 1)

    def test_written_and_skipped(self):
        found = self.HEAD + "a\tk\t106\t40\n"
        self.assertEqual(self.compare("anything", found, "--write")[0], 0)
        self.assertEqual(self.text, found)
        code, out = self.compare(found, self.HEAD.replace("13.0", "13.1") + "a\tk\t1\t1\n")
        self.assertEqual(code, 77)
        self.assertIn("the table was made with nvcc 13.0.88, here is nvcc 13.1.88", out)

    def test_bad_tables(self):
        for table, expected in (("", "line 1 must be"), (self.HEAD + "a\tk\t1\n", "table.tsv:3: expected"), (self.HEAD + "a\tk\t1\tx\n", "table.tsv:3")):
            with self.assertRaises(SystemExit) as caught:
                self.compare(table, self.HEAD)
            self.assertIn(expected, caught.exception.code)


if __name__ == "__main__":
    unittest.main()
