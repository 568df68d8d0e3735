"""What builds and programs print, read for the verdict and the first error."""

from __future__ import annotations

import re

_NONE_FAILED = re.compile(
    r"\b0(?:\.0*%?)? (?:fail\w*|errors?|mismatch\w*)|\b(?:fail\w*|errors?|mismatch\w*)\s*[:=]\s*0\b",
    re.IGNORECASE,
)
_FAILED = re.compile(
    r"\bFAIL(?:ED)?\b|\bMISMATCH(?:ES)?\b|\bINCORRECT\b|\bWRONG\b|"
    r"\b(?:PASS(?:ED)?|CORRECT|SUCCESS(?:FUL)?|VALID)[\"']?\s*[:=]\s*(?:FALSE|NO?|0)\b",
    re.IGNORECASE,
)
_PASSED = re.compile(
    r"\b(?:PASS(?:ED)?|CORRECT|SUCCESS(?:FUL)?)\b|\bVALID\s*[:=]\s*(?:Y|YES|TRUE|1)\b", re.IGNORECASE
)
_ERROR = re.compile(r"(?:error: |hipcc: (?!note)|\*\*\* )(.*)")
_TIMED = re.compile(
    r"\b(?:[mun]s|µs|seconds|elapsed|time|timing|latency|throughput|[GT]FLOPS?|[GT]B/s)\b", re.IGNORECASE
)


def verdict(output: str) -> bool | None:
    """Whether a program's words say that it is right; None if they say nothing about it."""
    text = _NONE_FAILED.sub("", output)
    if _FAILED.search(text):
        return False
    return True if _PASSED.search(text) else None


def has_verdict(script: str) -> bool:
    """Whether a test script has words for a result that is right, in upper case or as a key."""
    return re.search(r"\bPASS(?:ED)?\b|\bCORRECT\b|[\"']passed[\"']", script) is not None


def telling_line(output: str) -> str:
    """The first line that says that something failed, else that it passed, else the last one."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    for pattern in (_FAILED, _PASSED):
        if line := next((line for line in lines if pattern.search(_NONE_FAILED.sub("", line))), ""):
            return line
    return lines[-1] if lines else ""


def first_error(output: str) -> str:
    """The first error of a compiler or of make, else the last line."""
    lines = [line.strip() for line in output.splitlines() if line.strip()] or ["it printed nothing"]
    matches = (_ERROR.search(line) for line in lines)
    return next((match[1] for match in matches if match), lines[-1])


def without_times(output: str) -> str:
    """The output without the lines about times and rates, which differ between runs that compute the same."""
    return "\n".join(line for line in output.splitlines() if not _TIMED.search(line))


__all__ = ["first_error", "has_verdict", "telling_line", "verdict", "without_times"]
