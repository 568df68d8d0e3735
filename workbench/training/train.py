"""Trains a language model of transformers on HipKittens' kernels. Copy this file and change it.

    python -m workbench train --model llama-tiny --steps 200 --out runs/first
    python -m workbench train --out runs/first --steps 400 --resume     # goes on, bit for bit

On a GPU the same commands train `llama-1b` and `bert-base`. Weights are bf16; masters, moments float32.
"""

from __future__ import annotations

import argparse
import json
import math
import shutil
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from tqdm import tqdm

from workbench.errors import MissingFile, UsageError
from workbench.training.data import Text
from workbench.training.memory import peak_memory
from workbench.training.models import MODELS, model_named
from workbench.training.report import write


def parser() -> argparse.ArgumentParser:
    kernels = ("hipkittens", "pytorch", "pytorch-fp32")
    command = argparse.ArgumentParser(prog="python -m workbench train", description=__doc__.splitlines()[0])
    add = command.add_argument
    add("--model", default="llama-tiny", help=", ".join(MODELS))
    add("--text", metavar="FILE", help="text to learn; default: one that ships with the package")
    add("--steps", type=int, default=200, help="total number, including those before --resume")
    add("--out", metavar="DIR", type=Path, help="folder of checkpoint.pt, losses.json and report.html")
    add("--seed", type=int, default=0, help="of the weights and the batches")
    add("--rate", type=float, help="highest learning rate; default: the model's")
    add("--kernels", choices=kernels, default="hipkittens", help="kernels to use; others are to compare")
    add("--checkpointing", action="store_true", help="store less of the forward pass, and recompute it")
    add("--save-every", type=int, default=50, metavar="N", help="steps between checkpoints and evaluations")
    add("--resume", action="store_true", help="continue from the checkpoint in --out")
    add("--copy", metavar="FILE", type=Path, help="write this script to a file, without training")
    return command


class Masters:
    """Float32 copies of the model's weights, which the optimizer changes; the model has rounded ones."""

    def __init__(self, model: torch.nn.Module) -> None:
        self.held = [p for p in model.parameters() if p.requires_grad]
        self.wide = [p.detach().float().clone() for p in self.held]

    def take_gradients(self) -> None:
        for wide, held in zip(self.wide, self.held, strict=True):
            wide.grad = None if held.grad is None else held.grad.float()

    @torch.no_grad()
    def give_weights(self) -> None:
        for wide, held in zip(self.wide, self.held, strict=True):
            held.copy_(wide)


class Training:
    """A model, its optimizer and the losses so far."""

    def __init__(self, options: argparse.Namespace) -> None:
        preset = model_named(options.model)
        self.options, self.rate = options, options.rate or preset.rate
        self.device = "cuda" if torch.version.hip and torch.cuda.is_available() else "cpu"  # not NVIDIA's
        if self.device == "cpu" and "tiny" not in options.model:
            raise UsageError(
                f"train: {options.model} needs an AMD GPU, and PyTorch has none; expected a tiny model here "
                "(what a step of the others takes is modelled: workbench.training.forecast.step_of)"
            )
        self.text = Text.read(options.text, preset.span, preset.batch, preset.masked)
        torch.manual_seed(options.seed)
        # The masters are created before rounding, from float32 training's initial values.
        self.model = preset.make().to(self.device).train()
        self.masters = Masters(self.model)
        if options.kernels != "pytorch-fp32":
            self.model.bfloat16()
        if options.checkpointing:
            self.model.gradient_checkpointing_enable({"use_reentrant": False})
        self.used: Any = None
        if options.kernels == "hipkittens":
            from workbench.integrations.transformers import use

            self.used = use(self.model)
        self.optimizer: torch.optim.Optimizer = torch.optim.AdamW(
            self.masters.wide, lr=self.rate, weight_decay=0.1, betas=(0.9, 0.95)
        )
        self.losses: list[float] = []
        self.evaluated: dict[int, float] = {}

    @property
    def weights(self) -> list[torch.Tensor]:
        return [*self.model.parameters(), *self.masters.wide]

    def loss(self, inputs: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        value: torch.Tensor = self.model(input_ids=inputs.to(self.device), labels=labels.to(self.device)).loss
        return value

    def rate_at(self, step: int) -> float:
        """Learning rate: up for a tenth of all steps, then down along a cosine to a tenth of its peak."""
        warm = max(1, self.options.steps // 10)
        part = max(0.0, (step - warm) / max(1, self.options.steps - warm))
        return float(self.rate * min(1.0, (step + 1) / warm) * (0.55 + 0.45 * math.cos(math.pi * part)))

    def step(self) -> float:
        """One step of training; returns the loss before the step."""
        self.optimizer.param_groups[0]["lr"] = self.rate_at(len(self.losses))
        loss = self.loss(*self.text.at(len(self.losses), self.options.seed))
        loss.backward()
        self.masters.take_gradients()
        torch.nn.utils.clip_grad_norm_(self.masters.wide, 1.0)
        self.optimizer.step()
        self.masters.give_weights()
        self.model.zero_grad()
        self.losses.append(loss.item())
        return self.losses[-1]

    @torch.no_grad()
    def evaluate(self) -> float:
        """Mean loss of the held-out text."""
        self.model.eval()
        losses = [self.loss(*batch).item() for batch in self.text.evaluation()]
        self.model.train()
        return self.evaluated.setdefault(len(self.losses), sum(losses) / len(losses))

    @torch.no_grad()
    def continued(self, data: list[int], length: int) -> list[int]:
        """The bytes, continued by the model with the most likely byte each time."""
        self.model.eval()
        for _ in range(length):
            window = data[-self.text.span :]
            ids = torch.tensor([window + [0] * (self.text.span - len(window))], device=self.device)
            data = [*data, int(self.model(input_ids=ids).logits[0, len(window) - 1, :256].argmax())]
        self.model.train()
        return data

    def go_on(self, begin: str = "A kernel is ", length: int = 60) -> str:
        return bytes(self.continued(list(begin.encode()), length)).decode(errors="replace")

    def save(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        state = {
            "masters": self.masters.wide,
            "optimizer": self.optimizer.state_dict(),
            "losses": self.losses,
        }
        torch.save({**state, "evaluated": self.evaluated, "model": self.options.model}, folder / "new.pt")
        (folder / "new.pt").replace(folder / "checkpoint.pt")
        (folder / "losses.json").write_text(json.dumps({"train": self.losses, "held": self.evaluated}))

    def load(self, folder: Path) -> None:
        file = folder / "checkpoint.pt"
        if not file.exists():
            raise MissingFile(f"train: there is no {str(file)!r}; expected one for --resume, or no --resume")
        state: dict[str, Any] = torch.load(file, map_location=self.device, weights_only=True)
        if state["model"] != self.options.model:
            raise UsageError(f"train: {str(file)!r} is of {state['model']}; expected {self.options.model}")
        for wide, stored in zip(self.masters.wide, state["masters"], strict=True):
            wide.copy_(stored)
        self.masters.give_weights()
        self.optimizer.load_state_dict(state["optimizer"])
        self.losses, self.evaluated = state["losses"], state["evaluated"]


def main(words: Sequence[str] | None = None) -> int:
    options = parser().parse_args(words)
    if options.copy is not None:
        print(f"wrote {shutil.copy(__file__, options.copy)}")
        return 0
    training = Training(options)
    if options.resume:
        if options.out is None:
            raise UsageError("train: --resume without --out; expected the folder with the checkpoint")
        training.load(options.out)
    print(training.used or f"{options.model} on {options.kernels}")
    began, first = time.perf_counter(), len(training.losses)
    with tqdm(total=options.steps, initial=first, unit="step") as bar:
        while len(training.losses) < options.steps:
            bar.set_postfix(loss=f"{training.step():.4f}")
            bar.update()
            if options.out is not None and len(training.losses) % options.save_every == 0:
                training.evaluate()
                training.save(options.out)
    seconds = (time.perf_counter() - began) / max(1, len(training.losses) - first)
    print(f"held out: {training.evaluate():.4f}; {seconds:.3f} s a step")
    if options.out is not None:
        training.save(options.out)
        print(f"wrote {write(options.out / 'report.html', training, seconds, peak_memory(training))}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
