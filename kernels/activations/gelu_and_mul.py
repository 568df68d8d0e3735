"""gelu of the first half of each row times the second half."""

from workbench_kernels.families import activations

spec = activations.forward("gelu", gated=True)
