"""Benchmarks, sweeps and tuning of operators, here or on a cluster, and their results."""

from workbench.bench.compare import compare_results
from workbench.bench.results import Result
from workbench.bench.run import BenchResult, bench
from workbench.bench.sweeping import sweep
from workbench.bench.tuning import TuneResult, tune

__all__ = ["BenchResult", "Result", "TuneResult", "bench", "compare_results", "sweep", "tune"]
