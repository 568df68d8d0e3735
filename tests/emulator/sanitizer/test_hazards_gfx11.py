"""Hazards of gfx11 and later: each rule's pair is reported, with its remedy it is not; clang's code is clean.

Each wait and v_nop that clang puts into the kernels of SOURCE is removed in turn; each time a hazard appears.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pytest

torch = pytest.importorskip("torch")

import workbench as wb  # noqa: E402
from workbench.check.sanitizer import SanitizeResult  # noqa: E402
from workbench.codeobject.instruction import Instruction  # noqa: E402
from workbench.emulator.sanitizer.hazard_rules_gfx11 import ALL_RULES, LATER_RULES  # noqa: E402
from workbench.emulator.sanitizer.hazards import Hazards, find  # noqa: E402
from workbench.emulator.translate import flow  # noqa: E402
from workbench.kernel import Module  # noqa: E402


@dataclass(frozen=True)
class Case:
    """Instructions that break a rule.

    Attributes:
        rule: its name.
        before: instructions before the place of the remedy; v0 to v63 are 0, s20 to s30 too.
        after: the instruction that comes too early.
        remedy: what ends the dependency between them.
    """

    rule: str
    before: str
    after: str
    remedy: str


_WMMA_11 = "v_wmma_f32_16x16x16_f16 v[32:39], v[0:7], v[8:15], v[32:39]"
_WMMA_12 = "v_wmma_f32_16x16x16_f16 v[32:39], v[0:3], v[8:11], v[32:39]"
_F16 = "v_wmma_f32_16x16x32_f16 v[32:39], v[0:7], v[8:15], v[32:39]"
_IU8 = "v_wmma_i32_16x16x64_iu8 v[32:39], v[0:7], v[8:15], v[32:39]"
_F8 = "v_wmma_f32_16x16x128_f8f6f4 v[32:39], v[0:15], v[0:15], v[32:39]"
_F6 = (
    "v_wmma_f32_16x16x128_f8f6f4 v[32:39], v[0:11], v[0:11], v[32:39] "
    "matrix_a_fmt:MATRIX_FMT_FP6 matrix_b_fmt:MATRIX_FMT_FP6"
)
_F32 = "v_wmma_f32_16x16x4_f32 v[32:39], v[0:1], v[2:3], v[32:39]"
_SPARSE = "v_swmmac_f32_16x16x64_f16 v[32:39], v[0:7], v[8:23], v24"
_SPARSE_IU8 = "v_swmmac_i32_16x16x128_iu8 v[32:39], v[0:7], v[8:23], v[24:25]"
_NEXT = "v_wmma_f32_16x16x32_f16 v[40:47], v[32:39], v[8:15], v[40:47]"
_ADD = "v_add_f32 v1, v34, v2"


def _v_nops(count: int) -> str:
    return "\n".join(["v_nop"] * count)


_SGPR = "v_add_nc_u32 v1, s20, v2\n"
_TRANS = "v_rcp_f32 v1, v2\n"

CASES: dict[str, tuple[Case, ...]] = {
    "gfx1201": (
        Case("sgpr-scalar", f"{_SGPR}s_mov_b32 s20, 0", "v_add_nc_u32 v3, s20, v2", "s_wait_alu 0xfffe"),
        # The pair of s20 is s[20:21]; a load of scalars waits for all.
        Case("sgpr-scalar", f"{_SGPR}s_mov_b32 s21, 0", "s_add_co_i32 s22, s21, 1", "s_wait_alu 0xfffe"),
        Case(
            "sgpr-scalar",
            f"{_SGPR}s_mov_b32 s20, 0",
            "v_add_nc_u32 v3, s20, v2",
            "s_load_b32 s25, s[28:29], 0x0\ns_wait_kmcnt 0x0",
        ),
        Case("sgpr-vector", f"{_SGPR}v_readfirstlane_b32 s20, v4", "v_mov_b32 v3, s20", "s_wait_alu 0xf1ff"),
        Case(
            "sgpr-vector",
            "v_cndmask_b32 v1, v2, v3, vcc_lo\nv_cmp_eq_u32 vcc_lo, v1, v2",
            "v_cndmask_b32 v4, v2, v3, vcc_lo",
            "s_wait_alu 0xfffd",
        ),
        Case("wmma-ab", _WMMA_12, "v_wmma_f32_16x16x16_f16 v[40:47], v[36:39], v[8:11], v[40:47]", "v_nop"),
    ),
    "gfx1100": (
        Case("trans-use", _TRANS, "v_add_f32 v3, v1, v2", "s_waitcnt_depctr 0xfff"),
        Case("trans-use", _TRANS + _v_nops(5), "v_add_f32 v3, v1, v2", "v_nop"),
        Case("trans-use", _TRANS, "v_add_f32 v3, v1, v2", "ds_load_b32 v5, v6\ns_waitcnt lgkmcnt(0)"),
        Case("wmma-ab", _WMMA_11, "v_wmma_f32_16x16x16_f16 v[40:47], v[32:39], v[8:15], v[40:47]", "v_nop"),
    ),
    "gfx1100 wave64": (
        Case(
            "mask-vector",
            "v_cndmask_b32 v1, v2, v3, vcc\nv_cmp_eq_u32 vcc, v1, v2",
            "v_cndmask_b32 v4, v2, v3, vcc",
            "s_waitcnt_depctr 0xfffd",
        ),
        Case(
            "mask-scalar",
            "v_cndmask_b32_e64 v1, v2, v3, s[20:21]\ns_mov_b64 s[20:21], 0",
            "s_and_b32 s22, s21, 1",
            "s_waitcnt_depctr 0xfffe",
        ),
    ),
    "gfx1250": (
        Case("wmma-factor", _F16 + "\n" + _v_nops(4), _NEXT, "v_nop"),
        Case("wmma-factor", _IU8 + "\n" + _v_nops(8), _NEXT, "v_nop"),
        Case("wmma-vector", _F16 + "\n" + _v_nops(3), _ADD, "v_nop"),
        Case("wmma-vector", _F6 + "\n" + _v_nops(3), "v_mov_b32 v34, 0", "v_nop"),
        Case("wmma-vector", _F8 + "\n" + _v_nops(7), _ADD, "v_nop"),
        Case("wmma-vector", _IU8 + "\n" + _v_nops(7), _ADD, "v_nop"),
        Case("swmmac-vector", _SPARSE + "\n" + _v_nops(1), _ADD, "v_nop"),
        Case("swmmac-vector", _SPARSE_IU8 + "\n" + _v_nops(3), _ADD, "v_nop"),
        Case("swmmac-factor", _SPARSE + "\n" + _v_nops(2), _NEXT, "v_nop"),
        Case("swmmac-factor", _SPARSE_IU8 + "\n" + _v_nops(4), _NEXT, "v_nop"),
        Case("wmma-ab", _F32, "v_wmma_f32_16x16x4_f32 v[40:47], v[32:33], v[2:3], v[40:47]", "v_nop"),
        Case("trans-coexecution", _TRANS, "v_add_f32 v3, v1, v2", "v_nop"),
        Case("trans-source", _TRANS, "v_mov_b32 v2, 0", "v_nop"),
    ),
}

FLAGS = {"gfx1100 wave64": ("-mwavefrontsize64",)}

INTERLOCKED: dict[str, tuple[str, ...]] = {
    # A register that no vector instruction has read; a scalar instruction that reads a vector result.
    "gfx1201": (
        "s_mov_b32 s20, 0\nv_mov_b32 v1, s20",
        f"{_SGPR}v_readfirstlane_b32 s20, v4\ns_add_co_i32 s22, s20, 1\nv_mov_b32 v5, s20",
        f"{_WMMA_12}\n{_WMMA_12}",
        f"{_TRANS}v_add_f32 v3, v1, v2",
    ),
    "gfx1100": (f"{_SGPR}s_mov_b32 s20, 0\nv_mov_b32 v1, s20", f"{_WMMA_11}\n{_WMMA_11}"),
    "gfx1100 wave64": (f"{_SGPR}s_mov_b32 s20, 0\nv_mov_b32 v1, s20",),
    "gfx1250": (
        f"{_F16}\n{_F16}",
        f"{_SGPR}s_mov_b32 s20, 0\nv_mov_b32 v1, s20",
        f"{_TRANS}v_rcp_f32 v3, v1",
        f"{_F32}\n{_ADD}",
    ),
}

_REGISTERS = ", ".join(
    f'"{name}"' for name in (*(f"v{n}" for n in range(64)), *(f"s{n}" for n in range(20, 30)), "memory")
)


def _kernel(name: str, target: str, body: str) -> str:
    lines = [
        *(f"v_mov_b32 v{n}, 0" for n in range(64)),
        *(f"s_mov_b32 s{n}, 0" for n in range(20, 28)),
        "s_mov_b64 s[28:29], %0",
        "s_mov_b32 vcc_lo, 0",
        *(["s_mov_b32 vcc_hi, 0"] if target in FLAGS else []),
        *["v_nop"] * 20,
        *(line for line in body.splitlines() if line),
        *["v_nop"] * 20,
    ]
    text = "\\n\\t".join(lines)
    return (
        f'extern "C" __global__ void {name}(float *out) {{\n'
        "    __shared__ float shared[64];\n    shared[threadIdx.x] = 0;\n    __syncthreads();\n"
        f'    asm volatile("{text}" : : "s"(out) : {_REGISTERS}, "vcc");\n'
        "    out[threadIdx.x] = shared[threadIdx.x];\n}\n"
    )


@pytest.fixture(scope="module", params=CASES)
def target(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def module(target: str) -> Module:
    parts = ["#include <hip/hip_runtime.h>\n"]
    for number, case in enumerate(CASES[target]):
        parts.append(_kernel(f"broken{number}", target, f"{case.before}\n{case.after}"))
    cleared = [f"{case.before}\n{case.remedy}\n{case.after}" for case in CASES[target]]
    apart = "\n" + _v_nops(20) + "\n"
    parts.append(_kernel("cleared", target, apart.join(cleared)))
    parts.append(_kernel("interlocked", target, apart.join(INTERLOCKED[target])))
    return wb.compile("".join(parts), arch=target.split()[0], flags=FLAGS.get(target, ()), name="later.hip")


def _run(module: Module, name: str, target: str) -> SanitizeResult:
    kernel = module[name]
    lanes = kernel.info.wave_size
    return wb.sanitize(kernel[1, lanes], torch.zeros(4096), device=f"emulated:{target.split()[0]}")


def test_every_rule_has_a_case() -> None:
    tested = {case.rule for cases in CASES.values() for case in cases}
    assert tested == {rule.name for rule in LATER_RULES}


def test_what_breaks_a_rule_is_reported(module: Module, target: str) -> None:
    rules = {rule.name: rule for rule in LATER_RULES}
    for number, case in enumerate(CASES[target]):
        result = _run(module, f"broken{number}", target)
        [finding] = result.findings
        assert finding.category == "hazard", f"{case}: {result}"
        rule = rules[case.rule]
        assert rule.after in finding.message, f"{case}: {result}"
        assert rule.before in finding.message, f"{case}: {result}"
        assert f"{rule.remedy} between them" in finding.message, f"{case}: {result}"
        opcode = case.after.split()[0].removesuffix("_e64")
        assert finding.instruction.split()[0].startswith(opcode), f"{case}: {result}"


def test_its_remedy_is_not_reported(module: Module, target: str) -> None:
    result = _run(module, "cleared", target)
    assert result.passed, str(result)


def test_what_hardware_waits_for_is_not_reported(module: Module, target: str) -> None:
    result = _run(module, "interlocked", target)
    assert result.passed, str(result)


SOURCE = """
#include <hip/hip_runtime.h>
__global__ void scalars(float *p, int n) {
    float x = p[threadIdx.x], y = __builtin_amdgcn_rcpf(x), z = y + x;
    int s = __builtin_amdgcn_readfirstlane(__float_as_int(z));
    for (int i = 0; i < s; i++) {
        z += x * i;
        s -= n;
        p[s] = z > y ? z : x;
    }
    p[threadIdx.x] = __expf(z) / (x > 1.0f ? y : n);
}
"""
_SOURCE_GFX1250 = """
typedef _Float16 h16 __attribute__((ext_vector_type(16)));
typedef float f8 __attribute__((ext_vector_type(8)));
__global__ void matrices(const h16 *a, f8 *out) {
    f8 d = {};
    h16 x = a[threadIdx.x], y = a[threadIdx.x + 1];
    d = __builtin_amdgcn_wmma_f32_16x16x32_f16(0, x, 0, y, (short)0, d, 0, 0);
    __builtin_memcpy(&x, &d, sizeof d);
    d = __builtin_amdgcn_wmma_f32_16x16x32_f16(0, x, 0, y, (short)0, d, 0, 0);
    out[threadIdx.x] = d + d;
}
"""


def _analysed(module: Module) -> list[tuple[list[list[Instruction]], dict[int, list[int]], int]]:
    result = []
    for kernel in module.kernels.values():
        blocks = flow.blocks_of(flow.reachable(module.code_object, kernel.info.entry))
        index_of = {block[0].address: index for index, block in enumerate(blocks)}
        ways = {i: flow.followers(blocks, i, index_of) for i in range(len(blocks))}
        result.append((blocks, ways, kernel.info.wave_size))
    return result


def _hazards(
    blocks: Sequence[Sequence[Instruction]], ways: dict[int, list[int]], arch: str, lanes: int
) -> Hazards:
    return find(blocks, ways.__getitem__, arch, lanes)


@pytest.mark.parametrize(
    ("target", "least"), [("gfx1201", 4), ("gfx1100", 2), ("gfx1100 wave64", 4), ("gfx1250", 9)]
)
def test_every_wait_of_the_compiler_is_wanted(target: str, least: int) -> None:
    arch = target.split()[0]
    source = SOURCE + (_SOURCE_GFX1250 if arch == "gfx1250" else "")
    module = wb.compile(source, arch=arch, flags=FLAGS.get(target, ()), name="compiled_later.hip")
    removed = 0
    for blocks, ways, lanes in _analysed(module):
        assert not _hazards(blocks, ways, arch, lanes).pairs
        for index, block in enumerate(blocks):
            for place, instruction in enumerate(block):
                if instruction.opcode not in ("s_wait_alu", "s_waitcnt_depctr", "v_nop"):
                    continue
                less = list(blocks)
                less[index] = [*block[:place], *block[place + 1 :]]
                pairs = _hazards(less, ways, arch, lanes).pairs
                assert pairs, f"{target}: {instruction} at {instruction.address:#x} is not wanted"
                assert all(arch in ALL_RULES[pair.rule].counts for pair in pairs)
                removed += 1
    assert removed >= least
