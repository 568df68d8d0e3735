"""Cases of test-backend-ops from its output, resumed runs, and the page from the stored counts."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import debian_backend_ops
import pytest
from debian_backend_ops import STORE, Results, batch, cases_of, causes, counts, outcomes, step, table

LISTING = """ggml_cuda_init: found 1 ROCm devices
"backend_name","op_name","op_params","test_mode","supported","error_message","backend_reg_name"
"ROCm0","ADD","type=f32,ne=[1,2]","support","1","yes","ROCm"
"ROCm0","ADD","type=f32,ne=[2,2]","support","1","yes","ROCm"
"ROCm0","SUM","type=f16","support","0","no","ROCm"
"CPU","SUM","type=f16","support","1","yes","CPU"
"""
OUTPUT = """Backend 1/2: ROCm0
  ADD(type=f32,ne=[1,2]): \x1b[1;32mOK\x1b[0m
  SUM(type=f16): not supported [ROCm0] \x1b[0m
  ADD(type=f32,ne=[2,2]): hipkittens: a word of the device
[ADD] ERR = 0.5 > 0.1 \x1b[1;31mFAIL\x1b[0m
  ADD(type=f32,ne=[3,2]): """


def test_cases_and_whether_the_back_end_has_them() -> None:
    expected = {"ADD(type=f32,ne=[1,2])": True, "ADD(type=f32,ne=[2,2])": True, "SUM(type=f16)": False}
    assert cases_of(LISTING) == expected


def test_outcomes_and_the_case_that_has_none() -> None:
    seen, begun = outcomes(OUTPUT)
    assert seen["ADD(type=f32,ne=[1,2])"] == ("right", "")
    assert seen["SUM(type=f16)"] == ("unsupported", "")
    assert seen["ADD(type=f32,ne=[2,2])"] == (
        "wrong",
        "hipkittens: a word of the device [ADD] ERR = 0.5 > 0.1",
    )
    assert begun == "ADD(type=f32,ne=[3,2])"
    assert begun not in seen


@pytest.mark.parametrize(
    ("output", "status", "expected"),
    [
        ("  A(1): \x1b[1;32mOK\x1b[0m\n  A(2): ", None, {"A(1)": ("right", "")}),
        ("  A(1): ", None, {"A(1)": ("too long", "more than 9 s of this computer")}),
        (
            "  A(1): \x1b[1;32mOK\x1b[0m\n  A(2): hipkittens: AddressFault\n",
            134,
            {"A(1)": ("right", ""), "A(2)": ("ended", "hipkittens: AddressFault")},
        ),
    ],
)
def test_a_step_that_does_not_reach_its_end(
    monkeypatch: pytest.MonkeyPatch,
    output: str,
    status: int | None,
    expected: dict[str, tuple[str, str]],
) -> None:
    monkeypatch.setattr(debian_backend_ops, "execute", lambda *_: (output, status))
    assert step(Path(), ["A(1)", "A(2)"], "MI210", 9) == expected


def test_results_are_kept_and_read_again(tmp_path: Path) -> None:
    file = tmp_path / "results.jsonl"
    Results(file).add({"A(1)": ("right", ""), "B(1)": ("wrong", "ERR = 1")})
    Results(file).add({"A(2)": ("unsupported", "")})
    results = Results(file).outcomes
    assert list(results) == ["A(1)", "B(1)", "A(2)"]
    assert causes(results) == {"B(1)": ["wrong", "ERR = 1"]}
    assert counts(["A(1)", "A(2)", "A(3)", "B(1)"], results) == {
        "A": Counter(right=1, unsupported=1, left=1),
        "B": Counter(wrong=1),
    }


def test_a_batch_fits_into_an_argument() -> None:
    cases = [f"{number:020}" for number in range(10_000)]
    first = batch(cases)
    assert first == cases[: len(first)]
    assert len(",".join(first)) < 128 << 10 < len(",".join(cases))


def test_the_page_has_what_is_stored() -> None:
    data = STORE.read()
    assert table(data) in STORE.page.read_text()
    assert sum(map(sum, (each.values() for each in data["operations"].values()))) > 20_000
