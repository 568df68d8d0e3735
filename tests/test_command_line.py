"""Output of the commands."""

from __future__ import annotations

import contextlib
import re
import signal
import subprocess
import sys

import pytest

import workbench as wb
from workbench.__main__ import main


def test_the_library_fits_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["kernels"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 100
    assert {line.split()[0] for line in lines[1:]} == set(wb.kernels)


def test_operators_are_described(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["kernels", "normalization/rmsnorm", "gemm/fp8"]) == 0
    text = capsys.readouterr().out
    assert text.startswith("normalization/rmsnorm\n\nRMS norm of each row")
    assert "\ngemm/fp8\n" in text
    assert "[..., cols] of bf16, fp16 or fp32" in text


def helps(words: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    """What a command prints about itself."""
    with contextlib.suppress(SystemExit):
        main([*words, "--help"])
    return capsys.readouterr().out


def test_every_command_describes_itself(capsys: pytest.CaptureFixture[str]) -> None:
    names = re.search(r"\{([\w,-]+)\}", helps([], capsys))
    assert names is not None
    for name in names[1].split(","):
        text = helps([name], capsys)
        head, _, rest = text.partition("\n\n")
        assert head.startswith("usage: "), name
        assert name in head
        # After its usage there is a sentence before the list of options.
        assert re.match(r"[A-Z][a-z]+ [^.]*\.(?:\s|$)", rest), (name, rest[:100])


def test_names_of_operators_and_categories() -> None:
    gemms = [name for name in wb.kernels if name.startswith("gemm/")]
    assert wb.kernels.named(["gemm", "gemm/bf16", "normalization/rmsnorm"]) == [
        *gemms,
        "normalization/rmsnorm",
    ]
    with pytest.raises(wb.errors.UnknownKernel, match="did you mean normalization/rmsnorm"):
        wb.kernels.named(["normalization/rmsnrm"])


@pytest.mark.skipif(sys.platform == "win32", reason="a pipe's end is no signal there")
def test_a_reader_that_has_enough_ends_a_listing() -> None:
    command = [sys.executable, "-m", "workbench", "kernels"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == ""
    assert process.returncode == 128 + signal.SIGPIPE
