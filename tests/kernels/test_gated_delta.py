"""The gated delta rule: a prompt by chunks, then token by token, against the plain recurrence."""

from __future__ import annotations

import os

import pytest
import torch
from tiers import number

import workbench as wb
from workbench.errors import ShapeError
from workbench.targets import TILE_TARGETS

SEED = number("gated_delta", os.environ["HIPKITTENS_TEST_SEED"])


def layer(generator: torch.Generator, *, batch: int, tokens: int) -> dict[str, torch.Tensor]:
    """q, k of two heads, v, g and beta of four, in float32."""

    def normal(*dims: int) -> torch.Tensor:
        return torch.randn(batch, tokens, *dims, generator=generator)

    return {
        **{"q": normal(2, 64), "k": normal(2, 64), "v": normal(4, 32)},
        "g": torch.nn.functional.logsigmoid(normal(4) + 2),
        "beta": torch.sigmoid(normal(4)),
    }


def plain(inputs: dict[str, torch.Tensor], state: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The recurrence of a batch of sequences in float64, one step a line."""
    q, k, v, g, beta = (inputs[name].double() for name in ("q", "k", "v", "g", "beta"))
    q, k = (torch.nn.functional.normalize(x, dim=-1).repeat_interleave(2, 2) for x in (q, k))
    state, outputs = state.double(), []
    for t in range(q.shape[1]):
        state = state * g[:, t, :, None, None].exp()
        recalled = torch.einsum("bhkv,bhk->bhv", state, k[:, t])
        added = beta[:, t, :, None] * (v[:, t] - recalled)
        state = state + k[:, t, :, :, None] * added[:, :, None, :]
        outputs.append(torch.einsum("bhkv,bhk->bhv", state, q[:, t]) / 8)
    return torch.stack(outputs, 1), state


def part(given: dict[str, torch.Tensor], first: int, end: int) -> dict[str, torch.Tensor]:
    return {name: x[:, first:end].contiguous() for name, x in given.items()}


@pytest.mark.parametrize("arch", TILE_TARGETS)
def test_decode_goes_on_where_a_prefill_ends(arch: str) -> None:
    generator = torch.Generator().manual_seed(SEED)
    inputs = layer(generator, batch=2, tokens=42)
    first = torch.randn(2, 4, 64, 32, generator=generator) / 4
    expected, last = plain(inputs, first)
    options = {"use_qk_l2norm": True, "device": f"emulated:{arch}"}
    prefill, decode = (wb.kernels[f"gated_delta/{name}"] for name in ("chunk", "recurrent"))
    result = prefill(**part(inputs, 0, 37), initial_state=first, chunk=16, **options)
    outputs, state = [result["o"]], result["last_state"]
    for t in range(37, 42):
        result = decode(**part(inputs, t, t + 1), initial_state=state, **options)
        outputs.append(result["o"])
        state = result["last_state"]
    torch.testing.assert_close(torch.cat(outputs, 1).double(), expected, rtol=1e-4, atol=2e-5)
    torch.testing.assert_close(state.double(), last, rtol=1e-4, atol=2e-5)


def test_sequences_behind_one_another_are_as_those_alone() -> None:
    """Lengths 21, 0, 1 and 16: no multiple of a chunk, nothing, a token, a chunk."""
    generator = torch.Generator().manual_seed(SEED)
    inputs = layer(generator, batch=1, tokens=38)
    first = torch.randn(4, 4, 64, 32, generator=generator) / 4
    starts = torch.tensor([0, 21, 21, 22, 38], dtype=torch.int32)
    both = wb.kernels["gated_delta/chunk"](
        **inputs, initial_state=first, cu_seqlens=starts, use_qk_l2norm=True, chunk=16
    )
    outputs, states = both["o"], both["last_state"]
    assert torch.equal(states[1], first[1])
    for n, (begin, end) in enumerate(((0, 21), (21, 21), (21, 22), (22, 38))):
        if begin == end:
            continue
        expected, last = plain(part(inputs, begin, end), first[n : n + 1])
        torch.testing.assert_close(outputs[:, begin:end].double(), expected, rtol=1e-4, atol=2e-5)
        torch.testing.assert_close(states[n].double(), last[0], rtol=1e-4, atol=2e-5)


def test_the_inverse_stands_large_powers() -> None:
    """Equal keys of strength one: powers of the matrix grow to 1e17, the inverse has ones and minus ones."""
    a = torch.ones(64, 64).tril(-1).reshape(1, 64, 1, 64)
    inverse = wb.kernels["gated_delta/chunk_inverse"](a)
    expected = torch.eye(64) - torch.diag(torch.ones(63), -1)
    assert torch.equal(inverse[0, :, 0], expected)


def test_tensors_that_do_not_fit_are_named() -> None:
    inputs = layer(torch.Generator().manual_seed(SEED), batch=2, tokens=8)
    chunk = wb.kernels["gated_delta/chunk"]
    with pytest.raises(ShapeError, match=r"cu_seqlens; expected 1, packed sequences"):
        chunk(**inputs, cu_seqlens=torch.tensor([0, 8], dtype=torch.int32))
    with pytest.raises(ShapeError, match=r"k is torch\.bfloat16; expected torch\.float32"):
        chunk(**{**inputs, "k": inputs["k"].bfloat16()})
    with pytest.raises(ShapeError, match=r"chunk is 48; supported is"):
        chunk(**inputs, chunk=48)
    with pytest.raises(ShapeError, match="3 heads of values for 2 of keys; expected a multiple"):
        chunk(**{**inputs, **{name: inputs[name][:, :, :3].contiguous() for name in ("v", "g", "beta")}})
