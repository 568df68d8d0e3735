"""Instances: compiled ahead in parallel, reused, and compiled again if a header has changed."""

from __future__ import annotations

import pytest
import torch

from workbench import paths
from workbench.errors import CompileError, ShapeError
from workbench.operators import Choice, KernelRegistry, KernelSpec, Launch, building
from workbench.targets import TILE_TARGETS

SOURCE = """#include <hip/hip_runtime.h>
template <int N> __global__ void fill(float *out) { out[threadIdx.x] = VALUE; }
"""


def fill(**changes):
    fields = {
        "name": "maps/fill",
        "source": SOURCE,
        "entry": lambda shape: f"fill<{shape['n']}>",
        "launch": lambda shape, arch: Launch(1, 64),
        "define": lambda shape, arch: {"VALUE": shape["value"]},
        "parameters": {"n": Choice((1, 2)), "value": Choice((3, 4))},
        "shapes": [{"n": 1}, {"n": 2}, {"n": 1, "value": 4}],
        "inputs": lambda shape, generator: {"like": torch.empty(64)},
        "outputs": lambda shape, inputs: {"out": ((64,), torch.float32)},
        "reference": lambda like: torch.full((64,), 3.0),
        "shape_of": lambda like: {},
    }
    return KernelSpec(**(fields | changes))


def test_compiles_shapes_and_targets_ahead():
    spec = fill()
    builds = spec.compile()
    assert [(each.shape["n"], each.shape["value"], each.arch) for each in builds] == [
        (n, value, arch) for n, value in ((1, 3), (2, 3), (1, 4)) for arch in TILE_TARGETS
    ]
    assert builds[2].kernels == ("fill<2>",)
    ahead = spec.steps_of({"n": 2}, arch="gfx950")
    assert spec.steps_of({"n": 2}, arch="gfx950") is ahead  # remembered
    assert ahead[0].kernel.module is not spec.kernel({"n": 1}, arch="gfx950").module


def test_one_that_does_not_compile():
    broken = fill(define=lambda shape, arch: {"VALUE": "nothing" if shape["n"] == 2 else 1})
    with pytest.raises(CompileError, match="nothing"):
        broken.compile(archs=["gfx950"])
    assert broken.implementation({"n": 1, "value": 4}, arch="gfx950").is_prepared  # the others exist
    with pytest.raises(ShapeError, match="n is 7"):
        fill().compile([{"n": 7}])


def test_a_library_is_compiled_as_a_whole(tmp_path):
    folder = tmp_path / "maps"
    folder.mkdir()
    (folder / "one.py").write_text(
        "from workbench.operators import *\nimport torch\n"
        f"spec = KernelSpec(name='maps/one', source={SOURCE!r}, entry='fill<1>',\n"
        "    parameters={}, shapes=[{}],\n"
        "    define=lambda shape, arch: {'VALUE': 1}, launch=lambda shape, arch: Launch(1, 64),\n"
        "    inputs=lambda shape, generator: {}, outputs=lambda shape, inputs: {}, reference=lambda: (),\n"
        "    shape_of=lambda: {})\n"
    )
    builds = KernelRegistry(tmp_path).compile(archs=["gfx942"])
    assert [(each.name, each.arch, each.kernels) for each in builds] == [("maps/one", "gfx942", ("fill<1>",))]


def test_a_family_that_changed_is_compiled_anew(tmp_path, monkeypatch):
    families = tmp_path / "families"
    families.mkdir()
    (families / "values.cuh").write_text("#pragma once\n#define VALUE 1\n")
    monkeypatch.setattr(paths, "kernels_dir", lambda: tmp_path)
    monkeypatch.setattr(building, "LIBRARY_SECONDS", 0.0)
    spec = fill(source='#include "families/values.cuh"\n' + SOURCE, define=lambda shape, arch: {})
    before = spec.steps_of(arch="gfx950")
    assert spec.steps_of(arch="gfx950") is before
    (families / "values.cuh").write_text("#pragma once\n#define VALUE 22\n")
    after = spec.steps_of(arch="gfx950")
    assert after[0].kernel.module.code != before[0].kernel.module.code
