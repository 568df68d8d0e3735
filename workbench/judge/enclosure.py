"""What encloses a submission's process: namespaces without network, a read-only file system, limits.

Linux alone has namespaces; a container may forbid them. Then only limits hold, and the report says so.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import signal
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_CLONE_NEWNS, _CLONE_NEWUTS, _CLONE_NEWIPC = 0x00020000, 0x04000000, 0x08000000
_CLONE_NEWUSER, _CLONE_NEWPID, _CLONE_NEWNET = 0x10000000, 0x20000000, 0x40000000
_MS_RDONLY, _MS_NOSUID, _MS_NODEV, _MS_NOEXEC = 1, 2, 4, 8
_MS_REMOUNT, _MS_NOATIME, _MS_BIND, _MS_REC, _MS_PRIVATE, _MS_RELATIME = (
    32,
    1024,
    4096,
    16384,
    1 << 18,
    1 << 21,
)
_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_GET_DUMPABLE, _PR_SET_NO_NEW_PRIVS = 1, 4, 3, 38
_PR_CAPBSET_DROP = 24

_FLAGS = {
    "ro": _MS_RDONLY,
    "nosuid": _MS_NOSUID,
    "nodev": _MS_NODEV,
    "noexec": _MS_NOEXEC,
    "noatime": _MS_NOATIME,
    "relatime": _MS_RELATIME,
}

_SCRATCH = ("/tmp", "/var/tmp", "/dev/shm", "/run")
"""Folders that a submission gets empty ones for."""

FILE_BYTES = 4 << 30
"""Largest file that a submission may write."""

PROCESSES = 2048
"""Processes and threads of a submission; compilers need some."""


@dataclass(frozen=True)
class Enclosure:
    """What encloses a submission.

    Attributes:
        kind: "namespaces" or "limits".
        network, files, processes: True if it can reach no network, can change no files but its own, and sees
            no processes but its own.
        text: the same in a sentence.
    """

    kind: str
    network: bool
    files: bool
    processes: bool
    text: str


LIMITS = Enclosure(
    "limits",
    False,
    False,
    False,
    "limits of time, memory, files and processes alone: this system allows no namespaces, so the submission "
    "could reach the network and this user's files",
)


def has_namespaces() -> bool:
    """True if a process may enter namespaces here, which is tried in a fork; it must have one thread."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            status = int(_enter_namespaces(Path(tempfile.gettempdir())) is LIMITS)
        finally:
            os._exit(status)
    return os.waitpid(child, 0)[1] == 0


def enclose(folder: Path, namespaces: bool) -> Enclosure:
    """Encloses this process, which must have one thread, for good; returns in a child process.

    Args:
        folder: the folder that it may write to.
        namespaces: False for limits alone.
    """
    enclosure = _enter_namespaces(folder) if namespaces else LIMITS
    _limit()
    return enclosure


def end_with_parent() -> None:
    """Has this process killed when its parent ends (Linux)."""
    if sys.platform == "linux":
        _libc().prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _checked(result: int, call: str) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{call}: {os.strerror(number)}")


def _enter_namespaces(folder: Path) -> Enclosure:
    if sys.platform != "linux":
        return LIMITS
    libc = _libc()
    user, group = os.getuid(), os.getgid()
    kinds = _CLONE_NEWUSER | _CLONE_NEWNS | _CLONE_NEWIPC | _CLONE_NEWPID | _CLONE_NEWNET | _CLONE_NEWUTS
    _checked(libc.unshare(kinds), "unshare")
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"{user} {user} 1")
    Path("/proc/self/gid_map").write_text(f"{group} {group} 1")
    child = os.fork()
    if child:
        # The first process of the namespace is the child; this one only passes on how it ended.
        os._exit(_waited(child))
    end_with_parent()
    files = _furnish(libc, folder)
    processes = _mount(libc, "proc", "/proc", "proc", _MS_NOSUID | _MS_NODEV | _MS_NOEXEC)
    _drop_capabilities(libc)
    return Enclosure(
        "namespaces",
        True,
        files,
        processes,
        "namespaces of its own: no network, "
        + ("only its own folder to write to, " if files else "this user's files, ")
        + ("no other processes in sight" if processes else "other processes in sight"),
    )


def _waited(child: int) -> int:
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code


def _furnish(libc: ctypes.CDLL, folder: Path) -> bool:
    """Makes the file system read-only, but for the folder and empty scratch folders; False if it cannot."""
    none = None
    if libc.mount(none, b"/", none, _MS_REC | _MS_PRIVATE, none) != 0:
        return False
    held = os.open(folder, os.O_PATH | os.O_DIRECTORY)
    libraries = {path: os.open(path, os.O_PATH | os.O_DIRECTORY) for path in _libraries()}
    for place in _SCRATCH:
        if os.path.isdir(place) and not os.path.islink(place):
            _mount(libc, "tmpfs", place, "tmpfs", _MS_NOSUID | _MS_NODEV)
    readable = all(_made_read_only(libc, *mount) for mount in _mounts())
    for path, number in libraries.items():
        readable &= _bind(libc, number, path, _MS_RDONLY)
    return readable and _bind(libc, held, folder, 0)


def _libraries() -> list[Path]:
    """Folders of Python and of this package that an empty scratch folder would hide."""
    folders = {Path(sys.prefix), Path(sys.base_prefix), Path(__file__).resolve().parents[2]}
    hidden = [path for path in folders if any(path.is_relative_to(place) for place in _SCRATCH)]
    return sorted(hidden, key=lambda path: len(path.parts))


def _bind(libc: ctypes.CDLL, number: int, path: Path, flags: int) -> bool:
    """Puts an open folder where an empty scratch folder may hide it, and closes it."""
    with contextlib.suppress(OSError):
        path.mkdir(parents=True, exist_ok=True)
    source = f"/proc/self/fd/{number}".encode()
    bound = bool(libc.mount(source, os.fsencode(path), None, _MS_BIND, None) == 0)
    if bound:
        # A bind inherits whether its source is read-only.
        flags |= _MS_REMOUNT | _MS_BIND | _MS_NOSUID | _MS_NODEV
        is_set = libc.mount(None, os.fsencode(path), None, flags, None) == 0
        bound = is_set or not flags & _MS_RDONLY
    os.close(number)
    return bound


def _mounts() -> list[tuple[str, int]]:
    """Places of mounts with their flags, but for those of the kernel and of devices."""
    mounts = []
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        place, options = line.split()[4:6]
        place = place.encode().decode("unicode_escape")
        if place in _SCRATCH or any(f"{place}/".startswith(f"{top}/") for top in ("/proc", "/sys", "/dev")):
            continue
        mounts.append((place, sum(_FLAGS.get(option, 0) for option in options.split(","))))
    return mounts


def _made_read_only(libc: ctypes.CDLL, place: str, flags: int) -> bool:
    if flags & _MS_RDONLY or not os.path.exists(place):
        return True
    flags |= _MS_REMOUNT | _MS_BIND | _MS_RDONLY
    return bool(libc.mount(None, os.fsencode(place), None, flags, None) == 0)


def _mount(libc: ctypes.CDLL, source: str, place: str, kind: str, flags: int) -> bool:
    return bool(libc.mount(source.encode(), place.encode(), kind.encode(), flags, None) == 0)


class _Header(ctypes.Structure):
    _fields_ = (("version", ctypes.c_uint32), ("pid", ctypes.c_int))


def _drop_capabilities(libc: ctypes.CDLL) -> None:
    for capability in range(64):
        libc.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0)
    libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    header = _Header(0x20080522, 0)
    _checked(libc.capset(ctypes.byref(header), (ctypes.c_uint32 * 6)()), "capset")


def _limit() -> None:
    # Memory is watched from outside: the device's arena is address space that nothing occupies.
    limits = {"RLIMIT_FSIZE": FILE_BYTES, "RLIMIT_CORE": 0, "RLIMIT_NOFILE": 1024}
    for name, value in limits.items():
        kind = getattr(resource, name)
        _, most = resource.getrlimit(kind)
        value = value if most == resource.RLIM_INFINITY else min(value, most)
        resource.setrlimit(kind, (value, value))
    with contextlib.suppress(ValueError, OSError, AttributeError):
        resource.setrlimit(resource.RLIMIT_NPROC, (PROCESSES, PROCESSES))


@contextlib.contextmanager
def unreadable() -> Iterator[None]:
    """In this context, other processes of this user cannot read this one's memory (Linux)."""
    if sys.platform != "linux":
        yield
        return
    libc = _libc()
    before = libc.prctl(_PR_GET_DUMPABLE, 0, 0, 0, 0)
    libc.prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
    try:
        yield
    finally:
        libc.prctl(_PR_SET_DUMPABLE, before, 0, 0, 0)


__all__ = ["LIMITS", "Enclosure", "enclose", "end_with_parent", "has_namespaces", "unreadable"]
