"""Machine code from text, by the assembler in the ziglang wheel's clang, which every installation has."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence

from workbench.toolchain import zig


def _run(
    texts: Sequence[str], target: str, features: Sequence[str] = ()
) -> tuple[list[tuple[str, bytes]], set[int], str]:
    """LLVM's own text and the encoding of each, or the indexes of those that it refuses; and its messages."""
    command = [str(zig.program()), "clang", "-cc1as", "-triple", "amdgcn-amd-amdhsa", "-target-cpu", target]
    command += [word for feature in features for word in ("-target-feature", feature)]
    command += ["-filetype", "asm", "-show-encoding", "-o", "-", "/dev/stdin"]
    source = "".join(f"{text}\n" for text in texts)
    done = subprocess.run(command, input=source, capture_output=True, text=True, check=False)
    matches = re.findall(r"^\t(.*?)\s*; encoding: \[([^\]]*)\]", done.stdout, re.MULTILINE)
    refused = {
        int(line) - 1 for line in re.findall(r"^/dev/stdin:(\d+):\d+: error:", done.stderr, re.MULTILINE)
    }
    if not refused and (done.returncode or len(matches) != len(texts)):
        raise ValueError(f"{target}: {done.stderr or done.stdout}")
    codes = [bytes(int(byte, 16) for byte in encoding.split(",")) for _, encoding in matches]
    words = (text.replace("\t", " ") for text, _ in matches)
    return list(zip(words, codes, strict=True)), refused, done.stderr


def assemble(texts: Sequence[str], target: str, features: Sequence[str] = ()) -> list[bytes]:
    """The encoding of each instruction; `features` are LLVM's, as "+real-true16".

    Raises:
        ValueError: the target does not have one of them; the assembler's message says which.
    """
    pairs, refused, words = _run(texts, target, features)
    if refused:
        raise ValueError(f"{target}: {words}")
    return [encoding for _, encoding in pairs]


def assembled(
    texts: Sequence[str], target: str, features: Sequence[str] = ()
) -> list[tuple[str, bytes] | None]:
    """LLVM's own text and the encoding of each instruction; None for one that its assembler refuses."""
    places = list(range(len(texts)))
    while True:
        pairs, refused, _ = _run([texts[place] for place in places], target, features)
        if not refused:
            answers = dict(zip(places, pairs, strict=True))
            return [answers.get(place) for place in range(len(texts))]
        # It encodes nothing when it refuses a line, and finds some faults only once all lines parse.
        places = [place for index, place in enumerate(places) if index not in refused]
