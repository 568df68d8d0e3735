"""Heat map of where a result differs from its reference."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from workbench.origin import Origin
from workbench.views.badge import style

if TYPE_CHECKING:
    from workbench.check.results import VerifyResult

CELLS = 128
"""Most rows and columns of cells drawn; a cell shows the largest error of the elements in it."""


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
    # On an emulated device the values are the kernel's own, computed exactly; on a GPU they were read back.
    origin = Origin.COUNTED if result.device.startswith("emulated") else Origin.MEASURED
    return style(figure, [origin], title)


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
