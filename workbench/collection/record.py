"""Records of the collection: its modules and functions, their arguments, and their operators."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from workbench.collection.kinds import Sizes


class Call(Mapping[str, Any]):
    """The arguments of a call by name, and further values that its steps have computed.

    Attributes:
        sizes: sizes from the kinds of the arguments.
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
        """Adds values that a step has computed to the arguments, for later steps."""
        self._values[name] = value


Value = str | Callable[[Call], Any]
"""An argument's name, or a function of all of them."""


@dataclass(frozen=True)
class Use:
    """One operator's part in a function.

    Attributes:
        operator: name of the operator, with a variant after a colon if necessary.
        inputs: its inputs from the arguments.
        outputs: for each output the tensor that it goes to. If that has the operator's dtype and layout, the
            kernel writes it directly, else the result is converted into it. A name that is not an argument
            keeps the result for later steps.
        when: returns True if the step runs; None to run it always.
        then: further work in PyTorch after the step, with stored results.
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
        name: name of the port's binding.
        arguments: kind of each argument (see `kinds`), in the order of the port's binding.
        orders: other orders of the same names, such as that of the port's page; the kinds distinguish them.
        uses: operators, in the order of their launches.
        host: result of a function that runs on the host, from the arguments; instead of `uses`.
        defaults: values of arguments that may be left out.
        checks: further conditions; each raises ArgumentError.
        differs: differences from the port's function, and their reason; "" if there are none.
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
        name: name to import it by.
        functions: functions that it binds.
        doc: description of the functions.
    """

    row: int
    name: str
    functions: Sequence[Function]
    doc: str
