"""Submissions judged by workers of a Dask cluster."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from workbench.judge.verdicts import Verdict
from workbench.operations import operations

PROBLEM = """// %%hipkittens affine --launch "affine[4, 64]" --outputs out \\
//     --inputs "dict(x=torch.randn(250), out=torch.empty(250), n=250)" --reference "lambda x: 2 * x + 1"
"""
KERNEL = """#include <hip/hip_runtime.h>
__global__ void affine(const float* x, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = FACTOR * x[i] + 1;
}
"""


def test_workers_judge_as_this_process_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("distributed")
    monkeypatch.chdir(tmp_path)
    Path("affine.hip").write_text(PROBLEM + KERNEL.replace("FACTOR", "2"))
    folder = Path("submitted")
    folder.mkdir()
    for name, factor in (("right", "2"), ("wrong", "3")):
        (folder / f"{name}.hip").write_text(KERNEL.replace("FACTOR", factor))
    arguments = {"problem": "affine.hip", "submission": "submitted", "out": "out", "cluster": "1"}
    judge = operations()["judge"]
    outcome = judge.run(arguments)
    results = {s["name"]: s["result"] for s in outcome.data["result"]["submissions"]}
    assert results == {"right.hip": "right", "wrong.hip": "wrong"}
    # What workers judged is stored here, as this process would: it judges nothing again.
    stored = [Verdict.of_json(file.read_text()) for file in Path("out/submissions").iterdir()]
    assert sorted(verdict.submission for verdict in stored) == ["right.hip", "wrong.hip"]
    monkeypatch.setattr("workbench.judge.judging.Processes", None)
    here = judge.run({**arguments, "cluster": ""})
    assert json.dumps(here.data) == json.dumps(outcome.data)
