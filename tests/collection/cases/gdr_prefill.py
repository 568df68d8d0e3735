"""The gated delta rule over whole sequences."""

from __future__ import annotations

from itertools import pairwise

import torch
from collection.case import Case, Draw, Make, empty
from collection.cases.gdr_decode import convolved


def conv_split(dtype: torch.dtype, *, transposed: bool) -> Make:
    """Sequences of 5, 0 and 14 tokens."""

    def make(draw: Draw) -> Case:
        starts = [0, 5, 5, 19]
        x = draw.normal(19, 50, dtype=dtype).T if transposed else draw.normal(50, 19, dtype=dtype)
        w, bias = draw.normal(50, 4, dtype=dtype), draw.normal(50, dtype=dtype)
        filtered = torch.cat([convolved(x[:, first:end], w, bias) for first, end in pairwise(starts)], 1).T
        out = dict(zip(("q_out", "k_out", "v_out"), filtered.split((10, 10, 30), 1), strict=True))
        return Case(
            {
                **{"x": x, "w": w, "bias": bias, "query_start_loc": torch.tensor(starts, dtype=torch.int32)},
                **{name: empty(*part.shape, dtype=dtype) for name, part in out.items()},
                **{"dim": 50, "k_dim": 10, "v_dim": 30, "kernel_width": 4, "total_tokens": 19, "num_seqs": 3},
                **{"max_seqlen": 14, "stride_x_dim": x.stride(0), "stride_x_token": x.stride(1)},
                **{"has_bias": True, "silu_activation": True},
            },
            out,
        )

    return make


def layer(draw: Draw, chunk: int, tokens: int = 37, groups: int = 1) -> dict[str, torch.Tensor]:
    """q, k, v, g and beta of two batches with two heads of keys and of values, in float32."""
    normal = [draw.normal(2, tokens, 2 * n, 64, dtype=torch.float32) for n in (1, 1, groups)]
    q, k, v = normal
    g = -draw.uniform(2, tokens, 2 * groups) / 8
    return {
        **{"q": q, "k": torch.nn.functional.normalize(k, dim=-1), "v": v[..., :32].contiguous(), "g": g},
        "beta": draw.uniform(2, tokens, 2 * groups) / 2,
    }


def by_chunks(x: torch.Tensor, chunk: int) -> list[torch.Tensor]:
    """Splits (B, T, heads, ...) into chunks of (B, heads, tokens of the chunk, ...), in float64."""
    return [part.double().transpose(1, 2) for part in x.split(chunk, 1)]


def joined(parts: list[torch.Tensor], width: int | None = None) -> torch.Tensor:
    """The inverse of `by_chunks`; rows are padded with zeros to a width."""
    if width is not None:
        parts = [torch.nn.functional.pad(part, (0, width - part.shape[-1])) for part in parts]
    return torch.cat([part.transpose(1, 2) for part in parts], 1)


def sums_of(g: torch.Tensor, chunk: int) -> torch.Tensor:
    return joined([part.cumsum(2) for part in by_chunks(g, chunk)])


def matrices_of(
    k: torch.Tensor, beta: torch.Tensor, sums: torch.Tensor | None, chunk: int, *, bounded: bool = False
) -> list[torch.Tensor]:
    """tril(beta k kᵀ decay, -1) of each chunk; `bounded`: zero where the decay is above one."""
    matrices = []
    for n, (keys, strengths) in enumerate(zip(by_chunks(k, chunk), by_chunks(beta, chunk), strict=True)):
        keys = keys.repeat_interleave(strengths.shape[1] // keys.shape[1], 1)
        a = strengths[..., None] * (keys @ keys.mT)
        if sums is not None:
            decays = by_chunks(sums, chunk)[n]
            apart = decays[..., :, None] - decays[..., None, :]
            a = a * apart.masked_fill(apart > 0 if bounded else apart.isnan(), -torch.inf).exp()
        matrices.append(a.tril(-1))
    return matrices


def inverses_of(matrices: list[torch.Tensor]) -> list[torch.Tensor]:
    return [torch.linalg.inv(torch.eye(a.shape[-1], dtype=torch.float64) + a) for a in matrices]


def w_and_u_of(
    inputs: dict[str, torch.Tensor], inverses: list[torch.Tensor], sums: torch.Tensor | None, chunk: int
) -> tuple[torch.Tensor, torch.Tensor]:
    strengths = by_chunks(inputs["beta"][..., None], chunk)
    decays = by_chunks(torch.zeros_like(inputs["g"]) if sums is None else sums, chunk)
    parts = zip(
        inverses, strengths, decays, by_chunks(inputs["k"], chunk), by_chunks(inputs["v"], chunk), strict=True
    )
    both = [(a @ (s * d.exp()[..., None] * k), a @ (s * v)) for a, s, d, k, v in parts]
    return joined([w for w, _ in both]), joined([u for _, u in both])


FINE = {"rtol": 1e-4, "atol": 1e-4}
"""Tolerance of floats: sums of up to 64 numbers below one."""


def blank(*dims: int) -> torch.Tensor:
    return empty(*dims, dtype=torch.float32)


def counts(inputs: dict[str, torch.Tensor], chunk: int, *names: str) -> dict[str, int]:
    """B, T, H and other named sizes."""
    sizes = dict(zip("BTHV", inputs["v"].shape, strict=True))
    sizes.update({"K": inputs["k"].shape[3], "Hg": inputs["k"].shape[2], "BT": chunk})
    return {name: sizes[name] for name in ("B", "T", "H", *names, "BT")}


def cumulative(*, vector: bool, reverse: bool) -> Make:
    """Chunks of 16; 37 tokens."""

    def make(draw: Draw) -> Case:
        s = draw.normal(2, 37, 3, *((5,) if vector else ()), dtype=torch.float32)
        parts = [part.double() for part in s.split(16, 1)]
        sums = [part.flip(1).cumsum(1).flip(1) if reverse else part.cumsum(1) for part in parts]
        numbers = {"B": 2, "T": 37, "H": 3, **({"S": 5} if vector else {}), "BT": 16}
        return Case(
            {
                **{"s": s, "o": blank(*s.shape), **numbers},
                **{"scale": 0.25, "has_scale": reverse, "reverse": reverse},
            },
            {"o": torch.cat(sums, 1) * (0.25 if reverse else 1)},
            **FINE,
        )

    return make


def sums_alone(draw: Draw) -> Case:
    g = draw.normal(2, 37, 3, dtype=torch.float32)
    places = {"g": g, "g_cumsum": blank(*g.shape)}
    return Case({**places, "B": 2, "T": 37, "H": 3, "BT": 32}, {"g_cumsum": sums_of(g, 32)}, **FINE)


def pipeline(chunk: int, dtype: torch.dtype = torch.float32) -> Make:
    def make(draw: Draw) -> Case:
        inputs = layer(draw, chunk)
        inputs.update({name: inputs[name].to(dtype) for name in ("k", "v")})
        sums = sums_of(inputs["g"], chunk)
        inverses = inverses_of(matrices_of(inputs["k"], inputs["beta"], sums, chunk))
        w, u = w_and_u_of(inputs, inverses, sums, chunk)
        return Case(
            {
                **{"k": inputs["k"], "v": inputs["v"], "g": inputs["g"], "g_cumsum": blank(*sums.shape)},
                **{"beta": inputs["beta"], "A": blank(*sums.shape, chunk)},
                **{"w": empty(*w.shape, dtype=dtype), "u": empty(*u.shape, dtype=dtype)},
                **counts(inputs, chunk, "K", "V"),
            },
            {"g_cumsum": sums, "A": joined(inverses, chunk), "w": w, "u": u},
            **(FINE if dtype == torch.float32 else {"atol": 2e-2}),
        )

    return make


def products(
    g: str,
    chunk: int,
    *,
    fused: bool = False,
    use_g: bool | None = None,
    groups: int = 1,
    growing: bool = False,
) -> Make:
    """`g` is the name of the sums; `fused` makes them; `growing`: some decays are above one."""

    def make(draw: Draw) -> Case:
        inputs = layer(draw, chunk, groups=groups)
        if growing:
            # Whole sixteenths are summed without rounding: a difference of zero is zero.
            inputs["g"] = (draw.integers(-2, 3, *inputs["g"].shape) / 16).float()
        sums = sums_of(inputs["g"], chunk)
        taken = None if use_g is False else sums
        a = joined(matrices_of(inputs["k"], inputs["beta"], taken, chunk, bounded=growing), chunk)
        outputs = {"A": blank(*a.shape), g: blank(*sums.shape) if fused else sums.float()}
        if use_g is False:
            outputs[g] = None
        numbers = counts(inputs, chunk, *(("Hg", "K") if fused else ("K",)))
        given_g = {"g": inputs["g"]} if fused else {}
        return Case(
            {
                **{"k": inputs["k"], "beta": inputs["beta"], **given_g, **outputs, **numbers},
                **({} if use_g is None else {"use_g": use_g}),
            },
            {"A": a, **({g: sums} if fused else {})},
            **FINE,
        )

    return make


def solved(chunk: int, *, in_place: bool) -> Make:
    def make(draw: Draw) -> Case:
        inputs = layer(draw, chunk)
        matrices = matrices_of(inputs["k"], inputs["beta"], None, chunk)
        a, inverse = joined(matrices, chunk), joined(inverses_of(matrices), chunk)
        numbers = counts(inputs, chunk)
        places = {"A": a.float()} if in_place else {"A": a.float(), "Ai": blank(*a.shape)}
        return Case({**places, **numbers}, {"A" if in_place else "Ai": inverse}, **FINE)

    return make


def recomputed(g: str, chunk: int, use_g: bool | None = None) -> Make:
    def make(draw: Draw) -> Case:
        inputs = layer(draw, chunk)
        sums = None if use_g is False else sums_of(inputs["g"], chunk)
        inverses = inverses_of(matrices_of(inputs["k"], inputs["beta"], sums, chunk))
        w, u = w_and_u_of(inputs, inverses, sums, chunk)
        return Case(
            {
                **{"k": inputs["k"], "v": inputs["v"], "beta": inputs["beta"]},
                **{"A": joined(inverses, chunk).float(), g: None if sums is None else sums.float()},
                **{"w": blank(*w.shape), "u": blank(*u.shape), **counts(inputs, chunk, "K", "V")},
                **({} if use_g is None else {"use_g": use_g}),
            },
            {"w": w, "u": u},
            **FINE,
        )

    return make


def chunk_states(chunk: int, *, all_switches: bool) -> Make:
    """Two chunks and part of a third, with an initial state and all results, or without."""

    def make(draw: Draw) -> Case:
        inputs = layer(draw, chunk, tokens=2 * chunk + 5)
        sums = sums_of(inputs["g"], chunk)
        w = draw.normal(*inputs["k"].shape, dtype=torch.float32) / 8
        u, k = inputs["v"], inputs["k"]
        h0 = draw.normal(2, 2, 64, 32, dtype=torch.float32) / 4
        state = h0.double() if all_switches else torch.zeros(h0.shape, dtype=torch.float64)
        before, added = [], []
        for w_c, u_c, k_c, g_c in zip(*(by_chunks(x, chunk) for x in (w, u, k, sums)), strict=True):
            before.append(state)
            added.append(u_c - w_c @ state)
            last = g_c[..., -1:] if all_switches else torch.zeros_like(g_c[..., -1:])
            decay = (last - g_c).exp() if all_switches else torch.ones_like(g_c)
            state = state * last.exp()[..., None] + (k_c * decay[..., None]).mT @ added[-1]
        h = torch.stack(before, 1)
        results = {"h": h, **({"v_new": joined(added), "ht": state} if all_switches else {})}
        return Case(
            {
                **{"k": k, "w": w, "u": u, "g": sums.float() if all_switches else None},
                **{"h0": h0 if all_switches else None, "h": blank(*h.shape)},
                "v_new": blank(*u.shape) if all_switches else None,
                "ht": blank(*h0.shape) if all_switches else None,
                **counts(inputs, chunk, "K", "V"),
                **{"use_g": all_switches, "use_initial_state": all_switches},
                **{"store_final_state": all_switches, "save_new_value": all_switches},
            },
            results,
            **FINE,
        )

    return make


def chunk_outputs(chunk: int, *, use_g: bool) -> Make:
    def make(draw: Draw) -> Case:
        inputs = layer(draw, chunk, tokens=chunk + 5)
        sums = sums_of(inputs["g"], chunk) if use_g else torch.zeros_like(inputs["g"]).double()
        h = draw.normal(2, 2, 2, 64, 32, dtype=torch.float32) / 8
        outputs = []
        tensors = (inputs["q"], inputs["k"], inputs["v"], sums)
        for n, (q, k, v, g) in enumerate(zip(*(by_chunks(x, chunk) for x in tensors), strict=True)):
            inside = (q @ k.mT * (g[..., :, None] - g[..., None, :]).exp()).tril()
            outputs.append(0.3 * (g.exp()[..., None] * (q @ h[:, n].double()) + inside @ v))
        o = joined(outputs)
        return Case(
            {
                **{"q": inputs["q"], "k": inputs["k"], "v": inputs["v"], "h": h},
                **{"g": sums.float() if use_g else None, "o": blank(*o.shape), "scale": 0.3},
                **{**counts(inputs, chunk, "K", "V"), "use_g": use_g},
            },
            {"o": o},
            **FINE,
        )

    return make


def gating(draw: Draw) -> Case:
    a, b = (3 * draw.normal(19, 6, dtype=torch.float32) for _ in range(2))
    a_log, dt_bias = draw.uniform(6), draw.uniform(6)
    g = -a_log.double().exp() * torch.nn.functional.softplus(a.double() + dt_bias.double(), 1.5, 4.0)
    return Case(
        {
            **{"A_log": a_log, "a": a, "b": b, "dt_bias": dt_bias, "g": blank(19, 6), "beta": blank(19, 6)},
            **{"S": 19, "H": 6, "softplus_beta": 1.5, "softplus_threshold": 4.0},
        },
        {"g": g, "beta": b.double().sigmoid()},
        **FINE,
    )


def l2_norm(draw: Draw) -> Case:
    x = draw.normal(21, 72, dtype=torch.float32)
    rstd = (x.double().square().sum(-1) + 1e-3).rsqrt()
    return Case(
        {"x": x, "y": blank(21, 72), "rstd": blank(21), "eps": 1e-3},
        {"y": x.double() * rstd[:, None], "rstd": rstd},
        **FINE,
    )


def l2_norm_gradient(draw: Draw) -> Case:
    """The gradient of x / norm(x) by PyTorch's autograd."""
    x = draw.normal(21, 72, dtype=torch.float32).double().requires_grad_()
    dy = draw.normal(21, 72, dtype=torch.float32)
    rstd = (x.square().sum(-1) + 1e-9).rsqrt()
    y = x * rstd[:, None]
    (dx,) = torch.autograd.grad(y, x, dy.double())
    return Case(
        {
            **{"y": y.detach().float(), "rstd": rstd.detach().float(), "dy": dy},
            **{"dx": blank(21, 72), "eps": 1e-9},
        },
        {"dx": dx},
        **FINE,
    )


def elementary(draw: Draw) -> Case:
    x = 3 * draw.normal(301, dtype=torch.float32)
    y = x.double()
    positive, functional = y.abs() + 0.001, torch.nn.functional
    expected = {
        **{"exp": y.exp(), "exp2": y.exp2(), "log": positive.log(), "log2": positive.log2()},
        **{"safe_exp": torch.where(y > 0, 0, y.exp()), "softplus": functional.softplus(y)},
        **{"sigmoid": y.sigmoid(), "silu": functional.silu(y)},
    }
    return Case(
        {"input": x, **{f"out_{name}": blank(301) for name in expected}, "N": 301},
        {f"out_{name}": value for name, value in expected.items()},
        **FINE,
    )


STARTS = [0, 5, 5, 70, 71]


def on_host(
    argument: str, values: list[int], expected: list[int] | int, *, size: int | None = None
) -> dict[str, Make]:
    """Cases with a list, and with a tensor, for which the function returns a tensor."""
    sized = {} if size is None else {"chunk_size": size}
    as_tensor = expected if isinstance(expected, int) else torch.tensor(expected, dtype=torch.int32)
    return {
        "": lambda draw: Case({argument: values, **sized}, {}, returned=expected),
        ":tensor": lambda draw: Case(
            {argument: torch.tensor(values, dtype=torch.int32), **sized}, {}, returned=as_tensor
        ),
    }


def chunk_indices(draw: Draw) -> Case:
    rows = [(0, 0), *[(2, n) for n in range(5)], (3, 0)]
    return Case(
        {
            "cu_seqlens": torch.tensor(STARTS, dtype=torch.int32),
            "chunk_indices": empty(7, 2, dtype=torch.int32),
            "chunk_offsets": torch.tensor([0, 1, 1, 6, 7], dtype=torch.int32),
            **{"N": 4, "chunk_size": 16},
        },
        {"chunk_indices": torch.tensor(rows, dtype=torch.int32)},
        exact=frozenset({"chunk_indices"}),
    )


INDICES = {
    "prepare_lens": on_host("cu_seqlens", STARTS, [5, 0, 65, 1]),
    "prepare_cu_seqlens_from_lens": on_host("lens", [5, 0, 65, 1], STARTS),
    "prepare_position_ids": on_host("cu_seqlens", [0, 3, 3, 5], [0, 1, 2, 0, 1]),
    "prepare_sequence_ids": on_host("cu_seqlens", [0, 3, 3, 5], [0, 0, 0, 1, 1]),
    "prepare_chunk_offsets": on_host("cu_seqlens", STARTS, [0, 1, 1, 6, 7], size=16),
    "get_max_num_splits": on_host("cu_seqlens", STARTS, 5, size=16),
}

CASES: dict[str, Make] = {
    "causal_conv1d_fwd_split_qkv_tk.causal_conv1d_fwd_split": conv_split(torch.float32, transposed=False),
    "causal_conv1d_fwd_split_qkv_tk.causal_conv1d_fwd_split:bf16": conv_split(
        torch.bfloat16, transposed=True
    ),
    "chunk_tk.chunk_pipeline": pipeline(16),
    "chunk_tk.chunk_pipeline:bf16": pipeline(64, torch.bfloat16),
    "chunk_tk.chunk_cumsum": sums_alone,
    "chunk_tk.chunk_compute_A": products("g_cumsum", 32),
    "chunk_tk.chunk_solve_tril": solved(64, in_place=True),
    "chunk_tk.chunk_recompute_w_u": recomputed("g_cumsum", 32),
    "chunk_delta_h_tk.chunk_delta_h_fwd": chunk_states(16, all_switches=True),
    "chunk_delta_h_tk.chunk_delta_h_fwd:least": chunk_states(16, all_switches=False),
    "chunk_o_tk.chunk_fwd_o": chunk_outputs(32, use_g=True),
    "chunk_o_tk.chunk_fwd_o:plain": chunk_outputs(32, use_g=False),
    "cumsum_tk.cumsum_scalar": cumulative(vector=False, reverse=False),
    "cumsum_tk.cumsum_vector": cumulative(vector=True, reverse=True),
    "fused_cumsum_kkt_tk.fused_cumsum_kkt": products("g_cumsum", 16, fused=True, groups=2),
    "fused_cumsum_kkt_tk.fused_cumsum_kkt:growing": products(
        "g_cumsum", 32, fused=True, groups=2, growing=True
    ),
    "fused_gdn_gating_prefill_tk.fused_gdn_gating": gating,
    **{f"index_tk.{name}{of}": make for name, both in INDICES.items() for of, make in both.items()},
    "index_tk.gpu_prepare_chunk_indices": chunk_indices,
    "l2norm_tk.l2norm_fwd": l2_norm,
    "l2norm_tk.l2norm_bwd": l2_norm_gradient,
    "op_tk.test_ops": elementary,
    "solve_tril_tk.solve_tril": solved(64, in_place=False),
    "solve_tril_tk.solve_tril:16": solved(16, in_place=False),
    "wy_representation_tk.chunk_scaled_dot_kkt": products("g", 32, use_g=True),
    "wy_representation_tk.chunk_scaled_dot_kkt:plain": products("g", 32, use_g=False),
    "wy_representation_tk.recompute_w_u": recomputed("g", 32, use_g=True),
    "wy_representation_tk.recompute_w_u:plain": recomputed("g", 32, use_g=False),
}

SAMPLED = [
    "chunk_tk.chunk_pipeline:bf16",
    "chunk_delta_h_tk.chunk_delta_h_fwd:least",
    "chunk_o_tk.chunk_fwd_o:plain",
    "solve_tril_tk.solve_tril:16",
    "wy_representation_tk.chunk_scaled_dot_kkt:plain",
    "wy_representation_tk.recompute_w_u:plain",
]
