"""The cache keeps what is put, in its limit, whatever several processes do at once."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import threading
import time
import warnings
from pathlib import Path

import pytest

from workbench import cache
from workbench.errors import UsageError


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HIPKITTENS_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("HIPKITTENS_CACHE_LIMIT", raising=False)


def test_gives_back_what_was_put() -> None:
    store = cache.Cache("things")
    assert store.get("a key with spaces/and slashes") is None
    assert store.put("a key with spaces/and slashes", b"\0content")
    assert store.get("a key with spaces/and slashes") == b"\0content"
    assert store.path("a key with spaces/and slashes").read_bytes() == b"\0content"
    assert store.find("another") is None


def test_namespaces_are_apart() -> None:
    one, two = cache.Cache("one"), cache.Cache("two")
    one.put("key", b"1")
    two.put("key", b"22")
    assert (one.get("key"), two.get("key")) == (b"1", b"22")
    assert [(u.namespace, u.entries, u.size) for u in cache.usage()] == [("one", 1, 1), ("two", 1, 2)]
    assert one.clear() == 1
    assert (one.get("key"), two.get("key")) == (None, b"22")
    assert cache.clear() == 2


@pytest.mark.parametrize("name", ["", "../up", "Upper", "a/b"])
def test_refuses_a_namespace_that_is_no_folder_name(name: str) -> None:
    with pytest.raises(UsageError, match="namespace"):
        cache.Cache(name)


def test_digest_tells_parts_apart() -> None:
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
    with pytest.raises(UsageError, match=r"^HIPKITTENS_CACHE_LIMIT: 'lots' is no size; .*500M"):
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
        store.put(f"{index}", bytes([65 + index]) * 100)
        os.utime(store.path(f"{index}"), (old + index, old + index))
    assert store.usage().size == 1000
    assert store.get("0") is not None  # a use keeps it
    store.put("new", b"n" * 250)
    kept = [index for index in range(10) if store.path(f"{index}").exists()]
    assert kept == [0, 4, 5, 6, 7, 8, 9]
    assert store.get("new") == b"n" * 250


def test_an_entry_above_the_limit_still_serves_its_maker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HIPKITTENS_CACHE_LIMIT", "10")
    store = cache.Cache("things")
    store.put("big", b"x" * 100)
    assert store.get("big") == b"x" * 100


def test_an_empty_file_is_no_entry() -> None:
    store = cache.Cache("things")
    store.put("key", b"content")
    store.path("key").write_bytes(b"")
    assert store.get("key") is None
    assert store.find("key") is None


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


def test_adopts_a_file(tmp_path: Path) -> None:
    file = tmp_path / "made"
    file.write_bytes(b"by a tool")
    store = cache.Cache("things")
    assert store.adopt("key", file)
    assert store.get("key") == b"by a tool"
    assert not file.exists()


def test_folder_follows_xdg(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HIPKITTENS_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache.folder() == tmp_path / "xdg" / "hipkittens"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert cache.folder() == tmp_path / "home" / ".cache" / "hipkittens"


def test_a_folder_that_cannot_be_made_is_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv("HIPKITTENS_CACHE", str(tmp_path / "file" / "cache"))
    monkeypatch.setattr("tempfile.gettempdir", lambda: str(tmp_path))
    store = cache.Cache("things")
    with pytest.warns(UserWarning, match="HIPKITTENS_CACHE"):
        assert store.put("key", b"content")
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # once is enough
        assert store.get("key") == b"content"


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
    assert list((cache.folder() / "locks").iterdir()) == []


_WORKER = """
import random, sys
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
    assert cache.Cache("things").usage().size <= 60000 + 3 * 3000
