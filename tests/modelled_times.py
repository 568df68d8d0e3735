"""Models the problems with published figures, and a few more, and stores the times.

    python tests/modelled_times.py [NAME ...] [--largest 2e12] [--minutes 60] [--again]

`workbench/operators/modelled.json` has the times that `wb.kernels`, `docs/kernels.md` and
`docs/collection.md` show next to published ones. Nothing is measured. Existing times do not change without
`--again`; small problems are first.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Container, Iterable

import workbench as wb
from workbench.errors import WorkbenchError
from workbench.operators import Shape
from workbench.operators.modelled import TABLE, comparisons, key, times

ALONE: dict[str, list[Shape]] = {
    "gated_delta/recurrent": [
        {"batch": n, "sequences": n, "tokens": 1, "heads": 16, "groups": 2, "keys": 128, "values": 128}
        for n in (1, 64)
    ],
    "gated_delta/chunk": [
        {"tokens": n, "heads": 16, "groups": 2, "keys": 128, "values": 128} for n in (128, 1024)
    ],
    "gemm/grouped_variable_k": [{"m": 1024, "n": 2048, "k": 4096, "groups": 8}],
}
"""Problems without published times, on `ALONE_ON`: decode and prefill with Qwen3-Next's heads, and
the gradient of eight experts' matrices of 4,096 rows in all."""
ALONE_ON = "MI325X"


def device_of(gpu: str) -> str:
    """The emulated device for a GPU; for "MI350X or MI355X" the latter."""
    return f"emulated:{gpu.rpartition(' ')[2]}"


def problems(names: Iterable[str], modelled: Container[str]) -> list[tuple[float, str, Shape, str]]:
    """Problems without a modelled time by operations (a byte counts as ten): those, operator, shape, GPU."""
    candidates = []
    for name in names:
        spec = wb.kernels[name]
        asked = [(comparison.shape, comparison.gpu) for comparison in comparisons(spec)]
        for shape, gpu in [*asked, *((shape, ALONE_ON) for shape in ALONE.get(name, ()))]:
            if key(name, shape, gpu) not in modelled:
                work = spec.work(spec.shape(shape))
                cost = max(work.get("flops", 0), 10 * work.get("bytes", 0))
                candidates.append((cost, name, shape, gpu))
    return sorted(candidates, key=lambda candidate: candidate[0])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("names", nargs="*", help="operators; default all")
    parser.add_argument("--largest", type=float, default=2e12, help="operations of a problem that is run")
    parser.add_argument("--minutes", type=float, default=60, help="after which no further problem is begun")
    parser.add_argument("--again", action="store_true", help="model what is kept anew")
    options = parser.parse_args()
    names = options.names or list(wb.kernels)
    modelled, until = dict(times()), time.monotonic() + 60 * options.minutes
    for cost, name, shape, gpu in problems(names, () if options.again else modelled):
        if cost > options.largest or time.monotonic() > until:
            continue
        try:
            result = wb.time(name, shape=shape, device=device_of(gpu))
        except WorkbenchError as error:
            print(f"{key(name, shape, gpu)}: {error}", flush=True)
            continue
        modelled[key(name, shape, gpu)] = round(result.median.value, 1)
        print(f"{key(name, shape, gpu)}: {result.median.value:.1f} us", flush=True)
        TABLE.write_text(json.dumps(modelled, indent=1, sort_keys=True) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
