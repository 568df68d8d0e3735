"""Kernels of other projects that include HipKittens: verdicts and the page's table."""

from __future__ import annotations

import json

import hipkittens_elsewhere
import pytest
import torch

SOURCE = hipkittens_elsewhere.SOURCES[0]


@pytest.mark.parametrize(
    ("got", "result"),
    [([1.0, 2.0], "right"), ([1.0, 2.5], "wrong"), ([1.0, float("nan")], "wrong")],
)
def test_verdict(
    got: list[float], result: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What is off, or was not written, is wrong."""

    def check(path: str, rows: int) -> list[tuple[str, torch.Tensor, torch.Tensor]]:
        assert (path, rows) == ("library.so", 2)
        return [("O", torch.tensor(got), torch.tensor([1.0, 2.0], dtype=torch.double))]

    monkeypatch.setattr(hipkittens_elsewhere, "CHECKS", {"sums": check})
    request = {"library": "library.so", "check": "sums", "size": {"rows": 2}}
    hipkittens_elsewhere.main([json.dumps(request)])
    assert json.loads(capsys.readouterr().out)["result"] == result


def test_table() -> None:
    """A row for each source with results."""
    right, wrong = {"result": "right", "text": "O: 1e-3"}, {"result": "wrong", "text": "O: 0.5"}
    results = {
        hipkittens_elsewhere.key(SOURCE, True): [right, wrong],
        hipkittens_elsewhere.key(SOURCE, False): [right, right],
    }
    table = hipkittens_elsewhere.table(results, {SOURCE.project: ("abcd", "2026-07-01")})
    (row,) = table.splitlines()[2:]
    assert row.startswith(f"| {SOURCE.project} | abcd, 2026-07-01 | {SOURCE.path} | gfx950 | 64 d, 256 rows")
    assert row.endswith("| right, wrong | right, right | `O: 1e-3` |")
