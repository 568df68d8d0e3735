"""Doc comments without Doxygen's commands."""

from __future__ import annotations

import re

import pytest

from workbench.lab.doxygen import tidy
from workbench.lab.library import functions

COMMENT = r"""
@brief Doubles a value
       in place.

More about it, see \p x, @c ns::y and \ref twice().
It goes on.

- first of
  a list
- second
@tparam T the type,
        any
@param[in,out] x the value
@param y
@returns twice that
@throws std::bad_alloc where memory ends
\note careful
@code{.cpp}
f(1);
  g(@p 2);
@endcode
The end; a mail is me@brief.example.
"""

SAID = """\
Doubles a value in place.

More about it, see `x`, `ns::y` and `twice()`. It goes on.

- first of a list
- second
- `T`: the type, any
- `x`: the value
- `y`

Returns: twice that

- `std::bad_alloc` is thrown: where memory ends

Note: careful

```
f(1);
  g(@p 2);
```

The end; a mail is me@brief.example."""


def test_a_comment_with_everything() -> None:
    assert tidy(COMMENT) == SAID


@pytest.mark.parametrize(
    ("comment", "expected"),
    [
        ("", ""),
        ("@brief", ""),
        ("Plain.", "Plain."),
        ("One\n\n\nTwo", "One\n\nTwo"),
        ("Drawn:\n\n    a | b\n    c\n\nEnd", "Drawn:\n\n```\na | b\nc\n```\n\nEnd"),
        ("@code f(1);\n@endcode", "```\nf(1);\n```"),
        ("@code\nnever ended", "```\nnever ended\n```"),
        ("@verbatim\n@endverbatim", "```\n```"),
    ],
)
def test_small_ones(comment: str, expected: str) -> None:
    assert tidy(comment) == expected


def test_no_command_is_left_in_the_library() -> None:
    commands = re.compile(r"[@\\](?:brief|t?param|returns?|p|c|ref|code|note|file|details)\b")
    assert [entry.name for entry in functions() if commands.search(entry.doc)] == []
    assert sum("- `" in entry.doc for entry in functions()) > 10
