"""Mistakes that the compiler rejects, one record each.

Checks in our own headers are identified by words of their `static_assert`, whose sentence comes first: a
record adds the actual argument and the remedy. If the sentence is clang's, the record rewrites it.
"""

from __future__ import annotations

import re

from workbench.toolchain.mistakes.cell_text import Span
from workbench.toolchain.mistakes.error_context import Change, ErrorContext, Explanation, Mistake
from workbench.toolchain.mistakes.overloads import no_function
from workbench.toolchain.mistakes.types import Tile, plain, shapes, tile

_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth")
_NAMES = (
    r"(?:rt|st|rv|sv|art)(?:_(?:bf|hf|fl|fp8e4m3|fp8e5m2|fp4e2m1_2|fp6e2m3_4|int8|int))?|gl|coord|bf16|row_l|col_l"
    r"|[rs]t_\d+x\d+\w*_s|group|shared_allocator|mma_AB|mma_ABt|mma_AtB|mma_AtBt|kittens"
)
"""Names that show that a source lacks the library's header."""
_WANTED = {
    "rt_layout": "the layout (row_l or col_l)",
    "rt_shape": "the base shape of a register tile (rt_16x16_s, rt_32x32_s, ...)",
    "st_shape": "the base shape of a shared tile (st_16x16_s, st_32x32_s, ...)",
    "art": "the list of ranges of registers (ducks::art::type_list<...>)",
}
_LAYOUTS = "docs/matrix_operands.md#layouts"
_BASE_SHAPES = "docs/matrix_operands.md#base-shapes"
_ALLOWED_LINE = 230
"""Maximum characters of a sentence; beyond that, operands are left out."""


_HIP_NAMES = (
    r"threadIdx|blockIdx|blockDim|gridDim|dim3|warpSize|printf|atomic\w+|__sync\w+|__shfl\w*|hip[A-Z]\w+"
)
_HIP_NAMES += r"|__hipPushCallConfiguration|make_\w+[1-4]"
_HIP_TYPES = r"dim3|(?:u?char|u?short|u?int|u?long|float|double)[1-4]|hip[A-Z]\w+"
"""Pattern of the types that HIP's header declares, to recognise sources that do not include it."""


def _line(text: str) -> str:
    return text if len(text) <= _ALLOWED_LINE else text[: _ALLOWED_LINE - 1] + "…"


# The header that is missing ------------------------------------------------------------------------------


def _no_include(context: ErrorContext) -> Explanation | None:
    code = context.cell.text
    if re.search(r"^\s*#\s*include\b.*kittens\.cuh", code, re.MULTILINE):
        return None
    if "expected namespace name" in context.message:
        match = re.compile(r"\w+").match(context.cell.code, context.at or 0)
        if not match or match[0] != "kittens":
            return None
    elif re.match(r"\w+ is not|.*did you mean", context.message):
        return None
    start = Span(0, 0, "")
    return Explanation(
        'the tile library is not included: `#include "kittens.cuh"` is missing',
        None,
        (Change(start, '#include "kittens.cuh"\n'),),
    )


def _no_runtime(context: ErrorContext) -> Explanation | None:
    if re.search(r"^\s*#\s*include\b.*(?:hip_runtime\.h|kittens\.cuh)", context.cell.text, re.MULTILINE):
        return None
    line = "#include <hip/hip_runtime.h>"
    return Explanation(
        f"HIP's names are known where `{line}` stands, which is missing; hipcc refuses this too",
        None,
        (Change(Span(0, 0, ""), f"{line}\n"),),
    )


def _no_namespace(context: ErrorContext) -> Explanation | None:
    if re.search(r"\busing\s+namespace\s+kittens\s*;", context.cell.code):
        return None
    includes = list(re.finditer(r"^[ \t]*#\s*include[^\n]*\n?", context.cell.text, re.MULTILINE))
    at = includes[-1].end() if includes else 0
    name = re.search(r"mean '(?:kittens::)(\w+)", context.message)
    which = f"`{name[1]}` is" if name else "names of the tile library are"
    return Explanation(
        f"{which} in the namespace kittens: `using namespace kittens;` is missing",
        None,
        (Change(Span(at, at, ""), "using namespace kittens;\n"),),
    )


def _art_namespace(context: ErrorContext) -> Explanation | None:
    at = context.at
    if at is None:
        return None
    row, _ = context.cell.line_and_column(at)
    start = context.cell.offset(row, 1) or 0
    end = start + len(context.cell.line(row))
    wrong = [
        Span(match.start(), match.end(), match[0])
        for match in re.finditer(r"(?<![\w:])art::(?=\w)", context.cell.code[start:end])
    ]
    spans = [Span(start + span.start, start + span.end, span.text) for span in wrong]
    if not spans:
        return None
    return Explanation(
        "ranges of registers are in the namespace ducks::art: `art` alone is the tile",
        spans[0],
        tuple(Change(span, "ducks::art::") for span in spans),
    )


# Arguments of templates ----------------------------------------------------------------------------------


def _template_argument(context: ErrorContext) -> Explanation | None:
    head = re.search(
        r"(?:alias|class|function)? ?template '(?P<name>[\w:]+)' \[with (?P<list>.*)\]", context.message
    )
    if not head:
        return None
    name = head["name"].rpartition("::")[2]
    values = re.findall(r"(\w+) = (.*?)(?=, \w+ = |$)", head["list"])
    for note in context.error.notes:
        because = re.match(
            r"because '(?P<type>[^']*)'(?: \(aka '(?P<aka>[^']*)'\))? does not satisfy", note.message
        )
        concept = re.search(r"(?:ducks::)?(\w+)::\w+ (_?\w+)", _from_column(note.text, note.column))
        if because and concept and concept[1] in _WANTED:
            break
    else:
        return None
    position = next((n for n, (key, _) in enumerate(values) if key == concept[2]), None)
    if position is None or position >= len(_ORDINALS):
        return None
    came = because["aka"] or because["type"]
    spans = _template_arguments(context, name)
    written = spans[position] if position < len(spans) else None
    text = written.text if written else plain(because["type"])
    kind = _kind_of(came)
    changes: tuple[Change, ...] = ()
    if written and concept[1] == "rt_layout" and kind == "a shape of register tiles":
        changes = (Change(Span(written.start, written.start, ""), "row_l, "),)
    elif written and concept[1] == "st_shape" and re.fullmatch(r"rt_\d+x\d+_s", written.text):
        changes = (Change(written, f"st{written.text[2:]}"),)
    elif written and concept[1] == "rt_shape" and re.fullmatch(r"st_\d+x\d+_s", written.text):
        changes = (Change(written, f"rt{written.text[2:]}"),)
    kind_text = kind.replace("a shape of register tiles", "a shape") if concept[1] == "rt_layout" else kind
    message = (
        f"the {_ORDINALS[position]} argument of {name} is {_WANTED[concept[1]]}; `{text}` is {kind_text}"
    )
    return Explanation(message, written, changes)


def _from_column(text: str, column: int) -> str:
    """The line that clang prints under a note, from the column on."""
    for line in text.split("\n")[1:]:
        match = re.match(r" *\d+ \| (.*)", line)
        if match:
            return match[1][column - 1 :]
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


def _template_arguments(context: ErrorContext, name: str) -> tuple[Span, ...]:
    at = context.at
    if at is None:
        return ()
    opening = re.compile(rf"(?:\w+::)*{name}\s*<").search(context.cell.code, at)
    return context.cell.split(opening.end() - 1) if opening and opening.start() - at < 80 else ()


def _multiple(context: ErrorContext) -> Explanation | None:
    instance = next((parsed for text in context.instances if (parsed := tile(text))), None)
    if not instance or not instance.base or instance.kind not in ("rt", "st"):
        return with_operands(context)
    rows = "number of rows" in context.message
    came, base = (instance.rows, instance.base[0]) if rows else (instance.cols, instance.base[1])
    above = max(base, -(-came // base) * base)
    below = came // base * base
    would = f"{below} and {above} are" if below > 0 else f"{above} is"
    at = context.literal(rf"{instance.kind}_\w+", 0 if rows else 1, came) or context.literal(
        instance.kind, 1 if rows else 2, came
    )
    return Explanation(
        _line(f"{context.message}: {came} is not a multiple of {base}; {would}"),
        at,
        (Change(at, str(above)),) if at else (),
    )


# Operands of functions -----------------------------------------------------------------------------------


def with_operands(context: ErrorContext) -> Explanation:
    """The header's message, with the operands' types."""
    operands = context.call.arguments if context.call else ()
    descriptions = []
    for span in operands:
        declared = context.cell.declaration(span.text, span.start)
        if declared and declared.type.text in ("auto", "auto&"):
            declared = None
        if declared and f"`{span.text}` is {declared.type.text}" not in descriptions:
            descriptions.append(f"`{span.text}` is {declared.type.text}")
    if not descriptions and context.tiles:
        descriptions = list(dict.fromkeys(map(str, context.tiles)))
    message = f"{context.message}: {', '.join(descriptions)}" if descriptions else context.message
    return Explanation(
        message if len(message) <= _ALLOWED_LINE else context.message,
        context.call.span if context.call else None,
    )


def _declared_as(context: ErrorContext, operand: Span | None, text: str) -> tuple[Change, ...]:
    """A change of the type in an operand's declaration, if that declares nothing else."""
    declared = context.cell.declaration(operand.text, operand.start) if operand else None
    if not declared or not declared.alone or "<" not in declared.type.text:
        return ()
    return (Change(declared.type, text),)


def _mma_layout(context: ErrorContext) -> Explanation:
    index = 1 if context.message.startswith("mma: a ") else 2
    operand = context.operand(index)
    matrix = context.tiles[index] if index < len(context.tiles) else None
    if operand is None or matrix is None:
        return with_operands(context)
    other = "row_l" if matrix.layout == "col_l" else "col_l"
    usual = matrix.shape in ("", "rt_16x16_s")
    replacement = Tile(matrix.kind, matrix.element, matrix.rows, matrix.cols, other, matrix.shape)
    changes = _declared_as(context, operand, str(replacement)) if matrix.kind == "rt" and usual else ()
    message = f"{context.message}: `{operand.text}` is in {matrix.layout}; expected {other}"
    return Explanation(_line(message), operand, changes)


def _mma_accumulator(context: ErrorContext) -> Explanation:
    operand, accumulator = context.operand(0), context.tiles[0] if context.tiles else None
    if operand is None or accumulator is None:
        return with_operands(context)
    replacement = Tile(
        accumulator.kind, "float", accumulator.rows, accumulator.cols, accumulator.layout, accumulator.shape
    )
    changes = _declared_as(context, operand, str(replacement)) if accumulator.kind == "rt" else ()
    return Explanation(f"{context.message}: `{operand.text}` is {accumulator}", operand, changes)


def _mma_shape(context: ErrorContext) -> Explanation:
    """For operands, the one that does not fit `a`; for accumulators, the width of the operands' shapes."""
    if len(context.tiles) < 3 or not all(matrix.base for matrix in context.tiles[:3]):
        return with_operands(context)
    a, index = context.tiles[1], 0 if "accumulator's" in context.message else 2
    matrix = context.tiles[index]
    rows, cols, stride = shapes().by_name.get(a.shape, (0, 0, 0))
    if index == 0:
        side = rows if a.layout == "row_l" else cols
        name = shapes().by_size.get((side, side, 4), "")
    else:
        turned = a.layout != matrix.layout
        name = shapes().by_size.get((cols, rows, stride) if turned else (rows, cols, stride), "")
    operand = context.operand(index)
    if not name or operand is None:
        return with_operands(context)
    right = Tile(matrix.kind, matrix.element, matrix.rows, matrix.cols, matrix.layout, name)
    fits = matrix.rows % (right.base or (1, 1))[0] == 0 and matrix.cols % (right.base or (1, 1))[1] == 0
    changes = _declared_as(context, operand, str(right)) if matrix.kind == "rt" and fits else ()
    beside = context.operand(1)
    message = (
        f"{context.message.partition(':')[0]}: the base shape of `{operand.text}` is {matrix.shape}; beside "
        f"`{beside.text if beside else 'a'}`, which is {a}, it is {name}"
    )
    return Explanation(message, operand, changes)


def _own_vector(context: ErrorContext) -> Explanation:
    """A map or a reduction with a vector that does not belong to the tile."""
    call, matrix = (
        context.call,
        next((candidate for candidate in context.tiles if candidate.kind == "rt"), None),
    )
    if call is None or matrix is None:
        return with_operands(context)
    vectors = [
        (span, declared)
        for span in call.arguments
        if (declared := context.cell.declaration(span.text, span.start))
        and re.search(r"rv|_vec\b|register_vector", declared.type.text)
    ]
    if not vectors:
        return with_operands(context)
    span, declared = vectors[-1]
    reduces = "reduction" in context.message
    named = re.search(r"(row|col)", call.name)
    kind = "col_vec" if named and named[1] == "row" else "row_vec"
    tile_name = next(
        (
            candidate.type.text
            for other in call.arguments
            if (candidate := context.cell.declaration(other.text, other.start))
            and re.fullmatch(r"(?:kittens::)?rt(?:_\w+)?<[^:]*>", candidate.type.text)
        ),
        str(matrix),
    )
    right = f"{tile_name}::{kind}"
    changes = (Change(declared.type, right),) if declared.alone else ()
    verb = "gives" if reduces else "takes"
    message = f"{context.message}: {call.name} {verb} {right}, `{span.text}` is {declared.type.text}"
    return Explanation(message if len(message) <= _ALLOWED_LINE else context.message, span, changes)


def _other_operand(context: ErrorContext) -> Explanation:
    plain_message = with_operands(context)
    tiles = context.tiles
    alike = len(tiles) >= 2 and (tiles[0].rows, tiles[0].cols) == (tiles[1].rows, tiles[1].cols)
    if alike and tiles[0].element != tiles[1].element and len(plain_message.message) < _ALLOWED_LINE - 40:
        return Explanation(f"{plain_message.message}; copy(to, from) converts", plain_message.at)
    function = context.call.name if context.call else ""
    if [matrix.kind for matrix in tiles[:2]] == ["rt", "rv"] and function in _OPERATORS.values():
        return Explanation(
            _line(f"{plain_message.message}; {function}_row and {function}_col take a vector"),
            plain_message.at,
        )
    return plain_message


def _copy(context: ErrorContext) -> Explanation:
    explanation = with_operands(context)
    if len(context.tiles) < 2 or not context.call:
        return explanation
    into, source = context.tiles[:2]
    same = (into.rows, into.cols, into.element, into.shape) == (
        source.rows,
        source.cols,
        source.element,
        source.shape,
    )
    if same and into.layout != source.layout:
        name = Span(context.call.span.start, context.call.span.start + len("copy"), "copy")
        return Explanation(
            "copy keeps the layout, swap_layout changes it", context.call.span, (Change(name, "swap_layout"),)
        )
    if into.layout != source.layout and into.layout and "swap_layout" not in context.message:
        return Explanation(f"{context.message}; swap_layout changes the layout", explanation.at)
    return explanation


def _part_of_shared(context: ErrorContext) -> Explanation:
    explanation = with_operands(context)
    register = next((candidate for candidate in context.tiles if candidate.kind in ("rt", "art")), None)
    shared = next((candidate for candidate in context.tiles if candidate.kind == "st"), None)
    if register and shared and shared.rows % register.rows == 0 and shared.cols % register.cols == 0:
        span = next(
            (
                candidate
                for candidate in (context.call.arguments if context.call else ())
                if (declared := context.cell.declaration(candidate.text, candidate.start))
                and re.match(r"(?:kittens::)?st", declared.type.text)
            ),
            None,
        )
        part = f"subtile_inplace<{register.rows}, {register.cols}>({span.text if span else 'tile'}, {{i, j}})"
        return Explanation(_line(f"{context.message}: {part} is as large as {register}"), span)
    return explanation


# Calls that fit no function ------------------------------------------------------------------------------


def _wrong_call(context: ErrorContext) -> Explanation | None:
    call = context.call
    if call is None:
        return None
    kinds = [_declared_kind(context, span) for span in call.arguments]
    if call.name in ("load", "store"):
        return _moved(context, kinds)
    if call.name in _IN_PLACE and len(call.arguments) == 1 and kinds[0] in ("rt", "st", "rv", "sv"):
        return _gives_nothing(context)
    return None


_IN_PLACE = frozenset(("exp", "exp2", "log", "log2", "sqrt", "rsqrt", "rcp", "neg", "abs", "relu", "tanh"))


def _declared_kind(context: ErrorContext, span: Span) -> str:
    """ "rt", "gl" and so on from the declaration of an argument, "" if that is unclear."""
    declared = context.cell.declaration(span.text, span.start)
    match = (
        re.match(r"(?:kittens::)?(rt|st|rv|sv|art|gl)(?:_\w+)?<", declared.type.text) if declared else None
    )
    return match[1] if match else ""


def _moved(context: ErrorContext, kinds: list[str]) -> Explanation | None:
    call = context.call
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
        indices = context.cell.split(at.start)
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


def _gives_nothing(context: ErrorContext) -> Explanation | None:
    call = context.call
    if call is None:
        return None
    operand = call.arguments[0]
    before = re.search(r"(\w+)\s*=\s*$", context.cell.code[: call.span.start])
    target = before[1] if before else operand.text
    start = before.start() if before else call.span.start
    declared_here = before and re.search(r"[\w>&*]\s*$", context.cell.code[: before.start()])
    whole = Span(start, call.span.end, context.cell.text[start : call.span.end])
    right = f"{call.name}({target}, {operand.text})"
    return Explanation(
        f"functions of tiles write to their first argument and give nothing: {right}",
        whole,
        () if declared_here else (Change(whole, right),),
    )


_OPERATORS = {"+": "add", "-": "sub", "*": "mul", "/": "div"}


def _tile_operator(context: ErrorContext) -> Explanation | None:
    types = re.search(r"\('([^']*)'.*? and '([^']*)'", context.message)
    if not types or not any(
        re.match(r"(?:kittens::)?(?:rt|st|rv|sv|art)(?:_\w+)?<", type_name) for type_name in types.groups()
    ):
        return None
    if context.at is None:
        return None
    operator = context.cell.code[context.at]
    function = _OPERATORS.get(operator)
    if function is None:
        return None
    around = re.compile(r"(?:(\w+)\s*=\s*)?(\w+)\s*$").search(context.cell.code[: context.at])
    right = re.compile(r".\s*([\w.]+)").match(context.cell.code, context.at)
    if not around or not right:
        return Explanation(
            f"tiles have no operators: {function}(to, a, b) writes a {operator} b to its first argument"
        )
    into = around[1] or around[2]
    whole = Span(around.start(), right.end(), context.cell.text[around.start() : right.end()])
    text = f"{function}({into}, {around[2]}, {right[1]})"
    mended = around[1] and re.match(r"\s*;", context.cell.code[right.end() :])
    return Explanation(f"tiles have no operators: {text}", whole, (Change(whole, text),) if mended else ())


# Elements -------------------------------------------------------------------------------------------------


def _float_literal(context: ErrorContext) -> Explanation | None:
    types = re.search(r"operand types '(\w+)'.*? and '(\w+)'", context.message)
    if not types or context.at is None:
        return None
    narrow = next(
        (
            type_name
            for type_name in types.groups()
            if type_name in ("bf16", "half", "__hip_bfloat16", "__half")
        ),
        "",
    )
    wide = next((type_name for type_name in types.groups() if type_name in ("float", "double", "int")), "")
    if not narrow or not wide:
        return None
    operator = re.search(r"operator '([^']+)'", context.message)
    symbol = operator[1] if operator else "?"
    number = r"(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?[fF]?"
    code = context.cell.code
    after = re.compile(rf"\s*(-?{number})(?![\w.])").match(code, context.at + len(symbol))
    before = re.search(rf"(?<![\w.])({number})\s*$", code[: context.at])
    literal = after or before
    span = Span(literal.start(1), literal.end(1), literal[1]) if literal else None
    operand = f"`{span.text}`" if span else f"the {wide}"
    mended = f"{narrow}({span.text})" if span else f"{narrow}(...)"
    return Explanation(
        f"`{symbol}` takes two operands of one type: {operand} is {_a(wide)}, the other {_a(narrow)}; "
        f"write {mended}, or convert to float first",
        span,
        (Change(span, mended),) if span else (),
    )


def _a(name: str) -> str:
    return f"an {name}" if name[0] in "aeiou" else f"a {name}"


def _two_indices(context: ErrorContext) -> Explanation | None:
    if context.at is None:
        return None
    # Clang's place is the second pair of brackets, or the beginning of the expression.
    row, _ = context.cell.line_and_column(context.at)
    start = context.cell.offset(row, 1) or 0
    for match in re.finditer(r"(\w+)(\[)", context.cell.code[start : start + len(context.cell.line(row))]):
        first = start + match.start(2)
        end = context.cell.closing(first)
        if end is None or context.cell.code[end + 1 : end + 2] != "[":
            continue
        last = context.cell.closing(end + 1)
        declared = context.cell.declaration(match[1], start + match.start())
        if last is None or not declared or not re.match(r"(?:kittens::)?st(?:_\w+)?<", declared.type.text):
            continue
        text = f"[{{{context.cell.text[first + 1 : end]}, {context.cell.text[end + 2 : last]}}}]"
        whole = Span(first, last + 1, context.cell.text[first : last + 1])
        return Explanation(
            f"a shared tile is swizzled, its rows are not arrays: "
            f"element {{row, column}} is {match[1]}{text}",
            Span(start + match.start(), last + 1, ""),
            (Change(whole, text),),
        )
    return None


def _register_index(context: ErrorContext) -> Explanation | None:
    match = re.match(r"type '([^']*)'", context.message)
    if not match or not re.match(r"(?:kittens::)?rt(?:_\w+)?<", match[1]):
        return None
    return Explanation(
        "the elements of a register tile are spread over the lanes of its wave and have no index: "
        f"map(dst, src, [](float value, int row, int column) {{ ... }}) goes through {plain(match[1])}"
    )


# Memory and registers ------------------------------------------------------------------------------------


def _shared_memory(context: ErrorContext) -> Explanation | None:
    match = re.search(r"local memory \((\d+)\) exceeds limit \((\d+)\) in '?(.*?)(?:\(|'|$)", context.message)
    if not match:
        return None
    asked, limit = int(match[1]), int(match[2])
    kernel = match[3].rpartition(" ")[2]
    return Explanation(
        f"{kernel} asks for {asked:,} bytes of shared memory ({asked / 1024:.0f} KiB), a work-group of this "
        f"target has {limit:,} ({limit // 1024} KiB): smaller tiles, fewer stages, or one tile in the place "
        "of another"
    )


def _narrowed(context: ErrorContext) -> Explanation | None:
    came = re.search(r"narrowed from type '([^']*)'(?: \(aka '([^']*)'\))? to 'int'", context.message)
    if not came or context.at is None:
        return None
    call_before = re.compile(r"(?:load|store|load_async|prefetch)\s*(?:<[^<>()]*>)?\s*(\()")
    calls = [match for match in call_before.finditer(context.cell.code) if match.start() < context.at]
    for span in context.cell.split(calls[-1].start(1)) if calls else ():
        if span.text.startswith("{") and span.start < context.at < span.end:
            index = next(
                entry for entry in context.cell.split(span.start) if entry.start <= context.at < entry.end
            )
            return Explanation(
                f"indices of a coordinate are int: `{index.text}` is {_a(came[2] or came[1])}; "
                f"int({index.text}) is one",
                index,
                (Change(index, f"int({index.text})"),),
            )
    return None


def _allocator(context: ErrorContext) -> Explanation | None:
    for note in context.error.notes:
        if "remove &" in note.message:
            break
    else:
        return None
    if context.at is None:
        return None
    match = re.compile(r"\w+\s*[({]\s*(&)\s*(\w+)").search(context.cell.code, context.at)
    if not match:
        return None
    span = Span(match.start(1), match.end(1), "&")
    return Explanation(
        f"shared_allocator takes the first word of shared memory: `{match[2]}` is an array, `&` is one "
        "too many",
        span,
        (Change(span, ""),),
    )


# Templates without an end ---------------------------------------------------------------------------------


def _recursion(context: ErrorContext) -> Explanation | None:
    depth = re.search(r"maximum depth of (\d+)", context.message)
    last = context.instances[-1] if context.instances else ""
    match = re.match(r"(?:\w+::)*(\w+)(<.*?>)?", last)
    if not depth or not match:
        return None
    name = match[1]
    steps = list(
        dict.fromkeys(
            f"{name}{plain(m[1])}"
            for text in context.instances
            if (m := re.search(rf"\b{name}(<[^>]*>)", text))
        )
    )
    begin = " asks for ".join(reversed(steps[-3:]))
    where = f": {begin}, and so on" if len(steps) > 1 else ""
    return Explanation(
        _line(
            f"the template {name} instantiates itself endlessly, {int(depth[1]):,} deep{where}; give it "
            "a specialization for the last step, or ask `if constexpr`"
        )
    )


REFUSED = (
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
        "An operand of mma in the wrong layout",
        re.compile(r"mma: [ab] is in the row layout in"),
        _mma_layout,
        page=_LAYOUTS,
    ),
    Mistake(
        "An accumulator that is not of float",
        re.compile(r"mma: the accumulators are of float"),
        _mma_accumulator,
        page=_BASE_SHAPES,
    ),
    Mistake(
        "Operands of mma of different sizes",
        re.compile(r"mma: a and b have the same size along K|mma: the accumulator is M x N"),
        with_operands,
        page=_LAYOUTS,
    ),
    Mistake(
        "Operands of mma of different types",
        re.compile(r"mma: a and b have the same element type"),
        with_operands,
        page=_BASE_SHAPES,
    ),
    Mistake(
        "Accumulators of mma of different types",
        re.compile(r"mma: the accumulators c and d have the same"),
        with_operands,
        page=_LAYOUTS,
    ),
    Mistake(
        "Operands that no matrix instruction takes",
        re.compile(r"mma: the matrix cores of this target have no instruction for these operands"),
        with_operands,
        page=_BASE_SHAPES,
    ),
    Mistake(
        "A base shape that does not go with the other operand",
        re.compile(
            r"mma: the base shapes of a and b put K in the same order|mma: the accumulator's base shape is"
        ),
        _mma_shape,
        page=_BASE_SHAPES,
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
        lambda context: Explanation(context.message),
    ),
    Mistake(
        "A call with arguments in the wrong order",
        re.compile(r"no matching function for call to"),
        _wrong_call,
    ),
    Mistake(
        "A call that fits no function of tiles",
        re.compile(r"no matching (?:member )?function for call to"),
        no_function,
        "line",
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
    Mistake(
        "An index into a register tile",
        re.compile(r"does not provide a subscript operator"),
        _register_index,
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
        "A template that instantiates itself endlessly",
        re.compile(r"recursive template instantiation exceeded maximum depth"),
        _recursion,
        "line",
    ),
)
"""All records, in order; the first that explains an error is used."""
