"""Files that commands write: `make generated` runs them, `make check-generated` finds stale files.

    python tests/generated.py # writes everything that follows from the sources
    python tests/generated.py --check    # names what is stale, with its command, and changes nothing

There is a record for each command. Files that need measurements, hours, or tools that a fresh machine lacks
are `MEASURED`: they are listed here and in docs/tests.md, and no other command runs these.
"""

from __future__ import annotations

import argparse
import shlex
import subprocess
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import page_parts

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "tests.md"
START, END = "<!-- commands: begin -->\n", "<!-- commands: end -->\n"


@dataclass(frozen=True)
class Product:
    """Files that a command writes.

    Attributes:
        command: behind `python`, in the root.
        files: that it writes, from the root.
        needs: of a measured one, what it takes.
    """

    command: str
    files: tuple[str, ...]
    needs: str = ""


DERIVED = (
    Product(
        "docs/made.py",
        (
            *("docs/reference/magics.md", "docs/reference/commands.md", "docs/environment_variables.md"),
            *("docs/collection.md", "docs/instructions.md", "docs/kernel_costs.md"),
            *("docs/model_error.md", "docs/targets.md"),
        ),
    ),
    Product("docs/audit_document.py", ("docs/audit.md",)),
    Product("docs/judged_document.py", ("docs/judged.md",)),
    Product("docs/benchmark_pages.py", ("docs/benchmarks.md",)),
    Product("-m workbench.profile.counter_table", ("docs/counters.md",)),
    Product("-m workbench.operators.catalogue_page", ("docs/kernels.md",)),
    Product("-m workbench.lab.operations", ("docs/tile_operations.md",)),
    Product("-m workbench.lab.options", ("workbench/lab/src/options.ts",)),
    Product("-m workbench.lab.templates", ("workbench/lab/src/templates.ts",)),
    Product("-m workbench.lab.words", ("workbench/lab/src/words.ts",)),
    Product("-m workbench.tiles.matrix_operands", ("docs/matrix_operands.md",)),
    Product("-m tests.emulator.sanitizer.tables", ("docs/sanitizer.md",)),
    Product("tests/kernels/generated/tile_table.py", ("docs/tile_tests.md",)),
)
"""Follows from the sources and from stored results, in a minute for all."""

NOTEBOOKS = (
    *("notebooks/01_first_kernel.ipynb", "notebooks/02_matrix_multiply.ipynb"),
    *("notebooks/03_tiles_and_layouts.ipynb", "notebooks/04_attention.ipynb"),
    "notebooks/05_finding_the_limit.ipynb",
)
"""Notebooks whose cells state their time."""

MEASURED = (
    Product(
        "docs/audit_document.py AUDIT.json --project NAME",
        ("docs/data/audit.jsonl",),
        "an audit of a checkout",
    ),
    Product(
        "docs/judged_document.py VERDICTS SOURCES.toml --date DATE",
        ("docs/data/judged.json",),
        "verdicts on published submissions",
    ),
    Product("docs/transcript.py", ("docs/agent_transcript.md",), "half a minute"),
    Product(f"notebooks/cell_seconds.py {' '.join(NOTEBOOKS)}", NOTEBOOKS, "some minutes"),
    Product(
        "-m workbench.codeobject.instructions.isa.enumerate",
        ("workbench/codeobject/instructions/isa/opcodes.csv",),
        "LLVM's tools, an hour",
    ),
    Product(
        "-m workbench.emulator.hip.update_interface", ("workbench/emulator/hip/interface.json",), "hip-python"
    ),
    Product(
        "tests/benchmarks/benchmark_document.py RESULTS",
        ("docs/data/benchmarks.jsonl",),
        "a benchmark's results",
    ),
    Product(
        "tests/benchmarks/model_error.py --write",
        ("tests/data/modelled_times.jsonl", "workbench/profile/model_error.json"),
        "modelled times of published problems",
    ),
    Product("tests/benchmarks/model_rankings.py --write", ("docs/model_rankings.md",), "an hour"),
    Product("tests/benchmarks/training.py --write", ("docs/training.md",), "an hour"),
    Product("tests/emulator/tested_opcodes.py", ("tests/data/tested_opcodes.json",), "minutes"),
    Product("tests/benchmarks/tuned.py --write", ("docs/tuning.md",), "an hour"),
    Product("tests/codeobject/llvm_answers.py", ("tests/codeobject/data/llvm_answers.xz",), "LLVM's tools"),
    Product(
        "tests/codeobject/code_objects.py FOLDER --write",
        ("tests/data/code_objects.json",),
        "others' code objects",
    ),
    Product(
        "tests/collection_document.py --run --again", ("tests/data/collection_results.json",), "half an hour"
    ),
    Product(
        "tests/collection_ports.py", ("tests/data/collection_ports.json",), "a checkout of the collection"
    ),
    Product(
        "tests/collection_suite.py --write",
        ("tests/data/collection_suite.json",),
        "a checkout of the collection",
    ),
    Product(
        "tests/debian_backend_ops.py ROOT --write", ("tests/data/debian_backend_ops.json",), "hours, 13 GB"
    ),
    Product(
        "tests/debian_libraries.py ROOT --write",
        ("tests/data/debian_libraries.json",),
        "mmdebstrap, 13 GB",
    ),
    Product("tests/kernels/compatibility.py", ("docs/data/compatibility.json",), "checkouts of HipKittens"),
    Product("tests/kernels/gemm_table.py", ("docs/gemm.md",), "some minutes"),
    Product("tests/kernels/habits.py", ("docs/pytorch_habits.md",), "some minutes"),
    Product(
        "tests/kernels/hipkittens_loops.py CHECKOUT",
        ("docs/hipkittens_loops.md",),
        "a checkout of HipKittens",
    ),
    Product("tests/kernels/kernel_costs.py", ("docs/data/kernel_costs.json",), "hours"),
    Product("tests/kernels/operator_table.py", ("docs/operators.md",), "a minute or more"),
    Product("tests/modelled_times.py", ("workbench/operators/modelled.json",), "hours"),
    Product(
        "tests/toolchain/competitions.py LIST --write",
        ("tests/data/competitions.json",),
        "others' programs",
    ),
    Product(
        "tests/toolchain/hip_programs.py LIST --write", ("tests/data/hip_programs.json",), "others' programs"
    ),
)
"""Recorded: run it where its needs are met, and review the change."""


def table() -> str:
    """Both lists as Markdown."""
    rows = [
        *(f"| `python {p.command}` | {_links(p)} | `make generated` |" for p in DERIVED),
        *(f"| `python {p.command}` | {_links(p)} | {p.needs} |" for p in MEASURED),
    ]
    return "\n".join(("| command | writes | by, or needs |", "| --- | --- | --- |", *rows, ""))


def _links(product: Product) -> str:
    return ", ".join(f"`{file}`" for file in product.files)


def page() -> str:
    """docs/tests.md with the table."""
    return page_parts.replace(PAGE.read_text(encoding="utf-8"), START, table(), END)


def contents(products: Iterable[Product]) -> dict[str, bytes | None]:
    """Contents of the products' files; None for a file that does not exist."""
    paths = {file: ROOT / file for product in products for file in product.files}
    return {file: path.read_bytes() if path.exists() else None for file, path in paths.items()}


def restore(files: Mapping[str, bytes | None]) -> None:
    for file, content in files.items():
        if content is None:
            (ROOT / file).unlink(missing_ok=True)
        else:
            (ROOT / file).write_bytes(content)


def make(products: Iterable[Product]) -> None:
    """Runs the commands of products.

    Raises:
        CalledProcessError: one failed; it has printed the reason.
    """
    for product in products:
        subprocess.run(
            [sys.executable, *shlex.split(product.command)], cwd=ROOT, check=True, stdout=subprocess.DEVNULL
        )


def stale(products: Iterable[Product]) -> list[tuple[str, str]]:
    """Files that their command would change, each with the command; restores the files."""
    outdated = []
    for product in products:
        before = contents([product])
        try:
            make([product])
            after = contents([product])
        finally:
            restore(before)
        outdated += [(file, product.command) for file in before if before[file] != after[file]]
    return outdated


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--check", action="store_true", help="fail where a file is stale")
    if parser.parse_args().check:
        outdated = stale(DERIVED)
        if PAGE.read_text(encoding="utf-8") != page():
            outdated.append(("docs/tests.md", "tests/generated.py"))
        for file, command in outdated:
            print(f"{file} is stale: `python {command}` makes it, `make generated` all")
        return 1 if outdated else 0
    make(DERIVED)
    PAGE.write_text(page(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
