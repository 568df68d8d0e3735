"""LLVM as the back end: from IR text to machine code in memory, through an object that can be cached.

Code is selected without optimisation and without IR passes: kernels are ready many times sooner, and
generated code for 512-bit vectors would gain little.
"""

from __future__ import annotations

import itertools
import os
import threading
from collections.abc import Iterable, Mapping
from functools import cache, lru_cache
from typing import Any

import llvmlite.binding as llvm

from workbench.emulator.native import function_address
from workbench.errors import WorkbenchError
from workbench.toolchain import cpu

_lock = threading.Lock()
# LLVM's own locks are taken under this one, so that a child process finds them free.
os.register_at_fork(before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_lock.release)

_ATTRIBUTES = (
    'attributes #0 = { nounwind "frame-pointer"="none" "prefer-vector-width"="512" '
    '"min-legal-vector-width"="512" "no-trapping-math"="true" }'
)


@cache
def _initialized() -> None:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()


@cache
def identity() -> str:
    """Text that differs between hosts for which different code is made."""
    version = ".".join(map(str, llvm.llvm_version_info))
    return f"llvm {version} {llvm.get_default_triple()} {' '.join(_cpu())}"


def _cpu() -> tuple[str, str]:
    """LLVM's name of the CPU that code is made for, and its features beyond those that the name implies."""
    if (level := cpu.chosen_level()) is None:
        return _host()
    return level.cpu, ",".join(f"+{feature}" for feature in level.extensions)


def _host() -> tuple[str, str]:
    return llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()


def _target_machine() -> Any:
    _initialized()
    target = llvm.Target.from_default_triple()
    name, features = _cpu()
    return target.create_target_machine(
        cpu=name,
        features=features,
        opt=0,
        reloc="pic",
        codemodel="small",
        jit=True,
    )


def compile_object(functions: Iterable[str], constants: Iterable[str], declarations: Iterable[str]) -> bytes:
    """Machine code of a module, as a relocatable object file."""
    text = "\n".join((*sorted(set(declarations)), *constants, *functions, _ATTRIBUTES, ""))
    with _lock:
        machine = _target_machine()
        try:
            module = llvm.parse_assembly(text)
        except RuntimeError as error:
            raise WorkbenchError(
                f"The emulated device's translator made code that LLVM does not accept; please report the "
                f"kernel. LLVM says: {error}"
            ) from error
        with module:
            return bytes(machine.emit_object(module))


class LoadedCode:
    """Machine code in memory; lives as long as this object.

    32-bit references between sections need all sections of an object close together in memory; LLVM's older
    linker places them anywhere.

    Args:
        data: result of `compile_object` on the same kind of host.
        symbols: names of the native library's functions that it calls.
        exports: names of the functions to look up.
        wave_size: lanes of a wave, for which the native library is made.

    Attributes:
        addresses: address of each export.
    """

    def __init__(self, data: bytes, symbols: Iterable[str], exports: Iterable[str], wave_size: int) -> None:
        names = list(exports)
        with _lock:
            builder = llvm.JITLibraryBuilder().add_object_img(data).add_current_process()
            for symbol in symbols:
                builder.import_symbol(symbol, function_address(symbol, wave_size))
            for name in names:
                builder.export_symbol(name)
            try:
                number = next(_numbers)
                self._tracker = builder.link(_linker(number // _KERNELS_OF_A_LINKER), f"kernel{number}")
            except RuntimeError as error:
                raise WorkbenchError(
                    f"The machine code of a kernel could not be loaded: {error}. Clear the workbench's cache "
                    "(python -m workbench cache clear) and run it again; if it stays, report it."
                ) from error
        self.addresses: Mapping[str, int] = {name: int(self._tracker[name]) for name in names}


_numbers = itertools.count()
_KERNELS_OF_A_LINKER = 64
"""A linker remembers every kernel, even freed ones; an old linker is freed together with its last kernel."""


@lru_cache(maxsize=1)
def _linker(generation: int) -> Any:
    return llvm.create_lljit_compiler(_target_machine(), use_jit_link=True)
