"""Mutation testing of the sanitizer: machine code of the library with one fewer wait, barrier or s_nop.

    python -m tests.emulator.sanitizer.mutations [--arch gfx950 gfx942] [--only gemm] [--sample 20] [--seed 1]

Each mutant differs from a kernel as it was compiled in one instruction word (some more, where an s_nop
changes places with what follows). It is run on the emulated device under the sanitizer, and must be reported
or be proven to be the same kernel: `Waits` finds, from the code alone and on every way through it, which
accesses are under way at each instruction; a mutant with nothing more under way where it matters is
equivalent. That analysis shares nothing with the sanitizer, which follows one run. Other mutants are listed.
"""

from __future__ import annotations

import argparse
import contextlib
import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

import workbench as wb
from tests.emulator.sanitizer.order import LGKM_MOST, VM_MOST, Order, Unclear, wait_counts
from workbench.codeobject.instruction import Instruction
from workbench.emulator.sanitizer.hazards import find
from workbench.emulator.translate import flow
from workbench.errors import KernelFault, KernelTimeout, ShapeError
from workbench.kernel import Kernel, Module
from workbench.launches import Access
from workbench.operators import KernelSpec, Range
from workbench.runtime import Device, LaunchOptions, device
from workbench.targets import TILE_TARGETS, wave_size

_NOP = 0xBF800000
_END = 0xBF810000
_WAIT = 0xBF8C
_BARRIER = 0xBF8A0000
SMALL = 256
"""Limit for every dimension of a problem, as far as a kernel takes it: a few tiles each way."""

SECONDS = 60.0
"""Time limit of one mutant: without a barrier a kernel may wait for ever."""


def small_shape(spec: KernelSpec, arch: str) -> dict[str, Any]:
    """A small problem that a kernel takes: its first shape with every dimension reduced."""
    shape = spec.shape(spec.shapes[0])
    for name, parameter in spec.parameters.items():
        if not isinstance(parameter, Range) or shape[name] <= SMALL:
            continue
        steps = -(-max(SMALL - parameter.low, 0) // parameter.step)
        smaller = {**shape, name: parameter.low + steps * parameter.step}
        with contextlib.suppress(ShapeError):
            shape = spec.shape(smaller, arch=arch)
    return shape


@dataclass(frozen=True)
class Mutant:
    """One change of a kernel's machine code.

    Attributes:
        kind: "wait", "barrier" or "nop".
        change: in words.
        address: of the instruction.
        words: the new instruction words, by code address.
    """

    kind: str
    change: str
    address: int
    words: Mapping[int, int]

    def applied_to(self, kernel: Kernel) -> Kernel:
        """The kernel with this change."""
        module = kernel.module
        text = module.code_object.text
        start = module.code.index(text.data)
        # A mutant has the kernel's debug info: reading it again would take most of the time.
        code = bytearray(module.code.replace(b".debug_", b".nodbg_"))
        for address, word in self.words.items():
            place = start + address - text.address
            code[place : place + 4] = word.to_bytes(4, "little")
        mutant = Module(bytes(code), name="mutant")
        mutant.debug = module.debug
        return mutant[kernel.info.name]


def _field(vm: int, lgkm: int) -> int:
    return vm & 15 | (vm & 0x30) << 10 | lgkm << 8 | 0x70


def _word(instruction: Instruction) -> int:
    return int(instruction.src[0].value or 0) if instruction.src else 0


def _text(vm: int, lgkm: int) -> str:
    parts = [f"vmcnt({vm})"] if vm < VM_MOST else []
    parts += [f"lgkmcnt({lgkm})"] if lgkm < LGKM_MOST else []
    return " ".join(parts) or "nothing"


def mutants(blocks: Iterable[Sequence[Instruction]]) -> Iterator[Mutant]:
    """Every mutant of a kernel: each s_waitcnt removed, without one of its counters and one count weaker;
    each s_barrier removed; each s_nop one wait state shorter, or moved after the next instruction."""
    for block in blocks:
        for place, instruction in enumerate(block):
            at = instruction.address
            if instruction.opcode == "s_waitcnt":
                vm, lgkm = wait_counts(_word(instruction))
                weaker = {(VM_MOST, lgkm), (vm, LGKM_MOST)} if vm < VM_MOST and lgkm < LGKM_MOST else set()
                weaker |= {(vm + 1, lgkm)} if vm < VM_MOST else set()
                weaker |= {(vm, lgkm + 1)} if lgkm < LGKM_MOST else set()
                yield Mutant("wait", f"without {_text(vm, lgkm)}", at, {at: _NOP})
                for counts in sorted(weaker - {(VM_MOST, LGKM_MOST)}):
                    word = _WAIT << 16 | _field(*counts)
                    yield Mutant("wait", f"{_text(vm, lgkm)} is {_text(*counts)}", at, {at: word})
            elif instruction.opcode == "s_barrier":
                yield Mutant("barrier", "without s_barrier", at, {at: _NOP})
            elif instruction.opcode == "s_nop":
                yield from _shorter(block, place)


def _shorter(block: Sequence[Instruction], place: int) -> Iterator[Mutant]:
    instruction = block[place]
    count, at = _word(instruction), instruction.address
    if count:
        yield Mutant("nop", f"s_nop {count} is s_nop {count - 1}", at, {at: _NOP | (count - 1)})
        return
    following = block[place + 1] if place + 1 < len(block) else None
    if place == 0 or following is None or following.opcode.startswith(("s_branch", "s_cbranch", "s_endpgm")):
        return
    words = {at + 4 * n: word for n, word in enumerate(_words(following))}
    words[at + following.size] = _NOP
    yield Mutant("nop", f"s_nop 0 after {following.opcode}", at, words)


def _words(instruction: Instruction) -> list[int]:
    data = _DATA[instruction.address]
    return [int.from_bytes(data[n : n + 4], "little") for n in range(0, len(data), 4)]


_DATA: dict[int, bytes] = {}


# Accesses under way, from the code alone

_VECTOR = ("FLAT", "GLOBAL", "SCRATCH", "MUBUF", "MTBUF")
# By access: the numbers of younger accesses of its counter that there may be, one bit each.
_State = dict[int, int]
_Facts = dict[tuple[int, int], int]


@dataclass
class _Access:
    counter: str
    results: frozenset[tuple[str, int]]
    in_order: bool = True


@dataclass
class Waits:
    """Registers that are used while their access is under way, on any path through a kernel's code.

    Attributes:
        facts: by access and instruction: the instruction uses a register of the access's result. The value
            has a bit for each number of younger accesses, of those that its counter has in order, that it may
            be under way with.
    """

    blocks: Sequence[Sequence[Instruction]]
    followers: Mapping[int, Sequence[int]]
    facts: _Facts = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._accesses = {
            i.address: a for block in self.blocks for i in block if (a := _access(i)) is not None
        }
        self._used = {
            i.address: frozenset(
                (o.kind, n) for o in (*i.dst, *i.src) for n in range(o.index, o.index + o.width)
            )
            for block in self.blocks
            for i in block
        }
        entering: list[_State] = [{} for _ in self.blocks]
        waiting = list(range(len(self.blocks)))
        while waiting:
            index = waiting.pop()
            leaving = self._block(index, dict(entering[index]))
            for follower in self.followers[index]:
                pending = entering[follower]
                merged = {a: pending.get(a, 0) | leaving.get(a, 0) for a in pending.keys() | leaving.keys()}
                if merged != pending:
                    entering[follower] = merged
                    waiting.append(follower)

    def beyond(self, other: Waits) -> list[tuple[int, int]]:
        """Accesses that are under way here and not in `other`."""
        return [key for key, ages in self.facts.items() if ages & ~other.facts.get(key, 0)]

    def _block(self, index: int, state: _State) -> _State:
        for instruction in self.blocks[index]:
            at = instruction.address
            if instruction.opcode == "s_waitcnt":
                self._wait(state, *wait_counts(_word(instruction)))
                continue
            self._note(instruction, state)
            access = self._accesses.get(at)
            if access is not None:
                most = VM_MOST if access.counter == "vm" else LGKM_MOST
                for other in state:
                    # An access that may complete in any order may be done, so it is not a younger one.
                    older = self._accesses[other]
                    if older.counter == access.counter and older.in_order and access.in_order:
                        state[other] = state[other] << 1 & (1 << most) - 1
                state[at] = state.get(at, 0) | 1
        return state

    def _wait(self, state: _State, vm: int, lgkm: int) -> None:
        for a in list(state):
            access = self._accesses[a]
            count = vm if access.counter == "vm" else lgkm
            if not access.in_order:
                # It counts one, or two if it loads more than a dword, and may be the last that is under way.
                count = 0 if count < min(2, len(access.results)) else LGKM_MOST
            if count < (VM_MOST if access.counter == "vm" else LGKM_MOST):
                state[a] &= (1 << count) - 1
            if not state[a]:
                del state[a]

    def _note(self, instruction: Instruction, state: _State) -> None:
        at = instruction.address
        used = self._used[at]
        mine = self._accesses.get(at)
        for a, ages in state.items():
            access = self._accesses[a]
            if not access.results & used:
                continue
            # Accesses of one counter that is in order write a register one after the other.
            again = mine is not None and mine.counter == access.counter and access.in_order
            sources = {(o.kind, n) for o in instruction.src for n in range(o.index, o.index + o.width)}
            if not again or access.results & sources:
                self.facts[a, at] = self.facts.get((a, at), 0) | ages


def _access(instruction: Instruction) -> _Access | None:
    format, opcode = instruction.format, instruction.opcode
    results = frozenset((o.kind, n) for o in instruction.dst for n in range(o.index, o.index + o.width))
    if format == "SMEM":
        return _Access("lgkm", results, in_order=False) if results else None
    if format == "DS":
        return _Access("lgkm", results)
    if format.startswith("FLAT"):
        raise NotImplementedError(f"{opcode}: which counter it is done by is not known from the code")
    if format.startswith(_VECTOR):
        to_lds = "_load_lds_" in opcode or bool(instruction.modifiers.get("lds"))
        return _Access("vm", frozenset() if to_lds else results)
    return None


# Runs


@dataclass(frozen=True)
class Outcome:
    """Result of running a mutant.

    Attributes:
        reported: classes of what was found.
        same_results: whether the launch's outputs, which are a plain launch's, are those of the kernel as it
            was compiled.
        equivalent: why it is the same kernel; "" where that is not proven.
        not_run: whether the launch does not come by the instructions that it matters to.
    """

    mutant: Mutant
    reported: tuple[str, ...]
    same_results: bool
    equivalent: str
    not_run: bool = False

    @property
    def is_explained(self) -> bool:
        """Reported, proven to be the same kernel, or not reached; never both reported and proven."""
        if self.reported:
            return not self.equivalent
        return bool(self.equivalent) or self.not_run


def _followers(blocks: list[list[Instruction]]) -> dict[int, list[int]]:
    index_of = {block[0].address: index for index, block in enumerate(blocks)}
    return {index: flow.followers(blocks, index, index_of) for index in range(len(blocks))}


class Subject:
    """A kernel of the library at a small shape, whose mutants are run."""

    def __init__(self, name: str, arch: str) -> None:
        self.name, self.arch = name, arch
        self.spec: KernelSpec = wb.kernels[name]
        self.device: Device = device(f"emulated:{arch}")
        self.shape = self.spec.shape(small_shape(self.spec, arch), arch=arch)
        self.kernel = self.spec.kernel(self.shape, arch=arch)
        self.inputs = self.spec.make_inputs(self.shape, seed=1, device=self.device)
        self.blocks = self._read(self.kernel)
        self.mutants = list(mutants(self.blocks))
        self.waits = self._waits(self.blocks)
        findings, self.outputs = self._run(self.kernel)
        assert not findings, f"{name} on {arch} is not clean: {findings}"
        self.counts: dict[int, int] = {}
        self.order = self._order()

    def _read(self, kernel: Kernel) -> list[list[Instruction]]:
        code = kernel.module.code_object
        blocks = flow.blocks_of(flow.reachable(code, kernel.info.entry))
        base, data = code.text
        for block in blocks:
            for instruction in block:
                _DATA[instruction.address] = data[
                    instruction.address - base : instruction.address - base + instruction.size
                ]
        return blocks

    def _accesses(self, kernel: Kernel) -> tuple[Access, ...]:
        outputs = self.spec.make_outputs(self.shape, self.inputs)
        options = LaunchOptions(trace=True, count=True)
        _, (record,) = self.spec.run(
            self.inputs, outputs, shape=self.shape, code=kernel, device=self.device, options=options
        )
        self.counts = self.counts or record.counts or {}
        return record.accesses

    def _ending_at(self, barrier: int) -> tuple[Access, ...]:
        """Accesses recorded without waiting at barriers, with waves that end at one of them."""
        addresses = [i.address for block in self.blocks for i in block if i.opcode == "s_barrier"]
        words = {**dict.fromkeys(addresses, _NOP), barrier: _END}
        return self._accesses(Mutant("", "", barrier, words).applied_to(self.kernel))

    def _order(self) -> Order | None:
        """The order of a plain run's accesses; None if they do not determine it."""
        ways = _followers(self.blocks)
        accesses = self._accesses(self.kernel)
        try:
            order = Order(self.blocks, ways, self.kernel.info.entry, accesses, self._ending_at)
        except Unclear as unclear:
            print(f"    {self.name} on {self.arch}: no order of accesses: {unclear}")
            return None
        broken = order.broken()
        assert not broken, f"{self.name} on {self.arch}: {[(hex(a), hex(b)) for a, b in broken]}"
        return order

    @staticmethod
    def _waits(blocks: list[list[Instruction]]) -> Waits:
        return Waits(blocks, _followers(blocks))

    def _run(self, kernel: Kernel) -> tuple[tuple[str, ...], list[torch.Tensor] | None]:
        outputs = self.spec.make_outputs(self.shape, self.inputs)
        for tensor in outputs.values():
            tensor.zero_()
        options = LaunchOptions(sanitize=True, timeout=SECONDS)
        try:
            _, (record,) = self.spec.run(
                self.inputs, outputs, shape=self.shape, code=kernel, device=self.device, options=options
            )
        except KernelTimeout:
            return ("time limit",), None
        except KernelFault as fault:
            return ("fault", *(each.category for each in fault.findings)), None
        categories = tuple(sorted({finding.category for finding in record.findings}))
        return categories, [tensor.view(torch.uint8).clone() for tensor in outputs.values()]

    def outcome(self, mutant: Mutant) -> Outcome:
        """Run one mutant, and look for a proof where nothing is reported."""
        kernel = mutant.applied_to(self.kernel)
        reported, outputs = self._run(kernel)
        same = outputs is not None and all(map(torch.equal, outputs, self.outputs or []))
        blocks = self._read(kernel)
        if mutant.kind == "nop":
            hazards = find(blocks, _followers(blocks).__getitem__, self.arch, wave_size(self.arch)).pairs
            proof = "" if hazards else "no rule of the hazard table is broken"
            not_run = not any(self.counts.get(hazard.consumer) for hazard in hazards)
            return Outcome(mutant, reported, same, proof, bool(hazards) and not_run)
        return Outcome(mutant, reported, same, self._proof(mutant, blocks))

    def _proof(self, mutant: Mutant, blocks: list[list[Instruction]]) -> str:
        changes = {
            at: None if word in (_NOP, _BARRIER) else word & 0xFFFF for at, word in mutant.words.items()
        }
        if self.order is None or self.order.broken(changes) or self._waits(blocks).beyond(self.waits):
            return ""
        return "every access is in order without it"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--arch", nargs="+", default=TILE_TARGETS)
    parser.add_argument("--only", default="", help="a part of the kernels' names, with a dot at their ends")
    parser.add_argument("--kind", nargs="+", default=["wait", "barrier", "nop"])
    parser.add_argument("--sample", type=int, default=0, help="mutants of each kernel; 0: all")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    print(
        f"{'kernel':30} {'target':8} {'kind':8} {'mutants':>8} {'reported':>9} {'equivalent':>11} "
        f"{'not run':>8} {'left':>5}"
    )
    left = 0
    for arch in options.arch:
        for name in names(arch):
            if options.only not in f"{name}.":
                continue
            subject = Subject(name, arch)
            mutants = [mutant for mutant in subject.mutants if mutant.kind in options.kind]
            if options.sample and options.sample < len(mutants):
                mutants = random.Random(f"{options.seed} {name} {arch}").sample(mutants, options.sample)
            left += table(subject, [subject.outcome(mutant) for mutant in mutants])
    print(f"{left} mutants are neither reported nor proven equivalent")
    return int(left > 0)


def names(arch: str) -> Iterator[str]:
    """Operators of one launch, those with several implementations by each."""
    for operator in sorted(wb.kernels):
        for name in [f"{operator}:{variant}" for variant in wb.kernels[operator].variants] or [operator]:
            spec = wb.kernels[name]
            if arch in spec.targets and len(spec.active_steps(small_shape(spec, arch), arch)) == 1:
                yield name


def table(subject: Subject, outcomes: Sequence[Outcome]) -> int:
    """Print a kernel's rows; how many mutants are unexplained."""
    unexplained = [outcome for outcome in outcomes if not outcome.is_explained]
    for kind in dict.fromkeys(outcome.mutant.kind for outcome in outcomes):
        rows = [outcome for outcome in outcomes if outcome.mutant.kind == kind]
        reported = sum(bool(outcome.reported) for outcome in rows)
        equal = sum(bool(outcome.equivalent) and not outcome.reported for outcome in rows)
        print(
            f"{subject.name:30} {subject.arch:8} {kind:8} {len(rows):8} {reported:9} {equal:11} "
            f"{sum(outcome.not_run and not outcome.reported for outcome in rows):8} "
            f"{sum(not outcome.is_explained for outcome in rows):5}",
            flush=True,
        )
    hidden = sum(bool(outcome.reported) and outcome.same_results for outcome in outcomes)
    print(f"    {hidden} of those that are reported give the same numbers without the sanitizer")
    for outcome in unexplained:
        mutant = outcome.mutant
        both = f": reported ({', '.join(outcome.reported)}) and equivalent" if outcome.reported else ""
        print(f"    {mutant.address:#x} {mutant.kind}: {mutant.change}{both}", flush=True)
    return len(unexplained)


if __name__ == "__main__":
    raise SystemExit(main())
