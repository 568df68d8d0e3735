"""A result's environment: sources, compiler, versions, git, the computer, clocks."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import importlib.metadata
import json
import os
import platform
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from workbench import paths
from workbench.errors import WorkbenchError
from workbench.runtime import Device
from workbench.toolchain.search import find_compiler

_SHARED = ("include", "families", "references")
_MODEL = ("profile", "targets", "emulator")
_PACKAGES = ("torch", "llvmlite", "hip-python", "triton", "liger-kernel", "fla-core")
_SETTINGS = ("HIPKITTENS_TUNING", "HIPKITTENS_COMPILER", "HIPKITTENS_THREADS", "HIPKITTENS_CPU")


@functools.cache
def _digest(*roots: Path) -> str:
    """Digest of all sources below some folders, by content, so that two checkouts agree."""
    hasher = hashlib.sha256()
    for root in roots:
        for file in sorted(root.rglob("*")) if root.is_dir() else [root]:
            if file.suffix in (".py", ".c", ".h", ".cpp", ".cuh", ".json") and file.is_file():
                hasher.update(f"{file.relative_to(root.parent)}\n".encode())
                hasher.update(file.read_bytes())
    return hasher.hexdigest()[:16]


def source_digest(operator: str, device: Device) -> str:
    """Digest of the sources that determine an operator's time: its own, and the model's if emulated."""
    root = paths.kernels_dir()
    category = operator.partition("/")[0]
    files = [root / category, *(root / name for name in _SHARED)]
    if device.observes:
        package = Path(__file__).resolve().parents[1]
        files += [package / name for name in _MODEL]
    return _digest(*files)


@functools.cache
def _git() -> Mapping[str, Any]:
    """Commit of the checkout, and whether anything has changed since; empty outside a checkout."""

    def run(*arguments: str) -> str:
        process = subprocess.run(
            ["git", "-C", os.fspath(paths.kernels_dir()), *arguments],
            capture_output=True,
            text=True,
            timeout=20,
        )
        return process.stdout.strip() if process.returncode == 0 else ""

    with contextlib.suppress(OSError, subprocess.SubprocessError):
        if commit := run("rev-parse", "HEAD"):
            return {"commit": commit, "changed": bool(run("status", "--porcelain", "--untracked-files=no"))}
    return {}


@functools.cache
def _versions() -> Mapping[str, str]:
    versions = {"python": platform.python_version()}
    for name in _PACKAGES:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            versions[name] = importlib.metadata.version(name)
    return versions


def setting(device: Device) -> dict[str, Any]:
    """Everything around a run that its result may depend on."""
    try:
        compiler = find_compiler(device.arch)
        toolchain = {"compiler": compiler.version, "compiler_identity": compiler.identity[:16]}
    except WorkbenchError as error:
        toolchain = {"compiler": f"none: {type(error).__name__}"}
    return {
        **toolchain,
        "git": dict(_git()),
        "versions": dict(_versions()),
        "processor": f"{platform.machine()}, {os.cpu_count()} processors",
        "system": platform.platform(terse=True),
        "variables": {name: os.environ[name] for name in _SETTINGS if name in os.environ},
    }


def gpu_clock_mhz(device: Device) -> float:
    """The current engine clock of a GPU according to amd-smi; 0 if it cannot be read."""
    number = device.name.partition(":")[2]
    if device.observes or not number.isdigit():
        return 0.0
    try:
        process = subprocess.run(
            ["amd-smi", "metric", "--gpu", number, "--clock", "--json"],
            capture_output=True,
            text=True,
            timeout=10,
        )
        return highest_clock(json.loads(process.stdout))
    except (OSError, subprocess.SubprocessError, ValueError):
        return 0.0


def highest_clock(metrics: Any) -> float:
    """The highest engine clock in what amd-smi prints, in MHz; 0 if it has none."""
    if isinstance(metrics, list):
        return max(map(highest_clock, metrics), default=0.0)
    if not isinstance(metrics, Mapping):
        return 0.0
    highest = 0.0
    for name, value in metrics.items():
        if str(name).startswith("gfx") and isinstance(value, Mapping):
            now = value.get("clk")
            highest = max(highest, float(now.get("value", 0) if isinstance(now, Mapping) else now or 0))
        else:
            highest = max(highest, highest_clock(value))
    return highest
