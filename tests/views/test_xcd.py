"""The XCD map's figure: colours, numbers and titles of each panel."""

from __future__ import annotations

import numpy as np

import workbench as wb
from workbench.launches import CacheCounts, Replayed
from workbench.profile.chiplets import DispatchOrder, XcdMap, tiles_of
from workbench.views.xcd import MAX_CELLS, distinct


def order(name, listed, hits=3, misses=1):
    dies = (CacheCounts(l2_hits=hits, l2_misses=misses, fabric_reads=8192), *([CacheCounts()] * 7))
    return DispatchOrder(name, listed, Replayed(dies, 0), "cache model of MI355X")


def xcd_map_of(writers, *orders):
    return XcdMap("k", "emulated:gfx950", {"n": 4}, "c", writers, 8, tiles_of(writers), orders)


def panels(figure):
    return [trace for trace in figure.data if trace.type == "heatmap"]


def test_a_panel_an_order():
    writers = np.repeat(np.repeat(np.arange(4).reshape(2, 2), 8, axis=0), 16, axis=1)
    writers[:8, 16:] = -1
    xcd_map = xcd_map_of(writers, order("as launched", [0, 1, 2, 3]), order("other", [3, 2, 1, 0], 1, 1))
    figure = xcd_map.figure
    first, second = panels(figure)
    # Drawn tile by tile, not element by element.
    assert (list(first.x), list(first.y)) == ([0, 16, 32], [0, 8, 16])
    assert np.array_equal(first.z, [[0, np.nan], [2, 3]], equal_nan=True)
    assert np.array_equal(second.z, [[3, np.nan], [1, 0]], equal_nan=True)
    assert [list(t.text) for t in figure.data if t.type == "scatter"] == [["0", "2", "3"], ["3", "1", "0"]]
    assert second.text[1][0] == "rows 8 to 15, columns 0 to 15<br>XCD 1<br>work-group 1, launched as 2"
    assert first.text[1][0].endswith("work-group 2")
    assert first.text[0][1].endswith("written by nobody")
    notes = [a.text for a in figure.layout.annotations]
    assert "as launched<br>L2 hit rate 75.0%<br>1 MB fetched" in notes
    assert "other<br>L2 hit rate 50.0%<br>1 MB fetched" in notes
    assert {a.text for a in figure.layout.annotations if a.name == "origin"} == {"counted", "modelled"}
    assert wb.view_xcd(xcd_map).data[0].type == "heatmap"


def test_maps_beside_each_other():
    writers = np.arange(4).reshape(2, 2)
    maps = [
        xcd_map_of(writers, order("as launched", [0, 1, 2, 3]), order("x", [3, 2, 1, 0])) for _ in range(2)
    ]
    figure = wb.view_xcd(*maps)
    assert len(panels(figure)) == 2
    assert [a.text.partition("<br>")[0] for a in figure.layout.annotations[:2]] == ["k, as launched"] * 2


def test_large_irregular_maps_are_thinned():
    writers = np.arange(1000)[:, None] * np.ones((1, 3), dtype=np.int64)
    edges = distinct(writers, 0)
    assert (edges[0], edges[-1], len(edges)) == (0, 1000, MAX_CELLS + 1)
    assert list(distinct(writers, 1)) == [0, 3]


def test_nothing_asked_of_l2():
    figure = xcd_map_of(np.zeros((1, 1), dtype=np.int64), order("as launched", [0], 0, 0)).figure
    assert any("nothing asked of L2" in a.text for a in figure.layout.annotations)
