"""`wb.torch_as_gpu`: scripts that were written for a GPU run on the emulated device as they are."""

from __future__ import annotations

# First: where PyTorch's import opens the door by itself, that imports `context` from inside of it.
import torch  # noqa: F401

from workbench.torch_gpu.context import enter, torch_as_gpu

__all__ = ["enter", "torch_as_gpu"]
