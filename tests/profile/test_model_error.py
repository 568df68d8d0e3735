"""The comparison with published times: rows that specs accept, sums that are right, a document of both."""

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
from regimes import STEP, Judged, left_out_inside, spread, stated, told_range  # noqa: E402


def test_every_row_is_a_problem_that_a_kernel_here_takes() -> None:
    rows = published()
    assert Counter(row.like for row in rows)[True] > 100
    products = {known.name: known for known in targets.PRODUCTS}
    for row in rows:
        assert row.quantity in QUANTITIES
        assert row.us > 0.5
        assert len(row.source) > 10
        spec, arch = wb.kernels[row.problem.kernel], products[row.problem.gpu].arch
        shape = spec.shape(row.problem.parameters, arch=arch)
        work = spec.work(shape)
        # No time can beat the peaks of memory and matrix cores: a row that does was copied wrongly.
        if row.quantity == "events" and work.get("flops"):
            assert work["flops"] / (row.us * 1e-6) < 2 * 10.1e15, row
    with (DATA / "published_sources.csv").open(newline="", encoding="utf-8") as file:
        assert len(list(csv.DictReader(file))) > 20


def test_gemms_of_hipkittens_are_of_the_schedule_that_can_have_been_timed() -> None:
    """Tiles of 256 x 256 where their matrix instructions alone take no longer than was published."""
    found = Counter[bool]()
    for one in published():
        if one.group != "gemm" or not one.like:
            continue
        spec, _, variant = one.problem.kernel.partition(":")
        product = targets.product(one.problem.gpu)
        m, n, k = (int(one.problem.parameters[name]) for name in "mnk")
        rounds = -(-m * n // 256**2 // product.compute_units)
        peak = product.matrix_flops({"gemm/bf16": "BF16", "gemm/fp8": "F8"}[spec])
        assert peak is not None
        needed = rounds * 2 * 256**2 * k * product.compute_units / peak + QUANTITIES[one.quantity].seconds
        assert bool(variant) == (needed <= one.us * 1e-6), one
        found[bool(variant)] += 1
    assert found[True] > found[False] > 5


def row(group: str, us: float, *, like: bool = True, quantity: str = "kernel") -> Row:
    problem = Problem("gemm/bf16", f"m={round(us)} n=1 k=1", "MI355X")
    return Row(group, problem, "HipKittens", like, us, quantity, 1, "somewhere that is known")


def test_rows_of_triton_say_what_they_are() -> None:
    rows = published("published_triton")
    assert len(rows) >= 10
    assert {each.problem.kernel for each in rows} == {"triton softmax", "triton rmsnorm"}
    rows += published("published_aiter")
    assert all(not each.warm and not each.like and each.quantity == "graph" for each in rows)
    assert len({row.group for row in rows}) == 4, "a class of its own for each of AITER's"


def test_a_loop_that_clears_nothing_is_compared_with_a_repetition() -> None:
    warm, cold = replace(row("gemm", 50.0), caches="kept"), replace(row("gemm", 50.0), caches="cleared")
    known = {warm.problem: Modelled(us=60.0, warm_us=40.0)}
    assert [each.ratio for each in error_document.compare([warm, cold], known)] == [0.8, 1.2]
    loops = [each for each in published() if each.implementation.startswith("HipKittens")]
    assert all(each.warm for each in loops)


def test_errors_are_those_of_their_kind_of_time() -> None:
    rows = [row("gemm", 100.0), row("gemm", 50.0), row("gemm", 20.0, quantity="events"), row("gemm", 7.0)]
    known = {
        rows[0].problem: Modelled(90.0, bound="mfma"),
        rows[1].problem: Modelled(65.0, bound="hbm"),
        rows[2].problem: Modelled(20.0 - QUANTITIES["events"].seconds * 1e6, bound="hbm"),
        rows[3].problem: Modelled(failure="ShapeError: no"),
    }
    compared = error_document.compare(rows, known)
    assert [round(each.ratio, 6) for each in compared] == [0.9, 1.3, 1.0]
    errors = error_document.Errors.of(compared)
    assert errors is not None
    assert (errors.rows, errors.near) == (3, pytest.approx(2 / 3))
    assert (errors.median, errors.low, errors.high) == (
        pytest.approx(0.1),
        pytest.approx(0.9),
        pytest.approx(1.3),
    )
    told = error_document.expected(rows, known)["classes"]
    assert told == {
        "gemm": {"kernels": ["gemm/bf16"], "rows": 3, "median": 0.1, "low": 0.9, "high": 1.3},
    }
    text = error_document.document(rows, known)
    assert "| gemm | 3 | 10% | 1.00 |" in text
    assert "1 that end in ShapeError" in text


def test_what_others_tuned_does_not_decide_what_is_expected() -> None:
    rows = [row("gemm", 100.0), row("gemm", 50.0, like=False)]
    known = {rows[0].problem: Modelled(100.0), rows[1].problem: Modelled(500.0)}
    told = error_document.expected(rows, known)["classes"]
    assert told["gemm"] == {"kernels": ["gemm/bf16"], "rows": 1, "median": 0.0, "low": 1.0, "high": 1.0}


def test_a_store_goes_on_and_marks_what_another_model_said(tmp_path: Path) -> None:
    problem = Problem("gemm/bf16", "m=64 n=64 k=64", "MI355X")
    found = Modelled(1.5, 1.4, "mfma", 2400.0, 0.1)
    Store(tmp_path / "store", "a").add(problem, found)
    same, changed = Store(tmp_path / "store", "a"), Store(tmp_path / "store", "b")
    assert same.known == {problem: found}
    assert not same.is_left(problem)
    assert changed.known == {problem: replace(found, former=True)}
    assert changed.is_left(problem)
    one = row("gemm", 1.0)
    text = error_document.document([replace(one, problem=problem)], changed.known)
    assert "; former model" in text or "former model |" in text
    # A new result replaces the former one, and a tidied file has it once.
    changed.add(problem, replace(found, us=2.5))
    changed.add(replace(problem, gpu="MI300X"), found)
    changed.tidy({problem})
    assert len((tmp_path / "store").read_text(encoding="utf-8").splitlines()) == 1
    assert Store(tmp_path / "store", "b").known == {problem: replace(found, us=2.5)}


def test_the_kept_times_are_of_rows_that_were_published() -> None:
    store = Store(model_error.KEPT, "any")
    rows = published() + published("published_triton") + published("published_aiter")
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
    found = model_error.model(problem, setting)
    assert found.us > found.warm_us > 0.5, "the second launch finds its rows in the Infinity Cache"
    assert found.clock_mhz == 2100
    assert not found.failure
    # The file of one product is that of all with the same target, and gives the same.
    assert len(list(tmp_path.iterdir())) == 1
    assert model_error.model(replace(problem, gpu="MI300X"), setting).us > 0.5
    assert replace(model_error.model(problem, setting), wall=found.wall) == found
    assert len(list(tmp_path.iterdir())) == 1
    wrong = model_error.model(Problem("normalization/rmsnorm", "rows=4 cols=0", "MI325X"), setting)
    assert "ShapeError" in wrong.failure


def test_an_error_without_the_launch() -> None:
    graph = QUANTITIES["graph"].seconds * 1e6
    one = replace(row("gemm", graph + 10.0), quantity="graph")
    (compared,) = error_document.compare([one], {one.problem: Modelled(15.0, bound="HBM", key="hbm")})
    assert compared.net == pytest.approx(1.5)
    assert compared.error == pytest.approx(5 / (graph + 10.0))
    errors = error_document.Errors.of([compared])
    assert errors is not None
    assert errors.net == pytest.approx(0.5)


def test_what_is_stated_of_a_regime_holds_for_a_class_that_took_no_part() -> None:
    draw = random.Random(29)
    centres = {"a": 1.0, "b": 0.75, "c": 1.15, "d": 1.0}
    rows = [
        Judged("hbm", group, centre * draw.uniform(0.95, 1.05))
        for group, centre in centres.items()
        for _ in range(10)
    ]
    (told,) = stated(rows).values()
    assert (told.rows, told.classes) == (40, 4)
    # The range that judges a class was fitted without it.
    others = {group: told_range([each for each in rows if each.group != group], "hbm") for group in centres}
    assert told.inside == sum(
        low <= each.ratio <= high
        for group, (low, high, _) in others.items()
        for each in rows
        if each.group == group
    )
    assert told.inside >= 20
    assert left_out_inside(rows, told.factor) >= 0.8 * 40
    assert left_out_inside(rows, 1.0) < 0.8 * 40, "not without being widened"
    assert left_out_inside(rows, told.factor - STEP) < 0.8 * 40, "nor by less"
    low, high = spread([each.ratio for each in rows])
    assert (told.low, told.high) == (pytest.approx(low / told.factor), pytest.approx(high * told.factor))
    # With one class the range has all rows, and nothing shows whether it holds.
    alone = stated([Judged("hbm", "a", ratio) for ratio in (0.5, 1.0, 1.1, 3.0)])["hbm"]
    assert (alone.low, alone.high, alone.inside) == (0.5, 3.0, None)


def test_a_regime_of_one_class_is_tried_by_its_families() -> None:
    centres = {"bf16 on gfx950": 1.0, "bf16 on gfx942": 0.8, "fp8 on gfx950": 1.1}
    gemms = [
        Judged("mfma", "gemm", centre * step, family)
        for family, centre in centres.items()
        for step in (0.98, 1.0, 1.02)
    ]
    # The same families' rows elsewhere judge none of their own.
    short = [Judged("short", group, 1.0, family) for group, family in (("gemm", "bf16 on gfx942"), ("b", ""))]
    told = stated(gemms + short)["mfma"]
    assert (told.rows, told.classes, told.families) == (9, 3, True)
    inside = 0
    for family in centres:
        others = [replace(each, group=each.family) for each in gemms if each.family != family]
        others += [each for each in short if each.family != family]
        low, high, _ = told_range(others, "mfma")
        inside += sum(low <= each.ratio <= high for each in gemms if each.family == family)
    assert told.inside == inside
    assert told.low < 0.8 < 1.1 < told.high
    assert not stated(short)["short"].families


def test_a_class_is_judged_by_what_fits_the_others() -> None:
    rows = [row("gemm", 100.0), row("gemm", 50.0), row("rotary", 80.0)]
    known = {each.problem: Modelled(0.5 * each.us, bound="hbm") for each in rows[:2]}
    known[rows[2].problem] = Modelled(80.0, bound="hbm")
    compared = error_document.compare(rows, known)
    assert error_document.left_out(compared) == [
        ("gemm", 2, pytest.approx(0.5), pytest.approx(1.0), pytest.approx(0.5)),
        ("rotary", 1, pytest.approx(0.0), pytest.approx(2.0), pytest.approx(1.0)),
    ]
    assert "A class left out" in error_document.document(rows, known)


def test_rows_of_known_sources_are_of_their_own_kernel() -> None:
    found = [problem for row in published() if (problem := own_problem(row)) is not None]
    assert {problem.kernel.removeprefix("own ") for problem in found} == set(SOURCES) | set(PORT)
    for problem in found:
        sizes = {name: int(value) for name, value in problem.parameters.items()}
        name, arch = problem.kernel.removeprefix("own "), targets.product(problem.gpu).arch
        own = PORT[name] if arch == "gfx942" else SOURCES[name](sizes)
        assert all(count > 0 for count in own.grid(sizes)), problem
        assert arch == own.arch
    # A row of one tile cannot be of the kernel with large tiles.
    assert own_problem(row("gemm", 50.0)) is None
    shape = Problem("gemm/bf16", "m=4096 n=4096 k=4096", "MI355X")
    rows = [replace(row("gemm", 100.0), problem=shape), row("gemm", 50.0)]
    problem = own_problem(rows[0])
    assert problem is not None
    known = {problem: Modelled(100.0, bound="mfma"), rows[0].problem: Modelled(90.0, bound="mfma")}
    assert [each.ratio for each in error_document.own(rows, known)] == [1.0]
    # A row is judged by the published kernel itself where that is known, and by ours elsewhere.
    known[rows[1].problem] = Modelled(60.0, bound="hbm")
    judged = error_document.nearest([replace(each, quantity="kernel") for each in rows], known)
    assert [each.ratio for each in judged] == [1.0, 1.2]
    assert error_document.expected(rows, known)["classes"]["gemm"]["kernels"] == ["gemm/bf16"]
    assert "HipKittens' kernels themselves" in error_document.document(rows, known)


def test_sizes_of_a_source_are_exchanged() -> None:
    text = "constexpr int N = 4;\n#define M 8192\nint f() { return N * M; }\n"
    assert with_constants(text, {"N": 7, "M": 9}) == (
        "constexpr int N = 7;\n#define M 9\nint f() { return N * M; }\n"
    )
    with pytest.raises(ValueError, match="no constant K"):
        with_constants(text, {"K": 1})
