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
    module.SECTION.name: module.SECTION
    for module in (machine, operators, instructions, counters, times, microbenchmarks, compilers, notebooks)
}
"""Sections by name, in the order in which they run."""
