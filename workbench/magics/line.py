"""The line of a cell magic: its words, the options in them, and the name that it binds."""

from __future__ import annotations

import argparse
import builtins
import difflib
import keyword
import shlex
from collections.abc import Sequence
from types import ModuleType
from typing import TYPE_CHECKING, NoReturn

from IPython.core.error import UsageError as IPythonUsageError

from workbench import magic_options

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell


class _Parser(argparse.ArgumentParser):
    """Reports a wrong option as one line."""

    def error(self, message: str) -> NoReturn:
        raise IPythonUsageError(f"{self.prog}: {message}{self._hint(message)}. See {self.prog}?")

    def _hint(self, message: str) -> str:
        unknown = [word for word in message.split() if word.startswith("-")]
        close = [
            m for word in unknown for m in difflib.get_close_matches(word, self._option_string_actions, n=1)
        ]
        return f"; did you mean {close[0]}?" if "unrecognized" in message and close else ""


def parsed(
    magic: str, words: Sequence[str], options: Sequence[magic_options.Option], shell: InteractiveShell | None
) -> argparse.Namespace:
    """The values of a magic's options by name, and the `name` that it binds.

    Without a shell nothing is bound, and any name is accepted. If an option takes the rest of the line, the
    name may be left out and is "".

    Raises:
        IPython's UsageError: an option is wrong, or the name cannot be bound.
    """
    parser = _Parser(prog=magic, add_help=False, allow_abbrev=False)
    rests = {option.flag: option.dest or option.flag.lstrip("-") for option in options if option.rest}
    end = next((at for at, word in enumerate(words) if word in rests), len(words))
    parser.set_defaults(**dict.fromkeys(rests.values()))
    for option in options:
        if option.rest:
            continue
        dest = option.dest or option.flag.lstrip("-")
        if not option.metavar:
            parser.add_argument(option.flag, dest=dest, action="store_true")
        elif option.repeated:
            parser.add_argument(option.flag, dest=dest, action="append", default=[])
        else:
            parser.add_argument(option.flag, dest=dest, default="")
    # The name is not an argument of the parser, which would consume an optional one too early.
    values, names = parser.parse_known_args(list(words[:end]))
    unknown = [word for word in names if word.startswith("-")] or names[1:]
    if unknown:
        parser.error(f"unrecognized arguments: {' '.join(unknown)}")
    if end < len(words):
        setattr(values, rests[words[end]], list(words[end + 1 :]))
    elif not names:
        parser.error(f"the following arguments are required: {magic_options.NAME.flag}")
    values.name = names[0] if names else ""
    if shell is not None and names:
        _check_name(magic, values.name, shell)
    return values


def split(magic: str, line: str) -> list[str]:
    """The words of a magic's line, without quotes."""
    try:
        words = shlex.split(line)
    except ValueError as error:
        raise IPythonUsageError(f"{magic}: {error} in: {line.strip()}") from None
    # argparse takes a value that begins with a dash for an option; compiler flags all do.
    for i, word in enumerate(words[:-1]):
        if word == "--flags":
            words[i : i + 2] = [f"--flags={words[i + 1]}"]
    return words


def _check_name(magic: str, name: str, shell: InteractiveShell) -> None:
    """Rejects invalid names, and names whose loss would be a surprise: `print`, `torch`, IPython's own."""
    if not name.isidentifier() or keyword.iskeyword(name):
        raise IPythonUsageError(f"{magic}: {name!r} cannot be a Python name; choose one such as rmsnorm")
    if isinstance(shell.user_ns.get(name), ModuleType):
        taken = "the name of an imported module"
    elif name.startswith("__") or name in shell.user_ns_hidden:
        taken = "a name that Python or IPython needs"
    elif hasattr(builtins, name):
        taken = "a function or value of Python's own"
    else:
        return
    other = f"{name.strip('_')}_kernel"
    raise IPythonUsageError(f"{magic}: {name} is {taken}; choose another, such as {other}")
