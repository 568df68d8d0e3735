"""Operations on a small kernel's file, by functions and by the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import nbformat
import pytest
import torch

from workbench.__main__ import main
from workbench.operations import operations

LAUNCH = """// %%hipkittens scale --arch gfx942 --launch "scale[4, 64]" \\
//     --inputs "dict(x=torch.ones(256), by=2.0)" --outputs x --reference "lambda x, by: x * by"
"""
KERNEL = """#include <hip/hip_runtime.h>
__global__ void scale(float *x, float by) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    x[i] = x[i] * by;
}
"""
TOML = """
arch = "gfx942"
kernel = "scale"
grid = ["n // 64"]
block = 64
outputs = ["x"]
reference = "lambda x, by: x * by"
sizes = { n = 256 }
arguments = { x = "torch.ones(n)", by = 2.0 }
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "scale.cpp"
    path.write_text(LAUNCH + KERNEL)
    return path


def run(verb: str, **arguments: Any) -> dict[str, Any]:
    operation = operations()[verb]
    data: dict[str, Any] = json.loads(json.dumps(operation.run(arguments).data, allow_nan=False))
    jsonschema.validate(data, operation.outcome_schema)
    return data


def test_a_kernel_file_goes_through_all_operations(file: Path) -> None:
    source = str(file)
    (kernel,) = run("compile", source=source)["result"]["kernels"]
    assert kernel["name"] == "scale"
    assert kernel["spills"] == 0
    tensors = {t["name"]: t for t in run("launch", source=source)["result"]["tensors"]}
    assert tensors["x"]["first"] == [2.0] * 8
    verified = run("verify", source=source)
    assert verified["status"] == "right"
    assert verified["result"]["outputs"][0]["max_error"] == 0
    assert run("sanitize", source=source)["result"] == {
        "name": "scale",
        "device": "emulated:gfx942",
        "passed": True,
        "stopped": False,
        "total": 0,
        "findings": [],
        "notes": [],
    }
    time = run("time", source=source)["result"]["time"]
    assert time["origin"] == "modelled"
    assert time["low"] < time["value"] < time["high"]
    (launch,) = run("profile", source=source)["result"]["launches"]
    assert launch["counters"]["SQ_WAVES"] == {
        "value": 4.0, "unit": "waves", "origin": "counted", "low": None, "high": None
    }  # fmt: skip
    assert run("advise", source=source)["result"]["advice"][0]["gain"]["origin"] == "modelled"
    page = run("disassemble", source=source, line=6)["result"]
    assert page["total"] == len(page["instructions"])
    assert page["following"] is None
    assert {line["place"] for line in page["instructions"]} == {"scale.cpp:6"}
    stepped = run("step", source=source, line=6)["result"]
    assert (stepped["line"], stepped["kernel"]) == (6, "scale")
    outcome = operations()["timeline"].run({"source": source})
    lanes = outcome.data["result"]
    # Four work-groups of a wave each, on as many compute units: the simulated one has one.
    assert lanes["waves"] == 1
    assert lanes["duration"]["low"] < lanes["duration"]["value"] < lanes["duration"]["high"]
    # The kernel waits for its load, which takes most of so short a run.
    assert max(lanes["stalls"], key=lanes["stalls"].get) == "WAIT_MEMORY"
    assert outcome.result is not None
    assert outcome.result.picture.startswith("<svg")


def test_a_wrong_kernel_is_wrong(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file.write_text(file.read_text().replace("x[i] * by", "x[i] + by"))
    assert main(["verify", str(file), "--json"]) == 1
    data = json.loads(capsys.readouterr().out)
    assert data["result"]["outputs"][0]["first"][0] == {"index": [0], "got": 3.0, "expected": 2.0}
    file.write_text(file.read_text().replace("x[i] + by", "x[i + 1] * by"))
    assert main(["verify", str(file)]) == 1
    assert "scale.cpp:6" in capsys.readouterr().out
    assert main(["sanitize", str(file), "--json"]) == 1
    findings = json.loads(capsys.readouterr().out)["result"]["findings"]
    assert "out of bounds" in {finding["category"] for finding in findings}
    file.write_text(file.read_text().replace("* by;", "* by"))
    assert main(["compile", str(file), "--json"]) == 2
    error = json.loads(capsys.readouterr().out)["error"]
    assert (error["code"], error["places"][0]["line"]) == ("CompileError", 6)


def test_a_launch_in_toml(tmp_path: Path) -> None:
    file = tmp_path / "scale.cpp"
    file.write_text(KERNEL)
    file.with_suffix(".toml").write_text(TOML)
    assert run("verify", source=str(file))["status"] == "right"
    file.write_text(LAUNCH + KERNEL)
    assert "leave one of them out" in run("verify", source=str(file))["error"]["message"]


@pytest.mark.parametrize(
    ("toml", "message"),
    [
        ('kernl = "scale"', "there is no key 'kernl'; expected one of kernel, grid"),
        ('kernel = "scale"', "needs grid and block and arguments too"),
        ("kernel = ", "Invalid value"),
    ],
)
def test_a_wrong_toml_is_named(tmp_path: Path, toml: str, message: str) -> None:
    file = tmp_path / "scale.cpp"
    file.write_text(KERNEL)
    file.with_suffix(".toml").write_text(toml)
    error = run("compile", source=str(file))["error"]
    assert error["code"] == "UsageError"
    assert "scale.toml" in error["message"]
    assert message in error["message"]


def test_a_file_without_a_launch_says_how(tmp_path: Path) -> None:
    file = tmp_path / "scale.cpp"
    file.write_text(KERNEL)
    assert run("compile", source=str(file))["status"] == "right"
    assert '// %%hipkittens scale --launch "kernel[grid, block]"' in run("time", source=str(file))["text"]


def test_inputs_of_a_file_follow_the_seed(tmp_path: Path) -> None:
    file = tmp_path / "scale.cpp"
    file.write_text(LAUNCH.replace("torch.ones(256)", "torch.randn(256)") + KERNEL)

    def first(**arguments: Any) -> Any:
        return run("launch", source=str(file), **arguments)["result"]["tensors"][0]["first"]

    torch.manual_seed(1)
    before = torch.random.get_rng_state()
    assert first() == first(seed=0) != first(seed=1)
    assert torch.equal(torch.random.get_rng_state(), before)
    assert run("verify", source=str(file), seed=3)["result"]["seed"] == 3


def test_a_cell_of_a_notebook(tmp_path: Path) -> None:
    path = tmp_path / "scale.ipynb"
    # A TOML file beside a notebook is none of its cells.
    path.with_suffix(".toml").write_text(TOML)
    line = LAUNCH.removeprefix("// ").replace("\\\n//", "")
    kernel = nbformat.v4.new_code_cell(line + KERNEL)
    broken = nbformat.v4.new_code_cell(
        f"%%hipkittens broken --arch gfx942\n{KERNEL.replace('int i', 'in i')}"
    )
    cells = [nbformat.v4.new_code_cell("import torch"), kernel]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), path)
    for name in ("#scale", f"#{kernel.id}", ""):
        assert run("verify", source=f"{path}{name}")["status"] == "right"
    cells += [broken, nbformat.v4.new_code_cell("%%hipkittens broken\n")]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), path)
    (place, *_) = run("compile", source=f"{path}#{broken.id}")["error"]["places"]
    assert place["line"] == 4  # of the cell, whose first line is the magic's
    for name, message in (
        ("", "has 3 C++ cells; expected one of scale.ipynb#scale, scale.ipynb#broken"),
        ("broken", "has 2 C++ cells named 'broken'"),
        ("other", "has no C++ cell named 'other'"),
    ):
        assert message in run("verify", source=f"{path}#{name}")["text"]
    path.write_text("{}")
    assert "is not a notebook" in run("verify", source=f"{path}#scale")["text"]


def test_an_operator_by_its_name() -> None:
    result = run("compile", source="activations/softmax", device="gfx942", shape="rows=64,cols=128")["result"]
    assert result["arch"] == "gfx942"
    assert result["kernels"]
    error = run("verify", source="activations/softmx")["error"]
    assert error["code"] == "UnknownKernel"
    assert "activations/softmax" in error["message"]


def test_templates_say_their_launch(tmp_path: Path) -> None:
    file = tmp_path / "elementwise.cpp"
    file.write_text(run("template", name="elementwise")["text"])
    assert run("verify", source=str(file))["status"] == "right"


def test_search_finds_functions_operators_and_errors() -> None:
    first = run("search", text="row_sum")["result"]["entries"][0]
    assert (first["kind"], first["name"]) == ("function", "row_sum")
    assert run("search", text="rms norm", kind="operator")["result"]["entries"][0]["name"].endswith("rmsnorm")
    assert run("search", text="...")["error"]["code"] == "UsageError"
    assert run("explain", error="KernelFault: at k.cpp:3")["text"].startswith("A kernel did something")


def test_schemas_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schema", "verify"]) == 0
    schemas = json.loads(capsys.readouterr().out)
    assert schemas["arguments"]["required"] == ["source"]
