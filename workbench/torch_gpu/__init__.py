"""`wb.torch_as_gpu`: scripts that were written for a GPU run unchanged on the emulated device."""

from __future__ import annotations

# Imported first: if PyTorch's import itself replaces "cuda", that imports `context` from inside it.
import torch  # noqa: F401

from workbench.torch_gpu.context import enter, torch_as_gpu

__all__ = ["enter", "torch_as_gpu"]
