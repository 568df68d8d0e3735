"""What there is to know of an operator before it is run: how it is called, where it runs, how data flows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, overload

from workbench.display import Shown
from workbench.errors import ShapeError, UsageError
from workbench.spec.parameters import Choice
from workbench.spec.published import Published

if TYPE_CHECKING:
    from workbench.spec.spec import KernelSpec


@dataclass(frozen=True)
class Entry:
    """One operator of a catalogue.

    Attributes:
        name: `<category>/<operator>`.
        signature: `"(x, weight, eps=1e-05)"`; its calls take these.
        results: names of what it gives, or of the inputs that it writes.
        targets: those that its source supports.
        settings: choices by parameter, such as `{"dtype": ("bf16", "fp16")}`.
        variants: names of its implementations; none where there is one.
        flow: launches in order with what goes into them and comes out, such as
            `"a, w1 → [gate and up] → hidden → [down] → c"`.
        doc: what it computes.
        published: figures of others.
    """

    name: str
    signature: str
    results: tuple[str, ...]
    targets: tuple[str, ...]
    settings: dict[str, tuple[Any, ...]]
    variants: tuple[str, ...]
    flow: str
    doc: str
    published: tuple[Published, ...]

    @property
    def category(self) -> str:
        return self.name.partition("/")[0]

    @classmethod
    @cache
    def of(cls, spec: KernelSpec) -> Entry:
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
            " ".join(spec.doc.split()),
            tuple(spec.published),
        )

    def has(self, words: Iterable[str]) -> bool:
        """Whether each word is in its name, its text, its settings or its variants."""
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
        found = self._entries[index]
        return found if isinstance(found, Entry) else Selection(found)

    def __len__(self) -> int:
        return len(self._entries)

    def __repr__(self) -> str:
        rows = [f"  {each.name}{each.signature}" for each in self._entries]
        return "\n".join([f"<{len(rows)} operators>", *rows])


def search(specs: Iterable[KernelSpec], text: str, category: str | None, target: str | None) -> Selection:
    """Those with every word of `text`, of a category and for a target where these are named.

    Raises:
        UsageError: there is no such category or target.
    """
    entries = [Entry.of(spec) for spec in specs]
    for what, given, known in (
        ("category", category, {each.category for each in entries}),
        ("target", target, {name for each in entries for name in each.targets}),
    ):
        if given is not None and given not in known:
            there = ", ".join(sorted(known))
            raise UsageError(f"search: no operator has {what} {given!r}; there are {there}")
    return Selection(
        each
        for each in entries
        if each.has(text.split())
        and category in (None, each.category)
        and (target is None or target in each.targets)
    )


def _shape(spec: KernelSpec) -> dict[str, Any]:
    return spec.shape(spec.shapes[0])


def _results(spec: KernelSpec) -> tuple[str, ...]:
    """Names of the outputs, as small inputs give them, and of the inputs that are written in place."""
    import torch

    shape = _shape(spec)
    implementation = spec.implementation(shape, arch=spec.targets[0])
    inputs = spec.bind(**spec.inputs(shape, torch.Generator().manual_seed(0)))
    return (*implementation.outputs(shape, inputs), *spec.mutates)


def _flow(spec: KernelSpec, results: Sequence[str]) -> str:
    """Tensors in, launches, tensors out."""
    try:
        steps = spec.implementation(_shape(spec), arch=spec.targets[0]).active_steps(
            _shape(spec), spec.targets[0]
        )
    except ShapeError:
        steps = ()
    tensors = [
        name
        for name, p in spec.signature.parameters.items()
        if "Tensor" in str(p.annotation) and p.default is p.empty
    ]
    launches = [f"[{step.name or spec.name.rpartition('/')[2]}]" for step in steps]
    return " → ".join([", ".join(tensors), *launches, ", ".join(results)])
