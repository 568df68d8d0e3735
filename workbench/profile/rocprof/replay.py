"""A launch saved to a folder and run again in its own process, where rocprofv3 profiles it.

    python -m workbench.profile.rocprof.replay FOLDER [--repeat N]

The folder holds code.co (the code object), launch.json (kernel, shape, device), arguments.pt (arguments
before the launch) and, after a replay, replay.json (digests of the tensors after it).
"""

from __future__ import annotations

import argparse
import ctypes
import hashlib
import json
import pickle
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from workbench import runtime
from workbench.errors import ProfilerError, WorkbenchError
from workbench.kernel import Kernel, Launch, Module
from workbench.operators.launch_target import Target

CODE, LAUNCH, ARGUMENTS, RESULT = "code.co", "launch.json", "arguments.pt", "replay.json"


@dataclass(frozen=True)
class Saved:
    """A launch saved in a folder.

    Attributes:
        folder: the folder.
        kernel: mangled name of the kernel.
        digests: digest of each tensor after the original launch, by argument, such as "x" or "0".
    """

    folder: Path
    kernel: str
    digests: Mapping[str, str]


def save(target: Target, folder: str | Path) -> Saved:
    """Launches the target twice; saves the second launch's arguments and digests of its results.

    Raises:
        ProfilerError: an argument cannot be saved.
    """
    import torch

    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    target.run(None)
    kernel, last = target.kernel, target.kernel.last
    if last is None:
        raise ProfilerError(f"{kernel.name}: its launch left no record, so it cannot be replayed")
    (place / CODE).write_bytes(kernel.module.code)
    arguments = {
        "args": [_kept(kernel, str(i), value) for i, value in enumerate(last.args)],
        "kwargs": {name: _kept(kernel, name, value) for name, value in last.kwargs.items()},
    }
    torch.save(arguments, place / ARGUMENTS)
    launch = {
        "kernel": kernel.info.name,
        "arch": kernel.arch,
        "device": last.device.name,
        "grid": last.launch.grid,
        "block": last.launch.block,
        "dynamic_shared": last.launch.dynamic_shared,
        "cooperative": last.launch.cooperative,
    }
    (place / LAUNCH).write_text(json.dumps(launch, indent=1))
    kernel.launch(last.launch, last.args, last.kwargs, device=last.device)
    return Saved(place, kernel.info.name, _digests(last.args, last.kwargs))


def replay(folder: str | Path, repeat: int = 1) -> dict[str, str]:
    """Runs a saved launch; returns digests of its tensors after the first run, also written to replay.json.

    Raises:
        ProfilerError: the folder does not hold a saved launch.
        WorkbenchError: the launch fails.
    """
    import torch

    place = Path(folder)
    try:
        header = json.loads((place / LAUNCH).read_text())
        code = (place / CODE).read_bytes()
        # Only tensors and plain values: a folder from elsewhere must not run code here.
        arguments = torch.load(place / ARGUMENTS, weights_only=True)
        args = [_given(value) for value in arguments["args"]]
        kwargs = {name: _given(value) for name, value in arguments["kwargs"].items()}
    except (OSError, ValueError, KeyError, pickle.UnpicklingError) as error:
        raise ProfilerError(f"{place} holds no saved launch: {error}") from error
    kernel: Kernel = Module(code)[header["kernel"]]
    shape = tuple(header["grid"]), tuple(header["block"]), header["dynamic_shared"]
    launch = Launch(*shape, cooperative=header.get("cooperative", False))
    device = runtime.device(header["device"])
    digests: dict[str, str] = {}
    for i in range(max(1, repeat)):
        kernel.launch(launch, args, kwargs, device=device)
        if i == 0:
            digests = _digests(args, kwargs)
    (place / RESULT).write_text(json.dumps(digests, indent=1))
    return digests


def compare(saved: Saved) -> list[str]:
    """Tensors that differ between the original launch and the last replay, by place; empty if none do.

    Raises:
        ProfilerError: no replay has run to its end.
    """
    path = saved.folder / RESULT
    try:
        digests = json.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise ProfilerError(f"the replay left no result in {path}: it did not run to its end") from error
    return [name for name, digest in saved.digests.items() if digests.get(name) != digest]


_NUMPY = "numpy scalar"


def _kept(kernel: Kernel, name: str, value: Any) -> Any:
    """An argument in a form that a file can hold without naming a class."""
    import torch

    if isinstance(value, torch.Tensor):
        return value.detach()
    if value is None or type(value) in (bool, int, float, str):
        return value
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value)
    if isinstance(value, (ctypes.Structure, ctypes.Union, ctypes.Array, ctypes._SimpleCData)):
        return bytes(value)
    if type(value).__module__ == "numpy" and getattr(value, "shape", None) == ():
        return {_NUMPY: value.dtype.str, "bytes": value.tobytes()}
    if isinstance(value, Mapping):
        return {key: _kept(kernel, f"{name}.{key}", inner) for key, inner in value.items()}
    if isinstance(value, Sequence) or hasattr(value, "__array__"):
        return [_kept(kernel, f"{name}[{i}]", inner) for i, inner in enumerate(value)]
    raise ProfilerError(
        f"{kernel.name}: argument {name!r} is a {type(value).__name__}, which cannot be saved for a replay; "
        "pass tensors, numbers and bytes"
    )


def _given(value: Any) -> Any:
    """The argument that `_kept` saved, or its substitute in a launch."""
    if isinstance(value, list):
        return [_given(inner) for inner in value]
    if isinstance(value, dict) and _NUMPY in value:
        import numpy as np

        return np.frombuffer(value["bytes"], np.dtype(value[_NUMPY]))[0]
    return {key: _given(inner) for key, inner in value.items()} if isinstance(value, dict) else value


def _tensors(args: Sequence[Any], kwargs: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    import torch

    stack: list[tuple[str, Any]] = [(str(i), a) for i, a in enumerate(args)] + list(kwargs.items())
    while stack:
        name, value = stack.pop(0)
        if isinstance(value, torch.Tensor):
            yield name, value
        elif isinstance(value, Mapping):
            stack += [(f"{name}.{key}", inner) for key, inner in value.items()]


def _digests(args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, str]:
    import torch

    return {
        name: hashlib.sha256(
            tensor.detach().cpu().contiguous().flatten().view(torch.uint8).numpy().tobytes()
        ).hexdigest()
        for name, tensor in _tensors(args, kwargs)
    }


def main(arguments: list[str] | None = None) -> int:
    """The command; 1 if the launch cannot be replayed, with the reason on stderr."""
    parser = argparse.ArgumentParser(prog="python -m workbench.profile.rocprof.replay", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--repeat", type=int, default=1, help="launches; the first one's output is compared")
    options = parser.parse_args(arguments)
    try:
        replay(options.folder, options.repeat)
    except WorkbenchError as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
