# SPDX-License-Identifier: MIT
"""Reads PTX as nvcc writes it: kernels with their parameters, registers, shared and local memory, and instructions.

PTX ISA 9.0, https://docs.nvidia.com/cuda/parallel-thread-execution. Whatever is not known is an error that names file, line and kernel.
"""
import bisect
import re
from dataclasses import dataclass, field

BYTES = {f"{kind}{bits}": bits // 8 for kind in "bus" for bits in (8, 16, 32, 64)} | {"f32": 4, "f64": 8}


class PtxError(Exception):
    pass


@dataclass
class Operation:
    """One instruction: [@[!]guard] name operands. A label has a name that ends with ':'."""
    line: int
    name: str
    operands: list
    guard: str = ""


@dataclass
class Kernel:
    name: str
    line: int
    parameters: dict = field(default_factory=dict)  # name -> offset
    parameter_bytes: int = 0
    registers: dict = field(default_factory=dict)  # C++ name -> type
    memory: dict = field(default_factory=dict)  # .local: name -> (offset, bytes)
    local_bytes: int = 0
    shared: dict = field(default_factory=dict)  # .shared of known size: name -> (alignment, bytes)
    operations: list = field(default_factory=list)


@dataclass
class Module:
    file: str
    kernels: list
    shared: dict  # of the whole file, as Kernel.shared
    dynamic: set  # names of shared memory whose size is given at the launch


def round_up(n, unit):
    return (n + unit - 1) // unit * unit


def without_comments(text):
    """The text with comments replaced by as many line ends as they hold."""
    return re.sub(r"//[^\n]*|/\*.*?\*/", lambda m: "\n" * m[0].count("\n"), text, flags=re.S)


def split_operands(text):
    """Splits at the commas outside of brackets."""
    parts, depth, start = [], 0, 0
    for i, c in enumerate(text):
        depth += (c in "{[") - (c in "}]")
        if c == "," and depth == 0:
            parts.append(text[start:i].strip())
            start = i + 1
    parts.append(text[start:].strip())
    return [p for p in parts if p]


class Parser:
    MARKS = re.compile(r"[{}\[\];:]")

    def __init__(self, text, file):
        self.text, self.file, self.kernel = without_comments(text), file, None
        self.line_ends = [m.start() for m in re.finditer("\n", self.text)]

    def fail(self, line, what):
        where = f", kernel {self.kernel.name}" if self.kernel else ""
        raise PtxError(f"{self.file}:{line}{where}: {what}")

    def line_at(self, position):
        return bisect.bisect_left(self.line_ends, position) + 1

    def module(self):
        module = Module(self.file, [], {}, set())
        entry = re.compile(r"(?:\.visible\s+|\.weak\s+)?\.entry\s+([\w$]+)\s*\(([^)]*)\)([^{;]*)\{")
        position = 0
        while match := entry.search(self.text, position):
            self.declarations(position, match.start(), module)
            self.kernel = Kernel(match[1], self.line_at(match.start(1)))
            self.parameters(match[2], self.kernel.line)
            for directive in match[3].split("\n"):
                if not re.match(r"\s*(\.(maxntid|minnctapersm|reqntid|maxnreg)\b[\s\d,]*)?$", directive):
                    self.fail(self.kernel.line, f"unknown directive '{directive.strip()}'")
            position = self.body(match.end())
            module.kernels.append(self.kernel)
            self.kernel = None
        self.declarations(position, len(self.text), module)
        return module

    def declarations(self, begin, end, module):
        """What stands outside of kernels: directives without ';' that need no attention, and shared memory."""
        text = re.sub(r"^\s*\.(version|target|address_size)\b[^\n]*", lambda m: " " * len(m[0]), self.text[begin:end], flags=re.M)
        for match in re.finditer(r"[^;\s][^;]*", text):
            found = self.shared_memory(match[0].strip())
            if found is None:
                self.fail(self.line_at(begin + match.start()), f"unknown declaration '{' '.join(match[0].split())[:80]}'")
            name, alignment, size = found
            if size is None:
                module.dynamic.add(name)
            else:
                module.shared[name] = (alignment, size)

    @staticmethod
    def shared_memory(text):
        """(name, alignment, bytes or None), or None if the text declares something else."""
        match = re.match(r"(?:\.(?:extern|visible|weak)\s+)?\.shared\s+(?:\.align\s+(\d+)\s+)?\.(\w+)\s+([\w$]+)(?:\[(\d*)\])?$", text)
        if not match or match[2] not in BYTES:
            return None
        unit = BYTES[match[2]]
        size = None if match[4] == "" else unit * int(match[4] or 1)
        return match[3], int(match[1] or unit), size

    def parameters(self, text, line):
        offset = 0
        for parameter in split_operands(text):
            match = re.match(r"\.param\s+(?:\.align\s+(\d+)\s+)?\.(\w+)\s+(?:\.ptr\s+(?:\.\w+\s+)*?(?:\.align\s+\d+\s+)?)?([\w$]+)(?:\[(\d+)\])?$",
                             parameter)
            if not match or match[2] not in BYTES:
                self.fail(line, f"unknown parameter '{' '.join(parameter.split())}'")
            unit = BYTES[match[2]]
            offset = round_up(offset, int(match[1] or unit))
            self.kernel.parameters[match[3]] = offset
            offset += unit * int(match[4] or 1)
        self.kernel.parameter_bytes = offset

    def body(self, position):
        """Reads up to the closing brace of the kernel; returns the position behind it."""
        scopes, count = [{}], 0  # PTX name of a register -> C++ name, innermost scope last
        start, depth, text = position, 0, self.text
        for match in self.MARKS.finditer(text, position):
            mark, position = match[0], match.start()
            begun = text[start:position].strip()
            if mark == ";":
                if begun:
                    line = self.line_at(start + len(text[start:position]) - len(text[start:position].lstrip()))
                    self.statement(line, " ".join(begun.split()), scopes, count)
            elif mark == ":":
                if depth > 0 or text[position + 1] == ":" or not re.fullmatch(r"[\w$]+", begun):
                    continue
                self.kernel.operations.append(Operation(self.line_at(position), begun + ":", []))
            elif mark in "{[" and begun:  # operands
                depth += 1
                continue
            elif mark in "}]" and depth > 0:
                depth -= 1
                continue
            elif mark == "{":
                count += 1
                scopes.append({})
            else:
                if begun:
                    self.fail(self.line_at(position), f"'{begun}' has no end")
                scopes.pop()
                if not scopes:
                    return position + 1
            start = position + 1
        self.fail(self.kernel.line, "the kernel has no end")

    def statement(self, line, text, scopes, count):
        if text.startswith(".reg "):
            return self.register(line, text, scopes, count)
        if text.startswith(".local "):
            match = re.match(r"\.local \.align (\d+) \.b8 ([\w$]+)\[(\d+)\]$", text)
            if not match:
                self.fail(line, f"unknown declaration '{text}'")
            offset = round_up(self.kernel.local_bytes, int(match[1]))
            self.kernel.memory[match[2]] = (offset, int(match[3]))
            self.kernel.local_bytes = offset + int(match[3])
            return
        if ".shared " in text and text.startswith("."):
            found = self.shared_memory(text)
            if found is None or found[2] is None:
                self.fail(line, f"unknown declaration '{text}'")
            self.kernel.shared[found[0]] = found[1:]
            return
        if text.startswith('.pragma "nounroll"'):
            return
        match = re.match(r"(?:@(!?%\w+) )?([a-z][\w.:]*)(?: (.*))?$", text)
        if not match:
            self.fail(line, f"unknown statement '{text}'")
        operands = split_operands(match[3] or "")
        operands = [self.resolve(operand, scopes) for operand in operands]
        guard = self.resolve(match[1], scopes) if match[1] else ""
        self.kernel.operations.append(Operation(line, match[2], operands, guard))

    def register(self, line, text, scopes, count):
        match = re.match(r"\.reg \.(\w+) (.*)$", text)
        if not match or match[1] not in BYTES | {"pred": 1}:
            self.fail(line, f"unknown registers '{text}'")
        for item in match[2].split(","):
            item = item.strip()
            numbered = re.match(r"(%\w+?)<(\d+)>$", item)
            names = [f"{numbered[1]}{i}" for i in range(int(numbered[2]))] if numbered else [item]
            for name in names:
                if not re.fullmatch(r"%\w+", name):
                    self.fail(line, f"unknown register '{name}'")
                own = f"r_{name[1:]}" + (f"_{count}" if len(scopes) > 1 else "")
                scopes[-1][name] = own
                self.kernel.registers[own] = match[1]

    @staticmethod
    def resolve(operand, scopes):
        """The operand with the C++ names of its registers, which begin with 'r_'."""
        def name(match):
            for scope in reversed(scopes):
                if match[0] in scope:
                    return scope[match[0]]
            return match[0]
        return re.sub(r"%\w+(?:\.\w+)?", name, operand)


def parse(text, file):
    return Parser(text, file).module()
