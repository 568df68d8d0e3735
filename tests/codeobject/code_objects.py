"""Code objects of a folder: how many are read, disassembled and translated, and the reasons against.

    python tests/codeobject/code_objects.py FOLDER [--name NAME] [--sample N] [--seed S] [--jobs N]
        [--results FILE] [--minutes M] [--write]

Every file in FOLDER, at any depth, that is an AMDGPU ELF, a fat binary or a host program that embeds one
counts. Nothing runs. `--sample` draws N files by the seed, and NAME then says so. `--write` stores the counts
and every reason under NAME in `tests/data/code_objects.json`, and puts the table of all that this has into
docs/host_programs.md.
Exits with 1 if a kernel for an emulated device is not translated. FILE has the result of each file, so that
an interrupted count goes on where it stopped; after `--minutes M` it begins no other file, and says which.
"""

from __future__ import annotations

import argparse
import json
import math
import multiprocessing
import random
import re
import struct
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))

import page_parts  # noqa: E402

from workbench.codeobject import printer  # noqa: E402
from workbench.codeobject.decoder import decode  # noqa: E402
from workbench.codeobject.elf import EM_AMDGPU, CodeObject  # noqa: E402
from workbench.emulator.translate.translator import translate  # noqa: E402
from workbench.errors import WorkbenchError  # noqa: E402
from workbench.targets import KNOWN  # noqa: E402

STORE = page_parts.StoredResults(
    page_parts.DATA / "code_objects.json",
    page_parts.DOCS / "host_programs.md",
    "<!-- code objects -->\n",
    "<!-- end of code objects -->\n",
    depth=4,
    sort_keys=False,
)
NOT_REACHED = "not counted yet"
OTHERS = "other targets"
"""Target of code objects that no emulated device supports."""
_BEGINNINGS = (b"\x7fELF", b"__CLANG_OFFLOAD_BUNDLE__", b"CCOB")
_FLAGS = 48
"""Byte of an ELF64 file's e_flags, whose lowest 8 bits name the processor of AMDGPU code."""

Results = dict[str, dict[str, dict[str, Any]]]
"""By collection and target: counts, and under "why not" the reasons by file, stage and kernel."""


class Fate(NamedTuple):
    """Result of a code object.

    Attributes:
        target: target of the code object; OTHERS if no emulated device supports it.
        path: its file, in the folder.
        kernels: of the code object; none if it is not read.
        why_not: reasons by stage ("read", "disassembled", "translated") and kernel, "" for the whole object.
    """

    target: str
    path: str
    kernels: tuple[str, ...]
    why_not: dict[tuple[str, str], str]


def files(folder: Path) -> list[Path]:
    """The files that may have device code, by their first bytes."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    return [path for path in paths if _beginning(path).startswith(_BEGINNINGS)]


def _beginning(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(max(map(len, _BEGINNINGS)))


def target_of(data: bytes) -> str:
    """The target that an ELF file names, even if the file is damaged after its header."""
    if len(data) >= _FLAGS + 4 and struct.unpack_from("<H", data, 18)[0] == EM_AMDGPU:
        processor = struct.unpack_from("<I", data, _FLAGS)[0] & 0xFF
        for target in KNOWN:
            if processor in target.processors:
                return target.name
    return OTHERS


def fates(path: Path, folder: Path) -> list[Fate]:
    """Results of each code object in a file."""
    name = str(path.relative_to(folder))
    data = path.read_bytes()
    try:
        code_objects = CodeObject.all_from_bytes(data)
    except Exception as error:
        return [Fate(target_of(data), name, (), {("read", ""): _reason(error)})]
    return [_fate(name, code_object) for code_object in code_objects]


def _fate(path: str, code_object: CodeObject) -> Fate:
    why_not = {}
    stages: dict[str, Callable[[CodeObject, str], object]] = {
        "read": lambda code_object, kernel: code_object.kernels[kernel],
        "disassembled": disassemble,
        "translated": translate,
    }
    kernels = tuple(code_object.kernels)
    for kernel in kernels:
        for stage, attempt in stages.items():
            try:
                attempt(code_object, kernel)
            except Exception as error:
                why_not[stage, kernel] = _reason(error)
    return Fate(code_object.target, path, kernels, why_not)


def disassemble(code_object: CodeObject, kernel: str) -> list[str]:
    """The text of a kernel's instructions.

    Raises:
        CodeObjectError: some of its bytes are not an instruction.
    """
    info, text = code_object.kernels[kernel], code_object.text
    start = info.entry - text.address
    data, lanes = text.data[start : start + info.size], info.wave_size
    instructions = decode(data, info.entry, code_object.target, lanes)
    return [printer.text(instruction) for instruction in instructions]


def _reason(error: Exception) -> str:
    """An error in the workbench's words; any error type that is not its own is a bug, and keeps its type."""
    return str(error) if isinstance(error, WorkbenchError) else f"{type(error).__name__}: {error}"


def count(fates: Iterable[Fate]) -> dict[str, dict[str, Any]]:
    """The counts of code objects and kernels by target, as they are stored."""
    results: dict[str, dict[str, Any]] = {}
    for fate in fates:
        empty = {"objects": 0, "read": 0, "kernels": 0, "disassembled": 0, "translated": 0}
        empty |= {"not counted": 0, "why not": {}}
        result = results.setdefault(fate.target, empty)
        if NOT_REACHED in fate.why_not.values():
            result["not counted"] += 1
            continue
        result["objects"] += 1
        result["kernels"] += len(fate.kernels)
        result["read"] += not any(stage == "read" for stage, _ in fate.why_not)
        for stage in ("disassembled", "translated"):
            result[stage] += sum((stage, kernel) not in fate.why_not for kernel in fate.kernels)
        for (stage, kernel), reason in fate.why_not.items():
            result["why not"][" ".join(filter(None, (fate.path, f"not {stage}", kernel)))] = reason
    return dict(sorted(results.items()))


def complete(results: dict[str, dict[str, Any]]) -> bool:
    """True if all kernels for an emulated device are translated."""
    emulated = (result for target, result in results.items() if target != OTHERS)
    return all(
        not r["not counted"] and r["read"] == r["objects"] and r["translated"] == r["kernels"]
        for r in emulated
    )


def table(results: Results) -> str:
    """Markdown tables: the counts, and the number of each reason with the first file that has it."""
    columns = ("objects", "read", "kernels", "disassembled", "translated", "not counted")
    lines = [f"| collection | target | {' | '.join(columns)} |", "| --- " * 8 + "|"]
    reasons = []
    for collection, by_target in sorted(results.items(), key=lambda item: item[0].casefold()):
        for target, result in by_target.items():
            counts = " | ".join(f"{result[column]:,}" for column in columns)
            lines.append(f"| {collection} | {target} | {counts} |")
            reasons += [f"| {collection} | {target} | {row} |" for row in _reasons(result["why not"])]
    if reasons:
        lines += ["", "| collection | target | why not | times | such as |", "| --- " * 5 + "|", *reasons]
    return "\n".join(lines) + "\n"


def _reasons(why_not: dict[str, str]) -> Iterator[str]:
    groups: dict[str, list[str]] = {}
    for place, reason in why_not.items():
        # What differs from one kernel to the next: names, and addresses.
        groups.setdefault(re.sub(r"'[^']*'|\b0x[0-9a-f]+", "...", reason), []).append(place)
    for places in groups.values():
        reason = why_not[places[0]].replace("|", "\\|").replace("`", "")
        yield f"`{reason}` | {len(places):,} | `{places[0]}`"


def alone(path: Path, folder: Path, end: float = math.inf) -> list[Fate]:
    """Results of each code object in a file, from a separate process, since LLVM may end it.

    Args:
        end: time.monotonic() from which on no file is begun.
    """

    def without(reason: str) -> list[Fate]:
        return [Fate(target_of(path.read_bytes()), str(path.relative_to(folder)), (), {("read", ""): reason})]

    if time.monotonic() >= end:
        return without(NOT_REACHED)
    receiver, sender = multiprocessing.Pipe(duplex=False)
    context = multiprocessing.get_context("fork")
    process = context.Process(target=_send, args=(sender, path, folder))
    process.start()
    sender.close()
    try:
        of_file: list[Fate] = receiver.recv()
    except EOFError:
        process.join()
        of_file = without(f"the process ended by itself, with status {process.exitcode}")
    process.join()
    return of_file


def _send(sender: Connection, path: Path, folder: Path) -> None:
    sender.send(fates(path, folder))


def counted(
    folder: Path, paths: Sequence[Path], jobs: int, results: Path | None, minutes: float
) -> Iterator[Fate]:
    """Results of each code object of the files; prints the progress.

    Args:
        results: a file of earlier counts, which are not repeated, and to which those of now are added.
        minutes: after which no file is begun.
    """
    earlier = _stored_fates(results)
    end = time.monotonic() + 60 * minutes
    with ThreadPoolExecutor(jobs) as pool:
        names = [str(path.relative_to(folder)) for path in paths]
        new = [
            pool.submit(alone, path, folder, end)
            for path, name in zip(paths, names, strict=True)
            if name not in earlier
        ]
        for name in names:
            yield from earlier.get(name, ())
        for number, future in enumerate(as_completed(new), 1):
            of_file = future.result()
            yield from of_file
            if any(NOT_REACHED in fate.why_not.values() for fate in of_file):
                continue
            for fate in of_file:
                for (stage, kernel), reason in fate.why_not.items():
                    print(f"{fate.path} {kernel}: not {stage}: {reason}", flush=True)
            if results is not None:
                with results.open("a") as file:
                    file.writelines(f"{json.dumps(_record(fate))}\n" for fate in of_file)
            if number % 100 == 0:
                print(f"{number} of {len(new)} files", file=sys.stderr, flush=True)


def _record(fate: Fate) -> list[Any]:
    return [*fate[:3], [[*place, reason] for place, reason in fate.why_not.items()]]


def _stored_fates(results: Path | None) -> dict[str, list[Fate]]:
    by_path: dict[str, list[Fate]] = {}
    if results is not None and results.exists():
        for line in results.read_text().splitlines():
            target, path, kernels, why_not = json.loads(line)
            reasons = {(stage, kernel): reason for stage, kernel, reason in why_not}
            by_path.setdefault(path, []).append(Fate(target, path, tuple(kernels), reasons))
    return by_path


def main(arguments: Sequence[str], store: page_parts.StoredResults = STORE) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--name", help="of the collection; default: the folder's")
    parser.add_argument("--sample", type=int, help="files drawn at random; default: all")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--results", type=Path, help="file that keeps what came, to go on later")
    parser.add_argument("--minutes", type=float, default=math.inf, help="after which no file is begun")
    parser.add_argument("--write", action="store_true", help="store the counts, and write the page")
    options = parser.parse_args(arguments)
    paths = files(options.folder)
    if not paths:
        parser.error(f"{options.folder} has no file with device code: no ELF file and no fat binary")
    name = options.name or options.folder.resolve().name
    if options.sample is not None and options.sample < len(paths):
        name += f" ({options.sample} of {len(paths):,} files, seed {options.seed})"
        paths = sorted(random.Random(options.seed).sample(paths, options.sample))
    results = count(counted(options.folder, paths, options.jobs, options.results, options.minutes))
    print(table({name: results}))
    if options.write:
        everything = {**store.read(), name: results}
        store.write(everything, table(everything))
    return 0 if complete(results) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
