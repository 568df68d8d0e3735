"""Looks at the built site in Chromium: axe on ten pages, pictures at three widths and in both themes.

    make docs && python tests/browser/look_at_site.py [build/site]

Exits with 1 if axe finds something serious, or a page is wider than the screen. axe-core comes from npm, into
build/axe; pictures go to build/screenshots/site.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, sync_playwright

# conftest.py draws a seed unless there is one; nothing here uses it.
os.environ.setdefault("HIPKITTENS_TEST_SEED", "1")
from conftest import FLAGS, ROOT, SCREENSHOTS, chromium

AXE = "axe-core@4.10.3"
PAGES = (
    "docs/index",
    "docs/tour",
    "docs/learn",
    "docs/howto/run_my_kernel",
    "docs/howto/find_a_race",
    "docs/timing",
    "docs/sanitizer",
    "docs/reference/magics",
    "docs/reference/glossary",
    "docs/reference/python",
    "docs/counters",
    "notebooks/01_first_kernel",
)
WIDTHS = (390, 820, 1440)
THEMES = ("light", "dark")
GRAVE = ("serious", "critical")


def axe() -> str:
    """The script of axe-core."""
    folder = ROOT / "build" / "axe"
    script = folder / "node_modules" / "axe-core" / "axe.min.js"
    if not script.exists():
        command = ["npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", str(folder), AXE]
        subprocess.run(command, check=True)
    return script.read_text(encoding="utf-8")


def findings(page: Page, script: str) -> list[dict[str, Any]]:
    """Violations that axe rates as serious or critical."""
    page.evaluate(script)
    report = page.evaluate("() => axe.run(document, { resultTypes: ['violations'] })")
    return [violation for violation in report["violations"] if violation["impact"] in GRAVE]


def look(page: Page, name: str, width: int, theme: str, script: str) -> int:
    """Prints the faults of a page at a width and in a theme, and returns their number."""
    wrong = 0
    page.set_viewport_size({"width": width, "height": 900})
    wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    if wide > 1:
        print(f"{name}, {width} {theme}: {wide} pixels wider than the screen")
        wrong += 1
    SCREENSHOTS.joinpath("site").mkdir(parents=True, exist_ok=True)
    page.screenshot(path=SCREENSHOTS / "site" / f"{name.replace('/', '-')}-{width}-{theme}.png")
    if width == WIDTHS[-1]:
        # The theme decides a moment later which elements scroll and need a tab stop.
        page.wait_for_timeout(500)
        for fault in findings(page, script):
            where = "; ".join(node["html"][:120] for node in fault["nodes"][:3])
            print(f"{name}, {theme}: {fault['impact']}: {fault['id']}, {len(fault['nodes'])} times: {where}")
            wrong += 1
    return wrong


def main(site: Path) -> int:
    program = chromium()
    if program is None:
        print("no Chromium here: apt-get install chromium, or name one in HIPKITTENS_CHROMIUM")
        return 1
    script, wrong = axe(), 0
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=list(FLAGS))
        for theme in THEMES:
            context = browser.new_context(color_scheme=theme, reduced_motion="reduce")
            context.add_init_script(f"localStorage.setItem('mode', '{theme}')")
            for name in PAGES:
                page = context.new_page()
                page.goto((site / f"{name}.html").resolve().as_uri())
                wrong += sum(look(page, name, width, theme, script) for width in WIDTHS)
                page.close()
        browser.close()
    print(f"{len(PAGES)} pages, {len(THEMES)} themes, {len(WIDTHS)} widths: {wrong} things to mend")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "build" / "site"))
