"""Builds the native libraries for a kind of machine, at each level of CPU, for a wheel: `make wheels`.

    python -m workbench.prebuilt MACHINE FOLDER    # x86_64 or aarch64

With such a wheel, nothing is built at the first launch. zig compiles for every machine on any.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from workbench.errors import WorkbenchError
from workbench.profile.simulation import native as simulation
from workbench.runtime import device, driver
from workbench.toolchain import cpu, native

MACHINES = tuple(dict.fromkeys(level.machine for level in cpu.LEVELS.values()))


def prebuild(target: native.Target, folder: Path) -> list[Path]:
    """Builds the libraries of the emulated device and of the model of a compute unit.

    Returns:
        their files in the folder, under the names by which an installed wheel finds them.

    Raises:
        CompilerNotFound, ToolchainError: they cannot be built.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with native.made_for(target) as libraries:
        device("emulated").build(partial=True)
        simulation.build()
        if target.system == "linux":
            # AMD's driver is one of Linux.
            driver.build()
    return [Path(shutil.copyfile(path, folder / name)) for name, path in libraries.items()]


def main(arguments: Sequence[str]) -> int:
    """Runs the command; 0 if all is well."""
    if len(arguments) != 2 or arguments[0] not in MACHINES:
        print(f"usage: python -m workbench.prebuilt {'|'.join(MACHINES)} FOLDER", file=sys.stderr)
        return 2
    machine, folder = arguments[0], Path(arguments[1])
    shutil.rmtree(folder, ignore_errors=True)
    try:
        for level in cpu.levels(machine):
            for path in prebuild(native.Target(machine, "linux", level), folder):
                print(f"{path.stat().st_size:>9,}  {path}")
    except WorkbenchError as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
