# SPDX-License-Identifier: MIT
"""C++ for single PTX instructions. RULES lists every instruction that is known; another one is an error.

A register is a C++ variable: .pred bool, .b16 uint16_t, .b32 uint32_t, .f32 float, .b64 uint64_t, .f64 double. Addresses of shared and
local memory are offsets, as on a GPU, and cvta turns them into pointers. Names that are used here without definition are ptx_host.hpp's.
"""
import re

from ptx_parse import BYTES, PtxError

CPP = {"pred": "bool", "f32": "float", "f64": "double"} | {
    name: ("int" if name[0] == "s" else "uint") + f"{8 * size}_t" for name, size in BYTES.items() if name[0] != "f"}
RAW = {"f32": "b32", "f64": "b64"}
COMPARE = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "lo": "<", "ls": "<=", "hi": ">", "hs": ">="}
SPECIAL = {f"%{ptx}.{axis}": f"{cpp}.{axis}" for axis in "xyz"
           for ptx, cpp in (("tid", "threadIdx"), ("ntid", "blockDim"), ("ctaid", "blockIdx"), ("nctaid", "gridDim"))}
SPECIAL["%laneid"] = "cuda_host::lane()"


def is_float(kind):
    return kind[0] == "f"


class Translator:
    """The instructions of one kernel. `symbols` maps names of parameters and memory to the C++ expressions of their addresses."""

    def __init__(self, registers, symbols):
        self.registers, self.symbols = registers, symbols

    # --- operands

    def kind(self, register):
        if register not in self.registers:
            raise PtxError(f"unknown register '{register}'")
        return self.registers[register]

    def value(self, operand, kind):
        """The operand as a C++ expression of that PTX type."""
        if operand.startswith("!r_"):
            return "!" + self.value(operand[1:], "pred")
        if operand.startswith("r_"):
            own = self.kind(operand)
            if own == kind:
                return operand
            if "pred" in (own, kind) or BYTES[own] < BYTES[kind] or (is_float(own) or is_float(kind)) and BYTES[own] != BYTES[kind]:
                raise PtxError(f"a register of type {own} in place of {kind}")
            if is_float(kind):
                return f"__builtin_bit_cast({CPP[kind]}, {operand})"
            if is_float(own):
                operand = f"__builtin_bit_cast({CPP[RAW[own]]}, {operand})"
            return f"({CPP[kind]}){operand}"
        if operand in SPECIAL:
            return f"({CPP[kind]}){SPECIAL[operand]}"
        if match := re.fullmatch(r"0[fF]([0-9a-fA-F]{8})|0[dD]([0-9a-fA-F]{16})", operand):
            word = "f32" if match[1] else "f64"
            bits = f"0x{match[1] or match[2]}u" + ("" if match[1] else "ll")
            if kind in (word, RAW[word]):
                return f"__builtin_bit_cast({CPP[word]}, {bits})" if kind == word else bits
        elif match := re.fullmatch(r"(-?(?:0[xX][0-9a-fA-F]+|\d+))U?", operand):
            if kind == "pred":
                return "true" if int(match[1], 0) else "false"
            if not is_float(kind):
                return f"({CPP[kind]}){int(match[1], 0) % 2**64}ull"
        elif operand in self.symbols and not is_float(kind):
            return f"({CPP[kind]})({self.symbols[operand]})"
        raise PtxError(f"unknown operand '{operand}'")

    def store(self, register, kind, expression):
        """register = expression, which is of that PTX type; a wider register is filled with the sign of an s type, else with zeros."""
        if register == "_":
            return ""
        own = self.kind(register)
        if own == kind or "pred" in (own, kind):
            if own != kind:
                raise PtxError(f"a result of type {kind} for a register of type {own}")
            return f"{register} = {expression};"
        if is_float(own) or is_float(kind):
            if BYTES[own] != BYTES[kind]:
                raise PtxError(f"a result of type {kind} for a register of type {own}")
            if is_float(own):
                return f"{register} = __builtin_bit_cast({CPP[own]}, ({CPP[RAW[own]]})({expression}));"
            return f"{register} = __builtin_bit_cast({CPP[own]}, ({CPP[kind]})({expression}));"
        if BYTES[own] < BYTES[kind]:
            raise PtxError(f"a result of type {kind} for a register of type {own}")
        return f"{register} = ({CPP[own]})({CPP[kind]})({expression});"

    def address(self, operand):
        match = re.fullmatch(r"\[\s*([\w$]+)\s*(?:\+\s*(-?(?:0[xX][0-9a-fA-F]+|\d+)))?\s*\]", operand)
        if not match:
            raise PtxError(f"unknown address '{operand}'")
        base = self.value(match[1], "u64") if not match[1].startswith("r_") else f"(uint64_t){self.value(match[1], self.kind(match[1]))}"
        return base + (f" + {int(match[2], 0) % 2**64}ull" if match[2] else "")

    @staticmethod
    def several(operand):
        return [part.strip() for part in operand.strip("{}").split(",")]

    # --- instructions: each gets the match of its rule, the line, and the operands

    def branch(self, _, line, to):
        return f"goto {to.replace('$', '_')};"

    def leave(self, _, line):
        return "return leave(counted);"

    def memory(self, m, line, first, second):
        where, count, kind = m[2] or "generic", int(m[3] or 1), m[4]
        size, raw = BYTES[kind], RAW.get(kind, kind)
        registers = self.several(first if m[1] == "ld" else second)
        if len(registers) != count:
            raise PtxError(f"{len(registers)} registers in place of {count}")
        place = f"{where}_{m[1]}({self.address(second if m[1] == 'ld' else first)}, {size * count}, {line})"
        if m[1] == "ld":
            body = " ".join(self.store(r, kind, f"read<{CPP[kind]}>(q, {i * size})") for i, r in enumerate(registers))
        else:
            body = " ".join(f"write<{CPP[raw]}>(q, {i * size}, {self.value(r, raw)});" for i, r in enumerate(registers))
        return f"auto* const q = {place}; {body}"

    def move(self, m, line, to, source):
        kind = RAW.get(m[1], m[1])
        if to.startswith("{") or source.startswith("{"):
            parts = self.several(to if to.startswith("{") else source)
            bits = 8 * BYTES[kind] // len(parts)
            part = f"b{bits}"
            if part not in BYTES:
                raise PtxError(f"{len(parts)} parts of {kind}")
            if to.startswith("{"):
                return f"const {CPP[kind]} x = {self.value(source, kind)}; " + " ".join(
                    self.store(r, part, f"({CPP[part]})(x >> {bits * i})") for i, r in enumerate(parts))
            return self.store(to, kind, " | ".join(f"({CPP[kind]}){self.value(r, part)} << {bits * i}" for i, r in enumerate(parts)))
        return self.store(to, kind, self.value(source, kind))

    def convert_address(self, m, line, to, source):
        sign = "-" if m[1] else "+"
        base = "" if m[2] == "global" else f" {sign} {m[2]}_base()"
        return self.store(to, "u64", self.value(source, "u64") + base)

    def convert(self, m, line, to, source):
        rounding, kind, given = m[1], m[2], m[3]
        x = self.value(source, given)
        if is_float(given):
            if rounding == "rn" or rounding is None:
                if not is_float(kind) or (rounding is None) != (BYTES[kind] > BYTES[given]):
                    raise PtxError("unknown rounding")
                return self.store(to, kind, f"({CPP[kind]}){x}")
            x = {"rni": "nearest", "rzi": "std::trunc", "rmi": "std::floor", "rpi": "std::ceil"}[rounding] + f"({x})"
            if is_float(kind):
                if kind != given:
                    raise PtxError("unknown rounding")
                return self.store(to, kind, x)
            return self.store(to, kind, f"saturated<{CPP[kind]}>({x})")
        if (rounding == "rn") != is_float(kind) or rounding not in (None, "rn"):
            raise PtxError("unknown rounding")
        return self.store(to, kind, f"({CPP[kind]})({x})")

    def two_bfloat16(self, _, line, to, high, low):
        return self.store(to, "b32", f"bfloat16_pair({self.value(high, 'f32')}, {self.value(low, 'f32')})")

    def compare(self, m, line, to, left, right):
        name, kind = m[1], m[2]
        start = f"const {CPP[kind]} x = {self.value(left, kind)}, y = {self.value(right, kind)}; "
        ordered = "(x == x && y == y)"
        if name in ("num", "nan") and is_float(kind):
            result = ordered if name == "num" else "!" + ordered
        elif is_float(kind) and name[-1] == "u" and name[:-1] in COMPARE:  # true if one of them is NaN
            result = f"!{ordered} || x {COMPARE[name[:-1]]} y"
        elif name in COMPARE and (not is_float(kind) or name not in ("lo", "ls", "hi", "hs")):
            result = f"{ordered} && x != y" if is_float(kind) and name == "ne" else f"x {COMPARE[name]} y"
        else:
            raise PtxError(f"unknown comparison '{name}'")
        return start + self.store(to, "pred", result)

    def select(self, m, line, to, left, right, condition):
        kind = RAW.get(m[1], m[1])
        return self.store(to, kind, f"{self.value(condition, 'pred')} ? {self.value(left, kind)} : {self.value(right, kind)}")

    def arithmetic(self, m, line, to, left, right):
        name, kind = m[1], m[2]
        x, y = self.value(left, kind), self.value(right, kind)
        sign = {"add": "+", "sub": "-", "mul": "*", "div": "/"}[name]
        if is_float(kind):
            return self.store(to, kind, f"{x} {sign} {y}")
        wide = "u64" if BYTES[kind] == 8 else "u32"  # wraps around, and 16 bits are not promoted to int
        return self.store(to, kind, f"({CPP[kind]})(({CPP[wide]}){x} {sign} ({CPP[wide]}){y})")

    def divide(self, m, line, to, left, right):
        return self.store(to, m[2], f"{'quotient' if m[1] == 'div' else 'remainder'}<{CPP[m[2]]}>({self.value(left, m[2])}, {self.value(right, m[2])})")

    def product(self, m, line, to, left, right, *added):
        name, part, kind = m[1], m[2], m[3]
        x, y = self.value(left, kind), self.value(right, kind)
        wide = f"{kind[0]}{2 * int(kind[1:])}"
        if (name == "mad") != bool(added) or part == "wide" and wide not in CPP:
            raise PtxError("unknown form")
        if part == "hi":
            result, result_kind = f"high_part<{CPP[kind]}>({x}, {y})", kind
        elif part == "wide":
            result, result_kind = f"({CPP[wide]})(({CPP[wide]}){x} * ({CPP[wide]}){y})", wide
        else:
            word = "u64" if BYTES[kind] == 8 else "u32"
            result, result_kind = f"({CPP[kind]})(({CPP[word]}){x} * ({CPP[word]}){y})", kind
        for z in added:
            word = "u64" if BYTES[result_kind] == 8 else "u32"
            result = f"({CPP[result_kind]})(({CPP[word]}){result} + ({CPP[word]}){self.value(z, result_kind)})"
        return self.store(to, result_kind, result)

    def fused(self, m, line, to, x, y, z):
        return self.store(to, m[1], f"std::fma({self.value(x, m[1])}, {self.value(y, m[1])}, {self.value(z, m[1])})")

    def logic(self, m, line, to, left, right):
        sign = {"and": "&", "or": "|", "xor": "^"}[m[1]]
        return self.store(to, m[2], f"({CPP[m[2]]})({self.value(left, m[2])} {sign} {self.value(right, m[2])})")

    def shift(self, m, line, to, left, right):
        return self.store(to, m[2], f"{m[1]}<{CPP[m[2]]}>({self.value(left, m[2])}, {self.value(right, 'u32')})")

    def unary(self, m, line, to, source):
        name, kind = m[1], m[2]
        x = self.value(source, kind)
        if name == "not":
            return self.store(to, kind, f"!{x}" if kind == "pred" else f"({CPP[kind]})~{x}")
        if name == "neg":
            return self.store(to, kind, f"-{x}" if is_float(kind) else f"({CPP[kind]})(0ull - (uint64_t){x})")
        if name == "abs":
            return self.store(to, kind, f"std::abs({x})" if is_float(kind) else f"({CPP[kind]})({x} < 0 ? 0ull - (uint64_t){x} : (uint64_t){x})")
        return self.store(to, kind, f"{ {'sqrt.rn': 'std::sqrt', 'rcp.rn': '1 / ', 'rcp.approx.ftz': 'reciprocal', 'ex2.approx.ftz': 'power_of_two'}[name]}({x})")

    def extreme(self, m, line, to, left, right):
        x, y = self.value(left, m[2]), self.value(right, m[2])
        return self.store(to, m[2], f"std::f{m[1]}({x}, {y})" if is_float(m[2]) else f"std::{m[1]}<{CPP[m[2]]}>({x}, {y})")

    def copy_sign(self, m, line, to, sign, size):
        return self.store(to, m[1], f"std::copysign({self.value(size, m[1])}, {self.value(sign, m[1])})")

    def bits(self, m, line, to, *given):
        name = {"brev.b32": "reversed_bits", "bfind.shiftamt.u32": "shift_to_top", "bfi.b32": "insert_bits", "prmt.b32": "permuted_bytes",
                "popc.b32": "std::popcount", "clz.b32": "std::countl_zero"}[m[0]]
        return self.store(to, "u32", f"(uint32_t){name}({', '.join(self.value(x, 'u32') for x in given)})")

    def insert(self, m, line, to, low, high, position, count):
        if (position, count) != ("32", "32"):  # all that nvcc uses: two words side by side
            raise PtxError(f"bits {position} and {count} in place of 32 and 32")
        return self.store(to, "b64", f"{self.value(low, 'u64')} << 32 | ({self.value(high, 'u64')} & 0xFFFFFFFFull)")

    def barrier(self, _, line, number):
        if number != "0":
            raise PtxError(f"unknown barrier '{number}'")
        return f"cuda_host::barrier(file, {line});"

    def warp_barrier(self, _, line, mask):
        return f"__syncwarp({self.value(mask, 'u32')}, file, {line});"

    def shuffle(self, m, line, to, source, lane, clamp, mask):
        to, _, found = (part.strip() for part in to.partition("|"))
        start = f"const Source s = source_{m[1]}({self.value(lane, 'u32')}, {self.value(clamp, 'u32')}, file, {line}); "
        result = f"cuda_host::shuffle<uint32_t>({self.value(mask, 'u32')}, {self.value(source, 'u32')}, s.lane, file, {line})"
        return start + self.store(to, "u32", result) + (self.store(found, "pred", "s.in_range") if found else "")

    def vote(self, m, line, to, condition, mask):
        x = f"__ballot_sync({self.value(mask, 'u32')}, {self.value(condition, 'pred')}, file, {line})"
        if m[1] == "ballot.b32":
            return self.store(to, "u32", x)
        return self.store(to, "pred", f"{x} != 0" if m[1] == "any.pred" else f"{x} == {self.value(mask, 'u32')}")

    def match_any(self, _, line, to, source, mask):
        return self.store(to, "u32", f"__match_any_sync({self.value(mask, 'u32')}, {self.value(source, 'u32')}, file, {line})")

    def multiply_matrices(self, _, line, to, left, right, sums):
        def array(name, kind, operand, n):
            parts = self.several(operand)
            if len(parts) != n:
                raise PtxError(f"{len(parts)} registers in place of {n}")
            return f"{'float' if kind == 'f32' else 'unsigned'} {name}[{n}] = {{{', '.join(self.value(x, kind) for x in parts)}}}; "
        return (array("left", "u32", left, 4) + array("right", "u32", right, 2) + array("sums", "f32", sums, 4) +
                f"cuda_host::mma_m16n8k16(left, right, sums, file, {line}); " +
                " ".join(self.store(r, "f32", f"sums[{i}]") for i, r in enumerate(self.several(to))))

    def load_matrices(self, m, line, to, source):
        registers = self.several(to)
        if len(registers) != 4:
            raise PtxError(f"{len(registers)} registers in place of 4")
        return (f"unsigned words[4]; cuda_host::load_matrices({'true' if m[1] else 'false'}, shared_ld({self.address(source)}, 16, {line}), "
                f"words, file, {line}); " + " ".join(self.store(r, "b32", f"words[{i}]") for i, r in enumerate(registers)))

    def copy_async(self, _, line, to, source, size, used):
        if size != "16":
            raise PtxError(f"{size} bytes in place of 16")
        return (f"const uint32_t used = {self.value(used, 'u32')}; cuda_host::copy_async(copied({self.address(source)}, used, {line}), "
                f"shared_st({self.address(to)}, 16, {line}), used);")

    def wait_for_copies(self, _, line):
        return "cuda_host::wait_for_copies();"

    def fence(self, _, line):
        return ";"

    def atomic_add(self, m, line, to, place, added):
        return (f"auto* const q = {m[1]}_st({self.address(place)}, 4, {line}); const auto old = read<uint32_t>(q, 0); "
                f"write<uint32_t>(q, 0, old + {self.value(added, 'u32')}); {self.store(to, 'u32', 'old')}")

    def translate(self, operation):
        for pattern, method in RULES:
            if match := pattern.fullmatch(operation.name):
                guard = f"if ({self.value(operation.guard, 'pred')}) " if operation.guard else ""
                try:
                    return guard + "{ " + method(self, match, operation.line, *operation.operands) + " }"
                except TypeError as error:
                    if "positional argument" in str(error):
                        raise PtxError(f"{len(operation.operands)} operands") from error
                    raise
        raise PtxError("unknown instruction")


RULES = [(re.compile(pattern.replace("ANY", "[busf](?:8|16|32|64)").replace("INT", "[us](?:16|32|64)").replace("FLOAT", "f(?:32|64)")
                     .replace("BITS", "b(?:16|32|64)")), method) for pattern, method in (
    (r"(ld|st)(?:\.(param|global|shared|local))?(?:\.nc|\.cg)?(?:\.v([24]))?\.(ANY)", Translator.memory),
    (r"bra(?:\.uni)?", Translator.branch),
    (r"ret", Translator.leave),
    (r"(add|sub|mul|div)\.rn\.(FLOAT)", Translator.arithmetic),
    (r"(add|sub|mul)\.(FLOAT)", Translator.arithmetic),
    (r"(add|sub)\.(INT)", Translator.arithmetic),
    (r"(div|rem)\.(INT)", Translator.divide),
    (r"(mul|mad)\.(lo|hi|wide)\.(INT)", Translator.product),
    (r"fma\.rn\.(FLOAT)", Translator.fused),
    (r"mov\.(ANY|pred)", Translator.move),
    (r"cvta(\.to)?\.(global|shared|local)\.u64", Translator.convert_address),
    (r"cvt\.rn\.bf16x2\.f32", Translator.two_bfloat16),
    (r"cvt(?:\.(rn|rni|rzi|rmi|rpi))?\.([usf](?:8|16|32|64))\.([usf](?:8|16|32|64))", Translator.convert),
    (r"setp\.([a-z]+)\.(ANY)", Translator.compare),
    (r"selp\.(ANY)", Translator.select),
    (r"(and|or|xor)\.(BITS|pred)", Translator.logic),
    (r"(shl)\.(BITS)", Translator.shift),
    (r"(shr)\.(INT|BITS)", Translator.shift),
    (r"(not)\.(BITS|pred)", Translator.unary),
    (r"(neg)\.(s(?:16|32|64)|FLOAT)", Translator.unary),
    (r"(abs)\.(s(?:16|32|64)|FLOAT)", Translator.unary),
    (r"(sqrt\.rn|rcp\.rn)\.(FLOAT)", Translator.unary),
    (r"(rcp\.approx\.ftz)\.(f64)", Translator.unary),
    (r"(ex2\.approx\.ftz)\.(f32)", Translator.unary),
    (r"(min|max)\.(INT|FLOAT)", Translator.extreme),
    (r"copysign\.(FLOAT)", Translator.copy_sign),
    (r"brev\.b32|bfind\.shiftamt\.u32|bfi\.b32|prmt\.b32|popc\.b32|clz\.b32", Translator.bits),
    (r"bfi\.b64", Translator.insert),
    (r"bar(?:rier)?\.sync", Translator.barrier),
    (r"bar\.warp\.sync", Translator.warp_barrier),
    (r"shfl\.sync\.(bfly|idx|down|up)\.b32", Translator.shuffle),
    (r"vote\.sync\.(ballot\.b32|any\.pred|all\.pred)", Translator.vote),
    (r"match\.any\.sync\.b32", Translator.match_any),
    (r"ldmatrix\.sync\.aligned\.m8n8\.x4(\.trans)?\.shared\.b16", Translator.load_matrices),
    (r"cp\.async\.cg\.shared\.global", Translator.copy_async),
    (r"cp\.async\.wait_all", Translator.wait_for_copies),
    (r"atom\.(shared|global)\.add\.u32", Translator.atomic_add),
    (r"membar\.gl", Translator.fence),
    (r"mma\.sync\.aligned\.m16n8k16\.row\.col\.f32\.bf16\.bf16\.f32", Translator.multiply_matrices),
)]
