/** Written by `python -m workbench.lab.templates` from its folder's files: change those. */

import type { PartialJSONObject } from '@lumino/coreutils';

export interface ITemplateCell extends PartialJSONObject {
  cell_type: 'code' | 'markdown';
  metadata: PartialJSONObject;
  source: string;
}

export interface ITemplate {
  name: string;
  title: string;
  about: string;
  cells: readonly ITemplateCell[];
}

/** What a template's cells need before them. */
export const SETUP = "%load_ext workbench\n\nimport torch\n\nimport workbench as wb";

export const TEMPLATES: readonly ITemplate[] = [
  {
    "name": "elementwise",
    "title": "Element-wise",
    "about": "Computes each element by itself, in plain HIP: SiLU of a tensor of any size.",
    "cells": [
      {
        "cell_type": "markdown",
        "metadata": {},
        "source": "## Element-wise\n\nComputes each element by itself, in plain HIP: SiLU of a tensor of any size.\n\nPress **Verify** in the HipKittens sidebar, or run the cells: both compare with PyTorch. Then change the kernel, and verify again."
      },
      {
        "cell_type": "code",
        "metadata": {
          "hipkittens": {
            "reference": {
              "launch": "silu[64, 256]",
              "inputs": "dict(x=torch.randn(100003), out=torch.empty(100003), n=100003)",
              "outputs": "out",
              "reference": "lambda x: torch.nn.functional.silu(x)"
            }
          }
        },
        "source": "%%hipkittens elementwise\n#include <hip/hip_runtime.h>\n\n// out = x * sigmoid(x)\n__global__ void silu(const float *x, float *out, int n) {\n    // The grid strides over the tensor: any number of work-groups computes any\n    // number of elements.\n    const int stride = gridDim.x * blockDim.x;\n    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) {\n        // Neighbouring lanes read neighbouring elements, so a wave's 64 loads are one\n        // request of 256 bytes.\n        out[i] = x[i] / (1.0f + __expf(-x[i]));\n    }\n}"
      },
      {
        "cell_type": "code",
        "metadata": {},
        "source": "n = 100_003\ninputs = dict(x=torch.randn(n), out=torch.empty(n), n=n)\nlaunch = elementwise[\"silu\"][64, 256]  # work-groups, lanes in each\nreference = lambda x: torch.nn.functional.silu(x)\nwb.verify(launch, reference, inputs=inputs, outputs=[\"out\"])"
      }
    ]
  },
  {
    "name": "rowwise",
    "title": "Row-wise",
    "about": "Gives each row of a matrix to a wave, which reduces over it: softmax of a matrix of any size.",
    "cells": [
      {
        "cell_type": "markdown",
        "metadata": {},
        "source": "## Row-wise\n\nGives each row of a matrix to a wave, which reduces over it: softmax of a matrix of any size.\n\nPress **Verify** in the HipKittens sidebar, or run the cells: both compare with PyTorch. Then change the kernel, and verify again."
      },
      {
        "cell_type": "code",
        "metadata": {
          "hipkittens": {
            "reference": {
              "launch": "softmax[-(-250 // 4), 256]",
              "inputs": "dict(x=torch.randn(250, 1000, dtype=torch.bfloat16), out=torch.empty_like(torch.randn(250, 1000, dtype=torch.bfloat16)))",
              "outputs": "out",
              "reference": "lambda x: torch.softmax(x, -1)"
            }
          }
        },
        "source": "%%hipkittens rowwise\n#include \"kittens.cuh\"\nusing namespace kittens;\n\nconstexpr int WAVES = 4;   // waves of a work-group, a row each\nconstexpr int BLOCK = 512; // columns of a wave at a time: 8 a lane, 16 bytes of bf16\n\nstruct softmax_globals {\n    gl<bf16, 1, 1, -1, -1> x, out; // -1: as many rows and columns as the tensor has\n};\n\n__global__ __launch_bounds__(WAVES * WARP_THREADS)\nvoid softmax(const softmax_globals g) {\n    const int row = blockIdx.x * WAVES + warpid();\n    const int cols = g.x.cols(), blocks = ceil_div(cols, BLOCK);\n\n    rt_fl<1, BLOCK, row_l, rt_rows_s<bf16, BLOCK>> x; // bf16 in memory, float here\n    decltype(x)::col_vec largest, rescale, sum;       // a number a row\n    // Not -infinity: -infinity less -infinity is NaN.\n    fill(largest, [](int) { return -3e38f; });\n    zero(sum);\n\n    // First the largest element and the sum of exp(x - largest), in one pass: where a\n    // block has a larger one than those before it, their sum is rescaled.\n    for (int block = 0; block < blocks; block++) {\n        load_bounded(x, g.x, {0, 0, row, block});\n        // Past the row's end exp gives 0.\n        right_fill(x, x, cols - block * BLOCK, -__builtin_inff());\n        copy(rescale, largest);\n        row_max(largest, x, largest);\n        sub(rescale, rescale, largest);\n        exp(rescale, rescale);\n        mul(sum, sum, rescale);\n        sub_row(x, x, largest);\n        exp(x, x);\n        row_sum(sum, x, sum);\n    }\n    // Then the result; the row comes from a cache this time.\n    for (int block = 0; block < blocks; block++) {\n        load_bounded(x, g.x, {0, 0, row, block});\n        sub_row(x, x, largest);\n        exp(x, x);\n        div_row(x, x, sum);\n        store_bounded(g.out, x, {0, 0, row, block}); // nothing outside the matrix\n    }\n}"
      },
      {
        "cell_type": "code",
        "metadata": {},
        "source": "rows, cols = 250, 1000\nbf16 = torch.bfloat16\nx = torch.randn(rows, cols, dtype=bf16)\ninputs = dict(x=x, out=torch.empty_like(x))\nlaunch = rowwise[\"softmax\"][-(-rows // 4), 256]  # 4 rows a work-group\nreference = lambda x: torch.softmax(x, -1)\nwb.verify(launch, reference, inputs=inputs, outputs=[\"out\"])"
      }
    ]
  },
  {
    "name": "gemm",
    "title": "GEMM",
    "about": "Multiplies two matrices on the matrix cores: tiles in shared memory, double buffering, K a multiple of 8.",
    "cells": [
      {
        "cell_type": "markdown",
        "metadata": {},
        "source": "## GEMM\n\nMultiplies two matrices on the matrix cores: tiles in shared memory, double buffering, K a multiple of 8.\n\nPress **Verify** in the HipKittens sidebar, or run the cells: both compare with PyTorch. Then change the kernel, and verify again."
      },
      {
        "cell_type": "code",
        "metadata": {
          "hipkittens": {
            "reference": {
              "launch": "gemm[(-(-200 // 128), -(-300 // 128)), 256]",
              "inputs": "dict(a=torch.randn(300, 136, dtype=torch.bfloat16), b=torch.randn(200, 136, dtype=torch.bfloat16), c=torch.empty(300, 200, dtype=torch.bfloat16))",
              "outputs": "c",
              "reference": "lambda a, b: a @ b.T"
            }
          }
        },
        "source": "%%hipkittens gemm\n#include \"kittens.cuh\"\n#include <cassert>\nusing namespace kittens;\n\nconstexpr int TILE = 128; // of c by a work-group, whose four waves take a quarter each\nconstexpr int STEP = 32;  // columns of a and b at a time\nusing workers = group<4>;\n\nstruct gemm_globals {\n    gl<bf16, 1, 1, -1, -1> a, b, c; // a: M x K, b: N x K, c: M x N\n};\n\n// c = a bᵀ\n__global__ __launch_bounds__(workers::GROUP_THREADS)\nvoid gemm(const gemm_globals g) {\n    using shared = st_bf<TILE, STEP, st_16x32_s>;\n    __shared__ shared a[2], b[2]; // one of each is used while the next is loaded\n    assert(g.a.cols() % 8 == 0); // rows of a and b are loaded in words of 16 bytes\n\n    rt_bf<TILE / 2, STEP, row_l, rt_16x32_s> a_part, b_part;\n    rt_fl<TILE / 2, TILE / 2, row_l, rt_16x16_s> sum; // products are summed in float\n    zero(sum);\n\n    const int row = blockIdx.y, col = blockIdx.x;\n    const int wave_row = warpid() / 2, wave_col = warpid() % 2;\n    const int steps = ceil_div(g.a.cols(), STEP);\n\n    // Straight from global to shared memory, in the background; what is outside of a\n    // matrix reads as zero.\n    const auto start = [&](int step) {\n        workers::load_bounded_async(a[step % 2], g.a, {0, 0, row, step});\n        workers::load_bounded_async(b[step % 2], g.b, {0, 0, col, step});\n    };\n    start(0);\n    for (int step = 0; step < steps; step++) {\n        // This step's tiles are there, and no wave still reads the last step's.\n        wait_and_barrier();\n        if (step + 1 < steps) start(step + 1);\n        load(a_part, subtile_inplace<TILE / 2, STEP>(a[step % 2], {wave_row, 0}));\n        load(b_part, subtile_inplace<TILE / 2, STEP>(b[step % 2], {wave_col, 0}));\n        mma_ABt(sum, a_part, b_part, sum);\n    }\n    store_bounded(g.c, sum, {0, 0, 2 * row + wave_row, 2 * col + wave_col});\n}"
      },
      {
        "cell_type": "code",
        "metadata": {},
        "source": "m, n, k = 300, 200, 136\nbf16 = torch.bfloat16\ninputs = dict(\n    a=torch.randn(m, k, dtype=bf16),\n    b=torch.randn(n, k, dtype=bf16),\n    c=torch.empty(m, n, dtype=bf16),\n)\n# A work-group for each tile of c.\nlaunch = gemm[\"gemm\"][(-(-n // 128), -(-m // 128)), 256]\nreference = lambda a, b: a @ b.T\nwb.verify(launch, reference, inputs=inputs, outputs=[\"c\"])"
      }
    ]
  },
  {
    "name": "attention",
    "title": "Attention",
    "about": "Computes attention in one kernel with an online softmax: causal or not, sequences of any length.",
    "cells": [
      {
        "cell_type": "markdown",
        "metadata": {},
        "source": "## Attention\n\nComputes attention in one kernel with an online softmax: causal or not, sequences of any length.\n\nPress **Verify** in the HipKittens sidebar, or run the cells: both compare with PyTorch. Then change the kernel, and verify again."
      },
      {
        "cell_type": "code",
        "metadata": {
          "hipkittens": {
            "reference": {
              "launch": "attend[(-(-200 // 128), 2, 1), 256]",
              "inputs": "dict(q=torch.randn((1, 2, 200, 128), dtype=torch.bfloat16), k=torch.randn((1, 2, 200, 128), dtype=torch.bfloat16), v=torch.randn((1, 2, 200, 128), dtype=torch.bfloat16), out=torch.empty((1, 2, 200, 128), dtype=torch.bfloat16), causal=1)",
              "outputs": "out",
              "reference": "lambda q, k, v, causal: torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=bool(causal))"
            }
          }
        },
        "source": "%%hipkittens attention\n#include \"kittens.cuh\"\nusing namespace kittens;\n\nconstexpr int D = 128;      // of a head; 64 too\nconstexpr int QUERIES = 32; // of a wave, of which a work-group has four\nconstexpr int KEYS = 32;    // at a time\nusing workers = group<4>;\n\nstruct attention_globals {\n    gl<bf16, -1, -1, -1, D> q, k, v, out; // batch, heads, length, D\n    int causal;                           // a query sees the keys up to its own\n};\n\n// out = softmax(q kᵀ / sqrt(D)) v\n__global__ __launch_bounds__(workers::GROUP_THREADS)\nvoid attend(const attention_globals g) {\n    // One is used while the next is loaded.\n    __shared__ st_bf<KEYS, D, st_32x32_s> ks[2], vs[2];\n\n    const int batch = blockIdx.z, head = blockIdx.y;\n    const int tile = blockIdx.x * 4 + warpid(), query = tile * QUERIES;\n    const int keys = g.k.rows();\n    const int seen = g.causal ? (blockIdx.x + 1) * 4 * QUERIES : keys;\n    const int blocks = ceil_div(seen < keys ? seen : keys, KEYS);\n\n    const auto start = [&](int block) {\n        workers::load_async(ks[block % 2], g.k, {batch, head, block, 0});\n        workers::load_async(vs[block % 2], g.v, {batch, head, block, 0});\n    };\n    start(0);\n    rt_bf<QUERIES, D, row_l, rt_16x32_s> q;\n    load(q, g.q, {batch, head, tile, 0});\n\n    rt_bf<KEYS, D, row_l, rt_16x32_s> k;\n    rt_bf<KEYS, D, col_l, rt_32x16_s> v;\n    rt_fl<QUERIES, KEYS, row_l, rt_16x16_s> scores;\n    rt_bf<QUERIES, KEYS, row_l, rt_16x16_s> rounded;\n    rt_bf<QUERIES, KEYS, row_l, rt_16x32_s> weights;\n    rt_fl<QUERIES, D, row_l, rt_16x16_s> out;\n    decltype(scores)::col_vec largest, rescale, sum; // a number a query\n    neg_infty(largest);\n    zero(sum);\n    zero(out);\n\n    for (int block = 0; block < blocks; block++) {\n        wait_and_barrier(); // this block is there; no wave still reads the last one\n        if (block + 1 < blocks) start(block + 1);\n\n        load(k, ks[block % 2]);\n        zero(scores);\n        mma_ABt(scores, q, k, scores);\n        mul(scores, scores, 1.0f / __builtin_sqrtf(D));\n        mask_map(scores, scores, -__builtin_inff(), [&](int row, int col) {\n            const int key = block * KEYS + col;\n            return key >= keys || (g.causal && key > query + row);\n        });\n\n        // Softmax of the keys so far: where a block has a larger score, what\n        // was summed before is rescaled.\n        copy(rescale, largest);\n        row_max(largest, scores, largest);\n        sub(rescale, rescale, largest);\n        exp(rescale, rescale);\n        sub_row(scores, scores, largest);\n        exp(scores, scores);\n        mul(sum, sum, rescale);\n        row_sum(sum, scores, sum);\n        mul_row(out, out, rescale);\n\n        copy(rounded, scores); // float to bf16\n        // From where the matrix cores leave a result to where they take an operand.\n        swap_layout(weights, rounded);\n        load(v, vs[block % 2]);\n        mma_AB(out, weights, v, out);\n    }\n    div_row(out, out, sum);\n    store(g.out, out, {batch, head, tile, 0});\n}"
      },
      {
        "cell_type": "code",
        "metadata": {},
        "source": "batch, heads, length = 1, 2, 200\nshape = (batch, heads, length, 128)\nbf16 = torch.bfloat16\ninputs = dict(\n    q=torch.randn(shape, dtype=bf16),\n    k=torch.randn(shape, dtype=bf16),\n    v=torch.randn(shape, dtype=bf16),\n    out=torch.empty(shape, dtype=bf16),\n    causal=1,\n)\n# 128 queries of a head for each work-group.\nlaunch = attention[\"attend\"][(-(-length // 128), heads, batch), 256]\nsdpa = torch.nn.functional.scaled_dot_product_attention\nreference = lambda q, k, v, causal: sdpa(q, k, v, is_causal=bool(causal))\nwb.verify(launch, reference, inputs=inputs, outputs=[\"out\"])"
      }
    ]
  },
  {
    "name": "port",
    "title": "Port a CUDA or HIP kernel",
    "about": "Sums each row of a matrix as a CUDA kernel does, with what differs on a wave of 64 lanes: put your own in its place.",
    "cells": [
      {
        "cell_type": "markdown",
        "metadata": {},
        "source": "## Port a CUDA or HIP kernel\n\nSums each row of a matrix as a CUDA kernel does, with what differs on a wave of 64 lanes: put your own in its place.\n\nPress **Verify** in the HipKittens sidebar, or run the cells: both compare with PyTorch. Then change the kernel, and verify again."
      },
      {
        "cell_type": "code",
        "metadata": {
          "hipkittens": {
            "reference": {
              "launch": "row_sums[100, 256]",
              "inputs": "dict(x=torch.randn(100, 1000), out=torch.empty(100), cols=1000)",
              "outputs": "out",
              "reference": "lambda x: x.sum(-1)"
            }
          }
        },
        "source": "%%hipkittens port\n#include <hip/hip_runtime.h>\n// CUDA's names (cudaMalloc, __nv_bfloat16) go with `%%hipkittens port --hipify`.\n\nconstexpr int THREADS = 256;\nconstexpr int LANES = 64; // of a wave; a warp has 32\nconstexpr int WAVES = THREADS / LANES;\n\n__device__ float sum_of_wave(float v) {\n    // From 32 on, not from 16: with 16 each half of the wave has a sum of its own.\n    for (int distance = LANES / 2; distance > 0; distance /= 2) {\n        v += __shfl_xor(v, distance);\n    }\n    return v; // __shfl_xor_sync takes a mask of 64 bits: ~0ull\n}\n\n// out[row] = sum of x[row, :]; a work-group a row\n__global__ __launch_bounds__(THREADS)\nvoid row_sums(const float *x, float *out, int cols) {\n    __shared__ float sums[WAVES];\n    // Not % 32 and / 32.\n    const int lane = threadIdx.x % LANES, wave = threadIdx.x / LANES;\n    const float *row = x + static_cast<long>(blockIdx.x) * cols;\n    float v = 0;\n    for (int col = threadIdx.x; col < cols; col += THREADS) v += row[col];\n    v = sum_of_wave(v);\n    if (lane == 0) sums[wave] = v;\n    __syncthreads();\n    if (threadIdx.x == 0) {\n        float all = 0;\n        for (int w = 0; w < WAVES; w++) all += sums[w];\n        out[blockIdx.x] = all;\n    }\n}"
      },
      {
        "cell_type": "code",
        "metadata": {},
        "source": "rows, cols = 100, 1000\ninputs = dict(x=torch.randn(rows, cols), out=torch.empty(rows), cols=cols)\nlaunch = port[\"row_sums\"][rows, 256]  # a work-group of four waves a row\nreference = lambda x: x.sum(-1)\nwb.verify(launch, reference, inputs=inputs, outputs=[\"out\"])"
      }
    ]
  }
];
