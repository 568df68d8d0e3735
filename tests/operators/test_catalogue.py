"""The catalogue: the description of an operator, the search, and the page."""

from __future__ import annotations

import pytest
from modelled_times import ALONE, ALONE_ON

import workbench as wb
from workbench.errors import UsageError
from workbench.operators.catalogue import Entry
from workbench.operators.catalogue_page import document
from workbench.operators.modelled import comparisons, key, times


def test_the_whole_page_has_a_section_for_each_operator() -> None:
    text = document()
    for name in wb.kernels:
        assert text.count(f"\n### {name}\n") == 1
    assert f"for {', '.join(wb.kernels['gemm/bf16'].targets)}" in text


def test_an_entry_says_how_data_flows() -> None:
    entry = Entry.from_spec(wb.kernels["moe_gemm/end_to_end"])
    assert entry.flow == (
        "a, w1, w2, sorted_token_ids, expert_ids, num_tokens_post_padded → [gate and up] → [down] → c"
    )
    assert entry.settings == {"weighted": (0, 1)}
    assert Entry.from_spec(wb.kernels["normalization/fused_add_rmsnorm"]).results == ("out", "residual_out")


def test_launches_say_what_they_hand_on() -> None:
    links = Entry.from_spec(wb.kernels["feed_forward/bmm_rope_kv_cache"]).links
    assert [link.launch for link in links] == ["product", "rows"]
    assert links[0].takes == ("q_nope", "w_k", "w_k_scale")
    assert links[0].makes == ("plain",)
    assert "plain" in links[1].takes
    assert set(links[1].makes) == {"q_out", "k_pe", "kv_cache"}
    assert Entry.from_spec(wb.kernels["activations/relu"]).links == ()


def test_search_takes_all_words_of_a_category_and_a_target() -> None:
    operators = wb.kernels.search("blocks E2M1", category="moe_gemm")
    assert [entry.name for entry in operators] == ["moe_gemm/mxfp4"]
    assert len(wb.kernels.search()) == len(wb.kernels)
    assert wb.kernels.search("NoSuchWord").__repr__() == "<0 operators>"
    assert all("gfx950" in entry.targets for entry in wb.kernels.search(target="gfx950"))
    assert "moe_gemm/bf16(a, b, " in repr(wb.kernels.search("", category="moe_gemm"))
    with pytest.raises(UsageError, match="no operator has category 'moe'; there are activations"):
        wb.kernels.search(category="moe")


def test_a_notebook_shows_what_was_verified_here(monkeypatch: pytest.MonkeyPatch, tmp_path: object) -> None:
    monkeypatch.setenv("HIPKITTENS_CACHE", str(tmp_path))
    operators = wb.kernels.search("relu", category="activations")
    assert "not yet" in operators._repr_html_()
    wb.verify("activations/relu", shape={"rows": 2, "cols": 64}, device="emulated:gfx942")
    html = wb.kernels.search("relu", category="activations")._repr_html_()
    assert "gfx942 (emulated:gfx942)" in html
    whole = wb.kernels._repr_html_()
    assert all(f"<summary>{name.partition('/')[0]}: " in whole for name in wb.kernels)


def test_modelled_times_stand_beside_published_ones() -> None:
    spec = wb.kernels["activations/softmax"]
    rows = comparisons(spec)
    assert [row.shape["rows"] for row in rows] == [4096, 16384, 65536]
    assert all(row.modelled and row.modelled.origin == "modelled" for row in rows)
    assert rows[0].best.value == 8.7
    html = wb.kernels.search("softmax", category="activations")._repr_html_()
    assert "AITER Triton 313.6" in html
    rates = next(row for row in comparisons(wb.kernels["attention/forward"]))
    assert rates.best.unit == "TFLOP/s"
    assert rates.best.value == max(figure.value for figure in rates.published.values())
    keys = {key(name, row.shape, row.gpu) for name, s in wb.kernels.items() for row in comparisons(s)}
    keys |= {key(name, shape, ALONE_ON) for name, shapes in ALONE.items() for shape in shapes}
    assert set(times()) <= keys, "python tests/modelled_times.py keeps times of problems that are no more"
