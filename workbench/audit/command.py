"""`python -m workbench audit`: from its options to the files that it writes."""

from __future__ import annotations

import argparse
from pathlib import Path

from workbench.audit.audit import audit
from workbench.audit.limits import Limits
from workbench.audit.records import Report
from workbench.audit.sarif import to_sarif


def audited(options: argparse.Namespace) -> Report:
    """Audits, and writes audit.json and audit.sarif."""
    limits = Limits(options.build_seconds, options.run_seconds, int(options.memory * 2**30))
    report = audit(
        options.path,
        options.out,
        target=options.target,
        only=options.only,
        limits=limits,
        jobs=options.jobs,
        minutes=options.minutes,
        again=options.again,
        told=lambda line: print(line, flush=True),
    )
    for path, text in files(report, Path(options.out)).items():
        path.write_text(text, encoding="utf-8")
    return report


def files(report: Report, folder: Path) -> dict[Path, str]:
    """The texts of a report's files."""
    return {folder / "audit.json": report.to_json(), folder / "audit.sarif": to_sarif(report)}


__all__ = ["audited", "files"]
