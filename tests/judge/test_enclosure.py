"""What a process can do once it is enclosed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """
import json, os, resource, socket, sys
from pathlib import Path
from workbench.judge.enclosure import enclose, has_namespaces

own, other = map(Path, sys.argv[1:])
namespaces = has_namespaces()
child = os.fork()
if child:
    sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
enclosure = enclose(own, namespaces and "LIMITS" not in os.environ)

def can(do):
    try:
        do()
    except OSError:
        return False
    return True

found = dict(
    kind=enclosure.kind,
    own=can(lambda: (own / "file").write_text("x")),
    other=can(lambda: other.write_text("x")),
    network=can(lambda: socket.create_connection(("127.0.0.1", int(os.environ["PORT"])), 1)),
    processes=len([name for name in os.listdir("/proc") if name.isdigit()]),
    largest=resource.getrlimit(resource.RLIMIT_FSIZE)[0],
)
print(json.dumps(found), flush=True)
os._exit(0)
"""


def tried(tmp_path: Path, **variables: str) -> dict[str, object]:
    import os
    import socket

    own = tmp_path / "own"
    own.mkdir()
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = str(server.getsockname()[1])
        result = subprocess.run(
            [sys.executable, "-c", SCRIPT, str(own), str(Path(__file__).with_name("written"))],
            env={**os.environ, **variables, "PORT": port},
            stdout=subprocess.PIPE,
            check=True,
        )
    assert (own / "file").read_text() == "x"
    found: dict[str, object] = json.loads(result.stdout)
    return found


def test_namespaces_have_no_network_and_no_files(tmp_path: Path) -> None:
    found = tried(tmp_path)
    if found["kind"] != "namespaces":
        pytest.skip("this system allows no namespaces")
    assert not found["network"]
    assert not found["other"]
    assert found["processes"] == 1


def test_limits_hold_where_namespaces_are_forbidden(tmp_path: Path) -> None:
    found = tried(tmp_path, LIMITS="1")
    Path(__file__).with_name("written").unlink()
    assert found["kind"] == "limits"
    assert found["network"]
    assert isinstance(found["largest"], int)
    assert found["largest"] > 0
