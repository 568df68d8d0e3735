"""The cache of slow results: machine code, native libraries, headers.

The name of an entry's file is a digest of everything that went into it, so nothing ever has to be
invalidated. Each entry has a checksum; a damaged entry is made again. This process runs code from the cache,
so it never uses files that others could have written: a folder of another user, or one that everybody may
write to, is an error. Several processes can share a cache: each writes beside the place and renames, so an
entry appears whole or not at all. When the cache grows past its limit, the entries that you used least
recently go.

The folder is `$HIPKITTENS_CACHE`, or else `hipkittens` in the user's cache folder (`$XDG_CACHE_HOME` or
`~/.cache`). If it has entries but is read-only, as in a container's image, the cache reads from it and writes
to a private temporary folder. The limit is `$HIPKITTENS_CACHE_LIMIT`, such as `500M` or `8G`, by default 4
GiB.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import stat
import tempfile
import threading
import time
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import platformdirs
from filelock import FileLock

from workbench.errors import ToolchainError, UsageError

DEFAULT_LIMIT = 4 << 30

_TEMPORARY = ".partial-"
_TEMPORARY_LIFETIME = 3600.0
_SCANS_PER_LIMIT = 64
# Seconds after which a use is recorded again.
_USE_GRANULARITY = 60.0
_NAMESPACE = re.compile(r"[a-z0-9][a-z0-9_.-]*")
_SHARD = re.compile(r"[0-9a-f]{2}")
_SIZE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]?)i?b?\s*", re.IGNORECASE)
# Several versions of the workbench may share the folder: entries of another format have another suffix.
_FORMAT = ".1"
_MAGIC = b"HKC1"
_HEAD = len(_MAGIC) + hashlib.sha256().digest_size
# Separates the name of an entry, which is a file for other programs, from its content's digest.
_FILE = ".file-"

_scan_lock = threading.Lock()
# Bytes written by this process since it last summed up the folder; None before the first time.
_written: dict[Path, int] = {}
# Files whose checksum was verified; valid while their inode, size and time stay the same.
_intact: dict[Path, tuple[int, int, int]] = {}
# Warnings that this process has already shown: once is enough.
_warned: set[str] = set()


def _warn(text: str) -> None:
    if text not in _warned:
        _warned.add(text)
        warnings.warn(text, stacklevel=3)


def digest(*parts: str | bytes) -> str:
    """Key of a result made from `parts`: 64 hexadecimal digits, different for ("ab", "c") and ("a", "bc")."""
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
        raise UsageError(f"{text!r} is not a size; write a number with K, M, G or T, such as 500M")
    return int(float(match[1]) * 1024 ** " kmgt".index(match[2].lower() or " "))


def limit() -> int:
    """Size in bytes above which the least recently used entries go.

    Raises:
        UsageError: HIPKITTENS_CACHE_LIMIT is not a size.
    """
    size = size_from_environment("HIPKITTENS_CACHE_LIMIT")
    return DEFAULT_LIMIT if size is None else size


def size_from_environment(variable: str) -> int | None:
    """Bytes in an environment variable; None if it is not set or empty.

    Raises:
        UsageError: the value is not a size; the message names the variable.
    """
    text = os.environ.get(variable)
    if not text:
        return None
    try:
        return parse_size(text)
    except UsageError as error:
        raise UsageError(f"{variable}: {error}") from None


def folder() -> Path:
    """Root folder for cache entries; it is created if missing.

    If the configured folder is not writable (a read-only home), a private one under the system's temporary
    folder is used instead, with a warning.

    Raises:
        UsageError: the folder belongs to another user, or is writable by everyone.
    """
    return folders()[0]


def folders() -> tuple[Path, ...]:
    """Roots in which to look for entries: `folder()`, then the configured one if it is read-only.

    Raises:
        UsageError: see `folder`.
    """
    setting = os.environ.get("HIPKITTENS_CACHE")
    if setting:
        preferred = Path(setting).expanduser().absolute()
    else:
        preferred = platformdirs.user_cache_path("hipkittens", appauthor=False)
    if _usable(preferred):
        _check_folder(preferred)
        return (preferred,)
    spare = Path(tempfile.gettempdir()) / f"hipkittens-cache-{os.getuid()}"
    is_read = os.access(preferred, os.R_OK | os.X_OK) and not _problem(preferred)
    use = f"it is read, and new entries go to {spare}" if is_read else f"using {spare}"
    _warn(
        f"the cache folder {preferred} cannot be written; {use}. "
        "Set HIPKITTENS_CACHE to a folder that can be written."
    )
    spare.mkdir(mode=0o700, exist_ok=True)
    _check_folder(spare)
    return (spare, preferred) if is_read else (spare,)


def _usable(path: Path) -> bool:
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError:
        return False
    return os.access(path, os.W_OK | os.X_OK)


def _distrust(status: os.stat_result) -> str:
    """Why others could have written a file or folder; empty if only this user and root could."""
    if status.st_uid not in (os.getuid(), 0):
        return f"belongs to another user (uid {status.st_uid})"
    shared = status.st_mode & stat.S_IWOTH and not stat.S_ISLNK(status.st_mode)
    return "can be written by everybody" if shared else ""


def _problem(path: Path) -> str:
    """Why a folder, or the link to it, may not be trusted; empty if it may, or is not there."""
    try:
        return _distrust(path.lstat()) or _distrust(path.stat())
    except FileNotFoundError:
        return ""


def _check_folder(path: Path) -> None:
    if problem := _problem(path):
        raise UsageError(
            f"the cache folder {path} {problem}, who could place code there for this process to run: remove "
            f"the permission (`chmod o-w {path}`) or the folder, or set HIPKITTENS_CACHE to a folder of your "
            "own"
        )


def _trusted(path: Path, status: os.stat_result) -> bool:
    """True if other users cannot have written the entry."""
    problem = _distrust(status) if stat.S_ISREG(status.st_mode) else "is not a regular file"
    if problem:
        _warn(f"the cache's entry {path} {problem}; it is built again")
    return not problem


def _open(path: Path) -> int:
    return os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)


def write_atomically(path: Path, data: bytes, mode: int = 0o644) -> None:
    """Write a file so that a reader sees either the old content or the new, never a part."""
    path.parent.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    path.parent.mkdir(mode=0o700, exist_ok=True)
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
    """Number of entries in a namespace, and the bytes that they occupy.

    Attributes:
        namespace: name of the cache.
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
                f"cache namespace {namespace!r}: expected lower-case letters, digits, '.', '_' and '-'"
            )
        self.namespace = namespace

    def path(self, key: str) -> Path:
        """Path of the entry of `key`; `put` creates the file.

        Raises:
            UsageError: its folder belongs to another user, or everybody may write to it.
        """
        return self._entry_path(folder(), key)

    def _entry_path(self, root: Path, key: str) -> Path:
        name = key if re.fullmatch(r"[0-9a-f]{16,128}", key) else digest(key)
        path = root / self.namespace / name[:2] / f"{name[2:]}{_FORMAT}"
        _check_folder(path.parents[1])
        _check_folder(path.parent)
        return path

    def _places(self, key: str) -> list[Path]:
        """Paths at which the entry of `key` may be: this computer's own folder first, then read-only ones."""
        return [self._entry_path(root, key) for root in folders()]

    def get(self, key: str) -> bytes | None:
        """The entry's content, None if there is none, or a damaged one. Counts as a use."""
        return next((data for path in self._places(key) if (data := _read(path)) is not None), None)

    def put(self, key: str, data: bytes) -> bool:
        """Store an entry. False, after a warning, if the folder is full: a cache must not stop its user."""
        path = self.path(key)
        try:
            write_atomically(path, _head(path, data) + data)
        except OSError as error:
            _warn(f"nothing could be cached in {folder() / self.namespace}: {error.strerror}")
            return False
        _account(path, _HEAD + len(data))
        return True

    def find_file(self, key: str) -> Path | None:
        """Path of what `put_file` stored, for a loader or a compiler to read. Counts as a use.

        None if there is nothing, or something damaged.
        """
        for path in self._places(key):
            checksum = _read(path)
            if checksum is None:
                continue
            file = _file(path, checksum)
            if _has_digest(file, checksum):
                return file
            _remove(path)
        return None

    def put_file(self, key: str, source: Path | bytes) -> Path | None:
        """Store a file for other programs to read: a copy of `source`, or these bytes.

        Returns its path, or None with a warning if the folder is full.
        """
        data = source if isinstance(source, bytes) else source.read_bytes()
        content = hashlib.sha256(data).digest()
        path = _file(self.path(key), content)
        try:
            write_atomically(path, data)
        except OSError as error:
            _warn(f"nothing could be cached in {folder() / self.namespace}: {error.strerror}")
            return None
        _account(path, len(data))
        return path if self.put(key, content) else None

    def remove(self, key: str) -> None:
        """Forget an entry, for example a damaged one."""
        for path in self._places(key):
            _remove(path)

    @contextlib.contextmanager
    def lock(self, key: str) -> Iterator[None]:
        """Lets only one thread of one process at a time make an entry; look the entry up again inside.

        If no lock can be made (the disk is full), it warns and continues without: two may do the same work.
        """
        path = self.path(key)
        locks = folder() / "locks"
        _check_folder(locks)
        with contextlib.ExitStack() as held:
            try:
                locks.mkdir(mode=0o700, exist_ok=True)
                held.enter_context(FileLock(locks / f"{self.namespace}-{path.parent.name}{path.name}"))
            except OSError as error:
                _warn(f"nothing could be locked in {locks}: {error.strerror}")
            yield

    def usage(self) -> Usage:
        """Number of entries, and the bytes that they occupy."""
        listed = list(_entries(folder() / self.namespace))
        entries = sum(_FILE not in path.name for path, _, _ in listed)
        return Usage(self.namespace, entries, sum(size for _, _, size in listed))

    def clear(self) -> int:
        """Remove every entry; returns the number of bytes freed."""
        return clear(self.namespace)


def usage() -> tuple[Usage, ...]:
    """Entries and bytes of each namespace, sorted by its name."""
    root = folder()
    names = sorted(path.name for path in root.iterdir() if path.is_dir() and path.name not in _NOT_ENTRIES)
    return tuple(Cache(name).usage() for name in names if _NAMESPACE.fullmatch(name))


def clear(namespace: str | None = None) -> int:
    """Remove the entries of one namespace, or of all; returns the number of bytes freed."""
    root = folder()
    freed = 0
    for path, _, size in list(_entries(root / namespace) if namespace else _all_entries(root)):
        with contextlib.suppress(OSError):
            path.unlink()
            freed += size
    return freed


def evict(target: int | None = None, keep: Path | None = None) -> int:
    """Remove the least recently used entries until the rest fits in `target` bytes; returns the bytes freed.

    Args:
        target: bytes that may stay; by default the limit.
        keep: an entry that stays whatever its age.
    """
    bound = limit() if target is None else target
    _clear_locks(folder() / "locks")
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


def _clear_locks(locks: Path) -> None:
    """Remove locks that nobody took for a long time; a process that still waits for one repeats some work."""
    with contextlib.suppress(OSError):
        for lock in os.scandir(locks):
            if time.time() - lock.stat().st_mtime > _TEMPORARY_LIFETIME:
                os.unlink(lock)


# Folders in the root without entries: locks, and small tools, which are kept while they are used.
_TOOLS = "tools"
_NOT_ENTRIES = frozenset({"locks", _TOOLS})


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


def tools(programs: Mapping[str, str]) -> Path:
    """A folder with these scripts, which remain as long as they are used.

    Its path depends only on them and on the cache folder in which they were first made, because command lines
    that contain it are parts of keys.

    Args:
        programs: text by file name.

    Raises:
        UsageError: the folder belongs to another user, or is writable by everyone.
        ToolchainError: the folder is full.
    """
    name = digest(*(part for item in programs.items() for part in item))[:16]
    places = [root / _TOOLS / name for root in folders()]
    for place in places:
        _check_folder(place.parent)
        _check_folder(place)
    for place in places:
        if all(_is_program(place / file, text) for file, text in programs.items()):
            return place
    try:
        for file, text in programs.items():
            write_atomically(places[0] / file, text.encode(), 0o755)
    except OSError as error:
        raise ToolchainError(
            f"the cache folder {folder()} cannot take another file: {error.strerror}. Make room "
            "there, or set HIPKITTENS_CACHE to a folder that has it."
        ) from None
    return places[0]


def tool_folder(name: str) -> Path:
    """A writable folder for a tool's own files, which the tool creates."""
    return folder() / _TOOLS / name


def _is_program(path: Path, text: str) -> bool:
    try:
        return os.access(path, os.X_OK) and path.read_bytes() == text.encode()
    except OSError:
        return False


def _read(path: Path) -> bytes | None:
    """Content of an entry; None if there is none, or if it is damaged, in which case it is removed."""
    try:
        with open(path, "rb", opener=lambda name, _: _open(Path(name))) as file:
            status = os.fstat(file.fileno())
            data = file.read() if _trusted(path, status) else b""
    except OSError:
        return None
    content = data[_HEAD:]
    if data[:_HEAD] != _head(path, content):
        _remove(path)
        return None
    _note_use(path, status)
    return content


def _file(path: Path, content: bytes) -> Path:
    """Path of the file with this content's SHA-256, beside its entry."""
    return path.with_name(f"{path.name}{_FILE}{content.hex()[:16]}")


def _remove(path: Path) -> None:
    """Remove an entry and its files; a read-only one stays."""
    for file in (path, *path.parent.glob(f"{path.name}{_FILE}*")):
        with contextlib.suppress(OSError):
            file.unlink()


def _head(path: Path, content: bytes) -> bytes:
    """The header of an entry: a checksum of its content and of its path."""
    place = "/".join(path.parts[-3:])
    return _MAGIC + hashlib.sha256(place.encode() + b"\0" + content).digest()


def _has_digest(path: Path, checksum: bytes) -> bool:
    """True if the file is trusted and its content has this SHA-256."""
    try:
        with open(path, "rb", opener=lambda name, _: _open(Path(name))) as file:
            status = os.fstat(file.fileno())
            if not _trusted(path, status):
                return False
            identity = (status.st_ino, status.st_size, status.st_mtime_ns)
            if _intact.get(path) != identity and hashlib.file_digest(file, "sha256").digest() != checksum:
                return False
    except OSError:
        return False
    _note_use(path, status)
    with contextlib.suppress(OSError):
        status = path.stat()
        _intact[path] = (status.st_ino, status.st_size, status.st_mtime_ns)
    return True


def _note_use(path: Path, status: os.stat_result) -> None:
    if time.time() - status.st_mtime > _USE_GRANULARITY:
        with contextlib.suppress(OSError):
            os.utime(path)


def _account(path: Path, size: int) -> None:
    """Measure the folder whenever a small part of the limit was written, not with each entry."""
    root = path.parents[2]
    bound = limit()
    with _scan_lock:
        written = _written.get(root)
        due = written is None or written + size > bound // _SCANS_PER_LIMIT
        _written[root] = 0 if due else (written or 0) + size
    if due:
        evict(bound, keep=path)
