"""The bits of single instructions: every conversion, transcendental and matrix instruction of the target.

There is one kernel per instruction, made from its record: it fills as many registers as the operands have,
runs the instruction as assembly, and stores the result. Half of the operands are ordinary numbers of the
instruction's type, half are random bits, which include infinities, NaNs and denormals. On the emulated side
matrix instructions have the published arithmetic of an MI300X, if the target has it (docs/numerics.md).
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from workbench.codeobject.instructions import Form, Keeps, Trait, forms
from workbench.hardware import bits
from workbench.hardware.section import Answer, Case, Compared, Plan, Section
from workbench.kernel import compile
from workbench.targets import target

if TYPE_CHECKING:
    from workbench.runtime import Device

_WAVES = 32
_TYPES = {"f64": "float64", "bf16": "bfloat16", "f16": "float16"}
"""PyTorch's names for ordinary numbers; all other types have 32 bits."""


def _chosen(arch: str) -> Iterator[Form]:
    traits = Trait.TRANSCENDENTAL | Trait.CONVERTS
    for form in forms(arch).values():
        plain = form.is_plain and form.is_vector and not form.gives_scales
        if plain and (form.record.matrix is not None or traits & form.record.traits):
            yield form


def _cases(plan: Plan) -> list[Case]:
    rank = {form.opcode: (form.record.matrix is None, form.opcode) for form in _chosen(plan.arch)}
    cases = [Case(name) for name in sorted(rank, key=rank.__getitem__)]
    return cases[::4] if plan.quick else cases


def _vector(width: int) -> str:
    return f"unsigned __attribute__((ext_vector_type({width})))" if width > 1 else "unsigned"


def source(form: Form) -> tuple[str, list[int], int]:
    """A kernel `run(const unsigned *in, unsigned *out)`, dwords of each operand, and those of the result."""
    written = next(entry for entry in form.entries if entry.role in ("=", "+"))
    read = [entry for entry in form.entries if entry is not written]
    keeps = form.record.keeps is not Keeps.NOTHING or written.role == "+"
    operands = [*([written] if keeps else []), *read]
    lines, offset = [], 0
    names = {}
    for n, entry in enumerate(operands):
        names[id(entry)] = f"x{n}"
        lines.append(f"    {_vector(entry.width)} x{n};")
        lines.append(f"    __builtin_memcpy(&x{n}, mine + {offset}, {4 * entry.width});")
        offset += entry.width
    if not keeps:
        names[id(written)] = "d"
        lines.append(f"    {_vector(written.width)} d;")
    result = names[id(written)]
    numbers = {id(written): 0, **{id(entry): n + 1 for n, entry in enumerate(read)}}
    printed = ", ".join(f"%{numbers[id(entry)]}" for entry in form.entries)
    inputs = ", ".join(f'"v"({names[id(entry)]})' for entry in read)
    # The compiler does not insert wait states around inline assembly: operands and result are given time to
    # settle.
    idle = "s_nop 15\\ns_nop 15\\n"
    output = "+v" if keeps else "=&v"
    lines.append(
        f'    asm volatile("{idle}{form.mnemonic} {printed}\\n{idle}" : "{output}"({result}) : {inputs});'
    )
    text = "\n".join(
        (
            'extern "C" __attribute__((global)) void __attribute__((amdgpu_flat_work_group_size(64, 64)))',
            "run(const unsigned *in, unsigned *out) {",
            "    const unsigned group = __builtin_amdgcn_workgroup_id_x();",
            "    const unsigned at = group * 64 + __builtin_amdgcn_workitem_id_x();",
            f"    const unsigned *mine = in + at * {offset};",
            *lines,
            f"    __builtin_memcpy(out + at * {written.width}, &{result}, {4 * written.width});",
            "}",
        )
    )
    return text, [entry.width for entry in operands], written.width


def _inputs(form: Form, widths: Sequence[int], wave_size: int) -> np.ndarray:
    """Dwords `[lanes, all operands]`: a wave of ordinary numbers, then one of random bits, and so on."""
    lanes = _WAVES * wave_size
    seed = zlib.crc32(form.opcode.encode())
    chance = bits.random_words(lanes * sum(widths), seed).reshape(lanes, -1)
    ordinary = _ordinary(form, chance.size, seed).reshape(chance.shape)
    waves = np.arange(lanes) // wave_size % 2
    return np.where(waves[:, None] == 0, ordinary, chance)


def _ordinary(form: Form, dwords: int, seed: int) -> np.ndarray:
    """Numbers around 1 of the type that the name ends with, or of 32 bits."""
    import torch

    generator = torch.Generator().manual_seed(seed)
    matrix = form.record.matrix
    kind = matrix.type_a if matrix is not None else form.source_type
    dtype: torch.dtype = getattr(torch, _TYPES.get(kind, "float32"))
    count = dwords * 4 // dtype.itemsize
    values = torch.randn(count, generator=generator, dtype=torch.float64).to(dtype)
    words: np.ndarray = values.view(torch.uint8).numpy().view(np.uint32).copy()
    return words


def _measure(case: Case, device: Device, folder: Path) -> Answer:
    import torch

    form = next(candidate for candidate in _chosen(device.arch) if candidate.opcode == case.name)
    text, widths, result = source(form)
    wave_size = int(target(device.arch).wave_size)
    module = compile(text, arch=device.arch, name=f"{form.opcode}.hip")
    inputs = torch.from_numpy(_inputs(form, widths, wave_size).view(np.int32)).to(device.torch_device)
    out = torch.zeros(_WAVES * wave_size * result, dtype=torch.int32, device=device.torch_device)
    module["run"][_WAVES, wave_size](inputs, out)
    matrix = form.record.matrix
    floats = {"f32": torch.float32, "f64": torch.float64}.get(matrix.type_d) if matrix is not None else None
    seen = out if floats is None else out.view(floats)
    return {"types": bits.keep(folder, {"d": seen}), "numerics": device.numerics}


def _compare(subject: Answer, reference: Answer, subject_folder: Path, reference_folder: Path) -> Compared:
    wrong, total, distances = bits.differing(subject["types"], subject_folder, reference_folder)
    if not wrong:
        return True, f"all {total:,} results have the same bits"
    return False, bits.distance_text(distances)


SECTION = Section(
    "instructions",
    "Single instructions, bit by bit: matrix instructions, conversions, transcendental functions",
    0.15,
    _cases,
    _measure,
    _compare,
)
