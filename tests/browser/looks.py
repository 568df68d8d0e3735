"""Takes pictures of all views: three sizes, both themes, 0, 1, 200 and 1,200 runs; for people to look at.

python tests/browser/looks.py [view ...]

Pictures go to build/looks/VIEW-WIDTH-THEME.png. A view is launcher, template, dashboard (the one with numbers
of runs), tooltip, isa, export, or a name in CELLS; without one all are taken. A picture that cannot be taken
is named at the end, and the others go on.
"""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import nbformat
import pytest

sys.path.insert(0, str(Path(__file__).parent))

from test_journeys import SLOW
from test_lab import KERNEL

from workbench.views.notebook_page import notebook_page

if TYPE_CHECKING:
    from conftest import Lab

pytestmark = pytest.mark.timeout(3600)

FOLDER = Path(__file__).parents[2] / "build" / "looks"
VIEWS = sys.argv[1:] if Path(sys.argv[0]).resolve() == Path(__file__) else []
SIZES = ((1000, 700), (1440, 900), (1920, 1080))
RUNS = (0, 1, 200, 1200)
TEMPLATES = ("elementwise", "rowwise", "gemm", "attention", "port")

FAULT = """\
%%hipkittens scale
#include <hip/hip_runtime.h>
__global__ void scale(float *x, float by, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i <= n) x[i] *= by;
}"""
RACE = """\
%%hipkittens race
#include <hip/hip_runtime.h>
__global__ void flip(const float *x, float *out) {
    __shared__ float s[128];
    s[threadIdx.x] = x[threadIdx.x];
    __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "wavefront");
    out[threadIdx.x] = s[threadIdx.x ^ 64];
}"""
BROKEN = KERNEL.replace("rms --spec normalization/rmsnorm --shape rows=256,cols=1024", "broken")
BROKEN = BROKEN.replace("rsqrt(scale, scale);", "rsqrt(scale, scale)")
BROKEN = BROKEN.replace("add(scale, scale, g.eps);", "add(scale, stored, g.eps);")
TURN = "dict(x=torch.randn(64, 64), out=torch.zeros(64, 64)), outputs='out'"
SWEPT = "'normalization/rmsnorm', [dict(rows=r, cols=1024) for r in (64, 128, 256, 512)]"
CELLS = {
    "load": "%env HIPKITTENS_HISTORY=looks.sqlite\n%load_ext workbench\nimport torch\n"
    "import workbench as wb\nfrom workbench.events import hub",
    "kernel": KERNEL.replace("rms --spec", "rms --profile --spec"),
    "findings": BROKEN,
    "scale": FAULT,
    "fault": "scale['scale'][4, 256](torch.ones(1000), 2.0, 1000)",
    "race": RACE,
    "sanitizer": "wb.sanitize(race['flip'][1, 128], torch.arange(128.0), torch.zeros(128))",
    "stepper": "wb.step(race['flip'][1, 128], torch.arange(128.0), torch.zeros(128))",
    "tiles": "wb.view_layout('rt_bf<32, 64>')",
    "shared_tiles": "wb.view_layout('st_bf<32, 64>')",
    "exercises": "wb.exercises()",
    "exercise": "wb.exercise('01.1')",
    "hint": "wb.exercise('01.1').hint()",
    "wrong_answer": "wb.exercise('01.1').check(rms)",
    "turn": SLOW,
    "verified": f"wb.verify(turn['turn'][1, 64], lambda x: x.T, inputs={TURN})",
    "failed": f"wb.verify(turn['turn'][1, 64], lambda x: x, inputs={TURN})",
    "verify_figure": f"wb.verify(turn['turn'][1, 64], lambda x: x, inputs={TURN}).figure",
    "verify_all": "wb.verify('normalization/rmsnorm')",
    "profile": "wb.profile(turn['turn'][1, 64], torch.randn(64, 64), torch.zeros(64, 64))",
    "timeline": "wb.timeline(turn['turn'][1, 64], torch.randn(64, 64), torch.zeros(64, 64))",
    "sweep": f"wb.sweep({SWEPT})",
    "sweep_figure": f"wb.sweep({SWEPT}).figure",
    "history": "wb.history()",
    "error": "wb.verify('nothing/such')",
    "map": "wb.xcd_map('gemm/bf16')",
    "dashboard": "wb.dashboard()",
}
NUMBER = {name: n for n, name in enumerate(CELLS)}
EXECUTE = """async code => {
    const { kernel } = window.jupyterapp.shell.currentWidget.sessionContext.session;
    const user_expressions = { value: code };
    const asked = kernel.requestExecute({ code: '', user_expressions, store_history: false });
    return JSON.stringify((await asked.done).content.user_expressions.value);
}"""
FAILED: list[str] = []


def attempt(what: str, act: Callable[..., Any], *arguments: Any) -> None:
    try:
        act(*arguments)
    except (Exception, pytest.fail.Exception) as error:
        FAILED.append(f"{what}: {str(error).splitlines()[0]}")
        traceback.print_exc(limit=2)


def each_look(lab: Lab) -> Iterator[str]:
    """Sets each size and theme; yields its part of a picture's name."""
    for width, height in SIZES:
        lab.page.set_viewport_size({"width": width, "height": height})
        for dark in (False, True):
            lab.theme(dark)
            lab.page.wait_for_timeout(500)
            yield f"{width}-{'dark' if dark else 'light'}"


def picture(page: Any, name: str) -> None:
    page.screenshot(path=FOLDER / f"{name}.png", animations="disabled")


def pictures(lab: Lab, name: str, prepare: Callable[[], Any] = lambda: None) -> None:
    for look in each_look(lab):
        prepare()
        picture(lab.page, f"{name}-{look}")


def wide(lab: Lab) -> None:
    lab.page.set_viewport_size({"width": 1440, "height": 900})


def launcher(lab: Lab, server: Any) -> None:
    lab.page.goto(server.url("lab?reset"))
    lab.page.locator(".jp-LauncherCard", has_text="HipKittens Tutorial").wait_for()
    pictures(lab, "launcher")
    lab.command("hipkittens:show-sidebar")
    pictures(lab, "launcher_sidebar")


def template(lab: Lab, server: Any) -> None:
    for name in TEMPLATES:
        wide(lab)
        lab.page.goto(server.url("lab?reset"))
        lab.page.locator(".jp-LauncherCard", has_text="HipKittens Tutorial").wait_for()
        lab.command("hipkittens:new-from-template", template=name)
        lab.ready()
        lab.page.locator(".jp-MarkdownCell").first.wait_for()
        pictures(lab, f"template_{name}")


def dashboards(lab: Lab, runs: int) -> None:
    wide(lab)
    lab.editor(NUMBER["kernel"]).click()
    lab.button("Dashboard").click()
    lab.dashboard.wait_for()
    lab.page.wait_for_timeout(3000)
    pictures(lab, f"dashboard_{runs}", lambda: lab.page.wait_for_timeout(1000))
    # All cards at once, in a window as high as the page.
    for width, dark in ((1000, False), (1440, True), (1920, False)):
        lab.page.set_viewport_size({"width": width, "height": 3200})
        lab.theme(dark)
        lab.page.wait_for_timeout(2500)
        picture(lab.page, f"dashboard_{runs}_whole-{width}-{'dark' if dark else 'light'}")
    wide(lab)
    lab.page.locator(".lm-TabBar-tab", has_text="Dashboard").locator(".lm-TabBar-tabCloseIcon").click()


def with_runs(lab: Lab, runs: int) -> None:
    """The dashboard, the sidebar's list, the history and `wb.dashboard()` with a number of runs."""
    attempt(f"dashboard with {runs} runs", dashboards, lab, runs)
    for name in ("history", "dashboard"):
        wide(lab)
        lab.run(NUMBER[name])
    attempt(f"cells with {runs} runs", cells, lab, ("history", "dashboard"), f"_{runs}")


def cell(lab: Lab, name: str, shot: str) -> None:
    """A picture with the cell at the window's top, and its output below."""
    number = NUMBER[name]
    lab.page.mouse.move(5, 5)
    lab.editor(number).click()
    to_top = "dom => dom.scrollIntoView({ block: 'start' })"
    lab.cell(number).locator(".jp-InputArea").first.evaluate(to_top)
    lab.page.wait_for_timeout(400)
    picture(lab.page, shot)


def cells(lab: Lab, names: Iterable[str], runs: str = "") -> None:
    # A theme draws all figures again: each is chosen once for all cells.
    for look in each_look(lab):
        for name in names:
            attempt(f"{name} {look}", cell, lab, name, f"cell_{name}{runs}-{look}")


def tooltip(lab: Lab) -> None:
    def hover() -> None:
        number = NUMBER["findings"]
        lab.page.mouse.move(5, 5)
        lab.cell(number).evaluate("dom => dom.scrollIntoView({ block: 'start' })")
        lab.cell(number).locator(".cm-lintRange-error").first.hover()
        lab.page.wait_for_timeout(900)

    lab.editor(NUMBER["findings"]).click()
    pictures(lab, "tooltip", hover)
    lab.page.mouse.move(5, 5)


def isa(lab: Lab) -> None:
    """Opened at each size, which decides where it opens."""
    for width, height in SIZES:
        lab.page.set_viewport_size({"width": width, "height": height})
        lab.editor(NUMBER["kernel"]).click()
        lab.button("ISA").click()
        lab.page.locator(".jp-hipkittens-Isa .cm-line.jp-hipkittens-line").first.wait_for()
        for dark in (False, True):
            lab.theme(dark)
            lab.page.wait_for_timeout(700)
            picture(lab.page, f"isa-{width}-{'dark' if dark else 'light'}")
        lab.page.locator(".lm-TabBar-tab", has_text="ISA").locator(".lm-TabBar-tabCloseIcon").first.click()


def export(lab: Lab, path: Any) -> None:
    """The page that File > Save and export writes, in the browser's own light and dark."""
    lab.save()
    page = notebook_page(nbformat.read(path, as_version=4), "looks")  # type: ignore[no-untyped-call]
    file = FOLDER / "export.html"
    file.write_text(page, encoding="utf-8")
    for scheme in ("light", "dark"):
        shown = lab.page.context.browser.new_page(color_scheme=scheme)  # type: ignore[union-attr,arg-type]
        shown.goto(file.as_uri())
        for width, height in SIZES:
            shown.set_viewport_size({"width": width, "height": height})
            shown.wait_for_timeout(400)
            picture(shown, f"export-{width}-{scheme}")
            shown.screenshot(path=FOLDER / f"export_whole-{width}-{scheme}.png", full_page=True)
        shown.close()


@pytest.mark.parametrize("size", [{"width": 1440, "height": 900}], ids=["1440x900"])
def test_looks(open_lab: Any, server: Any, size: Any) -> None:
    """Not collected by the suite: this file is run manually."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    lab = open_lab(size=size)
    lab.page.set_default_timeout(60_000)

    def chosen(view: str) -> bool:
        return not VIEWS or view in VIEWS

    def is_output(name: str) -> bool:
        return name not in ("load", "history", "dashboard")

    if chosen("launcher"):
        attempt("launcher", launcher, lab, server)
    if chosen("template"):
        attempt("template", template, lab, server)
    if set(VIEWS) <= {"launcher", "template"} and VIEWS:
        return
    wide(lab)
    path = server.folder / server.notebook("looks.ipynb", list(CELLS.values()))
    lab.open_beside_sidebar(path.name)
    lab.run(NUMBER["load"])
    if chosen("dashboard"):
        with_runs(lab, 0)
    needed = [n for name, n in NUMBER.items() if is_output(name)]
    if VIEWS and not chosen("export"):
        # Cells of C++ are what others launch.
        code = [name for name in CELLS if is_output(name) and CELLS[name].startswith("%%")]
        needed = [NUMBER[name] for name in code] + [n for name, n in NUMBER.items() if name in VIEWS]
        needed = sorted(set(needed) - {NUMBER["load"], NUMBER["history"], NUMBER["dashboard"]})
    wide(lab)
    lab.run(needed.pop(0))
    if chosen("dashboard"):
        with_runs(lab, 1)
    wide(lab)
    for number in needed:
        attempt(f"cell {number}", lab.run, number)
    attempt("cells", cells, lab, [name for name in CELLS if is_output(name) and chosen(name)])
    if chosen("tooltip"):
        attempt("tooltip", tooltip, lab)
    if chosen("isa"):
        attempt("isa", isa, lab)
    if chosen("export"):
        wide(lab)
        attempt("export", export, lab, path)
    if chosen("dashboard"):
        runs = 1
        lab.page.evaluate(EXECUTE, "globals().update(profiled=hub.history('profile')[0].data)")
        for total in RUNS[2:]:
            for _ in range(runs, total, 100):
                count = min(100, total - runs)
                code = f"[hub.publish('profile', r.name, r) for r in {count} * [profiled]] and 0"
                lab.page.evaluate(EXECUTE, code)
                runs += count
            with_runs(lab, total)
    assert not FAILED, "\n".join(FAILED)


if __name__ == "__main__":
    sys.exit(pytest.main([__file__, "-q", "-s", "-n0", "-p", "no:cacheprovider", "-p", "no:rerunfailures"]))
