"""Habits from warps of 32 lanes: code that compiles for a wave of 64 lanes but leaves half of it out; notes.

They are found in the text, if a name or a neighbour shows the intention: an index counts as a lane if the
source also exchanges values between lanes, and a function with a width of 32 means halves of a wave.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from workbench.toolchain import cuda_names
from workbench.toolchain.mistakes.cell_text import Cell, Span
from workbench.toolchain.mistakes.error_context import Change, Explanation

_MASK_OF_LANES = r"__(?:ballot(?:64|_sync)?|activemask|match_(?:any|all)_sync)"
_MASK = re.compile(rf"\b{_MASK_OF_LANES}\s*(?=\()")
_NARROW = r"(?:unsigned\s+int|signed\s+int|unsigned|int|(?:std::)?u?int32_t)"
_KEPT_IN = re.compile(rf"\b(?:const\s+|volatile\s+)*(?P<type>{_NARROW})\s+(?P<name>\w+)\s*[=({{]\s*$")
_ASSIGNED_TO = re.compile(r"(?:^|[;{}])\s*(?P<name>\w+)\s*[|&^]?=\s*$")
_CAST = re.compile(rf"(?:\((?P<plain>{_NARROW})\)|static_cast<(?P<named>{_NARROW})>\()\s*$")
_COUNTED = re.compile(r"\b(?P<name>__popc|__ffs|__clz|__builtin_(?:popcount|ffs|clz|ctz))\s*\(\s*$")
_OF_64 = {
    "__popc": "__popcll",
    "__ffs": "__ffsll",
    "__clz": "__clzll",
    "__builtin_popcount": "__builtin_popcountll",
    "__builtin_ffs": "__builtin_ffsll",
    "__builtin_clz": "__builtin_clzll",
    "__builtin_ctz": "__builtin_ctzll",
}
_SHUFFLE = re.compile(r"\b__shfl(?P<form>_up|_down|_xor)?(?P<sync>_sync)?\s*(?=\()")
_VOTE = re.compile(rf"\b(?:__(?:any|all|reduce_\w+?)(?:_sync)?|__syncwarp|{_MASK_OF_LANES})\s*\(")
_THREAD = r"(?:threadIdx\.x|static_cast<(?:int|unsigned)>\(threadIdx\.x\)|(?:int|unsigned)\(threadIdx\.x\))"
_OF_32 = r"\s*(?P<by>%\s*32u?|&\s*(?:31u?|0x1[fF])|/\s*32u?|>>\s*5)(?![\w.])"
_LANE_NAME = re.compile(r"(?i)\b(?:\w*lane\w*|\w*warp\w*|wid|wave\w*)\s*[=({]\s*\(?\s*$")
_LOOP = re.compile(
    r"\bfor\s*\(\s*(?:(?:const\s+)?(?:unsigned(?:\s+int)?|int|auto|short|u?int\d+_t)\s+)?(?P<name>\w+)\s*=\s*"
    r"(?:(?P<down>16)\s*;\s*(?P=name)\s*(?:>=?\s*[01]|!=\s*0)?\s*;\s*(?P=name)\s*(?:>>=\s*1|/=\s*2)"
    r"|1\s*;\s*(?P=name)\s*(?:<\s*(?P<below>32)|<=\s*(?P<up>16))\s*;\s*(?P=name)\s*(?:<<=\s*1|\*=\s*2))\s*\)"
)
_FULL_OF_32 = re.compile(r"0[xX][fF]{8}[uUlL]*")
_LANE_BIT = re.compile(r"(?<![\w.])(?P<one>1[uU]?)\s*<<\s*(?P<lane>\w*[lL]ane\w*(?:\(\))?)")
_MATRIX = re.compile(r"mfma|kittens|32x32")
"""Names that show that lanes of 32 rows belong to a matrix instruction."""


def mask_in_32_bits(cell: Cell) -> Iterator[Explanation]:
    """A mask of lanes that is stored, cast or counted in 32 bits."""
    for match in _MASK.finditer(cell.code):
        end = cell.closing(match.end())
        if end is None:
            continue
        before, after = cell.code[: match.start()], cell.code[end + 1 :].lstrip()
        name = match[0].strip()
        whole = Span(match.start(), end + 1, cell.text[match.start() : end + 1])
        counted, cast = _COUNTED.search(before), _CAST.search(before)
        if counted and after.startswith(")"):
            right = _OF_64[counted["name"]]
            span = Span(counted.start("name"), counted.end("name"), counted["name"])
            yield Explanation(
                f"{name} gives a mask of 64 lanes, {counted['name']} takes 32 bits of it: write {right}",
                span,
                (Change(span, right),),
            )
            continue
        type_, changes = "", tuple[Change, ...]()
        if cast:
            type_ = cast["plain"] or cast["named"]
        elif after[:1] in (";", ",", ")", "}"):
            declared = _KEPT_IN.search(before)
            assigned = _ASSIGNED_TO.search(before)
            if declared:
                type_ = declared["type"]
                span = Span(declared.start("type"), declared.end("type"), type_)
                changes = (Change(span, "unsigned long long"),) if after.startswith(";") else ()
            elif assigned and (former := cell.declaration(assigned["name"], assigned.start("name"))):
                type_ = former.type.text if re.fullmatch(_NARROW, former.type.text) else ""
        if type_:
            yield Explanation(
                f"{name} gives a mask of 64 lanes, {' '.join(type_.split())} keeps those of lanes 0 to 31: "
                "use unsigned long long, __popcll and __ffsll",
                whole,
                changes,
            )


def mask_of_32_lanes(cell: Cell) -> Iterator[Explanation]:
    """A full mask of 32 lanes in 64 bits, which compiles; a narrow one is rejected."""
    for match in re.finditer(r"\b__\w+_sync\s*(?=\()", cell.code):
        mask = next(iter(cell.split(match.end())), None)
        if mask and _FULL_OF_32.fullmatch(mask.text) and re.search(r"[lL]", mask.text):
            yield Explanation(
                f"`{mask.text}` names lanes 0 to 31, a wave has 64: all lanes are {cuda_names.FULL_MASK}; "
                "where other lanes call too, the mask is wrong and traps",
                mask,
                (Change(mask, cuda_names.FULL_MASK),),
            )


def lane_bit_in_32_bits(cell: Cell) -> Iterator[Explanation]:
    """A lane's bit of a mask, made by shifting an int."""
    if not _MASK.search(cell.code):
        return
    for match in _LANE_BIT.finditer(cell.code):
        span = Span(match.start("one"), match.end("one"), match["one"])
        yield Explanation(
            f"`{cell.text[match.start() : match.end()]}` has 32 bits, lanes go to 63: write 1ull",
            span,
            (Change(span, "1ull"),),
        )


def _shuffles(cell: Cell) -> Iterator[tuple[int, Span, bool]]:
    """Place, distance, and whether a width up to 32 is passed, for each shuffle."""
    for match in _SHUFFLE.finditer(cell.code):
        arguments = cell.split(match.end())[bool(match["sync"]) :]
        if len(arguments) > 1:
            narrow = len(arguments) > 2 and arguments[2].text not in ("64", "warpSize", "WARP_THREADS")
            yield match.start(), arguments[1], narrow


def lane_of_32(cell: Cell) -> Iterator[Explanation]:
    """A thread's index modulo 32 as its lane, or divided by 32 as its wave."""
    wide = [narrow for _, _, narrow in _shuffles(cell)]
    exchanges = _VOTE.search(cell.code) is not None or bool(wide)
    if not exchanges or any(wide) or _MATRIX.search(cell.code):
        return
    thread_names = re.findall(rf"\b(\w+)\s*[=({{]\s*{_THREAD}\s*[;,)}}]", cell.code)
    threads = "|".join([_THREAD, *(rf"(?<![\w.]){re.escape(name)}" for name in thread_names)])
    for match in re.finditer(rf"(?:{threads}){_OF_32}", cell.code):
        before, after = cell.code[: match.start()], cell.code[match.end() :]
        compared = re.match(r"\s*\)?\s*[=!]=\s*0\b", after) and match["by"][0] in "%&"
        if not compared and not _LANE_NAME.search(before):
            continue
        span = Span(match.start(), match.end(), cell.text[match.start() : match.end()])
        if match["by"][0] in "%&":
            message = (
                f"a wave has 64 lanes: `{span.text}` gives two lanes of a wave the same number; the lane is"
            )
            right = "% 64" if match["by"][0] == "%" else "& 63"
        else:
            message = f"a wave has 64 lanes: `{span.text}` counts halves of waves; the wave is"
            right = "/ 64" if match["by"][0] == "/" else ">> 6"
        by = Span(match.start("by"), match.end("by"), match["by"])
        text = f"{cell.text[match.start() : match.start('by')]}{right}"
        yield Explanation(f"{message} {text} (warpSize)", span, (Change(by, right),))


def reduction_over_32(cell: Cell) -> Iterator[Explanation]:
    """Shuffles over distances up to 16 without one over 32: a loop, or an unrolled one."""
    shuffles = list(_shuffles(cell))
    if any(re.search(r"\b(?:32|warpSize)\b", distance.text) for _, distance, _ in shuffles):
        return
    for match in _LOOP.finditer(cell.code):
        start = match.end()
        opening = re.compile(r"\s*\{").match(cell.code, start)
        closed = cell.closing(opening.end() - 1) if opening else cell.code.find(";", start)
        end = closed if closed is not None and closed >= 0 else len(cell.code)
        uses = [
            narrow
            for place, distance, narrow in shuffles
            if start <= place < end and re.search(rf"\b{match['name']}\b", distance.text)
        ]
        if not uses or any(uses):
            continue
        limit = next(group for group in ("down", "below", "up") if match[group])
        span = Span(match.start(limit), match.end(limit), match[limit])
        right = "64" if limit == "below" else "32"
        yield Explanation(
            f"a wave has 64 lanes: this reduces each half by itself; `{match['name']}` goes "
            f"{'from' if limit == 'down' else 'up to' if limit == 'up' else 'to below'} {right}, or pass the "
            "width 32 to the shuffle where halves are meant",
            span,
            (Change(span, right),),
        )
    yield from _written_out(shuffles)


def _written_out(shuffles: list[tuple[int, Span, bool]]) -> Iterator[Explanation]:
    steps = ["16", "8", "4", "2", "1"]
    for order in (steps, steps[::-1]):
        for first in range(len(shuffles) - len(steps) + 1):
            run = shuffles[first : first + len(steps)]
            if [distance.text for _, distance, _ in run] != order or any(narrow for _, _, narrow in run):
                continue
            yield Explanation(
                "a wave has 64 lanes: these five steps reduce each half by itself; a sixth goes over 32, or "
                "pass the width 32 where halves are meant",
                run[order.index("16")][1],
            )


__all__ = ["lane_bit_in_32_bits", "lane_of_32", "mask_in_32_bits", "mask_of_32_lanes", "reduction_over_32"]
