"""`torch.cuda.CUDAGraph` on the emulated device: recorded work, replayed.

Everything runs while it is recorded, so that Python's decisions depend on real values. On a GPU nothing runs
then, so memory from before the recording gets its old content back when the recording ends.
"""

from __future__ import annotations

import contextlib
import functools
import importlib.util
from collections.abc import Callable, Iterator, Sequence, Set
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode, _disable_current_modes
from torch.utils._pytree import tree_leaves

from workbench.errors import UsageError
from workbench.patches import Patches

_FREE = "empty"
"""Functions with such a name do not change memory."""
_recording: list[_Recording] = []
"""The current recording, if any."""


def part(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that may launch kernels on any tensor in its arguments; a recording includes its calls."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        return step(function.__name__, lambda: function(*args, **kwargs), (args, kwargs))

    return call


def step(name: str, function: Callable[[], Any], arguments: Any) -> Any:
    """Call a function that may launch kernels on its tensors; a recording includes it."""
    if not _recording:
        return function()
    recording = _recording[-1]
    recording.keep_old(arguments)
    # Its own calls of PyTorch are part of it.
    with _disable_current_modes():
        result = function()
    recording.add(name, function, result, _storages(result).keys() - _storages(arguments).keys())
    return result


def refuse(kernel: str) -> None:
    """Called for a kernel launch that a recording cannot see.

    Raises:
        UsageError: something is being recorded.
    """
    if _recording:
        raise UsageError(
            f"CUDAGraph: {kernel} was launched by a gradient in C++, which is not recorded; record the "
            "forward pass alone"
        )


def _storages(values: Any) -> dict[int, torch.Tensor]:
    """One tensor per storage, by the storage's address."""
    storages = {}
    for value in tree_leaves(values):
        if (
            isinstance(value, torch.Tensor)
            and value.layout is torch.strided
            and value.untyped_storage().nbytes()
        ):
            storages[value.untyped_storage().data_ptr()] = value
    return storages


def _bytes_of(tensor: torch.Tensor) -> torch.Tensor:
    """A tensor's whole storage."""
    with _disable_current_modes():
        return torch.empty(0, dtype=torch.uint8).set_(tensor.untyped_storage())


class _Recording(TorchDispatchMode):
    """In this mode, PyTorch's functions and the calls by `step` are recorded in order."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.steps: list[Callable[[], None]] = []
        self._made: dict[int, torch.Tensor] = {}
        self._old: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}

    def __torch_dispatch__(
        self, function: Any, types: Any, args: Sequence[Any] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        options = kwargs or {}
        arguments = function._schema.arguments
        written = [
            args[place] if place < len(args) else options.get(argument.name)
            for place, argument in enumerate(arguments)
            if argument.alias_info is not None and argument.alias_info.is_write
        ]
        self.keep_old(written)
        result = function(*args, **options)
        fresh = _storages(result).keys() - _storages((args, options)).keys()
        if written or (fresh and not function.__name__.startswith(_FREE)):
            self.add(str(function), lambda: function(*args, **options), result, fresh)
        else:
            self._made |= {place: tensor for place, tensor in _storages(result).items() if place in fresh}
        return result

    def keep_old(self, values: Any) -> None:
        """Saves the content of memory from before the recording, since it may be written now."""
        for place, tensor in _storages(values).items():
            if place not in self._made and place not in self._old:
                memory = _bytes_of(tensor)
                with _disable_current_modes():
                    self._old[place] = memory, memory.clone()

    def add(self, name: str, function: Callable[[], Any], result: Any, fresh: Set[int]) -> None:
        """Adds a call as a step; a replay copies its results into `result`.

        Args:
            fresh: addresses of the storages in the result that were made for it.
        """
        self._made |= {place: tensor for place, tensor in _storages(result).items() if place in fresh}
        places = [value for value in tree_leaves(result) if isinstance(value, torch.Tensor)]

        def again() -> None:
            outputs = [v for v in tree_leaves(function()) if isinstance(v, torch.Tensor)]
            for place, value in zip(places, outputs, strict=True):
                if place.shape != value.shape:
                    raise UsageError(
                        f"CUDAGraph.replay: {name} gives {tuple(value.shape)}, and gave {tuple(place.shape)} "
                        "while it was recorded; a graph's shapes are fixed"
                    )
                if value.untyped_storage().data_ptr() != place.untyped_storage().data_ptr():
                    place.copy_(value)

        self.steps.append(again)

    def restore(self) -> None:
        """Restore the content of memory from before the recording."""
        for memory, content in self._old.values():
            memory.copy_(content)
        self._old.clear()


class CUDAGraph:
    """Work of PyTorch and of kernels between begin and end, replayed on the same tensors."""

    def __init__(self, keep_graph: bool = False) -> None:
        self._recording: _Recording | None = None

    def capture_begin(self, pool: Any = None, capture_error_mode: str = "global", **_: Any) -> None:
        """Record from here on.

        Raises:
            UsageError: another graph is being recorded.
        """
        if _recording:
            raise UsageError("CUDAGraph.capture_begin: another graph is being recorded; end it first")
        self._recording = _Recording()
        _recording.append(self._recording)
        self._recording.__enter__()  # type: ignore[no-untyped-call]

    def capture_end(self) -> None:
        """Ends the recording.

        Raises:
            UsageError: the graph is not being recorded.
        """
        if not _recording or _recording[-1] is not self._recording:
            raise UsageError("CUDAGraph.capture_end: it is not being recorded; expected capture_begin before")
        _recording.pop().__exit__(None, None, None)  # type: ignore[no-untyped-call]
        self._recording.restore()

    def replay(self) -> None:
        """Runs the recorded steps again.

        Raises:
            UsageError: nothing is recorded, or a step gives another shape.
            KernelFault: a kernel was stopped.
        """
        if self._recording is None or self._recording in _recording:
            raise UsageError(
                "CUDAGraph.replay: nothing is recorded; expected `with torch.cuda.graph(g):` before"
            )
        with torch.no_grad():
            for again in self._recording.steps:
                again()

    def reset(self) -> None:
        """Discard the recording."""
        self._recording = None

    def instantiate(self) -> None:
        """Does nothing: a graph is ready when its recording ends."""

    def pool(self) -> tuple[int, int]:
        """The memory pool, which all graphs share."""
        return _POOL


_POOL = (0, 0)


@contextlib.contextmanager
def graph(cuda_graph: CUDAGraph, pool: Any = None, stream: Any = None, **_: Any) -> Iterator[None]:
    """Record the work inside a `with` block."""
    cuda_graph.capture_begin()
    try:
        yield
    finally:
        cuda_graph.capture_end()


@contextlib.contextmanager
def recorded() -> Iterator[None]:
    """In this context, `torch.cuda` has these graphs."""
    answers: dict[str, Any] = {
        "CUDAGraph": CUDAGraph,
        "graph": graph,
        "graph_pool_handle": lambda: _POOL,
        "is_current_stream_capturing": lambda: bool(_recording),
    }
    with Patches() as patches:
        for name, answer in answers.items():
            patches.replace(torch.cuda, name, answer)
        if importlib.util.find_spec("triton") is not None:
            from workbench.triton_driver.driver import Launcher

            patches.replace(Launcher, "__call__", _as_step(Launcher.__call__))
        yield


def _as_step(launch: Callable[..., None]) -> Callable[..., None]:
    """Triton's launch function, which adds its launch to the graph that is being recorded."""

    @functools.wraps(launch)
    def call(launcher: Any, *arguments: Any) -> None:
        # For a tensor's descriptor, which is a leaf, the tensor.
        seen = [getattr(value, "base", value) for value in tree_leaves(arguments)]
        step("a Triton kernel", lambda: launch(launcher, *arguments), seen)

    return call
