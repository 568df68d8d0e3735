"""What was computed once and is costly to compute again: machine code, native libraries, headers.

Entries are files named by a digest of everything that they were made from, so an entry is never wrong, only
missing, and nobody has to invalidate anything. Several processes use one cache at once: an entry appears
whole or not at all (written beside its place, then renamed), and what is used least recently goes when the
whole grows past its limit.

The folder is `$HIPKITTENS_CACHE`, else `hipkittens` in the user's cache folder (`$XDG_CACHE_HOME` or
`~/.cache`); the limit is `$HIPKITTENS_CACHE_LIMIT`, such as `500M` or `8G`, by default 4 GiB.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import re
import shutil
import stat
import tempfile
import threading
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from workbench.errors import UsageError

DEFAULT_LIMIT = 4 << 30

_TEMPORARY = ".partial-"
_TEMPORARY_LIFETIME = 3600.0
_SCANS_PER_LIMIT = 64
_NAMESPACE = re.compile(r"[a-z0-9][a-z0-9_.-]*")
_SHARD = re.compile(r"[0-9a-f]{2}")
_SIZE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]?)i?b?\s*", re.IGNORECASE)

_scan_lock = threading.Lock()
# Bytes written by this process since it last added up the folder; None before the first time.
_written: dict[Path, int] = {}


# What this process was told already: once is enough, whoever asks for the folder.
_warned: set[str] = set()


def _warn(text: str) -> None:
    if text not in _warned:
        _warned.add(text)
        warnings.warn(text, stacklevel=3)


def digest(*parts: str | bytes) -> str:
    """Key for what is made from `parts`: 64 hexadecimal digits, different for ("ab", "c") and ("a", "bc")."""
    state = hashlib.sha256()
    for part in parts:
        data = part.encode("utf-8", "surrogatepass") if isinstance(part, str) else part
        state.update(b"%d:%d:" % (isinstance(part, str), len(data)))
        state.update(data)
    return state.hexdigest()


def parse_size(text: str) -> int:
    """Bytes in a size such as `4096`, `500M` or `1.5 GiB` (powers of 1024)."""
    match = _SIZE.fullmatch(text)
    if match is None:
        raise UsageError(f"{text!r} is no size; write a number with K, M, G or T, such as 500M")
    return int(float(match[1]) * 1024 ** " kmgt".index(match[2].lower() or " "))


def limit() -> int:
    """Size in bytes above which the least recently used entries go.

    Raises:
        UsageError: HIPKITTENS_CACHE_LIMIT is no size.
    """
    chosen = size_from_environment("HIPKITTENS_CACHE_LIMIT")
    return DEFAULT_LIMIT if chosen is None else chosen


def size_from_environment(variable: str) -> int | None:
    """Bytes in an environment variable; None where it is not set or empty.

    Raises:
        UsageError: it holds no size; the message names it.
    """
    text = os.environ.get(variable)
    if not text:
        return None
    try:
        return parse_size(text)
    except UsageError as error:
        raise UsageError(f"{variable}: {error}") from None


def folder() -> Path:
    """Root of the cache, made if it is not there.

    Where the wanted folder cannot be written (a read-only home), a private one under the system's temporary
    folder takes its place, with a warning.
    """
    chosen = os.environ.get("HIPKITTENS_CACHE")
    if chosen:
        wanted = Path(chosen).expanduser().absolute()
    else:
        base = os.environ.get("XDG_CACHE_HOME") or ""
        # The XDG specification says that a relative path there is to be ignored.
        wanted = (Path(base) if os.path.isabs(base) else Path("~/.cache").expanduser()) / "hipkittens"
    if _usable(wanted):
        return wanted
    spare = Path(tempfile.gettempdir()) / f"hipkittens-cache-{os.getuid()}"
    _warn(
        f"the cache folder {wanted} cannot be written; using {spare}. "
        "Set HIPKITTENS_CACHE to a folder that can be written."
    )
    spare.mkdir(mode=0o700, exist_ok=True)
    owner = spare.lstat()
    if not stat.S_ISDIR(owner.st_mode) or owner.st_uid != os.getuid():
        raise UsageError(f"{spare} belongs to another user; set HIPKITTENS_CACHE to a folder of your own")
    return spare


def _usable(path: Path) -> bool:
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError:
        return False
    return os.access(path, os.W_OK | os.X_OK)


def write_atomically(path: Path, data: bytes, mode: int = 0o644) -> None:
    """Write a file so that a reader sees the old content or the new, never a part."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=_TEMPORARY, dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.chmod(name, mode)
        os.replace(name, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise


@dataclass(frozen=True, slots=True)
class Usage:
    """What a namespace holds.

    Attributes:
        namespace: its name.
        entries: number of entries.
        size: bytes.
    """

    namespace: str
    entries: int
    size: int


class Cache:
    """Entries of one kind, by key.

    Args:
        namespace: name of the kind, such as "code-objects"; lower-case letters, digits, `.`, `_`, `-`.
    """

    def __init__(self, namespace: str) -> None:
        if not _NAMESPACE.fullmatch(namespace):
            raise UsageError(
                f"cache namespace {namespace!r}: lower-case letters, digits, '.', '_' and '-' are wanted"
            )
        self.namespace = namespace

    def path(self, key: str) -> Path:
        """Where the entry of `key` is, or will be once it is put."""
        name = key if re.fullmatch(r"[0-9a-f]{16,128}", key) else digest(key)
        return folder() / self.namespace / name[:2] / name[2:]

    def get(self, key: str) -> bytes | None:
        """The entry's content, None where there is none. Counts as a use."""
        path = self.path(key)
        try:
            data = path.read_bytes()
        except OSError:
            return None
        # A machine that lost power can leave a renamed file without its content.
        if not data:
            return None
        with contextlib.suppress(OSError):
            os.utime(path)
        return data

    def find(self, key: str) -> Path | None:
        """The entry's path where it is there, for a loader or a compiler to read. Counts as a use."""
        path = self.path(key)
        try:
            if path.stat().st_size == 0:
                return None
            os.utime(path)
        except OSError:
            return None
        return path

    def put(self, key: str, data: bytes) -> bool:
        """Store an entry. False, with a warning, where the folder takes no more: a cache stops nobody."""
        path = self.path(key)
        try:
            write_atomically(path, data)
        except OSError as error:
            _warn(f"nothing could be cached in {folder() / self.namespace}: {error.strerror}")
            return False
        _account(path, len(data))
        return True

    def adopt(self, key: str, file: Path) -> bool:
        """Store what a tool wrote to `file` (on the same or another file system) and remove `file`."""
        path = self.path(key)
        try:
            size = file.stat().st_size
            path.parent.mkdir(parents=True, exist_ok=True)
            beside = path.parent / f"{_TEMPORARY}{os.getpid()}-{threading.get_ident()}"
            shutil.move(file, beside)
            os.replace(beside, path)
        except OSError as error:
            _warn(f"nothing could be cached in {folder() / self.namespace}: {error.strerror}")
            return False
        _account(path, size)
        return True

    def remove(self, key: str) -> None:
        """Forget an entry, one that proved damaged for example."""
        with contextlib.suppress(OSError):
            self.path(key).unlink()

    @contextlib.contextmanager
    def lock(self, key: str) -> Iterator[None]:
        """Hold what makes an entry for one thread of one process at a time; look again once inside."""
        path = self.path(key)
        lock = folder() / "locks" / f"{self.namespace}-{path.parent.name}{path.name}"
        lock.parent.mkdir(parents=True, exist_ok=True)
        while True:
            with open(lock, "wb") as file:
                fcntl.flock(file, fcntl.LOCK_EX)
                # The one before may have removed the file that this one waited for.
                if not _is_open_at(lock, file.fileno()):
                    continue
                try:
                    yield
                finally:
                    with contextlib.suppress(OSError):
                        lock.unlink()
                return

    def usage(self) -> Usage:
        """How many entries there are and what they take."""
        sizes = [size for _, _, size in _entries(folder() / self.namespace)]
        return Usage(self.namespace, len(sizes), sum(sizes))

    def clear(self) -> int:
        """Remove every entry; the number of bytes freed."""
        return clear(self.namespace)


def usage() -> tuple[Usage, ...]:
    """What each namespace holds, by name."""
    root = folder()
    names = sorted(path.name for path in root.iterdir() if path.is_dir() and path.name not in _NOT_ENTRIES)
    return tuple(Cache(name).usage() for name in names if _NAMESPACE.fullmatch(name))


def clear(namespace: str | None = None) -> int:
    """Remove the entries of a namespace, or of all; the number of bytes freed."""
    root = folder()
    freed = 0
    for path, _, size in list(_entries(root / namespace) if namespace else _all_entries(root)):
        with contextlib.suppress(OSError):
            path.unlink()
            freed += size
    return freed


def evict(target: int | None = None, keep: Path | None = None) -> int:
    """Remove the least recently used entries until the whole fits in `target` bytes; the bytes freed.

    Args:
        target: bytes that may stay; by default the limit.
        keep: an entry that stays whatever its age.
    """
    bound = limit() if target is None else target
    entries = sorted(_all_entries(folder()), key=lambda entry: entry[1])
    excess = sum(size for _, _, size in entries) - bound
    freed = 0
    for path, _, size in entries:
        if freed >= excess:
            break
        if path == keep:
            continue
        with contextlib.suppress(OSError):
            path.unlink()
            freed += size
    return freed


# Folders in the root that hold no entries: locks, and small tools that are kept as long as they are used.
_NOT_ENTRIES = frozenset({"locks", "tools"})


def _all_entries(root: Path) -> Iterator[tuple[Path, float, int]]:
    for path in sorted(root.iterdir()):
        if path.is_dir() and path.name not in _NOT_ENTRIES:
            yield from _entries(path)


def _entries(namespace: Path) -> Iterator[tuple[Path, float, int]]:
    """(path, time of last use, bytes) of each entry; leftovers of killed processes are cleared on the way."""
    try:
        shards = [entry for entry in os.scandir(namespace) if _SHARD.fullmatch(entry.name) and entry.is_dir()]
    except OSError:
        return
    for shard in shards:
        try:
            files = list(os.scandir(shard))
        except OSError:
            continue
        for file in files:
            try:
                status = file.stat(follow_symlinks=False)
                if file.name.startswith(_TEMPORARY):
                    if time.time() - status.st_mtime > _TEMPORARY_LIFETIME:
                        os.unlink(file)
                    continue
            except OSError:
                continue
            yield Path(file.path), status.st_mtime, status.st_size


def _is_open_at(path: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(path.stat(), os.fstat(descriptor))
    except OSError:
        return False


def _account(path: Path, size: int) -> None:
    """Add up the folder now and then, not with each entry: after a small part of the limit was written."""
    root = path.parents[2]
    bound = limit()
    with _scan_lock:
        written = _written.get(root)
        due = written is None or written + size > bound // _SCANS_PER_LIMIT
        _written[root] = 0 if due else (written or 0) + size
    if due:
        evict(bound, keep=path)
