"""Whether the model ranks versions of a kernel as hardware does. Nothing here is measured.

    python tests/benchmarks/model_rankings.py [--only schedules-bf16 ...] [--write]

Each ranking names who published it and where. `--write` puts the table into `docs/model_rankings.md`.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import workbench as wb

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "model_rankings.md"
PAPER = "HipKittens main analysis/paper_experiments"
DEVICE = "emulated:MI355X"


@dataclass(frozen=True)
class Version:
    """One of what is ranked.

    Attributes:
        name: in words.
        published: its figure; None where it is only known to be behind.
        time: its modelled microseconds.
    """

    name: str
    published: float | None
    time: Callable[[], float]


@dataclass(frozen=True)
class Ranking:
    """Versions, and what was published of them.

    Attributes:
        key, title: short name, and in words.
        unit: of what is published: "TFLOP/s" (more is better), "us", or "" for a ratio to the first.
        versions: best first, as hardware has them.
        source: who published it.
        note: why the model differs, as far as it is known.
    """

    key: str
    title: str
    unit: str
    versions: Sequence[Version]
    source: str
    note: str = ""


def variant(name: str, shape: Mapping[str, object], **changed: object) -> Callable[[], float]:
    """The modelled time of a spec, or one of its variants, with some of its fields changed."""

    def run() -> float:
        spec = wb.kernels[name]
        return wb.time(replace(spec, **changed), shape=dict(shape), device=DEVICE).median.value

    return run


def windowed(window: int) -> str:
    """The GEMM's source with another order of tiles: windows of rows in an XCD's run, or row-major (0)."""
    order = (
        "int2{workgroup / cols, workgroup % cols}"
        if not window
        else "windowed_tile(chiplet_transform_chunked(workgroup, rows * cols, NUM_XCDS, "
        f"rows * cols / NUM_XCDS), rows, cols, {window})"
    )
    return (
        '#include "kittens.cuh"\n#include "schedules/schedules.cuh"\n'
        "namespace kittens::schedules {\n"
        "__host__ __device__ constexpr int2 chosen_tile(int workgroup, int rows, int cols, int = 1,"
        " int = 0, int = 0) {\n"
        f"    return {order};\n}}\n}}\n"
        "#define chiplet_tile chosen_tile\n" + str(wb.kernels["gemm/bf16"].source)
    )


def cube(side: int) -> dict[str, int]:
    """A square problem."""
    return {"m": side, "n": side, "k": side}


def attention(causal: int) -> dict[str, int]:
    """HipKittens' benchmark at 4096 tokens."""
    return {
        **{"batch": 16, "queries": 4096, "keys": 4096, "heads": 16, "heads_kv": 16},
        **{"dim": 128, "dim_v": 128, "causal": causal},
    }


TILE_ORDER = """\
The published GEMM waits in each step for loads that it started half a step before. Its own source, brought
to HipKittens' later headers, is modelled at 741, 743 and 744 us (windows of 8, row-major, windows of 32):
the misses of L2 as counted are 1.9, 2.0 and 4.4 GB, but in the model neither L2 nor Infinity Cache is busy,
as each reads at its peak. At the 45 % of L2's peak that mt4g read on an MI300X (14,365 GiB/s) the three
would be 927, 961 and 984 us, in the order of the hardware, and the fast GEMMs of 4096 as they are; but then
kernels that touch lines in pieces, as HipKittens' rotary, would be modelled up to 1.5 times too slow, so it
is not in."""

RANKINGS = (
    Ranking(
        "schedules-bf16",
        "bf16 GEMM 8192 cubed: 8 waves in ping-pong, 4 interleaved, plain double buffering",
        "TFLOP/s",
        (
            Version("8 waves, ping-pong", 1580, variant("gemm/bf16:ping_pong", cube(8192))),
            Version("4 waves, interleaved", 1507, variant("gemm/bf16:interleave", cube(8192))),
            Version("double buffering", None, variant("gemm/bf16:double_buffer", cube(8192))),
        ),
        f"{PAPER}/pingpong_micro/plot.py",
    ),
    Ranking(
        "schedules-fp8",
        "fp8 GEMM 8192 cubed: 4 waves interleaved, 8 in ping-pong, plain double buffering",
        "TFLOP/s",
        (
            Version("4 waves, interleaved", 3327, variant("gemm/fp8:interleave", cube(8192))),
            Version("8 waves, ping-pong", 3222, variant("gemm/fp8:ping_pong", cube(8192))),
            Version("double buffering", None, variant("gemm/fp8:double_buffer", cube(8192))),
        ),
        "arXiv 2511.08083, as others cite it; HipKittens main analysis/fp8_gemm",
    ),
    Ranking(
        "buffers-fp8",
        "fp8 GEMM 4096 cubed: ping-pong before plain double buffering",
        "TFLOP/s",
        (
            Version("8 waves, ping-pong", 2680.33, variant("gemm/fp8:ping_pong", cube(4096))),
            Version("double buffering", 1166.41, variant("gemm/fp8:double_buffer", cube(4096))),
        ),
        "ROCm blog 'FP8 GEMM Optimization on AMD CDNA4', table 5",
    ),
    Ranking(
        "causal",
        "attention over 4096 tokens, eight waves in ping-pong: causal over full",
        "us",
        (
            Version("causal", 1048.9, variant("attention/forward:ping_pong", attention(1))),
            Version("full", 1790.1, variant("attention/forward:ping_pong", attention(0))),
        ),
        "HipKittens main analysis/attn/fwd/benchmark/mi355x_mha_*_fwd.json",
    ),
    Ranking(
        "tile-order",
        "bf16 GEMM 8192 cubed by the order of its tiles, plain double buffering",
        "us",
        tuple(
            Version(
                f"windows of {window} rows" if window else "row-major",
                us,
                variant("gemm/bf16:double_buffer", cube(8192), source=windowed(window)),
            )
            for window, us in ((8, 987.1), (0, 1081.6), (32, 1256.4))
        ),
        f"{PAPER}/grid_micro/data_to_log.json (another GEMM, which waits for loads soon after they start; "
        "in our ping-pong they are hidden, and the orders are equal)",
        TILE_ORDER,
    ),
)
LEFT_OUT = "Left out: producer-consumer variants and register-pinned schedules, of which no kernel is here."


def rows(ranking: Ranking) -> list[tuple[str, ...]]:
    """A table's rows: each version beside the first, published and modelled."""
    times = [version.time() for version in ranking.versions]
    best = ranking.versions[0].published
    found = []
    for place, (version, us) in enumerate(zip(ranking.versions, times, strict=True)):
        behind = ""
        if version.published is not None and best is not None:
            ratio = version.published / best
            behind = f"{1 / ratio if ranking.unit == 'TFLOP/s' else ratio:.3f}"
        verdict = "" if place == 0 else "yes" if us > times[place - 1] else "**no**"
        shown = f"{version.published:g} {ranking.unit}" if version.published is not None else "behind"
        found.append((version.name, shown, behind, f"{us:.1f} us", f"{us / times[0]:.3f}", verdict))
    return found


HEAD = ("version", "published", "over the first", "modelled", "over the first", "behind the one before")


def document(chosen: Sequence[Ranking], each: Callable[[str], None]) -> str:
    """The tables; `each` is called with every part as it comes."""
    parts = [
        "# Whether the model ranks as hardware does",
        "Made by `python tests/benchmarks/model_rankings.py --write`. The kernels are this repository's, and "
        "modelled;\nwhat was published is of others' kernels of the same kind. Nothing was measured here.",
    ]
    for ranking in chosen:
        table = [f"| {' | '.join(HEAD)} |", f"|{' --- |' * len(HEAD)}"]
        table += [f"| {' | '.join(row)} |" for row in rows(ranking)]
        parts.append("\n".join((f"## {ranking.title}", "", *table, "", f"Published: {ranking.source}.")))
        if ranking.note:
            parts[-1] += "\n\n" + ranking.note
        each(parts[-1])
    return "\n\n".join((*parts, LEFT_OUT)) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=[each.key for each in RANKINGS])
    parser.add_argument("--write", action="store_true", help=f"write {DOCUMENT.name}")
    options = parser.parse_args()
    chosen = [each for each in RANKINGS if not options.only or each.key in options.only]
    text = document(chosen, lambda part: print(part, flush=True))
    if options.write:
        DOCUMENT.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
