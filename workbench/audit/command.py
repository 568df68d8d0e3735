"""`python -m workbench audit`: from its options to the files that it writes."""

from __future__ import annotations

import argparse
import signal
import sys
from pathlib import Path
from types import FrameType

from workbench.audit.audit import audit
from workbench.audit.limits import Limits
from workbench.audit.records import Report
from workbench.audit.sarif import to_sarif


def audited(options: argparse.Namespace) -> Report:
    """Audits, and writes audit.json and audit.sarif."""
    memory = int(options.memory * 2**30)
    limits = Limits(options.build_seconds, options.run_seconds, memory, options.proof_seconds)

    def run(minutes: float | None, again: bool) -> Report:
        return audit(
            options.path,
            options.out,
            target=options.target,
            only=options.only,
            limits=limits,
            jobs=options.jobs,
            minutes=minutes,
            again=again,
            log=lambda line: print(line, flush=True),
        )

    before = signal.signal(signal.SIGTERM, _interrupt)
    try:
        report = run(options.minutes, options.again)
    except KeyboardInterrupt:
        print("interrupted; the same command continues, without --again", file=sys.stderr)
        # Those that are on file.
        report = run(0, False)
    finally:
        signal.signal(signal.SIGTERM, before)
    for path, text in files(report, Path(options.out)).items():
        path.write_text(text, encoding="utf-8")
    return report


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def files(report: Report, folder: Path) -> dict[Path, str]:
    """The texts of a report's files."""
    return {folder / "audit.json": report.to_json(), folder / "audit.sarif": to_sarif(report)}


__all__ = ["audited", "files"]
