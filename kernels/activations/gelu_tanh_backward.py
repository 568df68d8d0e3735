"""gelu_tanh of rows, backward."""

from workbench_kernels.families import activations

spec = activations.backward("gelu_tanh", gated=False)
