"""The hub: order, bounded history, listeners that raise, no events inside a measurement."""

from __future__ import annotations

import threading

import pytest

from workbench.events import Hub


def test_order_and_bounds():
    hub = Hub(history=3)
    seen = []
    end = hub.subscribe(seen.append)
    for i in range(5):
        hub.publish("launch", f"k{i}", {"i": i})
    assert [e.name for e in seen] == [f"k{i}" for i in range(5)]
    assert [e.number for e in hub.history()] == [3, 4, 5]
    assert hub.history("verify") == []
    end()
    end()
    hub.publish("launch", "k5")
    assert len(seen) == 5


def test_a_listener_that_fails_stops_nobody():
    hub = Hub()
    seen = []

    def broken(event):
        raise ValueError("no")

    hub.subscribe(broken)
    hub.subscribe(seen.append)
    with pytest.warns(UserWarning, match="stopped listening after ValueError: no"):
        hub.publish("launch", "k")
    hub.publish("launch", "k")
    assert len(seen) == 2


def test_muted_is_of_one_thread():
    hub = Hub()
    with hub.muted(), hub.muted():
        hub.publish("launch", "inside")
        other = threading.Thread(target=hub.publish, args=("launch", "other"))
        other.start()
        other.join()
    hub.publish("launch", "after")
    assert [e.name for e in hub.history()] == ["other", "after"]


def test_a_failure_is_reported_once_by_the_outermost():
    hub = Hub()
    with (
        pytest.raises(ValueError, match="first"),
        hub.failures("time", "spec", shape={"n": 1}),
        hub.muted(),
        hub.failures("run", "kernel"),
    ):
        raise ValueError("first line\nsecond")
    with pytest.raises(KeyError), hub.failures("outer", "k"), hub.failures("run", "k"):
        raise KeyError
    with pytest.raises(KeyboardInterrupt), hub.failures("run", "k"):
        raise KeyboardInterrupt
    with hub.failures("run", "k"):
        pass
    measured, launched = hub.history()
    assert measured.kind == launched.kind == "failed"
    assert (measured.name, measured.data) == (
        "spec",
        {"kind": "time", "error": "first line", "shape": {"n": 1}},
    )
    assert launched.data == {"kind": "run", "error": "KeyError"}


def test_many_events_of_a_kind_leave_those_of_others() -> None:
    hub = Hub(history=3)
    hub.publish("failed", "first")
    for _ in range(5):
        hub.publish("launch", "k")
    hub.publish("time", "k")
    assert [event.kind for event in hub.history()] == ["failed", "launch", "launch", "launch", "time"]
    assert [event.number for event in hub.history()] == [1, 4, 5, 6, 7]
    assert hub.dropped() == {"launch": 2}
    hub.clear()
    assert not hub.dropped()
    assert len(hub) == 0
