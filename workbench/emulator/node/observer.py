"""Observers of one launch by its options: the sanitizer, the trace of accesses, the record of traffic."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Iterator
from dataclasses import replace

from workbench.codeobject import KernelArg
from workbench.emulator.native import abi
from workbench.emulator.native.observe.steps import StepRecorder
from workbench.emulator.native.observe.tape import TapeRecorder
from workbench.emulator.native.observe.trace import Trace
from workbench.emulator.native.observe.traffic import TrafficRecorder
from workbench.emulator.node import limits
from workbench.emulator.node.allocations import Memory
from workbench.emulator.node.dispatch import Dispatch, Outcome
from workbench.emulator.node.faults import Scene
from workbench.emulator.node.request import Request
from workbench.emulator.sanitizer.findings import Shadow
from workbench.launches import LaunchRecord, RawFinding

_HEAP_SANITIZED = 8 * 98
"""Byte of the heap, of hip/device/heap.h, that says whether the launch is sanitized."""


class Observer:
    """Observes one launch.

    Args:
        request: the launch request with its observations.
        prepared: the prepared launch, which gets the addresses of the records.

    Attributes:
        traffic: recorder of memory traffic; None unless requested.
        fault: an access out of bounds after which a sanitized launch continued; valid after `findings`.
    """

    _shadow: Shadow | None = None
    _trace: Trace | None = None
    _steps: StepRecorder | None = None
    _tape: TapeRecorder | None = None
    traffic: TrafficRecorder | None = None
    fault: abi.CData | None = None

    def __init__(self, request: Request, prepared: Dispatch, memory: Memory) -> None:
        self._request = request
        self._memory = memory
        options, loaded, geometry = request.options, request.loaded, request.geometry
        heap = memory.heap(loaded.device)
        if heap is not None:
            # malloc and free act accordingly.
            ctypes.c_uint64.from_address(heap.base + _HEAP_SANITIZED).value = options.sanitize
        if options.sanitize:
            kernel = loaded.code_object.kernels[request.kernel]
            self._shadow = Shadow(
                geometry.group_count,
                memory.watched(loaded.device),
                heap,
                loaded.places,
                wave_size=kernel.wave_size,
            )
            prepared.launch.san = self._shadow.pointer
            prepared.keep.append(self._shadow)
        else:
            memory.note_unseen(loaded.device)
        if not options.observed:
            return
        kernel = loaded.code_object.kernels[request.kernel]
        if options.trace:
            self._trace = Trace()
            prepared.launch.trace = self._trace.pointer
            prepared.keep.append(self._trace)
        if options.traffic is not None:
            self.traffic = TrafficRecorder(
                options.traffic,
                loaded.code_object.text.address,
                loaded.line_kinds(request.kernel),
                geometry.group_count,
                geometry.waves(kernel.wave_size),
            )
        if options.steps is not None:
            self._steps = StepRecorder(
                options.steps,
                loaded.code_object.text.address,
                loaded.block_addresses(request.kernel, request.schedule is not None),
                geometry.group_count,
                geometry.waves(kernel.wave_size),
            )
            prepared.launch.steps = self._steps.pointer
            prepared.launch.only = self._steps.only
            prepared.keep.append(self._steps)
        if options.tape is not None:
            is_scheduled = request.schedule is not None
            translation = loaded.translation(
                request.kernel,
                single=True,
                exact=request.is_exact,
                approximate=request.approximation is not None,
                late=is_scheduled,
                scheduled=is_scheduled,
            )
            blocks = [block.instructions for block in translation.blocks]
            self._tape = TapeRecorder(
                options.tape,
                prepared.launch,
                blocks,
                kernel.descriptor.accum_offset,
                kernel.wave_size,
                anywhere=is_scheduled,
            )
            self._tape.tell(prepared.launch)
            prepared.keep.append(self._tape)

    @property
    def one_thread(self) -> bool:
        """True if the launch needs a single thread: work-groups share the sanitizer's state and the trace."""
        return self._shadow is not None or self._trace is not None or self._tape is not None

    def findings(self, scene: Scene) -> tuple[RawFinding, ...]:
        """The sanitizer's findings in a launch that has ended."""
        if self._shadow is None:
            return ()
        findings = (*self._shadow.take(scene), *self._notes_of_arguments(scene))
        self.fault = self._shadow.fault
        if self._shadow.lost_writes:
            self._memory.note_unseen(self._request.loaded.device)
        return findings

    def _notes_of_arguments(self, scene: Scene) -> Iterator[RawFinding]:
        """Notes on arguments that the launch did not pass, and on those that the block has no room for."""
        kernel = scene.kernel

        def note(message: str) -> RawFinding:
            return RawFinding("note", message, kernel.entry, None, (0, 0, 0), 0, None, None, 1)

        def names(args: Iterable[KernelArg]) -> str:
            return ", ".join(arg.name or f"that at byte {arg.offset}" for arg in args)

        size = len(self._request.arguments)
        missing = limits.missing_arguments(kernel, size)
        if missing:
            yield note(
                f"the launch gave {size} of {kernel.own_bytes} bytes of arguments; "
                f"not given: {names(missing)}. They are zero here, and undefined on a GPU: make the block of "
                "HIP_LAUNCH_PARAM_BUFFER_SIZE as long as the kernel's arguments."
            )
        cut = tuple(arg for arg in kernel.not_passed if not arg.hidden)
        if cut:
            yield note(
                f"the kernel's metadata declares {kernel.own_bytes} bytes of arguments and a block of "
                f"{kernel.kernarg_size} (.kernarg_segment_size); cut off at its end: {names(cut)}. What the "
                "kernel reads there is zero here, and undefined on a GPU: raise .kernarg_segment_size, or "
                "leave the argument out."
            )

    def completed(self, record: LaunchRecord, outcome: Outcome) -> LaunchRecord:
        """The record of a successful launch, with everything that was requested.

        Raises:
            LaunchError: the trace was too small for all accesses.
        """
        options = self._request.options
        if not options.observed:
            return record
        counts = None
        if options.count:
            scheduled = self._request.schedule is not None
            counts = self._request.loaded.by_instruction(record.kernel, outcome.counts, scheduled)
        return replace(
            record,
            counts=counts,
            counters=outcome.counters if self._request.profile == abi.PROFILE_ALL else {},
            accesses=self._trace.take() if self._trace is not None else (),
            traffic=self.traffic,
            steps=self._steps,
            tape=self._tape,
        )
