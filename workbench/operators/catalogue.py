"""Facts about an operator before it runs: its arguments, its targets, its data flow."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, overload

from workbench.display import Shown
from workbench.errors import ShapeError, UsageError
from workbench.operators.modelled import Comparison, comparisons
from workbench.operators.parameters import Choice

if TYPE_CHECKING:
    from workbench.operators.spec import KernelSpec


@dataclass(frozen=True)
class Link:
    """One launch of an operator that needs several.

    Attributes:
        launch: name of the launch.
        takes: names of its input tensors that existed before it.
        makes: names of results and workspace that no earlier launch takes, and of inputs written in place
            that no later launch takes.
    """

    launch: str
    takes: tuple[str, ...]
    makes: tuple[str, ...]


@dataclass(frozen=True)
class Entry:
    """One operator of the catalogue.

    Attributes:
        name: `<category>/<operator>`.
        signature: arguments of its calls, `"(x, weight, eps=1e-05)"`.
        results: names of its outputs, or of the inputs that it writes.
        targets: supported targets.
        settings: choices by parameter, such as `{"dtype": ("bf16", "fp16")}`.
        variants: names of its implementations; empty if there is only one.
        flow: launches in order with the tensors that they read and write, such as `"a, w1 → [gate and up] →
            hidden → [down] → c"`.
        links: tensors that pass between launches, if there are several and their arguments show it.
        doc: description of the computation.
        compared: problems with published figures, each with the modelled time of this kernel.
    """

    name: str
    signature: str
    results: tuple[str, ...]
    targets: tuple[str, ...]
    settings: dict[str, tuple[Any, ...]]
    variants: tuple[str, ...]
    flow: str
    links: tuple[Link, ...]
    doc: str
    compared: tuple[Comparison, ...]

    @property
    def category(self) -> str:
        return self.name.partition("/")[0]

    @classmethod
    @cache
    def from_spec(cls, spec: KernelSpec) -> Entry:
        parameters = [p.replace(annotation=p.empty) for p in spec.signature.parameters.values()]
        results = _results(spec)
        return cls(
            spec.name,
            f"({', '.join(map(str, parameters))})",
            results,
            tuple(spec.targets),
            {
                name: tuple(p.values)
                for name, p in spec.parameters.items()
                if isinstance(p, Choice) and len(p.values) > 1
            },
            tuple(spec.variants),
            _flow(spec, results),
            _links(spec),
            " ".join(spec.doc.split()),
            tuple(comparisons(spec)),
        )

    def has(self, words: Iterable[str]) -> bool:
        """True if every word occurs in its name, text, settings or variants."""
        settings = " ".join(f"{name} {' '.join(map(str, values))}" for name, values in self.settings.items())
        text = " ".join(
            (self.name, self.signature, self.doc, settings, *self.variants, *self.targets)
        ).lower()
        return all(word.lower() in text for word in words)


class Selection(Shown, Sequence[Entry]):
    """Operators of a catalogue; a notebook shows them by category."""

    def __init__(self, entries: Iterable[Entry]) -> None:
        self._entries = tuple(entries)

    @overload
    def __getitem__(self, index: int) -> Entry: ...
    @overload
    def __getitem__(self, index: slice) -> Selection: ...
    def __getitem__(self, index: int | slice) -> Entry | Selection:
        selected = self._entries[index]
        return selected if isinstance(selected, Entry) else Selection(selected)

    def __len__(self) -> int:
        return len(self._entries)

    def __repr__(self) -> str:
        rows = [f"  {entry.name}{entry.signature}" for entry in self._entries]
        return "\n".join([f"<{len(rows)} operators>", *rows])


def search(specs: Iterable[KernelSpec], text: str, category: str | None, target: str | None) -> Selection:
    """Operators with every word of `text`, of the category and for the target if these are named.

    Raises:
        UsageError: there is no such category or target.
    """
    entries = [Entry.from_spec(spec) for spec in specs]
    for field, value, choices in (
        ("category", category, {entry.category for entry in entries}),
        ("target", target, {name for entry in entries for name in entry.targets}),
    ):
        if value is not None and value not in choices:
            expected = ", ".join(sorted(choices))
            raise UsageError(f"search: no operator has {field} {value!r}; there are {expected}")
    return Selection(
        entry
        for entry in entries
        if entry.has(text.split())
        and category in (None, entry.category)
        and (target is None or target in entry.targets)
    )


def _shape(spec: KernelSpec) -> dict[str, Any]:
    return spec.shape(spec.shapes[0])


def _results(spec: KernelSpec) -> tuple[str, ...]:
    """Names of the outputs, from small inputs, and of the inputs that are written in place."""
    import torch

    shape = _shape(spec)
    implementation = spec.implementation(shape, arch=spec.targets[0])
    inputs = spec.bind(**spec.inputs(shape, torch.Generator().manual_seed(0)))
    return (*implementation.outputs(inputs), *spec.mutates)


def _flow(spec: KernelSpec, results: Sequence[str]) -> str:
    """Tensors in, launches, tensors out."""
    try:
        steps = spec.implementation(_shape(spec), arch=spec.targets[0]).steps
    except ShapeError:
        steps = ()
    tensors = [
        name
        for name, p in spec.signature.parameters.items()
        if "Tensor" in str(p.annotation) and p.default is p.empty
    ]
    launches = [f"[{step.name or spec.name.rpartition('/')[2]}]" for step in steps]
    return " → ".join([", ".join(tensors), *launches, ", ".join(results)])


def _links(spec: KernelSpec) -> tuple[Link, ...]:
    """Launches with the tensors among their arguments; none if there is only one, or if each gets all."""
    import torch

    try:
        shape = _shape(spec)
        implementation = spec.implementation(shape, arch=spec.targets[0])
        steps = implementation.steps
    except ShapeError:
        return ()
    if len(steps) < 2 or any(step.arguments is None for step in steps):
        return ()
    inputs = spec.bind(**spec.inputs(shape, torch.Generator().manual_seed(0)))
    spaces = {**implementation.outputs(inputs), **implementation.workspace(inputs)}
    tensors = {**inputs, **{name: torch.empty(*space[:1], dtype=space[1]) for name, space in spaces.items()}}
    memory = {t.untyped_storage().data_ptr(): n for n, t in tensors.items() if isinstance(t, torch.Tensor)}
    used = []
    for step in steps:
        assert step.arguments is not None
        arguments = _tensors_in(step.arguments(shape, tensors).values())
        used.append(
            dict.fromkeys(memory[at] for t in arguments if (at := t.untyped_storage().data_ptr()) in memory)
        )
    links = []
    for n, (step, names) in enumerate(zip(steps, used, strict=True)):
        before = {name for earlier in used[:n] for name in earlier}
        later = {name for after in used[n + 1 :] for name in after}
        new = [name for name in names if name in spaces and name not in before]
        written = [name for name in names if name in spec.mutates and name not in later]
        links.append(Link(step.name, tuple(name for name in names if name not in new), (*new, *written)))
    return tuple(links) if all(link.makes for link in links) else ()


def _tensors_in(values: Iterable[Any]) -> list[Any]:
    """Tensors among arguments of a launch, including nested ones and views."""
    tensors: list[Any] = []
    for value in values:
        if isinstance(value, dict):
            tensors += _tensors_in(value.values())
        elif hasattr(value, "tensor"):
            tensors.append(value.tensor)
        elif hasattr(value, "untyped_storage"):
            tensors.append(value)
    return tensors
