"""Draws docs/images/timeline.png, timeline_near.png and advice.png, as docs/timing.md shows them.

    python docs/images/timing.py [--dark] [--width 1440] [--out FOLDER]

Needs Playwright and a chromium, as the browser tests do.
"""

from __future__ import annotations

import argparse
import base64
import json
import sys
import tempfile
from importlib import resources
from pathlib import Path

import torch
from PIL import Image, ImageChops

import workbench as wb
from workbench.views.html import report
from workbench.views.waves import pack
from workbench.views.waves.packed import Packed, content

ROOT = Path(__file__).resolve().parents[2]
for folder in ("browser", "profile"):
    sys.path.insert(0, str(ROOT / "tests" / folder))

SHAPE = {"m": 1024, "n": 1024, "k": 1024}
SCHEDULES = ("ping_pong", "interleave", "double_buffer")
NEAR = (12_000, 14_000)
"""Cycles of the near view, in the middle of the loops."""

FAULTS = ("conflicts", "scattered_loads", "spills")
"""Kernels of tests/profile/test_advice.py."""

PAGE = """<!doctype html><meta charset="utf-8"><style>body{margin:16px}%s</style><div id="here"></div>
<script type="module">
%s
const content = JSON.parse(document.getElementById('content').textContent);
const data = await (await fetch(document.getElementById('data').textContent.trim())).arrayBuffer();
globalThis.waves = new Waves(document.getElementById('here'), content, data);
</script>
<script type="application/json" id="content">%s</script>
<script type="text/plain" id="data">data:application/octet-stream;base64,%s</script>
"""
DARK = ":root{--jp-ui-font-color1:#e0e0e0;--jp-ui-font-color2:#a0a0a0;color-scheme:dark}body{background:#111}"
MOST_BYTES = 150_000
MARGIN = 16


def timeline_page(timelines: list[Packed]) -> str:
    """A page that shows timelines, with nothing else."""
    files = resources.files("workbench.views.waves")
    described, data = content(timelines)
    return PAGE % (
        files.joinpath("waves.css").read_text(),
        files.joinpath("waves.js").read_text(),
        json.dumps(described).replace("</", "<\\/"),
        base64.b64encode(data).decode(),
    )


def timelines() -> str:
    """A page with the timelines of three GEMMs."""
    lines = [
        wb.timeline(f"gemm/bf16:{schedule}", shape=SHAPE, device="emulated:gfx950") for schedule in SCHEDULES
    ]
    return timeline_page([pack(line) for line in lines])


def advice(folder: Path) -> str:
    """A page with the advice for kernels with a fault each."""
    from test_advice import GROUPS, module

    advices = []
    for name in FAULTS:
        out = torch.zeros(GROUPS * 256)
        x = (out.clone(),) if name.startswith("scattered") else ()
        advices.append(wb.profile(module()[name][GROUPS, 256], *x, out).advice)
    return Path(report(folder / "advice-report.html", *advices)).read_text(encoding="utf-8")


def save(picture: Path, to: Path) -> None:
    """All colours where they fit: a palette takes hues that few pixels have for grey."""
    with Image.open(picture) as opened:
        image = opened.convert("RGB")
    blank = Image.new("RGB", image.size, image.getpixel((0, image.height - 1)))  # type: ignore[arg-type]
    used = ImageChops.difference(image, blank).getbbox() or (0, 0, *image.size)
    image = image.crop((0, 0, image.width, min(image.height, used[3] + MARGIN)))
    image.save(to, optimize=True)
    if to.stat().st_size > MOST_BYTES:
        image.quantize(256, method=Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE).save(
            to, optimize=True
        )
    print(f"{to}: {to.stat().st_size / 1000:.0f} kB")


def main() -> None:
    from conftest import FLAGS, chromium
    from playwright.sync_api import sync_playwright

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--dark", action="store_true")
    parser.add_argument("--width", type=int, default=1440)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent)
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        folder = Path(name)
        browser = playwright.chromium.launch(executable_path=chromium(), args=list(FLAGS))
        scheme = "dark" if options.dark else "light"
        size = {"width": options.width, "height": 900}
        view = browser.new_page(viewport=size, color_scheme=scheme)  # type: ignore[arg-type]

        def taken(page: str, name: str) -> None:
            file = folder / f"{name}.html"
            file.write_text(page, encoding="utf-8")
            view.goto(file.as_uri())
            if options.dark:
                view.add_style_tag(content=DARK)

        def shot(shown: str) -> None:
            view.screenshot(path=folder / f"{shown}.png", full_page=True)
            save(folder / f"{shown}.png", options.out / f"{shown}.png")

        taken(timelines(), "timeline")
        view.wait_for_function("globalThis.waves?.root.dataset.drawn > 0")
        view.evaluate("waves.recolour(); waves.draw()")
        shot("timeline")
        view.evaluate(f"[waves.from, waves.to] = {list(NEAR)}; waves.draw()")
        shot("timeline_near")
        taken(advice(folder), "advice")
        shot("advice")
        browser.close()


if __name__ == "__main__":
    main()
