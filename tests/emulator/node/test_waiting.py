"""Work-groups that wait for each other: as many as the device holds, in linear time; deadlocks."""

from __future__ import annotations

import functools
import re
import threading
from collections.abc import Callable
from typing import Any

import pytest
import torch

import workbench as wb
from workbench import errors
from workbench.emulator.native import abi
from workbench.emulator.node import dispatch, helpers
from workbench.kernel import Module
from workbench.runtime import LaunchOptions

SOURCE = """
#include <hip/hip_runtime.h>
#define AGENT __HIP_MEMORY_SCOPE_AGENT
#define LOAD(p) __hip_atomic_load(p, __ATOMIC_ACQUIRE, AGENT)
#define STORE(p, x) __hip_atomic_store(p, x, __ATOMIC_RELEASE, AGENT)

template <bool sleeps> __device__ void wait_for(unsigned *p, unsigned least) {
    while (LOAD(p) < least)
        if (sleeps) __builtin_amdgcn_s_sleep(1);
}
template <bool sleeps> __device__ void meet(unsigned *arrived, unsigned turn, int *x, int *out) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x, n = gridDim.x * blockDim.x;
    x[(turn & 1) * n + i] = i + turn;
    __syncthreads();
    if (threadIdx.x == 0) {
        __hip_atomic_fetch_add(arrived, 1u, __ATOMIC_ACQ_REL, AGENT);
        wait_for<sleeps>(arrived, (turn + 1) * gridDim.x);
    }
    __syncthreads();
    out[i] += x[(turn & 1) * n + (i + blockDim.x) % n];
}
// Barriers of the whole grid.
extern "C" __global__ void sleepers(unsigned *arrived, int *x, int *out, int turns) {
    for (int turn = 0; turn < turns; turn++) meet<true>(arrived, turn, x, out);
}
extern "C" __global__ void spinners(unsigned *arrived, int *x, int *out, int turns) {
    for (int turn = 0; turn < turns; turn++) meet<false>(arrived, turn, x, out);
}
// All threads meet around each look.
extern "C" __global__ void meeting_spinners(unsigned *arrived, int *x, int *out, int turns) {
    __shared__ unsigned seen;
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (threadIdx.x == 0) __hip_atomic_fetch_add(arrived, 1u, __ATOMIC_ACQ_REL, AGENT);
    do {
        __syncthreads();
        if (threadIdx.x == 0) seen = LOAD(arrived);
        __syncthreads();
    } while (seen < gridDim.x);
    out[i] = seen;
}
// Work-group i goes on after work-group i + 1.
extern "C" __global__ void chain(unsigned *done, int *out) {
    const unsigned next = blockIdx.x + 1;
    if (threadIdx.x == 0) {
        if (next < gridDim.x) wait_for<true>(done + next, 1);
        out[blockIdx.x] = next < gridDim.x ? out[next] + 1 : 1;
        STORE(done + blockIdx.x, 1u);
    }
}
// Stream-K: work-groups share the steps of tiles evenly, and the first of a tile adds up what the others did.
extern "C" __global__ void stream_k(unsigned *done, float *partial, const float *x, float *sums, int tiles,
                                    int steps) {
    const int share = (tiles * steps + gridDim.x - 1) / gridDim.x;
    int step = blockIdx.x * share;
    const int end = min(step + share, tiles * steps);
    while (step < end) {
        const int tile = step / steps, last = min(end, (tile + 1) * steps);
        const bool first = step == tile * steps;
        float sum = 0;
        for (; step < last; step++) sum += x[step * blockDim.x + threadIdx.x];
        if (!first) {
            partial[blockIdx.x * blockDim.x + threadIdx.x] = sum;
            __threadfence();
            __syncthreads();
            if (threadIdx.x == 0) STORE(done + blockIdx.x, 1u);
            continue;
        }
        for (int other = blockIdx.x + 1; other * share < (tile + 1) * steps && other < gridDim.x; other++) {
            wait_for<false>(done + other, 1);
            sum += partial[other * blockDim.x + threadIdx.x];
        }
        sums[tile * blockDim.x + threadIdx.x] = sum;
    }
}
// Decoupled look-back: sums of the blocks before, which have a status word each: 1 << 30 and the own sum, or
// 2 << 30 and that of all so far.
extern "C" __global__ void look_back(unsigned *status, const unsigned *x, unsigned *out) {
    __shared__ unsigned before;
    const unsigned lane = threadIdx.x, mask = (1u << 30) - 1;
    unsigned sum = x[blockIdx.x * 64 + lane];
    for (int d = 1; d < 64; d *= 2) {
        const unsigned other = __shfl_up(sum, d);
        if (lane >= d) sum += other;
    }
    if (lane == 63) STORE(status + blockIdx.x, (blockIdx.x ? 1u : 2u) << 30 | sum);
    unsigned exclusive = 0;
    for (int newest = (int)blockIdx.x - 1; newest >= 0; newest -= 64) {
        const int mine = newest - (int)lane;
        unsigned word;
        do word = mine >= 0 ? LOAD(status + mine) : 2u << 30;
        while (__any(word >> 30 == 0));
        const unsigned long long whole = __ballot(word >> 30 == 2);
        const int stop = whole ? __ffsll(whole) - 1 : 63;
        unsigned part = (int)lane <= stop ? word & mask : 0;
        for (int d = 32; d; d /= 2) part += __shfl_xor(part, d);
        exclusive += part;
        if (whole) break;
    }
    if (lane == 63 && blockIdx.x) STORE(status + blockIdx.x, 2u << 30 | (exclusive + sum));
    out[blockIdx.x * 64 + lane] = exclusive + sum;
}
// 64 KiB of LDS: one work-group a compute unit of gfx942.
extern "C" __global__ void large(unsigned *arrived, int *out) {
    __shared__ int space[16384];
    space[threadIdx.x] = blockIdx.x;
    if (threadIdx.x == 0) {
        __hip_atomic_fetch_add(arrived, 1u, __ATOMIC_ACQ_REL, AGENT);
        wait_for<true>(arrived, gridDim.x);
    }
    __syncthreads();
    out[blockIdx.x] = space[threadIdx.x];
}
__device__ unsigned never_written;
extern "C" __global__ void nobody_writes(int *out) {
    if (threadIdx.x == 0)
        while (LOAD(&never_written) == 0) {}
    __syncthreads();
    out[threadIdx.x] = 1;
}
template <bool sleeps> __device__ void wait_in_shared(int *out) {
    __shared__ unsigned flags[8];
    if (threadIdx.x < 8) flags[threadIdx.x] = 0;
    __syncthreads();
    if (threadIdx.x == 64)
        while (__hip_atomic_load(flags + 5, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP) == 0)
            if (sleeps) __builtin_amdgcn_s_sleep(1);
    __syncthreads();
    out[threadIdx.x] = flags[5];
}
extern "C" __global__ void shared_sleeper(int *out) { wait_in_shared<true>(out); }
extern "C" __global__ void shared_spinner(int *out) { wait_in_shared<false>(out); }
extern "C" __global__ void crossed_locks(unsigned *locks) {
    if (threadIdx.x != 0) return;
    while (__hip_atomic_exchange(locks + blockIdx.x, 1u, __ATOMIC_ACQUIRE, AGENT)) {}
    __hip_atomic_fetch_add(locks + 2, 1u, __ATOMIC_ACQ_REL, AGENT);
    wait_for<true>(locks + 2, 2);
    while (__hip_atomic_exchange(locks + 1 - blockIdx.x, 1u, __ATOMIC_ACQUIRE, AGENT)) {}
}
// Waits that end by themselves.
extern "C" __global__ void gives_up(unsigned *flag, unsigned *tries, unsigned most) {
    unsigned n = 0;
    while (LOAD(flag) == 0 && n < most) n++;
    if (threadIdx.x == 0) tries[blockIdx.x] = n;
}
extern "C" __global__ void gives_up_in_time(unsigned *flag, int *out, long long ticks) {
    const long long start = wall_clock64();
    while (LOAD(flag) == 0 && wall_clock64() - start < ticks) __builtin_amdgcn_s_sleep(8);
    out[blockIdx.x] = 1;
}
extern "C" __global__ void host_writes(unsigned *flag, int *out) {
    wait_for<true>(flag, 1);
    out[blockIdx.x] = 1;
}
// Work that looks a little like waiting: the same memory again and again.
extern "C" __global__ void rereads(const volatile unsigned *table, unsigned *out, int rounds) {
    unsigned a = threadIdx.x, b = 1, c = 2, d = 3;
    for (int i = 0; i < rounds; i++) {
        const unsigned x = table[threadIdx.x & 15];
        a = a * 3 + x; b = b * 5 + a; c ^= b + x; d += c * 7;
    }
    out[blockIdx.x * blockDim.x + threadIdx.x] = a ^ b ^ c ^ d;
}
extern "C" __global__ void tickets(int *next, int *order) {
    if (threadIdx.x == 0) order[atomicAdd(next, 1)] = blockIdx.x;
}
extern "C" __global__ void doubles(int *x) { x[blockIdx.x * blockDim.x + threadIdx.x] *= 2; }
"""
LARGE_ON_GFX942 = 304


@pytest.fixture(scope="module")
def module() -> Module:
    return wb.compile(SOURCE, arch="gfx942", name="waiting.hip")


@pytest.fixture
def outcomes(monkeypatch: pytest.MonkeyPatch) -> list[dispatch.Outcome]:
    """Outcomes of launches, as the driver returns them."""
    seen: list[dispatch.Outcome] = []
    run = dispatch.run

    def noted(*args: object, **kwargs: object) -> dispatch.Outcome:
        seen.append(run(*args, **kwargs))  # type: ignore[arg-type]
        return seen[-1]

    monkeypatch.setattr(dispatch, "run", noted)
    return seen


@pytest.fixture
def soon(set_pace: Callable[..., None]) -> None:
    """A deadlock is detected at once: no other thread writes what these launches wait for."""
    set_pace(deadlock=0.0)


@pytest.fixture(params=["1", "3"])
def threads(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("HIPKITTENS_THREADS", request.param)
    return str(request.param)


def line_of(text: str) -> int:
    return next(n for n, line in enumerate(SOURCE.splitlines(), 1) if text in line)


def words(count: int) -> torch.Tensor:
    return torch.zeros(count, dtype=torch.int32)


def meeting(module: Module, kernel: str, groups: int, block: int, turns: int) -> None:
    """A launch with barriers of the whole grid; its results are right."""
    items = groups * block
    out = words(items)
    module[kernel][groups, block](words(1), words(2 * items), out, turns)
    neighbours = (torch.arange(items) + block) % items
    expected = turns * neighbours + turns * (turns - 1) // 2
    assert torch.equal(out, expected.to(torch.int32))


@pytest.mark.parametrize("kernel", ["sleepers", "spinners"])
def test_a_grid_of_all_that_the_device_holds_meets(
    module: Module, soon: None, threads: str, kernel: str
) -> None:
    meeting(module, kernel, 608, 128, 3)


def test_waves_that_meet_around_each_look(module: Module, soon: None, threads: str) -> None:
    out = words(100 * 128)
    module["meeting_spinners"][100, 128](words(1), words(1), out, 1)
    assert (out == 100).all()


def test_without_optimisation(soon: None) -> None:
    """Loop counters and pointers are in scratch."""
    module = wb.compile(SOURCE, arch="gfx942", name="waiting.hip", flags=["-O0"])
    meeting(module, "spinners", 80, 64, 2)


def test_sanitized(module: Module, soon: None) -> None:
    items = 200 * 64
    report = wb.sanitize(module["sleepers"][200, 64], words(1), words(2 * items), words(items), 4)
    assert report.passed, str(report)


@pytest.mark.parametrize("kernel", ["sleepers", "spinners"])
def test_waiting_takes_linear_time(
    module: Module,
    soon: None,
    outcomes: list[dispatch.Outcome],
    monkeypatch: pytest.MonkeyPatch,
    kernel: str,
) -> None:
    monkeypatch.setenv("HIPKITTENS_THREADS", "1")
    turns = {}
    for groups, barriers in ((40, 5), (320, 5), (40, 40)):
        meeting(module, kernel, groups, 64, barriers)
        turns[groups, barriers] = outcomes[-1].turns / (groups * barriers)
    assert max(turns.values()) < 4, turns


def test_a_chain_against_the_order_takes_linear_time(
    module: Module, soon: None, outcomes: list[dispatch.Outcome], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HIPKITTENS_THREADS", "1")
    for groups in (50, 400):
        out = words(groups)
        module["chain"][groups, 64](words(groups), out)
        assert out.tolist() == list(range(groups, 0, -1))
        assert outcomes[-1].turns < 8 * groups


def test_stream_k_in_a_plain_launch(module: Module, soon: None, threads: str) -> None:
    groups, tiles, steps, block = 304, 100, 7, 64
    x = torch.randint(-8, 8, (tiles * steps, block)).float()
    sums = torch.zeros(tiles, block)
    module["stream_k"][groups, block](words(groups), torch.zeros(groups, block), x, sums, tiles, steps)
    assert torch.equal(sums, x.reshape(tiles, steps, block).sum(1))


def test_a_decoupled_look_back_in_a_plain_launch(module: Module, soon: None, threads: str) -> None:
    groups = 5000
    x = torch.randint(0, 5, (groups * 64,), dtype=torch.int32)
    out = words(groups * 64)
    module["look_back"][groups, 64](words(groups), x, out)
    assert torch.equal(out, x.cumsum(0).to(torch.int32))


def test_work_groups_that_do_not_wait_run_one_after_the_other(
    module: Module,
    outcomes: list[dispatch.Outcome],
    monkeypatch: pytest.MonkeyPatch,
    set_pace: Callable[..., None],
) -> None:
    # A call that reaches its limit ends a turn, on a busy machine sooner.
    set_pace(first_slice=1 << 62, slice=1 << 62)
    monkeypatch.setenv("HIPKITTENS_THREADS", "1")
    module["doubles"][500, 256](words(500 * 256))
    assert outcomes[-1].turns == 500
    table = torch.arange(16, dtype=torch.int32)
    module["rereads"][6, 64](table, words(6 * 64), 20000)
    assert outcomes[-1].turns == 6


def test_each_thread_takes_a_part_of_what_is_left(
    module: Module, set_pace: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two threads that run one work-group in turns: neighbours go to the same one, the last go to either."""
    monkeypatch.setenv("HIPKITTENS_THREADS", "2")
    set_pace(first_slice=0, slice=0)
    turn, results = dispatch._Running._turn, [abi.RUN_AGAIN, abi.RUN_AGAIN]

    def in_turns(running: Any, worker: Any, nanoseconds: int) -> int:
        for number, each in enumerate(running._workers):
            if results[number] == abi.RUN_AGAIN:
                results[number] = turn(running, each, 0)
        return max(results, key=lambda result: result == abi.RUN_AGAIN)

    monkeypatch.setattr(dispatch._Running, "_turn", in_turns)
    monkeypatch.setattr(helpers.Helper, "start", lambda *_: None)
    order = words(500)
    module["tickets"][500, 64](words(1), order)
    numbers = order.tolist()
    assert sorted(numbers) == list(range(500))
    # Number 0 runs before the second thread is there. Then each takes a fifth of what is left: 99 and 80.
    assert numbers[1:161:2] == list(range(1, 81))
    assert numbers[2:162:2] == list(range(100, 180))
    assert sorted(numbers[-4:]) == [496, 497, 498, 499]


@pytest.mark.parametrize(("target", "units"), [("gfx942", 304), ("gfx950", 256)])
def test_the_device_holds_what_its_occupancy_says(
    target: str, units: int, outcomes: list[dispatch.Outcome]
) -> None:
    source = """#include <hip/hip_runtime.h>
    extern "C" __global__ void k(int *x, int n) {
        extern __shared__ int s[]; s[threadIdx.x] = n; __syncthreads(); x[threadIdx.x] = s[n];
    }"""
    kernel = wb.compile(source, arch=target, name="k.hip")["k"]
    kernel[1, 256, 1024](words(256), 1)
    assert outcomes[-1].resident == 8 * units
    kernel[1, 256, 40000](words(256), 1)
    assert outcomes[-1].resident == (1 if target == "gfx942" else 4) * units


@pytest.mark.parametrize("sanitize", [False, True])
def test_those_that_never_start_are_named(module: Module, soon: None, threads: str, sanitize: bool) -> None:
    groups = LARGE_ON_GFX942 + 3
    launcher, arguments = module["large"][groups, 64], (words(1), words(groups))
    launch = functools.partial(wb.sanitize, launcher) if sanitize else launcher
    with pytest.raises(errors.KernelDeadlock) as caught:
        launch(*arguments)
    text = str(caught.value)
    line = line_of("while (LOAD(p) < least)")
    assert caught.value.source is not None
    assert caught.value.source[1] == line
    assert f"; 304 work-groups from 0 to 303 wait at waiting.hip:{line} for" in text
    assert re.search(r"for 4 bytes at 0x[0-9a-f]+, byte 0 of argument 'arrived' \(int32 tensor 1\)", text)
    assert "which hold 304;" in text
    assert "work-groups from 304 to 306 never started" in text
    assert "the device holds 304 of them at once" in text


def test_calls_that_end_after_each_look_find_a_deadlock(
    module: Module, soon: None, threads: str, set_pace: Callable[..., None]
) -> None:
    """On a busy computer a thread may reach its time limit before it looks twice."""
    set_pace(slice=1)
    kernel = module["large"]
    launch = kernel[LARGE_ON_GFX942 + 3, 64].launch
    with pytest.raises(errors.KernelDeadlock, match="work-groups from 304 to 306 never started"):
        kernel.launch(launch, (words(1), words(LARGE_ON_GFX942 + 3)), {}, options=LaunchOptions(timeout=60))


def test_threads_that_come_late_have_a_place_left(
    module: Module, set_pace: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HIPKITTENS_THREADS", "4")
    set_pace(deadlock=0.5)

    class LateHelper(helpers.Helper):
        def start(self, *arguments: Any) -> None:
            self.begun = threading.Timer(0.1, super().start, arguments)
            self.begun.start()

        def wait(self, seconds: float) -> bool:
            self.begun.join()
            return super().wait(seconds)

    monkeypatch.setattr(helpers, "taken", LateHelper)
    monkeypatch.setattr(helpers, "_idle", [])
    with pytest.raises(errors.KernelDeadlock, match="work-groups from 304 to 306 never started"):
        module["large"][LARGE_ON_GFX942 + 3, 64](words(1), words(LARGE_ON_GFX942 + 3))
    out = words(LARGE_ON_GFX942)
    module["large"][LARGE_ON_GFX942, 64](words(1), out)
    assert torch.equal(out, torch.arange(LARGE_ON_GFX942, dtype=torch.int32))


def test_no_place_is_left_for_threads_that_cannot_start(
    module: Module, soon: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HIPKITTENS_THREADS", "4")
    taken = iter([helpers.taken()])

    def refuse() -> helpers.Helper:
        helper = next(taken, None)
        if helper is None:
            raise RuntimeError("can't start new thread")
        return helper

    monkeypatch.setattr(helpers, "taken", refuse)
    with pytest.raises(errors.KernelDeadlock, match="work-groups from 304 to 306 never started"):
        module["large"][LARGE_ON_GFX942 + 3, 64](words(1), words(LARGE_ON_GFX942 + 3))


def test_all_that_the_device_holds_start(module: Module, soon: None) -> None:
    out = words(LARGE_ON_GFX942)
    module["large"][LARGE_ON_GFX942, 64](words(1), out)
    assert torch.equal(out, torch.arange(LARGE_ON_GFX942, dtype=torch.int32))


def test_a_variable_that_nobody_writes(module: Module, soon: None, threads: str) -> None:
    with pytest.raises(errors.KernelDeadlock) as caught:
        module["nobody_writes"][(2, 2), 128](words(128))
    text = str(caught.value)
    line = line_of("while (LOAD(&never_written)")
    assert f"4 work-groups from (0, 0, 0) to (1, 1, 0) wait at waiting.hip:{line} for" in text
    assert "in variable 'never_written', which hold 0" in text
    assert "All work-groups have started" in text


@pytest.mark.parametrize("kernel", ["shared_sleeper", "shared_spinner"])
def test_a_wave_that_waits_in_shared_memory(module: Module, soon: None, kernel: str) -> None:
    with pytest.raises(errors.KernelDeadlock) as caught:
        module[kernel][1, 128](words(128))
    text = str(caught.value)
    assert "work-group 0 waits at waiting.hip:" in text
    assert "for 4 bytes of shared memory at byte 20" in text
    assert caught.value.wave == 1


def test_a_wait_for_memory_beyond_shared_memory(soon: None) -> None:
    """The address 0 is read, which is no memory that could be inspected."""
    source = """#include <hip/hip_runtime.h>
    extern "C" __global__ void k(int *out, int at) {
        __shared__ volatile int s[16];
        s[threadIdx.x & 15] = 0;
        while (s[at] == 0) __builtin_amdgcn_s_sleep(1);
        out[threadIdx.x] = s[0];
    }"""
    kernel = wb.compile(source, arch="gfx942", name="k.hip")["k"]
    with pytest.raises(errors.KernelDeadlock, match="for 4 bytes of shared memory at byte 1073741824"):
        kernel[1, 64](words(64), 1 << 28)


def test_two_that_hold_each_other_s_locks(module: Module, soon: None, threads: str) -> None:
    with pytest.raises(errors.KernelDeadlock) as caught:
        module["crossed_locks"][2, 64](words(3))
    text = str(caught.value)
    assert "work-group 0 waits at" in text
    assert "byte 4 of argument 'locks'" in text
    assert "work-group 1 waits at" in text
    assert "byte 0 of argument 'locks'" in text


def test_the_time_limit_names_who_waits(module: Module) -> None:
    kernel = module["nobody_writes"]
    with pytest.raises(errors.KernelTimeout) as caught:
        kernel.launch(kernel[2, 64].launch, (words(64),), {}, options=LaunchOptions(timeout=0.5))
    assert not isinstance(caught.value, errors.KernelDeadlock)
    assert "time limit of 0.5 s" in str(caught.value)
    assert "2 work-groups from 0 to 1 wait at waiting.hip:" in str(caught.value)


def test_a_group_that_counts_or_reads_a_clock_is_not_stuck(module: Module, soon: None, threads: str) -> None:
    tries = words(20)
    module["gives_up"][20, 64](words(1), tries, 30000)
    assert (tries == 30000).all()
    out = words(20)
    module["gives_up_in_time"][20, 64](words(1), out, 20_000_000)
    assert (out == 1).all()


def test_what_the_host_may_write_is_waited_for(module: Module, soon: None) -> None:
    """Memory that a program registers belongs to it while a kernel runs."""
    from workbench import runtime
    from workbench.runtime.hip import api

    hip = api(runtime.device("emulated:gfx942").backend)
    flag, out = words(1024), words(4)
    assert int(hip.hipHostRegister(flag.data_ptr(), 4096, 0)[0]) == 0
    try:
        timer = threading.Timer(0.3, flag.fill_, (1,))
        timer.start()
        module["host_writes"][4, 64](flag, out)
    finally:
        hip.hipHostUnregister(flag.data_ptr())
    assert (out == 1).all()
