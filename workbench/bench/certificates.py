"""Certificates for a Dask cluster of several machines, made with the `openssl` program.

Anyone who has a certificate of the folder's authority may join the cluster and run code in it; nobody else
may. Dask does the rest: it encrypts, and asks both sides of each connection for their certificate.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from workbench.errors import UsageError, WorkbenchError

DAYS = 825
"""Days for which the certificates are valid."""

CONFIGURATION = "dask.yaml"
"""Name of the configuration file that Dask reads if DASK_CONFIG names the folder or the file."""

_AUTHORITY, _AUTHORITY_KEY = "ca.pem", "ca-key.pem"
_CERTIFICATE, _KEY = "cluster.pem", "cluster-key.pem"
_TIMEOUT_SECONDS = 60.0

# A machine's openssl.cnf may be missing, or lack these settings.
_REQUEST = """\
[req]
distinguished_name = name
prompt = no
[name]
CN = {name}
[authority]
basicConstraints = critical, CA:TRUE
keyUsage = critical, keyCertSign, cRLSign
subjectKeyIdentifier = hash
[member]
basicConstraints = critical, CA:FALSE
keyUsage = critical, digitalSignature
extendedKeyUsage = serverAuth, clientAuth
subjectKeyIdentifier = hash
authorityKeyIdentifier = keyid
"""

_DASK = """\
distributed:
  comm:
    require-encryption: true
    default-scheme: tls
    tls:
      ca-file: {authority}
      scheduler: {{cert: {certificate}, key: {key}}}
      worker: {{cert: {certificate}, key: {key}}}
      client: {{cert: {certificate}, key: {key}}}
  scheduler:
    dashboard:
      tls: {{ca-file: {authority}, cert: {certificate}, key: {key}}}
"""


def make_certificates(folder: str | os.PathLike[str]) -> Path:
    """Makes an authority, a certificate that it signed, their keys, and Dask's configuration to use them.

    Args:
        folder: folder for the files; it is created with access for this user only.

    Returns:
        The configuration's path.

    Raises:
        UsageError: the folder has such files already, or cannot be written.
        WorkbenchError: the openssl program is missing, or fails.
    """
    place = Path(folder).expanduser().absolute()
    paths = {name: place / name for name in (_AUTHORITY, _AUTHORITY_KEY, _CERTIFICATE, _KEY, CONFIGURATION)}
    there = [name for name, path in paths.items() if os.path.lexists(path)]
    if there:
        raise UsageError(
            f"{place} has {', '.join(there)} already; expected a folder without. A cluster that uses them "
            "would refuse new ones: name another folder, or remove them"
        )
    program = shutil.which("openssl")
    if program is None:
        raise WorkbenchError(
            "the openssl program, which makes certificates, is not on PATH: `apt install openssl`, or "
            "`conda install openssl`"
        )
    try:
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        # Readable by this user alone from the first byte, as mkdtemp creates it.
        with tempfile.TemporaryDirectory(prefix=".certificates-", dir=place) as scratch:
            _make(program, Path(scratch))
            (Path(scratch) / CONFIGURATION).write_text(
                _DASK.format(
                    authority=_quoted(paths[_AUTHORITY]),
                    certificate=_quoted(paths[_CERTIFICATE]),
                    key=_quoted(paths[_KEY]),
                )
            )
            for name, path in paths.items():
                file = Path(scratch) / name
                file.chmod(0o600 if name in (_AUTHORITY_KEY, _KEY) else 0o644)
                file.rename(path)
    except OSError as error:
        raise UsageError(
            f"no certificates can be made in {place}: {error.strerror}; name a folder that can be written"
        ) from None
    return paths[CONFIGURATION]


def _make(program: str, folder: Path) -> None:
    new_key = "-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes"
    for name, common_name in (
        ("authority", "HipKittens cluster authority"),
        ("member", "HipKittens cluster"),
    ):
        (folder / f"{name}.cnf").write_text(_REQUEST.format(name=common_name))
    for arguments in (
        f"req -x509 {new_key} -config authority.cnf -extensions authority -sha256 -days {DAYS} "
        f"-keyout {_AUTHORITY_KEY} -out {_AUTHORITY}",
        f"req {new_key} -config member.cnf -keyout {_KEY} -out request.pem",
        f"x509 -req -in request.pem -CA {_AUTHORITY} -CAkey {_AUTHORITY_KEY} -CAcreateserial -sha256 "
        f"-extfile member.cnf -extensions member -days {DAYS} -out {_CERTIFICATE}",
    ):
        _run(program, arguments, folder)


def _run(program: str, arguments: str, folder: Path) -> None:
    try:
        subprocess.run(
            [program, *arguments.split()],
            cwd=folder,
            check=True,
            capture_output=True,
            text=True,
            timeout=_TIMEOUT_SECONDS,
            stdin=subprocess.DEVNULL,
        )
    except subprocess.CalledProcessError as error:
        raise WorkbenchError(
            f"`openssl {arguments}` failed (status {error.returncode}): {error.stderr.strip()}; "
            "expected OpenSSL 1.1.1 or later"
        ) from None
    except subprocess.TimeoutExpired:
        raise WorkbenchError(
            f"`openssl {arguments}` took more than {_TIMEOUT_SECONDS:g} s and was stopped; run it again"
        ) from None


def _quoted(path: Path) -> str:
    """A path quoted for YAML."""
    text = str(path).replace("'", "''")
    return f"'{text}'"
