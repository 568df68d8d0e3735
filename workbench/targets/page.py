"""`docs/targets.md`: every figure with its source, as Markdown."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields

from workbench.targets.fact import Fact
from workbench.targets.instruction_sets import KNOWN, PARTIAL, Target
from workbench.targets.products import PARTIAL_PRODUCTS, PRODUCTS, Product
from workbench.targets.timing import Timing


def facts(record: Target | Product | Timing) -> dict[str, Fact]:
    """The figures of a record by name; rates of the matrix cores as "matrix_rates BF16"."""
    figures: dict[str, Fact] = {}
    partial = record in PARTIAL or record in PARTIAL_PRODUCTS
    for field in fields(record):
        value = getattr(record, field.name)
        if partial and (value is field.default or isinstance(value, Timing)):
            # What CDNA has in common says nothing about these.
            continue
        if isinstance(value, Fact):
            figures[field.name] = value
        elif field.name == "under_load":
            figures |= {f"clock under load {n}, {load}": load.clock_hz for n, load in enumerate(value, 1)}
        elif isinstance(value, Timing):
            figures |= {f"timing {name}": fact for name, fact in facts(value).items()}
        elif isinstance(value, Mapping):
            figures |= {f"{field.name} {key}": fact for key, fact in value.items() if isinstance(fact, Fact)}
    return figures


INTRODUCTION = """# Targets and products

`python docs/made.py` makes this page from the records in `workbench/targets/`. Others published
these figures, except those whose source calls them assumed; we measured none."""

MAIN: dict[str, Callable[[Product], str]] = {
    "target": lambda product: product.arch,
    "compute units": lambda product: product.compute_units.stated,
    "XCDs": lambda product: product.xcds.stated,
    "clock": lambda product: product.clock_hz.stated,
    "memory": lambda product: f"{product.hbm_bytes.stated}, {product.hbm_bytes_per_second.stated}",
    "L2 a die": lambda product: product.l2_bytes_per_xcd.stated,
    "Infinity Cache": lambda product: product.infinity_cache_bytes.stated,
    "LDS a compute unit": lambda product: product.target.lds_bytes.stated,
}
"""Figures of a product by their names in the summary."""


def summary() -> str:
    """The main figures of each product, as Markdown."""
    lines = [f"| product | {' | '.join(MAIN)} |", "| --- |" + " --- |" * len(MAIN)]
    for product in PRODUCTS + PARTIAL_PRODUCTS:
        name = product.name + (" (no modelled times)" if product in PARTIAL_PRODUCTS else "")
        lines.append(f"| {name} | {' | '.join(read(product) for read in MAIN.values())} |")
    records: tuple[Target | Product, ...] = (*KNOWN, *PRODUCTS, *PARTIAL_PRODUCTS)
    count = sum(len(facts(record)) for record in records)
    rest = f"`make docs` builds the whole page: {count} figures, each with its source."
    return "\n".join((INTRODUCTION, "", *lines, "", rest, ""))


def document() -> str:
    """Every figure with its source, as Markdown."""
    lines = [INTRODUCTION]
    records: tuple[Target | Product, ...] = (*KNOWN, *PRODUCTS, *PARTIAL_PRODUCTS)
    for record in records:
        title = record.generation if isinstance(record, Target) else record.arch
        lines += ["", f"## {record.name} ({title})", "", "| figure | value | source |", "| --- | --- | --- |"]
        lines += [f"| {name} | {fact.stated} | {fact.source} |" for name, fact in facts(record).items()]
    return "\n".join((*lines, ""))
