"""Operations that look things up: operators, templates, the tile library, errors, devices, past runs."""

from __future__ import annotations

import inspect
import re
import shlex
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Annotated, Literal

from workbench import errors, runtime
from workbench.history.results import history
from workbench.lab import library, templates
from workbench.operations.launch_comment import MARK
from workbench.operations.record import Answer, for_people, operation
from workbench.operators import kernels
from workbench.operators.description import describe as described

MOST = 20
"""Results of a search that an answer lists."""

WIDTH = 240
"""Characters of a text in the results of a search."""


@dataclass(frozen=True)
class Entry:
    """Something with a name.

    Attributes:
        kind: "operator", "function", "template", "error" or "device".
        name: its name.
        text: what it is, in a sentence or a declaration.
        where: header, targets, or what else says where it is.
    """

    kind: str
    name: str
    text: str
    where: str


@dataclass(frozen=True)
class Listed(Answer):
    """Things with names.

    Attributes:
        total: number of all that fit.
        entries: the first of them.
    """

    total: int
    entries: tuple[Entry, ...]

    def __str__(self) -> str:
        lines = [f"{entry.name}  [{entry.where}]  {entry.text}" for entry in self.entries]
        more = self.total - len(self.entries)
        return "\n".join([*lines, *([f"and {more} more"] if more else [])]) or "nothing fits"


@dataclass(frozen=True)
class Page(Answer):
    """A text about one thing: its name, and the text in Markdown or C++."""

    name: str
    text: str = for_people()


@operation
def operators(
    text: Annotated[str, "words that the name or the description has; default: all"] = "",
    category: Annotated[str, 'category such as "gemm"; default: all'] = "",
) -> Listed:
    """List the operators of the kernel library."""
    names = [entry.name for entry in kernels.search(text, category=category or None)]
    entries = [Entry("operator", name, kernels[name].doc, " ".join(kernels[name].targets)) for name in names]
    return Listed(len(entries), tuple(entries))


@operation
def describe(name: Annotated[str, 'name of an operator, such as "gemm/bf16"']) -> Page:
    """Describe an operator: arguments, layouts, sizes, results, errors, and an example."""
    return Page(name, described(kernels[name]).text)


@operation
def template(name: Annotated[str, "name of a template; default: list them"] = "") -> Page:
    """Show a kernel to begin with: a C++ file whose first lines say how it is launched and verified."""
    if not name:
        return Page("templates", "\n".join(f"{t.name}: {t.about}" for t in templates.templates().values()))
    chosen = templates.template(name)
    launch = " \\\n//     ".join(f"--{key} {shlex.quote(text)}" for key, text in chosen.reference.items())
    body = chosen.kernel.partition("\n")[2]
    return Page(name, f"// {MARK} {name} {launch}\n\n// {chosen.about}\n{body}")


@operation
def search(
    text: Annotated[str, 'words such as "row sum of a register tile"'],
    kind: Annotated[Literal["any", "function", "operator", "template", "error"], "only this kind"] = "any",
) -> Listed:
    """Search the tile library's functions, the operators, the templates and the errors."""
    words = set(_words(text))
    if not words:
        raise errors.UsageError(f"search: {text!r} has no word; expected a name or a description")
    scored = [
        (score, n, entry)
        for n, entry in enumerate(_everything())
        if kind in ("any", entry.kind) and (score := _score(words, entry))
    ]
    scored.sort(key=lambda item: (-item[0], item[1]))
    first = (replace(entry, text=textwrap.shorten(entry.text, WIDTH)) for *_, entry in scored[:MOST])
    return Listed(len(scored), tuple(first))


def _everything() -> Iterator[Entry]:
    for function in library.functions():
        text = f"{function.signature}: {function.doc}" if function.doc else function.signature
        yield Entry("function", function.name, text, function.header)
    for name, spec in kernels.items():
        yield Entry("operator", name, spec.doc, " ".join(spec.targets))
    for entry in templates.templates().values():
        yield Entry("template", entry.name, entry.about, "templates")
    for name, kind in _errors().items():
        yield Entry("error", name, " ".join((kind.__doc__ or "").split("Attributes:")[0].split()), "errors")


def _words(text: str) -> list[str]:
    return re.findall(r"[a-z0-9]+", text.lower())


def _score(words: set[str], entry: Entry) -> float:
    """Words of the name count thrice, those within its words twice; 0 unless half of the words occur."""
    name, text = set(_words(entry.name)), set(_words(entry.text))
    within = {word for word in words - name if any(word in part for part in name)}
    if len(words & (name | text) | within) * 2 < len(words):
        return 0.0
    hits = 3 * len(words & name) + 2 * len(within) + len(words & text)
    return hits / (1 + sum(not any(word in part for word in words) for part in name) / 4)


def _errors() -> dict[str, type[errors.WorkbenchError]]:
    return {
        name: kind
        for name, kind in vars(errors).items()
        if inspect.isclass(kind) and issubclass(kind, errors.WorkbenchError)
    }


@operation
def explain(
    error: Annotated[str, 'code of an error, such as "KernelFault", or its whole message'],
) -> Page:
    """Explain an error of the workbench: its cause, and what to do about it."""
    classes = _errors()
    name = next((word for word in re.findall(r"\w+", error) if word in classes), "")
    if not name:
        raise errors.UsageError(
            f"explain: {error!r} names no error of the workbench; expected one of {', '.join(classes)}"
        )
    return Page(name, inspect.cleandoc(classes[name].__doc__ or "").partition("\n\nAttributes:")[0])


@operation
def devices() -> Listed:
    """List the devices that kernels can run on, the default one first."""
    default = runtime.device().name
    found = sorted(runtime.devices(), key=lambda device: device.name != default)
    return Listed(len(found), tuple(Entry("device", d.name, d.label, d.arch) for d in found))


@dataclass(frozen=True)
class Compared(Answer):
    """Differences of two runs.

    Attributes:
        before, after: labels of the runs.
        ratio: time after over time before; None if one has no time.
        counters: change of each counter, as the values before and after.
        text: the same and more for people.
    """

    before: str
    after: str
    ratio: float | None
    counters: dict[str, tuple[float, ...]]
    text: str = for_people()


@operation
def compare(
    before: Annotated[int, "number of a run in this folder's history"],
    after: Annotated[int, "number of a later run; default: the latest of the same kernel"] = 0,
) -> Compared:
    """Compare two runs of this folder's history: time, source, machine code, counters."""
    changes = history().compare(before, after or None)
    counters: dict[str, tuple[float, ...]] = {c.name: (c.before, c.after) for c in changes.counters}
    return Compared(changes.before, changes.after, changes.ratio, counters, str(changes))
