"""The protocol of a training run for the report and the count of memory."""

from __future__ import annotations

import argparse
from typing import Any, Protocol

import torch

from workbench.training.data import Text


class Run(Protocol):
    """A run of `train.Training`.

    Attributes:
        losses: loss of each step.
        evaluated: losses on the evaluation text, by step.
        used: result of `use`; None without it.
    """

    options: argparse.Namespace
    device: str
    text: Text
    model: Any
    optimizer: torch.optim.Optimizer
    losses: list[float]
    evaluated: dict[int, float]
    used: Any

    @property
    def weights(self) -> list[torch.Tensor]:
        """The model's parameters, and their masters."""

    def loss(self, inputs: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        """The loss of a batch."""

    def go_on(self) -> str:
        """Text that the model continues."""
