"""IPython magics: `%%hipkittens` compiles a cell, `%hipkittens` answers questions.

Thin on purpose: everything that they do is a function of `workbench` that works without IPython.
"""

from __future__ import annotations

import argparse
import builtins
import difflib
import keyword
import shlex
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from types import ModuleType
from typing import TYPE_CHECKING, Any, NoReturn

from IPython.core.error import UsageError as IPythonUsageError
from IPython.display import display

from workbench import cache, magic_options
from workbench.errors import (
    CompileError,
    ShapeError,
    UnknownKernel,
    UsageError,
    WorkbenchError,
)
from workbench.lab import extension

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from workbench.kernel import Kernel, Module
    from workbench.spec import KernelSpec
    from workbench.spec.subject import Target
    from workbench.views.cell import CellResult

FIRST_LINE = 2
"""Line of the editor that a cell's C++ begins at: the magic itself is line 1."""


class _Parser(argparse.ArgumentParser):
    """Reports a wrong option as one line."""

    def error(self, message: str) -> NoReturn:
        raise IPythonUsageError(f"%%hipkittens: {message}{self._hint(message)}. See %%hipkittens?")

    def _hint(self, message: str) -> str:
        unknown = [word for word in message.split() if word.startswith("-")]
        close = [m for word in unknown for m in difflib.get_close_matches(word, magic_options.FLAGS, n=1)]
        return f"; did you mean {close[0]}?" if "unrecognized" in message and close else ""


def _parser() -> _Parser:
    parser = _Parser(prog="%%hipkittens", add_help=False, allow_abbrev=False)
    parser.add_argument("name", metavar=magic_options.NAME.flag)
    for option in magic_options.OPTIONS:
        dest = option.dest or option.flag.lstrip("-")
        if not option.metavar:
            parser.add_argument(option.flag, dest=dest, action="store_true")
        elif option.repeated:
            parser.add_argument(option.flag, dest=dest, action="append", default=[])
        else:
            parser.add_argument(option.flag, dest=dest, default="")
    return parser


CELL_HELP = f"""Compile the cell as HIP C++ and bind the module to NAME.

{magic_options.usage()}

{magic_options.listing()}

The cell is HIP C++: `#include "kittens.cuh"` gives the tile library, the target's macro (KITTENS_CDNA4 on
gfx950, KITTENS_CDNA3 on gfx942) is set. The result shows the device, the compile time or "cached", each
kernel's registers, LDS, scratch, spills and occupancy with what changed since this cell's last run, and
warnings. Then, in Python: `NAME["kernel"][grid, block, dynamic_shared_bytes](tensor, ..., member=tensor)`.

--time, --profile and --sanitize need to know what to launch: they take the launch and inputs of --verify's or
--spec's SPEC (such as gemm/gemm_bf16; its macros for the shape are defined too, before yours), or else repeat
the last launch of the kernel of the same name made through NAME. Without IPython: wb.compile, wb.verify,
wb.time, wb.profile, wb.sanitize.

A compile error shows the cell's own line and column and stops "run all". Lines count as the editor counts
them: the magic is line 1.
"""


def hipkittens_cell(shell: InteractiveShell, line: str, cell: str) -> CellResult | None:
    """What `%%hipkittens` does; its help text is `CELL_HELP`."""
    words = _split(line)
    if "-h" in words or "--help" in words:
        print(CELL_HELP)
        return None
    options = _parser().parse_args(words)
    _check_name(options.name, shell)
    try:
        result = _run_cell(shell, options, cell)
    except CompileError as error:
        _show_failure(options.name, cell, error)
        raise _quiet(error) from None
    except (UsageError, UnknownKernel, ShapeError) as error:
        raise IPythonUsageError(f"%%hipkittens: {error}") from None
    except WorkbenchError as error:
        raise _quiet(error) from None
    _show(result, cell)
    if result.error is not None:
        raise _quiet(result.error) from None
    return None


def _split(line: str) -> list[str]:
    try:
        words = shlex.split(line)
    except ValueError as error:
        raise IPythonUsageError(f"%%hipkittens: {error} in: {line.strip()}") from None
    # argparse takes a value that begins with a dash for an option; compiler flags all do.
    for i, word in enumerate(words[:-1]):
        if word == "--flags":
            words[i : i + 2] = [f"--flags={words[i + 1]}"]
    return words


def _check_name(name: str, shell: InteractiveShell) -> None:
    """Refuses what is no name, and names whose loss would surprise: `print`, `torch`, IPython's own."""
    if not name.isidentifier() or keyword.iskeyword(name):
        raise IPythonUsageError(f"%%hipkittens: {name!r} cannot be a Python name; choose one such as rmsnorm")
    if isinstance(shell.user_ns.get(name), ModuleType):
        taken = "the name of an imported module"
    elif name.startswith("__") or name in shell.user_ns_hidden:
        taken = "a name that Python or IPython needs"
    elif hasattr(builtins, name):
        taken = "a function or value of Python's own"
    else:
        return
    other = f"{name.strip('_')}_kernel"
    raise IPythonUsageError(f"%%hipkittens: {name} is {taken}; choose another, such as {other}")


def _shape(text: str) -> dict[str, Any] | None:
    if not text:
        return None
    found: dict[str, Any] = {}
    for part in text.split(","):
        key, equals, value = part.strip().partition("=")
        if not equals or not key:
            raise UsageError(f"--shape {text}: {part.strip()!r} is not NAME=VALUE")
        found[key] = int(value) if value.strip().lstrip("-").isdigit() else value.strip()
    return found


def _run_cell(shell: InteractiveShell, options: argparse.Namespace, cell: str) -> CellResult:
    from workbench import kernel
    from workbench.spec import kernels
    from workbench.views.cell import CellResult

    if options.verify and options.spec and options.verify != options.spec:
        raise UsageError(f"--verify {options.verify} and --spec {options.spec} differ; one of them is enough")
    named = options.verify or options.spec
    if options.shape and not named:
        raise UsageError("--shape needs --verify SPEC or --spec SPEC, whose shape it is")
    spec = kernels[named] if named else None
    arch = options.arch or kernel.default_arch()
    shape = spec.shape(_shape(options.shape), arch=arch) if spec is not None else None
    macros = spec.macros(shape, arch) if spec is not None and shape is not None else {}
    module = kernel.compile(
        cell,
        arch=arch,
        name=f"{options.name}.hip",
        include=options.include,
        flags=options.flags,
        define={**macros, **dict(_macro(text) for text in options.define)},
        first_line=FIRST_LINE,
    )
    module.name = options.name
    previous = shell.user_ns.get(options.name)
    previous = previous if isinstance(previous, kernel.Module) else None
    before = dict(previous.kernels) if previous is not None else {}
    device = kernel.device_of((), module.arch)
    results: list[Any] = []
    failure: WorkbenchError | None = None
    if options.verify or options.time or options.profile or options.sanitize:
        target = _target(module, previous, spec, shape, options)
        try:
            _checks(options, module, spec, shape, target, results)
        except (UsageError, ShapeError, UnknownKernel):
            raise
        except WorkbenchError as error:
            failure = error
    if previous is not None:
        _keep_launches(previous, module)
    # Bound even where a launch failed: that machine code is what one then wants to look at.
    shell.user_ns[options.name] = module
    return CellResult(options.name, module, device, before, results, failure)


def _keep_launches(previous: Module, module: Module) -> None:
    """Launches of the module before can be repeated with the new one, which may have run nothing yet."""
    for name, kernel in module.kernels.items():
        old = previous.kernels.get(name)
        if kernel.last is None and old is not None and old.last is not None:
            # What was counted there belongs to other machine code.
            kernel.last = replace(old.last, record=replace(old.last.record, counts=None, traffic=None))


def _macro(text: str) -> tuple[str, str | None]:
    name, equals, value = text.partition("=")
    return name, value if equals else None


def _target(
    module: Module,
    previous: Module | None,
    spec: KernelSpec | None,
    shape: Any,
    options: argparse.Namespace,
) -> Target:
    """What the checks launch: by a spec, or as the module before was launched last."""
    from workbench.spec.subject import resolve

    if spec is not None:
        return resolve(_kernel_for(module, spec, shape), spec=spec, shape=shape)
    launched = [k for k in previous.kernels.values() if k.last is not None] if previous is not None else []
    for old in launched:
        if old.name in module.kernels and old.last is not None:
            last = old.last
            return resolve(
                module[old.name][last.launch.grid, last.launch.block, last.launch.dynamic_shared],
                last.args,
                last.kwargs,
                device=last.device if last.device.arch == module.arch else None,
            )
    asked = " and ".join(f"--{flag}" for flag in ("time", "profile", "sanitize") if getattr(options, flag))
    raise UsageError(
        f"{asked} needs a launch: add --verify SPEC or --spec SPEC, or launch a kernel of {options.name} "
        "once and run this cell again, which repeats that launch"
    )


def _kernel_for(module: Module, spec: KernelSpec, shape: Any) -> Kernel:
    """The cell's kernel that stands for the spec's: the one of its name, or the only one."""
    try:
        return module[spec.entry_name(shape)]
    except UnknownKernel:
        if len(module.kernels) == 1:
            return next(iter(module.kernels.values()))
        raise


def _checks(
    options: argparse.Namespace,
    module: Module,
    spec: KernelSpec | None,
    shape: Any,
    target: Target,
    results: list[Any],
) -> None:
    """Adds the result of each check that is asked for; those before one that fails stay."""
    from workbench.check.sanitizer import sanitize_target
    from workbench.check.verify import verify
    from workbench.profile.profiler import profile_target
    from workbench.profile.timing import time_target

    if options.sanitize:
        found = sanitize_target(target)
        results.append(found)
        if found.stopped:
            return  # every further launch would meet the same fault
    if options.verify and spec is not None:
        results.append(verify(target.kernel, spec, shape=shape))
    profiled = profile_target(target) if options.profile else None
    if options.time:
        # A profile on an emulated device has counted everything that the model needs.
        results.append(profiled.timing if profiled is not None else time_target(target))
    if profiled is not None:
        results.append(profiled)


def _show(result: CellResult, cell: str) -> None:
    from workbench.check.results import VerifyResult
    from workbench.lab.cell import cell_bundle
    from workbench.profile.profiler import ProfileResult

    display(cell_bundle(result, cell), raw=True)  # type: ignore[no-untyped-call]
    for item in result.results:
        if isinstance(item, ProfileResult) or (isinstance(item, VerifyResult) and not item.passed):
            display(item.figure)  # type: ignore[no-untyped-call]


def _show_failure(name: str, cell: str, error: CompileError) -> None:
    from workbench.lab.cell import failure_bundle

    display(failure_bundle(name, cell, error), raw=True)  # type: ignore[no-untyped-call]


def _quiet(error: WorkbenchError) -> WorkbenchError:
    """The error with its message in place of a traceback: no line of it would be the user's."""
    text = f"{type(error).__name__}: {error}"
    vars(error)["_render_traceback_"] = lambda *_: text.splitlines()
    return error


def _list(what: str) -> Any:
    from workbench.views.listings import LISTINGS

    return LISTINGS[what]()


def _doctor() -> Any:
    from workbench.doctor import doctor

    return doctor()


def _cache(*arguments: str) -> Any:
    from workbench.views.table import Table

    if arguments == ("clear",):
        freed = cache.clear()
        return Table(("freed",), [(f"{freed / 2**20:,.1f} MiB",)])
    if arguments:
        raise IPythonUsageError(
            f"%hipkittens cache: unknown {' '.join(arguments)!r}; there is: cache, cache clear"
        )
    return _list("cache")


QUESTIONS: dict[str, Callable[..., Any]] = {
    "devices": partial(_list, "devices"),
    "doctor": _doctor,
    "cache": _cache,
    "kernels": partial(_list, "kernels"),
}

LINE_HELP = """Ask the workbench.

    %hipkittens devices        devices, and which one is the default
    %hipkittens doctor         compiler, headers, HIP library, devices; what is missing and its remedy
    %hipkittens cache [clear]  what the cache holds; clear empties it
    %hipkittens kernels        the kernel library

See %%hipkittens? for compiling a cell.
"""


def hipkittens_line(line: str) -> Any:
    """What `%hipkittens` does; its help text is `LINE_HELP`."""
    words = line.split()
    known = ", ".join(QUESTIONS)
    if words and words[0] in ("-h", "--help", "help"):
        print(LINE_HELP)
        return None
    if not words:
        raise IPythonUsageError(
            f"%hipkittens: say what: {known}. To compile, use %%hipkittens in a cell of its own"
        )
    question = QUESTIONS.get(words[0])
    if question is None:
        close = difflib.get_close_matches(words[0], list(QUESTIONS), n=1)
        hint = f"; did you mean {close[0]}?" if close else ""
        raise IPythonUsageError(f"%hipkittens: unknown {words[0]!r}; there is {known}{hint}")
    if words[1:] and question is not _cache:
        raise IPythonUsageError(f"%hipkittens {words[0]} takes nothing after it; got {' '.join(words[1:])!r}")
    try:
        return question(*words[1:])
    except WorkbenchError as error:
        raise _quiet(error) from None


def load_ipython_extension(shell: InteractiveShell) -> None:
    """`%load_ext workbench`: registers both magics."""

    def cell_magic(line: str, cell: str) -> Any:
        return hipkittens_cell(shell, line, cell)

    def line_magic(line: str) -> Any:
        return hipkittens_line(line)

    cell_magic.__doc__, line_magic.__doc__ = CELL_HELP, LINE_HELP
    shell.register_magic_function(cell_magic, "cell", "hipkittens")  # type: ignore[arg-type]
    shell.register_magic_function(line_magic, "line", "hipkittens")  # type: ignore[arg-type]
    extension.load(shell)


def unload_ipython_extension(shell: InteractiveShell) -> None:
    """`%unload_ext workbench`: takes the magics away."""
    for kind in ("cell", "line"):
        shell.magics_manager.magics[kind].pop("hipkittens", None)
    extension.unload(shell)
