"""C sources: layers without circles, and external symbols with the prefix of their library."""

from __future__ import annotations

import re
from collections.abc import Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1] / "workbench"
PREFIXES = {"emulator/native": ("hk_", "san_"), "profile/simulation": ("sim_",)}
"""Prefixes of external symbols, by folder, so that libraries can be loaded beside others."""

_NOT_CODE = re.compile(r'/\*[\s\S]*?\*/|//.*|"(?:[^"\\\n]|\\.)*"|^[ \t]*#(?:.*\\\n)*.*', re.MULTILINE)
_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include "(.*)"', re.MULTILINE)
_FUNCTION = re.compile(r"^(\w[\w \n*]*?)\b(\w+)\([^;{}]*\)\s*\{", re.MULTILINE)
_VARIABLE = re.compile(r"^(\w[\w \n*]*?)\b(\w+)(?:\[[^\]]*\])*(?: =[^;]*)?;", re.MULTILINE)
_ATTRIBUTE = re.compile(r"__attribute__\(\((?:[^()]|\([^()]*\))*\)\)\s*")
_LOCAL = frozenset(("static", "typedef", "extern", "HK_INLINE", "struct", "enum", "union", "else", "return"))


def code_of(text: str) -> str:
    """C without comments, strings, directives and attributes."""
    return _ATTRIBUTE.sub("", _NOT_CODE.sub("", text))


def external_symbols(text: str) -> set[str]:
    """Functions and variables that a C source defines for others; definitions begin in the first column."""
    code = code_of(text)
    return {
        name
        for pattern in (_FUNCTION, _VARIABLE)
        for words, name in pattern.findall(code)
        if words.strip() and not _LOCAL & set(words.split())
    }


def local_functions(text: str) -> set[str]:
    """Functions of a C source or header that others do not see, at every level of CPU."""
    return {
        name
        for words, name in _FUNCTION.findall(code_of(text))
        if {"static", "HK_INLINE"} & set(words.split())
    }


def uses(texts: Mapping[str, str]) -> dict[str, set[str]]:
    """The files whose external symbols each C source names."""
    places = {name: file for file, text in texts.items() for name in external_symbols(text)}
    return {
        file: {places[name] for name in set(re.findall(r"\w+", code_of(text))) & places.keys()} - {file}
        for file, text in texts.items()
    }


def circle(graph: Mapping[str, set[str]]) -> list[str]:
    """A circle of a graph; empty without any."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def sources(folder: str, suffix: str) -> dict[str, str]:
    """Text by path within a folder."""
    root = ROOT / folder
    return {str(path.relative_to(root)): path.read_text() for path in sorted(root.rglob(f"*{suffix}"))}


def test_the_scan_sees_definitions_and_circles() -> None:
    heap = """
#include "state.h"
/* uses hk_comment() */
__attribute__((noinline)) static int inner(int x) {
    return x;
}
HK_EXPORT void hk_watch(San *s, uint64_t base) { s->base = base; }
int heap_count[4] = {0};
__attribute__((cold)) int report(Wave *w, uint32_t kind,
                                 uint64_t other) {
    return free_state(inner(kind));
}
"""
    state = 'const char *title = "report";\nextern int heap_count[4];\nvoid free_state(int x) { x++; }\n'
    assert external_symbols(heap) == {"hk_watch", "heap_count", "report"}
    assert external_symbols(state) == {"title", "free_state"}
    texts = {"heap.c": heap, "state.c": state}
    assert uses(texts) == {"heap.c": {"state.c"}, "state.c": {"heap.c"}}
    assert set(circle(uses(texts))) == {"heap.c", "state.c"}
    below = {**texts, "state.c": state.replace("heap_count[4]", "other")}
    assert uses(below)["state.c"] == set(), "a name in a string is no use"
    assert not circle(uses(below))


@pytest.mark.parametrize("folder", PREFIXES)
def test_c_sources_call_each_other_in_one_direction(folder: str) -> None:
    texts = sources(folder, ".c")
    graph = uses(texts)
    assert sum(map(bool, graph.values())) >= 3, "the scan sees who uses whom"
    assert not (around := circle(graph)), f"a circle, whose files need one below them: {' -> '.join(around)}"


@pytest.mark.parametrize("folder", PREFIXES)
def test_headers_include_each_other_in_one_direction(folder: str) -> None:
    texts = sources(folder, ".h")
    graph = {file: set(_INCLUDE.findall(text)) & texts.keys() for file, text in texts.items()}
    assert any(graph.values())
    assert not circle(graph)


@pytest.mark.parametrize("folder", PREFIXES)
def test_external_symbols_have_the_prefix_of_their_library(folder: str) -> None:
    names = {name for text in sources(folder, ".c").values() for name in external_symbols(text)}
    exported = {
        name
        for text in sources(folder, ".c").values()
        for name in re.findall(r"^HK_EXPORT [^;{]*?\b(\w+)\(", code_of(text), re.MULTILINE)
    }
    assert exported <= names, "the scan misses definitions"
    assert len(names) > 10
    assert sorted(name for name in names if not name.startswith(PREFIXES[folder])) == []


@pytest.mark.parametrize("folder", PREFIXES)
def test_no_local_function_has_the_name_of_an_external_symbol(folder: str) -> None:
    """A function for one level of CPU only would break the build only there."""
    texts = {**sources(folder, ".c"), **sources(folder, ".h")}
    external = {name for text in texts.values() for name in external_symbols(text)}
    external |= {
        name
        for file, text in texts.items()
        if file.endswith(".h")
        for name in re.findall(r"^\w[\w *]*\b(\w+)\([^;{}]*\);", code_of(text), re.MULTILINE)
    }
    local = {name for text in texts.values() for name in local_functions(text)}
    assert len(local) > 20
    assert sorted(local & external) == []


CPU = re.compile(r"^[ \t]*#[ \t]*(?:if|ifdef|ifndef|elif|else)\b.*", re.MULTILINE)


@pytest.mark.parametrize("file", ["matrix.c", "matrix_scaled.c", "matrix_sparse.c"])
def test_matrix_instructions_ask_the_table_of_their_back_end(file: str) -> None:
    """Code for one kind of CPU is in separate headers; matrix_backend.h chooses one, once."""
    assert CPU.findall((ROOT / "emulator/native/ops" / file).read_text()) == []
