"""Tuned against default: GEMM over 20 shapes, attention over 8. Modelled without a GPU.

    python tests/benchmarks/tuned.py --out build/tuned [--device MI355X] [--budget 12] [--cluster local]
    python tests/benchmarks/tuned.py --out build/tuned --write    # docs/tuning.md from what is there
    python tests/benchmarks/tuned.py --out build/tuned --published 40 [--seed 1] [--largest 2e11]

The last prints our GEMMs beside the best published times (`best_published.py`), of 40 problems or of "all";
what it has modelled is a part of the page.

A run goes on where the last one ended.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import best_published

import workbench as wb
from workbench.bench.command import parsed_cluster
from workbench.bench.results import read
from workbench.profile.expected import expected
from workbench.views.benchmark_page import pipes
from workbench.views.picture import svg_of
from workbench.views.table import Table

DOCS = Path(__file__).resolve().parents[2] / "docs"

GEMM = [
    # A decoder's weights, few tokens.
    *((16, n, k) for n, k in ((4096, 4096), (14336, 4096), (4096, 14336), (6144, 4096))),
    *((64, n, k) for n, k in ((4096, 4096), (14336, 4096))),
    # Some more tokens: too few tiles for all compute units.
    *((256, n, k) for n, k in ((4096, 4096), (14336, 4096), (4096, 14336))),
    *((512, n, k) for n, k in ((4096, 4096), (6144, 4096))),
    # Squares, and sizes that are no multiples of tiles.
    *((side, side, side) for side in (512, 1024, 1536, 2048, 3072, 4096)),
    (1000, 1000, 1000),
    (2048, 4096, 1024),
    (4096, 2048, 2048),
]

ATTENTION = [
    {"batch": 1, "queries": n, "keys": n, "heads": 16, "heads_kv": h, "dim": d, "dim_v": d, "causal": causal}
    for n, h, d, causal in (
        *((512, 16, 64, 0), (512, 16, 128, 1), (1024, 16, 64, 1), (1024, 16, 128, 0)),
        *((1024, 2, 128, 1), (2048, 16, 64, 0), (2048, 16, 128, 1), (2048, 2, 128, 0)),
    )
]

TARGETS = {
    "gemm/bf16": [{"m": m, "n": n, "k": k} for m, n, k in GEMM],
    "attention/forward": ATTENTION,
}


def off(operator: str) -> str:
    """Stated error of an operator's modelled times, in words."""
    return f"modelled, {expected(operator).text}"


def left(minutes: float, began: float) -> bool:
    """True while there is time for another problem."""
    return time.monotonic() - began < 60 * minutes


def document(folder: Path, device: str, budget: int) -> str:
    """docs/tuning.md, from existing searches; nothing is run."""
    known = {each.key for each in read(folder / "tuning.sqlite")}
    parts = [
        "# Tuned against default",
        "Made by `python tests/benchmarks/tuned.py --write`. Modelled: no GPU was used, and the model's "
        "error ([model_error.md](model_error.md)) is larger than most of these gains. What it is good for: "
        "to say which candidates are worth a GPU's time. Each was verified before it was timed.",
    ]
    for operator, shapes in TARGETS.items():
        rows, gains = [], []
        for shape in shapes:
            # A search whose candidates are all known runs nothing.
            before = len(known)
            result = wb.tune(operator, [shape], budget=budget, device=device, out=folder, log=lambda _: None)
            known |= {trial.result.key for trial in result.trials}
            if len(known) > before:
                print(f"{operator} {shape}: {len(known) - before} candidates were missing, and ran")
            best, default = result.best(result.shapes[0]), result.untuned(result.shapes[0])
            if best is None or default is None:
                continue
            gain = 1 - best.result.us / default.result.us
            gains.append(gain)
            size = " x ".join(str(v) for v in shape.values())
            rows.append(
                (
                    size,
                    default.candidate.name,
                    f"{default.result.us:.2f}",
                    best.candidate.name if gain else "the same",
                    f"{best.result.us:.2f}",
                    f"{gain:.1%}",
                    len(result.trials),
                )
            )
        better = sum(gain > 0 for gain in gains)
        head = (", ".join(shapes[0]), "default", "us", "chosen", "us", "faster by", "candidates")
        parts += [
            f"## {operator}",
            f"{len(rows)} problems; another choice is faster by at least 1% for {better}, "
            f"by {max(gains, default=0):.1%} at most. Times, in microseconds, are {off(operator)}.",
            pipes(Table(head, rows)),
        ]
        figure = result.figure
        figure.update_layout(width=900, height=420)
        (DOCS / "images" / "tuning").mkdir(parents=True, exist_ok=True)
        name = f"images/tuning/{operator.replace('/', '-')}.svg"
        (DOCS / name).write_text(svg_of(figure), encoding="utf-8")
        parts.append(f"The last one's candidates:\n\n![{figure.layout.title.text}]({name})")
    if found := best_published.kept(folder / "published.jsonl"):
        parts.append(best_published.section(found).rstrip("\n"))
    return "\n\n".join(parts) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--device", default="MI355X")
    parser.add_argument("--budget", type=int, default=12)
    parser.add_argument("--cluster")
    parser.add_argument("--minutes", type=float, default=600, help="after which no further problem is begun")
    parser.add_argument("--write", action="store_true", help="docs/tuning.md")
    parser.add_argument("--published", help="beside the best published times: how many problems, or all")
    parser.add_argument("--seed", type=int, default=1, help="of the sample of published problems")
    parser.add_argument("--largest", type=float, default=2e11, help="operations of a published problem")
    options = parser.parse_args()
    if options.published:
        count = None if options.published == "all" else int(options.published)
        best_published.report(count, options.seed, options.largest, options.out / "published.jsonl")
        return
    if options.write:
        (DOCS / "tuning.md").write_text(
            document(options.out, options.device, options.budget), encoding="utf-8"
        )
        return
    began = time.monotonic()
    for operator, shapes in TARGETS.items():
        for shape in shapes:
            if left(options.minutes, began):
                print(
                    wb.tune(
                        operator,
                        [shape],
                        budget=options.budget,
                        device=options.device,
                        out=options.out,
                        cluster=parsed_cluster(options.cluster),
                        log=lambda line: print(line, flush=True),
                    )
                )


if __name__ == "__main__":
    main()
