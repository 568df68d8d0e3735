"""Makes and loads the emulator's libamdhip64.so and libhiprtc.so: one jump a function, through slots.

Every function that the bindings or a compiled HIP program may look up exists. A slot that no Python function
fills leads to one that answers hipErrorNotSupported and says the function's name once, so that what is
missing is seen as such and never as a missing symbol.
"""

from __future__ import annotations

import atexit
import ctypes
import json
import platform
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

from workbench import errors
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


def trampolines(machine: str, names: tuple[str, ...]) -> str:
    """Assembly for a jump through a slot for each name, and the defaults that the slots begin with.

    A jump leaves every argument register and the stack as the caller made them, whatever the signature.

    Raises:
        ToolchainError: no trampolines for this machine.
    """
    if machine == "x86_64":
        jump = "  endbr64\n  jmp *hkhip_slots+{offset}(%rip)\n"
        default = "  movl ${index}, %edi\n  jmp hkhip_unsupported\n"
    elif machine == "aarch64":
        jump = (
            "  adrp x16, hkhip_slots\n  add x16, x16, :lo12:hkhip_slots\n"
            "  ldr x16, [x16, #{offset}]\n  br x16\n"
        )
        default = "  mov w0, #{index}\n  b hkhip_unsupported\n"
    else:
        raise errors.ToolchainError(
            f"the emulated device's HIP library is not written for {machine!r}: expected x86_64 or aarch64."
        )
    text = ["  .text\n"]
    for index, name in enumerate(names):
        text.append(f"  .globl {name}\n  .type {name},%function\n{name}:\n")
        text.append(jump.format(offset=8 * index))
        text.append(f"  .size {name}, .-{name}\n.Ldefault{index}:\n")
        text.append(default.format(index=index))
    table = "".join(f"  .quad .Ldefault{index}\n" for index in range(len(names)))
    text.append("  .data\n  .balign 8\n  .globl hkhip_slots\n  .hidden hkhip_slots\n")
    text.append(f"hkhip_slots:\n{table}")
    text.append(
        f'  .section .data.rel.ro,"aw"\n  .balign 8\n  .globl hkhip_defaults\nhkhip_defaults:\n{table}'
    )
    strings = "".join(f'.Lname{index}: .asciz "{name}"\n' for index, name in enumerate(names))
    pointers = "".join(f"  .quad .Lname{index}\n" for index in range(len(names)))
    text.append(f"  .section .rodata\n{strings}")
    text.append(
        '  .section .data.rel.ro,"aw"\n  .balign 8\n  .globl hkhip_names\n  .hidden hkhip_names\n'
        f"hkhip_names:\n{pointers}"
    )
    text.append('  .section .note.GNU-stack,"",%progbits\n')
    return "".join(text)


def build(name: str, functions: tuple[str, ...]) -> Path:
    """Path of a library by its name, such as "amdhip64"; built unless the cache has it.

    Raises as the build of native code.
    """
    with tempfile.TemporaryDirectory(prefix="hipkittens-hip-") as folder:
        assembly = Path(folder) / "trampolines.S"
        assembly.write_text(trampolines(platform.machine(), functions))
        return build_native(name, [_HERE / "library.c", assembly], soname=f"lib{name}.so")


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
