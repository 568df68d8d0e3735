"""The table of executed instructions: every instruction of each target, from the registries.

The opcode table in workbench/codeobject/instructions/isa names all that LLVM decodes for a target; only the
registries say whether an instruction is executed, and this page is made from both.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

from workbench.codeobject.encodings_gfx11 import SCALE, layouts
from workbench.codeobject.instructions import DECODED, Form, forms
from workbench.emulator.native.ops import NATIVE
from workbench.emulator.semantics import NO_OPERATION, SEMANTICS
from workbench.emulator.semantics.executed import operation
from workbench.targets import NAMES, PARTIAL

EXECUTED, NOTHING, REFUSED = "executed", "no-op", "refused"


@dataclass(frozen=True, slots=True)
class Entry:
    """One mnemonic of a target.

    Attributes:
        family: name of the encoding, which includes its DPP and SDWA forms.
        mnemonic: mnemonic in LLVM's form.
        opcode: without the encoding's suffix.
        state: "executed", "no-op" or "refused".
        reason: why it is refused; empty otherwise.
    """

    family: str
    mnemonic: str
    opcode: str
    state: str
    reason: str = ""


def entry(family: str, form: Form) -> Entry:
    """The registries' facts about one instruction."""
    mnemonic, opcode = form.mnemonic, form.opcode
    if opcode in NO_OPERATION:
        return Entry(family, mnemonic, opcode, NOTHING)
    if opcode in SEMANTICS or opcode in NATIVE or (form.gives_scales and _takes_scales(form)):
        return Entry(family, mnemonic, opcode, EXECUTED)
    if reason := form.record.not_compute:
        return Entry(family, mnemonic, opcode, REFUSED, f"not compute: {reason}")
    return Entry(family, mnemonic, opcode, REFUSED, "not yet")


def _takes_scales(scale: Form) -> bool:
    """True if MFMAs with scales are executed: their two words are one instruction with the MFMA's name."""
    return any(
        form.scaled(scale).opcode in NATIVE for form in forms(scale.target).values() if form.record.matrix
    )


def entries(target: str) -> tuple[Entry, ...]:
    """Every mnemonic of a target, by family and opcode number; one that several numbers share appears once.

    Raises:
        CodeObjectError: no table for that target.
    """
    by_mnemonic: dict[str, Entry] = {}
    for (family, _), form in forms(target).items():
        by_mnemonic.setdefault(form.mnemonic, entry(family, form))
    return tuple(by_mnemonic.values())


def document(tested: Mapping[str, Collection[str]]) -> str:
    """The page, as Markdown.

    Args:
        tested: opcodes of each later target whose results tests compare there; none where it is missing.
    """
    tables = {target: entries(target) for target in sorted(NAMES)}
    parts = (_head(tables), _families(tables), _decoded_only(tested), _refused(tables), _all(tables))
    return "\n".join((*(line for part in parts for line in part), ""))


def _counts(selection: Iterable[Entry]) -> tuple[int, int, int]:
    states = [item.state for item in selection]
    return states.count(EXECUTED), states.count(NOTHING), states.count(REFUSED)


def _missing(selection: Iterable[Entry]) -> int:
    return sum(item.reason == "not yet" for item in selection)


def _head(tables: Mapping[str, tuple[Entry, ...]]) -> Iterator[str]:
    yield "# Instructions of the emulated device"
    yield ""
    yield "`python docs/made.py` makes this page from the opcode table (everything that LLVM decodes for a"
    yield "target) and the registries of the emulator; a test keeps it equal to both. A no-op does nothing"
    yield "when it executes: waits, priorities and cache hints, since the device runs in order and has no"
    yield "caches. If an instruction has a form that no compiler emits (a DPP control without meaning, say),"
    yield "the device refuses it before the launch, with its text and source line."
    yield ""
    yield "| Target | Mnemonics | Executed | No-op | Refused, not compute | Refused, not yet |"
    yield "| --- | ---: | ---: | ---: | ---: | ---: |"
    for target, table in tables.items():
        executed, nothing, refused = _counts(table)
        missing = _missing(table)
        yield f"| {target} | {len(table)} | {executed} | {nothing} | {refused - missing} | {missing} |"


def _families(tables: Mapping[str, tuple[Entry, ...]]) -> Iterator[str]:
    families = dict.fromkeys(item.family for table in tables.values() for item in table)
    yield ""
    yield "## By family"
    yield ""
    yield "Executed + no-op + refused."
    yield ""
    yield f"| Family | {' | '.join(tables)} |"
    yield f"| --- |{' ---: |' * len(tables)}"
    for family in families:
        cells = []
        for table in tables.values():
            counts = _counts(item for item in table if item.family == family)
            cells.append(" + ".join(map(str, counts)) if any(counts) else "")
        yield f"| {family} | {' | '.join(cells)} |"


def _is_executed(opcode: str) -> bool:
    return opcode in SEMANTICS or opcode in NATIVE or opcode in NO_OPERATION


_NOT_NAMED = "named barriers, which AMD's pseudocode of RDNA4 does not begin"
_REASONS: tuple[tuple[str, str, str], ...] = (
    # Opcode, targets or "" for all, and why it is refused.
    (r"s_barrier_(init|join)", "gfx1100 gfx1200 gfx1201", _NOT_NAMED),
    (r"s_barrier_leave", "gfx1200 gfx1201", _NOT_NAMED),
    (r"s_barrier_leave|s_wakeup_barrier", "", "no source says what becomes of the barrier's signals"),
    (r"s_rfe_\w+|tensor_(save|stop)", "", "belongs to a trap handler, which the device does not have"),
    (r"s_sendmsg_rtn_b32", "", "which result hardware sends is not published"),
    (r"s_alloc_vgpr", "", "dynamic VGPR mode: a wave has the registers of its kernel's descriptor"),
    (r"s_movrelsd_2_b32", "", "M0 selects scalar registers, which translated code has to know"),
    (r"v_cvt_sr_pk_f16_f32", "", "sources differ about which random bits it adds"),
    (
        r"s_waitcnt(_\w+)?",
        "gfx1200 gfx1201",
        "LLVM decodes it here, and assembles it for older targets alone",
    ),
    (
        r"s_subvector_loop_\w+",
        "",
        "a loop over the halves of 64 lanes, which clang never emits; AMD's guide leaves its branch "
        "unclear (Mesa's notes on RDNA)",
    ),
    (r"(v|ds)_(interp|param|direct|bvh)\w+|global_atomic_ordered\w+|s_gl1_inv", "", "graphics"),
)


def refusal(target: str, opcode: str) -> str:
    """Why an opcode of a later target is refused."""
    for pattern, names, reason in _REASONS:
        if re.fullmatch(pattern, opcode) and (not names or target in names.split()):
            return reason
    return "not yet"


def _is_refused(target: str, form: Form) -> bool:
    if form.format == SCALE:
        # One instruction with the V_WMMA after it, which has the name.
        return False
    named = any(
        re.fullmatch(pattern, form.opcode) and target in names.split() for pattern, names, _ in _REASONS
    )
    return named or not _is_executed(operation(form))


def without_meaning(target: str) -> tuple[str, ...]:
    """Opcodes of a later target that the emulated device refuses."""
    known = {form.opcode: form for form in forms(target).values()}
    return tuple(opcode for opcode, form in known.items() if _is_refused(target, form))


def _decoded_only(tested: Mapping[str, Collection[str]]) -> Iterator[str]:
    yield ""
    yield "## Later targets"
    yield ""
    running = ", ".join(target.name for target in PARTIAL)
    yield f"Of these the device runs those of {running},"
    yield "refuses opcodes without a meaning by name, and refuses code of the other targets. The command"
    yield "`python -m workbench disassemble FILE` prints it. An opcode has a meaning if the device has its"
    yield "operation, under gfx9's name for it or its own: those of gfx1100 and gfx1201 that gfx9 has too"
    yield "were compared with AMD's pseudocode, the others go by their names. Of graphics, only the names are"
    yield "known. Tested are those in the code that tests run on the very target and compare with exact"
    yield "arithmetic, NumPy or PyTorch; `python tests/emulator/tested_opcodes.py` records them. Targets with"
    yield "one table of opcodes (gfx1100 to gfx1103, gfx1200 and gfx1201) are tested as one of them."
    yield ""
    yield "| Target | Opcodes | gfx9's operation | Its own | Tested | Refused | Graphics |"
    yield "| --- | ---: | ---: | ---: | ---: | ---: | ---: |"
    for target in sorted(name for name in DECODED if name not in NAMES):
        opcodes = {form.opcode: form for form in forms(target).values()}
        missing = without_meaning(target)
        graphics = sum(layouts(target)[opcodes[name].format].named_only for name in missing)
        shared = sum(bool(form.meaning) for name, form in opcodes.items() if name not in missing)
        own = len(opcodes) - len(missing) - shared
        meant = opcodes.keys() - set(missing)
        seen = len(meant & set(tested.get(target, ()))) or ""
        counts = len(opcodes), shared, own, seen, len(missing) - graphics, graphics
        yield f"| {target} | {' | '.join(map(str, counts))} |"
    yield ""
    yield "Refused, graphics aside, where the device runs code:"
    yield ""
    yield "| Opcodes | Targets | Why |"
    yield "| --- | --- | --- |"
    reasons: dict[tuple[str, str], list[str]] = {}
    by_opcode: dict[tuple[str, str], list[str]] = {}
    for target in (target.name for target in PARTIAL):
        for opcode, form in {form.opcode: form for form in forms(target).values()}.items():
            if _is_refused(target, form) and not layouts(target)[form.format].named_only:
                by_opcode.setdefault((opcode, refusal(target, opcode)), []).append(target)
    for (opcode, reason), targets in by_opcode.items():
        reasons.setdefault((" ".join(targets), reason), []).append(opcode)
    for (targets_text, reason), opcodes_of in sorted(reasons.items(), key=lambda item: item[0][::-1]):
        yield f"| {', '.join(f'`{opcode}`' for opcode in opcodes_of)} | {targets_text} | {reason} |"
    yield ""
    yield "What sources say differently about gfx1250: rocjitsu has 4 and 6 bits in V_WMMA_*_F8F6F4 without"
    yield "scales in another order than with them, the device in the same. It selects the scales of"
    yield "V_CVT_SCALE by two bits in a lane's own register; the device, as LLVM's MLIR, by all of scale_sel"
    yield "in registers of sixteen lanes. It divides by all of the scale of V_CVT_SCALEF32; the device, as on"
    yield "gfx950, by the power of two in its exponent. Indices of V_SWMMAC are as in rocjitsu and AMD's"
    yield "FPSan; rocjitsu says that AMD's ISA guide has others for K = 128. A copy that names several"
    yield "work-groups of a cluster is each one's own: in HipKittens' and AITER's kernels all of them do it."


def _targets_of(tables: Mapping[str, tuple[Entry, ...]]) -> dict[Entry, list[str]]:
    result: dict[Entry, list[str]] = {}
    for target, table in tables.items():
        for item in table:
            result.setdefault(item, []).append(target)
    return result


def _where(tables: Mapping[str, tuple[Entry, ...]], targets: list[str]) -> str:
    return "" if len(targets) == len(tables) else ", ".join(targets)


def _refused(tables: Mapping[str, tuple[Entry, ...]]) -> Iterator[str]:
    yield ""
    yield "## Refused"
    yield ""
    yield "| Mnemonic | Targets | Why |"
    yield "| --- | --- | --- |"
    for item, targets in _targets_of(tables).items():
        if item.state == REFUSED:
            yield f"| {item.mnemonic} | {_where(tables, targets) or 'all'} | {item.reason} |"


def _all(tables: Mapping[str, tuple[Entry, ...]]) -> Iterator[str]:
    for target in sorted(name for name in DECODED if name not in NAMES):
        yield ""
        yield f"Without a meaning on {target}: {', '.join(f'`{name}`' for name in without_meaning(target))}."
    yield ""
    yield "## All"
    yield ""
    yield "No mark: executed on every target. ○: no-op. ✗: refused. In brackets: the targets that have it."
    marks = {EXECUTED: "", NOTHING: "○", REFUSED: "✗"}
    groups: dict[str, list[str]] = {}
    for item, targets in _targets_of(tables).items():
        where = _where(tables, targets)
        text = f"`{item.mnemonic}`{marks[item.state]}{f' ({where})' if where else ''}"
        groups.setdefault(item.family, []).append(text)
    for family, texts in groups.items():
        yield ""
        yield f"### {family}"
        yield ""
        yield ", ".join(texts)
