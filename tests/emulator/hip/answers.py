"""Compares our HIP library's answers with those that AMD's gave under `exec --driver`.

    python -m tests.emulator.hip.answers                          ours beside the record
    python -m tests.emulator.hip.answers --root /srv/sid          AMD's, in a root folder with libamdhip64
    python -m tests.emulator.hip.answers --root /srv/sid --record replaces the record

Each ends with 1 if an answer differs and `REASONS` has no reason. The root folder is docs/driver.md's.
"""

from __future__ import annotations

import argparse
import difflib
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

from workbench.toolchain import CompileOptions, compile_device, zig

HERE = Path(__file__).parent
RECORD = HERE / "answers.txt"
SOURCE = """
#include <hip/hip_runtime.h>
extern "C" __global__ void saxpy(float* y, const float* x, float a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] += a * x[i];
}
"""
REASONS = {
    r"attribute 0 ": "ECC is on in the products; the emulated driver does not report it to AMD's runtime",
    r"attribute (11|10007|10008|10009|10010) ": "ours has no launch over several devices",
    r"attribute 25 ": "ROCm 7 counts waves, 6.4 groups of 1024",
    r"attribute (44|50|51) ": "6.4 leaves a texture's size unset on a device without images",
    r"attribute 60 ": "the driver reports the memory's clock in whole MHz",
    r"attribute 67 ": "the bus number is the emulated driver's own",
    r"attribute (71|72) ": "ROCm 7 counts the registers of a compute unit, 6.4 says 65,536",
    r"attribute 76 ": "ROCm 7 has a compute unit's memory, 6.4 the device's",
    r"attribute 91 ": "our pools export no file",
    r"attribute (92|10018|10019|10020) ": "attributes of ROCm 7",
    r"attribute (93|94|95|10021|10022) ": "attributes of ROCm after 7.2",
    r"attribute (10005|10006) ": "addresses of registers, which our library does not map",
    r"attribute 10012 ": "the revision is the emulated driver's own",
    r"attribute 10016 ": "AMD's runtime asks the driver for atomics over PCIe, and the emulated one has none",
    r"hipDeviceGetLimit\(&s, a\)": "our stack has 16 KiB, and ROCm 7 has limits up to 0x1002",
    r"hipDeviceSetLimit\(a, 4096\)": "ROCm 7 has limits up to 0x1002",
    r"error (911|912) ": "codes of ROCm 7's headers",
    r"error (914|915|916|1054|1055) ": "codes of the headers of ROCm after 7.2",
    r"hipFreeAsync\(0, 0\)": "ROCm 7 frees the null pointer without an error, as hipFree does",
    r"hipIpcGetMemHandle": "our library has no memory between processes, and says so",
    r"hipProfilerStart": "AMD's 6.4 and 7.2 have no profiler to start, and say so; ours ignores the call",
}
"""Why an answer may differ, by the beginning of its line."""


def build(folder: Path) -> tuple[Path, Path]:
    """The program and a code object of gfx942 for it."""
    text = (HERE / "answers.c").read_text()
    # Nothing but the names is needed to link with a library of HIP.
    stub = folder / "stub.c"
    names = sorted(set(re.findall(r"\b(hip[A-Z]\w+)\(", text)))
    stub.write_text("".join(f"void {name}(void) {{}}\n" for name in names))
    library, program, image = folder / "libamdhip64.so.6", folder / "answers", folder / "saxpy.co"
    compiler = [
        sys.executable,
        "-m",
        "ziglang",
        "cc",
        "-target",
        zig.host_target(),
        "-w",
        "-fno-sanitize=all",
    ]
    environment = {"ZIG_GLOBAL_CACHE_DIR": zig.cache_folder()}
    shared = ["-shared", "-fPIC", f"-Wl,-soname,{library.name}", str(stub), "-o", str(library)]
    subprocess.run([*compiler, *shared], check=True, env=environment)
    words = ["-rtlib=none", str(HERE / "answers.c"), str(library), "-o", str(program)]
    subprocess.run([*compiler, *words], check=True, env=environment)
    image.write_bytes(compile_device(SOURCE, CompileOptions("gfx942")).code_object)
    return program, image


def ask(program: Path, image: Path, root: Path | None = None) -> list[str]:
    """The answers, of our library or of AMD's in a root folder, one a line."""
    command = [sys.executable, "-m", "workbench", "exec", "--device", "MI300X"]
    if root is None:
        command += ["--", str(program), str(image)]
    else:
        command += ["--driver", "--", "sh", "-c", _IN_ROOT, "sh", str(root), str(program.parent)]
    ended = subprocess.run(command, env=dict(os.environ), capture_output=True, text=True, timeout=240)
    if ended.returncode:
        raise RuntimeError(
            f"{program.name} ended with {ended.returncode}: {ended.stdout[-300:]}{ended.stderr[-2000:]}"
        )
    return ended.stdout.splitlines()


# In a mount namespace of its own: the driver's folder and the program's, under the same names.
_IN_ROOT = """
root=$1 files=$2 preload=$LD_PRELOAD; unset LD_PRELOAD; export root files preload
mkdir -p "$root$HIPKITTENS_DRIVER" "$root$files"
exec unshare -m sh -c '
  mount --bind "$HIPKITTENS_DRIVER" "$root$HIPKITTENS_DRIVER" && mount --bind "$files" "$root$files"
  mount -t proc proc "$root/proc"; mount --rbind /dev "$root/dev"
  LD_PRELOAD= exec chroot "$root" /usr/bin/env -u PYTHONPATH LD_PRELOAD="$preload" \\
    "$files/answers" "$files/saxpy.co"'
"""


def differences(recorded: list[str], answers: list[str]) -> tuple[Counter[str], list[str]]:
    """How often each pattern of `REASONS` applied, and the lines without a reason as a diff has them."""
    reasons: Counter[str] = Counter()
    without = []
    for line in difflib.ndiff(recorded, answers):
        if line[0] not in "-+":
            continue
        pattern = next((pattern for pattern in REASONS if re.match(pattern, line[2:])), None)
        if pattern is None:
            without.append(line)
        elif line[0] == "+":
            reasons[pattern] += 1
    return reasons, without


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--root", type=Path, help="root folder with AMD's libamdhip64; else our library is asked"
    )
    parser.add_argument("--record", action="store_true", help="replace the record")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        answers = ask(*build(Path(folder)), options.root)
    if options.record:
        if options.root is None:
            parser.error("--record needs --root: the record is of AMD's library")
        RECORD.write_text("\n".join(answers) + "\n")
        return 0
    recorded = RECORD.read_text().splitlines()
    reasons, without = differences(recorded, answers)
    print(f"{len(answers) - sum(reasons.values()) - len(without)} of {len(recorded)} answers are equal")
    for pattern, count in reasons.items():
        print(f"{count:4} {pattern}: {REASONS[pattern]}")
    print("\n".join(without))
    return 1 if without else 0


if __name__ == "__main__":
    sys.exit(main())
