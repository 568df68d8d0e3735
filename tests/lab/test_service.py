"""The kernel's answers to the editor, for a compiled cell and a counted launch on the emulated device."""

from __future__ import annotations

import json
import queue
import subprocess
import sys
import threading
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from IPython.core.interactiveshell import InteractiveShell

import workbench as wb
from workbench.events import hub
from workbench.history import recorder
from workbench.lab.heat import heat
from workbench.lab.reference import LIKELY
from workbench.lab.service import Service
from workbench.magics.cell import written
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
def service(module: wb.Module) -> Service:
    return Service({"scale": module, "_hidden": module, "other": 3})


def ask(service: Service, method: str, **params: Any) -> Any:
    reply = service.answer({"id": 7, "method": method, "params": params})
    assert json.loads(json.dumps(reply)) == reply
    assert reply["id"] == 7
    return reply


def test_state_has_device_compiler_and_modules(service: Service) -> None:
    state = ask(service, "state")["result"]
    (scale,) = state["modules"]
    assert scale["name"] == "scale"
    (kernel,) = scale["kernels"]
    assert kernel["counted"]
    assert kernel["resources"]["vgpr"] > 0
    (device,) = [device for device in state["devices"] if device["default"]]
    # Used memory is the module's, not the part of the device's memory that this computer lacks.
    assert 0 < device["memory_used"] < 2**30
    assert device["memory_used"] < device["memory_limit"] <= device["memory_total"] == 288 << 30
    assert state["compiler"]["version"]


def test_machine_code_has_lines_counts_and_loop(service: Service) -> None:
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
    service = Service(namespace)
    assert ask(service, "isa", module="scale")["result"]["previous"] is None
    namespace["scale"] = wb.compile(
        SOURCE.replace("0.75f", "0.25f"), arch="gfx950", name="scale.hip", first_line=FIRST_LINE
    )
    reply = ask(service, "isa", module="scale")["result"]
    assert reply["listing"]["counts"] is None
    assert reply["previous"]["counts"] is not None
    # Binding the same code again is not a new compilation.
    namespace["scale"] = wb.compile(
        SOURCE.replace("0.75f", "0.25f"), arch="gfx950", name="scale.hip", first_line=FIRST_LINE
    )
    assert ask(service, "isa", module="scale")["result"]["previous"]["texts"] == reply["previous"]["texts"]


def test_refresh_lists_the_changes(module: wb.Module) -> None:
    namespace: dict[str, Any] = {}
    service = Service(namespace)
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
def test_errors_are_answers(service: Service, request_: dict[str, Any], message: str) -> None:
    reply = service.answer({"id": 1, **request_})
    assert message in reply["error"]["message"]


def test_heat_charges_inlined_code_to_the_cell(module: wb.Module) -> None:
    kernel = module["scale"]
    assert kernel.last is not None
    result = heat(kernel, latest(kernel))
    assert result is not None
    by_line = {line.line: line for line in result.lines}
    inside = by_line.get(LINE_OF["return x + x;"])
    loop = by_line.get(LINE_OF["value = twice(value) * 0.75f;"])
    hot = [line for line in (inside, loop) if line is not None]
    assert sum(line.values["instructions"] for line in hot) >= 4 * 10
    counts = kernel.last.record.counts or {}
    total = sum(line.values["instructions"] for line in result.lines) + result.elsewhere.get(
        "instructions", 0
    )
    assert total == sum(counts.values())
    for line in result.lines:
        assert sum(line.instructions.values()) == line.values["instructions"]
    assert heat(kernel, None) is None


def test_the_form_of_a_reference_begins_with_the_last_launch(service: Service) -> None:
    form = ask(service, "reference_form", module="scale")["result"]
    assert (form.pop("used"), len(form.pop("fitting"))) == ([], LIKELY)
    assert form == {
        "launch": "scale[4, 64]",
        "inputs": "dict(x=torch.randn((256,)), n=256, times=10)",
        "outputs": "x",
        "reference": "lambda x, n, times: ",
    }
    # The texts are Python that repeats the launch.
    assert eval(form["inputs"], {"torch": torch})["x"].shape == (256,)
    assert ask(service, "reference_form", module="nothing")["result"] == {"used": [], "fitting": []}


def checked(text: str) -> list[dict[str, Any]]:
    """The compiler's diagnostics for the text of a cell, through a notebook's kernel."""
    shell = InteractiveShell()
    service = Service({}, partial(written, shell))
    replies: queue.Queue[dict[str, Any]] = queue.Queue()
    service.reply({"id": 3, "method": "check", "params": {"text": text}}, replies.put)
    reply = replies.get(timeout=300)
    assert json.loads(json.dumps(reply)) == reply
    diagnostics: list[dict[str, Any]] = reply["result"]["diagnostics"]
    return diagnostics


def test_a_cell_is_checked_as_it_stands() -> None:
    body = "__global__ void k(int *p) {\n    *p = N + missing;\n}"
    diagnostics = checked(f"%%hipkittens k --arch gfx942 -D N=4\n{body}")
    assert [
        (diagnostic["line"], diagnostic["column"], diagnostic["severity"]) for diagnostic in diagnostics
    ] == [(3, 14, "error")]
    assert "missing" in diagnostics[0]["message"]
    assert checked(f"%%hipkittens k --arch gfx942 -D N=4 -D missing=1\n{body}") == []
    # A line that is half typed.
    assert checked(f"%%hipkittens k --arch gf\n{body}") == []
    assert checked(f"%%hipkittens\n{body}") == []


def test_a_check_says_mistakes_as_a_compilation_does() -> None:
    """Checking runs only the compiler's front end, with the same messages."""
    body = """#include "kittens.cuh"
using namespace kittens;
__global__ void k(float *p) {
    rt_fl<32, 32> d;
    rt_bf<32, 32> a;
    mma_AB(d, a, a, d);
}"""
    with pytest.raises(wb.CompileError) as error:
        wb.compile(body, arch="gfx950", first_line=2)
    expected = [(diagnostic.cell_line, diagnostic.message) for diagnostic in error.value.diagnostics]
    assert expected
    assert [
        (diagnostic["line"], diagnostic["message"])
        for diagnostic in checked(f"%%hipkittens k --arch gfx950\n{body}")
    ] == expected


@pytest.mark.parametrize(
    ("setting", "message"), [("/no/clangd", "'/no/clangd', which is not a program"), ("", "")]
)
@pytest.mark.parametrize("method", ["complete", "hover", "signatures", "definition"])
def test_without_clangd_the_answer_says_so(
    method: str, setting: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If it is switched off, there is no message."""
    monkeypatch.setenv("HIPKITTENS_CLANGD", setting)
    text = "%%hipkittens k\n__global__ void k() {\n    zero(tile);\n}"
    params = {"text": text, "line": 2, "column": 6 if method == "complete" else 9}
    error = Service({}).answer({"id": 1, "method": method, "params": params})["error"]
    assert message in error["message"]
    assert bool(error["message"]) == bool(message)


def test_clangd_s_answers_do_not_wait_for_a_compilation(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HIPKITTENS_CLANGD", "")
    go_on = threading.Event()

    def read(_: str) -> Any:
        go_on.wait(60)
        raise wb.errors.UsageError("half typed")

    service = Service({}, read)
    replies: queue.Queue[dict[str, Any]] = queue.Queue()
    text = "%%hipkittens k\nvoid f() {}"
    service.reply({"id": 1, "method": "check", "params": {"text": text}}, replies.put)
    service.reply({"id": 2, "method": "hover", "params": {"text": text, "line": 1, "column": 6}}, replies.put)
    assert replies.get(timeout=60)["id"] == 2
    go_on.set()
    assert replies.get(timeout=60)["id"] == 1


_ASKED_FIRST = """
import sys, threading
from workbench.lab.service import Service
go_on = threading.Event()
def read(text):
    go_on.wait()
    raise SystemExit
Service({}, read).reply({"id": 1, "method": "check", "params": {"text": "%%hipkittens x"}}, print)
print("workbench.profile.profiler" in sys.modules, "workbench.views.cell" in sys.modules)
go_on.set()
"""


def test_imports_for_a_cell_finish_before_a_concurrent_check_continues() -> None:
    """Otherwise a cell run during the first check could meet a half-imported module."""
    process = subprocess.run(
        [sys.executable, "-c", _ASKED_FIRST], capture_output=True, text=True, timeout=300
    )
    assert process.stdout.split() == ["True", "True"], process.stderr


def test_runs_are_those_of_the_kernels_notebook_or_of_its_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HIPKITTENS_HISTORY", str(tmp_path / "runs.sqlite"))
    for name in ("first", "second"):
        monkeypatch.setenv("JPY_SESSION_NAME", str(tmp_path / f"{name}.ipynb"))
        recorder.stop()
        hub.clear()
        assert recorder.start() is not None
        hub.publish("failed", f"of_{name}", {"kind": "time", "error": "stopped", "shape": {}})
    service = Service({})

    def listed(**how: bool) -> list[tuple[str, str]]:
        reply = service.answer({"id": 1, "method": "runs", "params": how})
        return [(run["module"], run["notebook"]) for run in reply["result"]["runs"]]

    try:
        assert listed() == [("of_second", "second.ipynb")]
        assert listed(folder=True) == [("of_first", "first.ipynb"), ("of_second", "second.ipynb")]
    finally:
        recorder.stop()
        hub.clear()
