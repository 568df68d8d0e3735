"""How sweeps scale: 1 and 2 worker processes here, and a scheduler with 64 simulated workers.

    python tests/benchmarks/scaling.py [--candidates 16]     # modelled candidates on 1 and 2 worker processes
    python tests/benchmarks/scaling.py --simulate [--workers 64] [--candidates 1000] [--seconds 2]

The second has the scheduler in a process of its own, as on a cluster, and workers as threads of another whose
candidates sleep: what is measured is the scheduler's processor time, as a part of the time that passed and of
that which an idle computer would take. Goal: under 20 %.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import distributed

from workbench.bench.cases import Case
from workbench.bench.engine import Engine, Task, local_cluster
from workbench.bench.run_case import run_case
from workbench.operators import kernels

WORKERS = """
import asyncio, sys
from distributed import Worker

async def main(address, count):
    async def started():
        return await Worker(address, nthreads=1, dashboard=False, memory_limit=0)

    workers = await asyncio.gather(*(started() for _ in range(count)))
    await asyncio.gather(*(worker.finished() for worker in workers))

asyncio.run(main(sys.argv[1], int(sys.argv[2])))
"""


def candidate(n: int, seconds: float) -> dict[str, float]:
    """Takes as long as compiling, verifying and timing, and gives as much."""
    time.sleep(seconds)
    return {f"figure {i}": float(n + i) for i in range(25)}


@contextmanager
def simulated(workers: int) -> Iterator[str]:
    """A scheduler in a process, and workers in another; gives the scheduler's address."""
    file = f"/tmp/scheduler-{os.getpid()}.json"
    command = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--port", "0", "--no-dashboard"]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    scheduler = subprocess.Popen([*command, "--scheduler-file", file], **quiet)
    try:
        while not os.path.exists(file):
            time.sleep(0.1)
        with distributed.Client(scheduler_file=file, set_as_default=False) as client:
            address = client.scheduler.address
            others = subprocess.Popen([sys.executable, "-c", WORKERS, address, str(workers)], **quiet)
            try:
                client.wait_for_workers(workers, timeout=600)
                yield address
            finally:
                others.terminate()
                others.wait()
    finally:
        scheduler.terminate()
        scheduler.wait()
        if os.path.exists(file):
            os.unlink(file)


def scheduler_seconds(client: Any) -> float:
    """Processor time of the scheduler so far."""
    return float(client.run_on_scheduler(time.process_time))


def simulate(workers: int, candidates: int, seconds: float) -> None:
    """Prints how busy the scheduler was."""
    with simulated(workers) as address, distributed.Client(address, set_as_default=False) as client:
        before, begin = scheduler_seconds(client), time.monotonic()
        tasks = [Task(f"candidate {n}", (n, seconds)) for n in range(candidates)]
        outcomes = list(Engine(client).run(candidate, tasks))
        wall, busy = time.monotonic() - begin, scheduler_seconds(client) - before
        assert len(outcomes) == candidates
        assert not [each.failure for each in outcomes if each.failure]
        used = len({each.worker for each in outcomes})
    ideal = -(-candidates // workers) * seconds
    print(
        f"{candidates} candidates of {seconds:g} s over {used} workers: {wall:.1f} s, ideally {ideal:.1f} s; "
        f"scheduler busy {busy:.2f} s, {busy / wall:.1%} of the time, {busy / ideal:.1%} of the ideal, "
        f"{1e3 * busy / candidates:.2f} ms a candidate"
    )


def scale(candidates: int) -> None:
    """Prints how long modelled candidates take on 1 and on 2 worker processes, which are warm."""
    spec = kernels["activations/softmax"]
    taken = {}
    for workers in (1, 2):
        with local_cluster(workers, {}) as cluster:
            warm = [Task(f"warm {n}", _case(spec, 64 + n)) for n in range(2 * workers)]
            list(Engine(cluster).run(run_case, warm))
            begin = time.monotonic()
            tasks = [Task(str(n), _case(spec, 4096 + 64 * n)) for n in range(candidates)]
            found = list(Engine(cluster).run(run_case, tasks))
            taken[workers] = time.monotonic() - begin
            failed = [each.failure or each.value.failure for each in found]
            assert not any(failed), failed
        print(f"{candidates} candidates on {workers} worker processes: {taken[workers]:.1f} s", flush=True)
    print(f"2 are {taken[1] / taken[2]:.2f} times as fast as 1")


def _case(spec: Any, rows: int) -> tuple[Case, str]:
    return Case(spec.name, spec.shape({"rows": rows, "cols": 512}, arch="gfx950")), "emulated:gfx950"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--simulate", action="store_true")
    parser.add_argument("--workers", type=int, default=64)
    parser.add_argument("--candidates", type=int)
    parser.add_argument("--seconds", type=float, default=2.0)
    options = parser.parse_args()
    if options.simulate:
        simulate(options.workers, options.candidates or 1000, options.seconds)
    else:
        scale(options.candidates or 16)


if __name__ == "__main__":
    main()
