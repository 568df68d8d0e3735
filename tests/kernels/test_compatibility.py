"""Names and forms of HipKittens: the page's names exist here, with the same meaning."""

from __future__ import annotations

import subprocess
from pathlib import Path

import compatibility
import compatibility_tables
import hipkittens_sources
import pytest
import torch
from test_art import PinnedBatch
from tile_cases import Batch, close, distinct, random

import workbench as wb
from workbench.compatibility import missing
from workbench.runtime import device

CORNER = "{0, 0, 0, 0}"


@pytest.mark.parametrize("branch", compatibility.BRANCHES)
def test_names_of_the_page(branch: str) -> None:
    names = compatibility.stated()[branch]
    assert len(names) > 400
    assert missing(names, compatibility.BRANCHES[branch].arch, compatibility.BRANCHES[branch].define) == set()


def test_the_page_gives_the_reason_for_every_wrong_result() -> None:
    text = compatibility_tables.section("sources")
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines()]
    # The first table is for the compiler on which all sources were tried.
    ours: dict[tuple[str, ...], str] = {}
    for row in rows:
        if len(row) > 4 and row[2].startswith("gfx"):
            ours.setdefault(tuple(row[:2]), row[3])
    assert len(ours) > 100
    reasons = {tuple(row[:2]): row[3] for row in rows if len(row) == 4 and row[2] in compatibility.RESULTS}
    assert [name for name, result in ours.items() if result != "right" and not reasons.get(name)] == []


def test_the_page_has_each_cause_with_its_own_headers() -> None:
    """Sources by branch and result are in the table of causes, and no cause is unknown."""
    text = compatibility_tables.section("sources")
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines()]
    theirs: dict[tuple[str, str], str] = {}
    for row in rows:
        if len(row) == 6 and row[2].startswith("gfx") and row[4]:
            theirs.setdefault((row[0], row[1]), row[4])
    lacking = {(*name, result) for name, result in theirs.items() if result != "right"}
    causes = [row for row in rows if len(row) == 5 and row[1] in compatibility.RESULTS]
    assert len(lacking) > 50
    assert {(row[0], name, row[1]) for row in causes for name in row[4].split(", ")} >= lacking
    assert [row for row in causes if not row[3]] == []


def test_a_file_that_has_moved_is_found_by_a_folder(tmp_path: Path) -> None:
    kernel = tmp_path / "kernels" / "gemm" / "old" / "micros" / "one" / "kernel.cpp"
    for path in (kernel, tmp_path / "kernels" / "utils.cpp", kernel.parents[2] / "utils.cpp"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text('#include "../utils.cpp"')
    source = hipkittens_sources.Source("main", tmp_path, kernel, "gfx950", ())
    (folder,) = hipkittens_sources.moved(source)
    assert (folder / "../utils.cpp").resolve() == kernel.parents[2] / "utils.cpp"
    (kernel.parents[1] / "utils.cpp").touch()
    assert hipkittens_sources.moved(source) == []


def test_the_default_compilers_are_those_that_are_here(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A fresh machine has no clang; `recheck` uses the first compiler."""

    def version(name: str) -> str:
        if name in absent:
            raise subprocess.CalledProcessError(1, name)
        return f"{name} 1"

    asked = []
    monkeypatch.setattr(compatibility, "version", version)
    monkeypatch.setattr(compatibility, "recheck", lambda _, given: asked.append(given.compilers) or True)
    for lacking, rest in (({"clang"}, ()), (set(), ()), ({"clang"}, ("--compilers", "/opt/clang++"))):
        absent = lacking
        with pytest.raises(SystemExit) as ended:
            compatibility.main(["recheck", "--main", str(tmp_path), *rest])
        assert ended.value.code == 0
    assert asked == [["zig"], ["clang", "zig"], ["/opt/clang++"]]
    absent = {"clang", "zig"}
    with pytest.raises(SystemExit, match="name a compiler with --compilers"):
        compatibility.main(["recheck", "--main", str(tmp_path)])


def test_sizes_of_a_source_may_be_products() -> None:
    text = "#define M 192*40 // rows\n#define K (8192)\nconstexpr int BLOCK = 64;"
    assert [hipkittens_sources.defined(text, name) for name in ("M", "K", "BLOCK")] == [7680, 8192, 64]


VECTORS = """
#include "kittens.cuh"
using namespace kittens;
template <typename A, typename B> constexpr bool same = detail::is_same<A, B>;
using wide = rt_fl<64, 64, col_l, rt_32x16_s>;
#if defined(KITTENS_CDNA4) && !defined(KITTENS_FP6) || defined(KITTENS_RV_TILE_LENGTH)
static_assert(same<rv<float, 64, 32, rt_32x16_s, align_l>, col_vec<wide>>);
static_assert(same<rv_fl<64, 16, rt_32x16_s, ortho_l>, row_vec<wide>>);
static_assert(same<rv<float, 64, 64>, rv_naive<float, 64>>);
#else
static_assert(same<rv<float, 64, align_l, rt_16x32_s>, col_vec<wide>>);
static_assert(same<rv_fl<64, ortho_l, rt_16x32_s>, row_vec<wide>>);
static_assert(same<rv<float, 64, naive_l>, rv_naive<float, 64>>);
#endif
#if defined(KITTENS_CDNA4) && !defined(KITTENS_FP6)
static_assert(rv_naive<bf16, 130>::outer_dim == 1 && rv_naive<bf16, 130>::inner_dim == 3);
#else
static_assert(rv_naive<bf16, 130>::outer_dim == 3 && rv_naive<bf16, 130>::inner_dim == 1);
#endif
static_assert(same<ducks::rt_layout::transpose<row_l>::type, col_l>);
static_assert(same<ducks::rt_shape::transpose<rt_16x32_s>::type, rt_32x16_s>);
static_assert(wide::base_tile_elements_per_stride_group == 32 && wide::base_tile_threads_per_reduction == 4);
static_assert(size_bytes<st_bf<32, 32>, sv_fl<8>, double> == 2048 + 32 + 8);
using shared = st<bf16, 32, 64>;
static_assert(shared::offset(0, shared::subtile_cols - 1) == shared::swizzle_bytes - sizeof(bf16));
static_assert(shared::offset(0, shared::subtile_cols) == shared::swizzle_repeat);
static_assert(shared::subtile<16, 32>::swizzle_repeat == shared::swizzle_repeat);
static_assert(sizeof(gl<int, 1, 1, -1, 64>::tma_descs) == 1);
template <int N_WARPS> struct of_four { KITTENS_CHECK_WARPGROUP };
template struct of_four<4>;
__global__ void kernel(gl<int, 1, 1, -1, 64> x) {
    typeof(x.raw_ptr[0]) value = x[{0, 0, 1, 0}];
    x[coord<>(int4{0, 0, 0, 0})] = value + warpgroupid() + static_cast<int>(x.rows());
}
template <int length>
__global__ void held(gl<float, 1, 1, 1, length> x, gl<float, 1, 1, 1, length> y, float *out) {
    using vector = rv_naive<float, length>;
    __shared__ sv_fl<length> s;
    vector v, w;
    load(v, x, {0, 0, 0, 0});
    store(s, v);
    wait_lgkmcnt();
    load(w, s);
    for (int o = 0; o < vector::outer_dim; o++)
        for (int i = 0; i < vector::inner_dim; i++)
            if (vector::index(o, laneid(), i) < length)
                out[laneid() * vector::outer_dim * vector::inner_dim + o * vector::inner_dim + i] = w[o][i];
    float total;
    sum(total, w);
    add(w, w, total);
    store(y, w, {0, 0, 0, 0});
}
template __global__ void held<200>(gl<float, 1, 1, 1, 200>, gl<float, 1, 1, 1, 200>, float *);
template __global__ void held<256>(gl<float, 1, 1, 1, 256>, gl<float, 1, 1, 1, 256>, float *);
"""


@pytest.mark.parametrize(
    ("arch", "define"),
    [("gfx950", ()), ("gfx950", ("KITTENS_FP6",)), ("gfx942", ()), ("gfx942", ("KITTENS_RV_TILE_LENGTH",))],
    ids=str,
)
def test_types_by_branch(arch: str, define: tuple[str, ...]) -> None:
    """Vectors as each branch names them, integers in a global layout, and what is computed from types."""
    module = wb.compile(VECTORS, arch=arch, name="types.hip", flags=("-Wall", "-Wextra"), define=define)
    assert not module.result.diagnostics
    x = torch.arange(128, dtype=torch.int32).reshape(2, 64)
    module["kernel"].launch(wb.Launch(1, 64), (x,), {}, device=device(f"emulated:{arch}"))
    assert x[0, 0] == 64 + 2
    for length in (200, 256):
        values, stored = torch.arange(length).float(), torch.zeros(length)
        out = torch.full((64, 4), -1.0)
        arguments = (values.reshape(1, length), stored.reshape(1, length), out)
        module[f"held<{length}>"].launch(wb.Launch(1, 64), arguments, {}, device=device(f"emulated:{arch}"))
        # A lane has four elements: adjacent in main, a wave's width apart on the other branches.
        main = arch == "gfx950" and not define
        places = torch.arange(256).reshape(64, 4) if main else torch.arange(256).reshape(4, 64).T
        assert torch.equal(out, torch.where(places < length, places, -1).float())
        assert torch.equal(stored, values + values.sum())


def shared(dtype: str, rows: int, cols: int) -> str:
    return f"__shared__ st<{dtype}, {rows}, {cols}, st_16x16_s> s, t;"


def test_operations_on_shared_memory(arch: str, batch: Batch) -> None:
    """Maps, reductions and conversions of shared tiles and vectors, by a group and by a wave."""
    x, v, h = random(32, 48, seed=1), random(32, seed=2), random(48, seed=3)
    inputs = {"x": x, "v": v.reshape(1, 32), "h": h.reshape(1, 48)}
    fill = "G::load(s, g.x, {0, 0, 0, 0}); G::load(r, g.v, {0, 0, 0, 0}); G::load(c, g.h, {0, 0, 0, 0});"
    cases = {
        "add(t, s, s); mul(t, t, 2.0f);": x * 4,
        "sub_row(t, s, r);": x - v[:, None],
        "mul_col(t, s, c); exp(t, t);": torch.exp(x * h),
        "copy(t, s); relu(t, t);": x.relu(),
        "row_max(r, s, r); broadcast_row(t, r);": torch.maximum(x.amax(1), v)[:, None].expand(32, 48),
        "col_sum(c, s); broadcast_col(t, c);": x.sum(0).expand(32, 48),
        "one(t); max(t, t, s);": x.clamp(min=1),
        "copy(c, 3.0f); add(c, c, c); broadcast_col(t, c);": torch.full((32, 48), 6.0),
    }
    for waves in (1, 4):
        for text, expected in cases.items():
            # Group members need a barrier between writing and reading a vector or tile as a whole.
            of_group = "".join(
                f"G::{call.strip()}; wait_and_barrier(); " for call in text.split(";") if call.strip()
            )
            batch.add(
                f"{waves} waves: {text}",
                f"""using G = group<{waves}>; {shared("float", 32, 48)}
                __shared__ sv_fl<32> r; __shared__ sv_fl<48> c; {fill} wait_and_barrier();
                {text if waves == 1 else of_group}
                wait_and_barrier(); G::store(g.out, t, {CORNER});""",
                expected={"out": expected.contiguous()},
                check=close(4, 1e-5),
                threads=64 * waves,
                **inputs,
            )
    batch.add(
        "reductions of vectors",
        f"""__shared__ sv_fl<32> r; __shared__ sv_fl<48> c; load_async(r, g.v, {CORNER});
        load_async(c, g.h, {CORNER}); wait_and_barrier();
        float most, total; max(most, r); sum(total, c, most);
        if (laneid() == 0) {{ g.out[{{0, 0, 0, 0}}] = most; g.out[{{0, 0, 0, 1}}] = total; }}""",
        expected={"out": torch.stack([v.max(), h.sum() + v.max()]).reshape(1, 2)},
        check=close(8, 1e-6),
        **inputs,
    )
    batch.run(arch)


def test_tiles_smaller_than_what_a_wave_moves_at_once(batch: Batch, arch: str) -> None:
    """Lanes without a part of the tile move nothing: adjacent shared memory does not change."""
    x, sevens = distinct(48, 16, torch.bfloat16, 1), torch.full((16, 16), 7.0).bfloat16()
    for waves in (1, 4):
        batch.add(
            f"{waves} waves",
            f"""using G = group<{waves}>; __shared__ st_bf<16, 16> s[3];
            for (int i = threadIdx.x; i < 256; i += {64 * waves}) s[0].data[i] = s[2].data[i] = bf16(7.0f);
            __syncthreads(); G::load(s[1], g.x, {{0, 0, 1, 0}}); wait_and_barrier();
            for (int i = 0; i < 3; i++) G::store(g.out, s[i], {{0, 0, i, 0}});""",
            expected={"out": torch.cat([sevens, x[16:32], sevens])},
            threads=64 * waves,
            x=x,
        )
    batch.run(arch)


@pytest.mark.parametrize("dtype", ["bf16", "float"])
def test_a_wave_of_a_group_stores_what_it_has_loaded(arch: str, batch: Batch, dtype: str) -> None:
    """Several tiles through the same shared memory, without a barrier, as in HipKittens' tests."""
    for waves, rows, cols in ((2, 32, 32), (2, 32, 16), (4, 64, 32), (3, 48, 64)):
        x = distinct(rows * 2, cols * 3, {"bf16": torch.bfloat16, "float": torch.float32}[dtype], 1)
        batch.add(
            f"{waves} waves, {rows} x {cols}",
            f"""using G = group<{waves}>; __shared__ st<{dtype}, {rows}, {cols}> s;
            for (int i = 0; i < 2; i++) for (int j = 0; j < 3; j++) {{
                G::load(s, g.x, {{0, 0, i, j}}); wait_vmcnt(); G::store(g.out, s, {{0, 0, i, j}});
                wait_lgkmcnt<0>(); // the next load may not overtake the reads of this store
            }}""",
            expected={"out": x},
            threads=64 * waves,
            x=x,
        )
    batch.run(arch)


def test_a_thread_copy_of_a_shared_vector(batch: Batch, arch: str) -> None:
    """`auto part = subvec_inplace<...>(...)` copies; a load from the copy reads it."""
    x = random(1, 64, seed=3)
    batch.add(
        "copies",
        f"""__shared__ sv_fl<64> s; load_async(s, g.x, {CORNER}); wait_and_barrier();
        for (int i = 0; i < 4; i++) {{
            auto part = subvec_inplace<16>(s, i); rv_naive<float, 16> v; load(v, part);
            rt_fl<16, 16>::col_vec w; load(w, part); add(v, v, float(i)); store(g.out, v, {{0, 0, 0, i}});
            if (i == 3) store(g.out, w, {{0, 0, 0, 4}});
        }}""",
        expected={"out": torch.cat([x + torch.arange(4.0).repeat_interleave(16), x[:, 48:]], 1)},
        x=x,
    )
    batch.run(arch)


def test_reductions_of_register_vectors_from_a_value(batch: Batch, arch: str) -> None:
    """The value may be the result itself; lanes past the end of a vector do not count."""
    for length in (16, 100, 128):
        x = random(1, length, seed=length)
        batch.add(
            f"{length} elements",
            f"""rv_naive<float, {length}> v; load(v, g.x, {CORNER});
            float low, total = 2.5f, high = -100.0f, all; sum(total, v, total); max(high, v, high);
            min(low, v); prod(all, v, 2.0f);
            if (laneid() == 0) {{
                g.out[{{0, 0, 0, 0}}] = total; g.out[{{0, 0, 0, 1}}] = high;
                g.out[{{0, 0, 0, 2}}] = low; g.out[{{0, 0, 0, 3}}] = all;
            }}""",
            expected={"out": torch.stack([x.sum() + 2.5, x.max(), x.min(), 2 * x.prod()]).reshape(1, 4)},
            check=close(64, 1e-5),
            x=x,
        )
    batch.run(arch)


def test_register_tiles_of_a_group(arch: str, batch: Batch) -> None:
    """A group's waves hold consecutive rows of a shared tile, or parts of a vector."""
    x, v = distinct(64, 32, torch.bfloat16, 1), random(1, 256, seed=2)
    batch.add(
        "tiles",
        f"""using G = group<4>; {shared("bf16", 64, 32)} rt_bf<16, 32> a; G::load(s, g.x, {CORNER});
        wait_and_barrier(); G::load(a, s); G::store(t, a); wait_and_barrier();
        G::store(g.out, t, {CORNER});""",
        expected={"out": x},
        threads=256,
        x=x,
    )
    batch.add(
        "vectors",
        f"""using G = group<4>; __shared__ sv_fl<256> s; rv_naive<float, 64> a, b; G::load(a, g.x, {CORNER});
        G::store(s, a); wait_and_barrier(); G::load(b, s); add(b, b, 1.0f); G::store(g.out, b, {CORNER});""",
        expected={"out": v + 1},
        threads=256,
        x=v,
    )
    batch.run(arch)


def test_copy_numbers_rounds_as_copy(arch: str, batch: Batch) -> None:
    """To nearest, ties to even; infinities and the largest floats too."""
    x = torch.randn(32, 64, generator=torch.Generator().manual_seed(3)) * 1e3
    x[0, :6] = torch.tensor([float("inf"), -float("inf"), 3.4e38, -0.0, 1.00390625, 1.01171875])
    batch.add(
        "copy_numbers",
        f"""rt_fl<32, 64> a; load(a, g.x, {CORNER});
        rt_bf<32, 64> b; copy_numbers(b, a); store(g.out, b, {CORNER});""",
        expected={"out": x.bfloat16()},
        x=x,
    )
    batch.run(arch)


@pytest.mark.parametrize("dtype", ["bf16", "float"])
def test_layouts_and_base_shapes_exchanged(arch: str, batch: Batch, dtype: str) -> None:
    """swap_layout between any two, transpose in the same layout, in place and not."""
    x = distinct(32, 64, {"bf16": torch.bfloat16, "float": torch.float32}[dtype], 1)
    pairs = [
        ("row_l, rt_16x16_s", "col_l, rt_16x32_s"),
        ("col_l, rt_16x16_s", "col_l, rt_16x32_s"),
        ("col_l, rt_32x32_s", "col_l, rt_16x32_4_s"),
        ("row_l, rt_16x32_s", "row_l, rt_32x16_4_s"),
    ]
    for layout, to in pairs:
        batch.add(
            f"{dtype} {layout} to {to}",
            f"""rt<{dtype}, 32, 64, {layout}> a; load(a, g.x, {CORNER});
            rt<{dtype}, 32, 64, {to}> b; swap_layout(b, a); store(g.out, b, {CORNER});""",
            expected={"out": x},
            x=x,
        )
    batch.add(
        f"{dtype} in place to another base shape",
        f"""rt<{dtype}, 32, 64, col_l, rt_16x16_s> a; load(a, g.x, {CORNER});
        auto &b = swap_layout_inplace<col_l, rt_16x32_s>(a); store(g.out, b, {CORNER});""",
        expected={"out": x},
        x=x,
    )
    batch.add(
        f"{dtype} transposed",
        f"""rt<{dtype}, 32, 64> a; load(a, g.x, {CORNER}); rt<{dtype}, 64, 32> b; transpose_sep(b, a);
        store(g.out, b, {CORNER});""",
        expected={"out": x.T.contiguous()},
        x=x,
    )
    square = x[:, :32].contiguous()
    batch.add(
        f"{dtype} transposed in place",
        f"rt<{dtype}, 32, 32> a; load(a, g.x, {CORNER}); store(g.out, transpose_inplace(a), {CORNER});",
        expected={"out": square.T.contiguous()},
        x=square,
    )
    batch.take_turns(arch)
    batch.run(arch)


def test_single_words(arch: str, batch: Batch) -> None:
    """Loads and stores at addresses, values of other lanes, buffer resources by their fields."""
    x = random(1, 256, seed=5)
    batch.add(
        "words",
        """__shared__ float4 s[64]; const auto at = detail::shared_address(&s[laneid()]);
        const float4 got = load_global_vec4(reinterpret_cast<const float4 *>(g.x.raw_ptr) + laneid());
        store_shared_vec(at, {got.x, got.y}); move<float2>::sts(at + 8, {got.z, got.w});
        float2 low = load_shared_vec(at), high; move<float2>::lds(high, at + 8);
        store_global_b128_async(g.out.raw_ptr + 4 * laneid(),
                                __builtin_bit_cast(__uint128_t, float4{low.x, low.y, high.x, high.y}));""",
        expected={"out": x},
        x=x,
    )
    shuffled = x.reshape(4, 64)
    batch.add(
        "other lanes",
        """for (int i = 0; i < 4; i++) {
            const float v = g.x.raw_ptr[64 * i + laneid()];
            const bf16 b = static_cast<bf16>(v);
            const float2 both = packed_shfl(MASK_ALL, float2{v, -v}, 3);
            g.out.raw_ptr[64 * i + laneid()] =
                i == 0 ? packed_shfl_down(MASK_ALL, v, 60) : i == 1 ? both.x : i == 2 ? both.y
                : static_cast<float>(packed_shfl(MASK_ALL, b, 63 - laneid()));
        }""",
        expected={
            "out": torch.stack(
                [
                    torch.cat([shuffled[0, 60:], shuffled[0, 4:]]),
                    shuffled[1, 3].expand(64),
                    -shuffled[2, 3].expand(64),
                    shuffled[3].flip(0).bfloat16().float(),
                ]
            )
        },
        x=shuffled,
    )
    batch.add(
        "a resource by its fields",
        """const buffer_resource made =
            make_buffer_resource(reinterpret_cast<uint64_t>(g.x.raw_ptr), 128 * sizeof(float), 0x00027000);
        const uint32_t at = to_sgpr_u32(0) + 4 * threadIdx.x;
        const uint64_t got = llvm_amdgcn_raw_buffer_load_b64(made, 2 * at, 0, 0);
        const i32x4 to = make_srsrc(g.out.raw_ptr, 512 * sizeof(float));
        llvm_amdgcn_raw_buffer_store_b64(got, to, 2 * at, 0, 0);""",
        expected={"out": torch.cat([x[:, :128], torch.zeros(1, 128)], 1)},
        threads=128,
        x=x,
    )
    batch.run(arch)


def test_matrix_instructions_by_name(batch: Batch) -> None:
    """On a lane's parts of base tiles: d = a bᵀ + c."""
    for name, side, k, shape in (
        ("mfma161616", 16, 16, "rt_16x16_s"),
        ("mfma161632", 16, 32, "rt_16x32_s"),
        ("mfma323216", 32, 16, "rt_32x16_s"),
    ):
        a, b = random(side, k, seed=1).bfloat16(), random(side, k, seed=2).bfloat16()
        batch.add(
            name,
            f"""rt_bf<{side}, {k}, row_l, {shape}> a, b; load(a, g.a, {CORNER}); load(b, g.b, {CORNER});
            rt_fl<{side}, {side}, col_l, rt_{side}x{side}_s> c, d; one(c);
            {name}(d.tiles[0][0].data, a.tiles[0][0].data, b.tiles[0][0].data, c.tiles[0][0].data);
            store(g.out, d, {CORNER});""",
            expected={"out": a.float() @ b.float().T + 1},
            check=close(8, 1e-5),
            a=a,
            b=b,
        )
    batch.run("gfx950")


PINNED = [
    ("row_l", "rt_16x32_s", "st_16x16_s"),
    ("row_l", "rt_16x32_s", "st_8x32_s"),
    ("row_l", "rt_32x32_s", "st_16x32_s"),
    ("row_l", "rt_16x16_s", "st_16x16_swizzled_s"),
    ("col_l", "rt_32x16_4_s", "st_16x16_swizzled_s"),
    ("col_l", "rt_32x16_4_s", "st_16x16_s"),
    ("col_l", "rt_16x32_s", "st_16x32_s"),
    ("col_l", "rt_32x16_s", "st_32x32_s"),
]
"""Layouts and base shapes of explicit-register tiles, and of shared tiles that they are as large as, larger
and smaller than."""


def test_pinned_tiles_from_every_shared_tile(arch: str) -> None:
    """Base tiles one by one, from a lane's address in part of a shared tile."""
    x = distinct(32, 64, torch.bfloat16, 1)
    batch = PinnedBatch()
    for layout, rt, st in PINNED:
        rows, cols = (int(side) for side in rt.split("_")[1].split("x"))
        registers = rows * cols * 2 // 256
        ranges = f"ducks::art::split_many_t<ducks::art::type_list<ducks::art::range<128, 135>>, {registers}>"
        loads = "".join(
            f"load<{i}, {j}>(a, part, at);" for i in range(32 // rows) for j in range(64 // 2 // cols)
        )
        batch.add(
            f"{layout} {rt} from {st}",
            f"""__shared__ st<bf16, 32, 64, {st}> s; group<1>::load(s, g.x, {CORNER}); wait_and_barrier();
            auto part = subtile_inplace<32, 32>(s, {{0, 1}});
            art_bf<32, 32, {layout}, {rt}, {ranges}> a;
            const uint32_t at = get_address(part, a); {loads} wait_lgkmcnt<0>();
            store(g.out, a, {CORNER}); wait_vmcnt();""",
            expected={"out": x[:, 32:].contiguous()},
            x=x,
        )
    batch.run(arch)


def test_tables_are_stored_and_come_back_as_they_were(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The repository's page has short tables, the filled page all."""
    monkeypatch.setattr(compatibility_tables, "DATA", tmp_path / "tables.json")
    monkeypatch.setattr(compatibility_tables, "PAGE", tmp_path / "page.md")
    rows = [f"| `kittens::{scope}::{name}` | type | yes |" for scope in ("rt", "st") for name in "abcdef"]
    counts = "| branch | names |\n| --- | --- |\n| main | 12 |"
    text = "\n".join((counts, "", "| name | kind | main |", "| --- | --- | --- |", *rows))
    marks = "# Page\n\n<!-- names -->\n<!-- end of names -->\n\nThe end.\n"
    compatibility_tables.PAGE.write_text(marks)
    compatibility_tables.store("names", text)
    page = compatibility_tables.PAGE.read_text()
    assert counts in page
    assert "A table of 12 rows" in page
    assert rows[0] not in page
    assert compatibility_tables.section("names") == text
    assert compatibility_tables.filled(page) == marks.replace("names -->\n", f"names -->\n{text}\n", 1)
