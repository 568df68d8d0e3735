"""Shared vectors: maps and activations; register vectors along other axes than a row's."""

from __future__ import annotations

import torch
from tile_cases import Batch, close, random

WHOLE = "{0, 0, 0, 0}"


def test_maps_of_shared_vectors(arch: str, batch: Batch) -> None:
    """With one wave and with four; vectors and tiles of different types, with their positions."""
    x, y, length = random(1, 100, seed=1), random(1, 100, seed=2).bfloat16(), 100
    index = torch.arange(100.0)[None]
    cases = {
        "map(t, s, [](float v) { return v * v + 1; })": x * x + 1,
        "map(t, s, u, [](float v, float w) { return v - w; })": x - y.float(),
        "map(t, s, u, s, [](float v, float w, float z, int i) { return v * z + w * i; })": x * x
        + y.float() * index,
        "fill(t, [](int i) { return 2.0f * i; })": 2 * index,
        "clamp(t, s, -0.5f, 0.25f)": x.clamp(-0.5, 0.25),
        "sigmoid(t, s)": x.sigmoid(),
        "silu(t, s)": torch.nn.functional.silu(x),
        "gelu(t, s)": torch.nn.functional.gelu(x),
        "tanh(t, s)": x.tanh(),
        "softplus(t, s)": torch.nn.functional.softplus(x),
        "round(t, s)": x.round(),
        "neg(t, s)": -x,
    }
    for waves in (1, 4):
        for call, expected in cases.items():
            statement = f"group<{waves}>::{call}" if waves > 1 else call
            batch.add(
                f"{waves} waves: {call}",
                f"""__shared__ sv_fl<{length}> s, t; __shared__ sv_bf<{length}> u;
                for (int i = threadIdx.x; i < {length}; i += {64 * waves}) {{
                    s[i] = g.x[{{i}}]; u[i] = g.y[{{i}}];
                }}
                __syncthreads(); {statement}; __syncthreads();
                for (int i = threadIdx.x; i < {length}; i += {64 * waves}) g.out[{{i}}] = t[i];""",
                x=x,
                y=y,
                expected={"out": expected},
                check=close(8, 1e-6),
                threads=64 * waves,
            )
    z = random(16, 32, seed=3)
    batch.add(
        "a tile with its places",
        f"""__shared__ st<float, 16, 32, st_16x16_s> s; group<1>::load(s, g.z, {WHOLE}); wait_and_barrier();
        map(s, s, [](float v, int row, int col) {{ return v + row * 100 + col; }}); wait_and_barrier();
        group<1>::store(g.out, s, {WHOLE});""",
        z=z,
        expected={"out": z + torch.arange(16)[:, None] * 100 + torch.arange(32)},
    )
    batch.run(arch)


def test_vectors_along_other_axes(arch: str, batch: Batch) -> None:
    """In every layout of a vector, without effect past the end of the axis."""
    x = random(3, 20, 5, 7, seed=1)
    vectors = {
        "rt_fl<16, 32>::row_vec": 32,
        "rt_fl<32, 16>::col_vec": 32,
        "rv_naive<float, 32>": 32,
        "rt_bf<16, 32>::row_vec": 32,
    }
    for vector, length in vectors.items():
        source = x.bfloat16().float() if "bf" in vector else x
        for axis, at in ((2, (1, 2, 1, 3)), (1, (2, 4, 3, 6)), (0, (1, 19, 0, 2))):
            line = source[tuple(slice(at[i], None) if i == axis else at[i] for i in range(4))]
            expected = torch.zeros(1, length)
            expected[0, : len(line)] = line
            stored = torch.full_like(x, float("nan"))
            stored[tuple(slice(at[i], None) if i == axis else at[i] for i in range(4))] = (
                (line + 1).bfloat16().float() if "bf" in vector else line + 1
            )
            place = "{" + ", ".join(map(str, at)) + "}"
            batch.add(
                f"{vector} axis {axis}",
                f"""{vector} v; load_along<{axis}>(v, g.x, {place}); store(g.out, v, {WHOLE});
                add(v, v, 1.0f); store_along<{axis}>(g.back, v, {place});""".replace(
                    "1.0f", "bf16(1.0f)" if "bf" in vector else "1.0f"
                ),
                x=source,
                expected={"out": expected, "back": stored},
            )
    batch.run(arch)
