"""HipKittens' own kernels, modelled: the code that was published is the code that is timed.

Where a published row is of a kernel whose source is in a checkout of HipKittens' main branch, that source is
compiled as it is, at the row's sizes, and run on the emulated device. What is off then is the model, not the
kernel. Nothing of a source is kept here but its path, the names of its sizes and of its arguments.
"""

from __future__ import annotations

import re
import sysconfig
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import torch
from published_times import Problem, Row

import workbench as wb
from workbench import targets
from workbench.profile.timing import TimeResult, time_target
from workbench.spec.subject import resolve
from workbench.toolchain import zig

PREFIX = "own "
"""Of the kernel of a problem that stands for HipKittens' own source."""

Sizes = Mapping[str, int]


@dataclass(frozen=True)
class Own:
    """A source of HipKittens.

    Attributes:
        path: in the checkout.
        entry: the kernel.
        threads: of a work-group.
        shared: whether it takes all LDS that there is, dynamically.
        constants: sizes that the source fixes, by its names.
        grid: work-groups.
        tensors: arguments by name.
    """

    path: str
    entry: str
    threads: int
    shared: bool
    constants: Callable[[Sizes], Mapping[str, int]]
    grid: Callable[[Sizes], tuple[int, int, int]]
    tensors: Callable[[Sizes], dict[str, torch.Tensor | int]]


def _half(*dims: int) -> torch.Tensor:
    return torch.randn(*dims).bfloat16()


def _rope_tensors(s: Sizes) -> dict[str, torch.Tensor | int]:
    x = _half(s["batch"], s["heads"], s["tokens"], s["dim"])
    table = _half(s["tokens"], s["dim"] // 2)
    return {"x": x, "o": torch.empty_like(x), "sin": table, "cos": table.clone()}


def _layernorm_tensors(s: Sizes) -> dict[str, torch.Tensor | int]:
    tokens = s["rows"] // _BATCH
    whole = {name: _half(_BATCH, tokens, s["cols"]) for name in ("x", "residual", "o", "o_resid")}
    columns = {name: _half(s["cols"]) for name in ("norm_weight", "norm_bias")}
    return {**whole, **columns, "n_per_tile": 4, "n_tile_size": tokens // 4}


def _attention_tensors(s: Sizes) -> dict[str, torch.Tensor | int]:
    q = _half(s["batch"], s["queries"], s["heads"], s["dim"])
    k, v = (_half(s["batch"], s["keys"], s["heads_kv"], s["dim"]) for _ in range(2))
    lse = torch.empty(s["batch"], s["heads"], 1, s["queries"])
    return {"Qg": q, "Kg": k, "Vg": v, "Og": torch.empty_like(q), "L_vec": lse}


def _gemm_tensors(s: Sizes) -> dict[str, torch.Tensor | int]:
    return {"a": _half(s["m"], s["k"]), "b": _half(s["n"], s["k"]), "c": _half(s["m"], s["n"])}


_BATCH = 16
"""Sequences of HipKittens' LayerNorm benchmark."""

ROPE = Own(
    "kernels/rotary/kernel.cpp",
    "tk_fused_rotary",
    64,
    False,
    lambda s: {"ATTN_B": s["batch"], "ATTN_H": s["heads"], "ATTN_N": s["tokens"]},
    lambda s: (s["heads"], s["batch"], s["tokens"] // 32),
    _rope_tensors,
)
LAYERNORM = Own(
    "kernels/layernorm/kernel.cpp",
    "layernorm_tk",
    256,
    False,
    lambda s: {"N": s["rows"] // _BATCH},
    lambda s: (s["rows"] // _BATCH // 4, _BATCH, 1),
    _layernorm_tensors,
)
GEMM = Own(
    "kernels/gemm/bf16fp32/mi350x/256_256_64_32_with16x32.cpp",
    "micro_tk",
    512,
    True,
    lambda s: {"M": s["m"], "N": s["n"], "K": s["k"]},
    lambda s: (s["m"] // 256 * (s["n"] // 256), 1, 1),
    _gemm_tensors,
)


def _attention(s: Sizes) -> Own:
    causal = "causal" if s["causal"] else "non_causal"
    return Own(
        f"analysis/attn/fwd/benchmark/attn_fwd_{causal}{'_d64' if s['dim'] == 64 else ''}.cpp",
        "attend_ker",
        512,
        True,
        lambda s: {
            **{"ATTN_B": s["batch"], "ATTN_H": s["heads"], "ATTN_H_KV": s["heads_kv"]},
            **{"ATTN_N": s["queries"], "ATTN_D": s["dim"]},
        },
        lambda s: (s["heads"], s["queries"] // 256, s["batch"]),
        _attention_tensors,
    )


SOURCES: Mapping[str, Callable[[Sizes], Own]] = {
    "rotary/rope": lambda _: ROPE,
    "normalization/fused_add_layernorm": lambda _: LAYERNORM,
    "attention/forward": _attention,
    "gemm/bf16": lambda _: GEMM,
}
"""By the spec of the rows that were published of them."""


LEAST_GEMM = 4096
"""Rows and columns from which HipKittens' times can be those of `GEMM`: below, its tiles are on so few
compute units that their matrix cores would need longer than was published."""


def own_problem(row: Row) -> Problem | None:
    """The problem that is HipKittens' own kernel for a row; None where its source is not known."""
    known = row.like and row.problem.kernel in SOURCES and "older version" not in row.caveat
    if not known or targets.product(row.problem.gpu).arch != "gfx950":
        return None
    sizes = row.problem.parameters
    if row.problem.kernel == "gemm/bf16" and int(min(sizes["m"], sizes["n"])) < LEAST_GEMM:
        return None
    return replace(row.problem, kernel=PREFIX + row.problem.kernel)


def with_constants(text: str, constants: Mapping[str, int]) -> str:
    """A source with other sizes.

    Raises:
        ValueError: it has no constant of a name.
    """
    for name, value in constants.items():
        pattern = rf"^(\s*(?:constexpr int {name}\s*=\s*|#define\s+{name}\s+))\d+"
        text, count = re.subn(pattern, rf"\g<1>{value}", text, flags=re.MULTILINE)
        if not count:
            raise ValueError(f"the source has no constant {name}")
    return text


def _host_headers() -> list[Path | str]:
    """Folders of what the host code of a source includes, which the device part reads too."""
    import pybind11

    wheel = zig.folder()
    of_zig = [wheel / "lib" / "libcxxabi" / "include"] if wheel else []
    return [pybind11.get_include(), sysconfig.get_path("include"), *of_zig]


def model_own(problem: Problem, checkout: Path) -> TimeResult:
    """The modelled time of HipKittens' own kernel.

    Args:
        problem: from `own_problem`.
        checkout: of its main branch.
    """
    sizes = {name: int(value) for name, value in problem.parameters.items()}
    own = SOURCES[problem.kernel.removeprefix(PREFIX)](sizes)
    path = checkout / own.path
    module = wb.compile(
        with_constants(path.read_text(encoding="utf-8"), own.constants(sizes)),
        arch="gfx950",
        name=str(path),
        include=[checkout / "include", *_host_headers()],
        define=["HIP_ENABLE_WARP_SYNC_BUILTINS"],
        flags=["-w"],
    )
    kernel = module[own.entry]
    shared = int(targets.target("gfx950").lds_bytes) - kernel.resources.lds if own.shared else 0
    torch.manual_seed(0)
    launcher = kernel[own.grid(sizes), own.threads, shared]
    target = resolve(launcher, kwargs=own.tensors(sizes), device=f"emulated:{problem.gpu}")
    # Its tensors are nobody else's, so that of a large launch a part will do.
    return time_target(replace(target, fresh=True))
