"""A notebook from somebody else: it is opened and clicked through, and nothing in its outputs runs.

The same notebook, signed, does run its script, so the test would notice it.
"""

from __future__ import annotations

import html
import http.server
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anywidget
import pytest

from workbench.lab import payload
from workbench.views import static_copy

if TYPE_CHECKING:
    from conftest import Lab, Server

pytestmark = pytest.mark.timeout(1800)

SOURCE = """\
%%hipkittens scale
#include <hip/hip_runtime.h>
__global__ void scale(float *x, float by) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    x[i] *= by;
}"""
WIDGET = "application/vnd.jupyter.widget-view+json"
STATE = "application/vnd.jupyter.widget-state+json"
MODEL = "5afe5afe5afe5afe5afe5afe5afe5afe"
DASHBOARD, COMPILED = range(2)


@dataclass
class Listener:
    """A server that records the requests it gets."""

    port: int
    asked: list[str] = field(default_factory=list)

    def hit(self, name: str) -> str:
        """JavaScript that leaves a mark on the page, and asks this server."""
        return f"(top.ran=top.ran||[]).push('{name}');new Image().src='http://127.0.0.1:{self.port}/{name}'"


@pytest.fixture
def listener() -> Iterator[Listener]:
    listener: Listener

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            listener.asked.append(self.path)
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        listener = Listener(server.server_address[1])
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield listener
        server.shutdown()


def scripts(listener: Listener, where: str) -> dict[str, str]:
    """HTML, by name, that runs a script if a page inserts it without escaping."""

    def hit(name: str) -> str:
        return html.escape(listener.hit(f"{where}-{name}"))

    return {
        "script": f"<script>{listener.hit(f'{where}-script')}</script>",
        "closed": f"\"'></pre></style></title><script>{listener.hit(f'{where}-closed')}</script>",
        "error": f'<img src="x:" onerror="{hit("error")}">',
        "attribute": f'" onmouseover="{hit("attribute")}" onclick="{hit("attribute")}" autofocus x="',
        "quote": f"' onmouseover='{hit('quote')}' onfocus='{hit('quote')}' tabindex=1 autofocus x='",
        "svg": f'<svg onload="{hit("svg")}"><animate attributeName=x begin=0s onbegin="{hit("svg")}"/></svg>',
        "link": f'<a href="javascript:{hit("link")}">a link</a>',
        "frame": f'<iframe srcdoc="&lt;script&gt;{html.escape(hit("frame"))}&lt;/script&gt;"></iframe>',
        "source": f'<iframe src="javascript:{hit("source")}"></iframe>',
        "style": f'<style onload="{hit("style")}">@import "http://127.0.0.1:{listener.port}/style";</style>',
        "details": f'<details open ontoggle="{hit("details")}"><summary>more</summary></details>',
        "object": f'<object data="data:text/html,<script>{hit("object")}</script>"></object>',
    }


def poisoned(cell: payload.CellPayload, text: str) -> dict[str, Any]:
    """A cell's payload for the editor with `text` in place of each of its texts."""
    unchanged = {"status", "severity", "at", "key", "source"}

    def walk(value: Any, name: str = "") -> Any:
        if isinstance(value, dict):
            return {key: walk(child, key) for key, child in value.items()}
        if isinstance(value, list):
            return [walk(child, name) for child in value]
        return text if isinstance(value, str) and name not in unchanged else value

    result: dict[str, Any] = walk(cell.to_dict())
    return result


def cell_payload(body: str) -> payload.CellPayload:
    """The payload of a cell that was compiled and profiled and has findings, with every part filled."""
    return payload.CellPayload(
        name="scale",
        status="compiled",
        body=body,
        device=payload.Device("emulated:gfx950", "MI355X (emulated)", "gfx950", 1 << 30, 4096),
        origin="modelled",
        compile=payload.Compilation(0.25, cached=False, compiler="clang"),
        diagnostics=(
            payload.Finding(
                3,
                9,
                "error",
                "text",
                notes=("note",),
                fixits=(payload.Fix((3, 9), (3, 10), "j"),),
                option="-Wx",
            ),
            payload.Finding(4, 5, "warning", "text", source="sanitizer"),
        ),
        kernels=(
            payload.Kernel("scale", "void scale()", payload.Resources(8, 0, 16, 0, 4, 1, 8, "VGPR"), ("+1",)),
        ),
        run=payload.Run(
            "profile",
            "2026-01-01T00:00:00+00:00",
            "scale",
            payload.Time(1.5, "us", "modelled", "told"),
            False,
            ("change",),
            "error",
        ),
        heat=payload.Heat(
            "scale",
            [payload.Measure("issue_cycles", "issue cycles", "cycles", "modelled", "doc")],
            [payload.HeatLine(line, {"issue_cycles": 12.0}, {"VALU": 3}) for line in (3, 4)],
        ),
    )


def output(**data: Any) -> dict[str, Any]:
    return {"output_type": "display_data", "metadata": {}, "data": data}


def widget_state(listener: Listener) -> dict[str, Any]:
    """A widget as a notebook's metadata stores it, with a script."""
    script = (
        f"{listener.hit('module')}; export default {{ initialize() {{ {listener.hit('initialize')} }}, "
        f"render() {{ {listener.hit('render')} }} }}"
    )
    return {
        "model_module": "anywidget",
        "model_module_version": f"~{anywidget.__version__.rpartition('.')[0]}.*",
        "model_name": "AnyModel",
        "state": {"_anywidget_id": "x", "_esm": script, "_view_module": "anywidget", "_view_name": "AnyView"},
    }


def compiled(listener: Listener) -> Iterator[list[dict[str, Any]]]:
    """Outputs of compiled cells, each with a different script in all of its texts."""
    for name, text in scripts(listener, "cell").items():
        bundle = {
            payload.MIME_TYPE: poisoned(cell_payload(SOURCE.partition("\n")[2]), text),
            "text/plain": text,
        }
        yield [output(**bundle, **{"text/html": f'<div class="wb" title="{name}">{text}</div>'})]


def live(listener: Listener, model: str) -> list[dict[str, Any]]:
    """Outputs of a dashboard and of its copy: the widget, a page, a figure, a picture."""
    view = {"version_major": 2, "version_minor": 0, "model_id": model}
    page = "".join(scripts(listener, "copy").values())
    bars = [
        {"type": "bar", "x": [1], "y": [text], "name": text, "hovertemplate": text, "text": [text]}
        for text in scripts(listener, "figure").values()
    ]
    notes = [{"text": text, "hovertext": text, "x": 0, "y": 0} for text in scripts(listener, "note").values()]
    figure = {
        "data": bars,
        "layout": {"title": {"text": page}, "annotations": notes},
        "config": {"displaylogo": False},
    }
    picture = (
        '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9" '
        f'onload="{html.escape(listener.hit("picture"))}">'
        f"<script>{listener.hit('picture-script')}</script></svg>"
    )
    copy = f'<div class="wb wb-static" data-outputs="2">{page}</div>'
    return [
        output(**{WIDGET: view, static_copy.MIME_TYPE: view, "text/plain": page}),
        output(**{"text/html": copy, "text/plain": page}),
        output(**{"application/vnd.plotly.v1+json": figure, "image/svg+xml": picture, "text/plain": page}),
        output(**{"image/svg+xml": picture, "text/plain": page}),
        output(**{WIDGET: view, "text/plain": page}),
        output(**{"application/javascript": listener.hit("javascript"), "text/plain": "javascript"}),
    ]


def write(
    path: Path, cells: Sequence[tuple[str, list[dict[str, Any]]]], widgets: dict[str, Any] | None = None
) -> str:
    """Writes a notebook with outputs; returns its name."""
    document = {
        "nbformat": 4,
        "nbformat_minor": 5,
        "metadata": {
            "kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"},
            "language_info": {"name": "python"},
            "widgets": {STATE: {"version_major": 2, "version_minor": 0, "state": widgets or {}}},
        },
        "cells": [
            {
                "cell_type": "code",
                "id": f"cell-{i}",
                "metadata": {},
                "source": source,
                "outputs": outputs,
                "execution_count": 1,
            }
            for i, (source, outputs) in enumerate(cells)
        ],
    }
    path.write_text(json.dumps(document))
    return path.name


def somebodys(path: Path, listener: Listener) -> str:
    """Writes a notebook with a script in every text of its outputs; returns its name."""
    cells = [
        ("wb.dashboard()", live(listener, MODEL)),
        *((SOURCE, outputs) for outputs in compiled(listener)),
    ]
    return write(path, cells, {MODEL: widget_state(listener)})


CLICKED = """\
.jp-OutputArea summary, .jp-OutputArea a:not([href^=http]), .jp-OutputArea button, .jp-OutputArea [role=tab],
.jp-OutputArea .legendtoggle, .jp-OutputArea [onclick], .jp-OutputArea [onmouseover],
.jp-hipkittens-Sidebar .jp-hipkittens-List button, .jp-hipkittens-Sidebar summary, .cm-diagnosticAction,
.jp-hipkittens-Isa summary, .jp-hipkittens-Isa button
"""


def click_through(lab: Lab) -> None:
    """Acts as a reader: looks at marks and heat, chooses, goes to findings, opens the machine code."""
    page = lab.page
    lab.command("hipkittens:show-sidebar")
    lab.says(lab.sidebar, "Kernels")
    for number in range(COMPILED, lab.cells.count()):
        for mark in (".cm-lintRange-error", ".cm-lint-marker-error", ".jp-hipkittens-HeatMark"):
            lab.point(lab.cell(number).locator(mark).first, page.locator(".cm-tooltip").first)
            page.mouse.move(0, 0)
        lab.editor(number).click()
        lab.command("hipkittens:next-finding")
        page.locator(".cm-tooltip-lint").first.wait_for()
        measure = lab.sidebar.get_by_label("Measure of the line heat")
        for option in ("", "issue_cycles"):
            measure.select_option(option)
    lab.command("hipkittens:open-isa")
    page.locator(".jp-hipkittens-Isa").first.wait_for()
    page.evaluate(
        """selector => {
            for (const one of document.querySelectorAll(selector)) {
                for (const kind of ['mouseover', 'focus', 'click']) {
                    one.dispatchEvent(new MouseEvent(kind, { bubbles: true, cancelable: true }));
                }
            }
        }""",
        CLICKED,
    )
    for slider in page.locator(".jp-OutputArea input[type=range], .jp-OutputArea [role=slider]").all():
        slider.press("ArrowRight")


def drawn(lab: Lab) -> None:
    """Waits until the figure is there, so plotly and the widgets' scripts are too."""
    lab.cell(DASHBOARD).locator(".main-svg").first.wait_for(state="attached")
    lab.idle()


def ran(lab: Lab) -> list[str]:
    names: list[str] = lab.page.evaluate("window.ran ?? []")
    return names


def trusted(lab: Lab) -> list[bool]:
    flags: list[bool] = lab.page.evaluate(
        "[...window.jupyterapp.shell.currentWidget.content.model.cells].map(cell => cell.trusted)"
    )
    return flags


def test_nothing_runs_in_a_notebook_of_somebody_else(
    open_lab: Callable[..., Lab], server: Server, listener: Listener
) -> None:
    # File names are shown too; only a slash cannot be in one.
    name = "else<img src=x onerror=(top.ran=top.ran||[]).push(1)>.ipynb"
    somebodys(server.folder / name, listener)
    lab = open_lab()
    dialogs: list[str] = []
    lab.page.on("dialog", lambda dialog: (dialogs.append(dialog.message), dialog.dismiss()))
    lab.open(name)
    drawn(lab)
    assert not any(trusted(lab))
    # The kernel has no such widget, so only the copy is shown.
    lab.cell(DASHBOARD).locator(".jp-hipkittens-LiveView.lm-mod-hidden").wait_for(state="attached")
    click_through(lab)
    lab.page.wait_for_timeout(1000)
    lab.shot("untrusted")
    assert (ran(lab), listener.asked, dialogs) == ([], [], [])


def test_the_same_notebook_runs_once_it_is_trusted(
    open_lab: Callable[..., Lab], server: Server, listener: Listener
) -> None:
    name = somebodys(server.folder / "trusted.ipynb", listener)
    lab = open_lab()
    lab.open(name)
    drawn(lab)
    assert ran(lab) == []
    subprocess.run(
        [sys.executable, "-m", "jupyter", "trust", name],
        check=True,
        cwd=server.folder,
        env={**os.environ, "JUPYTER_DATA_DIR": str(server.folder.parent / "data")},
    )
    lab.page.reload()
    lab.ready()
    drawn(lab)
    assert all(trusted(lab))
    expected = {"cell-script", "cell-error", "copy-script", "javascript", "module", "initialize"}
    lab.until(lambda: expected <= set(ran(lab)), lambda: f"{expected} in {ran(lab)}")
    lab.until(lambda: {f"/{script}" for script in expected} <= set(listener.asked), "the requests")


OWN = """\
import anywidget

class Own(anywidget.AnyWidget):
    _esm = "export default { render({ el }) { el.textContent = 'own widget'; } }"

own = Own()
print(own.model_id)"""


def test_a_file_that_names_a_widget_of_the_kernel(
    open_lab: Callable[..., Lab], server: Server, listener: Listener
) -> None:
    """For a widget id that the kernel has, the kernel's widget is shown, not the file's."""
    lab = open_lab()
    path = server.folder / "living.ipynb"
    lab.open(server.notebook(path.name, [OWN]))
    lab.run(0)
    model = lab.output(0).inner_text().strip()
    lab.save()
    write(path, [("own", live(listener, model))], {model: widget_state(listener)})
    lab.page.close()
    lab = open_lab()
    lab.open(path.name)
    drawn(lab)
    # A widget without the dashboard's grid is hidden above a copy, and so is one without its kernel.
    lab.cell(0).get_by_text("own widget").wait_for(state="attached")
    assert not any(trusted(lab))
    lab.page.wait_for_timeout(1000)
    assert (ran(lab), listener.asked) == ([], [])
