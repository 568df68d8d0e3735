"""The tree of a launch's time: every level adds up, waits name their loads, lines are the source's."""

from __future__ import annotations

import json
import time

import pytest
import torch

import workbench as wb
from workbench.codeobject.instructions import Access
from workbench.events import hub
from workbench.lab import panel
from workbench.lab.listing import listing
from workbench.profile.simulation.unit import REASONS
from workbench.profile.stalls import Branch, _by_line

SOURCE = r"""#include <hip/hip_runtime.h>
extern "C" __global__ void chase(const int *next, int *out) {
    int at = threadIdx.x;
    for (int turn = 0; turn < 8; turn++) at = next[at];
    out[blockIdx.x * 64 + threadIdx.x] = at;
}
"""


@pytest.fixture(scope="module")
def profiled():
    kernel = wb.compile(SOURCE, arch="gfx950")["chase"]
    chain = torch.arange(64, dtype=torch.int32)
    out = torch.zeros(64 * 64, dtype=torch.int32)
    return wb.profile(kernel[64, 64], chain, out, device="emulated:gfx950")


def test_every_level_adds_up(profiled):
    tree = profiled.stalls
    assert tree.share == 1
    for _, branch in tree.walk():
        assert 0 <= branch.share <= 1
        if branch.parts:
            assert sum(part.share for part in branch.parts) == pytest.approx(branch.share)
    names = [part.name for part in tree.parts]
    assert {"launch: dispatch and drain", "compute units without work", "waves of a compute unit"} == {*names}
    idle = next(part for part in tree.parts if "without work" in part.name)
    launch = next(part for part in tree.parts if "launch" in part.name)
    assert idle.share == pytest.approx((1 - launch.share) * (1 - 64 / 256), rel=0.05)


def test_a_chase_is_bound_by_its_loads_not_by_its_launch(profiled):
    """No unit works for as long as the launch takes, yet waves wait for several times as long."""
    model = profiled.model
    assert max(model.parts.values()) < model.overhead < model.waiting
    assert model.bound == "WAIT_MEMORY"
    assert model.bound_text == REASONS["WAIT_MEMORY"]


def test_simds_and_waves_add_up_to_the_unit(profiled):
    """Chip, compute unit, SIMD, wave, reason, line, instruction; as much for each reason as without waves."""
    tree, by_wave = profiled.stalls, profiled.wave_stalls
    for _, branch in by_wave.walk():
        if branch.parts:
            assert sum(part.share for part in branch.parts) == pytest.approx(branch.share, abs=1e-6)
    unit, plain = (
        next(b for b in root.parts if b.name == "waves of a compute unit") for root in (by_wave, tree)
    )
    assert [simd.name for simd in unit.parts] == [f"SIMD {i}" for i in range(len(unit.parts))]
    waves = [wave for simd in unit.parts for wave in simd.parts]
    assert len(waves) == len(profiled.model.simulation.unit.waves)
    for reason in plain.parts:
        shares = [part.share for wave in waves for part in wave.parts if part.name == reason.name]
        assert sum(shares) == pytest.approx(reason.share, rel=0.02, abs=0.005)
    [wait, *_] = [b for _, b in by_wave.walk() if b.reason == "WAIT_MEMORY" and b.address is not None]
    assert "s_waitcnt" in wait.name


def test_a_chase_waits_for_its_load_at_its_line(profiled):
    waits = [b for _, b in profiled.stalls.walk() if b.reason == "WAIT_MEMORY"]
    reason, line, wait = waits[:3]
    assert reason.name == REASONS["WAIT_MEMORY"]
    assert line.place is not None
    assert "next[at]" in SOURCE.splitlines()[line.place[1] - 1]
    assert "s_waitcnt" in wait.name
    load, place = wait.waits_for[0]
    assert profiled.kernel.module.instruction(load).record.memory.access is Access.LOAD
    assert place == line.place
    siblings = next(b for _, b in profiled.stalls.walk() if b.name == "waves of a compute unit").parts
    assert siblings[0].reason == "WAIT_MEMORY", "a chase does little else"


def test_headers_inlined_into_one_line_are_listed():
    def leaf(address, header, line):
        place = ("mine.hip", line)
        return Branch(
            "s_barrier", 0.25, reason="AT_BARRIER", place=place, address=address, inlined=header or place
        )

    sync, mma = ("/include/sync.cuh", 26), ("/include/mma.cuh", 164)
    (line,) = _by_line([leaf(0, sync, 7), leaf(4, sync, 7), leaf(8, mma, 7)])
    assert (line.name, line.share) == ("line 7", 0.75)
    assert [(part.name, part.share) for part in line.parts] == [
        ("sync.cuh, line 26", 0.5),
        ("mma.cuh, line 164", 0.25),
    ]
    assert [part.address for part in line.parts[0].parts] == [0, 4]
    assert str(line).splitlines()[2].endswith("s_barrier  at 0x0")
    for leaves in ([leaf(0, sync, 7), leaf(4, mma, 8)], [leaf(0, None, 7), leaf(4, None, 7)]):
        assert all(part.address is not None for line in _by_line(leaves) for part in line.parts)


def test_the_tree_is_seen(profiled):
    html = profiled.stalls._repr_html_()
    for text in ("where the time goes", "waits for a load from memory", "the load of line 4", "modelled"):
        assert text in html, text
    assert "% " in str(profiled.stalls)
    assert profiled.compact().stalls == profiled.stalls


def test_the_isa_view_gets_the_load_of_each_wait(profiled):
    isa = listing(profiled.kernel)
    loads = {isa.texts[wait].split()[0]: isa.texts[load].split()[0] for wait, load in isa.waits}
    assert loads["s_waitcnt"].startswith(("global_load", "s_load")), loads
    assert isa.to_dict()["waits"] == [list(pair) for pair in isa.waits]
    assert listing(wb.compile(SOURCE, arch="gfx950")["chase"]).waits == isa.waits, "it is the same code"
    assert not listing(wb.compile(SOURCE, arch="gfx942")["chase"]).waits, "of other code nothing is known"


def test_the_panel_beside_the_isa_view_shows_the_latest_timeline(profiled, displayed, capsys):
    hub.publish("profile", profiled.name, profiled)
    panel.timeline("chase")
    assert json.loads(displayed[0].shown[0])["timelines"][0]["kernel"] == "chase"
    folded, answer = displayed[1].children
    assert folded.titles == ("What if",)
    clock = next(
        slider for slider in folded.children[0].children[0].children if slider.description == "clock, GHz"
    )
    clock.value = clock.max / 2
    until = time.monotonic() + 120
    while "times as fast" not in answer.value and time.monotonic() < until:
        time.sleep(0.02)
    assert "clock=1.2e+09" in answer.value, "half the clock that a launch of few groups keeps"
    panel.timeline("unknown")
    assert "There is no profile of unknown" in capsys.readouterr().out
