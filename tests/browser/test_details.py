"""A user's second day: other measures, documentation, faults, restarts, new names."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest

from workbench.lab import clangd

if TYPE_CHECKING:
    from conftest import Lab, Server

pytestmark = pytest.mark.timeout(1800)

PYTHON, BANKS, LAUNCH, FAULT = range(4)
SOURCE = """\
%%hipkittens banks
#include <hip/hip_runtime.h>
/**
 * @brief Reads with a stride.
 * @tparam N how far, see @c s
 */
template <int N> __device__ float strided(const float *s, int i) {
    return s[i * N % 2048];
}

__global__ void banks(const float *x, float *out) {
    __shared__ float s[2048];
    for (int i = threadIdx.x; i < 2048; i += blockDim.x)
        s[i] = x[i];
    __syncthreads();
    out[threadIdx.x] = strided<32>(s, threadIdx.x);
}"""
CELLS = [
    "%load_ext workbench\nimport torch\nimport workbench as wb",
    SOURCE,
    'banks["banks"][1, 128](torch.ones(2048), torch.zeros(128))',
    'banks["banks"][1, 4096](torch.ones(2048), torch.zeros(128))',
]
WILD = SOURCE.replace("out[threadIdx.x]", "out[threadIdx.x + (1 << 28)]")


@pytest.fixture(scope="module")
def lab(open_lab: Callable[..., Lab], server: Server) -> Lab:
    """The page of the journey, with a new notebook."""
    opened = open_lab()
    opened.open_beside_sidebar(server.notebook("details.ipynb", CELLS))
    return opened


def hot_lines(lab: Lab, measure: str, expected: set[int]) -> dict[int, str]:
    """Lines with heat of a measure once it is chosen, with the text of their marks.

    Args:
        expected: the lines with heat; a gutter that is being drawn does not show all at once.
    """
    lab.sidebar.get_by_label("Measure of the line heat").select_option(measure)
    marks = lab.cell(BANKS).locator(".jp-hipkittens-HeatMark")

    def mark_labels() -> list[str]:
        # In one call: marks come and go in between.
        labels: list[str] = marks.evaluate_all("all => all.map(mark => mark.getAttribute('aria-label'))")
        return labels

    name = lab.sidebar.locator(f".jp-hipkittens-Select option[value='{measure}']").inner_text()
    name = name.partition(" (")[0]

    def heat() -> dict[int, str]:
        labels = mark_labels()
        by_line = {int(re.findall(r"line (\d+)", label)[0]): label for label in labels}
        return by_line if expected <= set(by_line) and all(f"of {name}" in label for label in labels) else {}

    lines: dict[int, str] = lab.until(
        heat, lambda: f"the heat of {measure} on lines {expected}, not {mark_labels()}"
    )
    return lines


@pytest.fixture
def wide_window(lab: Lab) -> Iterator[None]:
    """A window in which the ISA view has room for all of its columns."""
    before = lab.page.viewport_size
    lab.page.set_viewport_size({"width": 1920, "height": 1080})
    yield
    lab.page.set_viewport_size(before)


class TestDetails:
    """Steps of one visit, in order; after a failure the rest are skipped."""

    STEPS = True

    def test_heat_of_each_measure(self, lab: Lab) -> None:
        for cell in (PYTHON, BANKS, LAUNCH):
            lab.run(cell)
        lab.press("Profile", BANKS)
        read = lab.number_of(BANKS, "return s[")
        copied = lab.number_of(BANKS, "s[i] = x[i]")
        written = lab.number_of(BANKS, "out[threadIdx.x] =")
        conflicts = hot_lines(lab, "bank_conflicts", {read})
        assert conflicts.keys() == {read}
        assert "100% of LDS bank conflicts" in conflicts[read]
        assert read not in hot_lines(lab, "bytes", {copied, written})
        assert hot_lines(lab, "stall_cycles", set())
        hot_lines(lab, "issue_cycles", {read})

    def test_columns_of_the_isa_view_say_what_they_count(self, lab: Lab, wide_window: None) -> None:
        lab.editor(BANKS).click()
        lab.button("ISA").click()
        view = lab.page.get_by_role("region", name="Machine code of")
        headings = view.locator(".jp-hipkittens-IsaHeadings > div")
        headings.first.wait_for()
        view.get_by_label("Measure").select_option("bank_conflicts")
        cost = headings.nth(2)
        lab.until(lambda: "LDS bank conflicts" in cost.inner_text(), "the measure's heading")

        def heading_texts() -> list[list[str]]:
            return [re.split(r"\n+", text.strip()) for text in headings.all_inner_texts()]

        expected = [
            ["address", "hex"],
            ["executed", "counted"],
            ["LDS bank conflicts", "% · modelled"],
            ["live", "registers"],
            ["line", "* header"],
            ["instruction", "gfx950"],
        ]
        lab.until(lambda: heading_texts() == expected, lambda: f"all headings, not {heading_texts()}")
        assert all(heading.get_attribute("title") for heading in headings.all())
        # Each stands above its column.
        lab.until(
            lambda: view.evaluate(
                """dom => [...dom.querySelectorAll('.jp-hipkittens-IsaHeadings > div')].every(heading => {
                    const { column } = heading.dataset;
                    const gutter = column && dom.querySelector(`.cm-gutter.jp-hipkittens-Isa${column}`);
                    if (!gutter) {
                        return !column;
                    }
                    const [a, b] = [heading, gutter].map(one => one.getBoundingClientRect());
                    return Math.abs(a.left - b.left) < 1.5 && Math.abs(a.right - b.right) < 1.5;
                })"""
            ),
            "headings above their columns",
        )
        # Only the strided read has conflicts, so it alone has a share.
        lab.line(BANKS, "return s[").click()
        marks = view.locator(".jp-hipkittens-IsaCostMark")
        lab.until(lambda: "100%" in marks.all_inner_texts(), "the share of the read")
        assert [text for text in marks.all_inner_texts() if text] == ["100%"]
        lab.shot("isa-conflicts")

    @pytest.mark.skipif(clangd.find() is None, reason="there is no clangd")
    def test_documentation_of_an_own_function(self, lab: Lab) -> None:
        tip = lab.page.locator(".cm-tooltip .jp-hipkittens-Hover")
        where = lab.line(BANKS, "= strided").evaluate(
            """line => {
                const walker = document.createTreeWalker(line, NodeFilter.SHOW_TEXT);
                for (let node = walker.nextNode(); node; node = walker.nextNode()) {
                    if (node.data.includes('strided')) {
                        const range = document.createRange();
                        const from = node.data.indexOf('strided');
                        range.setStart(node, from);
                        range.setEnd(node, from + 7);
                        const box = range.getBoundingClientRect();
                        return [box.left + box.width / 2, box.top + box.height / 2];
                    }
                }
            }"""
        )

        asked = 0.0

        def pointed() -> bool:
            # clangd reads the headers first, and an answer that comes late is not shown: point there again.
            nonlocal asked
            if tip.is_visible():
                return True
            if time.monotonic() - asked > 2:
                asked = time.monotonic()
                lab.page.mouse.move(5, 5)
                lab.page.mouse.move(where[0], where[1])
            return False

        lab.until(pointed, "the tooltip")
        lab.says(tip, "Reads with a stride.")
        assert tip.locator("li").all_inner_texts() == ["N: how far, see s"]
        assert tip.locator("code").all_inner_texts() == ["N", "s"]
        assert "@" not in tip.inner_text()
        lab.shot("documentation")
        lab.page.mouse.move(5, 5)

    def test_what_failed_is_in_the_history(self, lab: Lab) -> None:
        runs = lab.sidebar.get_by_role("list", name="Run history, newest first")
        lab.run(FAULT)
        first = runs.get_by_role("listitem").first
        lab.says(first, "failed", "run banks", "4096")
        lab.write(BANKS, WILD)
        lab.press("Profile", BANKS)
        lab.until(lambda: "wrote 4 bytes" in first.inner_text(), "the fault")
        marked = lab.cell(BANKS).locator(".cm-line:has(.cm-lintRange-error)")
        marked.wait_for()
        lab.says(marked, "1 << 28")
        lab.write(BANKS, SOURCE)
        lab.press("Profile", BANKS)
        lab.until(lambda: lab.cell(BANKS).locator(".cm-lintRange-error").count() == 0, "no mark")

    def test_the_keyboard_reaches_everything_in_order(self, lab: Lab) -> None:
        lab.button("Run").focus()
        seen: list[str] = []
        for _ in range(10):
            seen.append(
                lab.page.evaluate(
                    "(document.activeElement.ariaLabel || document.activeElement.innerText).trim()"
                )
            )
            lab.page.keyboard.press("Tab")
        assert seen == [
            *("Run", "Verify", "Profile", "Sanitize", "ISA", "Dashboard"),
            *("Measure of the line heat", "banks › banks", "Whose runs are listed", "Clear the history"),
        ]

    def test_a_cell_moved_copied_and_restored_has_its_marks(self, lab: Lab) -> None:
        def heat_of(number: int) -> list[str]:
            return lab.cell(number).locator(".jp-hipkittens-HeatMark").all_inner_texts()

        heat = lab.until(lambda: heat_of(BANKS), "the heat")
        lab.cell(BANKS).locator(".jp-InputPrompt").click()
        lab.command("notebook:move-cell-down")
        lab.until(lambda: lab.text(BANKS + 1) == SOURCE, "the cell to move")
        lab.until(lambda: heat_of(BANKS + 1) == heat, "its heat")
        # An undo reverts all changes of half a second: here only those that follow.
        lab.page.evaluate(
            "window.jupyterapp.shell.currentWidget.content.model.sharedModel.undoManager.stopCapturing()"
        )
        lab.command("notebook:delete-cell")
        lab.until(lambda: lab.cells.count() == len(CELLS) - 1, "the cell to go")
        lab.command("notebook:undo-cell-action")
        lab.until(lambda: lab.cells.count() == len(CELLS), "the cell to come back")
        lab.until(lambda: heat_of(BANKS + 1) == heat, "its heat after an undo")
        lab.cell(BANKS + 1).locator(".jp-InputPrompt").click()
        lab.command("notebook:move-cell-up")
        lab.until(lambda: lab.text(BANKS) == SOURCE, "the cell to be back")
        lab.command("notebook:copy-cell")
        lab.command("notebook:paste-cell-below")
        lab.until(lambda: lab.cells.count() == len(CELLS) + 1, "the copy")
        lab.until(lambda: heat_of(BANKS + 1) == heat, "the copy's heat")
        lab.command("notebook:delete-cell")
        lab.until(lambda: lab.cells.count() == len(CELLS), "the copy to go")

    def test_a_renamed_notebook_keeps_history_and_views(self, lab: Lab, server: Server) -> None:
        runs = lab.sidebar.get_by_role("list", name="Run history, newest first")
        before = lab.until(lambda: runs.inner_text(), "a history")
        lab.save()
        lab.page.evaluate("window.jupyterapp.shell.currentWidget.context.rename('renamed.ipynb')")
        lab.page.get_by_role("tab", name="renamed.ipynb").wait_for()
        lab.until(lambda: runs.inner_text() == before, "the history")
        # The button reuses the open view.
        lab.editor(BANKS).click()
        lab.button("ISA").click()
        lab.page.locator(".jp-hipkittens-Isa").wait_for()
        assert lab.page.locator(".jp-hipkittens-Isa").count() == 1
        assert (server.folder / "renamed.ipynb").is_file()

    def test_a_restart_in_the_middle(self, lab: Lab) -> None:
        lab.editor(BANKS).click()
        marks = lab.cell(BANKS).locator(".jp-hipkittens-HeatMark")
        heat = lab.until(marks.all_inner_texts, "the heat")
        lab.page.evaluate("window.jupyterapp.shell.currentWidget.sessionContext.restartKernel()")
        lab.sidebar.get_by_text("The workbench is not loaded in this kernel.").wait_for()
        # Results stay on the page; the kernel's state is reported as gone.
        lab.until(lambda: marks.all_inner_texts() == heat, "the heat as it was")
        view = lab.page.get_by_role("region", name="Machine code of")
        lab.until(lambda: "load_ext" in view.get_by_role("status").inner_text(), "the ISA view to say so")
        for cell in (PYTHON, BANKS, LAUNCH):
            lab.run(cell)
        lab.sidebar.get_by_text("The workbench is not loaded in this kernel.").wait_for(state="hidden")
        lab.until(lambda: "gfx950" in view.get_by_role("status").inner_text(), "the machine code again")

    def test_two_notebooks_have_a_history_each(self, lab: Lab, server: Server) -> None:
        runs = lab.sidebar.get_by_role("list", name="Run history, newest first")
        first = runs.inner_text()
        server.notebook("second.ipynb", ["import workbench as wb", "%load_ext workbench"])
        lab.command("docmanager:open", path="second.ipynb")
        lab.sidebar.get_by_text("No runs yet.").wait_for()
        # Runs of the first notebook go to its own history while the second one is visible.
        lab.page.evaluate(
            """async () => {
                const widgets = [...window.jupyterapp.shell.widgets('main')];
                const first = widgets.find(widget => widget.context?.path === 'renamed.ipynb');
                const kernel = first.sessionContext.session.kernel;
                const code = "wb.time(banks['banks'])";
                await kernel.requestExecute({ code }).done;
            }"""
        )
        assert lab.sidebar.get_by_text("No runs yet.").is_visible()
        lab.page.get_by_role("tab", name="renamed.ipynb").click()
        lab.until(lambda: "time banks" in runs.inner_text(), "the run made meanwhile")
        assert runs.inner_text().endswith(first[-40:])

    def test_a_history_of_two_hundred_entries(self, lab: Lab) -> None:
        reply = lab.page.evaluate(
            """async () => {
                const session = window.jupyterapp.shell.currentWidget.sessionContext.session;
                const code = 'for _ in range(250): wb.time(banks["banks"])';
                return (await session.kernel.requestExecute({ code }).done).content;
            }"""
        )
        assert reply["status"] == "ok", reply
        runs = lab.sidebar.get_by_role("list", name="Run history, newest first")
        more = lab.sidebar.get_by_role("button", name=re.compile(r"Show all \d+"))
        more.wait_for()
        lab.until(lambda: runs.get_by_role("listitem").count() == 50, "the latest 50")
        more.click()
        lab.until(lambda: runs.get_by_role("listitem").count() > 50, "the others")
        assert runs.get_by_role("listitem").count() <= 200
        lab.sidebar.get_by_role("button", name="Show the latest 50").click()
        lab.until(lambda: runs.get_by_role("listitem").count() == 50, "the latest alone")

    def test_every_part_is_legible_and_named(self, lab: Lab) -> None:
        lab.editor(BANKS).click()
        lab.button("Dashboard").click()
        lab.card("timeline")
        for dark in (False, True):
            lab.theme(dark=dark)
            for part in (".jp-hipkittens-Sidebar", ".jp-hipkittens-Dashboard", ".jp-hipkittens-Isa"):
                if part == ".jp-hipkittens-Isa":
                    lab.page.get_by_role("tab", name="ISA of banks").click()
                elif part == ".jp-hipkittens-Dashboard":
                    lab.page.get_by_role("tab", name="Dashboard").click()
                element = lab.page.locator(part)
                element.wait_for()
                # Figures and lists take the theme's colours a moment after the page.
                lab.until(
                    lambda element=element: not element.evaluate(FAINT),
                    lambda element=element, part=part, dark=dark: (
                        f"legible text in {part}, {'dark' if dark else 'light'}: "
                        + json.dumps(element.evaluate(FAINT), indent=1)
                    ),
                )
        lab.theme(dark=False)
        for part in (".jp-hipkittens-Sidebar", ".jp-hipkittens-Dashboard", ".jp-hipkittens-Isa"):
            assert lab.page.locator(part).evaluate(NAMELESS) == [], part

    def test_the_page_did_not_complain(self, lab: Lab) -> None:
        # JupyterLab itself complains about requests that a restarted kernel no longer answers.
        ours = [text for text in lab.complaints if "hipkittens" in text.lower()]
        assert ours == []


# Text with less contrast than WCAG's AA requires: 4.5, or 3 if it is large. Badges of figures have their own
# background colour.
FAINT = """root => {
    const context = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
    const channels = text => {
        context.clearRect(0, 0, 1, 1);
        context.fillStyle = text;
        context.fillRect(0, 0, 1, 1);
        const [r, g, b, a] = context.getImageData(0, 0, 1, 1).data;
        return [r, g, b, a / 255];
    };
    const over = (top, below) => top.slice(0, 3).map((c, i) => c * top[3] + below[i] * (1 - top[3]));
    const light = rgb => {
        const [r, g, b] = rgb.map(c => (c /= 255) <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const behind = node => {
        if (!node) {
            return [255, 255, 255];
        }
        const own = channels(getComputedStyle(node).backgroundColor);
        return own[3] === 1 ? own.slice(0, 3) : over(own, behind(node.parentElement));
    };
    const found = new Set();
    for (const node of root.querySelectorAll('*')) {
        const own = [...node.childNodes].filter(one => one.nodeType === Node.TEXT_NODE);
        const text = own.map(one => one.data.trim()).join('');
        const style = getComputedStyle(node);
        const seen = node.checkVisibility({ checkVisibilityCSS: true });
        if (!text || !seen || node.closest(':disabled, option, style, .annotation')) {
            continue;
        }
        let opacity = 1;
        for (let one = node; one && one !== root; one = one.parentElement) {
            opacity *= Number(getComputedStyle(one).opacity);
        }
        const back = behind(node.closest('svg') ?? node);
        const ink = channels(node.closest('svg') ? style.fill : style.color);
        const [a, b] = [light(over([...ink.slice(0, 3), ink[3] * opacity], back)), light(back)];
        const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
        const large = parseFloat(style.fontSize) >= 24;
        if (ratio < (large ? 3 : 4.5)) {
            const kind = node.className.baseVal ?? node.className;
            found.add(`${ratio.toFixed(2)} ${kind} "${text.slice(0, 30)}"`);
        }
    }
    return [...found].slice(0, 25);
}"""

# Elements that the keyboard reaches and that have no name for a screen reader.
NAMELESS = """root => [...root.querySelectorAll('button, select, input, [tabindex="0"], [role=slider]')]
    .filter(node => node.checkVisibility())
    .filter(node => {
        const by = node.getAttribute('aria-labelledby');
        const name = node.ariaLabel || (by && document.getElementById(by)?.innerText)
            || [...(node.labels ?? [])].map(one => one.innerText).join('') || node.innerText || node.title;
        return !name?.trim();
    })
    .map(node => node.outerHTML.slice(0, 160))"""
