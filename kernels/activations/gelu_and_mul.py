"""gelu of the first half of each row times the second half: GEGLU."""

from workbench_kernels.families import activations, rowwise

spec = activations.forward(
    "gelu",
    gated=True,
    published=rowwise.published(
        "Activations: Gated (SiLU/GeLU and Mul, vs AITER HIP)",
        128,
        {
            16384: {"HipKittens (port)": 8.4, "PyTorch": 39.9, "AITER HIP": 13.0},
            131072: {"HipKittens (port)": 38.6, "PyTorch": 147.4, "AITER HIP": 68.9},
        },
    ),
)
