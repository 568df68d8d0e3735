"""Inputs and references for functions with known signatures: what the audit runs where it needs no script.

A signature is the set of the arguments' names in the kernel's globals, as HipKittens' kernels have them. Each
has one function here, which makes small inputs, and the results in float64 from PyTorch.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import torch

from workbench.audit.signature import Signature, constant, signatures
from workbench.audit.sizes import EDGE, smaller

TOLERANCE = 0.02
"""Relative error in the norm that bf16 results may have."""


@dataclass(frozen=True)
class Problem:
    """Arguments of a call, and its results.

    Attributes:
        tensors: by the names of the signature.
        expected: results in float64 by name, of the arguments that the kernel writes.
        about: what is computed, such as "C = A Bᵀ".
        numbers: arguments that are no tensors, by name.
    """

    tensors: Mapping[str, torch.Tensor]
    expected: Mapping[str, torch.Tensor]
    about: str
    numbers: Mapping[str, float] = field(default_factory=dict)


def problem_for(signature: Signature, text: str, name: str) -> Problem | None:
    """Small inputs and results for a bound function; None if no reference is known for it.

    Args:
        text: source, with the sizes that it fixes.
        name: path of the source: some kernels say there what they compute.
    """
    make = _PROBLEMS.get(frozenset(member.lower() for member in signature.members))
    if make is None:
        return None
    torch.manual_seed(0)
    problem = make(text, name)
    if problem is None:
        return None
    # The dictionary's names are those of the source.
    names = {member.lower(): member for member in signature.members}
    return Problem(
        # A strided tensor is of no use to the modules, which take contiguous ones.
        {names[key.lower()]: tensor.contiguous() for key, tensor in problem.tensors.items()},
        {names[key.lower()]: tensor for key, tensor in problem.expected.items()},
        problem.about,
        {names[key.lower()]: number for key, number in problem.numbers.items()},
    )


def is_known(text: str, name: str) -> bool:
    """Whether a reference is known for a function that a source binds."""
    return any(problem_for(signature, text, name) is not None for signature in signatures(text))


def _size(text: str, default: int, *names: str) -> int:
    """A size as the source fixes it; small if a macro of the build decides it, else the default."""
    for name in names:
        if f"#ifndef {name}" in text:
            return smaller(name, constant(text, name) or default)
        if (size := constant(text, name)) is not None:
            return size
    return default


def _blank(*shape: int, dtype: torch.dtype = torch.bfloat16) -> torch.Tensor:
    """An output that was not written yet."""
    return torch.full(shape, float("nan"), dtype=dtype)


def _gemm(text: str, name: str) -> Problem | None:
    m, n, k = (_size(text, EDGE, *names) for names in (("M", "SIZE"), ("N", "SIZE"), ("K", "SIZE")))
    if "fp8" in text or "fp6" in text:
        return None
    a, b = (torch.randn(rows, k).bfloat16() / 10 for rows in (m, n))
    tensors = {"a": a, "b": b, "c": _blank(m, n)}
    return Problem(tensors, {"c": a.double() @ b.double().T}, f"C = A Bᵀ, {m} x {n} x {k}")


def _heads(text: str) -> tuple[int, int, int, int, int]:
    b = _size(text, 1, "ATTN_B")
    h = _size(text, 4, "ATTN_H", "ATTN_H_Q")
    h_kv = _size(text, h, "ATTN_H_KV")
    return b, h, h_kv, _size(text, EDGE, "ATTN_N"), _size(text, 128, "ATTN_D")


def _attention(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, causal: bool
) -> tuple[torch.Tensor, torch.Tensor]:
    """Output [B, N, H, D], and log of the sum of exponentials [B, H, 1, N], of tensors [B, N, H, D]."""
    q, k, v = (x.double().transpose(1, 2) for x in (q, k, v))
    group = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(group, 1), v.repeat_interleave(group, 1)
    scores = q @ k.transpose(2, 3) / q.shape[-1] ** 0.5
    if causal:
        scores = scores.masked_fill(torch.ones(scores.shape[-2:]).triu(1).bool(), -torch.inf)
    return (scores.softmax(-1) @ v).transpose(1, 2), scores.logsumexp(-1).unsqueeze(2)


def _is_causal(name: str) -> bool:
    return "causal" in name and "non_causal" not in name


def _forward(text: str, name: str) -> Problem:
    b, h, h_kv, n, d = _heads(text)
    q, k, v = (torch.randn(b, n, heads, d).bfloat16() for heads in (h, h_kv, h_kv))
    out, logs = _attention(q, k, v, _is_causal(name))
    tensors = {"qg": q, "kg": k, "vg": v, "og": _blank(b, n, h, d)}
    tensors["l_vec"] = _blank(b, h, 1, n, dtype=torch.float32)
    causal = "causal attention" if _is_causal(name) else "attention"
    return Problem(tensors, {"og": out, "l_vec": logs}, f"{causal}, batch {b}, heads {h}/{h_kv}, {n} x {d}")


def _backward(text: str, name: str) -> Problem:
    b, h, h_kv, n, d = _heads(text)
    q, k, v = (torch.randn(b, n, heads, d).bfloat16() for heads in (h, h_kv, h_kv))
    leaves = [x.double().requires_grad_() for x in (q, k, v)]
    out, logs = _attention(leaves[0], leaves[1], leaves[2], _is_causal(name))
    grad = torch.randn(b, n, h, d).bfloat16()
    torch.autograd.backward(out, grad.double())
    delta = (out.detach() * grad.double()).sum(-1).transpose(1, 2).unsqueeze(2)
    tensors = {"q": q, "k": k, "v": v, "dog": grad}
    # The kernel adds to dQ, in a layout of its own that another kernel undoes; it has no reference here.
    tensors["dqg"] = torch.zeros(b, h, n, d, dtype=torch.bfloat16)
    tensors |= {"dkg": _blank(b, n, h_kv, d), "dvg": _blank(b, n, h_kv, d)}
    tensors |= {"l_vec": logs.detach().float(), "delta_vec": delta.float()}
    gradients = {"dkg": leaves[1].grad, "dvg": leaves[2].grad}
    expected = {key: gradient for key, gradient in gradients.items() if gradient is not None}
    return Problem(
        tensors, expected, f"gradients of attention, batch {b}, heads {h}/{h_kv}, {n} x {d}: dK, dV"
    )


def _delta(text: str, name: str) -> Problem:
    b, h, _, n, d = _heads(text)
    out, grad = (torch.randn(b, n, h, d).bfloat16() for _ in range(2))
    delta = (out.double() * grad.double()).sum(-1).transpose(1, 2).unsqueeze(2)
    tensors = {"og": out, "dog": grad, "delta": _blank(b, h, 1, n, dtype=torch.float32)}
    return Problem(tensors, {"delta": delta}, f"sum of O dO, batch {b}, heads {h}, {n} x {d}")


def _rotary(text: str, name: str) -> Problem:
    b, h, n = (_size(text, size, key) for key, size in (("ATTN_B", 1), ("ATTN_H", 4), ("ATTN_N", EDGE)))
    d = _size(text, 128, "HEAD_DIM", "ATTN_D")
    x, angle = torch.randn(b, h, n, d).bfloat16(), torch.rand(n, d // 2) * 6
    cos, sin = angle.cos().bfloat16(), angle.sin().bfloat16()
    low, high = x[..., : d // 2].double(), x[..., d // 2 :].double()
    c, s = cos.double(), sin.double()
    expected = torch.cat([low * c - high * s, high * c + low * s], -1)
    tensors = {"x": x, "o": _blank(b, h, n, d), "sin": sin, "cos": cos}
    return Problem(tensors, {"o": expected}, f"rotary embedding, {b} x {h} x {n} x {d}")


def _row_function(text: str, name: str) -> Problem | None:
    if "softmax" not in name.lower():
        return None
    b, n, d = _size(text, 1, "B"), _size(text, EDGE, "N"), _size(text, 128, "D")
    x = torch.randn(b, n, d).bfloat16()
    tensors = {"x": x, "o": _blank(b, n, d)}
    return Problem(tensors, {"o": x.double().softmax(-1)}, f"softmax of {b} x {n} rows of {d}")


def _layer_norm(text: str, name: str) -> Problem:
    b, n = _size(text, 1, "B"), _size(text, EDGE, "N")
    d = _size(text, 128, "D") if constant(text, "D") else _size(text, 128, "HEAD_D") * _size(text, 1, "H")
    residual = torch.randn(b, n, d).bfloat16()
    weight, bias = torch.randn(d).bfloat16(), torch.randn(d).bfloat16()
    # What dropout leaves of zeros is the same in each run.
    has_dropout = "dropout" in text.lower()
    x = torch.zeros_like(residual) if has_dropout else torch.randn(b, n, d).bfloat16()
    total = x.double() + residual.double()
    normalized = torch.nn.functional.layer_norm(total, (d,), weight.double(), bias.double())
    tensors = {"x": x, "residual": residual, "norm_weight": weight, "norm_bias": bias}
    tensors |= {"o": _blank(b, n, d), "o_resid": _blank(b, n, d)}
    about = f"layer norm of {b} x {n} rows of {d}"
    if has_dropout:
        about += ", dropout of zeros"
    return Problem(tensors, {"o": normalized, "o_resid": total}, about)


def _rms_norm(text: str, name: str) -> Problem:
    b, n, d = _size(text, 1, "B"), _size(text, EDGE, "N"), _size(text, 128, "D")
    x, gamma = torch.randn(b, n, d).bfloat16(), torch.randn(d).bfloat16()
    epsilon = 1e-5
    expected = torch.nn.functional.rms_norm(x.double(), (d,), gamma.double(), epsilon)
    # Some kernels read a row of gamma for each row of x.
    tensors = {"x": x, "gamma": gamma.expand(b, n, d), "o": _blank(b, n, d)}
    about = f"RMS norm of {b} x {n} rows of {d}"
    return Problem(tensors, {"o": expected}, about, {"epsilon": epsilon})


_PROBLEMS: dict[frozenset[str], Callable[[str, str], Problem | None]] = {
    frozenset(("a", "b", "c")): _gemm,
    frozenset(("qg", "kg", "vg", "og", "l_vec")): _forward,
    frozenset(("q", "k", "v", "dog", "dqg", "dkg", "dvg", "l_vec", "delta_vec")): _backward,
    frozenset(("og", "dog", "delta")): _delta,
    frozenset(("x", "o", "sin", "cos")): _rotary,
    frozenset(("x", "o")): _row_function,
    frozenset(("x", "residual", "o", "o_resid", "norm_weight", "norm_bias")): _layer_norm,
    frozenset(("x", "o", "gamma", "epsilon")): _rms_norm,
}


def errors_of(problem: Problem) -> dict[str, float]:
    """Relative error of each result in the norm; infinity if an element is missing or not finite."""
    errors = {}
    for name, expected in problem.expected.items():
        result = problem.tensors[name].double().reshape(expected.shape)
        difference = (result - expected).norm() / expected.norm().clamp_min(1e-9)
        errors[name] = float(difference) if bool(result.isfinite().all()) else float("inf")
    return errors


__all__ = ["TOLERANCE", "Problem", "errors_of", "is_known", "problem_for"]
