"""Tools of Jupyter's MCP server, called as it calls them."""

from __future__ import annotations

import importlib.metadata
import inspect
import tomllib
import typing
from pathlib import Path

import anyio

from workbench.mcp_server import jupyter
from workbench.operations import operations

PROJECT = Path(__file__).parents[2] / "pyproject.toml"


def test_the_entry_point_is_the_list_of_tools() -> None:
    (value,) = tomllib.loads(PROJECT.read_text())["project"]["entry-points"][
        "jupyter_server_mcp.tools"
    ].values()
    listed = importlib.metadata.EntryPoint("hipkittens", value, "jupyter_server_mcp.tools").load()()
    assert [word.rpartition("_")[2] for word in listed] == list(operations())


def test_a_tool_has_the_arguments_of_its_operation() -> None:
    for name, operation in operations().items():
        tool = getattr(jupyter, f"hipkittens_{name}")
        arguments = inspect.signature(tool).parameters
        assert list(arguments) == [parameter.name for parameter in operation.parameters]
        required = [n for n, a in arguments.items() if a.default is inspect.Parameter.empty]
        assert required == operation.arguments_schema["required"]
        hints = typing.get_type_hints(tool, include_extras=True)
        for parameter in operation.parameters:
            kind, text = typing.get_args(hints[parameter.name])
            assert text == parameter.text
            assert typing.get_args(kind) == parameter.choices
    assert not hasattr(jupyter, "hipkittens_nothing")


def test_a_tool_does_its_operation() -> None:
    answer = anyio.run(lambda: jupyter.hipkittens_explain(error="KernelFault"))
    assert answer == operations()["explain"].run({"error": "KernelFault"}).data
