"""Operations done in a process of their own, with limits of time and memory."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import IO, Any

from workbench.audit.limits import end, used
from workbench.errors import JobLimit, WorkerEnded
from workbench.operations.record import Outcome

_INTERVAL = 0.2
"""Seconds between two looks at a job."""


@dataclass(frozen=True)
class JobLimits:
    """Limits of one operation.

    Attributes:
        seconds: wall time.
        memory: bytes of resident memory of the process and all that it starts.
    """

    seconds: float = 300.0
    memory: int = 8 << 30


class Worker:
    """A process that does one operation after the other, and keeps what it compiled for the next.

    A new one is started after a limit or a crash. Calls wait for each other.
    """

    def __init__(self, limits: JobLimits) -> None:
        self.limits = limits
        self._process: subprocess.Popen[str] | None = None
        self._answers: IO[str] | None = None
        self._lock = threading.Lock()

    def call(
        self,
        operation: str,
        arguments: dict[str, Any],
        *,
        progress: Callable[[float], None] = lambda seconds: None,
        stopped: threading.Event | None = None,
        pictured: Callable[[str], None] = lambda picture: None,
    ) -> dict[str, Any]:
        """The outcome of an operation as JSON has it; one that a limit or a crash ended says so.

        Args:
            progress: called now and then with the seconds so far.
            stopped: ends the operation when it is set.
            pictured: gets the answer's picture, PNG in base64, if it has one.
        """
        with self._lock:
            process, answers = self._started()
            assert process.stdin is not None
            print(
                json.dumps({"operation": operation, "arguments": arguments}), file=process.stdin, flush=True
            )
            answer: list[str] = []
            reader = threading.Thread(target=lambda: answer.append(answers.readline()), daemon=True)
            reader.start()
            begin = time.monotonic()
            limit = ""
            while reader.is_alive() and not limit:
                reader.join(_INTERVAL)
                seconds = time.monotonic() - begin
                progress(seconds)
                limit = self._limit(process.pid, seconds, stopped)
            if answer and answer[0]:
                answered: dict[str, Any] = json.loads(answer[0])
                if answered["picture"]:
                    pictured(answered["picture"])
                data: dict[str, Any] = answered["data"]
                return data
            end(process)
            reader.join()
            self._end()
            status = process.returncode
            error = (
                JobLimit(f"{operation} {limit}; it was stopped. Take a smaller shape, or raise the limit")
                if limit
                else WorkerEnded(
                    f"{operation} ended its process with status {status}: expected an answer. The next call "
                    "starts a new process; `python -m workbench doctor` checks the installation"
                )
            )
            return Outcome.of_error(operation, error).data

    def _limit(self, group: int, seconds: float, stopped: threading.Event | None) -> str:
        if stopped is not None and stopped.is_set():
            return "was cancelled"
        if seconds > self.limits.seconds:
            return f"ran past its limit of {self.limits.seconds:g} s"
        if used(group)[1] > self.limits.memory:
            return f"took more than its limit of {self.limits.memory / 2**30:.1f} GiB of memory"
        return ""

    def _started(self) -> tuple[subprocess.Popen[str], IO[str]]:
        if self._process is None or self._answers is None or self._process.poll() is not None:
            self._end()
            read, write = os.pipe()
            self._process = subprocess.Popen(
                [sys.executable, "-m", "workbench.mcp_server.worker", str(write)],
                stdin=subprocess.PIPE,
                # The server's own standard output belongs to the protocol.
                stdout=2,
                text=True,
                pass_fds=(write,),
                start_new_session=True,
            )
            os.close(write)
            self._answers = os.fdopen(read, encoding="utf-8")
        return self._process, self._answers

    def _end(self) -> None:
        if self._process is not None:
            end(self._process)
            assert self._process.stdin is not None
            self._process.stdin.close()
        if self._answers is not None:
            self._answers.close()
        self._process = self._answers = None

    def close(self) -> None:
        """Ends the process."""
        with self._lock:
            self._end()
