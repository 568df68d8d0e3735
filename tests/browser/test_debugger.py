"""Debugging by clicks: a transposed operand, a swizzle that is not followed, a missing wait.

Each at 1440 x 900 or 1024 x 700, light or dark (`LOOKS`).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from tests.step.test_journeys import HASTY, HEAD, SWIZZLE, TRANSPOSED

if TYPE_CHECKING:
    from conftest import Lab, Server
    from playwright.sync_api import Locator

pytestmark = pytest.mark.timeout(1800)

Look = tuple[int, int, bool]
SETUP = (
    "%load_ext workbench\nimport torch\nimport workbench as wb\ngenerator = torch.Generator().manual_seed(0)"
)
NORMAL = "torch.randn(1, 1, 32, 32, generator=generator).bfloat16()"


def run_cells(lab: Lab, server: Server, look: Look, name: str, cells: list[str]) -> Locator:
    """Runs the cells; returns the output of the last, which names the fault."""
    lab.open(server.notebook(f"{name}-{look[0]}-{look[2]}.ipynb", [SETUP, *cells]))
    lab.theme(dark=look[2])
    lab.command("application:toggle-left-area")
    for number in range(1 + len(cells)):
        lab.run(number)
    area = lab.cell(len(cells)).locator(".jp-OutputArea").first
    area.scroll_into_view_if_needed()
    return area


def opened(lab: Lab, area: Locator, button: str) -> Locator:
    """Opens the stepper by a button of the table."""
    area.locator(".wb-open", has_text=button).first.click()
    page = area.locator(".wb-step")
    page.locator(".wb-step-code .wb-here, .wb-step-code .wb-last").first.wait_for()
    page.scroll_into_view_if_needed()
    page.focus()
    return page


def pressed(lab: Lab, page: Locator, key: str) -> None:
    """Presses a key of the stepper and waits for the move."""
    at = page.locator(".wb-step-at")
    before = at.inner_text()
    lab.page.keyboard.press(key)
    lab.until(lambda: at.inner_text() != before, f"{key} to move the wave")


def fits(page: Locator) -> bool:
    return bool(page.evaluate("root => root.scrollWidth <= root.clientWidth + 1"))


def test_a_transposed_operand(lab: Lab, server: Server, look: Look) -> None:
    verify = (
        f"a, b, c = {NORMAL}, {NORMAL}, torch.zeros(1, 1, 32, 32)\n"
        'wb.verify(product["product"][1, 64], lambda a, b: a @ b.mT, inputs=dict(a=a, b=b, c=c), '
        'outputs=("c",))'
    )
    area = run_cells(lab, server, look, "transposed", [f"%%hipkittens product\n{HEAD}{TRANSPOSED}", verify])
    lab.says(area, "✗ failed", "where it comes from")
    lab.seen(look, "debug-transposed-found")
    page = opened(lab, area, "c[0, 0, 0, 1]")
    # It is a column of b in place of row 1.
    lab.says(area, "made of", "a[0, 0, 0, 0:32]", "b[0, 0, 0:32, 1]")
    assert fits(page)
    lab.seen(look, "debug-transposed")


def test_a_swizzle_that_is_not_followed(lab: Lab, server: Server, look: Look) -> None:
    inputs = f"x, out = {NORMAL}, torch.zeros(1, 1, 32, 32)\n"
    show = 'shown["copied"][1, 64, 4096](x, out).shown.of("kept").figure'
    verify = (
        'wb.verify(copied["copied"][1, 64, 4096], lambda x: x.float(), inputs=dict(x=x, out=out), '
        'outputs=("out",))'
    )
    source = f"{HEAD}{SWIZZLE}"
    cells = [f"%%hipkittens shown --show\n{source}", inputs + show, f"%%hipkittens copied\n{source}", verify]
    area = run_cells(lab, server, look, "swizzle", cells)
    # The tile is drawn correctly; the reading is wrong.
    lab.cell(2).locator(".js-plotly-plot .main-svg").first.wait_for()
    lab.cell(2).scroll_into_view_if_needed()
    lab.seen(look, "debug-swizzle-shown")
    area.scroll_into_view_if_needed()
    button = area.locator(".wb-open").first
    button.wait_for()
    element = re.sub(r"out(\[.*\])", r"x\1", button.inner_text())
    page = opened(lab, area, button.inner_text())
    lab.says(area, "made of x[")
    # The number belongs to another element.
    (made_of,) = re.findall(r"made of (x\[[^\]]*\])", area.inner_text())
    assert made_of != element
    # Back to where it was read from the LDS: the stepper has its byte.
    under = page.locator(".wb-step-under")
    for _ in range(60):
        if "LDS" in under.inner_text():
            break
        pressed(lab, page, "S")
    lab.says(under, "LDS")
    assert fits(page)
    lab.seen(look, "debug-swizzle")


def test_a_missing_wait(lab: Lab, server: Server, look: Look) -> None:
    sanitize = 'wb.sanitize(hasty["hasty"][1, 64], torch.randn(64), torch.zeros(64))'
    source = f"%%hipkittens hasty\n#include <hip/hip_runtime.h>\n{HASTY}"
    area = run_cells(lab, server, look, "wait", [source, sanitize])
    lab.says(area, "missing wait", "expected an s_waitcnt vmcnt")
    lab.seen(look, "debug-wait-found")
    page = opened(lab, area, "step")
    # It stops before the use, and the load is still in flight.
    lab.says(page.locator(".wb-step-under"), "vmcnt", "global_load_dword")
    lab.seen(look, "debug-wait")
    load = page.locator(".wb-step-code .wb-last", has_text="global_load_dword")
    for _ in range(20):
        if load.count():
            break
        pressed(lab, page, "S")
    assert load.count() == 1
    assert fits(page)
    assert [text for text in lab.complaints if "hipkittens" in text.lower()] == []
