"""The front end's own tests and style, where its packages are installed (`make lab` installs them)."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from workbench.lab import build

MODULES = build.LAB / "node_modules"


@pytest.fixture(scope="module")
def node() -> str:
    if not (MODULES / "jest").is_dir():
        pytest.skip("the front end's packages are not installed; make lab installs them")
    try:
        installed = build.find_node()
    except build.NotPossible as error:
        pytest.skip(str(error))
    program = shutil.which("node", path=installed.folder)
    assert program
    return program


@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    "command",
    [
        ("typescript/bin/tsc", "--noEmit"),
        ("eslint/bin/eslint.js", "src", "test"),
        ("prettier/bin/prettier.cjs", "--check", "."),
        ("jest/bin/jest.js", "--silent"),
    ],
    ids=["types", "eslint", "prettier", "jest"],
)
def test_front_end(node: str, command: tuple[str, ...]) -> None:
    run = subprocess.run(
        [node, str(MODULES / Path(command[0])), *command[1:]], cwd=build.LAB, capture_output=True, text=True
    )
    assert run.returncode == 0, f"{run.stdout}\n{run.stderr}"
