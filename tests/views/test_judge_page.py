"""The page of a judge's verdicts."""

from __future__ import annotations

import re
from pathlib import Path

from workbench.judge.verdicts import CaseVerdict, Result, Verdict
from workbench.views.judge_page import write_page

OUT_OF_BOUNDS = "cell.hip:15: read 4 bytes past the end of x"


def page_of(folder: Path, *verdicts: Verdict) -> str:
    ranks = {verdict.submission: 1 for verdict in verdicts if verdict.time is not None}
    return write_page("affine", "MI300X", verdicts, ranks, folder / "judge.html").read_text()


def right(enclosure: str = "limits") -> Verdict:
    case = CaseVerdict("n=4099", "benchmark", Result.RIGHT, launches=1, time=1.3371, low=0.61, high=2.73)
    return Verdict(
        "plain", "", Result.RIGHT, "", (case,), 1.3371, 0.61, 2.73, ("affine",), enclosure=enclosure
    )


def beyond() -> Verdict:
    case = CaseVerdict("n=192", "test", Result.FINDINGS, OUT_OF_BOUNDS, launches=1)
    findings = (OUT_OF_BOUNDS, "cell.hip:16: a race")
    return Verdict(
        "beyond", "", Result.FINDINGS, OUT_OF_BOUNDS, (case,), findings=findings, enclosure="limits"
    )


def titles(section: str) -> list[str]:
    return re.findall(r"<th[^>]*>([^<]*)</th>", section)


def test_a_row_begins_with_its_submission(tmp_path: Path) -> None:
    summary = page_of(tmp_path, right()).split("<h2>")[0]
    assert titles(summary)[:2] == ["submission", "rank"]
    assert re.search(r"<tr[^>]*><td[^>]*wb-line[^>]*>plain</td>", summary)


def test_columns_without_a_value_are_left_out(tmp_path: Path) -> None:
    _, of_right, of_beyond = page_of(tmp_path, right(), beyond()).split("<h2>")
    assert titles(of_right) == ["case", "sizes", "result", "launches", "time, us", "range"]
    assert titles(of_beyond) == ["case", "sizes", "result", "launches", "why"]


def test_times_are_aligned_as_numbers(tmp_path: Path) -> None:
    page = page_of(tmp_path, right())
    cells = re.findall(r"<td([^>]*)>(1\.337|0\.61 to 2\.73)</td>", page)
    assert len(cells) == 4
    assert all("wb-num" in attributes for attributes, _ in cells)


def test_a_finding_is_once_in_its_section(tmp_path: Path) -> None:
    section = page_of(tmp_path, beyond()).split("<h2>")[1]
    assert section.count(OUT_OF_BOUNDS) == 1
    assert section.count("cell.hip:16: a race") == 1


def test_an_enclosure_of_all_is_at_the_top(tmp_path: Path) -> None:
    assert page_of(tmp_path, right(), beyond()).count("nclosed by limits.") == 1
    different = page_of(tmp_path, right("namespaces"), beyond())
    assert different.count("Enclosed by namespaces.") == different.count("Enclosed by limits.") == 1
