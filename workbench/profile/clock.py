"""The clock that a GPU sustains under a load, which power limits to less than the data sheet's peak.

A board may draw a limited number of watts. The power of its dies grows with the number of matrix and vector
units that switch, with the bits that they switch, and with a power of the clock (voltage follows it):

    watts = clock ** 1.55 * (matrix share * matrix cost(type) * bits + vector share * vector cost) + memory

Solved for the clock at the board's limit, and never above the peak. The costs are not stored: they follow
from the clocks that others saw under known loads (`targets.Product.under_load`), so a new observation is just
one more record. If a product was never seen with a type, another product with the same dies represents it
(MI350X: MI355X), or the ratio of the types on CDNA 3 (bf16 to fp16, both seen there).

Constants fitted here, with the data they come from, none of which is a row of `docs/model_error.md`:

    exponent      1.55: four versions of one fp16 GEMM on MI300X, 67 to 94 % of the matrix cores' cycles;
                  fp8 versions on MI355X of 61 to 98 % give 1.57
    matrix cost   median of the observations of each type
    vector cost   three attention kernels on MI355X, less what their matrix instructions cost
    zeros         fp8 4096 cubed on MI300X: 1,188 MHz with data, 1,792 with zeros

Memory's watts are those of HBM2, 3.9 pJ per bit (O'Connor et al., 'Fine-Grained DRAM', MICRO 2017), because
no figure for HBM3 was found.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Mapping

from workbench.targets import PRODUCTS, Product, UnderLoad

EXPONENT = 1.55
HBM_JOULES_PER_BYTE = 8 * 3.9e-12
ALIKE: Mapping[str, str] = {"I8": "F8"}
"""Types without an observation, and the types that represent them; all others count as F16."""

ATTENTION_VECTOR_SHARE = 1.0
"""Vector cycles over matrix cycles of attention, dim 128: 1.02 counted in this repository's own kernel."""


def _cost(seen: UnderLoad, limit: float) -> float:
    """Watts per Hz ** EXPONENT of all matrix cores, from an observation with only them working."""
    assert seen.matrix_permille is not None
    watts = seen.watts if seen.watts is not None else limit
    return watts / (seen.matrix_permille / 1000 * math.pow(seen.clock_hz, EXPONENT))


def _seen(machine: Product, kind: str) -> float | None:
    costs = [
        _cost(seen, machine.board_power_watts)
        for seen in machine.under_load
        if seen.kind == kind and seen.matrix_permille is not None and not seen.vector and not seen.zeros
    ]
    return statistics.median(costs) if costs else None


def matrix_cost(machine: Product, kind: str) -> float | None:
    """Watts per Hz ** EXPONENT of all matrix cores on random data; None without observations.

    Args:
        kind: rocprof's name of the input type: "BF16", "F8", ...
    """
    kind = ALIKE.get(kind, kind)
    relatives = [machine, *(p for p in PRODUCTS if p.target is machine.target and p is not machine)]
    for product in relatives:
        if (cost := _seen(product, kind)) is not None:
            return cost
    plain = next((cost for p in relatives if (cost := _seen(p, "F16")) is not None), None)
    ratios = [
        numerator / other
        for product in PRODUCTS
        if (numerator := _seen(product, kind)) is not None and (other := _seen(product, "F16")) is not None
    ]
    return plain * statistics.median(ratios) if plain is not None and ratios else plain


def vector_cost(machine: Product) -> float:
    """Watts per Hz ** EXPONENT with all vector units working; 0 without observations."""
    shares = []
    for product in PRODUCTS:
        plain = matrix_cost(product, "F16")
        vector_loads = [s for s in product.under_load if s.vector and s.matrix_permille is not None]
        if plain is not None:
            shares += [
                (_cost(s, product.board_power_watts) / plain - 1) / ATTENTION_VECTOR_SHARE
                for s in vector_loads
            ]
    plain = matrix_cost(machine, "F16")
    return plain * max(0.0, statistics.median(shares)) if plain is not None and shares else 0.0


def zero_share() -> float:
    """Fraction of the matrix cores' watts that remains with operands of zeros."""
    zeros = [(p, s) for p in PRODUCTS for s in p.under_load if s.zeros]
    shares = [
        (data.clock_hz / zero.clock_hz) ** EXPONENT
        for product, zero in zeros
        for data in product.under_load
        if not data.zeros and data.kind == zero.kind and data.matrix_permille is zero.matrix_permille
    ]
    return statistics.median(shares) if shares else 1.0


def sustained_clock(
    machine: Product,
    activity: Mapping[str, float],
    seconds: float = math.inf,
    *,
    kind: str = "",
    bits: float = 1.0,
) -> float:
    """The clock in Hz that a product sustains under a load.

    Args:
        machine: the product.
        activity: "mfma", "valu" and "hbm", each the share of time (0 to 1) in which the units of the whole
            chip are busy, idle compute units counted as such; what is missing is 0.
        seconds: how long the load lasts, repetitions included.
        kind: type that the matrix cores work on, by rocprof's name; "" for the most expensive known type.
        bits: 1 for random operands, 0 for zeros.
    """
    peak = float(machine.clock_hz)
    cost = matrix_cost(machine, kind or "F16")
    if cost is None:
        return peak
    matrix = cost * activity.get("mfma", 0.0) * (zero_share() + (1 - zero_share()) * bits)
    load = matrix + vector_cost(machine) * activity.get("valu", 0.0)
    memory = HBM_JOULES_PER_BYTE * machine.hbm_bytes_per_second * activity.get("hbm", 0.0)
    if load <= 0:
        return peak
    lasting: float = min(peak, ((machine.board_power_watts - memory) / load) ** (1 / EXPONENT))
    if machine.burst_clock_hz is None or not machine.settling_ms:
        return lasting
    burst = max(lasting, float(machine.burst_clock_hz))
    return lasting + (burst - lasting) * math.exp(-seconds * 1000 / machine.settling_ms)


STEEPEST = 0.8
"""Slope beyond which two clocks say too little about where the next ones settle."""

SAME_CLOCK = 0.99
"""Clocks nearer than this are the same."""

MOST_CLOCKS = 6
"""Maximum number of clocks to try for one launch."""


def settled_clock(peak: float, allowed: Callable[[float], float]) -> float:
    """The clock in Hz, among those passed to `allowed`, at which a launch keeps units as busy as power
    allows.

    At a lower clock there are fewer cycles in which units wait for memory, which has its own clock: they are
    busier, and power allows even less. Steffensen's step leads to the fixed point, unless memory bounds the
    launch at one of its two clocks alone; the rest is false position.

    Args:
        peak: clock to start from.
        allowed: the clock that power allows at the activity that the launch has at a clock.
    """
    first = allowed(peak)
    if first > SAME_CLOCK * peak:
        return peak
    second = allowed(first)
    if second >= first:
        return first
    slope = min(STEEPEST, (first - second) / (peak - first))
    settled = clock = first - (first - second) / (1 - slope)
    if settled > SAME_CLOCK * first:
        return first
    high, low = (first, second), None
    for _ in range(MOST_CLOCKS - 2):
        clock, kept_clock = settled, allowed(settled)
        if min(kept_clock, clock) > SAME_CLOCK * max(kept_clock, clock):
            break
        if kept_clock < clock:
            high = (clock, kept_clock)
        else:
            low = (clock, kept_clock)
        settled = kept_clock
        if low is not None:
            above, below = high[0] - high[1], low[1] - low[0]
            settled = low[0] + (high[0] - low[0]) * below / (above + below)
    return clock
