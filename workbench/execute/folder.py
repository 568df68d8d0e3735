"""A folder laid out like ROCm's, in which programs built for AMD's runtime find the emulated device.

bin/            hipcc, hipconfig, rocminfo, rocm_agent_enumerator, offload-arch
lib/            libamdhip64.so, libhiprtc.so, also by their names in AMD's releases
llvm/bin/       ld.lld, clang, clang++
include/        HIP's headers
python/         makes Python processes find the device when they import PyTorch
"""

from __future__ import annotations

import os
import shutil
import sys
import sysconfig
import tempfile
from collections.abc import Mapping
from pathlib import Path

from workbench import paths
from workbench.cache import digest, tool_folder
from workbench.errors import ToolchainError
from workbench.execute.tools import TOOLS
from workbench.runtime.emulated import drop_in_libraries
from workbench.toolchain import zig
from workbench.toolchain.compiler import hip_version
from workbench.toolchain.hipcc.script import hipcc, stand_in

PYTHON_FILE = "hipkittens-python"
"""File next to the libraries that tells them how to start Python; see `emulator/hip/library.c`."""


def python_library() -> str:
    """Path of the shared library of this Python; "" if it has none."""
    name = sysconfig.get_config_var("INSTSONAME") or ""
    folders = [sysconfig.get_config_var("LIBDIR"), os.path.join(sys.base_prefix, "lib")]
    places = [os.path.join(folder, name) for folder in folders if folder and ".so" in name]
    return next(filter(os.path.isfile, places), "")


def rocm_folder() -> Path:
    """The folder, made unless it exists for this installation.

    Raises:
        ToolchainError: the emulated device's libraries could not be built, or the folder could not be
            written.
    """
    # On other systems no program is linked with AMD's library.
    files = drop_in_libraries() if sys.platform == "linux" else {}
    texts = _texts()
    key = digest(*map(str, files.items()), *(part for item in texts.items() for part in item))
    folder = tool_folder("rocm") / key[:16]
    if not folder.is_dir():
        try:
            _write(folder, files, texts)
        except OSError as error:
            raise ToolchainError(
                f"{folder} cannot be written ({error.strerror}); set HIPKITTENS_CACHE to a folder that can be"
            ) from None
    return folder


def _texts() -> dict[str, str]:
    """Contents of the folder's text files, by relative path."""
    root = Path(paths.__file__).resolve().parent.parent
    texts = {
        "bin/hipcc": hipcc(),
        f"lib/{PYTHON_FILE}": f"{python_library()}\n{sys.executable}\n{root}\n",
        "python/sitecustomize.py": Path(__file__).with_name("sitecustomize.py").read_text(),
        ".info/version": ".".join(map(str, hip_version())) + "\n",
    }
    for name in TOOLS:
        texts[f"bin/{name}"] = stand_in(f"workbench.execute.tools {name}", "answers for the emulated device")
    if zig.program() is not None:
        for name in ("ld.lld", "clang", "clang++"):
            texts[f"llvm/bin/{name}"] = stand_in(f"ziglang {name}", "the one in the ziglang wheel")
    return texts


def _write(folder: Path, files: Mapping[str, Path], texts: Mapping[str, str]) -> None:
    folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".partial-", dir=folder.parent) as scratch:
        root = Path(scratch) / "rocm"
        for place, text in texts.items():
            path = root / place
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            if path.parent.name == "bin":
                path.chmod(0o755)
        for name, source in files.items():
            # Copies, because the cache drops entries that were not used for long.
            shutil.copyfile(source, root / "lib" / name)
        (root / "include").symlink_to(paths.hip_include_dir())
        try:
            root.rename(folder)
        except OSError:
            # Another process was first.
            if not folder.is_dir():
                raise


def environment(folder: Path, base: Mapping[str, str]) -> dict[str, str]:
    """Variables with which a program finds the folder's libraries and programs before all others.

    Args:
        base: the variables that the program has otherwise.
    """
    result = dict(base)
    first = {
        "LD_LIBRARY_PATH": [folder / "lib"],
        # `python` is the one that has the workbench installed.
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
