"""Operations on kernels for programs: one record each, from which JSON, commands and tools are made."""

from workbench.operations import catalogue, on_kernels, on_submissions  # noqa: F401 - they register their operations
from workbench.operations.record import Operation, Outcome, Status, operations

__all__ = ["Operation", "Outcome", "Status", "operations"]
