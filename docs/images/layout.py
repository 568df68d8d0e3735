"""Draws docs/images/layout.png: one phase of a load with bank conflicts, as `wb.view_layout` shows it.

    python docs/images/layout.py

Needs a chromium (or google-chrome) on PATH, which takes the picture.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import workbench as wb

WIDTH = 900


def main() -> int:
    browser = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if browser is None:
        print("no chromium or google-chrome on PATH; on Debian: apt install chromium", file=sys.stderr)
        return 1
    view = wb.view_layout("st_bf<32, 64, st_16x32_s>", access="load", register="rt_bf<16, 64>", arch="gfx950")
    figure = view.draw(access=0, phase=0)
    figure.update_layout(paper_bgcolor="white", width=WIDTH)
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "layout.html"
        page.write_text(
            figure.to_html(include_plotlyjs=True, auto_play=False, config={"displayModeBar": False}),
            encoding="utf-8",
        )
        command = [
            browser,
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--hide-scrollbars",
            f"--user-data-dir={folder}/profile",
            f"--window-size={WIDTH + 16},{figure.layout.height + 16}",
            "--virtual-time-budget=10000",
            f"--screenshot={Path(__file__).with_suffix('.png')}",
            page.as_uri(),
        ]
        subprocess.run(command, check=True, timeout=120, capture_output=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
