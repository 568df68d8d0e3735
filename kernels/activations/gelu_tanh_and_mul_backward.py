"""gelu_tanh of the first half of each row times the second half, backward."""

from workbench_kernels.families import activations

spec = activations.backward("gelu_tanh", gated=True)
