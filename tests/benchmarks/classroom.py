"""A class on one machine: memory and times of several notebook kernels that run the same cells at once.

python tests/benchmarks/classroom.py [kernels]

Each is a separate Jupyter kernel that loads the workbench, compiles a tile kernel, verifies it, profiles
it and opens a dashboard, as a student does, and asks for completions as the editor does. The table has the
seconds of each step, the slowest kernel's and the processor's too, and what a kernel and its clangd hold:
resident memory, and the share of it (PSS) in which pages that several map count once. It is printed for one
kernel and for several, with an empty cache and with the code in it.
"""

from __future__ import annotations

import contextlib
import os
import statistics
import sys
import tempfile
import threading
import time
from pathlib import Path

import psutil
from jupyter_client.manager import start_new_kernel

STUDENTS = int(sys.argv[1]) if len(sys.argv) > 1 else 10
KERNEL = """\
%%hipkittens scale
#include "kittens.cuh"
using namespace kittens;
struct scale_globals { gl<float, 1, 1, -1, -1> x; float by; };
__global__ void scale(const scale_globals g) {
    rt_fl<16, 64> tile;
    load(tile, g.x, {0, 0, (int)blockIdx.x, 0});
    mul(tile, tile, g.by);
    store(g.x, tile, {0, 0, (int)blockIdx.x, 0});
}"""
HEAD = KERNEL.partition("    store(")[0]
QUESTION = f"""\
params = {{'text': {HEAD + "    tile."!r}, 'line': {HEAD.count(chr(10))}, 'column': 9}}
while 'result' not in service.answer({{'id': 1, 'method': 'complete', 'params': params}}):
    pass  # an editor, too, asks again where it was not answered in time"""
STEPS = {
    "load the workbench": "%load_ext workbench\nimport torch, workbench as wb\nx = torch.ones(512, 64)",
    "compile": KERNEL,
    "verify": "assert wb.verify(scale['scale'][32, 64], lambda x, by: x * by, "
    "inputs=dict(x=x, by=2.0), outputs=['x']).passed",
    "profile": "wb.profile(scale['scale'][32, 64], x=x, by=2.0)",
    "dashboard": "wb.dashboard()",
    "complete": f"from workbench.lab.service import Service\nservice = Service({{}})\n{QUESTION}",
    "complete again": QUESTION,
}


class Student(threading.Thread):
    """A kernel that starts each step when all are ready for it.

    Attributes:
        seconds: of each step.
        processor: seconds that the kernel and what it started computed in each step.
        memory: resident bytes, and its share of pages that are mapped by several.
        clangd: the same of its clangd.
    """

    def __init__(self, barrier: threading.Barrier, environment: dict[str, str]) -> None:
        super().__init__(daemon=True)
        self._barrier, self._environment = barrier, environment
        self.seconds: dict[str, float] = {}
        self.processor: dict[str, float] = {}
        self.memory = self.clangd = 0, 0

    def run(self) -> None:
        manager, client = start_new_kernel(startup_timeout=300, env=self._environment)
        kernel = psutil.Process(manager.provisioner.pid)
        try:
            for name, code in STEPS.items():
                self._barrier.wait()
                started, computed = time.monotonic(), processor(kernel)
                reply = client.execute_interactive(code, timeout=600, output_hook=lambda _: None)
                if reply["content"]["status"] != "ok":
                    raise RuntimeError(f"{name}: {reply['content']}")
                self.seconds[name] = time.monotonic() - started
                self.processor[name] = processor(kernel) - computed
            self._barrier.wait()
            self.memory = memory(kernel.pid)
            servers = (child for child in kernel.children(recursive=True) if "clangd" in child.name())
            self.clangd = next((memory(server.pid) for server in servers), (0, 0))
            self._barrier.wait()
        except BaseException:
            self._barrier.abort()
            raise
        finally:
            client.stop_channels()
            manager.shutdown_kernel(now=True)


def processor(kernel: psutil.Process) -> float:
    """Seconds that a kernel and its processes have computed."""
    seconds = 0.0
    for process in (kernel, *kernel.children(recursive=True)):
        with contextlib.suppress(psutil.NoSuchProcess):
            times = process.cpu_times()
            seconds += times.user + times.system + times.children_user + times.children_system
    return seconds


def memory(process: int) -> tuple[int, int]:
    """Resident and proportional bytes of a process."""
    lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()[1:]
    kilobytes = {name: int(value.split()[0]) for name, value in (line.split(":") for line in lines)}
    return 1024 * kilobytes["Rss"], 1024 * kilobytes["Pss"]


def lesson(cache: str, count: int) -> str:
    """A table of one round."""
    environment = {**os.environ, "HIPKITTENS_CACHE": cache, "HIPKITTENS_HISTORY": "off"}
    barrier = threading.Barrier(count)
    students = [Student(barrier, environment) for _ in range(count)]
    for student in students:
        student.start()
    for student in students:
        student.join()
    lines = [f"{'step':22} median   slowest  of the processor"]
    for name in STEPS:
        seconds = [student.seconds[name] for student in students]
        computed = statistics.median(student.processor[name] for student in students)
        lines.append(
            f"{name:22} {statistics.median(seconds):5.1f} s  {max(seconds):5.1f} s  {computed:5.1f} s"
        )
    for what in ("memory", "clangd"):
        resident, share = zip(*(getattr(student, what) for student in students), strict=True)
        lines.append(
            f"{what} of a kernel: {statistics.median(resident) / 1e6:.0f} MB resident, "
            f"{sum(share) / count / 1e6:.0f} MB its share, together {sum(share) / 1e6:.0f} MB"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        print(f"one kernel, an empty cache\n{lesson(folder, 1)}\n", flush=True)
        print(f"one kernel again\n{lesson(folder, 1)}\n", flush=True)
        print(f"{STUDENTS} kernels, the code in the cache\n{lesson(folder, STUDENTS)}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        print(f"\n{STUDENTS} kernels, an empty cache\n{lesson(folder, STUDENTS)}", flush=True)
