"""The server: tools of the operations, resources, prompts; on standard input and output, or on HTTP."""

from __future__ import annotations

import hmac
import importlib.metadata
import secrets
import sys
import threading
from typing import Any

import anyio
import anyio.from_thread
import anyio.to_thread
import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

from workbench.errors import UsageError
from workbench.mcp_server import resources as pages
from workbench.mcp_server.jobs import JobLimits, Worker
from workbench.mcp_server.prompts import PROMPTS
from workbench.operations import Status, operations

INSTRUCTIONS = (
    "Compile, verify, sanitize, time and profile AMD GPU kernels without a GPU. Begin with `template` and "
    "`search`. A C++ file says its launch and reference in the comment at its top, as `template` shows. "
    "Times of an emulated device are modelled and have a range; counters are exact."
)


def _tools(worker: Worker) -> dict[str, Any]:
    """Handlers that list and call the operations, which the worker runs."""

    async def list_tools(_: Any, __: Any) -> types.ListToolsResult:
        return types.ListToolsResult(
            tools=[
                types.Tool(
                    name=operation.name,
                    description=operation.text,
                    input_schema=operation.arguments_schema,
                    output_schema=operation.outcome_schema,
                    annotations=types.ToolAnnotations(
                        read_only_hint=not operation.writes_files, open_world_hint=False
                    ),
                )
                for operation in operations().values()
            ]
        )

    async def call_tool(context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        if params.name not in operations():
            raise UsageError(f"there is no tool {params.name!r}; expected one of {', '.join(operations())}")
        stopped = threading.Event()

        reported = 0
        pictures: list[types.ContentBlock] = []

        def pictured(data: str) -> None:
            pictures.append(types.ImageContent(type="image", data=data, mime_type="image/png"))

        def report(seconds: float) -> None:
            nonlocal reported
            if int(seconds) == reported:
                return
            reported = int(seconds)
            anyio.from_thread.run(
                context.session.report_progress, seconds, None, f"{params.name}: {seconds:.0f} s"
            )

        try:
            data = await anyio.to_thread.run_sync(
                lambda: worker.call(
                    params.name, params.arguments or {}, progress=report, stopped=stopped, pictured=pictured
                ),
                abandon_on_cancel=True,
            )
        finally:
            stopped.set()
        return types.CallToolResult(
            content=[types.TextContent(type="text", text=data["text"]), *pictures],
            structured_content=data,
            is_error=data["status"] == Status.NOT_RUN,
        )

    return {"on_list_tools": list_tools, "on_call_tool": call_tool}


async def _list_resources(_: Any, __: Any) -> types.ListResourcesResult:
    return types.ListResourcesResult(
        resources=[
            types.Resource(uri=page.uri, name=page.title, mime_type=page.type) for page in pages.resources()
        ]
    )


async def _list_templates(_: Any, __: Any) -> types.ListResourceTemplatesResult:
    operator = types.ResourceTemplate(
        uri_template=f"{pages.SCHEME}operator/{{+name}}",
        name="An operator, such as gemm/bf16",
        mime_type="text/plain",
    )
    return types.ListResourceTemplatesResult(resource_templates=[operator])


async def _read_resource(_: Any, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
    page = await anyio.to_thread.run_sync(pages.read, str(params.uri))
    text = types.TextResourceContents(uri=str(params.uri), mime_type=page.type, text=page.read())
    return types.ReadResourceResult(contents=[text])


async def _list_prompts(_: Any, __: Any) -> types.ListPromptsResult:
    return types.ListPromptsResult(
        prompts=[
            types.Prompt(
                name=prompt.name,
                description=prompt.summary,
                arguments=[
                    types.PromptArgument(name=prompt.argument, description=prompt.meaning, required=True)
                ],
            )
            for prompt in PROMPTS
        ]
    )


async def _get_prompt(_: Any, params: types.GetPromptRequestParams) -> types.GetPromptResult:
    prompt = next((p for p in PROMPTS if p.name == params.name), None)
    if prompt is None:
        raise UsageError(
            f"there is no prompt {params.name!r}; expected one of {', '.join(p.name for p in PROMPTS)}"
        )
    value = (params.arguments or {}).get(prompt.argument)
    if not value:
        raise UsageError(f"prompt {prompt.name}: {prompt.argument} is missing: {prompt.meaning}")
    content = types.TextContent(type="text", text=prompt.filled(value))
    return types.GetPromptResult(messages=[types.PromptMessage(role="user", content=content)])


def server(limits: JobLimits | None = None) -> Server[dict[str, Any]]:
    """A server whose operations have these limits."""
    return Server(
        "hipkittens",
        version=importlib.metadata.version("hipkittens-workbench"),
        instructions=INSTRUCTIONS,
        on_list_resources=_list_resources,
        on_list_resource_templates=_list_templates,
        on_read_resource=_read_resource,
        on_list_prompts=_list_prompts,
        on_get_prompt=_get_prompt,
        **_tools(worker=Worker(limits or JobLimits())),
    )


async def serve_stdio(of: Server[dict[str, Any]]) -> None:
    """Serves one client on standard input and output until it goes."""
    async with stdio_server() as (read, write):
        await of.run(read, write, of.create_initialization_options())


class _Guarded:
    """An ASGI application that only answers requests with the token."""

    def __init__(self, application: Any, token: str) -> None:
        self._application = application
        self._wanted = f"Bearer {token}".encode()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        sent = dict(scope.get("headers") or ()).get(b"authorization", b"")
        if scope["type"] == "http" and not hmac.compare_digest(sent, self._wanted):
            head = [(b"content-type", b"text/plain"), (b"www-authenticate", b"Bearer")]
            await send({"type": "http.response.start", "status": 401, "headers": head})
            await send({"type": "http.response.body", "body": b"the token is missing or wrong\n"})
            return
        await self._application(scope, receive, send)


def http_application(of: Server[dict[str, Any]], token: str) -> Any:
    """The server as an ASGI application at /mcp, for requests with `Authorization: Bearer TOKEN`."""
    return _Guarded(of.streamable_http_app(), token)


def serve_http(of: Server[dict[str, Any]], port: int, token: str = "") -> None:
    """Serves clients on the loopback interface until it is interrupted, and prints address and token."""
    import uvicorn

    token = token or secrets.token_urlsafe(24)
    print(f"http://127.0.0.1:{port}/mcp\nAuthorization: Bearer {token}", file=sys.stderr, flush=True)
    uvicorn.run(http_application(of, token), host="127.0.0.1", port=port, log_level="warning")
