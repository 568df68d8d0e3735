"""Reads AMDGPU code objects: ELF files, HIP fat binaries, and host programs that embed one.

A code object is the only thing that a device runs, so everything that a launch needs comes from here:
kernels with their descriptors and arguments, the loadable image with its relocations, symbols, code.
Whatever the input, damage is reported as CodeObjectError and nothing else.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import Any, NamedTuple

from workbench.codeobject import encodings_gfx11
from workbench.codeobject.bundle import bundle_entries, fat_binary_of_host, fitting, plain_target
from workbench.codeobject.damage import damage_reported
from workbench.codeobject.descriptor import KernelDescriptor
from workbench.codeobject.layout import Layout, Segment
from workbench.codeobject.metadata import read_metadata, unpacked
from workbench.codeobject.names import demangle, first_names, short_name
from workbench.codeobject.symbols import UNDEFINED, Symbol, Symbols, SymbolTable
from workbench.errors import CodeObjectError
from workbench.targets import ARCHS, GENERICS, KNOWN, PARTIAL, runs_on, wave_size

EM_AMDGPU = 224
_OSABI_AMDGPU_HSA = 64
# e_ident[EI_ABIVERSION] to code object version (LLVM AMDGPUUsage, "ELF code object").
_VERSIONS = {0: 2, 1: 3, 2: 4, 3: 5, 4: 6}
# Known values of EF_AMDGPU_MACH.
_PROCESSORS = {number: name for target in KNOWN for number, name in target.processors.items()}
_LARGEST_IMAGE = 1 << 30
MAX_ARGUMENT_BYTES = 65536
"""Bytes of the largest argument block that a device takes."""

_NO_OPERATION = b"\0\0\x80\xbf"


def is_padding(code: bytes, start: int = 0) -> bool:
    """True if only s_nop follow from `start`: compilers pad the end of code for the prefetcher."""
    rest = len(code) - start
    # For library code that follows, the first instruction is enough.
    return not rest or (
        code.startswith(_NO_OPERATION, start)
        and rest % 4 == 0
        and code[start:] == _NO_OPERATION * (rest // 4)
    )


@dataclass(frozen=True, slots=True)
class KernelArg:
    """One entry of a kernel's argument block: offset and size in bytes, value_kind as in LLVM's metadata
    ("by_value", "global_buffer", "hidden_block_count_x", ...)."""

    name: str
    offset: int
    size: int
    value_kind: str
    type_name: str = ""
    address_space: str = ""
    is_const: bool = False

    @property
    def hidden(self) -> bool:
        """True if the runtime fills the argument in, not the caller."""
        return self.value_kind.startswith("hidden_")


@dataclass(frozen=True)
class KernelInfo:
    """Facts about one kernel of a code object.

    Attributes:
        name: the symbol; `demangled` is the C++ signature, `short_name` its plain name.
        descriptor: how the hardware starts it; `descriptor_address` its virtual address.
        entry: virtual address of the first instruction; `size`, the length of the code in bytes, is 0 if the
            compiler left no instruction.
        args: the argument block's entries, hidden ones last. The metadata of assembly may declare one that
            ends beyond `kernarg_size`; see `not_passed`.
        metadata: the kernel's whole metadata record.
    Sizes are bytes; register counts are the compiler's.
    """

    name: str
    demangled: str
    descriptor: KernelDescriptor
    descriptor_address: int
    entry: int
    size: int
    args: tuple[KernelArg, ...]
    metadata: Mapping[str, Any] = field(repr=False)
    kernarg_size: int
    kernarg_align: int
    group_segment_size: int
    private_segment_size: int
    max_workgroup_size: int
    required_workgroup_size: tuple[int, int, int] | None
    sgpr_count: int
    vgpr_count: int
    agpr_count: int
    sgpr_spill_count: int
    vgpr_spill_count: int
    uses_dynamic_stack: bool

    @property
    def short_name(self) -> str:
        return short_name(self.demangled)

    @property
    def wave_size(self) -> int:
        """Lanes of its waves."""
        return self.descriptor.wave_size

    @property
    def cluster_dims(self) -> tuple[int, int, int]:
        """Work-groups of its clusters in each dimension; ones if it was not compiled for clusters."""
        x, y, z = (*self.metadata.get(".cluster_dims", ()), 1, 1, 1)[:3]
        return max(int(x), 1), max(int(y), 1), max(int(z), 1)

    @property
    def own_bytes(self) -> int:
        """Bytes of the arguments that the caller passes, even if the argument block has no room for them."""
        return max((arg.offset + arg.size for arg in self.args if not arg.hidden), default=0)

    @property
    def not_passed(self) -> tuple[KernelArg, ...]:
        """Arguments that end beyond the argument block; the kernel gets the part that lies inside.

        ROCm allocates the block by the metadata's `.kernarg_segment_size` and copies no more into it (clr,
        rocclr/device/rocm/rocvirtual.cpp, `VirtualGPU::submitKernelInternal`).
        """
        return tuple(arg for arg in self.args if arg.offset + arg.size > self.kernarg_size)


class Text(NamedTuple):
    """The machine code: virtual address of its first byte, and its bytes."""

    address: int
    data: bytes


class Relocation(NamedTuple):
    """A value to be stored at virtual address `address` once the image's base is known."""

    address: int
    type: int
    symbol: str
    symbol_value: int
    defined: bool
    addend: int


# Relocation types of dynamic sections: name, size in bytes, and the value from symbol + addend (S),
# the place's address (P) and the base (B); S already includes the base where the symbol is defined.
_RELOCATIONS: dict[int, tuple[str, int, Callable[[int, int, int], int]]] = {
    1: ("R_AMDGPU_ABS32_LO", 4, lambda s, p, a: s + a),
    2: ("R_AMDGPU_ABS32_HI", 4, lambda s, p, a: (s + a) >> 32),
    3: ("R_AMDGPU_ABS64", 8, lambda s, p, a: s + a),
    4: ("R_AMDGPU_REL32", 4, lambda s, p, a: s + a - p),
    5: ("R_AMDGPU_REL64", 8, lambda s, p, a: s + a - p),
    6: ("R_AMDGPU_ABS32", 4, lambda s, p, a: s + a),
    10: ("R_AMDGPU_REL32_LO", 4, lambda s, p, a: s + a - p),
    11: ("R_AMDGPU_REL32_HI", 4, lambda s, p, a: (s + a - p) >> 32),
    14: ("R_AMDGPU_REL16", 2, lambda s, p, a: (s + a - p - 4) // 4),
}
_RELATIVE64 = 13
_RELA, _REL, _PROGBITS = 4, 9, 1
_RELOCATION_SECTIONS = (_RELA, _REL)
_IN_IMAGE = 2
"""ELF's SHF_ALLOC: the section is loaded."""
_RELOCATION = struct.Struct("<QQq")
_WEAK = 2


class _Kernels(Mapping[str, KernelInfo]):
    """Kernels by symbol name, each read and checked on first use: libraries have thousands."""

    def __init__(self, records: Mapping[str, bytes], read: Callable[[str, Any], KernelInfo]) -> None:
        self._records = {symbol.removesuffix(".kd"): record for symbol, record in records.items()}
        self._read = read
        self._ready: dict[str, KernelInfo] = {}

    def __getitem__(self, name: str) -> KernelInfo:
        kernel = self._ready.get(name)
        if kernel is None:
            record = self._records[name]
            with damage_reported(f"kernel {name!r} of the code object"):
                kernel = self._ready[name] = self._read(name, unpacked(record))
        return kernel

    def __contains__(self, name: object) -> bool:
        return name in self._records

    def __iter__(self) -> Iterator[str]:
        return iter(self._records)

    def __len__(self) -> int:
        return len(self._records)


class CodeObject:
    """A parsed and checked AMDGPU code object; each kernel is parsed on first use.

    Make one with `CodeObject.from_bytes`.

    Attributes:
        data: the ELF file's bytes.
        target: name of the target whose instruction table decodes it.
        targets: all targets that can run it, newest first; several if its processor is a generic one.
        processor: the processor as the file names it.
        features: "xnack" and "sramecc" with "on", "off" or "any", if the file specifies them.
        version: code object version, 3 to 6.
        kernels: kernels by symbol name, in the metadata's order.
        symbols: symbols by name.
        text: the machine code.
        layout: positions of its sections and segments.
        metadata: metadata of the notes without the kernels, whose records are in `KernelInfo.metadata`.
        image_size: bytes of address space that the loaded image takes, from virtual address 0.
        relocations: relocations that `load` applies.
    """

    def __init__(self, data: bytes | memoryview, target: str | None = None) -> None:
        """Reads an AMDGPU ELF.

        Args:
            target: target to decode for, one of those that can run it; None: the oldest, which has the fewest
                instructions.

        Raises:
            CodeObjectError: the file is not a code object, is damaged or of an unknown kind, or cannot run on
                `target`.
        """
        self.data = bytes(data)
        if not self.data.startswith(b"\x7fELF"):
            raise CodeObjectError(
                f"not an ELF file: it begins with {self.data[:4]!r}, expected b'\\x7fELF'. "
                "CodeObject.from_bytes also takes HIP fat binaries."
            )
        with damage_reported("the code object"):
            self._read()
        if target is not None and target not in self.targets:
            raise CodeObjectError(
                f"the code object is for {self.processor}, expected {target}: compile with "
                f"--offload-arch={target}."
            )
        self.target = target if target is not None else self.targets[-1]

    @cached_property
    def digest(self) -> str:
        """Name of the file's exact bytes: 16 hexadecimal digits of their SHA-256."""
        return hashlib.sha256(self.data).hexdigest()[:16]

    @cached_property
    def text_digest(self) -> str:
        """Name of the machine code's bytes: their SHA-256 in hexadecimal digits."""
        return hashlib.sha256(self.text.data).hexdigest()

    @classmethod
    def from_bytes(cls, data: bytes, arch: str | None = None) -> CodeObject:
        """The code object in an AMDGPU ELF, a HIP fat binary, or a host ELF that embeds one.

        Args:
            data: the file's bytes.
            arch: the target ("gfx950", with or without features); required if the file has code for several.

        Raises:
            CodeObjectError: no code object, none for `arch`, more than one that fits, or damage.
        """
        code_objects = cls.all_from_bytes(data, arch)
        if len(code_objects) > 1:
            raise CodeObjectError(
                f"the file has {len(code_objects)} code objects that fit"
                f" ({', '.join(sorted({item.target for item in code_objects}))});"
                " give arch=, or take CodeObject.all_from_bytes if several translation units were linked."
            )
        return code_objects[0]

    @classmethod
    def all_from_bytes(cls, data: bytes, arch: str | None = None) -> tuple[CodeObject, ...]:
        """Every code object in a file that fits `arch` (any supported one if None); at least one.

        A program linked from several translation units has one for each. Raises as `from_bytes`.
        """
        data = bytes(data)
        if data.startswith(b"\x7fELF"):
            with damage_reported("the ELF file"):
                machine = struct.unpack_from("<H", data, 18)[0]
                if machine != EM_AMDGPU:
                    return cls._from_bundle(fat_binary_of_host(data), arch)
            return (cls(data, _target_of(arch)),)
        return cls._from_bundle(data, arch)

    @classmethod
    def _from_bundle(cls, data: bytes, arch: str | None) -> tuple[CodeObject, ...]:
        entries = [entry for entry in bundle_entries(data) if "amdgcn" in entry.triple and entry.content]
        if arch is not None:
            fits = fitting(entries, arch)
        else:
            known = [entry for entry in entries if runs_on(plain_target(entry.arch))]
            partial = {target.name for target in PARTIAL}
            fits = [entry for entry in known if plain_target(entry.arch) not in partial] or known
        if not fits:
            archs = (plain_target(arch),) if arch is not None else ARCHS
            raise CodeObjectError(
                f"the fat binary has code for {', '.join(e.arch for e in entries) or 'no AMD GPU'}; expected "
                f"{' or '.join(archs)}: compile with --offload-arch={archs[0]}."
            )
        return tuple(cls(entry.content, _target_of(arch)) for entry in fits)

    def _read(self) -> None:
        data = self.data
        if len(data) < 64 or data[4] != 2 or data[5] != 1:
            raise CodeObjectError("not a 64-bit little-endian ELF file, which every AMDGPU code object is.")
        machine = struct.unpack_from("<H", data, 18)[0]
        if machine != EM_AMDGPU:
            raise CodeObjectError(f"an ELF file for machine {machine}, expected EM_AMDGPU ({EM_AMDGPU}).")
        if data[7] != _OSABI_AMDGPU_HSA:
            raise CodeObjectError(
                f"a code object with OS ABI {data[7]}, expected {_OSABI_AMDGPU_HSA} (amdhsa): compile for "
                "amdgcn-amd-amdhsa."
            )
        version = _VERSIONS.get(data[8])
        if version is None or version < 3:
            raise CodeObjectError(
                f"code object version {version or f'with ABI number {data[8]}'} is not supported, only 3 to "
                "6: compile with -mcode-object-version=5."
            )
        self.version: int = version
        flags = struct.unpack_from("<I", data, 48)[0]
        processor = _PROCESSORS.get(flags & 0xFF)
        if processor is None and flags & 0xFF in encodings_gfx11.PROCESSORS:
            raise CodeObjectError(
                f"a code object for {encodings_gfx11.PROCESSORS[flags & 0xFF]}, whose instructions can be "
                f"decoded but not run, expected one of {', '.join(ARCHS)}: compile with "
                f"--offload-arch={ARCHS[0]}, or list its code with `python -m workbench disassemble FILE`."
            )
        if processor is None:
            raise CodeObjectError(
                f"a code object for an unknown processor (EF_AMDGPU_MACH {flags & 0xFF:#x}), expected one of "
                f"{', '.join(ARCHS)}: compile with --offload-arch={ARCHS[0]}."
            )
        self.processor = processor
        self.targets = runs_on(processor)
        settings = ("unsupported", "any", "off", "on")
        self.features: Mapping[str, str] = (
            {"xnack": settings[flags >> 8 & 3], "sramecc": settings[flags >> 10 & 3]} if version >= 4 else {}
        )
        if struct.unpack_from("<H", data, 16)[0] != 3:
            raise CodeObjectError(
                "the code object is not linked (no shared object): link it with lld, as clang does without "
                "-c."
            )
        self.layout = Layout(data)
        self._segments = self._read_segments()
        self.image_size: int = max(s.address + s.memory_size for s in self._segments)
        self.symbols = SymbolTable(self.layout)
        self.relocations: tuple[Relocation, ...] = tuple(self._read_relocations())
        metadata = read_metadata(data, self.layout)
        self.metadata: Mapping[str, Any] = MappingProxyType(metadata.common)
        self.kernels: Mapping[str, KernelInfo] = _Kernels(metadata.kernels, self._read_kernel)

    def _read_segments(self) -> list[Segment]:
        segments = self.layout.segments
        for segment in segments:
            if segment.file_offset + segment.file_size > len(self.data):
                raise CodeObjectError(
                    f"the code object is cut off: a segment ends at byte "
                    f"{segment.file_offset + segment.file_size}, the file at {len(self.data)}."
                )
            if (
                segment.file_size > segment.memory_size
                or segment.address + segment.memory_size > _LARGEST_IMAGE
            ):
                raise CodeObjectError(
                    f"the code object is damaged: a segment at {segment.address:#x} has "
                    f"{segment.memory_size} bytes in memory and {segment.file_size} in the file."
                )
        if not segments:
            raise CodeObjectError("the code object has nothing to load (no PT_LOAD segment): it is damaged.")
        return segments

    def _read_relocations(self) -> Iterator[Relocation]:
        for section in self.layout.sections:
            if section.type not in _RELOCATION_SECTIONS or not section.flags & _IN_IMAGE:
                continue
            if section.type != _RELA or section.entry_size != _RELOCATION.size:
                raise CodeObjectError("the code object is damaged: it has relocations without addends.")
            table = self.layout.sections[section.link] if section.link else None
            symbols = Symbols(self.layout, table)
            for address, info, addend in _RELOCATION.iter_unpack(self.layout.content(section)):
                type_, number = info & 0xFFFFFFFF, info >> 32
                name, value, defined = "", 0, True
                if number:
                    if number >= len(symbols.rows):
                        raise CodeObjectError(
                            "the code object is damaged: relocations without a symbol table."
                        )
                    row = symbols.rows[number]
                    name, value = symbols.name(int(row["name"])), int(row["address"])
                    if row["section"] == UNDEFINED:
                        defined = False
                        if row["info"] >> 4 != _WEAK:
                            raise CodeObjectError(
                                f"the code object needs {name!r}, which it does not define: {demangle(name)} "
                                "must be in the same source (device code is linked without libraries)."
                            )
                if type_ != _RELATIVE64 and type_ not in _RELOCATIONS:
                    raise CodeObjectError(
                        f"the code object has a relocation of unknown type {type_} at {address:#x}."
                    )
                size = 8 if type_ == _RELATIVE64 else _RELOCATIONS[type_][1]
                if address + size > self.image_size:
                    raise CodeObjectError(
                        f"the code object is damaged: a relocation at {address:#x} is outside its "
                        f"image of {self.image_size:#x} bytes."
                    )
                yield Relocation(address, type_, name, value, defined, addend)

    @cached_property
    def text(self) -> Text:
        """The machine code of the section."""
        section = self.layout.section(".text")
        if section is not None and section.type == _PROGBITS:
            return Text(section.address, self.layout.content(section))
        for segment in self._segments:
            if segment.executable:
                start = segment.file_offset
                return Text(segment.address, self.data[start : start + segment.file_size])
        return Text(0, b"")

    def _read_kernel(self, name: str, record: Mapping[str, Any]) -> KernelInfo:
        symbol_name = record[".symbol"]
        symbol = self.symbols.get(symbol_name)
        if symbol is None:
            raise CodeObjectError(
                f"kernel {name!r} has no descriptor symbol {symbol_name!r}: the code object is damaged."
            )
        descriptor = KernelDescriptor.from_bytes(
            self.read(symbol.address, KernelDescriptor.SIZE), self.target
        )
        entry = symbol.address + descriptor.entry_offset
        function = self.symbols.get(name)
        end = self.text.address + len(self.text.data)
        is_empty = function is not None and not function.size and self._has_nothing_at(entry)
        if not is_empty and not self.text.address <= entry < end:
            raise CodeObjectError(
                f"kernel {name!r} begins at {entry:#x}, outside the code at {self.text.address:#x}: "
                "the code object is damaged."
            )
        size = 0 if is_empty else function.size if function and function.size else end - entry
        required = record.get(".reqd_workgroup_size")
        kernel = KernelInfo(
            name=name,
            demangled=demangle(name),
            descriptor=descriptor,
            descriptor_address=symbol.address,
            entry=entry,
            size=min(size, end - entry),
            args=tuple(
                KernelArg(
                    name=str(arg.get(".name", "")),
                    offset=_size(name, arg, ".offset"),
                    size=_size(name, arg, ".size"),
                    value_kind=str(arg.get(".value_kind", "by_value")),
                    type_name=str(arg.get(".type_name", "")),
                    address_space=str(arg.get(".address_space", "")),
                    is_const=bool(arg.get(".is_const", False)),
                )
                for arg in record.get(".args", ())
            ),
            metadata=MappingProxyType(dict(record)),
            kernarg_size=_size(name, record, ".kernarg_segment_size", descriptor.kernarg_size),
            kernarg_align=_size(name, record, ".kernarg_segment_align", 8),
            group_segment_size=_size(name, record, ".group_segment_fixed_size", 0),
            private_segment_size=_size(name, record, ".private_segment_fixed_size", 0),
            max_workgroup_size=_size(name, record, ".max_flat_workgroup_size", 1024),
            required_workgroup_size=(
                (int(required[0]), int(required[1]), int(required[2])) if required else None
            ),
            sgpr_count=_size(name, record, ".sgpr_count", descriptor.sgpr_count),
            vgpr_count=_size(name, record, ".vgpr_count", descriptor.vgpr_count),
            agpr_count=_size(name, record, ".agpr_count", 0),
            sgpr_spill_count=_size(name, record, ".sgpr_spill_count", 0),
            vgpr_spill_count=_size(name, record, ".vgpr_spill_count", 0),
            uses_dynamic_stack=bool(record.get(".uses_dynamic_stack", descriptor.uses_dynamic_stack)),
        )
        declared = _size(name, record, ".wavefront_size", kernel.wave_size)
        if declared != kernel.wave_size:
            raise CodeObjectError(
                f"kernel {name!r} has waves of {kernel.wave_size} lanes by its descriptor, and of {declared} "
                f"by its metadata, on {self.target}: the code object is damaged."
            )
        for arg in kernel.args:
            if arg.offset + arg.size > max(kernel.kernarg_size, MAX_ARGUMENT_BYTES):
                raise CodeObjectError(
                    f"the code object is damaged: argument {arg.name!r} of kernel {name!r} ends at "
                    f"byte {arg.offset + arg.size} of an argument block of {kernel.kernarg_size}."
                )
        return kernel

    def wave_size_at(self, address: int) -> int:
        """Lanes of the waves that run an instruction: those of its kernel or, in a function, any kernel's."""
        kernels = self.kernels.values()
        around = next((k for k in kernels if k.entry <= address < k.entry + k.size), None)
        kernel = around or next(iter(kernels), None)
        return wave_size(self.target) if kernel is None else kernel.wave_size

    @cached_property
    def _functions_with_code(self) -> frozenset[int]:
        return frozenset(s.address for s in self.symbols.of_kind("function") if s.size)

    def _has_nothing_at(self, address: int) -> bool:
        """True if a function of size 0 that begins at `address` has no instructions.

        An assembly source may omit the size of a function that has instructions. Then its code follows,
        rather than another function or only the padding at the end.
        """
        if address in self._functions_with_code:
            return True
        rest = address - self.text.address
        return 0 <= rest <= len(self.text.data) and is_padding(self.text.data, rest)

    def read(self, address: int, size: int) -> bytes:
        """`size` bytes of the unrelocated image from virtual address `address`.

        Raises CodeObjectError if no segment has all of them.
        """
        for segment in self._segments:
            offset = address - segment.address
            if offset >= 0 and offset + size <= segment.memory_size:
                start = segment.file_offset + offset
                stop = min(start + size, segment.file_offset + segment.file_size)
                return self.data[start : max(start, stop)].ljust(size, b"\0")
        raise CodeObjectError(
            f"the code object has no {size} bytes at {address:#x} (its image has {self.image_size:#x} bytes)."
        )

    def variable(self, name: str) -> Symbol | None:
        """A variable in the image; None if there is none of that name.

        Raises CodeObjectError if it is not inside the image.
        """
        symbol = self.symbols.get(name)
        if symbol is None or symbol.kind != "object":
            return None
        if symbol.address + symbol.size > self.image_size:
            raise CodeObjectError(
                f"the code object is damaged: variable {name!r} at {symbol.address:#x} is outside its image "
                f"of {self.image_size:#x} bytes."
            )
        return symbol

    def load(self, base: int) -> bytearray:
        """The image as it lies in memory when virtual address 0 is at device address `base`.

        The result has `image_size` bytes, segments at their virtual addresses, gaps and .bss zero, all
        relocations applied.
        """
        image = bytearray(self.image_size)
        data = memoryview(self.data)
        for segment in self._segments:
            content = data[segment.file_offset : segment.file_offset + segment.file_size]
            image[segment.address : segment.address + segment.file_size] = content
        for relocation in self.relocations:
            place = relocation.address
            if relocation.type == _RELATIVE64:
                size, value = 8, base + relocation.addend
            else:
                _, size, formula = _RELOCATIONS[relocation.type]
                symbol = base + relocation.symbol_value if relocation.defined else 0
                value = formula(symbol, base + place, relocation.addend)
            image[place : place + size] = (value & (1 << 8 * size) - 1).to_bytes(size, "little")
        return image

    def __repr__(self) -> str:
        return (
            f"CodeObject({self.processor}, v{self.version}, kernels: {first_names(self.kernels) or 'none'})"
        )


def _target_of(arch: str | None) -> str | None:
    """The target to choose code for; None for a generic processor's code, or any."""
    plain = plain_target(arch) if arch is not None else None
    return None if plain in GENERICS else plain


def _size(kernel: str, record: Mapping[str, Any], key: str, default: int | None = None) -> int:
    """A size or a count of the metadata, which is 32 bits wide wherever the device reads it."""
    value = record.get(key, default)
    if type(value) is not int or not 0 <= value < 1 << 32:
        raise CodeObjectError(
            f"the code object is damaged: {key} of kernel {kernel!r} is {value!r}; expected a number from 0 "
            "to 2**32 - 1. Recompile it."
        )
    return value
