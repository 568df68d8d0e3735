"""Builds of a checkout's Makefiles, and their reports, with a script as `hipcc`."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import hipkittens_makefiles
import pytest

MAKEFILE = """
GPU_TARGET={target}
{src}
TARGET=tk_kernel
$(TARGET): $(SRC)
\t$(HIPCXX) $(SRC) -o {out} 2>&1 | tee log
"""
MODULE = "PYBIND11_MODULE(tk_kernel_{name}, m) {{}}"

pytestmark = pytest.mark.skipif(shutil.which("make") is None, reason="no make")


def folder_of(root: Path, name: str, target: str, src: str = "", out: str = "$(TARGET)") -> Path:
    folder = root / name
    folder.mkdir(parents=True)
    (folder / "Makefile").write_text(MAKEFILE.format(target=target, src=src, out=out))
    return folder


def test_builds_of_a_checkout(tmp_path: Path) -> None:
    """Builds all that a Makefile names, one module if that is missing, one call if it names several."""
    named = folder_of(tmp_path, "a", "CDNA3", "SRC=kernel.cpp")
    (named / "kernel.cpp").touch()
    free = folder_of(tmp_path, "b", "CDNA4", "SRC=none.cpp")
    for name in ("fwd", "bkwd"):
        (free / f"{name}.cpp").write_text(MODULE.format(name=name))
    (free / "utils.cpp").touch()
    several = folder_of(tmp_path, "c", "CDNA4")
    (several / "Makefile").write_text("all:\n\thipcc\n")
    other = folder_of(tmp_path, "d", "CDNA4")
    (other / "Makefile").write_text("all:\n\tnvcc $(SRC)\n")
    builds = [
        (build.makefile, build.source.path.name, build.source.arch, build.variables)
        for build in hipkittens_makefiles.builds(tmp_path, "main", "gfx950", ())
    ]
    assert builds == [
        ("a", "kernel.cpp", "gfx942", ()),
        ("b", "bkwd.cpp", "gfx950", ("SRC=bkwd.cpp", "TARGET=tk_kernel_bkwd")),
        ("b", "fwd.cpp", "gfx950", ("SRC=fwd.cpp", "TARGET=tk_kernel_fwd")),
        ("c", "Makefile", "gfx950", ()),
    ]


@pytest.mark.parametrize(
    ("hipcc", "result", "text"),
    [
        ("echo 'x.cpp:3: error: no such name'; exit 1", "no", "no such name"),
        ("echo 'hipcc: note: heard'; exit 1", "no", "hipcc: note: heard"),
        ("printf '#!/bin/sh\\necho -- PASSED' > $3; chmod +x $3", "right", "1 of 1 tests pass"),
        ("printf '#!/bin/sh\\nexit 3' > $3; chmod +x $3", "fails", "exit status 3: nothing said"),
    ],
)
def test_what_became_of_a_build(hipcc: str, result: str, text: str, tmp_path: Path) -> None:
    """Their recipes end with `tee`, so that `make` succeeds although the compiler failed."""
    folder = folder_of(tmp_path, "a", "CDNA4", "SRC=kernel.cpp")
    (folder / "kernel.cpp").touch()
    tool = tmp_path / "bin" / "hipcc"
    tool.parent.mkdir()
    tool.write_text(f"#!/bin/sh\n{hipcc}\n")
    tool.chmod(0o755)
    (build,) = hipkittens_makefiles.builds(tmp_path, "main", "gfx950", ())
    environment = {**os.environ, "PATH": f"{tool.parent}:{os.environ['PATH']}"}
    results = list(hipkittens_makefiles.attempt(build, environment))
    assert results == [("kernel.cpp", {"result": result, "text": text})]


def test_table_counts_makefiles_once() -> None:
    rows = [
        ("main", "a", "x.cpp", {"result": "right", "text": "C: 1e-3"}),
        ("main", "a", "y.cpp", {"result": "no", "text": "a|b `c`"}),
    ]
    table = hipkittens_makefiles.table(rows, 100)
    assert "| main | 1 | 2 | 1 | 0 | 0 | 0 | 1 |" in table
    assert "| main | a | y.cpp | no | `a\\|b 'c'` |" in table
