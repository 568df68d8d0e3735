"""Which tests run when: `make test-quick` for an edit, `make test` for a commit, `make test-all` for all.

    python tests/tiers.py    # what test-quick runs

`make test` leaves out what costs much and finds little beside the rest: of the tests below one in so many
runs, drawn by the run's seed, so that all have their turn. CI runs a sixth of them besides, another one with
each commit (`--tier=commit`). docs/tests.md has what each part costs.
"""

from __future__ import annotations

import hashlib
import re

from workers import OPERATORS, group

TIERS = ("test", "commit", "all")

RESULTS = re.compile(rf"{OPERATORS}::test_results\[(.*)-(gfx\w+)\]$")
"""Of every operator one target's results are looked at: nothing else finds most faults of its kernels."""

ONE_OF: tuple[tuple[str, int], ...] = (
    ("tests/kernels/test_operators.py", 16),
    ("tests/kernels/test_habits.py::test_habit", 32),
    ("tests/kernels/generated/test_sanitized.py", 8),
    ("tests/ops/test_docstrings.py::test_example_runs", 16),
    ("tests/kernels/generated/", 7),
    ("tests/collection/test_collection.py::test_against_pytorch", 8),
    ("tests/integrations/test_transformers.py::test_kernels", 8),
    ("tests/notebooks/test_notebooks.py::test_runs_from_top_to_bottom", 12),
    ("tests/exercises/test_course.py::test_a_wrong_answer_is_told_what_is_wrong", 8),
    ("tests/kernels/test_attention.py", 5),
    ("tests/kernels/test_kernels.py::test_verifies", 4),
    ("tests/kernels/test_art.py", 2),
    ("tests/kernels/test_banks.py", 3),
    ("tests/kernels/test_scaled_mma.py", 4),
    ("tests/kernels/test_gemm.py", 3),
    ("tests/kernels/test_headers.py", 6),
    ("tests/kernels/test_coalescing.py::test_register_tiles", 3),
    ("tests/kernels/test_program_order.py", 2),
    ("tests/kernels/test_hipkittens_sources.py::test_result", 0),
    ("tests/torch_gpu/test_cpp_gradients.py", 8),
    ("tests/torch_gpu/test_extensions.py::test_a_submission", 8),
    ("tests/kernels/test_host_pass.py::test_operators", 12),
    ("tests/kernels/test_host_pass.py", 3),
    ("tests/kernels/test_show.py", 4),
    ("tests/kernels/test_kernel_costs.py", 4),
    ("tests/kernels/test_gemm_backward.py", 3),
    ("tests/kernels/test_hipkittens_sources.py", 3),
    ("tests/kernel/test_host_module.py", 2),
    ("tests/kernel/test_program.py", 2),
    ("tests/torch_gpu/test_context.py", 3),
    ("tests/step/test_stepper.py::test_tiles_by_their_names", 4),
    ("tests/bench/test_engine.py", 4),
    ("tests/kernels/test_quantize.py", 3),
    ("tests/kernels/test_gemm_schedules.py", 3),
    ("tests/kernels/test_compatibility.py", 3),
    ("tests/views/test_payloads.py::test_texts_stay_texts", 10),
    ("tests/views/test_renderer.py", 2),
    ("tests/toolchain/test_hipcc.py", 8),
    ("tests/toolchain/test_header_corpus.py::test_accepts_and_refuses_what_rocm_does", 8),
    ("tests/toolchain/test_cooperative_groups.py", 6),
    ("tests/toolchain/test_host.py", 2),
    ("tests/toolchain/test_complex_functions.py", 4),
    ("tests/toolchain/test_hip_programs.py::test_of_a_list", 4),
    ("tests/fuzz/", 4),
    ("tests/toolchain/test_header_names.py", 4),
    ("tests/exercises/test_course.py::test_the_solution_passes", 4),
    ("tests/profile/test_one_number.py", 2),
    ("tests/docs/test_howto.py::test_blocks_run", 4),
    ("tests/docs/test_recipes.py", 8),
    ("tests/bench/test_certificates.py::test_the_documented_commands", 8),
    ("tests/emulator/sanitizer/test_mutations.py", 3),
    ("tests/emulator/hip/test_textures.py", 3),
    ("tests/profile/test_faults.py", 4),
    ("tests/profile/test_same_time.py", 4),
    ("tests/hardware/test_examine.py", 3),
    ("tests/torch_gpu/test_graphs.py", 2),
    ("tests/test_prebuilt.py::test_the_libraries_build_for_arm", 0),
    ("tests/test_prebuilt.py::test_the_emulator_builds_for_cpus_with_tiles", 0),
)
"""Beginnings of tests' names, each with how many share a turn; the first that fits counts. 0: none runs."""

QUICK: tuple[str, ...] = (
    "tests/codeobject",
    "tests/targets",
    "tests/emulator/semantics/test_vector.py",
    "tests/emulator/semantics/test_scalar.py",
    "tests/emulator/semantics/test_packed.py",
    "tests/emulator/translate",
    "tests/operators/test_spec.py",
    "tests/kernel/test_arguments.py",
    "tests/check",
    "tests/test_docs.py",
    "tests/test_dtypes.py",
    "tests/test_imports.py",
    "tests/test_public_names.py",
    "tests/test_tiers.py",
)
"""Files and folders."""


OF_A_COMMIT = 6
"""Of the tests above CI draws one in so many by the commit, and more where `make test` does."""


def number(drawn: str, seed: str) -> int:
    """A number from the seed and a name, the same in every process."""
    return int.from_bytes(hashlib.sha256(f"{seed} {drawn}".encode()).digest()[:4], "big")


def runs(test: str, tier: str, seed: str) -> bool:
    """True where a test, given by its node id, runs in a tier, `test`, `commit` or `all`, with a seed."""
    if tier == "all":
        return True
    if tier == "test" and (match := RESULTS.match(test)):
        from workbench import kernels

        name, target = match.groups()
        targets = sorted(kernels[name].targets)
        return target == targets[number(name, seed) % len(targets)]
    share = next((share for start, share in ONE_OF if test.startswith(start)), 1)
    if tier == "commit":
        share = min(share or OF_A_COMMIT, OF_A_COMMIT)
    if share < 2:
        return share == 1
    # Tests that share a compilation are drawn together.
    whole = group(test)
    drawn = test if whole == test.partition("::")[0] else whole
    return number(drawn, seed) % share == 0


def cases(count: int, tier: str) -> int:
    """Number of its `count` random cases that a test tries: a tenth in `test`, else all."""
    return -(-count // 10) if tier == "test" else count


if __name__ == "__main__":
    print(*QUICK)
