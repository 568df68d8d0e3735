"""Runs of several sessions: listed with their code, pinned, and compared."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import workbench as wb
from workbench.errors import HistoryError, UsageError
from workbench.events import hub
from workbench.history import recorder, store
from workbench.history.changes import only_differing
from workbench.history.codec import decode, encode
from workbench.history.results import CLASSES
from workbench.history.store import MIGRATIONS, Store
from workbench.origin import Figure, Origin
from workbench.profile import ProfileResult
from workbench.toolchain import find_compiler
from workbench.toolchain.precompiled import top

SOURCE = """#include <hip/hip_runtime.h>
extern "C" __global__ void scale(float* x, float by) { x[blockIdx.x * 64 + threadIdx.x] *= by; }
"""
SLOWER = SOURCE.replace("*= by", "= sinf(x[threadIdx.x]) * by")


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "runs.sqlite"
    monkeypatch.setenv("HIPKITTENS_HISTORY", str(path))
    monkeypatch.chdir(tmp_path)
    hub.clear()
    return path


def run(source: str, how: Callable[..., Any] = wb.time) -> Any:
    import torch

    kernel = wb.compile(source, arch="gfx950", name="scale.hip")["scale"]
    return how(kernel[4, 64], torch.ones(256), 2.0)


def restarted() -> None:
    """Puts the process into the state of a new kernel, without earlier runs in memory."""
    recorder.stop()
    hub.clear()


def test_runs_survive_a_restart_with_all_that_they_were(file: Path) -> None:
    wb.history()
    profile = run(SOURCE, wb.profile)
    first = wb.history()[1].session
    restarted()
    timed = run(SLOWER)
    history = wb.history()
    assert [r.number for r in history] == [1, 2]
    assert [r.kind for r in history] == ["profile", "time"]
    old, new = history
    assert (old.session.id, new.session.id) == (first.id, wb.history()[-1].session.id)
    assert old.session.id != new.session.id
    assert old.source == SOURCE
    assert new.source == SLOWER
    assert "clang" in old.compiler.lower() or old.compiler
    assert old.device == profile.device
    assert old.code == profile.code
    assert old.time is not None
    assert old.time.value == profile.time.value
    assert new.timing is not None
    assert new.timing.median.value == timed.median.value
    recorded = old.profile
    assert isinstance(recorded, ProfileResult)
    assert recorded.counters == profile.counters
    assert {n: m.figure for n, m in recorded.metrics.items()} == {
        n: m.figure for n, m in profile.metrics.items()
    }
    assert [i.address for i in old.modules[0]["scale"].instructions]
    assert "#1 scale" in str(history)
    assert "scale" in history._repr_html_()
    assert "session of" in history._repr_html_()


def test_baselines_stay_and_say_what_changed(file: Path) -> None:
    wb.history()
    run(SOURCE, wb.profile)
    wb.history().pin(1, "fast")
    restarted()
    run(SLOWER, wb.profile)
    history = wb.history()
    assert list(history.baselines) == ["fast"]
    assert history[1].baselines == ("fast",)
    changes = history.compare("fast")
    assert (changes.before, changes.after) == ("#1 scale", "#2 scale")
    assert {line.text for line in changes.source if line.edit == "removed"} == {SOURCE.splitlines()[1]}
    assert {line.text for line in changes.source if line.edit == "added"} == {SLOWER.splitlines()[1]}
    assert "options" not in {name for name, _, _ in changes.facts}, "the same but for names of files"
    (code,) = changes.codes
    assert code.added > code.removed
    assert any(line.edit == "added" for line in code.lines)
    assert any(c.name == "SQ_INSTS_VALU" and c.after > c.before for c in changes.counters)
    assert "faster" in changes.verdict or "slower" in changes.verdict
    page = changes._repr_html_()
    assert "sinf" in page
    assert "wb-added" in page
    history.unpin("fast")
    assert not wb.history().baselines


def test_the_same_run_twice_differs_in_nothing(file: Path) -> None:
    wb.history()
    run(SOURCE)
    run(SOURCE)
    changes = wb.history().compare(1, 2)
    assert not (changes.source)
    assert not (changes.codes)
    assert not (changes.facts)
    assert not (changes.counters)
    assert changes.ratio == 1
    assert changes.verdict == "as fast as before; source and machine code are the same"


def test_failures_are_runs_too_and_no_baselines(file: Path) -> None:
    wb.history()
    with pytest.raises(wb.errors.WorkbenchError):
        run(SOURCE.replace("x[blockIdx", "x[(1 << 28) + blockIdx"))
    (failed,) = wb.history()
    assert failed.time is None
    assert failed.error
    assert failed.kernel == "scale"
    with pytest.raises(HistoryError, match="needs a time"):
        wb.history().pin(1)


def test_git_says_what_was_checked_out(file: Path, tmp_path: Path) -> None:
    assert recorder.git_state(tmp_path) == recorder.GitState()
    for command in (
        ["init", "-q", "-b", "trunk"],
        ["config", "user.email", "a@b.c"],
        ["config", "user.name", "a"],
        ["add", "-A"],
        ["commit", "-q", "--allow-empty", "-m", "x"],
    ):
        subprocess.run(["git", "-C", str(tmp_path), *command], check=True)
    state = recorder.git_state(tmp_path)
    assert len(state.revision) == 12
    assert state.branch == "trunk"
    assert state.modified is False
    (tmp_path / "new.txt").write_text("x")
    subprocess.run(["git", "-C", str(tmp_path), "add", "new.txt"], check=True)
    assert recorder.git_state(tmp_path).modified is True


def test_wrong_questions_are_errors(file: Path) -> None:
    history = wb.history()
    with pytest.raises(HistoryError, match="no run #7"):
        history[7]
    with pytest.raises(HistoryError, match="there is no baseline 'quick'"):
        history.compare("quick")
    with pytest.raises(UsageError, match="got a float; expected a run, its number"):
        history.compare(1.5)  # type: ignore[arg-type]
    with pytest.raises(HistoryError, match="no such file"):
        wb.history(path=file.parent / "none.sqlite")
    assert "no runs yet" in history._repr_html_()


def test_off_keeps_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert recorder.start() is None
    with pytest.raises(UsageError, match="off"):
        wb.history()
    run(SOURCE)
    assert not list(tmp_path.iterdir())


def test_a_damaged_file_stops_no_run(file: Path) -> None:
    file.write_bytes(b"not a database at all" * 100)
    recorder.start()
    with pytest.warns(UserWarning, match=r"runs are not recorded.*not a SQLite file"):
        run(SOURCE)
    run(SOURCE)
    assert file.read_bytes() == b"not a database at all" * 100


def test_no_file_is_made_before_the_first_run(file: Path) -> None:
    assert recorder.start() is not None
    assert not file.exists()


def test_strangers_classes_are_not_made() -> None:
    value = {"a": (Figure(1.5, "us", Origin.MODELLED), [1, None]), 3: "x"}
    assert decode(encode(value), CLASSES) == value
    with pytest.raises(ValueError, match="is not a class"):
        decode({"$class": "Popen", "args": ["true"]}, CLASSES)
    with pytest.raises(ValueError, match="unit"):
        decode({"$class": "Figure", "value": 1}, CLASSES)
    with pytest.raises(TypeError, match="cannot be stored"):
        encode({"a": object()})


def test_only_options_that_differ_are_listed() -> None:
    old, new = "-O3 -DTILE=64 -o /tmp/a/x.o /tmp/a/x.hip", "-O3 -DTILE=128 -g -o /tmp/b/x.o /tmp/b/x.hip"
    assert only_differing(old, new) == ("-DTILE=64", "-DTILE=128 -g")
    assert only_differing("", new) == ("", "")
    compiler = find_compiler()
    first, later = (
        " ".join(["-O3", *top(ready, compiler), "-"]) for ready in (None, Path("/cache/12.file-34"))
    )
    assert first != later
    assert only_differing(first, later) == ("", ""), (
        "the first compilation makes the header for those after it"
    )


RACED = """#include <hip/hip_runtime.h>
__global__ void flip(float *x) {
  __shared__ float s[128];
  s[threadIdx.x] = x[threadIdx.x];
  x[threadIdx.x] = s[threadIdx.x ^ 64];
}
"""


def test_sanitized_launches_are_among_the_runs(file: Path) -> None:
    import torch

    wb.history()
    raced = wb.compile(RACED, arch="gfx950", name="flip.hip")["flip"]
    result = wb.sanitize(raced[1, 128], torch.ones(128))
    run(SOURCE, wb.sanitize)
    with wb.sanitizing():
        for _ in range(2):
            raced[1, 128](torch.ones(128))
    restarted()
    first, clean, watched = wb.history()
    assert [(r.kind, r.kernel, r.finding_count) for r in wb.history()] == [
        ("sanitize", "flip", len(result.causes)),
        ("sanitize", "scale", 0),
        ("sanitize", "flip", len(result.causes)),
    ]
    assert first.findings == (*result.findings, *result.notes), "all that was said of them"
    assert [finding.line for finding in watched.findings] == [finding.line for finding in first.findings]
    assert first.source == RACED
    assert str(clean).endswith("scale on emulated:gfx950: nothing found")
    assert f"flip on emulated:gfx950: {len(result.causes)} finding" in str(first)
    with pytest.raises(HistoryError, match="needs a time"):
        wb.history().pin(first.number)
    html = wb.history()._repr_html_()
    assert "nothing found" in html
    assert "failed" not in html


def test_a_file_of_an_earlier_version_is_migrated(file: Path) -> None:
    earlier = MIGRATIONS[:1]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(store, "MIGRATIONS", earlier)
        Store(file).close()
    wb.history()
    run(SOURCE)
    run(SOURCE, wb.sanitize)
    assert [(r.kind, r.finding_count) for r in wb.history()] == [("time", None), ("sanitize", 0)]
