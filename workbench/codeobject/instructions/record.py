"""The record of an opcode, and the types of its fields."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, Flag, auto

from workbench.codeobject.instructions.matrix import Matrix

PIPELINES = (
    "valu",
    "trans",
    "mfma",
    "salu",
    "smem",
    "lds",
    "vmem_load",
    "vmem_store",
    "vmem_atomic",
    "vmem_other",
    "flat_load",
    "flat_store",
    "flat_atomic",
    "branch",
    "message",
    "internal",
)
"""Execution pipelines, as rocprof counts their instructions and the timing model charges them.

trans: transcendental and other quarter-rate vector instructions. vmem_*: buffer, global and scratch; flat_*:
generic addresses, which may turn out to be LDS. vmem_other: cache control. message: s_sendmsg and s_endpgm.
internal: handled by the sequencer itself (s_waitcnt, s_nop, s_barrier, s_setprio, ...).
"""


class Entry:
    """One operand of an opcode: `[=|+]field[?]:kind[width][/width][.type]` in a table row (isa/enumerate.py).

    Attributes:
        role: "=" written, "+" read and, if the atomic returns, written; else "".
        field: field of the encoding.
        returning: True if only the returning form of the atomic has it.
        kind: kind of operand, see isa/enumerate.py.
        width: width in dwords.
        width64: width in dwords in waves of 64 lanes, where the target has waves of 32 too.
        type: print format of constants.
    """

    __slots__ = ("field", "kind", "returning", "role", "type", "width", "width64")

    def __init__(self, text: str) -> None:
        self.role = text[0] if text[0] in "=+" else ""
        field, _, kind = text[len(self.role) :].partition(":")
        kind, _, type_ = kind.partition(".")
        kind, _, width64 = kind.partition("/")
        letters = kind.rstrip("0123456789")
        self.field = field.rstrip("?")
        self.returning = field.endswith("?")
        self.kind = letters
        self.width = int(kind[len(letters) :] or 1)
        self.width64 = int(width64 or self.width)
        self.type = type_ or "b32"

    @property
    def is_loaded(self) -> bool:
        """True if a load from memory writes this register."""
        return self.role == "=" and self.field in ("vdata", "vdst")


class Keeps(Enum):
    """The parts of its old destination that an opcode preserves in the lanes that it writes."""

    NOTHING = auto()
    """The result replaces it."""

    VALUE = auto()
    """It is an operand: an addend, the bytes around a written byte, the value if a condition is false."""

    PART = auto()
    """Bits outside the result stay: the other half of a 16-bit result's register, the other bytes."""

    LANES = auto()
    """Some lanes that EXEC enables stay unwritten."""


class Registers(Flag):
    """Registers that no operand names."""

    NONE = 0
    SCC = auto()
    VCC = auto()
    EXEC = auto()
    M0 = auto()
    MODE = auto()


class Flow(Enum):
    """The places at which a wave may continue after an instruction."""

    NEXT = auto()
    BRANCH = auto()
    """At the label of the branch."""

    CONDITIONAL = auto()
    """At the label or at the next instruction."""

    CALL = auto()
    """At the label; the address of the next instruction is the result."""

    JUMP = auto()
    """At the address in a register."""

    INDIRECT_CALL = auto()
    """At the address in a register; the address of the next instruction is the result."""

    TRAP = auto()
    END = auto()

    @property
    def goes_on(self) -> bool:
        """True if a wave may continue at the next instruction, at once or when a callee returns."""
        return self not in (Flow.BRANCH, Flow.JUMP, Flow.END)


class Control(Enum):
    """An opcode's effect on the sequencer, except for the next address (`Flow`)."""

    NONE = auto()
    WAIT = auto()
    """Waits for requests to return: s_waitcnt."""

    IDLE = auto()
    """Waits a number of wait states: s_nop."""

    SLEEP = auto()
    BARRIER = auto()
    SIGNAL = auto()
    """Tells a barrier that the wave has come; another instruction waits there."""

    PRIORITY = auto()
    REGISTER = auto()
    """It writes bits of a hardware register: s_setreg."""

    SKIP = auto()
    """Starts or stops skipping vector instructions: s_setvskip."""

    BANKS = auto()
    """Chooses which vector registers the next instructions name: s_set_vgpr_msb."""


class Access(Enum):
    """Kinds of memory access."""

    LOAD = auto()
    STORE = auto()
    ATOMIC = auto()
    NONE = auto()
    """Cache control, clocks, moves between lanes."""


class Space(Enum):
    """The address spaces of memory instructions."""

    GLOBAL = auto()
    FLAT = auto()
    SCRATCH = auto()
    BUFFER = auto()
    LDS = auto()
    LANES = auto()
    """Other lanes' registers, by way of the LDS hardware."""

    GWS = auto()
    """Global wave sync."""

    SCALAR = auto()
    SCALAR_BUFFER = auto()


@dataclass(frozen=True, slots=True)
class Memory:
    """Memory access of an opcode.

    Attributes:
        space, access: address space and type of access.
        bytes: bytes per lane (per wave for a scalar access) at each address; 0 if a format determines it.
        addresses: number of addresses of each lane; 0 if no vector register supplies one.
        stride: bytes per unit of the offset fields, for accesses with two addresses.
        to_lds: True if the data goes to LDS, at the address in M0, instead of to registers.
        transposed: True if the lanes of a row exchange the data that they read.
        exchanges: True if an atomic overwrites the old value regardless of it.
        compares: True if an atomic writes only if memory has the expected value.
    """

    space: Space
    access: Access
    bytes: int = 0
    addresses: int = 1
    stride: int = 1
    to_lds: bool = False
    transposed: bool = False
    exchanges: bool = False
    compares: bool = False


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """The kind of operation that rocprof's VALU FLOP counters see in a vector instruction.

    Attributes:
        kind: "ADD", "MUL", "FMA" or "TRANS".
        type: "F16", "F32" or "F64".
        operations: floating-point operations of a lane.
    """

    kind: str
    type: str
    operations: int


class Combines(Enum):
    """Rules by which partly undefined sources make a result undefined, if not every bit counts."""

    ALL = auto()
    AND = auto()
    OR = auto()
    AND_NOT = auto()
    CHOICE = auto()
    """One source or the other, by SCC."""

    BITS = auto()
    """In all other cases, bit by bit."""

    PARTS = auto()
    """The result joins parts; a mask, a selector or the reader of the result may ignore some of them."""

    DWORDS = auto()
    """Each dword of the result from that dword of the sources, or the one that op_sel names."""

    UPWARDS = auto()
    """64 bits: the low dword from low dwords only."""

    DOWNWARDS = auto()
    """64 bits: the high dword from high dwords only."""


class Lanes(Enum):
    """Between which lanes an opcode moves values."""

    NONE = auto()
    READ = auto()
    """From one lane to a scalar: the lane that the second source names, or else the first active one."""

    WRITE = auto()
    """From a scalar to the lane that the second source names."""

    GATHER = auto()
    """Each lane names the one whose value it takes."""

    SCATTER = auto()
    """Each lane names the one that takes its value."""

    SWIZZLE = auto()
    """A pattern in the offset says whose value each lane takes."""

    PERMUTE = auto()
    """Rows or halves change places: v_permlane*."""


class Trait(Flag):
    """Further properties of an opcode, for hazards, the sanitizer and advice."""

    NONE = 0
    TRANSCENDENTAL = auto()
    DOT = auto()
    """A dot product of packed elements."""

    EXCHANGES = auto()
    """Both registers are read and written."""

    BYTE_PLACED = auto()
    """Bits 2 and 3 of op_sel name the byte of the result."""

    HALF_RESULT = auto()
    """The result has 16 bits: VOP3's op_sel may put it into the high half and preserve the low one."""

    FP4_RESULT = auto()
    CARRY_IN = auto()
    """The last source is a carry, which hardware forwards."""

    MASK_SOURCE = auto()
    """The last source is a lane mask, named or not."""

    CANCELS = auto()
    """The result is a constant if both sources are the same register."""

    INDEXES = auto()
    """Changes how the next instructions find their vector registers."""

    M0_NOT_INTERLOCKED = auto()
    """Reads an M0 that the scalar instruction before may not have written yet."""

    WRITES_BACK = auto()
    """Makes the contents of the cache visible to others."""

    INVALIDATES = auto()
    """Drops cached lines, so that later loads see what others have written."""

    CONVERTS = auto()
    """The result is the source as another type."""

    WIDE_INTEGER = auto()
    """A product of 32-bit integers, or a 64-bit sum, as in computations of addresses."""

    ASYNCHRONOUS = auto()
    """Copies between memory and LDS, or arrives at a barrier behind such copies."""

    COPIES_TILES = auto()
    """Copies a tile of a tensor between memory and LDS."""


@dataclass(frozen=True, slots=True)
class Record:
    """One opcode of a target.

    Attributes:
        opcode: its name without the encoding's suffix.
        pipeline: pipeline that executes it, one of PIPELINES.
        operands: operands in printed order, with their roles and widths.
        keeps: the part of its destination that it always preserves, regardless of its modifiers.
        reads, writes: implicit registers. Every lane-wise instruction also reads EXEC.
        flow: where the wave continues.
        control: effect on the sequencer.
        lanes: lanes between which it always moves values, regardless of its modifiers.
        swap_distance: distance between the lanes that exchange values; 0 if none do.
        combines: the parts of the sources that the result depends on.
        traits: see Trait.
        memory, matrix, arithmetic: None for an instruction of another kind.
        not_compute: its purpose if it is not for computing; "" for instructions that kernels use.
    """

    opcode: str
    pipeline: str
    operands: tuple[Entry, ...]
    keeps: Keeps
    reads: Registers
    writes: Registers
    flow: Flow
    control: Control
    lanes: Lanes
    swap_distance: int
    combines: Combines
    traits: Trait
    memory: Memory | None
    matrix: Matrix | None
    arithmetic: Arithmetic | None
    not_compute: str
