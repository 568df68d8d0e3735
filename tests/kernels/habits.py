"""Habits of PyTorch's functions that operators should share: one function each, for any operator. Each takes
a `Call` and raises AssertionError, or the operator's error; it skips by `Missing` if the operator has no such
call. `python tests/kernels/habits.py` writes docs/pytorch_habits.md from them.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import operator_cases as cases
import torch
import torch.fx.experimental._config

import workbench as wb
from workbench.errors import ShapeError, WorkbenchError
from workbench.operators import KernelSpec, Range
from workbench.operators.autocast import cast, rule_of
from workbench.runtime import device
from workbench.targets import TILE_TARGETS

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs" / "pytorch_habits.md"
SIZES = 8


class Missing(Exception):
    """Why an operator has no call of the kind."""


@dataclass(frozen=True)
class Call:
    """A small call of an operator on a target; `seed` draws its shape."""

    spec: KernelSpec
    arch: str
    seed: str

    @cached_property
    def shape(self) -> cases.Shape:
        return cases.thin(self.spec, self.arch, self.seed)[0]

    def inputs(self, shape: cases.Shape | None = None) -> dict[str, Any]:
        return self.spec.make_inputs(shape or self.shape, device=device(f"emulated:{self.arch}"))

    def run(self, **inputs: Any) -> list[torch.Tensor]:
        made = self.spec(**inputs, device=f"emulated:{self.arch}")
        return list(made.values()) if isinstance(made, dict) else [made]

    def sizes(self) -> tuple[str, list[dict[str, Any]]]:
        """A size of the operator, and inputs for several values of it."""
        for name, parameter in self.spec.parameters.items():
            if not isinstance(parameter, Range):
                continue
            # PyTorch treats sizes of 0 and 1 specially.
            first = parameter.low + parameter.step * -(-max(2 - parameter.low, 0) // parameter.step)
            # By the tensors and their numbers of axes: PyTorch makes another graph for others, as it should.
            groups: dict[Any, list[dict[str, Any]]] = {}
            # Some beyond a tile or a chunk of 16.
            for value in (first + (n + 16 * (n % 4 > 1)) * parameter.step for n in range(4 * SIZES)):
                if value > parameter.high:
                    break
                try:
                    shape = self.spec.shape({**self.shape, name: value})
                    # Equal sizes distinguish forms of a bias: another graph, as it should be.
                    if value in (shape[other] for other in shape if other != name):
                        continue
                    inputs = self.inputs(shape)
                    # PyTorch treats a size of zero, even a random one, specially.
                    whole = all(tensor.numel() for tensor in tensors_of(inputs).values())
                    if whole and self.spec.shape(self.spec.shape_of(**inputs))[name] == value:
                        alike = groups.setdefault(_kinds(inputs), [])
                        # Each call draws new numbers.
                        alike.append({**inputs, **(_numbers(alike[0]) if alike else {})})
                        if len(alike) == SIZES:
                            return name, alike
                except (WorkbenchError, RuntimeError, ValueError):
                    continue
        raise Missing("none of its sizes varies alone")


def tensors_of(inputs: dict[str, Any]) -> dict[str, torch.Tensor]:
    return {name: value for name, value in inputs.items() if isinstance(value, torch.Tensor)}


def _numbers(inputs: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in inputs.items() if not isinstance(value, torch.Tensor)}


def _kinds(inputs: dict[str, Any]) -> tuple[Any, ...]:
    """The dtype of each input and which of its axes have size 1, None for one that is no tensor."""
    return tuple(
        (
            name,
            (value.dtype, tuple(size == 1 for size in value.shape))
            if isinstance(value, torch.Tensor)
            else None,
        )
        for name, value in inputs.items()
    )


def on_meta(inputs: dict[str, Any]) -> dict[str, Any]:
    return {n: v.to("meta") if isinstance(v, torch.Tensor) else v for n, v in inputs.items()}


def copied(inputs: dict[str, Any]) -> dict[str, Any]:
    return {n: v.clone() if isinstance(v, torch.Tensor) else v for n, v in inputs.items()}


def equal(call: Call, got: list[torch.Tensor], expected: list[torch.Tensor]) -> None:
    for a, b in zip(got, expected, strict=True):
        assert (a.shape, a.dtype) == (b.shape, b.dtype)
        if not call.spec.nondeterministic:
            # A tensor of one element counts as contiguous, whatever its strides, which `view` looks at.
            flat = (each.detach().flatten() for each in (a, b))
            bits = (each.clone(memory_format=torch.contiguous_format).view(torch.uint8) for each in flat)
            assert torch.equal(*bits)


def one_graph(call: Call) -> None:
    """`torch.compile(dynamic=True)` makes one graph for eight values of a size."""
    _, several = call.sizes()
    graphs = []

    def backend(graph: Any, _: Any) -> Any:
        graphs.append(graph)
        return graph.forward

    torch.compiler.reset()
    spec = call.spec
    compiled = torch.compile(lambda given: spec(**given), backend=backend, dynamic=True, fullgraph=True)
    for inputs in several:
        # Sizes that happen to be equal are no reason to compile anew.
        with torch.fx.experimental._config.patch(use_duck_shape=False):
            result = compiled(on_meta(inputs))
        expected = spec.outputs(spec.shape(spec.shape_of(**inputs)), inputs)
        if expected:
            got = result if isinstance(result, dict) else {next(iter(expected)): result}
            assert {n: (tuple(t.shape), t.dtype) for n, t in got.items()} == {
                n: (tuple(dims), dtype) for n, (dims, dtype) in expected.items()
            }
    assert len(graphs) == 1, f"{len(graphs)} graphs"


def meta(call: Call) -> None:
    """Tensors on meta give tensors on meta, through the spec and through torch.ops."""
    inputs = call.inputs()
    expected = call.spec.outputs(call.spec.shape(call.spec.shape_of(**inputs)), inputs)
    for result in (call.spec(**on_meta(inputs)), call.spec.operator.overload(**on_meta(inputs))):
        got = list(result.values()) if isinstance(result, dict) else result
        got = [got] if isinstance(got, torch.Tensor) else list(got or ())
        assert all(tensor.is_meta for tensor in got)
        if expected:
            assert [tuple(t.shape) for t in got] == [tuple(dims) for dims, _ in expected.values()]


def no_rows(call: Call) -> None:
    """A size of zero gives empty outputs, or an error about the size."""
    name, (first, second, *_) = call.sizes()
    empty = {}
    for key, value in first.items():
        if isinstance(value, torch.Tensor) and value.shape != second[key].shape:
            for dim, (a, b) in enumerate(zip(value.shape, second[key].shape, strict=True)):
                value = value if a == b else value.narrow(dim, 0, 0)
        empty[key] = value
    if call.spec.mutates or not any(t.numel() == 0 for t in tensors_of(empty).values()):
        raise Missing(f"{name} zero leaves nothing that is empty")
    try:
        outputs = call.run(**copied(empty))
    except ShapeError as error:
        raise Missing(str(error)) from None
    assert all(tensor.numel() == 0 for tensor in outputs)
    assert [t.shape for t in outputs] == [
        t.shape for t in (lambda m: m.values() if isinstance(m, dict) else [m])(call.spec(**on_meta(empty)))
    ]


def views(call: Call) -> None:
    """Transposed tensors, and separated rows, give the same bits, also if written in place."""
    inputs = call.inputs()
    arguments = copied(inputs)
    expected = [*call.run(**arguments), *(arguments[name] for name in call.spec.mutates)]
    for name, tensor in tensors_of(inputs).items():
        if tensor.dim() < 2 or tensor.numel() == 0:
            continue
        wide = torch.zeros(*tensor.shape[:-1], tensor.shape[-1] + 64, dtype=tensor.dtype)
        for view in (wide[..., : tensor.shape[-1]], torch.empty_like(tensor.mT.contiguous()).mT):
            arguments = {**copied(inputs), name: view.copy_(tensor)}
            equal(call, [*call.run(**arguments), *(arguments[each] for each in call.spec.mutates)], expected)


def out(call: Call) -> None:
    """`out=` is written, also if its elements are not adjacent."""
    if call.spec.mutates:
        raise Missing("writes its inputs in place")
    if "out" in call.spec.signature.parameters:
        raise Missing("an input is called out; outputs are given by their own names")
    inputs = call.inputs()
    expected = call.run(**inputs)
    for apart in (False, True):
        into = [
            torch.empty(*t.shape, 2, dtype=t.dtype)[..., 0] if apart else torch.empty_like(t)
            for t in expected
        ]
        results = call.run(**inputs, out=into[0] if len(into) == 1 else tuple(into))
        assert all(a is b for a, b in zip(results, into, strict=True))
        equal(call, into, expected)


def vmap(call: Call) -> None:
    """`torch.vmap` over a batch is a call for each of its elements."""
    inputs = call.inputs()
    tensors = tensors_of(inputs)
    rest = {name: value for name, value in inputs.items() if name not in tensors}
    if call.spec.mutates:
        raise Missing("writes its inputs in place")
    overload = call.spec.operator.overload
    with _on(call):
        expected = overload(**inputs)
        stacked = {name: torch.stack([tensor, tensor]) for name, tensor in tensors.items()}
        results = torch.vmap(lambda given: overload(**given, **rest))(stacked)
    for a, b in zip(_listed(results), _listed(expected), strict=True):
        equal(call, [a[1]], [b])


def traced(call: Call) -> None:
    """`torch.jit.trace` records one call of the operator."""
    inputs = call.inputs()
    tensors = tensors_of(inputs)
    rest = {name: value for name, value in inputs.items() if name not in tensors}
    spec = call.spec

    def function(*given: torch.Tensor) -> Any:
        made = spec(**dict(zip(tensors, given, strict=True)), **rest)
        return tuple(made.values()) if isinstance(made, dict) else made

    with _on(call), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        trace = torch.jit.trace(function, tuple(copied(tensors).values()), check_trace=False)
    assert f"hipkittens::{spec.operator.name}" in str(trace.graph)


def autocast(call: Call) -> None:
    """Under autocast, float32 with bf16 is cast by the operator's rule, and nothing else is."""
    inputs, changing = call.inputs(), call.spec.changing_inputs
    halves = (torch.bfloat16, torch.float16)
    wide = [n for n, v in tensors_of(inputs).items() if n in changing and v.dtype in halves][1:]
    mixed = {**inputs, **{name: inputs[name].float() for name in wide}}
    fitted = cast(call.spec, mixed, torch.bfloat16)
    for name, value in tensors_of(inputs).items():
        if name not in call.spec.changing_inputs:
            assert fitted[name].dtype == value.dtype
    expected = call.spec(**on_meta(fitted))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        results = call.spec(**on_meta(fitted))
    assert [t.dtype for t in _listed(results)] == [t.dtype for t in _listed(expected)]


HABITS: dict[str, Callable[[Call], None]] = {
    "one graph for 8 sizes": one_graph,
    "meta": meta,
    "no rows": no_rows,
    "autocast": autocast,
    "views": views,
    "out=": out,
    "vmap": vmap,
    "jit.trace": traced,
}
WITHOUT_LAUNCHES = ("one graph for 8 sizes", "meta", "autocast")
"""Habits that compile no kernel and take a second or less."""


def _listed(made: Any) -> list[torch.Tensor]:
    values = made.values() if isinstance(made, dict) else made
    return [values] if isinstance(values, torch.Tensor) else list(values or ())


def _on(call: Call) -> Any:
    """`torch.ops` takes no device: the target's is made the default."""
    import contextlib
    import os
    from unittest import mock

    stack = contextlib.ExitStack()
    stack.enter_context(mock.patch.dict(os.environ, HIPKITTENS_DEVICE=f"emulated:{call.arch}"))
    return stack


def cell(name: str, habit: str, arch: str) -> str:
    """Cell of the table: yes, or why not."""
    try:
        HABITS[habit](Call(wb.kernels[name], arch, "docs"))
    except Missing as reason:
        return f"none: {str(reason).partition(';')[0].removeprefix(name.partition('/')[2] + ': ')}"
    except Exception as error:
        return f"**no**: {type(error).__name__}"
    return "yes"


def row(name: str, habits: list[str]) -> str:
    """An operator's row of the table."""
    spec = wb.kernels[name]
    cells = [cell(name, habit, TILE_TARGETS[0]) for habit in habits]
    return f"| `{name}` | {' | '.join(cells)} | {rule_of(spec)} | {', '.join(spec.strided)} |"


def lines(habits: list[str], names: list[str], store: Path | None = None) -> Iterator[str]:
    """The table, line by line.

    Args:
        store: file of the rows with the digests of their sources: a stopped run continues there.
    """
    yield "| operator | " + " | ".join(habits) + " | autocast computes in | read as views |"
    yield "|" + " --- |" * (len(habits) + 3)
    now = digest(habits)
    records = (
        [json.loads(line) for line in store.read_text().splitlines()] if store and store.exists() else []
    )
    rows = {each["name"]: each["row"] for each in records if each["digest"] == now}
    for name in names:
        if name not in rows:
            rows[name] = row(name, habits)
            if store is not None:
                with store.open("a") as file:
                    file.write(json.dumps({"name": name, "digest": now, "row": rows[name]}) + "\n")
        yield rows[name]


def digest(habits: list[str]) -> str:
    """A digest of the habits, and of the sources of operators and their callers."""
    sha256 = hashlib.sha256(" ".join(habits).encode())
    roots = (Path(__file__).parent / "habits.py", ROOT / "workbench" / "operators", ROOT / "kernels")
    for file in sorted(file for root in roots for file in (root.rglob("*.py") if root.is_dir() else [root])):
        sha256.update(file.read_bytes())
    return sha256.hexdigest()[:12]


HEAD = """# PyTorch's habits

You expect an operator to behave like PyTorch's own. `tests/kernels/test_habits.py` asks that of every
operator, and `python tests/kernels/habits.py` writes this table. A call copies a view once, unless the table
says "read as views". `none` says why an operator has no such call. The columns are the habits that compile no
kernel; `--all` adds the others, which the tests ask of each operator on both targets.

For all operators, `torch.func.grad`, `vjp` and `jacrev` use the operator's gradient; `jvp`, `jacfwd` and dual
numbers raise an error, since no kernel computes tangents; `vmap` makes one call per element of the batch.
`torch.jit.script` accepts `torch.ops.hipkittens.*`, but not a spec.

`torch.library.opcheck` passes, except for `test_schema` with 8-bit floats: it compares inputs before and
after the call, and PyTorch cannot compare these types.

"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--all", action="store_true", help="also what compiles kernels")
    parser.add_argument("--store", type=Path, help="a file of rows, by which a stopped run goes on")
    parser.add_argument("names", nargs="*", help="print these operators' rows, write nothing")
    options = parser.parse_args()
    habits = [habit for habit in HABITS if options.all or habit in WITHOUT_LAUNCHES]
    if options.names:
        print("\n".join(lines(habits, options.names)))
    else:
        DOCS.write_text(HEAD + "\n".join(lines(habits, list(wb.kernels), options.store)) + "\n")


if __name__ == "__main__":
    main()
