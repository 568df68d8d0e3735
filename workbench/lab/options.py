"""The magics' options for the front end: `src/options.ts`, written from `workbench.magic_options`.

python -m workbench.lab.options
"""

from __future__ import annotations

import json
from pathlib import Path

from workbench import magic_options

SOURCE = Path(__file__).with_name("src") / "options.ts"

_HEAD = """/** Written by `python -m workbench.lab.options` from `workbench.magic_options`: change that. */

export interface IOption {
  name: string;
  signature: string;
  doc: string;
  /** Whether the word behind it is its value. */
  takesValue: boolean;
}

export const OPTIONS: readonly IOption[] = """


def text() -> str:
    """The file's text."""
    options = [
        {
            "name": option.flag,
            "signature": str(option),
            "doc": f"{option.help[0].upper()}{option.help[1:]}.",
            "takesValue": bool(option.metavar),
        }
        for option in magic_options.OPTIONS
    ]
    return f"{_HEAD}{json.dumps(options, indent=2)};\n"


if __name__ == "__main__":
    SOURCE.write_text(text())
