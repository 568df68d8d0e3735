"""ROCm's device libraries, whose functions are `__ocml_*` and `__ockl_*`: where they are, how to link them.

The workbench's HIP headers do not need them. Sources that call their functions by name, as generated code
does, request them (`device_libraries=True`). hipcc links its own.

A compilation links the bitcode of both and a module of constants that configure them (`oclc`). ROCm has a
file for each setting; Triton's wheel, which includes the libraries too, has none. So it is made here.
"""

from __future__ import annotations

import importlib.util
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from workbench import paths
from workbench.cache import Cache, digest
from workbench.codeobject.bundle import plain_target
from workbench.errors import ToolchainError
from workbench.targets import runs_on
from workbench.toolchain import process
from workbench.toolchain.compiler import Compiler

FILES = ("ocml.bc", "ockl.bc")
FOLDER = "HIPKITTENS_DEVICE_LIBRARIES"

_INSIDE_ROCM = ("amdgcn/bitcode", "lib/llvm/lib/clang/*/lib/amdgcn/bitcode")
_SYSTEM = ("usr/lib/*/amdgcn/bitcode", "usr/lib/llvm-*/lib/clang/*/amdgcn/bitcode")
_TIMEOUT = 60.0

_SETTING = "@__oclc_{} = linkonce_odr hidden local_unnamed_addr addrspace(4) constant {} {}\n"
_ABI = 500
"""Code object version 5; of later ones the libraries only ask whether they are at least that."""


def find_device_libraries() -> Path | None:
    """Folder with the libraries; None if there is none.

    Only $HIPKITTENS_DEVICE_LIBRARIES if it is set; otherwise ROCm's, the system's, or an installed Triton's.
    """
    return next((folder for folder in _places() if all((folder / name).is_file() for name in FILES)), None)


def bitcode(compiler: Compiler, arch: str) -> tuple[Path, ...]:
    """The files that a device compilation links; empty for hipcc, which has its own.

    Raises:
        ToolchainError: they are missing, or the compiler cannot make their settings.
    """
    if compiler.kind == "hipcc":
        return ()
    folder = find_device_libraries()
    if folder is None:
        named = os.environ.get(FOLDER)
        where = f"not in {FOLDER}={named}" if named else "found nowhere"
        raise ToolchainError(
            f"ROCm's device libraries ({', '.join(FILES)}) are {where}. `apt-get install rocm-device-libs` "
            f"or `pip install triton` brings them; {FOLDER} names a folder that has them."
        )
    return (*(folder / name for name in FILES), _settings(compiler, arch))


def settings_text(arch: str) -> str:
    """LLVM IR of the constants: waves of 64, denormals kept, exact square roots, no fast math."""
    # ROCm's own file for a generic processor has the number of the first that it stands for.
    version = runs_on(plain_target(arch))[-1].removeprefix("gfx")
    number = 1000 * int(version[:-2]) + 100 * int(version[-2]) + int(version[-1], 16)
    values = {
        "ISA_version": ("i32", number),
        "ABI_version": ("i32", _ABI),
        "wavefrontsize_log2": ("i32", 6),
        "wavefrontsize64": ("i8", 1),
        "daz_opt": ("i8", 0),
        "finite_only_opt": ("i8", 0),
        "unsafe_math_opt": ("i8", 0),
        "correctly_rounded_sqrt32": ("i8", 1),
    }
    return "".join(_SETTING.format(name, *setting) for name, setting in values.items())


def _settings(compiler: Compiler, arch: str) -> Path:
    """The constants as bitcode that the compiler can read, made by the compiler itself."""
    text = settings_text(arch)
    store, key = Cache("compilers"), digest("device libraries", compiler.identity, text)
    cached = store.find_file(key)
    if cached is not None:
        return cached
    with tempfile.TemporaryDirectory(prefix="hipkittens-") as folder:
        output = Path(folder, "oclc.bc")
        command = [
            *(*compiler.command, "-x", "ir", "--target=amdgcn-amd-amdhsa", "-nogpulib"),
            *("-c", "-emit-llvm", "-", "-o", str(output)),
        ]
        finished = process.run(command, timeout=_TIMEOUT, text=text, environment=compiler.environment(folder))
        bitcode = store.put_file(key, output) if output.is_file() else None
    if bitcode is None:
        raise ToolchainError(
            f"{compiler.version} made no settings of ROCm's device libraries for {arch}: "
            f"{finished.text.strip() or 'the cache folder cannot take another file'}"
        )
    return bitcode


def _places() -> Iterator[Path]:
    named = os.environ.get(FOLDER)
    if named:
        yield Path(named)
        return
    for root in (os.environ.get("ROCM_PATH"), paths.rocm_dir()):
        for inside in _INSIDE_ROCM if root else ():
            yield from sorted(Path(str(root)).glob(inside), reverse=True)
    for place in _SYSTEM:
        yield from sorted(paths.SYSTEM.glob(place), reverse=True)
    triton = importlib.util.find_spec("triton")
    for folder in (triton.submodule_search_locations or ()) if triton is not None else ():
        yield Path(folder, "backends", "amd", "lib")
