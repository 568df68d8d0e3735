"""Which public names of a checkout of HipKittens the tile library lacks.

The compiler looks each name up: it compiles a line about it with the tile library. Of the checkout only the
declarations in its headers are read.
"""

from __future__ import annotations

import itertools
import re
import subprocess
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from workbench import paths, targets, toolchain
from workbench.compatibility.cpp_names import Name, public_names
from workbench.errors import UsageError, WorkbenchError

TREES = {
    generation.lower(): record.name
    for record in targets.KNOWN
    if record.library
    for generation in (record.generation, *record.former_generations)
}
"""Targets of the folders that `include` of a checkout may have; without such folders, the newest."""


@dataclass(frozen=True)
class Comparison:
    """The names of one tree of headers.

    Attributes:
        folder: of the headers.
        arch: target that they were looked up for; None if the workbench has none for the tree.
        names: all public ones, in order.
        absent: those that the tile library lacks; with no target, those that the checkout's trees for other
            targets lack.
    """

    folder: Path
    arch: str | None
    names: tuple[Name, ...]
    absent: tuple[Name, ...]


def compare(checkout: Path, arch: str | None = None) -> list[Comparison]:
    """The public names of each tree of headers in a checkout, and which of them are absent here.

    Args:
        checkout: of HipKittens, or its folder `include`.
        arch: target to look names up for, instead of each tree's own.

    Raises:
        UsageError: `checkout` has no headers.
        WorkbenchError: the tile library does not compile for a target.
    """
    include = checkout / "include" if (checkout / "include").is_dir() else checkout
    trees = {
        folder: arch or TREES.get(folder.name)
        for folder in sorted(include.glob("*"))
        if folder.name not in ("common", "ops", "types") and (folder / "common").is_dir()
    }
    if not trees and (include / "common").is_dir():
        trees = {include: arch or targets.TILE_TARGETS[0]}
    if not trees:
        raise UsageError(
            f"{checkout} has no headers of HipKittens: expected a folder `common` in it, in `include` or one "
            "level further down; give the folder that `git clone` made"
        )
    names = {folder: public_names(folder) for folder in trees}
    of_targets = {full(n) for folder, target in trees.items() if target for n in names[folder]}
    return [
        Comparison(
            folder,
            target,
            tuple(names[folder]),
            tuple(
                sorted(missing(names[folder], target))
                if target
                else [n for n in names[folder] if full(n) not in of_targets]
            ),
        )
        for folder, target in trees.items()
    ]


def report(comparisons: Sequence[Comparison], checkout: Path) -> str:
    """Text: a line for each tree, and one for each absent name."""
    lines = []
    for tree in comparisons:
        place = tree.folder.relative_to(checkout) if tree.folder != checkout else tree.folder
        if tree.arch is None:
            lines.append(
                f"{place}: not compared, no target of the workbench; {len(tree.names)} public names, "
                f"{len(tree.absent)} of them in no tree for another target"
            )
        else:
            lines.append(f"{place}, {tree.arch}: {len(tree.names)} public names, {len(tree.absent)} absent")
        lines += [f"  {name.kind} {full(name)} ({name.header})" for name in tree.absent]
    return "\n".join(lines)


_RANGES = "ducks::art::type_list<ducks::art::range<0, 3>>"
_EXAMPLES = {
    "rt": "rt_bf<32, 32>",
    "rt_base": "rt_base<bf16, row_l, rt_16x16_s>",
    "rv": "rt_bf<32, 32>::row_vec",
    "st": "st_bf<32, 32>",
    "st_subtile": "st_subtile<st<bf16, 32, 32, ducks::st_shape::st_16x16>, 16, 16>",
    "sv": "sv_bf<64>",
    "gl": "gl<bf16, 1, 1, -1, 64>",
    "crt": "crt_bf<32, 32>",
    "crv": "crt_bf<32, 32>::row_vec",
    "cst": "cst_bf<32, 32>",
    "csv": "csv_bf<64>",
    "cgl": "cgl<gl<bf16, 1, 1, -1, 64>>",
    "coord": "coord<>",
    "group": "group<4>",
    "shared_allocator": "shared_allocator<>",
    "segment": "segment<0>",
    "ducks::segment_tag::is_segment": "ducks::segment_tag::is_segment<segment<0>>",
    "ducks::st_shape::st_16x32_padded": "ducks::st_shape::st_16x32_padded<>",
    "move": "move<float>",
    "base_types::packing": "base_types::packing<bf16>",
    "base_types::convertor": "base_types::convertor<float, bf16>",
    "base_types::constants": "base_types::constants<bf16>",
    "art": f"art<float, 16, 16, row_l, rt_16x16_s, {_RANGES}>",
    "art_base": "art_base<float, row_l, rt_16x16_s, ducks::art::range<0, 3>>",
    "ducks::rt_shape::rt_shape": "ducks::rt_shape::rt_16x16",
    "ducks::rt_shape::transpose": "ducks::rt_shape::transpose<rt_16x32_s>",
    "ducks::rt_layout::transpose": "ducks::rt_layout::transpose<row_l>",
    "ducks::gl::compiled_dim": "ducks::gl::compiled_dim<4>",
    "ducks::art::range": "ducks::art::range<0, 3>",
    "ducks::art::type_list": _RANGES,
    "ducks::art::type_list_size": f"ducks::art::type_list_size<{_RANGES}>",
    "ducks::art::concat": f"ducks::art::concat<{_RANGES}, {_RANGES}>",
    "ducks::art::get_nth_range": f"ducks::art::get_nth_range<{_RANGES}, 0>",
    "ducks::art::split_many": f"ducks::art::split_many<{_RANGES}, 2>",
    "ducks::art::split_one": "ducks::art::split_one<0, 3, 2>",
    "ducks::art::transpose_2d_impl": f"ducks::art::transpose_2d_impl<{_RANGES}, 1, 1, 0>",
    "ducks::art::transpose_2d_helper": f"ducks::art::transpose_2d_helper<{_RANGES}, 1, 1>",
}
"""An instance of each class template of HipKittens, whose members are looked up."""


def full(name: Name) -> str:
    return f"{name.scope}::{name.name}".removeprefix("::")


def _lines_about(name: Name, at: int, types: set[str]) -> list[str]:
    """Lines of C++ that compile where the tile library has a name.

    A member is there where a class that derives from its class and from one with such a member has two.
    """
    if name.kind == "macro":
        return [f"#ifndef {name.name}", "#error missing", "#endif"]
    inside = name.scope.removeprefix("kittens::")
    if inside in _EXAMPLES or name.scope in types:
        of = _EXAMPLES.get(inside, f"::{name.scope}")
        if name.name == "operator=":
            # Every class has one.
            return [f"static_assert(sizeof({of}) > 0);"]
        member = {"operator[]": "operator[](int)", "operator()": "operator()(int, int, int)"}.get(
            name.name, name.name
        )
        return [
            f"struct D{at} {{ int {member}; }}; struct B{at} : {of}, D{at} {{}}; "
            f"template <class T> concept C{at} = requires {{ &T::{name.name}; }}; "
            f"static_assert(sizeof({of}) > 0 && !C{at}<B{at}>);"
        ]
    return [f"namespace u{at} {{ using ::{full(name)}; }}"]


def missing(names: Sequence[Name], arch: str, define: Sequence[str] = ()) -> set[Name]:
    """The names that the tile library lacks for a target.

    Args:
        define: macros that select names, such as "KITTENS_FP6".

    Raises:
        WorkbenchError: the tile library itself does not compile.
    """
    types = {full(name) for name in names if name.kind == "type"}
    lines = ['#include "kittens.cuh"', "namespace names { using namespace kittens;"]
    about: dict[int, Name] = {}
    for at, name in enumerate(names):
        lines_of_name = _lines_about(name, at, types)
        about |= dict.fromkeys(range(len(lines) + 1, len(lines) + 1 + len(lines_of_name)), name)
        lines += lines_of_name
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "names.hip"
        source.write_text("\n".join([*lines, "}", ""]))
        output = device_errors(source, arch, define, [paths.include_dir()])
    located = list(re.finditer(r"^(\S+?):(\d+):\d+: (?:fatal )?error: (.*)", output, re.MULTILINE))
    if output and not located:
        raise WorkbenchError(f"the names were not compiled for {arch}: {output.strip()[:500]}")
    wrong: set[int] = set()
    refused: set[str] = set()
    for error, following in itertools.zip_longest(located, located[1:]):
        file, line, message = error.groups()
        if file.endswith(source.name):
            wrong.add(int(line))
            continue
        # A class that refuses the target says so where it is instantiated, once for all of its members.
        notes = output[error.end() : following.start() if following else len(output)]
        places = re.findall(rf"^\S*{re.escape(source.name)}:(\d+):\d+: note: ", notes, re.MULTILINE)
        if not places:
            raise WorkbenchError(f"the tile library does not compile for {arch}: {file}:{line}: {message}")
        refused |= {about[int(place)].scope for place in places}
    return {name for line, name in about.items() if line in wrong or name.scope in refused}


def device_errors(source: Path, arch: str, define: Iterable[str] = (), include: Iterable[Path] = ()) -> str:
    """The compiler's errors on the device part of a source, templates instantiated; "" if it compiles."""
    compiler = toolchain.find_compiler(arch)
    macros = (targets.target(arch).macro, *define)
    with tempfile.TemporaryDirectory() as folder:
        finished = subprocess.run(
            [
                *compiler.device_command(arch),
                *("-fsyntax-only", "-std=c++20", "-O3", "-w", "-ferror-limit=0"),
                *(f"-D{macro}" for macro in macros),
                *(f"-I{path}" for path in include),
                str(source),
            ],
            capture_output=True,
            text=True,
            env=compiler.environment(folder),
        )
    return finished.stderr or ("the compiler failed" if finished.returncode else "")
