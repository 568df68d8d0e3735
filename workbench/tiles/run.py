"""Runs a question's kernels on an emulated device and combines their results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from workbench.codeobject import printer
from workbench.errors import WorkbenchError
from workbench.kernel import Module
from workbench.launches import Access, AccessKind, LaunchOptions
from workbench.operators import Launch
from workbench.targets import target
from workbench.tiles.elements import Numbers, torch_dtype
from workbench.tiles.kernels import codes
from workbench.tiles.question import Question
from workbench.tiles.result import SECTOR_BYTES, LayoutResult, PhaseOf, Row, WaveAccess

if TYPE_CHECKING:
    import torch

    from workbench.runtime import Device, LaunchRecord


@dataclass
class _Seen:
    """Results of a question's launches: shared memory, and the lanes' values, one tensor per digit."""

    record: LaunchRecord | None = None
    x: torch.Tensor | None = None
    out: torch.Tensor | None = None
    images: dict[str, list[torch.Tensor]] = field(default_factory=lambda: {"order": [], "access": []})
    held: list[torch.Tensor] = field(default_factory=list)


def look(module: Module, of: Question, name: str, device: Device) -> LayoutResult:
    """Runs the kernels of a question and combines their results.

    Raises:
        WorkbenchError: the results contradict themselves, because of a mistake in the library or this module.
    """
    seen = _launch(module, of, name, device)
    places = Numbers.take(seen.images["order"]).tolist() if of.tile.is_shared else []
    if of.tile.is_shared and sorted(places) != list(range(of.tile.rows * of.tile.cols)):
        raise WorkbenchError(
            f"{of.tile.text}: its elements do not fill its memory one by one; please report it."
        )
    _check_image(of, seen, places)
    held = _holders(seen, target(device.arch).wave_size)
    banks = target(device.arch).lds_banks if of.tile.is_shared else 0
    if of.access is None:
        rows = _of_memory(of, seen, places, banks) if of.tile.is_shared else _of_registers(of, seen, held)
        return LayoutResult(of, device.name, device.arch, tuple(rows), (), banks)
    pairs = _accesses(of, seen)
    accesses = tuple(wave_access(module, *pair) for pair in pairs)
    rows = _of_accesses(of, seen, pairs, places, held, banks)
    missing = of.moved() - {(r.row, r.col) for r in rows}
    if missing:
        raise WorkbenchError(f"{of.title}: no access was seen of {len(missing)} elements; please report it.")
    banks = next((a.banks for a in accesses if a.banks), banks)
    return LayoutResult(of, device.name, device.arch, tuple(rows), accesses, banks)


def _launch(module: Module, of: Question, name: str, device: Device) -> _Seen:
    """Launches the question's kernels, once for every digit of the elements' numbers."""
    import torch

    tile, registers = of.tile, of.register
    wave_size = target(device.arch).wave_size
    count = tile.rows * tile.cols
    dtype = torch_dtype(tile.element, device.arch)
    numbers = Numbers(count)
    # As the tile lies in global memory, where the matrix may be wider.
    flat = (1, count) if tile.is_vector else (tile.rows, tile.cols)
    order = torch.arange(count).reshape(flat)
    if registers is None and not tile.is_shared:
        registers = tile
    held_dtype = dtype if registers is None else torch_dtype(registers.element, device.arch)
    # The most that a lane can hold: its share of a tile, or all of a vector.
    lane_elements = 0 if registers is None else registers.rows * registers.cols
    if registers is not None and not registers.is_vector:
        lane_elements = -(-lane_elements // wave_size)
    seen = _Seen()
    for turn in range(numbers.passes):
        x = torch.full((flat[0], of.columns), -1.0).to(dtype)
        x[:, : flat[1]] = numbers.put(order, turn, dtype)
        for part, code in codes(of).items():
            tensors = {
                "x": x,
                "out": torch.full(x.shape, -1.0).to(dtype),
                "image": torch.full((count,), -1.0).to(dtype),
                "held": torch.full((lane_elements * wave_size,), -1.0).to(held_dtype),
            }
            trace = part == "access" and turn == 0
            record = module[f"{name}_{part}"].launch(
                Launch(1, of.threads(wave_size), count * dtype.itemsize if tile.is_shared else 0),
                (),
                {member: tensors[member] for member in code.members},
                device=device,
                options=LaunchOptions(trace=trace),
            )
            if "image" in code.members:
                seen.images[part].append(tensors["image"])
            if "held" in code.members:
                seen.held.append(tensors["held"])
            if trace:
                seen.record, seen.x, seen.out = record, x, tensors["out"]
    return seen


def _check_image(of: Question, seen: _Seen, places: Sequence[int]) -> None:
    """A store, or a group's load, puts each element where `operator[]` of the shared tile says."""
    if not seen.images["access"]:
        return
    moved = {r * of.tile.cols + c for r, c in of.moved()}
    numbers = Numbers.take(seen.images["access"]).tolist()
    wrong = sum(place in moved and place != got for place, got in zip(places, numbers, strict=True))
    if wrong:
        raise WorkbenchError(
            f"{of.title}: {wrong} elements are not where the shared tile has them; please report it."
        )


def _holders(seen: _Seen, wave_size: int) -> dict[int, list[tuple[int, int]]]:
    """(lane, its element) by element number; several where lanes hold copies."""
    holders: dict[int, list[tuple[int, int]]] = {}
    if seen.held:
        for at, number in enumerate(Numbers.take(seen.held).tolist()):
            if number >= 0:
                holders.setdefault(number, []).append((at % wave_size, at // wave_size))
    return holders


Pair = tuple[Access, Access | None]
"""An access, and the global side of one straight to shared memory."""


def _accesses(of: Question, seen: _Seen) -> list[Pair]:
    """The traced accesses of the question; the others filled memory or read it back."""
    assert seen.record is not None
    assert seen.x is not None
    assert seen.out is not None
    accesses: tuple[Access, ...] = seen.record.accesses

    def inside(access: Access, tensor: torch.Tensor) -> bool:
        start = tensor.data_ptr()
        return all(start <= address < start + tensor.nbytes for address in access.addresses.values())

    if of.register is not None:
        kind = AccessKind.LDS_READ if of.access == "load" else AccessKind.LDS_WRITE
        return [(a, None) for a in accesses if a.kind is kind]
    reads = [a for a in accesses if a.kind is AccessKind.GLOBAL_READ and inside(a, seen.x)]
    writes = [a for a in accesses if a.kind is AccessKind.GLOBAL_WRITE and inside(a, seen.out)]
    if of.group is None:
        return [(a, None) for a in (reads if of.access == "load" else writes)]
    if of.access == "store":
        return [(a, None) for a in accesses if a.kind is AccessKind.LDS_READ or a in writes]
    pairs: list[Pair] = []
    latest: dict[int, Access] = {}
    for access in accesses:
        if access.kind is AccessKind.GLOBAL_READ:
            latest[access.wave] = access
        elif access.kind is AccessKind.TO_LDS:
            pairs.append((access, latest.get(access.wave)))
        elif access.kind is AccessKind.LDS_WRITE:
            pairs.append((access, None))
    return pairs


def _is_shared(access: Access) -> bool:
    return access.kind not in (AccessKind.GLOBAL_READ, AccessKind.GLOBAL_WRITE)


def wave_access(module: Module, access: Access, source: Access | None = None) -> WaveAccess:
    """An access with its instruction; `source` is the global side of one straight to shared memory."""
    instruction = module.instruction(access.pc)
    far = access if not _is_shared(access) else source
    sectors = {
        block
        for address in (far.addresses.values() if far is not None else ())
        for block in range(address // SECTOR_BYTES, (address + access.bytes - 1) // SECTOR_BYTES + 1)
    }
    return WaveAccess(
        pc=access.pc,
        text=" ".join(printer.text(instruction).split()),
        opcode=instruction.opcode,
        wave=access.wave,
        bytes=access.bytes,
        banks=access.banks,
        phases=tuple(
            PhaseOf(
                tuple(lane for lane in phase.lanes if lane in access.addresses),
                phase.cycles,
                tuple(sorted(phase.conflicting_banks)),
            )
            for phase in access.phases
            if phase.cycles
        ),
        lanes=len(access.addresses),
        sectors=len(sectors),
        measured=access.measured,
    )


def _of_memory(of: Question, seen: _Seen, places: Sequence[int], banks: int) -> list[Row]:
    size = seen.images["order"][0].itemsize
    return [
        Row(*divmod(number, of.tile.cols), address=at * size, bank=at * size // 4 % banks)
        for at, number in enumerate(places)
    ]


def _of_registers(of: Question, seen: _Seen, held: Mapping[int, Sequence[tuple[int, int]]]) -> list[Row]:
    size = seen.held[0].itemsize
    return [
        Row(
            *divmod(number, of.tile.cols),
            lane=lane,
            holder=lane,
            register=k * size // 4,
            register_byte=k * size % 4,
        )
        for number, holders in sorted(held.items())
        for lane, k in holders
    ]


def _of_accesses(
    of: Question,
    seen: _Seen,
    pairs: Sequence[Pair],
    places: Sequence[int],
    held: Mapping[int, Sequence[tuple[int, int]]],
    banks: int,
) -> list[Row]:
    """One row for each element of each lane of each access."""
    assert seen.x is not None
    assert seen.out is not None
    size = seen.x.itemsize
    held_size = seen.held[0].itemsize if seen.held else 0
    cols = of.tile.rows * of.tile.cols if of.tile.is_vector else of.tile.cols
    start = (seen.x if of.access == "load" else seen.out).data_ptr()
    rows = []
    for index, (access, source) in enumerate(pairs):
        shared = _is_shared(access)
        phase_of = {
            lane: n for n, phase in enumerate(p for p in access.phases if p.cycles) for lane in phase.lanes
        }
        active = [phase for phase in access.phases if phase.cycles]
        for lane, address in access.addresses.items():
            far = source.addresses.get(lane) if source is not None else None if shared else address
            for byte in range(0, access.bytes, size):
                at = address + byte
                offset = far + byte - start if far is not None else None
                if shared:
                    if at // size >= len(places):
                        continue
                    number = places[at // size]
                else:
                    assert offset is not None
                    row, col = divmod(offset // size, of.columns)
                    if col >= cols:
                        continue
                    number = row * cols + col
                bank = at // 4 % (access.banks or banks) if shared else None
                phase = phase_of.get(lane)
                holder, k = _choose(held.get(number, ()), lane)
                rows.append(
                    Row(
                        *divmod(number, of.tile.cols),
                        access=index,
                        wave=access.wave,
                        lane=lane,
                        holder=holder,
                        register=k * held_size // 4 if k is not None else None,
                        register_byte=k * held_size % 4 if k is not None else None,
                        address=at if shared else None,
                        bank=bank,
                        phase=phase,
                        conflict=phase is not None and bank in active[phase].conflicting_banks,
                        offset=offset,
                    )
                )
    return rows


def _choose(holders: Sequence[tuple[int, int]], lane: int) -> tuple[int | None, int | None]:
    """The lane's own copy of an element if it has one, otherwise the first."""
    if not holders:
        return None, None
    return next((h for h in holders if h[0] == lane), holders[0])
