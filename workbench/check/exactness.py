"""Finds the transcendental instructions that must be exactly rounded for a kernel to be right.

It repeats the launches with errors in fewer and fewer instructions (`workbench.approximation`).
"""

from __future__ import annotations

import bisect
from collections.abc import Callable, Iterable

from workbench.approximation import Approximation
from workbench.codeobject.decoder import decode
from workbench.codeobject.instructions import accuracy_of, roles
from workbench.kernel import Kernel
from workbench.kernel.code import DeviceCode

CATEGORY = "exactness"
"""Category of the findings."""

Site = tuple[Kernel, int]
"""A kernel, and the code object address of an instruction that it runs."""


def erring(code: DeviceCode) -> list[int]:
    """Addresses of a code object's instructions that hardware does not round exactly, ascending."""
    text = code.code_object.text
    addresses = set()
    for symbol in code.code_object.symbols.of_kind("function"):
        start = symbol.address - text.address
        if symbol.size and 0 <= start < len(text.data):
            function = text.data[start : start + symbol.size]
            lanes = code.code_object.wave_size_at(symbol.address)
            instructions = decode(function, symbol.address, code.arch, lanes)
            addresses |= {i.address for i in instructions if accuracy_of(i.opcode)}
    return sorted(addresses)


def needing_exactness(
    kernels: Iterable[Kernel], seed: int, fails: Callable[[Approximation], bool]
) -> list[Site]:
    """The instructions whose errors together make the results wrong; usually there is just one.

    Args:
        kernels: launched kernels.
        seed: seed with which the results are wrong if all instructions err.
        fails: returns True if the results are wrong with errors only in the instructions of its argument.

    Returns:
        the instructions; empty if the failure takes errors in several kernels.
    """
    for kernel in {kernel.info.name: kernel for kernel in kernels}.values():
        places = erring(kernel.module)

        def wrong(first: int, last: int, kernel: Kernel = kernel, places: list[int] = places) -> bool:
            return fails(Approximation(seed, kernel.info.name, places[first], places[last] + 1))

        if not places or not wrong(0, len(places) - 1):
            continue
        every = range(len(places))
        last = bisect.bisect_left(every, True, key=lambda at: wrong(0, at))
        if last == len(places):  # Errors later in the code hide earlier ones.
            continue
        # Backwards from the last: the fewest earlier ones that still make the results wrong.
        before = bisect.bisect_left(range(last + 1), True, key=lambda count: wrong(last - count, last))
        return [(kernel, address) for address in places[max(0, last - before) : last + 1]]
    return []


def need(site: Site, seed: int, effect: str) -> str:
    """The message of a finding.

    Args:
        effect: effect of the instruction's error on the launch's results.
    """
    instruction = site[0].module.instruction(site[1])
    accuracy = accuracy_of(instruction.opcode)
    assert accuracy is not None
    units = "2^29 units" if accuracy.ulps > 1 else f"{accuracy.ulps:g} unit"
    cure = "Correct its result with the residual (fma), or leave a margin where code depends on it."
    if roles.integer_reciprocal(instruction):
        cure = 'The compiler made it from an integer division: docs/compilers.md, "Limits", has a flag.'
    return (
        f"results depend on how {instruction.opcode} rounds: with an error below {units} in the last place, "
        f"which hardware may make (seed {seed}), {effect}. {cure}"
    )
