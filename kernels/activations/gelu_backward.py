"""gelu of rows, backward."""

from workbench_kernels.families import activations

spec = activations.backward("gelu", gated=False)
