"""Names of the functions that clang's HIP header declares, which are ROCm's device functions.

    python tests/toolchain/math_names.py FOLDER  # records those of a clang, by its `-print-resource-dir`

The clang of the ziglang wheel has no such header, so data/hip_math_names.txt has the names; its first line
names the release.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

_DATA = Path(__file__).with_name("data") / "hip_math_names.txt"
# Names that the header declares for itself, for C libraries' macros, or on request by a macro of ROCm's (the
# operations that round up, down or to zero).
_NOT_HIPS = re.compile(
    r"__(?:make_mantissa\w*|static_assert\w*|suppress\w*|attribute__|finitef?|is(?:nan|inf)f?)|\w+_r[duz]"
)


def recorded() -> tuple[str, list[str]]:
    """The major release of clang, and the names."""
    release, *names = _DATA.read_text().split()
    return release, names


def in_header(resources: Path) -> list[str]:
    """The names in the header of a clang's resource folder; empty if it has no such header."""
    header = resources / "include" / "__clang_hip_math.h"
    if not header.is_file():
        return []
    names = re.findall(r"__DEVICE__\s+[\w ]+?[\s*&]+(\w+)\s*\(", header.read_text())
    return sorted({name for name in names if not _NOT_HIPS.fullmatch(name)})


def main(folder: str) -> None:
    resources = Path(folder)
    names = in_header(resources)
    if not names:
        raise SystemExit(
            f"{folder} has no include/__clang_hip_math.h: name what `clang -print-resource-dir` says."
        )
    _DATA.write_text("\n".join([resources.name, *names]) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
