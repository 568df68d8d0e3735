"""An examination as a file: JSON that is written after every case, so that it can continue if interrupted."""

from __future__ import annotations

import getpass
import json
import os
import platform
import re
import statistics
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from workbench import paths
from workbench.display import Shown
from workbench.errors import UsageError

FORMAT = "hipkittens hardware 1"


@dataclass
class Report(Shown):
    """Results of an examination, case by case.

    Attributes:
        head: "subject", "reference", "arch", "quick", "version", "started": what was examined, and how.
        sections: by name, then by case: "subject" and "reference" (what each answered), "agrees" (True,
            False, or None if that is not asked) and "text"; or "not run" with the reason.
        nothing: why nothing ran, by section that has no case.
    """

    head: dict[str, Any]
    sections: dict[str, dict[str, dict[str, Any]]] = field(default_factory=dict)
    nothing: dict[str, str] = field(default_factory=dict)

    @classmethod
    def read(cls, path: str | Path) -> Report:
        """A report from its file.

        Raises:
            UsageError: the file is missing, or is not a report.
        """
        try:
            content = json.loads(Path(path).read_text(encoding="utf-8"))
            if content["format"] != FORMAT:
                raise UsageError(f"{path}: its format is {content['format']!r}; expected {FORMAT!r}")
            # Files from before sections without a case were reported have no third part.
            return cls(content["head"], content["sections"], content.get("nothing", {}))
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise UsageError(
                f"{path}: not a report of `python -m workbench hardware` ({type(error).__name__}: {error})"
            ) from error

    def write(self, path: Path) -> None:
        """Writes the file, completely or not at all."""
        content = {"format": FORMAT, "head": self.head, "sections": self.sections, "nothing": self.nothing}
        beside = path.with_name(f"{path.name}.new")
        path.parent.mkdir(parents=True, exist_ok=True)
        beside.write_text(json.dumps(anonymous(content), indent=1), encoding="utf-8")
        beside.replace(path)

    def done(self, section: str, case: str) -> bool:
        """True if the report has a case's answer."""
        return "text" in self.sections.get(section, {}).get(case, {})

    def counts(self, section: str) -> dict[str, int]:
        """Numbers of cases that agree, differ, are only reported, and did not run."""
        counts = {"agree": 0, "differ": 0, "reported": 0, "not run": 0}
        for case in self.sections.get(section, {}).values():
            key = {True: "agree", False: "differ", None: "reported"}[case.get("agrees")]
            counts["not run" if "not run" in case else key] += 1
        return counts

    def not_run(self, section: str) -> list[tuple[str, str]]:
        """Cases without an answer, by their reason: the case or their number, and the reason."""
        reasons: dict[str, list[str]] = {}
        for name, case in self.sections[section].items():
            if "not run" in case:
                reasons.setdefault(case["not run"], []).append(name)
        return [(n[0] if len(n) == 1 else f"{len(n)} cases", why) for why, n in reasons.items()]

    @property
    def machine(self) -> Mapping[str, Any]:
        """Facts from section "machine" about the examined device; empty before that section has run."""
        machine: Mapping[str, Any] = self.sections.get("machine", {}).get("machine", {}).get("subject", {})
        return machine

    @property
    def title(self) -> str:
        """Title such as "gpu:0 (MI300X) beside emulated:MI300X,numerics=exact"."""
        product = self.machine.get("product", self.head["arch"])
        return f"{self.head['subject']} ({product}) beside {self.head['reference']}"

    def culprits(self) -> dict[str, list[str]]:
        """Instructions whose bits differ, in each operator whose bits differ from the emulated device's."""
        off = {
            name
            for name, case in self.sections.get("instructions", {}).items()
            if case.get("agrees") is False
        }
        culprits = {}
        for name, case in self.sections.get("operators", {}).items():
            if "other bits" in case.get("text", ""):
                culprits[name] = sorted(off & set(case["reference"]["opcodes"]))
        return culprits

    def errors(self) -> list[tuple[str, int, float, float, float]]:
        """The model's times over the device's, by category: category, times, median, range of 80 %."""
        ratios: dict[str, list[float]] = {}
        for name, us, modelled in self.times():
            for key in (name.partition("/")[0], "all"):
                ratios.setdefault(key, []).append(modelled / us)
        return [
            (key, len(values), statistics.median(values), *_middle(values)) for key, values in ratios.items()
        ]

    def times(self) -> Iterator[tuple[str, float, float]]:
        """Operator and size, microseconds of the examined device, and of the model for the same clock."""
        for name, case in self.sections.get("times", {}).items():
            if "text" in case:
                subject, reference = case["subject"], case["reference"]
                by_events = subject["origin"] != "modelled"
                yield name, subject["us"], reference["by events"] if by_events else reference["us"]

    def __str__(self) -> str:
        lines = [self.title]
        for name in self.sections:
            summary = ", ".join(f"{count} {outcome}" for outcome, count in self.counts(name).items() if count)
            lines.append(f"  {name:16} {summary}")
            lines += [
                f"    {case}: {record['text']}"
                for case, record in self.sections[name].items()
                if record.get("agrees") is False
            ][:_LISTED]
            lines += [f"    {whose}: {why}" for whose, why in self.not_run(name)][:_LISTED]
        lines += [f"  {name:16} nothing ran: {why}" for name, why in self.nothing.items()]
        return "\n".join(lines)

    __repr__ = __str__


def sent_reports(arch: str | None = None) -> list[Report]:
    """Reports in the checkout's folder `hardware/`, sent by owners of GPUs; with `arch`, those of that
    target.

    A wheel has none.
    """
    folder = paths.kernels_dir().parent / "hardware"
    reports = (Report.read(path) for path in sorted(folder.glob("*.json")))
    return [report for report in reports if arch in (None, report.head["arch"])]


_LISTED = 8
"""Number of cases of a section that the text names, for differing ones and for those that did not run."""


def _middle(values: list[float]) -> tuple[float, float]:
    """The bounds of the middle 80 %."""
    if len(values) < 2:
        return values[0], values[0]
    tenths = statistics.quantiles(values, n=10, method="inclusive")
    return tenths[0], tenths[-1]


def anonymous(content: Any) -> Any:
    """The content without the names of the computer, the person and folders."""
    # Looked up once: a report has tens of thousands of texts, and is written after every case.
    return _without(content, [(name, _alone(name), instead) for name, instead in _names()])


def _without(content: Any, names: Sequence[tuple[str, re.Pattern[str], str]]) -> Any:
    if isinstance(content, Mapping):
        return {_without(str(key), names): _without(value, names) for key, value in content.items()}
    if isinstance(content, list | tuple):
        return [_without(element, names) for element in content]
    if isinstance(content, str):
        for name, pattern, instead in names:
            if name in content:
                content = pattern.sub(instead, content)
    return content


def _alone(name: str) -> re.Pattern[str]:
    """Pattern for the name, except as a part of a word."""
    return re.compile(rf"(?<![\w-]){re.escape(name)}(?![\w-])")


def _names() -> list[tuple[str, str]]:
    names = [(os.path.expanduser("~"), "~"), (os.getcwd(), ".")]
    names.append((platform.node(), "computer"))
    with suppress(OSError, KeyError):
        names.append((getpass.getuser(), "person"))
    # "root" and "/" identify nobody, and occur in many words.
    usual = {"", "/", "root", "localhost"}
    return [(name, instead) for name, instead in names if name not in usual]
