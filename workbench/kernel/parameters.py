"""Parameters of a kernel as its debug info describes them: structs, `gl`s, streams, elements of tensors."""

from __future__ import annotations

from functools import lru_cache

from workbench import dtypes
from workbench.codeobject.debug import Field, Type
from workbench.errors import ArgumentError
from workbench.targets import target

AXES = ("batch", "depth", "rows", "cols")
"""The four axes of a `gl`, outermost first; a tensor of fewer dimensions is aligned to the right."""


def torch_dtypes(element: Type | str | None, arch: str) -> tuple[str, ...]:
    """Names of PyTorch dtypes that hold elements of a C++ type; empty if any dtype fits (void, structs).

    The first is the one that messages name.
    """
    if element is None:
        return ()
    if isinstance(element, str):
        return _torch_dtypes(element, arch)
    return _torch_dtypes(element.name, arch) or _torch_dtypes(element.alias, arch)


# Cached, because every launch asks this for each of its tensors.
@lru_cache(1024)
def _torch_dtypes(name: str, arch: str) -> tuple[str, ...]:
    bare = dtypes.bare(name)
    # The tile library's names mean the target's own encoding; HIP's say which one they mean.
    types = (t for t in dtypes.spelled(bare) if bare != t.cpp or target(arch).has(t))
    return tuple(dtype for data_type in types for dtype in data_type.torch)


def is_gl(kind: Type) -> bool:
    """True for a `gl`, the tile library's view of global memory."""
    names = {m.name for m in kind.members}
    return kind.kind == "struct" and _bare_template(kind.name) in ("gl", "gl_strided") and "raw_ptr" in names


def gl_dims(kind: Type) -> tuple[int, int, int, int]:
    """The compile-time dimensions (b, d, r, c) of a `gl`; -1 if one is given at run time."""
    values = [v for v in kind.template[1:] if isinstance(v, int)][: len(AXES)]
    if len(values) != len(AXES):
        raise ArgumentError(
            f"{kind.name}: expected a gl<T, b, d, r, c>, found template arguments {kind.template}"
        )
    b, d, r, c = values
    return b, d, r, c


def _bare_template(name: str) -> str:
    return dtypes.bare(name.partition("<")[0])


def is_plain_struct(kind: Type) -> bool:
    return kind.kind == "struct" and not is_gl(kind)


def is_to_const(pointer: Type) -> bool:
    """True for a pointer to const, through which no kernel writes."""
    return pointer.target is not None and pointer.target.name.startswith("const ")


def is_empty(kind: Type) -> bool:
    return kind.kind == "struct" and not kind.members


def is_optional(member: Field) -> bool:
    """True for a HIP stream: the workbench launches on its own stream."""
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
