"""Diagnosis of a wrong result: the same kernels compiled at -O1 and run again show compiler errors."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from workbench.check.results import Diagnosis, VerifyResult
from workbench.check.sanitizer import sanitizing
from workbench.errors import KernelFault, WorkbenchError, headline
from workbench.events import hub
from workbench.kernel import Kernel, Module, recording
from workbench.kernel.compilation import compile_source
from workbench.kernel.compiler_trial import LIMITS
from workbench.kernel.kernel import launching

LEVEL = "-O1"


def diagnose(again: Callable[[], VerifyResult]) -> Diagnosis:
    """Finds out whether the compiler or the kernel makes a verification fail.

    Args:
        again: repeats the verification.
    """
    with hub.muted():
        with recording() as launches:
            again()
        kernels = list({kernel.module.digest: kernel for kernel, _ in launches}.values())
        fixed = sorted({kernel.name for kernel in kernels if kernel.module.result is None})
        if not kernels or fixed:
            names = ", ".join(fixed) or "what runs"
            return Diagnosis(
                "unknown",
                f"{names} was not compiled by wb.compile, so it cannot be compiled at {LEVEL} here; compile "
                f"it that way yourself (flags={LEVEL!r}) and verify again",
            )
        try:
            return _diagnosed(again, kernels)
        except WorkbenchError as error:
            return Diagnosis("unknown", f"the run at {LEVEL} did not end: {headline(error)}")


def _diagnosed(again: Callable[[], VerifyResult], kernels: Sequence[Kernel]) -> Diagnosis:
    level, compiler = _level(kernels), _compiler(kernels)
    if not _passes(again, (LEVEL,)):
        return Diagnosis(
            "kernel",
            f"wrong at {LEVEL} as well as at {level}: the kernel or its reference, not the optimizer. "
            "wb.provenance follows a wrong number back",
        )
    looked, undefined = _undefined(again)
    if undefined:
        return Diagnosis(
            "kernel",
            f"right at {LEVEL} and wrong at {level}, and the sanitizer finds at {level}: {undefined}. Fix "
            f"that first: undefined behaviour may give right results at {LEVEL} by luck",
        )
    ways = (flags for limit in LIMITS.values() for flags in limit.flags)
    flags = next((flags for flags in ways if _passes(again, tuple(flags.split()))), "")
    way = f"flags={flags!r} is right at {level}" if flags else f"flags={LEVEL!r} is a workaround"
    return Diagnosis(
        "compiler",
        f"the compiler: right at {LEVEL} and wrong at {level} by {compiler}, and {looked} at {level}. {way}; "
        "docs/compilers.md lists known wrong code",
        flags or LEVEL,
    )


def _passes(again: Callable[[], VerifyResult], flags: tuple[str, ...]) -> bool:
    with _compiled_with(flags):
        try:
            return again().passed
        except KernelFault:
            return False


@contextmanager
def _compiled_with(flags: tuple[str, ...]) -> Iterator[None]:
    """Launches inside the block run their kernels as compiled with further flags."""
    modules: dict[str, Module] = {}

    def other(kernel: Kernel) -> Kernel:
        module = kernel.module
        result = module.result
        if result is None:
            return kernel
        if module.digest not in modules:
            options = replace(result.options, flags=(*result.options.flags, *flags))
            modules[module.digest] = compile_source(result.source, options)
        return modules[module.digest][kernel.info.name]

    with launching(other):
        yield


def _undefined(again: Callable[[], VerifyResult]) -> tuple[str, str]:
    """A sentence on the sanitizer's run, and its first finding; "" if there is none."""
    try:
        with sanitizing() as watch:
            again()
    except KernelFault as fault:
        return "", headline(fault)
    if not watch.launches:
        return "no sanitizer looked for undefined behaviour (it needs an emulated device)", ""
    return "the sanitizer finds nothing", str(watch.findings[0]) if watch.findings else ""


def _level(kernels: Sequence[Kernel]) -> str:
    results = [kernel.module.result for kernel in kernels]
    levels = [
        next((flag for flag in reversed(result.options.flags) if flag.startswith("-O")), "-O3")
        for result in results
        if result is not None
    ]
    return " and ".join(dict.fromkeys(levels))


def _compiler(kernels: Sequence[Kernel]) -> str:
    results = [kernel.module.result for kernel in kernels]
    return " and ".join(dict.fromkeys(result.compiler.version for result in results if result is not None))
