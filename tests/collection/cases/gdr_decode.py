"""The gated delta rule, token by token, and the operations around it."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from collection.case import Case, Draw, Make, empty

Spans = Sequence[tuple[int, int, int]]


def rule(
    spans: Spans,
    first: torch.Tensor,
    scale: float,
    **tensors: torch.Tensor,
) -> tuple[torch.Tensor, torch.Tensor]:
    """o and last states of spans (batch, first token, end), of q and k with one head, v, g and beta."""
    q, k, v, g, beta = (tensors[name].double() for name in ("q", "k", "v", "g", "beta"))
    states, out = [], torch.zeros(*v.shape, dtype=torch.float64)
    for n, (b, start, end) in enumerate(spans):
        h = first[n].double()
        for t in range(start, end):
            h = h * g[b, t].exp()[:, None, None]
            key = k[b, t, 0]
            u = beta[b, t].view(len(h), -1) * (v[b, t] - key @ h)
            h = h + key[None, :, None] * u[:, None]
            out[b, t] = scale * (q[b, t, 0] @ h)
        states.append(h)
    return out, torch.stack(states)


def tokens_of(draw: Draw, batch: int, tokens: int) -> dict[str, torch.Tensor]:
    """q, k of length one, and v of one and two heads."""
    k = torch.nn.functional.normalize(draw.normal(batch, tokens, 1, 64).float(), dim=-1).bfloat16()
    return {"q": draw.normal(batch, tokens, 1, 64), "k": k, "v": draw.normal(batch, tokens, 2, 16)}


def sizes(batch: int, tokens: int) -> dict[str, int]:
    return {"T": tokens, "B": batch, "H": 1, "HV": 2, "K": 64, "V_dim": 16}


def fused_recurrent(*, packed: bool) -> Make:
    """Two sequences; packed into one batch, of 5 and 0 tokens and a beta a column, or 4 tokens each."""

    def make(draw: Draw) -> Case:
        spans = [(0, 0, 5), (0, 5, 5)] if packed else [(0, 0, 4), (1, 0, 4)]
        batch, tokens = (1, 5) if packed else (2, 4)
        inputs = tokens_of(draw, batch, tokens)
        g = -draw.uniform(batch, tokens, 2) / 4
        beta = (draw.uniform(batch, tokens, 2, *((16,) if packed else ())) / 2).bfloat16()
        first = draw.normal(4, 64, 16, dtype=torch.float32) / 4
        out, last = rule(spans, first.view(2, 2, 64, 16), 0.3, g=g, beta=beta, **inputs)
        anything = torch.zeros(1)
        return Case(
            {
                **{**inputs, "g": g, "gk": anything, "gv": None, "beta": beta},
                **{"o": empty(batch, tokens, 2, 16), "h0": first},
                "ht": empty(*first.shape, dtype=torch.float32),
                "cu_seqlens": torch.tensor([0, 5, 5], dtype=torch.int32) if packed else None,
                **{"use_g": True, "use_gk": False, "use_gv": False, "is_beta_headwise": not packed},
                **{"use_initial_state": True, "store_final_state": True, "scale": 0.3},
                **sizes(batch, tokens),
            },
            {"o": out, "ht": last.view(4, 64, 16)},
        )

    return make


def sigmoid_gated(*, packed: bool) -> Make:
    """Three sequences, the last one without a state; packed, their tokens are those of all batches."""

    def make(draw: Draw) -> Case:
        inputs = tokens_of(draw, 3, 4)
        a, b, dt_bias = draw.normal(3, 4, 2), draw.normal(3, 4, 2), draw.normal(2)
        a_log = draw.normal(2) / 2
        pool = draw.normal(5, 2, 64, 16, dtype=torch.float32) / 4
        indices = torch.tensor([3, 0, -1], dtype=torch.int32)
        positive = torch.log1p((a.double() + dt_bias.double()).exp())
        gates = {"g": -a_log.double().exp() * positive, "beta": b.double().sigmoid()}
        first = torch.stack([pool[3], pool[0], torch.zeros(2, 64, 16)])
        out, last = rule([(n, 0, 4) for n in range(3)], first, 0.3, **gates, **inputs)
        expected = pool.double()
        expected[3], expected[0] = last[0], last[1]
        starts = torch.tensor([0, 4, 8, 12], dtype=torch.int32)
        return Case(
            {
                **{**inputs, "a": a, "b": b, "dt_bias": dt_bias, "A_log": a_log, "o": empty(1, 12, 2, 16)},
                **{"h0_source": pool, "h0_indices": indices, "cu_seqlens": starts if packed else None},
                **{"softplus_beta": 1.0, "softplus_threshold": 20.0, "scale": 0.3, **sizes(3, 4)},
                **{"use_initial_state": True, "use_qk_l2norm": False},
            },
            {"o": out.view(1, 12, 2, 16), "h0_source": expected},
        )

    return make


def convolved(x: torch.Tensor, w: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """silu(bias + the sums) of channels x tokens, behind zeros."""
    padded = torch.nn.functional.pad(x.double(), (w.shape[1] - 1, 0))
    sums = [bias.double() + (padded[:, t : t + w.shape[1]] * w.double()).sum(1) for t in range(x.shape[1])]
    return torch.nn.functional.silu(torch.stack(sums, 1)) if sums else x.double()


def conv_update(tokens: int, *, pool: bool) -> Make:
    def make(draw: Draw) -> Case:
        x, w, bias = draw.normal(3, 50, tokens), draw.normal(50, 4), draw.normal(50)
        state = draw.normal(5 if pool else 3, 50, 3)
        lines = [4, -1, 0] if pool else [0, 1, 2]
        out, expected = torch.zeros(3, 50, tokens, dtype=torch.float64), state.clone()
        for n, line in enumerate(lines):
            if line >= 0:
                columns = torch.cat((state[line], x[n]), 1)
                out[n], expected[line] = convolved(columns, w, bias)[:, 3:], columns[:, -3:]
        q, k, v = out.split((10, 10, 30), 1)
        return Case(
            {
                **{"x": x, "w": w, "bias": bias, "conv_state": state},
                "conv_state_indices": torch.tensor(lines) if pool else None,
                **{"q": empty(*q.shape), "k": empty(*k.shape), "v": empty(*v.shape)},
                **{"key_dim": 10, "value_dim": 30, "batch": 3, "dim": 50, "seqlen": tokens, "width": 4},
                **{"num_cache_lines": len(state), "has_bias": True, "silu_activation": True},
                "is_continuous_batching": pool,
            },
            {"q": q, "k": k, "v": v, "conv_state": expected},
            exact=frozenset({"conv_state"}),
        )

    return make


def qkvzba(draw: Draw) -> Case:
    tokens, heads, groups, keys, values = 3, 2, 3, 16, 8
    qkvz, ba = (
        draw.normal(tokens, heads * 2 * (keys + groups * values)),
        draw.normal(tokens, 2 * heads * groups),
    )
    rows: dict[str, list[torch.Tensor]] = {name: [] for name in "qkvzba"}
    for head, numbers in zip(qkvz.chunk(heads, 1), ba.chunk(heads, 1), strict=True):
        for name, part in zip("qkvz", head.split((keys, keys, *(groups * values,) * 2), 1), strict=True):
            rows[name].append(part)
        rows["b"].append(numbers[:, :groups])
        rows["a"].append(numbers[:, groups:])
    flat = {name: torch.cat(parts, 1) for name, parts in rows.items()}
    expected = {
        "mixed_qkv": torch.cat([flat[name] for name in "qkv"], 1),
        **{"z": flat["z"], "b_out": flat["b"], "a_out": flat["a"]},
    }
    return Case(
        {
            **{name: empty(*tensor.shape) for name, tensor in expected.items()},
            **{"mixed_qkvz": qkvz, "mixed_ba": ba, "batch_size": tokens, "num_heads_qk": heads},
            **{"num_heads_v": heads * groups, "head_qk": keys, "head_v": values},
        },
        expected,
        exact=frozenset(expected),
    )


def difference(squared: bool) -> Make:
    def make(draw: Draw) -> Case:
        x, y = draw.normal(1003, dtype=torch.float32), draw.normal(1003, dtype=torch.float32)
        apart = x.double() - y.double()
        arguments = {"x": x, "y": y, "out": empty(1003, dtype=torch.float32), "N": 1003}
        return Case(arguments, {"out": apart**2 if squared else apart.abs()}, rtol=1e-6, atol=1e-6)

    return make


def reduced(name: str) -> Make:
    def make(draw: Draw) -> Case:
        x = draw.normal(1003, dtype=torch.float32) - 5
        parts = [getattr(part.double(), name)() for part in x.split(256)]
        arguments = {"input": x, "output": empty(4, dtype=torch.float32), "N": 1003}
        return Case(arguments, {"output": torch.stack(parts)}, rtol=1e-5, atol=1e-5)

    return make


def l2_normalize(draw: Draw) -> Case:
    x = draw.normal(5, 100, dtype=torch.float32)
    out = empty(5, 100, dtype=torch.float32)
    normalized = torch.nn.functional.normalize(x.double(), dim=-1)
    return Case(
        {"input": x, "output": out, "N": 5, "vec_len": 100}, {"output": normalized}, rtol=1e-5, atol=1e-5
    )


def cast(source: torch.dtype, to: torch.dtype) -> Make:
    def make(draw: Draw) -> Case:
        x = draw.normal(1003, dtype=source)
        arguments = {"input": x, "output": empty(1003, dtype=to), "N": 1003}
        return Case(arguments, {"output": x.to(to)}, exact=frozenset({"output"}))

    return make


CASES: dict[str, Make] = {
    "causal_conv1d_split_qkv_tk.causal_conv1d_update_split_qkv": conv_update(1, pool=False),
    "causal_conv1d_split_qkv_tk.causal_conv1d_update_split_qkv:pool": conv_update(2, pool=True),
    "fused_qkvzba_split_tk.fused_qkvzba_split": qkvzba,
    "fused_recurrent_tk.fused_recurrent_fwd": fused_recurrent(packed=False),
    "fused_recurrent_tk.fused_recurrent_fwd:packed": fused_recurrent(packed=True),
    "fused_sigmoid_gating_recurrent_tk.fused_sigmoid_gating_recurrent": sigmoid_gated(packed=False),
    "fused_sigmoid_gating_recurrent_tk.fused_sigmoid_gating_recurrent:packed": sigmoid_gated(packed=True),
    "gdr_utils_tk.abs_diff": difference(False),
    "gdr_utils_tk.squared_diff": difference(True),
    "gdr_utils_tk.max_reduce": reduced("max"),
    "gdr_utils_tk.sum_reduce": reduced("sum"),
    "gdr_utils_tk.bf16_to_float": cast(torch.bfloat16, torch.float32),
    "gdr_utils_tk.float_to_bf16": cast(torch.float32, torch.bfloat16),
    "gdr_utils_tk.l2_normalize": l2_normalize,
}

SAMPLED = tuple(name for name in CASES if name.startswith("gdr_utils_tk"))
"""Element by element or block by block, with equal results: one at a time is enough."""
