"""What a gated delta layer does with whole sequences."""

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
        made = torch.cat([convolved(x[:, first:end], w, bias) for first, end in pairwise(starts)], 1).T
        out = dict(zip(("q_out", "k_out", "v_out"), made.split((10, 10, 30), 1), strict=True))
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


CASES: dict[str, Make] = {
    "causal_conv1d_fwd_split_qkv_tk.causal_conv1d_fwd_split": conv_split(torch.float32, transposed=False),
    "causal_conv1d_fwd_split_qkv_tk.causal_conv1d_fwd_split:bf16": conv_split(
        torch.bfloat16, transposed=True
    ),
}
