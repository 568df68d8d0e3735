"""Native libraries for other machines: they build without a warning, and a wheel's are found and used."""

from __future__ import annotations

import itertools
import re
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from workbench import prebuilt
from workbench.emulator.hip.library import function_names
from workbench.emulator.native import build
from workbench.errors import UsageError
from workbench.toolchain import cpu, native

ANSWER = 'int answer(void) __attribute__((visibility("default")));\nint answer(void) { return 42; }\n'


def machine_of(library: bytes) -> tuple[str, int]:
    """Format and machine, as ELF's and Mach-O's headers say."""
    if library[:4] == b"\x7fELF":
        return "ELF", struct.unpack_from("<H", library, 18)[0]
    assert struct.unpack_from("<I", library)[0] == 0xFEEDFACF, "64-bit Mach-O"
    return "Mach-O", struct.unpack_from("<I", library, 4)[0]


@pytest.mark.parametrize(
    ("system", "level", "header"),
    [("linux", "armv8.6", ("ELF", 183)), ("macos", "armv8", ("Mach-O", 0x0100000C))],
)
def test_the_libraries_build_for_arm_without_a_warning(
    system: str, level: str, header: tuple[str, int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HIPKITTENS_CACHE", str(tmp_path / "cache"))
    outputs = []
    compile_ = native._compile

    def listening(name: str, command: list[str], library: Path) -> subprocess.CompletedProcess[str]:
        done = compile_(name, command, library)
        outputs.append(done.stderr)
        return done

    monkeypatch.setattr(native, "_compile", listening)
    files = prebuilt.prebuild(native.Target("aarch64", system, cpu.LEVELS[level]), tmp_path / "made")
    # One of the emulator for each wave size; AMD's driver is one of Linux.
    names = ["amdhip64", "hiprtc", "hkemu", "hkemu", "hksim", *(("driver", "queues") * (system == "linux"))]
    assert sorted(path.name.partition(f"-{level}-")[0] for path in files) == sorted(names)
    assert {machine_of(path.read_bytes()) for path in files} == {header}
    words = [line for text in outputs for line in text.splitlines() if "warning(zcu)" not in line]
    assert not [line for line in words if "warning" in line], "\n".join(words)
    [hip] = [path.read_bytes() for path in files if path.name.startswith("amdhip64")]
    assert all(name.encode() in hip for name in function_names())


@pytest.mark.skipif(cpu.machine() != "x86_64", reason="AMX is of x86-64")
def test_the_emulator_builds_for_cpus_with_tiles() -> None:
    """Code that is not compiled for this computer's CPU."""
    with native.made_for(native.Target("x86_64", "linux", cpu.LEVELS["x86-64-v4-amx"])) as libraries:
        build()
    assert [name.partition("-x86-64-")[0] for name in libraries] == ["hkemu"]


@pytest.fixture
def source(tmp_path: Path, prebuilt_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HIPKITTENS_CACHE", str(tmp_path / "cache"))
    (tmp_path / "answer.c").write_text(ANSWER)
    return tmp_path / "answer.c"


def bring(source: Path, level: cpu.Level) -> Path:
    """Builds the library for a level and puts it where a wheel's libraries are."""
    with native.made_for(native.Target(level.machine, "linux", level)) as libraries:
        native.build("answer", [source])
    native.PREBUILT.mkdir(exist_ok=True)
    [(name, path)] = libraries.items()
    return path.rename(native.PREBUILT / name)


def test_a_wheels_library_is_used_for_these_sources_alone(
    source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    level = cpu.host_level()
    if level is None:
        pytest.skip("this CPU is below every level")
    brought = bring(source, level)
    # It is used where there is no compiler too.
    native.compiler_identity.cache_clear()
    monkeypatch.setitem(sys.modules, "ziglang", None)
    assert native.build("answer", [source]) == brought
    monkeypatch.setenv(cpu.VARIABLE, level.name)
    assert native.build("answer", [source]) == brought
    monkeypatch.delitem(sys.modules, "ziglang")
    monkeypatch.delenv(cpu.VARIABLE)
    source.write_text(ANSWER.replace("42", "43"))
    assert native.build("answer", [source]) != brought


def test_a_lower_level_is_not_taken_for_this_cpu(source: Path) -> None:
    level = cpu.host_level()
    lower = [candidate for candidate in cpu.levels(cpu.machine()) if candidate != level]
    if level is None or not lower:
        pytest.skip("this CPU has no level below its own")
    brought = bring(source, lower[0])
    assert native.build("answer", [source]) != brought


def test_each_level_has_what_those_below_it_have() -> None:
    for machine in prebuilt.MACHINES:
        levels = cpu.levels(machine)
        for lower, higher in itertools.pairwise(levels):
            assert lower.features < higher.features


def test_a_level_of_another_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    other = next(level for level in cpu.LEVELS.values() if level.machine != cpu.machine())
    monkeypatch.setenv(cpu.VARIABLE, other.name)
    with pytest.raises(UsageError, match=f"HIPKITTENS_CPU is '{re.escape(other.name)}'; expected native or"):
        cpu.chosen_level()


def test_the_command_says_what_it_wants() -> None:
    command = [sys.executable, "-m", "workbench.prebuilt", "vax", "folder"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2
    assert done.stderr == "usage: python -m workbench.prebuilt x86_64|aarch64 FOLDER\n"
