"""docs/benchmarks.md with its pictures, from what `python -m workbench bench` found.

python -m workbench bench --device MI355X --figures --against triton --largest 1.2e12 --out build/bench
python tests/benchmarks/benchmark_document.py build/bench
"""

from __future__ import annotations

import argparse
from pathlib import Path

from workbench.bench.compare import file_of
from workbench.bench.results import read
from workbench.bench.run import BenchResult
from workbench.views.benchmark_page import markdown

DOCS = Path(__file__).resolve().parents[2] / "docs"
HOW = (
    "Made by `python -m workbench bench --device MI355X --figures --against triton --largest 1.2e12 "
    "--out build/bench`, which goes on where it was stopped, and "
    "`python tests/benchmarks/benchmark_document.py build/bench`."
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("results", type=Path, help="folder or file that bench wrote")
    options = parser.parse_args()
    result = BenchResult(sorted(read(file_of(options.results)), key=lambda each: each.operator))
    for old in (DOCS / "images" / "benchmarks").glob("*.svg"):
        old.unlink()
    title, _, rest = markdown(result, DOCS, "images/benchmarks").partition("\n\n")
    there = f"{len(result)} results of {len(result.operators)} operators are there."
    (DOCS / "benchmarks.md").write_text(f"{title}\n\n{HOW}\n{there}\n\n{rest}", encoding="utf-8")
    failed = [each for each in result if each.failure]
    print(f"{len(result)} results of {len(result.operators)} operators; {len(failed)} failed")
    for each in failed:
        print(f"  {each.problem}, {each.implementation}: {each.failure}")


if __name__ == "__main__":
    main()
