"""Mistakes that the compiler refuses, one record each.

What the headers check themselves is known by words of their `static_assert`, whose sentence stays in front:
a record adds what came and what would do. Where a sentence is clang's, the record says it anew.
"""

from __future__ import annotations

import re

from workbench.toolchain.mistakes.cell_text import Span
from workbench.toolchain.mistakes.said import Change, Explanation, Mistake, Said
from workbench.toolchain.mistakes.types import Tile, plain, tile

_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth")
_NAMES = (
    r"(?:rt|st|rv|sv|art)(?:_(?:bf|hf|fl|fp8e4m3|fp8e5m2|fp4e2m1_2|fp6e2m3_4|int8|int))?|gl|coord|bf16|row_l|col_l"
    r"|[rs]t_\d+x\d+\w*_s|group|shared_allocator|mma_AB|mma_ABt|mma_AtB|mma_AtBt|kittens"
)
"""Names by which a source without the library's header is known."""
_WANTED = {
    "rt_layout": "the layout (row_l or col_l)",
    "rt_shape": "the base shape of a register tile (rt_16x16_s, rt_32x32_s, ...)",
    "st_shape": "the base shape of a shared tile (st_16x16_s, st_32x32_s, ...)",
    "art": "the list of ranges of registers (ducks::art::type_list<...>)",
}
_ALLOWED_LINE = 230
"""Characters of a sentence, past which operands are left to the source."""


_HIP_NAMES = (
    r"threadIdx|blockIdx|blockDim|gridDim|dim3|warpSize|printf|atomic\w+|__sync\w+|__shfl\w*|hip[A-Z]\w+"
)
_HIP_NAMES += r"|__hipPushCallConfiguration|make_\w+[1-4]"
_HIP_TYPES = r"dim3|(?:u?char|u?short|u?int|u?long|float|double)[1-4]|hip[A-Z]\w+"
"""What sources say that forget HIP's header."""


def _line(text: str) -> str:
    return text if len(text) <= _ALLOWED_LINE else text[: _ALLOWED_LINE - 1] + "…"


# The header that is missing ------------------------------------------------------------------------------


def _no_include(said: Said) -> Explanation | None:
    code = said.cell.text
    if re.search(r"^\s*#\s*include\b.*kittens\.cuh", code, re.MULTILINE):
        return None
    if "expected namespace name" in said.message:
        found = re.compile(r"\w+").match(said.cell.code, said.at or 0)
        if not found or found[0] != "kittens":
            return None
    elif re.match(r"\w+ is not|.*did you mean", said.message):
        return None
    start = Span(0, 0, "")
    return Explanation(
        'the tile library is not included: `#include "kittens.cuh"` is missing',
        None,
        (Change(start, '#include "kittens.cuh"\n'),),
    )


def _no_runtime(said: Said) -> Explanation | None:
    if re.search(r"^\s*#\s*include\b.*(?:hip_runtime\.h|kittens\.cuh)", said.cell.text, re.MULTILINE):
        return None
    line = "#include <hip/hip_runtime.h>"
    return Explanation(
        f"HIP's names are known where `{line}` stands, which is missing; hipcc refuses this too",
        None,
        (Change(Span(0, 0, ""), f"{line}\n"),),
    )


def _no_namespace(said: Said) -> Explanation | None:
    if re.search(r"\busing\s+namespace\s+kittens\s*;", said.cell.code):
        return None
    includes = list(re.finditer(r"^[ \t]*#\s*include[^\n]*\n?", said.cell.text, re.MULTILINE))
    at = includes[-1].end() if includes else 0
    name = re.search(r"mean '(?:kittens::)(\w+)", said.message)
    which = f"`{name[1]}` is" if name else "names of the tile library are"
    return Explanation(
        f"{which} in the namespace kittens: `using namespace kittens;` is missing",
        None,
        (Change(Span(at, at, ""), "using namespace kittens;\n"),),
    )


def _art_namespace(said: Said) -> Explanation | None:
    at = said.at
    if at is None:
        return None
    row, _ = said.cell.place(at)
    start = said.cell.offset(row, 1) or 0
    end = start + len(said.cell.line(row))
    wrong = [
        Span(found.start(), found.end(), found[0])
        for found in re.finditer(r"(?<![\w:])art::(?=\w)", said.cell.code[start:end])
    ]
    spans = [Span(start + each.start, start + each.end, each.text) for each in wrong]
    if not spans:
        return None
    return Explanation(
        "ranges of registers are in the namespace ducks::art: `art` alone is the tile",
        spans[0],
        tuple(Change(span, "ducks::art::") for span in spans),
    )


# Arguments of templates ----------------------------------------------------------------------------------


def _template_argument(said: Said) -> Explanation | None:
    head = re.search(
        r"(?:alias|class|function)? ?template '(?P<name>[\w:]+)' \[with (?P<list>.*)\]", said.message
    )
    if not head:
        return None
    name = head["name"].rpartition("::")[2]
    values = re.findall(r"(\w+) = (.*?)(?=, \w+ = |$)", head["list"])
    for note in said.error.notes:
        because = re.match(
            r"because '(?P<type>[^']*)'(?: \(aka '(?P<aka>[^']*)'\))? does not satisfy", note.message
        )
        wanted = re.search(r"(?:ducks::)?(\w+)::\w+ (_?\w+)", _from_column(note.text, note.column))
        if because and wanted and wanted[1] in _WANTED:
            break
    else:
        return None
    position = next((n for n, (key, _) in enumerate(values) if key == wanted[2]), None)
    if position is None or position >= len(_ORDINALS):
        return None
    came = because["aka"] or because["type"]
    spans = _template_arguments(said, name)
    written = spans[position] if position < len(spans) else None
    shown = written.text if written else plain(because["type"])
    what = _kind_of(came)
    changes: tuple[Change, ...] = ()
    if written and wanted[1] == "rt_layout" and what == "a shape of register tiles":
        changes = (Change(Span(written.start, written.start, ""), "row_l, "),)
    elif written and wanted[1] == "st_shape" and re.fullmatch(r"rt_\d+x\d+_s", written.text):
        changes = (Change(written, f"st{written.text[2:]}"),)
    elif written and wanted[1] == "rt_shape" and re.fullmatch(r"st_\d+x\d+_s", written.text):
        changes = (Change(written, f"rt{written.text[2:]}"),)
    said_what = what.replace("a shape of register tiles", "a shape") if wanted[1] == "rt_layout" else what
    message = (
        f"the {_ORDINALS[position]} argument of {name} is {_WANTED[wanted[1]]}; `{shown}` is {said_what}"
    )
    return Explanation(message, written, changes)


def _from_column(text: str, column: int) -> str:
    """The line that clang prints under a note, from the column on."""
    for line in text.split("\n")[1:]:
        shown = re.match(r" *\d+ \| (.*)", line)
        if shown:
            return shown[1][column - 1 :]
    return ""


def _kind_of(text: str) -> str:
    name = plain(text)
    if re.match(r"rt_shape<|rt_\d+x\d+", name):
        return "a shape of register tiles"
    if re.match(r"st_\d+x\d+", name):
        return "a shape of shared tiles"
    if "rt_layout::" in text or name in ("row", "col", "row_l", "col_l"):
        return "a layout"
    return f"the type {name}"


def _template_arguments(said: Said, name: str) -> tuple[Span, ...]:
    at = said.at
    if at is None:
        return ()
    opening = re.compile(rf"(?:\w+::)*{name}\s*<").search(said.cell.code, at)
    return said.cell.split(opening.end() - 1) if opening and opening.start() - at < 80 else ()


def _multiple(said: Said) -> Explanation | None:
    found = next((each for text in said.instances if (each := tile(text))), None)
    if not found or not found.base or found.kind not in ("rt", "st"):
        return with_operands(said)
    rows = "number of rows" in said.message
    came, base = (found.rows, found.base[0]) if rows else (found.cols, found.base[1])
    above = max(base, -(-came // base) * base)
    below = came // base * base
    would = f"{below} and {above} are" if below > 0 else f"{above} is"
    at = said.literal(rf"{found.kind}_\w+", 0 if rows else 1, came) or said.literal(
        found.kind, 1 if rows else 2, came
    )
    return Explanation(
        _line(f"{said.message}: {came} is not a multiple of {base}; {would}"),
        at,
        (Change(at, str(above)),) if at else (),
    )


# Operands of functions -----------------------------------------------------------------------------------


def with_operands(said: Said) -> Explanation:
    """The sentence of the header with what the operands are."""
    operands = said.call.arguments if said.call else ()
    told = []
    for span in operands:
        declared = said.cell.declaration(span.text, span.start)
        if declared and declared.type.text in ("auto", "auto&"):
            declared = None
        if declared and f"`{span.text}` is {declared.type.text}" not in told:
            told.append(f"`{span.text}` is {declared.type.text}")
    if not told and said.tiles:
        told = list(dict.fromkeys(map(str, said.tiles)))
    message = f"{said.message}: {', '.join(told)}" if told else said.message
    return Explanation(
        message if len(message) <= _ALLOWED_LINE else said.message, said.call.span if said.call else None
    )


def _declared_as(said: Said, operand: Span | None, text: str) -> tuple[Change, ...]:
    """A change of the type that an operand is declared with, where that declares nothing else."""
    declared = said.cell.declaration(operand.text, operand.start) if operand else None
    if not declared or not declared.alone or "<" not in declared.type.text:
        return ()
    return (Change(declared.type, text),)


def _mma_layout(said: Said) -> Explanation:
    index = 1 if said.message.startswith("mma: a ") else 2
    operand = said.operand(index)
    found = said.tiles[index] if index < len(said.tiles) else None
    if operand is None or found is None:
        return with_operands(said)
    other = "row_l" if found.layout == "col_l" else "col_l"
    usual = found.shape in ("", "rt_16x16_s")
    wanted = Tile(found.kind, found.element, found.rows, found.cols, other, found.shape)
    changes = _declared_as(said, operand, str(wanted)) if found.kind == "rt" and usual else ()
    message = f"{said.message}: `{operand.text}` is in {found.layout}; expected {other}"
    return Explanation(_line(message), operand, changes)


def _mma_accumulator(said: Said) -> Explanation:
    operand, found = said.operand(0), said.tiles[0] if said.tiles else None
    if operand is None or found is None:
        return with_operands(said)
    wanted = Tile(found.kind, "float", found.rows, found.cols, found.layout, found.shape)
    changes = _declared_as(said, operand, str(wanted)) if found.kind == "rt" else ()
    return Explanation(f"{said.message}: `{operand.text}` is {found}", operand, changes)


def _own_vector(said: Said) -> Explanation:
    """A map or a reduction with a vector that is not the tile's own."""
    call, matrix = said.call, next((each for each in said.tiles if each.kind == "rt"), None)
    if call is None or matrix is None:
        return with_operands(said)
    vectors = [
        (span, declared)
        for span in call.arguments
        if (declared := said.cell.declaration(span.text, span.start))
        and re.search(r"rv|_vec\b|register_vector", declared.type.text)
    ]
    if not vectors:
        return with_operands(said)
    span, declared = vectors[-1]
    reduces = "reduction" in said.message
    named = re.search(r"(row|col)", call.name)
    kind = "col_vec" if named and named[1] == "row" else "row_vec"
    tile_name = next(
        (
            each.type.text
            for other in call.arguments
            if (each := said.cell.declaration(other.text, other.start))
            and re.fullmatch(r"(?:kittens::)?rt(?:_\w+)?<[^:]*>", each.type.text)
        ),
        str(matrix),
    )
    right = f"{tile_name}::{kind}"
    changes = (Change(declared.type, right),) if declared.alone else ()
    verb = "gives" if reduces else "takes"
    message = f"{said.message}: {call.name} {verb} {right}, `{span.text}` is {declared.type.text}"
    return Explanation(message if len(message) <= _ALLOWED_LINE else said.message, span, changes)


def _other_operand(said: Said) -> Explanation:
    plain_message = with_operands(said)
    tiles = said.tiles
    alike = len(tiles) >= 2 and (tiles[0].rows, tiles[0].cols) == (tiles[1].rows, tiles[1].cols)
    if alike and tiles[0].element != tiles[1].element and len(plain_message.message) < _ALLOWED_LINE - 40:
        return Explanation(f"{plain_message.message}; copy(to, from) converts", plain_message.at)
    return plain_message


def _copy(said: Said) -> Explanation:
    told = with_operands(said)
    if len(said.tiles) < 2 or not said.call:
        return told
    into, source = said.tiles[:2]
    same = (into.rows, into.cols, into.element, into.shape) == (
        source.rows,
        source.cols,
        source.element,
        source.shape,
    )
    if same and into.layout != source.layout:
        name = Span(said.call.span.start, said.call.span.start + len("copy"), "copy")
        return Explanation(
            "copy keeps the layout, swap_layout changes it", said.call.span, (Change(name, "swap_layout"),)
        )
    if into.layout != source.layout and into.layout and "swap_layout" not in said.message:
        return Explanation(f"{said.message}; swap_layout changes the layout", told.at)
    return told


def _part_of_shared(said: Said) -> Explanation:
    told = with_operands(said)
    register = next((each for each in said.tiles if each.kind in ("rt", "art")), None)
    shared = next((each for each in said.tiles if each.kind == "st"), None)
    if register and shared and shared.rows % register.rows == 0 and shared.cols % register.cols == 0:
        span = next(
            (
                each
                for each in (said.call.arguments if said.call else ())
                if (declared := said.cell.declaration(each.text, each.start))
                and re.match(r"(?:kittens::)?st", declared.type.text)
            ),
            None,
        )
        part = f"subtile_inplace<{register.rows}, {register.cols}>({span.text if span else 'tile'}, {{i, j}})"
        return Explanation(_line(f"{said.message}: {part} is as large as {register}"), span)
    return told


# Calls that fit no function ------------------------------------------------------------------------------


def _wrong_call(said: Said) -> Explanation | None:
    call = said.call
    if call is None:
        return None
    kinds = [_declared_kind(said, span) for span in call.arguments]
    if call.name in ("load", "store"):
        return _moved(said, kinds)
    if call.name in _IN_PLACE and len(call.arguments) == 1 and kinds[0] in ("rt", "st", "rv", "sv"):
        return _gives_nothing(said)
    return None


_IN_PLACE = frozenset(("exp", "exp2", "log", "log2", "sqrt", "rsqrt", "rcp", "neg", "abs", "relu", "tanh"))


def _declared_kind(said: Said, span: Span) -> str:
    """ "rt", "gl" and so on by the declaration of an argument, "" where that does not tell."""
    declared = said.cell.declaration(span.text, span.start)
    found = (
        re.match(r"(?:kittens::)?(rt|st|rv|sv|art|gl)(?:_\w+)?<", declared.type.text) if declared else None
    )
    return found[1] if found else ""


def _moved(said: Said, kinds: list[str]) -> Explanation | None:
    call = said.call
    if call is None or len(kinds) < 2:
        return None
    first, second = call.arguments[:2]
    tiles = ("rt", "rv", "st", "sv", "art")
    reversed_to_global = call.name == "store" and kinds[0] in tiles and kinds[1] in ("gl", "")
    reversed_from_global = call.name == "load" and kinds[0] == "gl" and kinds[1] in tiles
    if reversed_to_global or reversed_from_global:
        order = "store(to, from, at): the tensor" if call.name == "store" else "load(to, from, at): the tile"
        return Explanation(
            f"the destination comes first, {order} stands before "
            f"{'the tile' if call.name == 'store' else 'the tensor'}",
            call.span,
            (Change(first, second.text), Change(second, first.text)),
        )
    at = call.arguments[2] if len(call.arguments) > 2 else None
    if at is None:
        return None
    if at.text.startswith("{"):
        indices = said.cell.split(at.start)
        if len(indices) > 4:
            return Explanation(
                "a coordinate has at most four indices, {batch, depth, row, column}; "
                f"{len(indices)} are given",
                at,
            )
    counted = re.match(r"coord<\s*(?:kittens::)?(rt|st|rv|sv|art)", at.text)
    moved = kinds[0] if call.name == "load" else kinds[1]
    if counted and moved:
        vectors, is_vector = counted[1] in ("rv", "sv"), moved in ("rv", "sv")
        if vectors != is_vector:
            counts, moves = ("vectors", "tile") if vectors else ("tiles", "vector")
            name = call.arguments[0 if call.name == "load" else 1].text
            return Explanation(
                f"the coordinate counts in {counts} (coord<{counted[1]}...>), `{name}` is a {moves}: "
                f"give {{batch, depth, row, column}}, which counts in what is moved",
                at,
            )
    return None


def _gives_nothing(said: Said) -> Explanation | None:
    call = said.call
    if call is None:
        return None
    operand = call.arguments[0]
    before = re.search(r"(\w+)\s*=\s*$", said.cell.code[: call.span.start])
    target = before[1] if before else operand.text
    start = before.start() if before else call.span.start
    declared_here = before and re.search(r"[\w>&*]\s*$", said.cell.code[: before.start()])
    whole = Span(start, call.span.end, said.cell.text[start : call.span.end])
    right = f"{call.name}({target}, {operand.text})"
    return Explanation(
        f"functions of tiles write to their first argument and give nothing: {right}",
        whole,
        () if declared_here else (Change(whole, right),),
    )


_OPERATORS = {"+": "add", "-": "sub", "*": "mul", "/": "div"}


def _tile_operator(said: Said) -> Explanation | None:
    types = re.search(r"\('([^']*)'.*? and '([^']*)'", said.message)
    if not types or not any(
        re.match(r"(?:kittens::)?(?:rt|st|rv|sv|art)(?:_\w+)?<", each) for each in types.groups()
    ):
        return None
    if said.at is None:
        return None
    operator = said.cell.code[said.at]
    function = _OPERATORS.get(operator)
    if function is None:
        return None
    around = re.compile(r"(?:(\w+)\s*=\s*)?(\w+)\s*$").search(said.cell.code[: said.at])
    right = re.compile(r".\s*([\w.]+)").match(said.cell.code, said.at)
    if not around or not right:
        return Explanation(
            f"tiles have no operators: {function}(to, a, b) writes a {operator} b to its first argument"
        )
    into = around[1] or around[2]
    whole = Span(around.start(), right.end(), said.cell.text[around.start() : right.end()])
    text = f"{function}({into}, {around[2]}, {right[1]})"
    mended = around[1] and re.match(r"\s*;", said.cell.code[right.end() :])
    return Explanation(f"tiles have no operators: {text}", whole, (Change(whole, text),) if mended else ())


# Elements -------------------------------------------------------------------------------------------------


def _float_literal(said: Said) -> Explanation | None:
    types = re.search(r"operand types '(\w+)'.*? and '(\w+)'", said.message)
    if not types or said.at is None:
        return None
    narrow = next(
        (each for each in types.groups() if each in ("bf16", "half", "__hip_bfloat16", "__half")), ""
    )
    wide = next((each for each in types.groups() if each in ("float", "double", "int")), "")
    if not narrow or not wide:
        return None
    operator = re.search(r"operator '([^']+)'", said.message)
    symbol = operator[1] if operator else "?"
    number = r"(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?[fF]?"
    code = said.cell.code
    after = re.compile(rf"\s*(-?{number})(?![\w.])").match(code, said.at + len(symbol))
    before = re.search(rf"(?<![\w.])({number})\s*$", code[: said.at])
    found = after or before
    span = Span(found.start(1), found.end(1), found[1]) if found else None
    shown = f"`{span.text}`" if span else f"the {wide}"
    mended = f"{narrow}({span.text})" if span else f"{narrow}(...)"
    return Explanation(
        f"`{symbol}` takes two operands of one type: {shown} is {_a(wide)}, the other {_a(narrow)}; "
        f"write {mended}, or convert to float first",
        span,
        (Change(span, mended),) if span else (),
    )


def _a(name: str) -> str:
    return f"an {name}" if name[0] in "aeiou" else f"a {name}"


def _two_indices(said: Said) -> Explanation | None:
    if said.at is None:
        return None
    # Clang's place is the second pair of brackets, or the beginning of the expression.
    row, _ = said.cell.place(said.at)
    start = said.cell.offset(row, 1) or 0
    for found in re.finditer(r"(\w+)(\[)", said.cell.code[start : start + len(said.cell.line(row))]):
        first = start + found.start(2)
        end = said.cell.closing(first)
        if end is None or said.cell.code[end + 1 : end + 2] != "[":
            continue
        last = said.cell.closing(end + 1)
        declared = said.cell.declaration(found[1], start + found.start())
        if last is None or not declared or not re.match(r"(?:kittens::)?st(?:_\w+)?<", declared.type.text):
            continue
        text = f"[{{{said.cell.text[first + 1 : end]}, {said.cell.text[end + 2 : last]}}}]"
        whole = Span(first, last + 1, said.cell.text[first : last + 1])
        return Explanation(
            f"a shared tile is swizzled, its rows are no arrays: element {{row, column}} is {found[1]}{text}",
            Span(start + found.start(), last + 1, ""),
            (Change(whole, text),),
        )
    return None


# Memory and registers ------------------------------------------------------------------------------------


def _shared_memory(said: Said) -> Explanation | None:
    found = re.search(r"local memory \((\d+)\) exceeds limit \((\d+)\) in '?(.*?)(?:\(|'|$)", said.message)
    if not found:
        return None
    asked, limit = int(found[1]), int(found[2])
    kernel = found[3].rpartition(" ")[2]
    return Explanation(
        f"{kernel} asks for {asked:,} bytes of shared memory ({asked / 1024:.0f} KiB), a work-group of this "
        f"target has {limit:,} ({limit // 1024} KiB): smaller tiles, fewer stages, or one tile in the place "
        "of another"
    )


def _narrowed(said: Said) -> Explanation | None:
    came = re.search(r"narrowed from type '([^']*)'(?: \(aka '([^']*)'\))? to 'int'", said.message)
    if not came or said.at is None:
        return None
    call_before = re.compile(r"(?:load|store|load_async|prefetch)\s*(?:<[^<>()]*>)?\s*(\()")
    calls = [found for found in call_before.finditer(said.cell.code) if found.start() < said.at]
    for span in said.cell.split(calls[-1].start(1)) if calls else ():
        if span.text.startswith("{") and span.start < said.at < span.end:
            index = next(each for each in said.cell.split(span.start) if each.start <= said.at < each.end)
            return Explanation(
                f"indices of a coordinate are int: `{index.text}` is {_a(came[2] or came[1])}; "
                f"int({index.text}) is one",
                index,
                (Change(index, f"int({index.text})"),),
            )
    return None


def _allocator(said: Said) -> Explanation | None:
    for note in said.error.notes:
        if "remove &" in note.message:
            break
    else:
        return None
    if said.at is None:
        return None
    found = re.compile(r"\w+\s*[({]\s*(&)\s*(\w+)").search(said.cell.code, said.at)
    if not found:
        return None
    span = Span(found.start(1), found.end(1), "&")
    return Explanation(
        f"shared_allocator takes the first word of shared memory: `{found[2]}` is an array, `&` is one "
        "too many",
        span,
        (Change(span, ""),),
    )


# Templates without an end ---------------------------------------------------------------------------------


def _recursion(said: Said) -> Explanation | None:
    depth = re.search(r"maximum depth of (\d+)", said.message)
    last = said.instances[-1] if said.instances else ""
    found = re.match(r"(?:\w+::)*(\w+)(<.*?>)?", last)
    if not depth or not found:
        return None
    name = found[1]
    steps = list(
        dict.fromkeys(
            f"{name}{plain(m[1])}" for text in said.instances if (m := re.search(rf"\b{name}(<[^>]*>)", text))
        )
    )
    begin = " asks for ".join(reversed(steps[-3:]))
    where = f": {begin}, and so on" if len(steps) > 1 else ""
    return Explanation(
        _line(
            f"the template {name} instantiates itself without an end, {int(depth[1]):,} deep{where}; give it "
            "a specialization for the last step, or ask `if constexpr`"
        )
    )


SPOKEN = (
    Mistake(
        "The header is missing",
        re.compile(
            rf"expected namespace name|use of undeclared identifier '(?:{_NAMES})'"
            rf"|no template named '(?:{_NAMES})'|unknown type name '(?:{_NAMES})'"
        ),
        _no_include,
        "rest",
    ),
    Mistake(
        "HIP's header is missing",
        re.compile(rf"use of undeclared identifier '(?:{_HIP_NAMES})'|unknown type name '(?:{_HIP_TYPES})'"),
        _no_runtime,
        "rest",
    ),
    Mistake(
        "The namespace is missing",
        re.compile(r"did you mean '(?:kittens::)\w+"),
        _no_namespace,
        "kind",
    ),
    Mistake(
        "Ranges of registers without their namespace",
        re.compile(r"use of class template 'art' requires template arguments|'art' is not a class"),
        _art_namespace,
        "line",
    ),
    Mistake(
        "A template argument in the wrong place",
        re.compile(r"constraints not satisfied for"),
        _template_argument,
        "line",
    ),
    Mistake(
        "A size that is not a multiple of the base shape",
        re.compile(r"the number of (?:rows|columns) is a multiple of the base shape's"),
        _multiple,
    ),
    Mistake(
        "An operand of mma in the wrong layout", re.compile(r"mma: [ab] is in the row layout in"), _mma_layout
    ),
    Mistake(
        "An accumulator that is not of float",
        re.compile(r"mma: the accumulators are of float"),
        _mma_accumulator,
    ),
    Mistake(
        "Operands of mma of different sizes",
        re.compile(r"mma: a and b have the same size along K|mma: the accumulator is M x N"),
        with_operands,
    ),
    Mistake(
        "Operands of mma of different types",
        re.compile(r"mma: a and b have the same element type"),
        with_operands,
    ),
    Mistake(
        "A map with a vector that is not the tile's own",
        re.compile(r"a row map takes the tile's own"),
        _own_vector,
    ),
    Mistake(
        "A reduction into a vector that is not the tile's own",
        re.compile(r"a row reduction gives the tile's own"),
        _own_vector,
    ),
    Mistake(
        "Operands of a map of different types",
        re.compile(r"the right-hand side is a (?:tile|vector) of the same type"),
        _other_operand,
    ),
    Mistake(
        "A copy between layouts",
        re.compile(r"copy: the tiles have the same size, layout and base shape"),
        _copy,
    ),
    Mistake(
        "A register tile and a shared tile of different sizes",
        re.compile(r"the register tile and the shared tile have the same size"),
        _part_of_shared,
    ),
    Mistake(
        "Ranges of registers that overlap",
        re.compile(r"mma: the accumulators' registers are apart"),
        with_operands,
    ),
    Mistake(
        "An element type that tiles do not have",
        re.compile(r"no such element type"),
        lambda said: Explanation(said.message),
    ),
    Mistake(
        "A call with arguments in the wrong order",
        re.compile(r"no matching function for call to"),
        _wrong_call,
    ),
    Mistake(
        "An index of a coordinate that is not an int",
        re.compile(r"cannot be narrowed from type '.*' to 'int' in initializer list"),
        _narrowed,
    ),
    Mistake(
        "An operator between tiles", re.compile(r"invalid operands to binary expression"), _tile_operator
    ),
    Mistake(
        "A float beside a bf16", re.compile(r"use of overloaded operator '.+' is ambiguous"), _float_literal
    ),
    Mistake(
        "Two indices for a shared tile",
        re.compile(r"does not provide a subscript operator|subscripted value is not"),
        _two_indices,
    ),
    Mistake("Too much shared memory", re.compile(r"local memory \(\d+\) exceeds limit"), _shared_memory),
    Mistake(
        "The address of an array for shared_allocator",
        re.compile(
            r"no viable constructor or deduction guide .*'shared_allocator'"
            r"|no matching constructor .*shared_allocator"
        ),
        _allocator,
    ),
    Mistake(
        "A template without an end",
        re.compile(r"recursive template instantiation exceeded maximum depth"),
        _recursion,
        "line",
    ),
)
"""In the order in which they are asked for; the first that explains an error does so."""
