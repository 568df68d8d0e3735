"""Why sources of HipKittens are not right with the tile library, or with HipKittens' own headers."""

from __future__ import annotations

import re
from collections.abc import Collection

OLDER = "written for an older version of its branch, which has no such name or form any more"
BY_ERROR = {
    r"VGPRs|no registers": "clang 22 finds no registers for it, with either library; clang 21 does",
    r"prefill_swizzled_offsets|ceil_div|lane_ofs|st_layout|accumulator_col|swap_layout_and_transpose": OLDER,
    r"member named 'sync'": "`group::sync` of NVIDIA's library; no branch has it",
    r"cuda[A-Z]": "CUDA's functions",
    r"function for call to 'host_func'": "calls its harness with other arguments than that takes",
    r"function for call to 'load'": "loads with `{}` for a coordinate, which no overload is found for",
    r"non-static member function": "takes `gl::batch` for a number; it is a function",
    r"same_distribution": "`copy` between layouts of vectors, whose code in its branch is for waves of "
    "32 lanes and calls what the branch does not have",
    r"array initializer": "initialises an array by one value, which is no C++",
    r"scores of the sizes": "attention scores of the size that it fixes are too large for a reference",
    r"computes nothing": "computes nothing that could be compared",
    r"not run": "read by the compiler, not run: minutes of a busy computer each",
}
"""Reasons by the first error, or by the check."""
BY_NAME = {
    r"archive/micros/|archive/256_256_64_32": "`archive/utils.cpp` lays tiles out by itself, by an older "
    "order of elements",
    r"mxfp8/MXFP8_4wave/4_wave": "races: its main loop reads `As[curr][1]` from shared memory and overwrites "
    "it by a load from global memory with neither a wait nor a barrier in between",
    r"micro_05_2stage_16c2p": "18 waves; a work-group has 16",
    r"micro_06_2stage_8c4p_64x96": "multiplies a tile that it never loaded (`b0`, behind the loop); "
    "K is no multiple of its 96",
    r"micro_06_2stage_8c4p_96x64": "consumers pass three barriers a turn, producers one; behind the "
    "loop half of the last step is left out",
    r"fp6fp32/16x16x128_4wave": "races: its main loop reads tiles in shared memory that other waves "
    "have yet to load, and overwrites what they have yet to read (below)",
}
"""Reasons of those that compile, by name."""


def why(name: str, result: str, text: str) -> str:
    """A reason for a result that is not "right"; "" if none is known."""
    if result in ("wrong", "fails"):
        return next((reason for pattern, reason in BY_NAME.items() if re.search(pattern, name)), "")
    return next((reason for pattern, reason in BY_ERROR.items() if re.search(pattern, text)), "")


UNKNOWN_NAME = re.compile(r"(?:no (?:member|type|template) named|undeclared identifier) '(?P<name>\w+)'")
IN_SOURCE, IN_HEADERS, IN_COMPILER = "source", "headers", "clang 22"
OWN_BY_ERROR = {
    r"VGPRs|no registers": (IN_COMPILER, "finds no registers for what is pinned; clang 21 does"),
    r"template arguments for alias template 'st_bf'": (
        IN_SOURCE,
        "tiles without a base shape, of an older version",
    ),
    r"uintptr_t": (
        IN_HEADERS,
        "`load` of a tile whose bytes no number of waves divides takes a pointer for a number",
    ),
    r"Unsupported shape": (IN_HEADERS, "`mma` has no such shapes"),
    r"call to 'ceil_div'": (IN_SOURCE, "`ceil_div` of one argument"),
    r"be divisible by the tile|tile_size_row == 0": (
        IN_SOURCE,
        "tiles of 16 rows or columns; base tiles of bf16 have 32 on this branch",
    ),
    r"call to '(exp|row_sum|add|copy)'": (
        IN_HEADERS,
        "`ops/warp/shared` has its maps, reductions and vectors commented out",
    ),
    r"call to 'load'": (IN_HEADERS, "a group has no such `load`: `ops/group/memory` leaves it out"),
    r"'batch'": (IN_SOURCE, "takes `gl::batch` for a number; it is a function"),
    r"array initializer": (IN_SOURCE, "initialises an array by one value, which is no C++"),
    r"call to 'host_func'": (IN_SOURCE, "calls its harness with other arguments than that takes"),
    r"cuda[A-Z]": (IN_SOURCE, "CUDA's functions"),
    r"'coherency' is ambiguous": (IN_SOURCE, "defines `coherency`, which the headers for gfx942 have"),
    r"__hip_bfloat162": (IN_HEADERS, "`packed_shfl_down` of one bf16 returns two"),
    r"of shared memory .* at most": (
        IN_COMPILER,
        "puts an array of the library into shared memory, beside the most that the test asks for; right "
        "with `-mllvm -disable-promote-alloca-to-lds`",
    ),
    r"past the end of a \d+-byte device allocation": (
        IN_SOURCE,
        "tensors that are smaller than the tiles which it loads from or stores to them: beyond their end",
    ),
    r"not shared_exp": (
        IN_HEADERS,
        "`store` reads a tile of bf16 as floats before `exp` has written it, as aliasing rules allow; right "
        "with `-fno-strict-aliasing`",
    ),
    r"scores of the sizes": (
        IN_SOURCE,
        "attention scores of the size that it fixes are too large for a reference",
    ),
    r"computes nothing": (IN_SOURCE, "computes nothing that could be compared"),
    r"not run": ("", "read by the compiler, not run: minutes of a busy computer each"),
}
"""Cause and culprit with HipKittens' own headers, by the first error or by the check."""
OWN_BY_NAME = {
    r"fp6fp32/16x16x128_4wave": (IN_SOURCE, "races (below)"),
}


def why_own(name: str, text: str, declared: Collection[str]) -> tuple[str, str]:
    """Culprit and cause of a result with HipKittens' own headers; "" if unknown.

    Args:
        declared: public names of the headers that it was compiled with.
    """
    unknown = UNKNOWN_NAME.search(text)
    if unknown and unknown["name"] not in declared:
        return IN_SOURCE, f"`{unknown['name']}`, which no header of the branch declares"
    tables = (OWN_BY_NAME, name), (OWN_BY_ERROR, text)
    return next((why for table, said in tables for p, why in table.items() if re.search(p, said)), ("", ""))
