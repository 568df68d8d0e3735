"""Gradients of products, by products in other layouts and by the backward of epilogues."""

from __future__ import annotations

from collections.abc import Set

import torch

from workbench.operators import Gradient
from workbench.operators.gradient import Call

PRODUCT, EPILOGUE = "gemm/bf16", "gemm/epilogue_backward"


def of_operands(
    call: Call,
    wanted: Set[str],
    dz: torch.Tensor,
    a: torch.Tensor,
    b: torch.Tensor,
    layout: str = "nt",
    alpha: float = 1.0,
) -> dict[str, torch.Tensor]:
    """Gradients of a and b, those of them that are wanted, from dz, that of alpha A B, sums over K.

    A and B are stored as `layout` says, and so are their gradients; that of one matrix B for a batch of A is
    the sum over the batch.
    """
    made = {}
    batch, cols = dz.shape[:-2], dz.shape[-1]
    if layout == "nt":
        # Rows of dz and of B's columns are whole 16 bytes for the product that sums over them.
        dz, rows_of_b = (
            torch.nn.functional.pad(x, pad) if cols % 8 else x
            for x, pad in ((dz, (0, -cols % 8)), (b, (0, 0, 0, -cols % 8)))
        )
        if "a" in wanted:
            made["a"] = call(PRODUCT, dz, rows_of_b, layout="nn", alpha=alpha)
        if "b" in wanted:
            left, right = _rows_of_one(b, dz, a)
            made["b"] = call(PRODUCT, left, right, layout="tn", alpha=alpha)[..., :cols, :].contiguous()
    elif layout == "nn":
        if "a" in wanted:
            made["a"] = call(PRODUCT, dz, b, layout="nt", alpha=alpha)
        if "b" in wanted:
            left, right = _rows_of_one(b, a, dz)
            made["b"] = call(PRODUCT, left, right, layout="tn", alpha=alpha)
    elif b.dim() == dz.dim():
        if "a" in wanted:
            made["a"] = call(PRODUCT, b, dz, layout="nt", alpha=alpha)
        if "b" in wanted:
            made["b"] = call(PRODUCT, a, dz, layout="nn", alpha=alpha)
    else:
        rows = dz.flatten(0, 1)
        if "a" in wanted:
            side_by_side = call(PRODUCT, b, rows, layout="nt", alpha=alpha)
            made["a"] = side_by_side.unflatten(-1, (*batch, -1)).movedim(1, 0).contiguous()
        if "b" in wanted:
            made["b"] = call(PRODUCT, a.movedim(0, 1).flatten(1), rows, layout="nn", alpha=alpha)
    return made


def _rows_of_one(b: torch.Tensor, *matrices: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """Matrices of a batch as the rows of one, where one matrix B is for them all."""
    return tuple(x if b.dim() == x.dim() else x.flatten(0, 1) for x in matrices)


def of_epilogue(
    call: Call,
    wanted: Set[str],
    dc: torch.Tensor,
    z: torch.Tensor | None,
    gate: torch.Tensor | None,
    activation: str,
    matrices: bool = False,
) -> dict[str, torch.Tensor]:
    """dz, dgate, dbias and c as `gemm/epilogue_backward` has them, by name without d; those that are wanted.

    Args:
        matrices: whether each matrix of a batch has a bias of its own.
    """
    if not wanted:
        return {}
    found = {"z": dc} if activation == "none" and gate is None else {}
    rest = [name for name in ("z", "gate", "bias", "c") if name in wanted and name not in found]
    if rest:
        dims = dc.shape
        given = {
            name: x if x is None or matrices else x.flatten(0, -2)
            for name, x in (("dc", dc), ("z", z), ("gate", gate))
        }
        made = call(EPILOGUE, **given, activation=activation, wanted=" ".join(rest))
        for name in rest:
            tensor = made[name if name == "c" else f"d{name}"]
            found[name] = tensor if name == "bias" else tensor.reshape(dims)
    return found


def _of_gemm(
    call: Call,
    wanted: Set[str],
    a: torch.Tensor,
    b: torch.Tensor,
    layout: str,
    alpha: float,
    bias: torch.Tensor | None,
    activation: str,
    gate: torch.Tensor | None,
    beta: float,
    dc: torch.Tensor,
) -> dict[str, torch.Tensor]:
    parts = {*(("z",) if wanted & {"a", "b"} else ()), *(wanted & {"bias", "gate"})}
    z = None
    if parts and (activation != "none" or "gate" in parts):
        z = call(PRODUCT, a, b, layout=layout, alpha=alpha, bias=bias)
    of_bias = bias is not None and bias.dim() == 3
    found = of_epilogue(call, parts, dc, z, gate, activation, matrices=of_bias)
    made: dict[str, torch.Tensor] = {name: found[name] for name in ("bias", "gate") if name in wanted}
    if "residual" in wanted:
        made["residual"] = dc if beta == 1.0 else beta * dc
    if "z" in parts:
        made |= of_operands(call, wanted, found["z"], a, b, layout, alpha)
    return made


def _of_gated(
    call: Call, wanted: Set[str], a: torch.Tensor, b: torch.Tensor, activation: str, dc: torch.Tensor
) -> dict[str, torch.Tensor]:
    value, z = (call(PRODUCT, a, half.contiguous()) for half in b.chunk(2, -2))
    found = of_epilogue(call, {"z", "gate"}, dc, z, value, activation)
    return of_operands(call, wanted, torch.cat((found["gate"], found["z"]), -1), a, b)


def _of_layer(
    call: Call,
    wanted: Set[str],
    x: torch.Tensor,
    w1: torch.Tensor,
    w2: torch.Tensor,
    activation: str,
    dout: torch.Tensor,
) -> dict[str, torch.Tensor]:
    """Of activation(X W1ᵀ) W2, or of ((X Wgᵀ) * activation(X Wuᵀ)) W2 where w1 = [Wg; Wu]; hidden columns
    are made again, and their products with the activation and the gate beside their gradients."""
    halves = w1.chunk(len(w1) // len(w2))
    if wanted <= {"w2"}:
        value = call(PRODUCT, x, halves[0]) if len(halves) == 2 else None
        hidden = call(PRODUCT, x, halves[-1], activation=activation, gate=value)
        return {"w2": call(PRODUCT, hidden, dout, layout="tn")}
    *value, z = (call(PRODUCT, x, half) for half in halves)
    gate = value[0] if value else None
    dhidden = call(PRODUCT, dout, w2)
    parts = {"z", *(("gate",) if value else ()), *(("c",) if "w2" in wanted else ())}
    if activation == "none" and gate is None:
        found = {"z": dhidden, "c": z}
    else:
        found = of_epilogue(call, parts, dhidden, z, gate, activation)
    made = {"w2": call(PRODUCT, found["c"], dout, layout="tn")} if "w2" in wanted else {}
    dz = torch.cat((found["gate"], found["z"]), -1) if value else found["z"]
    of_w1 = of_operands(call, {{"x": "a", "w1": "b"}.get(name, "") for name in wanted}, dz, x, w1)
    return made | {{"a": "x", "b": "w1"}[name]: grad for name, grad in of_w1.items()}


GEMM = Gradient((PRODUCT, EPILOGUE), _of_gemm)
GATED = Gradient((PRODUCT, EPILOGUE), _of_gated)
LAYER = Gradient((PRODUCT, EPILOGUE), _of_layer)
