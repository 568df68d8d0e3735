"""Audits of checkouts: kernels built, verified and sanitized, with proofs and repairs."""

from __future__ import annotations

from workbench.audit.audit import audit
from workbench.audit.certainty import Certainty
from workbench.audit.limits import Limits
from workbench.audit.records import KernelRecord, Report, Result

__all__ = ["Certainty", "KernelRecord", "Limits", "Report", "Result", "audit"]
