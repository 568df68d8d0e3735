"""gelu of each element, by rows."""

from workbench_kernels.families import activations

spec = activations.forward("gelu", gated=False)
