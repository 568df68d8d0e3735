"""Mutation testing of the sanitizer on HipKittens' ladder of GEMMs for gfx1250.

    python -m tests.emulator.sanitizer.ladder_mutants CHECKOUT [--mutants 20] [--seed 0] [--only async]

CHECKOUT has the layout of June 2026. Its seven rungs have findings, which are printed; `REPAIRS` of their
text, in a copy, leave none. Mutants of the repaired rungs are drawn: without one wait, or without one barrier,
of which a schedule proves that it matters (`wb.prove` changes the results), an equal number of each rung as
far as it has them. A mutant is found if the sanitizer has a finding.
"""

from __future__ import annotations

import argparse
import random
import re
import shutil
import tempfile
import time
from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path

import torch

import workbench as wb
from tests.emulator.sanitizer.checkout_mutants import PROOF_SECONDS, SCHEDULES, line_of
from tests.emulator.sanitizer.mutations import SECONDS, Mutant
from workbench.codeobject.instructions import Control
from workbench.codeobject.waits import left_after
from workbench.emulator.translate import flow
from workbench.errors import KernelFault, UsageError
from workbench.kernel import Kernel
from workbench.launches import LaunchOptions, LaunchRecord, RawFinding

ARCH = "gfx1250"
FOLDER = Path("kernels/gemm/bf16fp32/gfx1250")
RUNGS = ("naive", "double_buf", "async", "split_bar", "segment", "expert", "tdm_arrive")
SIZE = 128
"""Rows, columns and depth of the product."""

_TILE = 64 * 34 * 2
"""Bytes of a tile of 64 by 32 in LDS, with its padding."""

_SEGMENT = 65536
_NOP = 0xBF800000
_SYNC = "include/udna1/ops/warp/sync/barrier.cuh"
_WAIT_BEFORE_BARRIER = (
    r"^(\s*)(kittens::sync::sync\(\);)",
    r"\1kittens::sync::wait_ds();\n\1\2",
)
_BARRIER_BETWEEN_TRIPS = (
    r"(kittens::sync::wait_async\(\);)(?!.*wait_async)",
    r"\1 kittens::sync::arrive(); kittens::sync::wait();",
)

REPAIRS: dict[str, tuple[tuple[str, str], ...]] = {
    _SYNC: (
        # Nothing kept a matrix instruction behind the wait for the loads of its factors.
        (
            r'(asm volatile\("s_wait_dscnt %0" :: "i"\(N\) : "memory"\);)',
            r"\1 __builtin_amdgcn_sched_barrier(0);",
        ),
        # The state of a barrier in LDS was used before it came.
        (r'"ds_load_b64 %0, %1 offset:0"', r'"ds_load_b64 %0, %1 offset:0\\n\\ts_wait_dscnt 0"'),
    ),
    # The stores of tiles to LDS were not complete at the barrier.
    str(FOLDER / "gemm_naive.cpp"): (_WAIT_BEFORE_BARRIER,),
    str(FOLDER / "gemm_double_buf.cpp"): (_WAIT_BEFORE_BARRIER,),
    # Waves signalled before they read, and read what others had not waited for.
    **{
        str(FOLDER / f"gemm_{rung}.cpp"): (_BARRIER_BETWEEN_TRIPS,)
        for rung in ("split_bar", "segment", "expert")
    },
    # Nor were the barriers' first states.
    str(FOLDER / "gemm_tdm_arrive.cpp"): (
        (r"(init_barrier\(&B_bar\[1\]\.state, 1\);\s*\})", r"\1 sync::wait_ds();"),
    ),
}
"""Changes of text, by file: what a pattern stands for, and what takes its place."""


def repair(checkout: Path) -> None:
    """Applies `REPAIRS` to a copy of a checkout."""
    for name, changes in REPAIRS.items():
        text = (checkout / name).read_text()
        for pattern, replacement in changes:
            text, count = re.subn(pattern, replacement, text, flags=re.MULTILINE | re.DOTALL)
            assert count, f"{name} has no {pattern}"
        (checkout / name).write_text(text)


class Rung:
    """A rung of the ladder at a product of a few work-groups."""

    def __init__(self, name: str, checkout: Path) -> None:
        self.name = name
        folder = checkout / FOLDER
        include = [str(path) for path in (folder, checkout / "include", checkout / "include" / "udna1")]
        source = (folder / f"gemm_{name}.cpp").read_text()
        module = wb.compile(
            source, arch=ARCH, name=f"gemm_{name}.cpp", include=include, define=["KITTENS_UDNA1"]
        )
        self.kernel: Kernel = module[f"gemm_{name}_kernel"]
        generator = torch.Generator().manual_seed(1)
        self.a, self.b = (torch.randn(1, 1, SIZE, SIZE, generator=generator).bfloat16() for _ in range(2))

    @property
    def shared(self) -> int:
        if self.name in ("segment", "expert", "tdm_arrive"):
            return _SEGMENT + 2 * _TILE
        return (2 if self.name == "naive" else 4) * _TILE

    def findings(self, kernel: Kernel) -> list[RawFinding]:
        """The findings of a launch under the sanitizer, without notes."""
        try:
            record, _ = self._launched(kernel, sanitize=True)
        except KernelFault as fault:
            return list(fault.findings)
        return [finding for finding in record.findings if finding.category != "note"]

    def output(self, kernel: Kernel) -> torch.Tensor:
        return self._launched(kernel)[1]

    def is_right(self) -> bool:
        product = self.a[0, 0].float() @ self.b[0, 0].float().T
        return torch.allclose(self.output(self.kernel)[0, 0].float(), product, rtol=0.01, atol=0.3)

    def _launched(self, kernel: Kernel, sanitize: bool = False) -> tuple[LaunchRecord, torch.Tensor]:
        c = torch.zeros(1, 1, SIZE, SIZE, dtype=torch.bfloat16)
        tensors = {"a": self.a, "b": self.b, "c": c, "stream": 0}
        launch = wb.Launch((SIZE // 64, SIZE // 64, 1), 128, self.shared)
        options = LaunchOptions(sanitize=sanitize, timeout=SECONDS)
        device = wb.device(f"emulated:{ARCH}")
        return kernel.launch(launch, (tensors, SIZE, SIZE, SIZE), {}, device=device, options=options), c

    def mutants(self) -> Iterator[Mutant]:
        """The kernel without each of its waits, and without each of its barriers."""
        code = self.kernel.module.code_object
        blocks = flow.blocks_of(flow.reachable(code, self.kernel.info.entry))
        signal = None
        for instruction in sorted((i for block in blocks for i in block), key=lambda i: i.address):
            at, control = instruction.address, instruction.record.control
            if control is Control.WAIT and left_after(instruction).keys() - {"xcnt"}:
                yield Mutant("wait", f"without {instruction.opcode}", at, {at: _NOP})
            elif control is Control.SIGNAL:
                signal = at
            elif control is Control.BARRIER and signal is not None:
                yield Mutant("barrier", "without a barrier", signal, {signal: _NOP, at: _NOP})
                signal = None

    def is_proven(self, mutant: Mutant) -> bool:
        """Whether a schedule changes the result of the kernel with this change."""
        kernel = mutant.applied_to(self.kernel)
        try:
            if not torch.equal(self.output(kernel), self.output(self.kernel)):
                return True
            return wb.prove(lambda: self.output(kernel), tries=SCHEDULES, seconds=PROOF_SECONDS) is not None
        except (KernelFault, UsageError):
            return False


def _drawn(rungs: list[Rung], count: int, seed: int) -> Iterator[tuple[Rung, Mutant]]:
    """Mutants that matter, of each rung in turn."""
    shuffled = []
    for rung in rungs:
        mutants = list(rung.mutants())
        random.Random(f"{seed} {rung.name}").shuffle(mutants)
        shuffled.append([(rung, mutant) for mutant in mutants])
    for turn in zip_longest(*shuffled):
        for pair in turn:
            if count > 0 and pair is not None and pair[0].is_proven(pair[1]):
                yield pair
                count -= 1


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("checkout", type=Path)
    parser.add_argument("--mutants", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", nargs="+", default=RUNGS)
    options = parser.parse_args()
    rungs = []
    with tempfile.TemporaryDirectory() as folder:
        checkout = Path(folder)
        shutil.copytree(options.checkout / "include", checkout / "include")
        shutil.copytree(options.checkout / FOLDER, checkout / FOLDER)
        for name in options.only:
            _report(Rung(name, checkout), "as it is")
        repair(checkout)
        for name in options.only:
            rung = Rung(name, checkout)
            if _report(rung, "repaired") or not rung.is_right():
                print(f"{name}: the repair is not enough")
                return 1
            rungs.append(rung)
    found = total = 0
    for rung, mutant in _drawn(rungs, options.mutants, options.seed):
        findings = rung.findings(mutant.applied_to(rung.kernel))
        total += 1
        found += bool(findings)
        words = f"{findings[0].category} at {line_of(rung.kernel, findings[0].pc)}" if findings else "MISSED"
        place = line_of(rung.kernel, mutant.address)
        print(f"{rung.name:10} {mutant.address:#x} {place} {mutant.change}: {words}", flush=True)
    print(f"{found} of {total} mutants are found")
    return int(total == 0 or found < total)


def _report(rung: Rung, state: str) -> list[RawFinding]:
    started = time.process_time()
    findings = rung.findings(rung.kernel)
    seconds = time.process_time() - started
    print(f"{rung.name} {state}: {len(findings)} findings ({seconds:.1f} s of a processor)", flush=True)
    for finding in findings:
        print(f"    {line_of(rung.kernel, finding.pc)}: {finding.message}", flush=True)
    return findings


if __name__ == "__main__":
    raise SystemExit(main())
