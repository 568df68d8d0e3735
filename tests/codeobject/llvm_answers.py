"""llvm-mc's disassembly of encodings: recorded in data/llvm_answers.xz, or by an installed LLVM.

    python tests/codeobject/llvm_answers.py  # records again; needs llvm-mc of LLVM 22

The recording has every query that makes the opcode tables (isa/enumerate.py): each opcode number of
each format, then each field of each opcode. The first line names the LLVM. Queries of isa/enumerate_gfx11.py
are in data/llvm_answers_gfx11.xz, those about waves of 64 lanes under the target's name and "/64".
"""

from __future__ import annotations

import lzma
import re
import subprocess
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from workbench.codeobject.encodings_gfx11 import GENERATIONS
from workbench.codeobject.instructions.isa import enumerate_gfx11
from workbench.codeobject.instructions.isa.enumerate import Text, disassemble, find_llvm_mc, rows
from workbench.targets import NAMES

COMMAND = "python tests/codeobject/llvm_answers.py"
_FOLDER = Path(__file__).with_name("data")
_DATA, _DATA_GFX11 = _FOLDER / "llvm_answers.xz", _FOLDER / "llvm_answers_gfx11.xz"
_SECTIONS = (*NAMES, *(f"{name}{wave}" for name in GENERATIONS for wave in ("", "/64")))
_RELEASE = "22"


def _version(tool: str) -> str:
    output = subprocess.run([tool, "--version"], capture_output=True, text=True, check=True).stdout
    match = re.search(r"LLVM version (\S+)", output)
    assert match, output
    return match[1]


@cache
def live() -> str | None:
    """Path of an llvm-mc of the recording's release."""
    tool = find_llvm_mc()
    return tool if tool and _version(tool).split(".")[0] == _RELEASE else None


@cache
def _recordings(data: Path) -> Mapping[str, Mapping[bytes, Text | None]]:
    parts: dict[str, dict[bytes, Text | None]] = {}
    for line in lzma.decompress(data.read_bytes()).decode().splitlines()[1:]:
        encoding, size, text = line.split(",", 2)
        if encoding in _SECTIONS:
            answers = parts.setdefault(encoding, {})
        else:
            answers[bytes.fromhex(encoding)] = (text, int(size)) if size else None
    return parts


def recorded(target: str) -> Mapping[bytes, Text | None]:
    """Text and size in bytes of each recorded encoding; None if it is not an instruction."""
    return _recordings(_DATA if target in NAMES else _DATA_GFX11)[target]


def from_recording(target: str, encodings: Sequence[bytes]) -> list[Text | None]:
    """Disassembles by the recording, with the signature of `disassemble`."""
    answers = recorded(target)
    missing = [encoding.hex() for encoding in encodings if encoding not in answers]
    assert not missing, f"{target}: {len(missing)} encodings were never asked about: run `{COMMAND}`"
    return [answers[encoding] for encoding in encodings]


def from_recording_gfx11(target: str, encodings: Sequence[bytes], wave64: bool) -> list[Text | None]:
    """The same with the signature of enumerate_gfx11's questions."""
    return from_recording(f"{target}/64" if wave64 else target, encodings)


def _lines(section: str, answers: Mapping[bytes, Text | None]) -> str:
    lines = (
        (code.hex(), *((str(answer[1]), answer[0]) if answer else ("", "")))
        for code, answer in answers.items()
    )
    return f"{section},,\n" + "".join(f"{','.join(row)}\n" for row in lines)


def _record_gfx11(target: str) -> str:
    answers: dict[bool, dict[bytes, Text | None]] = {False: {}, True: {}}

    def ask(encodings: Sequence[bytes], wave64: bool) -> list[Text | None]:
        texts = enumerate_gfx11.live(target, encodings, wave64)
        answers[wave64].update(zip(encodings, texts, strict=True))
        return texts

    enumerate_gfx11.rows(target, ask)
    return _lines(target, answers[False]) + _lines(f"{target}/64", answers[True])


def _record(target: str, tool: str) -> str:
    answers: dict[bytes, Text | None] = {}

    def ask(encodings: Sequence[bytes]) -> list[Text | None]:
        texts = disassemble(target, encodings, tool)
        answers.update(zip(encodings, texts, strict=True))
        return texts

    rows(target, ask)
    return _lines(target, answers)


def main() -> None:
    tool = live()
    if tool is None:
        raise SystemExit(
            f"llvm-mc of LLVM {_RELEASE} is needed: apt-get install llvm-{_RELEASE}, or set LLVM_MC."
        )
    head = f"LLVM {_version(tool)}; {COMMAND}\n"
    for data, parts in (
        (_DATA, [_record(target, tool) for target in NAMES]),
        (_DATA_GFX11, [_record_gfx11(target) for target in GENERATIONS]),
    ):
        text = head + "".join(parts)
        data.write_bytes(lzma.compress(text.encode(), preset=9 | lzma.PRESET_EXTREME))
        print(f"{data}: {data.stat().st_size} bytes")


if __name__ == "__main__":
    main()
