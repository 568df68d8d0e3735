"""Lane-wise transcendental functions, reciprocals and roots; the sides of cube maps.

Transcendental functions are C (native/ops/math.c), within one unit in the last place of the true value.
"""

from __future__ import annotations

from workbench.emulator.semantics.registry import lanes
from workbench.emulator.translate.block import BlockTranslator
from workbench.emulator.translate.chunk import V_F32, V_F64
from workbench.emulator.translate.ir import Value
from workbench.emulator.translate.lane_calls import call_lanes

# Instruction stem to the C function's; v_rcp_iflag differs from v_rcp only in the exceptions it can raise.
_FUNCTIONS = {
    "exp": "exp2",
    "log": "log2",
    "rsq": "rsqrt",
    "sin": "sin2pi",
    "cos": "cos2pi",
}
for _name, _function in _FUNCTIONS.items():

    @lanes(f"v_{_name}_f32", "f32 <- f32")
    def transcendental(block: BlockTranslator, a: Value, function: str = _function) -> Value:
        return call_lanes(block, f"hk_{function}_f32x16", V_F32, a)

    @lanes(f"v_{_name}_f16", "f16 <- f16")
    def transcendental_f16(block: BlockTranslator, a: Value, function: str = _function) -> Value:
        # A result within one unit of single precision rounds to within one of half precision.
        return call_lanes(block, f"hk_{function}_f32x16", V_F32, a.fpext(32)).fptrunc(16)


@lanes("v_exp_legacy_f32", "f32 <- f32")
def exp_legacy(block: BlockTranslator, a: Value) -> Value:
    return call_lanes(block, "hk_exp2_f32x16", V_F32, a)


@lanes("v_log_legacy_f32", "f32 <- f32")
def log_legacy(block: BlockTranslator, a: Value) -> Value:
    return call_lanes(block, "hk_log2_f32x16", V_F32, a)


@lanes("v_rcp_f32 v_rcp_iflag_f32", "f32 <- f32")
def rcp_f32(block: BlockTranslator, a: Value) -> Value:
    return block.emitter.const(a.type, 1.0) / a


@lanes("v_rcp_f64", "f64 <- f64")
def rcp_f64(block: BlockTranslator, a: Value) -> Value:
    return block.emitter.const(a.type, 1.0) / a


@lanes("v_rcp_f16", "f16 <- f16")
def rcp_f16(block: BlockTranslator, a: Value) -> Value:
    wide = a.fpext(32)
    return (block.emitter.const(wide.type, 1.0) / wide).fptrunc(16)


@lanes("v_sqrt_f32", "f32 <- f32")
def sqrt_f32(block: BlockTranslator, a: Value) -> Value:
    return block.emitter.intrinsic("sqrt", a)


@lanes("v_sqrt_f64", "f64 <- f64")
def sqrt_f64(block: BlockTranslator, a: Value) -> Value:
    return block.emitter.intrinsic("sqrt", a)


@lanes("v_sqrt_f16", "f16 <- f16")
def sqrt_f16(block: BlockTranslator, a: Value) -> Value:
    return block.emitter.intrinsic("sqrt", a.fpext(32)).fptrunc(16)


@lanes("v_rsq_f64", "f64 <- f64")
def rsq_f64(block: BlockTranslator, a: Value) -> Value:
    return call_lanes(block, "hk_rsqrt_f64x16", V_F64, a)


@lanes("v_trig_preop_f64", "f64 <- f64 b32")
def trig_preop(block: BlockTranslator, a: Value, b: Value) -> Value:
    return call_lanes(block, "hk_trig_preop_f64x16", V_F64, a, b)


# Cube maps


def _cube(block: BlockTranslator, x: Value, y: Value, z: Value) -> tuple[Value, Value]:
    """Which axis is the major one: (z is, else y is)."""
    ax, ay, az = x.fabs(), y.fabs(), z.fabs()
    return az.cmp("oge", ax) & az.cmp("oge", ay), ay.cmp("oge", ax)


@lanes("v_cubeid_f32", "f32 <- f32 f32 f32")
def cubeid(block: BlockTranslator, x: Value, y: Value, z: Value) -> Value:
    z_major, y_major = _cube(block, x, y, z)
    sides = [
        value.cmp("olt", 0.0).select(first + 1, first, V_F32)
        for value, first in ((x, 0.0), (y, 2.0), (z, 4.0))
    ]
    return z_major.select(sides[2], y_major.select(sides[1], sides[0]))


@lanes("v_cubesc_f32", "f32 <- f32 f32 f32")
def cubesc(block: BlockTranslator, x: Value, y: Value, z: Value) -> Value:
    z_major, y_major = _cube(block, x, y, z)
    on_z = z.cmp("olt", 0.0).select(-x, x)
    on_x = x.cmp("olt", 0.0).select(z, -z)
    return z_major.select(on_z, y_major.select(x, on_x))


@lanes("v_cubetc_f32", "f32 <- f32 f32 f32")
def cubetc(block: BlockTranslator, x: Value, y: Value, z: Value) -> Value:
    z_major, y_major = _cube(block, x, y, z)
    on_y = y.cmp("olt", 0.0).select(-z, z)
    return z_major.select(-y, y_major.select(on_y, -y))


@lanes("v_cubema_f32", "f32 <- f32 f32 f32")
def cubema(block: BlockTranslator, x: Value, y: Value, z: Value) -> Value:
    z_major, y_major = _cube(block, x, y, z)
    return z_major.select(z, y_major.select(y, x)) * 2.0
