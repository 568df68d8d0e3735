"""A child process forked while another thread launches: it launches and receives Ctrl-C like any other."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import faulthandler, os, pathlib, signal, struct, sys, threading, time
import numpy as np
from workbench import runtime, toolchain
code = toolchain.compile_device(
    pathlib.Path(sys.argv[1]).read_text(), toolchain.CompileOptions("gfx950", name="kernels.hip")
).code_object
module = runtime.device("emulated:gfx950").load(code)
flag, set_already = np.zeros(1, dtype=np.int32), np.ones(1, dtype=np.int32)
def launch(flag):
    module.function("endless").launch(
        (64, 1, 1), (256, 1, 1), 0, struct.pack("<Q", flag.ctypes.data), buffers=[(flag.ctypes.data, 4)]
    )
launch(set_already)
def fork():
    while not any(thread.name == "emulated-device" for thread in threading.enumerate()):
        time.sleep(0.001)
    child = os.fork()
    if child == 0:
        faulthandler.dump_traceback_later(120, exit=True)
        launch(set_already)
        print("launched", flush=True)
        try:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(120)
        except KeyboardInterrupt:
            print("interrupted", flush=True)
        os._exit(0)
    print("ended with", os.waitpid(child, 0)[1], flush=True)
    flag[:] = 1
first, second = (fork, lambda: launch(flag)) if sys.argv[2] == "main" else (lambda: launch(flag), fork)
thread = threading.Thread(target=second)
thread.start()
first()
thread.join()
"""


@pytest.mark.parametrize("forking", ["main", "other"])
def test_a_child_forked_during_a_launch(forking: str) -> None:
    kernels = Path(__file__).parent / "kernels.hip"
    result = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(kernels), forking],
        env={**os.environ, "HIPKITTENS_THREADS": "2", "HIPKITTENS_TIMEOUT": "240"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.stdout.split("\n") == ["launched", "interrupted", "ended with 0", ""], result.stderr
    assert result.returncode == 0
