"""malloc, free, new and delete in kernels: a heap that outlives launches."""

from __future__ import annotations

import pytest
import torch

import workbench as wb
from workbench import errors
from workbench.targets import TILE_TARGETS

SOURCE = r"""#include <hip/hip_runtime.h>
#include <cstdlib>
struct node { int value; node *next; };
struct shape { __device__ virtual int corners() = 0; __device__ virtual ~shape() {} };
struct square : shape {
    int n;
    __device__ square(int n) : n(n) {}
    __device__ int corners() override { return n; }
};
// Every thread builds a list of its own, of lengths that differ, and adds it up.
__global__ void lists(int *out) {
    const int id = blockIdx.x * blockDim.x + threadIdx.x;
    node *first = nullptr;
    for (int i = 0; i <= id % 7; i++) first = new node{id + i, first};
    int sum = 0;
    while (first != nullptr) {
        node *next = first->next;
        sum += first->value;
        delete first;
        first = next;
    }
    out[id] = sum;
}
__global__ void give(int **out, int n) {
    int *mine = (int *)malloc(n * sizeof(int));
    out[blockIdx.x * blockDim.x + threadIdx.x] = mine;
    for (int i = 0; mine != nullptr && i < n; i++) mine[i] = threadIdx.x + i;
}
__global__ void take(int **in, int *out, int n) {
    int *mine = in[blockIdx.x * blockDim.x + threadIdx.x], sum = 0;
    for (int i = 0; mine != nullptr && i < n; i++) sum += mine[i];
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
    free(mine);
}
__global__ void objects(int *out) {
    shape *made = new square(threadIdx.x);
    out[threadIdx.x] = made->corners();
    delete made;
    float4 *many = new float4[3];
    out[threadIdx.x] += (size_t)many % 16;
    delete[] many;
    struct alignas(256) wide { int x[64]; };
    wide *apart = new wide, *more = new wide[2];
    out[threadIdx.x] += ((size_t)apart | (size_t)more) % 256;
    apart->x[63] = more[1].x[63] = 1;
    delete apart;
    delete[] more;
}
__global__ void large(void **out, size_t size) { *out = malloc(size); }
__global__ void twice() {
    int *x = new int;
    delete x;
    if (threadIdx.x == 5) delete x;
}
__global__ void strange(int *x) { free(x + 1); }
__global__ void past_the_end(char *base, size_t size) { base[size + threadIdx.x] = 1; }
"""


@pytest.fixture(scope="module", params=TILE_TARGETS)
def kernels(request: pytest.FixtureRequest) -> wb.Module:
    return wb.compile(SOURCE, arch=request.param)


def test_lists(kernels: wb.Module) -> None:
    out = torch.zeros(16 * 256, dtype=torch.int32)
    expected = [sum(i + k for k in range(i % 7 + 1)) for i in range(len(out))]
    for _ in range(3):
        kernels["lists"][16, 256](out)
        assert out.tolist() == expected


def test_memory_lives_until_it_is_freed(kernels: wb.Module) -> None:
    pointers, out = torch.zeros(1024, dtype=torch.int64), torch.zeros(1024, dtype=torch.int32)
    for _ in range(20):
        # 2 MB each time: it does not fit into the heap unless it is freed.
        kernels["give"][4, 256](pointers, 400)
        assert len(set(pointers.tolist())) == 1024
        kernels["take"][4, 256](pointers, out, 400)
        assert out.tolist() == [400 * (i % 256) + 79800 for i in range(1024)]


def test_objects(kernels: wb.Module) -> None:
    out = torch.zeros(64, dtype=torch.int32)
    kernels["objects"][1, 64](out)
    assert out.tolist() == list(range(64))


def test_what_does_not_fit_is_null(kernels: wb.Module) -> None:
    out = torch.ones(1, dtype=torch.int64)
    for size in (0, 8 << 20, 2**63):
        kernels["large"][1, 1](out, size)
        assert out.item() == 0


def test_what_free_is_given(kernels: wb.Module) -> None:
    with pytest.raises(
        errors.AssertionFault, match=r"malloc gave this pointer.* free for thread \(5, 0, 0\)"
    ):
        kernels["twice"][1, 64]()
    with pytest.raises(errors.AssertionFault, match="malloc gave this pointer"):
        kernels["strange"][1, 1](torch.zeros(16, dtype=torch.int32))


def test_the_sanitizer_has_nothing_to_say(kernels: wb.Module) -> None:
    out = torch.zeros(4 * 256, dtype=torch.int32)
    assert not wb.sanitize(kernels["lists"][4, 256], out).findings


FAULTS = r"""#include <hip/hip_runtime.h>
#include <cstdlib>
struct pair { int a, b; };
__global__ void past(int *out, int n, int fault) {
    int *mine = (int *)malloc(n * sizeof(int));
    for (int i = 0; i < n + fault; i++) mine[i] = i; // HERE past
    out[threadIdx.x] = mine[n - 1];
    free(mine);
}
__global__ void byte(int *out, int n, int fault) {
    char *mine = new char[n];
    mine[n - 1 + fault] = 3; // HERE byte
    mine[0] = mine[n - 1];
    out[threadIdx.x] = mine[0];
    delete[] mine;
}
__global__ void before(int *out, int n, int fault) {
    int *mine = (int *)malloc(n * sizeof(int));
    mine[-fault] = 3; // HERE before
    out[threadIdx.x] = mine[0];
    free(mine);
}
__global__ void freed(int *out, int n, int fault) {
    pair *first = new pair{1, 2}, *again = first;
    asm volatile("" : "+v"(again)); // the compiler would make anything of a use after delete
    if (fault) delete first;
    out[threadIdx.x] = again->b; // HERE freed
    if (!fault) delete first;
}
__global__ void next(void **out) {
    free(out[0] = malloc(40));
    free(out[1] = malloc(40));
}
__global__ void keep(int **out, int n) {
    out[threadIdx.x] = (int *)malloc(n * sizeof(int));
    for (int i = 0; i < n; i++) out[threadIdx.x][i] = i;
}
__global__ void read(int **in, int *out, int at) { out[threadIdx.x] = in[threadIdx.x][at]; }
"""
WORDS = {
    "past": "writes up to 4 bytes past the end of a block of 40 bytes that malloc gave",
    "byte": "writes up to 1 byte past the end of a block of 10 bytes that malloc gave",
    "before": "writes 4 bytes before the start of a block that malloc gave",
    "freed": "reads at byte 4 of a block that was freed",
}


@pytest.fixture(scope="module", params=TILE_TARGETS)
def faults(request: pytest.FixtureRequest) -> wb.Module:
    return wb.compile(FAULTS, arch=request.param)


@pytest.mark.parametrize("name", WORDS)
def test_the_sanitizer_knows_what_malloc_gave(faults: wb.Module, name: str) -> None:
    out = torch.zeros(64, dtype=torch.int32)
    faulty = wb.sanitize(faults[name][1, 64], out, 10, 1)
    line = next(n for n, text in enumerate(FAULTS.splitlines(), 1) if f"// HERE {name}" in text)
    assert [(f.category, f.line) for f in faulty.findings] == [("out of bounds", line)], str(faulty)
    assert WORDS[name] in faulty.findings[0].message
    clean = wb.sanitize(faults[name][1, 64], out, 10, 0)
    assert clean.passed, str(clean)


def test_the_sanitizer_knows_blocks_of_earlier_launches(faults: wb.Module) -> None:
    pointers, out = torch.zeros(64, dtype=torch.int64), torch.zeros(64, dtype=torch.int32)
    faults["keep"][1, 64](pointers, 11)
    assert wb.sanitize(faults["read"][1, 64], pointers, out, 10).passed
    assert out.tolist() == [10] * 64
    [finding] = wb.sanitize(faults["read"][1, 64], pointers, out, 11).findings
    assert "past the end of a block of 44 bytes" in finding.message


def test_a_block_that_was_freed_is_not_the_next() -> None:
    # No other test takes memory from this device's heap.
    kernel, out = wb.compile(FAULTS, arch="gfx90a")["next"], torch.zeros(2, dtype=torch.int64)
    kernel[1, 1](out)
    assert out[0] == out[1]
    wb.sanitize(kernel[1, 1], out)
    assert out[0] != out[1]


def test_freed_blocks_are_reused_only_when_nothing_else_is_left(kernels: wb.Module) -> None:
    pointers, out = torch.zeros(1024, dtype=torch.int64), torch.zeros(1024, dtype=torch.int32)
    for _ in range(6):
        wb.sanitize(kernels["give"][4, 256], pointers, 400)
        assert len(set(pointers.tolist())) == 1024
        wb.sanitize(kernels["take"][4, 256], pointers, out, 400)
        assert out.tolist() == [400 * (i % 256) + 79800 for i in range(1024)]


PROGRAM = r"""#include <hip/hip_runtime.h>
#include <cstdio>
__global__ void count(int *out) { if (malloc(1 << 20) != nullptr) atomicAdd(out, 1); }
int main() {
    size_t size = 0;
    hipDeviceGetLimit(&size, hipLimitMallocHeapSize);
    int *out;
    hipMallocManaged(&out, 4);
    const hipError_t set = hipDeviceSetLimit(hipLimitMallocHeapSize, 33 << 20);
    *out = 0;
    count<<<1, 64>>>(out);
    hipDeviceSynchronize();
    std::printf("%zu %d %d %d\n", size >> 20, set, *out, hipDeviceSetLimit(hipLimitMallocHeapSize, 1 << 20));
}
"""


def test_the_limit_of_the_heap() -> None:
    # Sixteen blocks of 2 MB: a power of two with room for the heap's header of a block.
    result = wb.run_program(PROGRAM, device="emulated:gfx950").check()
    assert result.stdout == "8 0 16 1\n"
