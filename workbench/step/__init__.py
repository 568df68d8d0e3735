"""One wave of a launch, instruction by instruction, forward and backward."""

from workbench.step.provenance import Provenance, provenance
from workbench.step.session import step
from workbench.step.stepper import Stepper

__all__ = ["Provenance", "Stepper", "provenance", "step"]
