"""What one sees: plotly figures, tables and panels, each figure with its origin beside it.

`drawers` registers what draws each type of result (`workbench.display`), `renderer` adds pictures to plotly's
figures. `controls.panel` gives live controls for a spec, `live.dashboard` a page that follows everything that
runs, `html.report` a page that needs nothing else, `xcd.view_xcd` the dies that compute a kernel's output.

Nothing is imported here: whoever needs a table does not wait for figures.
"""
