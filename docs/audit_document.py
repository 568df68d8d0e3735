"""Results of audits of published kernels, and the part of the page that is made from them.

    python docs/audit_document.py                                  # writes the page
    python docs/audit_document.py audit.json --project NAME --revision COMMIT   # stores an audit first

`data/audit.jsonl` has a line for each kernel source and target: the record of `workbench.audit`, with project
and revision. A stored audit replaces what is there of the same project and revision, source and target.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

DOCS = Path(__file__).resolve().parent
for folder in (DOCS.parent, DOCS.parent / "tests"):
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))

import page_parts  # type: ignore[import-not-found]  # noqa: E402

from workbench.audit.certainty import Certainty  # noqa: E402
from workbench.audit.records import (  # noqa: E402
    KernelRecord,
    Report,
    Result,
    proof_sentence,
    repair_sentence,
)

DATA = DOCS / "data" / "audit.jsonl"
PAGE = DOCS / "audit.md"
BEGIN, END = "<!-- audits: begin -->\n", "<!-- audits: end -->\n"
LONGEST = 110


@dataclass(frozen=True)
class Row:
    """A kernel source that was audited.

    Attributes:
        project: name of the project.
        revision: its commit.
        kernel: the result.
    """

    project: str
    revision: str
    kernel: KernelRecord

    @property
    def key(self) -> tuple[str, str, str, str]:
        return self.project, self.revision, self.kernel.source, self.kernel.target


def stored() -> list[Row]:
    """The results on file."""
    rows = []
    for line in DATA.read_text(encoding="utf-8").splitlines() if DATA.exists() else ():
        data = json.loads(line)
        project, revision = data.pop("project"), data.pop("revision")
        rows.append(Row(project, revision, KernelRecord.of_data(data)))
    return rows


def store(rows: Sequence[Row]) -> None:
    """Adds results, and replaces those of the same kernel sources."""
    merged = {row.key: row for row in (*stored(), *rows)}
    lines = [
        json.dumps({"project": r.project, "revision": r.revision, **asdict(r.kernel)}, ensure_ascii=False)
        for r in merged.values()
    ]
    DATA.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def rows_of(report: Report, project: str, revision: str) -> list[Row]:
    """Rows of a report; times of this computer are left out."""
    return [
        Row(project, revision, replace(kernel, build_seconds=0.0, run_seconds=0.0))
        for kernel in report.kernels
    ]


LETTERS = {
    "kernels/gemm/mxfp8/MXFP8_4wave/4_wave.cu": """\
Thank you for publishing this kernel: it reads well, and its schedule is worth learning from. We believe
that its main loop overwrites two tiles in LDS a little too early.

- Line 182 reads `As[curr][1]` (`load(a[1], ...)`), and line 184 starts the asynchronous load that
  overwrites it for iteration `k + 2`. No wait and no barrier lies between them, so the load may land before
  this wave's read, and before those of the other three waves.
- Line 174 reads `Bs[curr][1]`, and line 183 starts the load that overwrites it. The `s_waitcnt lgkmcnt(0)`
  of line 177 makes a wave wait for its own reads; nothing makes it wait for the other waves'.

On a GPU a load from memory takes hundreds of cycles and the reads are usually over by then, which is why a
test there can pass. On the emulated device, where one wave may run ahead and loads may land at once, the
program's own check fails. The barrier at the top of the loop does not help: it comes before the reads. One
wait and one barrier before line 183 keep both pairs in order. With it, the program's check passes and
nothing else is found. We have not measured the cost on a GPU; the model says 2 %.
""",
    "kernels/gemm/bf16fp32/256_256_64_32_with16x32.cpp": """\
Thank you for this kernel, from whose schedule we have learnt much. We believe that one of its waits comes
two barriers too late.

- Line 177 reads `Bs[1][0]` from LDS. Line 128 loads it for the first iteration, and line 203 for the
  later ones.
- Between the load and the read, no wait covers it. Where line 177 is reached, twelve loads of a wave may
  be in flight: two each of `Bs[1][0]`, `As[1][0]` and `Bs[1][1]`, which the `vmcnt(6)` of line 132 or 225
  leaves, and two each of lines 142, 155 and 166. The `vmcnt(6)` of line 179, which covers `Bs[1][0]`,
  follows the read.
- A wave's own wait is not enough, since it reads what all eight waves have loaded; and because of line
  122 half of them are one barrier behind. The last barrier that these have passed when the others read is
  that of line 167.

So `vmcnt(10)` before the barrier of line 167 is the weakest wait that orders the pair: with `vmcnt(11)`
the sanitizer still reports it, with `vmcnt(10)` it reports nothing, and the results are right. On a GPU
the load has at least three products of tiles to arrive in, which is why a test there can pass. The model
sees no cost.
""",
    "kernels/gemm/bf16fp32/micros/192x256/kernelv2.cpp": """\
Thank you for sharing this experiment with tiles of 192 rows. We believe that its waits leave one load too
many in flight for half of the waves.

- Half a tile of `A` is 96 x 64 bf16, 12 KB: one and a half copies by 512 threads of 16 bytes. So waves 0 to
  3 issue two loads for it, and waves 4 to 7 one (`leftover_warps` in the group's `load`). Half a tile of `B`
  is two loads for every wave.
- The `vmcnt(4)` of line 104 leaves `Bs[0][1]` and `As[0][1]` in flight, four loads, in waves 0 to 3. In
  waves 4 to 7 these are three, and the fourth is `As[0][0]`, which line 120 reads. The `vmcnt(6)` that follow
  have the same effect in each step.

A count of three instead of four, and of five instead of six, would fit waves 4 to 7, at the price of one load
less in flight in the others. We have tried neither. `kernel.cpp` beside it is clean.
""",
    "kernels/torch_scaled/scaled_matmul.cu": """\
Thank you for this example. Two pairs of accesses to LDS are not ordered; the tiles are those of the bf16
kernel, but here `A` is loaded before `B`.

- Line 196 reads `Bs[toc][0]`, which line 137 loaded in the last iteration. Eight loads of a wave may be
  in flight by then (two each of lines 126, 137, 147 and 164), and the `vmcnt(4)` that covers it follows
  in line 197. As half of the waves are one barrier behind (line 92), it has to come before the barrier of
  line 186.
- Line 126 overwrites `As[tic][0]`, which line 112 reads. When the first half of the waves is there, the
  second has only passed the barrier of line 115, before which `lgkmcnt(8)` waits for the reads of `B`,
  and not for the eight of `A`.

With `s_waitcnt lgkmcnt(0)` before line 115 and `s_waitcnt vmcnt(4)` before line 186 the program's check
passes and the sanitizer reports nothing. Cheaper, and as in the bf16 kernel: exchange lines 126 and 137,
and lines 98 and 99, so that `B`, whose reads are waited for, is overwritten first. Then a wait before
line 186 is enough; with `vmcnt(6)` nothing is reported. We have tried both on the emulated device alone.
""",
    "kernels/gemm/mxfp8/MXFP8_8wave/8_wave_NN.cu": """\
Thank you for these kernels, which are a pleasure to compare with the 4-wave one. Two remarks; the first has
no effect that we know of.

- `pack_scales` always reads four groups of 16 rows. `B` has 32 rows a wave (`REG_N`), so lines 136, 143,
  188, 189 and 246, 247 read 32 rows too many. For `scale_B_smem[0]` these are rows of `scale_B_smem[1]`,
  into which line 125 is loading at that time; for `scale_B_smem[1]` and the last wave they lie up to 128
  bytes past the end of the kernel's shared memory. The bytes that come of it are those of operand
  selections 2 and 3, which no matrix instruction takes here. To read `REG_N / 16` groups would be
  enough. (The first wait of the repair below hides it, and is not what we would do.)
- Line 249 reads `As[tic][0]` for the last step, which line 194 loaded. Half of the waves are one barrier
  behind because of line 119, so the wait has to come before the barrier before the last: that of line 226,
  `vmcnt(4)`, leaves the four loads of lines 194 and 195 in flight, of which two are this tile's. With
  `vmcnt(2)` there, the finding is gone and the program's check passes.

The loads have two products of tiles to arrive in, and in 16 orders of waves and loads the results were right.
""",
    "kernels/gemm/mxfp8/MXFP8_8wave/8_wave_NT.cu": """\
As in `8_wave_NN.cu`: `pack_scales` reads 32 rows of `B`'s scales too many (lines 140 and 243 are past the end
of shared memory), without an effect that we know of; and the `vmcnt(4)` of line 222 leaves in flight the
loads of line 192, which line 245 reads. `vmcnt(2)` covers them.
""",
    "kernels/gemm/bf16fp32/micros/producer_consumer/16x32/archive/micro_06_async.cpp": """\
We know that this is an archive, and report it since whoever copies the idea may copy this, too. Thread 0 sets
the counters in shared memory to 0 (lines 89 to 98), and the leaders of the other waves add to them in lines
109 to 131, with no barrier in between. If a wave adds first, its 1 is lost, and the loop that waits for it
(`while (prod_cntA[0][warp_id] < 1)`) does not end. In the order of waves below the launch fails. A
`__syncthreads()` after line 99 orders them, before the main loop.
""",
    "kernels/gemm/bf16fp32/micros/producer_consumer/16x32/archive/micro_07_async.cpp": """\
As in `micro_06_async.cpp`: counters in shared memory are set to 0 by thread 0, and added to by others, with
no barrier in between. `__syncthreads()` before line 101 orders them.
""",
    "kernels/attn/gqa_causal/kernel.cpp": """\
Two places of this kernel have fewer wait states than AMD's guide for CDNA4 (table 38) asks for between a
matrix instruction of 8 passes and a VALU instruction that reads its result: 12. The first is not the
authors'.

- **LLVM's**, 6 of 12, lines 285 and 294. `col_max` follows `mma_AtB` directly, or by way of `mask_kv_tile` if
  the tile needs a mask. LLVM's hazard recognizer visits each block once on its way back from an instruction
  (`getWaitStatesSince` keeps one set of visited blocks). Coming by the mask first, it counts 11 and puts in
  `s_nop 0`; the direct way, which most waves take, is then skipped, and has 6. A reduced example shows the
  same in LLVM 22.1.8: 5 wait states where it puts 12 without the other way. `__builtin_amdgcn_s_nop(5)`
  behind the `if` would be enough.
- 11 of 12, lines 100 and 285: `v_cndmask_b32_e64` in the assembly of `mask_vec2_imm` reads a result of
  `mma_AtB`. LLVM neither counts inside of assembly nor looks for such a reader there. An `s_nop 0` at the
  beginning of the assembly is enough.

We do not know what hardware does then; it may well be that `col_max` takes an older value. A maximum that is
a little off does not change an online softmax much, so that a test there would hardly see it. The same holds
for `kernel_d64.cpp` and, with lines 79, 239 and 248, for the `attn_fwd_causal.cpp` of `gqa_causal_backwards`,
`analysis` and `training`.
""",
    "kernels/quantization/fused_fp8_quant/kernel.cpp": """\
Thank you for this collection, whose tests can be run kernel by kernel. We believe that this kernel normalizes
with weights for the first row only.

- The weights go to shared memory under `if (row == 0)`. Shared memory belongs to a work-group, and each row
  is one: those of the other rows never write `norm_buf` before line 64 reads it as the weight.
- Lines 198 and 206 store what comes of it: scales and quantized values of all rows but the first.

Without the `if`, each work-group loads them; the loop is short. Its test counts elements that are not 0, so
that it passes either way.
""",
    "kernels/moe-misc/moe_routing_sigmoid_top1_fused/kernel.cpp": """\
The authors know that this kernel does not work yet (`KERNEL_STATUS.md`: direct writes to register tiles).
What the sanitizer adds: `packed_idx` goes up to 15, but a base tile of `rt_fl<16, TILE_N>` has fewer pairs a
lane, so lines 186 and 197 read and write past the end of the array, which is in scratch because of its
dynamic index.
""",
    "analysis/attn/bkwd/benchmark/attn_bkwd_non_causal_8_warps.cpp": """\
A remark without an effect that we know of: `load(L_smem[...])` and `load(delta_smem[...])` in lines 164, 165,
228 and 310 are those of a wave, so each of the eight waves loads the same vector to the same place. The bytes
are equal, and in 16 orders of waves and loads so were the results. With `G::load`, one copy would do.
""",
}
"""What one would tell the authors, in Markdown, by source."""


NOTES = {
    "m8than/amd-kernels": """\
Checked by the functions that the project's `tests` have for each module, unless the text names a reference of
ours. Its `KERNEL_STATUS.md` lists `solve_tril` and `moe_routing_sigmoid_top1_fused` as not working. Modules
of both targets are built with our headers, as the project has none.
""",
    "HipKittens, branch cdna3 (fork AviralGoelAMD/HipKittens)": """\
The folders `mi350x` are for the headers of another branch. The matrix products were not reached.
""",
    "AITER, Triton kernels (ROCm/aiter)": """\
The smallest case of each test function, in those of its 108 files that were reached; autotuned kernels have
their first configuration. In `test_extend_attention.py` several waves write the same values to LDS by
`ds_write2_b32`. The sanitizer reported these writes as races; this was its mistake, and it is mended.
""",
    "Composable Kernel's tile examples (wheel amd-aiter)": """\
The first examples, with small arguments.
""",
    "GPU MODE's reference kernels (gpu-mode/reference-kernels)": """\
The template in HIP, checked by the problem's reference at m 64 and 192. Submissions were not audited yet.
""",
}
"""Remarks about an audit, by project."""


def page() -> str:
    """The page, with what follows from the results."""
    rows = stored()
    parts = ["\n## Projects\n\n", *_summary(rows), "\n## Findings\n", *_findings(rows)]
    parts += ["\n## Kernel sources\n", *_tables(rows), "\n"]
    return str(page_parts.replace(PAGE.read_text(encoding="utf-8"), BEGIN, "".join(parts), END))


def _projects(rows: Sequence[Row]) -> dict[tuple[str, str], list[KernelRecord]]:
    projects: dict[tuple[str, str], list[KernelRecord]] = {}
    for row in rows:
        projects.setdefault((row.project, row.revision), []).append(row.kernel)
    return projects


def _summary(rows: Sequence[Row]) -> Iterator[str]:
    yield f"| project | commit | {' | '.join(Result)} | with findings | date |\n"
    yield f"| --- | --- |{' ---: |' * (len(Result) + 1)} --- |\n"
    for (project, revision), kernels in _projects(rows).items():
        counts = Counter(kernel.result for kernel in kernels)
        found = sum(bool(kernel.findings) for kernel in kernels)
        numbers = [counts[result] for result in Result]
        cells = (project, f"`{_abbreviated(revision)}`", *numbers, found, _dates(kernels))
        yield f"| {' | '.join(map(str, cells))} |\n"


def _abbreviated(revision: str) -> str:
    """The first digits of a commit; a version as it is."""
    return revision[:8] if len(revision) == 40 else revision


def _dates(kernels: Sequence[KernelRecord]) -> str:
    return ", ".join(sorted({kernel.date for kernel in kernels}))


def _findings(rows: Sequence[Row]) -> Iterator[str]:
    with_findings = [row for row in rows if _is_listed(row)]
    # What has a letter comes first.
    for row in sorted(with_findings, key=lambda row: row.kernel.source not in LETTERS):
        kernel = row.kernel
        yield f"\n### {kernel.source}, {kernel.target}\n\n"
        yield f"{row.project} at `{_abbreviated(row.revision)}`, {kernel.date}. "
        yield f"Result: **{kernel.result}** (`{_short(kernel.text)}`)"
        yield f", run with {', '.join(kernel.sizes)}.\n" if kernel.sizes else ".\n"
        if letter := LETTERS.get(kernel.source):
            yield f"\n{letter}"
        yield "\n"
        yield from _causes(kernel)
        if kernel.proof is not None:
            yield f"\n{proof_sentence(kernel.proof)}\n"
        if kernel.repair is not None:
            yield f"\nCertified repair: {repair_sentence(kernel.repair)}.\n"
            yield f"\n```diff\n{kernel.repair.patch.rstrip()}\n```\n"


def _causes(kernel: KernelRecord) -> Iterator[str]:
    """A line for each category, certainty and pair of source lines."""
    sums: dict[tuple[str, str, str, str], list[int]] = {}
    for finding in kernel.findings:
        lines = [place.line for place in (finding.place, finding.related) if place is not None]
        distinct = dict.fromkeys(lines)
        where = f"{'line' if len(distinct) == 1 else 'lines'} {' and '.join(map(str, distinct))}"
        key = (finding.category, finding.certainty, where, finding.kernel)
        counts = sums.setdefault(key, [0, 0])
        counts[0] += finding.count
        counts[1] += finding.instructions
    for (category, certainty, where, name), (count, instructions) in sums.items():
        noun = "instruction" if instructions == 1 else "instructions"
        yield f"- {category}, {certainty}, {where}: `{name}`, "
        yield f"{count:,} times from {instructions} {noun}.\n"


def _is_listed(row: Row) -> bool:
    """Whether a kernel has findings beyond rules of the hardware, which the table counts, or a letter."""
    is_sure = any(finding.certainty is not Certainty.HARDWARE_RULE for finding in row.kernel.findings)
    return is_sure or (row.kernel.source in LETTERS and bool(row.kernel.findings))


_FOLDED = (Result.FAILS, Result.NOT_BUILT, Result.NOT_RUN)
"""Results whose kernel sources are listed by the reason, if they have no findings."""


def _tables(rows: Sequence[Row]) -> Iterator[str]:
    for (project, revision), kernels in _projects(rows).items():
        yield f"\n### {project} at `{_abbreviated(revision)}`\n\n{_dates(kernels)}.\n"
        if project in NOTES:
            yield f"\n{NOTES[project]}"
        listed = [kernel for kernel in kernels if kernel.findings or kernel.result not in _FOLDED]
        if listed:
            yield "\n| kernel source | target | result | findings | checked, or the reason |\n"
            yield "| --- | --- | --- | --- | --- |\n"
        for kernel in listed:
            found = Counter(f"{f.category} ({f.certainty})" for f in kernel.findings)
            findings = ", ".join(f"{number} {name}" for name, number in found.items())
            text = _short(kernel.text).replace("|", "\\|")
            cells = (kernel.source, kernel.target, kernel.result, findings, text and f"`{text}`")
            yield f"| {' | '.join(map(str, cells))} |\n"
        yield from _folded([kernel for kernel in kernels if kernel not in listed])


def _folded(kernels: Sequence[KernelRecord]) -> Iterator[str]:
    """Kernel sources without a result, by the reason, the most frequent first."""
    reasons: dict[tuple[Result, str], dict[str, list[str]]] = {}
    for kernel in kernels:
        sources = reasons.setdefault((kernel.result, _short(kernel.text) or "it launched nothing"), {})
        sources.setdefault(kernel.source, []).append(kernel.target)
    if reasons:
        yield "\n"
    for (result, reason), sources in sorted(reasons.items(), key=lambda item: -len(item[1])):
        names = ", ".join(
            f"{source} ({' and '.join(filter(None, places))})" if any(places) else source
            for source, places in sources.items()
        )
        yield f"- **{result}**, `{reason}`: {names}\n"


def _short(text: str) -> str:
    text = " ".join(text.replace("`", "'").split())
    return text if len(text) <= LONGEST else f"{text[:LONGEST]} ..."


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("report", nargs="?", type=Path, help="audit.json to store first")
    parser.add_argument("--project", help="name of the audited project")
    parser.add_argument("--revision", help="commit; default: the report's")
    options = parser.parse_args(arguments)
    if options.report is not None:
        report = Report.of_json(options.report.read_text(encoding="utf-8"))
        revision = options.revision or report.revision
        if not options.project or not revision:
            parser.error("a report needs --project, and --revision if it has none itself")
        store(rows_of(report, options.project, revision))
    PAGE.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
