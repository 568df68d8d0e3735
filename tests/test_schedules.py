"""Schedules as text: what they say, what is none, and which launches follow them."""

from __future__ import annotations

import os
import random

import pytest

from workbench.errors import UsageError
from workbench.schedules import VARIABLE, Points, Schedule, Selection, default_schedule, parsed, schedule

TEXTS = (
    "plain",
    "late=all",
    "hold=lds late=memory",
    "order=reverse",
    "order=3,0",
    "groups=mixed hold=0x10,0x1f40",
    "kernel=_Z1kPf group=3 waves=0,2 order=1 groups=reverse hold=0x40 late=0x44",
    "hold=5% late=50% seed=7",
)


@pytest.mark.parametrize("text", TEXTS)
def test_a_schedule_is_its_text(text: str) -> None:
    assert str(parsed(text)) == text


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "it is empty"),
        ("late", "'late' is no part of a schedule"),
        ("later=all", "'later=all' is no part of a schedule"),
        ("late=all late=lds", "late= is there twice"),
        ("late=12", "'12' names no instructions"),
        ("late=0%", "'0%' is not between 1% and 100%"),
        ("order=16", "'16' is no list of waves from 0 to 15"),
        ("waves=1,1", "'1,1' names a wave twice"),
        ("group=x", "'x' is no number"),
        ("groups=all", "groups=all is neither reverse nor mixed"),
    ],
)
def test_what_is_none(text: str, words: str) -> None:
    with pytest.raises(UsageError, match=f"schedule is .*{words}; expected 'plain', or a list"):
        parsed(text)


def test_a_block_sets_the_schedule_and_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    assert default_schedule() is None
    with schedule("late=all"):
        assert default_schedule() == Schedule(late=Selection(kind="all"))
        with schedule("plain"):
            assert default_schedule() == Schedule()
        assert os.environ[VARIABLE] == "late=all"
    assert VARIABLE not in os.environ
    monkeypatch.setenv(VARIABLE, "late=often")
    with pytest.raises(UsageError, match=f"{VARIABLE} is 'late=often'"):
        default_schedule()


def test_selections() -> None:
    points = Points("k", (4, 8, 12), frozenset({8}), (4, 8, 16), 4, 1)
    assert parsed("late=all").late_at(points) == (4, 8, 12)
    assert parsed("late=lds").late_at(points) == (8,)
    assert parsed("late=memory").late_at(points) == (4, 12)
    assert parsed("hold=0x10,0x14").held_at(points) == (16,)
    seed = random.randrange(10**6)
    print("seed", seed)
    many = Points("k", tuple(range(0, 4000, 4)), frozenset(), (), 4, 1)
    drawn = parsed(f"late=20% seed={seed}").late_at(many)
    assert drawn == parsed(f"late=20% seed={seed}").late_at(many)
    assert drawn != parsed(f"late=20% seed={seed + 1}").late_at(many)
    # Ten standard deviations of 1000 draws.
    assert 70 < len(drawn) < 330


def test_the_order_of_turns() -> None:
    assert parsed("order=3,0").turns()[:5] == (3, 0, 1, 2, 4)
    assert parsed("order=reverse").turns() == tuple(range(15, -1, -1))
    assert parsed("kernel=a late=all").for_kernel("b") == Schedule()
    assert parsed("kernel=a late=all").for_kernel("a").late
