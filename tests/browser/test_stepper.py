"""Stepping a wave in JupyterLab by keys and buttons, in both themes, at two sizes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from conftest import Lab, Server

pytestmark = pytest.mark.timeout(1800)

SOURCE = """\
%%hipkittens product
#include "kittens.cuh"
using namespace kittens;
using halves = gl<bf16, -1, -1, -1, -1>;
__global__ void product(const halves a, const halves b, const gl<float, -1, -1, -1, -1> c) {
    rt_bf<32, 64> left, right;
    rt_fl<32, 32, col_l> sums;
    load(left, a, {0, 0, 0, 0});
    load(right, b, {0, 0, 0, 0});
    zero(sums);
    mma_ABt(sums, left, right, sums);
    store(c, sums, {0, 0, 0, 0});
}"""
CELLS = [
    "%load_ext workbench\nimport torch\nimport workbench as wb",
    SOURCE,
    "a, b, c = (torch.randn(1, 1, 32, 64).bfloat16() for _ in range(2)), None, torch.zeros(1, 1, 32, 32)\n"
    "a, b = a\n"
    's = wb.step(product["product"][1, 64], a=a, b=b, c=c, debug=True)\ns',
]


@pytest.mark.parametrize(("dark", "width", "height"), [(False, 1440, 900), (True, 1024, 700)])
def test_a_wave_is_stepped(
    open_lab: Callable[..., Lab], server: Server, dark: bool, width: int, height: int
) -> None:
    lab = open_lab(size={"width": width, "height": height})
    lab.open(server.notebook(f"stepper-{width}.ipynb", CELLS))
    lab.theme(dark)
    lab.command("application:toggle-left-area")
    for number in range(len(CELLS)):
        lab.run(number)
    page = lab.page.locator(".wb-step")
    page.locator(".wb-step-code .wb-here").wait_for()
    page.scroll_into_view_if_needed()
    at = page.locator(".wb-step-at")
    page.focus()

    def press(key: str) -> str:
        before = at.inner_text()
        lab.page.keyboard.press(key)
        lab.until(lambda: at.inner_text() != before, f"{key} to move the wave")
        return at.inner_text()

    assert at.inner_text().startswith("0 of ")
    assert press("s").startswith("1 of ")
    assert press("S").startswith("0 of ")
    first = press("n")
    assert "line" in first
    assert press("n") != first
    # A breakpoint at the last line of the kernel, by a click on its number; then run.
    page.locator(".wb-step-source .wb-step-number", has_text="12").click()
    page.locator(".wb-step-number.wb-break").wait_for()
    assert press("c").endswith("line 12")
    page.get_by_role("button", name="sums").click()
    page.locator("canvas").wait_for()
    page.locator("canvas").hover()
    lab.until(lambda: "its element" in page.inner_text(), "the pointer to tell an element's lane")
    lab.shot(f"stepper-{width}")
    assert page.evaluate("root => root.scrollWidth <= root.clientWidth + 1")
