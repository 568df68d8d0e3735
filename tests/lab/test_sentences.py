"""Functions of the tile library have the right sentence."""

from __future__ import annotations

import pytest

from workbench import magic_options
from workbench.lab import operations, options, sentences, words


def test_operations_have_a_sentence() -> None:
    functions = operations.operations()
    assert len(functions) > 300
    assert [function.name for function in functions if not function.doc] == []


@pytest.mark.parametrize(
    ("name", "start"),
    [
        ("mul", "dst = lhs * rhs, element by element."),
        ("rt_bf", "A register tile of bf16."),
        ("col_max", "The largest element of each column of src, over its rows"),
        ("div_row", "dst = src divided by the vector's element of its row."),
        ("cols", "Columns."),
    ],
)
def test_sentences_are_of_the_name_that_they_stand_at(name: str, start: str) -> None:
    assert sentences.completed(name, "").startswith(start)


def test_a_header_s_own_comment_stays() -> None:
    assert sentences.completed("zero", "Zero, in AGPRs too.") == "Zero, in AGPRs too."
    assert sentences.completed("mul", "On tiles.") == "dst = lhs * rhs, element by element. On tiles."
    assert sentences.completed("no_such_name", "") == ""


def test_the_front_end_s_options_are_the_magic_s() -> None:
    assert options.SOURCE.read_text() == options.text(), "python -m workbench.lab.options"
    ours, triton = (
        {option.flag for option in group if not option.metavar}
        for group in (magic_options.OPTIONS, magic_options.TRITON_OPTIONS)
    )
    assert triton <= ours, "the front end takes these options of %%triton for ones with a value"


def test_the_front_end_s_words_are_the_library_s() -> None:
    assert words.SOURCE.read_text() == words.text(), "python -m workbench.lab.words"
