"""Files that commands make, and the message for a stale one."""

from __future__ import annotations

import sys
from pathlib import Path

import generated
import pytest
from generated import Product

ROOT = Path(__file__).parents[1]


@pytest.fixture
def sample(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Product:
    """A command that writes a stale file and another one."""
    monkeypatch.setattr(generated, "ROOT", tmp_path)
    (tmp_path / "write.py").write_text("open('a', 'w').write('new')\nopen('b', 'w').write('same')\n")
    (tmp_path / "a").write_text("old")
    (tmp_path / "b").write_text("same")
    return Product("write.py", ("a", "b"))


def test_a_stale_file_is_named_with_its_command(sample: Product, tmp_path: Path) -> None:
    assert generated.stale([sample]) == [("a", "write.py")]
    assert (tmp_path / "a").read_text() == "old", "a check changes nothing"
    generated.make([sample])
    assert generated.stale([sample]) == []


def test_a_missing_file_is_stale_and_stays_missing(sample: Product, tmp_path: Path) -> None:
    (tmp_path / "b").unlink()
    assert [file for file, _ in generated.stale([sample])] == ["a", "b"]
    assert not (tmp_path / "b").exists()


@pytest.mark.parametrize("product", [*generated.DERIVED, *generated.MEASURED], ids=lambda p: p.command)
def test_what_is_listed_is_there(product: Product) -> None:
    script = product.command.split()
    if script[0] == "-m":
        path = ROOT / script[1].replace(".", "/")
        assert path.with_suffix(".py").exists() or (path / "__main__.py").exists()
    else:
        assert (ROOT / script[0]).exists()
    assert [file for file in product.files if not (ROOT / file).exists()] == []


def test_the_page_lists_every_command() -> None:
    assert generated.PAGE.read_text() == generated.page(), f"{sys.executable} tests/generated.py writes it"
