"""tinygrad's own driver on the emulated one: its code generator's LLVM IR, compiled by the workbench's clang.

Prints the name of the target and the largest difference to NumPy.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from tinygrad import Device, Tensor
from tinygrad.device import Compiler
from tinygrad.runtime.support import compiler_llvm

from workbench.toolchain import zig


class ClangCompiler(Compiler):
    """In the place of LLVM's shared library, which wheels do not have."""

    def __init__(self, target: str) -> None:
        super().__init__()
        self._target = target

    def compile(self, src: str) -> bytes:
        with tempfile.TemporaryDirectory() as folder:
            text, code = Path(folder, "kernel.ll"), Path(folder, "kernel.o")
            text.write_text(src)
            words = [sys.executable, "-m", "ziglang", "clang", "--target=amdgcn-amd-amdhsa"]
            words += [f"-mcpu={self._target}", "-O2", "-nogpulib", "-Wno-override-module", "-c", str(text)]
            environment = {"ZIG_GLOBAL_CACHE_DIR": zig.cache_folder()}
            subprocess.run([*words, "-o", str(code)], check=True, env=environment)
            return code.read_bytes()


compiler_llvm.AMDLLVMCompiler = ClangCompiler
generator = np.random.default_rng(0)
a = generator.standard_normal((70, 50), np.float32)
b = generator.standard_normal((50, 90), np.float32)
exponentials = np.exp(a.astype(np.float64) @ b)
expected = exponentials / exponentials.sum(1, keepdims=True)
result = (Tensor(a) @ Tensor(b)).softmax().numpy()
print(Device[Device.DEFAULT].arch, np.abs(result - expected).max())
