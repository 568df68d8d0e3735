"""Programs with AMD's own runtime on the emulated device: `make test-rocm ROOT=folder`.

    python tests/rocm/programs.py [--experimental] ROOT [PROGRAM ...]

ROOT is a folder with Debian sid and the packages of `PROGRAMS`; mmdebstrap makes it unless it is there.
Only the superuser can enter it. With `--experimental` it has the ROCm packages of Debian experimental, for
programs with HIP 7.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE.parent))

import debian_libraries  # noqa: E402

SECONDS = 300


@dataclass(frozen=True)
class Program:
    """A program that Debian has built, or a script of this folder.

    Attributes:
        packages: of Debian sid.
        command: in the root, where this folder is /mnt.
        output: patterns, each of which its output must have.
        device: the emulated one; libraries of Debian sid have code for gfx90a, not for gfx942.
        release: Debian's, whose packages of ROCm it needs; "" for either. HIP 6's hiprtc cannot use LLVM 22.
    """

    packages: tuple[str, ...]
    command: tuple[str, ...]
    output: tuple[str, ...]
    device: str = "MI300X"
    release: str = ""


_RANDOM = "/usr/libexec/rocm/librocrand1-tests/test_rocrand_basic"
_OPERATIONS = "/usr/libexec/x86_64-linux-gnu/llama.cpp-tests/test-backend-ops"

PROGRAMS = {
    "rocminfo": Program(("rocminfo",), ("rocminfo",), (r"Name: +gfx942", r"\*\*\* Done \*\*\*")),
    "clinfo": Program(
        ("clinfo", "rocm-opencl-icd"),
        ("clinfo",),
        (r"Device Board Name \(AMD\) +AMD Instinct MI300X", r"Max compute units +304"),
    ),
    "HIP 6": Program(
        ("libamdhip64-6", "libhiprtc6", "python3-numpy"),
        ("python3", "/mnt/hip.py", "6", "gfx942"),
        ("5 launches: right", "work-item 44 of block 1"),
        release="sid",
    ),
    "rocRAND": Program(("librocrand1-tests",), (_RANDOM,), (r"\[  PASSED  \] 44 tests",), "MI210"),
    "rocBLAS 4": Program(
        ("librocblas4", "python3-numpy"),
        ("python3", "/mnt/blas.py", "6", "4"),
        ("sgemm: right", "hgemm: right"),
        "MI210",
    ),
    "llama.cpp": Program(
        ("libggml0-backend-hip", "llama.cpp-tools", "python3-gguf", "python3-numpy"),
        ("python3", "/mnt/language_model.py"),
        (r"\nequal",),
        "MI210",
    ),
    "ggml": Program(
        ("libggml0-backend-hip", "llama.cpp-tests"),
        (_OPERATIONS, "test", "-o", "ADD", "-b", "ROCm0"),
        (r"\b156/156 tests passed",),
        "MI210",
    ),
    "HIP 7": Program(
        ("libamdhip64-7", "libhiprtc7", "python3-numpy"),
        ("python3", "/mnt/hip.py", "7", "gfx950"),
        ("5 launches: right", "work-item 44 of block 1"),
        "MI355X",
        release="experimental",
    ),
    "rocRAND with HIP 7": Program(
        ("librocrand1-tests",), (_RANDOM,), (r"\[  PASSED  \] 44 tests",), release="experimental"
    ),
    "rocBLAS 5": Program(
        ("librocblas5", "python3-numpy"),
        ("python3", "/mnt/blas.py", "7", "5"),
        ("sgemm: right", "hgemm: right"),
        release="experimental",
    ),
}
_NEWEST = ("libamd*", "libhip*", "libhsa*", "libroc*", "rocm*")
"""Packages of ROCm."""

# The library for LD_PRELOAD is for the program alone, not for the commands that enter the root.
_INSIDE = """set -e
root=$1; scripts=$2; shift 2
preload=$LD_PRELOAD; unset LD_PRELOAD
mkdir -p "$root$HIPKITTENS_DRIVER"
mount --bind "$HIPKITTENS_DRIVER" "$root$HIPKITTENS_DRIVER"
mount --bind "$scripts" "$root/mnt"
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
mount -t tmpfs tmpfs "$root/tmp"
exec chroot "$root" env -u PYTHONPATH PATH=/usr/bin:/bin HOME=/tmp "LD_PRELOAD=$preload" "$@"
"""


def missing(program: Program, root: Path) -> list[str]:
    """Faults of a program's run: patterns that its output lacks, status, time limit; [] if there are none."""
    enter = ["unshare", "--mount", "sh", "-c", _INSIDE, "sh", str(root), str(HERE), *program.command]
    words = [sys.executable, "-m", "workbench", "exec", "--driver", "--device", program.device, "--", *enter]
    text, status = debian_libraries.output_of(words, os.environ, SECONDS)
    if status is None:
        return [f"it did not end in {SECONDS} s"]
    faults = [f"no {pattern!r} in the output" for pattern in program.output if not re.search(pattern, text)]
    if status:
        faults.append(f"exit status {status}")
    return [*faults, text[-2000:]] if faults else []


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--experimental", action="store_true", help="ROCm's packages of Debian experimental")
    parser.add_argument("root", type=Path)
    parser.add_argument("programs", nargs="*", metavar="PROGRAM", help=", ".join(PROGRAMS))
    options = parser.parse_args(arguments)
    release = "experimental" if options.experimental else "sid"
    programs = {name: p for name, p in PROGRAMS.items() if p.release in ("", release)}
    unknown = set(options.programs) - set(programs)
    if unknown:
        parser.error(f"{', '.join(sorted(unknown))}: expected some of {', '.join(programs)}")
    if not options.root.is_dir():
        packages = sorted({package for program in programs.values() for package in program.packages})
        debian_libraries.make_root(options.root, packages, _NEWEST if options.experimental else ())
    failed = 0
    for name in options.programs or programs:
        faults = missing(programs[name], options.root.absolute())
        print(f"{name}: {'failed' if faults else 'passed'}", *faults, sep="\n  ", flush=True)
        failed += bool(faults)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
