"""A client of /dev/kfd in C on the emulated driver: what AMD's runtime asks, without AMD's runtime."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from workbench.codeobject import CodeObject
from workbench.errors import UsageError
from workbench.execute.command import run
from workbench.toolchain import CompileOptions, compile_device, zig

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="AMD's driver is Linux's")

SOURCE = """
#include <hip/hip_runtime.h>
extern "C" __global__ void saxpy(float* y, const float* x, float a, int n) {
    int i = blockIdx.x * 64 + threadIdx.x;  // The client sets no hidden arguments.
    if (i < n) y[i] += a * x[i];
}
"""
# The client in each of its modes, in one run of `exec`, since the device takes a second to start.
SCRIPT = """
for mode in run fault fork; do "$0" "$1" "$2" $mode > $mode.out 2> $mode.err; done
mkfifo pipe
"$0" "$1" "$2" hang > pipe & while read line; do [ $line = ready ] && break; done < pipe
sleep 0.1
kill -9 $!
wait $!
echo $? > killed
# Processes of the device: the one that takes programs, and those of programs.
for wait in $(seq 600); do
    left=0
    for process in $(grep -ls "$HIPKITTENS_DRIVER_SOCKET" /proc/[0-9]*/environ); do
        grep -qs "runtime.[d]river" ${process%environ}cmdline && left=$((left + 1))
    done
    [ $left = 1 ] && break
    sleep 0.1
done
echo $left > left
"$0" "$1" "$2" run > after.out
"""


class Outcome:
    """What the client has printed, by mode and name, and the standard error of the device."""

    def __init__(self, folder: Path, messages: str) -> None:
        self.folder = folder
        self.messages = messages

    def values(self, mode: str, name: str) -> list[int]:
        lines = (line.split() for line in (self.folder / f"{mode}.out").read_text().splitlines())
        return [int(words[1]) for words in lines if words[0] == name]

    def value(self, mode: str, name: str) -> int:
        (result,) = self.values(mode, name)
        return result


@pytest.fixture(scope="module")
def outcome(tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    folder = tmp_path_factory.mktemp("driver")
    program, image = folder / "client", folder / "image"
    source = Path(__file__).with_name("driver_client.c")
    words = [
        "cc",
        "-target",
        zig.host_target(),
        "-fno-sanitize=all",
        "-rtlib=none",
        str(source),
        "-o",
        str(program),
    ]
    environment = {"ZIG_GLOBAL_CACHE_DIR": zig.cache_folder()}
    subprocess.run([sys.executable, "-m", "ziglang", *words], check=True, env=environment)
    code = CodeObject.from_bytes(compile_device(SOURCE, CompileOptions("gfx942")).code_object)
    image.write_bytes(code.load(0))
    descriptor = str(code.kernels["saxpy"].descriptor_address)
    command = [sys.executable, "-m", "workbench", "exec", "--driver", "--device", "MI300X", "--"]
    command += ["sh", "-c", SCRIPT, str(program), str(image), descriptor]
    # The tests' own folder of packages, wherever they run from.
    root = str(Path(__file__).resolve().parents[2])
    environment = {**os.environ, "HIPKITTENS_EVENT_TIMES": "host", "PYTHONPATH": root}
    ended = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=240)
    assert ended.returncode == 0, ended.stderr
    return Outcome(folder, ended.stderr)


def test_a_kernel_runs_between_barriers(outcome: Outcome) -> None:
    assert outcome.value("run", "version") == 1
    assert outcome.value("run", "waits") == 1
    assert outcome.value("run", "wait") == 0
    assert outcome.value("run", "wrong") == 0
    assert outcome.value("run", "ordered") == 1


def test_registered_memory_keeps_its_contents(outcome: Outcome) -> None:
    assert outcome.value("run", "kept") == 1


def test_waits_end_in_time(outcome: Outcome) -> None:
    assert outcome.value("run", "timeout") == 1


def test_packets_pass_through_a_ring_that_is_smaller(outcome: Outcome) -> None:
    assert outcome.value("run", "packets") == 3003


def test_the_copy_engine_copies_and_counts(outcome: Outcome) -> None:
    assert outcome.value("run", "copied") == 1


def test_memory_is_freed_once(outcome: Outcome) -> None:
    assert outcome.value("run", "freed_twice") == errno.EINVAL


def test_an_unknown_ioctl_is_refused_and_named_once(outcome: Outcome) -> None:
    assert outcome.values("run", "unknown_errno") == [errno.ENOTTY] * 2
    assert (outcome.folder / "run.err").read_text().count("has no kfd ioctl 0x28") == 1


def test_a_fault_is_explained_and_raises_the_memory_event(outcome: Outcome) -> None:
    assert outcome.value("fault", "wait") == 0
    # The first lane's address; y itself is not written.
    assert outcome.value("fault", "fault_at") == 1 << 30
    assert "read 4 bytes" in outcome.messages
    assert "lane 0 of wave 0 in work-group (0, 0, 0)" in outcome.messages


def test_a_child_has_a_device_when_it_opens_one(outcome: Outcome) -> None:
    assert outcome.value("fork", "child_errno") == errno.EBADF
    assert outcome.value("fork", "wrong") == 0
    assert outcome.value("fork", "child") == 0


def test_a_killed_program_leaves_the_device_to_others(outcome: Outcome) -> None:
    assert (outcome.folder / "killed").read_text() == "137\n"
    assert (outcome.folder / "left").read_text() == "1\n"
    assert outcome.value("after", "wrong") == 0


def test_launches_of_all_processes_are_counted(outcome: Outcome) -> None:
    last = outcome.messages.splitlines()[-1]
    assert last.startswith("hipkittens: ")
    assert "launches" in last


def test_sources_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"exec --driver: prog\.hip is a source"):
        run(["prog.hip"], device_name="MI300X", driver=True)
