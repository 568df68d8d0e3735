"""The switch "as hardware": its settings for launches, by its variable and for programs."""

from __future__ import annotations

import warnings

import pytest

torch = pytest.importorskip("torch")

import workbench as wb  # noqa: E402
from workbench import approximation, bounds, errors, lateness, live_tensors  # noqa: E402
from workbench.kernel import program  # noqa: E402
from workbench.settings import AS_HARDWARE  # noqa: E402

SOURCE = """#include <hip/hip_runtime.h>
__global__ void k(const float *x, float *out, int by) {
    __shared__ float s[64];
    unsigned at = 4 * threadIdx.x;
    float value, twice, inverse;
    // No wait before the load's value is used.
    asm volatile("v_mov_b32 %1, 0\\n\\tglobal_load_dword %1, %2, %3\\n\\tv_add_f32 %0, %1, %1\\n\\t"
                 "s_waitcnt vmcnt(0)" : "=&v"(twice), "=&v"(value) : "v"(at), "s"(x));
    asm volatile("v_rcp_f32 %0, %1" : "=v"(inverse) : "v"(value));
    s[threadIdx.x] = value;
    __syncthreads();
    float beyond = s[(int)threadIdx.x + by];
    out[threadIdx.x] = twice;
    out[threadIdx.x + 64] = inverse;
    out[threadIdx.x + 128] = threadIdx.x < 32 ? beyond : 0;
}
"""
VARIABLES = (AS_HARDWARE, lateness.VARIABLE, approximation.VARIABLE, bounds.SHARED, bounds.TENSORS)


@pytest.fixture(autouse=True)
def _nothing_is_set(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in VARIABLES:
        monkeypatch.delenv(variable, raising=False)


def run(by: int = 1) -> tuple[bool, bool, bool]:
    """True if a launch's loads came late, its inverses had errors, an access beyond LDS gave a warning."""
    module = wb.compile(SOURCE, arch="gfx942", name="as_hardware.hip")
    x, out = torch.arange(1.0, 65.0), torch.zeros(192)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        module["k"].launch(wb.Launch(1, 64), (x, out, by), {}, device=wb.device("emulated:gfx942"))
    inverses = out[64:128]
    torch.testing.assert_close(inverses, 1 / x, rtol=2**-22, atol=0)
    return (
        torch.equal(out[:64], torch.zeros(64)),
        not torch.equal(inverses, 1 / x),
        any(warning.category is errors.SharedMemoryOverrun for warning in caught),
    )


def test_a_block_sets_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    assert run() == (False, False, True)
    with wb.as_hardware():
        assert run() == (True, True, True)
    monkeypatch.setenv(bounds.SHARED, "exact")
    monkeypatch.setenv(bounds.TENSORS, "exact")
    with pytest.raises(errors.SharedMemoryFault):
        run()
    assert live_tensors.granularity() == 4
    with wb.as_hardware(5):
        assert run()[1:] == (True, True)
        assert live_tensors.granularity() == 512
    with pytest.raises(errors.SharedMemoryFault):
        run()
    for wrong in (-1, True, "often"):
        with pytest.raises(errors.UsageError, match="expected"), wb.as_hardware(wrong):
            pass


def test_the_variable_sets_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(AS_HARDWARE, "last")
    assert run() == (True, True, True)
    monkeypatch.setenv(AS_HARDWARE, "0")
    assert run(0) == (False, False, False)


def test_single_settings_take_precedence(monkeypatch: pytest.MonkeyPatch) -> None:
    def settings() -> tuple[str, int | None, bool]:
        late, errs = lateness.default_lateness(), approximation.default_approximation()
        return str(late), errs.seed if errs else None, bounds.is_exact(bounds.SHARED)

    assert settings() == ("None", None, False)
    monkeypatch.setenv(AS_HARDWARE, "7")
    assert settings() == ("7", 7, False)
    monkeypatch.setenv(AS_HARDWARE, "last")
    assert settings() == ("last", 1, False)
    monkeypatch.setenv(lateness.VARIABLE, "3")
    monkeypatch.setenv(approximation.VARIABLE, "4")
    monkeypatch.setenv(bounds.SHARED, "exact")
    assert settings() == ("3", 4, True)
    with wb.as_hardware(8):
        assert settings() == ("8", 8, False)
        assert bounds.is_exact(bounds.SHARED, "exact")
        with wb.late_loads(9):
            assert settings() == ("9", 8, False)
    monkeypatch.delenv(lateness.VARIABLE)
    monkeypatch.setenv(AS_HARDWARE, "often")
    with pytest.raises(errors.UsageError, match="HIPKITTENS_AS_HARDWARE is 'often'; expected 'last', or a"):
        settings()


def test_programs_of_a_block_are_reported() -> None:
    assert not {*VARIABLES} & {*program._environment(None)}
    with wb.as_hardware(6):
        environment = program._environment(None)
    assert [environment.get(name) for name in VARIABLES] == [None, "6", "6", "hardware", "hardware"]
