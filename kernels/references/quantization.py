"""Quantization in PyTorch, from the definitions of the formats: nearest number, ties to even, saturating.

Rows and blocks with a NaN or an infinity get a NaN scale and zeros as elements.
"""

from __future__ import annotations

import torch

from workbench import dtypes
from workbench_kernels.references.gemm import ACTIVATIONS

FORMATS = {known.name: known for known in dtypes.TYPES}
FP8 = tuple(known.name for known in dtypes.TYPES if known.encoding)

LEAST = 1e-10
"""Smallest magnitude that a float scale is computed from, as in AITER."""


def blocks_of(x: torch.Tensor, block: int) -> torch.Tensor:
    """Rows split into blocks, in float32, padded with zeros."""
    short = -x.shape[-1] % block
    blocks: torch.Tensor = torch.nn.functional.pad(x.float(), (0, short)).unflatten(-1, (-1, block))
    return blocks


def float_scale(absmax: torch.Tensor, format: str) -> torch.Tensor:
    """absmax, at least 1e-10, divided by the format's largest number, in float32."""
    scale = absmax.float().clamp(min=LEAST) / FORMATS[format].largest
    return torch.where(absmax.isfinite(), scale, torch.nan)


def power_scale(absmax: torch.Tensor, format: str, rounding: str) -> torch.Tensor:
    """Bytes s of scales 2^(s - 127), s of NaN and infinity 255; `rounding` is down, even or up.

    "down" takes the exponent of absmax, "even" that of absmax rounded to the format's mantissa, "up" the
    smallest power of two for which nothing saturates.
    """
    largest = FORMATS[format].largest
    size = torch.where(absmax.isfinite() & (absmax > 0), absmax, 1.0).double()
    fraction, exponent = torch.frexp(size)  # fraction in [0.5, 1)
    top = torch.frexp(torch.tensor(largest, dtype=torch.float64))
    if rounding == "even":
        # With one mantissa bit, 1.75 rounds to 2.
        exponent = exponent + (fraction >= 1 - 2.0 ** -(FORMATS[format].mantissa + 2))
    elif rounding == "up":
        exponent = exponent + (fraction > top.mantissa)
    biased = (exponent - top.exponent + 127).clamp(1 if rounding == "up" else 0, 254)
    biased = torch.where(absmax == 0, 0, biased)
    return torch.where(absmax.isfinite(), biased, 255).to(torch.uint8)


def nearest(x: torch.Tensor, format: str) -> torch.Tensor:
    """x in a format: int8, fp8, bytes with two 4-bit elements, or three bytes with four 6-bit elements."""
    element = FORMATS[format]
    if element.encoding:
        return x.clamp(element.lowest, element.largest).to(element.dtype)
    if not element.exponent:
        whole = x.round().clamp(element.lowest, element.largest).to(torch.int8)
        return whole if element.bits == 8 else packed(whole & 15, element.bits)
    bits, exponent_bits, mantissa_bits = element.bits, element.exponent, element.mantissa
    codes = torch.arange(1 << (bits - 1))
    power, fraction = codes >> mantissa_bits, (codes & (1 << mantissa_bits) - 1).double()
    values = torch.where(power == 0, 2 * fraction, fraction + (1 << mantissa_bits))
    values = values * torch.exp2(power.double() - (1 << exponent_bits - 1) + 1 - mantissa_bits)
    # The threshold is halfway between neighbours; a tie goes to the even code.
    middles, size = (values[1:] + values[:-1]) / 2, x.double().abs()
    low, high = torch.bucketize(size, middles), torch.bucketize(size, middles, right=True)
    code = torch.where(low % 2 == 0, low, high) | torch.signbit(x).long() << (bits - 1)
    return packed(code, bits)


def packed(codes: torch.Tensor, bits: int) -> torch.Tensor:
    """Codes of 4 or 6 bits as bytes, lowest bits first: two per byte, or four per three bytes."""
    if bits == 4:
        return (codes[..., ::2] | codes[..., 1::2] << 4).to(torch.uint8)
    words = sum(codes[..., i::4].int() << (6 * i) for i in range(4))
    assert isinstance(words, torch.Tensor)
    return torch.stack([words >> shift & 255 for shift in (0, 8, 16)], -1).flatten(-2).to(torch.uint8)


def quantize(x: torch.Tensor, format: str, block: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Elements of x / scale, and a float32 scale for each `block` columns of a row; 0 for one per row."""
    block = block or x.shape[-1]
    parts = blocks_of(x, block)
    scales = float_scale(parts.abs().amax(-1), format)
    quotients = torch.where(scales.isnan()[..., None], 0.0, parts / scales[..., None])
    return nearest(quotients.flatten(-2)[..., : x.shape[-1]], format), scales


def quantize_mx(
    x: torch.Tensor, format: str, rounding: str, block: int = 32
) -> tuple[torch.Tensor, torch.Tensor]:
    """Elements of x / 2^(s - 127), and the bytes s for each `block` columns of a row."""
    parts = blocks_of(x, block)
    scales = power_scale(parts.abs().amax(-1), format, rounding)
    quotients = parts.double() * torch.exp2(127 - scales.double())[..., None]
    quotients = torch.where((scales == 255)[..., None], 0.0, quotients)
    return nearest(quotients.flatten(-2)[..., : x.shape[-1]], format), scales


def gated(x: torch.Tensor, activation: str) -> torch.Tensor:
    """activation(gate) * up in float64, where a row of x is gate, then up."""
    gate, up = x.double().chunk(2, -1)
    return ACTIVATIONS[activation](gate) * up
