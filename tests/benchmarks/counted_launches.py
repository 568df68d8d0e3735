"""Launches that were emulated once, stored in files: a changed model needs no second emulation.

The counts of a launch depend on the code and the target, not on which product of the target runs it, nor on
the model of times. `--again` of `model_error.py` throws the files away, after a change of a kernel.
"""

from __future__ import annotations

import copyreg
import gzip
import hashlib
import pickle
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from published_times import Problem

from workbench import targets
from workbench.launches import Hierarchy
from workbench.operators.launch_target import Target
from workbench.profile.counting import counted
from workbench.profile.machine import hierarchy, machine
from workbench.profile.model import CountedLaunch, TimeModel, model_time

ROOT = Path(__file__).resolve().parents[2] / "workbench"
COUNTING = (
    "emulator/native/observe/*.[ch]",
    "profile/counters.py",
    "profile/counting.py",
    "profile/partial.py",
    "profile/sampled.py",
)
"""Files that determine the counts, in addition to kernel and emulation."""


def _read_only(items: dict[str, Any]) -> MappingProxyType[str, Any]:
    return MappingProxyType(items)


# Instructions have read-only mappings, which pickle does not support.
copyreg.pickle(MappingProxyType, lambda proxy: (_read_only, (dict(proxy),)))


@dataclass(frozen=True)
class Counted:
    """A counted launch; its tally includes the caches of a repeated launch.

    Attributes:
        launch: what was counted.
        caches: for which the caches were replayed.
    """

    launch: CountedLaunch = field(repr=False)
    caches: Hierarchy

    @classmethod
    def from_target(cls, target: Target) -> Counted:
        """Runs a launch on an emulated device."""
        launch = counted(target, warm=True)
        return cls(launch, hierarchy(launch.machine))

    def model(self, gpu: str, *, warm: bool, in_turn: bool = False) -> TimeModel:
        """The time on a product of the same target and caches; warm, in_turn: as for `model_time`.

        Raises:
            ValueError: the launch was counted for other caches.
        """
        product = machine(gpu)
        if hierarchy(product) != self.caches:
            raise ValueError(f"the launch was counted for the caches {self.caches}; {gpu} has others")
        return model_time(replace(self.launch, machine=product), warm=warm, in_turn=in_turn)


class Launches:
    """Counted launches by problem, in a folder."""

    def __init__(self, folder: Path, *, again: bool = False) -> None:
        self.folder, self.again = folder, again
        folder.mkdir(parents=True, exist_ok=True)
        digest = hashlib.sha256()
        for pattern in COUNTING:
            for file in sorted(ROOT.glob(pattern)):
                digest.update(file.read_bytes())
        self.digest = digest.hexdigest()[:12]
        self._made: set[Path] = set()

    def path(self, problem: Problem) -> Path:
        """The file of a problem, and of all problems that count the same."""
        arch = targets.product(problem.gpu).arch
        name = hashlib.sha256(f"{problem.kernel} {problem.shape} {arch} {self.digest}".encode()).hexdigest()
        return self.folder / f"{name[:24]}.pickle.gz"

    def counted(self, problem: Problem, prepare: Callable[[], Target]) -> Sequence[Counted]:
        """The launches of a problem; those that are not stored are run.

        Args:
            problem: for its name.
            prepare: makes what is run.
        """
        path = self.path(problem)
        if not path.exists() or (self.again and path not in self._made):
            launches = [Counted.from_target(launch) for launch in prepare().launches()]
            unfinished = path.with_suffix(".new")
            with gzip.open(unfinished, "wb", compresslevel=1) as file:
                pickle.dump(launches, file)
            unfinished.replace(path)
            self._made.add(path)
            return launches
        with gzip.open(path, "rb") as file:
            return list(pickle.load(file))
