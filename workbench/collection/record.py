"""Records of the collection: its modules and functions, their arguments, and their operators."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from workbench.collection.kinds import Sizes


class Call(Mapping[str, Any]):
    """The arguments of a call by name, and what steps have made besides.

    Attributes:
        sizes: those of the arguments' kinds.
        arch: the target that the call runs on; "" before it is known.
    """

    def __init__(self, values: Mapping[str, Any], sizes: Sizes) -> None:
        self._values = dict(values)
        self.sizes = sizes
        self.arch = ""

    def __getitem__(self, name: str) -> Any:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def keep(self, name: str, value: Any) -> None:
        """Puts what a step has made beside the arguments, for the steps behind it."""
        self._values[name] = value


Value = str | Callable[[Call], Any]
"""An argument's name, or a function of all of them."""


@dataclass(frozen=True)
class Use:
    """One operator's part in a function.

    Attributes:
        operator: its name; with a variant behind a colon, where one must be chosen.
        inputs: its inputs from the arguments.
        outputs: for each output the tensor that it goes to. Where dtype and layout are the operator's it is
            written by the kernel, else the result is converted into it. A name that is not an argument keeps
            the result for later steps.
        when: whether the step runs; always where it is None.
        then: what is done on PyTorch's side behind it, with results that were kept.
    """

    operator: str
    inputs: Mapping[str, Value]
    outputs: Mapping[str, Value] = field(default_factory=dict)
    when: Callable[[Call], bool] | None = None
    then: Callable[[Call], None] | None = None


@dataclass(frozen=True, kw_only=True)
class Function:
    """One function of a module of the collection.

    Attributes:
        name: as the port binds it.
        arguments: the kind of each (see `kinds`), in the order of the port's binding.
        orders: other orders of the same names, such as that of the port's page; told apart by the kinds.
        uses: operators, in the order of their launches.
        host: what a function that runs on the host gives back, from the arguments; instead of `uses`.
        defaults: values of arguments that may be left out.
        checks: what else must hold; each raises ArgumentError.
        differs: in what it differs from the port's function, and why; "" where it does not.
    """

    name: str
    arguments: Mapping[str, str]
    orders: Sequence[str] = ()
    uses: Sequence[Use] = ()
    host: Callable[[Call], Any] | None = None
    defaults: Mapping[str, Any] = field(default_factory=dict)
    checks: Sequence[Callable[[Call], None]] = ()
    differs: str = ""

    @property
    def all_orders(self) -> list[tuple[str, ...]]:
        """Orders of the arguments' names, the binding's first."""
        return [tuple(self.arguments), *(tuple(order.split()) for order in self.orders)]


@dataclass(frozen=True, kw_only=True)
class PortModule:
    """One module of the collection, which its page counts as one kernel.

    Attributes:
        row: its place in the collection, from 1.
        name: as it is imported.
        functions: those that it binds.
        doc: what they compute.
    """

    row: int
    name: str
    functions: Sequence[Function]
    doc: str
