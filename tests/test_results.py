"""Results of every kind survive pickling, as for notebooks and other processes."""

from __future__ import annotations

import ast
import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

import workbench as wb  # noqa: E402
from tests.every_result import every_result  # noqa: E402

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def results() -> dict[str, Any]:
    return every_result()


def named() -> Iterator[str]:
    """Classes of the package that are results, by their name or because a notebook displays them."""
    for path in (ROOT / "workbench").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef):
                bases = {base.id for base in node.bases if isinstance(base, ast.Name)}
                if node.name.endswith(("Result", "Results")) or bases & {"Shown", "Plotted"}:
                    yield node.name


def test_every_kind_is_here(results: dict[str, Any]) -> None:
    # Modules and kernels are not results; tests/kernel/test_module.py pickles them. The catalogue has specs,
    # and the history is a file, which the other process opens itself.
    others = {"Plotted", "Presented", "Module", "Kernel", "Kernels", "KernelRegistry", "Selection"}
    others |= {"KernelSpec", "History", "RecordedRun", "Exercise", "Exercises"}
    # They refer to a tape, which belongs to the process that recorded it.
    others |= {"Stepper", "Provenance"}
    # It refers to the model in this process.
    others |= {"Used"}
    assert {*results} == {*named()} - others


def test_results_survive_pickling(results: dict[str, Any]) -> None:
    for name, result in results.items():
        again = pickle.loads(pickle.dumps(result))
        assert type(again) is type(result), name
        if name == "CellResult":
            assert (again.device, again.results) == (result.device, result.results)
            assert again.module.code == result.module.code
        elif name == "SweepResult":
            assert list(again) == list(result)
        else:
            assert str(again) == str(result), name


def test_a_profile_keeps_what_its_launch_asked_of_memory(results: dict[str, Any]) -> None:
    traffic = results["ProfileResult"].record.traffic
    again = pickle.loads(pickle.dumps(traffic))
    assert again.sites() == traffic.sites()
    assert any(site.lds_bytes for site in again.sites().values())
    assert (again.group_total, again.waves) == (1, 1)
    with pytest.raises(wb.errors.UsageError, match="the recorded lines of this launch were released"):
        again.replay(None, 1)
