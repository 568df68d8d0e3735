"""Many independent tasks in this process, on its cores, or on a cluster that Dask schedules.

A task that fails, hangs or takes its worker with it becomes an ordinary outcome, and the rest continues.
Dask restarts the tasks of a lost worker elsewhere; this module notices hangs, survives the loss of the
scheduler, and reports both.
"""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from workbench.bench.results import failure_text
from workbench.errors import UsageError, WorkbenchError

TOPIC = "hipkittens-tasks"
"""Event topic on which workers report that a task has begun."""

LOOPBACK = "127.0.0.1"
"""Address on which a local cluster listens: anyone who can reach a Dask process can run code in it."""

POLL_SECONDS = 0.1
RECONNECTS = 5
RECONNECT_SECONDS = 5.0
"""Attempts to reach a lost scheduler, and seconds between them, before this process takes over."""


@dataclass(frozen=True)
class Task:
    """A function call for a worker.

    Attributes:
        key: unique name of the task.
        arguments: positional arguments of the function; they are pickled.
    """

    key: str
    arguments: tuple[Any, ...] = ()


@dataclass(frozen=True)
class Outcome:
    """The outcome of a task.

    Attributes:
        key: key of the task.
        value: result of the function; None if it failed.
        failure: why there is no value; "" if there is one.
        worker: worker that ran it; "" for this process.
        seconds: duration of the call, if known.
    """

    key: str
    value: Any = None
    failure: str = ""
    worker: str = ""
    seconds: float = 0.0


class Overtime(WorkbenchError):
    """A task took longer than it may."""


@dataclass
class Engine:
    """Runs tasks in this process or on a cluster.

    Attributes:
        cluster: None for this process; "local" for one worker process per core; a number of worker processes;
            the address of a scheduler, "tcp://..." or "tls://..." with the certificate from Dask's
            configuration; or a cluster or client of `dask.distributed`.
        seconds: time limit of one task.
        resources: worker resources that a task takes, such as {"GPU": 1}, so that only one at a time
            measures.
        before: a function with the same arguments that runs first, on any worker, and needs none of these
            resources, for compiling.
        log: called with one line for each failure that a retry overcame.
    """

    cluster: Any = None
    seconds: float = 600.0
    resources: Mapping[str, float] = field(default_factory=dict)
    before: Callable[..., Any] | None = None
    log: Callable[[str], None] = lambda line: warnings.warn(line, stacklevel=3)

    def run(self, function: Callable[..., Any], tasks: Sequence[Task]) -> Iterator[Outcome]:
        """Calls the function for each task; yields outcomes in order of completion.

        Raises:
            UsageError: two tasks have the same key; `cluster` is none of the above.
            WorkbenchError: Dask is needed and not installed; there is no scheduler at the address from the
                start, or it requires a certificate of another authority; Dask's configuration names no
                certificate.
        """
        left = {task.key: task for task in tasks}
        if len(left) < len(tasks):
            raise UsageError("two tasks have the same key; expected different ones")
        if self.cluster is None:
            yield from self._here(function, left)
            return
        lost = 0
        while left:
            try:
                with self._client(first=not lost) as client:
                    yield from _Round(self, client, function, left).outcomes()
                return
            except _Lost as error:
                lost += 1
                again = f"{len(left)} of {len(tasks)} tasks are left"
                if lost > RECONNECTS:
                    self.log(f"the scheduler did not come back ({error}); {again}: they run in this process")
                    yield from self._here(function, left)
                    return
                self.log(f"the scheduler was lost ({error}); {again}, looking for it again")
                time.sleep(RECONNECT_SECONDS)

    def _here(self, function: Callable[..., Any], left: dict[str, Task]) -> Iterator[Outcome]:
        for task in list(left.values()):
            start = time.monotonic()
            value, failure = None, ""
            try:
                with _alarm(self.seconds):
                    if self.before is not None:
                        self.before(*task.arguments)
                    value = function(*task.arguments)
            except Exception as error:
                failure = failure_text(error)
            del left[task.key]
            yield Outcome(task.key, value, failure, seconds=time.monotonic() - start)

    @contextlib.contextmanager
    def _client(self, first: bool) -> Iterator[Any]:
        distributed = _distributed()
        with contextlib.ExitStack() as stack:
            cluster = self.cluster
            if isinstance(cluster, distributed.Client):
                yield cluster
                return
            if cluster == "local" or (isinstance(cluster, int) and not isinstance(cluster, bool)):
                workers = (os.cpu_count() or 1) if cluster == "local" else cluster
                cluster = stack.enter_context(local_cluster(workers, self.resources))
            elif not isinstance(cluster, str) and not hasattr(cluster, "scheduler_address"):
                raise UsageError(
                    f"cluster is {cluster!r}; expected None, 'local', a number of workers, a scheduler's "
                    "address such as 'tcp://node1:8786', or a cluster of dask.distributed"
                )
            if isinstance(cluster, str):
                _check_security(cluster)
            try:
                client = stack.enter_context(distributed.Client(cluster, set_as_default=False, timeout=10))
            except (OSError, TimeoutError, ValueError) as error:
                if first:
                    raise WorkbenchError(
                        f"no Dask scheduler answers at {cluster}: {error}; start one with `dask scheduler`"
                        + (", by the same certificates" if str(cluster).startswith("tls:") else "")
                    ) from error
                raise _Lost(str(error)) from error
            yield client


def _check_security(address: str) -> None:
    """Checks that Dask's configuration fits the address, for which Dask itself has no clear error.

    Raises:
        WorkbenchError: it does not.
    """
    security = _distributed().Security()
    make = "`python -m workbench certificates FOLDER` makes certificates; set DASK_CONFIG to that folder"
    try:
        context = security.get_connection_args("client")["ssl_context"]
    except OSError as error:
        raise WorkbenchError(
            f"the certificates of Dask's configuration (distributed.comm.tls) cannot be read: {error} "
            f"({security.tls_ca_file}, {security.tls_client_cert}, {security.tls_client_key}). {make}"
        ) from None
    if address.startswith("tls:") and context is None:
        raise WorkbenchError(
            f"{address} requires TLS, and Dask's configuration names no certificates for a client "
            f"(distributed.comm.tls). {make}"
        )
    if address.startswith("tcp:") and security.require_encryption:
        raise WorkbenchError(
            f"{address} is not encrypted, which Dask's configuration requires "
            "(distributed.comm.require-encryption): expected an address with tls://, of a scheduler that was "
            "started with the same configuration"
        )


def local_cluster(workers: int, resources: Mapping[str, float]) -> Any:
    """Worker processes of this computer, with one thread each; only the first has the resources.

    Raises:
        WorkbenchError: Dask is not installed.
    """
    distributed = _distributed()
    # A machine has many workers: each runs a kernel on one thread, not on all cores.
    options = {"nthreads": 1, "silence_logs": 50, "env": {"HIPKITTENS_THREADS": "1"}, "host": LOOPBACK}
    specs = {
        n: {"cls": distributed.Nanny, "options": {**options, "resources": dict(resources) if n == 0 else {}}}
        for n in range(workers)
    }
    scheduler = {
        "cls": distributed.Scheduler,
        "options": {"host": LOOPBACK, "dashboard": False},
    }
    return distributed.SpecCluster(workers=specs, scheduler=scheduler, silence_logs=50)


def call(function: Callable[..., Any], key: str, arguments: tuple[Any, ...], _ready: Any = None) -> Any:
    """The function that a worker runs: it reports that the task has begun, and how long it took.

    Args:
        _ready: result of the function that runs before; its value is ignored.
    """
    worker = _distributed().get_worker()
    worker.log_event(TOPIC, {"key": key, "worker": worker.address})
    start = time.monotonic()
    try:
        value, failure = function(*arguments), ""
    except Exception as error:
        # Sent as text: the other side may be unable to unpickle the exception.
        value, failure = None, failure_text(error)
    return value, failure, worker.address, time.monotonic() - start


class _Lost(Exception):
    """The connection to the scheduler broke."""


class _Round:
    """The remaining tasks on one client, until they are done or its scheduler is lost."""

    def __init__(
        self, engine: Engine, client: Any, function: Callable[..., Any], left: dict[str, Task]
    ) -> None:
        self.engine, self.client, self.left = engine, client, left
        self.function = function
        self.begun: dict[str, tuple[float, str]] = {}
        self.lock = threading.Lock()
        self.suspects: list[str] = []
        self.alone = ""
        client.subscribe_topic(TOPIC, self._begins)
        # All are submitted at once; Dask queues those that no worker has room for.
        self.futures: dict[str, Any] = {}
        for key in left:
            self._submit(key)

    def _submit(self, key: str) -> None:
        arguments, before = self.left[key].arguments, self.engine.before
        resources = dict(self.engine.resources) or None
        with self.lock:
            self.begun.pop(key, None)
        ready = self.client.submit(before, *arguments, pure=False) if before is not None else None
        self.futures[key] = self.client.submit(
            call, self.function, key, arguments, ready, pure=False, resources=resources
        )

    def _begins(self, event: tuple[float, Mapping[str, Any]]) -> None:
        message = event[1]
        with self.lock:
            # A lost worker's task is reported a second time.
            self.begun[message["key"]] = (time.monotonic(), message["worker"])

    def outcomes(self) -> Iterator[Outcome]:
        try:
            while self.futures or self.suspects:
                if not self.futures:
                    self.alone = self.suspects.pop(0)
                    self._submit(self.alone)
                yield from self._finished()
                yield from self._hung()
                if self.futures:
                    time.sleep(POLL_SECONDS)
        finally:
            with contextlib.suppress(Exception):
                self.client.unsubscribe_topic(TOPIC)

    def _finished(self) -> Iterator[Outcome]:
        done = [key for key, future in self.futures.items() if future.done()]
        if self.client.status not in ("running", "connecting") or any(
            self.futures[key].status in ("cancelled", "lost") for key in done
        ):
            raise _Lost(f"client is {self.client.status}")
        for key in done:
            if self._killed_its_worker(key) and key != self.alone:
                # Dask blames all tasks that the worker had; running each alone shows which one it was.
                del self.futures[key]
                self.suspects.append(key)
                continue
            outcome = self._outcome(key)
            if outcome is not None:
                del self.futures[key], self.left[key]
                yield outcome

    def _killed_its_worker(self, key: str) -> bool:
        future = self.futures[key]
        return future.status == "error" and isinstance(future.exception(), _distributed().KilledWorker)

    def _outcome(self, key: str) -> Outcome | None:
        """The outcome of a finished task; None if its worker was lost with the result."""
        future = self.futures[key]
        try:
            value, failure, worker, seconds = future.result(timeout=5)
        except (OSError, TimeoutError) as error:
            if self.client.status == "running":
                return None
            raise _Lost(failure_text(error)) from error
        except Exception as error:
            # Dask's own error: `call` returns what the function raises, so a worker or a result was lost.
            if future.status in ("cancelled", "lost"):
                raise _Lost(failure_text(error)) from error
            return Outcome(key, failure=failure_text(error))
        return Outcome(key, value, failure, worker, seconds)

    def _hung(self) -> Iterator[Outcome]:
        now = time.monotonic()
        with self.lock:
            late = [
                (key, worker)
                for key, (since, worker) in self.begun.items()
                if key in self.futures and now - since > self.engine.seconds
            ]
        running = self.client.processing() if late else {}
        for key, worker in late:
            if self.futures[key].key not in running.get(worker, ()):
                # The task was queued on the lost worker, and waits for another.
                with self.lock:
                    self.begun.pop(key, None)
                continue
            why = f"took longer than {self.engine.seconds:g} s"
            self.engine.log(f"{key} {why}; its worker {worker} is restarted")
            self.futures.pop(key).cancel(force=True)
            del self.left[key]
            # Without a nanny a worker cannot be restarted: its thread continues, but takes no more tasks.
            with contextlib.suppress(Exception):
                self.client.restart_workers([worker], timeout=30, raise_for_error=False)
            yield Outcome(key, failure=f"Overtime: {why}", worker=worker, seconds=self.engine.seconds)


@contextlib.contextmanager
def _alarm(seconds: float) -> Iterator[None]:
    """Raises Overtime in this thread once time is up; only the main thread can be interrupted.

    Compilers and launches have time limits of their own (HIPKITTENS_COMPILE_TIMEOUT, HIPKITTENS_TIMEOUT).
    """
    if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "setitimer"):
        yield
        return

    def ring(*_: Any) -> None:
        raise Overtime(f"took longer than {seconds:g} s")

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _distributed() -> Any:
    try:
        import distributed
    except ImportError as error:
        raise WorkbenchError(
            f"Dask is not installed ({error}); expected it for cluster=: "
            "pip install 'hipkittens-workbench[cluster]'"
        ) from error
    return distributed
