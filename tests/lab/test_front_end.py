"""The front end's tests and style, if its packages are installed (`make lab` installs them)."""

from __future__ import annotations

import os
import subprocess

import pytest

from workbench.lab import build

MODULES = build.LAB / "node_modules"


@pytest.fixture(scope="module")
def node() -> build.Node:
    if not (MODULES / "typescript").is_dir():
        pytest.skip("the front end's packages are not installed; make lab installs them")
    try:
        return build.find_node()
    except build.NotPossible as error:
        pytest.skip(str(error))


@pytest.mark.timeout(600)
@pytest.mark.parametrize("script", ["lint:form", "lint:rules", "lint:types", "test"])
def test_front_end(node: build.Node, script: str) -> None:
    path = f"{node.folder}{os.pathsep}{os.environ['PATH']}"
    run = subprocess.run(
        [*node.npm, "run", "--silent", script],
        cwd=build.LAB,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, f"{run.stdout}\n{run.stderr}"
