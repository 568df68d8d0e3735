"""A process with one device, which answers case after case; if it dies or hangs, nothing else is lost.

A process has one HIP library, AMD's or the emulated device's, so each side of an examination has a process. A
kernel that brings the driver down ends the process that launched it, and the next case gets a new one.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from workbench.errors import WorkbenchError
from workbench.hardware.section import Answer, Case


class Unanswered(WorkbenchError):
    """A case that a device did not answer."""


class Side:
    """A device behind a process that is started with the first case.

    Attributes:
        device: name of the device.
    """

    def __init__(self, device: str, environment: Mapping[str, str] | None = None) -> None:
        self.device = device
        self._environment = dict(environment or {})
        self._process: Any = None
        self._pipe: Any = None
        self._own: dict[str, str] = {}

    def answer(self, section: str, case: Case, folder: Path, seconds: float) -> Answer:
        """The device's answer for a case.

        Raises:
            Unanswered: the process raised an error, died, or took longer than `seconds`.
        """
        if self._process is not None and self._own != case.environment:
            self.close()
        if self._process is None:
            self._start(dict(case.environment))
        try:
            self._pipe.send((section, case, folder))
            if not self._pipe.poll(seconds):
                self.close(kill=True)
                raise Unanswered(f"took longer than {seconds:.0f} s")
            kind, reply = self._pipe.recv()
        except (EOFError, OSError) as error:
            self._process.join(10)
            code = self._process.exitcode
            self.close(kill=True)
            raise Unanswered(f"its process ended {_ending(code)}") from error
        if kind != "answer":
            raise Unanswered(reply)
        answer: Answer = reply
        return answer

    def _start(self, environment: dict[str, str]) -> None:
        context = multiprocessing.get_context("spawn")
        self._own = environment
        self._pipe, theirs = context.Pipe()
        variables = {**self._environment, **environment, "HIPKITTENS_DEVICE": self.device}
        self._process = context.Process(target=_serve, args=(theirs, variables), daemon=False)
        self._process.start()
        theirs.close()

    def close(self, *, kill: bool = False) -> None:
        """Ends the process; `kill` does not wait for it."""
        process, self._process = self._process, None
        if process is None:
            return
        with suppress(OSError, ValueError):
            if not kill:
                self._pipe.send(None)
                process.join(5)
        if process.is_alive():
            process.kill()
            process.join()
        self._pipe.close()


def _ending(code: int | None) -> str:
    if code is None or code >= 0:
        return f"with exit status {code}"
    with suppress(ValueError):
        return f"by {signal.Signals(-code).name}"
    return f"by signal {-code}"


def _serve(pipe: Any, variables: Mapping[str, str]) -> None:
    """The body of the process: reads cases and writes answers, until it reads None or its parent is gone."""
    os.environ.update(variables)
    # Ctrl-C is for the parent to handle.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # Progress bars of several processes would write over each other; errors go through the pipe.
    sys.stderr = open(os.devnull, "w")  # noqa: SIM115 - as long as the process lives
    from workbench.hardware.sections import SECTIONS
    from workbench.runtime import device

    while True:
        try:
            request = pipe.recv()
        except EOFError:
            return
        if request is None:
            return
        section, case, folder = request
        try:
            reply = (
                "answer",
                SECTIONS[section].measure(case, device(variables["HIPKITTENS_DEVICE"]), folder),
            )
        # Whatever a case does, the next one runs.
        except Exception as error:
            first = (str(error) or type(error).__name__).splitlines()[0]
            reply = ("error", f"{type(error).__name__}: {first}")
        pipe.send(reply)
