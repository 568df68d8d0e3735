"""The path that each wave of some work-groups took, as steps.c records it on request."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from workbench.emulator.native import abi, native_library
from workbench.emulator.native.abi import CData, ffi
from workbench.errors import LaunchError
from workbench.launches import STEP, StepOptions, WaveSteps

_BITS = {"place": (0, 20), "lds_cycles": (20, 12), "lines": (32, 9), "turns": (41, 9), "bytes": (50, 9)}
"""First bit and number of bits of a cost's fields (abi.h, HK_STEP_COST)."""


class StepRecorder:
    """Records the paths of one launch: its `Steps`."""

    def __init__(
        self,
        options: StepOptions,
        text: int,
        blocks: Sequence[Sequence[int]],
        group_total: int,
        waves: int,
    ) -> None:
        self.group_total = group_total
        self.waves = waves
        self.text = text
        self.blocks = tuple(map(tuple, blocks))
        self.groups = options.chosen(group_total)
        self.hashes = np.zeros(group_total, dtype=np.uint64)
        self.executed = np.zeros(group_total, dtype=np.uint64)
        keep = np.zeros(group_total, dtype=np.uint8)
        keep[list(self.groups)] = 1
        self._library = native_library()
        # Looked up now: when the interpreter ends, cffi no longer finds names.
        self._free = self._library.hk_steps_free
        self._steps = ffi.new(
            "HkSteps *",
            {
                "text": text,
                "keep": ffi.from_buffer("uint8_t[]", keep),
                "hashes": ffi.cast("uint64_t *", self.hashes.ctypes.data),
                "blocks": ffi.cast("uint64_t *", self.executed.ctypes.data),
            },
        )
        self._keep = keep
        self._only = None
        self.is_whole = not options.is_alone(group_total)
        if not self.is_whole:
            self._only = keep.copy()
            self._only[[group for group in options.also if group < group_total]] = 1
        self._taken: dict[int, tuple[WaveSteps, ...]] = {}

    @property
    def pointer(self) -> CData:
        """The C structure for `Launch.steps`."""
        return self._steps

    @property
    def only(self) -> CData:
        """Bytes for `Launch.only`, one per work-group; NULL records all of them."""
        return ffi.NULL if self._only is None else ffi.from_buffer("uint8_t[]", self._only)

    def waves_of(self, group: int) -> tuple[WaveSteps, ...]:
        if group not in self._taken:
            if self._steps.failed:
                raise LaunchError("no memory to record what the waves of the launch did: record fewer groups")
            waves = (self._wave(group, wave) for wave in range(self.waves))
            self._taken[group] = tuple(steps for steps in waves if steps is not None)
        return self._taken[group]

    def _wave(self, group: int, wave: int) -> WaveSteps | None:
        count, cut = ffi.new("uint64_t *"), ffi.new("uint32_t *")
        steps = self._library.hk_steps_of(self._steps, group, wave, count, cut)
        if steps == ffi.NULL or not count[0]:
            return None
        raw = np.frombuffer(ffi.buffer(steps, 8 * count[0]), dtype=np.uint64).copy()
        return WaveSteps(_decoded(raw), bool(cut[0]))

    def release(self) -> None:
        for group in self.groups:
            self.waves_of(group)
        self._free(self._steps)

    def __getstate__(self) -> dict[str, Any]:
        self.release()
        return {
            **self.__dict__,
            "_library": None,
            "_free": None,
            "_steps": None,
            "_keep": None,
            "_only": None,
        }

    def __del__(self) -> None:
        if getattr(self, "_steps", None) is not None:
            self._free(self._steps)


def _decoded(raw: npt.NDArray[np.uint64]) -> npt.NDArray[np.void]:
    steps = np.zeros(len(raw), dtype=list(STEP))
    is_cost = raw >> np.uint64(63) != 0
    steps["block"] = np.where(is_cost, -1, (raw & np.uint64(0xFFFFFFFF)).astype(np.int64))
    for name, (first, bits) in _BITS.items():
        field = raw >> np.uint64(first) & np.uint64((1 << bits) - 1)
        steps[name] = np.where(is_cost, field, 0)
    steps["bytes"] *= 8
    return steps


assert abi.STEP_COST == 1 << 63
