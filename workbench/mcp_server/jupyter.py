"""The operations as tools of Jupyter's own MCP server, which the agents of jupyter-ai use.

The package jupyter-server-mcp finds `tools` by this package's entry point, and makes a tool of each function.
A tool is named `hipkittens_<operation>`, since the tools of notebooks and files are beside it.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Annotated, Any, Literal

from workbench.mcp_server.jobs import JobLimits, Worker
from workbench.operations import Operation, operations
from workbench.operations.record import Parameter

_PREFIX = "hipkittens_"


def tools() -> list[str]:
    """One `module:function` per operation."""
    return [f"{__name__}:{_PREFIX}{name}" for name in operations()]


@functools.cache
def _worker() -> Worker:
    return Worker(JobLimits())


def __getattr__(name: str) -> Callable[..., Any]:
    operation = operations().get(name.removeprefix(_PREFIX)) if name.startswith(_PREFIX) else None
    if operation is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return _tool(operation)


def _tool(operation: Operation) -> Callable[..., Any]:
    async def tool(**arguments: Any) -> dict[str, Any]:
        # Only Jupyter's server needs it.
        import anyio.to_thread

        return await anyio.to_thread.run_sync(lambda: _worker().call(operation.name, arguments))

    tool.__name__ = tool.__qualname__ = f"{_PREFIX}{operation.name}"
    tool.__doc__ = operation.text
    signature = inspect.Signature(
        [_parameter(parameter) for parameter in operation.parameters], return_annotation=dict[str, Any]
    )
    tool.__signature__ = signature  # type: ignore[attr-defined]
    tool.__annotations__ = {p.name: p.annotation for p in signature.parameters.values()}
    tool.__annotations__["return"] = signature.return_annotation
    return tool


def _parameter(of: Parameter) -> inspect.Parameter:
    kind: Any = Literal[of.choices] if of.choices else of.type
    return inspect.Parameter(
        of.name,
        inspect.Parameter.KEYWORD_ONLY,
        default=inspect.Parameter.empty if of.default is None else of.default,
        annotation=Annotated[kind, of.text],
    )
