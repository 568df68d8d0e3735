"""The headers of the tile library: each compiles on its own, quickly and without a warning."""

from __future__ import annotations

import resource
import uuid

import pytest
import torch
from tile_cases import in_turn

import workbench as wb
from workbench import toolchain
from workbench.errors import CompilerNotFound
from workbench.runtime import device
from workbench.targets import TILE_TARGETS
from workbench.toolchain.compiler import kernel_headers

INCLUDE = kernel_headers()

HEADERS = sorted(
    str(path.relative_to(INCLUDE))
    for path in INCLUDE.rglob("*.cuh")
    # Includes pybind11: host modules are compiled with it in tests/test_host_module.py.
    # The other ends what push_names.cuh begins; every header has both.
    if path.parent.name != "pyutils" and path.name != "pop_names.cuh"
)


@pytest.mark.parametrize("arch", TILE_TARGETS)
@pytest.mark.parametrize("header", HEADERS)
def test_stands_alone_without_warnings(header: str, arch: str) -> None:
    """Each header on one target, chosen by the seed; "kittens.cuh" includes all of them, on both."""
    if header != "kittens.cuh" and not in_turn(header, arch):
        pytest.skip("the other target's turn")
    source = f'#include "{header}"\n__global__ void nothing() {{}}\n'
    module = wb.compile(source, arch=arch, name="alone.hip", flags=("-Wall", "-Wextra", "-g0"))
    assert not module.result.diagnostics, "\n".join(d.text for d in module.result.diagnostics)


SMALL = """
#include "kittens.cuh"
using namespace kittens;

struct scale_globals {
    gl<bf16, -1, -1, -1, -1> x, out;
    float factor;
};

__global__ void scale(const scale_globals g) {
    rt_bf<16, 64> tile;
    load(tile, g.x, {0, 0, static_cast<int>(blockIdx.x), 0});
    mul(tile, tile, base_types::constants<bf16>::of(g.factor));
    store(g.out, tile, {0, 0, static_cast<int>(blockIdx.x), 0});
}
"""


@pytest.mark.parametrize("compiler", ["zig", "clang"])
def test_small_cell_compiles_in_under_three_seconds(compiler: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """CPU time of a first cell, without a precompiled header."""
    monkeypatch.setenv("HIPKITTENS_COMPILER", compiler)
    try:
        toolchain.find_compiler("gfx950")
    except CompilerNotFound as error:
        pytest.skip(str(error).splitlines()[0])
    times = []
    for _ in range(2):
        # A name that is in no cache; text before the include rules out a precompiled header.
        source = f'constexpr char cell[] = "{uuid.uuid4()}";\n{SMALL}'
        start = resource.getrusage(resource.RUSAGE_CHILDREN)
        wb.compile(source, arch="gfx950", name="small.hip")
        end = resource.getrusage(resource.RUSAGE_CHILDREN)
        times.append(end.ru_utime + end.ru_stime - start.ru_utime - start.ru_stime)
    print(f"{compiler}: {min(times):.2f} s")
    assert min(times) < 3.0, times


UNOPTIMIZED = """
#include "kittens.cuh"
using namespace kittens;

using tile = st_bf<64, 64, st_16x64_s>;
using stream = tile_stream<4, tile>;

using rows_of_64 = gl<bf16, 1, 1, -1, 64>;

__global__ __launch_bounds__(256) void copies(rows_of_64 x, rows_of_64 loaded, rows_of_64 streamed) {
    extern __shared__ alignment_dummy __shm[];
    shared_allocator al(reinterpret_cast<int *>(&__shm[0]));
    tile(&s)[2] = al.allocate<tile, 2>();
    group<4>::load(s[0], x, {0, 0, 0, 0});
    const uint32_t pitch = stream::bytes_of(64);
    const i32x4 rows = stream::rows_resource(x.raw_ptr, 0, static_cast<int>(x.rows()), pitch);
    stream(pitch).start(rows, 0, stream::lds_base(s[1]));
    wait_and_barrier();
    group<4>::store(loaded, s[0], {0, 0, 0, 0});
    group<4>::store(streamed, s[1], {0, 0, 0, 0});
}
"""


@pytest.mark.parametrize("level", ["-O0", "-O1"])
def test_direct_loads_at_any_level_of_optimization(arch: str, level: str) -> None:
    """Scalar operands of inline assembly are in scalar registers without optimization too."""
    module = wb.compile(UNOPTIMIZED, arch=arch, name="copies.hip", flags=(level, "-Wall", "-Wextra"))
    assert not module.result.diagnostics
    x = torch.randn(50, 64, generator=torch.Generator().manual_seed(1)).bfloat16()
    loaded, streamed = torch.full((2, 64, 64), 7.0).bfloat16().unbind()
    arguments = {"x": x, "loaded": loaded, "streamed": streamed}
    with wb.sanitizing() as watch:
        module["copies"].launch(
            wb.Launch(1, 256, 2 * 64 * 64 * 2), (), arguments, device=device(f"emulated:{arch}")
        )
    watch.check()
    expected = torch.cat([x, torch.zeros(14, 64).bfloat16()])
    assert torch.equal(loaded, expected)
    assert torch.equal(streamed, expected)
