"""`wb.<tab>` and `help` show the public names, all of them documented, and nothing else."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

import workbench as wb

ROOT = Path(__file__).parents[1]


def test_windows_gets_a_link() -> None:
    code = "import sys; sys.platform = 'win32'; import workbench"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    last = result.stderr.splitlines()[-1]
    assert last.startswith("ImportError: hipkittens-workbench needs Linux: on Windows, install it in WSL2")
    page = re.search(r"docs/\S+\.md", last)
    assert page is not None
    assert (ROOT / page[0]).is_file()


def test_dir_is_the_public_names() -> None:
    assert [name for name in dir(wb) if not name.startswith("__")] == sorted(wb.__all__)
    assert "__version__" in dir(wb)


def test_a_misspelt_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'workbench' has no attribute 'verfy'"):
        _ = wb.verfy


@pytest.mark.parametrize("name", wb.__all__)
def test_every_public_name_is_documented(name: str) -> None:
    value = getattr(wb, name)
    assert inspect.getdoc(value)
    if inspect.isclass(value):
        members = {k: v for k, v in vars(value).items() if not k.startswith("_")}
        bare = [
            key
            for key, member in members.items()
            if (isinstance(member, property) or inspect.isfunction(member)) and not inspect.getdoc(member)
        ]
        fields = getattr(value, "__dataclass_fields__", {})
        assert not [key for key in bare if key not in fields]


@pytest.mark.parametrize("name", [n for n in wb.__all__ if inspect.isfunction(getattr(wb, n))])
def test_every_argument_of_a_public_function_is_explained(name: str) -> None:
    function = getattr(wb, name)
    text = inspect.getdoc(function) or ""
    if "as for `time`" in text:
        text += inspect.getdoc(wb.time) or ""
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            assert parameter.name in text, f"wb.{name} does not say what {parameter.name!r} is"


def test_importing_the_package_loads_nothing_heavy() -> None:
    code = "import sys, workbench; print({'torch', 'plotly', 'llvmlite', 'hip', 'IPython'} & {*sys.modules})"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ended.stdout.strip() == "set()"


def test_the_package_needs_only_the_standard_library() -> None:
    # Building a wheel imports `workbench.lab.build`, and `doctor` answers where packages are missing.
    code = "import workbench, workbench.lab.build; print('verify' in dir(workbench))"
    ended = subprocess.run(
        [sys.executable, "-S", "-c", f"import sys; sys.path.insert(0, {str(ROOT)!r}); {code}"],
        capture_output=True,
        text=True,
    )
    assert ended.stdout.strip() == "True", ended.stderr


def test_importing_a_submodule_leaves_the_function_of_its_name() -> None:
    code = "import workbench.profile, workbench.doctor, workbench as wb; print(wb.profile, wb.doctor)"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "<module" not in ended.stdout
