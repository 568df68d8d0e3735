"""The workbench's hipcc, as started by makefiles, CMake and people: its programs run from a shell."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from workbench import paths
from workbench.codeobject.bundle import bundle_entries, fat_binary_of_host
from workbench.errors import CompilerNotFound, UsageError
from workbench.toolchain import CompileOptions, find_compiler, search
from workbench.toolchain.candidates import STAND_IN
from workbench.toolchain.hipcc import driver, main, units
from workbench.toolchain.hipcc.command_line import Source, Stage, read
from workbench.toolchain.hipcc.script import install

MAIN = """
#include <hip/hip_runtime.h>
#include <iostream>
#include "scale.h"
static __device__ int offset = OFFSET;      // another in every source
thread_local int count = 5;
__global__ void fill(int *out) { out[threadIdx.x] = threadIdx.x + offset; }
int main(int argc, char **argv) {
    int *device, host[64];
    if (hipMalloc(&device, sizeof host) != hipSuccess) return 1;
    fill<<<1, 64>>>(device);
    scale(device);
    if (hipMemcpy(host, device, sizeof host, hipMemcpyDeviceToHost) != hipSuccess) return 2;
    std::cout << argv[argc - 1] << " " << host[10] << " " << ++count << std::endl;
    return argc;
}
"""
SCALE = """
#include <hip/hip_runtime.h>
#include "scale.h"
static __device__ int offset = 1;
__global__ void fill(int *out) { out[threadIdx.x] = 3 * out[threadIdx.x] + offset; }
namespace { __global__ void hidden(int *out) { out[threadIdx.x] += 1000; } }
void scale(int *device) { hidden<<<1, 64>>>(device); multiply(device); }
"""
MULTIPLY = """
#include <hip/hip_runtime.h>
#include "scale.h"
static __device__ int offset = 1;
__global__ void thrice(int *out) { out[threadIdx.x] = 3 * out[threadIdx.x] + offset; }
void multiply(int *device) { thrice<<<1, 64>>>(device); }
"""


def test_a_wrapper_that_starts_our_hipcc_ends(tmp_path: Path) -> None:
    wrapper, log, source = tmp_path / "bin" / "hipcc", tmp_path / "log", tmp_path / "a.hip"
    wrapper.parent.mkdir()
    wrapper.write_text(f'#!/bin/sh\necho "$@" >>{log}\nexec {sys.executable} -m workbench hipcc "$@"\n')
    wrapper.chmod(0o755)
    source.write_text("int main() { return 0; }\n")
    command = [str(wrapper), str(source), "-o", str(tmp_path / "a")]
    path = {**os.environ, "PATH": f"{wrapper.parent}:{os.environ['PATH']}"}
    ended = subprocess.run(command, env=path, capture_output=True, text=True, timeout=240)
    # It is not a compiler, and the next one is used.
    assert (ended.returncode, (tmp_path / "a").is_file()) == (0, True), ended.stderr
    assert len(log.read_text().splitlines()) <= 3
    named = {**path, "HIPKITTENS_COMPILER": str(wrapper)}
    ended = subprocess.run(command, env=named, capture_output=True, text=True, timeout=240)
    assert ended.returncode != 0
    assert "started a program that starts the workbench's hipcc again" in ended.stderr
    assert len(log.read_text().splitlines()) <= 6


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current one, with a program of three sources."""
    (tmp_path / "inc").mkdir()
    (tmp_path / "inc" / "scale.h").write_text("void scale(int *);\nvoid multiply(int *);\n")
    (tmp_path / "main.hip").write_text(MAIN)
    (tmp_path / "scale.cpp").write_text(SCALE.replace("fill", "other"))
    (tmp_path / "multiply.cu").write_text(MULTIPLY)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(Path(paths.__file__).parents[1]))
    monkeypatch.delenv("HIPKITTENS_DEVICE", raising=False)
    return tmp_path


def hipcc(*words: str, status: int = 0) -> str:
    """Runs `hipcc`; its output and its errors."""
    completed = subprocess.run(
        [sys.executable, "-m", "workbench", "hipcc", *words], capture_output=True, text=True, check=False
    )
    assert completed.returncode == status, completed.stderr
    return completed.stdout + completed.stderr


def run(*command: str) -> tuple[int, str]:
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.stderr == ""
    return ended.returncode, ended.stdout


EXPECTED = f"last {3 * (10 + 7 + 1000) + 1} 6\n"


def test_a_program_of_several_sources_runs_from_a_shell(folder: Path) -> None:
    hipcc("-Iinc", "-DOFFSET=7", "main.hip", "scale.cpp", "multiply.cu", "-lamdhip64", "-o", "prog")
    assert run("./prog", "first", "last") == (3, EXPECTED)
    moved = shutil.move("prog", folder / "inc" / "elsewhere")
    assert run(str(moved), "last") == (2, EXPECTED)


def test_objects_archives_and_libraries_are_linked(folder: Path) -> None:
    hipcc("-I", "inc", "-D", "OFFSET=7", "-c", "main.hip", "-O1", "-std=c++20", "-g", "-fPIE", "-MMD")
    assert (folder / "main.d").read_text().split()[:3] == ["main.o:", "main.hip", "inc/scale.h"]
    hipcc("-Iinc", "-c", "scale.cpp", "-o", "first.o", "-MD", "-MF", "deps", "-MT", "name")
    assert (folder / "deps").read_text().startswith("name: scale.cpp ")
    hipcc("-Iinc", "-shared", "-fPIC", "multiply.cu", "-o", "libmultiply.so")
    subprocess.run([sys.executable, "-m", "ziglang", "ar", "rcs", "libscale.a", "first.o"], check=True)
    hipcc("main.o", "-L.", "-lscale", "-lmultiply", "-Wl,-rpath,$ORIGIN", "-o", "prog")
    assert run("./prog", "last") == (2, EXPECTED)


WHERE = """
#include <unistd.h>
#include <cerrno>
#include <cstdio>
int main() {
    char path[4096], other[16];
    const long length = readlink("/proc/self/exe", path, sizeof path - 1);
    path[length < 0 ? 0 : length] = 0;
    puts(path);
    if (readlink("link", other, sizeof other) != 4) return 1;
    return readlink("nothing", other, sizeof other) != -1 || errno != ENOENT;
}
"""


def test_a_program_finds_its_own_file(folder: Path) -> None:
    (folder / "where.cpp").write_text(WHERE)
    (folder / "link").symlink_to("name")
    hipcc("where.cpp", "-o", "where")
    assert run("./where") == (0, f"{folder / 'where'}\n")


LINKED = """
#include <hip/hip_runtime.h>
__device__ int twice(int);
extern __device__ int common;
__global__ void apply(int *out) { *out = twice(*out) + common; }
int plus(int *);
int main() {
    int *device, value = 5;
    if (hipMalloc(&device, sizeof value) != hipSuccess) return 1;
    if (hipMemcpy(device, &value, sizeof value, hipMemcpyDefault) != hipSuccess) return 1;
    if (plus(device) != hipSuccess) return 2;
    apply<<<1, 1>>>(device);
    int *address;
    if (hipGetSymbolAddress((void **)&address, HIP_SYMBOL(common)) != hipSuccess) return 3;
    return hipMemcpy(&value, device, sizeof value, hipMemcpyDefault) || value != 2 * (5 + 1) + 100;
}
"""
DEFINED = """
#include <hip/hip_runtime.h>
__device__ int common = 100;
__device__ int twice(int x) { return 2 * x; }
__global__ void add_one(int *out) { *out += 1; }
int plus(int *out) { add_one<<<1, 1>>>(out); return hipGetLastError(); }
"""


def test_device_code_of_several_sources_is_linked(folder: Path) -> None:
    """A function and a variable of another source, which is in an archive."""
    (folder / "linked.hip").write_text(LINKED)
    (folder / "defined.hip").write_text(DEFINED)
    hipcc("-fgpu-rdc", "-c", "linked.hip")
    hipcc("-fgpu-rdc", "defined.hip", "--emit-static-lib", "-o", "libdefined.a")
    hipcc("-fgpu-rdc", "linked.o", "-L.", "-ldefined", "-o", "prog")
    assert run("./prog") == (0, "")
    assert "twice(int)" in hipcc("-fgpu-rdc", "linked.o", "-o", "prog", status=1)


def test_commands_are_shown_and_not_run(folder: Path) -> None:
    (folder / "defined.hip").write_text(DEFINED)
    for words in ((), ("-fgpu-rdc",)):
        output = hipcc("-###", *words, "defined.hip", "-shared", "-o", "shown.so")
        assert "--offload-arch=" in output
        assert not (folder / "shown.so").exists()


OLDER = """
#include <hip/hip_runtime.h>
typedef float float_4 __attribute__((ext_vector_type(4)));
template <typename T> __host__ __device__ void change(T *x, const T &y) {
    x->data = {y.data + float_4{1, 2, 3, 4}};
    x->data[2] *= 10;
}
__global__ void k(float4 *x, const float4 *y) { assert(x); change(x, *y); }
static_assert(sizeof(float3) == 12 && float4{1, 2, 3, 4}.z == 3);
int main() {
    std::unordered_map<int, std::function<float()>> functions;
    float4 *x, y(10, 20, 30, 40), z;
    if (hipMalloc(&x, 2 * sizeof y) || hipMemcpy(x + 1, &y, sizeof y, hipMemcpyHostToDevice)) return 1;
    k<<<1, 1>>>(x, x + 1);
    if (hipMemcpy(&z, x, sizeof z, hipMemcpyDeviceToHost)) return 2;
    change(&y, y);
    functions[1] = [&] { return z.z; };
    std::printf("%g %g %g %g %d", z.x, z.y, functions[1](), z.w, y == z);
}
"""


def test_what_programs_from_before_hip_7_use(folder: Path) -> None:
    """The member `data` of vectors, which HIP 7 lacks; headers that GCC 11's library included."""
    (folder / "older.hip").write_text(OLDER)
    messages = hipcc("--offload-arch=gfx942", "older.hip", "-o", "older")
    assert "HIP 7 has no member data: write get_native_vector(x)" in messages
    assert run("./older") == (0, "11 22 330 44 1")


def test_code_for_several_targets(folder: Path) -> None:
    words = ("-Iinc", "-DOFFSET=7", "main.hip", "scale.cpp", "multiply.cu")
    output = hipcc(*words, "--offload-arch=gfx1030,gfx942", "--offload-arch=gfx950", "-o", "both")
    assert "left out" in output
    assert "gfx1030" in output
    entries = bundle_entries(fat_binary_of_host((folder / "both").read_bytes()))
    assert [entry.arch for entry in entries if entry.content] == 3 * ["gfx942", "gfx950"]
    hipcc(*words, "--offload-arch=gfx942", "-o", "one")
    # There is no code for the default device: another one is used.
    assert run("./one", "last") == (2, EXPECTED)


def test_a_program_for_a_generic_processor(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hipcc("-Iinc", "-DOFFSET=7", "main.hip", "scale.cpp", "multiply.cu", "--offload-arch=gfx9-4-generic")
    for device in ("emulated:gfx942", "emulated:gfx950"):
        monkeypatch.setenv("HIPKITTENS_DEVICE", device)
        assert run("./a.out", "last") == (2, EXPECTED)
    monkeypatch.setenv("HIPKITTENS_DEVICE", "emulated:gfx90a")
    refused = subprocess.run("./a.out", capture_output=True, text=True, check=False).stderr
    assert "is for gfx9-4-generic, and the device" in refused


TWIN = """
#include <hip/hip_runtime.h>
namespace { __global__ void twin(int *out) { BODY; } }
void NAME(int *out) { twin<<<1, 64>>>(out); }
"""
TWINS = """
#include <hip/hip_runtime.h>
#include <cstdio>
void short_one(int *); void long_one(int *); void last_one(int *);
int main() {
    int *device, host[64];
    hipEvent_t start, stop;
    hipMalloc(&device, sizeof host);
    hipEventCreate(&start);
    hipEventCreate(&stop);
    for (auto launch : {short_one, long_one, last_one}) {
        float milliseconds = 0;
        hipEventRecord(start);
        launch(device);
        hipEventRecord(stop);
        hipEventSynchronize(stop);
        const bool timed = hipEventElapsedTime(&milliseconds, start, stop) == hipSuccess && milliseconds > 0;
        hipMemcpy(host, device, sizeof host, hipMemcpyDeviceToHost);
        std::printf("%d %d ", host[5], timed);
    }
}
"""


def test_kernels_of_one_name_in_many_sources(folder: Path) -> None:
    """Each launch runs the kernel of its own source, with that one's time."""
    long = "for (int i = 0; i < 64; ++i) out[threadIdx.x] = (3 * out[threadIdx.x] + i) & 1023"
    bodies = {"short_one": "out[threadIdx.x] = 1", "long_one": long, "last_one": "out[threadIdx.x] += 41"}
    for name, body in bodies.items():
        (folder / f"{name}.hip").write_text(TWIN.replace("BODY", body).replace("NAME", name))
    (folder / "twins.hip").write_text(TWINS)
    hipcc(*(f"{name}.hip" for name in bodies), "twins.hip", "--offload-arch=gfx942", "-o", "twins")
    value = 1
    for i in range(64):
        value = (3 * value + i) & 1023
    said = subprocess.run("./twins", capture_output=True, text=True, check=True).stdout
    assert said.split() == ["1", "1", str(value), "1", str(value + 41), "1"]


@pytest.mark.parametrize(("limit", "seconds"), [(None, 86400), ("7", 7)])
def test_a_source_takes_the_time_that_it_takes(
    limit: str | None, seconds: float, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def compiled(source: str, options: CompileOptions, **_: object) -> None:
        asked.append(options.timeout)
        raise CompilerNotFound("seen")

    monkeypatch.delenv("HIPKITTENS_COMPILE_TIMEOUT", raising=False)
    if limit:
        monkeypatch.setenv("HIPKITTENS_COMPILE_TIMEOUT", limit)
    monkeypatch.setattr(units, "compile_device", compiled)
    assert main(["-c", "-Iinc", "multiply.cu"], lambda: "gfx950") == 1
    assert asked == [seconds]


def test_a_kernel_for_a_module(folder: Path) -> None:
    hipcc("--genco", "--offload-arch=gfx942,gfx950", "-Iinc", "multiply.cu", "-o", "multiply.hsaco")
    entries = bundle_entries((folder / "multiply.hsaco").read_bytes())
    assert [entry.arch for entry in entries if entry.content] == ["gfx942", "gfx950"]
    hipcc("--offload-device-only", "-S", "--offload-arch=gfx942", "-Iinc", "multiply.cu", "-o", "multiply.s")
    assert "amdgcn-amd-amdhsa--gfx942" in (folder / "multiply.s").read_text()


def test_a_makefile_with_response_file(folder: Path) -> None:
    install(str(folder / "rocm" / "bin"))
    (folder / "flags").write_text("-Iinc '-DOFFSET=3 + 4'\n")
    (folder / "Makefile").write_text(
        "HIPCXX ?= $(ROCM_PATH)/bin/hipcc\n"
        "prog: main.o scale.o multiply.o\n\t$(HIPCXX) $^ -o $@\n"
        "%.o: %.hip\n\t$(HIPCXX) @flags -c $< -o $@\n"
        "%.o: %.cpp\n\t$(HIPCXX) @flags -c $< -o $@\n"
        "%.o: %.cu\n\t$(HIPCXX) @flags -c $< -o $@\n"
    )
    subprocess.run(["make", "-s"], env={**os.environ, "ROCM_PATH": str(folder / "rocm")}, check=True)
    assert run("./prog", "last") == (2, EXPECTED)


@pytest.mark.skipif(not (shutil.which("cmake") and shutil.which("make")), reason="no CMake")
def test_cmake_takes_it_for_its_compiler(folder: Path) -> None:
    install(str(folder))
    (folder / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.16)\nproject(p LANGUAGES CXX)\nset(CMAKE_CXX_STANDARD 20)\n"
        "add_definitions(-DOFFSET=7)\ninclude_directories(SYSTEM inc)\n"
        "set_source_files_properties(main.hip multiply.cu PROPERTIES LANGUAGE CXX)\n"
        "add_library(part SHARED scale.cpp multiply.cu)\nadd_executable(prog main.hip)\n"
        "target_link_libraries(prog part)\n"
    )
    setting = f"-DCMAKE_CXX_COMPILER={folder / 'hipcc'}"
    for command in (["cmake", "-B", "build", setting], ["cmake", "--build", "build"]):
        completed = subprocess.run(command, capture_output=True, text=True, check=False)
        assert completed.returncode == 0, completed.stdout + completed.stderr
    assert run("build/prog", "last") == (2, EXPECTED)


def test_what_is_missing_is_named(folder: Path) -> None:
    output = hipcc("-Iinc", "-DOFFSET=7", "main.hip", "-o", "prog", status=1)
    assert "undefined symbol: scale(int*)" in output
    assert "hipMalloc" not in output
    assert not Path("prog").exists()
    output = hipcc("-Iinc", "multiply.cu", "-o", "prog", status=1)
    assert "undefined symbol: main" in output
    (folder / "wrong.hip").write_text("int main() {\n  return nothing;\n}\n")
    assert "wrong.hip:2:10: error: use of undeclared identifier 'nothing'" in hipcc("wrong.hip", status=1)


def test_a_fault_is_explained(folder: Path) -> None:
    (folder / "wild.hip").write_text(
        "#include <hip/hip_runtime.h>\n__global__ void wild(int *p) {\n  p[1 << 20] = 1;\n}\n"
        "int main() { int *p; (void)hipMalloc(&p, 4); wild<<<1, 1>>>(p); return hipDeviceSynchronize(); }\n"
    )
    hipcc("wild.hip")
    ended = subprocess.run(["./a.out"], capture_output=True, text=True, check=False)
    assert ended.returncode != 0
    assert "wild.hip:3" in ended.stderr


def test_its_answers() -> None:
    assert hipcc("--version").startswith("HIP version: ")
    assert Path(hipcc("-print-resource-dir").strip()).is_absolute()
    help_text = hipcc("--help")
    assert help_text.startswith("usage: hipcc [OPTION ...] FILE ...")
    assert max(map(len, help_text.splitlines())) <= 110


def test_its_compilers_end_with_it(tmp_path: Path) -> None:
    """As when make is ended: a compiler has its own process group, which the signal does not reach."""
    pid_file, source = tmp_path / "pid", tmp_path / "a.hip"
    source.touch()
    pid_file.touch()
    # One process: another of its group, not collected yet by its new parent, would count as running.
    command = ["sh", "-c", f"echo $$ > {pid_file}; exec sleep 300"]
    program = (
        "import sys\n"
        "from workbench.toolchain import process\n"
        "from workbench.toolchain.hipcc import driver\n"
        f"driver._make = lambda *_: process.run({command}, timeout=300)\n"
        f"sys.exit(driver.main([{str(source)!r}], lambda: 'gfx950'))\n"
    )
    running = subprocess.Popen([sys.executable, "-c", program])
    while not pid_file.read_text().endswith("\n"):
        assert running.poll() is None
        time.sleep(0.01)
    running.terminate()
    assert running.wait() == 128 + signal.SIGTERM
    compiler = int(pid_file.read_text())
    with pytest.raises(ProcessLookupError):
        os.killpg(compiler, signal.SIGKILL)


def test_a_real_hipcc_is_started_instead(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = tmp_path / "rocm" / "bin" / "hipcc"
    real.parent.mkdir(parents=True)
    # It answers the search for a compiler, and then prints its arguments.
    real.write_text(
        '#!/bin/sh\ncase " $* " in\n'
        '*" --version "*) echo "HIP version: 7.1.0"; echo "clang version 20.0.0";;\n'
        '*" -o "*" --mine "*) echo "real: $*";;\n'
        "*) for last; do :; done; [ -t 0 ] || cat > /dev/null; "
        'while [ $# -gt 0 ]; do [ "$1" = -o ] && echo made > "$2"; shift; done;;\nesac\n'
    )
    real.chmod(0o755)
    monkeypatch.setenv("ROCM_PATH", str(tmp_path / "rocm"))
    monkeypatch.delenv("HIPKITTENS_COMPILER", raising=False)
    assert hipcc("a b.hip", "-o", "x", "--mine", "-unknown") == "real: a b.hip -o x --mine -unknown\n"


def test_the_script_is_no_compiler(bare_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = install(str(bare_path))
    search.forget()
    assert find_compiler("gfx950").kind != "hipcc"
    monkeypatch.setenv("HIPKITTENS_COMPILER", str(path))
    search.forget()
    with pytest.raises(CompilerNotFound, match="looks for a compiler itself"):
        find_compiler("gfx950")
    assert install(str(bare_path)) == path
    path.write_text("#!/bin/sh\n")
    with pytest.raises(UsageError, match="another folder"):
        install(str(bare_path))
    assert STAND_IN not in path.read_text()


def test_places_of_options(folder: Path) -> None:
    words = (
        "-O2 -I inc main.hip -Wl,-z,now -march=native -Xarch_device -O1 -lm -fPIC -include x.h -fopenmp "
        "-shared -MP -MFdeps -lamdhip64 --rocm-path /opt"
    )
    line = read(words.split(), {"HIPCC_COMPILE_FLAGS_APPEND": "-DEND='1 2'"})
    assert line.stage is Stage.LIBRARY
    assert line.inputs == [Source("main.hip", "hip"), "-Wl,-z,now", "-lm", "-fopenmp"]
    assert line.both == [("-O2",), ("-Iinc",), ("-include", "x.h"), ("-DEND=1 2",)]
    assert (line.host, line.device) == ([("-march=native",), ("-fopenmp",)], [("-O1",)])
    assert line.dependencies == ["-MP", "-MF", "deps"]


def test_options_that_the_linker_does_not_know_are_left_out(folder: Path) -> None:
    line = read(["main.hip", "-Wl,--allow-multiple-definition", "-lm"], {})
    assert driver._without(line, ()) == []
    left_out = driver._without(line, ("-Wl,--allow-multiple-definition",))
    assert left_out == ["-Wl,--allow-multiple-definition"]
    assert line.inputs == [Source("main.hip", "hip"), "-lm"]


HALF_WAVE = """#include <hip/hip_runtime.h>
#include "inc/reduce.h"
__global__ void vote(float *x) {
#if defined(__NVCC__)
    unsigned on = __activemask();
#else
    unsigned positive = __ballot(x[threadIdx.x] > 0);
#endif
    x[threadIdx.x] = half_sum(x[threadIdx.x]) + positive;
}
"""
HALF_SUM = """#pragma once
__device__ inline float half_sum(float v) {
    for (int o = 16; o > 0; o /= 2) v += __shfl_down(v, o);
    return v;
}
"""


def test_code_for_warps_of_32_lanes_is_warned_of_at_its_line(folder: Path) -> None:
    (folder / "vote.hip").write_text(HALF_WAVE)
    (folder / "inc" / "reduce.h").write_text(HALF_SUM)
    both = ("--offload-arch=gfx942", "--offload-arch=gfx950")
    output = hipcc("-Werror", "-c", "vote.hip", "-o", "vote.o", *both)
    places = re.findall(r"^(\S+): warning: .* \[-Wwave32\]$", output, re.MULTILINE)
    # Once for both targets, without the parts that only nvcc compiles.
    assert places == ["vote.hip:7:25", "inc/reduce.h:3:18"]
    assert output.count("a wave has 64 lanes") == 1
    assert hipcc("-Wno-wave32", "-c", "vote.hip", "-o", "vote.o", *both) == ""
    output = hipcc("-Werror=wave32", "-c", "vote.hip", "-o", "none.o", status=1)
    assert "vote.hip:7:25: error: " in output
    assert not (folder / "none.o").exists()


def test_switches_of_warnings_of_32_lanes() -> None:
    assert read(["-x", "hip", "-"], {}).wave32 == "warning"
    last = {
        "-Wwave32": "warning",
        "-Wno-wave32": "",
        "-Werror=wave32": "error",
        "-Wno-error=wave32": "warning",
    }
    for word, severity in last.items():
        line = read(["-Werror=wave32", word, "-x", "hip", "-"], {})
        assert (line.wave32, line.both) == (severity, []), "clang does not know the flag"


def test_languages(folder: Path) -> None:
    for name in ("a.c", "b.s", "c.unknown"):
        (folder / name).touch()
    line = read(
        ["a.c", "b.s", "scale.cpp", "c.unknown", "-x", "c++", "multiply.cu", "-xnone", "main.hip"], {}
    )
    assert [(s.path, s.language) for s in line.sources] == [
        ("a.c", "c"),
        ("b.s", "assembler-with-cpp"),
        ("scale.cpp", "hip"),
        ("multiply.cu", "c++"),
        ("main.hip", "hip"),
    ]
    assert "c.unknown" in line.inputs
    assert read(["scale.cpp"], {"HIP_COMPILE_CXX_AS_HIP": "0"}).sources[0].language == "c++"


def test_an_option_is_tried_out_with_an_empty_source(folder: Path) -> None:
    # AITER's build omits the options for which this fails.
    tried = ["-x", "hip", "-E", "-P", os.devnull, "-o", os.devnull]
    assert main(["-DOF_THIS_TEST=0", *tried], lambda: "gfx942") == 0
    with pytest.raises(UsageError, match="-qqq is not an option"):
        read(["-qqq", *tried], {})


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["main.hip", "-qqq"], "-qqq is not an option"),
        (["main.hip", "-emit-llvm"], "-emit-llvm is not for the emulated device"),
        (["main.hip", "-fsanitize=address"], "-fsanitize=address is not .* wb.sanitize"),
        (["main.hip", "-static"], "-static is not"),
        (["main.hip", "-o"], "-o is the last argument"),
        (["nothing.hip"], "nothing.hip: no such file"),
        (["-"], "expected -x hip"),
        (["-x", "fortran", "main.hip"], "-x fortran: expected one of none, hip"),
        (["-O2", "-lm"], "no input"),
        (["-c", "main.hip", "scale.cpp", "-o", "x.o"], "-o x.o is one file, and 2 would be made"),
        (["-S", "main.hip"], "-S of which part"),
        (["main.hip", "--offload-arch=gfx1030,gfx90c"], "gfx1030,gfx90c: expected one of"),
    ],
)
def test_bad_words_are_named(words: list[str], message: str, folder: Path) -> None:
    with pytest.raises(UsageError, match=message):
        read(words, {})
