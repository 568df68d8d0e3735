"""Journeys of a newcomer, an author, an engineer, and somebody who returns after a week.

Each at 1440 x 900 or 1024 x 700, light or dark (`LOOKS`).
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from workbench.lab.templates import template

if TYPE_CHECKING:
    from conftest import Lab, Server

pytestmark = pytest.mark.timeout(1800)

TUTORIAL = Path(__file__).parents[2] / "notebooks" / "01_first_kernel.ipynb"

# A column is read by 64 lanes from one bank: the line that waits is line 7 of the cell.
SLOW = """\
%%hipkittens turn
#include <hip/hip_runtime.h>
__global__ void turn(const float *x, float *out) {
    __shared__ float tile[64 * 64];
    for (int row = 0; row < 64; row++) tile[row * 64 + threadIdx.x] = x[row * 64 + threadIdx.x];
    __syncthreads();
    for (int row = 0; row < 64; row++) out[row * 64 + threadIdx.x] = tile[threadIdx.x * 64 + row];
}"""
FAST = SLOW.replace("64 * 64]", "64 * 65]").replace("* 64 + threadIdx.x] = x", "* 65 + threadIdx.x] = x")
FAST = FAST.replace("tile[threadIdx.x * 64", "tile[threadIdx.x * 65")
LOAD, CELL, SHARE = range(3)
ENGINEER = [
    "%env HIPKITTENS_HISTORY=engineer.sqlite\n%load_ext workbench\nimport torch\nimport workbench as wb",
    SLOW,
    'wb.report("turn.html", wb.profile(turn["turn"][1, 64], torch.zeros(64, 64), torch.zeros(64, 64)))',
]
OWN = {
    "Launch": "turn[1, 64]",
    "Inputs, all by name": "dict(x=torch.randn(64, 64), out=torch.zeros(64, 64))",
    "Outputs among them": "out",
}


def test_newcomer(lab: Lab, server: Server, look: tuple[int, int, bool]) -> None:
    folder = server.folder / "notebooks"
    folder.mkdir(exist_ok=True)
    shutil.copy(TUTORIAL, folder)
    lab.page.goto(server.url("lab?reset"))
    lab.page.locator(".jp-LauncherCard", has_text="HipKittens Tutorial").wait_for()
    lab.theme(dark=look[2])
    lab.seen(look, "launcher")
    lab.page.locator(".jp-LauncherCard", has_text="HipKittens Tutorial").click()
    lab.until(lambda: lab.cells.count() > 10, "the tutorial")
    lab.ready()
    # Three lines of orientation, until they have been read.
    guide = lab.sidebar.get_by_role("region", name="What is where")
    lab.until(lambda: guide.get_by_role("listitem").count() == 3, "three lines")
    lab.command("application:toggle-left-area")
    lab.seen(look, "newcomer")
    guide.get_by_role("button", name="Got it").click()
    guide.wait_for(state="detached")

    cells = range(lab.cells.count())
    kernel = next(i for i in cells if lab.text(i).startswith("%%hipkittens rms"))
    lab.run(0)
    lab.run(kernel)
    lab.run(kernel + 1)
    source = lab.text(kernel)
    broken = "rsqrt(scale, scale)"
    lab.write(kernel, source.replace(f"{broken};", broken))
    lab.run(kernel)
    marked = lab.cell(kernel).locator(".cm-line:has(.cm-lintRange-error)")
    marked.first.wait_for()
    assert marked.first.inner_text().strip().startswith(broken)
    # Away from the text, so that no tool tip is in the picture.
    lab.page.mouse.move(5, 5)
    lab.seen(look, "newcomer-broken")
    lab.write(kernel, source)
    lab.run(kernel)
    lab.until(lambda: lab.cell(kernel).locator(".cm-lintRange-error").count() == 0, "the mark to go")
    lab.editor(kernel).press("Escape")
    lab.button("Profile").click()
    lab.finish(kernel)
    lab.cell(kernel).locator(".jp-hipkittens-HeatMark").first.wait_for()
    lab.seen(look, "newcomer-mended")
    assert [text for text in lab.complaints if "hipkittens" in text.lower()] == []


def test_a_kernel_from_a_template(lab: Lab, server: Server, look: tuple[int, int, bool]) -> None:
    lab.page.goto(server.url("lab?reset"))
    cards = lab.page.locator(".jp-LauncherCard", has_text="HipKittens")
    card = cards.filter(has_text="Attention")
    card.wait_for()
    lab.theme(dark=look[2])
    place = card.bounding_box()
    assert place is not None
    assert place["y"] + place["height"] < look[1], "the card is out of sight"
    lab.seen(look, "templates-launcher")
    card.click()
    lab.until(lambda: lab.cells.count() == 3, "the template's cells")
    lab.ready()
    setup, kernel, check = range(3)
    lab.command("hipkittens:show-sidebar")
    lab.command("application:toggle-left-area")

    # The kernel's cell is the current one, and nothing has run yet.
    lab.until(lambda: "jp-mod-active" in (lab.cell(kernel).get_attribute("class") or ""), "the kernel's cell")
    lab.button("Verify").click()
    lab.until(lambda: "✓ verified" in verified(lab), "the verdict")
    assert lab.page.locator(".jp-Dialog").count() == 0
    lab.seen(look, "templates-verified")
    lab.command("notebook:run-all-cells")
    for number in (setup, kernel, check):
        lab.finish(number)
    lab.says(lab.cell(check).locator(".jp-OutputArea"), "passed")

    # Another kernel below the current cell, chosen from the list.
    lab.editor(check).click()
    lab.editor(check).press("Escape")
    lab.seen(look, "templates-toolbar")
    lab.cell(check).locator("[data-command='hipkittens:insert-template']").first.click()
    dialog = lab.page.locator(".jp-Dialog")
    gemm = template("gemm")
    dialog.locator("select").select_option(label=f"{gemm.title}: {gemm.about}")
    lab.seen(look, "templates-choice")
    dialog.get_by_role("button", name="OK").click()
    lab.until(lambda: lab.cells.count() == 5, "the kernel's cells, and no second loading of the workbench")
    lab.until(lambda: "jp-mod-active" in (lab.cell(3).get_attribute("class") or ""), "the new kernel's cell")
    lab.button("Verify").click()
    lab.finish(3)
    lab.until(lambda: "✓ verified" in verified(lab), "the verdict on the second kernel")
    assert "gemm" in verified(lab)
    lab.seen(look, "templates-inserted")
    assert [text for text in lab.complaints if "hipkittens" in text.lower()] == []


def verified(lab: Lab) -> str:
    first = lab.sidebar.get_by_role("list", name="Run history, newest first").get_by_role("listitem").first
    return str(first.inner_text())


def test_engineer_and_the_week_after(lab: Lab, server: Server, look: tuple[int, int, bool]) -> None:
    pinned = engineer(lab, server, look)
    assert len(pinned) == 2
    a_week_later(lab, server, look, pinned)


def baselines(lab: Lab) -> list[str]:
    """Names of the dashboard's baselines."""
    buttons = lab.dashboard.get_by_role("group", name="baselines").locator(".wb-chip button[aria-pressed]")
    return [text.partition(":")[0] for text in buttons.all_inner_texts()]


def engineer(lab: Lab, server: Server, look: tuple[int, int, bool]) -> list[str]:
    """A slow kernel: verified against the user's function, advised on, improved, compared, shared.

    Returns the names of the baselines.
    """
    lab.open_beside_sidebar(server.notebook("engineer.ipynb", ENGINEER))
    lab.theme(dark=look[2])
    lab.run(LOAD)
    lab.run(CELL)
    lab.editor(CELL).click()
    lab.button("Verify").click()
    dialog = lab.page.locator(".jp-Dialog")
    dialog.get_by_label("Reference").select_option("")
    for label, text in {**OWN, "Function of the inputs": "lambda x: x.T @"}.items():
        dialog.get_by_label(label).fill(text)
    lab.seen(look, "verify-form")
    dialog.get_by_role("button", name="Verify").click()
    output = lab.output(CELL).filter(has_text="--reference")
    lab.says(output, "SyntaxError")
    # The dialog asks again, with the previous entries filled in.
    lab.button("Verify").click()
    assert dialog.get_by_label("Launch").input_value() == OWN["Launch"]
    dialog.get_by_label("Function of the inputs").fill("lambda x: x.T")
    dialog.get_by_role("button", name="Verify").click()
    lab.until(lambda: "✓ verified" in verified(lab), "the verdict")
    # From now on a click is enough.
    lab.press("Verify", CELL)
    assert dialog.count() == 0
    lab.says(lab.sidebar, "lambda x: x.T")

    lab.write(LOAD, lab.text(LOAD) + '\nturn["turn"][1, 64](torch.randn(64, 64), torch.zeros(64, 64))')
    lab.run(LOAD)
    lab.press("Profile", CELL)
    lab.says(lab.cell(CELL).locator(".jp-OutputArea"), "bank conflicts")
    lab.cell(CELL).locator(".jp-hipkittens-HeatMark").first.wait_for()
    lab.seen(look, "engineer-slow")
    lab.button("Dashboard").click()
    lab.dashboard.get_by_role("button", name="Pin as baseline").click()
    lab.until(lambda: baselines(lab) == ["turn #1"], "the baseline")

    lab.write(CELL, FAST)
    lab.press("Profile", CELL)
    lab.press("Verify", CELL)
    lab.until(lambda: "✓ verified" in verified(lab), "the verdict on the mended kernel")
    times = lab.dashboard.locator(".wb-run-us")
    lab.until(lambda: times.count() >= 2, "both runs in the dashboard")
    new, old = (float(re.findall(r"[\d.]+", text)[0]) for text in times.all_inner_texts()[:2])
    assert new < old, "the mended kernel is faster"
    lab.dashboard.get_by_role("button", name=re.compile(r"^\W*What changed$")).click()
    lab.until(lambda: "65" in lab.dashboard.inner_text(), "the difference of the sources")
    lab.seen(look, "engineer-fast")
    # More runs can be baselines.
    lab.dashboard.get_by_role("button", name="Pin as baseline").click()
    lab.until(lambda: len(baselines(lab)) == 2, "the second baseline")
    pinned = baselines(lab)
    lab.editor(CELL).click()
    lab.button("ISA").click()
    view = lab.page.get_by_role("region", name="Machine code of")
    view.locator(".cm-line.jp-hipkittens-line").first.wait_for()
    # The rows in view belong to some of the lines only.
    lab.until(
        lambda: colours(lab, ".jp-hipkittens-Isa") <= colours(lab, ".jp-hipkittens-editor"),
        "one set of colours",
    )
    view.locator("summary", has_text="Columns").click()
    view.get_by_role("checkbox", name=re.compile("^line")).uncheck()
    gutter = view.locator(".cm-gutter.jp-hipkittens-IsaSource")
    lab.until(lambda: not gutter.is_visible(), "the column to go")
    view.get_by_role("checkbox", name=re.compile("^line")).check()
    if look[0] > 1100:  # a narrow view leaves its room to the instructions
        lab.until(gutter.is_visible, "the column to come back")
    lab.page.keyboard.press("Escape")
    lab.seen(look, "engineer-isa")
    lab.run(SHARE)
    page = (server.folder / "turn.html").read_text()
    assert "SQ_LDS_BANK_CONFLICT" in page
    return pinned


def colours(lab: Lab, within: str) -> set[str]:
    """Classes of the colours that lines have."""
    classes = lab.page.locator(f"{within} .cm-line.jp-hipkittens-line").evaluate_all(
        "all => all.map(line => line.className.match(/hipkittens-line-\\d/)[0])"
    )
    return set(classes)


def a_week_later(lab: Lab, server: Server, look: tuple[int, int, bool], pinned: list[str]) -> None:
    """A notebook without a kernel shows runs, heat and figures; then one button is enough."""
    lab.page.get_by_role("tab", name="engineer.ipynb").click()
    lab.save()
    lab.page.evaluate("window.jupyterapp.shell.currentWidget.sessionContext.shutdown()")
    # The browser has lost its storage as well.
    lab.open_beside_sidebar("engineer.ipynb")
    lab.cell(CELL).locator(".js-plotly-plot, svg").first.wait_for()
    assert "engineer.sqlite" in lab.text(LOAD)
    lab.says(lab.cell(CELL).locator(".jp-OutputArea"), "verif")
    lab.run(LOAD)
    history = lab.sidebar.get_by_role("list", name="Run history, newest first")
    lab.until(lambda: history.count() and "profile" in history.inner_text(), "the runs of last week")
    lab.editor(CELL).click()
    lab.button("Dashboard").click()
    lab.until(lambda: lab.dashboard.locator(".wb-run-us").count() >= 2, "the runs in the dashboard")
    lab.until(lambda: baselines(lab) == pinned, "both baselines")
    lab.seen(look, "week-later")
    # A restarted kernel: a button loads the workbench itself, and the reference is still known.
    lab.page.get_by_role("tab", name="engineer.ipynb").click()
    lab.page.evaluate("window.jupyterapp.shell.currentWidget.sessionContext.restartKernel()")
    lab.sidebar.get_by_text("The workbench is not loaded in this kernel.").wait_for()
    lab.press("Verify", CELL)
    lab.until(lambda: "✓ verified" in verified(lab), "the verdict")
