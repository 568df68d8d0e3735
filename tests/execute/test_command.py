"""Programs that were linked with AMD's libraries run unmodified on the emulated device."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import needs
import pytest
import torch

import workbench as wb
from workbench.errors import UsageError
from workbench.execute.command import run
from workbench.execute.folder import environment, rocm_folder
from workbench.origin import Figure, Origin
from workbench.runtime.tally import KernelTally, Tally
from workbench.toolchain import CompileOptions, compile_device, zig

HERE = Path(__file__).parent
KERNELS = """#include <hip/hip_runtime.h>
extern "C" __global__ void twice(float *x) {
#ifdef UNINITIALISED
  __shared__ float row[64];
  if (x[0] < 0) row[threadIdx.x] = 1;
  x[threadIdx.x] = row[63 - threadIdx.x];
#endif
  x[threadIdx.x] *= 2;
}
"""
VERSIONS = "hip_4.2 { hipMalloc; hipFree; hipMemcpy; hipModule*; };"

EARLY = "int hipFree(void *); __attribute__((constructor)) static void early(void) { hipFree(0); }"

Link = Callable[..., Path]


def compile_c(*words: object) -> None:
    command = [sys.executable, "-m", "ziglang", "cc", "-fno-sanitize=all", *map(str, words)]
    subprocess.run(command, check=True, env={"ZIG_GLOBAL_CACHE_DIR": zig.cache_folder()})


@pytest.fixture(scope="module")
def link(tmp_path_factory: pytest.TempPathFactory) -> Link:
    """Links the program with a stand-in for a release's library: its name, and its functions' versions."""
    folder = tmp_path_factory.mktemp("programs")
    modules = [f"Module{name}" for name in ("Load", "Unload", "GetFunction", "LaunchKernel")]
    names = ["Malloc", "Free", "Memcpy", *modules]
    (folder / "amd.c").write_text("".join(f"int hip{name}(void) {{ return 999; }}\n" for name in names))
    (folder / "amd.map").write_text(VERSIONS)

    def linked(release: int, early: bool = False) -> Path:
        """`early`: another library calls HIP before `main`, as libraries with kernels do."""
        program = folder / f"foreign{release}{'-early' * early}"
        library = folder / f"libamdhip64.so.{release}"
        if not program.is_file():
            versions = f"-Wl,--version-script={folder / 'amd.map'}"
            compile_c("-shared", versions, f"-Wl,-soname,{library.name}", folder / "amd.c", "-o", library)
            others = []
            if early:
                others = [folder / "libearly.so", f"-Wl,-rpath,{folder}"]
                (folder / "early.c").write_text(EARLY)
                compile_c("-shared", folder / "early.c", f"-L{folder}", f"-l:{library.name}", "-o", others[0])
            link_options = (f"-L{folder}", f"-l:{library.name}", "-o", program)
            compile_c(HERE / "foreign.c", "-rdynamic", *others, *link_options)
        return program

    return linked


@pytest.fixture(scope="module")
def code(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("code") / "twice.co"
    path.write_bytes(compile_device(KERNELS, CompileOptions("gfx942")).code_object)
    return path


def execute(*words: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "workbench", "exec", "--device", "MI300X", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300)


@needs.python_library
@pytest.mark.parametrize(("release", "early"), [(5, False), (6, True), (7, False)])
def test_a_program_of_any_release(link: Link, code: Path, release: int, early: bool) -> None:
    result = execute("--", link(release, early), code)
    # The destructor unloads its module after `main`.
    assert (result.returncode, result.stdout) == (0, "parent: 10\nunload 0\n"), result.stderr
    assert result.stderr.startswith("hipkittens: 1 launch, ")
    assert result.stderr.endswith(" us modelled\n")


@needs.python_library
@pytest.mark.parametrize("how", ["fork-first", "fork-after"])
def test_a_program_that_forks(link: Link, code: Path, how: str) -> None:
    result = execute("--", link(6), code, how)
    assert result.returncode == 7, result.stderr
    assert sorted(result.stdout.splitlines()) == ["child: 10", "parent: 10", "unload 0", "unload 0"]
    assert "hipkittens: 2 launches in 2 processes, " in result.stderr


@needs.python_library
def test_first_calls_of_several_threads(link: Link, code: Path) -> None:
    result = execute("--quiet", "--", link(6), code, "threads")
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout.splitlines() == ["thread: 10"] * 4 + ["unload 0"]


@needs.python_library
def test_sanitized(link: Link, tmp_path: Path, code: Path) -> None:
    wrong = tmp_path / "wrong.co"
    source = f"#define UNINITIALISED\n{KERNELS}"
    wrong.write_bytes(compile_device(source, CompileOptions("gfx942")).code_object)
    result = execute("--sanitize", "--", link(6), wrong)
    assert result.returncode == 1
    assert "uninitialised" in result.stderr
    assert execute("--sanitize", "--", link(6), code).returncode == 0
    assert execute("--sanitize", "--", sys.executable, "-c", "").returncode == 2


@needs.python_library
def test_as_hardware(link: Link, tmp_path: Path) -> None:
    """A program whose kernel does not wait for its loads."""
    source = """#include <hip/hip_runtime.h>
extern "C" __global__ void twice(float *x) {
  float value, sum;
  asm volatile("v_mov_b32 %1, 0\\n\\tglobal_load_dword %1, %2, %3\\n\\tv_add_f32 %0, %1, %1\\n\\t"
               "s_waitcnt vmcnt(0)" : "=&v"(sum), "=&v"(value) : "v"(4 * threadIdx.x), "s"(x));
  x[threadIdx.x] = sum;
}
"""
    hasty = tmp_path / "hasty.co"
    hasty.write_bytes(compile_device(source, CompileOptions("gfx942")).code_object)
    assert execute("--quiet", "--", link(6), hasty).stdout.startswith("parent: 10\n")
    assert execute("--quiet", "--as-hardware", "--", link(6), hasty).stdout.startswith("parent: 0\n")
    # Past the 256 bytes that hipMalloc returned, and past their page.
    wait = "s_waitcnt vmcnt(0)\\n\\t"
    access = f"{wait}global_load_dword v9, %2, %4\\n\\t{wait}global_store_dword %2, v9, %4\\n\\t"
    beyond = source.replace("v_add_f32", f"{access}v_add_f32")
    for offset, statuses in ((256, (4, 0)), (4096, (4, 4))):
        file = tmp_path / f"beyond_{offset}.co"
        text = beyond.replace('"s"(x));', f'"s"(x), "s"(x + {offset // 4}) : "v9");')
        file.write_bytes(compile_device(text, CompileOptions("gfx942")).code_object)
        for options, status in zip(((), ("--as-hardware",)), statuses, strict=True):
            assert execute("--quiet", *options, "--", link(6), file).returncode == status


def test_a_process_that_has_a_python(code: Path) -> None:
    program = f"""
import ctypes
hip = ctypes.CDLL("libamdhip64.so.6")
module, kernel, memory = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
x = (ctypes.c_float * 64)(*range(64))
assert hip.hipModuleLoad(ctypes.byref(module), {str(code)!r}.encode()) == 0
assert hip.hipModuleGetFunction(ctypes.byref(kernel), module, b"twice") == 0
assert hip.hipMalloc(ctypes.byref(memory), 256) == 0
assert hip.hipMemcpy(memory, x, 256, 1) == 0
pointers = (ctypes.c_void_p * 1)(ctypes.addressof(memory))
assert hip.hipModuleLaunchKernel(kernel, 1, 1, 1, 64, 1, 1, 0, None, pointers, None) == 0
assert hip.hipMemcpy(x, memory, 256, 2) == 0
print(x[5])
"""
    result = execute("--", sys.executable, "-c", program)
    assert (result.returncode, result.stdout) == (0, "10.0\n"), result.stderr
    assert result.stderr.startswith("hipkittens: 1 launch, ")


def test_tensors_whose_addresses_c_code_launches_with(code: Path) -> None:
    program = f"""
import ctypes, threading, torch
hip = ctypes.CDLL("libamdhip64.so.6")
module, kernel = ctypes.c_void_p(), ctypes.c_void_p()
# As with HIP_VISIBLE_DEVICES, the device is number 0, which every thread begins with.
assert hip.hipSetDevice(0) == 0
name = ctypes.create_string_buffer(64)
threading.Thread(target=lambda: hip.hipDeviceGetName(name, 64, 0)).start()
assert hip.hipModuleLoad(ctypes.byref(module), {str(code)!r}.encode()) == 0
assert hip.hipModuleGetFunction(ctypes.byref(kernel), module, b"twice") == 0
x = torch.arange(128, dtype=torch.float32, device="cuda")
memory = ctypes.c_void_p(x[32:].data_ptr())
pointers = (ctypes.c_void_p * 1)(ctypes.addressof(memory))
assert hip.hipModuleLaunchKernel(kernel, 1, 1, 1, 64, 1, 1, 0, None, pointers, None) == 0
print(x[31:34].tolist(), x[95:97].tolist(), name.value.decode())
memory.value += 4 << 20
print(hip.hipModuleLaunchKernel(kernel, 1, 1, 1, 64, 1, 1, 0, None, pointers, None) != 0)
"""
    result = execute("--", sys.executable, "-c", program)
    assert result.stdout == "[31.0, 64.0, 66.0] [190.0, 96.0] AMD Instinct MI300X\nTrue\n", result.stderr


@pytest.mark.parametrize(("end", "status"), [("", 0), ("ctypes.CDLL(None).exit(188)", 188)])
def test_a_failure_that_a_python_program_drops_is_reported(tmp_path: Path, end: str, status: int) -> None:
    wrong = tmp_path / "wrong.co"
    source = KERNELS.replace("x[threadIdx.x] *= 2", "x[1 << 28] = 2")
    wrong.write_bytes(compile_device(source, CompileOptions("gfx942")).code_object)
    program = f"""
import ctypes, torch
hip = ctypes.CDLL("libamdhip64.so.6")
module, kernel, memory = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
hip.hipModuleLoad(ctypes.byref(module), {str(wrong)!r}.encode())
hip.hipModuleGetFunction(ctypes.byref(kernel), module, b"twice")
hip.hipMalloc(ctypes.byref(memory), 256)
pointers = (ctypes.c_void_p * 1)(ctypes.addressof(memory))
for _ in range(2):
    hip.hipModuleLaunchKernel(kernel, 1, 1, 1, 64, 1, 1, 0, None, pointers, None)
{end}
"""
    result = execute("--quiet", "--", sys.executable, "-c", program)
    assert (result.returncode, result.stdout) == (status, "")
    (line,) = result.stderr.splitlines()
    assert line.startswith("hipkittens: a launch failed, and no exception reported it: kernel twice")


def test_a_failure_that_a_python_program_raises_is_not_repeated() -> None:
    source = KERNELS.replace("x[threadIdx.x] *= 2", "x[1 << 28] = 2")
    program = f"""
import torch, workbench as wb
try:
    wb.compile({source!r}, arch="gfx942")["twice"][1, 64](torch.zeros(64))
except wb.errors.KernelFault:
    print("raised")
"""
    result = execute("--quiet", "--", sys.executable, "-c", program)
    assert (result.returncode, result.stdout, result.stderr) == (0, "raised\n", "")


def test_pytorch_in_a_process_and_its_children() -> None:
    program = """
import subprocess, sys, torch
print(torch.ones(3, device="cuda").device, torch.cuda.get_device_name(), flush=True)
subprocess.run([sys.executable, "-c", "import torch; print(torch.ones(3).cuda().is_cuda)"])
"""
    result = execute("--", sys.executable, "-c", program)
    assert result.stdout == "cuda:0 AMD Instinct MI300X\nTrue\n", result.stderr


@pytest.mark.skipif(find_spec("hip") is None, reason="hip-python is not installed")
def test_properties_in_the_forms_of_all_releases_of_hip_python() -> None:
    script = """
from hip import hip
record = hip.hipDeviceProp_t()
def name(record):
    text = record.gcnArchName
    return (text if isinstance(text, str) else text.decode()).split(":")[0]
print(int(hip.hipGetDeviceProperties(record, 0)[0]), name(record))
status, record = hip.hipGetDeviceProperties(0)
print(int(status), name(record))
"""
    result = execute("--", sys.executable, "-c", script)
    assert result.stdout.splitlines() == ["0 gfx942", "0 gfx942"], result.stderr


def test_programs_of_rocm() -> None:
    programs = ("hipconfig --version", "echo", "offload-arch", "rocm_agent_enumerator", "rocminfo")
    programs = (*programs, 'echo "$PYTORCH_ROCM_ARCH"', '"$ROCM_PATH/bin/hipcc" --version')
    result = execute("--quiet", "--", "sh", "-c", "; ".join(programs))
    assert result.stderr == ""
    lines = result.stdout.splitlines()
    assert lines[:4] == ["7.2.0", "gfx942", "gfx000", "gfx942"]
    assert lines.count("gfx942") == 3
    assert "  Marketing Name:           AMD Instinct MI300X" in lines
    assert any(line.startswith("HIP version: 7.2.0") for line in lines)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--", "./nowhere"], "./nowhere does not start (No such file or directory)"),
        (["--"], "exec: expected a program, then its arguments"),
        (["--device", "MI9", "--", "true"], "MI9"),
        (["--", "nowhere.py"], "MissingFile: exec: there is no file nowhere.py in "),
        (["--", "nowhere.hip"], "MissingFile: exec: there is no file nowhere.hip in "),
        (["--", sys.executable, "nowhere.py"], "MissingFile: exec: there is no file nowhere.py in "),
    ],
)
def test_what_cannot_be_run(words: list[str], message: str) -> None:
    result = execute(*words)
    assert (result.returncode, result.stdout) == (2, "")
    assert message in result.stderr


def test_a_python_without_a_shared_library(link: Link, code: Path, tmp_path: Path) -> None:
    folder = tmp_path / "rocm"
    (folder / "lib").mkdir(parents=True)
    for path in (rocm_folder() / "lib").iterdir():
        (folder / "lib" / path.name).write_bytes(path.read_bytes())
    (folder / "lib" / "hipkittens-python").write_text("\n/usr/bin/python3\n/nowhere\n")
    result = subprocess.run(
        [link(6), code], env=environment(folder, {}), capture_output=True, text=True, timeout=60
    )
    assert result.returncode == 2
    assert "needs Python's shared library, and /usr/bin/python3 has none" in result.stderr


@needs.python_library
def test_counters_of_a_program_and_its_child(link: Link, code: Path, tmp_path: Path) -> None:
    table = tmp_path / "launches.json"
    result = execute("--counters", "--json", table, "--", link(6), code, "fork-after")
    assert result.returncode == 7, result.stderr
    lines = result.stderr.splitlines()
    assert lines[0].startswith("twice on emulated:gfx942: 2 launches, ")
    assert lines[-1].startswith("hipkittens: 2 launches in 2 processes, ")
    launched = json.loads(table.read_text())
    (kernel,) = launched["kernels"]
    counts = {name: figure["value"] for name, figure in kernel["counters"].items()}
    # A wave of 64 lanes, each of which loads and stores 4 bytes, in each process.
    assert (counts["SQ_WAVES"], counts["SQ_INSTS_VMEM_RD"], counts["SQ_INSTS_VMEM_WR"]) == (2, 2, 2)
    assert counts["bytes_written"] == 2 * 64 * 4
    assert kernel["seconds"] == pytest.approx(launched["seconds"])
    for name in ("SQ_WAVES", "bytes_written", "TCC_REQ_sum", "GRBM_GUI_ACTIVE"):
        assert any(line.split()[:2] == [name, f"{counts[name]:,.0f}"] for line in lines), name


def test_counters_are_those_of_a_profile(tmp_path: Path) -> None:
    program = f"""
import torch, workbench as wb
x = torch.arange(64.0)
kernel = wb.compile({KERNELS!r}, arch="gfx942")["twice"]
kernel[1, 64](x)
kernel[1, 64](x)
"""
    table = tmp_path / "launches.json"
    result = execute("--counters", "--json", table, "--", sys.executable, "-c", program)
    assert result.returncode == 0, result.stderr
    (kernel,) = json.loads(table.read_text())["kernels"]
    module = wb.compile(KERNELS, arch="gfx942")
    profiled = wb.profile(module["twice"][1, 64], torch.arange(64.0), device="emulated:gfx942").counters
    assert list(kernel["counters"]) == list(profiled)
    for name, figure in profiled.items():
        counter = kernel["counters"][name]
        assert (counter["unit"], counter["origin"]) == (figure.unit, figure.origin)
        if figure.origin == "counted":
            assert counter["value"] == 2 * figure.value, name


def test_percentages_of_several_launches_are_means() -> None:
    def launched(number: int, busy: float) -> KernelTally:
        counters = {
            "VALUBusy": Figure(busy, "%", Origin.MODELLED),
            "SQ_WAVES": Figure(8.0 * number, "waves", Origin.COUNTED),
        }
        return KernelTally("k", "emulated:gfx942", number, 1e-6 * number, counters)

    both = Tally(1, 1e-6, 1, "a", 0, (launched(1, 10.0),)) + Tally(3, None, 1, "b", 1, (launched(3, 50.0),))
    assert (both.launches, both.seconds, both.processes, both.stopped) == (4, None, 2, 1)
    (kernel,) = both.kernels
    assert kernel.launches == 4
    assert kernel.counters["VALUBusy"].value == pytest.approx(40.0)
    assert kernel.counters["SQ_WAVES"].value == 32.0


@needs.python_library
def test_the_last_line_tells_of_findings_and_faults(link: Link, tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.co"
    source = KERNELS.replace("x[threadIdx.x] *= 2", "x[1 << 28] = 2")
    wrong.write_bytes(compile_device(source, CompileOptions("gfx942")).code_object)
    result = execute("--sanitize", "--", link(6), wrong)
    assert result.returncode == 1
    last = result.stderr.splitlines()[-1]
    assert last.startswith("hipkittens: 1 launch")
    assert last.endswith(", 1 stopped by a fault, findings in 1 launch")


def test_script_is_another_name(tmp_path: Path) -> None:
    (tmp_path / "asks.py").write_text("import sys, torch\nprint(torch.cuda.get_device_name(), *sys.argv)\n")
    command = [sys.executable, "-m", "workbench", "script"]
    ended = [
        subprocess.run([*command, *words], cwd=tmp_path, capture_output=True, text=True, timeout=300)
        for words in (["--device", "MI300X", "asks.py", "-1"], ["nowhere.py"])
    ]
    assert ended[0].stdout == "AMD Instinct MI300X asks.py -1\n", ended[0].stderr
    assert ended[0].stderr.splitlines()[-1] == "hipkittens: 0 launches"
    assert (ended[1].returncode, ended[1].stdout) == (2, "")
    assert ended[1].stderr.startswith("MissingFile: exec: there is no file nowhere.py in ")
    assert "Traceback" not in ended[1].stderr


def test_a_source_is_compiled_first(tmp_path: Path) -> None:
    source = tmp_path / "prog.hip"
    source.write_text("""#include <hip/hip_runtime.h>
#include <cstdio>
__global__ void k() {}
int main(int count, char **words) {
    k<<<1, 64>>>();
    printf("%s %d\\n", words[count - 1], hipDeviceSynchronize());
    return 3;
}
""")
    result = execute("--", source, "word")
    assert (result.returncode, result.stdout) == (3, "word 0\n"), result.stderr
    assert result.stderr.splitlines()[-1].startswith("hipkittens: 1 launch, ")
    source.write_text("int main() { return nothing; }\n")
    wrong = execute("--", source)
    assert wrong.returncode != 0
    assert "nothing" in wrong.stderr


def test_other_systems_run_scripts_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    with pytest.raises(UsageError, match=r"\./prog is not a script, and this is darwin"):
        run(["./prog"])


@needs.python_library
@pytest.mark.parametrize("how", ["", "exit", "thread"])
def test_a_program_from_before_rocm_6_reopens_the_library(tmp_path: Path, how: str) -> None:
    program = tmp_path / "old"
    compile_c(HERE / "old.c", "-o", program)
    result = execute("--quiet", "--", program, "libamdhip64.so.5", how)
    line = "AMD Instinct MI300X, gfx942:sramecc+:xnack- (942), 304 units, 64 lanes, managed 1, device 0"
    ends = ["at exit 0"] * (how == "exit") + ["free 0"]
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout.splitlines() == [line] * (3 if how == "thread" else 2) + ends
