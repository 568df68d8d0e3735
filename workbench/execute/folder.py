"""A folder laid out as ROCm's, which programs that were built for AMD's runtime find the emulated device in.

bin/            hipcc, hipconfig, rocminfo, rocm_agent_enumerator, offload-arch
lib/            libamdhip64.so, libhiprtc.so and their names of AMD's releases
llvm/bin/       ld.lld, clang, clang++
include/        HIP's headers
python/         what has Python processes find the device when they import PyTorch
"""

from __future__ import annotations

import os
import shlex
import shutil
import sys
import sysconfig
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from workbench import paths
from workbench.cache import digest, tool_folder
from workbench.errors import ToolchainError, UsageError
from workbench.execute.tools import TOOLS
from workbench.runtime.emulated import drop_in_libraries
from workbench.toolchain import zig
from workbench.toolchain.candidates import STAND_IN
from workbench.toolchain.compiler import hip_version

PYTHON_FILE = "hipkittens-python"
"""Beside the libraries: what they start Python with; see `emulator/hip/library.c`."""

_SCRIPT = """#!/bin/sh
{mark}: {name}
PYTHONPATH={root}${{PYTHONPATH:+:$PYTHONPATH}} exec {command} "$@"
"""
_ROOT = Path(paths.__file__).resolve().parent.parent


def python_library() -> str:
    """Path of the shared library of this Python; "" where it has none."""
    name = sysconfig.get_config_var("INSTSONAME") or ""
    folders = [sysconfig.get_config_var("LIBDIR"), os.path.join(sys.base_prefix, "lib")]
    places = [os.path.join(folder, name) for folder in folders if folder and ".so" in name]
    return next(filter(os.path.isfile, places), "")


def rocm_folder() -> Path:
    """The folder, made unless it is there for this very installation.

    Raises:
        UsageError: this is no Linux, where programs for AMD's runtime run.
        ToolchainError: the emulated device's libraries could not be built, or the folder not be written.
    """
    if sys.platform != "linux":
        raise UsageError(f"exec runs programs for AMD's runtime, which are Linux's; this is {sys.platform}")
    files = drop_in_libraries()
    start = f"{python_library()}\n{sys.executable}\n{_ROOT}\n"
    texts = dict(_texts())
    key = digest(start, *map(str, files.items()), *(part for item in texts.items() for part in item))
    folder = tool_folder("rocm") / key[:16]
    if not folder.is_dir():
        try:
            _write(folder, files, texts, start)
        except OSError as error:
            raise ToolchainError(
                f"{folder} cannot be written ({error.strerror}); set HIPKITTENS_CACHE to a folder that can be"
            ) from None
    return folder


def _texts() -> Iterator[tuple[str, str]]:
    """The scripts, by their place in the folder."""
    python = shlex.quote(sys.executable)
    commands = {"bin/hipcc": f"{python} -P -m workbench hipcc"}
    commands |= {f"bin/{name}": f"{python} -P -m workbench.execute.tools {name}" for name in TOOLS}
    if (program := zig.program()) is not None:
        for name in ("ld.lld", "clang", "clang++"):
            commands[f"llvm/bin/{name}"] = f"{shlex.quote(str(program))} {name}"
    for place, command in commands.items():
        name = place.rpartition("/")[2]
        yield place, _SCRIPT.format(mark=STAND_IN, name=name, root=shlex.quote(str(_ROOT)), command=command)


def _write(folder: Path, files: Mapping[str, Path], texts: Mapping[str, str], start: str) -> None:
    folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".partial-", dir=folder.parent) as scratch:
        root = Path(scratch) / "rocm"
        for place, text in texts.items():
            path = root / place
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            path.chmod(0o755)
        libraries = root / "lib"
        libraries.mkdir()
        for name, source in files.items():
            # Copies: the cache drops what has long not been used.
            shutil.copyfile(source, libraries / name)
        (libraries / PYTHON_FILE).write_text(start)
        (root / "include").symlink_to(paths.hip_include_dir())
        (root / "python").mkdir()
        shutil.copyfile(Path(__file__).with_name("sitecustomize.py"), root / "python" / "sitecustomize.py")
        (root / ".info").mkdir()
        (root / ".info" / "version").write_text(".".join(map(str, hip_version())) + "\n")
        try:
            root.rename(folder)
        except OSError:
            # Another process was first.
            if not folder.is_dir():
                raise


def environment(folder: Path, base: Mapping[str, str]) -> dict[str, str]:
    """Variables with which a program finds the folder's libraries and programs before all others.

    Args:
        base: the variables that it has otherwise.
    """
    result = dict(base)
    first = {
        "LD_LIBRARY_PATH": [folder / "lib"],
        # `python` is the one that has the workbench.
        "PATH": [folder / "bin", Path(sys.executable).parent],
        "PYTHONPATH": [folder / "python"],
    }
    for name, folders in first.items():
        texts = list(map(str, folders))
        rest = [part for part in result.get(name, "").split(os.pathsep) if part and part not in texts]
        result[name] = os.pathsep.join([*texts, *rest])
    for name in ("ROCM_PATH", "ROCM_HOME", "HIP_PATH"):
        result[name] = str(folder)
    return result


__all__ = ["PYTHON_FILE", "environment", "python_library", "rocm_folder"]
