"""Which tests run when: `make test-quick` for an edit, `make test` for a commit, `make test-all` for all.

    python tests/tiers.py    # what test-quick runs

`make test` leaves out what costs much and finds little beside the rest: of the tests below one in so many
runs, drawn by the run's seed, so that all have their turn. docs/tests.md has what each part costs.
"""

from __future__ import annotations

import hashlib

from workers import group

ONE_OF: tuple[tuple[str, int], ...] = (
    ("tests/kernels/test_operators.py", 8),
    ("tests/kernels/generated/test_sanitized.py", 8),
    ("tests/kernels/generated/", 7),
    ("tests/collection/test_collection.py::test_against_pytorch", 8),
    ("tests/notebooks/test_notebooks.py::test_runs_from_top_to_bottom", 4),
    ("tests/kernels/test_attention.py", 5),
    ("tests/kernels/test_kernels.py::test_verifies", 4),
    ("tests/kernels/test_art.py", 3),
    ("tests/kernels/test_banks.py", 3),
    ("tests/kernels/test_scaled_mma.py", 3),
    ("tests/kernels/test_gemm.py", 3),
    ("tests/kernels/test_headers.py", 3),
    ("tests/kernels/test_quantize.py", 3),
    ("tests/kernels/test_gemm_schedules.py", 3),
    ("tests/kernels/test_compatibility.py", 3),
    ("tests/emulator/sanitizer/test_mutations.py", 3),
    ("tests/emulator/hip/test_textures.py", 3),
)
"""Beginnings of tests' names, each with how many share a turn; the first that fits counts. 0: none runs."""

QUICK: tuple[str, ...] = (
    "tests/codeobject",
    "tests/targets",
    "tests/emulator/semantics/test_vector.py",
    "tests/emulator/semantics/test_scalar.py",
    "tests/emulator/semantics/test_packed.py",
    "tests/emulator/translate",
    "tests/spec/test_spec.py",
    "tests/kernel/test_arguments.py",
    "tests/check",
    "tests/test_docs.py",
    "tests/test_dtypes.py",
    "tests/test_imports.py",
    "tests/test_public_names.py",
    "tests/test_tiers.py",
)
"""Files and folders."""


def runs(test: str, tier: str, seed: str) -> bool:
    """Whether a test, by its node id, runs in a tier, `test` or `all`, with a seed."""
    if tier == "all":
        return True
    share = next((share for start, share in ONE_OF if test.startswith(start)), 1)
    if share < 2:
        return share == 1
    # What shares a compilation is drawn as one.
    whole = group(test)
    drawn = test if whole == test.partition("::")[0] else whole
    return int.from_bytes(hashlib.sha256(f"{seed} {drawn}".encode()).digest()[:4], "big") % share == 0


if __name__ == "__main__":
    print(*QUICK)
