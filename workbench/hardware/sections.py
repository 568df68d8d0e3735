"""All parts of an examination, in their order."""

from __future__ import annotations

from workbench.hardware import (
    compilers,
    counters,
    instructions,
    machine,
    microbenchmarks,
    notebooks,
    operators,
    times,
)

SECTIONS = {
    each.SECTION.name: each.SECTION
    for each in (machine, operators, instructions, counters, times, microbenchmarks, compilers, notebooks)
}
"""By name."""
