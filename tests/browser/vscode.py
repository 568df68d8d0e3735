"""Opens saved notebooks in VS Code and counts the figures (docs/saved_notebooks.md).

    python notebooks/run.py notebooks/0[123]*.ipynb --save build/saved
    python tests/browser/vscode.py CODE build/saved [--out build/vscode]

CODE is the folder of VS Code's own server, as npm's code-server package has it. All that a notebook needs of
it is installed, with the Node that the package names, by:

    npm pack code-server && tar xf code-server-*.tgz && cd package/lib/vscode
    npm install --omit=dev --ignore-scripts && npm rebuild @vscode/spdlog native-watchdog
    ln -s node_modules node_modules.asar

VS Code itself draws the outputs: no extension is installed. Pictures of all that is scrolled
through go to the folder of --out.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat

THEMES = ("Default Light Modern", "Default Dark Modern")
SIZE = {"width": 1440, "height": 900}
PATIENCE = 120_000
STEP = 600
"""Pixels between two pictures."""

# VS Code keeps what it has drawn of a notebook on the page of its outputs.
SEEN = """() => [...document.querySelectorAll('.output')].filter(one => one.querySelector('svg'))
    .map(one => one.id)"""
LOST = ("model not found", "Loading widget", "No renderer", "Error rendering")


@contextlib.contextmanager
def served(code: Path, home: Path, theme: str) -> Iterator[str]:
    """Serves VS Code; yields its address."""
    settings = home / "data" / "Machine" / "settings.json"
    settings.parent.mkdir(parents=True, exist_ok=True)
    settings.write_text(json.dumps({"workbench.colorTheme": theme, "workbench.startupEditor": "none"}))
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = ["node", str(code / "out" / "server-main.js"), "--without-connection-token"]
    command += ["--accept-server-license-terms", "--host", "127.0.0.1", "--port", str(port)]
    command += ["--server-data-dir", str(home), "--telemetry-level", "off"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as server:
        try:
            while True:
                try:
                    urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=10).close()
                    break
                except OSError:
                    if server.poll() is not None:
                        raise
                    time.sleep(0.2)
            # Its pages of outputs need a secure origin, and only this name is one.
            yield f"http://localhost:{port}"
        finally:
            server.terminate()


def look(page: Any, address: str, notebook: Path, out: Path) -> tuple[int, list[str]]:
    """Scrolls through a notebook; returns the number of outputs with a picture, and the failures."""
    page.goto(f"{address}/?folder={notebook.parent}")
    page.get_by_text("Yes, I trust the authors").click()
    file = page.locator(".explorer-folders-view").get_by_text(notebook.name)
    cell = page.locator(".notebook-editor .monaco-list-row").first
    while True:
        file.dblclick()
        page.locator(".editor-instance .view-lines").or_(cell).first.wait_for(state="attached")
        if cell.count():
            break
        # Until VS Code has read its own extensions a notebook is text.
        page.locator(".tab.active .codicon-close").click()
    page.keyboard.press("Control+b")
    out.mkdir(parents=True, exist_ok=True)
    pictures: set[str] = set()
    lost: set[str] = set()
    rows = page.locator(".notebook-editor .cell-list-container .monaco-list-rows").first
    before, still = None, 0
    # Outputs are drawn and cells grow once they are in view: the end is reached when nothing moves any more.
    while still < 8:
        page.screenshot(path=out / f"{len(list(out.iterdir())):03}.png")
        for frame in page.frames:
            if "fake.html" in frame.url:
                pictures.update(frame.evaluate(SEEN))
                text = frame.locator("body").inner_text()
                lost.update(word for word in LOST if word in text)
        where = rows.evaluate("dom => dom.style.cssText"), len(pictures)
        still = still + 1 if where == before else 0
        before = where
        page.mouse.move(SIZE["width"] / 2, SIZE["height"] / 2)
        for _ in range(STEP // 50):
            page.mouse.wheel(0, 60)
        page.wait_for_timeout(500)
    return len(pictures), sorted(lost)


def main() -> int:
    parser = argparse.ArgumentParser(description="Counts figures of saved notebooks in VS Code.")
    parser.add_argument("code", type=Path, help="folder of VS Code's server")
    parser.add_argument("saved", type=Path, help="folder of saved notebooks")
    parser.add_argument("--out", type=Path, default=Path("build/vscode"))
    options = parser.parse_args()
    from conftest import FLAGS, chromium
    from playwright.sync_api import sync_playwright

    wrong = 0
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as home:
        browser = playwright.chromium.launch(executable_path=chromium(), args=list(FLAGS))
        for theme in THEMES:
            with served(options.code.resolve(), Path(home), theme) as address:
                for notebook in sorted(options.saved.resolve().glob("*.ipynb")):
                    outputs = (o for c in nbformat.read(notebook, 4).cells for o in c.get("outputs", ()))
                    expected = sum("image/svg+xml" in o.get("data", {}) for o in outputs)
                    context = browser.new_context(viewport=SIZE)  # type: ignore[arg-type]
                    context.set_default_timeout(PATIENCE)
                    name = f"{notebook.stem}-{theme.split()[1]}"
                    drawn, lost = look(context.new_page(), address, notebook, options.out / name)
                    context.close()
                    print(f"{name}: {drawn} of {expected} figures", *lost, sep="; ", flush=True)
                    wrong += drawn != expected or bool(lost)
        browser.close()
    return min(wrong, 1)


if __name__ == "__main__":
    sys.exit(main())
