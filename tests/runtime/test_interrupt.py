"""A real SIGINT, as Jupyter's interrupt button sends it, in a process that runs an endless kernel."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

PROGRAM = """
import pathlib, struct, sys, threading, time
import numpy as np
from workbench import runtime, toolchain
code = toolchain.compile_device(
    pathlib.Path(sys.argv[1]).read_text(), toolchain.CompileOptions("gfx950", name="kernels.hip")
).code_object
module = runtime.device("emulated:gfx950").load(code)
flag = np.zeros(1, dtype=np.int32)
def launch(kernel):
    module.function(kernel).launch(
        (64, 1, 1), (256, 1, 1), 0, struct.pack("<Q", flag.ctypes.data), buffers=[(flag.ctypes.data, 4)]
    )
def say_when_it_runs():
    while not any(thread.name == "emulated-device" for thread in threading.enumerate()):
        time.sleep(0.001)
    print("running", flush=True)
threading.Thread(target=say_when_it_runs).start()
try:
    launch("endless")
except KeyboardInterrupt:
    print("interrupted", flush=True)
flag[:] = 1
launch("endless")
print("works", flush=True)
"""


def test_sigint_stops_a_launch_and_the_process_goes_on() -> None:
    kernels = Path(__file__).parent / "kernels.hip"
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(kernels)],
        env={**os.environ, "HIPKITTENS_THREADS": "2", "HIPKITTENS_TIMEOUT": "0"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "running\n"
        process.send_signal(signal.SIGINT)
        assert process.stdout.readline() == "interrupted\n"
        assert process.stdout.readline() == "works\n"
        assert process.wait(timeout=60) == 0
        assert process.stderr is not None
        assert "ignored" not in process.stderr.read()


INTERRUPTED = """
import signal, threading, time
import torch
import workbench as wb
from workbench.events import hub
kernel = wb.compile('''#include <hip/hip_runtime.h>
extern "C" __global__ void slow(int* x) {
    for (int i = 0; blockIdx.x > 3 && i < 2000000000; i++)
        if (__hip_atomic_load(x, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT)) return;
}''', arch="gfx950", name="slow.hip")["slow"]
def interrupt(event):
    if event.kind == "progress" and event.data["done"] >= 4 and event.data["done"] < event.data["total"]:
        print("told", event.data["total"], flush=True)
        signal.raise_signal(signal.SIGINT)
hub.subscribe(interrupt)
with hub.muted():
    try:
        kernel[8, 64](torch.zeros(1, dtype=torch.int32))
    except KeyboardInterrupt as error:
        print(type(error).__name__, *error._render_traceback_(), sep="\\n")
"""


def test_an_interrupt_names_the_kernel_its_place_and_its_progress() -> None:
    environment = {**os.environ, "HIPKITTENS_THREADS": "1", "HIPKITTENS_TIMEOUT": "60"}
    run = subprocess.run(
        [sys.executable, "-c", INTERRUPTED], env=environment, capture_output=True, text=True, timeout=120
    )
    progress, name, *message = run.stdout.splitlines()
    assert (progress, name) == ("told 8", "KernelInterrupt"), run.stderr
    assert len(message) <= 5
    assert "kernel slow at slow.hip:" in message[0]
    assert "of 8 work-groups had ended (50%)" in message[1]
    assert "wave 0 in work-group (" in "\n".join(message)
