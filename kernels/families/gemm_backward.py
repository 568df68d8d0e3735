"""Gradients of products, by products in other layouts and by the backward of epilogues.

Operands with scales are multiplied as bf16: elements of 8 bits or fewer are exact in bf16, and their products
with scales are rounded.
"""

from __future__ import annotations

from collections.abc import Callable, Set

import torch

from workbench.operators import Gradient
from workbench.operators.gradient import Call
from workbench_kernels.references.gemm import by_columns, dequantized, factors, numbers_of

PRODUCT, EPILOGUE = "gemm/bf16", "gemm/epilogue_backward"
GROUPED, OF_GROUPS = "gemm/grouped", "gemm/grouped_variable_k"


def of_operands(
    call: Call,
    needs_grad: Set[str],
    dz: torch.Tensor,
    a: torch.Tensor,
    b: torch.Tensor,
    layout: str = "nt",
    alpha: float = 1.0,
) -> dict[str, torch.Tensor]:
    """Gradients of a and b, as requested, from dz, the gradient of alpha A B, over the sums along K.

    A and B are stored as `layout` says, and so are their gradients; that of one matrix B for a batch of A is
    the sum over the batch.
    """
    gradients = {}
    batch, cols = dz.shape[:-2], dz.shape[-1]
    if layout == "nt":
        # The product that sums over rows of dz and of B's columns needs rows that are multiples of 16 bytes.
        dz, rows_of_b = (
            torch.nn.functional.pad(x, pad) if cols % 8 else x
            for x, pad in ((dz, (0, -cols % 8)), (b, (0, 0, 0, -cols % 8)))
        )
        if "a" in needs_grad:
            gradients["a"] = call(PRODUCT, dz, rows_of_b, layout="nn", alpha=alpha)
        if "b" in needs_grad:
            left, right = _rows_of_one(b, dz, a)
            gradients["b"] = call(PRODUCT, left, right, layout="tn", alpha=alpha)[..., :cols, :].contiguous()
    elif layout == "nn":
        if "a" in needs_grad:
            gradients["a"] = call(PRODUCT, dz, b, layout="nt", alpha=alpha)
        if "b" in needs_grad:
            left, right = _rows_of_one(b, a, dz)
            gradients["b"] = call(PRODUCT, left, right, layout="tn", alpha=alpha)
    elif b.dim() == dz.dim():
        if "a" in needs_grad:
            gradients["a"] = call(PRODUCT, b, dz, layout="nt", alpha=alpha)
        if "b" in needs_grad:
            gradients["b"] = call(PRODUCT, a, dz, layout="nn", alpha=alpha)
    else:
        rows = dz.flatten(0, 1)
        if "a" in needs_grad:
            side_by_side = call(PRODUCT, b, rows, layout="nt", alpha=alpha)
            gradients["a"] = side_by_side.unflatten(-1, (*batch, -1)).movedim(1, 0).contiguous()
        if "b" in needs_grad:
            gradients["b"] = call(PRODUCT, a.movedim(0, 1).flatten(1), rows, layout="nn", alpha=alpha)
    return gradients


def _rows_of_one(b: torch.Tensor, *matrices: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """Matrices of a batch as the rows of one matrix, for a matrix B that the batch shares."""
    return tuple(x if b.dim() == x.dim() else x.flatten(0, 1) for x in matrices)


def of_epilogue(
    call: Call,
    parts: Set[str],
    dc: torch.Tensor,
    z: torch.Tensor | None,
    gate: torch.Tensor | None,
    activation: str,
    matrices: bool = False,
) -> dict[str, torch.Tensor]:
    """dz, dgate, dbias and c from `gemm/epilogue_backward`, by name without the d; only those requested.

    Args:
        matrices: whether each matrix of a batch has its own bias.
    """
    if not parts:
        return {}
    results = {"z": dc} if activation == "none" and gate is None else {}
    rest = [name for name in ("z", "gate", "bias", "c") if name in parts and name not in results]
    if rest:
        dims = dc.shape
        operands = {
            name: x if x is None or matrices else x.flatten(0, -2)
            for name, x in (("dc", dc), ("z", z), ("gate", gate))
        }
        outputs = call(EPILOGUE, **operands, activation=activation, wanted=" ".join(rest))
        for name in rest:
            tensor = outputs[name if name == "c" else f"d{name}"]
            results[name] = tensor if name == "bias" else tensor.reshape(dims)
    return results


def _of_gemm(
    call: Call,
    needs_grad: Set[str],
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
    gradients, dz = _of_finish(
        call,
        needs_grad,
        needs_grad & {"a", "b"},
        lambda: call(PRODUCT, a, b, layout=layout, alpha=alpha, bias=bias),
        (dc, bias, activation, gate, beta),
    )
    return gradients if dz is None else gradients | of_operands(call, needs_grad, dz, a, b, layout, alpha)


def _of_gated(
    call: Call, needs_grad: Set[str], a: torch.Tensor, b: torch.Tensor, activation: str, dc: torch.Tensor
) -> dict[str, torch.Tensor]:
    value, z = (call(PRODUCT, a, half.contiguous()) for half in b.chunk(2, -2))
    results = of_epilogue(call, {"z", "gate"}, dc, z, value, activation)
    return of_operands(call, needs_grad, torch.cat((results["gate"], results["z"]), -1), a, b)


def _of_layer(
    call: Call,
    needs_grad: Set[str],
    x: torch.Tensor,
    w1: torch.Tensor,
    w2: torch.Tensor,
    activation: str,
    dout: torch.Tensor,
) -> dict[str, torch.Tensor]:
    """Gradients of activation(X W1ᵀ) W2, or of ((X Wgᵀ) * activation(X Wuᵀ)) W2 where w1 = [Wg; Wu]. Hidden
    columns are recomputed, and their products with the activation and the gate beside their gradients."""
    halves = w1.chunk(len(w1) // len(w2))
    if needs_grad <= {"w2"}:
        value = call(PRODUCT, x, halves[0]) if len(halves) == 2 else None
        hidden = call(PRODUCT, x, halves[-1], activation=activation, gate=value)
        return {"w2": call(PRODUCT, hidden, dout, layout="tn")}
    *value, z = (call(PRODUCT, x, half) for half in halves)
    gate = value[0] if value else None
    dhidden = call(PRODUCT, dout, w2)
    parts = {"z", *(("gate",) if value else ()), *(("c",) if "w2" in needs_grad else ())}
    if activation == "none" and gate is None:
        results = {"z": dhidden, "c": z}
    else:
        results = of_epilogue(call, parts, dhidden, z, gate, activation)
    gradients = {"w2": call(PRODUCT, results["c"], dout, layout="tn")} if "w2" in needs_grad else {}
    dz = torch.cat((results["gate"], results["z"]), -1) if value else results["z"]
    of_w1 = of_operands(call, {{"x": "a", "w1": "b"}.get(name, "") for name in needs_grad}, dz, x, w1)
    return gradients | {{"a": "x", "b": "w1"}[name]: grad for name, grad in of_w1.items()}


def _of_groups(
    call: Call,
    needs_grad: Set[str],
    dz: torch.Tensor,
    a: torch.Tensor,
    b: torch.Tensor,
    offsets: torch.Tensor,
    layout: str,
    alpha: float,
) -> dict[str, torch.Tensor]:
    """Gradients of a and b, as requested, from dz, the gradient of alpha A_g B_g."""
    gradients, cols = {}, dz.shape[-1]
    if layout == "nt" and cols % 8:
        # The product that sums over rows of dz and of B's columns needs rows that are multiples of 16 bytes.
        dz, b = (
            torch.nn.functional.pad(x, pad) for x, pad in ((dz, (0, -cols % 8)), (b, (0, 0, 0, -cols % 8)))
        )
    if "a" in needs_grad:
        gradients["a"] = call(GROUPED, dz, b, offsets, layout="nn" if layout == "nt" else "nt", alpha=alpha)
    if "b" in needs_grad:
        operands = (dz, a) if layout == "nt" else (a, dz)
        product = call(OF_GROUPS, *operands, offsets, alpha=alpha)
        gradients["b"] = product[:, :cols].contiguous() if layout == "nt" else product
    return gradients


def _of_grouped(
    call: Call,
    needs_grad: Set[str],
    a: torch.Tensor,
    b: torch.Tensor,
    offsets: torch.Tensor,
    layout: str,
    activation: str,
    gate: torch.Tensor | None,
    beta: float,
    alpha: float,
    bias: torch.Tensor | None,
    scale_a: torch.Tensor | None,
    scale_b: torch.Tensor | None,
    dc: torch.Tensor,
) -> dict[str, torch.Tensor]:
    scales = {} if scale_a is None else {"scale_a": scale_a, "scale_b": scale_b}
    bias_by_group = bias is not None and bias.dim() == 3
    of_sums = needs_grad & {"a", "b", "scale_a", "scale_b"} or (bias_by_group and "bias" in needs_grad)
    parts = {*(("z",) if of_sums else ()), *(needs_grad & ({"gate"} if bias_by_group else {"bias", "gate"}))}
    z = None
    if parts and (activation != "none" or "gate" in parts):
        z = call(GROUPED, a, b, offsets, layout=layout, alpha=alpha, bias=bias, **scales)
    results = of_epilogue(call, parts, dc, z, gate, activation)
    gradients: dict[str, torch.Tensor] = {
        n: results[n] for n in ("bias", "gate") if n in needs_grad and n in results
    }
    if "residual" in needs_grad:
        gradients["residual"] = dc if beta == 1.0 else beta * dc
    if not of_sums:
        return gradients
    dz = results["z"]
    if bias_by_group and "bias" in needs_grad:
        # Sums of the rows of each group: the product with ones, whose rows are multiples of 16 bytes.
        cols = dz.shape[-1]
        ones = dz.new_ones(dz.shape[0], 8)
        padded = torch.nn.functional.pad(dz, (0, -cols % 8))
        gradients["bias"] = call(OF_GROUPS, ones, padded, offsets)[:, :1, :cols].contiguous()
    if scale_a is None or scale_b is None:
        return gradients | _of_groups(call, needs_grad, dz, a, b, offsets, layout, alpha)
    rows = torch.arange(dz.shape[0], dtype=offsets.dtype, device=dz.device)
    owners = torch.searchsorted(offsets, rows, right=True) - 1
    if "a" in needs_grad:
        scaled = (dz * scale_b[owners]).to(dz.dtype)
        (grad,) = _of_groups(
            call, {"a"}, scaled, a.to(dz.dtype), b.to(dz.dtype), offsets, layout, alpha
        ).values()
        gradients["a"] = (grad * scale_a[:, None]).to(a.dtype)
    if "b" in needs_grad:
        scaled = (dz * scale_a[:, None]).to(dz.dtype)
        (grad,) = _of_groups(
            call, {"b"}, scaled, a.to(dz.dtype), b.to(dz.dtype), offsets, layout, alpha
        ).values()
        along = scale_b[..., :, None] if layout == "nt" else scale_b[..., None, :]
        gradients["b"] = (grad * along).to(b.dtype)
    if "scale_a" in needs_grad:
        ones = torch.ones_like(scale_a)
        unit = call(GROUPED, a, b, offsets, layout=layout, alpha=alpha, scale_a=ones, scale_b=scale_b)
        gradients["scale_a"] = (dz.float() * unit.float()).sum(-1)
    if "scale_b" in needs_grad:
        ones = torch.ones_like(scale_b)
        unit = call(GROUPED, a, b, offsets, layout=layout, alpha=alpha, scale_a=scale_a, scale_b=ones)
        gradients["scale_b"] = torch.zeros_like(scale_b).index_add(0, owners, dz.float() * unit.float())
    return gradients


def _of_variable_k(
    call: Call,
    needs_grad: Set[str],
    a: torch.Tensor,
    b: torch.Tensor,
    offsets: torch.Tensor,
    alpha: float,
    dc: torch.Tensor,
) -> dict[str, torch.Tensor]:
    gradients = {}
    if "a" in needs_grad:
        gradients["a"] = call(GROUPED, b, dc, offsets, layout="nt", alpha=alpha)
    if "b" in needs_grad:
        gradients["b"] = call(GROUPED, a, dc, offsets, layout="nn", alpha=alpha)
    return gradients


def scaled(name: str) -> Gradient:
    """Gradient of a product with a scale for each row of A and column of B, computed by this operator and
    bf16's."""

    def rule(
        call: Call,
        needs_grad: Set[str],
        a: torch.Tensor,
        b: torch.Tensor,
        scale_a: torch.Tensor,
        scale_b: torch.Tensor,
        bias: torch.Tensor | None,
        activation: str,
        gate: torch.Tensor | None,
        beta: float,
        layout: str,
        dc: torch.Tensor,
    ) -> dict[str, torch.Tensor]:
        gradients, dz = _of_finish(
            call,
            needs_grad,
            needs_grad & {"a", "b", "scale_a", "scale_b"},
            lambda: call(name, a, b, scale_a, scale_b, bias=bias, layout=layout),
            (dc, bias, activation, gate, beta),
        )
        if dz is None:
            return gradients
        narrow = (a.to(dz.dtype), b.to(dz.dtype), layout)
        if "a" in needs_grad:
            of_a = scale_a[..., :, None] if layout[0] == "n" else scale_a[..., None, :]
            times_b = (dz * scale_b[..., None, :]).to(dz.dtype)
            gradients["a"] = (of_operands(call, {"a"}, times_b, *narrow)["a"] * of_a).to(a.dtype)
        if "b" in needs_grad:
            of_b = scale_b[..., None, :] if layout[1] == "n" else scale_b[..., :, None]
            times_a = (dz * scale_a[..., :, None]).to(dz.dtype)
            gradients["b"] = (of_operands(call, {"b"}, times_a, *narrow)["b"] * of_b).to(b.dtype)
        if "scale_a" in needs_grad:
            unit = call(name, a, b, torch.ones_like(scale_a), scale_b, layout=layout)
            gradients["scale_a"] = (dz.float() * unit.float()).sum(-1)
        if "scale_b" in needs_grad:
            unit = call(name, a, b, scale_a, torch.ones_like(scale_b), layout=layout)
            sums = (dz.float() * unit.float()).sum(-2)
            gradients["scale_b"] = sums if sums.dim() == scale_b.dim() else sums.sum(0)
        return gradients

    return Gradient((name, PRODUCT, EPILOGUE), rule)


def quantized(name: str) -> Gradient:
    """Gradient of a product with scales of blocks, or of A's rows, computed by this operator and bf16's.

    The product is A Bᵀ unless the operator has layouts.
    """

    def rule(
        call: Call,
        needs_grad: Set[str],
        a: torch.Tensor,
        b: torch.Tensor,
        scale_a: torch.Tensor | None,
        scale_b: torch.Tensor | None,
        bias: torch.Tensor | None,
        activation: str,
        gate: torch.Tensor | None,
        beta: float,
        layout: str | None,
        dc: torch.Tensor,
    ) -> dict[str, torch.Tensor]:
        layouts = {} if layout is None else {"layout": layout}
        gradients, dz = _of_finish(
            call,
            needs_grad,
            needs_grad & {"a", "b", "scale_a", "scale_b"},
            lambda: call(name, a, b, scale_a, scale_b, bias=bias, **layouts),
            (dc, bias, activation, gate, beta),
        )
        if dz is None:
            return gradients
        # As rows along K; gradients are stored like the operands.
        orders = layout or "nt"
        turned = {"a": orders[0] == "t", "b": orders[1] == "n"}
        left, right = a.mT if turned["a"] else a, b.mT if turned["b"] else b
        of_sums = _of_quantized(call, needs_grad, dz, (left, right), (scale_a, scale_b))
        return gradients | {n: grad.mT.contiguous() if turned.get(n) else grad for n, grad in of_sums.items()}

    return Gradient((name, PRODUCT, EPILOGUE), rule)


def _of_quantized(
    call: Call,
    needs_grad: Set[str],
    dz: torch.Tensor,
    operands: tuple[torch.Tensor, torch.Tensor],
    scales: tuple[torch.Tensor | None, torch.Tensor | None],
) -> dict[str, torch.Tensor]:
    """Gradients of a, b and their scales, as requested, from dz, the gradient of the product of their
    elements."""
    (a, b), (scale_a, scale_b), gradients = operands, scales, {}
    sides = {n for n in "ab" if {n, f"scale_{n}"} & needs_grad}
    # Scales of A's rows are scales of blocks as long as the rows.
    of_rows = scale_a is not None and scale_a.dim() < a.dim()
    wide = a.to(dz.dtype) * scale_a[..., None] if of_rows and scale_a is not None else None
    left = dequantized(a, scale_a, torch.float32) if wide is None else wide
    right = dequantized(b, scale_b, torch.float32, turned=True)
    grads = of_operands(call, sides, dz, left.to(dz.dtype).contiguous(), right.to(dz.dtype).contiguous())
    for which, stored, scale in (("a", a, scale_a), ("b", b, scale_b)):
        if which not in grads:
            continue
        grad, turned = grads[which], which == "b"
        if which in needs_grad:
            if scale is not None:
                spread = (
                    scale[..., None]
                    if of_rows and which == "a"
                    else factors(scale, grad.shape[-2], grad.shape[-1], turned)
                )
                grad = grad * spread
            gradients[which] = grad.to(stored.dtype)
        if f"scale_{which}" in needs_grad and scale is not None:
            numbers = dequantized(stored, None, torch.float32)
            products = grads[which].float() * numbers
            gradients[f"scale_{which}"] = (
                products.sum(-1) if of_rows and which == "a" else _sums_like(scale, products, turned)
            )
    return gradients


MICROSCALED = "gemm/mx"


def _of_microscaled(
    call: Call,
    needs_grad: Set[str],
    a: torch.Tensor,
    b: torch.Tensor,
    scale_a: torch.Tensor,
    scale_b: torch.Tensor,
    format: str,
    bias: torch.Tensor | None,
    activation: str,
    gate: torch.Tensor | None,
    beta: float,
    layout: str,
    dc: torch.Tensor,
) -> dict[str, torch.Tensor]:
    gradients, dz = _of_finish(
        call,
        needs_grad,
        needs_grad & {"a", "b"},
        lambda: call(MICROSCALED, a, b, scale_a, scale_b, format=format, bias=bias, layout=layout),
        (dc, bias, activation, gate, beta),
    )
    if dz is None:
        return gradients
    # As rows along K, whose gradients are then stored like the operands.
    turned = {"a": layout[0] == "t", "b": layout[1] == "n"}
    wide = {}
    for name, stored, scale in (("a", a, scale_a), ("b", b, scale_b)):
        numbers = numbers_of(stored, format)
        numbers = numbers.mT if turned[name] else numbers
        wide[name] = numbers, factors(scale, *numbers.shape[-2:])
    left, right = ((numbers * spread).to(dz.dtype).contiguous() for numbers, spread in wide.values())
    of_stored = {"a": a.dtype, "b": b.dtype}
    for name, of_rows in of_operands(call, needs_grad, dz, left, right).items():
        grad = (of_rows * wide[name][1]).to(of_stored[name])
        gradients[name] = grad.mT.contiguous() if turned[name] else grad
    return gradients


def _sums_like(scale: torch.Tensor, x: torch.Tensor, turned: bool) -> torch.Tensor:
    """Sums over the elements that share each scale; scales as in `factors`."""

    def along(x: torch.Tensor, dim: int, block: int) -> torch.Tensor:
        pad = (0, -x.shape[-1] % block) if dim == -1 else (0, 0, 0, -x.shape[-2] % block)
        sums: torch.Tensor = torch.nn.functional.pad(x, pad).unflatten(dim, (-1, block)).sum(dim)
        return sums

    rows, k = x.shape[-2:]
    if not turned:
        return along(x, -1, 128)
    if by_columns(scale, rows, k):
        return along(x, -1, 128 if scale.shape[-2] == -(-k // 128) else 32).mT.contiguous()
    return along(along(x, -1, 128), -2, 128)


def _of_finish(
    call: Call,
    needs_grad: Set[str],
    of_sums: Set[str],
    again: Callable[[], torch.Tensor],
    finish: tuple[torch.Tensor, torch.Tensor | None, str, torch.Tensor | None, float],
) -> tuple[dict[str, torch.Tensor], torch.Tensor | None]:
    """Gradients of bias, gate and residual, as requested; with `of_sums`, that of the product too.

    Args:
        again: recomputes the product plus bias.
        finish: dc, bias, activation, gate, beta.
    """
    dc, bias, activation, gate, beta = finish
    parts = {*(("z",) if of_sums else ()), *(needs_grad & {"bias", "gate"})}
    z = again() if parts and (activation != "none" or "gate" in parts) else None
    results = of_epilogue(call, parts, dc, z, gate, activation, matrices=bias is not None and bias.dim() == 3)
    gradients: dict[str, torch.Tensor] = {
        name: results[name] for name in ("bias", "gate") if name in needs_grad
    }
    if "residual" in needs_grad:
        gradients["residual"] = dc if beta == 1.0 else beta * dc
    return gradients, results.get("z") if of_sums else None


MUL_ADD = "gemm/mul_add"


def _of_mul_add(
    call: Call,
    needs_grad: Set[str],
    a: torch.Tensor,
    b: torch.Tensor,
    scale_a: torch.Tensor,
    scale_b: torch.Tensor,
    c_a: torch.Tensor,
    c_b: torch.Tensor,
    dc: torch.Tensor,
) -> dict[str, torch.Tensor]:
    """Gradients of c_a * (A Bᵀ) + c_b, where c_a and c_b are each a matrix, a row or a number."""

    def summed(like: torch.Tensor, factor: torch.Tensor | None) -> torch.Tensor:
        """dc times a matrix, or dc itself, summed to the shape of the tensor that it is the gradient of."""
        if like.numel() == 1:
            whole = dc.float() if factor is None else dc.float() * factor.float()
            return whole.sum().view(1, 1).to(like.dtype)
        if like.shape[0] == 1 and dc.shape[0] > 1:
            sums = of_epilogue(call, {"bias"}, dc, None, factor, "none")["bias"]
            return sums.view(1, -1).to(like.dtype)
        return dc if factor is None else of_epilogue(call, {"z"}, dc, None, factor, "none")["z"]

    gradients = {"c_b": summed(c_b, None)} if "c_b" in needs_grad else {}
    if "c_a" in needs_grad:
        unit = torch.ones(1, 1, dtype=torch.float32, device=dc.device)
        zero = torch.zeros_like(unit)
        gradients["c_a"] = summed(c_a, call(MUL_ADD, a, b, scale_a, scale_b, unit, zero))
    if needs_grad & {"a", "b", "scale_a", "scale_b"}:
        dz = (dc * c_a).to(dc.dtype)
        gradients |= _of_quantized(call, needs_grad, dz, (a, b), (scale_a, scale_b))
    return gradients


def _of_two_products(
    call: Call,
    needs_grad: Set[str],
    a: torch.Tensor,
    b: torch.Tensor,
    scale_a: torch.Tensor,
    scale_b: torch.Tensor,
    a16: torch.Tensor,
    b16: torch.Tensor,
    dc: torch.Tensor,
    dc16: torch.Tensor,
) -> dict[str, torch.Tensor]:
    gradients: dict[str, torch.Tensor] = {}
    if needs_grad & {"a", "b", "scale_a", "scale_b"}:
        gradients = _of_quantized(call, needs_grad, dc, (a, b), (scale_a, scale_b))
    plain = of_operands(call, {name[0] for name in needs_grad & {"a16", "b16"}}, dc16, a16, b16)
    return gradients | {f"{name}16": grad for name, grad in plain.items()}


GEMM = Gradient((PRODUCT, EPILOGUE), _of_gemm)
GATED = Gradient((PRODUCT, EPILOGUE), _of_gated)
LAYER = Gradient((PRODUCT, EPILOGUE), _of_layer)
GROUPS = Gradient((GROUPED, OF_GROUPS, EPILOGUE), _of_grouped)
VARIABLE_K = Gradient((GROUPED,), _of_variable_k)
MICRO = Gradient((MICROSCALED, PRODUCT, EPILOGUE), _of_microscaled)
SCALED_MUL_ADD = Gradient((MUL_ADD, PRODUCT, EPILOGUE), _of_mul_add)
TWO_PRODUCTS = Gradient((PRODUCT,), _of_two_products)
