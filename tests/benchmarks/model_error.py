"""How far the timing model is from times that others published: nothing here is measured.

    python tests/benchmarks/model_error.py [--kernel gemm/bf16] [--largest 4096]

Prints the modelled time of the kernel over the published one of `implementation` for the same problem, which
is another kernel. MI325X's times stand beside MI300X, whose compute units are the same.
"""

from __future__ import annotations

import argparse

import workbench as wb

DEVICES = {"MI355X": "emulated:gfx950", "MI300X": "emulated:gfx942", "MI325X": "emulated:gfx942"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--kernel", nargs="+", default=["gemm/bf16"])
    parser.add_argument("--implementation", default="HipKittens")
    parser.add_argument("--largest", type=int, default=4096, help="largest parameter of a shape that is run")
    options = parser.parse_args()
    print(f"{'kernel':28} {'GPU, shape':40} {'modelled us':>12} {'published us':>13} {'ratio':>6}")
    for name in options.kernel:
        spec = wb.kernels[name]
        for known in spec.published:
            sizes = [value for value in known.shape.values() if isinstance(value, int)]
            if known.implementation != options.implementation or known.unit != "us":
                continue
            if known.gpu not in DEVICES or max(sizes) > options.largest:
                continue
            modelled = wb.time(spec, shape=known.shape, device=DEVICES[known.gpu]).median.value
            where = f"{known.gpu}, " + ", ".join(f"{k}={v}" for k, v in known.shape.items())
            print(f"{name:28} {where:40} {modelled:12.1f} {known.value:13.1f} {modelled / known.value:6.2f}")


if __name__ == "__main__":
    main()
