"""Code objects: the compiler's output, which a device runs, read down to single instructions.

`CodeObject` reads the file, `decode` its machine code, `DebugInfo` its way back to the source.
"""

import workbench.codeobject.pyelftools  # noqa: F401 - before any other import of pyelftools
from workbench.codeobject.descriptor import KernelDescriptor
from workbench.codeobject.elf import CodeObject, KernelArg, KernelInfo
from workbench.codeobject.instruction import Instruction, Operand
from workbench.codeobject.symbols import Symbol

__all__ = ["CodeObject", "Instruction", "KernelArg", "KernelDescriptor", "KernelInfo", "Operand", "Symbol"]
