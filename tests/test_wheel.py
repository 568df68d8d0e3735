"""A built wheel works in an empty folder: it carries kernels, headers and data."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

PROGRAM = """
import pathlib, torch
import workbench as wb
assert str(pathlib.Path(wb.__file__)).startswith({venv!r}), wb.__file__
x = torch.randn(8, 256, dtype=torch.bfloat16)
result = wb.verify(wb.kernels["normalization/rmsnorm"], device="emulated:gfx950")
assert result.passed, result
print("verified", result.max_error)
"""


@pytest.mark.timeout(600)
def test_wheel_runs_a_kernel_in_a_new_environment(tmp_path: Path) -> None:
    wheels = tmp_path / "wheels"
    subprocess.run(
        [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", wheels, ROOT],
        check=True,
        capture_output=True,
        text=True,
        # The front end has its own test; building it here would need Node and the npm registry.
        env={**os.environ, "SKIP_JUPYTER_BUILDER": "1"},
    )
    (wheel,) = wheels.glob("*.whl")
    # Without it type checkers do not read the types of an installed package (PEP 561).
    assert "workbench/py.typed" in zipfile.ZipFile(wheel).namelist()
    venv = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", venv], check=True)
    python = venv / "bin" / "python"
    subprocess.run(
        [python, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--no-deps", wheel], check=True
    )
    # The dependencies come from this environment; the package itself must come from the wheel, which stands
    # first on the path.
    site = subprocess.run(
        [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"],
        check=True,
        capture_output=True,
        text=True,
    ).stdout.strip()
    Path(site, "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    empty = tmp_path / "empty"
    empty.mkdir()
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "HIPKITTENS"))}
    run = subprocess.run(
        [python, "-c", PROGRAM.format(venv=str(venv))],
        cwd=empty,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stderr
    assert "verified" in run.stdout
