"""Verdicts on published submissions, and the part of the page that is made from them.

    python docs/judged_document.py                                # writes the page
    python docs/judged_document.py VERDICTS SOURCES.toml          # stores verdicts first

VERDICTS is the folder that `python -m workbench judge --out` wrote. SOURCES.toml says where each submission
was published:

    problem = "amd/fp8-mm"
    ["name"]
    repository = "owner/name"
    revision = "commit"
    file = "path/in/it.py"
    time = 108.9         # microseconds, if its author published one
    source = "its file's name"

`data/judged.json` has the verdicts by repository and file; nothing of a submission's code is stored.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

DOCS = Path(__file__).resolve().parent
for folder in (DOCS.parent, DOCS.parent / "tests", DOCS.parent / "tests" / "benchmarks"):
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))

import judge_ranks  # type: ignore[import-not-found]  # noqa: E402
import page_parts  # type: ignore[import-not-found]  # noqa: E402

from workbench.judge.verdicts import Result, Verdict, ranks  # noqa: E402

DATA = DOCS / "data" / "judged.json"
PAGE = DOCS / "judged.md"
BEGIN, END = "<!-- verdicts: begin -->\n", "<!-- verdicts: end -->\n"
LONGEST = 160
ADDRESS = re.compile(r" at 0x[0-9a-f]{8,}")

REMARKS = {
    "GPU_MODE/156.5.py": """\
Thank you for publishing the whole way from here to 108.9 us. We believe that one scalar lacks the second
buffer that the tiles have. `B_scale_shared` is read at the beginning of each step of the main loop (line 248
of the HIP source), and the last thread writes the next step's scale to it at the end (line 341). No barrier
lies between them, so a wave that is late may multiply by the scale of the next step. `B_scale_shared[2]`,
with `curr` and `next` as for the tiles, would order them; so does reading the scale before the barrier. On a
GPU all waves have usually read it by then, and results are right here, too.
""",
    "fp8_gemm.py": """\
Its `results.txt` lists measurements of many tile sizes on an MI300X. The best at this benchmark is 16.9 us,
with the launch that transposes.
""",
    "GPU_MODE/Fp8/108.9us.py": """\
A remark that harms nothing on a GPU: at m = 64 the kernel reads `a_scale` up to 256 bytes past its end, since
a tile has 128 rows. The values are not used. At k = 256, where the tensor fills its block of PyTorch's
allocator, an earlier run of the judge stopped there.
""",
}
"""Remarks to the authors, in Markdown, by file."""


class Row:
    """A submission that was judged.

    Attributes:
        source: repository, revision, file, and its published time with the source of that, if there is one.
        verdict: the verdict, whose name is repository and file.
    """

    def __init__(self, data: Mapping[str, Any]) -> None:
        self.source: Mapping[str, Any] = data["source"]
        self.verdict = Verdict.of_json(json.dumps(data["verdict"]))


def stored() -> dict[str, Any]:
    """What is on file: problem, device, date and submissions."""
    data: dict[str, Any] = json.loads(DATA.read_text(encoding="utf-8"))
    return data


def store(verdicts: Path, sources: Path, device: str, date: str) -> None:
    """Stores the verdicts of a folder in place of those on file."""
    known = tomllib.loads(sources.read_text(encoding="utf-8"))
    problem = known.pop("problem")
    submissions = []
    for file in (verdicts / "submissions").glob("*.json"):
        verdict = Verdict.of_json(file.read_text(encoding="utf-8"))
        source = known[verdict.submission]
        # Times of this computer are left out, and operators' numbers of calls.
        name = f"{source['repository']} {source['file']}"
        verdict = replace(verdict, submission=name, digest="", seconds=0.0, operators=None)
        submissions.append({"source": source, "verdict": json.loads(verdict.to_json())})
    submissions.sort(key=lambda row: (row["source"]["repository"], row["source"]["file"]))
    data = {"problem": problem, "device": device, "date": date, "submissions": submissions}
    DATA.write_text(json.dumps(data, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def page() -> str:
    """The page, with what follows from the verdicts."""
    data = stored()
    rows = [Row(row) for row in data["submissions"]]
    parts = [*_summary(data, rows), "\n", *_table(rows), "\n", *_ranking(rows), *_remarks(rows)]
    return str(page_parts.replace(PAGE.read_text(encoding="utf-8"), BEGIN, "".join(parts), END))


def _summary(data: Mapping[str, Any], rows: Sequence[Row]) -> Iterator[str]:
    counts = Counter(row.verdict.result for row in rows)
    results = ", ".join(f"{counts[result]} {result}" for result in Result if counts[result])
    cases = {(case.role, case.name) for row in rows for case in row.verdict.cases}
    yield f"\n{len(rows)} submissions to `{data['problem']}`, judged on {data['date']} as on "
    yield f"{data['device']}: {results}.\n\n"
    for role in ("test", "benchmark"):
        sizes = sorted({name for kind, name in cases if kind == role})
        yield f"- {role}s: {'; '.join(sizes)}\n"


def _table(rows: Sequence[Row]) -> Iterator[str]:
    places = ranks([row.verdict for row in rows])
    order = sorted(rows, key=lambda row: (row.verdict.time is None, row.verdict.time or 0.0))
    yield "| rank | submission | result | modelled time (us) | 80 % range | published (us) | why |\n"
    yield "| ---: | --- | --- | ---: | ---: | ---: | --- |\n"
    for row in order:
        verdict, source = row.verdict, row.source
        span = f"{verdict.low:.3g} to {verdict.high:.3g}" if verdict.low and verdict.high else ""
        cells = (
            places.get(verdict.submission, ""),
            f"{source['repository']}, {source['file']}",
            verdict.result,
            f"{verdict.time:.3g}" if verdict.time is not None else "",
            span,
            f"{source['time']:g}" if "time" in source else "",
            _short(verdict.text) or ("with a note" if verdict.notes else ""),
        )
        yield f"| {' | '.join(map(str, cells))} |\n"


def _ranking(rows: Sequence[Row]) -> Iterator[str]:
    published = {row.verdict.submission: row.source["time"] for row in rows if "time" in row.source}
    timed = [row.verdict for row in rows if row.verdict.submission in published]
    both = sum(verdict.time is not None for verdict in timed)
    yield f"{len(published)} of the submissions have a published time, and {both} of these a modelled one"
    if both > 1:
        yield f"; Kendall's tau of their ranks: {judge_ranks.tau(timed, published):.2f}"
    yield ".\n"
    for row in rows:
        if "time" in row.source:
            source = row.source
            yield f"\n- {source['repository']}, {source['file']}: {source['time']:g} us, "
            yield f"from {source['source']}"
    yield "\n"


def _remarks(rows: Sequence[Row]) -> Iterator[str]:
    for row in rows:
        file = row.source["file"]
        notes = row.verdict.notes
        if file in REMARKS or notes:
            yield f"\n### {row.source['repository']}, {file}\n\n"
            remark = REMARKS.get(file, "")
            yield remark + "\n" if remark and notes else remark
            yield "".join(f"- note: {_short(note)}\n" for note in notes)


def _short(text: str) -> str:
    # Addresses differ from run to run.
    text = ADDRESS.sub("", text)
    text = " ".join(text.replace("|", "\\|").replace("`", "'").split())
    return text if len(text) <= LONGEST else f"{text[:LONGEST]} ..."


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("verdicts", nargs="?", type=Path, help="folder of verdicts to store first")
    parser.add_argument("sources", nargs="?", type=Path, help="TOML file that says where they were published")
    parser.add_argument("--device", default="MI300X", help="device of the modelled times")
    parser.add_argument("--date", help="date of the verdicts")
    options = parser.parse_args(arguments)
    if options.verdicts is not None:
        if options.sources is None or not options.date:
            parser.error("verdicts need SOURCES.toml and --date")
        store(options.verdicts, options.sources, options.device, options.date)
    PAGE.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
