"""What a process can do once it is enclosed."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """
import json, os, resource, socket, sys
from pathlib import Path
from workbench.judge import enclosure as module
from workbench.judge.enclosure import enclose, has_namespaces

module._SCRATCH += tuple(os.environ.get("SCRATCH", "").split())
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
    libraries=can(lambda: os.listdir(Path(sys.prefix, "lib"))),
    changed=can(lambda: Path(sys.prefix, "written").write_text("x")),
    network=can(lambda: socket.create_connection(("127.0.0.1", int(os.environ["PORT"])), 1)),
    processes=len([name for name in os.listdir("/proc") if name.isdigit()]),
    largest=resource.getrlimit(resource.RLIMIT_FSIZE)[0],
)
print(json.dumps(found), flush=True)
os._exit(0)
"""


def tried(tmp_path: Path, **variables: str) -> dict[str, object]:
    own = tmp_path / "own"
    own.mkdir()
    # Not in a scratch folder, which is another one inside.
    other = Path(__file__).with_name(f"written-{os.getpid()}")
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = str(server.getsockname()[1])
        result = subprocess.run(
            [sys.executable, "-c", SCRIPT, str(own), str(other)],
            env={**os.environ, **variables, "PORT": port},
            stdout=subprocess.PIPE,
            check=True,
        )
    other.unlink(missing_ok=True)
    assert (own / "file").read_text() == "x"
    abilities: dict[str, object] = json.loads(result.stdout)
    return abilities


def test_namespaces_have_no_network_and_no_files(tmp_path: Path) -> None:
    abilities = tried(tmp_path)
    if abilities["kind"] != "namespaces":
        pytest.skip("this system allows no namespaces")
    assert not abilities["network"]
    assert not abilities["other"]
    assert abilities["processes"] == 1


@pytest.mark.skipif(sys.prefix == sys.base_prefix, reason="Python is not in an environment of its own")
def test_python_in_a_scratch_folder_is_there_and_cannot_be_changed(tmp_path: Path) -> None:
    abilities = tried(tmp_path, SCRATCH=str(Path(sys.prefix).parent))
    if abilities["kind"] != "namespaces":
        pytest.skip("this system allows no namespaces")
    assert abilities["libraries"]
    assert not abilities["changed"]
    assert not abilities["other"]


def test_limits_hold_where_namespaces_are_forbidden(tmp_path: Path) -> None:
    abilities = tried(tmp_path, LIMITS="1")
    assert abilities["kind"] == "limits"
    assert abilities["network"]
    assert abilities["other"]
    assert isinstance(abilities["largest"], int)
    assert abilities["largest"] > 0
