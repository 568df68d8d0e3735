"""Installs packages into this Python's environment with uv: `python tests/install.py -c constraints.txt -e .`

torch and ziglang have 32,000 files, for which pip takes five times as long. The arguments are those of `pip
install`. uv reads none of pip's settings, so it gets them as environment variables. pip itself installs where
a setting has no counterpart, where the environment sees the base Python's packages (uv would install them
again), and where uv fails.
"""

from __future__ import annotations

import ast
import importlib.util
import os
import subprocess
import sys
from pathlib import Path

VARIABLES = {
    "index-url": "UV_DEFAULT_INDEX",
    "extra-index-url": "UV_INDEX",
    "find-links": "UV_FIND_LINKS",
    "constraint": "UV_CONSTRAINT",
    "trusted-host": "UV_INSECURE_HOST",
    "cert": "SSL_CERT_FILE",
    "timeout": "UV_HTTP_TIMEOUT",
    "default-timeout": "UV_HTTP_TIMEOUT",
    "no-cache-dir": "UV_NO_CACHE",
}
"""uv's environment variable for each of pip's settings."""

HARMLESS = {
    "config-file",
    "disable-pip-version-check",
    "no-color",
    "no-input",
    "no-python-version-warning",
    "progress-bar",
    "quiet",
    "retries",
    "root-user-action",
    "verbose",
    "no-compile",
}
"""Settings of pip that change nothing of what is installed."""

PIP = [sys.executable, "-m", "pip"]
INSTALL = [*PIP, "install", "--quiet", "--disable-pip-version-check", "--no-compile"]


class NoCounterpartError(Exception):
    """uv would install something else than pip."""


def environment(settings: str) -> dict[str, str]:
    """uv's environment variables for pip's settings.

    Args:
        settings: what `pip config list` prints. Variables come before files, and the files' section `install`
            before `global`.

    Raises:
        NoCounterpartError: uv has nothing like one of them.
    """
    values: dict[str, dict[str, str]] = {"global": {}, "install": {}, ":env:": {}}
    for line in settings.splitlines():
        name, _, text = line.partition("=")
        section, _, key = name.rpartition(".")
        if section in values and key not in HARMLESS:
            values[section][key] = ast.literal_eval(text)
    # pip compares the releases of all indexes; uv by itself takes the first index that has the package.
    variables = {"UV_INDEX_STRATEGY": "unsafe-best-match"}
    for key, value in (values["global"] | values["install"] | values[":env:"]).items():
        if key not in VARIABLES:
            raise NoCounterpartError(f"uv has no counterpart of pip's setting {key}")
        variables[VARIABLES[key]] = ("," if key == "find-links" else " ").join(value.split())
    return variables


def with_uv(arguments: list[str]) -> str:
    """Installs with uv; returns why it did not, "" if it did."""
    configuration = Path(sys.prefix, "pyvenv.cfg")  # conda's environments have none
    if configuration.is_file() and "include-system-site-packages = true" in configuration.read_text("utf-8"):
        return "the environment sees the base Python's packages"
    listed = subprocess.run([*PIP, "config", "list"], capture_output=True, text=True, check=True)
    try:
        variables = environment(listed.stdout)
    except NoCounterpartError as error:
        return str(error)
    if importlib.util.find_spec("uv") is None and subprocess.run([*INSTALL, "uv"], check=False).returncode:
        return "uv could not be installed"
    command = [sys.executable, "-m", "uv", "pip", "install", "--quiet", "--python", sys.executable]
    finished = subprocess.run([*command, *arguments], env={**os.environ, **variables}, check=False)
    return f"uv ended with {finished.returncode}" if finished.returncode else ""


def main(arguments: list[str]) -> int:
    """Installs; returns the exit status."""
    reason = with_uv(arguments)
    if not reason:
        return 0
    print(f"{reason}: installing with pip", file=sys.stderr)
    return subprocess.run([*INSTALL, *arguments], check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
