"""Parameters of a kernel as its debug info describes them: structs, `gl`s, streams, elements of tensors."""

from __future__ import annotations

from collections.abc import Mapping

from workbench.codeobject.debug import Field, Type
from workbench.errors import ArgumentError
from workbench.targets import target

AXES = ("batch", "depth", "rows", "cols")
"""The four axes of a `gl`, outermost first; a tensor of fewer dimensions is aligned to the right."""

# PyTorch dtypes that may stand for an element type; the first is the one that messages name. Signedness is
# forgiven where PyTorch has (or had) no unsigned type of that width.
_DTYPES: Mapping[str, tuple[str, ...]] = {
    "float": ("float32",),
    "double": ("float64",),
    "__bf16": ("bfloat16",),
    "bf16": ("bfloat16",),
    "__hip_bfloat16": ("bfloat16",),
    "hip_bfloat16": ("bfloat16",),
    "_Float16": ("float16",),
    "__half": ("float16",),
    "half": ("float16",),
    "__fp16": ("float16",),
    "bool": ("bool",),
    "char": ("int8", "uint8"),
    "signed char": ("int8",),
    "unsigned char": ("uint8",),
    "short": ("int16",),
    "unsigned short": ("uint16", "int16"),
    "int": ("int32",),
    "unsigned int": ("uint32", "int32"),
    "long": ("int64",),
    "long long": ("int64",),
    "unsigned long": ("uint64", "int64"),
    "unsigned long long": ("uint64", "int64"),
    "__hip_fp8_e4m3": ("float8_e4m3fn",),
    "__hip_fp8_e4m3_fnuz": ("float8_e4m3fnuz",),
    "__hip_fp8_e5m2": ("float8_e5m2",),
    "__hip_fp8_e5m2_fnuz": ("float8_e5m2fnuz",),
    "fp8e8m0": ("uint8", "float8_e8m0fnu"),
    # Several numbers in a byte, which PyTorch has no type for.
    "fp4e2m1_2": ("uint8",),
    "int4_2": ("uint8", "int8"),
    "uint4_2": ("uint8",),
}


def _bare(name: str) -> str:
    return name.replace("const ", "").replace("volatile ", "").rpartition("::")[2].strip()


def torch_dtypes(element: Type | str | None, arch: str) -> tuple[str, ...]:
    """Names of PyTorch dtypes that hold elements of a C++ type; empty where any will do (void, structs)."""
    if element is None:
        return ()
    names = (element,) if isinstance(element, str) else (element.name, element.alias)
    fp8 = target(arch).fp8
    # The tile library's names mean the target's own encoding; HIP's say which one they mean.
    own = {"fp8e4m3": (fp8.e4m3,), "fp8e5m2": (fp8.e5m2,)} if fp8 is not None else {}
    for name in names:
        bare = _bare(name)
        found = own.get(bare) or _DTYPES.get(bare)
        if found:
            return found
    return ()


def is_gl(kind: Type) -> bool:
    """Whether a type is a `gl`, the tile library's view of global memory."""
    names = {m.name for m in kind.members}
    return kind.kind == "struct" and _bare_template(kind.name) in ("gl", "gl_strided") and "raw_ptr" in names


def gl_dims(kind: Type) -> tuple[int, int, int, int]:
    """The compile-time dimensions (b, d, r, c) of a `gl`; -1 where one is given at run time."""
    values = [v for v in kind.template[1:] if isinstance(v, int)][: len(AXES)]
    if len(values) != len(AXES):
        raise ArgumentError(
            f"{kind.name}: expected a gl<T, b, d, r, c>, found template arguments {kind.template}"
        )
    b, d, r, c = values
    return b, d, r, c


def _bare_template(name: str) -> str:
    return _bare(name.partition("<")[0])


def is_plain_struct(kind: Type) -> bool:
    return kind.kind == "struct" and not is_gl(kind)


def is_empty(kind: Type) -> bool:
    return kind.kind == "struct" and not kind.members


def is_optional(member: Field) -> bool:
    """A HIP stream: the workbench launches on its own."""
    kind = member.type
    names = f"{kind.name} {kind.alias} {kind.target.name if kind.target else ''}"
    return (
        member.name == "stream" and kind.kind == "pointer" and ("ihipStream" in names or "hipStream" in names)
    )


def members_text(kind: Type) -> str:
    return ", ".join(
        m.name + (" (optional)" if is_optional(m) else "") for m in kind.members if not is_empty(m.type)
    )


def text(parameter: Field) -> str:
    kind = parameter.type
    if is_plain_struct(kind):
        inner = "; ".join(f"{_type_text(m.type)} {m.name}" for m in kind.members if not is_empty(m.type))
        return f"{_type_text(kind)} {parameter.name} {{{inner}}}"
    return f"{_type_text(kind)} {parameter.name}"


def _type_text(kind: Type) -> str:
    """A type as the source calls it; a `gl` in full, because its dimensions are what a caller must fit."""
    return kind.name.replace("kittens::", "") if is_gl(kind) else kind.alias or kind.name
