"""Other implementations of our operators, each a record: what it computes, and how it is called.

Triton's run on emulated devices too, where their times are modelled like ours; PyTorch's own run on a GPU.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import pkgutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from workbench.bench.cases import Case
from workbench.operators import KernelSpec, Shape

Inputs = Mapping[str, Any]
Call = Callable[[], Any]


@dataclass(frozen=True)
class Rival:
    """Another project's implementation of some operators.

    Attributes:
        name: name, such as "Triton (Liger-Kernel)".
        group: "triton", "flydsl", "pytorch" or "pytorch-compiled".
        operators: by name of our operator, a function that makes a call from a spec and its inputs, and a
            predicate for supported shapes; "" stands for all operators.
        module: Python module that must be installed.
        gpu_only: True if it does not run on emulated devices.
    """

    name: str
    group: str
    operators: Mapping[str, tuple[Callable[[KernelSpec, Inputs], Call], Callable[[Shape], bool]]]
    module: str
    gpu_only: bool = False

    @property
    def installed(self) -> bool:
        """True if its module can be imported."""
        with contextlib.suppress(ImportError, ValueError):
            return importlib.util.find_spec(self.module) is not None
        return False

    def takes(self, case: Case) -> bool:
        """True if it computes the case."""
        entry = self.operators.get(case.operator, self.operators.get(""))
        return entry is not None and entry[1](case.shape)

    def call_of(self, spec: KernelSpec, inputs: Inputs) -> Call:
        """A function that computes the operator on these inputs."""
        make, _ = self.operators[spec.name if spec.name in self.operators else ""]
        return make(spec, inputs)


def _plain(*names: str) -> Callable[[Shape], bool]:
    """Predicate for shapes with these switches off."""
    return lambda shape: not any(shape.get(name) for name in names)


def _dense(shape: Shape) -> bool:
    """GEMMs that our Triton kernel computes: whole tiles, without an epilogue."""
    switches = ("alpha", "bias", "gate", "residual")
    whole = shape["m"] % 128 == shape["n"] % 128 == shape["k"] % 64 == 0
    return bool(
        _plain(*switches)(shape)
        and shape["activation"] == "none"
        and shape["layout"] == "nt"
        and shape["batch"] == 1
        and whole
    )


def _square_attention(shape: Shape) -> bool:
    return bool(_plain("window", "capped", "sinks")(shape) and shape["dim"] == shape["dim_v"])


def _whole_attention(shape: Shape) -> bool:
    whole = shape["queries"] % 128 == 0 == shape["keys"] % 64 and shape["queries"] == shape["keys"]
    return _square_attention(shape) and bool(whole)


def _here(module: str, name: str) -> Callable[[KernelSpec, Inputs], Call]:
    """A function of a module beside this file, which imports the language of its kernels."""

    def make(spec: KernelSpec, inputs: Inputs) -> Call:
        functions = importlib.import_module(f"workbench.bench.{module}")
        return getattr(functions, name)(inputs)  # type: ignore[no-any-return]

    return make


def _library(path: str, arguments: Callable[[Inputs], Sequence[Any]]) -> Callable[[KernelSpec, Inputs], Call]:
    """A function of a library, `package.module:name`, and its arguments from a spec's inputs."""

    def make(spec: KernelSpec, inputs: Inputs) -> Call:
        function, operands = pkgutil.resolve_name(path), arguments(inputs)
        return lambda: function(*operands)

    return make


def _given(*names: str) -> Callable[[Inputs], Sequence[Any]]:
    """Inputs by name, in this order."""
    return lambda inputs: [inputs[name] for name in names]


def _halves(inputs: Inputs) -> Sequence[Any]:
    gate, up = inputs["x"].chunk(2, dim=-1)
    return gate.contiguous(), up.contiguous()


def _eager(spec: KernelSpec, inputs: Inputs) -> Call:
    function = spec.native or spec.reference
    return lambda: function(**inputs)


def _compiled(spec: KernelSpec, inputs: Inputs) -> Call:
    import torch

    function = torch.compile(spec.native or spec.reference)
    return lambda: function(**inputs)


def _any(shape: Shape) -> bool:
    return True


def _affine(shape: Shape) -> bool:
    """Norms whose options the libraries' kernels support."""
    return bool(shape.get("weight", 1) and shape.get("bias", 1))


LIGER = Rival(
    "Triton (Liger-Kernel)",
    "triton",
    {
        "normalization/rmsnorm": (
            _library(
                "liger_kernel.ops.rms_norm:LigerRMSNormFunction.apply",
                lambda i: (i["x"], i["weight"], i["eps"], 0.0, "llama", False),
            ),
            _any,
        ),
        "normalization/fused_add_rmsnorm": (
            _library(
                "liger_kernel.ops.fused_add_rms_norm:LigerFusedAddRMSNormFunction.apply",
                _given("x", "residual", "weight", "eps"),
            ),
            _any,
        ),
        "normalization/layernorm": (
            _library(
                "liger_kernel.ops.layer_norm:LigerLayerNormFunction.apply",
                _given("x", "weight", "bias", "eps"),
            ),
            _affine,
        ),
        "activations/softmax": (
            _library("liger_kernel.ops.softmax:LigerSoftmaxFunction.apply", _given("x")),
            _any,
        ),
        "activations/silu_and_mul": (
            _library("liger_kernel.ops.swiglu:LigerSiLUMulFunction.apply", _halves),
            _any,
        ),
        "activations/gelu_tanh_and_mul": (
            _library("liger_kernel.ops.geglu:LigerGELUMulFunction.apply", _halves),
            _any,
        ),
    },
    "liger_kernel",
)
FLASH_LINEAR_ATTENTION = Rival(
    "Triton (flash-linear-attention)",
    "triton",
    {
        "gated_delta/chunk": (
            _library(
                "fla.ops.gated_delta_rule:chunk_gated_delta_rule",
                lambda i: (
                    *(i[name] for name in ("q", "k", "v", "g", "beta")),
                    *(i.get("scale"), i["initial_state"], True, i["use_qk_l2norm"]),
                ),
            ),
            lambda shape: shape["chunk"] == 64 and shape["sequences"] == 1,
        ),
    },
    "fla",
)
AITER = Rival(
    "Triton (AITER)",
    "triton",
    {
        "normalization/rmsnorm": (
            _library("aiter.ops.triton.normalization.rmsnorm:rms_norm", _given("x", "weight", "eps")),
            _any,
        ),
        "normalization/layernorm": (
            _library("aiter.ops.triton.normalization.norm:layer_norm", _given("x", "weight", "bias", "eps")),
            _affine,
        ),
        "activations/softmax": (_library("aiter.ops.triton.softmax:softmax", _given("x")), _any),
        "gemm/bf16": (
            _library("aiter.ops.triton.gemm.basic.gemm_a16w16:gemm_a16w16", _given("a", "b")),
            _dense,
        ),
        "attention/forward": (
            _library(
                "aiter.ops.triton.attention.mha:flash_attn_func",
                lambda i: (i["q"], i["k"], i["v"], 0.0, i["scale"], bool(i["causal"])),
            ),
            _square_attention,
        ),
    },
    "aiter",
)
OURS_IN_TRITON = Rival(
    "Triton (ours)",
    "triton",
    {
        "gemm/bf16": (_here("triton_kernels", "gemm"), _dense),
        "attention/forward": (_here("triton_kernels", "attention"), _whole_attention),
    },
    "triton",
)
FLYDSL = Rival(
    "FlyDSL",
    "flydsl",
    {
        "normalization/rmsnorm": (_here("flydsl_kernels", "rmsnorm"), _any),
        "normalization/layernorm": (_here("flydsl_kernels", "layernorm"), _affine),
        "activations/softmax": (_here("flydsl_kernels", "softmax"), _any),
        "gemm/bf16": (_here("flydsl_kernels", "gemm"), _dense),
        "attention/forward": (_here("flydsl_kernels", "attention"), _square_attention),
    },
    "kernels.norm.rmsnorm_kernel",
)
RIVALS = (
    *(LIGER, FLASH_LINEAR_ATTENTION, AITER, OURS_IN_TRITON, FLYDSL),
    Rival("PyTorch", "pytorch", {"": (_eager, _any)}, "torch", gpu_only=True),
    Rival("PyTorch compiled", "pytorch-compiled", {"": (_compiled, _any)}, "torch", gpu_only=True),
)
"""Every implementation that `bench(against=...)` knows."""
