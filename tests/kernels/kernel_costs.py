"""Costs of each kernel: registers, LDS, main loop, conflicts, bytes, time; stored for docs/kernel_costs.md.

    python tests/kernels/kernel_costs.py               # every operator
    python tests/kernels/kernel_costs.py gemm/ --print # those whose names begin so, on the terminal
    python tests/kernels/kernel_costs.py gemm/bf16 # again; other rows do not change

A row is a launch of an operator, of each variant and on each target, at the shape that `shape_of` picks. A
column is a record in `COLUMNS`. Registers, LDS and the loop are read from the code object; conflicts and
bytes are counted by the emulated device; times are modelled. A second table has times at shapes with
published times.
"""

from __future__ import annotations

import argparse
import itertools
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from main_loop import Loop, loop_of
from operator_cases import supports

import workbench as wb
from workbench.operators import KernelSpec, Published, Shape, shape_text
from workbench.origin import Figure
from workbench.profile import ProfileResult, StepsProfile
from workbench.targets import TILE_TARGETS, default_product, product

sys.path.append(str(Path(__file__).resolve().parents[1]))
import json_records

DATA = Path(__file__).resolve().parents[2] / "docs" / "data" / "kernel_costs.json"
"""Lines of the page's tables by operator, one line per operator."""

FIRST_HEADS = ("operator", "shape", "first call, s", "second call, ms")
"""Heads of the table that `first_calls.py` makes."""

MOST_FLOPS, MOST_BYTES = 3e9, 1e8
"""Work of a launch that is small enough to be counted here."""

TIMED_FLOPS, TIMED_BYTES = 5e12, 2e9
"""Limits of a launch whose time is modelled here, from a part of its work-groups."""

HEAD = """# What the kernels cost

`python tests/kernels/kernel_costs.py` stores one row for each launch of each variant of an operator, on each
target. It takes the smallest published shape if the emulated device can run it, otherwise the first shape of
the spec that the variant accepts. We measured nothing here. Registers, LDS (bytes per work-group) and the
main loop come from the machine code; the main loop is the one with the most matrix instructions (the shortest
of several; without matrix instructions, the longest loop). The emulated device counts conflicts and bytes.
Times are modelled.

The column of bytes divides those that reach or leave the memory behind L2 by those that must move. The roof
is the time that the work needs at the peak matrix rate of its type, or that the bytes need at peak HBM
bandwidth, whichever is longer; small shapes fill only part of the device. Published times are from others,
measured on the GPU named; modelled times at larger shapes stand beside them in a table of their own.

Values below 1.00 mean that a small launch left tensors in L2 or did not read all of them. Row-wise kernels
and rotary move 1.00 at full size. Small ones move more because each XCD's L2 reads the values for columns
(weights, cosines) and the kernel's arguments.

"""

CONFLICTS = {
    **dict.fromkeys(
        ("gated_delta/chunk", "gated_delta/chunk_inverse", "gated_delta/chunk_prepare"),
        "blocks of 16 x 16 floats on the diagonal are read once, by rows and by columns",
    ),
    **dict.fromkeys(
        ("feed_forward/bmm_rope_kv_cache", "gemm/a16wfp4"),
        "on gfx950, 8 numbers of fp4 are 4 bytes, and a piece of 16 that was loaded straight to shared "
        "memory stays whole: the 32 lanes served at once want the same half of each piece, half of the banks",
    ),
    **dict.fromkeys(
        ("gemm/fp8_block", "gemm/mx"),
        "on gfx950 the ping-pong loads a row's scales of four steps straight to shared memory, 16 bytes; a "
        "step reads one of their four words, so 64 lanes use a quarter of the banks",
    ),
    **dict.fromkeys(
        ("moe_gemm/a4w4", "moe_gemm/a8w8", "moe_gemm/a8w8_blockscale", "moe_gemm/mxfp4"),
        "where bytes are multiplied as they are, a lane turns four columns of B, and lanes side by side "
        "write columns that are four apart: 256 bytes",
    ),
    "moe_routing/align_block_size": "rows add to a counter for their expert, and to the same one of it wait "
    "for each other",
}
"""Reasons for the remaining bank conflicts, by operator."""

LEFT = "\nBank conflicts that are left:\n\n" + "".join(
    f"- `{name}`: {why}.\n" for name, why in CONFLICTS.items()
)

BESIDE = """
## Beside published times

Operators at a shape of which others published times on a GPU of the target: the one with most of them, else
the largest whose time is modelled within a minute. Each implementation is its authors' own, measured by
them. How far modelled times are off, by class of kernel: [model_error.md](model_error.md).

"""


@dataclass(frozen=True)
class Row:
    """One launch: its profile, and its loop if it has one."""

    name: str
    arch: str
    spec: KernelSpec
    shape: Shape
    step: str
    profile: ProfileResult
    loop: Loop | None
    alone: bool
    """True if the operator has no other launch, so that its work is the operator's."""


def _count(row: Row, name: str) -> int:
    found = row.profile.counters.get(name)
    return round(found.value) if found is not None else 0


def _mix(row: Row) -> str:
    if row.loop is None:
        return "no loop"
    return ", ".join(f"{count} {kind}" for kind, count in row.loop.kinds.most_common())


def _conflicts(row: Row) -> str:
    """Share of the LDS's cycles on indexed accesses that conflicts cost."""
    cycles, active = _count(row, "SQ_LDS_BANK_CONFLICT"), _count(row, "SQ_LDS_IDX_ACTIVE")
    return f"{cycles:,} of {active:,}" if cycles else "0"


def _bytes(row: Row) -> str:
    """Bytes between L2 and the memory behind it, over the least possible."""
    least = row.profile.work.get("bytes") if row.alone else row.profile.argument_bytes
    moved = 1024 * (_count(row, "FETCH_SIZE") + _count(row, "WRITE_SIZE"))
    return f"{moved / least:.2f}" if least else "not known"


def _roof(row: Row) -> str:
    """The least time of the work over the modelled time."""
    machine, work = row.profile.machine, row.profile.work
    if not row.alone or "bytes" not in work:
        return "not known"
    kinds = [
        kind
        for kind in ("F6F4", "F8", "I8", "BF16", "F16")
        if _count(row, f"SQ_INSTS_VALU_MFMA_MOPS_{kind}") and machine.matrix_flops(kind)
    ]
    peak = machine.matrix_flops(kinds[0]) if kinds else machine.vector_flops
    seconds = max(work.get("flops", 0) / (peak or 1), work["bytes"] / machine.hbm_bytes_per_second)
    return f"{100 * seconds / (row.profile.time.value * 1e-6):.1f} %"


def _published(row: Row) -> str:
    figures = [p for p in row.spec.published if row.spec.shape(p.shape) == row.shape]
    return (
        "; ".join(f"{p.implementation} {p.value:g} {p.unit} ({p.gpu})" for p in figures)
        or "none at this shape"
    )


@dataclass(frozen=True)
class Column:
    """A column of the table: its head and its cells."""

    head: str
    of: Callable[[Row], str]


COLUMNS = (
    Column("kernel", lambda row: f"`{row.name}`" + (f" {row.step}" if row.step else "")),
    Column("target", lambda row: row.arch),
    Column("shape", lambda row: shape_text(_told(row))),
    Column("VGPR", lambda row: str(row.profile.resources.vgprs)),
    Column("AGPR", lambda row: str(row.profile.resources.agprs)),
    Column("LDS", lambda row: f"{row.profile.resources.lds + row.profile.resources.dynamic_shared:,}"),
    Column("scratch", lambda row: str(row.profile.resources.scratch)),
    Column("spills", lambda row: str(row.profile.resources.vgpr_spills + row.profile.resources.sgpr_spills)),
    Column("waves/SIMD", lambda row: f"{row.profile.resources.occupancy.waves_per_simd:g}"),
    Column("main loop", _mix),
    Column("conflict cycles", _conflicts),
    Column("bytes over least", _bytes),
    Column("modelled", lambda row: str(row.profile.time)),
    Column("of the roof", _roof),
    Column("published", _published),
)


def _told(row: Row | Timed) -> dict[str, object]:
    """The shape without values that equal their defaults, except for sizes."""
    parameters = row.spec.parameters
    return {k: v for k, v in row.shape.items() if (isinstance(v, int) and v > 1) or v != parameters[k].first}


@dataclass(frozen=True)
class Timed:
    """An operator's modelled time at a published shape, and the published times."""

    spec: KernelSpec
    arch: str
    shape: Shape
    time: Figure
    published: list[Published]


def _roof_of(row: Timed) -> str:
    """The least time of its bytes over the modelled one; of matrix products the rate."""
    work = row.spec.work(row.shape)
    seconds = row.time.value * 1e-6
    if work.get("flops", 0) > 64 * work.get("bytes", 0):
        return f"{work['flops'] / seconds * 1e-12:,.0f} TFLOP/s"
    return f"{100 * work['bytes'] / default_product(row.arch).hbm_bytes_per_second / seconds:.0f} % of HBM"


TIMES = (
    ("kernel", lambda row: f"`{row.spec.name}`"),
    ("target", lambda row: row.arch),
    ("shape", lambda row: shape_text(_told(row))),
    ("modelled", lambda row: str(row.time)),
    ("rate", _roof_of),
    (
        "published",
        lambda row: "; ".join(f"{p.implementation} {p.value:g} {p.unit} ({p.gpu})" for p in row.published),
    ),
)


def fits(spec: KernelSpec, shape: Shape, flops: float, moved: float) -> bool:
    """True if the work of a shape is within the limits of floating-point operations and bytes."""
    work = spec.work(shape)
    return bool(work) and work.get("flops", 0) <= flops and work.get("bytes", 0) <= moved


def shape_of(spec: KernelSpec, arch: str) -> Shape | None:
    """The smallest published shape if it is small enough to be counted, else the first that is taken."""
    shapes = sorted((spec.shape(p.shape) for p in spec.published), key=lambda s: sum(spec.work(s).values()))
    smallest = [s for s in shapes[:1] if fits(spec, s, MOST_FLOPS, MOST_BYTES)]
    for shape in (*smallest, *spec.shapes):
        if supports(spec, shape, arch):
            return spec.shape(shape, arch=arch)
    return None


def timed(name: str) -> Iterator[Timed]:
    """An operator's times on each target with published times."""
    spec = wb.kernels[name]
    for arch in TILE_TARGETS:
        by_shape: dict[str, list[Published]] = {}
        for p in spec.published:
            shape = spec.shape(p.shape)
            fitting = fits(spec, shape, TIMED_FLOPS, TIMED_BYTES) and supports(spec, shape, arch)
            if fitting and product(p.gpu.split(" or ")[0]).target.name == arch:
                by_shape.setdefault(shape_text(shape), []).append(p)
        if by_shape:
            published = max(
                by_shape.values(),
                key=lambda published: (
                    len(published),
                    sum(spec.work(spec.shape(published[0].shape)).values()),
                ),
            )
            shape = spec.shape(published[0].shape, arch=arch)
            figure = wb.time(spec, shape=shape, device=f"emulated:{arch}").median
            yield Timed(spec, arch, shape, figure, published)


def rows_of_variant(spec: KernelSpec, arch: str) -> Iterator[Row]:
    """The launches of a variant on a target."""
    shape = shape_of(spec, arch)
    if shape is None:
        return
    result = wb.profile(spec, shape=shape, device=f"emulated:{arch}")
    profiles = list(result) if isinstance(result, StepsProfile) else [result]
    ready = spec.steps_of(shape, arch=arch)
    for launch, profile in zip(ready, profiles, strict=True):
        alone = len(ready) == 1
        yield Row(spec.name, arch, spec, shape, launch.step.name, profile, loop_of(launch.kernel), alone)


def rows_of(name: str) -> Iterator[Row]:
    """The launches of an operator on each target: of each of its variants, or of the operator itself."""
    whole = wb.kernels[name]
    for spec in [whole.variant(v) for v in whole.variants] or [whole]:
        for arch in TILE_TARGETS:
            yield from rows_of_variant(spec, arch)


def line(row: Row) -> str:
    return cells(column.of(row) for column in COLUMNS)


def cells(texts: Iterable[str]) -> str:
    """A line of a table."""
    return "| " + " | ".join(text.replace("|", "\\|") for text in texts) + " |"


def table(heads: Sequence[str], lines: Iterable[str]) -> str:
    return "\n".join([f"| {' | '.join(heads)} |", f"|{' --- |' * len(heads)}", *lines]) + "\n"


def stored() -> dict[str, Any]:
    """The stored rows: each operator's by table, and those of first calls."""
    return json.loads(DATA.read_text(encoding="utf-8"))  # type: ignore[no-any-return]


def lines_of(part: str) -> dict[str, list[str]]:
    """The stored lines of a table, "costs", "times" or "first", by operator."""
    operators = stored()["operators"]
    return {name: operators.get(name, {}).get(part, []) for name in wb.kernels}


def store(name: str, **parts: list[str]) -> None:
    """Stores lines of an operator."""
    content = stored()
    content["operators"].setdefault(name, {}).update(parts)
    content["operators"] = dict(sorted(content["operators"].items()))
    write(content)


def write(content: Mapping[str, Any]) -> None:
    DATA.write_text(json_records.dumps(content, 2, sort_keys=False), encoding="utf-8")


def page() -> str:
    """The page from the stored rows."""
    heads = ([column.head for column in COLUMNS], [head for head, _ in TIMES], FIRST_HEADS)
    tables = [
        table(head, itertools.chain.from_iterable(lines_of(part).values()))
        for head, part in zip(heads, ("costs", "times", "first"), strict=True)
    ]
    first = f"\n## First calls\n\n{stored()['first calls']}\n\n"
    return HEAD + tables[0] + LEFT + BESIDE + tables[1] + first + tables[2]


def main() -> None:
    parser = argparse.ArgumentParser(description="Store what kernels cost, for docs/kernel_costs.md.")
    parser.add_argument("prefix", nargs="*", default=[""], help="operators whose names begin so")
    parser.add_argument("--print", action="store_true", help="show it instead of storing it")
    parser.add_argument("--times", action="store_true", help="the second table alone")
    options = parser.parse_args()
    for name in wb.kernels:
        if not any(name.startswith(prefix) for prefix in options.prefix):
            continue
        parts = {"times": [cells(of(row) for _, of in TIMES) for row in timed(name)]}
        if not options.times:
            parts["costs"] = [line(row) for row in rows_of(name)]
        print("\n".join(itertools.chain.from_iterable(parts.values())), flush=True)
        if not options.print:
            store(name, **parts)


if __name__ == "__main__":
    main()
