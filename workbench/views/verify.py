"""A verification as a table, and as a heat map of the differences between the result and its reference."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from markupsafe import Markup

from workbench.check.compare import Comparison
from workbench.check.results import Diagnosis, VerifyResult, VerifyResults
from workbench.display import plots, presents, shows
from workbench.operators import shape_text
from workbench.step.provenance import Provenance, provenance
from workbench.views.badge import style
from workbench.views.markup import block, code, tag
from workbench.views.opening import button, display_opening, display_table, new_key
from workbench.views.table import Cell, Table

HEAD = (
    "",
    "shape",
    "output",
    "max error",
    "mean error",
    "mismatches",
    "PyTorch max error",
    "2x rule",
    "first",
)

BUTTONS = 4
"""Number of wrong numbers that a click traces back; the next button diagnoses their cause."""

CELLS = 128
"""Maximum rows and columns of cells to draw; a cell shows the largest error of its elements."""


@shows(VerifyResult)
def verify_html(result: VerifyResult) -> Markup:
    """Table of one verification."""
    return _table([result])


@presents(VerifyResult)
def present(result: VerifyResult) -> None:
    """Displays the table; if the launch can be repeated, with buttons that trace wrong numbers back and one
    that finds whether the compiler or the kernel is at fault."""
    again, worst = result.again, result.worst
    if result.passed or not (_followed(result) or result.retry):
        display_table(verify_html(result), repr(result))
        return

    def opened(number: int) -> Provenance | Diagnosis:
        if number == BUTTONS:
            return result.diagnose()
        assert again is not None
        where: dict[str, Any] = {"of": worst.name, "at": tuple(worst.first[number].index)}
        return provenance(again.target, *again.args, **again.kwargs, **again.options, **where)

    key = new_key()
    display_opening(_table([result], key), repr(result), key, opened)


@shows(VerifyResults)
def verifications_html(results: VerifyResults) -> Markup:
    """The table of several shapes."""
    return _table(results)


def _table(results: Iterable[VerifyResult], key: str = "") -> Markup:
    listed = tuple(results)
    names = ", ".join(dict.fromkeys(f"{r.name} on {r.device}" for r in listed))
    rows = [_row(result, c) for result in listed for c in result.outputs.values()]
    return block(Table(HEAD, rows, caption=f"verify: {names}"), *(_whence(result, key) for result in listed))


def _followed(result: VerifyResult) -> bool:
    """True if a wrong number can be traced back."""
    return result.again is not None and bool(result.worst.first)


def _whence(result: VerifyResult, key: str) -> Markup:
    """Buttons, or the calls to make, that trace the first wrong numbers and diagnose their cause."""
    parts = [tag("div", f"{finding.place}: {finding.message}", kind="wb-warn") for finding in result.inexact]
    if result.diagnosis is not None:
        parts.append(tag("div", result.diagnosis.text, kind="wb-warn"))
    worst = result.worst
    if key and _followed(result):
        tip = "Follow it back to the inputs, and open the stepper at its store"
        buttons = [
            button(key, n, f"{worst.name}[{', '.join(map(str, wrong.index))}]", tip)
            for n, wrong in enumerate(worst.first[:BUTTONS])
        ]
        parts.append(tag("div", "where it comes from: ", Markup(" ").join(buttons)))
    elif worst.first:
        call = f'wb.provenance(..., of="{worst.name}", at={tuple(worst.first[0].index)})'
        parts.append(tag("div", "where the first wrong number comes from: ", code(call), kind="wb-dim"))
    if key and result.retry is not None:
        tip = "Compile the same kernels at -O1, run them again, and say whether the compiler is wrong"
        parts.append(tag("div", "whose fault it is: ", button(key, BUTTONS, "try at -O1", tip)))
    return Markup("").join(parts)


def _row(result: VerifyResult, c: Comparison) -> tuple[Cell | str, ...]:
    passed = c.passed and not result.inputs_changed
    if result.inputs_changed:
        first = "overwrote " + ", ".join(result.inputs_changed)
    else:
        first = str(c.first[0]) if c.first else ""
    return (
        Cell("✓ passed", "wb-ok") if passed else Cell("✗ failed", "wb-bad"),
        shape_text(result.shape),
        f"{c.name} {c.dtype}",
        f"{c.max_error:.3g}",
        f"{c.mean_error:.3g}",
        f"{c.mismatches:,}",
        "" if c.pytorch_error is None else f"{c.pytorch_error:.3g}",
        {None: "n/a", True: "holds", False: "broken"}[c.flash_passed],
        first,
    )


@plots(VerifyResults)
def worst_error_map(results: VerifyResults) -> Any:
    """The error map of the shape to look at first."""
    return error_map(max(results, key=lambda r: (not r.passed, r.max_error)))


@plots(VerifyResult)
def error_map(result: VerifyResult) -> Any:
    """The worst output's |got - wanted|, folded to rows and columns; NaN and Inf mismatches stand out.

    Returns:
        a plotly Figure.
    """
    import plotly.graph_objects as go

    worst = result.worst
    grid, rows, columns = _fold(worst.error)
    broken = grid.isinf()
    finite = grid.masked_fill(broken, float("nan"))
    step = (-(-rows // grid.shape[0]), -(-columns // grid.shape[1]))
    common: dict[str, Any] = {"x0": 0, "dx": step[1], "y0": 0, "dy": step[0]}
    figure = go.Figure(
        go.Heatmap(
            z=finite.tolist(),
            colorscale="Viridis",
            colorbar={"title": "max error"},
            hovertemplate="row %{y}, column %{x}<br>error %{z:.3g}<extra></extra>",
            **common,
        )
    )
    if bool(broken.any()):
        marks = [[1.0 if cell else None for cell in row] for row in broken.tolist()]
        figure.add_trace(
            go.Heatmap(
                z=marks,
                colorscale=[[0, "#c0392b"], [1, "#c0392b"]],
                showscale=False,
                hovertemplate="row %{y}, column %{x}<br>NaN or Inf mismatch<extra></extra>",
                **common,
            )
        )
    figure.update_yaxes(autorange="reversed", title="row")
    figure.update_xaxes(title="column")
    verdict = "passed" if result.passed else "FAILED"
    title = f"{result.name}, {worst.name} {worst.shape}: {verdict}, max error {worst.max_error:.3g}"
    return style(figure, [result.origin], title)


def _fold(error: Any) -> tuple[Any, int, int]:
    """Errors as a matrix (leading dimensions become rows), reduced by maxima to at most CELLS x CELLS."""
    import torch
    from torch.nn import functional

    matrix = error.reshape(-1, error.shape[-1]) if error.dim() > 1 else error.reshape(1, -1)
    if matrix.numel() == 0:
        matrix = torch.zeros(1, 1)
    rows, columns = matrix.shape
    kernel = (-(-rows // CELLS), -(-columns // CELLS))
    reduced = functional.max_pool2d(matrix[None, None].float(), kernel, ceil_mode=True)[0, 0]
    return reduced, rows, columns
