"""Order of the accesses of one run, from their addresses and the code between them.

A second opinion on the sanitizer, for tests: it takes the accesses that a plain run recorded
(emulator/trace.py), puts the waits and barriers between them that the code has on the way from each to the
next, and then compares every two accesses that touch the same bytes. It is slow, and keeps all accesses.
"""

from __future__ import annotations

import itertools
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from workbench.codeobject.instruction import Instruction
from workbench.launches import Access, AccessKind

NEVER = 1 << 30
VM_MOST, LGKM_MOST = 63, 15
RECORDED = ("DS", "FLAT", "GLOBAL", "SCRATCH", "MUBUF", "MTBUF")
"""Formats whose instructions a trace has."""
_LANES = ("ds_bpermute", "ds_permute", "ds_swizzle")
_WRITES = (AccessKind.LDS_WRITE, AccessKind.GLOBAL_WRITE, AccessKind.TO_LDS)
_LDS = (AccessKind.LDS_READ, AccessKind.LDS_WRITE, AccessKind.TO_LDS)


class Unclear(Exception):
    """The accesses do not determine the code between them."""


def wait_counts(field: int) -> tuple[int, int]:
    """vmcnt and lgkmcnt of s_waitcnt's field on gfx9."""
    return field & 15 | field >> 10 & 0x30, field >> 8 & 15


@dataclass(slots=True)
class _Timed:
    """One access, and when it is issued and done: by the wave's own clock, and by barriers passed."""

    pc: int
    wave: tuple[int, int]
    kind: AccessKind
    issued: int = 0
    start: int = 0
    done_at: int = NEVER
    done: int = NEVER


class Order:
    """The order of a run's accesses to LDS, and of a work-group's accesses to global memory.

    Args:
        blocks, followers: the kernel's code, and the blocks that may follow each.
        entry: address of its first instruction.
        accesses: what the run recorded.
        ending_at: what a run records whose waves end at a barrier, where others of the code are left out. It
            tells which waves come by a barrier that only some do.

    Raises:
        Unclear: the accesses do not say which waits and barriers a wave has passed.
    """

    def __init__(
        self,
        blocks: Sequence[Sequence[Instruction]],
        followers: Mapping[int, Sequence[int]],
        entry: int,
        accesses: Sequence[Access],
        ending_at: Callable[[int], Iterable[Access]],
    ) -> None:
        self._ending_at = ending_at
        self._ended: dict[int, Counter[tuple[int, int]]] = {}
        self._recorded = Counter((access.group, access.wave) for access in accesses)
        self._seen: Counter[tuple[int, int]] = Counter()
        self._code = {i.address: i for block in blocks for i in block}
        self._next: dict[int, list[int]] = {}
        for index, block in enumerate(blocks):
            for first, second in itertools.pairwise(block):
                self._next[first.address] = [second.address]
            self._next[block[-1].address] = [blocks[f][0].address for f in followers[index]]
        self._between: dict[tuple[int, int], list[tuple[int, ...]]] = {}
        self._timed: list[_Timed] = []
        self._events: dict[tuple[int, int], list[tuple[str, int]]] = {}
        touched: dict[tuple[int, int, int], set[int]] = {}
        last: dict[tuple[int, int], int] = {}
        pending: dict[tuple[int, int], int] = {}
        for access in accesses:
            wave = access.group, access.wave
            events = self._events.setdefault(wave, [])
            if not pending.get(wave):
                way = self._way(last.get(wave, entry), access.pc, wave in last, wave)
                events += [("code", at) for at in way]
                pending[wave] = self._records(access.pc)
                events.append(("count", access.pc))
            pending[wave] -= 1
            self._seen[wave] += 1
            last[wave] = access.pc
            number = len(self._timed)
            self._timed.append(_Timed(access.pc, wave, access.kind))
            events.append(("access", number))
            space = 0 if access.kind in _LDS else 1
            for at in set(access.addresses.values()):
                for dword in range(at // 4, (at + access.bytes + 3) // 4):
                    touched.setdefault((access.group, space, dword), set()).add(number)
        for wave, at in last.items():
            self._events[wave] += [("code", each) for each in self._way(at, -1, True, wave)]
        self._pairs = self._conflicting(touched)

    def broken(self, changes: Mapping[int, int | None] | None = None) -> set[tuple[int, int]]:
        """Instructions that make two accesses of the same bytes, one a write, which nothing puts in order;
        (0, 0) where the waves of a work-group do not pass equally many barriers.

        Args:
            changes: for addresses of s_waitcnt its new field, of s_barrier None: what is changed in the code.
        """
        passed: dict[int, set[int]] = {}
        for wave, events in self._events.items():
            passed.setdefault(wave[0], set()).add(self._time(events, changes or {}))
        if any(len(counts) > 1 for counts in passed.values()):
            return {(0, 0)}
        return {
            (self._timed[a].pc, self._timed[b].pc)
            for a, b in self._pairs
            if not self._in_order(self._timed[a], self._timed[b])
        }

    def _records(self, pc: int) -> int:
        """Records that one execution of an instruction makes."""
        instruction = self._code[pc]
        to_lds = "_load_lds_" in instruction.opcode or bool(instruction.modifiers.get("lds"))
        return 2 if to_lds or instruction.opcode.startswith(("ds_read2", "ds_write2")) else 1

    def _way(self, start: int, end: int, after: bool, wave: tuple[int, int]) -> tuple[int, ...]:
        """Waits, barriers and scalar loads of a wave on its way from `start` to `end`; -1: its end."""
        key = (start if after else -start - 1, end)
        if key not in self._between:
            self._between[key] = self._search(start, end, after)
        ways = self._between[key]
        if len(ways) == 2:
            shorter, longer = ways
            for place, at in enumerate(longer):
                if longer[:place] + longer[place + 1 :] == shorter and self._code[at].opcode == "s_barrier":
                    return longer if self._comes_by(wave, at) else shorter
        if len(ways) != 1:
            raise Unclear(f"{len(ways)} ways from {start:#x} to {end:#x}")
        return ways[0]

    def _comes_by(self, wave: tuple[int, int], barrier: int) -> bool:
        if barrier not in self._ended:
            self._ended[barrier] = Counter((a.group, a.wave) for a in self._ending_at(barrier))
        count = self._ended[barrier][wave]
        if count == self._seen[wave] < self._recorded[wave]:
            return True
        if count == self._recorded[wave] > self._seen[wave]:
            return False
        raise Unclear(f"wave {wave} comes by the barrier at {barrier:#x} at some times and not at others")

    def _search(self, start: int, end: int, after: bool) -> list[tuple[int, ...]]:
        paths: set[tuple[int, ...]] = set()
        waiting: deque[tuple[int, tuple[int, ...]]] = deque()
        waiting.extend((at, ()) for at in (self._next[start] if after else [start]))
        seen: set[tuple[int, tuple[int, ...]]] = set()
        while waiting:
            at, events = waiting.popleft()
            if (at, events) in seen or len(events) > 200:
                continue
            seen.add((at, events))
            instruction = self._code[at]
            if at == end or (end < 0 and instruction.opcode == "s_endpgm"):
                paths.add(events)
                continue
            is_lanes = instruction.opcode.startswith(_LANES)
            if (
                instruction.format.startswith(RECORDED)
                and not is_lanes
                and (instruction.dst or instruction.src)
            ):
                continue
            if instruction.opcode in ("s_waitcnt", "s_barrier") or instruction.format == "SMEM" or is_lanes:
                events = (*events, at)
            waiting.extend((following, events) for following in self._next[at])
            if len(seen) > 100_000:
                raise Unclear(f"too many ways from {start:#x} to {end:#x}")
        return sorted(paths, key=len)

    def _conflicting(self, touched: Mapping[tuple[int, int, int], set[int]]) -> list[tuple[int, int]]:
        pairs: set[tuple[int, int]] = set()
        done: set[frozenset[int]] = set()
        for numbers in touched.values():
            group = frozenset(numbers)
            if group in done:
                continue
            done.add(group)
            writers = [n for n in numbers if self._timed[n].kind in _WRITES]
            for a in writers:
                for b in numbers:
                    first, second = self._timed[a], self._timed[b]
                    same_counter = (first.kind == AccessKind.TO_LDS) == (second.kind == AccessKind.TO_LDS)
                    if a != b and (first.wave != second.wave or not same_counter):
                        pairs.add((min(a, b), max(a, b)))
        return list(pairs)

    def _time(self, events: Sequence[tuple[str, int]], changes: Mapping[int, int | None]) -> int:
        """Time a wave's accesses; how many barriers it passes."""
        barriers = 0
        vm: deque[list[_Timed]] = deque()
        lgkm: deque[list[_Timed]] = deque()
        current: list[_Timed] = []
        for clock, (kind, value) in enumerate(events):
            if kind == "access":
                timed = self._timed[value]
                timed.issued, timed.start, timed.done_at, timed.done = clock, barriers, NEVER, NEVER
                current.append(timed)
                continue
            instruction = self._code[value]
            if kind == "count":
                current = []
                (lgkm if instruction.format == "DS" else vm).append(current)
            elif instruction.opcode == "s_barrier":
                barriers += value not in changes
            elif instruction.opcode.startswith(_LANES):
                lgkm.append([])
            elif (
                instruction.format != "SMEM"
            ):  # scalar loads may be done before LDS accesses, and prove nothing
                field = changes.get(value, int(instruction.src[0].value or 0))
                most_vm, most_lgkm = wait_counts(VM_MOST if field is None else field)
                if field is None:
                    most_vm, most_lgkm = VM_MOST, LGKM_MOST
                _retire(vm, most_vm, clock, barriers)
                _retire(lgkm, most_lgkm, clock, barriers)
            _retire(vm, VM_MOST, clock, barriers)
            _retire(lgkm, LGKM_MOST, clock, barriers)
        return barriers

    @staticmethod
    def _in_order(first: _Timed, second: _Timed) -> bool:
        if first.wave == second.wave:
            early, late = (first, second) if first.issued < second.issued else (second, first)
            return early.done_at < late.issued
        if first.kind not in _LDS:
            return first.start != second.start
        return first.done < second.start or second.done < first.start


def _retire(queue: deque[list[_Timed]], most: int, clock: int, barriers: int) -> None:
    while len(queue) > most:
        for timed in queue.popleft():
            timed.done_at, timed.done = clock, barriers


__all__ = ["Order", "Unclear", "wait_counts"]
