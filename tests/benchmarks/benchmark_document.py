"""Stores what `python -m workbench bench` found for the page about benchmarks.

python -m workbench bench --device MI355X --figures --against triton --largest 1.2e12 --out build/bench
python tests/benchmarks/benchmark_document.py build/bench

The results go to docs/data/benchmarks.jsonl, their summary to docs/benchmarks.md; the site draws all of them.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from workbench.bench.compare import file_of
from workbench.bench.results import read

DOCS = Path(__file__).resolve().parents[2] / "docs"
sys.path.insert(0, str(DOCS))

import benchmark_pages  # noqa: E402


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("results", type=Path, help="folder or file that bench wrote")
    results = sorted(read(file_of(parser.parse_args().results)), key=lambda result: result.operator)
    benchmark_pages.store(results)
    failures = [result for result in results if result.failure]
    print(f"{len(results)} results of {len({r.operator for r in results})} operators; {len(failures)} failed")
    for result in failures:
        print(f"  {result.problem}, {result.implementation}: {result.failure}")


if __name__ == "__main__":
    main()
