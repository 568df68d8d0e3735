"""Each solution passes its check, and what readers get wrong fails it with the sentence that helps."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import nbformat
import pytest

import workbench as wb

SOLUTIONS = Path(__file__).parents[2] / "notebooks" / "solutions.ipynb"

STORE = "    store(g.lse, l, {batch, head, 0, tile});\n"

WRONG = {
    "04.1": {
        "to base 2": ("    mul(l, l, 0.6931471805599453f);", "    //"),
        "lacks the maximum": ("    add(l, l, m);\n", ""),
        "base 2 and one to base e": (
            "    log2(l, l);\n    add(l, l, m);\n    mul(l, l, 0.6931471805599453f);",
            "    log(l, l);\n    add(l, l, m);\n    //",
        ),
        "lse was never written or is NaN in every element": (STORE, ""),
        "race in global memory": ("0, tile}", "0, tile / 3 * 3}"),
    },
    "04.2": {
        "begins at key 0": (" + more / BLOCK", ""),
        "is not masked": ("        if (block == last) make_causal_t(s, s, -INFINITY);\n", ""),
        "wrong triangle": ("make_causal_t", "make_causal"),
        "one block too early": ("block < last + 1", "block < last"),
        "one key too many": (
            "make_causal_t(s, s, -INFINITY)",
            "mask_map(s, s, -INFINITY, [&](int row, int col) { return row >= col; })",
        ),
    },
    "04.3": {
        "in turn (0, 1, 0, 1)": ("head / (g.q.depth() / g.k.depth())", "head % g.k.depth()"),
        "read head 0": ("head / (g.q.depth() / g.k.depth())", "0"),
        "past the end of argument 'k'": ("head / (g.q.depth() / g.k.depth())", "head"),
        "V does not": ("load(v, g.v, {batch, head_kv,", "load(v, g.v, {batch, head % int(g.k.depth()),"),
    },
    "04.4": {
        "last block is left out": ("ceil_div(keys, BLOCK)", "keys / BLOCK"),
        "empty keys count": ("> keys)", "< 0)"),
        "one key too far": (">= keys; }", "> keys; }"),
        "one key too near": ("row >= keys", "row >= keys - 1"),
        "an uninitialised value is stored": ("    zero(l);\n", ""),
    },
    "05.1": {
        "A lane loads less than 16 bytes at once": (
            "(blockIdx.x * 256 + threadIdx.x) * 8;\n",
            "n;\n    const int end = min(n, (blockIdx.x + 1) * 2048);\n"
            "    for (int i = blockIdx.x * 2048 + threadIdx.x; i < end; i += 256) out[i] = x[i] + y[i];\n",
        ),
        "The rest is left out": ("i = first; i < n; i++", "i = n; i < n; i++"),
        "past the end of argument": ("first + 8 <= n", "first < n"),
    },
    "05.2": {
        "Lanes beside each other read numbers that are not": (
            "int c = lane; c < cols; c += 64",
            "int c = lane * ((cols + 63) / 64); c < min(cols, (lane + 1) * ((cols + 63) / 64)); c++",
        ),
        "the lanes are not added up": (
            "    for (int far = 32; far; far /= 2) sum += __shfl_xor(sum, far);\n",
            "",
        ),
        "fewer than 64, are left out": ("int c = lane; c < cols;", "int c = lane; c < cols / 64 * 64;"),
        "past the end of argument 'x'": ("    if (row >= rows) return;\n", ""),
    },
    "05.3": {
        "Numbers are read more than once": (
            "(held[i] - mean) * factor",
            "(static_cast<const volatile float *>(x)[first + i * 64] - mean) * factor",
        ),
        "divides by 511": ("over_lanes(squares) / 512", "over_lanes(squares) / 511"),
        "the mean is not subtracted first": ("(v - mean) * (v - mean)", "v * v"),
        "The mean is missing in the result": ("(held[i] - mean) * factor", "held[i] * factor"),
    },
    "06.1": {
        "nobody gains by it": ("wait_vmcnt<LOADS>", "wait_vmcnt<0>"),
        "of the same wave is under way": ("wait_vmcnt<0>", "wait_vmcnt<LOADS>"),
        "race in shared memory": (
            "        barrier();\n        if (step + 2 < steps) start(step + 2);\n",
            "        if (step + 2 < steps) start(step + 2);\n        barrier();\n",
        ),
        "The last step is left out": ("step = 0; step < steps;", "step = 0; step < steps - 1;"),
    },
    "06.2": {
        "a load has no turn more": ("wait_vmcnt<2 * LOADS>", "wait_vmcnt<LOADS>"),
        "before its read": ("step % 5", "step % 4"),
        "of the same wave is under way": ("wait_vmcnt<0>", "wait_vmcnt<LOADS>"),
    },
    "06.3": {
        "left out where the number of steps is odd": ("pair < steps;", "pair + 1 < steps;"),
        "One step too many": ("            if (step >= steps) return;\n", ""),
        "of the same wave is under way": (
            "else schedule::end_stage<0>",
            "else schedule::end_stage<2 * LOADS>",
        ),
    },
    "13.1": {
        "what is behind the grid's lanes is not written": ("i += lanes", "i += n"),
        "Lanes load numbers that others load too": ("gridDim.x * blockDim.x", "blockDim.x"),
        "past the end of argument 'x'": ("i < n;", "i < (n + 255) / 256 * 256;"),
    },
    "13.2": {
        "the other three are not added": (
            "of_wave[0] + of_wave[1] + of_wave[2] + of_wave[3]",
            "of_wave[0]",
        ),
        "race in shared memory": ("    __syncthreads();\n", ""),
        "Whichever wave comes first is added first": (
            "    __syncthreads();\n"
            "    if (threadIdx.x == 0) *out = of_wave[0] + of_wave[1] + of_wave[2] + of_wave[3];",
            "    if (threadIdx.x == 0) *out = 0;\n"
            "    __syncthreads();\n"
            "    if (threadIdx.x % 64 == 0) atomicAdd(out, of_wave[threadIdx.x / 64]);",
        ),
    },
}
"""By exercise: part of the sentence, and what of the solution is replaced to get it."""


@cache
def solution(name: str) -> str:
    magic = f"%%hipkittens solution_{name.replace('.', '_')}"
    cells = nbformat.read(SOLUTIONS, as_version=4).cells
    (found,) = [cell.source for cell in cells if cell.source.startswith(magic)]
    return str(found).removeprefix(magic)


def test_each_exercise_has_a_solution_and_wrong_answers() -> None:
    names = [each.name for each in wb.exercises()]
    assert names == sorted(WRONG)
    assert all(len(wrong) >= 3 for wrong in WRONG.values())


@pytest.mark.parametrize("name", WRONG)
def test_the_solution_passes(name: str) -> None:
    result = wb.exercise(name).check(wb.compile(solution(name), name="solution"))
    assert result.check() is result
    assert "the sanitizer finds nothing" in result.sentence


@pytest.mark.parametrize(("name", "sentence"), [(name, each) for name in WRONG for each in WRONG[name]])
def test_a_wrong_answer_is_told_what_is_wrong(name: str, sentence: str) -> None:
    right, wrong = WRONG[name][sentence]
    assert right in solution(name)
    source = solution(name).replace(right, wrong)
    result = wb.exercise(name).check(wb.compile(source, name="answer"))
    assert not result.passed
    assert sentence in result.sentence
    assert result.shape in wb.exercise(name).shapes
    with pytest.raises(wb.errors.VerificationError):
        result.check()


@pytest.mark.parametrize("name", WRONG)
def test_no_hint_is_in_what_a_check_says(name: str) -> None:
    exercise = wb.exercise(name)
    for mistake in exercise.mistakes:
        assert not any(mistake.sentence in hint or hint in mistake.sentence for hint in exercise.hints)
