"""Solutions pass their checks; common mistakes fail with a helpful sentence."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import nbformat
import pytest

import workbench as wb

SOLUTIONS = Path(__file__).parents[2] / "notebooks" / "solutions.ipynb"

STORE = "    store(g.lse, l, {batch, head, 0, tile});\n"

WRONG: dict[str, dict[str, tuple[str, ...]]] = {
    "01.1": {
        "the norm of x alone": (
            "    copy(x, stored);\n    mul(other",
            "    load(stored, g.x, {0, 0, row, 0});\n    copy(x, stored);\n    mul(other",
        ),
        "residual is added behind": (
            "    copy(x, stored);\n    mul(other",
            "    load(stored, g.x, {0, 0, row, 0});\n    copy(x, stored);\n    mul(other",
            "    mul_col(x, x, weight);\n",
            "    mul_col(x, x, weight);\n    copy(other, residual);\n    add(x, x, other);\n",
        ),
        "not of the mean": ("    mul(scale, scale, 1.0f / COLS);\n", ""),
        "not multiplied by the weight": ("    mul_col(x, x, weight);\n", ""),
        "sum is x": (
            "    store(g.sum, stored, {0, 0, row, 0});\n",
            "",
            "    copy(other, residual);\n",
            "    store(g.sum, stored, {0, 0, row, 0});\n    copy(other, residual);\n",
        ),
        "sum was never written or is NaN in every element": (
            "    store(g.sum, stored, {0, 0, row, 0});\n",
            "",
        ),
    },
    "01.2": {
        "this is RMSNorm": ("    sub_row(x, x, mean);\n", ""),
        "from which the mean was not subtracted": (
            "    sub_row(x, x, mean);\n    mul(squares, x, x);\n",
            "    mul(squares, x, x);\n    sub_row(x, x, mean);\n",
        ),
        "eps is missing": ("    add(scale, scale, g.eps);\n", ""),
        "is not divided": ("    mul_row(x, x, scale);\n", ""),
        "out is wrong in": ("    mul(mean, mean, 1.0f / COLS);\n", ""),
    },
    "02.1": {
        "goes along the rows": (
            "    add_col(c, c, bias);",
            "    decltype(c)::col_vec down;\n    rt_bf<32, 32, row_l, rt_16x16_s>::col_vec narrow;\n"
            "    load(narrow, g.bias, {0, 0, 0, row});\n    copy(down, narrow);\n    add_row(c, c, down);",
        ),
        "ReLU comes before": (
            "    add_col(c, c, bias);\n    relu(c, c);",
            "    relu(c, c);\n    add_col(c, c, bias);",
        ),
        "has no ReLU": ("    relu(c, c);\n", ""),
        "has no bias": ("    add_col(c, c, bias);\n", ""),
        "bias of the first 32 columns": ("g.bias, {0, 0, 0, col}", "g.bias, {0, 0, 0, 0}"),
    },
    "02.2": {
        "last step along K is missing": ("g.a.cols() / 32", "g.a.cols() / 32 - 1"),
        "as deep as before": ("g.a.cols() / 32; step++", "g.a.cols() / 32; step += 2"),
        "in each other's places": ("store(g.c, c, {0, 0, row, col})", "store(g.c, c, {0, 0, col, row})"),
        "was never written or is NaN in 12,288 of 16,384 elements": (
            "rt_bf<64, 32, row_l, rt_16x32_s> a, b;\n    rt_fl<64, 64,",
            "rt_bf<32, 32, row_l, rt_16x32_s> a, b;\n    rt_fl<32, 32,",
        ),
        "reads rows of a or b more than once": (
            "rt_bf<64, 32, row_l, rt_16x32_s> a, b;\n    rt_fl<64, 64,",
            "rt_bf<32, 32, row_l, rt_16x32_s> a;\n    rt_bf<64, 32, row_l, rt_16x32_s> b;\n    rt_fl<32, 64,",
            "    zero(c);\n    const int row = blockIdx.y, col = blockIdx.x;\n",
            "    const int col = blockIdx.x, end = 2 * blockIdx.y + 2;\n"
            "    for (int row = end - 2; row < end; row++) {\n    zero(c);\n",
            "    store(g.c, c, {0, 0, row, col});",
            "    store(g.c, c, {0, 0, row, col});\n    }",
        ),
    },
    "03.1": {
        "nothing was turned": (
            "float4{one[place(four, row)], one[place(four + 1, row)],\n"
            "                                         one[place(four + 2, row)], one[place(four + 3, row)]}",
            "tile[place(row, four) / 4]",
        ),
        "not turned themselves": (
            "float4{one[place(four, row)], one[place(four + 1, row)],\n"
            "                                         one[place(four + 2, row)], one[place(four + 3, row)]}",
            "tile[place(row % 4 + four, row / 4 * 4) / 4]",
        ),
        "wait for each other's banks": ("(col ^ (row / 4 % 8 * 4))", "col"),
        "out is wrong in": ("(col ^ (row / 4 % 8 * 4))", "(col ^ (row % 8))"),
        "race": ("    __syncthreads();\n", ""),
    },
    "03.2": {
        "made for another operand": ("st_16x32_s", "st_32x16_s"),
        "columns were multiplied": (
            "    load(a, s);\n    mma_ABt(c, a, a, c);",
            "    rt_bf<64, 64, col_l, rt_32x16_s> t;\n    load(t, s);\n    mma_AtB(c, t, t, c);",
        ),
        "second operand is not transposed": (
            "    mma_ABt(c, a, a, c);",
            "    rt_bf<64, 64, col_l, rt_32x16_s> t;\n    load(t, s);\n    mma_AB(c, a, t, c);",
        ),
        "wait": ("    wait_and_barrier();\n", ""),
    },
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
        "of the same wave may still be in flight": ("wait_vmcnt<0>", "wait_vmcnt<LOADS>"),
        "race in shared memory": (
            "        barrier();\n        if (step + 2 < steps) start(step + 2);\n",
            "        if (step + 2 < steps) start(step + 2);\n        barrier();\n",
        ),
        "The last step is left out": ("step = 0; step < steps;", "step = 0; step < steps - 1;"),
    },
    "06.2": {
        "a load has no turn more": ("wait_vmcnt<2 * LOADS>", "wait_vmcnt<LOADS>"),
        "before its read": ("step % 5", "step % 4"),
        "of the same wave may still be in flight": ("wait_vmcnt<0>", "wait_vmcnt<LOADS>"),
    },
    "06.3": {
        "left out where the number of steps is odd": ("pair < steps;", "pair + 1 < steps;"),
        "One step too many": ("            if (step >= steps) return;\n", ""),
        "of the same wave may still be in flight": (
            "else schedule::end_stage<0>",
            "else schedule::end_stage<2 * LOADS>",
        ),
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
        "You subtract a mean": ("    sub_row", "    mul(sum, sum, 1.0f / COLS);\n    sub_row"),
        "lacks its factor": ("    mul(dy, dy, y);\n", ""),
        "at row 4 to 7": ("int row = blockIdx.x * NUM_WARPS + warpid()", "int row = warpid()"),
    },
    "08.2": {
        "in each other's place": (
            "    dgate[i] = dout[i] * up[i] * slope;\n    dup[i] = dout[i] * gate[i] * s;",
            "    dup[i] = dout[i] * up[i] * slope, dgate[i] = dout[i] * gate[i] * s;",
        ),
        "takes the sigmoid for a constant": ("s * (1 + gate[i] * (1 - s))", "s"),
        "it needs the derivative of silu": ("s * (1 + gate[i] * (1 - s))", "gate[i] * s"),
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
    "10.1": {
        "they are neighbours": ("rows[id * width", "rows[(j * int(gridDim.x) + token) * width"),
        "without their weights": ("weights[id] * ", ""),
        "first expert alone": ("j < top_k", "j < 1"),
        "weights of token 0": ("weights[id]", "weights[j]"),
        "column 64 to 99 (tile 1, the last, of which only 36 of 64 are there)": (
            "col < width; col += 64",
            "col < 64; col += 64",
        ),
        "past the end of argument": ("col < width; col += 64", "col < (width + 63) / 64 * 64; col += 64"),
    },
    "10.2": {
        "does not decay": ("expf(g[head])", "1.0f"),
        "before its decay": ("said += decay * h", "said += h"),
        "beta is not in it": ("beta[head] * ", ""),
        "before its correction": ("sum += corrected", "sum += decay * h[key * 64]"),
        "o was never written": ("    o[head * 64 + lane] = sum;\n", ""),
    },
    "11.1": {
        "several loads": (
            "    const bf16x8 eight = *reinterpret_cast<const bf16x8 *>(x + i);",
            "    bf16x8 eight;\n    for (int j = 0; j < 8; j++)\n"
            "        eight[j] = reinterpret_cast<const volatile unsigned short *>(x)[i + j];",
        ),
        "several stores": (
            "    *reinterpret_cast<bf16x8 *>(out + i) = scaled;",
            "    for (int j = 0; j < 8; j++)\n"
            "        reinterpret_cast<volatile unsigned short *>(out)[i + j] = scaled[j];",
        ),
        "past the end of argument 'x'": ("    if (i >= n) return;\n", ""),
        "the last, of which only": ("if (i >= n) return;", "if (i / 2048 >= n / 2048) return;"),
        "added, not multiplied": ("factor * wide", "factor + wide"),
    },
    "12.1": {
        "those of 2": ("    exp(x, x)", "    exp2(x, x)"),
        "not divided by their sum": ("    div_row(x, x, l);\n", ""),
        "no power was taken": ("    sub_row(x, x, m);\n    exp(x, x);\n", ""),
        "is NaN in every element": ("    sub_row(x, x, m);\n", ""),
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
    "14.1": {
        "updated was rounded to bf16": (
            "    store(g.updated, master, {0, 0, row, 0});\n    copy(narrow, master);\n",
            "    copy(narrow, master);\n    copy(master, narrow);\n"
            "    store(g.updated, master, {0, 0, row, 0});\n",
        ),
        "goes uphill": ("    sub(master", "    add(master"),
        "taken whole": ("    mul(step, step, g.rate);\n", ""),
        "before the step": (
            "    sub(master, master, step);\n",
            "    copy(narrow, master);\n    sub(master, master, step);\n",
            "    copy(narrow, master);\n    store(g.weight",
            "    store(g.weight",
        ),
    },
}
"""By exercise: part of the sentence, and what of the solution is replaced to get it: what, by what, and so "
"on."""


@cache
def solution(name: str) -> str:
    magic = f"%%hipkittens solution_{name.replace('.', '_')}"
    cells = nbformat.read(SOLUTIONS, as_version=4).cells
    (source,) = [cell.source for cell in cells if cell.source.startswith(magic)]
    return str(source).removeprefix(magic)


def test_each_exercise_has_a_solution_and_wrong_answers() -> None:
    names = [exercise.name for exercise in wb.exercises()]
    assert names == list(WRONG)
    assert all(len(wrong) >= 3 for wrong in WRONG.values())


@pytest.mark.parametrize("name", WRONG)
def test_the_solution_passes(name: str) -> None:
    result = wb.exercise(name).check(wb.compile(solution(name), name="solution"))
    assert result.check() is result
    assert "the sanitizer finds nothing" in result.sentence


@pytest.mark.parametrize(
    ("name", "sentence"), [(name, sentence) for name in WRONG for sentence in WRONG[name]]
)
def test_a_wrong_answer_is_told_what_is_wrong(name: str, sentence: str) -> None:
    edits, source = WRONG[name][sentence], solution(name)
    for right, wrong in zip(edits[::2], edits[1::2], strict=True):
        assert right in source
        source = source.replace(right, wrong)
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
