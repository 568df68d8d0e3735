"""State of a thread that lasts from one call to the next, even if Python did not start the thread.

Python makes a thread state for each callback from such a thread (a `std::thread` of a HIP program) and drops
it, with all of `threading.local`, when the callback returns. So threads are identified by pthreads' own data.
"""

from __future__ import annotations

import ctypes
import itertools
import os
import threading
from collections.abc import Callable
from functools import cache
from typing import Any, Generic, TypeVar

_T = TypeVar("_T")

_numbers = itertools.count(1)
_tasks: dict[int, str] = {}
"""The system's number of each thread that has called, by our number: the system reuses its numbers."""


@cache
def _pthread() -> tuple[Any, ctypes.c_uint]:
    library = ctypes.PyDLL(None)
    library.pthread_getspecific.restype = ctypes.c_size_t
    library.pthread_setspecific.argtypes = (ctypes.c_uint, ctypes.c_size_t)
    key = ctypes.c_uint()
    if library.pthread_key_create(ctypes.byref(key), None):
        raise OSError("pthread_key_create: this process has no thread-specific data left")
    return library, key


def _thread_number() -> tuple[int, bool]:
    """A number that no other thread of this process ever had, and whether it is new."""
    library, key = _pthread()
    number = library.pthread_getspecific(key)
    if number:
        return number, False
    number = next(_numbers)
    library.pthread_setspecific(key, number)
    _tasks[number] = str(threading.get_native_id())
    return number, True


class PerThread(Generic[_T]):
    """State of each thread, made at its first use and kept until the thread has ended.

    Args:
        make: makes the state of one thread.
    """

    def __init__(self, make: Callable[[], _T]) -> None:
        self._make = make
        self._kept: dict[int, _T] = {}
        self._quick = threading.local()

    def __call__(self) -> _T:
        """State of the calling thread."""
        try:
            state: _T = self._quick.state
        except AttributeError:
            number, new = _thread_number()
            if new:
                self._forget_ended()
            if number not in self._kept:
                self._kept[number] = self._make()
            state = self._quick.state = self._kept[number]
        return state

    def _forget_ended(self) -> None:
        living = set(os.listdir("/proc/self/task"))
        for number in [thread for thread, task in _tasks.items() if task not in living]:
            del _tasks[number]
        for number in self._kept.keys() - _tasks.keys():
            del self._kept[number]


__all__ = ["PerThread"]
