"""The kernel driver's interface of the emulated device: AMD's own user-mode runtime runs on it unmodified.

A library in the program's process (interposer.c) answers the ioctls; the device is a process of ours
(server.py), which maps the program's memory at the same addresses and reads its queues (queues.c).
"""

from __future__ import annotations

__all__: list[str] = []
