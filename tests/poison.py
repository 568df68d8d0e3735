"""Hostile texts, results with one in place of every text, and parsed pages that show its effect."""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Callable, Iterator, Mapping, Sequence
from html.parser import HTMLParser
from pathlib import Path
from types import FunctionType, MethodType
from typing import Any, TypeVar

from markupsafe import Markup

from workbench.codeobject import KernelInfo
from workbench.display import Shown
from workbench.kernel import Kernel, Kernels, Module
from workbench.profile.what_if import Again

T = TypeVar("T")

MARK = "PWND"
"""In every payload; nothing else on a page has it."""

PAYLOADS = (
    f"<script>{MARK}()</script>",
    f"<img src=x onerror={MARK}()>",
    f'"><svg onload={MARK}()>',
    f"'><iframe src=javascript:{MARK}()></iframe>",
    f'" onmouseover="{MARK}()" x="',
    f"' onfocus='{MARK}()' autofocus x='",
    f"` onclick=`{MARK}()`",
    f"</script><script>{MARK}()</script>",
    f"</style><style>@import '{MARK}';</style>",
    f"</title></textarea></pre></td></table><b>{MARK}</b>",
    f"--><!--<b>{MARK}</b>",
    f"<![CDATA[<b>{MARK}</b>]]><?{MARK} x?>",
    f"<a href=javascript:{MARK}()>more</a>",
    f"javascript:{MARK}()",
    f"&lt;b&gt;{MARK}&#60;i&#62;",
    f"<details open ontoggle={MARK}()><summary>{MARK}",
    f"<base href=//{MARK}><meta http-equiv=refresh content=0;url=//{MARK}>",
    f"{{{{{MARK}}}}} ${{{MARK}}} %s %(x)s {{0}} {{}}",
    f"<form action=//{MARK}><button formaction=//{MARK}>\u2028\ufeff</form>",
    f"<template><style><img title='</style><img src=x onerror={MARK}()>'></template>",
)
"""Texts in names, lines, messages or files that could become part of a page."""

# Separators at which the package splits names stay, so that pages differ in text and not in structure.
_HARMLESS = str.maketrans(dict.fromkeys("<>&\"'`=;{}$%@#!?()\\", "x"))


def harmless(text: str) -> str:
    """A text of the same length and words, without characters that are special in HTML."""
    return text.translate(_HARMLESS).replace("--", "xx")


# Modules with the package's own texts, and those that describe the machine.
_OURS = tuple(
    f"workbench.{name}" for name in ("codeobject", "dtypes", "emulator", "runtime", "operators", "targets")
)
_WHOLE = (Kernel, Kernels, Module)
_LEFT = frozenset({"code", "code_object", "debug", "plan", "instructions", "last"})
"""Fields that are read from the code, or that are the last launch."""


def _parts(value: Any) -> dict[str, Any] | None:
    """Parts of an object of the package by name; None for an object that does not change."""
    kind = type(value)
    if isinstance(value, _WHOLE):
        return {n: part for n, part in vars(value).items() if n not in _LEFT and not n.startswith("_")}
    if not kind.__module__.startswith("workbench.") or isinstance(value, type):
        return None
    # The data from which a profile is modelled again has instructions and no texts.
    if (kind.__module__.startswith(_OURS) and kind is not KernelInfo) or kind is Again:
        return None
    if dataclasses.is_dataclass(value):
        return {f.name: getattr(value, f.name) for f in dataclasses.fields(value) if hasattr(value, f.name)}
    return dict(vars(value)) if hasattr(value, "__dict__") else None


def swapped(value: T, change: Callable[[str, str], str], at: str = "") -> T:
    """A copy of a result with each text replaced by `change` of the text and its place.

    A place is such as ".results.[].time.unit"; "{}" and "key" are all values and keys of a mapping.
    """
    result: Any = value
    if isinstance(value, Markup | enum.Enum | FunctionType | MethodType):
        return value
    if isinstance(value, str):
        result = change(at, value)
    elif isinstance(value, Path):
        result = Path(change(at, str(value)))
    elif isinstance(value, Mapping) and not isinstance(value, Shown):
        result = {swapped(k, change, f"{at}.key"): swapped(v, change, f"{at}.{{}}") for k, v in value.items()}
    elif isinstance(value, tuple) and hasattr(value, "_fields"):
        result = type(value)(*(swapped(v, change, f"{at}.{n}") for n, v in value._asdict().items()))
    elif isinstance(value, list | tuple | set | frozenset):
        result = type(value)(swapped(member, change, f"{at}.[]") for member in value)
    elif (parts := _parts(value)) is not None:
        result = object.__new__(type(value))
        for name, part in (vars(value) if isinstance(value, _WHOLE) else {}).items():
            object.__setattr__(result, name, part)
        for name, part in parts.items():
            # A kernel's module has the kernel, which is made once.
            whole = isinstance(value, Kernel) and isinstance(part, Module)
            object.__setattr__(result, name, part if whole else swapped(part, change, f"{at}.{name}"))
    return result  # type: ignore[no-any-return]


def poisoned(value: T, text: str, looked_up: Sequence[str] = ()) -> T:
    """A result with each text replaced; texts that differed still differ.

    Args:
        looked_up: endings of places that accept no other text.
    """
    numbers: dict[str, int] = {}

    def change(at: str, before: str) -> str:
        # An empty text means that there is nothing.
        if not before or at.endswith(tuple(looked_up)):
            return before
        return f"{text} {numbers.setdefault(before, len(numbers))}"

    return swapped(value, change)


class Page(HTMLParser):
    """Elements of an HTML page.

    Attributes:
        elements: each element with the names of its attributes, in their order.
        wrong: effects of a payload: values of elements or attributes that are not just visible text.
    """

    SHOWN = ("title", "aria-label", "data-title", "alt")
    """Attributes whose value is text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, tuple[str, ...]]] = []
        self.wrong: list[str] = []
        self._raw = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, tuple(name for name, _ in attrs)))
        self._raw = tag if tag in ("script", "style") else ""
        for name, value in attrs:
            normalized = (value or "").strip().lower()
            runs = (
                name.startswith("on")
                or normalized.startswith("javascript:")
                or name in ("srcdoc", "formaction")
            )
            if (runs or MARK in f"{tag}{name}{value}") and name not in self.SHOWN:
                self.wrong.append(f'<{tag} {name}="{value}">')

    def handle_endtag(self, tag: str) -> None:
        self._raw = ""

    def handle_data(self, data: str) -> None:
        if MARK in data and (self._raw == "style" or (self._raw == "script" and "<" in data)):
            self.wrong.append(f"{self._raw}: {data[:200]}")

    def handle_comment(self, data: str) -> None:
        if MARK in data:
            self.wrong.append(f"<!--{data}-->")

    def unknown_decl(self, data: str) -> None:
        self.wrong.append(f"<![{data}]>")

    def handle_pi(self, data: str) -> None:
        self.wrong.append(f"<?{data}>")


def texts(tree: Any) -> Iterator[str]:
    """Texts of a plotly figure's tree, without the keys."""
    if isinstance(tree, str):
        yield tree
    elif isinstance(tree, Mapping):
        for branch in tree.values():
            yield from texts(branch)
    elif isinstance(tree, list | tuple) or (hasattr(tree, "dtype") and tree.dtype == object):
        for branch in tree:
            yield from texts(branch)
