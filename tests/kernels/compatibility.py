"""Which names of HipKittens the tile library has, which of its sources it compiles: docs/compatibility.md.

    python tests/kernels/compatibility.py names --main FOLDER --cdna3 FOLDER --fp6 FOLDER
    python tests/kernels/compatibility.py sources --main FOLDER ...   # slow: every kernel and unit test

A folder is a checkout of a branch of HipKittens. Nothing of it is kept here but names. Each name is looked up
by the compiler, which compiles a line about it with the tile library; each source is compiled as it is.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from cpp_names import Name, public_names

from workbench import targets, toolchain
from workbench.toolchain import zig

DOCS = Path(__file__).resolve().parents[2] / "docs" / "compatibility.md"
HEADERS = Path(__file__).resolve().parents[2] / "kernels" / "include"
MEMBER_FILES = r"ops/group/(?!group\.cuh)"
BINDINGS = "pyutils/"
"""Host code, held by the tests of host modules."""


@dataclass(frozen=True)
class Branch:
    """A branch of HipKittens: the target that it is for, and the macros that select its names here."""

    name: str
    arch: str
    define: tuple[str, ...] = ()


BRANCHES = {
    branch.name: branch
    for branch in (
        Branch("main", "gfx950"),
        Branch("cdna3", "gfx942"),
        Branch("fp6", "gfx950", ("KITTENS_FP6",)),
    )
}

RANGES = "ducks::art::type_list<ducks::art::range<0, 3>>"
EXAMPLES = {
    "rt": "rt_bf<32, 32>",
    "rt_base": "rt_base<bf16, row_l, rt_16x16_s>",
    "rv": "rt_bf<32, 32>::row_vec",
    "st": "st_bf<32, 32>",
    "st_subtile": "st_subtile<st_bf<32, 32>, 16, 16>",
    "sv": "sv_bf<64>",
    "gl": "gl<bf16, 1, 1, -1, 64>",
    "coord": "coord<>",
    "group": "group<4>",
    "shared_allocator": "shared_allocator<>",
    "move": "move<float>",
    "base_types::packing": "base_types::packing<bf16>",
    "base_types::convertor": "base_types::convertor<float, bf16>",
    "base_types::constants": "base_types::constants<bf16>",
    "art": f"art<float, 16, 16, row_l, rt_16x16_s, {RANGES}>",
    "art_base": "art_base<float, row_l, rt_16x16_s, ducks::art::range<0, 3>>",
    "ducks::rt_shape::rt_shape": "ducks::rt_shape::rt_16x16",
    "ducks::rt_shape::transpose": "ducks::rt_shape::transpose<rt_16x32_s>",
    "ducks::rt_layout::transpose": "ducks::rt_layout::transpose<row_l>",
    "ducks::gl::compiled_dim": "ducks::gl::compiled_dim<4>",
    "ducks::art::range": "ducks::art::range<0, 3>",
    "ducks::art::type_list": RANGES,
    "ducks::art::type_list_size": f"ducks::art::type_list_size<{RANGES}>",
    "ducks::art::concat": f"ducks::art::concat<{RANGES}, {RANGES}>",
    "ducks::art::get_nth_range": f"ducks::art::get_nth_range<{RANGES}, 0>",
    "ducks::art::split_many": f"ducks::art::split_many<{RANGES}, 2>",
    "ducks::art::transpose_2d_helper": f"ducks::art::transpose_2d_helper<{RANGES}, 1, 1>",
}
"""An instance of each class template of HipKittens, whose members are looked up."""

STEPS = "a step of HipKittens' own template arithmetic; the result is here"
ABSENT = {
    r"CLOBBER_.REG_CASE|KITTENS_CHECK_WARPGROUP": "a macro for its own header",
    r"kittens::gl::tma_descs": "for NVIDIA's TMA; empty in HipKittens too",
    r"kittens::ducks::art::(split_one|transpose_2d_impl).*": STEPS,
    r"kittens::ducks::art::(split_many::(first|rest)|transpose_2d_helper::make_impl)": STEPS,
    r"kittens::st(_subtile)?::(subtile_cols|swizzle_bytes|swizzle_repeat)": "of another order of elements "
    "in shared memory; `idx`, `swizzle` and `offset` give addresses here",
    r"kittens::(fp6_e2m3.*|(rt|rt_base|st)_f6|mfma1616128_fp6)": "fp6 one by one; tiles of "
    "`fp6e2m3_4` count fours here, as 6 bits are no address",
    r"kittens::(ducks::)?c(gl|rt|rv|st|sv)(_\w+)?(::.*)?": "complex tiles, which no operation "
    "of the branch takes",
}
"""Why names are not here, by full name."""


def full(name: Name) -> str:
    return f"{name.scope}::{name.name}".removeprefix("::")


def line_about(name: Name, at: int, types: set[str]) -> str:
    """A line of C++ that compiles where the tile library has a name.

    A member is there where a class that derives from its class and from one with such a member has two.
    """
    if name.kind == "macro":
        return f"MISSING_UNLESS({name.name})"
    inside = name.scope.removeprefix("kittens::")
    if inside in EXAMPLES or name.scope in types:
        of = EXAMPLES.get(inside, f"::{name.scope}")
        member = {"operator[]": "operator[](int)", "operator()": "operator()(int, int, int)"}.get(
            name.name, name.name
        )
        return (
            f"struct D{at} {{ int {member}; }}; struct B{at} : {of}, D{at} {{}}; "
            f"template <class T> concept C{at} = requires {{ &T::{name.name}; }}; "
            f"static_assert(sizeof({of}) > 0 && !C{at}<B{at}>);"
        )
    return f"namespace u{at} {{ using ::{full(name)}; }}"


def missing(names: Sequence[Name], branch: Branch) -> set[Name]:
    """Those of the names that the tile library does not have for a branch."""
    types = {full(name) for name in names if name.kind == "type"}
    lines = [
        '#include "kittens.cuh"',
        "namespace names { using namespace kittens;",
    ]
    about: dict[int, Name] = {}
    for at, name in enumerate(names):
        line = line_about(name, at, types)
        macro = re.fullmatch(r"MISSING_UNLESS\((\w+)\)", line)
        lines += [f"#ifndef {macro[1]}", "#error missing", "#endif"] if macro else [line]
        about[len(lines) - 1 if macro else len(lines)] = name
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "names.hip"
        source.write_text("\n".join([*lines, "}", ""]))
        said = compile_only(source, branch)
    wrong = {int(m[1]) for m in re.finditer(r"names\.hip:(\d+):\d+: (?:fatal )?error", said)}
    return {name for line, name in about.items() if line in wrong}


def compile_only(
    source: Path, branch: Branch, include: Iterable[Path] = (), define: Iterable[str] = ()
) -> str:
    """What the compiler says of the device part of a source, templates instantiated; "" where nothing."""
    compiler = toolchain.find_compiler(branch.arch)
    flags = ["-fsyntax-only", "-std=c++20", "-O3", "-w", "-ferror-limit=0"]
    macros = [targets.target(branch.arch).macro, *branch.define, *define]
    folders = [HEADERS, source.parent, *include]
    with tempfile.TemporaryDirectory() as folder:
        finished = subprocess.run(
            [
                *compiler.device_command(branch.arch),
                *flags,
                *(f"-D{macro}" for macro in macros),
                *(f"-I{path}" for path in folders),
                str(source),
            ],
            capture_output=True,
            text=True,
            env=compiler.environment(folder),
        )
    return finished.stderr or ("the compiler failed" if finished.returncode else "")


def stated() -> dict[str, list[Name]]:
    """The names by branch that the page says are here."""
    heads: list[str] = []
    of: dict[str, list[Name]] = {branch: [] for branch in BRANCHES}
    for line in DOCS.read_text().splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if cells[:2] == ["name", "kind"]:
            heads = cells[2:-1]
        elif (heads and cells[0].startswith("`kittens")) or (len(cells) > 1 and cells[1] == "macro"):
            scope, _, name = cells[0].strip("`").rpartition("::")
            for branch, here in zip(heads, cells[2:], strict=False):
                if here == "yes":
                    of[branch].append(Name(scope, name, cells[1], ""))
    return of


def why(name: Name) -> str:
    return next((text for pattern, text in ABSENT.items() if re.fullmatch(pattern, full(name))), "not yet")


def names_table(checkouts: dict[str, Path]) -> str:
    """The table of names; `checkouts` are folders by branch."""
    found: dict[tuple[str, str], dict[str, tuple[Name, bool]]] = {}
    for branch, folder in checkouts.items():
        names = [
            n for n in public_names(folder / "include", MEMBER_FILES) if not n.header.startswith(BINDINGS)
        ]
        absent = missing(names, BRANCHES[branch])
        for name in names:
            found.setdefault((name.scope, name.name), {})[branch] = (name, name not in absent)
    counts = [
        f"| {branch} | {len(of)} | {sum(here for _, here in of)} |"
        for branch, of in ((b, [v[b] for v in found.values() if b in v]) for b in checkouts)
    ]
    rows = []
    for _, of in sorted(found.items()):
        name = next(iter(of.values()))[0]
        here = {branch: "yes" if is_here else "no" for branch, (_, is_here) in of.items()}
        reason = why(name) if "no" in here.values() else ""
        cells = [f"`{full(name)}`", name.kind, *(here.get(branch, "") for branch in checkouts), reason]
        rows.append("| " + " | ".join(cells) + " |")
    return "\n".join(
        [
            "| branch | public names | here |",
            "| --- | --- | --- |",
            *counts,
            "",
            f"| name | kind | {' | '.join(checkouts)} | why not |",
            "| --- | --- | " + "--- | " * len(checkouts) + "--- |",
            *rows,
        ]
    )


def sources(folder: Path, branch: str) -> Iterable[tuple[Path, Branch]]:
    """The sources of a checkout that are programs, each with what it is compiled for.

    Of those in a folder that differ in numbers only, such as sizes, there is the first.
    """
    seen = set()
    kernels = (p for sub in ("kernels", "analysis") for p in sorted((folder / sub).rglob("*.cpp")))
    tests = sorted((folder / "tests" / "unit").rglob("*.cu"))
    for path in (*kernels, *tests):
        without_numbers = re.sub(r"\d+", "0", path.read_text())
        if path.name.endswith("utils.cpp") or (path.parent, without_numbers) in seen:
            continue  # included by others, or compiled
        seen.add((path.parent, without_numbers))
        of = BRANCHES[branch]
        if "mi325x" in path.as_posix():
            of = Branch(of.name, "gfx942", of.define)
        elif "mi350x" in path.as_posix():
            of = Branch(of.name, "gfx950", of.define)
        yield path, of


def sources_table(checkouts: dict[str, Path]) -> str:
    """The table of sources; a source that does not compile comes with the first error."""
    import pybind11

    host = [Path(pybind11.get_include()), Path(sysconfig.get_path("include"))]
    wheel = zig.folder()
    host += [wheel / "lib" / "libcxxabi" / "include"] if wheel else []
    rows = ["| branch | source | target | compiles | first error |", "| --- | --- | --- | --- | --- |"]
    for branch, folder in checkouts.items():
        for path, of in sources(folder, branch):
            commons = folder / "tests" / "unit" / "testing_commons"
            said = compile_only(path, of, [*host, commons], ("TEST_ALL", "HIP_ENABLE_WARP_SYNC_BUILTINS"))
            error = re.search(r"error: (.*)", said)
            name = path.relative_to(folder).as_posix()
            text = f"`{error[1] if error else said.strip()}`".replace("|", "\\|") if said else ""
            rows.append(f"| {branch} | {name} | {of.arch} | {'no' if said else 'yes'} | {text} |")
            print(rows[-1], file=sys.stderr, flush=True)
    return "\n".join(rows)


def write(what: str, table: str) -> None:
    """Puts a table between its marks in the page."""
    marks = f"<!-- {what} -->", f"<!-- end of {what} -->"
    text = DOCS.read_text()
    before, _, rest = text.partition(marks[0])
    _, _, behind = rest.partition(marks[1])
    DOCS.write_text(f"{before}{marks[0]}\n{table}\n{marks[1]}{behind}")


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("what", choices=("names", "sources"))
    for branch in BRANCHES:
        parser.add_argument(f"--{branch}", type=Path, help=f"folder of a checkout of HipKittens' {branch}")
    given = parser.parse_args(arguments)
    checkouts = {branch: getattr(given, branch) for branch in BRANCHES if getattr(given, branch) is not None}
    if not checkouts:
        parser.error("no checkout given")
    table = {"names": names_table, "sources": sources_table}[given.what](checkouts)
    write(given.what, table)


if __name__ == "__main__":
    main(sys.argv[1:])
