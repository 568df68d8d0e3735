"""Implementations of a product by the schedules of `gemm.cuh`: launch, checks, when each is the choice."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from workbench.errors import ShapeError
from workbench.spec import Launch, Step, Tunables, Variant
from workbench_kernels.families import gemm as family

Sizes = Mapping[str, Any]


def side_of(shape: Sizes) -> int:
    """Rows and columns of C that a work-group of the plain loop computes."""
    fitting = 64 if min(shape["m"] // shape.get("groups", 1), shape["n"]) <= 64 else 128
    return shape.get("side") or fitting


@dataclass(frozen=True)
class Product:
    """What is multiplied, and what becomes of it; its methods are the implementations.

    Attributes:
        element: C++ type of A's and B's elements.
        result: that of C's.
        epilogue: that of the epilogue.
        size: bytes of an element of A and B.
        check: raises for what no implementation takes.
        problem: which part a work-group takes, from `gemm_problem.cuh`.
        sums: what becomes of the products of a step, from `gemm_sums.cuh`: the 8-wave ping-pong alone has
            others.
        side: rows of C that a work-group of the plain loop computes, and columns of B.
        of_b: columns of B for each of C.
        sides: what `side` may be tuned to; 0: as it is.
    """

    element: Callable[[Sizes], str]
    result: Callable[[Sizes], str]
    epilogue: Callable[[Sizes], str]
    size: Callable[[Sizes], int]
    check: Callable[[Sizes, str], None]
    problem: str = "batches"
    sums: str = "added_sums"
    side: Callable[[Sizes], int] = side_of
    of_b: int = 1
    sides: tuple[int, ...] = ()

    def instance(self, schedule: str, shape: Sizes, *more: str) -> dict[str, object]:
        """The macro that names the C++ type of a schedule; `more` stands before the epilogue."""
        problem = (self.problem,) if self.problem != "batches" else family.order(shape)
        if self.sums != "added_sums":
            problem = (*(problem or (self.problem,)), self.sums)
        arguments = (self.element(shape), self.result(shape), *more, self.epilogue(shape), *problem)
        return {"GEMM": f"{schedule}<{', '.join(arguments)}>"}

    @property
    def order(self) -> dict[str, tuple[int, ...]]:
        """Tunables: the order of the tiles of C."""
        return family.ORDER if self.problem == "batches" and self.of_b == 1 else {}

    @property
    def tiles(self) -> dict[str, tuple[int, ...]]:
        """Tunables: the tiles of the plain loop."""
        return {"side": self.sides} if self.sides else {}

    def launch(self, tile: int, threads: int) -> Callable[[Sizes, str], Launch]:
        """A work-group for each tile of C; of groups as many as any division into them has, each of which may
        end with a part of one."""

        def of(shape: Sizes, arch: str) -> Launch:
            whole = family.launch(tile, threads, tile // self.of_b)(shape, arch)
            if "groups" not in shape:
                return whole
            high = -(-shape["m"] // tile) + shape["groups"]
            return Launch(
                grid=high * -(-shape["n"] // tile), block=threads, dynamic_shared=whole.dynamic_shared
            )

        return of

    def plain(self) -> dict[str, Any]:
        """Fields of a spec whose own implementation is the plain loop over two buffers."""

        def define(shape: Sizes, arch: str) -> dict[str, object]:
            layout = f"layout::{shape.get('layout', 'nt')}"
            return self.instance("double_buffer", shape, layout, str(self.side(shape)))

        return {
            "source": family.SOURCE,
            "entry": "gemm",
            "define": define,
            "launch": lambda shape, arch: self.launch(self.side(shape), 256)(shape, arch),
            "check": self.check,
            "tunables": Tunables(**self.tiles, **self.order),
            "flops": family.flops,
        }

    def few_rows(self, shapes: Sequence[Sizes]) -> Variant:
        """Up to 64 rows of A."""

        def check(shape: Sizes, arch: str) -> None:
            self.check(shape, arch)
            family.check_few_rows(shape)

        return Variant(
            lambda shape, arch: shape["layout"] == "nt" and shape["m"] <= 64,
            define=lambda shape, arch: self.instance("few_rows", shape, *map(str, family.few_rows(shape))),
            launch=family.launch_few_rows,
            tunables=Tunables(cols=(0, 16, 32)),
            shapes=shapes,
            check=check,
        )

    def split_k(self, shapes: Sequence[Sizes]) -> Variant:
        """Two steps: the plain loop for each part of K, then the sum of the parts and the epilogue."""

        def check(shape: Sizes, arch: str) -> None:
            self.check(shape, arch)
            if shape["batch"] > 1:
                raise ShapeError(f"GEMM: batch is {shape['batch']}; this implementation takes 1")

        def define(shape: Sizes, arch: str) -> dict[str, object]:
            arguments = (
                self.element(shape),
                "float",
                f"layout::{shape['layout']}",
                str(self.side(shape)),
                "epilogue<>",
                "parts_of_k",
            )
            return {"GEMM": f"double_buffer<{', '.join(arguments)}>"}

        def launch(shape: Sizes, arch: str) -> Launch:
            side = self.side(shape)
            shared = family.launch(side, 256)(shape, arch).dynamic_shared
            grid = (family.tiles(shape, side), family.parts(shape, side))
            return Launch(grid=grid, block=256, dynamic_shared=shared)

        parts = Step(
            "parts",
            "gemm",
            launch,
            arguments=lambda shape, tensors: {
                "a": tensors["a"],
                "b": tensors["b"],
                "c": tensors["parts"],
                "span": family.span(shape, self.side(shape)),
            },
            define=define,
        )
        total = Step(
            "sum",
            "gemm",
            lambda shape, arch: Launch(
                grid=-(-(-(-shape["m"] // 16) * -(-shape["n"] // 16)) // 4), block=256
            ),
            define=lambda shape, arch: {"GEMM": f"sum_parts<{self.result(shape)}, {self.epilogue(shape)}>"},
        )
        return Variant(
            lambda shape, arch: shape["batch"] == 1 and shape["k"] >= 4096 and family.tiles(shape, 128) <= 64,
            steps=(parts, total),
            workspace=lambda shape, tensors: {
                "parts": (
                    (family.parts(shape, self.side(shape)), shape["m"], shape["n"]),
                    torch.float32,
                )
            },
            define=lambda shape, arch: {},
            tunables=Tunables(**self.tiles, parts=(0, 2, 4, 8, 16, 32)),
            shapes=shapes,
            check=check,
        )

    def ping_pong(self, shapes: Sequence[Sizes], **more: Any) -> Variant:
        """Many tiles of 256 x 256, by 8 waves; `more` are further fields of the variant."""
        return self._fast("ping_pong", 512, shapes, tuple(family.BYTES), True, more)

    def interleave(self, shapes: Sequence[Sizes], on: Sequence[str] = ()) -> Variant:
        """The same by 4 waves; the choice on the targets `on`."""
        return self._fast("interleave", 256, shapes, on, False, {})

    def _fast(
        self,
        schedule: str,
        threads: int,
        shapes: Sequence[Sizes],
        on: Sequence[str],
        any_layout: bool,
        more: Sizes,
    ) -> Variant:
        def check(shape: Sizes, arch: str) -> None:
            self.check(shape, arch)
            if not any_layout:
                family.check_nt(shape)
            family.check_fast(shape, self.size(shape))

        def define(shape: Sizes, arch: str) -> dict[str, object]:
            layout = (f"layout::{shape.get('layout', 'nt')}",) if any_layout else ()
            return self.instance(schedule, shape, *layout)

        def fits(shape: Sizes, arch: str) -> bool:
            return arch in on and self.is_large(shape) and (any_layout or family.is_nt(shape))

        return Variant(
            fits,
            define=define,
            launch=self.launch(256, threads),
            tunables=Tunables(**self.order),
            shapes=shapes,
            check=check,
            **more,
        )

    def is_large(self, shape: Sizes) -> bool:
        """Whether the schedules with tiles of 256 x 256 take a shape and keep half of the compute units
        busy; of groups, whether these have two such tiles."""
        if not family.is_fast(shape, self.size(shape)):
            return False
        if "groups" in shape:
            return bool(shape["m"] // shape["groups"] >= 512)
        return family.tiles(shape, 256, 256 // self.of_b) * int(shape["batch"]) >= 128
