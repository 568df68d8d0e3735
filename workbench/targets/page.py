"""`docs/targets.md`: every figure with its source, as Markdown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields

from workbench.targets.fact import Fact
from workbench.targets.instruction_sets import TARGETS, Target
from workbench.targets.products import PRODUCTS, Product
from workbench.targets.timing import Timing


def facts(record: Target | Product | Timing) -> dict[str, Fact]:
    """The figures of a record by name; rates of the matrix cores as "matrix_rates BF16"."""
    found: dict[str, Fact] = {}
    for field in fields(record):
        value = getattr(record, field.name)
        if isinstance(value, Fact):
            found[field.name] = value
        elif field.name == "under_load":
            found |= {f"clock under load {n}, {each}": each.clock_hz for n, each in enumerate(value, 1)}
        elif isinstance(value, Timing):
            found |= {f"timing {name}": one for name, one in facts(value).items()}
        elif isinstance(value, Mapping):
            found |= {f"{field.name} {key}": one for key, one in value.items() if isinstance(one, Fact)}
    return found


def document() -> str:
    """`docs/targets.md`: every figure with its source, as Markdown."""
    lines = [
        "# Targets and products",
        "",
        "`python -m workbench.targets` makes this page from the records in `workbench/targets/`. Others",
        "published all of these figures; we measured none.",
    ]
    records: tuple[Target | Product, ...] = (*TARGETS, *PRODUCTS)
    for record in records:
        title = record.generation if isinstance(record, Target) else record.arch
        lines += ["", f"## {record.name} ({title})", "", "| figure | value | source |", "| --- | --- | --- |"]
        lines += [f"| {name} | {fact.stated} | {fact.source} |" for name, fact in facts(record).items()]
    return "\n".join((*lines, ""))
