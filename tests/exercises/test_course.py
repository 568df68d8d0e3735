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
    "07.1": {
        "wave 1 writes what wave 0 read": (
            "        __syncthreads();                           // all have read\n",
            "",
        ),
        "with no barrier or atomic between them": (
            "        __syncthreads();                           // all have written\n",
            "",
        ),
        "one round too few": ("round = 0; round", "round = 1; round"),
        "are their own neighbours": (
            "(held[(i + 255) % 256] + value + held[(i + 1) % 256])",
            "(held[i ? i - 1 : 0] + value + held[i < 255 ? i + 1 : 255])",
        ),
        "there are zeros": (
            "(held[(i + 255) % 256] + value + held[(i + 1) % 256])",
            "((i ? held[i - 1] : 0) + value + (i < 255 ? held[i + 1] : 0))",
        ),
    },
    "07.2": {
        "an uninitialised value is stored": (
            "    held[threadIdx.x] = sum;",
            "    if (threadIdx.x < n) held[threadIdx.x] = sum;",
        ),
        "does not fill a block of 256 is left out": ("i < n; i", "i < n / 256 * 256; i"),
        "Only the first 256 elements": (
            "for (int i = threadIdx.x; i < n; i += 256)",
            "if (int i = threadIdx.x; i < n)",
        ),
        "Only the first wave": ("half = 128", "half = 32"),
        "race in shared memory": ("        __syncthreads();\n", ""),
    },
    "07.3": {
        "has no digit left": (
            "(x[i] - mean) * (x[i] - mean);\n    const float all = total(squares);",
            "x[i] * x[i];\n    const float all = total(squares) - mean * mean * n;",
        ),
        "divided by n - 1": ("all / n", "all / (n - 1)"),
        "standard deviation": ("= all / n", "= sqrtf(all / n)"),
        "not divided by anything": ("all / n", "all"),
        "out is wrong in every element": ("const float all = total(squares)", "const float all = squares"),
    },
    "08.1": {
        "by way of the denominator is missing": ("    sub_row(dy, dy, sum);\n", ""),
        "wants its weight y": (
            "    mul(product, y, dy);\n    row_sum(sum, product);",
            "    row_sum(sum, dy);",
        ),
        "a mean is subtracted": ("    sub_row", "    mul(sum, sum, 1.0f / COLS);\n    sub_row"),
        "lacks its factor": ("    mul(dy, dy, y);\n", ""),
        "at row 4 to 7": ("int row = blockIdx.x * NUM_WARPS + warpid()", "int row = warpid()"),
    },
    "08.2": {
        "in each other's place": (
            "    dgate[i] = dout[i] * up[i] * slope;\n    dup[i] = dout[i] * gate[i] * s;",
            "    dup[i] = dout[i] * up[i] * slope, dgate[i] = dout[i] * gate[i] * s;",
        ),
        "takes the sigmoid for a constant": ("s * (1 + gate[i] * (1 - s))", "s"),
        "the derivative of silu was wanted": ("s * (1 + gate[i] * (1 - s))", "gate[i] * s"),
        "dgate lacks the factor up": ("dout[i] * up[i] * slope", "dout[i] * slope"),
        "dup lacks the sigmoid": ("gate[i] * s;", "gate[i];"),
        "past the end of argument": ("    if (i >= n) return;\n", ""),
    },
    "08.3": {
        "factor r of each row is missing": (" * r[row]", ""),
        "is a mean over rows": ("held[3][lane];", "held[3][lane], dw[col] /= rows;"),
        "Only the first wave's rows": (" + held[1][lane] + held[2][lane] + held[3][lane]", ""),
        "do not fill a step of four waves": ("row < rows", "row < rows / 4 * 4"),
        "race in shared memory": ("    __syncthreads();\n", ""),
    },
    "09.1": {
        "never written or is NaN": ("    max(scale, scale, 1e-10f);\n", ""),
        "it may be negative": ("    row_max(scale, size);", "    row_max(scale, x);"),
        "lands on 240": ("448.0f", "240.0f"),
        "lands on 1": ("div_row(x, x, scale);", "mul(x, x, 1 / 448.0f), div_row(x, x, scale);"),
        "has what x was multiplied by": (
            "    store(g.scales",
            "    rcp(scale, scale);\n    store(g.scales",
        ),
    },
    "09.2": {
        "should land on 4 to 8": ("ilogbf(largest) - 2", "ilogbf(largest)"),
        "rounded up": ("ilogbf(largest) - 2", "int(ceilf(log2f(largest))) - 2"),
        "become 8": ("fminf(rintf(size / step) * step, 6.0f)", "rintf(size / step) * step"),
        "Ties are rounded up": ("rintf(size / step)", "floorf(size / step + 0.5f)"),
        "cut off": ("rintf(size / step)", "floorf(size / step)"),
        "powers has p itself": ("power + 127", "power"),
    },
    "09.3": {
        "scales of the first one": (
            "{0, 0, step, row});\n        load(scale_b, g.scale_b, {0, 0, step, col}",
            "{0, 0, 0, row});\n        load(scale_b, g.scale_b, {0, 0, 0, col}",
        ),
        "multiplied again in each step": (
            "        zero(part);\n        mma_ABt(part, a, b, part);\n        mul_row(part, part, scale_a);\n"
            "        mul_col(part, part, scale_b);\n        add(c, c, part);",
            "        mma_ABt(c, a, b, c);\n        mul_row(c, c, scale_a);\n        mul_col(c, c, scale_b);",
        ),
        "scale_b is missing": ("        mul_col(part, part, scale_b);\n", ""),
        "an uninitialised value": ("    zero(c);\n", ""),
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
    assert names == list(WRONG)
    assert all(len(wrong) >= 3 for wrong in WRONG.values())


@pytest.mark.parametrize("name", WRONG)
def test_the_solution_passes(name: str) -> None:
    result = wb.exercise(name).check(wb.compile(solution(name), name="solution"))
    assert result.check() is result
    assert "the sanitizer finds nothing" in result.sentence


@pytest.mark.parametrize(("name", "sentence"), [(name, each) for name in WRONG for each in WRONG[name]])
def test_a_wrong_answer_is_told_what_is_wrong(name: str, sentence: str) -> None:
    right, wrong = WRONG[name][sentence]
    assert solution(name).count(right) == 1
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
