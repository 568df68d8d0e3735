"""Arguments of a Triton kernel, as the parameters of its machine code.

Triton's signature of a kernel has the types of its parameters: "*fp32", "i64", "constexpr", a tuple of these,
or "tensordesc<fp16[64, 64]>". The machine code has no constants, the items of tuples, and for a tensor
descriptor either its bytes (`descriptors`) or its base, shape and strides.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from workbench import live_tensors
from workbench.codeobject import KernelInfo
from workbench.codeobject.debug import Field, Type
from workbench.errors import LaunchError
from workbench.kernel.arguments import Plan
from workbench.kernel.devices import Place
from workbench.kernel.packed import Packed, Strided
from workbench.kernel.scalars import is_tensor
from workbench.triton_driver import descriptors
from workbench.triton_driver.descriptors import HostDescriptor, Tile

_POINTER = Type("pointer", "*i8", 8)
_KINDS = {"i": "int", "u": "uint", "f": "float", "b": "float"}


class TritonPlan(Plan):
    """Arguments of a Triton kernel: pointers into storages, in blocks as PyTorch allocates them on a GPU."""

    storages = True

    @property
    def granularity(self) -> int:  # type: ignore[override]
        return live_tensors.granularity()

    def _check_tensor(self, *_: Any, **__: Any) -> None:
        """Triton has checked dtypes; a tensor may claim to be on the GPU of `cuda_means_cpu`."""

    def _put(self, packed: Packed, name: str, kind: Type, offset: int, value: Any, place: Place) -> None:
        if isinstance(value, HostDescriptor):
            at = offset + descriptors.ADDRESS
            address = self._address(packed, name, _POINTER, at, value.base, place)
            packed.data[offset : offset + kind.size] = value.content(address)
        else:
            super()._put(packed, name, kind, offset, value, place)


@dataclass(frozen=True)
class Parameter:
    """A parameter of a Triton function that the machine code has.

    Attributes:
        name: name in the function.
        type: type in Triton's spelling.
    """

    name: str
    type: str


def parameters(names: Sequence[str], signature: Sequence[Any], whole: bool = False) -> Iterator[Parameter]:
    """The machine code's parameters from the function's, without constants and with tuples split.

    Args:
        whole: the kernel takes the bytes of tensor descriptors.
    """
    for name, kind in zip(names, signature, strict=True):
        if isinstance(kind, tuple):
            yield from parameters([f"{name}[{i}]" for i in range(len(kind))], kind, whole)
        elif str(kind).startswith("tensordesc"):
            yield from _descriptor(name, str(kind), whole)
        elif kind != "constexpr":
            yield Parameter(name, str(kind))


def values(signature: Sequence[Any], passed: Sequence[Any], tiles: Iterator[Tile]) -> Iterator[Any]:
    """The values of `parameters`, in their order; tensors may have any strides.

    Args:
        tiles: those of the kernel's tensor descriptors, if it takes their bytes.
    """
    for kind, value in zip(signature, passed, strict=True):
        if isinstance(kind, tuple):
            yield from values(kind, value, tiles)
        elif str(kind).startswith("tensordesc"):
            shape, strides = tuple(int(n) for n in value.shape), tuple(int(n) for n in value.strides)
            tile = next(tiles, None)
            if tile is None:
                rounds = bool(getattr(value, "round_f32_to_tf32", False))
                yield from (_plain(value.base), *shape, *strides, value.padding == "nan", rounds)
            else:
                yield HostDescriptor(_plain(value.base), shape, strides, tile)
            yield from (*shape, *strides)
        elif kind != "constexpr":
            yield _plain(value)


def plan(kernel: str, info: KernelInfo, arch: str, taken: Sequence[Parameter]) -> TritonPlan:
    """Packing of one kernel's arguments: those `taken`, and the scratch buffers that Triton adds.

    Raises:
        LaunchError: the machine code has other parameters, so this Triton passes arguments in another way.
    """
    visible = [a for a in info.args if not a.hidden]
    extra = len(visible) - len(taken)
    if extra not in (0, 1, 2) or any(a.value_kind != "global_buffer" for a in visible[len(taken) :]):
        actual = ", ".join(f"{a.value_kind} of {a.size} bytes" for a in visible)
        raise LaunchError(
            f"{kernel}: Triton says {', '.join(f'{p.name}: {p.type}' for p in taken)}, and the machine code "
            f"takes {actual}; expected the same with two buffers at most. Triton 3.7 and 3.9 are supported"
        )
    scratch = [Parameter(f"scratch {n}", "*i8") for n in range(extra)]
    fields = [
        Field(p.name, a.offset, _type(p, a.size)) for p, a in zip([*taken, *scratch], visible, strict=True)
    ]
    return TritonPlan(kernel, arch, fields, info.own_bytes)


def _descriptor(name: str, kind: str, whole: bool) -> Iterator[Parameter]:
    element, _, shape = kind.removeprefix("tensordesc<").partition("[")
    rank = shape.count(",") + 1
    if whole:
        yield Parameter(name, "tensordesc")
    else:
        yield Parameter(name, f"*{element}")
        for part in ("shape", "strides"):
            yield from (Parameter(f"{name}.{part}[{i}]", "i64") for i in range(rank))
        yield from (Parameter(f"{name}.{flag}", "i1") for flag in ("padding", "round_f32_to_tf32"))
    yield from (Parameter(f"{name}.shape[{i}] again", "i32") for i in range(rank))
    yield from (Parameter(f"{name}.strides[{i}] again", "i64") for i in range(rank))


def _type(parameter: Parameter, size: int) -> Type:
    if parameter.type.startswith("*"):
        return Type("pointer", parameter.type, 8)
    return Type(_KINDS.get(parameter.type[0], "unknown"), parameter.type, size)


def _plain(value: Any) -> Any:
    """A tensor that may have any strides; booleans and NumPy's integers as integers."""
    if hasattr(value, "data_ptr"):
        # The result of triton.reinterpret(tensor, dtype) has the tensor as its base.
        return Strided(value if is_tensor(value) else value.base)
    return int(value) if isinstance(value, bool) else value
