"""Timelines as columns and pictures: nothing is lost or drawn twice, and every notebook gets a picture."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
import torch

import workbench as wb
from workbench.errors import UsageError
from workbench.profile.simulation.unit import KINDS, REASONS
from workbench.profile.timelines import Span
from workbench.views.waves import pack, waves_svg, waves_widget
from workbench.views.waves.hues import FAMILIES, OF_KIND
from workbench.views.waves.packed import STALL, WORK, meanings
from workbench.views.waves.picture import raster

SOURCE = r"""#include <hip/hip_runtime.h>
extern "C" __global__ void turns(const float *x, float *out) {
    __shared__ float tile[256];
    float sum = 0;
    for (int turn = 0; turn < 4; turn++) {
        tile[threadIdx.x] = x[(turn * 256 + threadIdx.x) * 4];
        __syncthreads();
        sum += tile[255 - threadIdx.x];
        __syncthreads();
    }
    out[threadIdx.x] = sum;
}
"""


@pytest.fixture(scope="module")
def line():
    kernel = wb.compile(SOURCE, arch="gfx950")["turns"]
    return wb.timeline(kernel[1, 256], torch.zeros(4096), torch.zeros(256), device="emulated:gfx950")


def packed_spans(line, spans):
    return pack(replace(line, spans=tuple(spans)))


def segments(packed, lane, track):
    first = packed.header["tracks"][2 * lane + track]
    last = packed.header["tracks"][2 * lane + track + 1]
    names = ("begin", "end", "span")
    return list(zip(*(packed.columns[name][first:last].tolist() for name in names), strict=True))


def test_columns_have_every_span_once(line):
    packed = pack(line)
    header, columns = packed.header, packed.columns
    assert header["count"] == len(line.spans) == len(columns["start"])
    for lane in range(len(line.lanes)):
        spans = sorted((s for s in line.spans if s.lane == lane), key=lambda s: s.start)
        mine = slice(header["first"][lane], header["first"][lane + 1])
        assert [KINDS[k] for k in columns["kind"][mine]] == [s.kind for s in spans]
        names = list(REASONS)
        assert [names[r] if r else "" for r in columns["reason"][mine]] == [s.reason for s in spans]
        assert [header["ops"][op][0] for op in columns["op"][mine]] == [s.address for s in spans]
        for span, cause in zip(spans, columns["cause"][mine].tolist(), strict=True):
            expected = span.waits_for if span.waits_for is not None else -1
            actual = cause if cause < 0 or span.reason == "AT_BARRIER" else header["ops"][cause][0]
            assert actual == expected


def test_segments_of_a_track_never_overlap_and_cover_what_is_busy(line):
    packed = pack(line)
    for lane in range(len(line.lanes)):
        for track in (WORK, STALL):
            intervals = segments(packed, lane, track)
            assert intervals == sorted(intervals)
            assert all(a[1] <= b[0] for a, b in pairwise(intervals))
            busy = np.zeros(int(line.cycles) + 4096, dtype=bool)
            for span in line.spans:
                if span.lane == lane and bool(span.reason) == (track == STALL):
                    busy[round(span.start) : round(span.start + span.cycles)] = True
            assert sum(end - begin for begin, end, _ in intervals) == pytest.approx(
                busy.sum(), abs=len(intervals)
            )


def test_a_later_instruction_covers_an_earlier_one_while_it_lasts(line):
    address = min(line.code)
    long = Span(0, 100.0, 64.0, "MFMA", "", address, None)
    short = Span(0, 120.0, 4.0, "VALU", "", address, None)
    intervals = segments(packed_spans(line, [long, short]), 0, WORK)
    assert intervals == [(100.0, 120.0, 0), (120.0, 124.0, 1), (124.0, 164.0, 0)]


def test_pixels_are_shares_of_the_area_under_them(line):
    address = min(line.code)
    spans = [Span(0, 0.0, 10.0, "VALU", "", address, None), Span(0, 10.0, 30.0, "MFMA", "", address, None)]
    spans.append(Span(1, 0.0, 20.0, "MFMA", "MATRIX_BUSY", address, None))
    pixels = raster(packed_spans(line, spans), 4, 80.0)
    hues = {k: [int(FAMILIES[OF_KIND[k]].hue[i : i + 2], 16) for i in (1, 3, 5)] for k in ("VALU", "MFMA")}
    assert pixels[0, 0, :3].tolist() == [round((a + b) / 2) for a, b in zip(*hues.values(), strict=True)]
    assert pixels[0, 1].tolist() == [*hues["MFMA"], 255]
    assert pixels[0, 2, 3] == 0
    assert pixels[3, 0, :3].tolist() == hues["MFMA"]
    assert 0 < pixels[3, 0, 3] < 255


def test_what_a_page_gets_can_be_read_back(line):
    packed = pack(line)
    header = json.loads(json.dumps(packed.header))
    data = packed.data()
    for name, (kind, at, count) in header["at"].items():
        assert at % 4 == 0
        assert np.array_equal(np.frombuffer(data, kind, count, at), packed.columns[name])
    widget = waves_widget([line, line])
    sent = []
    widget.send = lambda message, buffers: sent.append((message, buffers))
    widget._handle_custom_msg({"type": "timelines"}, [])
    (message, (text, columns)) = sent[0]
    header = json.loads(text)
    assert message == {"type": "timelines"}
    assert sum(timeline["bytes"] for timeline in header["timelines"]) == len(columns)
    state = {name: value for name, value in widget.get_state().items() if not name.startswith("_")}
    assert len(json.dumps(state, default=str)) < 1000, "what a notebook keeps of it"
    assert len(header["meanings"]["kinds"]) == len(KINDS)
    assert meanings()["reasons"][meanings()["barrier"]][0] == REASONS["AT_BARRIER"]
    widget.close()


def test_barriers_and_source_lines_are_included(line):
    header = pack(line).header
    assert 4 <= len(header["barriers"]) <= 8
    lines = {op[3] for op in header["ops"] if len(op) > 1 and op[4]}
    assert SOURCE.splitlines().index("        __syncthreads();") + 1 in lines


def test_a_picture_has_both_lanes_and_words(line):
    lines = line.beside(line)
    picture = waves_svg([pack(timeline) for timeline in lines])
    assert picture.count("<image") == 4 * len(line.lanes)
    for text in ("turns on emulated:gfx950", "SIMD 3", "modelled", "matrix"):
        assert text in picture, text
    assert len(picture) < 60_000
    assert picture in lines._repr_html_()
    with pytest.raises(UsageError, match="got a int; expected what"):
        line.beside(3)


def test_a_notebook_shows_a_live_figure_and_a_terminal_shows_text(line, displayed, request, capsys):
    line._ipython_display_()
    assert "modelled" in capsys.readouterr().out
    assert not displayed
    request.getfixturevalue("notebook_request")
    line._ipython_display_()
    live, note, picture = displayed
    assert "application/vnd.jupyter.widget-view+json" in live
    assert 'data-outputs="1"' in note["text/html"]
    assert picture["image/svg+xml"].startswith("<svg")
    assert "modelled" in picture["text/plain"]
