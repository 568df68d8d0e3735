"""Traces of memory accesses: every lane's address, and LDS phases that add up to the counters."""

from __future__ import annotations

import pytest
import torch

import workbench as wb
from workbench.emulator.native.observe.trace import Trace
from workbench.errors import LaunchError
from workbench.launches import Access, AccessKind
from workbench.runtime import LaunchOptions, LaunchRecord, device
from workbench.targets import TILE_TARGETS

SOURCE = """
#include <hip/hip_runtime.h>
__shared__ float share[64 * 33];
__global__ void columns(const float *in, float *out, int step) {
    share[threadIdx.x * step] = in[threadIdx.x];
    __syncthreads();
    if (threadIdx.x < 48) out[63 - threadIdx.x] = share[(63 - threadIdx.x) * step];
}
"""


def run(arch: str, step: int) -> tuple[LaunchRecord, torch.Tensor, torch.Tensor]:
    module = wb.compile(SOURCE, arch=arch, name="columns.hip")
    x, out = torch.arange(64.0), torch.zeros(64)
    record = module["columns"].launch(
        wb.Launch(1, 64, 0),
        (x, out, step),
        {},
        device=device(f"emulated:{arch}"),
        options=LaunchOptions(trace=True),
    )
    return record, x, out


def access_of(record: LaunchRecord, kind: AccessKind) -> Access:
    (found,) = [a for a in record.accesses if a.kind is kind]
    return found


@pytest.mark.parametrize("arch", TILE_TARGETS)
@pytest.mark.parametrize("step", [1, 2, 32, 33])
def test_addresses_and_conflicts(arch: str, step: int) -> None:
    """Dwords `step` apart: 32 lanes a phase on 32 banks, so every bank gets gcd(step, 32) lanes."""
    record, x, out = run(arch, step)
    assert torch.equal(out[16:], x[16:])
    read, write = access_of(record, AccessKind.LDS_READ), access_of(record, AccessKind.LDS_WRITE)
    assert write.addresses == {lane: 4 * lane * step for lane in range(64)}
    assert read.addresses == {lane: 4 * (63 - lane) * step for lane in range(48)}
    together = {1: 1, 2: 2, 32: 32, 33: 1}[step]
    assert [p.lanes for p in write.phases] == [tuple(range(32)), tuple(range(32, 64))]
    assert [p.cycles for p in write.phases] == [together, together]
    assert [p.cycles for p in read.phases] == [together, -(-together // 2)]
    busy = {lane * step % 32 for lane in range(32)} if together > 1 else set()
    assert [p.conflicting_banks for p in write.phases] == [busy, busy]
    assert (write.banks, write.bytes) == (32, 4)
    assert write.conflicts + read.conflicts == record.counters["lds_bank_conflict"]
    loads, stores = access_of(record, AccessKind.GLOBAL_READ), access_of(record, AccessKind.GLOBAL_WRITE)
    assert loads.addresses == {lane: x.data_ptr() + 4 * lane for lane in range(64)}
    assert stores.addresses == {lane: out.data_ptr() + 4 * (63 - lane) for lane in range(48)}
    assert (loads.banks, loads.phases) == (0, ())


def test_nothing_is_stored_without_request() -> None:
    module = wb.compile(SOURCE, arch="gfx950", name="columns.hip")
    record = module["columns"].launch(
        wb.Launch(1, 64, 0),
        (torch.zeros(64), torch.zeros(64), 1),
        {},
        device=device("emulated:gfx950"),
        options=LaunchOptions(profile=True),
    )
    assert record.accesses == ()


def test_too_many_accesses() -> None:
    trace = Trace(room=1)
    trace._trace.count = 2
    with pytest.raises(LaunchError, match="2 memory accesses, and a trace holds 1"):
        trace.take()
