"""The matrix of operators, settings and targets in docs/operators.md, from the specs.

python tests/kernels/operator_table.py           # writes it into docs/operators.md
python tests/kernels/operator_table.py --print
"""

from __future__ import annotations

import argparse
from pathlib import Path

import operator_cases as cases

import workbench as wb
from workbench import paths
from workbench.operators import Choice, Gradient, KernelSpec, Range
from workbench.targets import LIBRARY_TARGETS

DOCS = Path(__file__).resolve().parents[2] / "docs" / "operators.md"

DRAWN, LARGEST, WHOLE = 40, 700, 64
"""Sizes of each setting in addition to the spec's shapes: their number, the largest, and the number of which
half of them are multiples."""

HEAD = """# Operators

These are all operators of `kernels/`, and what `tests/kernels/test_operators.py` tests of each. `make
test-product` tests each setting that a target supports: at two small shapes, drawn anew each run, by each
variant that accepts them, and at a large shape. `make test` takes a few small shapes of one or two settings.
*Lines* counts lines of code, including the C++ in a spec, but not the shared families and tile library.
`python tests/kernels/operator_table.py` writes this table.

"""

COLUMNS = (
    *("operator", "settings", *LIBRARY_TARGETS, "launches", "variants", "gradient", "hard inputs"),
    *("equal bits", "lines"),
)


def supported(spec: KernelSpec, arch: str) -> int:
    """Number of a spec's settings that a target supports at some sizes: its own shapes', or small ones drawn.

    Only support is checked, not the cost of a shape, which takes most of the time when tests draw theirs; all
    settings are tried with the same sizes.
    """
    if arch not in spec.targets:
        return 0
    draw = cases.random.Random(spec.name)
    ranges = {name: p for name, p in spec.parameters.items() if isinstance(p, Range)}
    sizes = [{n: shape.get(n, p.first) for n, p in ranges.items()} for shape in spec.shapes]
    sizes += [{n: cases.size(p, LARGEST, draw) for n, p in ranges.items()} for _ in range(DRAWN)]
    # Rows of narrow elements must be whole 16 bytes.
    sizes += [{n: max(ranges[n].low, size // WHOLE * WHOLE) for n, size in each.items()} for each in sizes]
    tried = list({tuple(each.items()): each for each in sizes}.values())
    return sum(
        any(cases.supports(spec, setting | each, arch) for each in tried) for setting in cases.settings(spec)
    )


def lines(text: str) -> int:
    """Lines that are neither empty nor a comment."""
    return sum(
        bool(line.strip()) and not line.strip().startswith(("//", "*", "/*")) for line in text.splitlines()
    )


def launches(spec: KernelSpec) -> str:
    """Launches of the default shape, for each variant if there are several."""
    counts = {
        len(spec.implementation(shape, arch=a).steps)
        for a in spec.targets
        for shape in spec.shapes
        if cases.supports(spec, shape, a)
    }
    return " or ".join(map(str, sorted(counts)))


def gradient(spec: KernelSpec) -> str:
    """The operators that differentiate it."""
    by = spec.backward.by if isinstance(spec.backward, Gradient) else (spec.backward,)
    return ", ".join(f"`{name}`" if name else "reference" for name in by)


def row(name: str) -> str:
    spec = wb.kernels[name]
    choices = [
        f"{key} {'/'.join(map(str, p.values))}" for key, p in spec.parameters.items() if isinstance(p, Choice)
    ]
    cells = [
        f"`{name}`",
        "; ".join(choices),
        *(str(supported(spec, arch) or "") for arch in LIBRARY_TARGETS),
        launches(spec),
        ", ".join(spec.variants),
        "" if spec.mutates else gradient(spec),
        str(len(spec.hard_inputs) or ""),
        f"no: {spec.nondeterministic}" if spec.nondeterministic else "yes",
        str(lines((paths.kernels_dir() / f"{name}.py").read_text())),
    ]
    return "| " + " | ".join(cells) + " |"


def table() -> str:
    head = f"{HEAD}| {' | '.join(COLUMNS)} |\n|{' --- |' * len(COLUMNS)}\n"
    return head + "\n".join(map(row, wb.kernels)) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--print", action="store_true", help="show it instead of writing it")
    if parser.parse_args().print:
        print(table())
    else:
        DOCS.write_text(table())


if __name__ == "__main__":
    main()
