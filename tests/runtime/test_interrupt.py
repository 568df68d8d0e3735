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
