"""What each kernel costs: registers, LDS, main loop, conflicts, bytes, time; written to docs/kernel_costs.md.

    python tests/kernels/kernel_costs.py               # every operator
    python tests/kernels/kernel_costs.py gemm/ --print # those whose names begin so, on the terminal
    python tests/kernels/kernel_costs.py gemm/bf16     # anew in the page; the others' rows stay

A row is a launch of an operator, of each variant and on each target, at the shape that `shape_of` picks. A
column is a record in `COLUMNS`. Registers, LDS and the loop are read from the code object; conflicts and
bytes are counted by the emulated device; times are modelled.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from main_loop import Loop, loop_of

import workbench as wb
from workbench.profile import ProfileResult, StepsProfile
from workbench.spec import KernelSpec, Shape, shape_text

DOCS = Path(__file__).resolve().parents[2] / "docs" / "kernel_costs.md"

MOST_FLOPS, MOST_BYTES = 3e9, 1e8
"""Work of a launch that is small enough to be counted here."""

HEAD = """# What the kernels cost

A row for each launch of an operator's variants, on each target, written by
`python tests/kernels/kernel_costs.py`: at the smallest published shape if it is small enough to be emulated,
else at the first shape of the spec. Nothing here was measured by us. Registers, LDS (bytes of a work-group)
and the main loop (the one with the most matrix instructions, or else the longest) are read from the machine
code; conflicts and bytes are counted by the emulated device; times are modelled. Bytes are those that reach
or leave memory behind L2, over those that must move. The roof is the larger of the time that the work needs
at peak matrix rate of its type and that its bytes need at peak HBM bandwidth; small shapes fill a part of the
device only. Published times are others', measured on the GPU named.

"""


@dataclass(frozen=True)
class Row:
    """One launch: its profile, and the loop where it has one."""

    name: str
    arch: str
    spec: KernelSpec
    shape: Shape
    step: str
    profile: ProfileResult
    loop: Loop | None
    alone: bool
    """Whether the operator has this launch alone, so that its work is the operator's."""


def _count(row: Row, name: str) -> int:
    found = row.profile.counters.get(name)
    return round(found.value) if found is not None else 0


def _mix(row: Row) -> str:
    if row.loop is None:
        return "no loop"
    return ", ".join(f"{count} {kind}" for kind, count in row.loop.kinds.most_common())


def _conflicts(row: Row) -> str:
    """Cycles that conflicts cost, of those that the LDS works on indexed accesses."""
    cycles, active = _count(row, "SQ_LDS_BANK_CONFLICT"), _count(row, "SQ_LDS_IDX_ACTIVE")
    return f"{cycles:,} of {active:,}" if cycles else "0"


def _bytes(row: Row) -> str:
    """What L2 and memory behind it exchange, over the least."""
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
    said = [p for p in row.spec.published if row.spec.shape(p.shape) == row.shape]
    return (
        "; ".join(f"{p.implementation} {p.value:g} {p.unit} ({p.gpu})" for p in said) or "none at this shape"
    )


@dataclass(frozen=True)
class Column:
    """A column of the table: its head, and what stands in it."""

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


def _told(row: Row) -> dict[str, object]:
    """The shape without what has its default, but for sizes."""
    parameters = row.spec.parameters
    return {k: v for k, v in row.shape.items() if (isinstance(v, int) and v > 1) or v != parameters[k].first}


def shape_of(spec: KernelSpec, arch: str) -> Shape:
    """The smallest published shape that is small enough to be counted, else the first of the spec."""
    shapes = sorted((spec.shape(p.shape) for p in spec.published), key=lambda s: sum(spec.work(s).values()))
    for shape in shapes[:1]:
        work = spec.work(shape)
        if work.get("flops", 0) <= MOST_FLOPS and work.get("bytes", 0) <= MOST_BYTES:
            return spec.shape(shape, arch=arch)
    return spec.shape(spec.shapes[0], arch=arch)


def rows_of_variant(spec: KernelSpec, arch: str) -> Iterator[Row]:
    """The launches of a variant on a target."""
    shape = shape_of(spec, arch)
    result = wb.profile(spec, shape=shape, device=f"emulated:{arch}")
    profiles = list(result) if isinstance(result, StepsProfile) else [result]
    ready = spec.steps_of(shape, arch=arch)
    for each, profile in zip(ready, profiles, strict=True):
        alone = len(ready) == 1
        yield Row(spec.name, arch, spec, shape, each.step.name, profile, loop_of(each.kernel), alone)


def rows_of(name: str) -> Iterator[Row]:
    """The launches of an operator on each target: of each of its variants, or of itself."""
    whole = wb.kernels[name]
    for spec in [whole.variant(v) for v in whole.variants] or [whole]:
        for arch in spec.targets:
            yield from rows_of_variant(spec, arch)


def line(row: Row) -> str:
    return "| " + " | ".join(column.of(row).replace("|", "\\|") for column in COLUMNS) + " |"


def table(lines: list[str]) -> str:
    head = f"| {' | '.join(column.head for column in COLUMNS)} |\n|{' --- |' * len(COLUMNS)}\n"
    return HEAD + head + "\n".join(lines) + "\n"


def operator_of(text: str) -> str:
    """Which operator a line of the page is of."""
    found = re.match(r"\| `([^`:]+)", text)
    return found[1] if found else ""


def main() -> None:
    parser = argparse.ArgumentParser(description="Write docs/kernel_costs.md.")
    parser.add_argument("prefix", nargs="*", default=[""], help="operators whose names begin so")
    parser.add_argument("--print", action="store_true", help="show it instead of writing it")
    options = parser.parse_args()
    known = DOCS.read_text().splitlines() if DOCS.exists() else []
    lines = {name: [text for text in known if operator_of(text) == name] for name in wb.kernels}
    for name in wb.kernels:
        if not any(name.startswith(prefix) for prefix in options.prefix):
            continue
        lines[name] = [line(row) for row in rows_of(name)]
        print("\n".join(lines[name]), flush=True)
        if not options.print:
            DOCS.write_text(table([text for texts in lines.values() for text in texts]))


if __name__ == "__main__":
    main()
