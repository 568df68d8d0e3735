"""Builds the two C libraries: the one in the program's process, and the queues of the device."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from cffi import FFI

from workbench.toolchain.native import build

_HERE = Path(__file__).parent
WORK_NONE, WORK_KERNEL, WORK_FAULT, WORK_UNKNOWN = range(4)
"""Results of `hkd_next`, as queues.c has them."""

_DECLARATIONS = """
void hkd_begin(void);
void hkd_settle(const int64_t *corrections, uint64_t count, uint64_t gap);
void *hkd_queue(void *control, int is_aql, uint64_t id, uint64_t ring, uint64_t size, uint64_t read_pointer,
                uint64_t write_pointer);
void hkd_end(void *queue);
void hkd_free(void *queue);
void hkd_set_events(void *control, uint32_t type);
int hkd_next(void *queue, double link, uint64_t *address);
int hkd_done(void *queue, uint64_t ticks, uint64_t *address);
"""
ffi = FFI()
ffi.cdef(_DECLARATIONS)


def build_interposer() -> Path:
    """Path of the library for LD_PRELOAD; built unless the cache has it. Raises as `build`."""
    source = _HERE / "interposer.c"
    return build("driver", [source], depends=[_HERE / "shared.h"], soname="libhipkittens-driver.so")


def build_queues() -> Path:
    """Path of the library of the device's queues; built unless the cache has it. Raises as `build`."""
    return build("queues", [_HERE / "queues.c"], depends=[_HERE / "shared.h"])


def load_queues() -> Any:
    """The functions of queues.c. Raises as `build`."""
    return ffi.dlopen(str(build_queues()))


__all__ = [
    "WORK_FAULT",
    "WORK_KERNEL",
    "WORK_NONE",
    "WORK_UNKNOWN",
    "build_interposer",
    "build_queues",
    "ffi",
    "load_queues",
]
