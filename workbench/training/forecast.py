"""Modelled time of a training step of a published size, from calls collected on tensors without values."""

from __future__ import annotations

import torch

from workbench.profile import StepProfile, profile_step
from workbench.training.models import model_named


def step_of(name: str, device: str | None = None, *, checkpointing: bool = False) -> StepProfile:
    """The calls of one step of a model of `MODELS`, forward and backward; nothing is computed.

    `.on("MI300X")` and `.forecast()` model their times: each different call runs on the emulated device (only
    part of a large one), which takes seconds to minutes each.

    Args:
        name: name of the model, such as "llama-1b".
        device: device whose times are modelled, as in `profile_step`.
        checkpointing: True to recompute layers in the backward pass.

    Raises:
        UsageError: there is no such model.
    """
    from workbench.integrations.transformers import use

    preset = model_named(name)
    with torch.device("meta"):
        model = preset.make().bfloat16()
    use(model)
    if checkpointing:
        model.gradient_checkpointing_enable({"use_reentrant": False})
    ids = torch.zeros(preset.batch, preset.span, dtype=torch.int64, device="meta")
    with profile_step(device) as step:
        model(input_ids=ids, labels=ids, attention_mask=torch.ones_like(ids)).loss.backward()
    return step
