"""The gated delta rule, token after token."""

from __future__ import annotations

import torch
from collection.case import Case, Draw, Make, empty


def fused_recurrent(*, packed: bool) -> Make:
    """Two sequences; packed into one batch, of 5 and 0 tokens, or 4 tokens each."""

    def make(draw: Draw) -> Case:
        spans = [(0, 0, 5), (0, 5, 5)] if packed else [(0, 0, 4), (1, 0, 4)]
        batch, tokens, heads, values, keys, columns = 1 if packed else 2, 5 if packed else 4, 1, 2, 64, 16
        q = draw.normal(batch, tokens, heads, keys)
        k = torch.nn.functional.normalize(draw.normal(batch, tokens, heads, keys).float(), dim=-1).bfloat16()
        v = draw.normal(batch, tokens, values, columns)
        g = -draw.uniform(batch, tokens, values) / 4
        beta = draw.uniform(batch, tokens, values) / 2
        first = draw.normal(2, values, keys, columns, dtype=torch.float32) / 4
        states, out = [], torch.zeros(*v.shape, dtype=torch.float64)
        for n, (b, start, end) in enumerate(spans):
            h = first[n].double()
            for t in range(start, end):
                h = h * g[b, t].double().exp()[:, None, None]
                kept = k[b, t, 0].double()
                u = beta[b, t].double()[:, None] * (v[b, t].double() - kept @ h)
                h = h + kept[None, :, None] * u[:, None]
                out[b, t] = 0.3 * (q[b, t, 0].double() @ h)
            states.append(h)
        return Case(
            {
                **{"q": q, "k": k, "v": v, "g": g, "gk": None, "gv": None, "beta": beta},
                **{"o": empty(*v.shape), "h0": first, "ht": empty(*first.shape, dtype=torch.float32)},
                "cu_seqlens": torch.tensor([0, 5, 5], dtype=torch.int32) if packed else None,
                **{"use_g": True, "use_gk": False, "use_gv": False, "use_qk_l2norm": False},
                **{"is_beta_headwise": False, "use_initial_state": True},
                **{"scale": 0.3, "T": tokens, "B": batch, "H": heads, "HV": values, "K": keys, "V": columns},
            },
            {"o": out, "ht": torch.stack(states)},
        )

    return make


CASES: dict[str, Make] = {
    "fused_recurrent_tk.fused_recurrent_fwd": fused_recurrent(packed=False),
    "fused_recurrent_tk.fused_recurrent_fwd:packed": fused_recurrent(packed=True),
}
