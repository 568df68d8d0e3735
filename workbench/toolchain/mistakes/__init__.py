"""Explains mistakes with tiles so that users can act: a sentence, a position and, where possible, a fix.

Clang reports such a mistake in terms of the headers: a page of types for one wrong argument, or ten errors
for one missing include. Each mistake is one record (`refused` for errors, `cuda` for errors about CUDA code,
`accepted` for mistakes that compile), identified by the compiler's message; for the tile library's own checks
this is the sentence of the `static_assert`. `docs/mistakes.md` lists them by name.
"""

from __future__ import annotations

from workbench.toolchain.mistakes.accepted import ACCEPTED
from workbench.toolchain.mistakes.cuda import CUDA
from workbench.toolchain.mistakes.explain import explained, habits, unsaid
from workbench.toolchain.mistakes.refused import REFUSED

__all__ = ["ACCEPTED", "CUDA", "REFUSED", "explained", "habits", "unsaid"]
