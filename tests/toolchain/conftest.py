"""One cache folder for these tests, and the compilers that they can use."""

from __future__ import annotations

import contextlib
import ctypes
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))

from workbench import cache, toolchain
from workbench.errors import CompilerNotFound
from workbench.toolchain import search
from workbench.toolchain.zig import host_target


@pytest.fixture(scope="session")
def shared_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache for all workers, with precompiled headers. The device's library is shared with other tests."""
    run = tmp_path_factory.getbasetemp()
    folder = (run.parent if "PYTEST_XDIST_WORKER" in os.environ else run) / "toolchain-cache"
    folder.mkdir(mode=0o700, exist_ok=True)
    native = cache.folder() / "native"
    native.mkdir(mode=0o700, exist_ok=True)
    with contextlib.suppress(FileExistsError):
        (folder / "native").symlink_to(native)
    return folder


@pytest.fixture(autouse=True)
def _cache_folder(shared_cache: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("HIPKITTENS_CACHE", str(shared_cache))
    monkeypatch.delenv("HIPKITTENS_CACHE_LIMIT", raising=False)
    search.forget()
    yield
    search.forget()


@pytest.fixture(params=["zig", "clang"])
def any_compiler(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> toolchain.Compiler:
    """The compiler of the ziglang wheel, then a clang++ of the machine, if it has one."""
    monkeypatch.setenv("HIPKITTENS_COMPILER", request.param)
    try:
        return toolchain.find_compiler("gfx950")
    except CompilerNotFound as error:
        pytest.skip(str(error).splitlines()[0])


@pytest.fixture
def zig(monkeypatch: pytest.MonkeyPatch) -> toolchain.Compiler:
    """The compiler that a plain `pip install` brings."""
    monkeypatch.setenv("HIPKITTENS_COMPILER", "zig")
    return toolchain.find_compiler("gfx950")


@pytest.fixture
def generator(seed: int) -> np.random.Generator:
    """NumPy's generator from a random seed, which a failing test shows."""
    return np.random.default_rng(seed)


@pytest.fixture
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache for one test."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("HIPKITTENS_CACHE", str(folder))
    return folder


@pytest.fixture
def bare_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with nothing on PATH but the returned folder, with a shell's tools."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ("sh", "cat", "sleep", "kill", "touch"):
        program = shutil.which(name)
        if program is not None:
            (folder / name).symlink_to(program)
    monkeypatch.setenv("PATH", str(folder))
    for name in ("ROCM_PATH", "CONDA_PREFIX", "HIPKITTENS_COMPILER"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HIPKITTENS_CACHE", str(tmp_path / "cache"))
    os.environ.pop("CCC_OVERRIDE_OPTIONS", None)
    return folder


class HostLibrary:
    """Functions of the HIP headers on this computer: those for both the host and the device."""

    def __init__(self, path: Path) -> None:
        self.functions = ctypes.CDLL(str(path))

    def call(self, name: str, *arrays: np.ndarray, result: Any, extra: tuple[int, ...] = ()) -> np.ndarray:
        """`name(arrays..., output, count, extra...)` on pointers; the output has the type `result`."""
        inputs = [np.ascontiguousarray(array) for array in arrays]
        output = np.empty(inputs[0].shape, result)
        pointers = [ctypes.c_void_p(array.ctypes.data) for array in [*inputs, output]]
        values = [ctypes.c_int(value) for value in extra]
        getattr(self.functions, name)(*pointers, ctypes.c_long(output.size), *values)
        return output


@pytest.fixture(scope="session")
def host_library(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], HostLibrary]:
    """Compiles the host part of a HIP source with the ziglang wheel's clang."""

    def build(source: str) -> HostLibrary:
        folder = tmp_path_factory.mktemp("host")
        unit, shared = folder / "host.o", folder / "host.so"
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("HIPKITTENS_CACHE", str(folder / "cache"))
            patch.setenv("HIPKITTENS_COMPILER", "zig")
            search.forget()
            compiler = toolchain.find_compiler("gfx950")
            command = [
                *compiler.command,
                *("-x", "hip", "--offload-host-only", "--offload-arch=gfx950", *compiler.arguments),
                *("-O2", "-std=c++20", "-fPIC", "-ffp-contract=off", "-c", "-", "-o", str(unit)),
            ]
            environment = compiler.environment(str(folder))
            subprocess.run(command, input=source.encode(), check=True, env=environment)
            # Zig's own linker driver, for the C library of the machine and the compiler's helper functions:
            # those that host programs are linked with too, each kind of which takes 4 s to make.
            link = [sys.executable, "-m", "ziglang", "cc", "-target", host_target()]
            link += ["-O2", "-shared", str(unit), "-o", str(shared), "-lm"]
            subprocess.run(link, check=True, capture_output=True)
        search.forget()
        return HostLibrary(shared)

    return build
