"""HIP calls about streams and events, and recording graphs from streams.

Work is done when its call returns, so a stream never waits; on a stream that is being captured it becomes a
node of a graph instead.

An event's time is a moment of the modelled timeline (`node.clock`), or this computer's wall clock when it was
recorded, which says how long the emulation took, and never how long a GPU would.
"""

from __future__ import annotations

import ctypes
import itertools
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from ctypes import c_float
from dataclasses import dataclass
from functools import wraps
from typing import Any, TypeVar, cast

from workbench import errors
from workbench.emulator.hip import structures
from workbench.emulator.hip.calls import (
    HANDLE,
    INT,
    POINTER,
    SIZE,
    U64,
    UINT,
    HipError,
    call,
    failure_listeners,
    launch_failed,
    report_faults,
    thread,
)
from workbench.emulator.hip.graph_nodes import Action, Capture, Graph, Node, NodeKind
from workbench.emulator.node import clock
from workbench.emulator.node.device import node
from workbench.emulator.node.timeline import Stream

# NULL, hipStreamLegacy and hipStreamPerThread.
_BUILT_IN = (0, 1, 2)


@dataclass(eq=False)
class _Stream:
    device: int
    flags: int
    priority: int
    capture: Capture | None = None


@dataclass(eq=False)
class _Event:
    """A HIP event and the times of its last record.

    Attributes:
        timed: True if its times are modelled.
        nanoseconds: wall-clock time of its last record.
        moment: the same on the modelled timeline; None until it is computed.
    """

    flags: int
    device: int
    timed: bool = False
    nanoseconds: int | None = None
    moment: float | None = None
    # The capture in which it was recorded.
    capture: Capture | None = None
    tails: tuple[Node, ...] = ()


_DISABLE_TIMING, _INTERPROCESS = 2, 4
# hipEventReleaseToDevice and hipEventReleaseToSystem, of which there can be one.
_RELEASES = 0xC0000000
_EVENT_FLAGS = 1 | _DISABLE_TIMING | _INTERPROCESS | 0x20000000 | _RELEASES
# hipEventWaitDefault and hipEventWaitExternal.
_WAIT, _WAIT_EXTERNAL = 0, 1
_handles = itertools.count(0x10000, 0x10)
_capture_numbers = itertools.count(1)
_streams: dict[int, _Stream] = {}
_masks: dict[int, tuple[int, ...]] = {}
_PATIENCE_SECONDS = 30.0
graphs: dict[int, Graph] = {}
"""HIP graphs, by handle."""
_events: dict[int, _Event] = {}


def stream(handle: int) -> _Stream:
    """A stream by handle; hipErrorInvalidHandle if there is none."""
    if handle in _BUILT_IN:
        return _Stream(thread().device, 0, 0)
    if handle not in _streams:
        raise HipError(structures.INVALID_HANDLE)
    return _streams[handle]


def exists(handle: int) -> bool:
    """True for the built-in streams, and for streams that were created and not destroyed."""
    return handle in _BUILT_IN or handle in _streams


def submit(handle: int, kind: NodeKind, action: Action, detail: Any = None) -> None:
    """Run a stream's command now, or record it if the stream is being captured."""
    capture = None if handle in _BUILT_IN else stream(handle).capture
    if capture is not None and capture.invalidated:
        raise HipError(structures.STREAM_CAPTURE_INVALIDATED)
    if capture is not None:
        capture.append(handle, kind, action, detail)
    elif not node().clock.active:
        action()
    else:
        with one_command(handle, in_graph=kind is NodeKind.GRAPH):
            action()


# hipStreamCaptureMode
_GLOBAL, _THREAD_LOCAL, _RELAXED = range(3)
_H = TypeVar("_H", bound=Callable[..., Any])


def _captures() -> list[Capture]:
    captures = (stream.capture for stream in _streams.values() if stream.capture is not None)
    return list(dict.fromkeys(captures))


def _invalidate(captures: Iterable[Capture], code: int) -> None:
    """Ends captures, which cannot be used any more; if there are any, the call fails with `code`."""
    ended = list(captures)
    for capture in ended:
        capture.invalidated = True
    if ended:
        raise HipError(code)


def outside_captures(handler: _H) -> _H:
    """Checks a call that may not be made during a capture, except in relaxed mode, such as an allocation.

    CHECK_STREAM_CAPTURE_SUPPORTED in clr's hip_internal.hpp (ROCm 7): a thread in global or thread-local mode
    ends its own captures of these modes, and in global mode every thread's that began in global mode.
    """

    @wraps(handler)
    def checked(*arguments: Any) -> Any:
        mode = thread().capture_mode
        if mode != _RELAXED:
            mine = threading.get_ident()
            captures = _captures()
            own = [c for c in captures if c.mode != _RELAXED and c.thread == mine]
            others = [c for c in captures if c.mode == _GLOBAL] if mode == _GLOBAL else []
            _invalidate(own or others, structures.STREAM_CAPTURE_UNSUPPORTED)
        return handler(*arguments)

    return cast(_H, checked)


def check_no_capture(code: int) -> None:
    """Fails with `code` if any stream is being captured, in any mode, and ends the captures.

    This is what clr does in calls that wait for the device or copy at once (CHECK_STREAM_CAPTURING and
    CHECK_SUPPORTED_DURING_CAPTURE in its hip_internal.hpp).
    """
    _invalidate(_captures(), code)


def one_command(handle: int = 0, *, in_graph: bool = False) -> AbstractContextManager[None]:
    """Makes the block one command of a stream for the clock, or a part of the current command."""
    if not node().clock.active:
        return nullcontext()
    return node().clock.command(_timed_stream(handle), in_graph=in_graph)


_NON_BLOCKING = 1
_PER_THREAD = 2


def _timed_stream(handle: int) -> Stream:
    """A stream for the clock; the per-thread stream differs for each thread."""
    record = stream(handle)
    if handle == _PER_THREAD:
        handle = -threading.get_ident()
    return Stream.from_handle(record.device, handle, blocking=not record.flags & _NON_BLOCKING)


def _event(handle: int) -> _Event:
    if handle not in _events:
        raise HipError(structures.INVALID_HANDLE)
    return _events[handle]


def _create_stream(result: int, flags: int, priority: int) -> None:
    if flags not in (0, _NON_BLOCKING):
        raise HipError(structures.INVALID_VALUE)
    handle = next(_handles)
    structures.store(result, HANDLE, handle)
    _streams[handle] = _Stream(thread().device, flags, max(-1, min(1, priority)))


@call("hipStreamCreate", arguments=(POINTER,))
def _stream_create(result: int) -> None:
    _create_stream(result, 0, 0)


@call("hipStreamCreateWithFlags", arguments=(POINTER, UINT))
def _stream_create_flags(result: int, flags: int) -> None:
    _create_stream(result, flags, 0)


@call("hipStreamCreateWithPriority", arguments=(POINTER, UINT, INT))
def _stream_create_priority(result: int, flags: int, priority: int) -> None:
    _create_stream(result, flags, priority)


@call("hipStreamDestroy", arguments=(HANDLE,))
def _stream_destroy(handle: int) -> None:
    if _streams.pop(handle, None) is None:
        raise HipError(structures.INVALID_HANDLE)
    _masks.pop(handle, None)


def _check_not_captured(handle: int) -> None:
    """A call that waits for a stream ends the stream's capture."""
    capture = stream(handle).capture
    _invalidate([capture] if capture is not None else [], structures.STREAM_CAPTURE_UNSUPPORTED)


@call("hipStreamSynchronize", "hipStreamSynchronize_spt", arguments=(HANDLE,))
def _stream_synchronize(handle: int) -> None:
    _check_not_captured(handle)
    if node().clock.active:
        node().clock.wait_for_stream(_timed_stream(handle))
    with node().launch_lock:
        report_faults()


@call("hipStreamQuery", "hipStreamQuery_spt", arguments=(HANDLE,))
def _stream_query(handle: int) -> None:
    _check_not_captured(handle)
    if node().clock.active:
        node().clock.wait_for_stream(_timed_stream(handle))


@call("hipStreamWaitEvent", "hipStreamWaitEvent_spt", arguments=(HANDLE, HANDLE, UINT))
def _stream_wait(handle: int, event: int, flags: int) -> None:
    waiting, awaited = stream(handle), _event(event)
    if flags not in (_WAIT, _WAIT_EXTERNAL):
        raise HipError(structures.INVALID_VALUE)
    if awaited.capture is None:
        if node().clock.active:
            node().clock.wait_for_event(_timed_stream(handle), awaited)
        return
    if handle in _BUILT_IN:
        raise HipError(structures.STREAM_CAPTURE_IMPLICIT)
    if waiting.capture not in (None, awaited.capture):
        raise HipError(structures.STREAM_CAPTURE_MERGE)
    # A stream that waits for captured work is captured too, from here on.
    waiting.capture = awaited.capture
    tails = awaited.capture.tails
    tails[handle] = list(dict.fromkeys([*tails.get(handle, []), *awaited.tails]))


@call("hipStreamGetFlags", "hipStreamGetFlags_spt", arguments=(HANDLE, POINTER))
def _stream_flags(handle: int, result: int) -> None:
    if not handle:
        raise HipError(structures.INVALID_VALUE)
    structures.store(result, UINT, stream(handle).flags)


@call("hipStreamGetPriority", "hipStreamGetPriority_spt", arguments=(HANDLE, POINTER))
def _stream_priority(handle: int, result: int) -> None:
    structures.store(result, INT, stream(handle).priority)


@call("hipStreamGetDevice", arguments=(HANDLE, POINTER))
def _stream_device(handle: int, result: int) -> None:
    structures.store(result, INT, stream(handle).device)


@call("hipGetStreamDeviceId", arguments=(HANDLE,), records=False)
def _stream_device_id(handle: int) -> int:
    return stream(handle).device


@call("hipStreamGetId", arguments=(HANDLE, POINTER))
def _stream_id(handle: int, result: int) -> None:
    stream(handle)
    structures.store(result, U64, handle)


@call("hipStreamIsCapturing", "hipStreamIsCapturing_spt", arguments=(HANDLE, POINTER))
def _is_capturing(handle: int, result: int) -> None:
    structures.store(result, INT, _status(stream(handle).capture))


def _status(capture: Capture | None) -> int:
    """hipStreamCaptureStatus: none, active, invalidated."""
    return 0 if capture is None else 1 + capture.invalidated


@call("hipStreamBeginCapture", "hipStreamBeginCapture_spt", arguments=(HANDLE, INT))
def _begin_capture(handle: int, mode: int) -> None:
    if handle in _BUILT_IN:
        raise HipError(structures.STREAM_CAPTURE_UNSUPPORTED)
    record = stream(handle)
    if record.capture is not None:
        raise HipError(structures.ILLEGAL_STATE)
    if not _GLOBAL <= mode <= _RELAXED:
        raise HipError(structures.INVALID_VALUE)
    record.capture = Capture(Graph(), handle, {handle: []}, next(_capture_numbers), mode)


@call("hipStreamEndCapture", "hipStreamEndCapture_spt", arguments=(HANDLE, POINTER))
def _end_capture(handle: int, result: int) -> None:
    capture = stream(handle).capture
    if capture is None:
        raise HipError(structures.ILLEGAL_STATE)
    if capture.origin != handle:
        raise HipError(structures.STREAM_CAPTURE_UNMATCHED)
    for other in _streams.values():
        if other.capture is capture:
            other.capture = None
    for event in _events.values():
        if event.capture is capture:
            event.capture, event.tails = None, ()
    if capture.invalidated:
        structures.store(result, HANDLE, 0)
        raise HipError(structures.STREAM_CAPTURE_INVALIDATED)
    reached = _before(capture.tails[handle])
    if any(tail not in reached for tails in capture.tails.values() for tail in tails):
        structures.store(result, HANDLE, 0)
        raise HipError(structures.STREAM_CAPTURE_UNJOINED)
    graphs[capture.graph.handle] = capture.graph
    structures.store(result, HANDLE, capture.graph.handle)


def _before(nodes: list[Node]) -> set[Node]:
    """The nodes and all nodes that they depend on."""
    reached: set[Node] = set()
    pending = list(nodes)
    while pending:
        current = pending.pop()
        if current not in reached:
            reached.add(current)
            pending += current.dependencies
    return reached


@call("hipStreamGetCaptureInfo", "hipStreamGetCaptureInfo_spt", arguments=(HANDLE, POINTER, POINTER))
def _capture_info(handle: int, status: int, number: int) -> None:
    capture = stream(handle).capture
    structures.store(status, INT, _status(capture))
    if capture is not None:
        structures.store_if(number, U64, capture.sequence)


@call(
    "hipStreamGetCaptureInfo_v2",
    "hipStreamGetCaptureInfo_v2_spt",
    arguments=(HANDLE, POINTER, POINTER, POINTER, POINTER, POINTER),
)
def _capture_info_2(handle: int, status: int, number: int, graph: int, dependencies: int, count: int) -> None:
    capture = stream(handle).capture
    structures.store(status, INT, _status(capture))
    if capture is None:
        return
    # The program adds nodes to the graph during capture.
    graphs[capture.graph.handle] = capture.graph
    tails = capture.tails[handle]
    capture.dependency_array = (HANDLE * max(1, len(tails)))(*(tail.handle for tail in tails))
    structures.store_if(number, U64, capture.sequence)
    structures.store_if(graph, HANDLE, capture.graph.handle)
    structures.store_if(dependencies, POINTER, ctypes.addressof(capture.dependency_array))
    structures.store_if(count, SIZE, len(tails))


# hipStreamUpdateCaptureDependenciesFlags
_ADD_DEPENDENCIES, _SET_DEPENDENCIES = 0, 1


@call("hipStreamUpdateCaptureDependencies", arguments=(HANDLE, POINTER, SIZE, UINT))
def _update_dependencies(handle: int, dependencies: int, count: int, flags: int) -> None:
    capture = stream(handle).capture
    if capture is None:
        raise HipError(structures.ILLEGAL_STATE)
    if flags not in (_ADD_DEPENDENCIES, _SET_DEPENDENCIES) or (count and not dependencies):
        raise HipError(structures.INVALID_VALUE)
    capture.tails[handle] = list(
        dict.fromkeys(
            [
                *(capture.tails[handle] if flags == _ADD_DEPENDENCIES else []),
                *_nodes_of(capture.graph, dependencies, count),
            ]
        )
    )


def _nodes_of(graph: Graph, handles: int, count: int) -> list[Node]:
    by_handle = {node.handle: node for node in graph.nodes}
    requested = list((HANDLE * count).from_address(handles)) if count else []
    if any(handle not in by_handle for handle in requested):
        raise HipError(structures.INVALID_VALUE)
    return [by_handle[handle] for handle in requested]


@call("hipStreamBeginCaptureToGraph", arguments=(HANDLE, HANDLE, POINTER, POINTER, SIZE, INT))
def _begin_capture_to(handle: int, graph: int, dependencies: int, data: int, count: int, mode: int) -> None:
    if graph not in graphs or data or (count and not dependencies):
        raise HipError(structures.INVALID_VALUE)
    before = _nodes_of(graphs[graph], dependencies, count)
    _begin_capture(handle, mode)
    stream(handle).capture = Capture(graphs[graph], handle, {handle: before}, next(_capture_numbers), mode)


@call("hipThreadExchangeStreamCaptureMode", arguments=(POINTER,))
def _exchange_mode(mode: int) -> None:
    previous, thread().capture_mode = thread().capture_mode, INT.from_address(mode).value
    structures.store(mode, INT, previous)


@call("hipStreamAddCallback", "hipStreamAddCallback_spt", arguments=(HANDLE, POINTER, POINTER, UINT))
def _add_callback(handle: int, function: int, data: int, flags: int) -> None:
    if not function or flags:
        raise HipError(structures.INVALID_VALUE)
    stream(handle)
    check_no_capture(structures.STREAM_CAPTURE_UNSUPPORTED)
    ctypes.CFUNCTYPE(None, HANDLE, INT, POINTER)(function)(handle, structures.SUCCESS, data)


@call("hipLaunchHostFunc", "hipLaunchHostFunc_spt", arguments=(HANDLE, POINTER, POINTER))
def _host_function(handle: int, function: int, data: int) -> None:
    if not function:
        raise HipError(structures.INVALID_VALUE)
    submit(handle, NodeKind.HOST, host_call(function, data), (function, data))


def host_call(function: int, data: int) -> Action:
    """Calls a function of the program with its data."""
    return lambda: ctypes.CFUNCTYPE(None, POINTER)(function)(data)


# hipStreamWaitValue*: comparisons of the masked value in memory.
_COMPARISONS: dict[int, Callable[[int, int, int], bool]] = {
    0: lambda seen, value, bits: seen >= value,
    1: lambda seen, value, bits: seen == value,
    2: lambda seen, value, bits: (seen & value) != 0,
    3: lambda seen, value, bits: (seen | value) != bits,
}


def _value_type(address: int, type_: Any) -> None:
    """Raises HipError unless a stream may read or write a value of `type_` at `address`."""
    allocation = node().memory.find(address)
    if (
        not address
        or address % ctypes.sizeof(type_)
        or allocation is None
        or address + ctypes.sizeof(type_) > allocation.end
    ):
        raise HipError(structures.INVALID_VALUE)


def _wait_value(handle: int, address: int, value: int, flags: int, mask: int, type_: Any) -> None:
    compare = _COMPARISONS.get(flags)
    if compare is None:
        raise HipError(structures.INVALID_VALUE)
    _value_type(address, type_)
    bits = 2 ** (8 * ctypes.sizeof(type_)) - 1

    def reached() -> bool:
        return compare(type_.from_address(address).value & mask & bits, value & bits, bits)

    def action() -> None:
        # Only another thread can still write it: what this one submits later comes too late for a stream
        # whose work is done at once.
        until = time.monotonic() + _PATIENCE_SECONDS
        while not reached():
            if time.monotonic() > until:
                error = errors.DeviceError(
                    f"hipStreamWaitValue: waits for {value:#x} at {address:#x}, which holds "
                    f"{type_.from_address(address).value:#x} and has not changed within "
                    f"{_PATIENCE_SECONDS:g} s. The emulated device does a stream's work immediately: "
                    "write the value before the wait, or from another thread.",
                    structures.NOT_SUPPORTED,
                )
                launch_failed(error)
                raise error
            time.sleep(0.001)

    submit(handle, NodeKind.EMPTY, action)


def _write_value(handle: int, address: int, value: int, type_: Any) -> None:
    _value_type(address, type_)

    def action() -> None:
        type_.from_address(address).value = value
        node().memory.note_written(address, ctypes.sizeof(type_))

    submit(handle, NodeKind.MEMSET, action)


@call("hipStreamWaitValue32", arguments=(HANDLE, POINTER, UINT, UINT, UINT))
def _wait_value_32(handle: int, address: int, value: int, flags: int, mask: int) -> None:
    _wait_value(handle, address, value, flags, mask, UINT)


@call("hipStreamWaitValue64", arguments=(HANDLE, POINTER, U64, UINT, U64))
def _wait_value_64(handle: int, address: int, value: int, flags: int, mask: int) -> None:
    _wait_value(handle, address, value, flags, mask, U64)


@call("hipStreamWriteValue32", arguments=(HANDLE, POINTER, UINT, UINT))
def _write_value_32(handle: int, address: int, value: int, flags: int) -> None:
    _write_value(handle, address, value, UINT)


@call("hipStreamWriteValue64", arguments=(HANDLE, POINTER, U64, UINT))
def _write_value_64(handle: int, address: int, value: int, flags: int) -> None:
    _write_value(handle, address, value, U64)


@call("hipExtStreamCreateWithCUMask", arguments=(POINTER, UINT, POINTER))
def _create_with_mask(result: int, count: int, mask: int) -> None:
    if not count or not mask:
        raise HipError(structures.INVALID_VALUE)
    words = tuple((UINT * count).from_address(mask))
    _create_stream(result, 0, 0)
    _masks[HANDLE.from_address(result).value] = words


@call("hipExtStreamGetCUMask", arguments=(HANDLE, UINT, POINTER))
def _get_mask(handle: int, count: int, result: int) -> None:
    """The mask that the stream was made with, or all compute units; a stream's work runs on any of them."""
    units = node().devices[stream(handle).device].product.compute_units
    if not result or count < -(-units // 32):
        raise HipError(structures.INVALID_VALUE)
    every = tuple((1 << max(0, min(32, units - 32 * i))) - 1 for i in range(count))
    words = _masks.get(handle, every)
    for index in range(count):
        UINT.from_address(result + 4 * index).value = words[index] if index < len(words) else 0


@call("hipEventCreate", arguments=(POINTER,))
def _event_create(result: int) -> None:
    _event_create_flags(result, 0)


@call("hipEventCreateWithFlags", arguments=(POINTER, UINT))
def _event_create_flags(result: int, flags: int) -> None:
    between_processes = flags & (_INTERPROCESS | _DISABLE_TIMING) == _INTERPROCESS
    if flags & ~_EVENT_FLAGS or flags & _RELEASES == _RELEASES or between_processes:
        raise HipError(structures.INVALID_VALUE)
    handle = next(_handles)
    structures.store(result, HANDLE, handle)
    device = thread().device
    timed = not flags & _DISABLE_TIMING and clock.can_model(node().devices[device].product)
    _events[handle] = _Event(flags, device, timed)
    if timed:
        node().clock.event_made()


@call("hipEventDestroy", arguments=(HANDLE,))
def _event_destroy(handle: int) -> None:
    event = _events.pop(handle, None)
    if event is None:
        raise HipError(structures.INVALID_HANDLE)
    if event.timed:
        node().clock.event_gone()


@call("hipEventRecord", "hipEventRecord_spt", arguments=(HANDLE, HANDLE))
def _event_record(handle: int, on: int) -> None:
    event, capture = _event(handle), stream(on).capture
    if capture is None:
        record(handle, on)
    else:
        event.capture, event.tails = capture, tuple(capture.tails[on])


@call("hipEventRecordWithFlags", arguments=(HANDLE, HANDLE, UINT))
def _event_record_flags(handle: int, on: int, flags: int) -> None:
    _event_record(handle, on)


def record(handle: int, on: int | None = None, *, begins: bool = False) -> None:
    """Record an event now; NULL is ignored, as the extended launch calls do.

    Args:
        on: the stream; None for the one whose work is being done.
        begins: the event is the moment when the stream's next kernel begins.
    """
    if not handle:
        return
    event = _event(handle)
    event.nanoseconds = time.monotonic_ns()
    if node().clock.active:
        node().clock.record(event, None if on is None else _timed_stream(on), begins=begins)


@call("hipEventQuery", arguments=(HANDLE,))
@outside_captures
def _event_query(handle: int) -> None:
    event = _event(handle)
    _check_event(event)
    if node().clock.active:
        node().clock.wait_for_event(None, event)


def _check_event(event: _Event) -> None:
    """A call that waits for an event of a capture ends the capture."""
    captures = [event.capture] if event.capture is not None else []
    _invalidate(captures, structures.CAPTURED_EVENT)


@call("hipEventSynchronize", arguments=(HANDLE,))
def _event_synchronize(handle: int) -> None:
    event = _event(handle)
    _check_event(event)
    if node().clock.active:
        node().clock.wait_for_event(None, event)
    report_faults()


@call("hipEventElapsedTime", arguments=(POINTER, HANDLE, HANDLE))
def _elapsed(result: int, start: int, stop: int) -> None:
    if not result:
        raise HipError(structures.INVALID_VALUE)
    first, last = _event(start), _event(stop)
    if first.device != last.device or (first.flags | last.flags) & _DISABLE_TIMING:
        raise HipError(structures.INVALID_HANDLE)
    if first.nanoseconds is None or last.nanoseconds is None:
        raise HipError(structures.INVALID_HANDLE)
    product = node().devices[first.device].product
    clock.label(product)
    try:
        elapsed = node().clock.milliseconds(first, last) if first.timed and last.timed else None
    except errors.WorkbenchError as error:
        # A program sees only a number.
        for listener in failure_listeners:
            listener(error)
        raise
    if elapsed is None:
        elapsed = (last.nanoseconds - first.nanoseconds) / 1e6
    structures.store(result, c_float, elapsed)
