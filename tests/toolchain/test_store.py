"""Headers of a source, by the compiler's dependency file."""

from __future__ import annotations

import pytest

from workbench.toolchain.store import headers_of


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x: <stdin> /a/one.h \\\n  /b/two.h /a/one.h\n", ["/a/one.h", "/b/two.h"]),
        (r"x: /with\ space/a\#b.h /dollar$$/c.h - /fixed/d.h", ["/with space/a#b.h", "/dollar$/c.h"]),
        ("x: C:/colon.h\n", ["C:/colon.h"]),
        ("x:\n", []),
        ("", []),
    ],
)
def test_headers_of_a_dependency_file(text: str, expected: list[str]) -> None:
    assert headers_of(text, ["/fixed/"]) == expected
