"""Reports of an audit: JSON by its schema, SARIF by the standard's rules, and the page."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import pytest

from workbench.audit.certainty import Certainty, certainty_of
from workbench.audit.records import (
    SCHEMA_FILE,
    FindingRecord,
    KernelRecord,
    Place,
    ProofRecord,
    RepairRecord,
    Report,
    Result,
    proof_sentence,
)
from workbench.audit.sarif import RULES, to_sarif
from workbench.views.audit_page import write_page

PATCH = "--- a/k/race one.cu\n+++ b/k/race one.cu\n@@ -1,2 +1,3 @@\n a;\n+__syncthreads();\n b;\n"


def _finding(
    category: str, certainty: Certainty, place: Place | None, related: Place | None
) -> FindingRecord:
    message = f"{category}: <x> & y"
    return FindingRecord(category, "reverse", message, certainty, place, related, "ds_read_b32 v0", 2, 64)


RACE = KernelRecord(
    "k/race one.cu",
    "gfx950",
    "0" * 24,
    Result.WRONG,
    "64 of 128 differ: FAILED",
    "its own check",
    "2026-01-31",
    ("SIZE 8192 as 512",),
    1,
    (
        _finding("race", Certainty.PROVEN, Place("k/race one.cu", 9), Place("k/race one.cu", 7)),
        _finding("hazard", Certainty.HARDWARE_RULE, Place("/usr/include/x.h", 3), None),
        _finding("uninitialised", Certainty.CERTAIN, None, None),
    ),
    ProofRecord("HIPKITTENS_LATE=last", 64, 1, "elements"),
    RepairRecord(PATCH, "__syncthreads() before line 9", 0.02),
    1.5,
    2.5,
)
CLEAN = KernelRecord("k/clean.cu", "gfx942", "1" * 24, Result.RIGHT, "PASSED", "its own check", "2026-01-31")
BROKEN = KernelRecord("k/broken.cu", "gfx942", "2" * 24, Result.NOT_BUILT, "no such name", date="2026-01-31")
REPORT = Report("kernels", "abc", "hipkittens-workbench 0.1.0", (RACE, CLEAN, BROKEN))


def test_json_follows_the_schema_and_comes_back() -> None:
    text = REPORT.to_json()
    schema = json.loads(SCHEMA_FILE.read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(json.loads(text), schema)
    assert Report.of_json(text) == REPORT


@pytest.mark.parametrize(
    "change",
    [
        {"result": "fine"},
        {"target": "sm_90"},
        {"findings": [{"category": "race"}]},
        {"more": 1},
        {"digest": "xyz"},
    ],
)
def test_the_schema_rejects_other_records(change: dict[str, Any]) -> None:
    data = json.loads(REPORT.to_json())
    data["kernels"][0] |= change
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(data, json.loads(SCHEMA_FILE.read_text()))


def test_a_report_of_another_version_is_refused() -> None:
    with pytest.raises(ValueError, match="version 1"):
        Report.of_json(REPORT.to_json().replace('"schema": 1', '"schema": 2'))


def test_exit_statuses() -> None:
    assert REPORT.exit_status == 1
    assert replace(REPORT, kernels=(CLEAN, BROKEN)).exit_status == 0
    assert replace(REPORT, kernels=(BROKEN,)).exit_status == 2
    assert replace(REPORT, kernels=(replace(CLEAN, result=Result.WRONG),)).exit_status == 1


def test_sarif_has_what_the_standard_requires() -> None:
    log = json.loads(to_sarif(REPORT))
    # Sections 3.13.2, 3.14.6, 3.19.8 of SARIF 2.1.0.
    assert log["version"] == "2.1.0"
    (run,) = log["runs"]
    driver = run["tool"]["driver"]
    assert driver["name"] == "hipkittens-workbench"
    identifiers = [rule["id"] for rule in driver["rules"]]
    assert len(set(identifiers)) == len(identifiers)
    assert all(rule["shortDescription"]["text"].endswith(".") for rule in driver["rules"])
    for result in run["results"]:
        # 3.27.7: an index that agrees with the identifier; 3.27.10: a level; 3.27.11: a message.
        assert identifiers[result["ruleIndex"]] == result["ruleId"]
        assert result["level"] in ("none", "note", "warning", "error")
        assert result["message"]["text"]
        for location in (*result["locations"], *result.get("relatedLocations", ())):
            place = location["physicalLocation"]
            assert place["region"]["startLine"] >= 1
            # 3.4.3 and 3.4.4: a relative URI has a base that the run knows.
            uri = place["artifactLocation"]["uri"]
            assert not uri.startswith("/")
            assert " " not in uri
            assert place["artifactLocation"]["uriBaseId"] in run["originalUriBaseIds"]
    prints = [result["partialFingerprints"]["audit/v1"] for result in run["results"]]
    assert len(set(prints)) == len(prints)


def test_sarif_levels_follow_the_certainty() -> None:
    results = json.loads(to_sarif(REPORT))["runs"][0]["results"]
    levels = {result["ruleId"]: result["level"] for result in results}
    assert levels == {"wrong-result": "error", "race": "error", "hazard": "note", "uninitialised": "warning"}
    race = next(result for result in results if result["ruleId"] == "race")
    place = race["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "k/race%20one.cu"
    assert place["region"]["startLine"] == 9
    assert race["relatedLocations"][0]["physicalLocation"]["region"]["startLine"] == 7


def test_every_category_has_a_rule() -> None:
    schema = json.loads(SCHEMA_FILE.read_text())
    categories = schema["$defs"]["finding"]["properties"]["category"]["enum"]
    assert {category.replace(" ", "-") for category in categories} | {"wrong-result"} == RULES.keys()


@pytest.mark.parametrize(
    ("category", "is_proven", "certainty"),
    [
        ("race", True, Certainty.PROVEN),
        ("missing wait", False, Certainty.CERTAIN),
        ("uninitialised", True, Certainty.CERTAIN),
        ("hazard", True, Certainty.HARDWARE_RULE),
    ],
)
def test_certainty(category: str, is_proven: bool, certainty: Certainty) -> None:
    assert certainty_of(category, is_proven) is certainty


def _texts() -> Iterator[str]:
    yield from ("Audit of kernels", "k/race one.cu on gfx950", "race one.cu:9", "64 of 128 differ")
    yield from ("SIZE 8192 as 512", "HIPKITTENS_LATE=last", "+2.0 %", "no such name")


def test_the_page_has_findings_proof_and_patch(tmp_path: Path) -> None:
    page = write_page(REPORT, tmp_path / "audit.html").read_text()
    assert all(text in page for text in _texts())
    assert "+__syncthreads();" in page
    # Text of others is escaped, and nothing is fetched.
    assert "&lt;x&gt; &amp; y" in page
    assert "<x>" not in page
    assert "http://" not in page
    assert "https://" not in page
    assert "color-scheme:light dark" in page


def test_the_page_begins_with_what_is_surest(tmp_path: Path) -> None:
    rule = replace(RACE, source="k/rule.cu", result=Result.RIGHT, findings=RACE.findings[1:2])
    page = write_page(replace(REPORT, kernels=(CLEAN, rule, RACE)), tmp_path / "audit.html").read_text()
    headings = ["<h2>k/race one.cu on gfx950", "<h2>k/rule.cu on gfx950", "<h2>All kernel sources"]
    places = [page.index(heading) for heading in headings]
    assert places == sorted(places)


def test_a_proof_says_how_to_open_it() -> None:
    proof = ProofRecord("HIPKITTENS_SCHEDULE=waves=0 late=0x1d6c", 2048, 5, "elements")
    opened = '2,048 elements differ; `wb.step(..., schedule="waves=0 late=0x1d6c")` opens it.'
    assert opened in proof_sentence(proof)
    assert "16 other orders" in proof_sentence(ProofRecord("", 0, 16, "elements"))
    fault = ProofRecord("HIPKITTENS_SCHEDULE=group=0 order=1", 0, 2, "elements")
    assert "order=1, the launch ends in a fault;" in proof_sentence(fault)


def test_the_summary_names_lines_and_repair() -> None:
    text = str(REPORT)
    assert "race (proven) at k/race one.cu:9 and k/race one.cu:7" in text
    assert "certified repair: __syncthreads() before line 9; modelled time +2.0 %" in text
    assert "clean.cu" not in text
    assert RACE.repair is not None
    assert RACE.repair.patch == PATCH
