"""Rewrites interface.json from the installed hip-python: `python -m workbench.emulator.hip.update_interface`.

The exports of the emulated libamdhip64 and the numbers of its enumerations come from the bindings that will
call it. Names already in the file stay, so it also serves older bindings.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import re
import textwrap
from pathlib import Path
from typing import Any

INTERFACE = Path(__file__).with_name("interface.json")
_ENUMS = ("hipError_t", "hipDeviceAttribute_t", "hipFunction_attribute", "hipPointer_attribute", "hipLimit_t")


def installed_functions() -> set[str]:
    """Every symbol that hip-python's hip module may look up, from the Cython source in its wheel."""
    for module, file in (("rocm.bindings.cyhip", "cyhip.pyx"), ("hip.chip", "chip.pyx")):
        try:
            spec = importlib.util.find_spec(module)
        except ModuleNotFoundError:
            continue
        if spec is not None and spec.origin is not None:
            source = (Path(spec.origin).parent / file).read_text()
            return set(re.findall(r'__funptr, *"(\w+)"', source))
    raise SystemExit("hip-python is not installed, or its wheel no longer carries its Cython source")


def installed_enums() -> dict[str, dict[str, int]]:
    """The enumerations that the emulated library answers by number."""
    from hip import hip

    return {
        enum: {name: int(value) for name, value in getattr(hip, enum).__members__.items()} for enum in _ENUMS
    }


def main() -> None:
    previous: dict[str, Any] = json.loads(INTERFACE.read_text()) if INTERFACE.exists() else {}
    functions = sorted(installed_functions() | set(previous.get("functions", ())))
    content = {
        "source": f"hip-python {importlib.metadata.version('hip-python')} and older",
        "functions": functions,
        "enums": installed_enums(),
    }
    # No name has a space, so lines end between names; `source` comes first and fits.
    INTERFACE.write_text(textwrap.fill(json.dumps(content), 110, break_on_hyphens=False) + "\n")
    print(f"{INTERFACE.name}: {len(functions)} functions")


if __name__ == "__main__":
    main()
