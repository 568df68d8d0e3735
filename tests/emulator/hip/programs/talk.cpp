// Kernels that print, and with an argument one that fails: "assert", "wild", "loop", "throw", "exit".
#include "check.h"

#include <cassert>
#include <cstring>
#include <stdexcept>

__global__ void greet(int n) {
    char name[] = "group ?";
    name[6] = '0' + blockIdx.x;
    if (threadIdx.x < 2)
        printf("%s, thread %u: %5.2f|%-4d|%#x|%c\n", name, threadIdx.x, threadIdx.x / 4.0, n, 255u, 'z');
}
__global__ void claim(int n) { assert(int(threadIdx.x) < n); }
__global__ void wild(int *x) { x[1 << 22] = 1; }
__global__ void loop(volatile int *x) {
    // A kernel that reads the clock might end by itself, so only a time limit ends it.
    while (*x == 0 && clock64() != 0) {
    }
}

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "";
    int *x;
    CHECK(hipMalloc(&x, 4));
    CHECK(hipMemset(x, 0, 4));
    std::printf("host first\n");
    greet<<<3, 64>>>(-7);
    std::printf("host last\n");
    if (!std::strcmp(what, "assert")) claim<<<2, 64>>>(40);
    if (!std::strcmp(what, "wild")) wild<<<1, 64>>>(x);
    if (!std::strcmp(what, "loop")) loop<<<1, 64>>>(x);
    if (!std::strcmp(what, "throw")) throw std::runtime_error("thrown on purpose");
    if (!std::strcmp(what, "exit")) std::exit(42);
    if (!std::strcmp(what, "read")) {
        char line[64];
        if (std::fgets(line, sizeof line, stdin)) std::printf("read %s", line);
    }
    CHECK(hipDeviceSynchronize());
    return 0;
}
