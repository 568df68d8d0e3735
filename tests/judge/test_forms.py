"""KernelBench's form and ours, ties, and a folder that is judged in two runs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import jsonschema
import kernelbench
import pytest
import submissions
import torch

import workbench as wb
from workbench.judge.judging import Bench, Options, Processes, References
from workbench.judge.problems import Instance, compared, fresh_sizes, problem
from workbench.judge.verdicts import Result, Verdict, is_tie, ranks
from workbench.operations import operations
from workbench.operations.plain_problem import PlainProblem

MODEL = """
import torch
N = 300

class Model(torch.nn.Module):
    def __init__(self, factor):
        super().__init__()
        self.factor = torch.nn.Parameter(torch.full((1,), factor))

    def forward(self, x):
        return 2 * x + self.factor

def get_inputs():
    return [torch.randn(3, N)]

def get_init_inputs():
    return [1.0]
"""
MODEL_NEW = f"""
{submissions.HEAD}
class ModelNew(torch.nn.Module):
    def __init__(self, factor):
        super().__init__()
        self.factor = torch.nn.Parameter(torch.zeros(1))

    def forward(self, x):
        out = torch.empty(x.shape)
        launch("affine", x, out, x.numel())
        return out
"""
PLAIN = """// %%hipkittens affine --launch "affine[4, 256]" \\
//     --inputs "dict(x=torch.randn(1000), out=torch.empty(1000), n=1000)" --outputs out \\
//     --reference "lambda x: 2 * x + 1" --flags "-DONE=1" -D OTHER=1
"""
KERNEL = """#include <hip/hip_runtime.h>
__global__ void affine(const float* x, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = FACTOR * x[i] + 1;
}
"""


def judged(**arguments: object) -> dict[str, object]:
    operation = operations()["judge"]
    data = json.loads(json.dumps(operation.run(arguments).data, allow_nan=False))
    jsonschema.validate(data, operation.outcome_schema)
    result: dict[str, object] = data["result"]
    return result


@pytest.mark.usefixtures("shared_processes")
def test_a_model_is_judged(tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text(MODEL)
    folder = tmp_path / "new"
    folder.mkdir()
    (folder / "submission.py").write_text(MODEL_NEW)
    (folder / "launching.py").write_text(submissions.LAUNCH)
    (folder / "kernels.co").write_bytes(wb.compile(submissions.KERNELS, arch="gfx942").code)
    result = judged(problem=str(tmp_path / "model.py"), submission=str(folder), sizes="N=100")
    (verdict,) = result["submissions"]
    assert verdict["result"] == "right", verdict
    assert [case["name"] for case in verdict["cases"]] == ["N=100"]
    # The kernel takes no strides.
    assert verdict["notes"][0].startswith("with strided inputs: ")


def test_problems_of_kernelbench_are_judged(tmp_path: Path, processes: Processes) -> None:
    code = wb.compile(kernelbench.KERNELS, arch="gfx942").code
    for name, pair in kernelbench.PAIRS.items():
        file, folder = tmp_path / f"{name}.py", tmp_path / name
        file.write_text(kernelbench.problem(pair))
        folder.mkdir()
        (folder / "submission.py").write_text(kernelbench.submission(name, pair))
        (folder / "launching.py").write_text(submissions.LAUNCH)
        (folder / "kernels.co").write_bytes(code)
    options = Options("MI300X")
    for name in kernelbench.PAIRS:
        private = tmp_path / f"{name}-references"
        private.mkdir()
        references = References(problem(tmp_path / f"{name}.py"), private, options)
        verdict = Bench(references, tmp_path, options, processes).judge(tmp_path / name)
        assert verdict.result is Result.RIGHT, verdict
        assert verdict.kernels == (name,)
        assert verdict.time is not None


@pytest.mark.usefixtures("shared_processes")
def test_a_folder_of_kernels_is_judged_in_two_runs(tmp_path: Path) -> None:
    (tmp_path / "affine.cpp").write_text(PLAIN + KERNEL.replace("FACTOR", "2"))
    folder = tmp_path / "submitted"
    folder.mkdir()
    for name, factor in (("right", "2"), ("wrong", "3")):
        (folder / f"{name}.hip").write_text(KERNEL.replace("FACTOR", factor))
    (folder / "by_flag.hip").write_text(KERNEL.replace("FACTOR", "(ONE + OTHER)"))
    (folder / "absent.hip").write_text(KERNEL.replace("affine", "another"))
    arguments = {
        "problem": str(tmp_path / "affine.cpp"),
        "submission": str(folder),
        "out": str(tmp_path / "out"),
    }
    result = judged(**arguments)
    results = {s["name"]: s["result"] for s in result["submissions"]}
    assert results == {
        "right.hip": "right",
        "by_flag.hip": "right",
        "wrong.hip": "wrong",
        "absent.hip": "fails",
    }
    assert result["submissions"][0]["rank"] == 1
    page = (tmp_path / "out" / "judge.html").read_text()
    assert all(name in page for name in results)
    for file in (tmp_path / "out" / "submissions").glob("*.json"):
        data = json.loads(file.read_text())
        file.write_text(json.dumps({**data, "text": "from the file"}))
    again = judged(**arguments)
    assert {s["text"] for s in again["submissions"]} == {"from the file"}


def test_a_seed_decides_the_inputs_of_a_kernels_file(tmp_path: Path) -> None:
    (tmp_path / "affine.cpp").write_text(PLAIN + KERNEL)
    of = PlainProblem(tmp_path / "affine.cpp")
    (case,) = of.cases
    before = torch.random.get_rng_state()
    first, again, other = (of.instance(case, seed).inputs["x"] for seed in (5, 5, 6))
    assert torch.equal(first, again)
    assert not torch.equal(first, other)
    assert torch.equal(torch.random.get_rng_state(), before)


def test_times_inside_each_others_range_are_a_tie() -> None:
    def verdict(name: str, time: float, low: float, high: float) -> Verdict:
        return Verdict(name, "", Result.RIGHT, time=time, low=low, high=high)

    fast, near, slow = verdict("fast", 10, 8, 13), verdict("near", 12, 9, 15), verdict("slow", 20, 16, 26)
    assert is_tie(fast, near)
    assert not is_tie(near, slow)
    # Only one of the two is in the other's range.
    assert not is_tie(verdict("wide", 10, 1, 100), slow)
    assert ranks([slow, near, fast, Verdict("wrong", "", Result.WRONG)]) == {"fast": 1, "near": 1, "slow": 3}


def test_precision_is_that_of_the_coarser_type() -> None:
    exact = torch.linspace(1, 2, 1000, dtype=torch.float64)
    rounded = exact.bfloat16()
    # This reference rounds to bfloat16 also where it computes in float64.
    instance = Instance(None, None, rounded, rounded.double(), lambda output: (True, ""))
    assert compared(exact.float(), instance) == ""
    assert compared(rounded, instance) == ""
    assert "expected at most 0.016" in compared(exact.float() * 1.02, instance)
    precise = Instance(None, None, exact.float(), exact, lambda output: (True, ""))
    assert "PyTorch's own" in compared(exact.half().float(), precise)


def test_fresh_sizes_are_those_that_a_problem_allows() -> None:
    tests = [
        {"m": 64, "k": 96, "kind": "a"},
        {"m": 320, "k": 480, "kind": "b"},
        {"m": 128, "k": 960, "kind": "a"},
    ]
    sizes = fresh_sizes(tests, [{"m": 1024, "k": 144, "kind": "a"}], count=20)
    assert sizes
    for size in sizes:
        assert size["m"] % 64 == 0
        assert size["k"] % 48 == 0
        assert size["kind"] in "ab"
        assert size not in tests
    assert any(size["n"] % 2 for size in fresh_sizes([{"n": 192}, {"n": 1001}], [], count=20))


def test_what_cannot_be_judged_says_what_was_expected(tmp_path: Path) -> None:
    for arguments, expected in (
        ({"problem": str(tmp_path / "no"), "submission": "x"}, "expected a problem's folder or file"),
        ({"problem": str(tmp_path), "submission": "x"}, "task.yml"),
    ):
        outcome = operations()["judge"].run(arguments)
        assert outcome.status == "not run"
        assert expected in outcome.text


@pytest.mark.usefixtures("shared_processes")
def test_a_submission_that_never_ends_is_ended(tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text(MODEL)
    (tmp_path / "new.py").write_text("while True:\n    pass\n")
    result = judged(problem=str(tmp_path / "model.py"), submission=str(tmp_path / "new.py"), seconds=0.3)
    (verdict,) = result["submissions"]
    assert verdict["result"] == "fails"
    assert "0.3 s of processor time" in verdict["text"]


def test_submissions_end_with_the_judge(tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text(MODEL)
    (tmp_path / "new.py").write_text("open('here', 'w').write('x')\nwhile True:\n    pass\n")
    script = (
        "from workbench.operations import operations\n"
        f"operations()['judge'].run({{'problem': {str(tmp_path / 'model.py')!r}, "
        f"'submission': {str(tmp_path / 'new.py')!r}}})"
    )
    variables = {**os.environ, "TMPDIR": str(tmp_path)}
    with subprocess.Popen([sys.executable, "-c", script], env=variables) as judge:
        waited(lambda: list(tmp_path.glob("hipkittens-judge-*/*/*/own/here")))
        judge.kill()
    waited(lambda: not running_in(tmp_path))


def running_in(folder: Path) -> list[str]:
    """Processes whose working folder is in a folder."""
    links = (os.path.realpath(link) for link in Path("/proc").glob("[0-9]*/cwd"))
    return [link for link in links if link.startswith(str(folder))]


def waited(condition: Callable[[], object]) -> None:
    end = time.monotonic() + 120
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)
