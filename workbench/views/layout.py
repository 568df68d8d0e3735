"""The layout explorer's figure: a tile and its memory by lane, with a slider over accesses and phases."""

from __future__ import annotations

import html
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from workbench.errors import UsageError
from workbench.views.badge import STYLE, badge, badges, style

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from workbench.tiles import LayoutResult, Row, WaveAccess

    Grid = npt.NDArray[np.float32]

LINE_BYTES = 128
"""Width of global memory as drawn: a cache line."""

MAX_STEPS = 256
"""Positions of the slider."""

MAX_CELLS = 2_000_000
"""Cells in all positions together: each is a byte of the figure. One with more has the first and says so."""

TEXT_CELLS = 2100
"""Cells of a panel up to which each has a number: of the lane, or without accesses what its colour says."""

CONFLICT = "#e0312d"
CONFLICTS = "rgba(224,49,45,0.7)"
VEIL = "rgba(128,134,145,0.78)"
_CLEAR = "rgba(0,0,0,0)"
_SEEN, _VEILED, _CONFLICTING = 0, 1, 2
_CELL, _BETWEEN = 13, 88


@dataclass(frozen=True)
class _Mode:
    """What colours may say.

    Attributes:
        name: in the menu and on the colour bar.
        value: of a row; None where it has none.
    """

    name: str
    value: Callable[[Row], int | None]


_MODES = (
    _Mode("lane", lambda row: row.lane),
    _Mode("register", lambda row: row.register),
    _Mode("bank", lambda row: row.bank),
    _Mode("phase", lambda row: row.phase),
    _Mode("access", lambda row: row.access),
    _Mode("wave", lambda row: row.wave),
    _Mode("row", lambda row: row.row),
    _Mode("column", lambda row: row.col),
)

_FIELDS: tuple[tuple[str, Callable[[Row], int | None]], ...] = (
    ("element's row", lambda row: row.row),
    ("element's column", lambda row: row.col),
    ("lane", lambda row: row.lane),
    ("held by lane", lambda row: row.holder if row.holder != row.lane else None),
    ("register", lambda row: row.register),
    ("byte of the register", lambda row: row.register_byte),
    ("LDS address", lambda row: row.address),
    ("bank", lambda row: row.bank),
    ("access", lambda row: row.access),
    ("phase", lambda row: row.phase),
    ("bank conflict (1: yes)", lambda row: None if row.phase is None else int(row.conflict)),
    ("wave", lambda row: row.wave),
    ("byte offset in global memory", lambda row: row.offset),
)


@dataclass(frozen=True)
class _Panel:
    """A grid of cells: the tile's elements, or dwords of memory.

    Attributes:
        title: above it.
        shape: rows and columns of cells.
        start: numbers of the first row and column.
        place: row and column of a row's cell; None where it has none.
        first: the first row of each cell that has one.
        x, y: axis titles.
        head: what a hover says first, by plotly's template.
    """

    title: str
    shape: tuple[int, int]
    start: tuple[int, int]
    place: Callable[[Row], tuple[int, int] | None]
    first: dict[tuple[int, int], Row]
    x: str
    y: str
    head: str

    def grid(self, value: Callable[[Row], int | None]) -> Grid:
        """A value in each cell, NaN where there is none."""
        import numpy as np

        found = np.full(self.shape, np.nan, np.float32)
        for place, row in self.first.items():
            number = value(row)
            if number is not None:
                found[self.cell(place)] = number
        return found

    def cell(self, place: tuple[int, int]) -> tuple[int, int]:
        """Where in the grid a place is."""
        return place[0] - self.start[0], place[1] - self.start[1]

    def veil(self, rows: Sequence[Row] | None) -> npt.NDArray[np.uint8]:
        """What lies over the colours: red on conflicts, nothing on the rows' other cells, a veil on the rest.

        None: only the conflicts of all rows.
        """
        import numpy as np

        found = np.full(self.shape, _SEEN if rows is None else _VEILED, np.uint8)
        for row in self.first.values() if rows is None else rows:
            place = self.place(row)
            if place is not None and (rows is not None or row.conflict):
                cell = self.cell(place)
                conflict = row.conflict or found[cell] == _CONFLICTING
                found[cell] = _CONFLICTING if conflict else _SEEN
        return found


Place = Callable[["Row"], "tuple[int, int] | None"]


def _panel(title: str, place: Place, rows: Sequence[Row], width: int, *text: str) -> _Panel:
    """A panel as large as what the rows use; `width` columns where that is not 0."""
    first: dict[tuple[int, int], Row] = {}
    for row in rows:
        at = place(row)
        # A conflict is what one looks for where an element is accessed several times.
        if at is not None and (at not in first or (row.conflict and not first[at].conflict)):
            first[at] = row
    top, bottom = min(y for y, _ in first), max(y for y, _ in first)
    left, right = (0, width - 1) if width else (min(x for _, x in first), max(x for _, x in first))
    return _Panel(title, (bottom - top + 1, right - left + 1), (top, left), place, first, *text)


def _panels(result: LayoutResult) -> list[_Panel]:
    def element(row: Row) -> tuple[int, int]:
        return row.row, row.col

    text = ("column", "row", "element (%{y}, %{x})")
    panels = [_panel(f"elements of {result.question.tile.text}", element, result.rows, 0, *text)]
    if any(row.address is not None for row in result.rows):
        width = result.banks * 4

        def dword(row: Row) -> tuple[int, int] | None:
            at = row.address
            return None if at is None else (at // width, at % width // 4)

        text = ("bank", f"{width} bytes", "dword of bank %{x}")
        panels.append(_panel("shared memory (LDS)", dword, result.rows, result.banks, *text))
    elif any(row.offset is not None for row in result.rows):

        def line(row: Row) -> tuple[int, int] | None:
            at = row.offset
            return None if at is None else (at // LINE_BYTES, at % LINE_BYTES // 4)

        text = ("dword of the line", "line", "line %{y}, dword %{x}")
        title = f"global memory, lines of {LINE_BYTES} bytes"
        panels.append(_panel(title, line, result.rows, LINE_BYTES // 4, *text))
    return panels


@dataclass(frozen=True)
class _Step:
    """A position of the slider.

    Attributes:
        label: what it says.
        rows: of the access and phase; None for all.
        access, phase: their numbers; None where it is about all.
    """

    label: str
    rows: Sequence[Row] | None
    access: int | None = None
    phase: int | None = None


def _steps(result: LayoutResult) -> list[_Step]:
    """Everything at once, then each access and each of its phases."""
    steps = [_Step("all accesses", None)]
    if not result.accesses:
        return steps
    rows: dict[tuple[int, int | None], list[Row]] = {}
    for row in result.rows:
        if row.access is not None:
            rows.setdefault((row.access, None), []).append(row)
            if row.phase is not None:
                rows.setdefault((row.access, row.phase), []).append(row)
    waves = len({a.wave for a in result.accesses}) > 1
    for n, access in enumerate(result.accesses):
        name = f"access {n}" + (f" of wave {access.wave}" if waves else "") + f", {access.opcode}"
        cost = f": {_conflict_text(access.conflicts)}" if access.phases else ""
        steps.append(_Step(name + cost, rows.get((n, None), ()), n))
        if len(access.phases) > 1:
            steps += [
                _Step(f"{name}, {_phase_text(access, p)}", rows.get((n, p), ()), n, p)
                for p in range(len(access.phases))
            ]
    return steps


def _conflict_text(conflicts: int) -> str:
    return f"{conflicts} conflict cycle{'' if conflicts == 1 else 's'}" if conflicts else "no conflict"


def _phase_text(access: WaveAccess, number: int) -> str:
    phase = access.phases[number]
    cycles = f"{phase.cycles} cycle{'' if phase.cycles == 1 else 's'}"
    return f"phase {number} of {len(access.phases)}: {len(phase.lanes)} lanes, {cycles}"


def layout_figure(
    result: LayoutResult, colour: str | None = None, access: int | None = None, phase: int | None = None
) -> Any:
    """The tile above, memory below; menus choose what colours say and which access and phase is lit.

    Args:
        colour: what colours say at first; None: the first that tells anything apart.
        access, phase: which are lit at first; None: all.

    Returns:
        a plotly Figure. It needs no Python behind it: the slider and the menu work in an exported page.

    Raises:
        UsageError: there is no such colour, access or phase here; the message lists what there is.
    """
    from plotly.subplots import make_subplots

    panels = _panels(result)
    heights = [max(110, min(480, panel.shape[0] * _CELL)) for panel in panels]
    figure = make_subplots(
        rows=len(panels),
        cols=1,
        row_heights=heights,
        vertical_spacing=_BETWEEN / (sum(heights) + _BETWEEN * (len(panels) - 1)),
        subplot_titles=[panel.title for panel in panels],
    )
    modes = [mode for mode in _MODES if _differs(panels[0].grid(mode.value))] or [_MODES[-1]]
    mode = next((mode for mode in modes if colour in (None, mode.name)), None)
    if mode is None:
        raise UsageError(f"colour={colour!r}; here there are {', '.join(repr(mode.name) for mode in modes)}")
    steps = _steps(result)
    cells = sum(panel.shape[0] * panel.shape[1] for panel in panels)
    shown = steps[: max(2, min(MAX_STEPS, MAX_CELLS // cells))]
    active = next((n for n, step in enumerate(shown) if (step.access, step.phase) == (access, phase)), None)
    if active is None:
        raise UsageError(
            f"access={access!r}, phase={phase!r}; {result.name} has accesses from 0 to "
            f"{len(result.accesses) - 1}, with the phases that its table shows, and the first "
            f"{len(shown) - 1} of {len(steps) - 1} positions can be drawn"
        )
    for number, panel in enumerate(panels, 1):
        numbers = number == 1 and not result.accesses and _is_small(panel)
        figure.add_trace(_base(panel, mode, number == 1, numbers), row=number, col=1)
    for number, panel in enumerate(panels, 1):
        figure.add_trace(_veil(panel, shown[active].rows), row=number, col=1)
        top, left = panel.start
        bottom, right = top + panel.shape[0], left + panel.shape[1]
        plain = {"row": number, "col": 1, "showgrid": False, "zeroline": False, "tickformat": "d"}
        figure.update_xaxes(title=panel.x, range=[left - 0.5, right - 0.5], **plain)
        figure.update_yaxes(title=panel.y, range=[bottom - 0.5, top - 0.5], **plain)
    if result.accesses:
        for number, panel in enumerate(panels, 1):
            figure.add_trace(_lanes(panel, shown[active].rows), row=number, col=1)
    title = f"{result.name}, {result.arch}"
    if any(a.phases for a in result.accesses):
        title += f": {_conflict_text(result.conflicts)}"
    style(figure, [result.origin], title)
    height = sum(heights) + _BETWEEN * (len(panels) - 1) + 150
    menus = [_menu(panels, modes, modes.index(mode))]
    if len(shown) > 1:
        figure.frames = [_frame(panels, step, str(n)) for n, step in enumerate(shown)]
        figure.update_layout(sliders=[_slider(shown, active)])
        menus.append(_play())
        height += 110
    figure.update_layout(updatemenus=menus, height=height, margin={"t": 100, "b": 60}, showlegend=False)
    figure.update_annotations(selector={"name": "origin"}, yshift=52)
    figure.layout.title.update(y=1, yref="container", yanchor="top", pad={"t": 14})
    if len(shown) < len(steps):
        figure.add_annotation(
            text=f"the slider has the first {len(shown)} of {len(steps)} positions; .rows has all",
            xref="paper",
            yref="paper",
            x=0,
            y=0,
            yshift=-150,
            xanchor="left",
            showarrow=False,
        )
    return figure


def _differs(grid: Grid) -> bool:
    """Whether there is anything to tell apart by colour."""
    import numpy as np

    known = grid[~np.isnan(grid)]
    return bool(known.size) and bool((known != known[0]).any())


def _is_small(panel: _Panel) -> bool:
    """Whether there is room for a number in each cell."""
    return panel.shape[0] * panel.shape[1] <= TEXT_CELLS


def _base(panel: _Panel, mode: _Mode, scale: bool, numbers: bool) -> Any:
    """The cells in colour, with `numbers` in them; the first panel's has the colour bar for both."""
    import numpy as np
    import plotly.graph_objects as go

    # The tile's own panel says the element at the head.
    fields = [(name, panel.grid(value)) for name, value in (_FIELDS[2:] if scale else _FIELDS)]
    fields = [(name, grid) for name, grid in fields if not np.isnan(grid).all()]
    lines = [panel.head, *(f"{name} %{{customdata[{n}]}}" for n, (name, _) in enumerate(fields))]
    text: dict[str, Any] = {}
    if numbers:
        text = {"texttemplate": "%{z}", "textfont": {"size": 9}}
    return go.Heatmap(
        z=panel.grid(mode.value),
        customdata=np.stack([grid for _, grid in fields], axis=-1) if fields else None,
        colorscale="Viridis",
        zmin=0,
        zmax=_top([panel], mode),
        showscale=scale,
        colorbar={"title": {"text": mode.name}, "thickness": 12, "x": 1.01} if scale else None,
        hovertemplate="<br>".join(lines) + "<extra></extra>",
        x0=panel.start[1],
        y0=panel.start[0],
        xgap=1,
        ygap=1,
        hoverongaps=False,
        **text,
    )


def _top(panels: Sequence[_Panel], mode: _Mode) -> int:
    """The greatest value of a mode, which has the last colour."""
    import numpy as np

    grids = [panel.grid(mode.value) for panel in panels]
    return max(1, *(int(np.nanmax(grid)) for grid in grids if not np.isnan(grid).all()), 0)


def _veil(panel: _Panel, rows: Sequence[Row] | None) -> Any:
    import plotly.graph_objects as go

    third = 1 / 3
    # Where all accesses are shown at once, the colours below stay visible.
    conflict = CONFLICTS if rows is None else CONFLICT
    return go.Heatmap(
        z=panel.veil(rows),
        zmin=_SEEN,
        zmax=_CONFLICTING,
        colorscale=[
            [0, _CLEAR],
            [third, _CLEAR],
            [third, VEIL],
            [2 * third, VEIL],
            [2 * third, conflict],
            [1, conflict],
        ],
        showscale=False,
        hoverinfo="skip",
        x0=panel.start[1],
        y0=panel.start[0],
        xgap=1,
        ygap=1,
    )


def _frame(panels: Sequence[_Panel], step: _Step, name: str) -> Any:
    import plotly.graph_objects as go

    count = len(panels)
    data: list[Any] = [_veil(panel, step.rows) for panel in panels]
    data += [_lanes(panel, step.rows) for panel in panels]
    return go.Frame(data=data, traces=[*range(count, 3 * count)], name=name)


def _lanes(panel: _Panel, rows: Sequence[Row] | None) -> Any:
    """The numbers of the lanes that meet in each lit cell, where there is room for them."""
    import plotly.graph_objects as go

    lanes: dict[tuple[int, int], list[int]] = {}
    for row in panel.first.values() if rows is None else rows:
        place = panel.place(row)
        if place is not None and row.lane is not None and row.lane not in lanes.setdefault(place, []):
            lanes[place].append(row.lane)
    if not _is_small(panel):
        lanes = {}
    return go.Scatter(
        x=[place[1] for place in lanes],
        y=[place[0] for place in lanes],
        text=["/".join(map(str, found)) for found in lanes.values()],
        mode="text",
        textfont={"size": 8, "color": "#ffffff", "shadow": "0px 0px 2px #000000"},
        hoverinfo="skip",
        showlegend=False,
    )


def _menu(panels: Sequence[_Panel], modes: Sequence[_Mode], active: int) -> dict[str, Any]:
    count = len(panels)
    return {
        "type": "dropdown",
        "active": active,
        "x": 0,
        "xanchor": "left",
        "y": 1,
        "yanchor": "bottom",
        "pad": {"b": 24},
        "buttons": [
            {
                "label": f"colour: {mode.name}",
                "method": "restyle",
                "args": [
                    {
                        "z": [panel.grid(mode.value) for panel in panels],
                        "zmax": [_top(panels, mode)] * count,
                        "colorbar.title.text": mode.name,
                    },
                    [*range(count)],
                ],
            }
            for mode in modes
        ],
    }


_AT_ONCE = {"mode": "immediate", "frame": {"duration": 0, "redraw": True}, "transition": {"duration": 0}}


def _slider(steps: Sequence[_Step], active: int) -> dict[str, Any]:
    return {
        "active": active,
        "y": 0,
        "pad": {"t": 60, "l": 90},
        "len": 1,
        "ticklen": 3,
        # Only the label of the chosen step: the others would overlap.
        "font": {"color": _CLEAR, "size": 1},
        "currentvalue": {"font": {"size": 13, "color": "#808691"}, "xanchor": "left"},
        "steps": [
            {"label": step.label, "method": "animate", "args": [[str(n)], _AT_ONCE]}
            for n, step in enumerate(steps)
        ],
    }


def _play() -> dict[str, Any]:
    running = {"frame": {"duration": 700, "redraw": True}, "transition": {"duration": 0}, "fromcurrent": True}
    return {
        "type": "buttons",
        "direction": "right",
        "x": 0,
        "xanchor": "left",
        "y": 0,
        "yanchor": "top",
        "pad": {"t": 84},
        "showactive": False,
        "buttons": [
            {"label": "▶", "method": "animate", "args": [None, running]},
            {"label": "❚❚", "method": "animate", "args": [[None], _AT_ONCE]},
        ],
    }


def layout_html(result: LayoutResult) -> str:
    """What the access costs, by instruction."""
    from workbench.tiles.result import by_opcode

    head = f"<b>{html.escape(result.name)}</b> on {html.escape(result.device)} {badge(result.origin)}"
    parts = [f"<div>{head}</div>"]
    if result.accesses:
        names = (
            "instruction",
            "accesses",
            "bytes a lane",
            "banks",
            "phases",
            "LDS cycles",
            "conflict cycles",
        )
        body = "".join(_table_row(opcode, found) for opcode, found in by_opcode(result.accesses).items())
        parts.append(f"<table><tr>{''.join(f'<th>{name}</th>' for name in names)}</tr>{body}</table>")
        facts = ", ".join(
            f"{name} {f.value:,.0f}{f' {f.unit}' if f.unit else ''}" for name, f in result.summary.items()
        )
        parts.append(f'<div class="wb-dim">{html.escape(facts)} {badges(result.summary.values())}</div>')
    return f'{STYLE}<div class="wb">{"".join(parts)}</div>'


def _table_row(opcode: str, accesses: Sequence[WaveAccess]) -> str:
    phases = [phase for access in accesses for phase in access.phases]
    conflicts = sum(access.conflicts for access in accesses)
    widths = "/".join(str(width) for width in sorted({access.bytes for access in accesses}))
    banks = "/".join(str(banks) for banks in sorted({access.banks for access in accesses if access.banks}))
    numbers = [len(accesses), widths, banks or "–"]
    numbers += [len(phases), sum(phase.cycles for phase in phases)] if phases else ["–", "–"]
    cells = "".join(f'<td class="wb-num">{number}</td>' for number in numbers)
    verdict = f'<td class="wb-num {"wb-bad" if conflicts else "wb-ok"}">{conflicts if phases else "–"}</td>'
    return f"<tr><td><code>{html.escape(opcode)}</code></td>{cells}{verdict}</tr>"
