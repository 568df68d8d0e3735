"""The comparison with published times: valid rows, correct sums, a document of both."""

from __future__ import annotations

import csv
import random
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

import workbench as wb
from workbench import targets
from workbench.profile.launch import QUANTITIES

BENCHMARKS = Path(__file__).resolve().parents[1] / "benchmarks"
sys.path.insert(0, str(BENCHMARKS))

import error_document  # noqa: E402
import model_error  # noqa: E402
from counted_launches import Launches  # noqa: E402
from model_error import Modelled, Setting, Store  # noqa: E402
from own_kernels import PORT, SOURCES, own_problem, with_constants  # noqa: E402
from published_times import DATA, Problem, Row, published  # noqa: E402
from regimes import STEP, Judged, left_out_inside, spread, stated, stated_range  # noqa: E402


def test_every_row_is_a_problem_that_a_kernel_here_takes() -> None:
    rows = published()
    assert Counter(row.like for row in rows)[True] > 100
    products = {product.name: product for product in targets.PRODUCTS}
    for row in rows:
        assert row.quantity in QUANTITIES
        assert row.us > 0.5
        assert len(row.source) > 10
        spec, arch = wb.kernels[row.problem.kernel], products[row.problem.gpu].arch
        shape = spec.shape(row.problem.parameters, arch=arch)
        work = spec.work(shape)
        # No time can beat the peaks of memory and matrix cores: such a row was copied wrongly.
        if row.quantity == "events" and work.get("flops"):
            assert work["flops"] / (row.us * 1e-6) < 2 * 10.1e15, row
    with (DATA / "published_sources.csv").open(newline="", encoding="utf-8") as file:
        assert len(list(csv.DictReader(file))) > 20


def test_hipkittens_gemms_use_a_schedule_that_fits_the_published_time() -> None:
    """Tiles of 256 x 256 whose matrix instructions take no longer than the published time."""
    counts = Counter[bool]()
    for row in published():
        if row.group != "gemm" or not row.like:
            continue
        spec, _, variant = row.problem.kernel.partition(":")
        product = targets.product(row.problem.gpu)
        m, n, k = (int(row.problem.parameters[name]) for name in "mnk")
        rounds = -(-m * n // 256**2 // product.compute_units)
        peak = product.matrix_flops({"gemm/bf16": "BF16", "gemm/fp8": "F8"}[spec])
        assert peak is not None
        needed = rounds * 2 * 256**2 * k * product.compute_units / peak + QUANTITIES[row.quantity].seconds
        assert bool(variant) == (needed <= row.us * 1e-6), row
        counts[bool(variant)] += 1
    assert counts[True] > counts[False] > 5


def row(group: str, us: float, *, like: bool = True, quantity: str = "kernel") -> Row:
    problem = Problem("gemm/bf16", f"m={round(us)} n=1 k=1", "MI355X")
    return Row(group, problem, "HipKittens", like, us, quantity, 1, "somewhere that is known")


def test_rows_of_triton_say_what_they_are() -> None:
    rows = published("published_triton")
    assert len(rows) >= 10
    assert {row.problem.kernel for row in rows} == {"triton softmax", "triton rmsnorm"}
    rows += published("published_aiter")
    assert all(not row.warm and not row.like and row.quantity == "graph" for row in rows)
    assert len({row.group for row in rows}) == 4, "a class of its own for each of AITER's"


def test_a_loop_that_clears_nothing_is_compared_with_a_repetition() -> None:
    warm, cold = replace(row("gemm", 50.0), caches="kept"), replace(row("gemm", 50.0), caches="cleared")
    modelled = {warm.problem: Modelled(us=60.0, warm_us=40.0)}
    assert [row.ratio for row in error_document.compare([warm, cold], modelled)] == [0.8, 1.2]
    loops = [row for row in published() if row.implementation.startswith("HipKittens")]
    assert all(row.warm for row in loops)


def test_errors_are_those_of_their_kind_of_time() -> None:
    rows = [row("gemm", 100.0), row("gemm", 50.0), row("gemm", 20.0, quantity="events"), row("gemm", 7.0)]
    modelled = {
        rows[0].problem: Modelled(90.0, bound="mfma"),
        rows[1].problem: Modelled(65.0, bound="hbm"),
        rows[2].problem: Modelled(20.0 - QUANTITIES["events"].seconds * 1e6, bound="hbm"),
        rows[3].problem: Modelled(failure="ShapeError: no"),
    }
    compared = error_document.compare(rows, modelled)
    assert [round(row.ratio, 6) for row in compared] == [0.9, 1.3, 1.0]
    errors = error_document.Errors.from_compared(compared)
    assert errors is not None
    assert (errors.rows, errors.near) == (3, pytest.approx(2 / 3))
    assert (errors.median, errors.low, errors.high) == (
        pytest.approx(0.1),
        pytest.approx(0.9),
        pytest.approx(1.3),
    )
    classes = error_document.expected(rows, modelled)["classes"]
    assert classes == {
        "gemm": {"kernels": ["gemm/bf16"], "rows": 3, "median": 0.1, "low": 0.9, "high": 1.3},
    }
    text = error_document.document(rows, modelled)
    assert "| gemm | 3 | 10% | 1.00 |" in text
    assert "1 that fail with ShapeError" in text


def test_other_tuning_tables_do_not_change_the_expected_error() -> None:
    rows = [row("gemm", 100.0), row("gemm", 50.0, like=False)]
    modelled = {rows[0].problem: Modelled(100.0), rows[1].problem: Modelled(500.0)}
    classes = error_document.expected(rows, modelled)["classes"]
    assert classes["gemm"] == {"kernels": ["gemm/bf16"], "rows": 1, "median": 0.0, "low": 1.0, "high": 1.0}


def test_a_store_is_resumed_and_marks_other_models(tmp_path: Path) -> None:
    problem = Problem("gemm/bf16", "m=64 n=64 k=64", "MI355X")
    modelled = Modelled(1.5, 1.4, "mfma", 2400.0, 0.1)
    Store(tmp_path / "store", "a").add(problem, modelled)
    same, changed = Store(tmp_path / "store", "a"), Store(tmp_path / "store", "b")
    assert same.known == {problem: modelled}
    assert not same.is_left(problem)
    assert changed.known == {problem: replace(modelled, former=True)}
    assert changed.is_left(problem)
    gemm_row = row("gemm", 1.0)
    text = error_document.document([replace(gemm_row, problem=problem)], changed.known)
    assert "; former model" in text or "former model |" in text
    # A new result replaces the former one, and the tidied file has it once.
    changed.add(problem, replace(modelled, us=2.5))
    changed.add(replace(problem, gpu="MI300X"), modelled)
    changed.tidy({problem})
    assert len((tmp_path / "store").read_text(encoding="utf-8").splitlines()) == 1
    assert Store(tmp_path / "store", "b").known == {problem: replace(modelled, us=2.5)}


def test_the_stored_times_are_of_published_rows() -> None:
    store = Store(model_error.KEPT, "any")
    rows = published() + [row for name in model_error.OUTSIDE for row in published(name)]
    assert store.known.keys() <= model_error.problems_of(rows)
    assert len(store.known) > 200


def test_comments_leave_the_model_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    profile = tmp_path / "workbench" / "profile"
    profile.mkdir(parents=True)
    monkeypatch.setattr(model_error, "ROOT", tmp_path)
    digests = []
    for text in ("X = 1\n", '"""Doc."""\n\nX = 1  # why\n', "X = 2\n"):
        (profile / "model.py").write_text(text, encoding="utf-8")
        digests.append(model_error.digest())
    assert digests[0] == digests[1] != digests[2]


def test_a_problem_is_modelled_and_one_that_cannot_be_says_why(tmp_path: Path) -> None:
    setting = Setting(Launches(tmp_path))
    problem = Problem("normalization/rmsnorm", "rows=512 cols=64", "MI325X")
    modelled = model_error.model(problem, setting)
    assert modelled.us > modelled.warm_us > 0.5, "the second launch finds its rows in the Infinity Cache"
    assert modelled.clock_mhz == 2100
    assert not modelled.failure
    # All products of a target share a file, with the same result.
    assert len(list(tmp_path.iterdir())) == 1
    assert model_error.model(replace(problem, gpu="MI300X"), setting).us > 0.5
    assert replace(model_error.model(problem, setting), wall=modelled.wall) == modelled
    assert len(list(tmp_path.iterdir())) == 1
    wrong = model_error.model(Problem("normalization/rmsnorm", "rows=4 cols=0", "MI325X"), setting)
    assert "ShapeError" in wrong.failure


def test_an_error_without_the_launch() -> None:
    graph = QUANTITIES["graph"].seconds * 1e6
    gemm_row = replace(row("gemm", graph + 10.0), quantity="graph")
    (compared,) = error_document.compare(
        [gemm_row], {gemm_row.problem: Modelled(15.0, bound="HBM", key="hbm")}
    )
    assert compared.net == pytest.approx(1.5)
    assert compared.error == pytest.approx(5 / (graph + 10.0))
    errors = error_document.Errors.from_compared([compared])
    assert errors is not None
    assert errors.net == pytest.approx(0.5)


def test_a_stated_range_holds_for_a_class_that_was_left_out() -> None:
    draw = random.Random(29)
    centres = {"a": 1.0, "b": 0.75, "c": 1.15, "d": 1.0}
    rows = [
        Judged("hbm", group, centre * draw.uniform(0.95, 1.05))
        for group, centre in centres.items()
        for _ in range(10)
    ]
    (regime,) = stated(rows).values()
    assert (regime.rows, regime.classes) == (40, 4)
    # The range that judges a class was fitted without it.
    others = {group: stated_range([row for row in rows if row.group != group], "hbm") for group in centres}
    assert regime.inside == sum(
        low <= row.ratio <= high
        for group, (low, high, _) in others.items()
        for row in rows
        if row.group == group
    )
    assert regime.inside >= 20
    assert left_out_inside(rows, regime.factor) >= 0.8 * 40
    assert left_out_inside(rows, 1.0) < 0.8 * 40, "not without being widened"
    assert left_out_inside(rows, regime.factor - STEP) < 0.8 * 40, "nor by less"
    low, high = spread([row.ratio for row in rows])
    assert (regime.low, regime.high) == (
        pytest.approx(low / regime.factor),
        pytest.approx(high * regime.factor),
    )
    # With one class the range has all rows, and cannot be validated.
    alone = stated([Judged("hbm", "a", ratio) for ratio in (0.5, 1.0, 1.1, 3.0)])["hbm"]
    assert (alone.low, alone.high, alone.inside) == (0.5, 3.0, None)


def test_a_regime_of_one_class_is_tried_by_its_families() -> None:
    centres = {"bf16 on gfx950": 1.0, "bf16 on gfx942": 0.8, "fp8 on gfx950": 1.1}
    gemms = [
        Judged("mfma", "gemm", centre * step, family)
        for family, centre in centres.items()
        for step in (0.98, 1.0, 1.02)
    ]
    # Rows of the same families in another regime are not independent.
    short = [Judged("short", group, 1.0, family) for group, family in (("gemm", "bf16 on gfx942"), ("b", ""))]
    regime = stated(gemms + short)["mfma"]
    assert (regime.rows, regime.classes, regime.families) == (9, 3, True)
    inside = 0
    for family in centres:
        others = [replace(row, group=row.family) for row in gemms if row.family != family]
        others += [row for row in short if row.family != family]
        low, high, _ = stated_range(others, "mfma")
        inside += sum(low <= row.ratio <= high for row in gemms if row.family == family)
    assert regime.inside == inside
    assert regime.low < 0.8 < 1.1 < regime.high
    assert not stated(short)["short"].families


def test_a_class_is_judged_by_what_fits_the_others() -> None:
    rows = [row("gemm", 100.0), row("gemm", 50.0), row("rotary", 80.0)]
    modelled = {row.problem: Modelled(0.5 * row.us, bound="hbm") for row in rows[:2]}
    modelled[rows[2].problem] = Modelled(80.0, bound="hbm")
    compared = error_document.compare(rows, modelled)
    assert error_document.left_out(compared) == [
        ("gemm", 2, pytest.approx(0.5), pytest.approx(1.0), pytest.approx(0.5)),
        ("rotary", 1, pytest.approx(0.0), pytest.approx(2.0), pytest.approx(1.0)),
    ]
    assert "A class left out" in error_document.document(rows, modelled)


def test_rows_of_known_sources_are_of_their_own_kernel() -> None:
    problems = [problem for row in published() if (problem := own_problem(row)) is not None]
    assert {problem.kernel.removeprefix("own ") for problem in problems} == set(SOURCES) | set(PORT)
    for problem in problems:
        sizes = {name: int(value) for name, value in problem.parameters.items()}
        name, arch = problem.kernel.removeprefix("own "), targets.product(problem.gpu).arch
        source = PORT[name] if arch == "gfx942" else SOURCES[name](sizes)
        assert all(count > 0 for count in source.grid(sizes)), problem
        assert arch == source.arch
    # A row of one tile cannot be of the kernel with large tiles.
    assert own_problem(row("gemm", 50.0)) is None
    shape = Problem("gemm/bf16", "m=4096 n=4096 k=4096", "MI355X")
    rows = [replace(row("gemm", 100.0), problem=shape), row("gemm", 50.0)]
    problem = own_problem(rows[0])
    assert problem is not None
    modelled = {problem: Modelled(100.0, bound="mfma"), rows[0].problem: Modelled(90.0, bound="mfma")}
    assert [row.ratio for row in error_document.own(rows, modelled)] == [1.0]
    # A row is judged by the published kernel itself where that is known, and by ours elsewhere.
    modelled[rows[1].problem] = Modelled(60.0, bound="hbm")
    judged = error_document.nearest([replace(row, quantity="kernel") for row in rows], modelled)
    assert [row.ratio for row in judged] == [1.0, 1.2]
    assert error_document.expected(rows, modelled)["classes"]["gemm"]["kernels"] == ["gemm/bf16"]
    assert "HipKittens' kernels themselves" in error_document.document(rows, modelled)


def test_sizes_of_a_source_are_exchanged() -> None:
    text = "constexpr int N = 4;\n#define M 8192\nint f() { return N * M; }\n"
    assert with_constants(text, {"N": 7, "M": 9}) == (
        "constexpr int N = 7;\n#define M 9\nint f() { return N * M; }\n"
    )
    with pytest.raises(ValueError, match="no constant K"):
        with_constants(text, {"K": 1})


def test_a_missed_goal_of_rows_that_took_no_part_is_stated() -> None:
    rows = [
        replace(row("assembly", us, like=False), problem=Problem("aiter assembly x", f"m={us}", "MI355X"))
        for us in (5, 15, 50)
    ]
    ratios = (0.5, 1.0, 1.2)
    known = {each.problem: Modelled(us=each.us * ratio) for each, ratio in zip(rows, ratios, strict=True)}
    text = error_document.document([], known, rows)
    section = text.partition("## Rows that took no part")[2].partition("\n## ")[0]
    lines = [line.strip("| ").split(" | ") for line in section.splitlines() if " us |" in line]
    assert [(line[0], line[3], line[-1]) for line in lines] == [
        ("less than 10 us", "0.50", "**missed**"),
        ("10 to 20 us", "1.00", "met"),
        ("20 to 100 us", "1.20", "**missed**"),
    ]
    assert error_document.MISSED in section
