"""Fixtures and options that tests of several files share."""

from __future__ import annotations

import _thread
import gc
import importlib
import os
import random
import signal
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from IPython.testing.globalipapp import start_ipython

sys.path.insert(0, str(Path(__file__).parent))

import costs
import passed_tests
import tiers
import workers

from workbench import cache

# nbformat's jsonschema would build a grammar of IRIs, more than a second in each worker, for a format that no
# notebook has; without the module it omits that check.
sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]

# zig builds start files and helper functions once per cache, which takes 4 s of processor time and more:
# tests with their own caches otherwise share this one.
os.environ.setdefault("ZIG_GLOBAL_CACHE_DIR", str(cache.tool_folder("zig")))

# Tests draw their seeds with `random` and print them. Every run draws new ones, so that the tests see
# more with time; in CI, where a failure must be due to the change, they are always the same.
SEED = os.environ.get("HIPKITTENS_TEST_SEED")
if not SEED:
    SEED = "1" if os.environ.get("CI") else str(random.randrange(1 << 32))
# For tests that draw outside of a test function, and for the processes that tests start.
os.environ["HIPKITTENS_TEST_SEED"] = SEED

# The seed that draws a tier's tests: with the same inputs, a test has the same result in each draw.
DRAW = os.environ.get("HIPKITTENS_TEST_DRAW") or SEED

# A shell starts background processes with SIGINT ignored, and tests send it to themselves.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    return workers.count()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_setupnodes(config: pytest.Config, specs: list[Any]) -> None:
    # Threads of PyTorch that wait for each other's cores would do so by spinning.
    os.environ.setdefault("OMP_NUM_THREADS", str(max(1, len(os.sched_getaffinity(0)) // len(specs))))
    if config.getoption("file_or_dir") == ["tests"]:
        workers.precompile_headers()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    return workers.scheduler(config, log) if config.getoption("dist") == "load" else None


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--tier", choices=tiers.TIERS, default="all", help="what of it runs: tests/tiers.py")
    parser.addoption("--record-passed", metavar="FILE", help="write the names of the tests that pass there")
    parser.addoption("--record-costs", metavar="FILE", help="write what tests took there: tests/costs.py")
    parser.addoption("--skip-passed", metavar="FILE", help="leave out tests that an earlier run wrote there")


def pytest_configure(config: pytest.Config) -> None:
    file = config.getoption("--record-passed")
    if file and not hasattr(config, "workerinput"):
        config.pluginmanager.register(passed_tests.Recorder(Path(file)))
    if file := config.getoption("--record-costs"):
        # Workers measure, and the process that started them writes.
        config.pluginmanager.register(costs.Recorder(None if hasattr(config, "workerinput") else Path(file)))


# Collected tests and their modules live to the end, yet Python's garbage collection went over all of them
# again and again, 0.6 s of CPU time each. So it waits for the end of collection, and then ignores them.
@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Iterator[None]:
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    tier = config.getoption("tier")
    passed = passed_tests.read(config.getoption("--skip-passed"))
    drawn = [
        item
        for item in items
        if tiers.runs(item.nodeid, tier, DRAW) and not passed_tests.covers(passed, item)
    ]
    if len(drawn) < len(items):
        config.hook.pytest_deselected(items=[*{*items} - {*drawn}])
        items[:] = drawn
    if hasattr(config, "workerinput"):
        items.sort(key=lambda item: workers.turn(item.nodeid))


def pytest_terminal_summary(terminalreporter: Any) -> None:
    terminalreporter.write_line(f"HIPKITTENS_TEST_SEED={SEED}")


@pytest.fixture(autouse=True)
def _seeded(request: pytest.FixtureRequest) -> None:
    """Seeds `random` from the run's seed and the test's name, so that other tests change no draw."""
    random.seed(f"{SEED} {request.node.nodeid}")


@pytest.fixture
def seed() -> int:
    """A random seed, which a failing test shows."""
    value = random.randrange(1 << 32)
    print("seed", value)
    return value


@pytest.fixture
def draw(seed: int) -> random.Random:
    """Python's generator from a random seed, which a failing test shows."""
    return random.Random(seed)


@pytest.fixture
def system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder in place of the root of the file system: no ROCm, no Debian packages, no list of devices."""
    from workbench import paths
    from workbench.runtime import gpu

    answers = (gpu.gpus, gpu.find_library, gpu.stand_in)
    monkeypatch.setattr(paths, "SYSTEM", tmp_path / "system")
    for name in ("ROCM_PATH", "ROCM_HOME", "HSA_MODEL_LIB", "ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES"):
        monkeypatch.delenv(name, raising=False)
    for answer in answers:
        answer.cache_clear()
    (tmp_path / "system").mkdir()
    yield tmp_path / "system"
    for answer in answers:
        answer.cache_clear()


@pytest.fixture
def gpu_machine(system: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """`system` with the driver of AMD's GPUs, and a PyTorch that was built for ROCm."""
    import torch

    from workbench.runtime import gpu

    (system / "proc").mkdir()
    (system / "proc" / "devices").write_text("237 kfd\n226 drm\n")
    monkeypatch.setattr(torch.version, "hip", "7.1")
    gpu.torch_without_rocm.cache_clear()
    yield system
    gpu.torch_without_rocm.cache_clear()


class Displayed(list[Any]):
    """Objects that were displayed, and `updates`, those that replaced one of them later."""

    def __init__(self) -> None:
        self.updates: list[Any] = []

    def display(self, *objects: Any, **options: Any) -> Any:
        self.extend(objects)
        return self if "display_id" in options else None

    def update(self, item: Any, **_: Any) -> None:
        self.updates.append(item)


@pytest.fixture
def displayed(monkeypatch: pytest.MonkeyPatch) -> Displayed:
    """Collects what IPython is asked to display."""
    outputs = Displayed()
    monkeypatch.setattr("IPython.display.display", outputs.display)
    return outputs


@pytest.fixture
def notebook_request(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Header of the request that a notebook's kernel executes; IPython runs in that kernel."""
    # plotly chooses its renderers at the first import, by whether IPython runs.
    importlib.import_module("plotly.io._renderers")
    request: dict[str, Any] = {"metadata": {}}
    kernel = SimpleNamespace(get_parent=lambda: request)
    monkeypatch.setattr("IPython.get_ipython", lambda: SimpleNamespace(kernel=kernel))
    return request


@pytest.fixture
def temporary_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for all temporary files of this process."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


@pytest.fixture
def prebuilt_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in place of that of a wheel's native libraries."""
    from workbench.toolchain import native

    monkeypatch.setattr(native, "PREBUILT", tmp_path / "prebuilt")
    return tmp_path / "prebuilt"


@pytest.fixture
def in_this_tier(request: pytest.FixtureRequest) -> Callable[[int], int]:
    """A function from a number of random cases to how many of them this tier runs."""
    return partial(tiers.cases, tier=request.config.getoption("--tier"))


@pytest.fixture(autouse=True)
def _no_history(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Turns off the history of runs; a test that needs one names its own file."""
    from workbench.history import recorder

    monkeypatch.setenv("HIPKITTENS_HISTORY", "off")
    yield
    recorder.stop()


@pytest.fixture(autouse=True)
def _sanitized() -> Iterator[None]:
    """With HIPKITTENS_TEST_SANITIZE=1, every launch of a test must be clean, unless a fault stopped it."""
    if os.environ.get("HIPKITTENS_TEST_SANITIZE") != "1":
        yield
        return
    import workbench as wb

    with wb.sanitizing() as watch:
        yield
    reports = [str(result) for result in watch.results if not (result.passed or result.stopped)]
    assert not reports, "\n".join(reports)


@pytest.fixture
def interrupt_of_a_launch() -> Iterator[None]:
    """Sends Ctrl-C once a launch runs on two threads."""

    def is_running() -> bool:
        return any(thread.name == "emulated-device" for thread in threading.enumerate())

    # It would be sent at once, outside the test's body, which ends pytest.
    assert not is_running(), "an earlier test left a launch's thread behind"
    over = threading.Event()

    def watch() -> None:
        while not is_running():
            if over.wait(0.001):
                return
        _thread.interrupt_main()

    watching = threading.Thread(target=watch)
    watching.start()
    yield
    over.set()
    watching.join()


@pytest.fixture(scope="session")
def shell() -> Any:
    """An IPython shell with the magics loaded; a process can have only one."""
    shell = start_ipython()
    shell.run_line_magic("load_ext", "workbench")
    return shell
