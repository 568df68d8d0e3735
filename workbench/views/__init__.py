"""Plotly figures, tables and panels for results; every number carries a badge with its origin.

`drawers` registers what draws each type of result (`workbench.display`), `renderer` adds pictures to plotly's
figures. `controls.panel` gives live controls for a spec, `live.dashboard` a page that follows everything that
runs, `html.report` a self-contained page, `xcd.view_xcd` the dies that compute a kernel's output.

Nothing is imported here, so that code that needs a table does not wait for plotly.
"""
