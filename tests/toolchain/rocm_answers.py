"""Answers of ROCm's compiler and headers to data/header_corpus.toml, and how to query a compiler.

    python tests/toolchain/rocm_answers.py ROOT [HEADERS]  # records data/rocm_answers.json again; as root

ROOT is the folder of a Debian sid with hipcc, which compiles for GPUs without one:

    mmdebstrap --variant=apt --aptopt='Acquire::Check-Valid-Until "false"' \\
        --include=hipcc,libamdhip64-dev,g++ sid ROOT

HEADERS is a folder with later headers of HIP than ROOT's, as far as it has them. The triton wheel has those
that its driver needs, in triton/backends/amd/include.

The recording has, for each group, the refused snippets for each target, and the answers that differ with only
ROOT's headers.
"""

from __future__ import annotations

import itertools
import json
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from functools import cache, partial
from hashlib import sha256
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import json_records

COMMAND = "python tests/toolchain/rocm_answers.py ROOT [HEADERS]"
TARGETS = ("gfx942", "gfx950")
_DATA = Path(__file__).with_name("data")
_CORPUS = _DATA / "header_corpus.toml"
_ANSWERS = _DATA / "rocm_answers.json"
_CHOICE = re.compile(r"\$\(([^()]*(?:\(\)[^()]*)*)\)")
_FINDING = re.compile(
    r"(?P<file>[^\s:][^:]*):(?P<line>\d+):\d+:(?:\{[\d:,{}-]*\}:)? "
    r"(?P<severity>(?:fatal )?error|warning|note): "
)
_SNIPPET, _AROUND = "snippet", "around"


@dataclass(frozen=True)
class Group:
    """Snippets that are compiled together.

    Attributes:
        name: of the group.
        header: ROCm's header that decides about them.
        include, define: headers in front of them, and macros in front of these.
        parameters: of the functions that contain them.
        snippets: their texts.
        as_gfx950: a macro by which ROCm 6.4's header takes gfx950 for what ROCm 7's says it is; "" for none.
    """

    name: str
    header: str
    include: tuple[str, ...]
    define: tuple[str, ...]
    parameters: str
    snippets: tuple[str, ...]
    as_gfx950: str

    def source(self, without: Collection[str] = ()) -> str:
        """One translation unit; line n of the file `snippet` is the snippet of this number, from 1."""
        includes = "".join(f"#include <{name}>\n" for name in self.include)
        placed = (self._placed(n, text) for n, text in enumerate(self.snippets, 1) if text not in without)
        return f'#line 1 "{_AROUND}"\n{includes}{"".join(placed)}'

    def _placed(self, number: int, text: str) -> str:
        start = f'namespace scope_{number} {{\n#line {number} "{_SNIPPET}"\n'
        function = f"__device__ void function({self.parameters}) {{ {text} }}"
        return f'{start}{text[1:] if text.startswith(":") else function}\n#line 1 "{_AROUND}"\n}}\n'


@cache
def corpus() -> tuple[Group, ...]:
    """The groups of the corpus, their snippets written out."""
    return tuple(
        Group(
            group["name"],
            group["header"],
            tuple(group["include"]),
            tuple(group.get("define", ())),
            group["parameters"],
            tuple(dict.fromkeys(itertools.chain(*map(_written_out, group["snippets"].splitlines())))),
            group.get("as_gfx950", ""),
        )
        for group in tomllib.loads(_CORPUS.read_text())["group"]
    )


def _written_out(line: str) -> Iterator[str]:
    if not line.strip():
        return
    choice = _CHOICE.search(line)
    if choice is None:
        yield line
        return
    for word in choice[1].split(" "):
        yield from _written_out(line[: choice.start()] + word + line[choice.end() :])


def refused(group: Group, ask: Callable[[str], str]) -> set[str]:
    """The snippets of a group that a compiler refuses.

    An error in an instantiation of a template is reported once, for the first snippet that needs it; so the
    others are compiled again until no error is left. Args: ask: returns the compiler's output for a source.

    Raises:
        AssertionError: it refuses the code around them.
    """
    result: set[str] = set()
    while more := {group.snippets[number - 1] for number in _places(group.name, ask(group.source(result)))}:
        assert more.isdisjoint(result), f"{group.name}: {more & result} stand for nothing any more"
        result |= more
    return result


def _places(name: str, output: str) -> set[int]:
    """Numbers of the snippets with errors, by the error's place or the first in its notes."""
    numbers: set[int] = set()
    is_open, finding = False, ""
    for line in output.splitlines():
        match = _FINDING.match(line)
        if match is None:
            continue
        if match["severity"] != "note":
            assert not is_open, f"{name}: {finding}"
            is_open, finding = "error" in match["severity"], line
        if is_open and match["file"] == _SNIPPET:
            numbers.add(int(match["line"]))
            is_open = False
    assert not is_open, f"{name}: {finding}"
    return numbers


@cache
def answers() -> dict[str, Any]:
    """The recorded answers of ROCm."""
    recorded: dict[str, Any] = json.loads(_ANSWERS.read_text())
    assert recorded["corpus"] == _digest(), f"the corpus has changed: {COMMAND}"
    return recorded


def expected(group: Group, arch: str) -> set[str]:
    """Refusals of ROCm 7 in a group: as recorded, except for changes in its later headers."""
    result = set(answers()["refused"][arch].get(group.name, ()))
    for change in newer():
        if change["group"] == group.name and arch in change.get("targets", TARGETS):
            accepted = set(itertools.chain(*map(_written_out, change.get("accepted", "").splitlines())))
            refused_ = set(itertools.chain(*map(_written_out, change.get("refused", "").splitlines())))
            unknown = (accepted | refused_) - set(group.snippets)
            assert not unknown, f"{group.name}: {unknown} are no snippets of it"
            result = result - accepted | refused_
    return result


def newer() -> list[dict[str, Any]]:
    """Answers that later headers of ROCm 7 changed."""
    changes: list[dict[str, Any]] = tomllib.loads(_CORPUS.read_text()).get("newer", [])
    return changes


def _digest() -> str:
    texts = [
        repr((group.name, group.include, group.define, group.parameters, group.snippets))
        for group in corpus()
    ]
    return sha256("\n".join(texts).encode()).hexdigest()[:16]


def _ask(root: Path, headers: str, arch: str) -> dict[str, list[str]]:
    """Refusals of ROOT's hipcc with the headers of one of its folders."""

    def ask(group: Group, source: str) -> str:
        (root / "tmp" / "group.hip").write_text(source)
        defines = [*group.define, *([group.as_gfx950] if arch == "gfx950" and group.as_gfx950 else [])]
        command = [
            "hipcc",
            "-x",
            "hip",
            "-std=c++20",
            "-fsyntax-only",
            "-ferror-limit=0",
            "-w",
            f"-I{headers}",
        ]
        command += ["--offload-device-only", f"--offload-arch={arch}", *(f"-D{macro}" for macro in defines)]
        return _inside(root, *command, "/tmp/group.hip")

    return {
        group.name: sorted(refused(group, partial(ask, group)), key=group.snippets.index)
        for group in corpus()
    }


def _inside(root: Path, *command: str) -> str:
    """Output of a command in ROOT, with the devices and processes that hipcc looks for."""
    mounts = 'mount --bind /dev "$0/dev" && mount -t proc proc "$0/proc" && exec chroot "$0" "$@"'
    start = ["unshare", "--mount", "--propagation", "private", "sh", "-c", mounts, str(root)]
    finished = subprocess.run([*start, *command], capture_output=True, text=True, check=False)
    return finished.stdout + finished.stderr


def main(root: str, headers: str = "") -> None:
    folder = Path(root).resolve()
    packaged = "/usr/include"
    with tempfile.TemporaryDirectory(dir=folder / "tmp") as merged:
        # One folder of both: headers that include each other by quotes are of one kind.
        for source in (folder / packaged[1:] / "hip", *([Path(headers) / "hip"] if headers else [])):
            shutil.copytree(source, Path(merged) / "hip", dirs_exist_ok=True)
        inside = f"/{Path(merged).relative_to(folder)}"
        answer = {arch: _ask(folder, inside, arch) for arch in TARGETS}
    before = {arch: _ask(folder, packaged, arch) for arch in TARGETS} if headers else answer
    changed = {
        group.name: {
            arch: sorted(
                set(answer[arch][group.name]) ^ set(before[arch][group.name]), key=group.snippets.index
            )
            for arch in TARGETS
        }
        for group in corpus()
    }
    record = {
        "command": COMMAND,
        "corpus": _digest(),
        "compiler": _inside(folder, "hipcc", "--version").splitlines()[1],
        "packages": _inside(folder, "dpkg-query", "-W", "hipcc", "libamdhip64-dev").split("\n")[:2],
        "headers": _versions(headers or str(folder / packaged[1:])),
        "refused": {arch: {k: v for k, v in answer[arch].items() if v} for arch in TARGETS},
        "otherwise with the packaged headers": {
            name: texts
            for name, by_target in changed.items()
            if any(by_target.values()) and (texts := by_target)
        },
    }
    _ANSWERS.write_text(json_records.dumps(record, depth=3, sort_keys=False))


def _versions(headers: str) -> str:
    text = (Path(headers) / "hip" / "hip_version.h").read_text()
    numbers = [re.search(rf"HIP_VERSION_{part} +(\d+)", text) for part in ("MAJOR", "MINOR", "PATCH")]
    return "HIP " + ".".join(number[1] for number in numbers if number)


if __name__ == "__main__":
    main(*sys.argv[1:])
