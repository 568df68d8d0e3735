"""silu of the first half of each row times the second half, backward."""

from workbench_kernels.families import activations

spec = activations.backward("silu", gated=True)
