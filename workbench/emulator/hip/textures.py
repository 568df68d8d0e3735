"""HIP calls about textures, surfaces and arrays: all answer hipErrorNotSupported, and the first says why.

gfx942 and gfx950 have no image instructions: clang defines `__HIP_NO_IMAGE_SUPPORT` for them (LLVM D151349),
and HIP answers the same. gfx90a has some, which the emulated device does not execute.
"""

from __future__ import annotations

import re
import sys

from workbench import errors
from workbench.emulator.hip import devices, structures
from workbench.emulator.hip.calls import CALLS, call
from workbench.emulator.hip.library import function_names

_ABOUT_IMAGES = re.compile(r"hip\w*(?:Tex|Surf|Array|Mipmap|AtoA|AtoD|AtoH|DtoA|HtoA)\w*")
_said: list[str] = []


def _refuse(name: str) -> None:
    def answer() -> None:
        target = devices.current().product.arch
        text = (
            f"{name}: {target} has no image instructions here, so there are no "
            "textures, surfaces and arrays (hipErrorNotSupported): keep the data in hipMalloc's memory and "
            "index it"
        )
        if not _said:
            _said.append(name)
            print(f"hipkittens: {text}", file=sys.stderr, flush=True)
        raise errors.DeviceError(text, structures.NOT_SUPPORTED)

    call(name)(answer)


for _name in function_names():
    if _ABOUT_IMAGES.fullmatch(_name) and _name not in CALLS and _name != "hipCreateChannelDesc":
        _refuse(_name)


__all__: list[str] = []
