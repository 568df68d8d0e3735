"""One token of the gated delta rule."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from workbench.exercises import Exercise, Mistake
from workbench.operators import Shape

KEYS = 64


def inputs(shape: Shape, generator: torch.Generator) -> dict[str, Any]:
    def normal(*size: int) -> torch.Tensor:
        return torch.randn(*size, generator=generator)

    heads = shape["heads"]
    return {
        "state": normal(heads, KEYS, KEYS),
        "q": torch.nn.functional.normalize(normal(heads, KEYS), dim=-1),
        "k": torch.nn.functional.normalize(normal(heads, KEYS), dim=-1),
        "v": normal(heads, KEYS),
        "g": -torch.rand(heads, generator=generator) - 0.2,
        "beta": 0.2 + 0.6 * torch.rand(heads, generator=generator),
    }


def outputs(shape: Shape) -> dict[str, torch.Tensor]:
    return {"next": torch.empty(shape["heads"], KEYS, KEYS), "o": torch.empty(shape["heads"], KEYS)}


def rule(
    decays: bool = True,
    corrects: Callable[[Any, Any], Any] = lambda old, decayed: decayed,
    strength: bool = True,
    reads: Callable[[Any, Any], Any] = lambda decayed, new: new,
) -> Callable[..., dict[str, torch.Tensor]]:
    """The rule, or a wrong one: which state is corrected, and which is read."""

    def result(state: Any, q: Any, k: Any, v: Any, g: Any, beta: Any) -> dict[str, torch.Tensor]:
        h = g.exp()[:, None, None] * state if decays else state
        u = v - torch.einsum("hkv,hk->hv", corrects(state, h), k)
        u = beta[:, None] * u if strength else u
        new = h + k[:, :, None] * u[:, None]
        return {"next": new, "o": torch.einsum("hkv,hk->hv", reads(h, new), q)}

    return result


exercise = Exercise(
    name="10.2",
    title="A step of the delta rule",
    task=(
        "Write `delta(const float *state, const float *q, const float *k, const float *v, const float *g,\n"
        "const float *beta, float *next, float *o)`, one token of the rule of section 2. A work-group of 64\n"
        "lanes takes a head: state and next have 64 keys x 64 values, q, k, v and o have 64 numbers, g and\n"
        "beta have one."
    ),
    hints=(
        "The rule has three sums over keys, and none over values. What can a lane own, so that it never "
        "needs another lane?",
        "A lane owns a column of the state: one value. It goes over the 64 keys twice: first to compute the "
        "decayed state's answer for k, then to correct it and to read it with q.",
        "First loop: `said += decay * state[key][lane] * k[key]`. Then `u = beta * (v[lane] - said)`. Second "
        "loop: `h = decay * state[key][lane] + k[key] * u`, store it, `sum += h * q[key]`. decay is "
        "`expf(g)`.",
    ),
    inputs=inputs,
    outputs=outputs,
    launch=lambda shape: (shape["heads"], 64),
    reference=rule(),
    shapes=[{"heads": 2}, {"heads": 5}],
    mistakes=[
        Mistake("The state does not decay.", rule(decays=False)),
        Mistake(
            "The correction is made towards the state before its decay.",
            rule(corrects=lambda old, decayed: old),
        ),
        Mistake("The correction has its full strength: beta is not in it.", rule(strength=False)),
        Mistake("o is read from the state before its correction.", rule(reads=lambda decayed, new: decayed)),
    ],
    kernel="delta",
    axes={"next": ("head", "key", "value"), "o": ("head", "value")},
)
