"""silu of each element, by rows."""

from workbench_kernels.families import activations

spec = activations.forward("silu", gated=False)
