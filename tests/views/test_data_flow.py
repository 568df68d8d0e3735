"""The picture of an operator's launches."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

from workbench.operators.catalogue import Link
from workbench.views.data_flow import BOX, LEFT, ROW, WIDE, data_flow_svg


def test_tensors_stand_beside_the_launch_that_takes_or_makes_them() -> None:
    links = (Link("first", ("a", "<b>"), ("h", "out")), Link("second", ("h", "a"), ("c",)))
    svg = ElementTree.fromstring(str(data_flow_svg(links)))
    places = {text.text: (float(text.attrib["x"]), float(text.attrib["y"])) for text in svg.findall("text")}
    assert set(places) == {"first", "second", "a, <b>", "h", "out", "a", "c"}
    assert places["a, <b>"][0] < LEFT < places["first"][0] < LEFT + WIDE < places["out"][0]
    assert places["first"][1] + BOX / 2 < places["h"][1] < places["second"][1]
    assert places["c"][1] == places["second"][1] == places["first"][1] + ROW
    assert len(svg.findall("rect")) == 2
