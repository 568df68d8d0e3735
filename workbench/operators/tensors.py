"""Tensors that a spec makes for a launch, and those that its reference returns."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import mmap
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from workbench.dtypes import FNUZ, of_torch
from workbench.errors import WorkbenchError
from workbench.kernel import default_arch
from workbench.patches import Patches
from workbench.runtime import Device
from workbench.targets import target

if TYPE_CHECKING:
    import torch

TensorLike = tuple[Sequence[int], "torch.dtype"]
"""Dimensions and dtype of a tensor that does not exist yet."""

_OWN_MAPPING = 32 << 20
"""Bytes from which on glibc always maps an allocation separately (DEFAULT_MMAP_THRESHOLD_MAX in malloc.c) and
unmaps it when it is freed, so that advice to the system about such memory ends with the tensor."""


def name_results(result: Any, names: Sequence[str], operator: str) -> dict[str, torch.Tensor]:
    """Results of a reference by output name: from a dict, a tuple in the order of `names`, or one tensor."""
    if isinstance(result, Mapping):
        tensors = dict(result)
    elif isinstance(result, (tuple, list)):
        tensors = dict(zip(names, result, strict=False)) if len(result) == len(names) else {}
    else:
        tensors = {names[0]: result} if len(names) == 1 else {}
    if set(tensors) != set(names):
        raise WorkbenchError(
            f"{operator}: the reference returned {_describe(result)}; "
            f"expected one tensor for each of {', '.join(names)}"
        )
    return {name: tensors[name] for name in names}


def _describe(result: Any) -> str:
    if isinstance(result, Mapping):
        return "a dict with " + ", ".join(map(str, result))
    if isinstance(result, (tuple, list)):
        return f"{len(result)} values"
    return f"one {type(result).__name__}"


def in_format_of(tensor: torch.Tensor, device: Device | None) -> torch.Tensor:
    """An fp8 tensor in the encoding of a device's target, saturating; any other tensor unchanged.

    A target without instructions on 8-bit floats accepts every encoding.
    """
    data_type = of_torch(tensor.dtype)
    if data_type is None or data_type.encoding is None:
        return tensor
    fp8 = target(device.arch if device is not None else default_arch()).fp8
    encoding = fp8.encoding(data_type) if fp8 is not None else data_type
    if encoding is data_type:
        return tensor
    return tensor.float().clamp(encoding.lowest, encoding.largest).to(encoding.dtype)


def new_tensor(dims: Sequence[int], dtype: torch.dtype, where: torch.device) -> torch.Tensor:
    """`torch.empty` for an operator's outputs.

    For a large tensor on the CPU it asks the system for large pages. The memory is new in every call, and its
    pages of 4 KiB took a quarter of the time of kernels that move memory.
    """
    import torch

    tensor = torch.empty(dims, dtype=dtype, device=where)
    # A subclass, such as that of a trace, may have no memory, and no size yet.
    if type(tensor) is torch.Tensor and tensor.is_cpu and tensor.nbytes >= _OWN_MAPPING:
        _want_large_pages(tensor.data_ptr(), tensor.nbytes)
    return tensor


def _want_large_pages(address: int, size: int) -> None:
    """Advises the system to use large pages in these `size` bytes; if it refuses, they stay small."""
    advice = getattr(mmap, "MADV_HUGEPAGE", None)
    if advice is None:
        return
    first, end = -(-address // mmap.PAGESIZE), (address + size) // mmap.PAGESIZE
    madvise = ctypes.CDLL(None).madvise
    madvise(
        ctypes.c_void_p(first * mmap.PAGESIZE),
        ctypes.c_size_t((end - first) * mmap.PAGESIZE),
        ctypes.c_int(advice),
    )


def poisoned(tensor: torch.Tensor) -> torch.Tensor:
    import torch

    dtype = tensor.dtype
    if dtype == torch.bool:
        return tensor.fill_(True)
    if dtype.is_floating_point and dtype.itemsize == 1:
        # 0xff is a NaN of the OCP formats, 0x80 the only one of the fnuz formats.
        data_type = of_torch(dtype)
        code = 0x80 if data_type is not None and data_type.encoding == FNUZ.name else 0xFF
        tensor.view(torch.uint8).fill_(code)
        return tensor
    if dtype.is_floating_point or dtype.is_complex:
        return tensor.fill_(float("nan"))
    return tensor.fill_(torch.iinfo(dtype).min if dtype.is_signed else torch.iinfo(dtype).max)


@contextlib.contextmanager
def without_memory() -> Iterator[None]:
    """Tensors made in this context have no memory and no values, whatever PyTorch traces outside."""
    import torch
    from torch._subclasses.fake_tensor import FakeTensorMode
    from torch.utils._python_dispatch import _disable_current_modes

    with torch._guards.tracing(None), _disable_current_modes(), FakeTensorMode():
        yield


@contextlib.contextmanager
def poisoned_memory() -> Iterator[None]:
    """Fills the results of `torch.empty` and similar functions with poison, to expose unwritten results."""
    import torch

    names = ("empty", "empty_like", "empty_strided")
    methods = ("new_empty", "new_empty_strided")
    with Patches() as patches:
        for owner, name in (*((torch, n) for n in names), *((torch.Tensor, m) for m in methods)):
            patches.replace(owner, name, _giving_poisoned(getattr(owner, name)))
        yield


def _giving_poisoned(make: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
    import torch

    @functools.wraps(make)
    def made(*args: Any, **kwargs: Any) -> torch.Tensor:
        tensor = make(*args, **kwargs)
        if tensor.layout is torch.strided and not tensor.is_meta:
            poisoned(tensor.detach())
        return tensor

    return made
