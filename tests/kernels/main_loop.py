"""Composition of a compiled kernel's main loop, read from its machine code."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from workbench.codeobject.instruction import Instruction
from workbench.kernel import Kernel

WAITS = ("s_waitcnt", "s_barrier", "s_setprio", "s_nop", "s_sleep")
"""Scalar instructions that only wait or hint: no arithmetic."""


def kind_of(instruction: Instruction) -> str:
    """Unit that an instruction keeps busy.

    One of "mfma", "valu", "agpr copy", "lds", "direct load", "memory", "scratch", "salu", "wait", "branch".
    """
    opcode = instruction.opcode
    if "mfma" in opcode:
        return "mfma"
    if opcode.startswith("v_accvgpr"):
        return "agpr copy"
    if opcode.startswith("v_"):
        return "valu"
    if opcode.startswith("ds_"):
        return "lds"
    if opcode.startswith("scratch_"):
        return "scratch"
    if opcode.startswith(("buffer_", "global_", "flat_")):
        return "direct load" if instruction.modifiers.get("lds") else "memory"
    if opcode.startswith(("s_cbranch", "s_branch")):
        return "branch"
    if opcode.startswith(WAITS):
        return "wait"
    return "salu"


@dataclass(frozen=True)
class Loop:
    """The instructions of one iteration of a loop.

    Attributes:
        instructions: from the target of the branch back to the branch, in the order of memory.
    """

    instructions: Sequence[Instruction]

    @property
    def kinds(self) -> Counter[str]:
        """Number of instructions by `kind_of`."""
        return Counter(map(kind_of, self.instructions))

    def per_mfma(self, *kinds: str) -> float:
        """Instructions of these kinds for each matrix instruction."""
        counts = self.kinds
        return sum(counts[kind] for kind in kinds) / counts["mfma"]

    def longest_gap(self) -> int:
        """Most memory instructions between two matrix instructions, around the loop's end too."""
        gaps, gap, seen = [0], 0, False
        for instruction in [*self.instructions, *self.instructions]:
            kind = kind_of(instruction)
            if kind == "mfma":
                gaps += [gap] if seen else []
                seen, gap = True, 0
            gap += kind in ("lds", "direct load", "memory")
        return max(gaps)


def branch_target(instruction: Instruction) -> int:
    """Address that a branch (SOPP) goes to: its 16-bit offset counts dwords from the next instruction."""
    offset = instruction.words[0] & 0xFFFF
    return instruction.address + 4 + 4 * (offset - 0x10000 if offset >= 0x8000 else offset)


def loop_of(kernel: Kernel) -> Loop | None:
    """The loop with the most matrix instructions, or else the longest; None without loops.

    Of several with equal numbers the shortest: a kernel that handles edges (masked keys, last columns) in a
    separate loop has a copy of the main one for it.
    """
    instructions = list(kernel.instructions)
    ends: dict[int, int] = {}
    for branch in instructions:
        if branch.opcode.startswith(("s_cbranch", "s_branch")) and branch_target(branch) <= branch.address:
            ends[branch_target(branch)] = branch.address
    loops = [Loop([i for i in instructions if first <= i.address <= last]) for first, last in ends.items()]
    most = max((loop.kinds["mfma"] for loop in loops), default=0)
    if not most:
        return max(loops, key=lambda loop: len(loop.instructions), default=None)
    return min(
        (loop for loop in loops if loop.kinds["mfma"] == most), key=lambda loop: len(loop.instructions)
    )


def main_loop(kernel: Kernel) -> Loop:
    """The loop with the most matrix instructions, see `loop_of`.

    Raises:
        AssertionError: the code has no loop.
    """
    loop = loop_of(kernel)
    if loop is None or not loop.kinds["mfma"]:
        raise AssertionError(f"{kernel.name} has no loop with matrix instructions")
    return loop
