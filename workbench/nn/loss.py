"""Cross-entropy of logits."""

from __future__ import annotations

import torch

from workbench import ops
from workbench.errors import UsageError


class CrossEntropyLoss(torch.nn.CrossEntropyLoss):
    """`torch.nn.CrossEntropyLoss` with `ops.cross_entropy`; `ignore_index` and `reduction` mean the same.

    Logits: bf16, fp16 or fp32, [classes], [rows, classes] or [rows, classes, ...]; targets: int64 class
    numbers. The loss is float32.

    Raises:
        UsageError: weights of classes, label smoothing or targets that are probabilities: no kernel has them.
        ArgumentError: a target is neither a class nor `ignore_index`.
    """

    def forward(self, input: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        """The loss of each target, their mean over those that are not ignored, or their sum."""
        if self.weight is not None or self.label_smoothing:
            raise UsageError(
                "CrossEntropyLoss: weight or label_smoothing is given; expected neither, the kernel has none"
            )
        if target.is_floating_point():
            raise UsageError("CrossEntropyLoss: target has floats; expected int64 class numbers")
        logits = input.movedim(1, -1) if input.dim() > 2 else input
        rows = logits.reshape(-1, logits.shape[-1])
        loss: torch.Tensor = ops.cross_entropy(rows, target.flatten(), self.ignore_index).loss
        if self.reduction == "none":
            return loss.view(target.shape)
        total = loss.sum()
        return total if self.reduction == "sum" else total / (target != self.ignore_index).sum()
