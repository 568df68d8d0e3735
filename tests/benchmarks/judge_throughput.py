"""How fast the judge is: many submissions of an fp8 GEMM.

    python tests/benchmarks/judge_throughput.py [--count 100] [--size 1024] [--jobs 2 | --cluster 2]

All have the same kernel, compiled beforehand, and differ in a comment, so that none is taken for another.
Prints wall time, processor seconds of all processes, and those of a submission. With `--cluster`, that many
Dask workers on this computer judge, or those of a scheduler at an address.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from pathlib import Path

import workbench as wb
from workbench.bench.command import parsed_cluster
from workbench.bench.judging import judge_on_cluster
from workbench.judge.judging import Options, judge
from workbench.judge.problems import problem

TASK = """
files:
  - {{"name": "submission.py", "source": "@SUBMISSION@"}}
tests: []
benchmarks:
  - {{"m": {size}, "n": {size}, "k": {size}, "seed": 1}}
"""
REFERENCE = """
import torch

def generate_input(m, n, k, seed):
    generator = torch.Generator(device="cuda")
    generator.manual_seed(seed)
    a = torch.randn(m, k, generator=generator, device="cuda").to(torch.float8_e4m3fnuz)
    b = torch.randn(n, k, generator=generator, device="cuda").to(torch.float8_e4m3fnuz)
    return a, b, torch.empty(m, n, dtype=torch.bfloat16, device="cuda")

def ref_kernel(data):
    a, b, c = data
    wide = torch.float64 if a.dtype is torch.float64 else torch.float32
    return (a.to(wide) @ b.to(wide).T).to(c.dtype)

def check_implementation(data, output):
    good = torch.allclose(output.float(), ref_kernel(data).float(), rtol=2e-2, atol=1e-3)
    return good, "" if good else "the results differ"
"""
KERNEL = """
#include <hip/hip_runtime.h>
typedef float accumulator __attribute__((ext_vector_type(16)));
typedef long operand;

// A wave computes 64 x 32 of C by v_mfma_f32_32x32x16_fp8_fp8; A and B are [rows, k].
extern "C" __global__ __launch_bounds__(256) void gemm(
    const unsigned char* a, const unsigned char* b, __bf16* c, int n, int k
) {
    const int wave = threadIdx.x / 64, lane = threadIdx.x % 64;
    const int row = blockIdx.y * 128 + (wave / 2) * 64, column = blockIdx.x * 64 + (wave % 2) * 32;
    accumulator sums[2] = {};
    for (int step = 0; step < k; step += 16) {
        const int place = step + lane / 32 * 8;
        const operand right = *(const operand*)(b + (column + lane % 32) * k + place);
        for (int half = 0; half < 2; half++) {
            const operand left = *(const operand*)(a + (row + half * 32 + lane % 32) * k + place);
            sums[half] = __builtin_amdgcn_mfma_f32_32x32x16_fp8_fp8(left, right, sums[half], 0, 0, 0);
        }
    }
    for (int half = 0; half < 2; half++)
        for (int i = 0; i < 16; i++) {
            const int r = row + half * 32 + i / 4 * 8 + lane / 32 * 4 + i % 4;
            c[r * n + column + lane % 32] = (__bf16)sums[half][i];
        }
}
"""
SUBMISSION = """
# submission {number}
import ctypes
from pathlib import Path

hip = ctypes.CDLL("libamdhip64.so")
module, function = ctypes.c_void_p(), ctypes.c_void_p()
assert hip.hipModuleLoadData(ctypes.byref(module), Path(__file__).with_name("gemm.co").read_bytes()) == 0
assert hip.hipModuleGetFunction(ctypes.byref(function), module, b"gemm") == 0

def custom_kernel(data):
    a, b, c = data
    sizes = c.shape[1], a.shape[1]
    values = [*(ctypes.c_void_p(t.data_ptr()) for t in data), *map(ctypes.c_int, sizes)]
    pointers = (ctypes.c_void_p * 5)(*map(ctypes.addressof, values))
    grid = c.shape[1] // 64, c.shape[0] // 128, 1
    assert hip.hipModuleLaunchKernel(function, *grid, 256, 1, 1, 0, None, pointers, None) == 0
    return c
"""


def processor_seconds() -> float:
    """Of this process and of all children that have ended."""
    usages = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--size", type=int, default=1024)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--cluster", type=parsed_cluster)
    options = parser.parse_args()
    code = wb.compile(KERNEL, arch="gfx942").code
    with tempfile.TemporaryDirectory() as scratch:
        place = Path(scratch)
        (place / "problem").mkdir()
        (place / "problem" / "task.yml").write_text(TASK.format(size=options.size))
        (place / "problem" / "reference.py").write_text(REFERENCE)
        for number in range(options.count):
            folder = place / "submissions" / f"{number:03}"
            folder.mkdir(parents=True)
            (folder / "submission.py").write_text(SUBMISSION.format(number=number))
            (folder / "gemm.co").write_bytes(code)
        wall, processor = time.monotonic(), processor_seconds()
        of, submissions, how = problem(place / "problem"), place / "submissions", Options("MI300X")
        if options.cluster is not None:
            verdicts = judge_on_cluster(of, submissions, how, cluster=options.cluster)
        else:
            verdicts = judge(of, submissions, how, jobs=options.jobs)
        wall, processor = time.monotonic() - wall, processor_seconds() - processor
    # Submissions' processes are ended by a signal, and nobody waits for those of their namespace.
    processor += sum(verdict.seconds for verdict in verdicts)
    right = sum(verdict.is_right for verdict in verdicts)
    print(verdicts[0])
    print(
        f"{right} of {len(verdicts)} are right: {wall:.0f} s, {processor:.0f} s of processor time, "
        f"{processor / len(verdicts):.2f} s each"
    )


if __name__ == "__main__":
    main()
