"""Advice: each seeded fault is named with its line, its repaired twin is not; gains are the model's."""

from __future__ import annotations

import pickle
from dataclasses import replace
from functools import cache

import pytest
import torch

import workbench as wb
from workbench.errors import UsageError
from workbench.origin import Origin
from workbench.profile.findings import WORTH, Advice, summed
from workbench.profile.rules import RULES
from workbench.views.verdict import verdict

SOURCE = r"""#include <hip/hip_runtime.h>
#define EACH int i = blockIdx.x * blockDim.x + threadIdx.x
__device__ inline float shared_sum(float *tile, int stride, float *out) {
    float sum = 0;
    for (int turn = 0; turn < 32; turn++) {
        for (int k = 0; k < 8; k++) sum += tile[(threadIdx.x * stride + k * 4 + turn) % 4096];
        __syncthreads();
        tile[(threadIdx.x * stride + turn) % 4096] = sum;
        __syncthreads();
    }
    return sum;
}
extern "C" __global__ void conflicts(float *out) {
    __shared__ float tile[4096];
    EACH;
    out[i] = shared_sum(tile, 64, out);
}
extern "C" __global__ void conflicts_cured(float *out) {
    __shared__ float tile[4096];
    EACH;
    out[i] = shared_sum(tile, 1, out);
}
extern "C" __global__ void conflicts_hidden(const float4 *x, float4 *out) {
    __shared__ float tile[4096];
    tile[threadIdx.x % 64 * 64 + threadIdx.x / 64] = threadIdx.x;
    __syncthreads();
    float scale = tile[threadIdx.x % 64 * 64 + threadIdx.x / 64];
    for (int k = 0; k < 8; k++) {
        int i = (blockIdx.x * 8 + k) * 256 + threadIdx.x;
        float4 a = x[i];
        out[i] = {a.x * scale, a.y * scale, a.z * scale, a.w * scale};
    }
}
typedef short bf16x8 __attribute__((ext_vector_type(8)));
typedef float float32x4 __attribute__((ext_vector_type(4)));
#define MATRIX_LOOP(each_turn)                                                     \
    float32x4 sum = {};                                                            \
    for (int k = 0; k < steps; k++) {                                              \
        bf16x8 tile = x[k * 64 + threadIdx.x % 64];                                \
        sum = __builtin_amdgcn_mfma_f32_16x16x32_bf16(                             \
            __builtin_bit_cast(bf16_t, tile), __builtin_bit_cast(bf16_t, tile), sum, 0, 0, 0); \
        each_turn;                                                                 \
    }                                                                              \
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum
typedef __bf16 bf16_t __attribute__((ext_vector_type(8)));
extern "C" __global__ void product(const bf16x8 *x, float32x4 *out, int steps) { MATRIX_LOOP(); }
extern "C" __global__ void product_of_powers(const bf16x8 *x, float32x4 *out, int steps) {
    MATRIX_LOOP(sum[0] = __builtin_amdgcn_exp2f(sum[0]));
}
extern "C" __global__ void scattered_loads(const float *x, float *out) {
    EACH;
    out[i] = x[(i % 256) * 1024 + i / 256];
}
extern "C" __global__ void scattered_loads_cured(const float *x, float *out) {
    EACH;
    out[i] = x[i];
}
extern "C" __global__ void scattered_stores(const float *x, float *out) {
    EACH;
    out[(i % 256) * 1024 + i / 256] = x[i];
}
extern "C" __global__ void scattered_stores_cured(const float *x, float *out) {
    EACH;
    out[i] = x[i];
}
extern "C" __global__ void barriers(float *out) {
    __shared__ float tile[256];
    EACH;
    float sum = i;
    for (int turn = 0; turn < 64; turn++) {
        if (__builtin_amdgcn_readfirstlane(threadIdx.x / 64) == (turn & 3))
            for (int k = 0; k < 64; k++) sum = sum * 1.5f + 1.0f;
        tile[threadIdx.x] = sum;
        __syncthreads();
        sum += tile[255 - threadIdx.x];
        __syncthreads();
    }
    out[i] = sum;
}
extern "C" __global__ void barriers_cured(float *out) {
    EACH;
    float sum = i;
    for (int turn = 0; turn < 64; turn++)
        for (int k = 0; k < 16; k++) sum = sum * 1.5f + 1.0f;
    out[i] = sum;
}
extern "C" __global__ void transcendental(float *out) {
    EACH;
    float sum = i;
    for (int turn = 0; turn < 256; turn++) sum = __builtin_amdgcn_exp2f(sum) + __builtin_amdgcn_rcpf(sum);
    out[i] = sum;
}
extern "C" __global__ void transcendental_cured(float *out) {
    EACH;
    float sum = i;
    for (int turn = 0; turn < 256; turn++) sum = (sum + 1.5f) * 0.5f + sum;
    out[i] = sum;
}
extern "C" __global__ void conversions(float *out) {
    EACH;
    int sum = i;
    for (int turn = 0; turn < 256; turn++) sum = (int)((float)sum * 0.5f) + turn;
    out[i] = sum;
}
extern "C" __global__ void conversions_cured(float *out) {
    EACH;
    float sum = i;
    for (int turn = 0; turn < 256; turn++) sum = sum * 0.5f + 1.5f;
    out[i] = sum;
}
extern "C" __global__ void spills(float *out) {
    EACH;
    float kept[64];
    for (int k = 0; k < 64; k++) kept[k] = k * i;
    for (int turn = 0; turn < 256; turn++) kept[(turn * i) & 63] += kept[(turn + i) & 63];
    float sum = 0;
    for (int k = 0; k < 64; k++) sum += kept[k];
    out[i] = sum;
}
extern "C" __global__ void spills_cured(float *out) {
    EACH;
    float kept[16];
#pragma unroll
    for (int k = 0; k < 16; k++) kept[k] = k * i;
    for (int turn = 0; turn < 64; turn++) {
#pragma unroll
        for (int k = 0; k < 16; k++) kept[k] += kept[(k + 1) & 15];
    }
    float sum = 0;
#pragma unroll
    for (int k = 0; k < 16; k++) sum += kept[k];
    out[i] = sum;
}
"""
GROUPS = 1024
RULE_OF = {
    "conflicts": "conflicts",
    "scattered_loads": "loads-scattered",
    "scattered_stores": "stores-scattered",
    "barriers": "barriers",
    "transcendental": "transcendental",
    "conversions": "conversions",
    "spills": "spills",
}


@cache
def module() -> wb.Module:
    return wb.compile(SOURCE, arch="gfx950")


@cache
def profiled(name: str, groups: int = GROUPS) -> wb.ProfileResult:
    out = torch.zeros(groups * 256)
    x = (torch.zeros(groups * 256),) if name.startswith("scattered") else ()
    return wb.profile(module()[name][groups, 256], *x, out)


def advice_of(name: str) -> set[str]:
    return {finding.rule for finding in profiled(name).advice}


@pytest.mark.parametrize("name", RULE_OF)
def test_a_fault_is_named_and_its_cured_twin_is_not(name: str) -> None:
    assert RULE_OF[name] in advice_of(name)
    assert RULE_OF[name] not in advice_of(f"{name}_cured")


def test_conflicts_that_cost_no_time_are_reported_with_their_cover() -> None:
    groups = 512
    x = torch.zeros(groups * 8 * 256 * 4)
    result = wb.profile(module()["conflicts_hidden"][groups, 256], x, torch.zeros_like(x))
    assert isinstance(result, wb.ProfileResult)
    assert "conflicts" not in {finding.rule for finding in result.advice}
    fault = next(fault for fault in result.advice.hidden if fault.finding.rule == "conflicts")
    lost, active = (result[name] for name in ("SQ_LDS_BANK_CONFLICT", "SQ_LDS_IDX_ACTIVE"))
    assert lost.value > 0.9 * active.value
    assert list(fault.finding.evidence.values()) == [lost, active], "with the origins of the counters"
    assert fault.behind == "memory"
    assert 0 <= fault.cost.value < (1 - 1 / WORTH) * fault.time.value
    sentence = f"hidden behind memory here: {fault.cost.value:.2g} of {fault.time.value:.4g} us"
    assert sentence in repr(result.advice)
    assert sentence in str(result.advice._repr_html_())
    assert sentence in result._repr_html_()
    assert sentence in repr(summed("both", [(result.advice, 1.0)]))
    # Only what costs time is a finding.
    assert not profiled("conflicts").advice.hidden


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("product", "Each step along K waits for its own loads"),
        ("product_of_powers", "Each turn waits for its own loads"),
    ],
)
def test_a_loop_over_k_is_called_so(name: str, words: str) -> None:
    steps = 64
    x, out = torch.zeros(steps * 64 * 8, dtype=torch.bfloat16), torch.zeros(256 * 4 * 256)
    advice = wb.advice(module()[name][256, 256], x, out, steps)
    titles = {finding.rule: finding.title for finding in advice}
    assert titles["early-wait"] == words
    assert "{" not in repr(advice)


def test_only_sums_over_k_are_advised_to_split_it() -> None:
    split = "the sum over K split among work-groups"
    product = wb.advice("gemm/bf16", shape={"m": 256, "n": 256, "k": 256}, device="emulated:gfx950")
    assert split in repr(product)
    assert "split" not in repr(profiled("conflicts_cured", 64).advice)


def test_a_finding_has_evidence_a_place_and_a_gain_with_its_error() -> None:
    finding = next(
        finding for finding in profiled("scattered_loads").advice if finding.rule == "loads-scattered"
    )
    assert finding.place is not None
    assert "out[i] = x[(i % 256)" in SOURCE.splitlines()[finding.place[1] - 1]
    assert {figure.origin for figure in finding.evidence.values()} == {Origin.COUNTED}
    assert finding.gain.value > WORTH
    assert finding.gain.origin is Origin.MODELLED
    assert finding.gain.error is not None
    assert f"times as fast without it (modelled, {finding.gain.error.short})" in str(finding)
    assert finding.inlined is None
    inlined = replace(finding, inlined=("/include/sync.cuh", 57))
    assert f"line {finding.place[1]} of {finding.place[0]}, inlined from sync.cuh line 57)" in str(inlined)
    assert "(sync.cuh line 57)" in Advice("one", [inlined])._repr_html_()
    gains = [finding.gain.value for finding in profiled("scattered_loads").advice]
    assert gains == sorted(gains, reverse=True)


def test_advice_on_a_short_kernel_names_its_launch() -> None:
    findings = {finding.rule: finding for finding in profiled("scattered_loads_cured", 4).advice}
    assert all(figure.error is not None for figure in findings["launch"].evidence.values())
    assert "launch" not in advice_of("conflicts_cured")


def test_a_nearly_empty_last_round_and_empty_units_are_told() -> None:
    assert "tail" in {finding.rule for finding in profiled("transcendental_cured", 2048 + 64).advice}
    assert "tail" not in {finding.rule for finding in profiled("transcendental_cured", 4096).advice}
    assert "few-groups" in {finding.rule for finding in profiled("conflicts_cured", 64).advice}
    assert "few-groups" not in advice_of("conflicts_cured")


def test_gains_are_what_the_model_says_of_the_change() -> None:
    result = profiled("conflicts")
    assert result.model is not None
    finding = next(finding for finding in result.advice if finding.rule == "conflicts")
    again = result.what_if(bank_conflicts=0)
    assert finding.gain.value == pytest.approx(result.model.seconds / again.seconds)
    assert result.what_if().seconds == pytest.approx(result.model.seconds)
    half = result.what_if(bank_conflicts=0.5)
    assert again.seconds < half.seconds < result.model.seconds
    assert again.error == result.model.error


def test_changes_that_cannot_be_are_refused() -> None:
    result = profiled("conflicts")
    with pytest.raises(UsageError, match=r"bank_conflicts is 2; expected a share, 0 to 1"):
        result.what_if(bank_conflicts=2)
    with pytest.raises(UsageError, match=r"what_if: unknown magic; expected ahead, bank_conflicts"):
        result.what_if(magic=1)
    with pytest.raises(UsageError, match=r"clock is 0; expected more than 0"):
        result.what_if(clock=0)


def test_a_slower_clock_is_slower_and_more_hits_are_not() -> None:
    result = profiled("scattered_loads")
    assert result.model is not None
    assert result.what_if(clock=1.2e9).seconds > result.what_if(clock=2.4e9).seconds
    assert result.what_if(l1_hit=1.0).seconds <= result.model.seconds


def test_rules_are_data() -> None:
    assert len(RULES) >= 20
    assert len({rule.key for rule in RULES}) == len(RULES)
    assert all(rule.title and callable(rule.look) for rule in RULES)


def test_advice_is_a_table_in_a_notebook() -> None:
    html = profiled("conflicts").advice._repr_html_()
    assert "LDS bank conflicts" in html
    assert "SQ_LDS_BANK_CONFLICT" in html
    assert "e+0" not in html, "counts are written out"
    assert "No rule found a change" in Advice("quiet", ())._repr_html_()


def test_advice_of_a_launch_is_that_of_its_profile() -> None:
    advice = wb.advice(module()["conflicts"][64, 256], torch.zeros(64 * 256))
    assert [finding.rule for finding in advice] == [
        finding.rule for finding in profiled("conflicts", 64).advice
    ]
    assert advice


def test_a_stored_profile_finds_its_details_while_they_are_referenced() -> None:
    whole = profiled("conflicts")
    light = whole.compact()
    assert light.record.steps is None
    assert light.advice is whole.advice
    assert light.what_if(bank_conflicts=0).seconds < whole.model.seconds  # type: ignore[union-attr]
    assert light.timeline is not None
    assert len(light.timeline.spans) == len(whole.timeline.spans)  # type: ignore[union-attr]
    alone = pickle.loads(pickle.dumps(light))
    assert not alone.advice
    assert alone.timeline is None


def test_advice_on_several_launches_is_what_it_gains_all_of_them() -> None:
    slow = profiled("conflicts").advice
    advice = summed("both", [(slow, 1.0), (Advice("other", ()), 3.0)])
    assert advice[0].title == f"{slow.name}: {slow[0].title}"
    assert [finding.follows for finding in advice] == [False, *(True for _ in advice[1:])]
    assert advice[0].gain.value == pytest.approx(4 / (3 + 1 / slow[0].gain.value))
    assert not summed("both", [(slow, 1e-3), (Advice("other", ()), 3.0)])


def test_a_profile_begins_with_verdict_and_advice() -> None:
    html = profiled("conflicts")._repr_html_()
    assert html.index("not verified") < html.index("limited by") < html.index("LDS bank conflicts")
    assert html.index("LDS bank conflicts") < html.index("<table")
    for passed, mark in ((True, "✓ verified"), (False, "✗ wrong")):
        text = verdict(profiled("conflicts"), passed)
        assert mark in text
        assert " us " in text
        assert "of the roof" in text


def test_a_profiles_advice_is_had_by_name_too() -> None:
    profiled = wb.profile("normalization/rmsnorm", shape={"rows": 4, "cols": 128}, device="emulated:gfx950")
    assert wb.advice(profiled) is profiled.advice
