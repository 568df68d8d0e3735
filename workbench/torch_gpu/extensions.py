"""PyTorch's C++ extensions with kernels: `torch.utils.cpp_extension` builds them for the emulated device.

It uses PyTorch's own procedure for ROCm (sources through its hipify, hipcc, ninja, its cache folder) with a
folder that replaces ROCm's, and with headers of the installed PyTorch, changed where C++ asks for a tensor's
device: that PyTorch was built only for the CPU, and its tensors stay in this computer's memory.
"""

from __future__ import annotations

import contextlib
import importlib.abc
import importlib.machinery
import importlib.util
import os
import re
import shutil
import sys
import sysconfig
import tempfile
from collections.abc import Callable, Iterator, Sequence
from functools import cache, wraps
from pathlib import Path
from types import ModuleType
from typing import Any

import torch

from workbench import paths
from workbench.cache import digest, tool_folder
from workbench.errors import ToolchainError
from workbench.patches import Patches
from workbench.toolchain.compiler import hip_version
from workbench.toolchain.hipcc.cxx import SYSTEM_COMPILERS
from workbench.toolchain.hipcc.script import hipcc, stand_in

_MODULE = "torch.utils.cpp_extension"
_CXX = "workbench.toolchain.hipcc.cxx"
_HERE = Path(__file__).parent / "include"
_DEVICE = "hipkittens/torch_device.h"
_FORWARDED = tuple(
    f"{folder}/{name}.h"
    for folder, names in {
        "c10/cuda": (
            *("CUDACachingAllocator", "CUDAException", "CUDAFunctions", "CUDAGuard", "CUDAMacros"),
            *("CUDAMiscFunctions", "CUDAStream", "impl/CUDAGuardImpl"),
        ),
        "c10/hip": (
            *("HIPCachingAllocator", "HIPException", "HIPFunctions", "HIPGuard", "HIPMacros"),
            *("HIPMiscFunctions", "HIPStream", "impl/HIPGuardImpl"),
        ),
        "ATen/cuda": ("ATenCUDAGeneral", "CUDAContext", "CUDAContextLight", "CUDAEvent", "Exceptions"),
        "ATen/hip": (
            *("ATenHIPGeneral", "HIPContext", "HIPContextLight", "HIPEvent", "Exceptions"),
            *("impl/HIPCachingAllocatorMasqueradingAsCUDA", "impl/HIPGuardImplMasqueradingAsCUDA"),
            "impl/HIPStreamMasqueradingAsCUDA",
        ),
    }.items()
    for name in names
)
"""Headers of a GPU's PyTorch that ours replace."""
_CUDA = "c10::Device(c10::DeviceType::CUDA, 0)"
_EDITS: dict[str, tuple[tuple[str, str], ...]] = {
    "ATen/core/TensorBase.h": (
        (
            r"return impl_->device\(\);",
            f"const auto place = impl_->device(); return place.is_cpu() ? {_CUDA} : place;",
        ),
        (r"return impl_->get_device\(\);", "return impl_->is_cpu() ? 0 : impl_->get_device();"),
        (r"return impl_->is_cpu\(\);", "return false;"),
        (r"return impl_->is_cuda\(\);", "return impl_->is_cpu() || impl_->is_cuda();"),
    ),
    "ATen/core/TensorBody.h": (
        (
            r"dispatchKeyToBackend\(legacyExtractDispatchKey\(key_set\(\)\)\)",
            "is_cuda() ? Backend::CUDA : dispatchKeyToBackend(legacyExtractDispatchKey(key_set()))",
        ),
        (
            r"(_ops::to_device::call\(const_cast<Tensor&>\(\*this\), )device,",
            r"\1*at::TensorOptions(device).device_opt(),",
        ),
    ),
    "ATen/ops/from_blob.h": (
        (r"opts_ = value;", "opts_ = value.device(value.device_opt());"),
        (r"device_ = value;", "device_ = at::TensorOptions().device(value).device_opt();"),
    ),
    "torch/library.h": (
        (
            r": lib_\(kind, ns, k, file, line\)",
            ": lib_(kind, ns, k == c10::DispatchKey::CUDA ? c10::DispatchKey::CPU : k, file, line)",
        ),
        (
            r"f\.dispatch_key_ = k;",
            "f.dispatch_key_ = k == c10::DispatchKey::CUDA ? c10::DispatchKey::CPU : k;",
        ),
        (r"return c10::DispatchKey::CUDA;", "return c10::DispatchKey::CPU;"),
    ),
    "c10/core/TensorOptions.h": (
        (
            r"(device_opt\(\) const noexcept \{\s*return has_device_ \? (\S+\w)\()device_\)",
            r"\1device_.is_cuda() ? Device(DeviceType::CPU) : device_)",
        ),
    ),
    "c10/core/impl/VirtualGuardImpl.h": (
        (
            r"(impl_\(getDeviceGuardImpl\()device_type\)",
            r"\1device_type == DeviceType::CUDA ? DeviceType::CPU : device_type)",
        ),
    ),
}
"""Edits to PyTorch's headers, as patterns and replacements. With them, tensors say in C++ that they are on
the device, as in Python; calls into PyTorch's own library, which lacks that device, name the CPU, and so do
operators that are registered there for CUDA.
"""


@cache
def rocm_home() -> Path:
    """The folder that PyTorch takes for ROCm's, made unless it exists for this installation.

    bin/hipcc, include/ and lib/ are laid out like ROCm's; pytorch/ has headers that precede PyTorch's own.

    Raises:
        ToolchainError: PyTorch's headers are not the expected ones, or the folder cannot be written.
    """
    cxx = stand_in(_CXX, "compiles PyTorch's extensions, most of them by the system's C++ compiler")
    texts = {"bin/hipcc": hipcc(), "bin/c++": cxx, **{f"pytorch/{name}": text for name, text in _headers()}}
    # Their symbols are in the process that loads the extension.
    for name in ("amdhip64", "c10_hip", "torch_hip"):
        texts[f"lib/lib{name}.so"] = "/* Loaded before: nothing to link with. */\n"
    include = paths.hip_include_dir()
    key = digest(str(include), *(part for item in texts.items() for part in item))
    folder = tool_folder("pytorch") / key[:16]
    if not folder.is_dir():
        try:
            _write(folder, texts, include)
        except OSError as error:
            raise ToolchainError(
                f"{folder} cannot be written ({error.strerror}); set HIPKITTENS_CACHE to a folder that can be"
            ) from None
    return folder


def _headers() -> Iterator[tuple[str, str]]:
    """Headers before PyTorch's, by their names."""
    yield _DEVICE, (_HERE / _DEVICE).read_text()
    for name in _FORWARDED:
        # Sources rely on the includes of PyTorch's own header.
        further = "#include <ATen/Context.h>\n" if name.endswith("Context.h") else ""
        yield name, f"#pragma once\n{further}#include <{_DEVICE}>\n"
    yield "c10/hip/HIPMathCompat.h", "#pragma once\n#include <c10/cuda/CUDAMathCompat.h>\n"
    root = Path(torch.__file__).parent / "include"
    for name, edits in _EDITS.items():
        text = (root / name).read_text() if (root / name).is_file() else ""
        for pattern, replacement in edits:
            text, count = re.subn(pattern, replacement, text)
            if count != 1:
                raise ToolchainError(
                    f"{root / name}: expected one place with {pattern!r}, and there are {count}; extensions "
                    f"are not built for the emulated device with PyTorch {torch.__version__}"
                )
        yield name, text


def _write(folder: Path, texts: dict[str, str], include: Path) -> None:
    folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".partial-", dir=folder.parent) as scratch:
        root = Path(scratch) / "rocm"
        for place, text in texts.items():
            (root / place).parent.mkdir(parents=True, exist_ok=True)
            (root / place).write_text(text)
        for program in (root / "bin").iterdir():
            program.chmod(0o755)
        (root / "include").symlink_to(include)
        try:
            root.rename(folder)
        except OSError:
            # Another process was first.
            if not folder.is_dir():
                raise


def _check_tools() -> None:
    """Raises early the error that a build would end with.

    Raises:
        ToolchainError: the machine has no C++ compiler with the library that PyTorch is linked with, or no
            Python headers.
    """
    if _cxx_compiler() is None:
        raise ToolchainError(
            "torch.utils.cpp_extension needs a C++ compiler, as PyTorch is linked with the system's C++ "
            "library, and there is no c++ or g++ on PATH: `apt-get install g++` on Debian and Ubuntu, "
            "`dnf install gcc-c++` on Fedora"
        )
    folder = sysconfig.get_path("include")
    if not os.path.isfile(os.path.join(folder, "Python.h")):
        raise ToolchainError(
            f"torch.utils.cpp_extension needs Python's C headers, and {folder} has no Python.h: "
            "`apt-get install python3-dev` on Debian and Ubuntu, `dnf install python3-devel` on Fedora"
        )


def _cxx_compiler() -> str | None:
    """CXX, or where it names none that is here, as scripts for ROCm's machines do, the system's."""
    names = (os.environ.get("CXX", ""), *SYSTEM_COMPILERS)
    return next((name for name in names if name and shutil.which(name.split()[0])), None)


def _cxx_command(home: Path) -> str:
    """The C++ compiler of extensions: the one that CXX names, or ours, which starts the system's."""
    compiler = _cxx_compiler()
    return compiler if compiler and compiler == os.environ.get("CXX") else str(home / "bin" / "c++")


def _checked(function: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(function)
    def build(*args: Any, **kwargs: Any) -> Any:
        _check_tools()
        return function(*args, **kwargs)

    return build


def _include_paths(function: Callable[..., list[str]]) -> Callable[..., list[str]]:
    """`include_paths`, with our headers first if an extension has kernels."""

    @wraps(function)
    def include_paths(device_type: str = "cpu", *args: Any, **kwargs: Any) -> list[str]:
        folders = function(device_type, *args, **kwargs)
        return [str(rocm_home() / "pytorch"), *folders] if device_type == "cuda" else folders

    return include_paths


def _change(module: ModuleType, patches: Patches) -> None:
    home = rocm_home()
    changes: dict[str, Any] = {
        "ROCM_HOME": str(home),
        "HIP_HOME": str(home),
        "IS_HIP_EXTENSION": True,
        "ROCM_VERSION": hip_version()[:2],
        "include_paths": _include_paths(module.include_paths),
        "get_cxx_compiler": lambda: _cxx_command(home),
        "_write_ninja_file_and_build_library": _checked(module._write_ninja_file_and_build_library),
        "_write_ninja_file_and_compile_objects": _checked(module._write_ninja_file_and_compile_objects),
    }
    for name, value in changes.items():
        # Not every release of PyTorch has all of them.
        if hasattr(module, name):
            patches.replace(module, name, value)


class _Loader(importlib.abc.Loader):
    """Loads `torch.utils.cpp_extension` as usual, and then reports it."""

    def __init__(self, loader: importlib.abc.Loader, loaded: Callable[[ModuleType], None]) -> None:
        self._loader = loader
        self._loaded = loaded

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        self._loader.exec_module(module)
        self._loaded(module)


class _Finder(importlib.abc.MetaPathFinder):
    """Finds `torch.utils.cpp_extension` for `_Loader`: it takes 0.3 s to import, and few need it."""

    def __init__(self, loaded: Callable[[ModuleType], None]) -> None:
        self._loaded = loaded

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name != _MODULE:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path)
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader, self._loaded)
        return spec


@contextlib.contextmanager
def built_for_device() -> Iterator[None]:
    """In this context, `torch.utils.cpp_extension` builds for the emulated device, whenever imported."""
    with Patches() as patches:
        finder = _Finder(lambda module: _change(module, patches))
        loaded = sys.modules.get(_MODULE)
        if loaded is not None:
            _change(loaded, patches)
        sys.meta_path.insert(0, finder)
        try:
            yield
        finally:
            sys.meta_path.remove(finder)


__all__ = ["built_for_device", "rocm_home"]
