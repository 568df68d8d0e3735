"""axe finds nothing serious in the dashboard, the sidebar and an exported page, in both themes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from workbench.lab import build

if TYPE_CHECKING:
    from conftest import Lab, Server
    from playwright.sync_api import Page

pytestmark = pytest.mark.timeout(1800)

AXE = build.LAB / "node_modules" / "axe-core" / "axe.min.js"
"""Installed with the tools that build the extension."""

SERIOUS = ("serious", "critical")

CELLS = [
    """\
%load_ext workbench
import torch
import workbench as wb""",
    """\
%%hipkittens scale
#include <hip/hip_runtime.h>
__global__ void scale(float *x, float by) {
    x[threadIdx.x] *= by;
}""",
    'wb.profile("activations/softmax", shape={"rows": 16, "cols": 128})',
]


def faults(page: Page, where: str | None = None) -> list[str]:
    """Violations that axe rates as serious in a part of the page, or in all of it: rule, element, reason."""
    if not page.evaluate("typeof axe !== 'undefined'"):
        page.add_script_tag(path=AXE)
    violations: list[dict[str, Any]] = page.evaluate(
        """async where => {
            const { violations } = await axe.run(where ?? document, { resultTypes: ['violations'] });
            return violations.flatMap(({ id, impact, nodes }) => nodes.map(node => ({
                id, impact, html: node.html.slice(0, 160), why: node.failureSummary.slice(0, 300)
            })));
        }""",
        where,
    )
    return [
        f"{violation['id']}: {violation['html']}\n{violation['why']}"
        for violation in violations
        if violation["impact"] in SERIOUS
    ]


@pytest.fixture(scope="module")
def lab(extension: Path, open_lab: Callable[..., Lab], server: Server) -> Lab:
    if not AXE.is_file():
        pytest.skip("axe-core is not installed: python -m workbench.lab.build gets it")
    opened = open_lab(size={"width": 1440, "height": 900})
    opened.open_beside_sidebar(server.notebook("axe.ipynb", CELLS))
    for number in range(len(CELLS)):
        opened.run(number)
    opened.command("hipkittens:open-dashboard")
    opened.card("timeline")
    return opened


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_dashboard_and_sidebar(lab: Lab, dark: bool) -> None:
    lab.theme(dark)
    lab.card("timeline")
    name = "dark" if dark else "light"
    lab.shot(f"axe-{name}")
    assert faults(lab.page, ".jp-hipkittens-Dashboard") == []
    assert faults(lab.page, ".jp-hipkittens-Sidebar") == []
    # Outputs of the extension in cells.
    assert faults(lab.page, ".jp-OutputArea .wb") == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_saved_page(lab: Lab, server: Server, scheme: str) -> None:
    # Save the notebook, not the dashboard.
    lab.editor(0).click()
    lab.save()
    lab.command("hipkittens:save-page")
    saved = server.folder / "axe.html"
    lab.until(saved.is_file, "the page")
    context = lab.page.context.browser.new_context(color_scheme=scheme, offline=True)  # type: ignore[union-attr]
    try:
        page = context.new_page()
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        page.goto(saved.as_uri())
        page.get_by_role("heading", name="Machine code").wait_for()
        page.screenshot(path=lab.shot(f"axe-page-{scheme}"), full_page=True)
        assert faults(page) == []
        assert [url for url in asked if not url.startswith(("file:", "data:", "blob:"))] == []
    finally:
        context.close()
