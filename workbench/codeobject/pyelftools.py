"""Imports pyelftools without Python's debugger.

pyelftools imports `pdb` for a debugging aid that nothing here uses, and `pdb` imports `code`: in a folder
where the user has a code.py, that file would run instead.
"""

import importlib
import sys
from types import ModuleType

if "pdb" not in sys.modules:
    sys.modules["pdb"] = ModuleType("pdb")
    try:
        importlib.import_module("elftools.construct.debug")
    finally:
        del sys.modules["pdb"]
