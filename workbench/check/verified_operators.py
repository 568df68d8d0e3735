"""Operators whose current version passed verification on this machine, for the catalogue."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from workbench.cache import Cache, digest
from workbench.operators import KernelSpec

_CACHE = Cache("verified")
_SHARED = ("include", "families", "references")


def note(spec: KernelSpec, arch: str, device: str) -> None:
    """Records that an operator was right on a device; valid until one of its files changes."""
    key = _key(spec, arch)
    if key is not None:
        _CACHE.put(key, device.encode())


def verified(spec: KernelSpec, arch: str) -> str:
    """Name of a device on which this version of the operator was noted as right; "" if there is none."""
    key = _key(spec, arch)
    device = _CACHE.get(key) if key is not None else None
    return "" if device is None else device.decode()


def _key(spec: KernelSpec, arch: str) -> str | None:
    """None for a spec that does not belong to a library's folder."""
    if spec.folder is None:
        return None
    operator, root = spec.name.partition(":")[0], spec.folder.parent
    files = [root / f"{operator}.py", root / f"{operator}.cpp"]
    shared = (path for name in _SHARED for path in sorted((root / name).rglob("*")))
    return digest("verified", operator, arch, *_stamps([*files, *shared]))


def _stamps(files: Iterable[Path]) -> list[str]:
    """Path, size and modification time of each file."""
    stamps = []
    for path in files:
        if path.is_file() and path.suffix != ".pyc":
            status = path.stat()
            stamps.append(f"{path} {status.st_size} {status.st_mtime_ns}")
    return stamps
