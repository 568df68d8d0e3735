"""CUDA's names with HIP's counterparts, and those without one on AMD GPUs.

The table is that of PyTorch's own hipify (`torch.utils.hipify`), some 3,000 names; this module adds those
that it lacks.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType

from workbench.toolchain.mistakes.cell_text import Cell

RUNTIME_HEADER = "hip/hip_runtime.h"
FULL_MASK = "0xffffffffffffffffull"
"""All lanes of a wave of CDNA, which has 64."""
FULL_MASK_OF_32 = re.compile(r"(?:0[xX][fF]{8}|~0|-1|4294967295)[uUlL]*")
"""All lanes of a warp, as CUDA C++ writes them."""

_VERSIONS = ("CUDA_VERSION", "CUDART_VERSION")
_NAMES = {
    "nv_bfloat16": "__hip_bfloat16",
    "nv_bfloat162": "__hip_bfloat162",
    "__nv_saturation_t": "__hip_saturation_t",
}
_HEADERS = {
    "cuda.h": RUNTIME_HEADER,
    "cuda_runtime.h": RUNTIME_HEADER,
    "device_launch_parameters.h": RUNTIME_HEADER,
    "sm_20_intrinsics.h": RUNTIME_HEADER,
    "cuda_fp8.h": "hip/hip_fp8.h",
    "cuda_fp6.h": "hip/hip_fp6.h",
    "cuda_fp4.h": "hip/hip_fp4.h",
    "math_constants.h": "hip/hip_math_constants.h",
    "cooperative_groups/reduce.h": "hip/hip_cooperative_groups.h",
    "cooperative_groups/scan.h": "hip/hip_cooperative_groups.h",
    "cooperative_groups/memcpy_async.h": "hip/hip_cooperative_groups.h",
    "nccl.h": "rccl/rccl.h",
    "nvtx3/nvToolsExt.h": "roctracer/roctx.h",
    "cusolverDn.h": "hipsolver/hipsolver.h",
}
# (prefix of CUDA's names, prefix of HIP's): families of device code whose names differ only in that.
_FAMILIES = (
    ("__nv_fp", "__hip_fp"),
    ("__nv_cvt_", "__hip_cvt_"),
    ("__NV_", "__HIP_"),
    ("CUDART_", "HIP_"),
    ("make_cu", "make_hip"),
    ("cuC", "hipC"),
)
# Prefixes of libraries' names, most of which HIP has.
_LIBRARIES = (
    ("cuda", "hip"),
    ("cublas", "hipblas"),
    ("CUBLAS_", "HIPBLAS_"),
    ("curand", "hiprand"),
    ("CURAND_", "HIPRAND_"),
    ("cusparse", "hipsparse"),
    ("CUSPARSE_", "HIPSPARSE_"),
    ("cusolver", "hipsolver"),
    ("cufft", "hipfft"),
    ("CUFFT_", "HIPFFT_"),
)


@dataclass(frozen=True, slots=True)
class Absent:
    """A CUDA feature without a counterpart of the same form.

    Attributes:
        pattern: regular expression that finds it, in code without comments and strings.
        why: description of the feature, and what to use instead.
    """

    pattern: re.Pattern[str]
    why: str


_WMMA = (
    "nvcuda::wmma drives NVIDIA's tensor cores: use the tile library's mma_AB and mma_ABt "
    '(#include "kittens.cuh"), the __builtin_amdgcn_mfma_* builtins, or rocWMMA where ROCm is installed'
)
_PTX_WHY = (
    "inline PTX is NVIDIA's instruction set: write it in C++, with a __builtin_amdgcn_* builtin, or with an "
    "AMD instruction in the asm"
)
_PTX_COPY_WHY = (
    "cp.async copies to shared memory on NVIDIA GPUs: use the tile library's load_async, or "
    "__builtin_amdgcn_global_load_lds"
)
ABSENT_HEADERS: Mapping[str, str] = MappingProxyType(
    {
        "mma.h": _WMMA,
        "cuda/barrier": "cuda::barrier is libcu++'s: use __syncthreads() or a cooperative group's sync()",
        "cuda/pipeline": "cuda::pipeline is libcu++'s: use load_async of the tile library, or plain loads",
        "cuda_pipeline.h": "asynchronous copies of CUDA: use load_async of the tile library, or plain loads",
        "cudnn.h": "cuDNN's counterpart is MIOpen, which the workbench does not have",
        "cutlass/cutlass.h": "CUTLASS is for NVIDIA GPUs: use the tile library (kittens.cuh)",
        "cute/tensor.hpp": "CuTe is for NVIDIA GPUs: use the tile library (kittens.cuh)",
    }
)
ABSENT = (
    Absent(re.compile(r"\b(?:nvcuda\b(?:\s*::\s*wmma\b)?|wmma\s*::)"), _WMMA),
    Absent(
        re.compile(r"\btex[123]D\w*\s*(?=[<(])|\btexture\s*<|\bsurf[123]D\w+"),
        "these GPUs have no image instructions, and stop where a texture is read: read memory by a pointer",
    ),
    Absent(
        re.compile(r"\bcuda\s*::\s*(?!std\b)\w+"),
        "libcu++ has no counterpart here: use HIP's atomics, cooperative groups and builtins",
    ),
    Absent(
        re.compile(r"\bcuda\s*::\s*std\b"), "libcu++'s cuda::std is not here: std works in device code too"
    ),
    Absent(
        re.compile(r"\b__cluster_dims__\b|\bthis_cluster\b|\bCUtensorMap\b|\bcuTensorMap\w+"),
        "clusters and tensor maps are NVIDIA's from Hopper on: a work-group reads memory itself",
    ),
    Absent(
        re.compile(r"\b__CUDA_ARCH__\b"),
        "it is NVIDIA's compute capability: ask __HIP_DEVICE_COMPILE__, or a target such as __gfx950__",
    ),
    Absent(re.compile(rf"\b(?:{'|'.join(_VERSIONS)})\b"), "HIP's is HIP_VERSION, which has other numbers"),
    Absent(
        re.compile(r"\b__nanosleep\b"),
        "HIP has no __nanosleep: use __builtin_amdgcn_s_sleep(n), 64 * n clocks",
    ),
    Absent(
        re.compile(r"\b__(?:ldcv|ldlu|stc[gs]|stwb|stwt)\b"),
        "hints to NVIDIA's caches: use a plain access, or __builtin_nontemporal_load and _store",
    ),
    Absent(
        re.compile(r"\b(?:cudnn[A-Z]\w*|nvshmem\w*|cutensor[A-Z]\w*|cutlass\s*::|cute\s*::)"),
        "an NVIDIA library without a counterpart of the same interface",
    ),
)
_PTX = re.compile(
    r"%(?:laneid|warpid|smid|clock|globaltimer|n?tid|n?ctaid)|\b(?:[a-z]\w*\.)+(?:[usfb]\d+|bf16|global|shared|async|sync|pred|approx|aligned)\b"
)
"""Inline PTX, NVIDIA's assembly; AMD's has no dots between the words of a mnemonic."""


@cache
def table() -> Mapping[str, str]:
    """HIP's names by CUDA's."""
    return {name: new for name, new in _pytorch()[0].items() if re.fullmatch(r"\w+", name)} | _NAMES


def counterpart(name: str) -> str | None:
    """HIP's name for a CUDA name, from the table or by its family; None if it is not a CUDA name."""
    if not re.match(r"_*(?:cu|CU|nv|NV)|make_cu", name) or name in _VERSIONS:
        return None
    return table().get(name) or _by_family(name, _FAMILIES) or _by_family(name, _LIBRARIES)


def is_guess(name: str) -> bool:
    """True if the counterpart was derived by its library's pattern, so that HIP may not have it."""
    return name not in table() and _by_family(name, _FAMILIES) is None


def _by_family(name: str, families: tuple[tuple[str, str], ...]) -> str | None:
    # A prefix followed by a small letter is another word, such as `cudart`.
    return next(
        (new + name[len(old) :] for old, new in families if re.match(rf"{old}(?<=_)\w|{old}[A-Z0-9_]", name)),
        None,
    )


def header(name: str) -> str | None:
    """HIP's header for one of CUDA's, in the form of an include; None if there is none."""
    if name in ABSENT_HEADERS:
        return None
    if name.startswith("cub/"):
        return "hipcub/hipcub.hpp"
    return _HEADERS.get(name) or _pytorch()[1].get(name)


@cache
def _pytorch() -> tuple[dict[str, str], dict[str, str]]:
    """PyTorch's names and headers; before 2.9 a name's value is a tuple that begins with HIP's."""
    from torch.utils.hipify import cuda_to_hip_mappings as tables

    names: dict[str, str] = {}
    for part in (tables.CUDA_SPECIAL_MAP, tables.CUDA_TYPE_NAME_MAP, tables.CUDA_IDENTIFIER_MAP):
        names |= {name: new if isinstance(new, str) else new[0] for name, new in part.items()}
    headers = {name: new if isinstance(new, str) else new[0] for name, new in tables.CUDA_INCLUDE_MAP.items()}
    return names, {name.strip("<>"): new.strip("<>") for name, new in headers.items()}


def ptx(cell: Cell, opening: int) -> str:
    """The remedy for the inline PTX whose bracket opens at an offset; "" if it is not PTX."""
    end = cell.closing(opening)
    text = cell.text[opening : end if end is not None else opening + 400]
    if not _PTX.search(" ".join(re.findall(r'"((?:\\.|[^"\\])*)"', text))):
        return ""
    return _PTX_COPY_WHY if "cp.async" in text else _PTX_WHY
