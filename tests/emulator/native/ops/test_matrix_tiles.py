"""A GEMM by AMX, or by its software form: results, whatever the number of threads, and the unit's work."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from tests.emulator.native.ops.test_matrix import SOFTWARE
from workbench.toolchain import cpu

PROGRAM = """
import ctypes, hashlib, json, os, sys
import torch
import workbench as wb
from workbench.emulator.native import operations

result = {}
for name in sys.argv[1:]:
    generator = torch.Generator().manual_seed(1)
    a, b = (torch.randn(256, 256, generator=generator).bfloat16() for _ in range(2))
    reference = a.double() @ b.double().T
    for threads in "1", "3":
        os.environ["HIPKITTENS_THREADS"] = threads
        counts = (ctypes.c_uint64 * 4)()
        operations().hk_unit_counted(counts)
        c = wb.kernels[name](a, b, device="emulated:gfx950")
        operations().hk_unit_counted(counts)
        error = ((c.double() - reference).abs().max() / reference.abs().max()).item()
        bits = hashlib.sha256(c.view(torch.int16).numpy().tobytes()).hexdigest()
        result[f"{name} {threads}"] = [bits, error, list(counts)]
print(json.dumps(result))
"""


@pytest.mark.skipif(not cpu.LEVELS[SOFTWARE].runs_here, reason=f"this CPU cannot run {SOFTWARE}")
def test_gemm() -> None:
    # Tiles loaded per instruction: half of C each time, and of four results one factor A and four B, or in
    # squares two A and two B.
    kernels = {"gemm/bf16": 1.75, "gemm/bf16:interleave": 1.5}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *kernels],
        env={**os.environ, cpu.VARIABLE: SOFTWARE},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout.splitlines()[-1])
    # An instruction of 16x16x32, and a bf16 result that is rounded once.
    instructions = 256**3 // (16 * 16 * 32)
    for name, expected in kernels.items():
        (bits, error, counts), other = result[f"{name} 1"], result[f"{name} 3"]
        assert other == [bits, error, counts]
        assert error < 2**-8
        assert counts[2] == instructions, "one tile is multiplied per instruction"
        loads, stores, turns = (counts[n] / instructions for n in (0, 1, 3))
        assert (loads, stores, turns) == (expected, 0.5, 0.25), counts
