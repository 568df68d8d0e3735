"""The cache returns stored entries, within its limit, with concurrent processes."""

from __future__ import annotations

import os
import random
import re
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from pathlib import Path

import pytest

from tests.damage import damaged
from workbench import cache
from workbench.errors import UsageError

ROOT = Path(__file__).resolve().parents[1]

KINDS = ("code-objects", "compilers", "headers", "imports", "manifests", "translations", "verified")
FILE_KINDS = ("host", "native", "precompiled")
CORRUPTIONS = 150
"""Number of each kind: more than 1,000 together."""

OVERHEAD = 36
"""Bytes of an entry in addition to its content."""


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HIPKITTENS_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("HIPKITTENS_CACHE_LIMIT", raising=False)


def test_gives_back_what_was_put() -> None:
    store = cache.Cache("things")
    assert store.get("a key with spaces/and slashes") is None
    assert store.put("a key with spaces/and slashes", b"\0content")
    assert store.get("a key with spaces/and slashes") == b"\0content"
    assert store.get("another") is None


def test_namespaces_are_apart() -> None:
    first, second = cache.Cache("one"), cache.Cache("two")
    first.put("key", b"1")
    second.put("key", b"22")
    assert (first.get("key"), second.get("key")) == (b"1", b"22")
    assert [(u.namespace, u.entries) for u in cache.usage()] == [("one", 1), ("two", 1)]
    sizes = [u.size for u in cache.usage()]
    assert sizes[1] == sizes[0] + 1
    assert first.clear() == sizes[0]
    assert (first.get("key"), second.get("key")) == (None, b"22")
    assert cache.clear() == sizes[1]


@pytest.mark.parametrize("name", ["", "../up", "Upper", "a/b"])
def test_refuses_a_namespace_that_is_no_folder_name(name: str) -> None:
    with pytest.raises(UsageError, match="namespace"):
        cache.Cache(name)


def test_digest_distinguishes_parts() -> None:
    keys = {
        cache.digest("ab", "c"),
        cache.digest("a", "bc"),
        cache.digest("abc"),
        cache.digest(b"abc"),
        cache.digest("abc", ""),
    }
    assert len(keys) == 5


@pytest.mark.parametrize(
    ("text", "size"), [("17", 17), ("2k", 2048), ("1.5 GiB", 3 << 29), ("500M", 500 << 20), ("1TB", 1 << 40)]
)
def test_reads_sizes(text: str, size: int) -> None:
    assert cache.parse_size(text) == size


def test_a_bad_size_says_how_to_write_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HIPKITTENS_CACHE_LIMIT", "lots")
    with pytest.raises(UsageError, match=r"^HIPKITTENS_CACHE_LIMIT: 'lots' is not a size; .*500M"):
        cache.limit()
    monkeypatch.setenv("HIPKITTENS_CACHE_LIMIT", "0")
    assert cache.limit() == 0
    monkeypatch.setenv("HIPKITTENS_CACHE_LIMIT", "")
    assert cache.limit() == cache.DEFAULT_LIMIT


def test_the_least_recently_used_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HIPKITTENS_CACHE_LIMIT", "1000")
    store = cache.Cache("things")
    old = time.time() - 1000
    for index in range(10):
        store.put(f"{index}", bytes([65 + index]) * (100 - OVERHEAD))
        os.utime(store.path(f"{index}"), (old + index, old + index))
    assert store.usage().size == 1000
    assert store.get("0") is not None  # a use preserves it
    store.put("new", b"n" * (250 - OVERHEAD))
    remaining = [index for index in range(10) if store.path(f"{index}").exists()]
    assert remaining == [0, 4, 5, 6, 7, 8, 9]
    assert store.get("new") == b"n" * (250 - OVERHEAD)


def test_an_entry_above_the_limit_still_serves_its_maker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HIPKITTENS_CACHE_LIMIT", "10")
    store = cache.Cache("things")
    store.put("big", b"x" * 100)
    assert store.get("big") == b"x" * 100


def test_leftovers_of_killed_processes_go() -> None:
    store = cache.Cache("things")
    store.put("key", b"content")
    leftover = store.path("key").parent / ".partial-dead"
    leftover.write_bytes(b"half")
    os.utime(leftover, (1, 1))
    fresh = store.path("key").parent / ".partial-alive"
    fresh.write_bytes(b"half")
    assert store.usage().entries == 1
    assert not leftover.exists()
    assert fresh.exists()


def test_keeps_files_for_other_programs(tmp_path: Path) -> None:
    source = tmp_path / "made"
    source.write_bytes(b"by a tool")
    store = cache.Cache("things")
    assert store.find_file("key") is None
    path = store.put_file("key", source)
    assert path is not None
    assert store.find_file("key") == path
    assert path.read_bytes() == b"by a tool"
    assert store.usage().entries == 1
    other = store.put_file("key", b"made anew")
    assert other != path
    assert store.find_file("key") == other
    store.remove("key")
    assert store.find_file("key") is None
    assert not list(path.parent.iterdir())


# Damage.


def _made_from(kind: str, key: str) -> bytes:
    return f"{kind} {key} ".encode() * 30


def test_every_kind_is_known() -> None:
    sources = (ROOT / "workbench").rglob("*.py")
    kinds = {name for path in sources for name in re.findall(r"""\bCache\("([^"]+)"\)""", path.read_text())}
    assert kinds == {*KINDS, *FILE_KINDS}


@pytest.mark.parametrize("kind", [*KINDS, *FILE_KINDS])
def test_damage_is_never_a_result(kind: str) -> None:
    store = cache.Cache(kind)
    is_file = kind in FILE_KINDS

    def stored(key: str) -> bytes | None:
        if not is_file:
            return store.get(key)
        path = store.find_file(key)
        return path.read_bytes() if path is not None else None

    def make(key: str) -> None:
        if is_file:
            assert store.put_file(key, _made_from(kind, key)) is not None
        else:
            assert store.put(key, _made_from(kind, key))

    keys = [f"{n}" for n in range(4)]
    for key in keys:
        make(key)
    refused = 0
    for _ in range(CORRUPTIONS):
        key, other = random.sample(keys, 2)
        path = store.path(key)
        file = random.choice(sorted(path.parent.glob(f"{path.name}*")))
        data = damaged(file.read_bytes(), store.path(other).read_bytes())
        file.write_bytes(data)
        content = stored(key)
        assert content is None or content == _made_from(kind, key)
        refused += content is None
        if content is None:
            make(key)
        assert stored(key) == _made_from(kind, key)
        assert stored(other) == _made_from(kind, other)
    # Two flips of one bit, or random bytes equal to those overwritten, are no damage.
    assert refused > 0.9 * CORRUPTIONS


# Files of other users.


def test_an_entry_that_everybody_may_write_is_made_again() -> None:
    for number, store in enumerate((cache.Cache("things"), cache.Cache("files"))):
        store.put("key", b"content")
        path = store.put_file("file", b"library")
        assert path is not None
        for entry, find in ((store.path("key"), store.get), (path, store.find_file)):
            entry.chmod(0o666)
            key = "key" if entry.name == store.path("key").name else "file"
            with pytest.warns(UserWarning, match="can be written by everybody; it is built again"):
                assert find(key) is None, number
        assert store.put("key", b"content")
        assert store.get("key") == b"content"


def test_an_entry_of_another_user_is_made_again(monkeypatch: pytest.MonkeyPatch) -> None:
    store = cache.Cache("things")
    store.put("key", b"content")
    path = store.path("key")
    real = os.fstat

    def foreign(file: int) -> os.stat_result:
        fields = list(real(file))
        fields[4] = 12345
        return os.stat_result(fields)

    with monkeypatch.context() as patch:
        patch.setattr(os, "fstat", foreign)
        with pytest.warns(UserWarning, match=r"belongs to another user \(uid 12345\); it is built again"):
            assert store.get("key") is None
    assert not path.exists()
    assert store.put("key", b"content")
    assert store.get("key") == b"content"


@pytest.mark.parametrize("level", ["root", "namespace", "shard", "locks"])
def test_a_folder_that_everybody_may_write_is_refused(level: str) -> None:
    store = cache.Cache("things")
    store.put("key", b"content")
    with store.lock("key"):
        pass
    shard = store.path("key").parent
    folder = {"root": shard.parents[1], "namespace": shard.parent, "shard": shard}.get(
        level, shard.parents[1] / "locks"
    )
    folder.chmod(0o777)
    message = rf"{folder} can be written by everybody.*chmod o-w.*HIPKITTENS_CACHE"
    with pytest.raises(UsageError, match=message), store.lock("key"):
        pytest.fail("a lock was given")
    if level != "locks":
        for use in (store.get, store.find_file, lambda key: store.put(key, b"")):
            with pytest.raises(UsageError, match=message):
                use("key")
    folder.chmod(0o755)
    assert store.get("key") == b"content"


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a folder away")
def test_a_folder_of_another_user_is_refused() -> None:
    root = cache.folder()
    os.chown(root, 12345, -1)
    with pytest.raises(UsageError, match=r"belongs to another user \(uid 12345\).*HIPKITTENS_CACHE"):
        cache.Cache("things").get("key")


def test_a_link_is_no_entry(tmp_path: Path) -> None:
    store = cache.Cache("things")
    store.put("key", b"content")
    path = store.path("key")
    path.rename(tmp_path / "elsewhere")
    path.symlink_to(tmp_path / "elsewhere")
    assert store.get("key") is None


def test_folder_follows_xdg(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HIPKITTENS_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache.folder() == tmp_path / "xdg" / "hipkittens"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert cache.folder() == tmp_path / "home" / ".cache" / "hipkittens"


@pytest.mark.usefixtures("temporary_folder")
def test_a_folder_that_cannot_be_made_is_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv("HIPKITTENS_CACHE", str(tmp_path / "file" / "cache"))
    store = cache.Cache("things")
    with pytest.warns(UserWarning, match="HIPKITTENS_CACHE"):
        assert store.put("key", b"content")
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # once is enough
        assert store.get("key") == b"content"


_READER = """
import os, sys, warnings
from pathlib import Path
from workbench import cache
user = int(sys.argv[1])
if user:
    os.setuid(user)
with warnings.catch_warnings(record=True) as warned:
    warnings.simplefilter("always")
    store, filled = cache.Cache("things"), Path(os.environ["HIPKITTENS_CACHE"])
    assert store.get("key") == b"content"
    assert store.get("other") is None
    file = store.find_file("file")
    assert file.is_relative_to(filled) and file.read_bytes() == b"library"
    assert cache.tools({"tool": "#!/bin/sh\\n"}).is_relative_to(filled)
    with store.lock("other"):
        assert store.put("other", b"new")
    assert store.put("key", b"changed")
    assert (store.get("other"), store.get("key")) == (b"new", b"changed")
    assert store.put_file("file", b"made again").is_relative_to(cache.folder())
    assert store.find_file("file").read_bytes() == b"made again"
    assert not cache.tools({"tool": "#!/bin/sh -e\\n"}).is_relative_to(filled)
    store.remove("key")
    assert store.get("key") == b"content"
    assert cache.evict(0) > 0 and store.get("other") is None
assert not cache.folder().is_relative_to(filled)
(warning,) = warned
print(warning.message)
"""


def test_a_filled_folder_that_is_read_only_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    user = 65534 if os.getuid() == 0 else 0  # root may write anywhere
    with tempfile.TemporaryDirectory() as above:
        filled, temporary = Path(above, "filled"), Path(above, "temporary")
        monkeypatch.setenv("HIPKITTENS_CACHE", str(filled))
        store = cache.Cache("things")
        store.put("key", b"content")
        store.put_file("file", b"library")
        tools = cache.tools({"tool": "#!/bin/sh\n"})
        with store.lock("key"):
            pass
        temporary.mkdir()
        temporary.chmod(0o777)
        Path(above).chmod(0o755)
        subprocess.run(["chmod", "-R", "a+rX,a-w", filled], check=True)
        before = {path: path.stat().st_mtime_ns for path in filled.rglob("*")}
        environment = {**os.environ, "TMPDIR": str(temporary), "PYTHONDONTWRITEBYTECODE": "1"}
        try:
            run = subprocess.run(
                [sys.executable, "-c", _READER, str(user)],
                env=environment,
                cwd=ROOT,
                capture_output=True,
                text=True,
            )
        finally:
            subprocess.run(["chmod", "-R", "u+w", filled], check=True)
        assert run.returncode == 0, run.stderr
        assert f"the cache folder {filled} cannot be written; it is read, and new entries go to" in run.stdout
        assert before == {path: path.stat().st_mtime_ns for path in filled.rglob("*")}
        assert tools.is_dir()


@pytest.mark.usefixtures("temporary_folder")
def test_an_untrusted_read_only_folder_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    store = cache.Cache("things")
    store.put("key", b"content")
    cache.folder().chmod(0o777)
    monkeypatch.setattr(cache, "_usable", lambda path: False)
    with pytest.warns(UserWarning, match=r"cannot be written; using .*hipkittens-cache-"):
        assert store.get("key") is None


def test_a_failing_lock_does_not_stop_the_caller() -> None:
    (cache.folder() / "locks").write_text("not a folder")
    with pytest.warns(UserWarning, match="nothing could be locked"), cache.Cache("things").lock("key"):
        pass
    with pytest.raises(OSError, match="the body's own"), cache.Cache("things").lock("key"):
        raise OSError("the body's own")


def test_a_lock_excludes_other_threads() -> None:
    store = cache.Cache("things")
    inside: list[str] = []

    def make() -> None:
        with store.lock("key"):
            inside.append("enter")
            time.sleep(0.01)
            inside.append("leave")

    threads = [threading.Thread(target=make) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert inside == ["enter", "leave"] * 4


def test_old_locks_go() -> None:
    store = cache.Cache("things")
    for key in ("old", "new"):
        with store.lock(key):
            pass
    locks = cache.folder() / "locks"
    (old,) = (path for path in locks.iterdir() if store.path("old").name in path.name)
    os.utime(old, (1, 1))
    cache.evict()
    assert [path.name.startswith("things-") for path in locks.iterdir()] == [True]
    assert not old.exists()


_WORKER = """
import random, sys
from tests.damage import damaged
from workbench import cache
store = cache.Cache("things")
generator = random.Random(int(sys.argv[1]))
for _ in range(300):
    key = str(generator.randrange(40))
    data = store.get(key)
    wanted = (key * 3000).encode()[:3000]
    assert data is None or data == wanted, key
    store.put(key, wanted)
"""


def test_processes_share_a_small_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HIPKITTENS_CACHE_LIMIT", "60000")
    seed = random.randrange(1 << 30)
    print("seed", seed)
    workers = [subprocess.Popen([sys.executable, "-c", _WORKER, str(seed + i)]) for i in range(3)]
    assert [worker.wait(60) for worker in workers] == [0, 0, 0]
    assert cache.Cache("things").usage().size <= 60000 + 3 * (3000 + OVERHEAD)
