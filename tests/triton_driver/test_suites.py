"""The command that runs other projects' test suites, and how it classifies each case's result."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("triton")

TESTS = """
import os, signal
import pytest, torch, triton, triton.language as tl

@triton.jit
def add(x, out, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at) + 1)

@pytest.mark.parametrize("n", [64, 32])
def test_right(n):
    out = torch.empty(n, device="cuda")
    add[(1,)](torch.zeros(n, device="cuda"), out, BLOCK=n)
    assert out.device.type == "cuda" and bool((out == 1).all())

def test_wrong():
    assert torch.zeros(2, device="cuda").sum() == 1

tried = []

@pytest.mark.flaky(reruns=1)
def test_right_the_second_time():
    tried.append(1)
    assert len(tried) == 2

def test_skipped():
    pytest.skip("not here")

def test_endless():
    while True:
        pass

def test_crash():
    os.kill(os.getpid(), signal.SIGSEGV)

def test_package():
    import there_is_no_such_package

def test_gpu():
    torch.cuda.ByteTensor(3)
"""
ENDS = {
    "test_right[32]": "passed",
    "test_wrong": "wrong",
    "test_right_the_second_time": "wrong",
    "test_skipped": "skipped",
    "test_endless": "too long",
    "test_crash": "error",
    "test_package": "error",
    "test_gpu": "error",
}


def test_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Kernels from an earlier run take no time of Triton's compiler.
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / "triton"))
    checkout, results = tmp_path / "checkout", tmp_path / "results"
    file = checkout / "tests" / "ops" / "test_add.py"
    file.parent.mkdir(parents=True)
    file.write_text(TESTS)
    (checkout / "tests" / "conftest.py").write_text(
        "import torch\nmake = torch.empty\ndef pytest_runtest_setup(item):\n"
        "    assert make(1, device='cuda').is_cuda\n"
    )
    command = Path(__file__).with_name("suites.py")
    words = (sys.executable, str(command), "--results", str(results), "--targets", "gfx950", "--seconds", "6")
    ended = subprocess.run([*words, f"fla={checkout}"], capture_output=True, text=True, check=True)
    lines = [json.loads(line) for line in (results / "fla.gfx950.jsonl").read_text().splitlines()]
    assert {line["case"].partition("::")[2]: line["result"] for line in lines} == ENDS, ended.stdout
    (launched,) = (line for line in lines if line["result"] == "passed")
    assert launched["kernels"] == ["add"]
    assert launched["seconds"]["compiler"] > 0
    name = "| flash-linear-attention | ops/test_add |"
    row = f"{name} 1, 0 | 2, 0 | 1, 0 | 1, 0 | GPU 1, 0; package 1, 0; error 1, 0 |"
    assert row in ended.stdout.splitlines()
    again = subprocess.run([*words, f"fla={checkout}"], capture_output=True, text=True, check=True)
    assert row in again.stdout.splitlines()
    assert len((results / "fla.gfx950.jsonl").read_text().splitlines()) == len(lines)
