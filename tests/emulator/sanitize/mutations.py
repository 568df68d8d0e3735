"""Mutation testing of the sanitizer: machine code of the library with one wait, barrier or s_nop less.

    python -m tests.emulator.sanitize.mutations [--arch gfx950 gfx942] [--only gemm] [--sample 20] [--seed 1]

Each mutant differs from a kernel as it was compiled in one instruction word (some more, where an s_nop
changes places with what follows). It is run on the emulated device under the sanitizer, and must be reported
or be proven to be the same kernel: `Waits` finds, from the code alone and on every way through it, which
accesses are under way at each instruction; a mutant with nothing more under way where it matters is
equivalent. That analysis shares nothing with the sanitizer, which follows one run. What is left is listed.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import torch

import workbench as wb
from tests.emulator.sanitize.test_clean import small_shape
from workbench.codeobject.instruction import Instruction
from workbench.emulator import translate
from workbench.errors import KernelFault, KernelTimeout
from workbench.kernel import Kernel, Module
from workbench.runtime import Device, LaunchOptions, device
from workbench.spec import KernelSpec

_NOP = 0xBF800000
_WAIT = 0xBF8C
_BARRIER = 0xBF8A0000
_VM_MOST, _LGKM_MOST = 63, 15
SECONDS = 60.0
"""Time limit of one mutant: without a barrier a kernel may wait for ever."""


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

    def of(self, kernel: Kernel) -> Kernel:
        """The kernel with this change."""
        module = kernel.module
        text = module.code_object.text
        start = module.code.index(text.data)
        # A mutant's debug info is the kernel's: reading it again would take most of the time.
        code = bytearray(module.code.replace(b".debug_", b".nodbg_"))
        for address, word in self.words.items():
            place = start + address - text.address
            code[place : place + 4] = word.to_bytes(4, "little")
        mutant = Module(bytes(code), name="mutant")
        mutant.debug = module.debug
        return mutant[kernel.info.name]


def _counts(field: int) -> tuple[int, int]:
    """vmcnt and lgkmcnt of s_waitcnt's field on gfx9."""
    return field & 15 | field >> 10 & 0x30, field >> 8 & 15


def _field(vm: int, lgkm: int) -> int:
    return vm & 15 | (vm & 0x30) << 10 | lgkm << 8 | 0x70


def _word(instruction: Instruction) -> int:
    return int(instruction.src[0].value or 0) if instruction.src else 0


def _text(vm: int, lgkm: int) -> str:
    parts = [f"vmcnt({vm})"] if vm < _VM_MOST else []
    parts += [f"lgkmcnt({lgkm})"] if lgkm < _LGKM_MOST else []
    return " ".join(parts) or "nothing"


def mutants(blocks: Iterable[Sequence[Instruction]]) -> Iterator[Mutant]:
    """Every mutant of a kernel: each s_waitcnt gone, without one of its counters and one count weaker; each
    s_barrier gone; each s_nop one wait state shorter, or after the instruction that it comes before."""
    for block in blocks:
        for place, instruction in enumerate(block):
            at = instruction.address
            if instruction.opcode == "s_waitcnt":
                vm, lgkm = _counts(_word(instruction))
                weaker = (
                    {(_VM_MOST, lgkm), (vm, _LGKM_MOST)} if vm < _VM_MOST and lgkm < _LGKM_MOST else set()
                )
                weaker |= {(vm + 1, lgkm)} if vm < _VM_MOST else set()
                weaker |= {(vm, lgkm + 1)} if lgkm < _LGKM_MOST else set()
                yield Mutant("wait", f"without {_text(vm, lgkm)}", at, {at: _NOP})
                for counts in sorted(weaker - {(_VM_MOST, _LGKM_MOST)}):
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


# ---- What is under way, from the code alone --------------------------------------------------------------

_VECTOR = ("FLAT", "GLOBAL", "SCRATCH", "MUBUF", "MTBUF")
# By access: the numbers of younger accesses of its counter that there may be, one bit each.
_State = dict[int, int]
_Facts = dict[tuple[str, int, int], int]


@dataclass
class _Access:
    counter: str
    results: frozenset[tuple[str, int]]
    in_order: bool
    reads_lds: bool
    writes_lds: bool


@dataclass
class Waits:
    """Which accesses are under way where it matters, on any way through a kernel's code.

    Attributes:
        facts: by (what, access, instruction): a register of the access's result is used ("register"), LDS is
            accessed that it may write or read ("lds"), or a barrier is passed with an access of LDS
            ("barrier").
            The value has a bit for each number of younger accesses that it may be under way with.
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
                known = entering[follower]
                merged = {a: known.get(a, 0) | leaving.get(a, 0) for a in known.keys() | leaving.keys()}
                if merged != known:
                    entering[follower] = merged
                    waiting.append(follower)

    def beyond(self, other: Waits) -> list[tuple[str, int, int]]:
        """What is under way here and not in `other`."""
        return [key for key, ages in self.facts.items() if ages & ~other.facts.get(key, 0)]

    def _block(self, index: int, state: _State) -> _State:
        for instruction in self.blocks[index]:
            at = instruction.address
            if instruction.opcode == "s_waitcnt":
                self._wait(state, *_counts(_word(instruction)))
                continue
            self._note(instruction, state)
            access = self._accesses.get(at)
            if access is not None:
                most = _VM_MOST if access.counter == "vm" else _LGKM_MOST
                for other in state:
                    if self._accesses[other].counter == access.counter:
                        state[other] = state[other] << 1 & (1 << most) - 1
                state[at] = state.get(at, 0) | 1
        return state

    def _wait(self, state: _State, vm: int, lgkm: int) -> None:
        scalar = any(self._accesses[a].counter == "lgkm" and not self._accesses[a].in_order for a in state)
        for a in list(state):
            access = self._accesses[a]
            count = vm if access.counter == "vm" else lgkm
            if access.counter == "lgkm" and scalar and lgkm:
                continue
            if count < (_VM_MOST if access.counter == "vm" else _LGKM_MOST):
                state[a] &= (1 << count) - 1
            if not state[a]:
                del state[a]

    def _note(self, instruction: Instruction, state: _State) -> None:
        at = instruction.address
        used = self._used[at]
        mine = self._accesses.get(at)
        for a, ages in state.items():
            access = self._accesses[a]
            kinds = []
            if access.results & used:
                again = mine is not None and mine.counter == access.counter and access.in_order
                sources = {(o.kind, n) for o in instruction.src for n in range(o.index, o.index + o.width)}
                if not again or access.results & sources:
                    kinds.append("register")
            if instruction.opcode == "s_barrier" and (access.reads_lds or access.writes_lds):
                kinds.append("barrier")
            other_counter = mine is not None and mine.counter != access.counter
            if other_counter and mine is not None and _conflict(access, mine):
                kinds.append("lds")
            for kind in kinds:
                self.facts[kind, a, at] = self.facts.get((kind, a, at), 0) | ages


def _conflict(first: _Access, second: _Access) -> bool:
    """Whether both may touch the same LDS, one of them writing."""
    return (first.writes_lds and (second.reads_lds or second.writes_lds)) or (
        first.reads_lds and second.writes_lds
    )


def _access(instruction: Instruction) -> _Access | None:
    format, opcode = instruction.format, instruction.opcode
    results = frozenset((o.kind, n) for o in instruction.dst for n in range(o.index, o.index + o.width))
    if format == "SMEM":
        return (
            _Access("lgkm", results, in_order=False, reads_lds=False, writes_lds=False) if results else None
        )
    if format == "DS":
        lanes = opcode.startswith(("ds_bpermute", "ds_permute", "ds_swizzle"))
        reads = not lanes and not opcode.startswith("ds_write")
        writes = not lanes and not opcode.startswith("ds_read")
        return _Access("lgkm", results, in_order=True, reads_lds=reads, writes_lds=writes)
    if format.startswith("FLAT"):
        raise NotImplementedError(f"{opcode}: which counter it is done by is not known from the code")
    if format.startswith(_VECTOR):
        to_lds = "_load_lds_" in opcode or bool(instruction.modifiers.get("lds"))
        return _Access("vm", frozenset() if to_lds else results, True, False, to_lds)
    return None


# ---- Runs ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Outcome:
    """What became of a mutant.

    Attributes:
        reported: classes of what was found.
        same_results: whether the launch's outputs are those of the kernel as it was compiled.
        equivalent: why it is the same kernel; "" where that is not proven or it was reported.
    """

    mutant: Mutant
    reported: tuple[str, ...]
    same_results: bool
    equivalent: str

    @property
    def explained(self) -> bool:
        return bool(self.reported or self.equivalent)


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

    def _read(self, kernel: Kernel) -> list[list[Instruction]]:
        code = kernel.module.code_object
        blocks = translate.blocks_of(translate.reachable(code, kernel.info.entry))
        base, data = code.text
        for block in blocks:
            for each in block:
                _DATA[each.address] = data[each.address - base : each.address - base + each.size]
        return blocks

    @staticmethod
    def _waits(blocks: list[list[Instruction]]) -> Waits:
        index_of = {block[0].address: index for index, block in enumerate(blocks)}
        return Waits(blocks, {i: translate._followers(blocks, i, index_of) for i in range(len(blocks))})

    def _run(self, kernel: Kernel) -> tuple[tuple[str, ...], list[torch.Tensor] | None]:
        outputs = self.spec.make_outputs(self.shape, self.inputs)
        for tensor in outputs.values():
            tensor.zero_()
        options = LaunchOptions(sanitize=True, timeout=SECONDS)
        try:
            _, record = self.spec.run(
                self.inputs, outputs, shape=self.shape, kernel=kernel, device=self.device, options=options
            )
        except KernelTimeout:
            return ("time limit",), None
        except KernelFault as fault:
            return ("fault", *(each.category for each in fault.findings)), None
        found = tuple(sorted({finding.category for finding in record.findings}))
        return found, [tensor.view(torch.uint8).clone() for tensor in outputs.values()]

    def outcome(self, mutant: Mutant) -> Outcome:
        """Run one mutant, and look for a proof where nothing is reported."""
        kernel = mutant.of(self.kernel)
        reported, outputs = self._run(kernel)
        same = outputs is not None and all(map(torch.equal, outputs, self.outputs or []))
        proof = "" if reported else self._proof(mutant, kernel)
        return Outcome(mutant, reported, same, proof)

    def _proof(self, mutant: Mutant, kernel: Kernel) -> str:
        if mutant.kind != "wait":
            return ""
        more = self._waits(self._read(kernel)).beyond(self.waits)
        return "" if more else "other waits come before every use"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--arch", nargs="+", default=["gfx950", "gfx942"])
    parser.add_argument("--only", default="", help="a part of the kernels' names")
    parser.add_argument("--kind", nargs="+", default=["wait", "barrier", "nop"])
    parser.add_argument("--sample", type=int, default=0, help="mutants of each kernel; 0: all")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    print(
        f"{'kernel':30} {'target':8} {'kind':8} {'mutants':>8} {'reported':>9} {'equivalent':>11} {'left':>5}"
    )
    left = 0
    for arch in options.arch:
        for name in sorted(wb.kernels):
            if options.only not in name or arch not in wb.kernels[name].targets:
                continue
            subject = Subject(name, arch)
            chosen = [mutant for mutant in subject.mutants if mutant.kind in options.kind]
            if options.sample and options.sample < len(chosen):
                chosen = random.Random(f"{options.seed} {name} {arch}").sample(chosen, options.sample)
            left += table(subject, [subject.outcome(mutant) for mutant in chosen])
    print(f"{left} mutants are neither reported nor proven equivalent")
    return int(left > 0)


def table(subject: Subject, outcomes: Sequence[Outcome]) -> int:
    """Print a kernel's rows; how many mutants are unexplained."""
    unexplained = [outcome for outcome in outcomes if not outcome.explained]
    for kind in dict.fromkeys(outcome.mutant.kind for outcome in outcomes):
        rows = [outcome for outcome in outcomes if outcome.mutant.kind == kind]
        reported = sum(bool(outcome.reported) for outcome in rows)
        equal = sum(bool(outcome.equivalent) for outcome in rows)
        print(
            f"{subject.name:30} {subject.arch:8} {kind:8} {len(rows):8} {reported:9} {equal:11} "
            f"{len(rows) - reported - equal:5}",
            flush=True,
        )
    for outcome in unexplained:
        mutant = outcome.mutant
        print(f"    {mutant.address:#x} {mutant.kind}: {mutant.change}", flush=True)
    return len(unexplained)


if __name__ == "__main__":
    raise SystemExit(main())
