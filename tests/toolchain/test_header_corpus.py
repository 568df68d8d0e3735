"""Our headers accept and refuse the same code as ROCm's: a corpus with hipcc's recorded answers."""

from __future__ import annotations

import subprocess
from functools import partial

import pytest
from rocm_answers import TARGETS, Group, answers, corpus, expected, refused

from workbench.toolchain import CompileOptions, Compiler, precompiled
from workbench.toolchain.job import Job


def _ask(compiler: Compiler, group: Group, arch: str, source: str) -> str:
    """The workbench compiler's message on a source, compiled like a cell."""
    job = Job(source, CompileOptions(arch, define=group.define, debug=False), compiler)
    command = [*compiler.device_command(arch), *job.own, *job.common, *precompiled.top(None, compiler)]
    command += ["-fsyntax-only", "-w", "-ferror-limit=0", "-"]
    finished = subprocess.run(command, input=source, capture_output=True, text=True, check=False)
    return finished.stderr


@pytest.mark.parametrize("arch", TARGETS)
@pytest.mark.parametrize("group", corpus(), ids=lambda group: group.name)
def test_accepts_and_refuses_what_rocm_does(group: Group, arch: str, zig: Compiler) -> None:
    here, there = refused(group, partial(_ask, zig, group, arch)), expected(group, arch)
    accepted, missed = sorted(there - here), sorted(here - there)
    assert (accepted, missed) == ([], []), f"{group.header}: accepted here alone, refused here alone"


def test_the_corpus() -> None:
    """Several hundred snippets, many of them wrong, and the answers are of hipcc 7."""
    count = sum(len(group.snippets) for group in corpus())
    wrong = sum(len(expected(group, "gfx942")) for group in corpus())
    assert count > 1500
    assert wrong > 300
    assert answers()["packages"][0].startswith("hipcc\t7.")
