"""Builds and loads the emulator's libamdhip64.so and libhiprtc.so: one jump per function, through slots.

Every function that the bindings look up or that AMD's library exports exists. A slot without a Python
function leads to one that returns hipErrorNotSupported and prints the function's name once, so a missing
function is reported as such and never as a missing symbol.
"""

from __future__ import annotations

import atexit
import ctypes
import json
import tempfile
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from workbench import errors
from workbench.toolchain.native import Target, target
from workbench.toolchain.native import build as build_native

_HERE = Path(__file__).parent


@cache
def interface() -> dict[str, Any]:
    """interface.json: functions by name, enumerations by name and number."""
    content: dict[str, Any] = json.loads((_HERE / "interface.json").read_text())
    return content


@cache
def function_names() -> tuple[str, ...]:
    """Every exported function, in the order of its slot: the bindings', and all that AMD's library has.

    They include hiprtc's; see `_old`.
    """
    versioned = (name for names in symbol_versions().values() for name in names)
    return tuple(sorted({*interface()["functions"], *versioned}))


# With the caller's address this is an even number of words, so the stack stays aligned. r11 holds the slot's
# number.
_X86_ARGUMENTS = ("rdi", "rsi", "rdx", "rcx", "r8", "r9", "rax", "r11")


@dataclass(frozen=True)
class _Jump:
    """Instructions of a machine's trampolines.

    Attributes:
        through_slot: jumps to the function in a slot.
        default: initial target of a slot: loads its number and jumps to `first`.
        first: asks C for the function, preserving every register that may hold an argument, and jumps there;
            if there is none, to `unsupported` with the slot's number.
    """

    through_slot: str
    default: str
    first: str


_JUMPS = {
    "x86_64": _Jump(
        "  endbr64\n  jmp *{slots}+{offset}(%rip)\n",
        "  movl ${index}, %r11d\n  jmp {local}first\n",
        "  endbr64\n"
        + "".join(f"  push %{name}\n" for name in _X86_ARGUMENTS)
        + "  sub $136, %rsp\n"
        + "".join(f"  movaps %xmm{i}, {16 * i}(%rsp)\n" for i in range(8))
        + "  movl %r11d, %edi\n  call {first_call}\n  mov %rax, %r10\n"
        + "".join(f"  movaps {16 * i}(%rsp), %xmm{i}\n" for i in range(8))
        + "  add $136, %rsp\n"
        + "".join(f"  pop %{name}\n" for name in reversed(_X86_ARGUMENTS))
        + "  test %r10, %r10\n  jz {local}none\n  jmp *%r10\n"
        + "{local}none:\n  movl %r11d, %edi\n  jmp {unsupported}\n",
    ),
    "aarch64": _Jump(
        "  adrp x16, {page}\n  add x16, x16, {in_page}\n  ldr x16, [x16, #{offset}]\n  br x16\n",
        "  mov w16, #{index}\n  b {local}first\n",
        "  stp x29, x30, [sp, #-224]!\n  mov x29, sp\n"
        + "".join(f"  stp x{i}, x{i + 1}, [sp, #{16 + 8 * i}]\n" for i in range(0, 8, 2))
        + "  stp x8, x16, [sp, #80]\n"
        + "".join(f"  stp q{i}, q{i + 1}, [sp, #{96 + 16 * i}]\n" for i in range(0, 8, 2))
        + "  mov w0, w16\n  bl {first_call}\n  mov x17, x0\n"
        + "".join(f"  ldp x{i}, x{i + 1}, [sp, #{16 + 8 * i}]\n" for i in range(0, 8, 2))
        + "  ldp x8, x16, [sp, #80]\n"
        + "".join(f"  ldp q{i}, q{i + 1}, [sp, #{96 + 16 * i}]\n" for i in range(0, 8, 2))
        + "  ldp x29, x30, [sp], #224\n  cbz x17, {local}none\n  br x17\n"
        + "{local}none:\n  mov w0, w16\n  b {unsupported}\n",
    ),
}


@dataclass(frozen=True)
class _Format:
    """Directives of an object format's assembly that the trampolines need.

    Attributes:
        prefix: prefix of C names.
        local: prefix of names local to the file.
        page, in_page: relocation operators for a symbol's page and the offset in it, on aarch64.
        function, end: directives before and after a function's code.
        hidden: directive for a symbol that is visible only to other files of the library.
        text, data, constants, pointers: sections of code, slots, texts, and data that only the loader
            changes.
        last: directives at the end of the file.
    """

    prefix: str
    local: str
    page: str
    in_page: str
    function: str
    end: str
    hidden: str
    text: str
    data: str
    constants: str
    pointers: str
    last: str


_FORMATS = {
    "linux": _Format(
        prefix="",
        local=".L",
        page="{}",
        in_page=":lo12:{}",
        function="  .globl {0}\n  .type {0},%function\n{0}:\n",
        end="  .size {0}, .-{0}\n",
        hidden="  .globl {0}\n  .hidden {0}\n",
        text="  .text\n",
        data="  .data\n  .balign 8\n",
        constants="  .section .rodata\n",
        pointers='  .section .data.rel.ro,"aw"\n  .balign 8\n',
        last='  .section .note.GNU-stack,"",%progbits\n',
    ),
    "macos": _Format(
        prefix="_",
        local="L",
        page="{}@PAGE",
        in_page="{}@PAGEOFF",
        function="  .globl {0}\n  .p2align 2\n{0}:\n",
        end="",
        hidden="  .globl {0}\n  .private_extern {0}\n",
        text="  .text\n",
        data="  .data\n  .p2align 3\n",
        constants="  .section __TEXT,__cstring,cstring_literals\n",
        pointers="  .section __DATA,__const\n  .p2align 3\n",
        last="",
    ),
}


def _old(name: str) -> str:
    """Symbol version of a function for programs linked with an older release only; "" for all others.

    Programs built with ROCm 5 or 6 may also find hiprtc's functions in libamdhip64; new ones cannot.
    """
    return next(
        (v for v, names in symbol_versions().items() if name.startswith("hiprtc") and name in names), ""
    )


def trampolines(target: Target, names: tuple[str, ...], old: Mapping[str, str] | None = None) -> str:
    """Assembly for a jump through a slot for each name, and the defaults that the slots begin with.

    A jump leaves every argument register and the stack as the caller made them, whatever the signature.

    Args:
        old: versions of the names that exist only at that version, for object formats with versions.

    Raises:
        ToolchainError: no trampolines for this machine.
    """
    if target.machine not in _JUMPS:
        raise errors.ToolchainError(
            f"the emulated device's HIP library is not written for {target.machine!r}: expected "
            f"{' or '.join(_JUMPS)}."
        )
    machine, how = _JUMPS[target.machine], _FORMATS[target.system]
    slots = f"{how.prefix}hkhip_slots"
    places = {"slots": slots, "page": how.page.format(slots), "in_page": how.in_page.format(slots)}
    calls = {name: f"{how.prefix}hkhip_{name}" for name in ("first_call", "unsupported")}
    text = [how.text, f"{how.local}first:\n", machine.first.format(local=how.local, **calls)]
    for index, name in enumerate(names):
        version = (old or {}).get(name, "")
        symbol = f"{how.prefix}hkhip_old_{name}" if version else f"{how.prefix}{name}"
        text.append(how.function.format(symbol))
        text.append(machine.through_slot.format(offset=8 * index, **places))
        text.append(how.end.format(symbol))
        if version:
            text.append(f"  .symver {symbol}, {name}@{version}\n")
        text.append(f"{how.local}default{index}:\n")
        text.append(machine.default.format(index=index, local=how.local))
    table = "".join(f"  .quad {how.local}default{index}\n" for index in range(len(names)))
    text.append(f"{how.data}{how.hidden.format(slots)}{slots}:\n{table}")
    strings = "".join(f'{how.local}name{index}: .asciz "{name}"\n' for index, name in enumerate(names))
    pointers = "".join(f"  .quad {how.local}name{index}\n" for index in range(len(names)))
    text.append(f"{how.constants}{strings}{how.pointers}")
    defaults = f"{table}  .quad 0\n"
    for symbol, content in (
        (f"{how.prefix}hkhip_names", pointers),
        (f"{how.prefix}hkhip_defaults", defaults),
    ):
        text.append(f"{how.hidden.format(symbol)}{symbol}:\n{content}")
    text.append(how.last)
    return "".join(text)


@cache
def symbol_versions() -> dict[str, tuple[str, ...]]:
    """The versions of AMD's libamdhip64 from the oldest on, each with the functions that it added."""
    lines = (_HERE / "symbol_versions.txt").read_text().splitlines()
    pairs = (line.partition(":")[::2] for line in lines if not line.startswith("#"))
    return {version: tuple(names.split()) for version, names in pairs}


def _version_script(exported: Collection[str]) -> str:
    """A linker's version script: AMD's versions of the exported functions."""
    text, previous = [], ""
    for version, names in symbol_versions().items():
        members = "".join(f"    {name};\n" for name in names if name in exported)
        text.append(
            f"{version} {{\n  global:\n{members}}}{previous};\n"
            if members
            else f"{version} {{}}{previous};\n"
        )
        previous = f" {version}"
    return "".join(text)


def build(name: str, functions: tuple[str, ...]) -> Path:
    """Path of a library by its name, such as "amdhip64"; built unless the cache has it.

    Raises as the build of native code.
    """
    host = target()
    has_versions = name == "amdhip64" and host.system == "linux"
    old = {function: version for function in functions if has_versions and (version := _old(function))}
    with tempfile.TemporaryDirectory(prefix="hipkittens-hip-") as folder:
        assembly, script = Path(folder) / "trampolines.S", Path(folder) / "versions.map"
        assembly.write_text(trampolines(host, functions, old))
        script.write_text(_version_script(set(functions) - set(old)))
        return build_native(
            name,
            [_HERE / "library.c", assembly],
            # Loaded once per process and never unloaded: its code may be called while the process ends.
            flags=["-Wl,-z,nodelete"] if host.system == "linux" else [],
            soname=f"lib{name}{host.suffix}",
            versions=script if has_versions else None,
        )


def build_alias(library: Path, soname: str) -> Path:
    """Path of a library with AMD's SONAME, such as "libamdhip64.so.6", that loads `library`.

    A program that was linked with AMD's library asks for that name and for versions of its functions, and
    takes the functions themselves from any library of the process.

    Raises as the build of native code.
    """
    with tempfile.TemporaryDirectory(prefix="hipkittens-hip-") as folder:
        source, script = Path(folder) / "alias.c", Path(folder) / "versions.map"
        # zig recognises a library by its file's suffix, which files in the cache lack.
        link = Path(folder) / f"{soname.partition('.')[0]}.so"
        link.symlink_to(library)
        source.write_text("")
        script.write_text(_version_script(()))
        return build_native(
            soname,
            [source, link],
            flags=["-Wl,--no-as-needed", "-Wl,-rpath,$ORIGIN"],
            soname=soname,
            versions=script if soname.startswith("libamdhip64") else None,
        )


class HipLibrary:
    """A loaded library with the slots for its functions.

    Args:
        name: name of the library, such as "amdhip64".
        functions: exported functions, in the order of their slots.
        path: path of its file, from `build`.
    """

    def __init__(self, name: str, functions: tuple[str, ...], path: Path) -> None:
        self.path = path
        # Global and first: later requests for a library of this name get this one.
        self.handle = ctypes.CDLL(str(path), mode=ctypes.RTLD_GLOBAL)
        self.slots = {name: index for index, name in enumerate(functions)}
        self._callbacks: dict[str, Any] = {}
        # After this, Python shuts down; destructors of compiled modules still call in.
        atexit.register(self.handle.hkhip_close)

    def address_of(self, name: str) -> int:
        """Address of an exported function; 0 if there is none."""
        function = getattr(self.handle, name, None) if name in self.slots else None
        return (ctypes.cast(function, ctypes.c_void_p).value or 0) if function is not None else 0

    def fill_with_structure(self, name: str) -> None:
        """Let C answer the function that returns a channel description."""
        answer = ctypes.cast(self.handle.hkhip_create_channel_desc, ctypes.c_void_p)
        self.handle.hkhip_set_permanently(ctypes.c_int(self.slots[name]), answer)

    def fill(self, name: str, callback: Any, *, returns_text: bool = False) -> None:
        """Let a ctypes callback answer a function; raises KeyError for a name that is not exported.

        Args:
            returns_text: True if it returns a C string, not a hipError_t.
        """
        index = self.slots[name]
        self._callbacks[name] = callback
        pointer = ctypes.cast(callback, ctypes.c_void_p)
        self.handle.hkhip_set(ctypes.c_int(index), pointer, ctypes.c_int(returns_text))


__all__ = [
    "HipLibrary",
    "build",
    "build_alias",
    "function_names",
    "interface",
    "symbol_versions",
    "trampolines",
]
