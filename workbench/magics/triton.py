"""`%%triton`: its help and its failures; `magics.run_triton` runs the cell."""

from __future__ import annotations

from typing import TYPE_CHECKING

from IPython.core.error import UsageError as IPythonUsageError

from workbench import magic_options
from workbench.errors import UsageError, WorkbenchError
from workbench.magics.failures import quiet
from workbench.magics.line import parsed, split

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

MAGIC = "%%triton"

NAME = magic_options.Option("NAME", "Python name to bind the launched kernels to")

TRITON_HELP = f"""Run the cell as Python with Triton on the workbench's device.

{magic_options.usage(MAGIC, magic_options.TRITON_OPTIONS)}

{magic_options.listing(NAME, magic_options.TRITON_OPTIONS)}

CPU tensors serve as the emulated device's memory; on a GPU, Triton runs as always. The result shows each
kernel that the cell launched: registers, LDS, scratch and occupancy, with what changed since its last run.
The options repeat each kernel's last launch. `NAME["kernel"]` is one of the kernels, for `wb.profile`,
`wb.timeline` and the ISA view.

Triton's compile errors, faults and the sanitizer's findings appear at the cell's own lines.
"""


def triton_cell(shell: InteractiveShell, line: str, cell: str) -> None:
    """The cell magic `%%triton`; its help text is `TRITON_HELP`."""
    words = split(MAGIC, line)
    if "-h" in words or "--help" in words:
        print(TRITON_HELP)
        return
    options = parsed(MAGIC, words, magic_options.TRITON_OPTIONS, shell)
    from workbench.magics import run_triton

    try:
        run_triton.run_cell(shell, options, cell)
    except UsageError as error:
        raise IPythonUsageError(f"{MAGIC}: {error}") from None
    except WorkbenchError as error:
        raise quiet(error) from None
