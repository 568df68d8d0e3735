"""What the kernel answers the editor, over a compiled cell and a counted launch on the emulated device."""

from __future__ import annotations

import json
import sys
import threading
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from ipywidgets.widgets import widget

import workbench as wb
from workbench.events import Hub
from workbench.lab import comm, completer, panel, warm
from workbench.lab.heat import heat
from workbench.profile.instructions import latest
from workbench.runtime import LaunchOptions

SOURCE = """\
#include <hip/hip_runtime.h>

__device__ inline float twice(float x) {
    return x + x;
}

extern "C" __global__ void scale(float *x, int n, int times) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float value = x[i];
    for (int k = 0; k < times; k++) {
        value = twice(value) * 0.75f;
    }
    x[i] = value;
}
"""
FIRST_LINE = 2
LINE_OF = {text.strip(): number for number, text in enumerate(SOURCE.splitlines(), FIRST_LINE)}


@pytest.fixture(scope="module")
def module() -> wb.Module:
    compiled = wb.compile(SOURCE, arch="gfx950", name="scale.hip", first_line=FIRST_LINE)
    x = torch.ones(256)
    launch = wb.Launch(4, 64)
    compiled["scale"].launch(launch, (x, 256, 10), {}, options=LaunchOptions(count=True))
    torch.testing.assert_close(x, torch.full((256,), 1.5**10))
    return compiled


@pytest.fixture
def service(module: wb.Module) -> comm.Service:
    return comm.Service({"scale": module, "_hidden": module, "other": 3})


def ask(service: comm.Service, method: str, **params: Any) -> Any:
    reply = service.answer({"id": 7, "method": method, "params": params})
    assert json.loads(json.dumps(reply)) == reply
    assert reply["id"] == 7
    return reply


def test_state_tells_device_compiler_and_modules(service: comm.Service) -> None:
    state = ask(service, "state")["result"]
    (scale,) = state["modules"]
    assert scale["name"] == "scale"
    (kernel,) = scale["kernels"]
    assert kernel["counted"]
    assert kernel["resources"]["vgpr"] > 0
    (device,) = [device for device in state["devices"] if device["default"]]
    # What is used is what the module took, not what this computer's memory has too little for the device's.
    assert 0 < device["memory_used"] < 2**30
    assert device["memory_used"] < device["memory_limit"] <= device["memory_total"] == 288 << 30
    assert state["compiler"]["version"]


def test_machine_code_has_lines_counts_and_loop(service: comm.Service) -> None:
    listing = ask(service, "isa", module="scale")["result"]["listing"]
    rows = len(listing["texts"])
    assert all(len(listing[key]) == rows for key in ("addresses", "classes", "lines", "counts", "vgprs"))
    assert "s_endpgm" in listing["texts"]
    loop = LINE_OF["value = twice(value) * 0.75f;"]
    inside = LINE_OF["return x + x;"]
    in_loop = [row for row in range(rows) if listing["lines"][row] in (loop, inside)]
    assert in_loop
    # 4 waves, 10 rounds each; the compiler may unroll, so that an instruction stands for several rounds.
    arithmetic = sum(listing["counts"][r] for r in in_loop if listing["classes"][r] == "valu")
    assert arithmetic >= 4 * 10
    assert listing["loops"]
    assert max(listing["vgprs"]) <= 32


def test_previous_compile_comes_with_the_listing(module: wb.Module) -> None:
    namespace = {"scale": module}
    service = comm.Service(namespace)
    assert ask(service, "isa", module="scale")["result"]["previous"] is None
    namespace["scale"] = wb.compile(
        SOURCE.replace("0.75f", "0.25f"), arch="gfx950", name="scale.hip", first_line=FIRST_LINE
    )
    reply = ask(service, "isa", module="scale")["result"]
    assert reply["listing"]["counts"] is None
    assert reply["previous"]["counts"] is not None
    # The same code bound again is no new compile.
    namespace["scale"] = wb.compile(
        SOURCE.replace("0.75f", "0.25f"), arch="gfx950", name="scale.hip", first_line=FIRST_LINE
    )
    assert ask(service, "isa", module="scale")["result"]["previous"]["texts"] == reply["previous"]["texts"]


def test_refresh_tells_what_changed(module: wb.Module) -> None:
    namespace: dict[str, Any] = {}
    service = comm.Service(namespace)
    assert not service.refresh()
    namespace["a"] = module
    assert service.refresh()
    assert not service.refresh()
    del namespace["a"]
    assert service.refresh()


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        ({"method": "isa", "params": {"module": "absent"}}, "run its cell again"),
        ({"method": "isa", "params": {"module": "scale", "kernel": "scal"}}, "did you mean scale"),
        ({"method": "nothing"}, "unknown request 'nothing'"),
        ({"method": "isa", "params": {"wrong": 1}}, "wrong"),
    ],
)
def test_errors_are_answers(service: comm.Service, request_: dict[str, Any], message: str) -> None:
    reply = service.answer({"id": 1, **request_})
    assert message in reply["error"]["message"]


def test_index_is_sent_once(service: comm.Service) -> None:
    first = ask(service, "index")["result"]
    assert "result" in ask(service, "index", digest=first["digest"])
    assert "entries" not in ask(service, "index", digest=first["digest"])["result"]


def test_heat_charges_inlined_code_to_the_cell(module: wb.Module) -> None:
    kernel = module["scale"]
    assert kernel.last is not None
    found = heat(kernel, latest(kernel))
    assert found is not None
    by_line = {line.line: line for line in found.lines}
    inside = by_line.get(LINE_OF["return x + x;"])
    loop = by_line.get(LINE_OF["value = twice(value) * 0.75f;"])
    hot = [line for line in (inside, loop) if line is not None]
    assert sum(line.values["instructions"] for line in hot) >= 4 * 10
    counts = kernel.last.record.counts or {}
    total = sum(line.values["instructions"] for line in found.lines) + found.elsewhere.get("instructions", 0)
    assert total == sum(counts.values())
    for line in found.lines:
        assert sum(line.instructions.values()) == line.values["instructions"]
    assert heat(kernel, None) is None


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


class Events(dict[str, list[Any]]):
    def register(self, name: str, handler: Any) -> None:
        self.setdefault(name, []).append(handler)

    def unregister(self, name: str, handler: Any) -> None:
        self[name].remove(handler)


def test_register_opens_a_comm_and_tells_changes(module: wb.Module, monkeypatch: pytest.MonkeyPatch) -> None:
    targets: dict[str, Any] = {}
    manager = SimpleNamespace(
        register_target=targets.__setitem__, unregister_target=lambda name, _: targets.pop(name)
    )
    monkeypatch.setattr("comm.get_comm_manager", lambda: manager)

    class Shell:
        kernel = object()
        events = Events()
        user_ns: dict[str, Any] = {}  # noqa: RUF012

    shell = Shell()
    assert comm.register(shell) is not None  # type: ignore[arg-type]
    assert comm.register(shell) is not None  # type: ignore[arg-type]
    channel = Comm()
    targets[comm.TARGET](channel, {})
    assert channel.sent == [{"event": "ready", "protocol": 1}]
    channel.receive({"content": {"data": {"id": 1, "method": "nothing"}}})
    assert "error" in channel.sent[-1]
    shell.user_ns["m"] = module
    (handler,) = shell.events["post_run_cell"]
    handler(None)
    assert channel.sent[-1] == {"event": "changed"}
    channel.close({})
    handler(None)
    assert len(channel.sent) == 3
    comm.unregister(shell)  # type: ignore[arg-type]
    assert not targets
    assert not shell.events["post_run_cell"]
    assert comm.register(SimpleNamespace(user_ns={})) is None  # type: ignore[arg-type]


def told(runs: comm.Runs, sent: list[dict[str, Any]]) -> list[dict[str, Any]]:
    runs.flush()
    return [run for message in sent for run in message["runs"]]


def test_runs_outside_of_cells_are_told_in_batches() -> None:
    spec = "normalization/rmsnorm"
    shape = {"rows": 4, "cols": 128}
    timed = wb.time(spec, shape=shape, device="emulated:gfx950")
    hub = Hub()
    sent: list[dict[str, Any]] = []
    runs = comm.Runs(sent.append)
    hub.subscribe(runs.take)
    hub.publish("launch", "rmsnorm")
    hub.publish("verify", spec, {"passed": False, "shape": shape, "device": "emulated:gfx950"})
    hub.publish("time", spec, timed)
    verified, time = told(runs, sent)
    assert json.loads(json.dumps(sent)) == sent
    assert (verified["kind"], verified["module"], verified["verified"]) == ("verify", spec, False)
    assert time["time"] == {"value": timed.median.value, "unit": "us", "origin": "modelled"}
    assert time["changes"] == ["rows=4, cols=128"]
    assert time["verified"] is None
    sent.clear()
    for _ in range(3 * comm.RUNS):
        hub.publish("time", spec, timed)
    assert len(told(runs, sent)) >= comm.RUNS
    assert len(sent) <= 3
    sent.clear()
    hub.publish("failed", spec, {"kind": "profile", "error": "wild address", "shape": shape})
    (failed,) = told(runs, sent)
    assert (failed["kind"], failed["error"], failed["verified"]) == ("profile", "wild address", None)
    assert failed["changes"] == ["rows=4, cols=128"]
    sent.clear()
    runs.told_by_cell = True
    hub.publish("time", spec, timed)
    assert told(runs, sent) == []


def test_the_panel_has_one_dashboard_a_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[Any] = []
    monkeypatch.setattr("IPython.display.display", shown.append)
    try:
        panel.show()
        first = panel._open
        assert first is not None
        panel.show()
        assert shown == [first.box, first.box]
        widgets = len(widget._instances)
        assert comm.Service({}).answer({"id": 1, "method": "close_dashboard"}) == {"id": 1, "result": None}
        assert panel._open is None
        assert len(widget._instances) < widgets
        panel.show()
        assert shown[-1] is not first.box
    finally:
        panel.close()


def test_imports_ahead_begin_after_the_cell_and_only_in_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    begun = threading.Event()
    monkeypatch.setattr(warm, "load", begun.set)
    shell = SimpleNamespace(kernel=object(), events=Events())
    warm.start(shell)  # type: ignore[arg-type]
    (handler,) = shell.events["post_run_cell"]
    assert not begun.is_set()
    handler(None)
    assert begun.wait(20)
    assert shell.events["post_run_cell"] == []
    warm.start(SimpleNamespace(events=None))  # type: ignore[arg-type]


def test_imports_ahead_leave_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(warm, "PACKAGES", ("no_such_package", "wave"))
    monkeypatch.delitem(sys.modules, "wave", raising=False)
    warm.load()
    assert "wave" in sys.modules


def test_completion_in_cells_only() -> None:
    cell = "%%hipkittens k --pro\nint rows_here = 1;\nrow"
    start, found = completer.candidates(cell, 2, "row") or ("", [])
    assert start == "row"
    assert ("rows_here", "text") in found
    assert any(name == "row_sum" for name, _ in found)
    assert completer.candidates(cell, 0, "%%hipkittens k --pro") == ("--pro", [("--profile", "flag")])
    assert completer.candidates("x = 1\nrow", 1, "row") is None
    assert completer.candidates("%%hipkittens_other\nrow", 1, "row") is None


def test_matcher_takes_the_place_of_python_s_in_a_shell() -> None:
    ipython = pytest.importorskip("IPython.core.interactiveshell")
    shell = ipython.InteractiveShell()
    completer.install(shell)
    completer.install(shell)
    assert len(shell.Completer.custom_matchers) == 1
    text = "%%hipkittens k\nrow_su"
    from IPython.core.completer import provisionalcompleter

    with provisionalcompleter():
        found = [completion.text for completion in shell.Completer.completions(text, len(text))]
    assert found == ["row_sum"]
    completer.remove(shell)
    assert not shell.Completer.custom_matchers
