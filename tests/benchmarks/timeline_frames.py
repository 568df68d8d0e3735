"""How long a frame of a timeline takes in a browser, from the whole launch down to single cycles.

python tests/benchmarks/timeline_frames.py [spans]

Draws 100,000 made-up spans on 32 lanes at 1440 pixels, zooms in and moves along, one step a frame, and
prints milliseconds a frame: of drawing; of all that the page's main thread does (script, style, layout,
painting), by the browser's own `Performance.getMetrics`; of its processor; and between frames. Goal: 60
frames a second, which is 16.7 ms. The time between frames is what one sees on this computer, which may be
busy with something else and has no GPU to put the picture on the screen; the processor's is what the page
asks of any.
"""

from __future__ import annotations

import json
import sys
import tempfile
from importlib import resources
from pathlib import Path

import numpy as np

from workbench.views.waves.packed import Packed, meanings, places

sys.path.insert(0, str(Path(__file__).parents[1] / "browser"))

LANES = 32
PAGE = """<!doctype html><meta charset="utf-8"><style>body{margin:16px}%s</style><div id="here"></div>
<script type="module">
%s
const told = JSON.parse(document.getElementById('told').textContent);
const data = await (await fetch(document.getElementById('data').textContent.trim())).arrayBuffer();
globalThis.waves = new Waves(document.getElementById('here'), told, data);
</script>
<script type="application/json" id="told">%s</script>
<script type="text/plain" id="data">data:application/octet-stream;base64,%s</script>
"""
FRAMES = """async () => {
  const [drawn, between] = [[], []];
  const most = waves.most;
  let before = performance.now();
  for (let step = 0; step < STEPS; step++) {
    const wide = most * Math.exp(-Math.min(step, 160) / 160 * Math.log(most / 24));
    waves.from = (most - wide) * (0.3 + step / 600);
    waves.to = waves.from + wide;
    await new Promise(requestAnimationFrame);
    const start = performance.now();
    waves.draw();
    drawn.push(performance.now() - start);
    between.push(start - before);
    before = start;
  }
  return [drawn, between.slice(1)];
}"""


def made_up(spans: int, lanes: int = LANES, seed: int = 0) -> Packed:
    """Columns of a timeline with so many spans, instructions and stalls in turn."""
    random = np.random.default_rng(seed)
    each = spans // lanes
    cycles = random.integers(1, 8, (lanes, each)) * 4
    cycles[:, 1::2] *= 3
    start = np.cumsum(cycles, axis=1) - cycles
    stalls = np.zeros((lanes, each), dtype=bool)
    stalls[:, 1::2] = True
    kinds, reasons = len(meanings()["kinds"]), len(meanings()["reasons"])
    index = np.arange(lanes * each).reshape(lanes, each)
    order = np.concatenate([part for lane in range(lanes) for part in (index[lane, ::2], index[lane, 1::2])])
    begin = start.ravel().astype(np.float32)
    columns = {
        "start": begin,
        "cycles": cycles.ravel().astype(np.float32),
        "op": random.integers(0, 500, lanes * each).astype(np.uint32),
        "cause": np.full(lanes * each, -1, np.int32),
        "begin": begin[order],
        "end": (start + cycles).ravel().astype(np.float32)[order],
        "span": order.astype(np.uint32),
        "kind": random.integers(0, kinds, lanes * each).astype(np.uint8),
        "reason": (stalls * random.integers(1, reasons, (lanes, each))).ravel().astype(np.uint8),
    }
    track = [(len(range(0, each, 2)), len(range(1, each, 2)))] * lanes
    last = float((start + cycles).max())
    told = {
        "name": "made up",
        "device": "none",
        "kernel": "none",
        "clock_hz": 2.4e9,
        "lost": 0,
        "told": "made up",
        "cycles": last,
        "lanes": [[lane // 16, lane % 16, lane * 4 // lanes, 0, last] for lane in range(lanes)],
        "ops": [[4 * i, f"v_mfma_f32_16x16x32_bf16 v[{i}]", "made_up.cpp", i, True] for i in range(500)],
        "barriers": [[float(cycle), 0] for cycle in range(0, int(last), 500)],
        "first": [lane * each for lane in range(lanes + 1)],
        "tracks": np.concatenate(([0], np.cumsum(track))).tolist(),
        "count": lanes * each,
        "segments": lanes * each,
        "at": places(columns),
    }
    return Packed(told, columns)


def page(timelines: list[Packed]) -> str:
    """A page that shows timelines, with nothing else."""
    import base64

    files = resources.files("workbench.views.waves")
    data = [each.data() for each in timelines]
    told = {
        "meanings": meanings(),
        "timelines": [{**each.told, "bytes": len(part)} for each, part in zip(timelines, data, strict=True)],
    }
    return PAGE % (
        files.joinpath("waves.css").read_text(),
        files.joinpath("waves.js").read_text(),
        json.dumps(told).replace("</", "<\\/"),
        base64.b64encode(b"".join(data)).decode(),
    )


STEPS = 240
METRICS = {"TaskDuration": "main thread, mean", "ProcessTime": "page's processor, mean"}
"""What is asked of the browser, by its names: seconds since the page was opened."""


def measure(spans: int) -> dict[str, float]:
    """Milliseconds of a frame, by what they are of."""
    from conftest import FLAGS, chromium
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        file = Path(folder) / "timeline.html"
        file.write_text(page([made_up(spans)]))
        browser = playwright.chromium.launch(executable_path=chromium(), args=list(FLAGS))
        view = browser.new_page(viewport={"width": 1440, "height": 900})
        view.goto(file.as_uri())
        view.wait_for_function("globalThis.waves?.root.dataset.drawn > 0")
        asked = view.context.new_cdp_session(view)
        asked.send("Performance.enable")

        def metrics() -> dict[str, float]:
            found = asked.send("Performance.getMetrics")["metrics"]
            return {each["name"]: each["value"] for each in found}

        before = metrics()
        drawn, between = view.evaluate(FRAMES.replace("STEPS", str(STEPS)))
        after = metrics()
        browser.close()
    spent = {
        title: 1e3 * (after[name] - before[name]) / STEPS for name, title in METRICS.items() if name in after
    }
    return {
        "draw, median": float(np.median(drawn)),
        "draw, 95 %": float(np.quantile(drawn, 0.95)),
        **spent,
        "between, median": float(np.median(between)),
        "between, 95 %": float(np.quantile(between, 0.95)),
    }


if __name__ == "__main__":
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    print(f"{count:,} spans, milliseconds a frame")
    for name, value in measure(count).items():
        print(f"{name:22} {value:8.2f}")
