"""The generated parts of docs/sanitizer.md: the seeded faults and the table of hazards.

    python -m tests.emulator.sanitizer.tables           # rewrites them
    python -m tests.emulator.sanitizer.tables --run     # runs every seeded fault, and its kernel without it

The tests beside this file find every fault that the tables name: test_seeded.py, test_hazards.py.
"""

from __future__ import annotations

import argparse
from collections import Counter
from pathlib import Path

from tests.emulator.sanitizer.hazards import INTERLOCKED, pairs
from tests.emulator.sanitizer.seeded import CASES
from workbench.emulator.sanitizer.hazard_rules import RULES, SEARCHED, TARGETS, Rule
from workbench.emulator.sanitizer.hazard_rules_gfx11 import LATER_RULES

DOCUMENT = Path(__file__).parents[3] / "docs" / "sanitizer.md"


def seeded_table() -> str:
    """One row for each seeded fault: a description, its class, and words of its message."""
    rows = ["| fault | class | found by | targets |", "| --- | --- | --- | --- |"]
    for name, case in CASES.items():
        rows.append(
            f"| {name.replace('_', ' ')} | {case.category} | “{case.words}” | {', '.join(case.targets)} |"
        )
    return "\n".join(rows)


def _counts(rule: Rule, target: str) -> str:
    counts = rule.counts.get(target)
    if counts is None:
        return ""
    if isinstance(counts, int):
        return str(counts)
    return ", ".join(f"{count} ({passes})" for passes, count in counts.items())


def hazard_table() -> str:
    """One row for each rule: both instructions and the wait states on each target."""
    rows = [
        "| first | second | gfx942 | gfx950 | guides ask | LLVM's GCNHazardRecognizer |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for rule in RULES:
        counts = " | ".join(_counts(rule, target) for target in TARGETS)
        source = rule.source if rule.source == "ISA guide only" else f"`{rule.source}`"
        guide = "no: a note" if rule.is_note else "yes"
        rows.append(f"| {rule.after} | {rule.before} | {counts} | {guide} | {source} |")
    return "\n".join(rows)


def later_hazard_table() -> str:
    """The same for gfx11 and later, with the remedy of each rule."""
    rows = [
        "| first | second | targets | vector instructions in between | or | LLVM |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for rule in LATER_RULES:
        names = ", ".join(rule.counts) + (f", waves of {rule.lanes}" if rule.lanes else "")
        counts = _counts(rule, next(iter(rule.counts)))
        needed = "no number is known" if counts == str(SEARCHED) else counts
        remedy = rule.remedy.removeprefix("a ")
        rows.append(f"| {rule.after} | {rule.before} | {names} | {needed} | `{remedy}` | `{rule.source}` |")
    return "\n".join(rows)


def tested() -> str:
    """Number of pairs of instructions that the tests try for the table."""
    numbers = Counter({target: len(pairs(target)) for target in TARGETS})
    parts = " and ".join(f"{number} pairs on {target}" for target, number in numbers.items())
    return (
        f"{len(RULES)} rules; {parts}, each with one wait state too few (reported) and with enough (not "
        f"reported), and {len(INTERLOCKED)} pairs that hardware interlocks (not reported)."
    )


PARTS = {
    "seeded": seeded_table,
    "hazards": hazard_table,
    "later hazards": later_hazard_table,
    "tested": tested,
}


def generated(text: str) -> str:
    """The document with its generated parts rewritten."""
    for name, make in PARTS.items():
        begin, end = f"<!-- {name}: generated -->\n", f"<!-- {name}: end -->"
        head, opened, rest = text.partition(begin)
        _, closed, tail = rest.partition(end)
        if not opened or not closed:
            raise ValueError(f"{DOCUMENT.name} has no part {name!r}")
        text = f"{head}{begin}\n{make()}\n\n{end}{tail}"
    return text


def run() -> None:
    """Every seeded fault on every target, with its line or the actual finding."""
    from tests.emulator.sanitizer.test_seeded import run as launch

    seen = clean = total = 0
    for name, case in CASES.items():
        for arch in case.targets:
            total += 1
            result, lines = launch(case, arch, fault=True)
            hits = lines <= {f.line for f in result.findings if f.category == case.category}
            right, _ = launch(case, arch, fault=False)
            seen += hits
            clean += right.passed
            with_fault = "found" if hits else "MISSED"
            without = "clean" if right.passed else "REPORTED"
            print(f"{name:28} {arch}  {with_fault:8} {without}")
    print(
        f"{seen} of {total} seeded faults found on their line; {clean} of {total} kernels without one clean"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--run", action="store_true", help="run the seeded faults instead")
    if parser.parse_args().run:
        run()
    else:
        DOCUMENT.write_text(generated(DOCUMENT.read_text()))


if __name__ == "__main__":
    main()
