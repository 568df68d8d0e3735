"""Templates: a kernel with its launch, inputs and reference, as the beginning of a notebook.

Each is a Markdown file of this folder: a title, a sentence, a `%%hipkittens` cell, and a Python cell whose
last line is `wb.verify(launch, reference, inputs=..., outputs=[...])`. The Verify button also uses that line,
so nothing is written twice and a new template is one file. The front end has them as data, written by `python
-m workbench.lab.templates`.
"""

from __future__ import annotations

import ast
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from workbench.errors import UsageError

FOLDER = Path(__file__).parent
SOURCE = FOLDER.parent / "src" / "templates.ts"

SETUP = "%load_ext workbench\n\nimport torch\n\nimport workbench as wb"
"""Code that has to run before a template's cells."""

HINT = (
    "Press **Verify** in the HipKittens sidebar, or run the cells: both compare with PyTorch. Then change "
    "the kernel, and verify again."
)

_FILE = re.compile(
    r"## (?P<title>[^\n]+)\n\n(?P<about>[^\n]+)\n\n"
    r"```cpp\n(?P<kernel>.*?)\n```\n\n```python\n(?P<check>.*?)\n```\n",
    re.DOTALL,
)


@dataclass(frozen=True)
class Template:
    """A kernel template for a new notebook.

    Attributes:
        name: name of the template, such as "attention".
        title: title, such as "Attention".
        about: description of the kernel, one sentence.
        kernel: text of the `%%hipkittens` cell.
        check: text of the Python cell with inputs, launch and `wb.verify`.
    """

    name: str
    title: str
    about: str
    kernel: str
    check: str

    @property
    def reference(self) -> dict[str, str]:
        """The launch, inputs, outputs and reference of `check`, each as Python that needs only `torch`.

        So Verify works in a kernel where no other cell has run; names that the cell assigns are replaced by
        their values.
        """
        *before, last = ast.parse(self.check).body
        values: dict[str, ast.expr] = {}
        for line in before:
            assert isinstance(line, ast.Assign), ast.unparse(line)
            values |= _assigned(line.targets[0], _Replaced(values).visit(line.value))
        assert isinstance(last, ast.Expr), ast.unparse(last)
        call = _Replaced(values).visit(last.value)
        assert isinstance(call, ast.Call), ast.unparse(call)
        launch, reference = call.args
        keywords = {word.arg: word.value for word in call.keywords}
        return {
            "launch": ast.unparse(launch),
            "inputs": ast.unparse(keywords["inputs"]),
            "outputs": ", ".join(ast.literal_eval(keywords["outputs"])),
            "reference": ast.unparse(reference),
        }

    @property
    def cells(self) -> list[dict[str, Any]]:
        """Markdown, kernel and check, each with `cell_type`, `metadata` and `source`."""
        text = f"## {self.title}\n\n{self.about}\n\n{HINT}"
        head = {"cell_type": "markdown", "metadata": {}, "source": text}
        kernel = _code(self.kernel, {"hipkittens": {"reference": self.reference}})
        return [head, kernel, _code(self.check, {})]


class _Replaced(ast.NodeTransformer):
    """Replaces names by expressions, and modules' kernels by the kernels' names."""

    def __init__(self, values: dict[str, ast.expr]) -> None:
        self.given = values

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self.given.get(node.id, node)

    def visit_Lambda(self, node: ast.Lambda) -> ast.expr:
        parameters = {argument.arg for argument in node.args.args}
        inside = _Replaced({name: value for name, value in self.given.items() if name not in parameters})
        return ast.Lambda(node.args, inside.visit(node.body))

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        # module["kernel"]: the magic knows the cell's kernels by their names.
        if isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str):
            return ast.Name(node.slice.value, ast.Load())
        return self.generic_visit(node)


def _assigned(target: ast.expr, value: ast.expr) -> dict[str, ast.expr]:
    """Each name with its value; both names for `a, b = 1, 2`."""
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
        pairs = zip(target.elts, value.elts, strict=True)
        return {name: expression for pair in pairs for name, expression in _assigned(*pair).items()}
    assert isinstance(target, ast.Name), ast.unparse(target)
    return {target.id: value}


def _code(source: str, metadata: dict[str, Any]) -> dict[str, Any]:
    return {"cell_type": "code", "metadata": metadata, "source": source}


def read(path: Path) -> Template:
    """The template of a file, whose name is its number and its name: `04_attention.md`.

    Raises:
        UsageError: the file is not of the form above.
    """
    match = _FILE.fullmatch(path.read_text(encoding="utf-8"))
    if match is None:
        raise UsageError(
            f"{path}: expected a title (##), a sentence, a block ```cpp and a block ```python, an empty line "
            "between each"
        )
    return Template(path.stem.partition("_")[2], **match.groupdict())


def templates() -> dict[str, Template]:
    """All templates by name, from the simplest on."""
    return {template.name: template for template in map(read, sorted(FOLDER.glob("*.md")))}


def template(name: str) -> Template:
    """A template by its name.

    Raises:
        UsageError: there is no template of that name.
    """
    by_name = templates()
    if name not in by_name:
        raise UsageError(f"there is no template {name!r}; expected one of {', '.join(by_name)}")
    return by_name[name]


def notebook(name: str) -> dict[str, Any]:
    """A notebook with the cells of a template, as JSON has it.

    Raises:
        UsageError: there is no template of that name.
    """
    head, *cells = template(name).cells
    cells = [head, _code(SETUP, {}), *cells]
    for number, cell in enumerate(cells):
        cell["id"] = f"cell-{number}"
        if cell["cell_type"] == "code":
            cell |= {"outputs": [], "execution_count": None}
    return {
        "cells": cells,
        "metadata": {
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
            "language_info": {"name": "python"},
        },
        "nbformat": 4,
        "nbformat_minor": 5,
    }


def write_notebook(name: str, path: Path) -> None:
    """Writes that notebook.

    Raises:
        UsageError: there is no template of that name, or the file already exists.
    """
    text = json.dumps(notebook(name), indent=1, ensure_ascii=False) + "\n"
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}; name another file") from None


_HEAD = """/** Written by `python -m workbench.lab.templates` from its folder's files: change those. */

import type { PartialJSONObject } from '@lumino/coreutils';

export interface ITemplateCell extends PartialJSONObject {
  cell_type: 'code' | 'markdown';
  metadata: PartialJSONObject;
  source: string;
}

export interface ITemplate {
  name: string;
  title: string;
  about: string;
  cells: readonly ITemplateCell[];
}

/** What a template's cells need before them. */
"""


def front_end() -> str:
    """The text of `src/templates.ts`."""
    rows = [
        {"name": template.name, "title": template.title, "about": template.about, "cells": template.cells}
        for template in templates().values()
    ]
    return (
        f"{_HEAD}export const SETUP = {json.dumps(SETUP)};\n\n"
        f"export const TEMPLATES: readonly ITemplate[] = {json.dumps(rows, indent=2, ensure_ascii=False)};\n"
    )
