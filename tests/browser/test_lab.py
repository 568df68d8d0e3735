"""A visit to the workbench in JupyterLab: write, break, fix, run, verify, profile, reload."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from conftest import Lab, Server

pytestmark = pytest.mark.timeout(1800)

PYTHON, RMS, RACE, LAUNCH = range(4)
CELLS = [
    """\
%load_ext workbench
import torch
import workbench as wb
quote = "don't"  # it's Python""",
    "",
    """\
%%hipkittens race
#include <hip/hip_runtime.h>
__global__ void flip(const float *x, float *out) {
    __shared__ float s[128];
    s[threadIdx.x] = x[threadIdx.x];
    __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "wavefront");
    out[threadIdx.x] = s[threadIdx.x ^ 64];  // written by the other wave
}""",
    'race["flip"][1, 128](torch.arange(128.0), torch.zeros(128))',
]
KERNEL = """\
%%hipkittens rms --spec normalization/rmsnorm --shape rows=256,cols=1024
#include "kittens.cuh"
using namespace kittens;

constexpr int COLS = 1024;
constexpr int NUM_WARPS = 4;               // a work-group of 4 waves
using shape = rt_rows_s<bf16, COLS>;       // 8 columns a lane

struct rmsnorm_globals {
    gl<bf16, 1, 1, -1, COLS> x;
    gl<bf16, 1, 1, 1, COLS> weight;
    gl<bf16, 1, 1, -1, COLS> out;
    float eps;
};

__global__ __launch_bounds__(256)
void rmsnorm(const rmsnorm_globals g) {
    rt_bf<1, COLS, row_l, shape> stored;
    rt_fl<1, COLS, row_l, shape> x, squares;
    decltype(x)::col_vec scale;
    decltype(stored)::row_vec weight;

    const int row = blockIdx.x * NUM_WARPS + warpid();
    load(stored, g.x, {0, 0, row, 0});
    load(weight, g.weight, {0, 0, 0, 0});
    copy(x, stored);                       // bf16 to float

    mul(squares, x, x);
    row_sum(scale, squares);               // across all lanes
    mul(scale, scale, 1.0f / COLS);
    add(scale, scale, g.eps);
    rsqrt(scale, scale);

    mul_row(x, x, scale);
    decltype(x)::row_vec weight_float;
    copy(weight_float, weight);
    mul_col(x, x, weight_float);
    store(g.out, x, {0, 0, row, 0});
}"""
WRONG_LINE = "mul(scale, scale, 1.0f / COLS)"

# The colour of the token that ends a text in a line.
COLOUR = """(line, token) => {
    const walker = document.createTreeWalker(line, NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
        if (node.data.includes(token)) {
            return getComputedStyle(node.parentElement).color;
        }
    }
    return null;
}"""


@pytest.fixture(scope="module")
def lab(open_lab: Callable[..., Lab], server: Server) -> Lab:
    """The page of the journey, with a new notebook."""
    opened = open_lab()
    opened.open_beside_sidebar(server.notebook("journey.ipynb", CELLS))
    return opened


def colour(lab: Lab, cell: int, line: str, token: str) -> str:
    value = lab.line(cell, line).evaluate(COLOUR, token)
    assert value, f"{token} is not in the line {line}"
    return str(value)


def linked_rows(lab: Lab) -> list[str]:
    """Source lines beside the highlighted rows of the ISA view."""
    return [
        str(text)
        for text in lab.page.evaluate(
            """() => {
                const all = selector => [...document.querySelectorAll(`.jp-hipkittens-Isa ${selector}`)];
                const lit = all('.cm-line.jp-hipkittens-linked');
                const gutter = all('.jp-hipkittens-IsaSource .cm-gutterElement');
                const middle = box => (box.top + box.bottom) / 2;
                return lit.map(line => {
                    const at = middle(line.getBoundingClientRect());
                    const beside = gutter.find(mark => {
                        const box = mark.getBoundingClientRect();
                        return box.top <= at && at < box.bottom;
                    });
                    return beside?.innerText ?? '';
                });
            }"""
        )
    ]


class TestJourney:
    """Steps of one visit, in order; after a failure the rest are skipped."""

    STEPS = True

    def test_a_cell_is_cpp_as_soon_as_its_first_line_says_so(self, lab: Lab) -> None:
        ours = lab.cell(RMS).locator(".jp-hipkittens-editor")
        lab.run(PYTHON)
        lab.editor(RMS).click()
        lab.page.keyboard.type("%%hipkittens")
        ours.wait_for(state="attached")
        lab.page.keyboard.press("Backspace")
        ours.wait_for(state="detached")
        lab.write(RMS, KERNEL)
        ours.wait_for(state="attached")
        assert lab.text(RMS) == KERNEL
        plain = colour(lab, RMS, "struct rmsnorm_globals", "rmsnorm_globals")
        seen = {
            "magic": colour(lab, RMS, "%%hipkittens", "%%hipkittens"),
            "keyword": colour(lab, RMS, "constexpr int COLS", "constexpr"),
            "library": colour(lab, RMS, "rt_bf<1", "rt_bf"),
            "HIP": colour(lab, RMS, "__global__", "__global__"),
            "number": colour(lab, RMS, "1024;", "1024"),
            "comment": colour(lab, RMS, "a work-group of 4 waves", "// a work-group"),
        }
        assert plain not in seen.values(), seen
        assert len(set(seen.values())) >= 4, seen
        lab.page.mouse.move(5, 5)
        lab.shot("highlighting", lab.cell(RMS).locator(".jp-Cell-inputWrapper"))

    def test_python_cells_are_left_alone(self, lab: Lab) -> None:
        assert lab.cell(PYTHON).locator("[class*=hipkittens]").count() == 0
        string = colour(lab, PYTHON, "quote", "don't")
        comment = colour(lab, PYTHON, "quote", "# it's Python")
        assert comment == colour(lab, RMS, "across all lanes", "// across all lanes")
        assert string != comment
        assert colour(lab, PYTHON, "import torch", "import") not in (string, comment)

    def test_brackets_indentation_and_comments_by_key(self, lab: Lab) -> None:
        keyboard = lab.page.keyboard
        lab.editor(RMS).click()
        keyboard.press("Control+End")
        # Indentation follows the parsed code, which highlighting shows.
        for line, coloured in (("void f() {", "f"), ("int i = 7;", "7"), ("}", None)):
            keyboard.type(f"\n{line}")
            if coloured:
                tokens = lab.line(RMS, line).locator("span[class]")
                tokens.filter(has_text=re.compile(f"^{coloured}$")).first.wait_for()
        assert lab.text(RMS).endswith("\nvoid f() {\n    int i = 7;\n}"), "lines are indented"
        # The bracket before the cursor and the one that it closes.
        brackets = lab.cell(RMS).locator(".cm-matchingBracket")
        lab.until(lambda: brackets.all_inner_texts() == ["{", "}"], "both brackets")
        keyboard.press("ArrowUp")
        keyboard.press("Control+/")
        assert lab.text(RMS).endswith("{\n    // int i = 7;\n}")
        keyboard.press("Control+/")
        assert lab.text(RMS).endswith("{\n    int i = 7;\n}")
        lab.write(RMS, KERNEL)

    def test_an_error_is_marked_on_its_line(self, lab: Lab) -> None:
        lab.write(RMS, KERNEL.replace(f"{WRONG_LINE};", WRONG_LINE))
        lab.run(RMS)
        marked = lab.cell(RMS).locator(".cm-lintRange-error")
        marked.wait_for()
        assert lab.cell(RMS).locator(".cm-line:has(.cm-lintRange-error)").inner_text().strip() == WRONG_LINE
        gutter = lab.cell(RMS).locator(".cm-lint-marker-error")
        lab.until(lambda: gutter.count() == 1, "one mark beside the lines")

        def beside() -> bool:
            place, line = gutter.bounding_box(), lab.line(RMS, WRONG_LINE).bounding_box()
            if not place or not line:
                return False
            return line["y"] <= place["y"] + place["height"] / 2 <= line["y"] + line["height"]

        lab.until(beside, "the mark beside its line")
        tip = lab.page.locator(".cm-tooltip-lint")
        lab.point(marked, tip)
        lab.says(tip, "expected ';'")
        place, editor = tip.bounding_box(), lab.cell(RMS).locator(".cm-editor").bounding_box()
        assert place
        assert editor
        assert editor["x"] <= place["x"]
        assert place["x"] + place["width"] <= editor["x"] + editor["width"]
        font = "dom => getComputedStyle(dom).fontFamily"
        assert tip.locator("b").evaluate(font) == lab.sidebar.evaluate(font)
        lab.shot("squiggle", lab.cell(RMS).locator(".jp-Cell-inputWrapper"))

    def test_a_fix_is_applied_by_a_click(self, lab: Lab) -> None:
        from playwright.sync_api import TimeoutError

        fix = lab.page.locator(".cm-tooltip-lint .cm-diagnosticAction")

        def fixed() -> bool:
            if lab.text(RMS) != KERNEL:
                lab.point(lab.cell(RMS).locator(".cm-lintRange-error"), fix)
                # The tip may close meanwhile.
                with contextlib.suppress(TimeoutError):
                    fix.click(timeout=lab.TIP)
            return lab.text(RMS) == KERNEL

        lab.until(fixed, "the fix to be in the cell")
        lab.until(lambda: lab.cell(RMS).locator(".cm-lintRange").count() == 0, "the mark to go")

    def test_run(self, lab: Lab) -> None:
        lab.press("Run", RMS)
        lab.says(lab.output(RMS).first, "rmsnorm")
        kernels = lab.sidebar.get_by_role("region", name="Kernels", exact=True)
        kernels.get_by_text("rms › rmsnorm").wait_for()
        lab.says(kernels, "VGPR")
        runs = lab.sidebar.get_by_role("list", name="Run history, newest first")
        runs.get_by_text("failed").wait_for()
        first = runs.get_by_role("listitem").first
        lab.until(
            lambda: "compile" in (text := first.inner_text()) and "failed" not in text, "the compile after it"
        )
        lab.says(lab.sidebar.get_by_role("region", name="Device"), "clang", "MI355X (emulated)", "modelled")

    def test_verify(self, lab: Lab) -> None:
        lab.press("Verify", RMS)
        runs = lab.sidebar.get_by_role("list", name="Run history, newest first")
        lab.until(lambda: "✓ verified" in runs.get_by_role("listitem").first.inner_text(), "the verdict")
        # The device has run, so its memory is known; a device is not started for that.
        device = lab.sidebar.get_by_role("region", name="Device")
        device.get_by_text("of 288 GiB used").wait_for()

    def test_profile_shows_heat_on_the_lines(self, lab: Lab) -> None:
        lab.press("Profile", RMS)
        marks = lab.cell(RMS).locator(".jp-hipkittens-HeatMark")
        expected = {lab.number_of(RMS, text) for text in ("load(stored", "row_sum(", "store(g.out")}

        def heat() -> dict[int, str]:
            # In one call, repeated until the gutter is drawn: marks come and go in between.
            labels = marks.evaluate_all("all => all.map(mark => mark.getAttribute('aria-label'))")
            by_line = {int(re.findall(r"line (\d+)", label)[0]): label for label in labels}
            return by_line if expected <= set(by_line) else {}

        lines = lab.until(heat, "the heat of the kernel's statements")
        labels = list(lines.values())
        # Only the kernel's statements have heat, not its declarations or comments.
        first = lab.number_of(RMS, "const int row")
        assert min(lines) >= lab.number_of(RMS, "__global__")
        assert first in lines
        shares = [float(re.findall(r": <?([\d.]+)%", label)[0]) for label in labels]
        assert 50 < sum(shares) < 101
        number = lab.number_of(RMS, "row_sum(")
        tip = lab.page.locator(".jp-hipkittens-HeatDetails")
        lab.point(lab.cell(RMS).locator(f".jp-hipkittens-HeatMark[aria-label^='line {number}:']"), tip)
        lab.says(
            tip, "Issue cycles", "valu instructions", "Time charges a wait to the load that it ended with"
        )
        lab.shot("heat", lab.cell(RMS).locator(".jp-Cell-inputWrapper"))
        lab.page.mouse.move(5, 5)

    def test_heat_has_a_switch_for_its_measure(self, lab: Lab) -> None:
        marks = lab.cell(RMS).locator(".jp-hipkittens-HeatMark")
        before = marks.all_inner_texts()
        switch = lab.sidebar.get_by_label("Measure of the line heat")
        switch.select_option("instructions")
        lab.until(lambda: marks.all_inner_texts() != before, "the other measure")
        lab.until(
            lambda: "Wave instructions" in str(marks.first.get_attribute("aria-label")),
            "its name in the marks",
        )
        switch.select_option("")
        lab.until(lambda: marks.count() == 0, "the heat to go")
        switch.select_option("time_cycles")
        lab.until(lambda: marks.count() == len(before), "the heat again")

        def label() -> str:
            return str(marks.first.get_attribute("aria-label"))

        lab.until(lambda: "Time" in label(), "the first measure in the marks")
        assert "Wave instructions" not in label()

    def test_the_isa_view_is_linked_to_the_lines(self, lab: Lab) -> None:
        lab.editor(RMS).click()
        lab.button("ISA").click()
        view = lab.page.get_by_role("region", name="Machine code of")
        view.locator(".cm-line", has_text="buffer_load").first.wait_for()
        status = view.get_by_role("status").inner_text()
        assert "gfx950" in status
        assert "not counted" not in status
        counts = view.locator(".jp-hipkittens-IsaCount .cm-gutterElement")
        lab.until(lambda: counts.count() > 5, "the counts")
        # From the cell: a click brings the rows into view, and they are that line's.
        lab.line(RMS, "store(g.out").click()
        number = lab.number_of(RMS, "store(g.out")
        # Until the view has scrolled there, rows before it may be highlighted without a number beside them.
        lab.until(
            lambda: {row.rstrip("*") for row in linked_rows(lab)} == {str(number)},
            lambda: f"rows of line {number}, not of {linked_rows(lab)}",
        )
        lab.shot("isa")
        # Addresses are computed early and the store is far below; distant rows are not on the page.
        view.locator(".cm-scroller").evaluate("dom => { dom.scrollTop = dom.scrollHeight; }")
        lab.until(lambda: any("buffer_store" in text for text in lit(view)), "the store's rows")
        # From the machine code: a click goes to the line.
        lab.line(RMS, "load(stored").click()
        lab.until(lambda: any("buffer_load" in text for text in lit(view)), "the load's rows")
        lab.line(RMS, "#include").hover()
        # At its mnemonic: the middle of a long line may be under the gutters, which do not scroll.
        view.locator(".cm-line", has_text="buffer_load").first.click(position={"x": 30, "y": 6})
        lit_line = lab.cell(RMS).locator(".cm-line.jp-hipkittens-linked")
        lab.says(lit_line, "load(")

    def test_the_isa_view_folds(self, lab: Lab) -> None:
        view = lab.page.get_by_role("region", name="Machine code of")
        view.get_by_role("button", name="Fold", exact=True).click()
        lab.until(lambda: view.locator(".cm-foldPlaceholder").count() > 0, "folds")
        lab.until(lambda: view.locator(".cm-line").count() < 10, "few lines")
        view.get_by_role("button", name="Unfold", exact=True).click()
        lab.until(lambda: view.locator(".cm-foldPlaceholder").count() == 0, "no folds")

    def test_the_isa_view_shows_what_a_compile_changed(self, lab: Lab) -> None:
        last = "rsqrt(scale, scale);"
        lab.write(RMS, KERNEL.replace(last, f"{last}\n    exp(scale, scale);"))
        lab.press("Run", RMS)
        view = lab.page.get_by_role("region", name="Machine code of")
        compare = view.get_by_role("button", name="Compare", exact=True)
        lab.until(compare.is_enabled, "a previous compile")
        compare.click()
        status = view.get_by_role("status")
        lab.until(lambda: re.search(r"\+\d+ −\d+", status.inner_text()), "the difference")
        view.get_by_placeholder("Find").fill("v_exp_f32")
        view.get_by_placeholder("Find").press("Enter")
        view.locator(".cm-line.jp-hipkittens-added", has_text="v_exp_f32").first.wait_for(state="attached")
        lab.shot("isa-difference")
        compare.click()
        lab.write(RMS, KERNEL)
        lab.press("Profile", RMS)

    def test_the_sanitizer_marks_a_race(self, lab: Lab) -> None:
        lab.run(RACE)
        lab.run(LAUNCH)
        lab.press("Sanitize", RACE)
        marked = lab.cell(RACE).locator(".cm-line:has(.cm-lintRange-error)")
        marked.first.wait_for()
        lines = marked.all_inner_texts()
        assert any("out[threadIdx.x] = s[" in line for line in lines)
        # Declarations and the fence are not blamed.
        assert all("threadIdx.x" in line for line in lines)
        first = (
            lab.sidebar.get_by_role("list", name="Run history, newest first").get_by_role("listitem").first
        )
        lab.until(lambda: re.search(r"sanitize race\s+✗ \d findings", first.inner_text()), "the findings")
        # The keyboard goes there too.
        lab.editor(RACE).click()
        lab.page.keyboard.press("Control+Home")
        lab.page.keyboard.press("F8")
        tip = lab.page.locator(".cm-tooltip-lint")
        tip.wait_for()
        lab.says(tip, "Race in shared memory")
        lab.shot("sanitizer", lab.cell(RACE).locator(".jp-Cell-inputWrapper"))
        lab.page.keyboard.press("Escape")
        tip.wait_for(state="hidden")
        lab.shot("sidebar", lab.sidebar)

    def test_the_dashboard_opens_beside_the_notebook(self, lab: Lab) -> None:
        lab.editor(RMS).click()
        lab.button("Dashboard").click()
        lab.says(lab.card("timeline"), "modelled")
        lab.says(lab.dashboard, "normalization/rmsnorm")
        # A second press shows the same one.
        lab.editor(RMS).click()
        lab.button("Dashboard").click()
        assert lab.dashboard.count() == 1
        lab.dashboard.get_by_role("button", name="Pin as baseline").scroll_into_view_if_needed()
        lab.shot("dashboard", lab.dashboard)

    def test_a_slider_builds_and_runs_again(self, lab: Lab) -> None:
        lab.dashboard.get_by_label("kernel", exact=True).select_option("normalization/rmsnorm")
        slider = lab.dashboard.get_by_role("slider").first
        slider.wait_for()
        slider.focus()
        before = int(points(lab)[-1])
        lab.page.keyboard.press("ArrowLeft")
        lab.dashboard.get_by_text(re.compile(r"done in [\d.]+ s")).wait_for()
        lab.until(lambda: int(points(lab)[-1]) > before, "the new run in the figure")
        lab.says(lab.dashboard, "✓ verified")

    def test_a_baseline_is_in_every_figure(self, lab: Lab) -> None:
        lab.dashboard.get_by_role("button", name="Pin as baseline").click()
        lab.dashboard.locator("button.jupyter-button", has_text="Unpin").wait_for()
        slider = lab.dashboard.get_by_role("slider").first
        slider.focus()
        before = int(points(lab)[-1])
        lab.page.keyboard.press("ArrowLeft")
        lab.until(lambda: int(points(lab)[-1]) > before, "the new run in the figure")
        for key in ("timeline", "speed", "mix", "roofline"):
            card = lab.card(key)
            lab.until(lambda card=card: "baseline" in card.inner_text(), f"the baseline in {key}")
        roofline = lab.card("roofline")
        lab.says(roofline, "MFMA bf16")
        lab.shot("roofline", roofline)

        def fits() -> bool:
            box, page = roofline.bounding_box(), lab.dashboard.bounding_box()
            return bool(box and page and box["x"] + box["width"] <= page["x"] + page["width"])

        lab.until(fits, "figures no wider than the panel")
        roofline.get_by_text("data").first.click()
        lab.until(lambda: roofline.get_by_role("row").count() > 3, "the figure's data")
        lab.dashboard.get_by_role("button", name=re.compile("^Unpin ")).first.click()

    def test_from_run_to_the_dashboard(self, lab: Lab, capsys: pytest.CaptureFixture[str]) -> None:
        """Milliseconds in the browser from the key press to the drawn figure, for a cached kernel."""
        lab.write(RMS, KERNEL.replace("rms --spec", "rms --profile --spec"))
        lab.card("timeline")
        before = int(points(lab)[-1])
        lab.run(RMS)
        lab.until(lambda: int(points(lab)[-1]) > before, "the first run in the figure")
        # The time from the next run to its point in the figure.
        before = int(points(lab)[-1])
        lab.editor(RMS).click()
        lab.page.evaluate(STOPWATCH, before)
        lab.page.keyboard.press("Control+Enter")
        lab.until(lambda: lab.page.evaluate("window.stopwatch.end > 0"), "the run in the figure")
        took = lab.page.evaluate("window.stopwatch.end - window.stopwatch.start")
        lab.finish(RMS)
        with capsys.disabled():
            print(f"\nfrom Run to the updated dashboard: {took:.0f} ms")
        lab.write(RMS, KERNEL)
        lab.press("Profile", RMS)

    def test_a_reload_restores_everything(self, lab: Lab) -> None:
        lab.editor(RMS).click()
        heat = lab.cell(RMS).locator(".jp-hipkittens-HeatMark").all_inner_texts()
        runs = lab.sidebar.get_by_role("list", name="Run history, newest first").inner_text()
        lab.save()
        # JupyterLab stores the layout on its server a moment after a change.
        entries = (
            lab.sidebar.get_by_role("list", name="Run history, newest first").get_by_role("listitem").count()
        )

        def is_saved() -> bool:
            workspace = lab.workspace()
            layout = json.dumps(workspace.get("layout-restorer:data", ""))
            views = all(f"hipkittens-workbench-{kind}:" in layout for kind in ("isa", "dashboard"))
            history = workspace.get("hipkittens-workbench:history:journey.ipynb", ())
            return views and len(history) == entries

        lab.until(is_saved, "the layout and the history to be saved")
        lab.page.reload()
        lab.page.locator(".jp-Notebook .jp-CodeCell").first.wait_for()
        marks = lab.cell(RMS).locator(".jp-hipkittens-HeatMark")
        lab.until(lambda: marks.all_inner_texts() == heat, "the heat")
        assert lab.text(RMS) == KERNEL
        lab.cell(RACE).locator(".cm-lintRange-error").first.wait_for()
        history = lab.sidebar.get_by_role("list", name="Run history, newest first")
        lab.until(lambda: history.inner_text() == runs, "the run history")
        lab.sidebar.get_by_text("MI355X (emulated)").wait_for()
        lab.page.get_by_role("tab", name="Dashboard").click()
        lab.card("timeline")
        assert lab.dashboard.count() == 1
        lab.says(lab.dashboard, "normalization/rmsnorm")
        # Sliders were moved before the cell profiled another shape; its figures are still current.
        lab.until(lambda: lab.dashboard.locator(".wb-card.wb-stale").count() == 0, "no figure to be stale")
        lab.shot("reloaded")
        lab.page.get_by_role("tab", name="ISA of rms").click()
        view = lab.page.get_by_role("region", name="Machine code of")
        view.locator(".cm-line", has_text="buffer_load").first.wait_for()

    def test_dark_theme(self, lab: Lab) -> None:
        lab.theme(dark=False)
        light = colour(lab, RMS, "struct rmsnorm_globals", "rmsnorm_globals")
        lab.theme(dark=True)
        lab.until(
            lambda: colour(lab, RMS, "struct rmsnorm_globals", "rmsnorm_globals") != light, "other colours"
        )
        for part in (".jp-hipkittens-Sidebar", ".jp-hipkittens-Isa"):
            lab.until(lambda part=part: contrast(lab, part) > 4.5, f"contrast in {part}")
        lab.shot("dark")
        lab.page.get_by_role("tab", name="Dashboard").click()
        lab.card("roofline")
        lab.shot("dark-dashboard")
        lab.until(lambda: contrast(lab, ".jp-hipkittens-Dashboard .wb") > 4.5, "contrast in the dashboard")
        lab.theme(dark=False)

    def test_menu_palette_and_settings(self, lab: Lab) -> None:
        # A command that has nothing to act on is not offered.
        lab.editor(RMS).click()
        lab.page.get_by_role("menuitem", name="HipKittens", exact=True).click()
        menu = lab.page.locator(".lm-Menu")
        for name in ("Run HipKittens Cell", "Profile HipKittens Cell", "Open HipKittens Dashboard"):
            menu.get_by_text(name).wait_for()
        lab.page.keyboard.press("Escape")
        menu.first.wait_for(state="hidden")
        lab.command("apputils:activate-command-palette")
        lab.page.locator(".lm-CommandPalette-input").fill("machine code")
        palette = lab.page.locator(".lm-CommandPalette")
        palette.get_by_text("Show Machine Code (ISA)").wait_for()
        lab.page.keyboard.press("Escape")
        lab.command("settingeditor:open", query="HipKittens")
        lab.page.get_by_text("Measure of the line heat").first.wait_for()
        lab.shot("settings")
        lab.command("application:close")

    def test_the_page_did_not_complain(self, lab: Lab) -> None:
        assert lab.complaints == []


# Starts with the key, ends when the figure is drawn again.
STOPWATCH = """before => {
    window.stopwatch = { start: 0, end: 0 };
    const watch = window.stopwatch;
    addEventListener('keydown', () => { watch.start ||= performance.now(); }, { capture: true, once: true });
    const card = document.querySelector(".jp-hipkittens-Dashboard .wb-card[data-key='timeline']");
    const observer = new MutationObserver(() => {
        const traces = card.querySelector('.js-plotly-plot')?._fullData ?? [];
        if (watch.start && traces.some(trace => Array.from(trace.x ?? []).some(run => run > before))) {
            watch.end = performance.now();
            observer.disconnect();
        }
    });
    observer.observe(card, { attributes: true, attributeFilter: ['data-drawn'] });
}"""


def lit(view: Any) -> list[str]:
    """Highlighted machine code."""
    return [str(text) for text in view.locator(".cm-line.jp-hipkittens-linked").all_inner_texts()]


def points(lab: Lab) -> list[float]:
    """Numbers of the runs in the dashboard's figure of runs, ascending; the figure is drawn when visible."""
    numbers = (
        lab.card("timeline")
        .locator(".js-plotly-plot")
        .evaluate("plot => (plot._fullData ?? []).flatMap(trace => Array.from(trace.x ?? []))")
    )
    return [0.0, *sorted(float(number) for number in numbers if number is not None)]


def contrast(lab: Lab, selector: str) -> float:
    """WCAG contrast of an element's text to what is behind it."""
    ratio = lab.page.locator(selector).first.evaluate(
        """dom => {
            const channels = text => text.match(/[\\d.]+/g).map(Number);
            const light = ([r, g, b]) => {
                const part = c => (c /= 255) <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
                return 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b);
            };
            let behind = dom;
            let back = [0, 0, 0, 0];
            while (behind && (back[3] ?? 1) === 0) {
                back = channels(getComputedStyle(behind).backgroundColor);
                behind = behind.parentElement;
            }
            const pair = [light(channels(getComputedStyle(dom).color)), light(back)].sort((a, b) => b - a);
            return (pair[0] + 0.05) / (pair[1] + 0.05);
        }"""
    )
    return float(ratio)
