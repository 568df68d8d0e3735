"""An operator with settings of its tunables: how its functions get them, and which cannot fit."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from workbench.errors import ShapeError
from workbench.operators.definition import Definition
from workbench.operators.parameters import Shape
from workbench.operators.tunables import Settings
from workbench.targets import of_same_generation, target


def with_settings(operator: Definition, settings: Settings) -> dict[str, Any]:
    """The fields of an operator whose functions get the settings as part of the shape."""

    def seen(function: Any) -> Any:
        if not callable(function):
            return function
        return lambda shape, *rest: function({**settings, **shape}, *rest)

    fields = {
        name: seen(getattr(operator, name))
        for name in ("entry", "launch", "workspace", "define", "arguments", "check")
    }
    steps = [
        replace(
            step,
            **{
                name: seen(getattr(step, name)) for name in ("entry", "launch", "arguments", "define", "when")
            },
        )
        for step in operator.steps
    ]
    return {**fields, "steps": steps}


def why_not(operator: Definition, settings: Settings, shape: Shape, arch: str) -> str:
    """Why an implementation cannot run a complete shape with these settings; "" if it can.

    Without compiling anything, it looks at the operator's own `check`, the shared memory of each launch, and
    the registers that tiles take according to its `tunables`.
    """
    seen = {**settings, **shape}
    if not of_same_generation(operator.targets, arch):
        return f"is written for {', '.join(operator.targets)}"
    try:
        if operator.check is not None:
            operator.check(seen, arch)
        launches = [step.launch(seen, arch) for step in operator.active_steps(seen, arch)]
    except ShapeError as error:
        return str(error)
    machine = target(arch)
    for launch in launches:
        if launch.dynamic_shared > machine.lds_bytes:
            return f"takes {launch.dynamic_shared} bytes of shared memory; {arch} has {machine.lds_bytes:.0f}"
    if operator.tunables.registers is not None:
        registers = operator.tunables.registers(seen, arch)
        threads = max(math.prod(launch.block) for launch in launches)
        at_once = -(-threads // (machine.wave_size * machine.simds))
        waves = max(at_once, seen.get("waves", 0))
        room = int(machine.vgprs // waves)
        if registers > room:
            return f"takes {registers} registers of a lane; each of {waves} waves on a SIMD has {room}"
    return ""
