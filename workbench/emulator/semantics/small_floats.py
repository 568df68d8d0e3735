"""Conversions of gfx1250 between f16 and 8-bit floats, stochastic ones to pairs, and saturation to 4 bits.

Roundings are those of the same conversions of f32: a stochastic one uses as many of the random number's upper
bits as the result's mantissa has fewer than the source's. In v_cvt_sr_pk_bf16_f32 each half of the random
number is for one of the two numbers (rocjitsu).
"""

from __future__ import annotations

from workbench.codeobject.instruction import Instruction
from workbench.emulator.semantics.convert import into_byte, saturates, selected, small_format
from workbench.emulator.semantics.registry import lanes, register
from workbench.emulator.translate.block import BlockTranslator
from workbench.emulator.translate.chunk import V_F32, V_I32
from workbench.emulator.translate.ir import Value
from workbench.emulator.translate.lane_calls import call_lanes
from workbench.emulator.translate.operands import fetch, prepare, put


def _to_half(block: BlockTranslator, name: str, byte: Value) -> Value:
    """f16 of 8-bit floats, which all have one."""
    return call_lanes(block, f"hk_f32_from_{small_format(block, name)}_x16", V_F32, byte).fptrunc(16)


def _from_small(name: str) -> None:
    def single(block: BlockTranslator, instruction: Instruction) -> None:
        source = instruction.src[0]
        prepare(block, ((source, "b32"),))
        block.open_run()
        byte = selected(block, instruction, fetch(block, source, "u32", 0), 8) & 255
        put(block, instruction.dst[0], "f16", _to_half(block, name, byte))

    def double(block: BlockTranslator, instruction: Instruction) -> None:
        source = instruction.src[0]
        prepare(block, ((source, "b16"),))
        block.open_run()
        word = fetch(block, source, "u16", 0).zext(32)
        low, high = (_to_half(block, name, byte).bits().zext(32) for byte in (word & 255, word.lshr(8)))
        put(block, instruction.dst[0], "b32", low | high.shl(16))

    register(f"v_cvt_f16_{name}", single)
    register(f"v_cvt_pk_f16_{name}", double)


def _to_small(name: str) -> None:
    def double(block: BlockTranslator, instruction: Instruction) -> None:
        source = instruction.src[0]
        prepare(block, ((source, "b32"),))
        block.open_run()
        pair = block.dword(source)
        if source.abs:
            pair = pair & 0x7FFF7FFF
        if source.neg:
            pair = pair ^ 0x80008000
        function = f"hk_{small_format(block, name)}_from_f16_x16"
        low, high = (
            call_lanes(block, function, V_I32, half, saturates(block))
            for half in (pair & 0xFFFF, pair.lshr(16))
        )
        put(block, instruction.dst[0], "b16", (low | high.shl(8)).trunc(16), keep_high=True)

    def stochastic(block: BlockTranslator, instruction: Instruction) -> None:
        source, random = instruction.src
        prepare(block, ((source, "f16"), (random, "b32")))
        block.open_run()
        half = fetch(block, source, "f16", 0).bits().zext(32)
        function = f"hk_{small_format(block, name)}_stochastic_f16_x16"
        byte = call_lanes(block, function, V_I32, half, fetch(block, random, "b32", 1), saturates(block))
        into_byte(block, instruction, byte)

    register(f"v_cvt_pk_{name}_f16", double)
    register(f"v_cvt_sr_{name}_f16", stochastic)


for _name in ("fp8", "bf8"):
    _from_small(_name)
    _to_small(_name)


@lanes("v_cvt_sr_pk_bf16_f32", "b32 <- f32 f32 b32")
def cvt_sr_pk_bf16_f32(block: BlockTranslator, a: Value, b: Value, random: Value) -> Value:
    low = call_lanes(block, "hk_bf16_stochastic_x16", V_I32, a, random.shl(16))
    high = call_lanes(block, "hk_bf16_stochastic_x16", V_I32, b, random)
    return low | high.shl(16)


def _saturating(name: str, least: int, greatest: int, is_signed: bool) -> None:
    @lanes(f"v_sat_pk4_{name}", "b16 <- b32")
    def saturated(block: BlockTranslator, a: Value) -> Value:
        packed = a & 0
        for n in range(4):
            byte = a.shl(24 - 8 * n)
            byte = byte.ashr(24) if is_signed else byte.lshr(24)
            byte = byte.cmp("slt", least).select(least, byte)
            byte = byte.cmp("sgt", greatest).select(greatest, byte)
            packed = packed | (byte & 15).shl(4 * n)
        return packed.trunc(16)


_saturating("i4_i8", -8, 7, True)
_saturating("u4_u8", 0, 15, False)
