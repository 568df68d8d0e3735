"""Facts of the examined machine: device, HIP library, compiler, and a kernel as a test."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from workbench.bench.cases import product_name
from workbench.bench.setting import setting
from workbench.doctor import doctor
from workbench.hardware.section import Answer, Case, Plan, Section

if TYPE_CHECKING:
    from workbench.runtime import Device


def _cases(plan: Plan) -> list[Case]:
    return [Case("machine")]


def _measure(case: Case, device: Device, folder: Path) -> Answer:
    report = doctor(run=True)
    plain = (bool, int, float, str)
    return {
        "passed": report.ok,
        "text": str(report).splitlines()[-1],
        "device": device.name,
        "arch": device.arch,
        "product": product_name(device),
        "origin": str(device.origin),
        "properties": {k: v for k, v in device.properties.items() if isinstance(v, plain)},
        "setting": setting(device),
        "doctor": [
            [finding.what, finding.state, finding.text, finding.remedy] for finding in report.findings
        ],
    }


SECTION = Section("machine", "The examined device, and whether a kernel runs", 0.02, _cases, _measure)
