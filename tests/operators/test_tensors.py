"""Tensors that operators write: the origin of their memory."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from workbench.operators.tensors import new_tensor

MAPPINGS = Path("/proc/self/smaps")
LARGE_PAGES = Path("/sys/kernel/mm/transparent_hugepage")


def flags_of(address):
    """The kernel's flags of the mapping with an address: "hg" if large pages are requested (proc(5))."""
    inside = False
    for line in MAPPINGS.read_text().splitlines():
        first, *rest = line.split()
        if first == "VmFlags:" and inside:
            return rest
        if not first.endswith(":"):
            start, end = (int(part, 16) for part in first.split("-"))
            inside = start <= address < end
    raise AssertionError(f"no mapping has {address:#x}")


@pytest.mark.skipif(not LARGE_PAGES.exists(), reason="this system has no large pages")
def test_large_results_ask_for_large_pages_until_they_are_freed() -> None:
    # In a separate process: this one may reuse memory of an earlier large result.
    program = """
import torch
from test_tensors import flags_of
from workbench.operators.tensors import new_tensor

large = new_tensor((8 << 20,), torch.float32, torch.device("cpu"))
small = new_tensor((1 << 20,), torch.float32, torch.device("cpu"))
assert "hg" in flags_of(large.data_ptr() + large.nbytes // 2)
assert "hg" not in flags_of(small.data_ptr() + small.nbytes // 2)
assert large.fill_(3).sum(dtype=torch.float64) == 3 * large.numel()
"""
    subprocess.run([sys.executable, "-c", program], cwd=Path(__file__).parent, check=True, timeout=120)


def test_tensors_without_memory_are_made_as_any():
    with FakeTensorMode():
        tensor = new_tensor((3, 8 << 20), torch.float32, torch.device("cpu"))
    assert tensor.shape == (3, 8 << 20)
    assert new_tensor((8 << 20,), torch.float32, torch.device("meta")).is_meta
