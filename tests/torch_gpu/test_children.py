"""Processes that `multiprocessing` starts inside of `wb.torch_as_gpu` see the device as their parent does."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

PROGRAM = """
import multiprocessing
import workbench as wb

def described(size):
    import torch

    generator = torch.Generator(device="cuda").manual_seed(1)
    x = torch.randn(size, device="cuda", generator=generator)
    return torch.cuda.get_device_name(), str(x.device)

if __name__ == "__main__":
    with wb.torch_as_gpu("emulated:gfx942"):
        for how in ("spawn", "fork", "forkserver"):
            with multiprocessing.get_context(how).Pool(1) as pool:
                print(how, *pool.apply(described, (3,)))
"""


def test_however_they_are_started(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    ended = subprocess.run(
        [sys.executable, "program.py"], cwd=tmp_path, capture_output=True, text=True, timeout=300
    )
    lines = [f"{how} AMD Instinct MI300X cuda:0" for how in ("spawn", "fork", "forkserver")]
    assert ended.stdout.splitlines() == lines, ended.stderr
