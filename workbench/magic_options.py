"""The options of `%%hipkittens` and `%%triton`, read by parsing, help, completion and reference."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Option:
    """One option of a magic.

    Attributes:
        flag: spelling, such as "--arch".
        help: description, one line.
        metavar: name of its value in help texts; "" if it takes none.
        dest: attribute name of its value; "" for the flag's name.
        repeated: True if it may be repeated.
        rest: True if the rest of the line is its value.
    """

    flag: str
    help: str
    metavar: str = ""
    dest: str = ""
    repeated: bool = False
    rest: bool = False

    def __str__(self) -> str:
        return f"{self.flag} {self.metavar}".rstrip()


NAME = Option("NAME", "Python name to bind the compiled module to")

OPTIONS = (
    Option("--arch", "target: gfx950, gfx942, gfx1250, gfx1201, gfx1100; default: the default device's", "A"),
    Option("-I", "folder to search for #include", "DIR", "include", repeated=True),
    Option("-D", "macro, NAME or NAME=VALUE", "X", "define", repeated=True),
    Option("--flags", "more compiler flags, quoted", '"..."'),
    Option(
        "--device-libraries",
        "link ROCm's device libraries, for sources that call __ocml_* or __ockl_*",
        dest="device_libraries",
    ),
    Option("--verify", "run the cell's kernel on this spec's inputs, compare with its reference", "SPEC"),
    Option("--spec", "take inputs and launch from this spec, but do not compare", "SPEC"),
    Option("--shape", "shape of the spec, such as rows=4096,cols=1024", "K=V,..."),
    Option("--launch", 'how to launch the cell\'s kernel, such as "scale[4, 64]"', "EXPR"),
    Option("--inputs", 'all arguments of that launch, such as "dict(x=torch.ones(256), by=2.0)"', "EXPR"),
    Option("--outputs", "the arguments that the kernel writes, such as out", "A,..."),
    Option(
        "--reference",
        'compare with a function of its inputs, such as "lambda x, by: x * by"',
        "EXPR",
    ),
    Option("--show", "keep what the cell passes to show(tile), and draw it after a launch"),
    Option("--time", "time a launch: measured on a GPU, modelled on an emulated device"),
    Option("--profile", "count events of a launch, under rocprof's names"),
    Option("--sanitize", "look for missing waits, races, uninitialised values"),
    Option("--hipify", "the cell is CUDA: replace its names with HIP's, and list what is left to do"),
    Option("--fails", "the cell fails on purpose: print the error and continue with the next cell"),
    Option(
        "--program",
        "run the cell's main with these words as arguments; NAME is its result, or left out",
        "[ARG ...]",
        rest=True,
    ),
)

FLAGS = tuple(option.flag for option in OPTIONS)

TRITON_OPTIONS = (
    Option("--device", "device, such as MI300X or emulated:gfx942; default: the default device", "D"),
    Option("--time", "time each kernel's last launch: measured on a GPU, modelled on an emulated device"),
    Option("--profile", "count events of that launch, and show heat on the cell's lines"),
    Option("--sanitize", "look for races, uninitialised values, accesses out of bounds"),
)


def usage(magic: str = "%%hipkittens", options: Sequence[Option] = OPTIONS) -> str:
    """The options as a command line shows them."""
    line = f"{magic} {NAME.flag} " + " ".join(f"[{str(option).replace(' ', chr(160))}]" for option in options)
    lines = textwrap.wrap(line, 100, initial_indent=" " * 4, subsequent_indent=" " * 8)
    return "\n".join(lines).replace(chr(160), " ")


def listing(name: Option = NAME, options: Sequence[Option] = OPTIONS) -> str:
    """The options and their descriptions, one line each."""
    return "\n".join(f"    {option!s:18} {option.help}" for option in (name, *options))
