"""The list of a thousand runs, and the names of sliders, in a page without JupyterLab and kernel."""

from __future__ import annotations

import json
from importlib import resources
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Page

SELECTION_MS = 300

MODEL = """
window.modelOf = values => {
  const heard = {};
  return {
    sent: [],
    get: name => values[name],
    set: (name, value) => { values[name] = value; },
    save_changes: () => {},
    on: (names, call) => names.split(' ').forEach(name => (heard[name] ??= []).push(call)),
    off: () => {},
    send(message) { this.sent.push(message); },
    hears: (name, ...given) => (heard[name] ?? []).forEach(call => call(...given))
  };
};
window.widget = async (script, values) => {
  const url = URL.createObjectURL(new Blob([script], { type: 'text/javascript' }));
  const { default: { render } } = await import(url);
  window.model = modelOf(values);
  const el = document.createElement('div');
  document.getElementById('page').append(el);
  render({ model: window.model, el });
};
"""


def script(*names: str) -> str:
    return "".join(resources.files("workbench.views").joinpath(name).read_text() for name in names)


def runs_json(kernels: int, sessions: int, runs: int) -> str:
    """JSON as from `runlist.content_of`, for this many kernels, sessions per kernel and runs per session."""
    numbers = iter(range(kernels * sessions * runs, 0, -1))

    def run() -> dict[str, Any]:
        return {
            "number": next(numbers),
            "when": "12:00:00",
            "shape": "m=64",
            "device": "emulated:gfx950",
            "us": "12.3",
            "origin": "modelled",
            "hint": "modelled",
            "verified": True,
            "stale": "",
            "names": [],
        }

    return json.dumps(
        {
            "kernels": [
                {
                    "name": f"kernel{k}",
                    "sessions": [
                        {"label": f"session {s}", "count": runs, "runs": [run() for _ in range(runs)]}
                        for s in range(sessions)
                    ],
                }
                for k in range(kernels)
            ],
            "failed": [],
            "baselines": [],
            "none": "nothing was timed, profiled or sanitized yet",
            "shown": kernels * sessions * runs,
            "compared": "",
        }
    )


@pytest.fixture
def page(bare_page: Page) -> Page:
    bare_page.set_content("<!doctype html><div id='page' class='jp-OutputArea'></div>")
    bare_page.add_script_tag(content=MODEL)
    return bare_page


ROWS = "document.querySelectorAll('.wb-kernels tr').length"


def test_of_a_thousand_runs_few_rows_are_made(page: Page) -> None:
    page.evaluate("([code, runs]) => widget(code, { runs })", [script("runlist.js"), runs_json(4, 5, 50)])
    assert page.evaluate(ROWS) <= 61, "one kernel is open"
    page.locator("summary", has_text="kernel2").click()
    page.wait_for_function(f"{ROWS} > 61")
    assert page.evaluate(ROWS) <= 122
    page.get_by_label("Show all 250 runs of kernel0").click()
    assert page.locator("details").first.locator("tr").count() == 250
    assert page.evaluate("document.querySelectorAll('[data-focus=\"show-751\"]').length") == 1


def test_the_shown_run_has_a_row_wherever_it_is(page: Page) -> None:
    runs = json.loads(runs_json(1, 5, 50))
    runs["shown"] = 3
    page.evaluate("([code, runs]) => widget(code, { runs })", [script("runlist.js"), json.dumps(runs)])
    assert page.locator("[aria-current=true]").inner_text() == "#3"


def test_buttons_stay_on_the_line_of_their_run(page: Page) -> None:
    """Beside a sidebar in a window of 1000 pixels, with runs above 1,000."""
    runs = json.loads(runs_json(1, 1, 2))
    for number, run in enumerate(runs["kernels"][0]["sessions"][0]["runs"], 1206):
        run |= {"number": number, "us": "1.438", "origin": "modelled"}
    page.add_style_tag(content=script("runlist.css"))
    page.evaluate("document.getElementById('page').style = 'width: 300px; font: 13px sans-serif'")
    page.evaluate("([code, runs]) => widget(code, { runs })", [script("runlist.js"), json.dumps(runs)])
    row = page.locator("tr", has_text="#1206")
    number, acts = row.locator(".wb-show").bounding_box(), row.locator(".wb-acts").bounding_box()
    assert number is not None
    assert acts is not None
    assert acts["y"] < number["y"] + number["height"]


def test_a_selection_among_a_thousand_runs_is_shown_at_once(page: Page) -> None:
    """The page's part, which took most of the time; the kernel's answers are drawn too."""
    page.evaluate("([code, runs]) => widget(code, { runs })", [script("runlist.js"), runs_json(4, 5, 50)])
    took = page.evaluate(
        """() => {
            const times = [];
            for (let n = 1; n <= 5; n++) {
                const start = performance.now();
                document.querySelectorAll('.wb-kernels tr')[n].click();
                model.hears('msg:custom', { type: 'done' });
                document.body.getBoundingClientRect();
                times.push(performance.now() - start);
            }
            return times.sort((a, b) => a - b)[2];
        }"""
    )
    assert page.evaluate("model.sent.length") == 5
    assert page.evaluate("model.sent[4].do") == "show"
    assert took < SELECTION_MS, took
    print(f"selection: {took:.1f} ms")


def test_no_run_has_a_reason(page: Page) -> None:
    runs = {**json.loads(runs_json(0, 0, 0)), "none": "2 launches in this session, none timed"}
    page.evaluate("([code, runs]) => widget(code, { runs })", [script("runlist.js"), json.dumps(runs)])
    assert page.locator(".wb-none").inner_text() == "2 launches in this session, none timed"


SLIDER = """() => {
  const made = document.createElement('div');
  made.className = 'widget-slider';
  made.innerHTML = '<label class="widget-label">L1 hit rate</label>'
    + '<div class="slider"><div class="noUi-handle" role="slider" tabindex="0"></div></div>'
    + '<div class="widget-readout" contenteditable="true"></div>';
  document.getElementById('page').append(made);
}"""


def test_sliders_have_names_and_figures_a_sentence(page: Page) -> None:
    """Sliders as ipywidgets makes them, before the dashboard's figures and after them."""
    card = {
        "figure": {"data": [], "layout": {"height": 100}},
        "table": "",
        "title": "Runs",
        "sentence": "Runs: 2 rows",
        "lasts": True,
    }
    page.evaluate(SLIDER)
    values = {"order": ["timeline"], "hidden": [], "stale": "", "figure_timeline": json.dumps(card)}
    page.evaluate("([code, values]) => widget(code, values)", [script("copies.js", "grid.js"), values])
    page.evaluate(SLIDER)
    page.wait_for_function("document.querySelectorAll('[role=slider][aria-label]').length === 2")
    assert page.get_by_role("slider", name="L1 hit rate").count() == 2
    assert page.get_by_role("img", name="Runs: 2 rows").count() == 1
    # A card with nothing to draw says so in a line.
    assert page.locator(".wb-plot").inner_text() == "Runs: 2 rows"


def test_a_sanitized_run_has_findings_and_cannot_be_pinned(page: Page) -> None:
    runs = json.loads(runs_json(1, 1, 1))
    run = {"findings": 2, "text": "2 findings", "hint": "race", "number": 2, "when": "", "device": "d"}
    runs["kernels"][0]["sessions"][0]["runs"].insert(0, {**run, "shape": "n=8", "names": []})
    page.evaluate("([code, runs]) => widget(code, { runs })", [script("runlist.js"), json.dumps(runs)])
    first, second = page.locator(".wb-kernels tr").all()
    assert "2 findings" in first.inner_text()
    assert first.locator("button").count() == 0
    assert second.locator("button").count() > 0
