"""Registers that inline assembly names by number, and whether the compiler leaves them alone.

The compiler is told to (`amdgpu_num_vgpr`), but knows nothing about their contents. What it did is read from
its own listing of the machine code (LLVM's MIR, after the pass that expands the last pseudo instructions),
which lists inline assembly separately with its operands. A register that the text of inline assembly names
without declaring it may hold a value between statements; before the first and after the last, it belongs to
the compiler.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import NamedTuple

from workbench.codeobject.names import demangle, short_name

LISTING = ("-S", "-mllvm", "-stop-after=postrapseudos")
"""Arguments with which clang writes the listing instead of machine code."""

_NAME = re.compile(r"name: +'?([^'\s]+)")
_FACT = re.compile(r"  (isEntryFunction|hasSpilledVGPRs): +true")
_BLOCK = re.compile(r"  bb\.(\d+)")
_STATEMENT = re.compile(r'INLINEASM &"([^"]*)", (.*)')
# Each operand of inline assembly begins with a number and what that means; so do the statement's flags.
_OPERAND = re.compile(r"\d+ /\* ([^*]*) \*/(?:, )?")
_PLACEHOLDER = re.compile(r"\$(?:(\d+)|\{(\d+)[^}]*\})")
_REGISTERS = re.compile(r"(?<![\w.$])([vas])(?:(\d+)|\[([^\]:]+)(?::([^\]]+))?\])(?!\w)")
_INSTRUCTION = re.compile(r"    (?:(.*\$.*?) = )?(?:[a-z]+ )*([A-Z]\w*)(.*)")
_IMPLICIT = re.compile(r"\bimplicit(?:-[a-z]+)*(?: [a-z-]+)* \$\w+")
_PHYSICAL = re.compile(r"\$[vas]gpr\d+(?:_[vas]gpr\d+)*")
_SUM = re.compile(r"\s*\d+\s*(?:[+-]\s*\d+\s*)*")
# They are not instructions.
_NOTHING = ("DBG_", "IMPLICIT_DEF", "KILL", "CFI_")
_CALLS = ("SI_CALL", "S_SWAPPC")

Register = tuple[str, int]
"""A register: its kind, `v`, `a` or `s`, and its number."""


class Step(NamedTuple):
    """Registers that inline assembly names, or that another instruction reads and then writes."""

    named: frozenset[Register] = frozenset()
    read: frozenset[Register] = frozenset()
    written: frozenset[Register] = frozenset()


@dataclass
class Function:
    """A kernel, or a function that was not inlined.

    Attributes:
        name: name in the source.
        spills: True if VGPRs were spilled.
        blocks: basic blocks by number, the entry first, each with its steps and its successors.
        shared: registers lost in any order, because a called function also uses them.
    """

    name: str
    is_kernel: bool = False
    calls: bool = False
    spills: bool = False
    blocks: dict[int, tuple[list[Step], list[int]]] = field(default_factory=dict)
    shared: frozenset[Register] = frozenset()

    @property
    def steps(self) -> Iterator[Step]:
        for steps, _ in self.blocks.values():
            yield from steps

    @property
    def named(self) -> frozenset[Register]:
        """Registers that inline assembly names by number."""
        return frozenset().union(*(step.named for step in self.steps))

    @property
    def written(self) -> frozenset[Register]:
        """Registers that other instructions write."""
        return frozenset().union(*(step.written for step in self.steps))

    @property
    def lost(self) -> frozenset[Register]:
        """Registers by number that do not keep what inline assembly or the compiler leaves in them."""
        return self.shared | {r for r in self.named & self.written if _is_lost(r, self.blocks)}


def names_registers(text: str) -> bool:
    """True if a source reserves registers from the compiler for inline assembly."""
    return "amdgpu_num_vgpr" in text or "KITTENS_PINS_FROM" in text


def kernels(listing: Iterable[str]) -> list[Function]:
    """The kernels of a listing whose inline assembly, or that of their callees, names registers by number.

    A kernel with calls is assumed to call every function that was not inlined.

    Raises:
        ValueError: a register's number is not a sum of constants.
    """
    functions = list(_functions(listing))
    called = [function for function in functions if not function.is_kernel]
    for kernel in functions:
        if kernel.calls:
            everything = [kernel, *called]
            named, written = (
                frozenset[Register]().union(*sets)
                for sets in ((f.named for f in everything), (f.written for f in everything))
            )
            kernel.shared = named & written
    return [f for f in functions if f.is_kernel and (f.named or f.shared)]


def warnings_of(functions: Sequence[Function]) -> list[str]:
    """Warnings about kernels that name registers by number."""
    warnings = []
    for kernel in functions:
        if lost := kernel.lost:
            warnings.append(
                f"kernel {kernel.name}: inline assembly has {shown(lost)} by number, and the compiler keeps "
                "values of its own there in between: one overwrites the other. Leave it more VGPRs: start "
                "those by number higher and raise the number of amdgpu_num_vgpr or KITTENS_PINS_FROM, or "
                "hold fewer values at once."
            )
        if kernel.spills:
            warnings.append(
                f"kernel {kernel.name}: the compiler spilled VGPRs beside registers by number: too few are "
                "left to it. Leave it more, or hold fewer values at once."
            )
    return warnings


def shown(registers: Iterable[Register]) -> str:
    """Registers for people: `a[0:1], v3`."""
    parts = []
    for _, run in groupby(enumerate(sorted(registers)), lambda item: (item[1][0], item[1][1] - item[0])):
        numbers = [register for _, register in run]
        (kind, first), (_, last) = numbers[0], numbers[-1]
        parts.append(f"{kind}{first}" if first == last else f"{kind}[{first}:{last}]")
    return ", ".join(parts)


def _is_lost(register: Register, blocks: Mapping[int, tuple[list[Step], list[int]]]) -> bool:
    """True if inline assembly and the compiler both use a register on some path."""
    # Owner of a register: none so far, inline assembly, or later the compiler.
    reached: dict[int, set[str]] = {block: set() for block in blocks}
    waiting = [(next(iter(blocks)), "new")]
    while waiting:
        block, state = waiting.pop()
        if state in reached[block]:
            continue
        reached[block].add(state)
        steps, successors = blocks[block]
        for step in steps:
            if register in step.named:
                if state == "compiler":
                    return True
                state = "assembly"
            if register in step.read and state == "assembly":
                return True
            if register in step.written and state == "assembly":
                state = "compiler"
        waiting += [(successor, state) for successor in successors]
    return False


def _functions(listing: Iterable[str]) -> Iterator[Function]:
    lines = iter(listing)
    function = Function("")
    for line in lines:
        if (name := _NAME.match(line)) is not None:
            function = Function(short_name(demangle(name[1])))
        elif (fact := _FACT.match(line)) is not None:
            function.is_kernel |= fact[1] == "isEntryFunction"
            function.spills |= fact[1] == "hasSpilledVGPRs"
        elif line.startswith("body:"):
            _read_body(iter(lambda: next(lines, "..."), "..."), function)
            yield function


def _read_body(lines: Iterable[str], function: Function) -> None:
    steps: list[Step] = []
    successors: list[int] = []
    for line in lines:
        if (block := _BLOCK.match(line)) is not None:
            steps, successors = function.blocks[int(block[1])] = [], []
        elif line.startswith("    successors:"):
            successors += map(int, re.findall(r"%bb\.(\d+)", line))
        elif (statement := _STATEMENT.search(line)) is not None:
            steps.append(Step(named=_undeclared(statement[1], statement[2])))
        elif (instruction := _INSTRUCTION.match(line)) is not None and not instruction[2].startswith(
            _NOTHING
        ):
            function.calls |= instruction[2].startswith(_CALLS)
            # Implicit operands are whole tuples, of which the instruction uses a part.
            read = _physical(_IMPLICIT.sub("", instruction[3]))
            steps.append(Step(read=read, written=_physical(instruction[1] or "")))


def _physical(text: str) -> frozenset[Register]:
    """Registers of MIR operands: `$vgpr2_vgpr3` is two."""
    numbers = (re.findall(r"([vas])gpr(\d+)", operand) for operand in _PHYSICAL.findall(text))
    return frozenset((kind, int(number)) for operands in numbers for kind, number in operands)


def _undeclared(text: str, operands: str) -> frozenset[Register]:
    """Registers that a statement names by number, and that are neither its operands nor its clobbers."""
    kinds, contents = (_OPERAND.split(operands)[start::2] for start in (3, 4))
    declared = frozenset[Register]().union(*map(_physical, contents))

    def constant(match: re.Match[str]) -> str:
        number = int(match[1] or match[2])
        return contents[number].partition(",")[0] if kinds[number] == "imm" else "?"

    named: set[Register] = set()
    for kind, single, first, last in _REGISTERS.findall(_PLACEHOLDER.sub(constant, text)):
        low = _value(single or first)
        named |= {(kind, number) for number in range(low, _value(single or last or first) + 1)}
    return frozenset(named - declared)


def _value(text: str) -> int:
    """The value of `70` or `70+3`."""
    if _SUM.fullmatch(text) is None:
        raise ValueError(f"the register number {text!r} is not a sum of constants")
    return sum(int(term) for term in re.findall(r"[+-]?\d+", re.sub(r"\s", "", text)))
