"""A built wheel works in an empty folder: it contains kernels, headers and data."""

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


def build_wheel(folder: Path, root: Path = ROOT) -> tuple[zipfile.ZipFile, str]:
    """A wheel without the front end, which has its own test and would need Node and the npm registry.
    Returns: The wheel, and the build's output.
    """
    run = subprocess.run(
        [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", folder, root],
        check=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, "SKIP_JUPYTER_BUILDER": "1"},
    )
    (wheel,) = folder.glob("*.whl")
    return zipfile.ZipFile(wheel), run.stdout


def test_a_wheel_builds_where_the_stub_cannot_be_made(tmp_path: Path) -> None:
    """As in an isolated build, which cannot import the specs; a source archive's stub goes into the wheel."""
    sources = tmp_path / "sources"
    package = sources / "workbench" / "ops"
    package.mkdir(parents=True)
    (sources / "kernels").mkdir()
    for name in ("pyproject.toml", "README.md", "hatch_build.py", "LICENSES"):
        (sources / name).symlink_to(ROOT / name)
    # Nothing here can write a stub.
    for folder in (package.parent, package):
        (folder / "__init__.py").write_text("")
    wheel, output = build_wheel(tmp_path / "without", sources)
    assert "__init__.pyi is not written anew" in output
    assert "there is none" in output
    assert "workbench/ops/__init__.pyi" not in wheel.namelist()
    (package / "__init__.pyi").write_text("def rms_norm(): ...\n")
    wheel, output = build_wheel(tmp_path / "with", sources)
    assert "an older one is kept" in output
    assert "workbench/ops/__init__.pyi" in wheel.namelist()


@pytest.mark.timeout(600)
def test_wheel_runs_a_kernel_in_a_new_environment(tmp_path: Path) -> None:
    archive, _ = build_wheel(tmp_path / "wheels")
    # Without it type checkers do not read the types of an installed package (PEP 561).
    assert "workbench/py.typed" in archive.namelist()
    # Made while the wheel is built, since PyTorch is here.
    stub = archive.read("workbench/ops/__init__.pyi").decode()
    assert "def rms_norm(" in stub
    venv = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", venv], check=True)
    python = venv / "bin" / "python"
    subprocess.run(
        [python, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--no-deps", archive.filename],
        check=True,
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
