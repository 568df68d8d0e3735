"""Kernels of several modules under one name."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator

from workbench.display import Shown
from workbench.errors import UnknownKernel, UsageError
from workbench.kernel.kernel import Kernel, digest_of
from workbench.kernel.resources import resources_lines


class Kernels(Shown):
    """A mapping from names to separately compiled kernels, such as those that a Triton cell launched.

    Attributes:
        name: name of the whole collection.
        arch: target of all kernels.
        kernels: kernels by name; if several share a name and differ in constants, later ones get a number.
        code: digest of the code of all kernels.
        result: None, because no single compilation made them.

    Raises:
        UsageError: there are no kernels.
    """

    result = None

    def __init__(self, name: str, kernels: Iterable[Kernel]) -> None:
        self.name = name
        self.kernels: dict[str, Kernel] = {}
        for kernel in dict.fromkeys(kernels):
            same = sum(other.name == kernel.name for other in self.kernels.values())
            self.kernels[f"{kernel.name} ({same + 1})" if same else kernel.name] = kernel
        if not self.kernels:
            raise UsageError(f"{name}: no kernel was launched, so there is none to keep")
        self.arch = next(iter(self.kernels.values())).arch
        self.code = digest_of(self.kernels.values())

    def __getitem__(self, name: str) -> Kernel:
        """A kernel by name.

        Raises:
            UnknownKernel: there is none of that name; the message lists the kernels.
        """
        if name not in self.kernels:
            close = difflib.get_close_matches(str(name), list(self.kernels), n=1)
            hint = f"; did you mean {close[0]}?" if close else ""
            raise UnknownKernel(
                f"{self.name} has no kernel {name!r}; its kernels: {', '.join(self.kernels)}{hint}"
            )
        return self.kernels[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.kernels)

    def __len__(self) -> int:
        return len(self.kernels)

    def _ipython_key_completions_(self) -> list[str]:
        return list(self.kernels)

    def __repr__(self) -> str:
        kernels = resources_lines({name: kernel.resources for name, kernel in self.kernels.items()})
        return "\n  ".join([f"<{self.name} for {self.arch}>", *kernels])
