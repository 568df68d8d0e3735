"""A JupyterLab server with the extension, a real kernel and the emulated device, driven by Chromium.

Everything is real but the home folder: the extension is built from the checkout's sources, the server and its
kernel are processes of their own, and the browser is the one that the machine has ($HIPKITTENS_CHROMIUM, else
Chromium or Chrome on PATH; nothing is downloaded). Where one of them cannot be had, the tests are skipped and
say why. Screenshots go to build/screenshots/.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import re
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeGuard

import pytest

from workbench import cache
from workbench.lab import build

if TYPE_CHECKING:
    from playwright.sync_api import Browser, ConsoleMessage, Locator, Page

ROOT = Path(__file__).parents[2]
SCREENSHOTS = ROOT / "build" / "screenshots"
SIZE = {"width": 1600, "height": 1000}
PATIENCE = 300_000
"""Milliseconds that anything may take: a slow machine is no failure, and a wrong page stays wrong."""

LOOKS = [(width, height, dark) for width, height in ((1440, 900), (1024, 700)) for dark in (False, True)]
"""Sizes and themes of the page for journeys: the seed picks one; HIPKITTENS_TEST_ALL runs all."""
if not os.environ.get("HIPKITTENS_TEST_ALL"):
    LOOKS = [random.Random(os.environ["HIPKITTENS_TEST_SEED"]).choice(LOOKS)]

AGAIN = pytest.mark.flaky(reruns=1)
"""For pages on a loaded machine: a test that fails and then passes is reported as a rerun."""

PROGRAMS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--font-render-hinting=none",
)
# Chromium's complaints about missing parts of a headless machine, and about optional files of the page, and
# JupyterLab's about a machine that is slow.
HARMLESS = re.compile(
    r"WebGL|GPU stall|favicon|net::ERR_ABORTED|ResizeObserver loop|Slow network|third-party cookie|"
    r"Fetch API cannot load|/api/kernels/[^ ]*/channels|The AudioContext|deprecat|"
    r"Plugin .* to activate|"
    # A kernel's message to a figure of the page before a reload.
    r"Comm not found for comm id|"
    # jupyter_server remembers static files by name alone: a font that JupyterLab and Notebook both have is
    # refused to the second that asks.
    r"403 \(Forbidden\) \(.*/static/(lab|notebook)/\w+\.woff2",
    re.IGNORECASE,
)


def chromium() -> str | None:
    """Path of the browser."""
    name = os.environ.get("HIPKITTENS_CHROMIUM")
    return shutil.which(name) if name else next(filter(None, map(shutil.which, PROGRAMS)), None)


FAILED: dict[str, str] = {}
"""The first step that failed, by journey."""


@dataclass
class Server:
    """A running Jupyter server.

    Attributes:
        address: such as "http://127.0.0.1:8888".
        folder: what the file browser shows.
    """

    address: str
    token: str
    folder: Path
    log: Path
    process: subprocess.Popen[bytes] = field(repr=False)

    def url(self, path: str) -> str:
        return f"{self.address}/{path}{'&' if '?' in path else '?'}token={self.token}"

    def notebook(self, name: str, cells: Sequence[str]) -> str:
        """Writes a notebook of code cells; returns its name."""
        document = {
            "nbformat": 4,
            "nbformat_minor": 5,
            "metadata": {
                "kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"},
                "language_info": {"name": "python"},
            },
            "cells": [
                {
                    "cell_type": "code",
                    "id": f"cell-{i}",
                    "metadata": {},
                    "source": text,
                    "outputs": [],
                    "execution_count": None,
                }
                for i, text in enumerate(cells)
            ],
        }
        (self.folder / name).write_text(json.dumps(document))
        return name


@pytest.fixture(scope="session")
def program() -> str:
    """Path of the browser; without one the test is skipped before a server starts."""
    pytest.importorskip("playwright.sync_api", reason="Playwright is not installed: pip install playwright")
    path = chromium()
    if path is None:
        pytest.skip(
            "no Chromium or Chrome on PATH: apt-get install chromium, or name one in HIPKITTENS_CHROMIUM"
        )
    return path


@pytest.fixture(scope="session")
def extension(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder to put on JUPYTER_PATH: the front end, built from the current sources."""
    try:
        build.build()
    except build.NotPossible as error:
        pytest.skip(f"the JupyterLab extension cannot be built here: {error}")
    except subprocess.CalledProcessError as error:
        pytest.fail(f"the JupyterLab extension does not build: {error}")
    prefix = tmp_path_factory.mktemp("extension")
    build.install(str(prefix))
    return prefix / "share" / "jupyter"


@pytest.fixture(scope="session")
def server(program: str, extension: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """JupyterLab (and Notebook 7 where it is installed) on a free port, with its own home."""
    home = tmp_path_factory.mktemp("home")
    folder = home / "notebooks"
    folder.mkdir()
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    token = secrets.token_hex(16)
    settings = home / "config" / "labconfig"
    settings.mkdir(parents=True)
    overrides = {
        # JupyterLab's question about news would cover the page.
        "@jupyterlab/apputils-extension:notification": {"fetchNews": "false", "checkForUpdates": False},
        # The sidebar of the first visit would take space on the page.
        "hipkittens-workbench:plugin": {"welcome": False},
        # Tests count all cells; JupyterLab would remove those far from view from the page.
        "@jupyterlab/notebook-extension:tracker": {"windowingMode": "none"},
    }
    (settings / "default_setting_overrides.json").write_text(json.dumps(overrides))
    environment = {
        **{k: v for k, v in os.environ.items() if not k.startswith(("JUPYTER", "JPY_", "IPYTHON"))},
        "HOME": str(home),
        # Code compiled by an earlier run is reused: the tests are about the page.
        "HIPKITTENS_CACHE": str(cache.folder()),
        "HIPKITTENS_DEVICE": "emulated:gfx950",
        # Tests share a folder; a test of the history names a file.
        "HIPKITTENS_HISTORY": "off",
        "JUPYTER_PATH": str(extension),
        "JUPYTER_CONFIG_DIR": str(home / "config"),
        "JUPYTER_DATA_DIR": str(home / "data"),
        "JUPYTER_RUNTIME_DIR": str(home / "runtime"),
        "IPYTHONDIR": str(home / "ipython"),
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}",
    }
    command = [
        sys.executable,
        "-m",
        "jupyterlab",
        "--no-browser",
        "--allow-root",
        "--ServerApp.ip=127.0.0.1",
        f"--ServerApp.port={port}",
        "--ServerApp.port_retries=0",
        f"--IdentityProvider.token={token}",
        f"--ServerApp.root_dir={folder}",
        # Lets a test execute commands that have no button on the page.
        "--LabApp.expose_app_in_browser=True",
        "--JupyterNotebookApp.expose_app_in_browser=True",
    ]
    log = home / "server.log"
    with log.open("wb") as out:
        process = subprocess.Popen(
            command, cwd=folder, env=environment, stdout=out, stderr=subprocess.STDOUT, start_new_session=True
        )
    started = Server(f"http://127.0.0.1:{port}", token, folder, log, process)
    try:
        _wait_for_server(started)
        yield started
    finally:
        # The whole session of processes: the server and its kernels.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _wait_for_server(server: Server, seconds: float = 120) -> None:
    end = time.monotonic() + seconds
    while True:
        try:
            with urllib.request.urlopen(server.url("api/status"), timeout=10):
                return
        except (urllib.error.URLError, OSError) as error:
            if server.process.poll() is not None or time.monotonic() > end:
                pytest.fail(f"JupyterLab does not start ({error}):\n{server.log.read_text()[-4000:]}")
            time.sleep(0.2)


@pytest.fixture(scope="module")
def browser(program: str) -> Iterator[Browser]:
    """Headless Chromium, one per module, since Playwright holds the thread's event loop while it runs."""
    from playwright import sync_api as api

    with api.sync_playwright() as playwright:
        try:
            started = playwright.chromium.launch(executable_path=program, args=list(FLAGS))
        except api.Error as error:
            pytest.skip(f"{program} does not start: {error}")
        yield started
        started.close()


@pytest.fixture(scope="module")
def bare_page(browser: Browser) -> Iterator[Page]:
    """A page without a server."""
    page = browser.new_page()
    page.set_default_timeout(PATIENCE)
    yield page
    page.close()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    folder = str(Path(__file__).parent)
    for item in items:
        if str(item.path).startswith(folder):
            item.add_marker(AGAIN)
            if is_journey(item.parent):
                # Alone, a step would begin on an empty page.
                item.user_properties.append(("retry", item.parent.nodeid))


def is_journey(collector: pytest.Collector | None) -> TypeGuard[pytest.Class]:
    """True for a class whose tests are steps on one page."""
    return isinstance(collector, pytest.Class) and getattr(collector.obj, "STEPS", False)


class Lab:
    """A page with JupyterLab or Notebook 7, and a person's actions on it.

    Attributes:
        page: Playwright's.
        complaints: errors and warnings that the page wrote to the browser's console.
    """

    TIP = 5_000
    """Milliseconds until a tip that does not show is asked for again."""

    def __init__(self, browser: Browser, server: Server, *, size: dict[str, int] = SIZE) -> None:
        self.server = server
        self.complaints: list[str] = []
        context = browser.new_context(viewport=size, reduced_motion="reduce")  # type: ignore[arg-type]
        context.set_default_timeout(PATIENCE)
        context.grant_permissions(["clipboard-read", "clipboard-write"])
        self.page: Page = context.new_page()
        self.page.on("console", self._heard)
        self.page.on("pageerror", lambda error: self.complaints.append(f"uncaught: {error}"))
        # JupyterLab's own: its file browser lists a folder while a file in it gets another name.
        lost = self.page.get_by_role("dialog", name="Directory not found")
        self.page.add_locator_handler(lost, lambda dialog: dialog.get_by_role("button").last.click())

    def _heard(self, message: ConsoleMessage) -> None:
        line = f"{message.type}: {message.text} ({message.location.get('url', '')})"
        if message.type in ("error", "warning") and not HARMLESS.search(line):
            self.complaints.append(line)

    def open(self, path: str) -> None:
        """Opens a notebook in JupyterLab and waits for its kernel."""
        self.page.goto(self.server.url(f"lab/tree/{path}?reset"))
        self.ready()

    def open_beside_sidebar(self, path: str) -> None:
        """Opens a notebook with the workbench's sidebar, and closes the file browser."""
        self.open(path)
        self.command("hipkittens:show-sidebar")
        self.sidebar.wait_for()
        self.command("application:toggle-left-area")

    def ready(self) -> None:
        """Waits for the notebook's cells and for an idle kernel."""
        self.page.locator(".jp-Notebook .jp-CodeCell").first.wait_for()
        self.idle()

    def idle(self) -> None:
        """Waits until the kernel is idle."""
        self.page.wait_for_function(
            """() => {
                const app = window.jupyterapp;
                const session = app?.shell.currentWidget?.sessionContext ?? null;
                return session?.isReady && session.session?.kernel?.connectionStatus === 'connected'
                    && session.session.kernel.status === 'idle';
            }"""
        )

    @property
    def cells(self) -> Locator:
        return self.page.locator(".jp-NotebookPanel:not(.lm-mod-hidden) .jp-Notebook .jp-CodeCell")

    def cell(self, number: int) -> Locator:
        return self.cells.nth(number)

    def editor(self, number: int) -> Locator:
        return self.cell(number).locator(".jp-InputArea-editor .cm-content")

    def text(self, number: int) -> str:
        """Source of a cell."""
        text: str = self.editor(number).evaluate(
            "dom => (dom.cmTile ?? dom.cmView).view.state.doc.toString()"
        )
        return text

    def write(self, number: int, text: str) -> None:
        """Replaces a cell's text, as a person who pastes."""
        self.editor(number).click()
        self.page.keyboard.press("Control+a")
        self.page.evaluate("text => navigator.clipboard.writeText(text)", text)
        self.page.keyboard.press("Control+v")
        self.until(lambda: self.text(number) == text, f"the text to be in cell {number}")

    def run(self, number: int) -> None:
        """Runs a cell with Ctrl+Enter and waits for its end."""
        self.start(number)
        self.finish(number)

    def start(self, number: int) -> None:
        self.editor(number).click()
        self.page.keyboard.press("Control+Enter")

    def finish(self, number: int) -> None:
        """Waits until a cell shows a number instead of the star."""
        self.until(
            lambda: re.fullmatch(r"\[\d+\]:", self.prompt(number)) is not None, f"cell {number} to end"
        )

    def prompt(self, number: int) -> str:
        return self.cell(number).locator(".jp-InputPrompt").inner_text().strip()

    def line(self, number: int, text: str) -> Locator:
        """The line of a cell that contains a text."""
        return self.cell(number).locator(".jp-InputArea-editor .cm-line", has_text=text).first

    def number_of(self, number: int, text: str) -> int:
        """Number of that line, from 1."""
        return next(i for i, line in enumerate(self.text(number).splitlines(), 1) if text in line)

    @property
    def sidebar(self) -> Locator:
        return self.page.locator(".jp-hipkittens-Sidebar")

    def button(self, name: str) -> Locator:
        """A button of the sidebar."""
        return self.sidebar.get_by_role("button", name=name, exact=True)

    def press(self, name: str, number: int) -> None:
        """Presses a button of the sidebar for a cell and waits until the cell has run."""
        self.editor(number).click()
        before = self.prompt(number)
        self.button(name).click()
        self.until(lambda: self.prompt(number) != before, f"cell {number} to run")
        self.finish(number)

    @property
    def dashboard(self) -> Locator:
        return self.page.locator(".jp-hipkittens-Dashboard")

    def card(self, key: str, within: Locator | None = None) -> Locator:
        """A figure of the dashboard's panel, or of a cell, once it is drawn; without data it is a sentence.

        It is drawn when it comes into view, and what grows above it pushes it out again.
        """
        chosen = f".wb-grid .wb-card[data-key='{key}']"
        card = (within or self.dashboard).locator(chosen)
        empty = (within or self.dashboard).locator(f"{chosen}.wb-empty")

        def drawn() -> bool:
            card.scroll_into_view_if_needed()
            return card.locator(".main-svg").count() + empty.count() > 0

        self.until(drawn, f"the figure {key}")
        return card

    def output(self, number: int) -> Locator:
        return self.cell(number).locator(".jp-OutputArea-output")

    def says(self, where: Locator, *texts: str) -> None:
        """Waits until a part of the page contains all of these texts."""
        self.until(
            lambda: all(text in where.inner_text() for text in texts),
            lambda: f"{', '.join(texts)} in: {where.inner_text()[:400]}",
        )

    def point(self, at: Locator, tip: Locator) -> None:
        """Points at a part of the page until its tip shows; a page that moves under the pointer closes it."""
        from playwright.sync_api import TimeoutError

        def shows() -> bool:
            if not tip.is_visible():
                self.page.mouse.move(5, 5)
                with contextlib.suppress(TimeoutError):
                    at.hover(timeout=self.TIP)
                    tip.wait_for(timeout=self.TIP)
            return tip.is_visible()

        self.until(shows, "the tip of what the pointer is at")

    def until(self, happened: Callable[[], Any], awaited: str | Callable[[], str]) -> Any:
        """Waits until `happened` returns a true value, and returns it; the page keeps running."""
        end = time.monotonic() + PATIENCE / 1000
        while not (value := happened()):
            if time.monotonic() > end:
                self.shot("failed")
                text = awaited if isinstance(awaited, str) else awaited()
                pytest.fail(f"waited {PATIENCE / 1000:.0f} s for {text}")
            self.page.wait_for_timeout(50)
        return value

    @property
    def clean(self) -> bool:
        """True if the notebook has no unsaved change."""
        return bool(self.page.evaluate("() => !window.jupyterapp.shell.currentWidget.context.model.dirty"))

    def save(self) -> None:
        """Saves the notebook, and saves it again if a figure that is drawn late has changed it."""

        def saved() -> bool:
            if not self.clean:
                self.command("docmanager:save")
            return self.clean

        self.until(saved, "the notebook to be saved")

    def workspace(self) -> dict[str, Any]:
        """The default workspace that JupyterLab's server stores, by key."""
        with urllib.request.urlopen(self.server.url("lab/api/workspaces"), timeout=60) as reply:
            workspaces = json.load(reply)["workspaces"]["values"]
        default = (workspace["data"] for workspace in workspaces if workspace["metadata"]["id"] == "default")
        return next(default, {})

    def command(self, name: str, **args: Any) -> None:
        """Executes one of JupyterLab's commands, as its palette does."""
        self.page.evaluate(
            # A command's result, such as a widget, cannot be passed out of the page.
            "async ([name, args]) => { await window.jupyterapp.commands.execute(name, args); }",
            [name, args],
        )

    def theme(self, dark: bool) -> None:
        """Chooses the light or the dark theme."""
        theme = "JupyterLab Dark" if dark else "JupyterLab Light"
        self.command("apputils:change-theme", theme=theme)
        self.page.locator(f"body[data-jp-theme-name='{theme}']").wait_for(state="attached")

    def shot(self, name: str, of: Locator | None = None) -> Path:
        """A picture of the page, or of a part of it."""
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        # A click may have scrolled its line sideways; pictures show lines from their start.
        self.page.evaluate(
            "document.querySelectorAll('.cm-scroller').forEach(dom => { dom.scrollLeft = 0; })"
        )
        path = SCREENSHOTS / f"{name}.png"
        (of or self.page).screenshot(path=path, animations="disabled")
        return path

    def seen(self, look: tuple[int, int, bool], name: str) -> None:
        """Takes a picture of the page, for people, and checks that nothing in the sidebar is cut off."""
        if self.sidebar.is_visible():
            # The sidebar may still be making room for the result of a run.
            fits = "dom => dom.scrollWidth <= dom.clientWidth"
            self.until(lambda: self.sidebar.evaluate(fits), "the sidebar to have room for what is in it")
        self.shot(f"{name}-{look[0]}-{'dark' if look[2] else 'light'}")

    def close(self) -> None:
        self.page.context.close()


def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> None:
    """Remembers which step of a journey failed."""
    journey = item.parent
    if not is_journey(journey):
        return
    if call.excinfo is not None and not call.excinfo.errisinstance(pytest.skip.Exception):
        FAILED.setdefault(journey.nodeid, item.name)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """A step of a journey needs those before it."""
    journey = item.parent.nodeid if item.parent is not None else ""
    # The step that failed is tried once more.
    if FAILED.get(journey) == item.name:
        del FAILED[journey]
    failed = FAILED.get(journey)
    if failed is not None:
        pytest.skip(f"the step before failed: {failed}")


@pytest.fixture(scope="module")
def open_lab(browser: Browser, server: Server) -> Iterator[Callable[..., Lab]]:
    """Opens pages, each with its own browser profile."""
    opened: list[Lab] = []

    def open_one(**options: Any) -> Lab:
        opened.append(Lab(browser, server, **options))
        return opened[-1]

    yield open_one
    for lab in opened:
        lab.close()


@pytest.fixture(params=LOOKS, ids=lambda look: f"{look[0]}x{look[1]}-{'dark' if look[2] else 'light'}")
def look(request: pytest.FixtureRequest) -> Any:
    """Width, height, and whether it is dark."""
    return request.param


@pytest.fixture
def lab(open_lab: Callable[..., Lab], look: tuple[int, int, bool]) -> Iterator[Lab]:
    """A page of a look's size; the test chooses the theme once something is open."""
    width, height, _ = look
    lab = open_lab(size={"width": width, "height": height})
    yield lab
    # The server would keep it for later tests.
    lab.theme(dark=False)
    lab.close()
