"""The clock of HIP events: the modelled time of streams' commands, or this computer's time.

Nothing is modelled until a program asks for a time. Until then its commands are kept as a list of steps, and
the first launch of each kind is observed for the model; the others run as usual. A program without timed
events has no overhead.
"""

from __future__ import annotations

import array
import os
import threading
from collections import defaultdict, deque
from collections.abc import Callable, Hashable, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np
import numpy.typing as npt

from workbench import errors
from workbench.emulator.node import console
from workbench.emulator.node.allocations import Memory, MemoryKind
from workbench.emulator.node.loaded import LoadedCode
from workbench.emulator.node.timeline import Stream, Timeline
from workbench.launches import TIMED, Dim, LaunchModel, LaunchOptions, LaunchRecord, LaunchTimes
from workbench.targets import LINE_BYTES, Product

VARIABLE = "HIPKITTENS_EVENT_TIMES"
MODELLED, HOST = "modelled", "host"

MOST_OBSERVED = 32
"""Kinds of launches of one kernel that are modelled; any other takes the time of the kind nearest in work, in
proportion."""
_MOST_WAITING = 32
_MOST_STEPS = 1 << 16
_MOST_PLACES = 1 << 16
_LOWEST_POINTER = 1 << 16
_ON_HOST = (MemoryKind.HOST, MemoryKind.REGISTERED)

model: Callable[[], LaunchModel] | None = None
"""Loads the model of launch times; set by a higher layer."""

Step = Callable[[Timeline], None]


class Moment(Protocol):
    """Owner of a moment of the timeline, such as an event; its time is None before it has one."""

    moment: float | None


def times_source() -> str:
    """HIPKITTENS_EVENT_TIMES, or `MODELLED` if it is not set.

    Raises:
        UsageError: the value is neither "modelled" nor "host".
    """
    choice = os.environ.get(VARIABLE) or MODELLED
    if choice not in (MODELLED, HOST):
        raise errors.UsageError(f"{VARIABLE} is {choice!r}; expected {MODELLED!r} or {HOST!r}")
    return choice


def can_model(product: Product) -> bool:
    """True if times on a product are modelled: its timing is known, and the host's time was not requested."""
    return model is not None and product.memory_latency_ns is not None and times_source() == MODELLED


@dataclass(eq=False)
class Kind:
    """Launches of a kernel with the same inputs to the time model except for the number of executed
    instructions.

    Attributes:
        executed: instructions that the observed launch executed, counted by waves.
        code: ELF with the kernel.
        record: record of the observed launch; None once it has been modelled.
        argument_bytes: bytes of the memory that its arguments point to.
    """

    executed: int
    code: bytes
    record: LaunchRecord | None
    argument_bytes: int
    _times: LaunchTimes | None = None

    def times(self, by: LaunchModel) -> LaunchTimes:
        """Its modelled time, computed once."""
        if self._times is None:
            assert self.record is not None
            self._times = by.times(self.code, self.record, self.argument_bytes)
            self.record = None
        return self._times

    def seconds(self, by: LaunchModel, executed: int, *, warm: bool) -> float:
        """Modelled time of a launch that executed this many instructions."""
        times = self.times(by)
        whole = times.warm if warm else times.cold
        return times.overhead + (whole - times.overhead) * executed / max(1, self.executed)


class _Kernel:
    """Kinds of a kernel's launches that the clock has observed.

    Attributes:
        kinds: observed kinds by shape and arguments, without the positions of memory.
        recent: kinds by shape and arguments, valid while `Memory.epoch` is `epoch`.
    """

    def __init__(self) -> None:
        self.kinds: dict[Hashable, Kind] = {}
        self.recent: dict[Hashable, Kind] = {}
        self.epoch: int | None = None


@dataclass(eq=False)
class _Command:
    """One command of a stream: the bytes that each engine moves, and the cost of a launch."""

    stream: Stream
    in_graph: bool = False
    moved: dict[str, float] = field(default_factory=dict)
    size: int = 0
    launched: bool = False


class _Sending:
    """See `Clock.command`; a class, since a launch enters and leaves it."""

    def __init__(self, clock: Clock, command: _Command) -> None:
        self._clock, self._command = clock, command

    def __enter__(self) -> None:
        self._clock._thread.command = self._command

    def __exit__(self, *_: object) -> None:
        self._clock._thread.command = None
        self._clock._send_moved(self._command)


class _Thread(threading.local):
    command: _Command | None = None


class Clock:
    """Records commands of streams while there are events that can be timed.

    Attributes:
        active: True while there are such events.
        asked: True if a program has asked for a time.
        kernel_seconds: modelled time of the launches that are on the timeline, by the kernel's symbol.
        kernel_launches: number of these launches.
        unmodelled: number of launches on products without a timing model.
    """

    def __init__(self, memory: Memory, products: Sequence[Product]) -> None:
        self._memory = memory
        self._products = products
        self.active = False
        self.asked = False
        self.kernel_seconds: defaultdict[str, float] = defaultdict(float)
        self.kernel_launches: defaultdict[str, int] = defaultdict(int)
        self.unmodelled = 0
        self._events = 0
        self._lock = threading.RLock()
        self._thread = _Thread()
        self._timeline = Timeline()
        self._steps: deque[Step] = deque()
        self._waiting: list[Kind] = []
        self._begun: dict[Stream, list[Moment]] = {}
        # Bytes that had gone through the Infinity Cache by then, by launch: whether it still has the launch's
        # data.
        self._passed = 0
        self._places: dict[Hashable, int] = {}

    def event_made(self) -> None:
        """Notes one more event that can be timed."""
        self._events += 1
        self.active = True

    def event_gone(self) -> None:
        """Notes that one of them was destroyed; after the last one, the recorded commands are discarded."""
        self._events -= 1
        if self._events <= 0:
            self.active = False
            with self._lock:
                self._steps.clear()

    def forked(self) -> None:
        """In a child process: nobody holds the lock, and the parent's commands do not belong to the child."""
        self._lock = threading.RLock()
        self._steps.clear()
        self.kernel_seconds.clear()
        self.kernel_launches.clear()

    # Commands of streams

    def command(self, stream: Stream, *, in_graph: bool = False) -> AbstractContextManager[None]:
        """Context of one call's command to a stream; inside another it is part of that one."""
        outer = self._thread.command
        if outer is not None:
            outer.in_graph |= in_graph
            return nullcontext()
        return _Sending(self, _Command(stream, in_graph))

    def moved(self, target: int, source: int, size: int) -> None:
        """Books the copy of these bytes; outside a command the host waits for it."""
        to, from_ = self._device_of(target), self._device_of(source)
        if to is None and from_ is None:
            return
        device = to if to is not None else from_ or 0
        product = self._products[device]
        hbm = product.hbm_bytes_per_second / 100
        if to is None or from_ is None:
            engine, seconds = (
                "to host" if to is None else "to device",
                size / product.host_link_bytes_per_second,
            )
        else:
            engine, seconds = "units", size / (hbm * product.hbm_read) + size / (hbm * product.hbm_write)
        self._move(device, engine, seconds, size, waits=True)

    def filled(self, target: int, size: int) -> None:
        """Books the time of setting this many bytes of memory."""
        device = self._device_of(target)
        if device is not None:
            product = self._products[device]
            seconds = size * 100 / (product.hbm_bytes_per_second * product.hbm_write)
            self._move(device, "units", seconds, size, waits=False)

    def _device_of(self, address: int) -> int | None:
        """Ordinal of the device in whose memory an address is; None if it is the host's."""
        allocation = self._memory.find(address)
        return None if allocation is None or allocation.kind in _ON_HOST else allocation.device or 0

    def _move(self, device: int, engine: str, seconds: float, size: int, *, waits: bool) -> None:
        command = self._thread.command
        alone = command if command is not None else _Command(Stream.from_handle(device, 0))
        alone.moved[engine] = alone.moved.get(engine, 0.0) + seconds
        alone.size += size
        if command is None:
            self._send_moved(alone)
            if waits:
                self.wait_for_stream(alone.stream)

    def _send_moved(self, command: _Command) -> None:
        if not command.moved:
            return
        moved, size, stream, gap = dict(command.moved), command.size, command.stream, self._gap(command)
        command.moved.clear()
        command.size = 0

        def step(timeline: Timeline) -> None:
            self._passed += size
            before = gap()
            for engine, seconds in moved.items():
                timeline.add(stream, engine, seconds, gap=before)

        self._add(step)

    def _gap(self, command: _Command) -> Callable[[], float]:
        """Seconds before the next work of a command: a graph has them once."""
        first, command.launched = not command.launched, True
        if command.in_graph:
            return (lambda: loaded_model().graph_gap) if first else (lambda: 0.0)
        return lambda: loaded_model().gap

    def record(self, event: Moment, stream: Stream | None = None, *, begins: bool = False) -> None:
        """Gives an event the moment when all commands so far of a stream have ended.

        Args:
            stream: the stream; None for that of the command.
            begins: the moment is when the next kernel of the stream begins.
        """
        command = self._thread.command
        if command is not None:
            self._send_moved(command)
        of = (
            stream
            if stream is not None
            else command.stream
            if command is not None
            else Stream.from_handle(0, 0)
        )

        def step(timeline: Timeline) -> None:
            event.moment = timeline.moment(of)
            if begins:
                self._begun.setdefault(of, []).append(event)

        self._add(step)

    def wait_for_event(self, stream: Stream | None, event: Moment) -> None:
        """Makes a stream wait for an event's moment; None for the host."""

        def step(timeline: Timeline) -> None:
            if event.moment is None:
                return
            if stream is None:
                timeline.wait_on_host(event.moment)
            else:
                timeline.wait(stream, event.moment)

        self._add(step)

    def wait_for_stream(self, stream: Stream | None) -> None:
        """Makes the host wait for a stream; None for all streams."""
        self._add(lambda timeline: timeline.wait_on_host(timeline.moment(stream) if stream else None))

    def _add(self, step: Step) -> None:
        with self._lock:
            self._steps.append(step)
            if len(self._steps) > _MOST_STEPS:
                self.settle()

    def settle(self) -> None:
        """Works out the moments of all events that were recorded."""
        with self._lock:
            while self._steps:
                self._steps.popleft()(self._timeline)

    # Launches

    def launch(
        self,
        loaded: LoadedCode,
        kernel: str,
        shape: tuple[Dim, Dim, int],
        arguments: bytes,
        options: LaunchOptions,
    ) -> Launching:
        """Observes or counts a launch that is about to run.

        Args:
            shape: values besides the arguments that determine the launch's time.
            options: observations that the launch makes anyway.
        """
        state: _Kernel = loaded.timed.get(kernel) or loaded.timed.setdefault(kernel, _Kernel())
        place = shape, arguments
        epoch = self._memory.epoch
        if epoch is None or epoch != state.epoch or len(state.recent) >= _MOST_PLACES:
            state.recent.clear()
            state.epoch = epoch
        kind = state.recent.get(place)
        launching = Launching(self, loaded, kernel, place, options, state)
        if kind is not None:
            launching.kind = kind
            return launching
        form, launching.argument_bytes = self.form(arguments)
        launching.key = shape, form
        kinds = state.kinds
        kind = launching.kind = kinds.get(launching.key)
        if kind is not None and epoch is not None:
            state.recent[place] = kind
        asks = options.traffic is not None or options.steps is not None or options.tape is not None
        if launching.kind is None and not asks and not options.trace and self._has_room(kinds):
            launching.options = replace(options, count=True, traffic=TIMED.traffic, steps=TIMED.steps)
        return launching

    def _has_room(self, kinds: dict[Hashable, Kind]) -> bool:
        """True if one more kind may be observed; the first of a kernel always is."""
        with self._lock:
            self._waiting = [kind for kind in self._waiting if kind.record is not None]
            if len(self._waiting) >= _MOST_WAITING and self.asked:
                for kind in self._waiting:
                    # Who asks for the time is told that the device has none; a launch is not.
                    with suppress(errors.WorkbenchError):
                        kind.times(loaded_model())
                self._waiting.clear()
            return not kinds or (len(kinds) < MOST_OBSERVED and len(self._waiting) < _MOST_WAITING)

    def form(self, arguments: bytes) -> tuple[Hashable, int]:
        """Arguments as far as they matter for the time, so without places of allocations; and their bytes."""
        words = array.array("Q", arguments[: len(arguments) // 8 * 8])
        form: list[Hashable] = [arguments[len(words) * 8 :]]
        sizes: dict[int, int] = {}
        for word in words:
            allocation = self._memory.find(word) if word >= _LOWEST_POINTER else None
            if allocation is None:
                form.append(word)
            else:
                sizes[allocation.base] = allocation.size
                form.append((allocation.size, (word - allocation.base) % LINE_BYTES))
        return tuple(form), sum(sizes.values())

    def _observed(self, kind: Kind) -> None:
        with self._lock:
            self._waiting.append(kind)

    def _launched(self, name: str, kind: Kind, executed: int, place: Hashable, device: int) -> None:
        """Adds a launch that has ended to the list."""
        command = self._thread.command or _Command(Stream.from_handle(device, 0))
        self._send_moved(command)
        stream, gap = command.stream, self._gap(command)
        cache = self._products[device].infinity_cache_bytes

        def step(timeline: Timeline) -> None:
            by = loaded_model()
            last = self._places.get(place)
            warm = last is not None and self._passed - last < cache
            self._passed += kind.times(by).bytes
            if len(self._places) >= _MOST_PLACES:
                self._places.clear()
            self._places[place] = self._passed
            seconds = kind.seconds(by, executed, warm=warm)
            self.kernel_seconds[name] += seconds
            self.kernel_launches[name] += 1
            start = timeline.add(stream, "units", seconds, share=kind.times(by).units, gap=gap())
            for event in self._begun.pop(stream, ()):
                event.moment = start

        self._add(step)

    # Queries

    def milliseconds(self, start: Moment, stop: Moment) -> float | None:
        """The time from one event to another; None if one has no moment."""
        self.asked = True
        self.settle()
        if start.moment is None or stop.moment is None:
            return None
        return (stop.moment - start.moment) * 1e3


@dataclass(eq=False)
class Launching:
    """A launch that the clock observes or counts.

    Attributes:
        options: options of the launch, including the observations that the clock needs.
        kind: kind of the launch; None until the first launch of the kind has ended.
        key, argument_bytes: key and argument bytes of a kind that is not a recent one.
    """

    _clock: Clock
    _loaded: LoadedCode
    _kernel: str
    _place: Hashable
    options: LaunchOptions
    _state: _Kernel
    key: Hashable = None
    argument_bytes: int = 0
    kind: Kind | None = None

    def ended(
        self, record: LaunchRecord, counts: npt.NDArray[np.uint64], options: LaunchOptions
    ) -> LaunchRecord:
        """Adds the launch to the clock; returns the record that the original options asked for.

        Args:
            record: record of the launch with the observations of `self.options`.
            counts: executions of each block.
        """
        loaded, kernel = self._loaded, self._kernel
        executed = int(np.dot(counts, loaded.block_sizes(kernel)))
        if self.options is not options:
            self.kind = Kind(executed, loaded.code_object.data, record, self.argument_bytes)
            self._state.kinds[self.key] = self.kind
            self._clock._observed(self.kind)
            record = record.asked_by(options)
        elif self.kind is None and self._state.kinds:
            self.kind = min(self._state.kinds.values(), key=lambda kind: abs(kind.executed - executed))
        if self.kind is not None:
            place = loaded, kernel, self._place
            self._clock._launched(kernel, self.kind, executed, place, loaded.device)
        return record


_loaded_model: LaunchModel | None = None


def loaded_model() -> LaunchModel:
    """The model of launch times, loaded on first use."""
    global _loaded_model
    if _loaded_model is None:
        assert model is not None
        _loaded_model = model()
    return _loaded_model


_labelled = False


def label(product: Product) -> None:
    """Explains the times of events on standard error, once in a process."""
    global _labelled
    if _labelled:
        return
    _labelled = True
    if can_model(product):
        text = (
            f"times of HIP events are modelled for {product.name}, not measured: kernels by the timing "
            f"model, copies by rates of its memory and link; {VARIABLE}={HOST} gives this computer's clock"
        )
    elif times_source() == MODELLED:
        text = f"times of HIP events are this computer's clock: there is no timing model of {product.name}"
    else:
        return
    console.writer(f"hipkittens: {text}\n", True)
