"""Prompts: tasks on kernels, with the order in which the tools answer them."""

from __future__ import annotations

from dataclasses import dataclass

_TOOLS = """\
Use the tools of this server for every claim. No time is measured unless its origin says so, and a modelled
one has a range. A C++ file says its launch, inputs and reference in the comment at its top, as the tool
`template` shows."""


@dataclass(frozen=True)
class Prompt:
    """A task.

    Attributes:
        name: short name.
        summary: what it is for, one sentence.
        argument: name of its only argument.
        meaning: description of the argument.
        text: the task, with the argument in braces.
    """

    name: str
    summary: str
    argument: str
    meaning: str
    text: str

    def filled(self, value: str) -> str:
        """The task for a value of its argument."""
        return f"{self.text.format(**{self.argument: value})}\n\n{_TOOLS}"


_FILE = "path of the kernel's C++ file, with its launch at its top"

PROMPTS = (
    Prompt(
        "port_cuda_kernel",
        "Port a CUDA kernel to an AMD GPU.",
        "file",
        "path of the CUDA source",
        """\
Port the CUDA kernel in {file} to HIP for a wave of 64 lanes. Read the guide `come_from_cuda` first. Write a
new file with a launch and a reference at its top, `compile` it, `verify` it at an odd size too, `sanitize`
it, and then say what had to change and why.""",
    ),
    Prompt(
        "make_it_faster",
        "Make a kernel faster, one verified change at a time.",
        "file",
        _FILE,
        """\
Make the kernel in {file} faster. `time` it, read `advise`, and take the advice with the largest gain first.
After each change `verify` and `sanitize`; keep it only if both pass and the modelled ranges before and after
do not make it a tie. Use `profile` for counters and `disassemble` for a line's instructions. End with a
table: change, time, verified.""",
    ),
    Prompt(
        "find_the_race",
        "Find out why a kernel's results differ from run to run.",
        "file",
        _FILE,
        """\
The results of the kernel in {file} differ from run to run. `sanitize` it, and explain each finding with both
of its source lines: which wave writes, which reads, and what orders them. Use `step` to see the wave before
the access. Propose the smallest wait or barrier, then `verify` and `sanitize` again.""",
    ),
)
