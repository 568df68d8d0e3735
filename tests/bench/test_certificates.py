"""A cluster over TLS accepts certificates of its authority and no others."""

from __future__ import annotations

import json
import os
import shutil
import socket
import ssl
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from workbench.__main__ import main
from workbench.bench import certificates, engine
from workbench.bench.engine import Engine, Task
from workbench.errors import UsageError, WorkbenchError

SQUARES = [Task(f"{n}", (n, 2)) for n in range(4)]

pytestmark = pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl is not installed")


@contextmanager
def _configured(file: Path) -> Iterator[None]:
    """Dask's configuration as in a process started with DASK_CONFIG."""
    import dask
    import distributed  # noqa: F401 - brings the defaults that the file goes over

    with dask.config.set(dask.config.merge(dask.config.config, *dask.config.collect_yaml([str(file)]))):
        yield


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return certificates.make_certificates(tmp_path_factory.mktemp("own's \"folder"))


@pytest.fixture(scope="module")
def address(config: Path) -> Iterator[str]:
    with _configured(config):
        cluster = engine.local_cluster(1, {})
    with cluster:
        yield cluster.scheduler_address


def _run(address: str) -> list[int]:
    return [outcome.value for outcome in Engine(cluster=address).run(pow, SQUARES)]


def test_with_a_certificate_work_is_done(address: str, config: Path) -> None:
    assert address.startswith("tls://127.0.0.1:")
    with _configured(config):
        assert sorted(_run(address)) == [0, 1, 4, 9]


def test_without_a_certificate_it_is_refused(address: str, config: Path) -> None:
    with pytest.raises(
        WorkbenchError, match=r"requires TLS, and .* no certificates.*workbench certificates FOLDER"
    ):
        _run(address)
    with pytest.raises(WorkbenchError, match="no Dask scheduler answers"):
        _run(address.replace("tls:", "tcp:"))
    # The scheduler's answer to a client that accepts its certificate and presents none.
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.load_verify_locations(config.with_name("ca.pem"))
    place = urlsplit(address)
    with (
        socket.create_connection((place.hostname or "", place.port or 0), timeout=30) as plain,
        pytest.raises(ssl.SSLError, match=r"(?i)certificate.required|handshake.failure"),
        context.wrap_socket(plain) as connection,
    ):
        connection.recv(1)


def test_a_certificate_of_another_authority_is_refused(address: str, tmp_path: Path) -> None:
    other = certificates.make_certificates(tmp_path / "other")
    with _configured(other):
        with pytest.raises(WorkbenchError, match=r"certificate does not match.*by the same certificates"):
            _run(address)
        with pytest.raises(WorkbenchError, match="not encrypted, which Dask's configuration requires"):
            _run(address.replace("tls:", "tcp:"))
        other.with_name("cluster.pem").unlink()
        with pytest.raises(
            WorkbenchError, match=r"cannot be read: .*cluster\.pem.*workbench certificates FOLDER"
        ):
            _run(address)


def _documented(name: str) -> list[str]:
    """A command of the page on clusters, here on the loopback and on any port."""
    page = Path(__file__).parents[2] / "docs" / "scaling.md"
    line = next(line for line in page.read_text().splitlines() if f"$ dask {name} " in line and "tls" in line)
    words = line.partition("$ dask ")[2].replace("--nworkers 32", "--nworkers 1").split()
    return [sys.executable, "-m", "distributed.cli.dask_" + words[0], *words[1:]]


def test_the_documented_commands_show_their_pages_on_the_loopback_alone(config: Path, tmp_path: Path) -> None:
    psutil = pytest.importorskip("psutil")
    place = tmp_path / "scheduler.json"
    scheduler, worker = _documented("scheduler"), _documented("worker")
    scheduler += ["--host", "127.0.0.1", "--port", "0", "--scheduler-file", str(place)]
    scheduler[scheduler.index("--dashboard-address") + 1] = "127.0.0.1:0"
    worker.remove("tls://node1:8786")
    worker += ["--host", "127.0.0.1", "--scheduler-file", str(place), "--local-directory", str(tmp_path)]
    environment = {**os.environ, "DASK_CONFIG": str(config.parent)}
    started: list[subprocess.Popen[bytes]] = []
    try:
        for command in (scheduler, worker):
            started.append(subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL))
            while command is scheduler and not place.exists():
                assert started[0].poll() is None
                time.sleep(0.05)
        address = json.loads(place.read_text())["address"]
        with _configured(config):
            assert sorted(_run(address)) == [0, 1, 4, 9]
        processes = [psutil.Process(process.pid) for process in started]
        processes += [child for process in processes for child in process.children(recursive=True)]
        places = {
            connection.laddr
            for process in processes
            for connection in process.net_connections("inet")
            if connection.status == psutil.CONN_LISTEN
        }
        assert len(places) >= 5, "a scheduler, a nanny, a worker, and pages of two"
        assert {place.ip for place in places} == {"127.0.0.1"}
        pages = 0
        for place_ in places:
            # No service answers a request without TLS.
            with socket.create_connection((place_.ip, place_.port), timeout=30) as plain:
                plain.sendall(b"GET /health HTTP/1.0\r\n\r\n")
                plain.settimeout(30)
                with suppress(ConnectionResetError):
                    assert not plain.recv(100).startswith(b"HTTP/")
            context = ssl.create_default_context(cafile=config.with_name("ca.pem"))
            context.check_hostname = False
            with (
                suppress(ssl.SSLError),
                socket.create_connection((place_.ip, place_.port), 30) as plain,
                context.wrap_socket(plain) as connection,
            ):
                connection.sendall(b"GET /health HTTP/1.0\r\n\r\n")
                pages += connection.recv(100).startswith(b"HTTP/1.1 200")
        assert pages >= 2
    finally:
        for process in started:
            process.terminate()
        for process in started:
            process.wait(60)


def test_the_command_makes_what_this_user_alone_can_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "new" / "tls"
    assert main(["certificates", str(folder)]) == 0
    assert f"export DASK_CONFIG={folder}\n" in capsys.readouterr().out
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()}
    assert modes == {
        "ca.pem": 0o644,
        "ca-key.pem": 0o600,
        "cluster.pem": 0o644,
        "cluster-key.pem": 0o600,
        "dask.yaml": 0o644,
    }
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    key = folder.joinpath("ca-key.pem").read_bytes()
    with pytest.raises(UsageError, match=r"has ca\.pem, .* already; expected a folder without"):
        certificates.make_certificates(folder)
    assert folder.joinpath("ca-key.pem").read_bytes() == key
    monkeypatch.setenv("PATH", os.devnull)
    assert main(["certificates", str(tmp_path / "another")]) == 2
    assert "the openssl program, which makes certificates, is not on PATH" in capsys.readouterr().err
    assert not (tmp_path / "another").exists()


def test_what_openssl_says_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "openssl"
    program.write_text("#!/bin/sh\necho 'unknown option' >&2; exit 1\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    with pytest.raises(WorkbenchError, match=r"`openssl req .*` failed \(status 1\): unknown option"):
        certificates.make_certificates(tmp_path / "folder")
    assert not list((tmp_path / "folder").iterdir())
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match="name a folder that can be written"):
        certificates.make_certificates(tmp_path / "file" / "folder")
