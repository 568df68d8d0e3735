"""`macros`: single instructions, on values and on registers by number."""

from __future__ import annotations

import torch
from test_art import FIRST, PIN, PinnedBatch
from test_scaled_mma import E2M1
from tile_cases import FP8, Batch, equal

LANES = 64
BYTES = 1008
"""Bytes of a resource, so that the last lane is past its end."""


def memory() -> torch.Tensor:
    return torch.randint(0, 256, (BYTES + 16,), generator=torch.Generator().manual_seed(7), dtype=torch.uint8)


def at_lanes(data: torch.Tensor, size: int, offset: int) -> torch.Tensor:
    """Bytes [lane][size] at lane * 16 + offset; zero past BYTES."""
    places = torch.arange(LANES)[:, None] * 16 + offset + torch.arange(size)
    return torch.where(places < BYTES, data[places.clamp(max=BYTES - 1)], 0).to(torch.uint8)


def word(parts: torch.Tensor, signed: bool) -> torch.Tensor:
    """Little-endian numbers of 1 to 4 bytes."""
    value = sum(parts[:, i].long() << (8 * i) for i in range(parts.shape[1]))
    assert isinstance(value, torch.Tensor)
    top = 1 << (8 * parts.shape[1])
    return torch.where(value >= top // 2, value - top, value) if signed else value


def int32(value: torch.Tensor) -> torch.Tensor:
    return ((value + 2**31) % 2**32 - 2**31).to(torch.int32)


RESOURCE = f"const auto br = make_buffer_resource((uint64_t)g.x, {BYTES}, 0x00027000);"
"""HipKittens' kernels make the resource so."""

LOADS = {
    "ubyte": (1, False),
    "sbyte": (1, True),
    "ushort": (2, False),
    "sshort": (2, True),
    "dword": (4, True),
}
HALVES = {"ubyte": (1, False), "sbyte": (1, True), "short": (2, False)}
PREVIOUS = 0x5AA51234


def test_buffer_loads(arch: str) -> None:
    """Each width and sign, whole and into a half; past the resource's end zero."""
    batch, x = Batch(), memory()
    for name, (size, signed) in LOADS.items():
        batch.add(
            name,
            f"""{RESOURCE}
            g.out[laneid()] = macros::buffer_load_{name}<int>(br, laneid() * 16, 8, {4 * size});""",
            x=x,
            expected={"out": int32(word(at_lanes(x, size, 8 + 4 * size), signed))},
        )
    for name, (size, signed) in HALVES.items():
        half = word(at_lanes(x, size, 4), signed) % 2**16
        for suffix, kept in (("", PREVIOUS & ~0xFFFF), ("_hi", PREVIOUS & 0xFFFF)):
            batch.add(
                name + suffix,
                f"""{RESOURCE} uint32_t value = {PREVIOUS:#x}u;
                macros::buffer_load_{name}_d16{suffix}(value, br, laneid() * 16, 0, 4);
                g.out[laneid()] = static_cast<int>(value);""",
                x=x,
                expected={"out": int32(kept | half << (16 if suffix else 0))},
            )
    for words in (2, 3, 4):
        batch.add(
            f"dwordx{words}",
            f"""{RESOURCE} const auto value = macros::buffer_load_dwordx{words}(br, laneid() * 16, 0, 0);
            for (int i = 0; i < {words}; i++) g.out[laneid() * {words} + i] = static_cast<int>(value[i]);""",
            x=x,
            expected={"out": at_lanes(x, 4 * words, 0).view(torch.int32)},
        )
    batch.run(arch)


STORES = {"byte": (1, 0), "short": (2, 0), "byte_d16_hi": (1, 2), "short_d16_hi": (2, 2), "dword": (4, 0)}
"""Bytes that are stored, and the first of them in the value."""


def test_buffer_stores(arch: str) -> None:
    """Low and high parts of a value, and several words; nothing past the resource's end."""
    batch, x = Batch(), memory()
    resource = f"const auto br = make_buffer_resource((uint64_t)g.out, {BYTES}, 0x00027000);"

    def add(name: str, kind: str, size: int, first: int, offset: int) -> None:
        expected = torch.full((len(x),), 0x7A, dtype=torch.uint8)
        for lane in range(LANES):
            start, place = lane * 16 + first, lane * 16 + offset
            if place < BYTES:
                expected[place : place + size] = x[start : start + size]
        value = f"*reinterpret_cast<const {kind} *>(g.x + laneid() * 16)"
        store = f"macros::buffer_store_{name}({value}, br, laneid() * 16, {offset // 2}, {offset // 2});"
        batch.add(name, f"{resource} {store}", x=x, expected={"out": expected})

    for name, (size, first) in STORES.items():
        add(name, "uint32_t", size, first, 8)
    for words in (2, 3, 4):
        add(f"dwordx{words}", f"u32x{words}", 4 * words, 0, 0)
    batch.run(arch)


def test_shared_memory(arch: str) -> None:
    """Values of 4, 8 and 16 bytes to shared memory and from there, at an offset."""
    batch, x = Batch(), memory()
    for words, kind in ((1, "uint32_t"), (2, "u32x2"), (4, "u32x4")):
        bits = 32 * words
        read = f"macros::ds_read_b{bits}{{}}(at ^ 16, 32)"
        load = f"{kind} value; " + (
            read.format("").replace("(at", "(value, at")
            if words == 1
            else f"value = {read.format('<' + kind + '>')}"
        )
        batch.add(
            f"b{bits}",
            f"""__shared__ u32x4 memory[{LANES} + 2];
            const auto at = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(&memory[laneid()]));
            macros::ds_write_b{bits}(reinterpret_cast<const {kind} *>(g.x)[laneid()], at, 32);
            __syncthreads(); {load};
            reinterpret_cast<{kind} *>(g.out)[laneid()] = value;""",
            x=x,
            expected={"out": x[: LANES * 4 * words].reshape(LANES // 2, 2, -1).flip(1).flatten()},
        )
    batch.run(arch)


def test_registers_by_number(arch: str) -> None:
    """Values to registers and back; three words of a buffer; products of one and of two registers."""
    batch = PinnedBatch()
    x = torch.randn(LANES, 4, generator=torch.Generator().manual_seed(3))
    resource = "const auto br = make_buffer_resource((uint64_t)g.x.raw_ptr, 1024, 0x00027000);"
    a, b = FIRST, FIRST + 4
    batch.add(
        "up2p, p2up",
        f"""macros::v_mov_b32_up2p<{a}>(g.x.raw_ptr[laneid() * 4]);
        g.out.raw_ptr[laneid()] = macros::v_mov_b32_p2up<{a}, float>();""",
        x=x,
        expected={"out": x[:, 0].contiguous()},
    )
    to = "make_buffer_resource((uint64_t)g.out.raw_ptr, 1024, 0x00027000)"
    for first, name in ((a, "VGPRs"), (256, "AGPRs")):
        batch.add(
            f"dwordx3, {name}",
            f"""{PIN} using pinned = range<{first}, {first + 2}>; (void)pinned::size; {resource}
            macros::buffer_load_dwordx3<{first}>(br, laneid() * 16, 0, 4); wait_vmcnt<0>();
            macros::buffer_store_dwordx3<{first}>({to}, laneid() * 12, 0, 0);""",
            x=x,
            expected={"out": x[:, 1:].contiguous()},
        )
    load = f"{resource} macros::buffer_load_dwordx2<{a}>(br, laneid() * 16); wait_vmcnt<0>();"
    store = f"macros::buffer_store_dwordx2<{b}>({to}, laneid() * 8);"
    each_lane = "g.x.raw_ptr[laneid() * 4 + 3]"
    products = {
        f"macros::mul_vgpr::op_pk2<{b}, {a}>({each_lane});": x[:, :2] * x[:, 3:],
        f"macros::mul::op_pk2<{b}, {a}>(0.3f);": x[:, :2] * 0.3,
        f"macros::mul::op_pk2<{b}, {a}, {a}>();": x[:, :2] ** 2,
    }
    for product, expected in products.items():
        batch.add(product, f"{load} {product} {store}", x=x, expected={"out": expected.contiguous()})
    tile = "art_fl<16, 16, col_l, rt_16x16_s, split_many_t<type_list<range<{0}, {1}>>, 4>>"
    square = x.reshape(16, 16)
    batch.add(
        "mul_vgpr of tiles",
        f"""{PIN} {tile.format(a, a + 3)} t; load(t, g.x, {{0, 0, 0, 0}}, {{0, 0, 0, 0}}); wait_vmcnt();
        mul_vgpr(t, t, 0.3f); mul_vgpr<0, 0>(t, t, 2.0f); store(g.out, t, {{0, 0, 0, 0}});""",
        x=square,
        expected={"out": square * 0.3 * 2},
    )
    batch.run(arch)


def test_fp8_product(arch: str) -> None:
    """The matrix instruction of 16x16x32 on registers by number, with an accumulator and without one."""
    batch = PinnedBatch()
    generator = torch.Generator().manual_seed(5)
    a, b = (torch.randint(-4, 5, (16, 32), generator=generator).float() for _ in range(2))
    c = torch.randint(-9, 10, (16, 16), generator=generator).float()
    lane = "laneid() % 16 * 32 + laneid() / 16 * 8"
    for title, start in (("", c), ("_zero_accum", torch.zeros_like(c))):
        registers = f"{FIRST}, {FIRST + 2}, " + ("" if title else f"{FIRST + 4}, ") + f"{FIRST + 8}"
        batch.add(
            f"mfma{title}",
            f"""const int at = laneid() / 16 * 64 + laneid() % 16;
            const auto words_a = *reinterpret_cast<const u32x2 *>(g.a.raw_ptr + {lane});
            const auto words_b = *reinterpret_cast<const u32x2 *>(g.b.raw_ptr + {lane});
            for_constants<2>([&]<int i>() {{
                macros::v_mov_b32_up2p<{FIRST} + i>(words_a[i]);
                macros::v_mov_b32_up2p<{FIRST + 2} + i>(words_b[i]);
            }});
            for_constants<4>([&]<int i>() {{
                macros::v_mov_b32_up2p<{FIRST + 4} + i>(g.c.raw_ptr[at + 16 * i]);
            }});
            wait_states<2>();
            macros::mfma_f32_16x16x32_fp8_fp8{title}<{registers}>();
            wait_states<16>();
            for_constants<4>([&]<int i>() {{
                g.out.raw_ptr[at + 16 * i] = macros::v_mov_b32_p2up<{FIRST + 8} + i, float>();
            }});""".replace("for_constants", "detail::for_constants"),
            a=a.to(FP8[arch]),
            b=b.to(FP8[arch]),
            c=c,
            expected={"out": a @ b.T + start},
        )
    batch.run(arch)


def test_transposed_nibbles() -> None:
    """ds_read_b64_tr_b4, of 16 lanes: lane l gets element l of 16 rows of 16 numbers of 4 bits."""
    batch = PinnedBatch()
    nibbles = torch.randint(0, 16, (4, 16, 16), generator=torch.Generator().manual_seed(9), dtype=torch.uint8)
    stored, turned = nibbles, nibbles.transpose(1, 2)
    batch.add(
        "b4",
        f"""__shared__ u32x2 memory[{LANES}];
        memory[laneid()] = reinterpret_cast<const u32x2 *>(g.x)[laneid()];
        __syncthreads();
        macros::ds_read_b64_tr_b4<{FIRST}>(static_cast<uint32_t>(reinterpret_cast<uintptr_t>(&memory[laneid()])));
        wait_lgkmcnt<0>();
        reinterpret_cast<u32x2 *>(g.out)[laneid()] =
            u32x2{{macros::v_mov_b32_p2up<{FIRST}>(), macros::v_mov_b32_p2up<{FIRST} + 1>()}};""",
        x=(stored[..., ::2] | stored[..., 1::2] << 4).flatten(),
        expected={"out": (turned[..., ::2] | turned[..., 1::2] << 4).flatten()},
    )
    batch.run("gfx950")


def test_scaled_product() -> None:
    """mfma1616128_scaled: d = a bT + c, scales by the chosen bytes."""
    batch = Batch()
    generator = torch.Generator().manual_seed(6)
    a, b = (torch.randint(-2, 3, (16, 128), generator=generator).float() for _ in range(2))
    c = torch.randint(-9, 10, (16, 16), generator=generator).float()
    lane = "(laneid() % 16 * 128 + laneid() / 16 * 32)"
    batch.add(
        "one base tile",
        f"""fp8e4m3_4 a[8], b[8]; float2 c[2], d[2];
        __builtin_memcpy(a, g.a.raw_ptr + {lane}, 32); __builtin_memcpy(b, g.b.raw_ptr + {lane}, 32);
        const int at = laneid() / 16 * 64 + laneid() % 16;
        c[0] = {{g.c.raw_ptr[at], g.c.raw_ptr[at + 16]}};
        c[1] = {{g.c.raw_ptr[at + 32], g.c.raw_ptr[at + 48]}};
        const fp8e8m0_4 scale_a = 0x7f80007fu, scale_b = 0x007d0000u;
        mfma1616128_scaled<2, 2>(d, a, b, c, &scale_a, &scale_b);
        g.out.raw_ptr[at] = d[0].x; g.out.raw_ptr[at + 16] = d[0].y;
        g.out.raw_ptr[at + 32] = d[1].x; g.out.raw_ptr[at + 48] = d[1].y;""",
        a=a.to(FP8["gfx950"]),
        b=b.to(FP8["gfx950"]),
        c=c,
        # 2^(0x80 - 127) for a, 2^(0x7d - 127) for b.
        expected={"out": a @ b.T * 2 / 4 + c},
    )
    batch.run("gfx950")


SIGNED = torch.cat([E2M1, -E2M1]).float()
"""Values of the codes 0 to 15 of e2m1."""


def test_small_types(arch: str) -> None:
    """Conversions of fp4e2m1, alone and in fours, and constants of these and of pairs of scales."""
    batch = Batch()
    codes = torch.arange(64, dtype=torch.int32) % 16
    batch.add(
        "values",
        """using namespace base_types; const auto code = static_cast<unsigned>(g.x[laneid()]);
        g.alone.raw_ptr[laneid()] = convertor<float, fp4e2m1>::convert({static_cast<unsigned char>(code)});
        const fp4e2m1_4 four{static_cast<unsigned short>(code | code << 8)};
        const float4 values = convertor<float4, fp4e2m1_4>::convert(four);
        g.packed.raw_ptr[laneid()] = values.x + 100 * values.y + 10000 * values.z + 1e6f * values.w;""",
        x=codes,
        expected={"alone": SIGNED[codes] + 0.0, "packed": SIGNED[codes] * 10001},
        check=lambda got, expected: None if torch.equal(got, expected) else f"{got}, not {expected}",
    )
    batch.add(
        "codes",
        """using namespace base_types; const float value = g.x.raw_ptr[laneid()];
        const auto four = convertor<fp4e2m1_4, float4>::convert({value, 0.0f, -value, 6.0f});
        g.out[laneid()] = convertor<fp4e2m1, float>::convert(value).bits | four.bits << 8;""",
        x=SIGNED[codes],
        expected={"out": codes | (codes | (codes ^ 8) << 8 | 7 << 12) << 8},
    )
    batch.add(
        "constants",
        """using namespace base_types; using namespace macros;
        static_assert(max_ds_inst_offset() == 0xffff && max_ds_pk2_inst_offset() == 0xff);
        static_assert(max_mubuf_inst_offset() == 0xfff && sizeof(i32x2) == 8 && sizeof(i32x3) == 16);
        static_assert(sizeof(__amd_fp8x4_storage_t) == 4);
        if (laneid() == 0) {
            g.out[0] = constants<fp4e2m1>::one().bits; g.out[1] = constants<fp4e2m1_4>::one().bits;
            g.out[2] = constants<fp8e8m0_2>::one(); g.out[3] = constants<fp4e2m1_4>::zero().bits;
        }""",
        expected={"out": torch.tensor([2, 0x2222, 0x7F7F, 0], dtype=torch.int32)},
        check=equal,
    )
    batch.run(arch)


def test_fast_tanh(arch: str) -> None:
    batch = Batch()
    x = torch.cat([torch.linspace(-12, 12, 61), torch.tensor([float("inf"), float("-inf"), float("nan")])])
    batch.add(
        "tanh",
        "g.out.raw_ptr[laneid()] = base_ops::fast_tanh(g.x.raw_ptr[laneid()]);",
        x=x,
        expected={"out": x.double().tanh().float()},
        check=lambda got, expected: (
            None
            if torch.allclose(got, expected, rtol=0, atol=2**-22, equal_nan=True)
            else f"{got - expected}"
        ),
    )
    batch.run(arch)
