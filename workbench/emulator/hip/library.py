"""Makes and loads the emulator's libamdhip64.so and libhiprtc.so: one jump a function, through slots.

Every function that the bindings or a compiled HIP program may look up exists. A slot that no Python function
fills leads to one that answers hipErrorNotSupported and says the function's name once, so that what is
missing is seen as such and never as a missing symbol.
"""

from __future__ import annotations

import atexit
import ctypes
import json
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from workbench import errors
from workbench.toolchain.native import Target, target
from workbench.toolchain.native import build as build_native

_HERE = Path(__file__).parent

# What compiled host programs call beside the documented API (clang's HIP host code, older names).
_HOST_PROGRAM_FUNCTIONS = (
    "__hipPopCallConfiguration",
    "__hipPushCallConfiguration",
    "__hipRegisterFatBinary",
    "__hipRegisterFunction",
    "__hipRegisterManagedVar",
    "__hipRegisterSurface",
    "__hipRegisterTexture",
    "__hipRegisterVar",
    "__hipUnregisterFatBinary",
    "hipExtModuleLaunchKernel",
    "hipGetCmdName",
    "hipGetDeviceProperties",
    "hipHccModuleLaunchKernel",
    "hipRegisterTracerCallback",
)


@cache
def interface() -> dict[str, Any]:
    """interface.json: functions by name, enumerations by name and number."""
    content: dict[str, Any] = json.loads((_HERE / "interface.json").read_text())
    return content


@cache
def function_names() -> tuple[str, ...]:
    """Every exported function, in the order of its slot."""
    return tuple(sorted({*interface()["functions"], *_HOST_PROGRAM_FUNCTIONS}))


# By machine: a jump through a slot, and a slot's default, which says its number.
_JUMPS = {
    "x86_64": (
        "  endbr64\n  jmp *{slots}+{offset}(%rip)\n",
        "  movl ${index}, %edi\n  jmp {unsupported}\n",
    ),
    "aarch64": (
        "  adrp x16, {page}\n  add x16, x16, {in_page}\n  ldr x16, [x16, #{offset}]\n  br x16\n",
        "  mov w0, #{index}\n  b {unsupported}\n",
    ),
}


@dataclass(frozen=True)
class _Format:
    """How an object format's assembly says what the trampolines need.

    Attributes:
        prefix: of C's names.
        local: prefix of names that stay in the file.
        page, in_page: the page of a symbol and the place in it, on aarch64.
        function, end: before and after a function's code.
        hidden: a symbol that other files of the library see, and nobody else.
        text, data, constants, pointers: sections: of code, slots, texts, and what only the loader changes.
        last: at the end.
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


def trampolines(target: Target, names: tuple[str, ...]) -> str:
    """Assembly for a jump through a slot for each name, and the defaults that the slots begin with.

    A jump leaves every argument register and the stack as the caller made them, whatever the signature.

    Raises:
        ToolchainError: no trampolines for this machine.
    """
    if target.machine not in _JUMPS:
        raise errors.ToolchainError(
            f"the emulated device's HIP library is not written for {target.machine!r}: expected "
            f"{' or '.join(_JUMPS)}."
        )
    jump, default = _JUMPS[target.machine]
    how = _FORMATS[target.system]
    slots, unsupported = f"{how.prefix}hkhip_slots", f"{how.prefix}hkhip_unsupported"
    places = {"slots": slots, "page": how.page.format(slots), "in_page": how.in_page.format(slots)}
    text = [how.text]
    for index, name in enumerate(names):
        symbol = f"{how.prefix}{name}"
        text.append(how.function.format(symbol))
        text.append(jump.format(offset=8 * index, **places))
        text.append(how.end.format(symbol))
        text.append(f"{how.local}default{index}:\n")
        text.append(default.format(index=index, unsupported=unsupported))
    table = "".join(f"  .quad {how.local}default{index}\n" for index in range(len(names)))
    text.append(f"{how.data}{how.hidden.format(slots)}{slots}:\n{table}")
    strings = "".join(f'{how.local}name{index}: .asciz "{name}"\n' for index, name in enumerate(names))
    pointers = "".join(f"  .quad {how.local}name{index}\n" for index in range(len(names)))
    listed = f"{how.prefix}hkhip_names"
    text.append(f"{how.constants}{strings}")
    text.append(f"{how.pointers}{how.hidden.format(listed)}{listed}:\n{pointers}{how.last}")
    return "".join(text)


def build(name: str, functions: tuple[str, ...]) -> Path:
    """Path of a library by its name, such as "amdhip64"; built unless the cache has it.

    Raises as the build of native code.
    """
    made = target()
    with tempfile.TemporaryDirectory(prefix="hipkittens-hip-") as folder:
        assembly = Path(folder) / "trampolines.S"
        assembly.write_text(trampolines(made, functions))
        return build_native(name, [_HERE / "library.c", assembly], soname=f"lib{name}{made.suffix}")


class HipLibrary:
    """The loaded library, with the slots that say what each function does."""

    def __init__(self, name: str, functions: tuple[str, ...]) -> None:
        self.path = path = build(name, functions)
        # Global and first: whoever asks for a library of this name afterwards gets this one.
        self.handle = ctypes.CDLL(str(path), mode=ctypes.RTLD_GLOBAL)
        self.slots = {name: index for index, name in enumerate(functions)}
        self._callbacks: dict[str, Any] = {}
        # After this, Python is going away; destructors of compiled modules still call in.
        atexit.register(self.handle.hkhip_close)

    def address_of(self, name: str) -> int:
        """Address of an exported function; 0 where there is none."""
        if name not in self.slots:
            return 0
        return ctypes.cast(getattr(self.handle, name), ctypes.c_void_p).value or 0

    def fill_with_structure(self, name: str) -> None:
        """Let C answer the function that returns a channel description."""
        answer = ctypes.cast(self.handle.hkhip_create_channel_desc, ctypes.c_void_p)
        self.handle.hkhip_set_permanently(ctypes.c_int(self.slots[name]), answer)

    def fill(self, name: str, callback: Any, *, returns_text: bool = False) -> None:
        """Let a ctypes callback answer a function; raises KeyError for a name that is not exported.

        Args:
            returns_text: it returns a C string, not a hipError_t.
        """
        index = self.slots[name]
        self._callbacks[name] = callback
        pointer = ctypes.cast(callback, ctypes.c_void_p)
        self.handle.hkhip_set(ctypes.c_int(index), pointer, ctypes.c_int(returns_text))


__all__ = ["HipLibrary", "build", "function_names", "interface", "trampolines"]
