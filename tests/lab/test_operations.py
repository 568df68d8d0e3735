"""The page of tile operations is made from the headers."""

from __future__ import annotations

from workbench.lab import operations


def test_the_page_has_every_operation_once():
    text = operations.page()
    for title in operations.TITLES.values():
        assert text.count(f"\n## {title}\n") <= 1
    named = {entry.name for entry in operations.operations()}
    assert {"load", "store", "mma_ABt", "row_max", "swap_layout"} <= named
    for name in named:
        assert f"`{name}(" in text, name
    assert not [line for line in text.splitlines() if line.startswith("|") and line.count("| ") < 2]


def test_an_operation_is_what_its_header_says():
    (entry,) = (e for e in operations.operations() if e.name == "load_async_wait")
    assert f"| {entry.doc.partition(chr(10))[0]} |" in operations.page()
