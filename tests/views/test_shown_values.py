"""Views of `show`: the table of names, the matrix, the texts of its slider and pointer."""

from __future__ import annotations

import math

import pytest
import torch

import workbench as wb
from workbench.kernel.show import Moments, ShownValues
from workbench.views import drawers as drawers

SOURCE = """#include "kittens.cuh"
using namespace kittens;
__global__ void k(const gl<float, 1, 1, -1, -1> x) {
    extern __shared__ alignment_dummy __shm[];
    shared_allocator al((int *)&__shm[0]);
    st_fl<16, 16> &s = al.allocate<st_fl<16, 16>>();
    rt_fl<16, 16> tile;
    for (int i = 0; i < 3; i++) {
        load(tile, x, {0, 0, i, (int)blockIdx.x});
        show(tile, "scores");
    }
    store(s, tile);
    wait_and_barrier();
    show(s);
    if (threadIdx.x >= 32) show(threadIdx.x * 0.5f, "half");
}
"""


@pytest.fixture(scope="module")
def x() -> torch.Tensor:
    values = torch.randn(48, 96)
    values[18, 3] = math.nan
    return values


@pytest.fixture(scope="module")
def values(x: torch.Tensor) -> ShownValues:
    kernel = wb.compile(SOURCE, arch="gfx950", show=True)["k"]
    result = kernel[6, 64, 4096](x).shown
    assert isinstance(result, ShownValues)
    return result


def test_the_table_has_a_row_for_each_name(values: ShownValues) -> None:
    page = values._repr_html_()
    assert all(
        name in page for name in ("scores", "register tile", "shared tile", "scalar", "16 x 16", "fp32")
    )
    assert "4 of 6 work-groups" in page
    assert repr(values).splitlines()[0] == "scores (line 10): 16 x 16 of fp32; 4 groups, 1 waves, 3 trips"


def test_the_matrix_and_its_slider(values: ShownValues, x: torch.Tensor) -> None:
    figure = values.of("scores").figure
    labels = [step.label for step in figure.layout.sliders[0].steps]
    assert labels[:4] == [
        *(f"group 0, wave 0, trip {trip}" for trip in range(3)),
        "group 1, wave 0, trip 0",
    ]
    assert len(figure.frames) == len(labels) == 12
    cells, marks = figure.frames[1].data
    expected = x[16:32, :16]
    assert torch.equal(torch.tensor(cells.z).nan_to_num(), expected.nan_to_num())
    broken = torch.tensor(marks.z) == 1
    assert broken.nonzero().tolist() == [[2, 3]]
    scale = x[:48, :64].nan_to_num()
    assert (cells.zmin, cells.zmax) == (scale.min().item(), scale.max().item()), "one scale for all moments"
    place = values.of("scores")[1].place(2, 5)
    assert cells.customdata[2][5].split("<br>") == [
        "row 2, column 5",
        f"{x[18, 5]:.6g}",
        f"lane {place.lane}, its element {place.element}",
    ]


def test_where_in_the_lds_an_element_is(values: ShownValues) -> None:
    moments = values.of("s")
    byte = moments[0].place(4, 7).lds
    assert byte is not None
    assert f"LDS byte {byte}, bank {byte // 4 % 64}" in moments.figure.data[0].customdata[4][7]


def test_lanes_that_were_off_have_no_number(values: ShownValues) -> None:
    cells, marks = values.of("half").figure.data
    numbers = torch.tensor(cells.z)[0]
    assert numbers[:32].isnan().all()
    assert numbers[32:].tolist() == [0.5 * lane for lane in range(32, 64)]
    assert torch.tensor(marks.z).isnan().all(), "off is not wrong"


def test_against_a_reference(values: ShownValues, x: torch.Tensor) -> None:
    moments = values.of("scores")
    expected = torch.stack(
        [torch.stack([x[16 * t : 16 * t + 16, 16 * g : 16 * g + 16] for t in range(3)]) for g in range(4)]
    )
    difference = moments.against(expected[:, None])
    assert isinstance(difference, Moments)
    assert all(moment.values.nan_to_num().abs().max() == 0 for moment in difference)
    single = moments.against(expected[0, 0])
    assert single[3].values[0, 0] == x[0, 16].double() - x[0, 0].double()
    assert "less the reference" in single.figure.layout.title.text
    with pytest.raises(
        wb.errors.UsageError, match=r"reference of 'scores' has shape \[3\]; expected \[16, 16\] or"
    ):
        moments.against(torch.zeros(3))
