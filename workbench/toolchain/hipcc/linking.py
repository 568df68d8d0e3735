"""Links objects to a shared library, or to a program that a shell can start.

Such a program is a shared object too: Python, which has the emulated device, loads it. Started from a shell,
its first instructions (`start.c`) start Python with this file.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from sysconfig import get_config_var

from elftools.elf.dynamic import DynamicSection
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection

from workbench import paths
from workbench.codeobject.names import demangle
from workbench.errors import ToolchainError
from workbench.toolchain.compiler import Compiler
from workbench.toolchain.hipcc.units import start
from workbench.toolchain.host_library import Library

_START = Path(__file__).with_name("start.c")
_CODE = (
    "import sys; sys.path.insert(0, {root!r}); from workbench.runtime.program_process import start; start()"
)
# Names of the device's HIP library, found when the program is loaded.
_PROVIDED = re.compile(r"(?:__)?hip\w+")


def archive(compiler: Compiler, objects: Sequence[str], output: str, folder: str, show: str) -> None:
    """Put the objects among words of a command line in an archive.

    Raises:
        FailedError: the archiver failed and has printed why.
        ToolchainError: there is no archiver.
    """
    program = next(filter(None, map(shutil.which, ("ar", "llvm-ar"))), None)
    archiver = [program] if program else [str(compiler.path), "ar"] if compiler.kind == "zig" else []
    if not archiver:
        raise ToolchainError("hipcc: --emit-static-lib: no ar on PATH: `apt install binutils`")
    Path(output).unlink(missing_ok=True)
    members = [word for word in objects if not word.startswith("-")]
    start([*archiver, "rcs", output, *members], compiler.environment(folder), show)


def link_library(library: Library, objects: Sequence[str], output: str, folder: str, show: str) -> None:
    """Link words of a command line, with sources replaced by their objects, to a shared library.

    Raises:
        FailedError: the linker failed and has printed why.
    """
    words = ["-v"] if show == "-v" else []
    command = [*library.linker, *words, *objects, *library.helpers, "-o", output]
    start(command, _environment(library, folder), show)


def link_program(
    compiler: Compiler, library: Library, objects: Sequence[str], output: str, folder: str, show: str
) -> None:
    """Link words of a command line, with sources replaced by their objects, to a program.

    Raises:
        FailedError: the linker, or the compiler of the first instructions, failed and has printed why.
        ToolchainError: something is not defined.
    """
    first = os.path.join(folder, "start.o")
    root = str(Path(paths.__file__).resolve().parent.parent)
    definitions = {"PYTHON": sys.executable, "CODE": _CODE.format(root=root)}
    start(
        [
            *(*compiler.command, "-x", "c", "-Qunused-arguments", *library.arguments),
            *("-O2", "-fPIC", "-ffreestanding", "-fno-stack-protector", "-fno-builtin"),
            *(f"-D{name}={json.dumps(value)}" for name, value in definitions.items()),
            *("-c", str(_START), "-o", first),
        ],
        compiler.environment(folder),
        show,
    )
    words = ["-v"] if show == "-v" else []
    command = [*library.linker, *words, *objects, *library.helpers, first]
    command += ["-Wl,-e,hipkittens_start", "-o", output]
    start(command, _environment(library, folder), show)
    if show == "-###":
        return
    missing = [name for name in _undefined(output, _folders(objects)) if not _PROVIDED.fullmatch(name)]
    if missing:
        Path(output).unlink()
        names = "\n".join(f"error: undefined symbol: {demangle(name)}" for name in missing)
        raise ToolchainError(f"{output} is not linked:\n{names}")


def _folders(words: Sequence[str]) -> list[str]:
    """A linker's search folders: its `-L` options, the folders of libraries given by path, the system's."""
    folders = [word[2:] for word in words if word.startswith("-L")]
    folders += [os.path.dirname(word) for word in words if re.search(r"\.so(\.\d+)*$", word)]
    triple = get_config_var("MULTIARCH") or ""
    system = [
        f"{root}/{part}" for root in ("/usr/local", "/usr", "") for part in (f"lib/{triple}", "lib64", "lib")
    ]
    return [*folders, *system]


def _undefined(output: str, folders: Sequence[str]) -> list[str]:
    """Symbols that neither a shared object nor its libraries define; empty if a library is missing.

    Read from the file, since each linker reports them in its own way, and zig's not at all.
    """
    undefined, needed = _symbols(Path(output))[1:]
    for name in needed if undefined else ():
        library = next((path for folder in folders if (path := Path(folder, name)).is_file()), None)
        if library is None:
            return []
        undefined -= _symbols(library)[0]
    return sorted(undefined)


def _symbols(path: Path) -> tuple[set[str], set[str], list[str]]:
    """Symbols that a shared object defines and lacks, and the libraries that it names."""
    with path.open("rb") as file:
        elf = ELFFile(file)
        dynamic, table = elf.get_section_by_name(".dynamic"), elf.get_section_by_name(".dynsym")
        if not (isinstance(dynamic, DynamicSection) and isinstance(table, SymbolTableSection)):
            return set(), set(), []
        defined: set[str] = set()
        undefined: set[str] = set()
        for symbol in table.iter_symbols():
            if symbol["st_shndx"] != "SHN_UNDEF":
                defined.add(symbol.name)
            elif symbol["st_info"]["bind"] == "STB_GLOBAL":
                undefined.add(symbol.name)
        return defined, undefined, [str(tag.needed) for tag in dynamic.iter_tags("DT_NEEDED")]  # type: ignore[attr-defined]


def _environment(library: Library, folder: str) -> dict[str, str]:
    return {**os.environ, **dict(library.environment), "TMPDIR": folder}
