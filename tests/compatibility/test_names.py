"""Names of a checkout beside those of the tile library."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from workbench.__main__ import main
from workbench.compatibility import Name, compare, missing
from workbench.errors import UsageError

HERE = "namespace kittens { struct rt { static constexpr int rows = 1; }; void load(); }"


def test_absent_names() -> None:
    """Tests one existing and one missing name of each kind."""
    here = [
        Name("", "KITTENS_DEFAULT_ALIGN", "macro", ""),
        Name("kittens", "load", "function", ""),
        Name("kittens::rt", "rows", "constant", ""),
        Name("kittens::ducks::rt", "all", "concept", ""),
        Name("kittens::gl", "operator[]", "function", ""),
    ]
    absent = [Name(n.scope, f"{n.name}_none", n.kind, "") for n in here if not n.name.startswith("operator")]
    assert missing([*here, *absent], "gfx950") == set(absent)


def checkout(folder: Path, trees: dict[str, str]) -> Path:
    """A checkout with one header for each tree; "" is a tree that is `include` itself."""
    for tree, text in trees.items():
        header = folder / "include" / tree / "common" / "base.cuh"
        header.parent.mkdir(parents=True)
        header.write_text(text)
    return folder


def test_trees_of_one_checkout(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Compares each tree by its own target; one without a target is compared with the others."""
    wave32 = f"{HERE} namespace kittens {{ void load_tdm(); void load_by_mail(); }}"
    unknown = f"{HERE} namespace kittens {{ void load_tdm(); }}"
    newer = f"{HERE} namespace kittens {{ void of_next_year(); }}"
    checkout(tmp_path, {"cdna3": HERE, "cdna4": newer, "udna1": wave32, "other": unknown})
    trees = {tree.folder.name: tree for tree in compare(tmp_path)}
    names = ("cdna3", "cdna4", "udna1", "other")
    assert [trees[name].arch for name in names] == ["gfx942", "gfx950", "gfx1250", None]
    assert trees["cdna3"].absent == ()
    assert [name.name for name in trees["cdna4"].absent] == ["of_next_year"]
    assert [name.name for name in trees["udna1"].absent] == ["load_by_mail"]
    assert trees["other"].absent == ()

    assert main(["compatibility", str(tmp_path)]) == 1
    printed = capsys.readouterr().out
    assert (
        "include/cdna4, gfx950: 4 public names, 1 absent\n  function kittens::of_next_year (common/"
        in printed
    )
    assert "include/cdna3, gfx942: 3 public names, 0 absent" in printed


def test_checkout_with_one_tree(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    checkout(tmp_path, {"": HERE})
    assert main(["compatibility", str(tmp_path), "--arch", "gfx942", "--json"]) == 0
    (tree,) = json.loads(capsys.readouterr().out)
    assert (tree["arch"], len(tree["names"]), tree["absent"]) == ("gfx942", 3, [])


def test_folder_without_headers(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="has no headers of HipKittens: expected a folder `common`"):
        compare(tmp_path)
