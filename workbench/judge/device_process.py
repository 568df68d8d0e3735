"""The process that repeats a submission's launches, on memory that the submission never had.

    python -m workbench.judge.device_process REQUESTS ANSWERS

The numbers are files for pickles, from and to the judge. Addresses in arguments, and in tables of addresses,
are exchanged for those of blocks of this process. What host code of the submission left in memory is
replaced by `POISON` unless its provenance is known.
"""

from __future__ import annotations

import array
import ctypes
import hashlib
import json
import os
import pickle
import sys
import traceback
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from workbench import dtypes
from workbench.check.sanitizer import sanitize_target
from workbench.errors import WorkbenchError
from workbench.judge.exchange import TensorPlace, decoded, read, tensors, write
from workbench.judge.provenance import Bytes, Provenance, is_copy, is_fill
from workbench.judge.recorder import POINTERS
from workbench.judge.replays import HostBlock, Replay, Replayed
from workbench.kernel.foreign import ForeignCall
from workbench.launches import READS_OUTSIDE, ForeignLaunch, LaunchOptions
from workbench.operators.launch_target import Part, Target
from workbench.profile.timing import TimeResult, time_target
from workbench.runtime import Device, device
from workbench.runtime.findings import Cause

POISON = 0xFF
"""Byte of memory whose content does not count: NaN in most types."""

_PADDING = 512
"""Bytes behind a block that kernels may read, as PyTorch's allocator for GPUs leaves them."""

_HARMLESS = "on a GPU, PyTorch's allocator has memory there"

_ALIGNMENT = 4096


class _Block:
    """Memory in place of a block of the submission, at the same place in a page."""

    def __init__(self, base: int, size: int) -> None:
        self.base, self.size = base, size
        self._memory = np.zeros(size + _PADDING + 2 * _ALIGNMENT, np.uint8)
        start = (base - self._memory.ctypes.data) % _ALIGNMENT
        self.content: Bytes = self._memory[start : start + size]
        # Kernels may read what lies behind a tensor, but no result may depend on it.
        self._memory[start + size : start + size + _PADDING] = POISON
        self.address = self.content.ctypes.data
        self.tensor = torch.from_numpy(self.content)
        self.is_written = False
        """A launch changed it, and host code did not write all of it since."""
        self.is_input = False
        self.is_tensor = False
        """PyTorch's allocator owns it, which on a GPU has memory behind it."""
        self.origin: Provenance | None = None
        """Of what host code wrote last; None if it wrote nothing."""
        self.host_words: Bytes | None = None
        """What host code wrote, while its addresses are not exchanged yet."""


class Replayer:
    """Repeats launches."""

    def __init__(self) -> None:
        self._codes: dict[str, bytes] = {}

    def replay(self, request: Replay) -> Replayed:
        """Repeats the launches of a call, and writes the outputs."""
        record = _Record.read(request.folder / "own", request.number)
        peer = _Record.read(request.folder / "own", request.peer) if request.peer is not None else None
        return _Run(self, request, record, peer).done()

    def code(self, folder: Path, name: str) -> bytes:
        """A code object by its digest, which is checked."""
        if name not in self._codes:
            if not (len(name) == 64 and set(name) <= set("0123456789abcdef")):
                raise ValueError(f"{name!r} names no code object")
            data = (folder / f"{name}.co").read_bytes()
            if hashlib.sha256(data).hexdigest() != name:
                raise ValueError(f"the code object {name} has another content")
            self._codes[name] = data
        return self._codes[name]


@dataclass(frozen=True)
class _Record:
    """The record of a call: its events, the output, what host code wrote."""

    document: dict[str, Any]
    host: Bytes

    @classmethod
    def read(cls, folder: Path, number: int) -> _Record:
        document = json.loads((folder / f"events-{number}.json").read_bytes())
        return cls(document, np.fromfile(folder / f"host-{number}", np.uint8))

    def content(self, event: Sequence[Any]) -> Bytes:
        _, _, size, place, _ = event
        content = self.host[place : place + size]
        if size < 0 or len(content) != size:
            raise ValueError("the record is too short")
        return content

    @property
    def host_events(self) -> list[Any]:
        return [event for event in self.document["events"] if event[0] == "host"]


class _Run:
    """One repetition."""

    def __init__(self, replayer: Replayer, request: Replay, record: _Record, peer: _Record | None) -> None:
        self._replayer, self._request, self._record, self._peer = replayer, request, record, peer
        self._document = record.document
        self._device: Device = device(request.device)
        stored = read(request.inputs)
        self._inputs = [np.asarray(storage.numpy()) for storage in stored.storages]
        self._sources = list(tensors(stored.value))
        self._blocks: dict[int, _Block] = {}
        self._bases: list[int] = []
        self._writes: list[HostBlock] = []
        self._calls: list[ForeignCall] = []
        self._findings: list[Cause] = []
        self._notes: list[Cause] = []
        # Every block that appears later, so that addresses of it are known before.
        self._sizes = {int(e[1]): int(e[2]) for e in record.document["events"] if e[0] in ("input", "host")}

    def done(self) -> Replayed:
        events = self._document["events"]
        last = max((n for n, event in enumerate(events) if event[0] == "launch"), default=-1)
        for number, event in enumerate(events):
            if event[0] == "launch":
                self._launch(*event[1:])
            else:
                self._write(event, is_after=number > last)
        provenances: list[str] = []

        def found(place: TensorPlace) -> torch.Tensor:
            block = self._blocks.get(place.storage)
            if block is None:
                provenances.append("launch" if 0 in place.shape else "host")
                return torch.empty(place.shape, dtype=place.torch_dtype)
            provenances.append(_provenance(block))
            return place.tensor(block.tensor).clone()

        write(decoded(self._document["output"], found), self._request.results)
        return Replayed(
            tuple(call.kernel.name for call in self._calls),
            tuple(provenances),
            tuple(self._writes),
            {str(name): int(count) for name, count in self._document["operators"].items()},
            tuple(dict.fromkeys(map(self._text, self._findings))),
            _ranged(time_target(self._target(self._calls))) if self._request.time and self._calls else None,
            notes=tuple(dict.fromkeys(f"{self._text(cause)}: {_HARMLESS}" for cause in self._notes)),
        )

    def _text(self, cause: Cause) -> str:
        """A cause with paths as the submission's author knows them, without the judge's temporary folder."""
        return str(cause).replace(f"{self._request.folder / 'own'}/", "")

    def _write(self, event: Sequence[Any], is_after: bool) -> None:
        kind, base, size, place = (event[0], *map(int, event[1:4]))
        if size != self._sizes[base] or size < 0:
            # Memory was freed, and is another block now.
            self._blocks.pop(base, None)
            self._sizes[base] = size
        block = self._block(base)
        block.is_tensor = bool(event[4])
        if kind == "input":
            source = self._inputs[place]
            if len(source) != size:
                raise ValueError(f"input {place} has {len(source)} bytes, and its block {size}")
            block.content[:] = source
            block.is_input, block.is_written, block.origin = True, False, None
            block.host_words = source if size <= POINTERS else None
            return
        content = self._record.content(event)
        provenance = self._origin(len(self._writes), content, block, is_after)
        self._writes.append(HostBlock(size, place, provenance, is_after))
        if provenance is Provenance.HOST and not self._request.trusting:
            block.content[:] = POISON
        else:
            block.content[:] = content
        block.is_input, block.is_written, block.origin = False, False, provenance
        block.host_words = content if size <= POINTERS else None

    def _origin(self, index: int, content: Bytes, block: _Block, is_after: bool) -> Provenance:
        others = self._peer.host_events if self._peer is not None else []
        same = (
            self._peer is not None
            and index < len(others)
            and np.array_equal(self._peer.content(others[index]), content)
        )
        written = [self._typed(b) for b in self._blocks.values() if b.is_written]
        if is_after:
            # The result itself: all of what one launch wrote, converted or laid out.
            is_result = any(is_copy(content, sources, whole=True) for sources in written)
            return Provenance.LAUNCH if is_result else Provenance.HOST
        if is_fill(content) or same:
            return Provenance.CONSTANT
        if is_copy(content, self._sources):
            return Provenance.COPY
        if any(is_copy(content, sources, whole=True) for sources in written):
            return Provenance.LAUNCH
        return Provenance.HOST

    @staticmethod
    def _typed(block: _Block) -> list[torch.Tensor]:
        """What a launch wrote, as each type that it may be of."""
        types = (dtypes.FP32, dtypes.BF16, dtypes.FP16, dtypes.INT32)
        return [block.tensor.view(kind.dtype) for kind in types if block.size % (kind.bits // 8) == 0]

    def _block(self, base: int) -> _Block:
        if base not in self._blocks:
            self._blocks[base] = _Block(base, self._sizes[base])
            self._bases = sorted(self._blocks)
        return self._blocks[base]

    def _at(self, address: int) -> _Block | None:
        """The block that an address is in, or at whose end it is."""
        position = bisect_right(self._bases, address) - 1
        if position < 0:
            return None
        block = self._blocks[self._bases[position]]
        return block if address <= block.base + block.size else None

    def _exchanged(self, data: bytes) -> tuple[bytes, dict[int, _Block]]:
        """The data with addresses of this process, and the blocks by the number of their 8 bytes."""
        words = array.array("Q", data[: len(data) // 8 * 8])
        reached: dict[int, _Block] = {}
        for number, word in enumerate(words):
            if word and (block := self._at(word)) is not None:
                words[number] = block.address + word - block.base
                reached[number] = block
        return words.tobytes() + data[len(words) * 8 :], reached

    def _launch(
        self, code: str, kernel: str, grid: Any, block: Any, shared: int, cooperative: bool, data: str
    ) -> None:
        arguments, reached = self._exchanged(bytes.fromhex(data))
        for held in list(self._blocks.values()):
            if held.host_words is not None:
                table, named = self._exchanged(held.content.tobytes())
                if named:
                    held.content[:] = np.frombuffer(table, np.uint8)
                held.host_words = None
        x, y, z = grid
        bx, by, bz = block
        launch = ForeignLaunch(
            self._replayer.code(self._request.folder / "own", code),
            str(kernel),
            (int(x), int(y), int(z)),
            (int(bx), int(by), int(bz)),
            int(shared),
            bool(cooperative),
            arguments,
            self._device.name,
        )
        call = ForeignCall(launch, {number: held.tensor for number, held in reached.items()})
        self._calls.append(call)
        before = {base: hash(held.content.tobytes()) for base, held in self._blocks.items()}
        if self._request.sanitize:
            for cause in sanitize_target(self._target([call])).causes:
                (self._notes if self._is_harmless(cause) else self._findings).append(cause)
        else:
            call.run(None)
        for base, held in self._blocks.items():
            if hash(held.content.tobytes()) != before[base]:
                held.is_written = True

    def _is_harmless(self, cause: Cause) -> bool:
        """True for reads past the end of tensors, within what PyTorch's allocator on a GPU rounds up to."""
        # A finding has its first address alone; the next call faults at those that are further out.
        blocks = [block for block in self._blocks.values() if block.is_tensor]
        padding = [range(b.address + b.size, b.address + b.size + -b.size % _PADDING) for b in blocks]
        return all(
            finding.kind.startswith(READS_OUTSIDE) and any(finding.address in behind for behind in padding)
            for finding in cause.findings
        )

    def _target(self, calls: Sequence[ForeignCall]) -> Target:
        def running(call: ForeignCall) -> Callable[[LaunchOptions | None], Any]:
            return lambda options: call.run(options)

        parts = tuple(Part(f"{n} {c.kernel.name}", c.kernel, running(c)) for n, c in enumerate(calls, 1))
        return Target(parts[0].kernel.name, self._device, parts, {}, {}, fresh=True)


def _ranged(result: TimeResult) -> tuple[float, float | None, float | None]:
    steps = result.steps or (result,)
    low = high = 0.0
    for step in steps:
        around = step.median.error.around(step.median.value) if step.median.error is not None else None
        if around is None:
            return result.median.value, None, None
        low, high = low + around[0], high + around[1]
    return result.median.value, low, high


def _provenance(block: _Block) -> str:
    if block.is_written:
        return "launch"
    if block.is_input:
        return "input"
    return "launch" if block.origin is Provenance.LAUNCH else "host"


def main(arguments: Sequence[str]) -> None:
    """Answers requests until they end."""
    ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)  # PR_SET_DUMPABLE: no other process reads this one's memory.
    replayer = Replayer()
    with os.fdopen(int(arguments[0]), "rb") as requests, os.fdopen(int(arguments[1]), "wb") as answers:
        while True:
            try:
                request = pickle.load(requests)
            except EOFError:
                return
            try:
                answer = replayer.replay(request)
            except WorkbenchError as error:
                answer = Replayed(error=f"{type(error).__name__}: {error}")
            except FileNotFoundError as error:
                # Its path is a temporary one of the judge, which would tell the reader nothing.
                name = Path(error.filename or "a file").name
                answer = Replayed(error=f"the record lacks {name}: the submission's process ended early")
            except Exception as error:
                traceback.print_exc()
                answer = Replayed(error=f"the record is damaged: {type(error).__name__}: {error}")
            pickle.dump(answer, answers)
            answers.flush()


if __name__ == "__main__":
    main(sys.argv[1:])


__all__ = ["Replayer"]
