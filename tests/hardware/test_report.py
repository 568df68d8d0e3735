"""Reports as files: complete or absent, without personal names, with correct sums."""

from __future__ import annotations

import json
import platform
import re
from pathlib import Path

import pytest

from workbench.errors import UsageError
from workbench.hardware import SECTIONS
from workbench.hardware.report import Report, anonymous
from workbench.views.hardware import report_html, summary

HEAD = {"subject": "gpu:0", "reference": "emulated:MI300X", "arch": "gfx942", "quick": False, "version": "0"}


def timed(us: float, modelled: float, origin: str = "measured") -> dict:
    reference = {"us": modelled - 4.5, "by events": modelled, "origin": "modelled"}
    return {"subject": {"us": us, "origin": origin}, "reference": reference, "agrees": True, "text": "t"}


def test_names_of_computer_person_and_folders_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "node", lambda: "gpu-box-17")
    monkeypatch.setenv("HOME", "/home/ada")
    monkeypatch.setenv("LOGNAME", "ada")
    report = {"a": ["clang at /home/ada/bin/clang", {"gpu-box-17": "ada@gpu-box-17"}], "n": 3, "none": None}
    anonymized = anonymous(report)
    assert anonymized == {
        "a": ["clang at ~/bin/clang", {"computer": "person@computer"}],
        "n": 3,
        "none": None,
    }
    # A name inside another word stays.
    assert anonymous("canada gpu-box-171") == "canada gpu-box-171"


def test_a_report_is_read_as_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "new" / "r.json"
    report = Report(HEAD, {"times": {"gemm/bf16 m=1": timed(10, 11)}})
    report.write(path)
    assert Report.read(path) == report
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"format": "other 2", "head": {}, "sections": {}}'])
def test_another_file_is_no_report(tmp_path: Path, text: str) -> None:
    path = tmp_path / "r.json"
    path.write_text(text)
    with pytest.raises(UsageError, match=r"r\.json"):
        Report.read(path)


def test_errors_are_by_category_and_of_the_same_clock() -> None:
    cases = {f"gemm/bf16 m={n}": timed(10, 10 + n) for n in range(11)}
    cases["rotary/rope r=1"] = timed(8, 8, origin="modelled")
    errors = {row[0]: row[1:] for row in Report(HEAD, {"times": cases}).errors()}
    assert errors["gemm"] == pytest.approx((11, 1.5, 1.1, 1.9))
    # Times modelled on both sides are compared without the overhead of events around a launch.
    assert errors["rotary"] == pytest.approx((1, 3.5 / 8, 3.5 / 8, 3.5 / 8))
    assert errors["all"][0] == 12


def test_an_operator_with_other_bits_names_its_instructions_that_have_other_bits() -> None:
    sections = {
        "instructions": {
            "v_exp_f32": {"agrees": False, "text": "other"},
            "v_rcp_f32": {"agrees": True, "text": "same"},
        },
        "operators": {
            "a/b": {
                "agrees": True,
                "text": "right; other bits: o",
                "reference": {"opcodes": ["v_add_f32", "v_exp_f32", "v_rcp_f32"]},
            },
            "a/c": {"agrees": True, "text": "right; all same", "reference": {"opcodes": ["v_exp_f32"]}},
        },
    }
    assert Report(HEAD, sections).culprits() == {"a/b": ["v_exp_f32"]}


def test_a_case_that_did_not_run_is_not_done() -> None:
    report = Report(HEAD, {"times": {"x": {"not run": "late"}, "y": timed(1, 1)}})
    assert not report.done("times", "x")
    assert report.done("times", "y")
    assert report.counts("times") == {"agree": 1, "differ": 0, "reported": 0, "not run": 1}
    assert "x: late" in str(report)
    report.sections["times"]["z"] = {"not run": "late"}
    assert str(report).splitlines()[1:] == ["  times            1 agree, 2 not run", "    2 cases: late"]
    assert json.dumps(report.head)


def test_a_page_shows_the_main_points_and_folds_the_rest() -> None:
    cases = {
        "v_a": {"agrees": True, "text": "same"},
        "v_b": {"agrees": False, "text": "d: 3 of 4 differ"},
        "v_c": {"not run": "late"},
        "v_d": {"not run": "late"},
    }
    page = report_html(Report(HEAD | {"started": ""}, {"instructions": cases}))
    texts = [text for text in re.split("<[^>]+>", page) if text]
    title = texts.index(f"{SECTIONS['instructions'].title}: 1 agree, 1 differ, 2 not run")
    assert texts[title + 1 :] == [
        *("case", "found", "v_b", "look", "d: 3 of 4 differ", "2 cases", "not\N{NO-BREAK SPACE}run", "late"),
        *("the other 1", "case", "found", "v_a", "\N{CHECK MARK}", "same"),
    ]
    assert page.count("<details open>") == 1


def test_the_page_gives_the_reason_for_a_section_without_results(tmp_path: Path) -> None:
    report = Report(HEAD | {"started": ""}, {"machine": {"machine": {"agrees": True, "text": "well"}}})
    empty = report_html(report)
    report.nothing["compilers"] = "no second compiler was found"
    report.write(tmp_path / "r.json")
    assert Report.read(tmp_path / "r.json") == report
    page = report_html(report)
    for text in (SECTIONS["compilers"].title, "no second compiler was found"):
        assert text in page
        assert text not in empty
    assert str(report).splitlines()[-1] == "  compilers        nothing ran: no second compiler was found"
    [row] = summary([report, Report(HEAD, {"compilers": {"a": {"agrees": True, "text": "same"}}})]).rows[1:]
    assert [cell.text for cell in row[1:]] == ["no second compiler was found", "1 agree"]


def test_a_file_without_reasons_of_empty_sections_is_read(tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    report = Report(HEAD, {"times": {"x": timed(1, 1)}})
    report.write(path)
    document = json.loads(path.read_text())
    del document["nothing"]
    path.write_text(json.dumps(document))
    assert Report.read(path) == report


def test_names_are_asked_for_once_a_report(monkeypatch: pytest.MonkeyPatch) -> None:
    """A report has tens of thousands of texts and is written after every case."""
    asked = []
    monkeypatch.setattr(platform, "node", lambda: asked.append(1) or "gpu-box-17")
    assert anonymous([["gpu-box-17"]] * 3) == [["computer"]] * 3
    assert len(asked) == 1
