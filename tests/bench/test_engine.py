"""Tasks on Dask: workers that die, a scheduler that goes away, candidates that hang and fault."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from workbench.bench import engine
from workbench.bench.engine import Engine, Task
from workbench.errors import UsageError, WorkbenchError

sys.path.insert(0, str(Path(__file__).parent))
import fakes


def tasks(count: int, *more: Any) -> list[Task]:
    return [Task(f"candidate {n}", (n, *more)) for n in range(count)]


def test_in_this_process() -> None:
    assert [outcome.value for outcome in Engine().run(fakes.square, tasks(4))] == [0, 1, 4, 9]


def test_in_this_process_faults_and_hangs_are_outcomes(tmp_path: Path) -> None:
    right, faulty, hanging = tasks(3, str(tmp_path))
    outcomes = list(Engine().run(fakes.troubled, [faulty, right]))
    assert [outcome.failure for outcome in outcomes] == ["ValueError: candidate 1 faults", ""]
    assert outcomes[1].value == 0
    (late,) = Engine(seconds=0.2).run(fakes.troubled, [hanging])
    assert late.failure == "Overtime: took longer than 0.2 s"


def test_what_is_no_cluster_is_refused() -> None:
    pytest.importorskip("distributed")
    with pytest.raises(UsageError, match=r"cluster is 2\.5; expected None, 'local'"):
        list(Engine(cluster=2.5).run(fakes.square, tasks(1)))
    with pytest.raises(UsageError, match="same key"):
        list(Engine().run(fakes.square, tasks(1) * 2))


def test_no_scheduler_to_begin_with_is_an_error() -> None:
    pytest.importorskip("distributed")
    with pytest.raises(WorkbenchError, match=r"no Dask scheduler answers at tcp://127\.0\.0\.1:1"):
        list(Engine(cluster="tcp://127.0.0.1:1").run(fakes.square, tasks(1)))


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """Two worker processes, shared: starting them takes seconds. For Dask, the first has a GPU."""
    pytest.importorskip("distributed")
    path = os.environ.get("PYTHONPATH", "")
    os.environ["PYTHONPATH"] = os.pathsep.join(
        (str(Path(__file__).parent), str(Path(__file__).parents[2]), path)
    )
    with engine.local_cluster(2, {"GPU": 1}) as cluster:
        yield cluster
    os.environ["PYTHONPATH"] = path


def _listening() -> set[tuple[str, int]]:
    """(address, port) of each socket on which this process and its children listen."""
    psutil = pytest.importorskip("psutil")
    current = psutil.Process()
    return {
        (connection.laddr.ip, connection.laddr.port)
        for process in (current, *current.children(recursive=True))
        for connection in process.net_connections("inet")
        if connection.status == psutil.CONN_LISTEN
    }


def test_a_local_cluster_is_reached_from_this_computer_alone(cluster: Any) -> None:
    listening = _listening()
    assert len(listening) >= 5, "a scheduler, two nannies, two workers"
    assert {address for address, _ in listening} == {"127.0.0.1"}
    with contextlib.closing(socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # nothing is sent
        except OSError:
            pytest.skip("this machine has no other address")
        other = probe.getsockname()[0]
    for _, port in listening:
        with pytest.raises(ConnectionRefusedError), socket.create_connection((other, port), timeout=10):
            pass


def test_a_killed_worker_loses_nothing(cluster: Any, tmp_path: Path) -> None:
    done = []
    for outcome in Engine(cluster=cluster).run(fakes.square, tasks(200, str(tmp_path))):
        done.append(outcome)
        if len(done) == 60:
            victim = int(next(tmp_path.iterdir()).name.split()[1])
            os.kill(victim, signal.SIGKILL)
    assert sorted(outcome.value for outcome in done) == sorted(n * n for n in range(200))
    assert not [outcome.failure for outcome in done if outcome.failure]
    assert len({int(file.name.split()[1]) for file in tmp_path.iterdir()}) >= 2


@pytest.mark.skipif("HIPKITTENS_TEST_ALL" not in os.environ, reason="six workers start anew: 10 s of CPU")
def test_faults_hangs_and_crashes_are_results_and_the_run_continues(cluster: Any, tmp_path: Path) -> None:
    lines: list[str] = []
    run = Engine(cluster=cluster, seconds=4, log=lines.append)
    outcomes = {o.key: o for o in run.run(fakes.troubled, tasks(12, str(tmp_path)))}
    assert len(outcomes) == 12
    failed = {key for key, outcome in outcomes.items() if outcome.failure}
    assert failed == {"candidate 1", "candidate 2", "candidate 3"}
    assert outcomes["candidate 1"].failure == "ValueError: candidate 1 faults"
    assert outcomes["candidate 2"].failure == "Overtime: took longer than 4 s"
    assert outcomes["candidate 3"].failure.startswith("KilledWorker")
    assert outcomes["candidate 4"].value == 16, "what dies once is tried again"
    assert any("candidate 2 took longer than 4 s; its worker" in line for line in lines)


def test_resources_send_tasks_to_the_worker_that_has_them(cluster: Any) -> None:
    some = [Task(str(n)) for n in range(6)]
    measuring = list(Engine(cluster=cluster, resources={"GPU": 1}, before=fakes.pid).run(fakes.pid, some))
    assert len({outcome.worker for outcome in measuring}) == 1


def test_a_lost_scheduler_is_looked_for_then_work_goes_on_here(monkeypatch: pytest.MonkeyPatch) -> None:
    distributed = pytest.importorskip("distributed")
    monkeypatch.setattr(engine, "RECONNECT_SECONDS", 0.05)
    monkeypatch.setattr(engine, "RECONNECTS", 1)
    lines: list[str] = []
    cluster = distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None, silence_logs=50
    )
    address = cluster.scheduler_address
    done = []
    gone = threading.Event()
    for outcome in Engine(cluster=address, log=lines.append).run(
        slow, [Task(str(n), (n,)) for n in range(20)]
    ):
        done.append(outcome)
        if len(done) == 3 and not gone.is_set():
            gone.set()
            cluster.close(timeout=5)
    assert sorted(outcome.value for outcome in done if not outcome.failure) == list(range(20))
    assert "the scheduler was lost" in lines[0]
    assert "they run in this process" in lines[-1]


def slow(n: int) -> int:
    time.sleep(0.02)
    return n
