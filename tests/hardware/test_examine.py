"""An examination end to end, with the emulated device on both sides, and its possible failures."""

from __future__ import annotations

import csv
import json
import os
import signal
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import nbformat
import pytest
from markupsafe import escape

import workbench as wb
from workbench.__main__ import main
from workbench.errors import DeviceError, UnknownKernel, UsageError
from workbench.hardware import SECTIONS, Report, examine, instructions, microbenchmarks, notebooks
from workbench.hardware.process import Side, Unanswered
from workbench.hardware.section import Case, Plan
from workbench.views.hardware import write_page

DATA = Path(__file__).parents[1] / "data"
SMALL = ("normalization/rmsnorm",)


@pytest.fixture(scope="module")
def examined(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Report]:
    """Fast and exact arithmetic: bits of matrix instructions differ, all else agrees."""
    path = tmp_path_factory.mktemp("hardware") / "r.json"
    parts = ("machine", "operators", "counters", "times")
    lines: list[str] = []
    report = examine(
        "emulated:gfx942", path, quick=True, operators=SMALL, sections=parts, log=lines.append, minutes=60
    )
    assert len(lines) == sum(len(cases) for cases in report.sections.values())
    return path, report


def test_both_sides_of_one_device_agree(examined: tuple[Path, Report]) -> None:
    path, report = examined
    assert report.title == "emulated:gfx942 (MI300X) beside emulated:MI300X,numerics=exact"
    for name in ("machine", "operators", "counters", "times"):
        counts = report.counts(name)
        assert counts["agree"] == len(report.sections[name]) > 0, report
    operator = report.sections["operators"][SMALL[0]]
    assert operator["subject"]["passed"]
    assert operator["subject"]["repeats"]
    assert operator["subject"]["largest error"] > 0
    assert "v_rsq_f32" in operator["reference"]["opcodes"]
    for case in report.sections["times"].values():
        assert case["subject"]["origin"] == "modelled"
        assert case["subject"]["us"] == case["reference"]["us"] > 0
    assert Report.read(path) == report


def test_what_is_done_is_not_done_again(examined: tuple[Path, Report]) -> None:
    path, _ = examined
    lines: list[str] = []
    examine("emulated:gfx942", path, quick=True, operators=SMALL, sections=("operators",), log=lines.append)
    assert lines == []
    stored = json.loads(path.read_text())
    stored["sections"]["operators"][SMALL[0]] = {"not run": "late"}
    path.write_text(json.dumps(stored))
    examine("emulated:gfx942", path, quick=True, operators=SMALL, sections=("operators",), log=lines.append)
    assert len(lines) == 1
    assert Report.read(path).done("operators", SMALL[0])


def test_a_section_without_a_case_has_a_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(SECTIONS, "notebooks", replace(SECTIONS["notebooks"], cases=lambda plan: []))
    monkeypatch.setattr(Side, "answer", lambda *arguments: {"passed": True, "text": "well"})
    lines: list[str] = []
    path = tmp_path / "r.json"
    report = examine("emulated:gfx942", path, sections=("machine", "notebooks"), log=lines.append)
    why = "an installed wheel has no notebooks; the same command in a checkout runs them"
    assert lines == ["ok   machine: machine: well", f"     notebooks: nothing to run: {why}"]
    assert set(report.nothing) == set(SECTIONS) - {"machine"}
    assert report.nothing["notebooks"] == why
    assert report.nothing["times"] == "not asked for; the command without --sections runs it"
    assert Report.read(path) == report
    # Earlier reasons stay, and a section that runs loses its reason.
    five_cases(monkeypatch, lambda *arguments: {})
    report = examine("emulated:gfx942", path, sections=("times",))
    assert report.nothing["notebooks"] == why
    assert "times" not in report.nothing
    assert Report.read(path) == report


def test_a_section_that_was_not_reached_has_a_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def answer(side: Side, section: str, *arguments: object) -> dict[str, object]:
        if section == "times":
            raise KeyboardInterrupt
        return {"passed": True, "text": "well"}

    path = tmp_path / "r.json"
    five_cases(monkeypatch, answer)
    monkeypatch.setitem(SECTIONS, "times", replace(SECTIONS["times"], compare=None))
    with pytest.raises(KeyboardInterrupt):
        examine("emulated:gfx942", path, sections=("machine", "times"))
    report = Report.read(path)
    assert report.counts("machine")["agree"] == 1
    assert report.nothing["times"] == "the examination was stopped before it; the same command continues here"


def test_a_report_of_another_device_is_left_as_it_is(examined: tuple[Path, Report]) -> None:
    path, _ = examined
    before = path.read_bytes()
    with pytest.raises(UsageError, match=r"has a report of subject emulated:gfx942.*--out"):
        examine("emulated:gfx950", path, operators=SMALL)
    assert path.read_bytes() == before


def test_a_pair_that_cannot_be_compared_costs_one_case(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*answers: object) -> None:
        raise ZeroDivisionError("of ours")

    monkeypatch.setitem(SECTIONS, "operators", replace(SECTIONS["operators"], compare=fail))
    path = tmp_path / "r.json"
    report = examine("emulated:gfx942", path, operators=SMALL, sections=("operators",), minutes=60)
    assert (
        "could not be compared (ZeroDivisionError: of ours)"
        in report.sections["operators"][SMALL[0]]["not run"]
    )
    assert not Report.read(path).done("operators", SMALL[0])


def five_cases(monkeypatch: pytest.MonkeyPatch, answer: Callable[..., dict[str, str]]) -> None:
    """Section "times" has five cases that agree, and one process of the emulated device answers them."""
    cases = [Case(str(n)) for n in range(5)]
    alone = replace(SECTIONS["times"], cases=lambda plan: cases, compare=lambda *answers: (True, "same"))
    monkeypatch.setitem(SECTIONS, "times", alone)
    monkeypatch.setattr(Side, "answer", answer)
    monkeypatch.setattr("workbench.hardware._SIDES", 1)


def test_an_exclusive_device_waits_for_a_few_cases_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[str, str]] = []

    def answer(side: Side, section: str, case: Case, folder: Path, seconds: float) -> dict[str, str]:
        asked.append(("reference" if "exact" in side.device else "examined", case.name))
        return {}

    five_cases(monkeypatch, answer)
    report = examine("emulated:gfx942", tmp_path / "r.json", sections=("times",))
    assert report.counts("times")["agree"] == 5
    rounds = [["0", "1"], ["2", "3"], ["4"]]
    in_turn = [(who, names) for names in rounds for who in ("reference", "examined")]
    for who, names in in_turn:
        taken, asked = asked[: len(names)], asked[len(names) :]
        assert sorted(taken) == [(who, name) for name in names]


def test_cases_that_the_emulated_device_answered_in_time_also_run_on_the_examined_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If the emulated half takes all the time, a run still completes two cases."""
    now = [0.0]

    def answer(side: Side, section: str, case: Case, folder: Path, seconds: float) -> dict[str, str]:
        now[0] += 40
        return {}

    five_cases(monkeypatch, answer)
    monkeypatch.setattr("workbench.hardware.clock", SimpleNamespace(monotonic=lambda: now[0]))
    for done in (2, 4, 5):
        report = examine("emulated:gfx942", tmp_path / "r.json", sections=("times",), minutes=1)
        counts = report.counts("times")
        assert (counts["agree"], counts["not run"]) == (done, 5 - done)


def test_cases_without_time_are_reported_in_one_line(tmp_path: Path) -> None:
    path, lines = tmp_path / "r.json", []
    names = (*SMALL, "activations/relu")
    report = examine(
        "emulated:gfx942", path, operators=names, sections=("operators",), minutes=0, log=lines.append
    )
    assert [case["not run"] for case in report.sections["operators"].values()] == [
        "time limit reached; the same command continues here"
    ] * 2
    assert lines == ["     operators: 2 cases wait: time limit reached; the same command continues here"]
    assert Report.read(path) == report


def test_the_page_has_every_section_and_needs_nothing(examined: tuple[Path, Report], tmp_path: Path) -> None:
    path, report = examined
    text = write_page(tmp_path / "r.html", report, Report.read(path)).read_text()
    for name in report.sections:
        assert escape(SECTIONS[name].title) in text
    assert "times are modelled" in text
    assert "Side by side" in text
    assert report.machine["setting"]["compiler"] in text
    assert 'src="http' not in text


def test_compare_draws_a_file_from_the_command_line(examined: tuple[Path, Report], tmp_path: Path) -> None:
    path, _ = examined
    assert main(["hardware", "--compare", str(path), "--out", str(tmp_path / "page")]) == 0
    assert (tmp_path / "page.html").stat().st_size > 10_000


@pytest.mark.parametrize("suffix", [".json", ".html"])
def test_out_may_name_either_of_its_files(examined: tuple[Path, Report], tmp_path: Path, suffix: str) -> None:
    path, _ = examined
    assert main(["hardware", "--compare", str(path), "--out", str(tmp_path / f"v1.2{suffix}")]) == 0
    assert [file.name for file in tmp_path.iterdir()] == ["v1.2.html"]


def test_without_a_gpu_the_command_names_the_next_step(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    if any(not device.observes for device in wb.devices()):
        pytest.skip("this machine has a GPU")
    assert main(["hardware", "--out", str(tmp_path / "x")]) == 2
    message = capsys.readouterr().err
    assert "doctor" in message
    assert "--device emulated:gfx942" in message


def test_wrong_names_are_refused_before_anything_runs(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no section nothing; there are machine, operators"):
        examine("emulated:gfx942", tmp_path / "r.json", sections=["nothing"])
    with pytest.raises(UnknownKernel):
        examine("emulated:gfx942", tmp_path / "r.json", operators=["gemm/none"])
    with pytest.raises(DeviceError):
        examine("emulated:gfx1", tmp_path / "r.json")
    assert not list(tmp_path.iterdir())


@pytest.fixture
def side() -> Iterator[Side]:
    side = Side("emulated:gfx942")
    yield side
    side.close()


def test_a_process_that_dies_takes_one_case_with_it(side: Side, tmp_path: Path) -> None:
    case = Case("v_rcp_f32")
    side.answer("instructions", case, tmp_path, 120)
    os.kill(side._process.pid, signal.SIGKILL)
    with pytest.raises(Unanswered, match="its process ended by SIGKILL"):
        side.answer("instructions", case, tmp_path, 120)
    assert side.answer("instructions", case, tmp_path, 120)["types"]
    with pytest.raises(Unanswered, match="UnknownKernel"):
        side.answer("operators", Case("x", {"operator": "no/such", "shape": {}}), tmp_path, 120)
    with pytest.raises(Unanswered, match="took longer than 0 s"):
        side.answer("instructions", case, tmp_path, 0)


def test_fast_and_exact_matrix_arithmetic_are_told_apart(tmp_path: Path) -> None:
    """The check can fail: fast mode differs from a matrix core's bits; a conversion does not."""
    for name, same in (("v_mfma_f32_16x16x16_bf16", False), ("v_cvt_pk_fp8_f32", True)):
        folders = {}
        for choice in ("fast", "exact"):
            folders[choice] = tmp_path / name / choice
            folders[choice].mkdir(parents=True)
            with wb.numerics(choice):
                answer = instructions.SECTION.measure(
                    Case(name), wb.device("emulated:gfx942"), folders[choice]
                )
        agrees, text = instructions.SECTION.compare(answer, answer, folders["fast"], folders["exact"])
        assert agrees is same, text


@pytest.mark.parametrize("arch", ["gfx942", "gfx950"])
def test_every_conversion_and_matrix_instruction_has_a_kernel(arch: str) -> None:
    names = {case.name for case in instructions.SECTION.cases(Plan(arch))}
    assert {"v_exp_f32", "v_cvt_f32_fp8", "v_mfma_f32_32x32x8_f16"} <= names
    assert ("v_mfma_f32_16x16x128_f8f6f4" in names) is (arch == "gfx950")
    forms = {form.opcode: form for form in instructions._chosen(arch)}
    for name in sorted(names)[:: 29 if arch == "gfx942" else 41]:
        text, widths, result = instructions.source(forms[name])
        assert wb.compile(text, arch=arch)["run"].resources.vgpr_spills == 0
        assert sum(widths) > 0
        assert result > 0


@pytest.mark.parametrize("name", ["ds_read_b128", "ds_write_b64"])
def test_conflicts_by_times_are_those_that_were_published(name: str) -> None:
    """Lane 0 of the matrix that HipKittens measured by rocprofv3's counter on gfx950."""
    with (DATA / f"lds_conflict_matrix_{name}.csv").open() as file:
        rows = list(csv.DictReader(line for line in file if not line.startswith("#")))
    result = microbenchmarks.SECTION.measure(
        Case(name, {"kind": "conflicts", "name": name, "lane": 0}), wb.device("emulated:gfx950"), Path()
    )
    assert result["conflicts"] == [int(rows[0][str(lane)]) for lane in range(64)]
    assert result["origin"] == "modelled"


def test_a_notebook_whose_package_is_missing_does_not_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    device = wb.device("emulated:gfx942")
    # The measurement sets it, normally in a separate process.
    monkeypatch.setenv("HIPKITTENS_DEVICE", device.name)
    no_profiler = "from workbench.errors import ProfilerNotFound\nraise ProfilerNotFound('no rocprofv3')"
    for code, message in (
        ("import no_such_package", "No module named 'no_such_package'"),
        (no_profiler, "0 cells ran, the next one needs rocprofv3: no rocprofv3"),
        ("1 / 0", None),
    ):
        path = tmp_path / "book.ipynb"
        nbformat.write(nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(code)]), path)
        case = Case("book", {"file": str(path)})
        if message is not None:
            with pytest.raises(UsageError, match=message):
                notebooks.SECTION.measure(case, device, tmp_path)
        else:
            wrong = {"passed": False, "text": "ZeroDivisionError: division by zero"}
            assert notebooks.SECTION.measure(case, device, tmp_path) == wrong


def test_memories_further_away_take_longer() -> None:
    device = wb.device("emulated:gfx942")

    def latency(memory: str) -> float:
        case = Case(memory, {"kind": "memory", "name": memory})
        return microbenchmarks.SECTION.measure(case, device, Path())["ns"]

    latencies = [latency(name) for name in ("LDS", "L1", "L2", "HBM")]
    assert 0 < latencies[0] < latencies[1] < latencies[2] < latencies[3]
