"""Native libraries: built once for a content and for several processes; the compiler's errors."""

from __future__ import annotations

import contextlib
import ctypes
import io
import random
import subprocess
import sys
import threading
import time
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from workbench import errors, progress
from workbench.runtime.device import in_background
from workbench.toolchain import native as build
from workbench.toolchain import zig

SOURCE = 'int answer(void) __attribute__((visibility("default")));\nint answer(void) { return VALUE; }\n'


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HIPKITTENS_CACHE", str(tmp_path / "cache"))
    path = tmp_path / "answer.c"
    path.write_text(SOURCE)
    return path


def test_a_library_is_built_once_and_again_for_other_content(
    source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = build.build("answer", [source], flags=["-DVALUE=41"])
    assert ctypes.CDLL(str(first)).answer() == 41
    with monkeypatch.context() as without:
        without.setattr(build, "_compile", lambda *_: pytest.fail("it was built again"))
        assert build.build("answer", [source], flags=["-DVALUE=41"]) == first
    second = build.build("answer", [source], flags=["-DVALUE=42"])
    assert second != first
    source.write_text(SOURCE.replace("VALUE", "VALUE + 1"))
    third = build.build("answer", [source], flags=["-DVALUE=42"])
    assert [ctypes.CDLL(str(p)).answer() for p in (second, third)] == [42, 43]


def test_a_damaged_library_is_built_again(source: Path) -> None:
    # In a separate process: a loader that maps a damaged file dies.
    code = (
        "import ctypes, pathlib, workbench.toolchain.native as build\n"
        f"path = build.build('answer', [pathlib.Path({str(source)!r})], flags=['-DVALUE=41'])\n"
        "print(ctypes.CDLL(str(path)).answer())\n"
    )
    path = build.build("answer", [source], flags=["-DVALUE=41"])
    whole = path.read_bytes()
    half = len(whole) // 2
    flipped = bytearray(whole)
    flipped[random.randrange(len(whole))] ^= 1 << random.randrange(8)
    for damage in (whole[:half], bytes(flipped)):
        path.write_bytes(damage)
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        assert done.stdout == "41\n"
        assert path.read_bytes() == whole


def test_a_source_that_does_not_compile_shows_the_compilers_message(source: Path) -> None:
    source.write_text("int answer(void) { return nothing; }\n")
    with pytest.raises(errors.ToolchainError, match="'nothing'") as caught:
        build.build("answer", [source])
    assert "'answer'" in str(caught.value)


def test_what_needs_the_compilers_helper_functions_has_them(source: Path) -> None:
    source.write_text(
        "typedef unsigned __int128 wide;\n"
        '__attribute__((visibility("default"))) long third(long high, long low) {\n'
        "    return (long)(((wide)high << 64 | (wide)low) / 3);\n}\n"
    )
    library = ctypes.CDLL(str(build.build("wide", [source])))
    library.third.restype = ctypes.c_long
    library.third.argtypes = ctypes.c_long, ctypes.c_long
    assert library.third(1, 5) == ((1 << 64) + 5) // 3


def test_a_full_disk_names_the_folder(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "warning(zcu): unable to write cached ZIR code for a.zig: NoSpaceLeft\nfatal error: IO failure\n"
    full = subprocess.CompletedProcess((), 1, "", text)
    monkeypatch.setattr(build.subprocess, "run", lambda *_, **__: full)
    with pytest.raises(errors.ToolchainError, match=r"the disk is full.*: make room there") as caught:
        build.build("answer", [source])
    assert "zcu" not in str(caught.value)


def test_a_build_is_announced_in_a_terminal(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    for kind, is_terminal in ((Terminal, True), (io.StringIO, False)):
        monkeypatch.delitem(sys.modules, "IPython", raising=False)
        with contextlib.redirect_stderr(kind()) as stream:
            build.build("answer", [source], flags=[f"-DVALUE={is_terminal + 0}"])
        assert ("library answer, once on this computer" in stream.getvalue()) is is_terminal
    with contextlib.redirect_stderr(Terminal()) as stream, progress.hidden():
        build.build("answer", [source], flags=["-DVALUE=2"])
    assert stream.getvalue() == ""


def test_waiting_for_a_build_in_the_background_shows_it(
    source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown: list[str] = []

    def bar(*, desc: str, disable: bool, **_: Any) -> Any:
        shown.extend([] if disable else [desc])
        return SimpleNamespace(close=lambda: None)

    monkeypatch.setattr(progress, "_watched", lambda: not progress._hidden.get())
    monkeypatch.setattr(progress, "_bar", lambda: bar)
    begun, waiting, compile_ = threading.Event(), threading.Event(), build._compile

    def slow(*arguments: Any) -> Any:
        begun.set()
        waiting.wait(20)
        return compile_(*arguments)

    monkeypatch.setattr(build, "_compile", slow)
    flags = ["-DVALUE=4"]
    in_background(partial(build.build, "answer", [source], flags=flags))
    assert begun.wait(20)
    assert shown == []
    foreground = threading.Thread(target=build.build, args=("answer", [source]), kwargs={"flags": flags})
    foreground.start()
    for _ in range(200):
        if shown:
            break
        time.sleep(0.05)
    waiting.set()
    foreground.join()
    assert shown == ["building the emulated device's library answer, once on this computer"]


def test_a_missing_compiler_comes_with_its_package(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    build.compiler_identity.cache_clear()
    monkeypatch.setitem(sys.modules, "ziglang", None)
    try:
        with pytest.raises(errors.CompilerNotFound, match="pip install ziglang"):
            build.build("answer", [source])
    finally:
        build.compiler_identity.cache_clear()


def test_several_processes_build_once(source: Path) -> None:
    code = (
        "import pathlib, sys, workbench.toolchain.native as build\n"
        "made = []\n"
        "compile_ = build._compile\n"
        "build._compile = lambda *a: (made.append(1), compile_(*a))[1]\n"
        f"build.build('answer', [pathlib.Path({str(source)!r})], flags=['-DVALUE=7'])\n"
        "print(len(made))\n"
    )
    running = [
        subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) for _ in range(3)
    ]
    built = [int(process.communicate(timeout=120)[0]) for process in running]
    assert sum(built) == 1


@pytest.mark.skipif(zig.program() is None, reason="needs the ziglang wheel")
def test_zig_needs_no_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It opens its own cache before it answers; neither the home folder nor this one can be written."""
    monkeypatch.setenv("HIPKITTENS_CACHE", str(tmp_path))
    for variable in ("HOME", "XDG_CACHE_HOME"):
        monkeypatch.setenv(variable, "/proc/nobody")
    monkeypatch.chdir("/proc")
    program = zig.program()
    assert program is not None
    assert any(option.startswith("-D_LIBCPP_") for option in zig.device_headers(program))
