"""A language server as a process, used through the Language Server Protocol over its pipes.

Written by hand because it takes 50 lines: `lsprotocol` has none of them, and `pygls` would add a thread with
an event loop and more packages.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import subprocess
import sys
import threading
from collections.abc import Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NoAnswer
from pathlib import Path
from typing import IO, Any

from workbench.errors import WorkbenchError


class LanguageServer:
    """A running server.

    Args:
        command: program and arguments.
        memory: bytes of address space that it may take; a server that needs more ends.

    Raises:
        WorkbenchError: the program does not start.
    """

    def __init__(self, command: Sequence[str], memory: int) -> None:
        self.name = Path(command[0]).name
        try:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                # An interrupt of the notebook's kernel must not reach it.
                start_new_session=True,
            )
        except OSError as error:
            raise WorkbenchError(f"{command[0]} does not start: {error.strerror}") from error
        if sys.platform == "linux":
            import resource  # not on Windows

            with contextlib.suppress(OSError):
                resource.prlimit(self._process.pid, resource.RLIMIT_AS, (memory, memory))
        self._lock = threading.Lock()
        self._waiting: dict[int, Future[Any]] = {}
        self._next = 0
        threading.Thread(target=self._read, name=self.name, daemon=True).start()
        atexit.register(self.close)

    @property
    def pid(self) -> int:
        """Id of the clangd process."""
        return self._process.pid

    @property
    def alive(self) -> bool:
        """True while the process runs."""
        return self._process.poll() is None

    def close(self) -> None:
        """Ends the process; asking again is an error."""
        atexit.unregister(self.close)
        if self.alive:
            self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()

    def ask(self, method: str, parameters: dict[str, Any], timeout: float) -> Any:
        """The answer to a request.

        Args:
            timeout: seconds.

        Raises:
            TimeoutError: there was no response in time; the request is cancelled.
            WorkbenchError: the server ended, or refused.
        """
        number, future = self.request(method, parameters)
        try:
            return future.result(timeout)
        except NoAnswer:
            self.notify("$/cancelRequest", {"id": number})
            raise

    def request(self, method: str, parameters: dict[str, Any]) -> tuple[int, Future[Any]]:
        """Sends a request; returns its number, and a future for its answer."""
        future: Future[Any] = Future()
        with self._lock:
            self._next += 1
            number = self._next
            self._waiting[number] = future
        self._send({"id": number, "method": method, "params": parameters})
        return number, future

    def notify(self, method: str, parameters: dict[str, Any]) -> None:
        """Sends a notification."""
        self._send({"method": method, "params": parameters})

    def _send(self, message: dict[str, Any]) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        stream = self._process.stdin
        assert stream is not None
        try:
            with self._lock:
                stream.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
                stream.flush()
        except (OSError, ValueError) as error:
            raise self._ended() from error

    def _ended(self) -> WorkbenchError:
        # Its pipes close a moment before it has ended.
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(1.0)
        return WorkbenchError(f"{self.name} has ended with code {self._process.poll()}")

    def _read(self) -> None:
        stream = self._process.stdout
        assert stream is not None
        with contextlib.suppress(OSError, ValueError):
            while (message := read_message(stream)) is not None:
                # None of the server's own messages and requests is needed here.
                if "method" in message:
                    continue
                with self._lock:
                    future = self._waiting.pop(message.get("id", -1), None)
                if future is None or future.cancelled():
                    continue
                if "error" in message:
                    future.set_exception(WorkbenchError(f"{self.name}: {message['error'].get('message')}"))
                else:
                    future.set_result(message.get("result"))
        with self._lock:
            waiting, self._waiting = self._waiting, {}
        for future in waiting.values():
            future.set_exception(self._ended())


def read_message(stream: IO[bytes]) -> dict[str, Any] | None:
    """The next message; None at the end."""
    length = 0
    while line := stream.readline().strip():
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            length = int(value)
    return json.loads(stream.read(length)) if length else None
