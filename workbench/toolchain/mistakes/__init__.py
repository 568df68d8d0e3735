"""Mistakes with tiles, said so that a person can act: a sentence, a place and, where it can be, a fix.

Clang tells such a mistake in the words of the headers: a page of types for one wrong argument, or ten errors
for one missing include. Each mistake here is one record (`spoken` for what the compiler refuses, `cuda` for
what of it is CUDA's, `silent` for what it lets pass), known by what the compiler says, which for the checks
of the tile library is the sentence of its own `static_assert`. `docs/mistakes.md` lists them by name.
"""

from __future__ import annotations

from workbench.toolchain.mistakes.accepted import ACCEPTED
from workbench.toolchain.mistakes.cuda import CUDA
from workbench.toolchain.mistakes.explain import explained, unsaid
from workbench.toolchain.mistakes.refused import REFUSED

__all__ = ["ACCEPTED", "CUDA", "REFUSED", "explained", "unsaid"]
