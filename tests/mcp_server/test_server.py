"""The MCP server, by the SDK's own client."""

from __future__ import annotations

import base64
import io
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest

pytest.importorskip("mcp_types")

from mcp import Client
from PIL import Image

from workbench.mcp_server.jobs import JobLimits, Worker
from workbench.mcp_server.prompts import PROMPTS
from workbench.mcp_server.server import http_application, server
from workbench.operations import operations
from workbench.views.waves.picture import WIDTH


async def looked_at(client: Client) -> None:
    tools = {tool.name: tool for tool in (await client.list_tools()).tools}
    assert tools.keys() == operations().keys()
    # A client asks its user before it calls a tool that writes files: `judge` has `out`.
    assert [name for name, tool in tools.items() if not tool.annotations.read_only_hint] == ["judge"]
    assert tools["verify"].input_schema == operations()["verify"].arguments_schema
    uris = {str(resource.uri) for resource in (await client.list_resources()).resources}
    assert {
        "hipkittens://functions",
        "hipkittens://guide/find_a_race",
        "hipkittens://header/kittens.cuh",
    } <= uris
    page = (await client.read_resource("hipkittens://operator/gemm/bf16")).contents[0]
    assert "residual" in page.text
    prompts = (await client.list_prompts()).prompts
    assert [prompt.name for prompt in prompts] == [prompt.name for prompt in PROMPTS]
    message = (await client.get_prompt("find_the_race", {"file": "scale.cpp"})).messages[0]
    assert "scale.cpp" in message.content.text
    done = await client.call_tool("explain", {"error": "KernelFault"})
    assert not done.is_error
    assert done.structured_content["status"] == "right"
    failed = await client.call_tool("explain", {"error": "nothing"})
    assert failed.is_error
    assert failed.structured_content["error"]["code"] == "UsageError"


def test_a_client_sees_tools_resources_and_prompts() -> None:
    async def main() -> None:
        async with Client(server()) as client:
            await looked_at(client)

    anyio.run(main)


def test_an_answer_has_its_picture(tmp_path: Path) -> None:
    file = tmp_path / "scale.cpp"
    file.write_text('// %%hipkittens scale --launch "k[1, 64]" --inputs "dict(x=torch.ones(64))"\n'
                    "#include <hip/hip_runtime.h>\n"
                    "extern \"C\" __global__ void k(float *x) { x[threadIdx.x] *= 2; }\n")  # fmt: skip

    async def main() -> None:
        async with Client(server()) as client:
            done = await client.call_tool("timeline", {"source": str(file), "device": "MI300X"})
            text, picture = done.content
            assert text.text == done.structured_content["text"]
            assert picture.mime_type == "image/png"
            image = Image.open(io.BytesIO(base64.b64decode(picture.data))).convert("RGB")
            # White where nothing is, and the colours of what the waves do.
            assert image.width == WIDTH
            assert image.getpixel((2, 2)) == (255, 255, 255)
            assert len(image.getcolors(1 << 16)) > 10

    anyio.run(main)


@pytest.fixture
def slow(tmp_path: Path) -> str:
    file = tmp_path / "slow.cpp"
    file.write_text('// %%hipkittens slow --launch "k[1, 64]" --inputs "__import__(\'time\').sleep(60)"\n'
                    "extern \"C\" __global__ void k(float *x) {}\n")  # fmt: skip
    return str(file)


@pytest.fixture
def worker() -> Iterator[Worker]:
    made = Worker(JobLimits(seconds=60))
    yield made
    made.close()


def test_limits_end_an_operation_and_the_next_one_is_done(slow: str, worker: Worker) -> None:
    assert worker.call("explain", {"error": "UsageError"})["status"] == "right"
    stopped = threading.Event()
    threading.Timer(1, stopped.set).start()
    cancelled = worker.call("launch", {"source": slow}, stopped=stopped)
    assert cancelled["error"]["code"] == "JobLimit"
    assert "was cancelled" in cancelled["text"]
    worker.limits = JobLimits(memory=1 << 20)
    greedy = worker.call("launch", {"source": slow})
    assert "of memory" in greedy["text"]


def test_a_process_that_ends_is_an_error(tmp_path: Path, worker: Worker) -> None:
    file = tmp_path / "leaves.cpp"
    file.write_text('// %%hipkittens leaves --launch "k[1, 64]" --inputs "__import__(\'os\')._exit(7)"\n'
                    "extern \"C\" __global__ void k(float *x) {}\n")  # fmt: skip
    data = worker.call("launch", {"source": str(file)})
    assert data["error"]["code"] == "WorkerEnded"
    assert "status 7" in data["text"]


def test_http_wants_the_token() -> None:
    async def status(headers: list[tuple[bytes, bytes]]) -> int:
        sent: list[dict[str, Any]] = []

        async def send(message: dict[str, Any]) -> None:
            sent.append(message)

        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": b"", "more_body": False}

        scope = {"type": "http", "method": "GET", "path": "/nothing", "headers": headers, "query_string": b""}
        await http_application(server(), "secret")(scope, receive, send)
        return int(sent[0]["status"])

    assert anyio.run(status, []) == 401
    assert anyio.run(status, [(b"authorization", b"Bearer wrong")]) == 401
    assert anyio.run(status, [(b"authorization", b"Bearer secret")]) == 404
