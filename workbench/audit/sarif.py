"""An audit as SARIF 2.1.0, which code hosts show beside the lines (OASIS, sarif-v2.1.0, 27 March 2020)."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

from workbench.audit.records import FindingRecord, KernelRecord, Place, Report, Result, proof_sentence

SCHEMA_URI = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/os/schemas/sarif-schema-2.1.0.json"
WRONG = "wrong-result"
ROOT = "%SRCROOT%"
"""Base of all locations: the folder of the checkout."""

RULES = {
    WRONG: "A kernel's results differ from its reference.",
    "missing-wait": "A value or memory is used, or overwritten, before the wait that completes its access.",
    "race": "Two waves access the same memory, at least one writes, and no barrier or atomic orders them.",
    "uninitialised": "A value that nothing wrote is stored, decides a branch or becomes an address.",
    "out-of-bounds": "An access lies outside the memory that it is meant for.",
    "misaligned": "An access of shared memory is not aligned as its width requires.",
    "hazard": "Too few wait states lie between two instructions.",
    "missed-barrier": "A wave ends, or waits, while others wait at a barrier.",
    "fault": "A fault ended the launch.",
}
"""Rules by identifier, with a sentence each."""


def rule_of(category: str) -> str:
    """Identifier of the rule for a category of findings."""
    return category.replace(" ", "-")


def to_sarif(report: Report) -> str:
    """The wrong results and findings of a report as a SARIF log."""
    name, _, version = report.tool.partition(" ")
    rules = [{"id": rule, "shortDescription": {"text": text}} for rule, text in RULES.items()]
    driver: dict[str, Any] = {"name": name, "version": version, "rules": rules}
    run: dict[str, Any] = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        # Hosts take relative locations from the root of the repository.
        "originalUriBaseIds": {ROOT: {"description": {"text": "The root of the checkout."}}},
        "results": [result for kernel in report.kernels for result in _results(kernel)],
    }
    log = {"$schema": SCHEMA_URI, "version": "2.1.0", "runs": [run]}
    return f"{json.dumps(log, indent=1, ensure_ascii=False)}\n"


def _results(kernel: KernelRecord) -> Iterator[dict[str, Any]]:
    if kernel.result is Result.WRONG:
        text = f"On {kernel.target} the results are wrong: {kernel.text}"
        yield _result(kernel, WRONG, "error", text, Place(kernel.source, 1), None)
    for finding in kernel.findings:
        yield _result(
            kernel,
            rule_of(finding.category),
            finding.certainty.level,
            _message(kernel, finding),
            # A place in a system's header is none of the checkout's.
            _inside(finding.place) or Place(kernel.source, 1),
            _inside(finding.related),
        )


def _inside(place: Place | None) -> Place | None:
    return place if place is not None and not place.file.startswith(("/", "..")) else None


def _message(kernel: KernelRecord, finding: FindingRecord) -> str:
    parts = [f"{finding.message} ({finding.kernel} on {kernel.target})", finding.certainty.sentence]
    if kernel.proof is not None and finding.certainty.level == "error":
        parts.append(proof_sentence(kernel.proof))
    return "\n".join(parts)


def _result(
    kernel: KernelRecord, rule: str, level: str, text: str, place: Place, related: Place | None
) -> dict[str, Any]:
    identity = f"{rule} {kernel.source} {kernel.target} {place} {related}"
    result: dict[str, Any] = {
        "ruleId": rule,
        "ruleIndex": [*RULES].index(rule),
        "level": level,
        "message": {"text": text},
        "locations": [_location(place)],
        "partialFingerprints": {"audit/v1": hashlib.sha256(identity.encode()).hexdigest()[:32]},
    }
    if related is not None:
        result["relatedLocations"] = [{**_location(related), "message": {"text": "the other access"}}]
    return result


def _location(place: Place) -> dict[str, Any]:
    artifact = {"uri": quote(place.file), "uriBaseId": ROOT}
    return {"physicalLocation": {"artifactLocation": artifact, "region": {"startLine": place.line}}}


__all__ = ["ROOT", "RULES", "SCHEMA_URI", "WRONG", "rule_of", "to_sarif"]
