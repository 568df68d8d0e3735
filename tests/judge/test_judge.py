"""Honest submissions are right, cheats are not, and a time is the device's."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import submissions

import workbench as wb
from workbench.judge.judging import Bench, Options, Processes, References
from workbench.judge.problems import problem
from workbench.judge.verdicts import Result, Verdict

Judged = Callable[[str], Verdict]


@pytest.fixture(scope="module")
def code() -> bytes:
    return wb.compile(submissions.KERNELS, arch="gfx942").code


@pytest.fixture(scope="module")
def affine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("affine")
    (folder / "task.yml").write_text(submissions.TASK)
    (folder / "reference.py").write_text(submissions.REFERENCE)
    return folder


@pytest.fixture(scope="module")
def judged(
    affine: Path, code: bytes, processes: Processes, tmp_path_factory: pytest.TempPathFactory
) -> Judged:
    scratch = tmp_path_factory.mktemp("judge")
    (scratch / "references").mkdir()
    options = Options(device="MI300X")
    references = References(problem(affine), scratch / "references", options)
    bench = Bench(references, scratch, options, processes)

    def verdict(body: str) -> Verdict:
        folder = scratch / "submission"
        folder.mkdir(exist_ok=True)
        (folder / "submission.py").write_text(submissions.source(body))
        (folder / "launching.py").write_text(submissions.LAUNCH)
        (folder / "kernels.co").write_bytes(code)
        return bench.judge(folder)

    return verdict


@pytest.mark.parametrize("name", submissions.HONEST)
def test_honest_submissions_are_right(name: str, judged: Judged) -> None:
    verdict = judged(submissions.HONEST[name])
    assert verdict.result is Result.RIGHT, verdict
    assert verdict.time is not None
    assert verdict.low is not None
    assert verdict.high is not None
    assert verdict.low < verdict.time < verdict.high
    assert verdict.kernels
    roles = [case.role for case in verdict.cases]
    assert roles.count("test") == 2
    assert roles.count("benchmark") == 1
    assert "fresh sizes" in roles


@pytest.mark.parametrize("name", submissions.CHEATS)
def test_cheats_are_not(name: str, judged: Judged) -> None:
    expected, body = submissions.CHEATS[name]
    verdict = judged(body)
    assert verdict.result == expected, verdict
    assert verdict.text
    assert "hipkittens-judge-" not in verdict.text
    assert verdict.time is None


def test_reads_behind_a_tensor_are_a_note(judged: Judged) -> None:
    # 192 floats are one and a half of the blocks of 512 bytes that PyTorch's allocator on a GPU gives.
    verdict = judged('launch("next_read", x, out, n)\nreturn out')
    assert verdict.result is Result.RIGHT, verdict
    assert not verdict.findings
    (note,) = verdict.notes
    assert "1 byte past the end of uint8 tensor" in note
    assert "PyTorch's allocator" in note


def test_counting_an_operator_imports_nothing(judged: Judged) -> None:
    # What the first one needs is loaded before submissions fork; it would cost each of them a second.
    verdict = judged(
        "import sys\nbefore = set(sys.modules)\nx.double()\n"
        "assert len(set(sys.modules) - before) < 20\nreturn out"
    )
    assert verdict.result is Result.HOST_WORK, verdict


def test_a_time_is_the_devices(judged: Judged) -> None:
    plain = judged(submissions.HONEST["plain"])
    for name, body in submissions.TIMED.items():
        assert judged(body).time == plain.time, name
