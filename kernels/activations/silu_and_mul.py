"""silu of the first half of each row times the second half: SwiGLU."""

from workbench_kernels.families import activations, rowwise

SOURCE = "Activations: Gated (SiLU/GeLU and Mul, vs AITER HIP)"
TIMES = {
    128: {
        4096: {"HipKittens (port)": 6.0, "PyTorch": 20.1, "AITER HIP": 6.4},
        16384: {"HipKittens (port)": 8.4, "PyTorch": 37.1, "AITER HIP": 13.0},
        65536: {"HipKittens (port)": 21.9, "PyTorch": 81.1, "AITER HIP": 37.0},
        131072: {"HipKittens (port)": 38.6, "PyTorch": 149.0, "AITER HIP": 68.6},
    },
    4096: {4096: {"HipKittens (port)": 37.9, "PyTorch": 149.7, "AITER HIP": 27.6}},
    8192: {4096: {"HipKittens (port)": 73.4, "PyTorch": 287.6, "AITER HIP": 50.2}},
}
"""Microseconds by columns of the result, rows and library."""

spec = activations.forward(
    "silu",
    gated=True,
    published=[time for cols, times in TIMES.items() for time in rowwise.published(SOURCE, cols, times)],
)
