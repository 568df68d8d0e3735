"""The harness of the benchmarks: calls take turns, and a benchmark yields rows."""

from __future__ import annotations

import time

from tests.benchmarks import speed


def test_calls_take_turns_and_the_first_round_does_not_count() -> None:
    order: list[str] = []

    def slow() -> None:
        # Slow in the round that does not count.
        time.sleep(0.05 if "slow" not in order else 0)
        order.append("slow")

    first, second = speed.in_turns((slow, lambda: order.append("quick")), repeat=3)
    assert order == ["slow", "quick"] * 4
    assert first.wall < 0.05
    assert second.processor >= 0


def test_a_benchmark_yields_rows() -> None:
    (row,) = speed.decoding(speed.Settings(repeat=1, threads=(1,)))
    assert row.name == "decoding"
    assert row.times.wall > 0
    assert "instructions a second" in row.note


def test_every_benchmark_says_what_it_measures() -> None:
    assert 10 <= len(speed.BENCHMARKS) <= 14
    assert all(benchmark.__doc__ for benchmark in speed.BENCHMARKS)
