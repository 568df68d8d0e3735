"""Our HIP library answers as AMD's libamdhip64 6.4.3, or differs for a reason that is written down."""

from __future__ import annotations

import sys
from pathlib import Path

import needs
import pytest

from tests.emulator.hip import answers


@needs.python_library
@pytest.mark.skipif(sys.platform != "linux", reason="AMD's library is Linux's")
def test_every_answer_is_equal_or_has_a_reason(tmp_path: Path) -> None:
    recorded = answers.RECORD.read_text().splitlines()
    reasons, without = answers.differences(recorded, answers.ask(*answers.build(tmp_path)))
    assert without == []
    # A reason that no longer applies hides the next difference.
    assert [pattern for pattern in answers.REASONS if not reasons[pattern]] == []
    assert sum(reasons.values()) < len(recorded) / 10


def test_a_difference_without_a_reason_is_found() -> None:
    reasons, without = answers.differences(["hipFree(p) = 0", "attribute 60 = 0 1"], ["hipFree(p) = 1"])
    assert without == ["- hipFree(p) = 0", "+ hipFree(p) = 1"]
    assert not reasons
