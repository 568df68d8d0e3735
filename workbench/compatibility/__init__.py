"""The tile library beside checkouts of HipKittens: names that one has and the other lacks."""

from workbench.compatibility.cpp_names import Name, public_names
from workbench.compatibility.names import Comparison, compare, device_errors, full, missing, report

__all__ = ["Comparison", "Name", "compare", "device_errors", "full", "missing", "public_names", "report"]
