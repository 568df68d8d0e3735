"""Builds whose temporary folder is removed are repeated once, with a warning."""

from __future__ import annotations

import shutil
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest

from workbench.toolchain import CompileOptions, compilation, compile_device
from workbench.toolchain.scratch import RepeatedBuild, in_folder


def empty(folder: str) -> None:
    for path in Path(folder).iterdir():
        path.unlink()


@pytest.mark.parametrize("take", [shutil.rmtree, empty])
@pytest.mark.parametrize("fails", [True, False])
def test_a_build_without_its_folder_is_repeated_once(take: Callable[[str], None], fails: bool) -> None:
    """Even without an error: files that it left in the folder may be missing from its result."""
    folders: list[str] = []

    def build(folder: str) -> int:
        folders.append(folder)
        if len(folders) == 1:
            take(folder)
            if fails:
                raise OSError("error opening 'headers.d'")
        return len(folders)

    with pytest.warns(RepeatedBuild, match="removed the contents of .*hipkittens-.*the build is repeated"):
        assert in_folder(build) == 2
    assert folders[0] != folders[1]
    assert not any(Path(folder).exists() for folder in folders)


def test_the_second_time_its_error_is_reported() -> None:
    def build(folder: str) -> None:
        shutil.rmtree(folder)
        raise OSError("headers.d")

    with pytest.warns(RepeatedBuild), pytest.raises(OSError, match=r"headers\.d"):
        in_folder(build)


def test_an_error_of_its_own_is_reported_at_once() -> None:
    calls = []

    def build(folder: str) -> None:
        calls.append(folder)
        raise ValueError("not the folder")

    with warnings.catch_warnings():
        warnings.simplefilter("error", RepeatedBuild)
        with pytest.raises(ValueError, match="not the folder"):
            in_folder(build)
    assert len(calls) == 1


def test_a_compilation_without_its_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HIPKITTENS_CACHE", str(tmp_path))
    run, folders = compilation._run, []

    def interrupted(job: object, ready: object, folder: str) -> object:
        if not folders:
            shutil.rmtree(folder)
        folders.append(folder)
        return run(job, ready, folder)

    monkeypatch.setattr(compilation, "_run", interrupted)
    source = "__attribute__((global)) void nothing() {}"
    with pytest.warns(RepeatedBuild):
        result = compile_device(source, CompileOptions("gfx950", name="scratch"))
    assert len(folders) == 2
    assert result.code_object
    assert not result.diagnostics


ENDING = """
import atexit, os, threading, time
thread = None
atexit.register(lambda: thread.join())  # the first registered runs last, after the folders are removed
from workbench.toolchain.scratch import in_folder
started = threading.Event()
def build(folder):
    started.set()
    while os.path.exists(folder):
        time.sleep(0.01)
    print("built")
    raise OSError("error opening 'headers.d'")
def quietly():
    try:
        in_folder(build)
    except OSError:
        pass
thread = threading.Thread(target=quietly, daemon=True)
thread.start()
started.wait()
"""


def test_a_build_that_outlives_python_is_not_repeated() -> None:
    done = subprocess.run(
        [sys.executable, "-c", ENDING], capture_output=True, text=True, check=True, timeout=60
    )
    assert (done.stdout, done.stderr) == ("built\n", "")
