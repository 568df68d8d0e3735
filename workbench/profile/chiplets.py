"""Maps of the die (XCD) that computes each part of a kernel's output, with the resulting L2 hit rates.

Work-groups go to the dies in turn, and each die has its own L2; the kernel decides which tile a work-group
computes. `xcd_map` runs the kernel on the emulated device and records, for each element of the output, the
work-group that wrote it: the map is observed, not derived from the kernel's formula. The lines that the
work-groups touched then go through the model of the caches (`Traffic.replay`), once in the order in which the
kernel takes its tiles and once in other orders of the same work-groups, so that an order can be judged before
it is written.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from workbench.display import Plotted
from workbench.errors import DeviceError, UsageError
from workbench.events import hub
from workbench.launches import LaunchOptions, Replayed, TrafficOptions, Watched
from workbench.operators import KernelSpec, Shape, kernels, shape_text
from workbench.operators.launch_target import Target, resolve
from workbench.origin import Figure, Origin
from workbench.profile.machine import hierarchy, machine

if TYPE_CHECKING:
    import torch

    from workbench.kernel import Kernel, Launcher, Module
    from workbench.runtime import Device

MAX_WATCHED = 1 << 27
"""Maximum number of elements whose writers are recorded, 4 bytes each."""

WINDOW, CHUNK = 8, 64
"""Rows of tiles of a window, and consecutive tiles of a die, in `chiplet_order` unless said otherwise."""


@dataclass(frozen=True, slots=True)
class Tile:
    """The part of the output that one work-group wrote: rows [top, bottom) and columns [left, right).

    Attributes:
        group: number of the work-group.
        whole: True if it wrote the whole rectangle.
    """

    group: int
    top: int
    bottom: int
    left: int
    right: int
    whole: bool


@dataclass(frozen=True)
class DispatchOrder:
    """The work-groups in one order of dispatch, with the modelled caches' counts.

    Attributes:
        name: name of the order, for titles.
        order: work-groups as they are dispatched.
        replayed: counts of the modelled caches.
        source: source of the figures.
    """

    name: str
    order: Sequence[int] = field(repr=False)
    replayed: Replayed = field(repr=False)
    source: str

    def turn_of(self) -> npt.NDArray[np.int64]:
        """[work-groups] position of each in the order of dispatch, from 0."""
        turns = np.empty(len(self.order), dtype=np.int64)
        turns[np.asarray(self.order, dtype=np.int64)] = np.arange(len(self.order))
        return turns

    def die_of(self, xcds: int) -> npt.NDArray[np.int64]:
        """[work-groups] the die to which each goes."""
        return self.turn_of() % xcds

    @property
    def l2_hit_rate(self) -> Figure | None:
        """Hits in percent of the requests to all L2s; None without requests."""
        return self._rate(self.replayed.total.l2_hit_rate)

    @property
    def l2_hit_rates(self) -> tuple[Figure | None, ...]:
        """Hits in percent of the requests to each die's L2; None for a die without requests."""
        return tuple(self._rate(die.l2_hit_rate) for die in self.replayed.dies)

    @property
    def fetched(self) -> Figure:
        """Bytes that the L2s read from the Infinity Fabric."""
        return Figure(self.replayed.total.fabric_reads * 128, "bytes", Origin.MODELLED, self.source)

    def _rate(self, value: float | None) -> Figure | None:
        return None if value is None else Figure(100 * value, "%", Origin.MODELLED, self.source)


@dataclass(frozen=True)
class XcdMap(Plotted):
    """The work-group and die that computed each element of an output.

    Attributes:
        name, device, shape: the kernel or spec, its device and the problem.
        output: name of the tensor.
        writers: [rows, columns] the work-group that wrote each element; -1 for none. Leading dimensions of
            the output are among the rows.
        xcds: dies.
        tiles: tiles by work-group; work-groups that wrote nothing are absent.
        orders: orders of dispatch, the kernel's own first.
        figure: the output coloured by die, one panel per order.
    """

    name: str
    device: str
    shape: Shape
    output: str
    writers: npt.NDArray[np.int64] = field(repr=False)
    xcds: int
    tiles: Sequence[Tile] = field(repr=False)
    orders: Sequence[DispatchOrder]

    def dies(self, order: DispatchOrder | None = None) -> npt.NDArray[np.int64]:
        """[rows, columns] the die of each element, in the kernel's own order or another; -1 for none."""
        die = (order or self.orders[0]).die_of(self.xcds)
        return np.where(self.writers >= 0, die[self.writers], -1)

    def __str__(self) -> str:
        size = shape_text(self.shape)
        rows, columns = self.writers.shape
        lines = [
            f"{self.name}{f' ({size})' if size else ''} on {self.device}: {self.output} of {rows} x "
            f"{columns}, {len(self.tiles)} tiles on {self.xcds} XCDs"
        ]
        for order in self.orders:
            rate = order.l2_hit_rate
            lines.append(
                f"  {order.name}: L2 hit rate {'none' if rate is None else rate}, "
                f"{order.fetched.value / 2**20:.4g} MB fetched"
            )
        return "\n".join(lines)

    __repr__ = __str__


Order = Callable[[Sequence[Tile], int, int], Sequence[int]]
"""Makes an order of dispatch from the tiles, the number of work-groups, and that of dies."""


def launched_order(tiles: Sequence[Tile], groups: int, xcds: int) -> list[int]:
    """The launch's own order: work-groups by number."""
    return list(range(groups))


def row_order(tiles: Sequence[Tile], groups: int, xcds: int) -> list[int]:
    """Tiles from left to right, row after row, as in a kernel that does not reorder its tiles."""
    return _with_the_rest([t.group for t in sorted(tiles, key=lambda t: (t.top, t.left))], groups)


def chiplet_order(
    tiles: Sequence[Tile], groups: int, xcds: int, *, window: int = WINDOW, chunk: int = CHUNK
) -> list[int]:
    """Windows of `window` rows of tiles, down their columns, in runs of `chunk` tiles on one die.

    The order that HipKittens describes for GPUs with several L2s ("HipKittens: Fast and Furious AMD Kernels",
    arXiv 2511.08083); tiles beyond the last whole block of runs stay in turn.
    """
    tops = {top: row for row, top in enumerate(sorted({t.top for t in tiles}))}
    windowed = sorted(tiles, key=lambda t: (tops[t.top] // window, t.left, t.top))
    listed = _with_the_rest([t.group for t in windowed], groups)
    block = xcds * chunk
    whole = groups // block * block
    order = []
    for position in range(groups):
        if position >= whole:
            order.append(listed[position])
            continue
        die, turn = position % xcds, position // xcds
        order.append(listed[turn // chunk * block + die * chunk + turn % chunk])
    return order


def _with_the_rest(listed: list[int], groups: int) -> list[int]:
    ordered = set(listed)
    return listed + [group for group in range(groups) if group not in ordered]


ORDERS: Mapping[str, Order] = {
    "as launched": launched_order,
    "row by row": row_order,
    "chiplet order": chiplet_order,
}
"""Orders by name."""


def xcd_map(
    target: KernelSpec | Launcher | Kernel | Module | str,
    *args: Any,
    output: str | None = None,
    orders: Sequence[str] | Mapping[str, Order] = ("as launched", "row by row"),
    spec: KernelSpec | str | None = None,
    shape: Shape | None = None,
    seed: int = 0,
    device: Device | str | None = None,
    **kwargs: Any,
) -> XcdMap:
    """Finds which XCD computes which element of a kernel's output, and the L2 hit rate of orders of dispatch.

    The kernel runs twice. Another order dispatches the same work-groups, each with its tile, in that order; a
    kernel that takes its tiles in that order behaves the same.

    Args:
        target, args, spec, shape, seed, device, kwargs: see `time`.
        output: name of the tensor to look at; only needed if the kernel writes several.
        orders: names of `ORDERS`, or a mapping from names to your own functions.

    Raises:
        UsageError: `target` cannot be launched; no such order; no such tensor, or several but none named.
        DeviceError: the device is a GPU, which does not report who writes where.
    """
    prepared = resolve(target, args, kwargs, spec=spec, shape=shape, seed=seed, device=device)
    by_name = _orders(orders)
    prepared.device.check_observes("which work-group writes where")
    with hub.muted():
        # The first run makes the tensors' addresses known.
        prepared.run(None)
        tensors = _tensors(prepared, _outputs_of(target, spec, prepared), output)
        watched = tuple(
            Watched(tensor.data_ptr(), tensor.element_size(), tensor.numel()) for tensor in tensors.values()
        )
        record = prepared.run(LaunchOptions(count=True, traffic=TrafficOptions(watched=watched)))
    traffic = record.traffic
    if traffic is None:
        raise DeviceError(f"{prepared.device.name} recorded nothing of {record.kernel}")
    written = {name: traffic.writers(i) for i, name in enumerate(tensors)}
    name = _only_written(prepared.name, written, output)
    tensor = tensors[name]
    writers = written[name].reshape(-1, tensor.shape[-1] if tensor.dim() else 1)
    tiles = tiles_of(writers)
    gpu = machine(str(prepared.device.properties.get("name", "")), prepared.device.arch)
    x, y, z = record.block
    fits = prepared.kernel.occupancy(x * y * z, record.dynamic_shared)
    source = f"cache model of {gpu.name}"
    dispatch_orders = []
    for title, order in by_name.items():
        listed = order(tiles, traffic.group_total, gpu.xcds)
        replayed = traffic.replay(hierarchy(gpu), fits.groups_per_cu, listed)
        dispatch_orders.append(DispatchOrder(title, listed, replayed, source))
    traffic.release()
    return XcdMap(
        name=prepared.name,
        device=prepared.device.name,
        shape=prepared.shape,
        output=name,
        writers=writers,
        xcds=gpu.xcds,
        tiles=tiles,
        orders=dispatch_orders,
    )


def tiles_of(writers: npt.NDArray[np.int64]) -> list[Tile]:
    """The bounding box of what each work-group wrote, by its number."""
    rows, columns = np.nonzero(writers >= 0)
    groups = writers[rows, columns]
    if not len(groups):
        return []
    size = int(groups.max()) + 1
    top, left = np.full(size, writers.shape[0]), np.full(size, writers.shape[1])
    bottom, right = np.zeros(size, dtype=np.int64), np.zeros(size, dtype=np.int64)
    np.minimum.at(top, groups, rows)
    np.minimum.at(left, groups, columns)
    np.maximum.at(bottom, groups, rows + 1)
    np.maximum.at(right, groups, columns + 1)
    count = np.bincount(groups, minlength=size)
    tiles = []
    for group in np.flatnonzero(count):
        box = (int(top[group]), int(bottom[group]), int(left[group]), int(right[group]))
        area = (box[1] - box[0]) * (box[3] - box[2])
        tiles.append(Tile(int(group), *box, whole=area == int(count[group])))
    return tiles


def _orders(orders: Sequence[str] | Mapping[str, Order]) -> dict[str, Order]:
    if isinstance(orders, Mapping):
        return dict(orders)
    names = [orders] if isinstance(orders, str) else list(orders)
    for name in names:
        if name not in ORDERS:
            raise UsageError(
                f"no order is named {name!r}; there are {', '.join(ORDERS)}, or pass functions: "
                "orders={'mine': lambda tiles, groups, xcds: [...]}"
            )
    if not names:
        raise UsageError("orders is empty; expected one of " + ", ".join(ORDERS))
    return {name: ORDERS[name] for name in names}


def _outputs_of(target: Any, spec: KernelSpec | str | None, prepared: Target) -> list[str]:
    """Names of the outputs, if a spec has them."""
    operator = spec if spec is not None else target
    if isinstance(operator, str):
        operator = kernels[operator]
    if not isinstance(operator, KernelSpec):
        return []
    last = prepared.kernel.last
    return list(operator.outputs(prepared.shape, dict(last.kwargs) if last is not None else {}))


def _tensors(prepared: Target, outputs: Sequence[str], output: str | None) -> dict[str, torch.Tensor]:
    """Tensors of the last launch that may be its output, by the names of the kernel's arguments."""
    import torch

    last = prepared.kernel.last
    arguments: dict[str, Any] = {}
    if last is not None:
        names = [parameter.name for parameter in prepared.kernel.plan.parameters]
        for name, value in (*zip(names, last.args, strict=False), *last.kwargs.items()):
            # A struct of globals is passed as a dictionary of its members.
            arguments.update(value if isinstance(value, Mapping) else {name: value})
    tensors = {
        name: value
        for name, value in arguments.items()
        if isinstance(value, torch.Tensor) and value.is_contiguous() and value.numel()
    }
    if output is not None:
        if output not in tensors:
            raise UsageError(
                f"{prepared.name} has no contiguous tensor {output!r}; it has {', '.join(tensors) or 'none'}"
            )
        return {output: tensors[output]}
    candidates = {name: t for name, t in tensors.items() if name in outputs} or tensors
    size = sum(t.numel() for t in candidates.values())
    if size > MAX_WATCHED:
        raise UsageError(
            f"{prepared.name}: {', '.join(candidates)} have {size:,} elements together, and the writers of "
            f"at most {MAX_WATCHED:,} can be kept; say output=, or take a smaller problem"
        )
    return candidates


def _only_written(kernel: str, written: Mapping[str, npt.NDArray[np.int64]], output: str | None) -> str:
    names = [name for name, writers in written.items() if (writers >= 0).any()]
    if len(names) == 1:
        return names[0]
    if not names:
        tensors = f"{output!r}" if output is not None else "none of its tensors: " + ", ".join(written)
        raise UsageError(
            f"{kernel} wrote {'nothing to ' if output is not None else ''}{tensors}; say output="
        )
    raise UsageError(f"{kernel} wrote {len(names)} tensors: {', '.join(names)}; say which one: output=")
