"""Calls of the collection's functions: identify the arguments, run operators, write outputs in place."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from types import ModuleType
from typing import Any

from workbench.collection import kinds
from workbench.collection.record import Call, Function, PortModule, Use, Value
from workbench.errors import ArgumentError
from workbench.kernel import device_of, resolve_device
from workbench.operators import kernels
from workbench.runtime import Device


class BoundFunction:
    """A function of the collection: takes its arguments in the port's order, writes the outputs among them.

    Calls with tensors on the CPU run on the default emulated device, others on their GPU; `device=` names
    another.
    """

    def __init__(self, module: str, record: Function) -> None:
        self.record = record
        self.__name__ = record.name
        self.__qualname__ = f"{module}.{record.name}"
        self.__module__ = module
        self.__doc__ = _doc(record)
        self.__signature__ = inspect.Signature(
            [
                inspect.Parameter(
                    name,
                    inspect.Parameter.POSITIONAL_OR_KEYWORD,
                    default=record.defaults.get(name, inspect.Parameter.empty),
                )
                for name in record.arguments
            ]
        )

    def __call__(self, *args: Any, device: Device | str | None = None, **named: Any) -> Any:
        """Runs the function.

        Raises:
            ArgumentError: arguments that do not fit, or that fit in more than one order.
        """
        call = self.bind(*args, **named)
        for check in self.record.checks:
            check(call)
        if self.record.host is not None:
            return self.record.host(call)
        where = resolve_device(device) if device is not None else device_of(call.values())
        call.arch = where.arch
        for use in self.record.uses:
            if use.when is None or use.when(call):
                _run(use, call, where)
        return None

    def bind(self, *args: Any, **named: Any) -> Call:
        """The arguments by name, in the one of the function's orders that they fit.

        Raises:
            ArgumentError
        """
        fitting: dict[tuple[str, ...], Call] = {}
        failed: dict[tuple[str, ...], str] = {}
        for order in self.record.all_orders:
            values = self._named(order, args, named)
            try:
                fitting[order] = Call(values, kinds.fit(self.record.arguments, values))
            except kinds.Mismatch as error:
                failed[order] = str(error)
        if not fitting:
            raise ArgumentError(
                "; or ".join(f"{self._signature(order)}: {why}" for order, why in failed.items())
            )
        (first, call), *others = fitting.items()
        for order, other in others:
            apart = [name for name in first if other[name] is not call[name]]
            if apart:
                raise ArgumentError(
                    f"{self._signature(first)}: the arguments also fit the order ({', '.join(order)}); "
                    f"{', '.join(apart)} can't be told apart by dtype and shape; give them by name"
                )
        return call

    def _named(
        self, order: tuple[str, ...], args: tuple[Any, ...], named: Mapping[str, Any]
    ) -> dict[str, Any]:
        if len(args) > len(order):
            raise ArgumentError(f"{self._signature(order)}: got {len(args)} arguments; expected {len(order)}")
        values = dict(zip(order, args, strict=False))
        for name, value in named.items():
            if name not in order:
                raise ArgumentError(f"{self._signature(order)}: unknown argument {name!r}")
            if name in values:
                raise ArgumentError(f"{self._signature(order)}: {name!r} is given twice")
            values[name] = value
        values = {**{n: v for n, v in self.record.defaults.items() if n in order}, **values}
        missing = [name for name in order if name not in values]
        if missing:
            raise ArgumentError(f"{self._signature(order)}: {', '.join(missing)} missing")
        # In one order, whatever the caller's order, so that kinds are always compared in the same way.
        return {name: values[name] for name in self.record.arguments if name in values}

    def _signature(self, order: tuple[str, ...]) -> str:
        return f"{self.__qualname__}({', '.join(order)})"

    def __repr__(self) -> str:
        return f"<{self._signature(tuple(self.record.arguments))} of the collection>"


def module_of(record: PortModule) -> ModuleType:
    """A module with the functions of a record."""
    module = ModuleType(record.name, record.doc)
    for function in record.functions:
        setattr(module, function.name, BoundFunction(record.name, function))
    return module


def _doc(record: Function) -> str:
    lines = [f"{record.name}({', '.join(record.arguments)})", ""]
    lines += [f"{name}: {kind}" for name, kind in record.arguments.items()]
    lines += [f"Also taken: ({', '.join(order)})." for order in record.all_orders[1:]]
    if record.uses:
        lines += ["", f"By {', '.join(use.operator for use in record.uses)}."]
    return "\n".join([*lines, record.differs] if record.differs else lines)


def _value(of: Value, call: Call) -> Any:
    return call[of] if isinstance(of, str) else of(call)


def _run(use: Use, call: Call, where: Device) -> None:
    """Runs an operator; its results go to the tensors that the use names."""
    import torch

    operator = kernels[use.operator]
    inputs = operator.bind(**{name: _value(of, call) for name, of in use.inputs.items()})
    shape = operator.shape(operator.shape_of(**inputs), arch=where.arch)
    expected = operator.implementation(shape, arch=where.arch).outputs(inputs)
    places: dict[str, torch.Tensor] = {}
    for name, of in use.outputs.items():
        if not isinstance(of, str) or of in call:
            places[name] = _value(of, call)
            if tuple(places[name].shape) != tuple(expected[name][0]):
                raise ArgumentError(
                    f"{use.operator}: {name} goes to a tensor of {tuple(places[name].shape)}; "
                    f"expected {tuple(expected[name][0])}"
                )
    direct = {n: t for n, t in places.items() if t.dtype == expected[n][1] and t.is_contiguous()}
    results, _ = operator.run(inputs, direct, shape=shape, device=where)
    for name, tensor in places.items():
        if name not in direct:
            tensor.copy_(results[name])
    for name, of in use.outputs.items():
        if name not in places and isinstance(of, str):
            call.keep(of, results[name])
    if use.then is not None:
        use.then(call)
