"""Latencies of memories and instructions, and which lanes of an LDS access conflict.

Each follows from times of whole launches, which both a GPU's clock and the model give: a loop with twice the
iterations takes longer by the time of the additional iterations.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.codeobject.instructions import Access, Memory, Space, forms
from workbench.hardware.section import Answer, Case, Compared, Plan, Section
from workbench.kernel import compile
from workbench.launches import DWORD
from workbench.profile import time
from workbench.targets import LINE_BYTES, target

if TYPE_CHECKING:
    from workbench.runtime import Device

_KERNEL = 'extern "C" __attribute__((global)) void __attribute__((amdgpu_flat_work_group_size(1, 256)))\n'
_LANE = "__builtin_amdgcn_workitem_id_x()"

_CHASE = (
    _KERNEL
    + f"""run(const unsigned *next, unsigned *out, int turns) {{
    unsigned at = {_LANE};
    for (int n = 0; n < turns; n++) at = next[at];
    out[{_LANE}] = at;
}}"""
)
_CHASE_LDS = (
    _KERNEL
    + f"""run(const unsigned *next, unsigned *out, int turns) {{
    __attribute__((shared)) unsigned places[1024];
    for (int n = {_LANE}; n < 1024; n += 64) places[n] = next[n];
    __builtin_amdgcn_s_barrier();
    // All lanes the same place: one address, which conflicts with nothing.
    unsigned at = 0;
    for (int n = 0; n < turns; n++) at = places[at];
    out[{_LANE}] = at;
}}"""
)
_DEPENDENT = (
    _KERNEL
    + f"""run(const unsigned *next, unsigned *out, int turns) {{
    typedef float wide __attribute__((ext_vector_type(16)));
    typedef short four __attribute__((ext_vector_type(4)));
    typedef float two __attribute__((ext_vector_type(2)));
    float x = 1.0f + next[{_LANE}];
    two y = x;
    wide sum = x;
    four a = (short)next[0];
    for (int n = 0; n < turns; n++) {{
        BODY
    }}
    out[{_LANE}] = (unsigned)(x + y.x + sum[0]);
}}"""
)
_IN_A_TURN = 16
"""Instructions of an iteration that depend on each other."""

_CHAINS = {
    "fused multiply-add": 'asm volatile("v_fma_f32 %0, %0, %0, %0" : "+v"(x));',
    "packed fused multiply-add": 'asm volatile("v_pk_fma_f32 %0, %0, %0, %0" : "+v"(y));',
    "exponential": 'asm volatile("v_exp_f32 %0, %0\\n s_nop 0" : "+v"(x));',
    "integer multiply": 'asm volatile("v_mul_lo_u32 %0, %0, %0" : "+v"(x));',
    "matrix multiply 32x32x8 of bf16": "sum = __builtin_amdgcn_mfma_f32_32x32x8bf16_1k(a, a, sum, 0, 0, 0);",
    "barrier of four waves": "__builtin_amdgcn_s_barrier();",
}
_MEMORIES = {
    # bytes of a pointer chase's circle, and whether the caches keep what the previous launch left
    "LDS": (4096, True),
    "L1": (8192, True),
    "L2": (1 << 20, True),
    "Infinity Cache": (64 << 20, True),
    "HBM": (64 << 20, False),
}

_LDS_BYTES = {Access.LOAD: (8, 12, 16), Access.STORE: (8,)}
"""Bytes per lane, for accesses whose conflicts HipKittens' authors measured on gfx950."""


def _lds_forms(arch: str) -> dict[str, Memory]:
    """LDS accesses with one address, by opcode; wide loads first."""
    memories: dict[str, Memory] = {}
    for form in forms(arch).values():
        memory = form.record.memory
        if memory is None or memory.space is not Space.LDS or memory.stride > 1 or memory.transposed:
            continue
        if memory.bytes in _LDS_BYTES.get(memory.access, ()) and not memory.to_lds:
            memories[form.opcode] = memory
    return dict(sorted(memories.items(), key=lambda entry: -entry[1].bytes))


_CONFLICT = """
typedef unsigned vec __attribute__((ext_vector_type(WIDTH)));
KERNELrun(unsigned *out, int one, int other, int further, int turns) {
    __attribute__((shared)) unsigned places[4096];
    // Four waves and more keep the LDS busy; one alone waits for its own answers.
    const int lane = LANE & 63;
    vec x = (vec)(unsigned)lane;
    unsigned at = (unsigned)(unsigned long)(__attribute__((address_space(3))) unsigned *)places;
    // Both lanes begin at the first bank; the second one so many dwords further.
    if (lane == other) at += further * 4;
    if (lane == one || lane == other)
        for (int n = 0; n < turns; n++) { BODY }
    out[lane] = x.x + places[lane];
}
"""


def _cases(plan: Plan) -> list[Case]:
    lanes = int(target(plan.arch).wave_size)
    cases = [Case(f"latency: {name}", {"kind": "memory", "name": name}) for name in _MEMORIES]
    cases += [Case(f"dependent: {name}", {"kind": "chain", "name": name}) for name in _CHAINS]
    rows = [0] if plan.quick else range(0, lanes, 16)
    cases += [
        Case(f"LDS conflicts: {name}, lane {row}", {"kind": "conflicts", "name": name, "lane": row})
        for name in list(_lds_forms(plan.arch))[: 1 if plan.quick else None]
        for row in rows
    ]
    cases.append(Case("launch of an empty kernel", {"kind": "launch", "name": "empty"}))
    return cases


def _measure(case: Case, device: Device, folder: Path) -> Answer:
    return _KINDS[case.about["kind"]](case.about, device)


def _us(device: Device, source: str, block: int, *arguments: Any, warm: bool = True) -> tuple[float, str]:
    kernel = compile(source, arch=device.arch, name="microbenchmark.hip")["run"]
    timing = time(kernel[1, block], *arguments, warm=warm)
    return timing.median.value, str(timing.origin)


def _slope(device: Device, source: str, block: int, turns: int, data: Any, warm: bool = True) -> Answer:
    """Nanoseconds of an iteration, from the additional time of twice the iterations."""
    import torch

    out = torch.zeros(256, dtype=torch.int32, device=device.torch_device)
    once, origin = _us(device, source, block, data, out, turns, warm=warm)
    twice, _ = _us(device, source, block, data, out, 2 * turns, warm=warm)
    return {"ns": 1e3 * (twice - once) / turns, "origin": origin}


def _memory(about: Answer, device: Device) -> Answer:
    import torch

    size, warm = _MEMORIES[about["name"]]
    entries = size // 4
    # One entry per line, in one circle in random order: each line is read once before any is read again.
    step = 1 if about["name"] == "LDS" else LINE_BYTES // 4
    order = np.random.default_rng(0).permutation(entries // step) * step
    places = np.zeros(entries, np.int32)
    places[order] = np.roll(order, -1)
    data = torch.from_numpy(places).to(device.torch_device)
    source = _CHASE_LDS if about["name"] == "LDS" else _CHASE
    turns = min(max(2048, len(order)), 16384)
    block = 64 if source is _CHASE_LDS else 1
    return {**_slope(device, source, block, turns, data, warm), "bytes": size}


def _chain(about: Answer, device: Device) -> Answer:
    import torch

    source = _DEPENDENT.replace("BODY", "\n        ".join([_CHAINS[about["name"]]] * _IN_A_TURN))
    data = torch.zeros(256, dtype=torch.int32, device=device.torch_device)
    slope = _slope(device, source, 256 if "barrier" in about["name"] else 64, 512, data)
    return {**slope, "ns": slope["ns"] / _IN_A_TURN}


def conflict_source(name: str, memory: Memory) -> str:
    """The kernel in which only two lanes access the LDS, over and over."""
    loads = memory.access is Access.LOAD
    lines = "\\n".join([f"{name} {'%0, %1' if loads else '%1, %0'}"] * _IN_A_TURN)
    ends = ': "=&v"(x) : "v"(at)' if loads else ':: "v"(x), "v"(at)'
    body = f'asm volatile("{lines}\\ns_waitcnt lgkmcnt(0)" {ends} : "memory");'
    text = _CONFLICT.replace("BODY", body).replace("WIDTH", str(memory.bytes // DWORD))
    return text.replace("KERNEL", _KERNEL).replace("LANE", _LANE)


def _conflicts(about: Answer, device: Device) -> Answer:
    """Times of one lane with each other on the same bank, relative to different banks."""
    import torch

    name, lane = about["name"], about["lane"]
    source = conflict_source(name, _lds_forms(device.arch)[name])
    out = torch.zeros(64, dtype=torch.int32, device=device.torch_device)
    ratios = []
    origin = ""
    for other in range(target(device.arch).wave_size):
        same, origin = _us(device, source, 256, out, lane, other, _ROW, _TURNS)
        apart, _ = _us(device, source, 256, out, lane, other, _APART, _TURNS)
        ratios.append(same / apart)
    return {"ratios": ratios, "conflicts": [int(ratio > _SLOWER) for ratio in ratios], "origin": origin}


_ROW, _APART = 64, 16
"""Dwords to the same bank, of 32 or of 64, and to banks that no access at the first bank reaches."""
_TURNS = 128
_SLOWER = 1.02
"""Threshold for a conflict: one more cycle per access of two lanes, whatever else an iteration takes."""


def _launch(about: Answer, device: Device) -> Answer:
    import torch

    out = torch.zeros(64, dtype=torch.int32, device=device.torch_device)
    us, origin = _us(device, _KERNEL + "run(unsigned *out) { out[0] = 1; }", 64, out)
    return {"us": us, "origin": origin}


_KINDS = {"memory": _memory, "chain": _chain, "conflicts": _conflicts, "launch": _launch}


def _compare(subject: Answer, reference: Answer, subject_folder: Path, reference_folder: Path) -> Compared:
    if "conflicts" in subject:
        same = subject["conflicts"] == reference["conflicts"]
        lanes = [n for n, count in enumerate(subject["conflicts"]) if count]
        text = f"conflicts with lanes {', '.join(map(str, lanes)) or 'none'}"
        model = [n for n, count in enumerate(reference["conflicts"]) if count]
        return same, text if same else f"{text}; emulated {', '.join(map(str, model)) or 'none'}"
    unit = "ns" if "ns" in subject else "us"
    a, b = subject[unit], reference[unit]
    return None, f"{subject['origin']} {a:,.4g} {unit}, modelled {b:,.4g} {unit}"


SECTION = Section(
    "microbenchmarks",
    "Latencies, dependent instructions, LDS bank conflicts",
    0.12,
    _cases,
    _measure,
    _compare,
    alone=True,
)
