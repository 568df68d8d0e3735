"""Accesses beyond memory that hardware lets pass: whether they continue on an emulated device, or stop there.

The launch decides, else a `with wb.as_hardware()` block, else the memory's variable.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from workbench import settings
from workbench.errors import UsageError
from workbench.launches import DWORD

SHARED = "HIPKITTENS_SHARED_BOUNDS"
"""Variable of accesses beyond a kernel's shared memory."""
TENSORS = "HIPKITTENS_BOUNDS"
"""Variable of accesses past the end of a tensor, in memory that PyTorch's allocator on a GPU would have."""
HARDWARE, EXACT = "hardware", "exact"
_PAGE = 4096
"""Bytes of a GPU's page, of which a program's allocations are multiples (AMDGPU_GPU_PAGE_SIZE of Linux's
amdgpu driver)."""

in_block: ContextVar[bool] = ContextVar("hardware_bounds", default=False)


def is_exact(variable: str, choice: str | None = None) -> bool:
    """True if such an access stops the launch, False if it continues as on a GPU.

    Args:
        variable: `SHARED` or `TENSORS`.
        choice: the launch's own setting, "hardware" or "exact"; None: the default.

    Raises:
        UsageError: the setting is neither.
    """
    if choice is None and in_block.get():
        return False
    value = choice or settings.value_of(variable) or HARDWARE
    if value not in (HARDWARE, EXACT):
        origin = "shared_bounds" if choice else variable
        raise UsageError(f"{origin} is {value!r}; expected {HARDWARE!r} or {EXACT!r}.")
    return value == EXACT


def allocation_granularity() -> int:
    """Bytes of whose multiples kernels may use a program's own allocations: of a page as on hardware, if
    that is asked for, else of a dword.

    Raises:
        UsageError: HIPKITTENS_BOUNDS is neither "hardware" nor "exact".
    """
    return _PAGE if (in_block.get() or settings.hardware_mode()) and not is_exact(TENSORS) else DWORD


@contextmanager
def hardware_bounds() -> Iterator[None]:
    """Lets such accesses continue inside a `with` block; for this thread."""
    token = in_block.set(True)
    try:
        yield
    finally:
        in_block.reset(token)


def variables() -> dict[str, str]:
    """Variables with which a child process has the block's setting."""
    return dict.fromkeys((SHARED, TENSORS), HARDWARE) if in_block.get() else {}
