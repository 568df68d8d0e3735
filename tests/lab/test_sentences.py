"""Public names of the tile library have the right sentence."""

from __future__ import annotations

from workbench import magic_options
from workbench.lab import options
from workbench.lab.index import index, lookup
from workbench.lab.sentences import undocumented


def test_every_public_name_has_a_sentence() -> None:
    entries = index().entries
    assert len(entries) > 1000
    assert undocumented(entries) == []


def test_sentences_are_of_the_name_that_they_stand_at() -> None:
    def sentence_of(name: str, scope: str = "kittens") -> str:
        return next(entry.doc for entry in lookup(name) if entry.scope == scope)

    assert sentence_of("mul").startswith("dst = lhs * rhs, element by element.")
    assert sentence_of("rt_bf") == "A register tile of bf16."
    assert sentence_of("col_max").startswith("The largest element of each column of src, over its rows")
    assert sentence_of("div_row") == "dst = src divided by the vector's element of its row."
    assert sentence_of("cols", "kittens::gl") == "Columns."
    # A header's own comment stays where it documents a single name.
    assert sentence_of("zero", "kittens::macros") == "Zero, in AGPRs too and whatever the type."


def test_the_front_end_s_options_are_the_magic_s() -> None:
    assert options.SOURCE.read_text() == options.text(), "python -m workbench.lab.options"
    ours, triton = (
        {option.flag for option in group if not option.metavar}
        for group in (magic_options.OPTIONS, magic_options.TRITON_OPTIONS)
    )
    assert triton <= ours, "the front end takes these options of %%triton for ones with a value"
