"""A sweep of 1,000 runs with a dashboard: how often it draws, how smooth the page is, its memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest

from workbench.views.draw_rate import INTERVAL

if TYPE_CHECKING:
    from conftest import Lab, Server

pytestmark = pytest.mark.timeout(1800)

RUNS = 1000
LOAD, SWEEP = range(2)
CELLS = [
    """\
%load_ext workbench
import time
from dataclasses import replace
import workbench as wb
from workbench.events import hub
result = wb.profile("activations/softmax", shape={"rows": 16, "cols": 128})""",
    # Faster than any kernel is timed: 200 runs a second.
    f"""\
for n in range({RUNS}):
    hub.publish("time", result.name, replace(result.timing, shape={{"rows": n % 40 + 1, "cols": 128}}))
    hub.publish("progress", result.name, {{"done": n + 1, "total": {RUNS}}})
    time.sleep(0.005)""",
]
# Counts drawings and the longest times between two frames.
WATCH = """() => {
    const card = document.querySelector(".jp-hipkittens-Dashboard .wb-card[data-key='timeline']");
    const watch = (window.watch = { from: performance.now(), drawn: 0, frames: [] });
    new MutationObserver(() => watch.drawn++).observe(card, { attributeFilter: ['data-drawn'] });
    let last = watch.from;
    const frame = now => {
        watch.frames.push(now - last);
        last = now;
        requestAnimationFrame(frame);
    };
    requestAnimationFrame(frame);
}"""
WATCHED = """() => {
    const { from, drawn, frames } = window.watch;
    frames.sort((a, b) => a - b);
    const at = part => frames[Math.min(frames.length - 1, Math.floor(frames.length * part))];
    return { seconds: (performance.now() - from) / 1000, drawn, median: at(0.5), late: at(0.99) };
}"""


def memory(session: Any) -> tuple[float, int]:
    """MB of JavaScript's heap after a collection, and DOM nodes."""
    session.send("HeapProfiler.collectGarbage")
    used = session.send("Runtime.getHeapUsage")["usedSize"]
    return used / 1e6, session.send("Memory.getDOMCounters")["nodes"]


def test_a_sweep_of_a_thousand_runs(
    open_lab: Callable[..., Lab], server: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    lab = open_lab()
    # A separate kernel: otherwise a repeated test would have the last one's runs in the figure.
    lab.open(server.notebook(f"sweep-{uuid4().hex[:8]}.ipynb", CELLS))
    lab.run(LOAD)
    lab.command("hipkittens:open-dashboard")
    lab.card("timeline")
    lab.card("shapes")
    session = lab.page.context.new_cdp_session(lab.page)
    # Measured after one round, so that one-time loading does not count as growth.
    lab.run(SWEEP)
    plot = lab.dashboard.locator(".wb-card[data-key='timeline'] .js-plotly-plot")

    def last() -> int:
        return int(plot.evaluate("plot => plot._fullData[0].x.at(-1)"))

    lab.until(lambda: last() == RUNS + 1, "the last run of the first round in the figure")
    heap, nodes = memory(session)
    lab.page.evaluate(WATCH)
    lab.run(SWEEP)
    lab.until(lambda: last() == 2 * RUNS + 1, "the last run in the figure")
    watched = lab.page.evaluate(WATCHED)
    grown, more = (after - before for after, before in zip(memory(session), (heap, nodes), strict=True))
    with capsys.disabled():
        print(
            f"\n{RUNS} runs in {watched['seconds']:.1f} s: drawn {watched['drawn']} times, "
            f"{watched['drawn'] / watched['seconds']:.1f} a second; between two frames "
            f"{watched['median']:.0f} ms (median), {watched['late']:.0f} ms (99 of 100); "
            f"heap {heap:.0f} MB, {grown:+.1f} MB; {nodes} nodes, {more:+.0f}"
        )
    assert 2 <= watched["drawn"] <= watched["seconds"] / INTERVAL + 1
    # A thousand more runs replace the previous thousand.
    assert grown < 25
    assert more < 3000
    lab.dashboard.get_by_text("1,000 runs").first.wait_for()
    assert lab.complaints == []
