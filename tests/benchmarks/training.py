"""Loss curves of the tiny models: PyTorch in float32, PyTorch in bf16 on five seeds, and our kernels in bf16.

    python tests/benchmarks/training.py [--models llama-tiny bert-tiny] [--steps 200] [--write]

Each run is stored in --keep as soon as it ends, and is not repeated. The gradients of the first step are
compared with float64 on the same bf16 weights, parameter by parameter. `--write` puts the tables and curves
into `docs/training.md`.

    python tests/benchmarks/training.py --seconds [--models llama-tiny bert-tiny] [--write]

measures a step by each of the three, by this process's CPU time and by the clock, and where ours has its own.
They take turns, so that what else the machine does counts for all alike: `taskset -c 0,1` for two cores.

    python tests/benchmarks/training.py --forecast llama-1b bert-base [--write]

models a step of published sizes on four GPUs, with the operators that take most of it and what HipKittens
published of them. GPUs of one target run each call once, on the emulated device. A call's times are kept as
soon as they are there, so that a run that was stopped goes on, and one target can be made beside the other
(`--gpus MI300X MI325X --keep build/gfx942.json`).
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

# As in the script, before PyTorch is loaded: see workbench/training/__init__.py.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

import torch

from workbench.kernel import Kernel
from workbench.operators import KernelSpec, Published
from workbench.operators import kernels as library
from workbench.operators.parameters import shape_text
from workbench.profile.timing import time_on
from workbench.profile.training_step import GPUS, bound_of
from workbench.targets import product
from workbench.training.forecast import step_of
from workbench.training.models import MODELS
from workbench.training.train import Training, parser

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import page_parts

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "training.md"
BEGIN, END = "<!-- curves begin -->", "<!-- curves end -->"
SECONDS_BEGIN, SECONDS_END = "<!-- seconds begin -->", "<!-- seconds end -->"
SEEDS = range(5)
WINDOW = 10
"""Steps over which losses are averaged before they are compared: batches differ in difficulty."""
LIMIT = 0.9999
"""Least cosine between a gradient and float64's."""

TURNS, TURN = 11, 5
"""Turns of each in the times of a step, and steps per turn."""
CALLS, REST = "calls before their launches", "autograd, the model's own Python, PyTorch's operators, AdamW"
"""Parts of a step outside of launches."""

PYTORCH = ("pytorch", "pytorch-fp32")
FEW = 20
"""FLOP a byte below which memory decides, whatever the kernel."""

RUNS = (("hipkittens", 0), ("pytorch-fp32", 0), *(("pytorch", seed) for seed in SEEDS))


def training(model: str, kernels: str, seed: int, steps: int) -> Training:
    words = ["--model", model, "--kernels", kernels, "--seed", str(seed), "--steps", str(steps)]
    return Training(parser().parse_args(words))


def curve(model: str, kernels: str, seed: int, steps: int) -> dict[str, Any]:
    """Losses of a run."""
    run = training(model, kernels, seed, steps)
    for _ in range(steps):
        run.step()
    return {"losses": run.losses, "held": run.evaluate()}


def seconds(model: str) -> dict[str, dict[str, float]]:
    """Seconds of a step by each of the three: medians of CPU time and wall time, without the first turn."""
    runs = {kernels: training(model, kernels, 0, TURNS * TURN) for kernels in ("hipkittens", *PYTORCH)}
    spent: dict[str, list[tuple[float, float]]] = {kernels: [] for kernels in runs}
    for turn in range(TURNS):
        for kernels, run in runs.items():
            for _ in range(TURN):
                cpu, wall = time.process_time(), time.perf_counter()
                run.step()
                if turn:
                    spent[kernels].append((time.process_time() - cpu, time.perf_counter() - wall))
    return {
        kernels: dict(zip(("cpu", "wall"), map(statistics.median, zip(*each, strict=True)), strict=True))
        for kernels, each in spent.items()
    }


def shares(model: str) -> dict[str, tuple[float, float]]:
    """Launches of a step of ours by operator, and their part of its CPU time; then `CALLS` and `REST`."""
    run = training(model, "hipkittens", 0, TURN * TURNS)
    for _ in range(TURN):
        run.step()
    spent, launches = defaultdict[str, float](float), Counter[str]()
    names: list[str] = []
    launch, call = Kernel._run, KernelSpec._run

    def launched(*args: Any, **kwargs: Any) -> Any:
        began = time.process_time()
        result = launch(*args, **kwargs)
        spent[names[-1]] += time.process_time() - began
        launches[names[-1]] += 1
        return result

    def called(spec: KernelSpec, *args: Any, **kwargs: Any) -> Any:
        names.append(spec.name)
        began, before = time.process_time(), sum(spent.values())
        try:
            return call(spec, *args, **kwargs)
        finally:
            names.pop()
            spent[CALLS] += time.process_time() - began - (sum(spent.values()) - before)

    with mock.patch.object(Kernel, "_run", launched), mock.patch.object(KernelSpec, "_run", called):
        began = time.process_time()
        for _ in range(TURN * (TURNS - 1)):
            run.step()
        whole = time.process_time() - began
    steps = TURN * (TURNS - 1)
    part_by_operator = {name: (launches[name] / steps, seconds / whole) for name, seconds in spent.items()}
    return {**part_by_operator, REST: (0, 1 - sum(part for _, part in part_by_operator.values()))}


def seconds_text(models: Sequence[str]) -> str:
    """The page's part with the seconds of a step, which it measures."""
    lines = [
        SECONDS_BEGIN,
        "| model | ours | PyTorch bf16 | fp32 | ours / PyTorch bf16 |",
        "| --- | ---: | ---: | ---: | ---: |",
    ]
    for model in models:
        runs = seconds(model).values()
        ours, theirs, _ = runs
        values = " | ".join(f"{1000 * run['cpu']:.0f} and {1000 * run['wall']:.0f} ms" for run in runs)
        ratios = " and ".join(f"{ours[by] / theirs[by]:.1f}" for by in ("cpu", "wall"))
        lines.append(f"| {model} | {values} | {ratios} |")
        print(lines[-1], flush=True)
    columns = {model: shares(model) for model in models}
    names = dict.fromkeys(name for found in columns.values() for name in found)
    most = {name: max(found.get(name, (0, 0.0))[1] for found in columns.values()) for name in names}
    lines += [
        "",
        f"| part of our step's CPU time (launches) | {' | '.join(models)} |",
        f"| --- |{' ---: |' * len(models)}",
    ]
    for name in sorted(names, key=lambda name: -most[name]):
        cells = []
        for column in columns.values():
            count, part = column.get(name, (0, 0.0))
            cells.append(f"{part:.0%} ({count:.0f})" if count else f"{part:.0%}" if part else "")
        lines.append(f"| {name if name in (CALLS, REST) else f'`{name}`'} | {' | '.join(cells)} |")
    return "\n".join([*lines, SECONDS_END])


def cosines(model: str) -> dict[str, dict[str, float]]:
    """Cosine of each parameter's first gradient with float64's: by our kernels, and by PyTorch in bf16."""
    gradients: dict[str, dict[str, torch.Tensor]] = {}
    for kernels in ("hipkittens", "pytorch", "float64"):
        run = training(model, "pytorch" if kernels == "float64" else kernels, 0, 1)
        if kernels == "float64":
            run.model.double()
        run.loss(*run.text.at(0)).backward()
        gradients[kernels] = {
            n: p.grad.double() for n, p in run.model.named_parameters() if p.grad is not None
        }
    cosine_by_kernels: dict[str, dict[str, float]] = {"hipkittens": {}, "pytorch": {}}
    largest = max(g.norm().item() for g in gradients["float64"].values())
    for kernels, cosine_by_name in cosine_by_kernels.items():
        for name, expected in gradients["float64"].items():
            # Mathematically zero, such as that of a key's bias: softmax ignores what is added to all.
            if expected.norm() > 1e-9 * largest:
                cosine = torch.nn.functional.cosine_similarity
                cosine_by_name[name] = cosine(
                    gradients[kernels][name].flatten(), expected.flatten(), 0
                ).item()
    return cosine_by_kernels


def smooth(losses: list[float]) -> list[float]:
    return [sum(losses[i : i + WINDOW]) / len(losses[i : i + WINDOW]) for i in range(0, len(losses), WINDOW)]


def picture(runs: dict[str, dict[str, Any]], title: str) -> str:
    """The curves as SVG, drawn by the package."""
    import plotly.graph_objects as go

    from workbench.theme import SERIES
    from workbench.views.picture import svg_of

    figure = go.Figure()
    drawn = {"PyTorch fp32": "pytorch-fp32 0", "PyTorch bf16": "pytorch 0", "ours bf16": "hipkittens 0"}
    for colour, (name, key) in zip(SERIES, drawn.items(), strict=False):
        losses = smooth(runs[key]["losses"])
        figure.add_scatter(
            x=[WINDOW * (i + 0.5) for i in range(len(losses))], y=losses, name=name, line={"color": colour}
        )
    figure.update_layout(title=title, xaxis_title="step", yaxis_title="nats a token", height=360, width=700)
    return str(svg_of(figure))


def tables(results: dict[str, Any], models: list[str], steps: int) -> list[str]:
    lines: list[str] = []
    for model in models:
        runs = results[f"{model} {steps}"]
        of = {f"{kernels} {seed}": smooth(runs[f"{kernels} {seed}"]["losses"]) for kernels, seed in RUNS}
        seeds = [of[f"pytorch {seed}"] for seed in SEEDS]
        lines += [
            f"### {model}",
            "",
            f"![Loss of {model}](images/training_{model.replace('-', '_')}.svg)",
        ]
        outside = sum(
            not min(other) <= ours <= max(other)
            for ours, *other in zip(of["hipkittens 0"], *seeds, strict=True)
        )
        worst = {k: min(v.items(), key=lambda each: each[1]) for k, v in runs["cosines"].items()}
        below = sum(c < LIMIT for c in runs["cosines"]["hipkittens"].values())
        lines += [
            "",
            f"Ours is outside of the five seeds' spread in {outside} of {math.ceil(steps / WINDOW)} windows. "
            f"Held-out loss: {runs['hipkittens 0']['held']:.4f} "
            f"(PyTorch fp32 {runs['pytorch-fp32 0']['held']:.4f}).",
            "",
            f"First gradients against float64, lowest cosine: ours {worst['hipkittens'][1]:.6f} "
            f"(`{worst['hipkittens'][0]}`), PyTorch bf16 {worst['pytorch'][1]:.6f} "
            f"(`{worst['pytorch'][0]}`); below {LIMIT}: {below} of "
            f"{len(runs['cosines']['hipkittens'])} parameters of ours.",
            "",
        ]
    return lines


def calls_of(name: str, results: dict[str, Any]) -> list[tuple[str, dict[str, Any], int]]:
    """Different calls of a model's step, and the number of each; they are the same for each GPU."""
    if f"calls {name}" not in results:
        counts = Counter((call.operator, tuple(call.shape.items())) for call in step_of(name).calls)
        results[f"calls {name}"] = [(operator, dict(shape), n) for (operator, shape), n in counts.items()]
    calls: list[tuple[str, dict[str, Any], int]] = results[f"calls {name}"]
    return calls


def forecast(name: str, gpus: Sequence[str], results: dict[str, Any], save: Callable[[], None]) -> None:
    """Models the times of a step's calls that `results` does not have, with what 80 % are off, on each GPU.

    GPUs of one target run a call once, on the emulated device, and differ in the model alone.
    """
    times_by_gpu = {gpu: results.setdefault(f"times {gpu}", {}) for gpu in gpus}
    for operator, shape, _ in calls_of(name, results):
        key = f"{operator} {shape_text(shape)}"
        missing = [gpu for gpu in gpus if key not in times_by_gpu[gpu]]
        times = time_on([f"emulated:{gpu}" for gpu in missing], operator, shape=shape)
        for gpu, timing in zip(missing, times, strict=True):
            us, error = timing.median.value, timing.median.error
            around = error.around(us) if error is not None else None
            times_by_gpu[gpu][key] = {"us": us, "around": around, "bound": bound_of(timing)}
            print(gpu, key, times_by_gpu[gpu][key], flush=True)
        save()


def forecast_text(name: str, results: dict[str, Any], gpus: Sequence[str]) -> str:
    """A model's part of the page, between its marks."""
    model = MODELS[name]
    tokens = model.span * model.batch
    lines = [
        f"<!-- forecast of {name} begins -->",
        f"### {name}",
        "",
        f"{model.batch} sequences of {model.span:,} tokens; {model.source}.",
        "",
        "| GPU | a step (modelled) | 80 % | tokens/s | most of it |",
        "| --- | ---: | ---: | ---: | --- |",
    ]
    for gpu in gpus:
        sums, low, high = Counter[str](), 0.0, 0.0
        for operator, shape, count in calls_of(name, results):
            timing = results[f"times {gpu}"][f"{operator} {shape_text(shape)}"]
            sums[operator] += count * timing["us"]
            least, most = timing["around"] or (timing["us"], timing["us"])
            low, high = low + count * least, high + count * most
        whole = sum(sums.values())
        most_of_it = ", ".join(f"`{operator}` {us / whole:.0%}" for operator, us in sums.most_common(4))
        lines.append(
            f"| {gpu} | {whole / 1000:,.1f} ms | {low / 1000:,.1f} to {high / 1000:,.1f} ms | "
            f"{tokens / whole * 1e6:,.0f} | {most_of_it} |"
        )
    beside = [row for gpu in gpus for row in beside_published(name, gpu, results)]
    if beside:
        lines += [
            "",
            "HipKittens' published figures for its own kernels, at the shape nearest to the call that takes "
            "most of the step:",
            "",
            "| GPU | operator | here, modelled | published | here, shape | published, shape |",
            "| --- | --- | ---: | ---: | --- | --- |",
            *beside,
        ]
    return "\n".join([*lines, f"<!-- forecast of {name} ends -->"])


def beside_published(name: str, gpu: str, results: dict[str, Any]) -> list[str]:
    """Table rows of a step's operators for which HipKittens published times on a GPU, with those times."""
    longest: dict[str, tuple[float, float, dict[str, Any]]] = {}
    for operator, shape, count in calls_of(name, results):
        us = results[f"times {gpu}"][f"{operator} {shape_text(shape)}"]["us"]
        longest[operator] = max(
            longest.get(operator, (0.0, 0.0, {})), (us * count, us, shape), key=lambda e: e[0]
        )
    rows = []
    for operator, (_, us, shape) in longest.items():
        spec = library[operator]
        theirs = [p for p in spec.published if (p.gpu, p.implementation) == (gpu, "HipKittens")]
        if not theirs:
            continue
        near = min(theirs, key=partial(_distance, shape))
        full = spec.shape(near.shape, arch=product(gpu).arch)
        our_rate, kind, unit = rate(spec, shape, us)
        published = near.value if near.unit == unit else spec.work(full)[kind] / near.value / 1e6
        digits = 0 if unit == "TFLOP/s" else 1
        texts = [", ".join(f"{k}={d[k]}" for k in near.shape) for d in (shape, near.shape)]
        rows.append(
            f"| {gpu} | `{operator}` | {our_rate:,.{digits}f} {unit} | {published:,.{digits}f} {unit} | "
            f"{' | '.join(texts)} |"
        )
    return rows


def rate(spec: KernelSpec, shape: dict[str, Any], us: float) -> tuple[float, str, str]:
    """A rate, its work and its unit: bytes for an operator that does little work per byte."""
    work = spec.work(shape)
    kind, unit = ("flops", "TFLOP/s") if work["flops"] > FEW * work["bytes"] else ("bytes", "TB/s")
    return work[kind] / us / 1e6, kind, unit


def _distance(shape: dict[str, Any], published: Published) -> float:
    """Distance between shapes: octaves of sizes; another choice counts as eight."""
    octaves = 0.0
    for key, value in published.shape.items():
        numbers = all(isinstance(v, int) and v > 1 for v in (value, shape[key]))
        octaves += abs(math.log2(value / shape[key])) if numbers else 8.0 * (value != shape[key])
    return octaves


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    tiny = [name for name in MODELS if name.endswith("-tiny")]
    options.add_argument("--models", nargs="+", choices=tiny, default=tiny)
    options.add_argument("--steps", type=int, default=200)
    options.add_argument("--keep", type=Path, default=Path("build/training.json"))
    options.add_argument("--seconds", action="store_true", help="of a step, in place of curves")
    options.add_argument("--forecast", nargs="+", choices=list(MODELS), metavar="MODEL")
    options.add_argument("--gpus", nargs="+", choices=GPUS, default=GPUS, help="of the forecast")
    options.add_argument("--write", action="store_true")
    arguments = options.parse_args()
    results = json.loads(arguments.keep.read_text()) if arguments.keep.exists() else {}
    arguments.keep.parent.mkdir(parents=True, exist_ok=True)

    def save() -> None:
        # Written atomically: a run may be stopped at any time and continues from here.
        written = arguments.keep.with_suffix(".part")
        written.write_text(json.dumps(results))
        written.replace(arguments.keep)

    if arguments.seconds:
        text = seconds_text(arguments.models)
        print(text)
        if arguments.write:
            page_parts.write_marked(DOCUMENT, text)
        return
    if arguments.forecast:
        for name in arguments.forecast:
            forecast(name, arguments.gpus, results, save)
        for name in arguments.forecast:
            text = forecast_text(name, results, arguments.gpus)
            print(text)
            if arguments.write:
                page_parts.write_marked(DOCUMENT, text)
        return
    for model in arguments.models:
        by = f"PyTorch {torch.__version__}, {torch.get_num_threads()} threads"
        runs = results.setdefault(f"{model} {arguments.steps}", {"made by": by})
        jobs: dict[str, Callable[[], Any]] = {"cosines": partial(cosines, model)}
        for kernels, seed in RUNS:
            jobs[f"{kernels} {seed}"] = partial(curve, model, kernels, seed, arguments.steps)
        for name, job in jobs.items():
            if name not in runs:
                runs[name] = job()
                save()
            print(model, name, "ready", flush=True)
    versions = " and ".join({results[f"{model} {arguments.steps}"]["made by"] for model in arguments.models})
    about = f"{arguments.steps} steps, seed 0, losses averaged over {WINDOW} steps; {versions}."
    text = "\n".join([BEGIN, about, "", *tables(results, arguments.models, arguments.steps), END])
    print(text)
    if arguments.write:
        for model in arguments.models:
            image = DOCUMENT.parent / "images" / f"training_{model.replace('-', '_')}.svg"
            image.write_text(picture(results[f"{model} {arguments.steps}"], f"Loss of {model}"))
        page_parts.write_marked(DOCUMENT, text)


if __name__ == "__main__":
    main()
