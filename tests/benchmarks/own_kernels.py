"""Modelled times of kernels whose times others published: the timed code itself is run.

Where a published row is of a kernel whose source is in a checkout of HipKittens' main branch, or of the port
to CDNA 3 (m8than/amd-kernels), that source is compiled as it is, at the row's sizes, and run on the emulated
device. What is off then is the model, not the kernel. Nothing of a source is kept here but its path, the
names of its sizes and of its arguments.
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
from workbench.operators.launch_target import Target, resolve
from workbench.toolchain import zig

PREFIX = "own "
"""Prefix of the kernels of problems that HipKittens' own source stands for."""

Sizes = Mapping[str, int]
Argument = torch.Tensor | int | float


@dataclass(frozen=True)
class OwnKernel:
    """A source.

    Attributes:
        path: in the checkout.
        entry: the kernel.
        threads: of a work-group.
        shared: whether it takes all LDS that there is, dynamically.
        constants: sizes that the source fixes, by its names.
        grid: work-groups.
        tensors: arguments by name.
        port: it is in the port, for gfx942; else HipKittens', for gfx950.
    """

    path: str
    entry: str
    threads: int
    shared: bool
    constants: Callable[[Sizes], Mapping[str, int]]
    grid: Callable[[Sizes], tuple[int, int, int]]
    tensors: Callable[[Sizes], dict[str, Argument]]
    port: bool = False

    @property
    def arch(self) -> str:
        """The target on which it was timed."""
        return "gfx942" if self.port else "gfx950"


def _half(*dims: int) -> torch.Tensor:
    return torch.randn(*dims).bfloat16()


# The content of an output counts as an operand, and zeros raise the clock, so outputs are filled too.
def _rope_tensors(s: Sizes) -> dict[str, Argument]:
    x = _half(s["batch"], s["heads"], s["tokens"], s["dim"])
    table = _half(s["tokens"], s["dim"] // 2)
    return {"x": x, "o": torch.randn_like(x), "sin": table, "cos": table.clone()}


def _layernorm_tensors(s: Sizes) -> dict[str, Argument]:
    tokens = s["rows"] // _BATCH
    whole = {name: _half(_BATCH, tokens, s["cols"]) for name in ("x", "residual", "o", "o_resid")}
    columns = {name: _half(s["cols"]) for name in ("norm_weight", "norm_bias")}
    return {**whole, **columns, "n_per_tile": 4, "n_tile_size": tokens // 4}


def _attention_tensors(s: Sizes) -> dict[str, Argument]:
    q = _half(s["batch"], s["queries"], s["heads"], s["dim"])
    k, v = (_half(s["batch"], s["keys"], s["heads_kv"], s["dim"]) for _ in range(2))
    lse = torch.randn(s["batch"], s["heads"], 1, s["queries"])
    return {"Qg": q, "Kg": k, "Vg": v, "Og": torch.randn_like(q), "L_vec": lse}


def _gemm_tensors(s: Sizes) -> dict[str, Argument]:
    return {"a": _half(s["m"], s["k"]), "b": _half(s["n"], s["k"]), "c": _half(s["m"], s["n"])}


_BATCH = 16
"""Sequences of HipKittens' LayerNorm benchmark."""

ROPE = OwnKernel(
    "kernels/rotary/kernel.cpp",
    "tk_fused_rotary",
    64,
    False,
    lambda s: {"ATTN_B": s["batch"], "ATTN_H": s["heads"], "ATTN_N": s["tokens"]},
    lambda s: (s["heads"], s["batch"], s["tokens"] // 32),
    _rope_tensors,
)
LAYERNORM = OwnKernel(
    "kernels/layernorm/kernel.cpp",
    "layernorm_tk",
    256,
    False,
    lambda s: {"N": s["rows"] // _BATCH},
    lambda s: (s["rows"] // _BATCH // 4, _BATCH, 1),
    _layernorm_tensors,
)
GEMM = OwnKernel(
    "kernels/gemm/bf16fp32/mi350x/256_256_64_32_with16x32.cpp",
    "micro_tk",
    512,
    True,
    lambda s: {"M": s["m"], "N": s["n"], "K": s["k"]},
    lambda s: (s["m"] // 256 * (s["n"] // 256), 1, 1),
    _gemm_tensors,
)


def _attention(s: Sizes) -> OwnKernel:
    causal = "causal" if s["causal"] else "non_causal"
    return OwnKernel(
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


SOURCES: Mapping[str, Callable[[Sizes], OwnKernel]] = {
    "rotary/rope": lambda _: ROPE,
    "normalization/fused_add_layernorm": lambda _: LAYERNORM,
    "attention/forward": _attention,
    "gemm/bf16": lambda _: GEMM,
}
"""HipKittens' sources, by the spec of their published rows."""


def _rows(path: str, entry: str, tensors: str, scalars: Mapping[str, float | str]) -> OwnKernel:
    """A row-wise kernel of the port: four waves of a row each; `scalars` are values, or names of sizes."""
    return OwnKernel(
        f"kernels/{path}/kernel.cpp",
        entry,
        256,
        False,
        lambda _: {},
        lambda s: (-(-s["rows"] // 4), 1, 1),
        lambda s: {
            **{name: _half(1, 1, s["rows"], s["cols"]) for name in tensors.split()},
            **{name: _half(1, 1, 1, s["cols"]) for name in ("weight", "bias") if name in scalars},
            **{
                n: s[v] if isinstance(v, str) else v
                for n, v in scalars.items()
                if n not in ("weight", "bias")
            },
        },
        port=True,
    )


def _gated(kind: int) -> OwnKernel:
    """A gated activation of the port: a thread for each element of the output."""
    return OwnKernel(
        "kernels/rope-activations/activation/kernel.cpp",
        f"gated_activation_kernel<(ActivationType){kind}>",
        256,
        False,
        lambda _: {},
        lambda s: (-(-s["rows"] * s["cols"] // 256), 1, 1),
        lambda s: {
            **{"input": _half(s["rows"], 2 * s["cols"]), "output": _half(s["rows"], s["cols"])},
            **{"M": s["rows"], "N": s["cols"]},
        },
        port=True,
    )


def _port_rope_tensors(s: Sizes) -> dict[str, Argument]:
    x = _half(s["batch"], s["heads"], s["tokens"], s["dim"])
    table = _half(1, 1, s["tokens"], s["dim"] // 2)
    sizes = {"B": s["batch"], "H": s["heads"], "N": s["tokens"], "stream": 0}
    return {"x": x, "o": torch.randn_like(x), "sin_freq": table, "cos_freq": table.clone(), **sizes}


PORT: Mapping[str, OwnKernel] = {
    "activations/silu_and_mul": _gated(0),
    "activations/gelu_and_mul": _gated(1),
    "activations/softmax": OwnKernel(
        "kernels/rope-activations/softmax/kernel.cpp",
        "softmax_kernel<256>",
        256,
        True,
        lambda _: {},
        lambda s: (s["rows"], 1, 1),
        lambda s: {
            **{"input": _half(s["rows"], s["cols"]), "output": _half(s["rows"], s["cols"])},
            "N": s["cols"],
        },
        port=True,
    ),
    "normalization/rmsnorm": _rows(
        "normalization/rmsnorm",
        "rmsnorm_fwd_kernel<128>",
        "input output",
        {"weight": 0, "epsilon": 1e-6, "n_rows": "rows"},
    ),
    "normalization/fused_add_rmsnorm": _rows(
        "normalization/rmsnorm",
        "fused_add_rmsnorm_fwd_kernel<128>",
        "input residual output res_out",
        {"weight": 0, "epsilon": 1e-6, "n_rows": "rows"},
    ),
    "normalization/layernorm": _rows(
        "normalization/layernorm",
        "layernorm_fwd_kernel<128>",
        "input output",
        {"weight": 0, "bias": 0, "epsilon": 1e-5, "n_rows": "rows"},
    ),
    "rotary/rope": OwnKernel(
        "kernels/rope-activations/rope/kernel.cpp",
        "rope_kernel<128>",
        64,
        False,
        lambda _: {},
        lambda s: (s["heads"], s["batch"], s["tokens"] // 32),
        _port_rope_tensors,
        port=True,
    ),
}
"""The port's kernels for the same problems."""


PORTED = "HipKittens (port)"
"""Implementation of the port's rows."""

_SOFTMAX_BYTES = 16
"""LDS that the port's softmax takes: one number per wave."""

LEAST_GEMM = 4096
"""Rows and columns from which HipKittens' times can be those of `GEMM`: below, its tiles are on so few
compute units that their matrix cores would need longer than was published."""


def own_problem(row: Row) -> Problem | None:
    """The problem that runs HipKittens' own kernel for a row; None if its source is unknown."""
    if not row.like or "older version" in row.caveat:
        return None
    spec = row.problem.kernel.partition(":")[0]
    own = replace(row.problem, kernel=PREFIX + spec)
    if targets.product(row.problem.gpu).arch == "gfx942":
        ported = row.implementation == PORTED and spec in PORT
        return own if ported else None
    if spec not in SOURCES:
        return None
    sizes = row.problem.parameters
    if spec == "gemm/bf16" and int(min(sizes["m"], sizes["n"])) < LEAST_GEMM:
        return None
    return own


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


def host_headers() -> list[Path | str]:
    """Folders of the headers that the host code of a source includes, which the device part reads too."""
    import pybind11

    wheel = zig.folder()
    of_zig = [wheel / "lib" / "libcxxabi" / "include"] if wheel else []
    return [pybind11.get_include(), sysconfig.get_path("include"), *of_zig]


def own_target(problem: Problem, hipkittens: Path, port: Path | None) -> Target:
    """A foreign kernel, ready to run; only its own launch sees its tensors.

    Args:
        problem: from `own_problem`.
        hipkittens: checkout of HipKittens' main branch, whose headers the port takes, too.
        port: checkout of the port.

    Raises:
        ValueError: a row of the port, and no checkout of it.
    """
    sizes = {name: int(value) for name, value in problem.parameters.items()}
    name = problem.kernel.removeprefix(PREFIX)
    ported = targets.product(problem.gpu).arch == "gfx942"
    own = PORT[name] if ported else SOURCES[name](sizes)
    checkout = port if ported else hipkittens
    if checkout is None:
        raise ValueError(f"{problem} is of the port: say where a checkout of m8than/amd-kernels is (--port)")
    path = checkout / own.path
    module = wb.compile(
        with_constants(path.read_text(encoding="utf-8"), own.constants(sizes)),
        arch=own.arch,
        name=str(path),
        include=[hipkittens / "include", *host_headers()],
        define=["KITTENS_CDNA3" if ported else "HIP_ENABLE_WARP_SYNC_BUILTINS"],
        flags=["-w"],
    )
    kernel = module[own.entry]
    shared = _SOFTMAX_BYTES if ported else int(targets.target(own.arch).lds_bytes) - kernel.resources.lds
    torch.manual_seed(0)
    launcher = kernel[own.grid(sizes), own.threads, shared if own.shared else 0]
    target = resolve(launcher, kwargs=own.tensors(sizes), device=f"emulated:{problem.gpu}")
    # Nothing else uses its tensors, so a part of a large launch is enough.
    return replace(target, fresh=True)
