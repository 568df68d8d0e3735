"""Triton's unmodified tutorials on the emulated devices: which are right, by target.

    python tests/triton_driver/tutorials.py FOLDER [--only 02] [--targets gfx1201] [--seconds 300]
        [--sanitize] [--write]

FOLDER is a checkout of Triton at the installed release; it is read only, and nothing of it is stored.
Each tutorial is a process. It runs completely, except for benchmarks (only Triton's lines at the first size),
autotuned kernels (two configurations), and functions that it would start as a program or by pytest, which
`TUTORIALS` calls on small problems. PyTorch's layer normalization, its reference, is taken in float64: of
fp16 on a
CPU its gradients are further off than the tutorial's tolerance. This table adds checks to the tutorial's.
On a target without modelled times, autotuned kernels take their first configuration, and benchmarks are nan.
`--sanitize` sanitizes every launch, and a finding is a failure. `--write` puts the table into docs/triton.md.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

import page_parts  # noqa: E402

from workbench.runtime.findings import causes  # noqa: E402
from workbench.runtime.reports import LaunchReport  # noqa: E402

DOCUMENT = ROOT / "docs" / "triton.md"
BEGIN, END = "<!-- tutorials begin -->", "<!-- tutorials end -->"
TARGETS = ("gfx950", "gfx942", "gfx1201", "gfx1250")
RIGHT = "right"
LONGEST = 90
"""Characters of a message."""


@dataclass(frozen=True)
class Tutorial:
    """Settings to run a tutorial.

    Attributes:
        topic: what it computes and compares.
        then: Python that runs after it, in its namespace. without: benchmarks that are not run: their
        smallest problem is huge. blas: whether it needs hipBLASLt, which PyTorch's product replaces. only:
        targets that it supports.
    """

    topic: str
    then: str = ""
    without: tuple[str, ...] = ()
    blas: bool = False
    only: tuple[str, ...] = TARGETS


TUTORIALS = {
    "01-vector-add": Tutorial("98,432 numbers", "assert torch.equal(output_torch, output_triton)"),
    "02-fused-softmax": Tutorial("1,823 x 781"),
    "03-matrix-multiplication": Tutorial(
        "512 x 512 x 512, autotuned", "assert torch.allclose(triton_output, torch_output, atol=1e-2, rtol=0)"
    ),
    "04-low-memory-dropout": Tutorial(
        "10 numbers",
        "assert torch.equal(dropout(x, x_keep=x_keep, p=p), x * x_keep / (1 - p))\n"
        "assert torch.equal(output, output2) and not torch.equal(output, output3)\n"
        "assert all(o in (0, 2 * i) for o, i in zip(output.tolist(), x.tolist()))",
    ),
    "05-layer-norm": Tutorial("1,151 x 8,192, gradients too"),
    "06-fused-attention": Tutorial(
        "1 x 2 x 128 x 64, with and without causal mask, fp8, gradients",
        "for causal in (False, True):\n"
        "    test_op(1, 2, 128, 64, causal, False, 'bwd', 'triton-fp16')\n"
        "    test_op(1, 2, 128, 64, causal, False, 'fwd', 'triton-fp8')",
    ),
    "07-extern-functions": Tutorial(
        "asin of 98,432 numbers", "assert torch.allclose(output_triton, output_torch, atol=1e-6)"
    ),
    "08-grouped-gemm": Tutorial(
        "4 products of 128 to 1,024, autotuned", without=("group-gemm-performance-m-8192-k-8192",)
    ),
    "09-persistent-matmul": Tutorial(
        "512 x 512 x 128, persistent kernels and tensor descriptors, autotuned",
        "a = torch.randn(512, 128, dtype=torch.float16)\n"
        "b = torch.randn(512, 128, dtype=torch.float16)\n"
        "wanted = a.double() @ b.double().T\n"
        "for found in (matmul(a, b.T), matmul_persistent(a, b.T), matmul_tma(a, b, False),\n"
        "              matmul_tma_persistent(a, b, False), matmul_descriptor_persistent(a, b, False)):\n"
        "    assert torch.allclose(found.double(), wanted, atol=2e-2, rtol=1e-2)",
        blas=True,
    ),
    "10-block-scaled-matmul": Tutorial(
        "512 x 512 x 512 in mxfp4, both matrix instructions",
        "validate_block_scaled_amd(512, 512, 512, 'mxfp4', 16)\n"
        "validate_block_scaled_amd(512, 512, 512, 'mxfp4', 32)",
        only=("gfx950",),
    ),
}


def run_here(file: Path, target: str) -> None:
    """Run a tutorial in this process."""
    import torch
    import triton
    from triton import testing

    import workbench as wb

    def first_size(benchmarks: Any) -> Any:
        """`triton.testing.perf_report` without pandas and figures, of the first size only."""

        def decorate(function: Any) -> Any:
            def run(**_: Any) -> None:
                every = benchmarks if isinstance(benchmarks, list) else [benchmarks]
                for benchmark in (
                    benchmark for benchmark in every if benchmark.plot_name not in tutorial.without
                ):
                    size = benchmark.x_vals[0]
                    sizes = size if isinstance(size, (tuple, list)) else [size] * len(benchmark.x_names)
                    for line in (line for line in benchmark.line_vals if "triton" in line):
                        arguments = {
                            **dict(zip(benchmark.x_names, sizes, strict=True)),
                            benchmark.line_arg: line,
                            **benchmark.args,
                        }
                        print(benchmark.plot_name, arguments, function(**arguments))

            function.run = run
            return function

        return decorate

    class Products:
        """hipBLASLt's product as PyTorch's."""

        def __init__(self, _workspace: Any) -> None:
            pass

        def matmul(self, a: Any, b: Any, out: Any) -> None:
            out.copy_(a.float() @ b.float().T)

    def in_float64(x: Any, shape: Any, *rest: Any) -> Any:
        wide = (argument.double() if torch.is_tensor(argument) else argument for argument in rest)
        return layer_norm(x.double(), shape, *wide).to(x.dtype)

    def tuned(configs: Any, *args: Any, **kwargs: Any) -> Any:
        return autotune(configs[:2], *args, **kwargs)

    tutorial = TUTORIALS[file.stem]
    layer_norm, torch.nn.functional.layer_norm = torch.nn.functional.layer_norm, in_float64
    autotune, triton.autotune = triton.autotune, tuned
    testing.perf_report = first_size
    with wb.triton(f"emulated:{target}", cuda_means_cpu=True):
        if tutorial.blas:
            from triton._C.libtriton import amd

            amd.hipblas.HipblasLt = Products
        spec = importlib.util.spec_from_file_location("tutorial", file)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules["tutorial"] = module
        torch.manual_seed(0)
        spec.loader.exec_module(module)
        exec(tutorial.then, vars(module))
        assert wb.triton.spent.total.launches > 0, "nothing was launched"
        print(wb.triton.spent)


def outcome(file: Path, target: str, seconds: float, sanitized: Path | None = None) -> tuple[str, float]:
    """ "right" or the last line of the error, and the seconds that it took.

    Args:
        sanitized: an empty file for the sanitizer's records; None: launches are not sanitized.
    """
    if target not in TUTORIALS[file.stem].only:
        return "not for this target", 0.0
    began = time.perf_counter()
    path = os.pathsep.join((str(ROOT), os.environ.get("PYTHONPATH", "")))
    environment = {**os.environ, "PYTHONPATH": path, "HIPKITTENS_HISTORY": "off"}
    if sanitized is not None:
        environment["HIPKITTENS_SANITIZE"] = str(sanitized)
    command = [sys.executable, __file__, str(file), "--here", target]
    try:
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=seconds)
    except subprocess.TimeoutExpired:
        return "too long", time.perf_counter() - began
    took = time.perf_counter() - began
    if done.returncode == 0:
        return RIGHT if sanitized is None else sanitized_outcome(sanitized), took
    lines = (done.stderr or done.stdout).strip().splitlines()
    return (lines[-1][:LONGEST] if lines else f"ended by signal {-done.returncode}"), took


def sanitized_outcome(records: Path) -> str:
    """ "right" with the number of sanitized launches, or the first finding."""
    lines = (line for line in records.read_bytes().split(b"\n") if line)
    launches = [report for line in lines if (report := LaunchReport.of_line(line)) is not None]
    if not launches:
        return "no launch was sanitized"
    for launch in launches:
        for cause in causes(launch.findings):
            first = cause.first
            return f"{launch.kernel}, line {first.line}: {first.category}: {first.message}"
    return f"{RIGHT}, {len(launches)} launches without findings"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", default="", help="beginning of names")
    parser.add_argument("--targets", nargs="+", default=TARGETS, choices=TARGETS)
    parser.add_argument("--seconds", type=float, default=300, help="of one tutorial")
    parser.add_argument("--sanitize", action="store_true", help="sanitize every launch")
    parser.add_argument("--write", action="store_true", help="put the table into docs/triton.md")
    parser.add_argument("--here", metavar="TARGET", help="run one file in this process")
    options = parser.parse_args()
    if options.here:
        run_here(options.folder, options.here)
        return
    targets = options.targets
    rows = [f"| tutorial | what | {' | '.join(targets)} |", "| --- | --- |" + " --- |" * len(targets)]
    for name, tutorial in TUTORIALS.items():
        if not name.startswith(options.only):
            continue
        file = options.folder.resolve() / "python" / "tutorials" / f"{name}.py"
        cells = []
        for target in targets:
            with tempfile.TemporaryDirectory() as scratch:
                records = Path(scratch) / "sanitized.jsonl"
                records.touch()
                sanitized = records if options.sanitize else None
                verdict, took = outcome(file, target, options.seconds, sanitized)
            print(f"{name} {target}: {verdict}, {took:.0f} s", flush=True)
            cells.append(verdict.replace("|", "\\|"))
        rows.append(f"| {name} | {tutorial.topic} | {' | '.join(cells)} |")
    text = "\n".join(rows)
    print(text)
    if options.write:
        page_parts.write(DOCUMENT, BEGIN, text, END)


if __name__ == "__main__":
    main()
