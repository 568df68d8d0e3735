"""Response time of the kernel to the editor in a cell that uses the tile library, and clangd's memory.

python tests/benchmarks/language_server.py [rounds]

Each answer is asked for as the front end does, of a text that changed by a letter since the last one. The
first has the headers to read; of the others stand the median and the slowest.
"""

from __future__ import annotations

import statistics
import sys
import time
from pathlib import Path
from typing import Any

from workbench.lab import clangd
from workbench.lab.service import Service

ROUNDS = int(sys.argv[1]) if len(sys.argv) > 1 else 9
HEAD = """%%hipkittens x --arch gfx942
#include "kittens.cuh"
using namespace kittens;
__global__ void k(float *p, gl<bf16, -1, -1, -1, -1> g) {
    rt_bf<32, 64> tile; st_bf<32, 64> shared; auto copied = tile;
"""
LINE = HEAD.count("\n")
QUESTIONS = {
    "complete": ("    copied.ro", 13),
    "complete names": ("    mul", 7),
    "hover": ("    load(copied, shared);", 5),
    "signatures": ("    load(copied, shared", 24),
    "definition": ("    load(copied, shared);", 5),
}


def ask(service: Service, method: str, line: str, column: int, text: str) -> tuple[float, Any]:
    """Milliseconds and answer of a question."""
    params = {"text": f"{HEAD}{line}\n    {text}\n}}\n", "line": LINE, "column": column}
    start = time.perf_counter()
    answer = service.answer({"id": 1, "method": method.partition(" ")[0], "params": params})
    return 1000 * (time.perf_counter() - start), answer.get("result")


def resident(process: int) -> float:
    """MB of a process in memory; 0 if the system does not report it."""
    path = Path(f"/proc/{process}/status")
    lines = path.read_text().splitlines() if path.is_file() else []
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS")), 0.0)


def main() -> None:
    service = Service({})
    first, _ = ask(service, "complete", *QUESTIONS["complete"], "p[0] = 0;")
    print(f"first: {first:.0f} ms")
    for name, (line, column) in QUESTIONS.items():
        took = [ask(service, name, line, column, f"p[{n}] = {n};") for n in range(ROUNDS)]
        times = sorted(milliseconds for milliseconds, _ in took)
        answered = sum(bool(answer) for _, answer in took)
        print(
            f"{name}: {statistics.median(times):.0f} ms, slowest {times[-1]:.0f} ms, "
            f"{answered} of {ROUNDS} answered"
        )
    print(f"clangd: {resident(clangd.running().server.pid):.0f} MB")


if __name__ == "__main__":
    main()
