"""The structures of native/run/wave.h as ctypes, for the translator's offsets and for the driver's calls.

wave.h is the source; every field here stands in the same order under the same name, and a test compares
each offset and size with what the C compiler made of it.
"""

from __future__ import annotations

import ctypes
from ctypes import POINTER, Structure, c_int32, c_uint16, c_uint32, c_uint64, c_void_p

LANES = 64
MAX_WAVES = 16
MAX_USER_SGPRS = 32
NO_REGISTER = 0xFFFF

VCC = 106
M0 = 124
EXEC = 126

SHARED_APERTURE = 0x0001_0000_0000_0000
PRIVATE_APERTURE = 0x0002_0000_0000_0000

# Buffer resource of a wave's scratch (memory_buffer.h knows it by its base): swizzled, indexed by the lane,
# all of the 32-bit offsets in range.
PRIVATE_BUFFER = 1 << 47 | 1 << 63 | 0xFFFFFFFF << 64 | (1 << 23 | 3 << 21) << 96
# The hidden argument of a service that the emulated device does not have points here: nothing is at these
# addresses, so a use is found out and named.
HEAP_APERTURE = 0x0003_0000_0000_0000
APERTURE_MASK = 0xFFFF_FFFF_0000_0000

# What a block returns when it is not the index of the next block.
END, BARRIER, FAULT, JUMP, YIELD = -1, -2, -3, -4, -5

FAULT_NONE = 0
FAULT_ADDRESS = 1
FAULT_LDS = 2
FAULT_SCRATCH = 3
FAULT_BARRIER = 4
FAULT_TRAP = 5
FAULT_HALT = 6
FAULT_JUMP = 7
FAULT_ALIGNMENT = 8
FAULT_READ_ONLY = 9
FAULT_UNSUPPORTED = 10
FAULT_SERVICE = 11

WAVE_READY, WAVE_WAITING, WAVE_ENDED = 0, 1, 2

ALLOCATION_READ, ALLOCATION_WRITE = 1, 2

RUN_DONE, RUN_AGAIN, RUN_STOPPED, RUN_MEMORY = 0, 1, 2, 3


class Fault(Structure):
    """What went wrong in a wave; `lane` is -1 where the whole wave is meant."""

    _fields_ = (
        ("kind", c_int32),
        ("lane", c_int32),
        ("address", c_uint64),
        ("size", c_uint32),
        ("is_write", c_uint32),
    )


class Wave(Structure):
    """State of a wave between two basic blocks."""

    _fields_ = (
        ("s", c_uint32 * 128),
        ("scc", c_uint32),
        ("mode", c_uint32),
        ("v", c_void_p),
        ("lds", c_void_p),
        ("scratch", c_void_p),
        ("lds_size", c_uint32),
        ("scratch_size", c_uint32),
        ("block", c_int32),
        ("state", c_int32),
        ("target", c_uint64),
        ("pc", c_uint64),
        ("code_base", c_uint64),
        ("group", c_void_p),
        ("fault", Fault),
        ("hit_base", c_uint64),
        ("hit_end", c_uint64),
        ("hit_flags", c_uint64),
        ("index", c_uint32),
        ("lanes", c_uint32),
        ("san", c_void_p),
        ("stream", c_void_p),
        ("xcc_id", c_uint32),
        ("hw_id", c_uint32),
        ("status", c_uint32),
        ("reserved", c_uint32),
        ("packet", c_uint64),
        # C rounds the structure up to its alignment of 64 bytes; the test on sizes keeps this right.
        ("_tail", ctypes.c_uint8 * 16),
    )


class Group(Structure):
    """A work-group."""

    _fields_ = (
        ("id", c_uint32 * 3),
        ("size", c_uint32 * 3),
        ("grid", c_uint32 * 3),
        ("wave_count", c_uint32),
        ("index", c_uint64),
        ("machine", c_void_p),
        ("counters", c_void_p),
        ("stop", c_void_p),
        ("profile", c_int32),
        ("reserved", c_int32),
        ("trace", c_void_p),
        ("traffic", c_void_p),
    )


class Allocation(Structure):
    """Memory that a kernel may touch: [base, end)."""

    _fields_ = (("base", c_uint64), ("end", c_uint64), ("flags", c_uint64))


class Machine(Structure):
    """The device as a launch sees it."""

    _fields_ = (
        ("allocations", POINTER(Allocation)),
        ("allocation_count", c_uint64),
        ("target", c_uint32),
        ("lds_banks", c_uint32),
        ("hostcalls", c_uint64),
        ("hostcalls_bytes", c_uint64),
    )


class Counters(Structure):
    """Address-dependent counts; wave.h says what each one means."""

    _fields_ = (
        ("lds_bank_conflict", c_uint64),
        ("lds_cycles", c_uint64),
        ("lds_bytes_read", c_uint64),
        ("lds_bytes_written", c_uint64),
        ("global_bytes_read", c_uint64),
        ("global_bytes_written", c_uint64),
        ("global_read_lines_64", c_uint64),
        ("global_read_lines_128", c_uint64),
        ("global_write_lines_64", c_uint64),
        ("global_write_lines_128", c_uint64),
        ("global_atomics", c_uint64),
        ("scalar_bytes_read", c_uint64),
        ("scratch_bytes_read", c_uint64),
        ("scratch_bytes_written", c_uint64),
        ("direct_to_lds_bytes", c_uint64),
        ("reserved", c_uint64 * 1),
    )


class Op(Structure):
    """Constants of one native operation."""

    _fields_ = (
        ("pc", c_uint64),
        ("dst", c_uint16),
        ("src0", c_uint16),
        ("src1", c_uint16),
        ("src2", c_uint16),
        ("sdst", c_uint16),
        ("ssrc0", c_uint16),
        ("ssrc1", c_uint16),
        ("ssrc2", c_uint16),
        ("offset", c_int32),
        ("flags", c_uint32),
        ("imm", c_uint32 * 4),
    )


class WaveReport(Structure):
    """Where a wave stood when its launch stopped."""

    _fields_ = (("state", c_int32), ("block", c_int32))


class FaultReport(Structure):
    """The fault that one worker met in its lowest work-group."""

    _fields_ = (
        ("fault", Fault),
        ("group", c_uint64),
        ("pc", c_uint64),
        ("wave", c_uint32),
        ("wave_count", c_uint32),
        ("block", c_int32),
        ("has_pc", c_uint32),
        ("waves", WaveReport * MAX_WAVES),
    )


SERVE = ctypes.CFUNCTYPE(c_int32, c_uint64, c_uint32, c_uint64)
"""Answers a hostcall: work-group, wave, pointer to the packet; 0, or the service that is not to be had."""


class Launch(Structure):
    """One kernel launch: initial state of every wave, and the progress that workers share."""

    _fields_ = (
        ("machine", POINTER(Machine)),
        ("functions", c_void_p),
        ("block_addresses", c_void_p),
        ("block_indices", c_void_p),
        ("block_count", c_uint32),
        ("entry", c_int32),
        ("code_base", c_uint64),
        ("flat_scratch", c_uint64),
        ("groups", c_uint32 * 3),
        ("items", c_uint32 * 3),
        ("group_size", c_uint32 * 3),
        ("row_count", c_uint32),
        ("lds_size", c_uint32),
        ("scratch_size", c_uint32),
        ("mode", c_uint32),
        ("user_sgpr_count", c_uint32),
        ("user_sgpr", c_uint32 * MAX_USER_SGPRS),
        ("enable_group_id", c_uint32),
        ("enable_group_info", c_uint32),
        ("enable_wave_offset", c_uint32),
        ("item_id_mode", c_uint32),
        ("packed_item_ids", c_uint32),
        ("poison", c_uint32),
        ("profile", c_uint32),
        ("turn_blocks", c_uint32),
        ("turn_rounds", c_uint32),
        ("max_resident", c_uint32),
        ("group_total", c_uint64),
        ("next_group", c_uint64),
        ("last_group", c_uint64),
        ("finished", c_uint64),
        ("stop", c_int32),
        ("reserved", c_int32),
        ("san", c_void_p),
        ("trace", c_void_p),
        ("xcds", c_uint32),
        ("units", c_uint32),
        ("serve", SERVE),
    )


class Worker(Structure):
    """One thread's share of a launch."""

    _fields_ = (
        ("launch", POINTER(Launch)),
        ("counts", c_void_p),
        ("counters", Counters),
        ("report", FaultReport),
        ("resident", c_void_p),
        ("spare", c_void_p),
        ("resident_count", c_uint32),
        ("reserved", c_uint32),
        ("traffic", c_void_p),
    )


STRUCTURES: dict[str, type[Structure]] = {
    structure.__name__: structure
    for structure in (
        Fault,
        Wave,
        Group,
        Allocation,
        Machine,
        Counters,
        Op,
        WaveReport,
        FaultReport,
        Launch,
        Worker,
    )
}
