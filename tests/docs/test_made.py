"""Pages of the reference that `docs/made.py` makes from records."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from types import ModuleType

import pytest
from docs_modules import load

from workbench import magic_options, targets
from workbench.settings import SETTINGS

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PROGRAMS = re.compile(r"`python (-m [\w.]+|tests/[\w/.]+\.py)")


@pytest.fixture(scope="module")
def generators() -> ModuleType:
    return load("made")


def test_every_record_is_on_its_page(generators: ModuleType) -> None:
    # Signs of Markdown are escaped there.
    magics, commands = (text.replace("\\", "") for text in (generators.magics(), generators.command_line()))
    for option in (*magic_options.OPTIONS, *magic_options.TRITON_OPTIONS):
        assert f"| `{option}` | {option.help}" in magics
    assert {f"## {name}" for name in ("doctor", "bench", "hipcc", "script")} <= set(commands.splitlines())
    assert "| `--fail-above PART` |" in commands
    for setting in SETTINGS:
        assert f"| `{setting.name}` | {setting.sets} |" in generators.environment_variables()


def test_python_s_page_has_every_public_name_once() -> None:
    stub = ast.parse((ROOT / "workbench" / "__init__.pyi").read_text())
    public = [a.name for n in stub.body if isinstance(n, ast.ImportFrom) for a in n.names if n.module]
    page = (DOCS / "reference" / "python.md").read_text()
    documented = re.findall(
        r"^\.\. auto(?:function|class|data|exception):: (\w+)(?:\(.*\))?$", page, re.MULTILINE
    )
    assert sorted(documented) == sorted(name for name in public if name != "InteractiveShell")


def test_each_generated_table_has_two_sentences(generators: ModuleType) -> None:
    looks = generators.looks()
    assert len(looks) > 10
    for page, text in looks.items():
        assert (DOCS / f"{page}.md").exists()
        assert len(re.findall(r"[.?!](?: |$)", text)) == 2, f"{page}: {text}"
        assert text in generators.with_look(page, "# Title\n\nIntroduction.\n")


def test_the_site_has_the_whole_of_pages_that_the_repository_summarises(generators: ModuleType) -> None:
    page = "docs/tile_operations"
    text = (ROOT / f"{page}.md").read_text()
    whole = generators.site_source(page, text)
    assert "row_sum(" not in text
    assert "row_sum(" in whole
    assert generators.looks()["tile_operations"] in whole
    for name in generators.WHOLE:
        assert len((ROOT / f"{name}.md").read_text().splitlines()) <= 60


def test_a_short_page_has_no_long_table_and_ends_before_a_section(generators: ModuleType) -> None:
    head = "| a | b |\n| --- | --- |\n"
    rows = [head + row * count for row, count in (("| 1 | 2 |\n", 3), ("| 3 | 4 |\n", 30))]
    page = "\n".join(("# T\n", *rows, "## All\n\nThe rest.\n"))
    text = generators.short(page, "## All")
    assert "| 1 | 2 |" in text
    assert "| 3 | 4 |" not in text
    assert "A table of 30 rows." in text
    assert "The rest." not in text
    assert text.endswith("left out here.\n")


def test_generated_pages_are_in_the_reference_alone(generators: ModuleType) -> None:
    prose = "\n".join(
        (DOCS / name).read_text()
        for name in ("explanation/index.md", "howto/index.md", "learn.md", "index.md")
    )
    for page in generators.looks():
        assert not re.search(rf"^(\.\./)?{page}$", prose, re.MULTILINE), page


def test_reading_times_leave_out_what_is_not_prose(generators: ModuleType) -> None:
    page = "# A title\n\n```python\nx = 1\n```\n\n| a | table |\n\nFive words are left here.\n"
    assert generators.words(page) == len(["#", "A", "title", "Five", "words", "are", "left", "here."])
    table = generators.reading_times()
    assert "(/docs/timing.md)" in table
    assert "(/notebooks/01_first_kernel.ipynb)" in table
    assert "(/docs/counters.md)" not in table


def test_the_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text().split()) <= 700


def test_the_option_for_the_target_names_those_of_operators() -> None:
    option = next(option for option in magic_options.OPTIONS if option.flag == "--arch")
    assert all(target in option.help for target in targets.LIBRARY_TARGETS)
