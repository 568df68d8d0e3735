"""The range of a launch's time on targets whose units are not simulated."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

import workbench as wb  # noqa: E402
from workbench.origin import Origin  # noqa: E402
from workbench.profile.counters import Tally  # noqa: E402
from workbench.profile.results import ProfileResult  # noqa: E402
from workbench.profile.time_range import time_range  # noqa: E402
from workbench.targets import product  # noqa: E402

RX9070XT, RX7900XTX = product("RX 9070 XT"), product("RX 7900 XTX")


def test_a_unit_needs_its_work_at_its_peak_rate() -> None:
    # 64 compute units at 2.97 GHz: 128 SIMDs, 1,024 operations and 128 bytes of LDS a clock and unit.
    clock = 2.97e9
    tally = Tally(
        "gfx1201",
        waves=1000,
        lanes=32,
        classes={"valu": 1_280_000 + 500, "lds": 1000, "vmem_load": 1000},
        matrix_counts={"F16": 500},
        matrix_ops={"F16": 500 * 8192},
        device={"global_bytes_read": 6_400_000, "lds_bytes_read": 819_200},
    )
    bounds = time_range(tally, RX9070XT, 1000, 1, 0)
    assert bounds.units["vector ALU"] == pytest.approx(1e6 * 10_000 / clock)
    assert bounds.units["matrix units"] == pytest.approx(1e6 * 500 * 8192 / 1024 / 64 / clock)
    assert bounds.units["LDS"] == pytest.approx(1e6 * 100 / clock)
    assert bounds.units["memory"] == pytest.approx(10.0)
    assert bounds.bound == "memory"
    assert bounds.least.value == pytest.approx(10.0)
    # 16 rounds of 64 groups; a wave has 1,280 vector instructions of 5 cycles, half a matrix instruction of
    # 32 + 5, one access to LDS of 128 and one to memory of a microsecond.
    of_a_wave = (1280 * 5 + 37 / 2 + 128) / (0.7 * clock) * 1e6 + 1.0
    assert bounds.chain == pytest.approx(16 * of_a_wave)
    units = sum(value for unit, value in bounds.units.items() if unit != "memory")
    assert bounds.most.value == pytest.approx(units / 0.7 + 10.0 / 0.6 + bounds.chain)
    # Of a tensor of 640,000 bytes that is read ten times, memory sends each byte at least once.
    again = time_range(tally, RX9070XT, 1000, 1, 640_000)
    assert again.units["memory"] == pytest.approx(1.0)
    assert again.most == bounds.most


def test_bytes_are_those_of_iu8() -> None:
    tally = Tally("gfx1100", waves=1, lanes=32, matrix_counts={"IU8": 1}, matrix_ops={"IU8": 8192})
    bounds = time_range(tally, RX7900XTX, 1, 1, 0)
    assert bounds.least.value == pytest.approx(1e6 * 8192 / 512 / 96 / 2.5e9)


SOURCE = """
#include <hip/hip_runtime.h>
__global__ void copy(const float *x, float *out) {
    const int i = blockIdx.x * 256 + threadIdx.x;
    out[i] = x[i];
}
"""


def test_a_profile_says_the_range_and_has_no_time() -> None:
    module = wb.compile(SOURCE, arch="gfx1201", name="copy.hip")
    x, out = torch.ones(1 << 16), torch.zeros(1 << 16)
    profile = wb.profile(module["copy"][256, 256], x, out, device="emulated:gfx1201")
    assert isinstance(profile, ProfileResult)
    assert not profile.has_time
    bounds = profile.time_range
    assert bounds is not None
    # 2 tensors of 256 KiB at 640 GB/s; a wave has two accesses of a microsecond, the arguments' besides.
    assert bounds.least.value == pytest.approx(2 * 262144 / 0.64e6)
    assert 3 < bounds.chain < 5
    assert bounds.least.origin is bounds.most.origin is Origin.MODELLED
    assert f"at least {bounds.least.value:.3g} us (memory at its peak rate)" in str(profile)
    assert "assumed" in str(profile)
    assert "assumed" in profile._repr_html_()
    with pytest.raises(wb.errors.ProfilerError, match="at least"):
        print(profile.time)


def test_a_target_with_times_has_no_range() -> None:
    module = wb.compile(SOURCE, arch="gfx950", name="copy.hip")
    x, out = torch.ones(256), torch.zeros(256)
    profile = wb.profile(module["copy"][1, 256], x, out, device="emulated:gfx950")
    assert isinstance(profile, ProfileResult)
    assert profile.has_time
    assert profile.time_range is None
