"""The stepper's page as data for stepper.js: the fixed part once, and the changes after each step."""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench.codeobject import printer
from workbench.launches import Access
from workbench.step.stepper import Stepper
from workbench.step.text import Changed, number
from workbench.targets import target

MOST_CHANGES = 24
"""Registers of one instruction that are drawn; a matrix instruction has up to 32."""
MOST_CELLS = 1 << 14
"""Elements of a tile that are sent with each step."""


def fixed(s: Stepper) -> dict[str, Any]:
    """Source and machine code, with the line that each instruction comes from."""
    code = s.kernel.module
    source = s.kernel.source.splitlines() if s.kernel.source is not None else []
    addresses = sorted(address for block in s.tape.blocks for address in block)
    return {
        "kernel": s.kernel.name,
        "device": s.record.device,
        "group": s.group,
        "first": code.first_line,
        "source": source,
        "code": [[f"{at:06x}", printer.text(code.instruction(at)), s.line_of(at) or 0] for at in addresses],
        "rows": {str(at): row for row, at in enumerate(addresses)},
        "banks": int(target(s.kernel.arch).lds_banks),
        "waves": len(s.waves),
    }


def moved(s: Stepper, tile: str = "") -> dict[str, Any]:
    """Position of the stepper, for the page.

    Args:
        tile: name of the tile that is looked at; "" for none.
    """
    return {
        "wave": s.wave,
        "position": s.position,
        "length": s.length,
        "cut": s.tape.cut,
        "here": [entry.address for entry in s.instructions],
        "last": [entry.address for entry in s.last],
        "line": s.line or 0,
        "exec": f"{s.exec:0{s.held.wave_size // 4}x}",
        "breakpoints": sorted({entry.line for entry in s.breakpoints if entry.line is not None}),
        "waves": [[entry.state, entry.line or 0, entry.done] for entry in s.waves],
        "changed": [_change(entry) for entry in s.changed[:MOST_CHANGES]],
        "more": max(0, len(s.changed) - MOST_CHANGES),
        "accesses": [_access(entry, int(target(s.kernel.arch).lds_banks)) for entry in s.accesses],
        "waiting": [
            [entry.counter, [[printer.text(i), s.line_of(i.address) or 0] for i in entry.instructions]]
            for entry in s.outstanding
        ],
        "variables": [
            [
                entry.name,
                entry.type.replace("kittens::ducks::", ""),
                entry.place,
                "" if entry.is_tile else number(entry.value),
                entry.is_tile,
            ]
            for entry in s.variables.values()
        ],
        "tile": _tile(s, tile) if tile else None,
    }


def _change(change: Changed) -> dict[str, Any]:
    if isinstance(change.after, int):
        return {"name": change.name, "text": f"{change.before:#x} → {change.after:#x}"}
    if not change.lanes:
        return {"name": change.name, "text": "written"}
    bits = np.asarray(change.after, dtype=np.uint32)
    floats = bits.view(np.float32).astype(np.float64)
    usual = np.isfinite(floats) & ((floats == 0) | (np.abs(floats) > 1e-30) & (np.abs(floats) < 1e30))
    # Most numbers that are floats look like floats, and integers like tiny ones.
    are_floats = usual.mean() > 0.9 and (floats != 0).any()
    numbers = floats if are_floats else bits.astype(np.int32).astype(np.float64)
    return {
        "name": change.name,
        "lanes": [None if not np.isfinite(n) else float(f"{n:.6g}") for n in numbers],
        "bits": [f"{n:08x}" for n in bits.tolist()],
        "changed": (np.asarray(change.before) != bits).tolist(),
    }


def _access(access: Access, banks: int) -> dict[str, Any]:
    """An access, with how many cycles each bank takes in the phase in which it takes most."""
    facts = {
        "what": access.kind.name.lower().replace("_", " ").replace("lds", "LDS"),
        "bytes": access.bytes,
        "lanes": len(access.addresses),
        "conflicts": access.conflicts,
    }
    if access.banks:
        facts["banks"] = _cycles(access, banks).tolist()
    elif access.addresses:
        ends = min(access.addresses.values()), max(access.addresses.values()) + access.bytes
        facts["range"] = f"{ends[0]:#x} to {ends[1]:#x}"
    return facts


def _cycles(access: Access, banks: int) -> np.ndarray[Any, np.dtype[np.int64]]:
    most = np.zeros(banks, dtype=np.int64)
    for phase in access.phases:
        words: dict[int, set[int]] = {}
        for lane in phase.lanes:
            if lane in access.addresses:
                first = access.addresses[lane] // 4
                for word in range(first, first + max(1, access.bytes // 4)):
                    words.setdefault(word % banks, set()).add(word)
        for bank, distinct in words.items():
            most[bank] = max(most[bank], len(distinct))
    return most


def _tile(s: Stepper, name: str) -> dict[str, Any]:
    if name not in s.variables or not s.variables[name].is_tile:
        return {"name": name, "error": "not at this instruction"}
    moment = s.tile(name)[0]
    values = moment.values.double()
    matrix = values if values.dim() == 2 else values[None]
    rows, cols = matrix.shape
    if rows * cols > MOST_CELLS:
        return {"name": name, "error": f"{rows} x {cols}: larger than is drawn here; .tile({name!r}) has it"}
    places = [_place_text(*moment.place(*at)) for at in np.ndindex(*values.shape)]
    numbers = matrix.flatten().tolist()
    return {
        "name": name,
        "rows": rows,
        "cols": cols,
        "values": [float(f"{n:.6g}") if np.isfinite(n) else str(n) for n in numbers],
        "places": places,
    }


def _place_text(lane: int | None, element: int | None, lds: int | None) -> str:
    return f"LDS byte {lds}" if lds is not None else f"lane {lane}, its element {element}"
