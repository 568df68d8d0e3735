"""`python -m workbench exec`: runs an unmodified program, and all that it starts, on the emulated device."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from workbench.check.sanitizer import Watch
from workbench.errors import MissingFile, UsageError
from workbench.execute.folder import environment, rocm_folder
from workbench.profile.counters import NOTE, table_lines
from workbench.runtime import device, reports, tally
from workbench.runtime.driver import driver as kernel_driver
from workbench.runtime.tally import launches
from workbench.settings import AS_HARDWARE, CLOCKS, LAST
from workbench.toolchain.hipcc import main as hipcc

FINDINGS, NOTHING_LAUNCHED = 1, 2
"""Exit statuses of a sanitized run; if there were launches and no findings, the command's own."""

_NO_DRIVER = contextlib.nullcontext()
_SOURCES = (".hip", ".cpp", ".cc", ".cxx")


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of `exec`, and the command to run."""
    parser.add_argument(
        "--device", help='such as "MI355X" or "emulated:gfx942"; default: one that the program has code for'
    )
    parser.add_argument(
        "--sanitize", action="store_true", help="look for races, missing waits and other faults"
    )
    parser.add_argument(
        "--counters", action="store_true", help="print the counters of a profile for each kernel, at the end"
    )
    parser.add_argument(
        "--driver",
        action="store_true",
        help="answer as the kernel's driver does, for a program with AMD's own runtime; see docs/driver.md",
    )
    parser.add_argument(
        "--as-hardware",
        action="store_true",
        help="loads come late, results err, and accesses beyond memory continue, as on hardware",
    )
    parser.add_argument(
        "--clock",
        choices=CLOCKS,
        help="time.perf_counter in a Python script: this computer's clock (host, the default) or "
        "modelled time",
    )
    parser.add_argument("--json", metavar="FILE", help="write launches and counters to a file")
    parser.add_argument("--quiet", action="store_true", help="no line about launches at the end")
    parser.add_argument("words", nargs=argparse.REMAINDER, metavar="PROGRAM [ARGUMENT ...]")


def run_options(options: argparse.Namespace) -> int:
    """Runs what `add_options` has read; see `run`."""
    words = options.words[1:] if options.words[:1] == ["--"] else options.words
    return run(
        words,
        device_name=options.device,
        sanitize=options.sanitize,
        counters=options.counters,
        driver=options.driver,
        as_hardware=options.as_hardware,
        clock=options.clock,
        json_file=options.json,
        quiet=options.quiet,
    )


def run(
    words: Sequence[str],
    *,
    device_name: str | None = None,
    sanitize: bool = False,
    counters: bool = False,
    driver: bool = False,
    as_hardware: bool = False,
    clock: str | None = None,
    json_file: str | None = None,
    quiet: bool = False,
) -> int:
    """Runs a command and returns its exit status in a shell's form.

    A summary of its and its child processes' launches follows on standard error.

    Args:
        words: a program and its arguments; a Python script that is not executable runs by this Python, and
            a C++ source (.hip, .cpp, .cc, .cxx) is compiled by hipcc first.
        device_name: device, as in `workbench.device`; a product such as "MI355X" is emulated.
        sanitize: True to sanitize launches; with findings the status is `FINDINGS`, and without a launch
            `NOTHING_LAUNCHED`.
        counters: True to count launches; the summary includes each kernel's sums.
        driver: True for a program with AMD's own runtime, which finds the device as one of the Linux kernel's
            driver.
        as_hardware: True to set HIPKITTENS_AS_HARDWARE to "last", unless it is set.
        clock: one of `settings.CLOCKS`, for scripts; None: from the environment.
        json_file: file for launches, times and counters.
        quiet: True to omit the summary; findings and counters are still printed.

    Raises:
        UsageError: there is no such program; MissingFile: no such script or source.
        DeviceError: there is no such device.
        ToolchainError: the emulated device's libraries could not be built.
    """
    if not words:
        raise UsageError(
            "exec: expected a program, then its arguments: python -m workbench exec -- ./program 100"
        )
    variables = dict(os.environ) if driver else environment(rocm_folder(), os.environ)
    if device_name is not None:
        variables["HIPKITTENS_DEVICE"] = device(device_name).name
    elif driver or not device().observes:
        # A GPU's own libraries work without this command.
        variables["HIPKITTENS_DEVICE"] = device("emulated").name
    # Containers with PyTorch for ROCm set it: scripts that have a default of their own then leave it alone.
    variables.setdefault("PYTORCH_ROCM_ARCH", device(variables.get("HIPKITTENS_DEVICE")).arch)
    # FlyDSL's machine code has lines of its source only if asked for; Triton's has them always.
    variables.setdefault("FLYDSL_DEBUG_ENABLE_DEBUG_INFO", "1")
    if as_hardware:
        variables.setdefault(AS_HARDWARE, LAST)
    if clock is not None:
        variables["HIPKITTENS_CLOCK"] = clock
    with contextlib.ExitStack() as stack:
        if Path(words[0]).suffix in _SOURCES:
            if driver:
                raise UsageError(
                    f"exec --driver: {words[0]} is a source, which our hipcc would link with our own "
                    "runtime; expected a program that is linked with AMD's"
                )
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="hipkittens-program-"))
            program = str(Path(folder) / Path(words[0]).stem)
            status = _compile(words[0], program, variables)
            if status:
                return status
            words = [program, *words[1:]]
        command = _command(words)
        if sys.platform != "linux" and command[0] != sys.executable:
            raise UsageError(
                f"exec runs programs for AMD's runtime, which are Linux's, and Python scripts; {words[0]} is "
                f"not a script, and this is {sys.platform}: run it in a container"
            )
        watch = Watch(stack.enter_context(reports.of_process(variables))) if sanitize else None
        # Modelling times slows down every process, so it is done only if somebody reads them.
        is_read = counters or json_file is not None or not quiet
        file = stack.enter_context(tally.of_process(variables, counters=counters)) if is_read else None
        with (
            kernel_driver(device(variables["HIPKITTENS_DEVICE"]).product, variables) if driver else _NO_DRIVER
        ):
            code = _wait(_start(command, variables))
        launched = tally.total(file) if file is not None else None
        if watch is not None:
            print(watch, file=sys.stderr)
        if launched is not None:
            for kernel in launched.kernels:
                print(kernel, *table_lines(kernel.counters), sep="\n", file=sys.stderr)
            if launched.kernels:
                print(f"  ({NOTE})", file=sys.stderr)
            if json_file is not None:
                _write(json_file, launched)
            if not quiet:
                print(f"hipkittens: {launched}{_verdict(watch)}", file=sys.stderr)
    if watch is not None and not watch.launches:
        return NOTHING_LAUNCHED
    if watch is not None and not watch.passed:
        return FINDINGS
    # The exit status of a shell for a program that a signal ended.
    return code if code >= 0 else 128 - code


def _verdict(watch: Watch | None) -> str:
    """The sanitizer's verdict for the last line of output."""
    if watch is None or not watch.launches:
        return ""
    number = sum(not result.passed for result in watch.results)
    return f", findings in {launches(number)}" if number else ", no findings"


def _write(path: str, launched: tally.Tally) -> None:
    try:
        with open(path, "w", encoding="utf-8") as file:
            json.dump(asdict(launched), file, indent=1)
    except OSError as error:
        raise UsageError(f"--json {path}: {error.strerror}; expected a file that can be written") from None


def script(words: Sequence[str]) -> int:
    """Runs a Python script as `run` does: another name of `exec`, only for scripts.

    Args:
        words: "--device" and its name or neither, then the script's file or "-m" and a module, and its
            arguments.

    Raises:
        UsageError: no script is named; MissingFile: there is none.
    """
    chosen = words[1] if words[:1] == ["--device"] and len(words) > 1 else None
    rest = words[2:] if chosen is not None else words
    if not rest or list(rest) == ["-m"]:
        raise UsageError("script: expected a file, or -m and a module, then its arguments")
    return run([sys.executable, *rest], device_name=chosen)


def _command(words: Sequence[str]) -> list[str]:
    """A command, with the Python that a script needs in front."""
    by_python = words[0].endswith(".py") and not os.access(words[0], os.X_OK)
    command = [sys.executable, *words] if by_python else list(words)
    script = command[1] if command[0] == sys.executable and len(command) > 1 else ""
    if script and not script.startswith("-") and not os.path.exists(script):
        raise MissingFile(
            f"exec: there is no file {script} in {os.getcwd()}; expected a Python script, or a program with "
            "its arguments"
        )
    return command


def _compile(source: str, program: str, variables: Mapping[str, str]) -> int:
    """Compiles a source file for the device that the variables name; returns hipcc's exit status."""
    if not os.path.isfile(source):
        raise MissingFile(f"exec: there is no file {source} in {os.getcwd()}; expected a C++ source")
    arch = device(variables.get("HIPKITTENS_DEVICE")).arch
    return hipcc([source, "-o", program], lambda: arch)


def _start(command: Sequence[str], variables: Mapping[str, str]) -> subprocess.Popen[bytes]:
    # The program is looked up where the command will look.
    path = shutil.which(command[0], path=variables.get("PATH"))
    try:
        # It inherits files that the caller left open for it by number, but not Python's.
        return subprocess.Popen([path or command[0], *command[1:]], env=variables, close_fds=False)
    except OSError as error:
        raise UsageError(
            f"{command[0]} does not start ({error.strerror}); expected a program with its arguments, "
            "such as ./prog that `python -m workbench hipcc prog.hip -o prog` made"
        ) from None


def _wait(process: subprocess.Popen[bytes]) -> int:
    """Its exit status; Ctrl-C is left to the process, which gets it too."""
    while True:
        try:
            return process.wait()
        except KeyboardInterrupt:
            continue


__all__ = ["FINDINGS", "NOTHING_LAUNCHED", "add_options", "run", "run_options", "script"]
