"""`python -m workbench mcp`."""

from __future__ import annotations

import importlib.util

from workbench.errors import UsageError
from workbench.mcp_server.jobs import JobLimits


def serve(port: int, seconds: float, memory: int) -> int:
    """Serves until the client goes or the server is interrupted; 0.

    Args:
        port: port of the loopback interface; 0 for standard input and output.
        seconds, memory: limits of one operation.

    Raises:
        UsageError: the package mcp is absent or too old.
    """
    if importlib.util.find_spec("mcp_types") is None:
        raise UsageError(
            "the server needs the package mcp, version 2 or later: run "
            "`python -m pip install 'hipkittens-workbench[mcp]'`"
        )
    import anyio

    from workbench.mcp_server.server import serve_http, serve_stdio, server

    of = server(JobLimits(seconds, memory))
    if port:
        serve_http(of, port)
    else:
        anyio.run(serve_stdio, of)
    return 0
