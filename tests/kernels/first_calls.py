"""Time of the first call of each operator with an empty cache; stored for docs/kernel_costs.md.

    python tests/kernels/first_calls.py [NAME ...] [--device emulated:gfx950] [--print]

One process with its own cache calls one operator after another twice, each with the example of its docstring.
Both times are the whole call from Python; where two operators share an instance of a kernel,
the first one's call compiles it. Times depend on the machine; elsewhere they only rank operators. Rows of
other operators do not change.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import date

import kernel_costs

SERVE = "HIPKITTENS_FIRST_CALLS"


def calls(names: Sequence[str], device: str) -> Iterator[tuple[str, ...]]:
    """A row for each operator; the calling process has an empty cache of its own."""
    import torch

    import workbench as wb
    from workbench.operators import shape_text

    where = wb.device(device)
    # A process's one-time costs do not belong to its first operator.
    began = time.perf_counter()
    wb.kernels["activations/relu"](torch.ones(4, 64).to(where.torch_device))
    print(f"once in a process, by relu of another shape: {time.perf_counter() - began:.2f} s", flush=True)
    for name in names:
        spec = wb.kernels[name]
        shape = min(spec.shapes, key=lambda each: spec.work(each).get("bytes", 0))
        taken = []
        for _ in range(2):
            inputs = spec.make_inputs(shape, device=where)
            began = time.perf_counter()
            spec(**inputs)
            taken.append(time.perf_counter() - began)
        yield f"`{name}`", shape_text(shape), f"{taken[0]:.2f}", f"{1e3 * taken[1]:.1f}"


def stored_rows() -> dict[str, list[str]]:
    """The stored rows by operator."""
    lines = kernel_costs.lines_of("first")
    return {name: line.strip("| ").split(" | ") for name, stored in lines.items() for line in stored}


def summary(rows: Mapping[str, Sequence[str]], every: Collection[str], device: str) -> str:
    """The page's summary of rows by operator."""
    seconds = [float(rows[name][2]) for name in every if name in rows]
    missing = [f"`{name}`" for name in every if name not in rows]
    return (
        f"Seconds of the first call of each operator on {device} with an empty cache, and milliseconds\n"
        "of the second, by `python tests/kernels/first_calls.py`: one process, one operator after another,\n"
        f"each at the smallest shape of its spec. Measured {date.today():%d %B %Y} on two cores of a\n"
        "machine that some ten other processes shared; quiet ones take a fraction, most of it compiling.\n"
        f"The median is {statistics.median(seconds):.1f} s, the longest {max(seconds):.1f} s.\n"
        "`workbench.ops.precompile` does this for a model before its first call, side by side."
        + (f" Not called yet: {', '.join(missing)}." if missing else "")
    )


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("names", nargs="*", help="operators; default all")
    parser.add_argument("--device", default="emulated:gfx950")
    parser.add_argument("--print", action="store_true", help="show it instead of storing it")
    options = parser.parse_args(arguments)
    if os.environ.get(SERVE):
        for row in calls(options.names, options.device):
            print(*row, sep="\t", flush=True)
        return
    import workbench as wb

    rows = stored_rows()
    with (
        tempfile.TemporaryDirectory() as folder,
        subprocess.Popen(
            [sys.executable, __file__, *(options.names or wb.kernels), "--device", options.device],
            env={**os.environ, SERVE: "1", "HIPKITTENS_CACHE": folder},
            stdout=subprocess.PIPE,
            text=True,
        ) as server,
    ):
        assert server.stdout is not None
        for line in server.stdout:
            if len(row := line.rstrip("\n").split("\t")) == len(kernel_costs.FIRST_HEADS):
                print(*row, sep="  ", flush=True)
                rows[row[0].strip("`")] = row
                if not options.print:
                    kernel_costs.store(row[0].strip("`"), first=[kernel_costs.cells(row)])
    if not options.print:
        said = summary(rows, wb.kernels, options.device)
        kernel_costs.write({**kernel_costs.stored(), "first calls": said})
    if server.returncode:
        sys.exit(f"first_calls: the process that calls ended with {server.returncode}")


if __name__ == "__main__":
    main(sys.argv[1:])
