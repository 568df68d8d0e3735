"""One record per opcode: registers read, written and preserved, pipeline, memory access.

`forms` has the rows of a target's table; `Form.record` and `Instruction.record` have the facts about the
opcode.
"""

from workbench.codeobject.instructions.accuracy import Accuracy, accuracy_of
from workbench.codeobject.instructions.families import of_one_address
from workbench.codeobject.instructions.form import DECODED, Form, forms
from workbench.codeobject.instructions.matrix import MATRICES, WAVE_MATRICES, Matrix
from workbench.codeobject.instructions.record import (
    PIPELINES,
    Access,
    Arithmetic,
    Combines,
    Control,
    Entry,
    Flow,
    Keeps,
    Lanes,
    Memory,
    Record,
    Registers,
    Space,
    Trait,
)

__all__ = [
    "DECODED",
    "MATRICES",
    "PIPELINES",
    "WAVE_MATRICES",
    "Access",
    "Accuracy",
    "Arithmetic",
    "Combines",
    "Control",
    "Entry",
    "Flow",
    "Form",
    "Keeps",
    "Lanes",
    "Matrix",
    "Memory",
    "Record",
    "Registers",
    "Space",
    "Trait",
    "accuracy_of",
    "forms",
    "of_one_address",
]
