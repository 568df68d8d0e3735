"""Where the elements of a tile are, and how the LDS serves a load or store of it: found out by running it.

Nothing here describes a layout or a swizzle. A small kernel does with the tile library what is asked, on
elements that say which they are, on an emulated device that keeps the address of every lane of every access
(emulator/trace.py). Lanes, registers, addresses, phases and conflicts are read from that.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from workbench.errors import CompileError, DeviceError, UsageError, WorkbenchError
from workbench.kernel import Module, compile, resolve_device
from workbench.origin import Figure, Origin
from workbench.profile.machine import machine
from workbench.runtime import LaunchOptions
from workbench.spec import Launch
from workbench.tile_type import TileType

if TYPE_CHECKING:
    import torch

    from workbench.emulator.trace import Access
    from workbench.runtime import Device, LaunchRecord

ACCESSES = ("load", "store")
MAX_GROUP = 16
"""Waves of a work-group."""

MAX_ELEMENTS = 1 << 16
"""Of a tile that is looked at: the figure and the table have each of them."""

SECTOR_BYTES = 64
"""What global accesses are held against: the bytes that the vector cache asks the L2 for at once."""

_WAVE = 64
_BASE = 64
"""Elements are told apart by digits of this base, one launch for each digit."""


class Row(NamedTuple):
    """One element in one access, or where no access is looked at, in one place.

    What does not apply is None. A list of these makes a pandas DataFrame as it is.

    Attributes:
        row, col: the element.
        access: its number: an index into `LayoutResult.accesses`.
        wave: that makes it.
        lane: that asks for the element (sends it, in a store); without an access, that holds it.
        holder: lane whose register has the element. It is `lane`, but for reads that transpose.
        register: 32-bit register of the tile that has it, counted from the tile's first.
        register_byte: its place in the register.
        address: byte offset in shared memory.
        bank: of shared memory.
        phase: of the access, in which shared memory serves the lane.
        conflict: whether the bank takes more than a cycle in this phase.
        offset: byte offset from the first element of the tile in global memory.
    """

    row: int
    col: int
    access: int | None = None
    wave: int | None = None
    lane: int | None = None
    holder: int | None = None
    register: int | None = None
    register_byte: int | None = None
    address: int | None = None
    bank: int | None = None
    phase: int | None = None
    conflict: bool = False
    offset: int | None = None


class PhaseOf(NamedTuple):
    """Lanes that shared memory serves together in one access.

    Attributes:
        lanes: active ones.
        cycles: that it takes; one without conflicts.
        banks: that conflict.
    """

    lanes: tuple[int, ...]
    cycles: int
    banks: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class WaveAccess:
    """One access of one wave; an instruction with two addresses, such as ds_read2_b64, makes two.

    Attributes:
        pc: address of the instruction in the code object.
        text: the instruction.
        opcode: its name.
        wave: that made it.
        bytes: of a lane.
        banks: of shared memory that serve it; 0 for global memory.
        phases: with at least one active lane; none for global memory.
        lanes: active ones.
        sectors: for global memory, blocks of 64 bytes that it touches.
    """

    pc: int
    text: str
    opcode: str
    wave: int
    bytes: int
    banks: int
    phases: tuple[PhaseOf, ...]
    lanes: int
    sectors: int

    @property
    def conflicts(self) -> int:
        """Its share of SQ_LDS_BANK_CONFLICT: cycles beyond one a phase."""
        return sum(phase.cycles - 1 for phase in self.phases)


@dataclass(frozen=True)
class Question:
    """What is to be looked at.

    Attributes:
        tile: the type.
        access: "load" (into registers, or for a group into shared memory), "store", or None.
        register: the register tile or vector on the other side of a shared one; None where there is none.
        group: waves that move a shared tile from or to global memory together; None otherwise.
        at: for a register tile smaller than the shared one, which part of it, in parts.
        columns: of the matrix in global memory.
    """

    tile: TileType
    access: str | None = None
    register: TileType | None = None
    group: int | None = None
    at: tuple[int, int] = (0, 0)
    columns: int = 0

    @property
    def title(self) -> str:
        """As C++ would say it, such as "load(rt_bf<16, 64>, st_bf<64, 64>)"."""
        tile = self.tile.text
        if self.access is None:
            return tile
        other = "global" if self.register is None else self.register.text
        group = f"group<{self.group}>::" if self.group is not None else ""
        inner = tile if self.part is None else f"{tile} part {self.at}"
        shared_first = (self.access == "store") == (self.register is not None)
        if self.register is None and not self.tile.is_shared:
            shared_first = self.access == "load"
        return (
            f"{group}{self.access}({inner}, {other})"
            if shared_first
            else f"{group}{self.access}({other}, {inner})"
        )

    @property
    def part(self) -> tuple[int, int] | None:
        """Rows and columns of the part of a shared tile that is moved; None for all of it."""
        held = self.register
        if held is None or held.is_vector or (held.rows, held.cols) == (self.tile.rows, self.tile.cols):
            return None
        return held.rows, held.cols

    @property
    def threads(self) -> int:
        return _WAVE * (self.group or 1)

    def moved(self) -> set[tuple[int, int]]:
        """The elements that the access moves."""
        rows, cols = self.part or (self.tile.rows, self.tile.cols)
        top, left = self.at[0] * rows, self.at[1] * cols
        return {(r, c) for r in range(top, top + rows) for c in range(left, left + cols)}


def question(
    tile: str,
    access: str | None = None,
    register: str | None = None,
    group: int | None = None,
    at: Sequence[int] = (0, 0),
    columns: int | None = None,
) -> Question:
    """Checks what `view_layout` is asked.

    Raises:
        UsageError: it does not fit together; the message says what would.
    """
    of = TileType.parse(tile)
    held: TileType | None = None
    if access is not None and access not in ACCESSES:
        raise UsageError(f'access={access!r}; wanted "load", "store", or None for the layout alone')
    if access is None and (register is not None or group is not None):
        raise UsageError(
            f'{tile} with a {"register" if register else "group"}: say access="load" or "store" too'
        )
    if not of.is_shared and (register is not None or group is not None):
        raise UsageError(
            f"{tile} is a {of.word}; register= and group= are for shared ones. With access= alone it is "
            "loaded from (stored to) global memory"
        )
    if of.is_shared and access is not None and (register is None) == (group is None):
        raise UsageError(
            f'{access} of {tile}: say register="{"rv" if of.is_vector else "rt"}_bf<...>" for one between '
            "shared memory and registers, or group=4 for one between shared and global memory, by so many "
            "waves; not both"
        )
    if group is not None and (not isinstance(group, int) or not 1 <= group <= MAX_GROUP):
        raise UsageError(f"group={group!r}; wanted a number of waves from 1 to {MAX_GROUP}")
    if register is not None:
        held = TileType.parse(register, ("rv",) if of.is_vector else ("rt",))
        fits = not (of.rows % held.rows or of.cols % held.cols)
        if held.is_vector:
            fits = held.rows * held.cols == of.rows * of.cols
        if not fits:
            raise UsageError(
                f"{register} is {held.rows} x {held.cols} and {tile} {of.rows} x {of.cols}; "
                + (
                    "the same length is wanted"
                    if of.is_vector
                    else "the shared tile must be a whole number of these"
                )
            )
    parts = (of.rows // held.rows, of.cols // held.cols) if held and not of.is_vector else (1, 1)
    place = tuple(at)
    if len(place) != 2 or not all(
        isinstance(i, int) and 0 <= i < n for i, n in zip(place, parts, strict=True)
    ):
        raise UsageError(f"at={at!r}: {tile} has {parts[0]} x {parts[1]} such parts, counted from (0, 0)")
    if of.rows * of.cols > MAX_ELEMENTS:
        raise UsageError(f"{tile} has {of.rows * of.cols:,} elements; at most {MAX_ELEMENTS:,} are drawn")
    # A vector that goes along rows lies in a row of global memory, as the library has it.
    least = of.rows * of.cols if of.is_vector else of.cols
    wide = least if columns is None else columns
    if not isinstance(wide, int) or wide < least:
        raise UsageError(f"columns={columns!r}: the matrix in global memory has at least the tile's {least}")
    return Question(of, access, held, group, (place[0], place[1]), wide)


# ---- Kernels -----------------------------------------------------------------------------------------

PREAMBLE = """#include "kittens.cuh"
using namespace kittens;

/* Elements that a lane holds, in the order of its registers: out[element * 64 + lane]. */
template <typename T, int count, typename Packed>
__device__ inline void dump_packed(const Packed &value, T *out, int &at) {
    struct elements { T e[count]; };
    const auto held = __builtin_bit_cast(elements, value);
#pragma unroll
    for (int i = 0; i < count; i++) out[at++ * 64 + laneid()] = held.e[i];
}
template <ducks::rt::all R> __device__ inline void dump(const R &tile, typename R::T *out) {
    int at = 0;
#pragma unroll
    for (int i = 0; i < R::height; i++)
#pragma unroll
        for (int j = 0; j < R::width; j++)
#pragma unroll
            for (int k = 0; k < R::packed_per_base_tile; k++)
                dump_packed<typename R::T, R::packing>(tile.tiles[i][j].data[k], out, at);
}
template <ducks::rv::all R> __device__ inline void dump(const R &vector, typename R::T *out) {
    constexpr int packing = sizeof(typename R::dtype) / sizeof(typename R::T);
    int at = 0;
#pragma unroll
    for (int i = 0; i < R::outer_dim; i++)
#pragma unroll
        for (int k = 0; k < R::inner_dim; k++) dump_packed<typename R::T, packing>(vector[i][k], out, at);
}
"""

_ALLOCATE = """    extern __shared__ alignment_dummy __shm[];
    shared_allocator al((int *)&__shm[0]);
    using tile_t = {tile};
    tile_t &s = al.allocate<tile_t>();"""

_FILL = """    for (int i = threadIdx.x; i < {count}; i += blockDim.x)
        s[{place}] = g.x.raw_ptr[i / {cols} * g.x.cols() + i % {cols}];
    __syncthreads();"""
_IMAGE = """    for (int i = threadIdx.x; i < {count}; i += blockDim.x) g.image.raw_ptr[i] = s.data[i];"""
_ORIGIN = "{0, 0, 0, 0}"


class _Code(NamedTuple):
    """One kernel: the tensors that it takes, and its body."""

    members: tuple[str, ...]
    body: list[str]


def kernels(of: Question, name: str) -> str:
    """Source of what is run for a question: `<name>_access`, and for shared tiles `<name>_order`."""
    return "\n".join(_kernel(f"{name}_{what}", of, code) for what, code in _codes(of).items())


def _kernel(name: str, of: Question, code: _Code) -> str:
    element = of.tile.element
    held = of.register.element if of.register is not None else element
    types = "".join(f" gl<{held if m == 'held' else element}, -1, -1, -1, -1> {m};" for m in code.members)
    text = "\n".join(code.body)
    return (
        f"struct {name}_globals {{{types} }};\n"
        f"__global__ __launch_bounds__({of.threads}) void {name}(const {name}_globals g) {{\n{text}\n}}\n"
    )


def _codes(of: Question) -> dict[str, _Code]:
    """A question's kernels: "order" reads the shared tile's memory as it is, "access" does what is asked."""
    found = {}
    if of.tile.is_shared:
        found["order"] = _Code(("x", "image"), [*_shared(of), *_filled(of), _image(of)])
    if of.access is not None or not of.tile.is_shared:
        found["access"] = _access_code(of)
    return found


def _shared(of: Question) -> list[str]:
    return [_ALLOCATE.format(tile=of.tile.text)]


def _filled(of: Question) -> list[str]:
    cols = of.tile.cols
    place = f"{{i / {cols}, i % {cols}}}" if of.tile.kind == "st" else "i"
    return [_FILL.format(count=of.tile.rows * cols, place=place, cols=cols)]


def _image(of: Question) -> str:
    return _IMAGE.format(count=of.tile.rows * of.tile.cols)


def _access_code(of: Question) -> _Code:
    if of.group is not None:
        group = f"group<{of.group}>"
        if of.access == "load":
            moved = [f"    {group}::load(s, g.x, {_ORIGIN});", "    wait_and_barrier();", _image(of)]
            return _Code(("x", "image"), [*_shared(of), *moved])
        return _Code(("x", "out"), [*_shared(of), *_filled(of), f"    {group}::store(g.out, s, {_ORIGIN});"])
    if of.register is None:
        moved = [f"    {of.tile.text} a;", f"    load(a, g.x, {_ORIGIN});", "    dump(a, g.held.raw_ptr);"]
        if of.access != "store":
            return _Code(("x", "held"), moved)
        return _Code(("x", "held", "out"), [*moved, f"    store(g.out, a, {_ORIGIN});"])
    target, body = "s", _shared(of)
    if of.part is not None:
        rows, cols = of.part
        body.append(f"    auto part = subtile_inplace<{rows}, {cols}>(s, {{{of.at[0]}, {of.at[1]}}});")
        target = "part"
    declared, dumped = f"    {of.register.text} a;", "    dump(a, g.held.raw_ptr);"
    if of.access == "load":
        return _Code(("x", "held"), [*body, *_filled(of), declared, f"    load(a, {target});", dumped])
    filled = f"    load(a, g.x, {{0, 0, {of.at[0]}, {of.at[1]}}});"
    stored = [f"    store({target}, a);", "    __syncthreads();", _image(of)]
    return _Code(("x", "held", "image"), [*body, declared, filled, dumped, *stored])


# ---- Elements that say which they are ----------------------------------------------------------------


def _digits() -> torch.Tensor:
    """Numbers that every element type has exactly: (1 + m / 8) * 2 ** e for 8 m and 8 e."""
    import torch

    digit = torch.arange(_BASE)
    return (1 + digit % 8 / 8) * 2.0 ** (digit // 8 - 4)


def _dtype(element: str, arch: str) -> torch.dtype:
    import torch

    known = {
        "float": torch.float32,
        "bf16": torch.bfloat16,
        "half": torch.float16,
        "fp8e4m3": torch.float8_e4m3fn if arch == "gfx950" else torch.float8_e4m3fnuz,
    }
    if element not in known:
        raise UsageError(
            f"elements of type {element} cannot be told apart here; there are {', '.join(known)}"
        )
    return known[element]


class _Numbers:
    """Element numbers out of and into tensors, digit by digit."""

    def __init__(self, count: int) -> None:
        self.passes = 1
        while _BASE**self.passes < count:
            self.passes += 1

    def put(self, numbers: torch.Tensor, turn: int, dtype: torch.dtype) -> torch.Tensor:
        """The values that stand for digit `turn` of each number."""
        return _digits()[numbers // _BASE**turn % _BASE].to(dtype)

    @staticmethod
    def take(turns: Sequence[torch.Tensor]) -> torch.Tensor:
        """Numbers from all digits; -1 where a value is no digit, such as memory that nothing wrote."""
        import torch

        digits = _digits()
        result = torch.zeros(turns[0].shape, dtype=torch.int64)
        for turn, values in enumerate(turns):
            wide = values.float()
            place = torch.searchsorted(digits, wide.contiguous()).clamp(max=_BASE - 1)
            known = digits[place] == wide
            result = torch.where(known & (result >= 0), result + place * _BASE**turn, -1)
        return result


# ---- Running -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class LayoutResult:
    """Where elements are, and how they get there.

    Attributes:
        question: what was looked at.
        device: name of the emulated device.
        arch: its target.
        rows: one for each element of each access (of each place, without an access).
        accesses: in the order in which they were made.
        banks: of shared memory, as the drawn memory is wide; 0 where only global memory is involved.
    """

    question: Question
    device: str
    arch: str
    rows: tuple[Row, ...] = field(repr=False)
    accesses: tuple[WaveAccess, ...] = field(repr=False)
    banks: int = 0

    @property
    def name(self) -> str:
        return self.question.title

    @property
    def origin(self) -> Origin:
        return Origin.COUNTED

    @property
    def conflicts(self) -> int:
        """SQ_LDS_BANK_CONFLICT of the access: cycles beyond one a phase."""
        return sum(a.conflicts for a in self.accesses)

    @cached_property
    def summary(self) -> Mapping[str, Figure]:
        """What the access costs, by name; empty without an access."""

        def figure(value: float, unit: str = "") -> Figure:
            return Figure(value, unit, Origin.COUNTED, self.device)

        if not self.accesses:
            return {}
        found = {"instructions": figure(len({(a.pc, a.wave) for a in self.accesses}))}
        phases = [phase for a in self.accesses for phase in a.phases]
        if phases:
            found["phases"] = figure(len(phases))
            found["LDS cycles"] = figure(sum(phase.cycles for phase in phases), "cycles")
            found["SQ_LDS_BANK_CONFLICT"] = figure(self.conflicts, "cycles")
        sectors = sum(a.sectors for a in self.accesses)
        if sectors:
            asked = sum(a.bytes * a.lanes for a in self.accesses if a.sectors)
            found["bytes requested"] = figure(asked, "bytes")
            found["bytes of 64-byte blocks touched"] = figure(sectors * SECTOR_BYTES, "bytes")
        return found

    @property
    def figure(self) -> Any:
        """Tile and memory, coloured by lane, with a slider over instructions and phases. A plotly Figure."""
        from workbench.views.layout import layout_figure

        return layout_figure(self)

    def __str__(self) -> str:
        lines = [f"{self.name} on {self.device}"]
        for opcode, group in by_opcode(self.accesses).items():
            conflicts = sum(a.conflicts for a in group)
            phases = sum(len(a.phases) for a in group)
            detail = f", {phases} phases, {conflicts} conflict cycles" if phases else ""
            several = len({(a.pc, a.wave) for a in group})
            twice = f" ({len(group)} accesses)" if several != len(group) else ""
            lines.append(f"  {several} x {opcode}{twice}, {group[0].bytes} bytes a lane{detail}")
        lines += [f"  {name}: {figure}" for name, figure in self.summary.items()]
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        from workbench.views.layout import layout_html

        return layout_html(self)

    def _ipython_display_(self) -> None:
        from IPython.display import HTML, display

        display(HTML(self._repr_html_()))  # type: ignore[no-untyped-call]
        display(self.figure)  # type: ignore[no-untyped-call]


def by_opcode(accesses: Iterable[WaveAccess]) -> dict[str, list[WaveAccess]]:
    """Accesses by the name of their instruction."""
    found: dict[str, list[WaveAccess]] = {}
    for access in accesses:
        found.setdefault(access.opcode, []).append(access)
    return found


def view_layout(
    tile: str,
    access: str | None = None,
    register: str | None = None,
    *,
    group: int | None = None,
    at: Sequence[int] = (0, 0),
    columns: int | None = None,
    arch: str | None = None,
    device: Device | str | None = None,
) -> LayoutResult:
    """Which lane and register holds each element of a tile, and the banks that an access of it goes to.

        wb.view_layout("st_bf<64, 64, st_16x32_s>", access="load", register="rt_bf<16, 64>")
        wb.view_layout("rt_fl<32, 32, col_l, rt_32x32_s>")

    It is found out by compiling a kernel that does this with the tile library and following it on an emulated
    device: "counted by the emulator", never measured on a GPU.

    Args:
        tile: a type of the library: a register tile or vector, or a shared one.
        access: "load" or "store"; None for the layout alone. Of a shared tile it goes to or from `register`,
            or with `group` from or to global memory; of a register tile, from or to global memory.
        register: type of the register tile or vector; one that is smaller takes part `at` of the shared tile.
        group: number of waves of `group<N>::load` or `group<N>::store`.
        at: which part of the shared tile, in parts of the register tile's size.
        columns: of the matrix in global memory; the tile's own by default.
        arch: target, "gfx950" or "gfx942"; the device's by default.
        device: an emulated one, by name; the default device, or the emulated one of `arch`.

    Returns:
        a LayoutResult: `.figure`, `.rows`, `.accesses`, `.summary`, `.conflicts`. A notebook shows it.

    Raises:
        UsageError: a type or a combination that the library does not have; the message lists what it has.
        DeviceError: the device is a GPU, or there is none of this target.
    """
    asked = question(tile, access, register, group, at, columns)
    where = _device(arch, device)
    module = compile_questions([asked], where.arch)
    return look(module, asked, kernel_name(0), where)


def _device(arch: str | None, device: Device | str | None) -> Device:
    where = resolve_device(device if device is not None or arch is None else f"emulated:{arch}")
    if not where.emulated:
        raise DeviceError(
            f"{where.name} is a GPU, which does not tell where its lanes go; look at layouts on an emulated "
            f'device: device="emulated:{where.arch}"'
        )
    if arch is not None and where.arch != arch:
        raise DeviceError(
            f"{where.name} runs {where.arch}, and arch={arch!r} was asked for; give one of the two"
        )
    return where


def kernel_name(index: int) -> str:
    """Prefix of the kernels of a question in a module."""
    return f"q{index}"


def compile_questions(questions: Sequence[Question], arch: str) -> Module:
    """The kernels of several questions in one code object.

    Raises:
        UsageError: the library refuses one of them; the message has its words.
    """
    source = PREAMBLE + "\n".join(kernels(of, kernel_name(i)) for i, of in enumerate(questions))
    try:
        return compile(source, arch=arch, name="layout.hip")
    except CompileError as error:
        first = next((d.message for d in error.diagnostics if d.severity == "error"), str(error))
        titles = "; ".join(of.title for of in questions)
        raise UsageError(f"{titles} for {arch}: the tile library refuses it: {first}") from error


@dataclass
class _Seen:
    """What the launches of one question left: shared memory, and what lanes held, a tensor a digit."""

    record: LaunchRecord | None = None
    x: torch.Tensor | None = None
    out: torch.Tensor | None = None
    images: dict[str, list[torch.Tensor]] = field(default_factory=lambda: {"order": [], "access": []})
    held: list[torch.Tensor] = field(default_factory=list)


def trace_access(module: Module, of: Question, name: str, device: Device) -> tuple[WaveAccess, ...]:
    """The accesses of a question alone, without the elements: enough for a table."""
    seen = _launch(module, of, name, device, whole=False)
    return tuple(_wave_access(module, pair) for pair in _accesses(of, seen))


def look(module: Module, of: Question, name: str, device: Device) -> LayoutResult:
    """Runs the kernels of a question and puts together what they tell.

    Raises:
        WorkbenchError: what they tell contradicts itself: a mistake of the library or of this module.
    """
    seen = _launch(module, of, name, device, whole=True)
    places = _Numbers.take(seen.images["order"]).tolist() if of.tile.is_shared else []
    if of.tile.is_shared and sorted(places) != list(range(of.tile.rows * of.tile.cols)):
        raise WorkbenchError(
            f"{of.tile.text}: its elements do not fill its memory one by one; please report it."
        )
    _check_image(of, seen, places)
    held = _holders(seen)
    banks = machine("", device.arch).lds_banks if of.tile.is_shared else 0
    if of.access is None:
        rows = _of_memory(of, seen, places, banks) if of.tile.is_shared else _of_registers(of, seen, held)
        return LayoutResult(of, device.name, device.arch, tuple(rows), (), banks)
    pairs = _accesses(of, seen)
    accesses = tuple(_wave_access(module, pair) for pair in pairs)
    rows = _of_accesses(of, seen, pairs, places, held, banks)
    missing = of.moved() - {(r.row, r.col) for r in rows}
    if missing:
        raise WorkbenchError(f"{of.title}: no access was seen of {len(missing)} elements; please report it.")
    banks = next((a.banks for a in accesses if a.banks), banks)
    return LayoutResult(of, device.name, device.arch, tuple(rows), accesses, banks)


def _launch(module: Module, of: Question, name: str, device: Device, *, whole: bool) -> _Seen:
    """Launches the question's kernels; with `whole` all of them, for every digit of the elements' numbers."""
    import torch

    tile, registers = of.tile, of.register
    count = tile.rows * tile.cols
    dtype = _dtype(tile.element, device.arch)
    numbers = _Numbers(count)
    # As the tile lies in global memory, where a matrix may be wider.
    flat = (1, count) if tile.is_vector else (tile.rows, tile.cols)
    order = torch.arange(count).reshape(flat)
    if registers is None and not tile.is_shared:
        registers = tile
    held_dtype = dtype if registers is None else _dtype(registers.element, device.arch)
    # The most that a lane can hold: its share of a tile, or all of a vector.
    lane_elements = 0 if registers is None else registers.rows * registers.cols
    if registers is not None and not registers.is_vector:
        lane_elements = -(-lane_elements // _WAVE)
    seen = _Seen()
    for turn in range(numbers.passes if whole else 1):
        x = torch.full((flat[0], of.columns), -1.0).to(dtype)
        x[:, : flat[1]] = numbers.put(order, turn, dtype)
        for what, code in _codes(of).items():
            if what == "order" and not whole:
                continue
            tensors = {
                "x": x,
                "out": torch.full(x.shape, -1.0).to(dtype),
                "image": torch.full((count,), -1.0).to(dtype),
                "held": torch.full((lane_elements * _WAVE,), -1.0).to(held_dtype),
            }
            trace = what == "access" and turn == 0
            record = module[f"{name}_{what}"].launch(
                Launch(1, of.threads, count * dtype.itemsize if tile.is_shared else 0),
                (),
                {member: tensors[member] for member in code.members},
                device=device,
                options=LaunchOptions(trace=trace),
            )
            if "image" in code.members:
                seen.images[what].append(tensors["image"])
            if "held" in code.members:
                seen.held.append(tensors["held"])
            if trace:
                seen.record, seen.x, seen.out = record, x, tensors["out"]
    return seen


def _check_image(of: Question, seen: _Seen, places: Sequence[int]) -> None:
    """A store, or a group's load, puts each element where `operator[]` of the shared tile says."""
    if not seen.images["access"]:
        return
    moved = {r * of.tile.cols + c for r, c in of.moved()}
    found = _Numbers.take(seen.images["access"]).tolist()
    wrong = sum(place in moved and place != got for place, got in zip(places, found, strict=True))
    if wrong:
        raise WorkbenchError(
            f"{of.title}: {wrong} elements are not where the shared tile has them; please report it."
        )


def _holders(seen: _Seen) -> dict[int, list[tuple[int, int]]]:
    """(lane, its element) by element number; several where lanes hold copies."""
    found: dict[int, list[tuple[int, int]]] = {}
    if seen.held:
        for at, number in enumerate(_Numbers.take(seen.held).tolist()):
            if number >= 0:
                found.setdefault(number, []).append((at % _WAVE, at // _WAVE))
    return found


Pair = tuple["Access", "Access | None"]
"""An access, and the global side of one straight to shared memory."""


def _accesses(of: Question, seen: _Seen) -> list[Pair]:
    """The traced accesses that the question is about; the others filled memory or read it back."""
    from workbench.emulator.trace import AccessKind as Kind

    assert seen.record is not None
    assert seen.x is not None
    assert seen.out is not None
    accesses: tuple[Access, ...] = seen.record.accesses

    def inside(access: Access, tensor: torch.Tensor) -> bool:
        start = tensor.data_ptr()
        return all(start <= address < start + tensor.nbytes for address in access.addresses.values())

    if of.register is not None:
        kind = Kind.LDS_READ if of.access == "load" else Kind.LDS_WRITE
        return [(a, None) for a in accesses if a.kind is kind]
    reads = [a for a in accesses if a.kind is Kind.GLOBAL_READ and inside(a, seen.x)]
    writes = [a for a in accesses if a.kind is Kind.GLOBAL_WRITE and inside(a, seen.out)]
    if of.group is None:
        return [(a, None) for a in (reads if of.access == "load" else writes)]
    if of.access == "store":
        return [(a, None) for a in accesses if a.kind is Kind.LDS_READ or a in writes]
    found: list[Pair] = []
    latest: dict[int, Access] = {}
    for access in accesses:
        if access.kind is Kind.GLOBAL_READ:
            latest[access.wave] = access
        elif access.kind is Kind.TO_LDS:
            found.append((access, latest.get(access.wave)))
        elif access.kind is Kind.LDS_WRITE:
            found.append((access, None))
    return found


def _is_shared(access: Access) -> bool:
    from workbench.emulator.trace import AccessKind as Kind

    return access.kind not in (Kind.GLOBAL_READ, Kind.GLOBAL_WRITE)


def _wave_access(module: Module, pair: Pair) -> WaveAccess:
    access, source = pair
    instruction = module.instruction(access.pc)
    far = access if not _is_shared(access) else source
    sectors = {
        block
        for address in (far.addresses.values() if far is not None else ())
        for block in range(address // SECTOR_BYTES, (address + access.bytes - 1) // SECTOR_BYTES + 1)
    }
    return WaveAccess(
        pc=access.pc,
        text=" ".join(instruction.text().split()),
        opcode=instruction.opcode,
        wave=access.wave,
        bytes=access.bytes,
        banks=access.banks,
        phases=tuple(
            PhaseOf(
                tuple(lane for lane in phase.lanes if lane in access.addresses),
                phase.cycles,
                tuple(sorted(phase.conflicting_banks)),
            )
            for phase in access.phases
            if phase.cycles
        ),
        lanes=len(access.addresses),
        sectors=len(sectors),
    )


def _of_memory(of: Question, seen: _Seen, places: Sequence[int], banks: int) -> list[Row]:
    size = seen.images["order"][0].itemsize
    return [
        Row(*divmod(number, of.tile.cols), address=at * size, bank=at * size // 4 % banks)
        for at, number in enumerate(places)
    ]


def _of_registers(of: Question, seen: _Seen, held: Mapping[int, Sequence[tuple[int, int]]]) -> list[Row]:
    size = seen.held[0].itemsize
    return [
        Row(
            *divmod(number, of.tile.cols),
            lane=lane,
            holder=lane,
            register=k * size // 4,
            register_byte=k * size % 4,
        )
        for number, holders in sorted(held.items())
        for lane, k in holders
    ]


def _of_accesses(
    of: Question,
    seen: _Seen,
    pairs: Sequence[Pair],
    places: Sequence[int],
    held: Mapping[int, Sequence[tuple[int, int]]],
    banks: int,
) -> list[Row]:
    """A row for each element of each lane of each access."""
    assert seen.x is not None
    assert seen.out is not None
    size = seen.x.itemsize
    held_size = seen.held[0].itemsize if seen.held else 0
    cols = of.tile.rows * of.tile.cols if of.tile.is_vector else of.tile.cols
    start = (seen.x if of.access == "load" else seen.out).data_ptr()
    rows = []
    for index, (access, source) in enumerate(pairs):
        shared = _is_shared(access)
        phase_of = {
            lane: n for n, phase in enumerate(p for p in access.phases if p.cycles) for lane in phase.lanes
        }
        active = [phase for phase in access.phases if phase.cycles]
        for lane, address in access.addresses.items():
            far = source.addresses.get(lane) if source is not None else None if shared else address
            for byte in range(0, access.bytes, size):
                at = address + byte
                offset = far + byte - start if far is not None else None
                if shared:
                    if at // size >= len(places):
                        continue
                    number = places[at // size]
                else:
                    assert offset is not None
                    row, col = divmod(offset // size, of.columns)
                    if col >= cols:
                        continue
                    number = row * cols + col
                bank = at // 4 % (access.banks or banks) if shared else None
                phase = phase_of.get(lane)
                holder, k = _choose(held.get(number, ()), lane)
                rows.append(
                    Row(
                        *divmod(number, of.tile.cols),
                        access=index,
                        wave=access.wave,
                        lane=lane,
                        holder=holder,
                        register=k * held_size // 4 if k is not None else None,
                        register_byte=k * held_size % 4 if k is not None else None,
                        address=at if shared else None,
                        bank=bank,
                        phase=phase,
                        conflict=phase is not None and bank in active[phase].conflicting_banks,
                        offset=offset,
                    )
                )
    return rows


def _choose(holders: Sequence[tuple[int, int]], lane: int) -> tuple[int | None, int | None]:
    """The lane's own copy of an element where it has one, else the first."""
    if not holders:
        return None, None
    return next((h for h in holders if h[0] == lane), holders[0])
