"""Settings of operators: as seen by functions, settings that cannot fit, and tables that choose them."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import workbench as wb
from workbench.errors import UsageError, WorkbenchError
from workbench.operators import KernelSpec, Launch, Range, Tunables, Variant
from workbench.operators.settings import why_not

TILES = Tunables(
    side=(16, 32, 64),
    split=(1, 2),
    registers=lambda shape, arch: shape.get("side", 16) ** 2 // 2,
)


def operator(**fields: Any) -> KernelSpec:
    """A copy whose launch and macros record the settings that they saw."""
    return KernelSpec(
        **{
            "name": "vectors/copy",
            "source": "#include <hip/hip_runtime.h>\n",
            "entry": "copy",
            "parameters": {"n": Range(1, 1 << 20, default=64)},
            "shapes": [{"n": 64}],
            "inputs": lambda shape, generator: {},
            "outputs": lambda shape, inputs: {},
            "reference": lambda x: x,
            "shape_of": lambda x: {"n": x.numel()},
            "define": lambda shape, arch: {"SIDE": shape.get("side", 16)},
            "launch": lambda shape, arch: Launch(
                shape["n"] // shape.get("side", 16), 256, dynamic_shared=4096 * shape.get("split", 1)
            ),
            "tunables": TILES,
            **fields,
        }
    )


def test_functions_see_settings_in_the_shape() -> None:
    spec = operator().tuned(side=32)
    assert spec.macros({"n": 64}, "gfx950") == {"SIDE": 32}
    (step,) = spec.active_steps(spec.shape({"n": 64}), "gfx950")
    assert step.launch({"n": 64}, "gfx950").grid == (2, 1, 1)
    assert spec.name == "vectors/copy[side=32]"


def test_the_first_values_are_the_operator_itself() -> None:
    spec = operator()
    assert spec.tuned(side=16, split=1) is spec
    assert spec.tuned(side=32) is spec.tuned(side=32), "compiled once"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"tile": 3}, "no tunable 'tile'; it has side, split"),
        ({"side": 3}, "side is 3; expected one of 16, 32, 64"),
    ],
)
def test_other_settings_are_refused(settings: dict[str, int], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        operator().tuned(**settings)


def test_what_cannot_fit_is_known_without_compiling() -> None:
    spec = operator()
    assert why_not(spec, {"side": 16}, {"n": 64}, "gfx950") == ""
    assert "2048 registers of a lane; each of 1 waves on a SIMD has 512" in why_not(
        spec, {"side": 64}, {"n": 64}, "gfx950"
    )
    large = replace(spec, launch=lambda shape, arch: Launch(1, 256, dynamic_shared=100_000))
    assert why_not(large, {}, {"n": 64}, "gfx950") == ""
    assert "100000 bytes of shared memory; gfx942 has 65536" in why_not(large, {}, {"n": 64}, "gfx942")


def test_a_table_chooses_variant_and_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = operator(variants={"slow": Variant(), "fast": Variant(lambda shape, arch: shape["n"] > 100)})
    table = tmp_path / "vectors" / "copy.json"
    table.parent.mkdir()
    monkeypatch.setenv("HIPKITTENS_TUNING", str(tmp_path))
    rows = [[{"n": 128}, "fast"], {"shape": {"n": 64}, "variant": "slow", "settings": {"side": 32}}]
    table.write_text(json.dumps({"gfx950": rows}))
    assert spec.implementation({"n": 64}, arch="gfx950").name == "vectors/copy:slow[side=32]"
    assert spec.implementation({"n": 64}, arch="gfx942").name == "vectors/copy:slow"
    assert spec.implementation({"n": 128}, arch="gfx950").name == "vectors/copy:fast"
    row = {"shape": {"n": 64}, "variant": "slow", "settings": {"split": 2}, "us": 3.0, "origin": "modelled"}
    table.write_text(json.dumps({"gfx950": [row]}))
    spec.read_tuning_again()
    assert spec.implementation({"n": 64}, arch="gfx950").name == "vectors/copy:slow[split=2]"
    tuned = spec.tuned_row({"n": 64}, arch="gfx950")
    assert tuned is not None
    assert (tuned.us, tuned.origin) == (3.0, "modelled")


def test_a_table_that_is_none_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "vectors").mkdir()
    (tmp_path / "vectors" / "copy.json").write_text('{"gfx950": [{"form": {}}]}')
    monkeypatch.setenv("HIPKITTENS_TUNING", str(tmp_path))
    spec = operator()
    with pytest.raises(WorkbenchError, match=r"copy\.json cannot be read"):
        spec.implementation({"n": 64}, arch="gfx950")


def test_every_operators_tunables_are_seen_by_its_functions() -> None:
    """A tunable without any effect would waste trials."""
    for name, small in (
        ("gemm/bf16", {"m": 300, "n": 512, "k": 8192}),
        ("gemm/fp8", {}),
        ("attention/forward", {}),
    ):
        spec = wb.kernels[name]
        for variant in spec.variants:
            implementation = spec.variant(variant)
            shape = implementation.shape(small if "batch" in small or variant == "split_k" else None)
            for tunable, values in implementation.tunables.values.items():
                seen = set()
                for value in values:
                    tuned = implementation.tuned(**{tunable: value})
                    steps = tuned.active_steps(shape, "gfx950")
                    macros = [sorted(tuned.define(shape, "gfx950").items())]
                    launches = [step.launch(shape, "gfx950") for step in steps]
                    more = [s.define(shape, "gfx950") for s in steps if s.define is not None]
                    seen.add(repr((macros, launches, more)))
                assert len(seen) > 1, f"{name}:{variant} {tunable}"
