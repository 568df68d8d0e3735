"""Compiles a model's kernels before its first call: those of the operators that it calls on meta."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

import torch
from torch.utils._pytree import tree_leaves, tree_map

from workbench.kernel import default_arch
from workbench.operators.call_events import Called, listening
from workbench.operators.precompile import Instance, compile_all
from workbench.operators.registry import kernels


def precompile(
    model: Callable[..., object],
    *inputs: object,
    backward: bool = False,
    archs: Sequence[str] | None = None,
    workers: int | None = None,
    **named: object,
) -> list[Instance]:
    """Compiles every kernel that `model(*inputs, **named)` calls, in parallel, without running any.

    The model runs on tensors of "meta", which have shapes but no values. Later calls, even in later
    processes, find the kernels in the cache. `wb.kernels.compile` compiles operators by name.

    Args:
        model: a module, or a function of tensors.
        inputs, named: its arguments; for tensors only shape, dtype and strides count.
        backward: True to also compile the operators of the gradients of all results.
        archs: targets; None for that of the default device.
        workers: number of compilers at once; None for one per processor.

    Returns:
        The compiled instances, by operator, shape and target, with the seconds that each took.

    Raises:
        ShapeError, ArgumentError: the model calls an operator with wrong arguments.
        CompileError: a kernel does not compile; the others have been compiled.
        NotImplementedError: the model looks at values, which tensors of "meta" do not have.
    """

    def on_meta(value: Any) -> Any:
        if not isinstance(value, torch.Tensor):
            return value
        return value.detach().to("meta").requires_grad_(value.requires_grad)

    args, kwargs = tree_map(on_meta, (inputs, named))
    made_calls: list[Called] = []
    with listening(made_calls.append):
        if isinstance(model, torch.nn.Module):
            held = {**dict(model.named_parameters()), **dict(model.named_buffers())}
            moved = {name: on_meta(tensor) for name, tensor in held.items()}
            output = torch.func.functional_call(model, moved, args, kwargs)
        else:
            output = model(*args, **kwargs)
        if backward:
            results = [t for t in tree_leaves(output) if isinstance(t, torch.Tensor) and t.requires_grad]
            torch.autograd.backward(results, [torch.empty_like(t) for t in results])
    instances = {(c.operator, *c.shape.items()): (c.operator, c.shape) for c in made_calls}
    jobs = [
        job
        for (name, shape), arch in product(instances.values(), archs or (default_arch(),))
        for job in kernels[name].jobs([shape], [arch])
    ]
    return compile_all(jobs, workers)
