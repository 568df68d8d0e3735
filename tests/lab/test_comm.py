"""The comm to the editor: opened with the extension, notified of changes, closed."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from IPython.core.events import EventManager, available_events

import workbench as wb
from workbench.lab import comm


class Comm:
    """A comm as the kernel sees it, without a front end."""

    def __init__(self) -> None:
        self.sent: list[dict[str, Any]] = []

    def on_msg(self, handler: Any) -> None:
        self.receive = handler

    def on_close(self, handler: Any) -> None:
        self.close = handler

    def send(self, data: dict[str, Any]) -> None:
        self.sent.append(data)


class Shell:
    """A shell in a kernel, as far as the comm needs one."""

    def __init__(self) -> None:
        self.kernel = object()
        self.user_ns: dict[str, Any] = {}
        self.events = EventManager(self, available_events)


def test_register_opens_a_comm_and_tells_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    targets: dict[str, Any] = {}
    manager = SimpleNamespace(
        register_target=targets.__setitem__, unregister_target=lambda name, _: targets.pop(name)
    )
    monkeypatch.setattr("comm.get_comm_manager", lambda: manager)

    shell = Shell()
    assert comm.register(shell) is not None  # type: ignore[arg-type]
    assert comm.register(shell) is not None  # type: ignore[arg-type]
    channel = Comm()
    targets[comm.TARGET](channel, {})
    assert channel.sent == [{"event": "ready", "protocol": 1}]
    channel.receive({"content": {"data": {"id": 1, "method": "nothing"}}})
    assert "error" in channel.sent[-1]
    shell.user_ns["m"] = wb.compile("__global__ void k(int *p) { *p = 1; }", arch="gfx950")
    shell.events.trigger("post_run_cell", None)
    assert channel.sent[-1] == {"event": "changed"}
    channel.close({})
    shell.events.trigger("post_run_cell", None)
    assert len(channel.sent) == 3
    comm.unregister(shell)  # type: ignore[arg-type]
    assert not targets
    assert not shell.events.callbacks["post_run_cell"]
    assert comm.register(SimpleNamespace(user_ns={})) is None  # type: ignore[arg-type]
