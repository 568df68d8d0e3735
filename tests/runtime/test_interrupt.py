"""A real SIGINT, as Jupyter's interrupt button sends it, in a process that runs an endless kernel."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

PROGRAM = """
import pathlib, struct, sys
import numpy as np
from workbench import runtime, toolchain
code = toolchain.compile_device(
    pathlib.Path(sys.argv[1]).read_text(), arch="gfx950", name="kernels.hip"
).code_object
module = runtime.device("emulated:gfx950").load(code)
flag = np.zeros(1, dtype=np.int32)
def launch(kernel):
    module.function(kernel).launch(
        (64, 1, 1), (256, 1, 1), 0, struct.pack("<Q", flag.ctypes.data), buffers=[(flag.ctypes.data, 4)]
    )
print("running", flush=True)
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
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "running\n"
        time.sleep(1.5)
        process.send_signal(signal.SIGINT)
        sent = time.monotonic()
        assert process.stdout.readline() == "interrupted\n"
        # Well below the time limit of a launch, which would end it too; a busy computer takes its time.
        assert time.monotonic() - sent < 10
        assert process.stdout.readline() == "works\n"
        assert process.wait(timeout=60) == 0
        assert process.stderr is not None
        assert "ignored" not in process.stderr.read()
