"""A user's session, interrupted at any moment and with any file of the cache damaged."""

from __future__ import annotations

import os
import random
import select
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.damage import damaged
from workbench import cache

ROOT = Path(__file__).parents[2]
COMMAND = (sys.executable, "-m", "tests.fuzz.session")
INTERRUPTS = 30
DAMAGES = 5
LOST = 120.0
"""Seconds after which an interrupt without effect counts as lost: far more than one takes."""
SECONDS = 4.0
"""Approximate time of a session once its process has started."""


def once(folder: Path) -> str:
    environment = {**os.environ, "HIPKITTENS_CACHE": str(folder)}
    ended = subprocess.run(COMMAND, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


@pytest.mark.timeout(1800)
def test_interrupts_leave_a_process_that_works(in_this_tier: Callable[[int], int]) -> None:
    count = in_this_tier(INTERRUPTS)
    with subprocess.Popen(
        (*COMMAND, str(count)), cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            interrupted(process, count)
        finally:
            # Otherwise a failure here would wait for a process that never ends.
            process.kill()


def interrupted(process: subprocess.Popen[str], count: int) -> None:
    """Interrupts a session `count` times at random moments; it must still end well."""
    assert process.stdout is not None
    assert process.stderr is not None
    for number in range(count):
        assert process.stdout.readline() == f"round {number}\n", process.stderr.read()
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(random.uniform(0, SECONDS))
        press(process)
        assert process.stdout.readline() == "interrupted\n", process.stderr.read()
    output, errors = process.communicate(timeout=300)
    assert output.startswith("ended "), errors
    assert process.returncode == 0


def press(process: subprocess.Popen[str]) -> None:
    """Interrupt a session until it prints something. Python drops an interrupt in a callback of a weak
    reference, with a message: a person presses again.
    """
    assert process.stdout is not None
    assert process.stderr is not None
    errors = b""
    dropped = 0
    process.send_signal(signal.SIGINT)
    while True:
        ready = select.select((process.stdout, process.stderr), (), (), LOST)[0]
        if process.stdout in ready:
            return
        if ready:
            errors += os.read(process.stderr.fileno(), 1 << 16)
        if not ready or errors.count(b"KeyboardInterrupt") > dropped:
            dropped = errors.count(b"KeyboardInterrupt")
            # Python silently drops an interrupt that arrives while it writes that message.
            time.sleep(0.5)
            process.send_signal(signal.SIGINT)


@pytest.fixture
def filled(tmp_path: Path) -> Iterator[Path]:
    """A separate cache with the shared cache's native library, which takes long to build."""
    folder = tmp_path / "cache"
    folder.mkdir(mode=0o700)
    shared = cache.folder() / "native"
    if shared.is_dir():
        shutil.copytree(shared, folder / "native")
    yield folder
    shutil.rmtree(folder)


@pytest.mark.timeout(1800)
def test_a_damaged_cache_changes_no_result(filled: Path, in_this_tier: Callable[[int], int]) -> None:
    expected = once(filled)
    for _ in range(in_this_tier(DAMAGES)):
        files = sorted(path for path in filled.rglob("*") if path.is_file() and path.stat().st_size)
        kinds = {path.relative_to(filled).parts[0] for path in files}
        assert {"code-objects", "native", "translations"} < kinds, kinds
        contents = {path: path.read_bytes() for path in random.sample(files, len(files) // 2)}
        for path, content in contents.items():
            path.write_bytes(damaged(content, random.choice([*contents.values()])))
        assert once(filled) == expected
