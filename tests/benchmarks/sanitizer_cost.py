"""How many times longer a sanitized launch takes than a plain one, for every kernel of the library.

    python tests/benchmarks/sanitizer_cost.py [--arch gfx950 gfx942] [--size 512] [--repeat 3] [--only gemm]

Both run on one thread; times are processor time of this process, least of the repeats, so that what else the
computer does shows little. Translation (once for each kernel, then cached) is in a column of its own.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import time
from collections.abc import Callable, Mapping
from typing import Any

import workbench as wb
from workbench.errors import ShapeError
from workbench.profile.target import Target, resolve
from workbench.runtime import LaunchOptions
from workbench.spec import KernelSpec, Range

LIMIT = 20.0


def shape_of(spec: KernelSpec, arch: str, size: int) -> dict[str, Any]:
    """The kernel's first shape with every dimension brought down to `size`, as far as it takes it."""
    shape = dict(spec.shape(dict(spec.shapes[0])))
    for name, parameter in spec.parameters.items():
        if isinstance(parameter, Range) and shape[name] > size:
            steps = -(-max(size - parameter.low, 0) // parameter.step)
            with contextlib.suppress(ShapeError):
                shape = spec.shape({**shape, name: parameter.low + steps * parameter.step}, arch=arch)
    return shape


def seconds(run: Callable[[], object], repeat: int) -> tuple[float, float]:
    """Processor time of the first run and the least of the others."""
    times = []
    for _ in range(repeat + 1):
        start = time.process_time()
        run()
        times.append(time.process_time() - start)
    return times[0], min(times[1:])


def measure(target: Target, repeat: int) -> tuple[float, float, float]:
    """Plain seconds, sanitized seconds, and what the first sanitized run takes longer."""
    _, plain = seconds(lambda: target.run(None), repeat)
    first, sanitized = seconds(lambda: target.run(LaunchOptions(sanitize=True)), repeat)
    return plain, sanitized, first - sanitized


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--arch", nargs="+", default=["gfx950", "gfx942"])
    parser.add_argument("--size", type=int, default=512, help="largest dimension of a problem")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--only", default="", help="a part of the kernels' names")
    options = parser.parse_args()
    os.environ["HIPKITTENS_THREADS"] = "1"
    print(
        f"{'kernel':32} {'target':8} {'plain':>9} {'sanitized':>10} {'ratio':>6} {'translation':>12}  problem"
    )
    worst = 0.0
    specs: Mapping[str, KernelSpec] = wb.kernels
    for name, spec in sorted(specs.items()):
        for arch in options.arch:
            if options.only not in name or arch not in spec.targets:
                continue
            shape = shape_of(spec, arch, options.size)
            target = resolve(name, shape=shape, device=f"emulated:{arch}")
            plain, sanitized, translation = measure(target, options.repeat)
            ratio = sanitized / plain
            worst = max(worst, ratio)
            problem = " ".join(f"{key}={value}" for key, value in shape.items())
            print(
                f"{name:32} {arch:8} {1e3 * plain:7.1f}ms {1e3 * sanitized:8.1f}ms {ratio:5.1f}x "
                f"{translation:11.2f}s  {problem}",
                flush=True,
            )
    print(f"worst {worst:.1f}x; at most {LIMIT:g}x is wanted")
    return int(worst > LIMIT)


if __name__ == "__main__":
    raise SystemExit(main())
