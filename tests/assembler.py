"""Machine code by its text: the assembler in the clang of the ziglang wheel, so wherever the package is."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence

from workbench.toolchain import zig


def assemble(texts: Sequence[str], target: str) -> list[bytes]:
    """The encoding of each instruction.

    Raises:
        ValueError: the assembler does not know one of them on that target; its words say which.
    """
    command = [str(zig.program()), "clang", "-cc1as", "-triple", "amdgcn-amd-amdhsa", "-target-cpu", target]
    command += ["-filetype", "asm", "-show-encoding", "-o", "-", "/dev/stdin"]
    source = "".join(f"{text}\n" for text in texts)
    done = subprocess.run(command, input=source, capture_output=True, text=True, check=False)
    found = re.findall(r"encoding: \[([^\]]*)\]", done.stdout)
    if done.returncode or len(found) != len(texts):
        raise ValueError(f"{target}: {done.stderr or done.stdout}")
    return [bytes(int(byte, 16) for byte in encoding.split(",")) for encoding in found]
