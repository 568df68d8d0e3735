"""The C++ compiler of PyTorch's extensions, ten times as fast with sources that include all of PyTorch.

    python -m workbench.toolchain.hipcc.cxx ARGUMENT ...

A source that begins with PyTorch's headers is compiled by clang with these precompiled, against the system's
C++ library as all else here. Everything else, linking too, and whatever clang does not compile, the system's
compiler does with the same arguments.
"""

from __future__ import annotations

import contextlib
import io
import os
import shutil
import sys
from collections.abc import Sequence

from workbench.errors import ToolchainError, UsageError
from workbench.toolchain.hipcc.command_line import Stage, read
from workbench.toolchain.hipcc.units import Unit
from workbench.toolchain.host_library import SYSTEM, host_library
from workbench.toolchain.scratch import in_folder
from workbench.toolchain.search import find_compiler

SYSTEM_COMPILERS = ("c++", "g++")
"""Names of the system's compiler, by preference."""


def compiled(words: Sequence[str]) -> bool:
    """True if clang compiled this command line's source with precompiled headers.

    Args:
        words: the command line, without the compiler's name.
    """
    try:
        line = read(words, {"HIP_COMPILE_CXX_AS_HIP": "0"})
        if line.stage is not Stage.OBJECT or len(line.inputs) != 1 or line.sources[0].language != "c++":
            return False
        compiler = find_compiler()
        library = host_library(compiler)
        if library.name != SYSTEM or any(option[0].startswith("-fopenmp") for option in line.host):
            return False

        def build(folder: str) -> bool:
            unit = Unit(line, line.sources[0], (), compiler, library, folder)
            return unit.make_with_header(line.output_of(unit.source))

        messages = io.StringIO()
        with contextlib.redirect_stderr(messages):
            succeeded = in_folder(build)
    except (OSError, ToolchainError, UsageError):
        return False
    sys.stderr.write(messages.getvalue())
    return succeeded


if __name__ == "__main__":
    if not compiled(sys.argv[1:]):
        program = next(filter(shutil.which, SYSTEM_COMPILERS), SYSTEM_COMPILERS[0])
        os.execvp(program, [program, *sys.argv[1:]])
