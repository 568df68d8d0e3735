"""Audits the kernel sources of a checkout, several at a time, and continues where an audit stopped."""

from __future__ import annotations

import json
import tempfile
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

from workbench.audit.alone import Children
from workbench.audit.examine import digest, examine, tool
from workbench.audit.limits import Limits
from workbench.audit.records import KernelRecord, Report
from workbench.audit.sources import KernelSource, kernel_sources, revision_of
from workbench.errors import UsageError

Log = Callable[[str], None]


def audit(
    path: str | Path,
    out: str | Path,
    *,
    target: str | None = None,
    only: str = "",
    limits: Limits | None = None,
    jobs: int = 1,
    minutes: float | None = None,
    again: bool = False,
    log: Log = lambda line: None,
) -> Report:
    """Audits a checkout, a folder or a source file, and continues an audit that was stopped.

    Args:
        out: folder for results: a JSON file a kernel source and target. Those that it has are not run again.
        target: only this target.
        only: only sources with this text in their path.
        limits: of the processes of a kernel source.
        jobs: kernel sources at a time; if more than one, each in a process of its own.
        minutes: after these, no other kernel source is begun.
        again: True to run those again whose results are there.
        log: gets a line for each kernel source that is done.

    An interrupt ends what it started. Results that are on file stay.

    Raises:
        UsageError: there is no such path, nothing in it is a kernel source, or `jobs` is not positive.
    """
    if jobs < 1:
        raise UsageError(f"audit: jobs is {jobs}; expected a positive number of kernel sources at a time")
    sources = kernel_sources(Path(path))
    selected = [s for s in sources if target in (None, s.target) and only in s.name]
    if not selected:
        what = f"{len(sources)} kernel sources, none of them selected" if sources else "no kernel source"
        raise UsageError(
            f"audit: {path} has {what}; expected programs or Python modules with HIP kernels (.cpp, .cu, "
            ".hip), or Triton scripts"
        )
    folder = Path(out) / "kernels"
    folder.mkdir(parents=True, exist_ok=True)
    begin = datetime.now(UTC)
    limits = limits or Limits()

    copies = threading.local()

    def record_of(source: KernelSource) -> KernelRecord | None:
        file = folder / f"{digest(source)}.json"
        if not again and (stored := _stored(file)) is not None:
            return stored
        if minutes is not None and (datetime.now(UTC) - begin).total_seconds() > 60 * minutes:
            return None
        if not hasattr(copies, "folder"):
            copies.folder = tempfile.mkdtemp(dir=scratch)
        # A schedule is in the environment of its process, where others' kernels would follow it, too.
        examined = children.examine if jobs > 1 else examine
        record = examined(source, Path(copies.folder), limits)
        file.write_text(json.dumps(asdict(record), indent=1, ensure_ascii=False), encoding="utf-8")
        log(f"{record.source} on {record.target or 'no target'}: {record.result}: {record.text}"[:300])
        return record

    children = Children(jobs)
    with tempfile.TemporaryDirectory(prefix="hipkittens-audit-", ignore_cleanup_errors=True) as scratch:
        if jobs == 1:
            # Without a thread, so that an interrupt comes where a child process is waited for.
            results = [record_of(source) for source in selected]
        else:
            with ThreadPoolExecutor(jobs) as pool:
                try:
                    results = list(pool.map(record_of, selected))
                except BaseException:
                    pool.shutdown(wait=False, cancel_futures=True)
                    children.end()
                    raise
    records = [record for record in results if record is not None]
    root = selected[0].root
    return Report(root.name, revision_of(root), tool(), tuple(records))


def _stored(file: Path) -> KernelRecord | None:
    try:
        return KernelRecord.of_data(json.loads(file.read_text(encoding="utf-8")))
    except (OSError, KeyError, TypeError, ValueError):
        return None


__all__ = ["audit"]
