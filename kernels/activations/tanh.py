"""tanh of each element, by rows."""

from workbench_kernels.families import activations

spec = activations.forward("tanh", gated=False)
