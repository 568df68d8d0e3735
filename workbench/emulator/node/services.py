"""Services of the host to running kernels: printf, assertions and hostcalls; shows what kernels print."""

from __future__ import annotations

import threading
from collections.abc import Callable, Set
from dataclasses import dataclass, field
from typing import Any

from workbench.emulator.node import console, hostcall
from workbench.emulator.node.allocations import Memory, MemoryKind
from workbench.emulator.node.console import Assertion
from workbench.emulator.node.loaded import LoadedCode

_PACKETS = 1024
"""Packets in the buffer of hostcalls. A wave holds one during a call, and waits if none is free."""


class Services:
    """The buffers through which kernels reach the host; one of each, since one kernel runs at a time."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self._lock = threading.Lock()
        self._console = 0
        self._printf = 0
        self._hostcalls: hostcall.Buffer | None = None

    def console(self) -> int:
        """Address of the buffer that kernels compiled with the workbench's headers print into."""
        with self._lock:
            if not self._console:
                self._console = self._memory.map_apart(console.BYTES, MemoryKind.CONSOLE).base
                console.prepare(self._console)
            return self._console

    def hostcalls(self) -> hostcall.Buffer:
        """The buffer through which waves call the host while they run."""
        with self._lock:
            if self._hostcalls is None:
                self._hostcalls = hostcall.Buffer(self._memory, _PACKETS)
            return self._hostcalls

    def for_launch(self, loaded: LoadedCode, kinds: Set[str], wave_size: int) -> Served:
        """The services for one launch of a kernel, emptied of earlier launches' records.

        Args:
            wave_size: lanes of the kernel's waves.
            kinds: kinds of the kernel's arguments.
        """
        served = Served(loaded, self._memory.text_at, self.console() if loaded.prints else 0)
        if hostcall.PRINTF_ARGUMENT in kinds:
            if not self._printf:
                self._printf = self._memory.map_apart(hostcall.PRINTF_BYTES, MemoryKind.CONSOLE).base
            hostcall.prepare_printf(self._printf)
            served.arguments[hostcall.PRINTF_ARGUMENT] = self._printf
        if hostcall.ARGUMENT in kinds or loaded.asks:
            buffer = self.hostcalls()
            # Stopped waves have kept their packets, and kernels can write anything here.
            buffer.empty()
            if hostcall.ARGUMENT in kinds:
                served.arguments[hostcall.ARGUMENT] = buffer.address
            served.listener = hostcall.Listener(buffer, served.console, wave_size)
        return served


@dataclass
class Served:
    """The host's side of one launch.

    Attributes:
        console: address of the buffer of `console`; 0 if the kernel has none.
        arguments: values of the kernel's hidden arguments by kind.
        listener: answers hostcalls; None if the kernel makes none.
    """

    _loaded: LoadedCode
    _text_at: Callable[[int], str | None]
    console: int
    arguments: dict[str, int] = field(default_factory=dict)
    listener: hostcall.Listener | None = None

    @property
    def one_thread(self) -> bool:
        """True if the launch must run on one thread.

        A buffer does not say which work-group has printed into it. And waves that make hostcalls share two
        stacks: a wave that finds them changed by another thread tries again later, and prints later than the
        others.
        """
        prints = bool(self._loaded.printf_formats) and hostcall.PRINTF_ARGUMENT in self.arguments
        return prints or self.listener is not None

    @property
    def hostcalls(self) -> tuple[int, int]:
        """Address and bytes of the buffer of hostcalls."""
        return self.listener.buffer if self.listener is not None else (0, 0)

    @property
    def callback(self) -> Any:
        """The function that answers hostcalls for C; None if the kernel makes none."""
        return self.listener.callback if self.listener is not None else None

    def show(self, trapped: int | None) -> list[Assertion]:
        """Show what the launch has printed; returns the assertions that failed in it.

        Args:
            trapped: work-group whose trap ended the launch: an exception will contain the text of its
                assertions.
        """
        text, assertions = console.drain(self.console) if self.console else ("", [])
        if text:
            console.writer(text, False)
        if hostcall.PRINTF_ARGUMENT in self.arguments:
            address = self.arguments[hostcall.PRINTF_ARGUMENT]
            for line, to_stderr in hostcall.drain_printf(address, self._loaded.printf_formats, self._text_at):
                console.writer(line, to_stderr)
        if self.listener is not None:
            printed, lost = self.listener.take()
            for entry in printed:
                if entry.assertion is not None:
                    assertions.append(entry.assertion)
                if entry.assertion is None or entry.group != trapped:
                    console.writer(entry.text, entry.to_stderr)
            if lost:
                console.writer(console.LOST, False)
        return assertions

    def check(self) -> None:
        """Raises the error of a hostcall."""
        if self.listener is not None and self.listener.error is not None:
            raise self.listener.error
