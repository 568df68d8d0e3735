"""Debian's ROCm libraries and llama.cpp on the emulated device, by their own tests, and a table of it.

    python tests/debian_libraries.py ROOT [LIBRARY ...] [--device DEVICE] [--timeout S] [--write]

ROOT is a folder with Debian sid and `PACKAGES`; mmdebstrap makes it unless it is there: 2 GB of downloads,
12 GB on disk. LIBRARY: those of `SAMPLES` alone. Each program runs as Debian built it in that root, by
`python -m workbench exec` and a mount namespace of its own (`unshare`), in which the root has this Python and
the workbench's cache too. Debian's code objects are for gfx90a and others, none for gfx942, so DEVICE is an
MI210 by default. S: seconds for each sample. `--write` stores the results in
`tests/data/debian_libraries.json`, and updates the table in docs/exec.md.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import page_parts

from workbench import cache, paths

REPOSITORY = Path(__file__).resolve().parents[1]
STORE = page_parts.StoredResults(
    page_parts.DATA / "debian_libraries.json",
    page_parts.DOCS / "exec.md",
    "<!-- Debian's libraries -->\n",
    "<!-- end of Debian's libraries -->\n",
    depth=2,
)
DEVICE = "MI210"
TIMEOUT = 600
CASES = 8
"""Tests of each function of a listing."""
_SHORT = "/var/tmp/tests.data"

Record = dict[str, str | int]


@dataclass(frozen=True)
class Listing:
    """A library's file of all of its tests: a header, and records of one size.

    A test program reads its whole listing again for each of its test functions, before it looks at a filter:
    with rocBLAS's 1.6 million records for more than 400 s, none of it in HIP. So a sample is a short listing.

    Attributes:
        file: in the root.
        header: bytes of the header.
        record: bytes of a record.
        function: where a record has the name of the test's function, in 64 bytes.
        category: and where it has the word for how long the test takes.
    """

    file: str
    header: int
    record: int
    function: int
    category: int

    def short(self, listing: bytes, functions: Collection[str], count: int, category: str = "quick") -> bytes:
        """A listing of up to `count` records of each function, evenly spaced among those of a category."""
        places: dict[str, list[int]] = {function: [] for function in functions}
        for start in range(self.header, len(listing), self.record):
            function = self._word(listing, start + self.function)
            if function in places and self._word(listing, start + self.category) == category:
                places[function].append(start)
        short = bytearray(listing[: self.header])
        for starts in places.values():
            for number in range(min(count, len(starts))):
                start = starts[number * len(starts) // min(count, len(starts))]
                short += listing[start : start + self.record]
        return bytes(short)

    @staticmethod
    def _word(listing: bytes, start: int) -> str:
        return listing[start : start + 64].partition(b"\0")[0].decode("ascii", "replace")


@dataclass(frozen=True)
class Sample:
    """Tests of a library.

    Attributes:
        package: that has the program.
        program: in the root.
        arguments: the tests to run.
        doc: what the tests do.
        listing: of the library's tests, None where the program has them.
        functions: those of the listing that the sample has `CASES` tests of.
        problems: arguments of one run each, after `arguments`, for a program that takes one problem.
    """

    package: str
    program: str
    arguments: tuple[str, ...]
    doc: str
    listing: Listing | None = None
    functions: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()


def _rocm(library: str, program: str) -> str:
    return f"/usr/libexec/rocm/{library}-tests/{program}"


_TRANSFORMS = (
    "pow2_1D/accuracy_test*complex_forward_len_8_single_*",
    "rocfft_UnitTest.1D_hermitian_single_small",
    "rocfft_UnitTest.default_*single",
    "rocfft_UnitTest.hipGraph_execution",
    "rocfft_UnitTest.plan_description*",
)

_PRODUCTS = (
    "-m 128 -n 128 -k 64 -r f16_r",
    "-m 96 -n 80 -k 48 -r f16_r --transA T --bias_vector --activation_type gelu",
    "-m 128 -n 64 -k 64 -r bf16_r --transB T --beta 1 --batch_count 2",
    "-m 65 -n 33 -k 17 -r f32_r",
    # Up to a length of 600, the program's own reference sums products of doubles in a float.
    "-m 608 -n 32 -k 32 -r f64_r --compute_type f64_r",
    "-m 64 -n 64 -k 64 -r i8_r --compute_type i32_r",
)
"""hipblaslt-bench's problems: sizes, types, transposed matrices, epilogues."""

SAMPLES: Mapping[str, tuple[Sample, ...]] = {
    "rocRAND": tuple(
        Sample("librocrand1-tests", _rocm("librocrand1", f"test_rocrand_{name}"), (), doc)
        for name, doc in (
            ("basic", "generators: made, seeded, set on streams"),
            ("kernel_philox4x32_10", "Philox in kernels, with its distributions"),
            ("kernel_xorwow", "XORWOW in kernels, with its distributions"),
        )
    ),
    "rocBLAS": (
        Sample(
            "librocblas4-tests",
            _rocm("librocblas4", "rocblas-test"),
            (),
            "sums, dot products, matrix products and triangular systems in all types",
            Listing("/usr/share/librocblas4-tests/data/rocblas_gtest.data", 592, 576, 0, 128),
            ("scal", "axpy", "dot", "nrm2", "gemv", "gemm", "gemm_ex", "gemm_strided_batched", "trsm"),
        ),
    ),
    "hipBLASLt": (
        Sample(
            "libhipblaslt1-bench",
            _rocm("libhipblaslt1", "hipblaslt-bench").replace("-tests/", "-bench/"),
            ("-v", "-i", "1", "-j", "0"),
            "matrix products of all types that it has for gfx90a, compared with the CPU's",
            problems=_PRODUCTS,
        ),
    ),
    "rocPRIM": (
        Sample(
            "librocprim-tests",
            _rocm("librocprim", "test_warp_reduce"),
            ("--gtest_filter=RocprimWarpReduceTestsIntegral/?.*",),
            "sums of a wave's numbers",
        ),
        Sample(
            "librocprim-tests",
            _rocm("librocprim", "test_block_scan"),
            ("--gtest_filter=*Integral*/0.*",),
            "running sums of a work-group's numbers",
        ),
    ),
    "rocFFT": (
        Sample(
            "librocfft0-tests",
            _rocm("librocfft0", "rocfft-test"),
            # The program draws some of its tests by the seed. It compiles kernels for each of them.
            ("--seed", "1", f"--gtest_filter={':'.join(_TRANSFORMS)}"),
            "transforms of short lengths, with plans, graphs and callbacks",
        ),
    ),
    "rocSPARSE": (
        Sample(
            "librocsparse1-tests",
            _rocm("librocsparse1", "rocsparse-test"),
            (),
            "sparse vectors, matrices times vectors and matrices",
            Listing("/usr/share/librocsparse1-tests/data/rocsparse_test.data", 788, 768, 539, 667),
            ("axpyi", "doti", "gthr", "coomv", "csrmv", "csrmm", "csrsv"),
        ),
    ),
    "ggml (llama.cpp)": (
        Sample(
            "llama.cpp-tests",
            "/usr/libexec/x86_64-linux-gnu/llama.cpp-tests/test-backend-ops",
            ("test", "-o", "ADD,SUM_ROWS", "-b", "ROCm0"),
            "additions and sums of rows against the CPU's",
        ),
    ),
}
PACKAGES = (
    "libggml0-backend-hip",
    "libhipblaslt1",
    "librocprim-tests",
    *sorted({s.package for samples in SAMPLES.values() for s in samples}),
)


_MIRROR = "http://deb.debian.org/debian"


def make_root(root: Path, packages: Sequence[str] = PACKAGES, newest: Sequence[str] = ()) -> None:
    """Installs packages of Debian sid and what they need into a new root.

    Args:
        newest: names with wildcards; Debian experimental's version of these is taken where it has one.
    """
    # A mirror that lags, or a snapshot, has a Release file that is signed but too old for apt.
    age = 'Acquire::Check-Valid-Until "false"'
    words = ["mmdebstrap", "--variant=minbase", f"--aptopt={age}", f"--include={','.join(packages)}"]
    sources = [_MIRROR]
    if newest:
        # apt prefers sid to experimental, except at equal priorities.
        pin = f"Package: {' '.join(newest)}\nPin: release a=experimental\nPin-Priority: 500\n"
        words.append(f"--setup-hook=printf %s {shlex.quote(pin)} >$1/etc/apt/preferences.d/newest")
        sources.append(f"deb {_MIRROR} experimental main")
    subprocess.run([*words, "sid", str(root), *sources], check=True)


_CARD = "devices/pci0000:00/0000:01:00.0"
_DRIVER_FILES = {
    f"{_CARD}/vendor": "0x1002",
    "class/kfd/kfd/topology/nodes/0/gpu_id": "4711",
    "class/kfd/kfd/topology/nodes/0/name": "aldebaran",
    # The place on the bus is 256: bus 1, device 0.
    "class/kfd/kfd/topology/nodes/0/properties": "\n".join(
        f"{name} {value}"
        for name, value in {
            "simd_count": 416,
            "simd_per_cu": 4,
            "array_count": 8,
            "simd_arrays_per_engine": 1,
            "cu_per_simd_array": 14,
            "drm_render_minor": 128,
            "location_id": 256,
            "domain": 0,
            "unique_id": 4711,
            "hive_id": 0,
        }.items()
    ),
}
"""Files below /sys."""


def describe_driver(root: Path) -> None:
    """Writes what ROCm SMI reads of the driver: hipblaslt-bench looks up the device by its PCI bus there."""
    for name, text in _DRIVER_FILES.items():
        file = root / "sys" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{text}\n")
    (root / "sys/class/kfd/kfd/topology/nodes/0/io_links").mkdir(exist_ok=True)
    (root / "sys/class/drm").mkdir(exist_ok=True)
    for name in ("card0", "renderD128"):
        (root / "sys" / _CARD / "drm" / name).mkdir(parents=True, exist_ok=True)
        for link, target in (
            (f"class/drm/{name}", f"../../{_CARD}/drm/{name}"),
            (f"{_CARD}/drm/{name}/device", "../.."),
        ):
            path = root / "sys" / link
            if not path.is_symlink():
                path.symlink_to(target)


_INSIDE = """set -e
root=$1; shift
for folder in $FOLDERS; do mkdir -p "$root$folder"; mount --rbind "$folder" "$root$folder"; done
exec chroot "$root" "$@"
"""


def command(root: Path, sample: Sample) -> list[str]:
    """The program, started in the root, which also contains this Python and the workbench."""
    words = ["unshare", "--mount", "--map-root-user", "sh", "-c", _INSIDE, "sh", str(root)]
    listing = ("--data", _SHORT) if sample.listing is not None else ()
    program = [sample.program, *listing, *sample.arguments]
    if sample.problems:
        # Each problem is one word for the shell, which splits it.
        program = [
            "sh",
            "-c",
            f"for problem; do {shlex.join(program)} $problem; done",
            "sh",
            *sample.problems,
        ]
    return [*words, *program]


def folders() -> str:
    """Folders of this machine that the root needs for the library that the program loads."""
    needs = (sys.base_prefix, sys.prefix, str(Path(paths.__file__).parents[1]), str(cache.folder()))
    return " ".join(dict.fromkeys(("/proc", "/dev", "/tmp", *needs)))


_COUNTS = (
    # googletest's, and test-backend-ops'.
    re.compile(
        r"\[  PASSED  \] (?P<passed>\d+) tests?\.(?:.*?\[  FAILED  \] (?P<failed>\d+) tests?)?", re.DOTALL
    ),
    re.compile(r"(?P<passed>\d+)/(?P<total>\d+) tests passed"),
)
_PROBLEM = re.compile(r"^\[\d+\]:(?P<names>.*norm_error.*)\n(?P<values>.*)$", re.MULTILINE)
_LARGEST_ERRORS = {"f64_r": 2**-51, "f32_r": 2**-22, "f16_r": 2**-9, "bf16_r": 2**-6, "i8_r": 0.0}
"""hipblaslt-bench prints the norm of the error, relative to the result's, and leaves the verdict to its
reader: four times the rounding error of the result's type, since the order of the sums differs."""
_LAUNCHES = re.compile(r"^hipkittens: (\d+) launch", re.MULTILINE)
_CAUSE = re.compile(
    r"^hipkittens: (?!\d+ launch).*|.*\berror\b.*|.*(?:terminate called|what\(\):).*", re.M | re.I
)


def cause_of(output: str, status: int) -> str:
    """Why a program failed: what it or the device said first, or its exit status."""
    cause = _CAUSE.search(output)
    return cause[0].strip()[:200] if cause else f"exit status {status}"


def outcome(output: str, status: int | None) -> Record:
    """The record of a sample's output.

    Args:
        status: its exit status; None where it was stopped at its time limit.
    """
    record: Record = {"passed": 0, "failed": 0}
    for match in (match for pattern in _COUNTS for match in pattern.finditer(output)):
        parts = match.groupdict()
        passed = int(parts["passed"])
        record["passed"] = passed
        record["failed"] = int(parts.get("failed") or 0) or int(parts.get("total") or passed) - passed
    for match in _PROBLEM.finditer(output):
        # One problem prints both lines, with as many columns.
        row = dict(zip(match["names"].split(","), match["values"].split(","), strict=True))
        # An error that is not a number is a failure.
        is_right = float(row["norm_error"]) <= _LARGEST_ERRORS[row["d_type"].strip()]
        record["passed" if is_right else "failed"] += 1  # type: ignore[operator]
    launches = _LAUNCHES.search(output)
    record["launches"] = int(launches[1]) if launches else 0
    if status is None:
        record["passed"] = len(re.findall(r"\[       OK \]|\x1b\[1;32mOK\x1b", output))
        record["cause"] = "stopped at the time limit"
    elif status or record["failed"] or not record["passed"]:
        record["cause"] = cause_of(output, status)
    return record


def output_of(words: Sequence[str], environment: Mapping[str, str], timeout: float) -> tuple[str, int | None]:
    """Output and exit status of a command; None where it was stopped at its time limit, with its children."""
    with subprocess.Popen(
        words, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True
    ) as process:
        status: int | None = None
        try:
            output, _ = process.communicate(timeout=timeout)
            status = process.returncode
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            output, _ = process.communicate()
    return output.decode("utf-8", "replace"), status


def execute(root: Path, sample: Sample, device: str, timeout: float) -> tuple[str, int | None]:
    """Runs a program in the root; see `output_of`."""
    words = [sys.executable, "-m", "workbench", "exec", "--device", device, "--", *command(root, sample)]
    variables = {"FOLDERS": folders(), "HIPKITTENS_CACHE": str(cache.folder())}
    return output_of(words, {**os.environ, **variables}, timeout)


def run(root: Path, sample: Sample, device: str, timeout: float) -> Record:
    """Runs one sample in the root."""
    describe_driver(root)
    if (listing := sample.listing) is not None:
        every_test = (root / listing.file[1:]).read_bytes()
        (root / _SHORT[1:]).write_bytes(listing.short(every_test, sample.functions, CASES))
    return outcome(*execute(root, sample, device, timeout))


def table(results: Mapping[str, Mapping[str, Record]]) -> str:
    """Markdown with a row for each sample."""
    lines = ["| library | tests | device | passed | failed | launches | why not |", "| --- " * 7 + "|"]
    for library, samples in sorted(results.items(), key=lambda item: item[0].casefold()):
        for name, record in sorted(samples.items()):
            cause = str(record.get("cause", "")).replace("|", "/")
            numbers = " | ".join(str(record[key]) for key in ("device", "passed", "failed", "launches"))
            lines.append(f"| {library} | `{name}`: {record['doc']} | {numbers} | {cause} |")
    return "\n".join(lines) + "\n"


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("root", type=Path)
    parser.add_argument("libraries", nargs="*", metavar="LIBRARY", help=", ".join(SAMPLES))
    parser.add_argument("--device", default=DEVICE)
    parser.add_argument("--timeout", type=float, default=TIMEOUT)
    parser.add_argument("--write", action="store_true", help="keep it, and write the page")
    options = parser.parse_intermixed_args(arguments)
    unknown = set(options.libraries) - set(SAMPLES)
    if unknown:
        parser.error(f"{', '.join(sorted(unknown))}: expected some of {', '.join(SAMPLES)}")
    if not options.root.is_dir():
        make_root(options.root)
    results = STORE.read()
    for library in options.libraries or SAMPLES:
        for sample in SAMPLES[library]:
            record = run(options.root.absolute(), sample, options.device, options.timeout)
            name = Path(sample.program).name
            results.setdefault(library, {})[name] = {**record, "device": options.device, "doc": sample.doc}
            print(table({library: {name: results[library][name]}}).splitlines()[-1], flush=True)
            if options.write:
                STORE.write(results, table(results))


if __name__ == "__main__":
    main(sys.argv[1:])
