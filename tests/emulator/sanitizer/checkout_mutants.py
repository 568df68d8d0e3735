"""Mutation testing of the sanitizer on the kernels of a checkout of HipKittens that has been built.

    python -m tests.emulator.sanitizer.checkout_mutants CHECKOUT [--mutants 20] [--seed 0] [--only gqa]

CHECKOUT has the layout of June 2026, with the Python modules that its Makefiles built for CDNA4 beside
their sources. Mutants of the kernels without a finding are drawn: an `s_waitcnt` or an `s_barrier` less. A
wait is drawn only if the code alone proves that it matters: without it a register is used, on some path,
while its access is under way (`mutations.Waits`, which shares no code with the sanitizer). A barrier is drawn
only if without it a schedule changes the kernel's results (`wb.prove`): many order nothing but the turns of
the waves. A mutant is found if a finding is about two instructions with the removed one between them. Hazards
are left out: a wait or a barrier less adds none.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import torch

import workbench as wb
from tests.emulator.sanitizer.mutations import SECONDS, Mutant, Waits, _followers, mutants
from workbench.codeobject.instruction import Instruction
from workbench.emulator.translate import flow
from workbench.errors import KernelFault, UsageError
from workbench.kernel import Kernel
from workbench.launches import LaunchOptions, LaunchRecord, RawFinding

ARCH = "gfx950"
SCHEDULES = 13
"""Orders of waves and loads that are tried for a barrier: the simple ones."""

PROOF_SECONDS = 20.0


@dataclass(frozen=True)
class Subject:
    """A kernel of the checkout at a launch of a few work-groups.

    Attributes:
        folder: its folder in `kernels`.
        kernel: the beginning of its name.
        grid, block: work-groups and work-items.
        tensors: shapes of its bfloat16 arguments, by name; outputs too.
        floats: shapes of its float32 arguments.
        numbers: its other arguments.
        shared: bytes of dynamic shared memory.
    """

    folder: str
    kernel: str
    grid: tuple[int, int, int]
    block: int
    tensors: dict[str, tuple[int, ...]]
    floats: dict[str, tuple[int, ...]]
    numbers: dict[str, int]
    shared: int = 0

    @property
    def name(self) -> str:
        return self.folder.rpartition("/")[2]


SUBJECTS = (
    Subject("softmax", "softmax_tk", (2, 1, 1), 256, dict.fromkeys(("x", "o"), (1, 1, 8192, 128)), {}, {}),
    Subject(
        "rotary",
        "tk_fused_rotary",
        (2, 1, 2),
        64,
        {**dict.fromkeys(("x", "o"), (1, 16, 2048, 128)), **dict.fromkeys(("sin", "cos"), (1, 1, 2048, 64))},
        {},
        {},
    ),
    Subject(
        "layernorm",
        "layernorm_tk",
        (2, 1, 1),
        256,
        {
            **dict.fromkeys(("x", "residual", "o", "o_resid"), (1, 1, 4096, 2048)),
            **dict.fromkeys(("norm_weight", "norm_bias"), (1, 1, 1, 2048)),
        },
        {},
        {"n_per_tile": 4, "n_tile_size": 1024},
    ),
    Subject(
        "attn/gqa",
        "attend_ker",
        (1, 1, 1),
        512,
        {
            **dict.fromkeys(("Qg", "Og"), (1, 2048, 64, 128)),
            **dict.fromkeys(("Kg", "Vg"), (1, 2048, 8, 128)),
        },
        {"L_vec": (1, 64, 1, 2048)},
        {},
        shared=160000,
    ),
)


class Launch:
    """A subject's kernel with its arguments."""

    def __init__(self, subject: Subject, checkout: Path) -> None:
        self.subject = subject
        [library] = (checkout / "kernels" / subject.folder).glob("tk_kernel*.so")
        module = wb.load(library, arch=ARCH)
        [name] = (name for name in module.kernels if name.startswith(subject.kernel))
        self.kernel: Kernel = module[name]
        code = self.kernel.module.code_object
        self.blocks = flow.blocks_of(flow.reachable(code, self.kernel.info.entry))

    def findings(self, kernel: Kernel) -> list[RawFinding]:
        """The findings of a launch under the sanitizer; without notes and hazards."""
        try:
            record, _ = self._launched(kernel, sanitize=True)
        except KernelFault as fault:
            return list(fault.findings)
        return [finding for finding in record.findings if finding.category not in ("note", "hazard")]

    def outputs(self, kernel: Kernel) -> list[torch.Tensor]:
        """The results of a launch."""
        return self._launched(kernel)[1]

    def _launched(self, kernel: Kernel, sanitize: bool = False) -> tuple[LaunchRecord, list[torch.Tensor]]:
        generator = torch.Generator().manual_seed(1)
        tensors = {
            name: torch.randn(shape, generator=generator).bfloat16()
            for name, shape in self.subject.tensors.items()
        }
        floats = {name: torch.zeros(shape) for name, shape in self.subject.floats.items()}
        arguments = {**tensors, **floats, **self.subject.numbers}
        launch = wb.Launch(self.subject.grid, self.subject.block, self.subject.shared)
        options = LaunchOptions(sanitize=sanitize, timeout=SECONDS)
        device = wb.device(f"emulated:{ARCH}")
        record = kernel.launch(launch, (), arguments, device=device, options=options)
        return record, [*tensors.values(), *floats.values()]

    def drawn(self) -> Iterator[Mutant]:
        """The mutants of which the code alone proves that they matter, and those without a barrier."""
        ways = _followers(self.blocks)
        waits = Waits(self.blocks, ways)
        without_nops = [[i for i in block if i.opcode != "s_nop"] for block in self.blocks]
        for mutant in mutants(without_nops):
            is_wait = mutant.kind == "wait" and mutant.change.startswith("without")
            if (is_wait and self._matters(mutant, waits)) or mutant.kind == "barrier":
                yield mutant

    def is_proven(self, mutant: Mutant) -> bool:
        """Whether a schedule changes the results of the kernel with this change."""
        kernel = mutant.applied_to(self.kernel)
        try:
            # The time ends the search for the smallest schedule, which is of no interest.
            proof = wb.prove(lambda: self.outputs(kernel), tries=SCHEDULES, seconds=PROOF_SECONDS)
        except (KernelFault, UsageError):
            return False
        return proof is not None

    def _matters(self, mutant: Mutant, waits: Waits) -> bool:
        without = [[i for i in block if i.address != mutant.address] for block in self.blocks]
        blocks: list[list[Instruction]] = [block for block in without if block]
        if len(blocks) < len(self.blocks):
            return False
        return bool(Waits(blocks, _followers(self.blocks)).beyond(waits))


def is_about(finding: RawFinding, address: int) -> bool:
    """True if the instruction at an address is between the two of a finding, in the code or around a loop."""
    if finding.other_pc is None:
        return False
    first, second = finding.other_pc, finding.pc
    return first < address < second if first < second else not second <= address <= first


def line_of(kernel: Kernel, address: int) -> str:
    debug = kernel.module.debug
    place = debug.place_of(address) if debug is not None else None
    return f"{Path(place[0]).name}:{place[1]}" if place else "?"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("checkout", type=Path)
    parser.add_argument("--mutants", type=int, default=20)
    parser.add_argument("--barriers", type=int, default=6, help="how many of them lack a barrier")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", nargs="+", default=[subject.name for subject in SUBJECTS])
    options = parser.parse_args()
    candidates: list[tuple[Launch, Mutant]] = []
    for subject in SUBJECTS:
        if subject.name not in options.only:
            continue
        launch = Launch(subject, options.checkout)
        started = time.monotonic()
        found = launch.findings(launch.kernel)
        drawn = [] if found else list(launch.drawn())
        count = f"{len(found)} findings, {len(drawn)} mutants"
        print(f"{subject.name}: {count} ({time.monotonic() - started:.1f} s)", flush=True)
        for finding in found[:3]:
            print(f"    {line_of(launch.kernel, finding.pc)}: {finding.message}", flush=True)
        candidates += ((launch, mutant) for mutant in drawn)
    random.Random(options.seed).shuffle(candidates)
    return report(list(_chosen(candidates, options.mutants, options.barriers)))


def _chosen(
    candidates: Sequence[tuple[Launch, Mutant]], count: int, barriers: int
) -> Iterator[tuple[Launch, Mutant]]:
    """So many barriers of which a schedule proves that they matter, and waits for the rest."""
    proven = (c for c in candidates if c[1].kind == "barrier" and c[0].is_proven(c[1]))
    selected = list(islice(proven, barriers))
    yield from selected
    waits = (c for c in candidates if c[1].kind == "wait")
    yield from islice(waits, count - len(selected))


def report(chosen: Sequence[tuple[Launch, Mutant]]) -> int:
    """Runs the mutants and prints a line for each; 1 if any is not found."""
    at_place = anywhere = 0
    for launch, mutant in chosen:
        found = launch.findings(mutant.applied_to(launch.kernel))
        right = [finding for finding in found if is_about(finding, mutant.address)]
        at_place += bool(right)
        anywhere += bool(found)
        words = "elsewhere" if found else "MISSED"
        if right:
            words = f"{right[0].category} at {line_of(launch.kernel, right[0].pc)}"
        place = line_of(launch.kernel, mutant.address)
        print(f"{launch.subject.name:10} {mutant.address:#x} {place} {mutant.change}: {words}", flush=True)
    print(f"{anywhere} of {len(chosen)} mutants are found, {at_place} of them between their two lines")
    return int(at_place < len(chosen))


if __name__ == "__main__":
    raise SystemExit(main())
