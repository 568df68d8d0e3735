"""Plays a transcript of an agent to the MCP server, and writes it with the tools' results to a page.

    python docs/transcript.py

`data/agent_transcript.toml` has the agent's steps: its words, a file that it writes or a tool that it calls.
"""

from __future__ import annotations

import contextlib
import tempfile
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
from mcp import Client

from workbench.mcp_server.server import server

DOCS = Path(__file__).resolve().parent
DATA = DOCS / "data" / "agent_transcript.toml"
PAGE = DOCS / "agent_transcript.md"
HEAD = """# A naive kernel, made faster by an agent

`python docs/transcript.py` makes this page. A language model wrote the words and the kernels below; the
command gives its calls to [the server for agents](howto/use_it_with_an_agent.md) again, and writes down the
answers. There was no GPU: times are [modelled](timing.md).

"""


@dataclass(frozen=True)
class Step:
    """What the agent did.

    Attributes:
        say: its words; may be empty.
        file, source: file that it wrote, and the content; "" if it wrote none.
        tool: tool that it called; "" if it called none.
        arguments: arguments of the call.
    """

    say: str
    file: str = ""
    source: str = ""
    tool: str = ""
    arguments: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Played:
    """A step with the tool's answer, `{}` if it called none."""

    step: Step
    answer: dict[str, Any]

    def __str__(self) -> str:
        step, parts = self.step, []
        if step.say:
            parts.append(step.say)
        if step.file:
            parts.append(f"```cpp\n{step.source.strip()}\n```")
        if step.tool:
            call = " ".join([step.tool, *map(str, step.arguments.values())])
            parts.append(f"```text\n> {call}\n{self.answer['text']}\n```")
        return "\n\n".join(parts)


def steps() -> list[Step]:
    """The stored steps."""
    return [Step(**data) for data in tomllib.loads(DATA.read_text(encoding="utf-8"))["steps"]]


def play(steps: list[Step], folder: Path) -> list[Played]:
    """Does the steps in a folder, which becomes the working directory for them."""

    async def main() -> list[Played]:
        done = []
        async with Client(server()) as client:
            for step in steps:
                answer: dict[str, Any] = {}
                if step.file:
                    (folder / step.file).write_text(step.source, encoding="utf-8")
                if step.tool:
                    result = await client.call_tool(step.tool, step.arguments)
                    answer = dict(result.structured_content or {})
                done.append(Played(step, answer))
        return done

    with contextlib.chdir(folder):
        return anyio.run(main)


def page(played: list[Played]) -> str:
    """The page's text."""
    return HEAD + "\n\n".join(map(str, played)) + "\n"


def main() -> None:
    """Writes the page."""
    with tempfile.TemporaryDirectory() as folder:
        PAGE.write_text(page(play(steps(), Path(folder))), encoding="utf-8")


if __name__ == "__main__":
    main()
