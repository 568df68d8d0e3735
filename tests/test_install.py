"""Installation with uv: pip's settings reach it, and pip installs where uv would install something else."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import install
import pytest


def test_settings_of_pip_become_variables_of_uv() -> None:
    settings = r"""
:env:.find-links='/wheels'
:env:.default-timeout='180'
global.timeout='20'
global.index-url='https://global.example/simple'
install.index-url='https://install.example/simple'
global.extra-index-url='\nhttps://a.example/simple\nhttps://b.example/simple'
global.find-links='/ignored'
global.disable-pip-version-check='1'
global.trusted-host='a.example b.example'
freeze.timeout='5'
"""
    assert install.environment(settings) == {
        "UV_INDEX_STRATEGY": "unsafe-best-match",
        "UV_HTTP_TIMEOUT": "180",
        "UV_DEFAULT_INDEX": "https://install.example/simple",
        "UV_INDEX": "https://a.example/simple https://b.example/simple",
        "UV_FIND_LINKS": "/wheels",
        "UV_INSECURE_HOST": "a.example b.example",
    }
    with pytest.raises(install.NoCounterpartError, match="pip's setting target"):
        install.environment("install.target='/elsewhere'\n")


def test_several_folders_of_wheels_are_separated_as_uv_reads_them() -> None:
    assert install.environment("global.find-links='/a /b'")["UV_FIND_LINKS"] == "/a,/b"


@pytest.mark.parametrize("case", ["base packages", "setting", "no uv", "uv fails", "uv"])
def test_pip_installs_where_uv_cannot(
    case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shares = "true" if case == "base packages" else "false"
    (tmp_path / "pyvenv.cfg").write_text(f"include-system-site-packages = {shares}\n", encoding="utf-8")
    monkeypatch.setattr(install.sys, "prefix", str(tmp_path))
    monkeypatch.setattr(install.importlib.util, "find_spec", lambda name: None)
    commands: list[list[str]] = []

    def run(command: list[str], **_: Any) -> SimpleNamespace:
        commands.append(command[2:])
        failed = (case == "no uv" and command[-1] == "uv") or (case == "uv fails" and command[2] == "uv")
        return SimpleNamespace(
            returncode=int(failed), stdout="install.user='1'\n" if case == "setting" else ""
        )

    monkeypatch.setattr(install.subprocess, "run", run)
    assert install.main(["-e", "."]) == 0
    assert commands[-1][0] == ("uv" if case == "uv" else "pip")
    assert commands[-1][-2:] == ["-e", "."]
    assert ("installing with pip" in capsys.readouterr().err) is (case != "uv")


def test_a_package_is_installed_from_the_index_in_the_settings_of_pip(tmp_path: Path) -> None:
    pytest.importorskip("uv")
    folder = tmp_path / "simple" / "hk-nothing"
    folder.mkdir(parents=True)
    wheel = folder / "hk_nothing-1.0-py3-none-any.whl"
    (folder / "index.html").write_text(f'<a href="{wheel.name}">{wheel.name}</a>', encoding="utf-8")
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("hk_nothing.py", "")
        archive.writestr(
            "hk_nothing-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: hk-nothing\nVersion: 1.0\n"
        )
        archive.writestr("hk_nothing-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        archive.writestr("hk_nothing-1.0.dist-info/RECORD", "")
    environment = {
        "PATH": "/usr/bin:/bin",
        "HOME": str(tmp_path),
        "PIP_CONFIG_FILE": "/dev/null",
        "PIP_INDEX_URL": (tmp_path / "simple").as_uri(),
    }
    command = [sys.executable, install.__file__, "--target", str(tmp_path / "here"), "hk-nothing"]
    finished = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert finished.returncode == 0, finished.stderr
    assert "with pip" not in finished.stderr, finished.stderr
    assert (tmp_path / "here" / "hk_nothing.py").is_file()
