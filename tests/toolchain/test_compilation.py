"""A cell compiles, or its error is reported in the cell's terms; results are cached."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import threading
import time
from pathlib import Path

import pybind11
import pytest

from workbench import toolchain
from workbench.cache import Cache
from workbench.errors import CompileError, CompilerCrashed, CompilerNotFound, CompilerTimeout, UsageError
from workbench.targets import NAMES, TARGETS, TILE_TARGETS
from workbench.toolchain import (
    CompileOptions,
    compilation,
    compile_device,
    host,
    host_library,
    job,
    precompiled,
    questions,
    retry,
    search,
)
from workbench.toolchain.compiler import kernel_headers

RUNTIME = (precompiled.RUNTIME,)
PRELUDE = (precompiled.PRELUDE,)
SCALE = "#include <hip/hip_runtime.h>\n__global__ void scale(float *x, float by) { x[threadIdx.x] *= by; }\n"


def unique(source: str) -> str:
    """The same program, never compiled before."""
    return f"{source}\n// {random.randrange(1 << 60)}\n"


def failure(source: str, arch: str = "gfx950", name: str = "In[3]", **options: object) -> CompileError:
    with pytest.raises(CompileError) as caught:
        compile_device(source, CompileOptions(arch, name=name, **options))  # type: ignore[arg-type]
    text = str(caught.value)
    assert "/tmp/" not in text
    assert "<stdin>" not in text
    return caught.value


@pytest.mark.parametrize("arch", NAMES)
def test_makes_a_code_object(any_compiler: toolchain.Compiler, arch: str) -> None:
    result = compile_device(SCALE, CompileOptions(arch, name="scale.hip"))
    assert result.code_object.startswith(b"\x7fELF")
    assert result.code_object[18:20] == b"\xe0\x00"  # EM_AMDGPU
    assert arch.encode() in result.code_object
    assert b"scale.hip" in result.code_object
    assert result.diagnostics == ()
    assert result.compiler.kind == any_compiler.kind
    assert (result.options.arch, result.source, result.options.name) == (arch, SCALE, "scale.hip")


def test_a_machine_without_zigs_headers_uses_the_systems(
    any_compiler: toolchain.Compiler, monkeypatch: pytest.MonkeyPatch
) -> None:
    if any_compiler.kind != "clang":
        pytest.skip("zig has its own headers")
    monkeypatch.setitem(sys.modules, "ziglang", None)
    search.forget()
    try:
        compiler = toolchain.find_compiler("gfx950")
    except CompilerNotFound as error:
        pytest.skip(str(error))
    assert "system" in compiler.headers
    source = "#include <cmath>\n__global__ void k(double *x) { x[0] = std::sin(x[1]) + std::pow(x[2], 2); }"
    assert compile_device(source, CompileOptions("gfx950"), use_cache=False).code_object


def test_the_targets_macro(zig: toolchain.Compiler) -> None:
    macros = {target.name: target.macro for target in TARGETS}
    for arch, macro in macros.items():
        others = " || ".join(f"defined({other})" for other in macros.values() if other != macro)
        compile_device(f"#if !defined({macro}) || {others}\n#error\n#endif\n{SCALE}", CompileOptions(arch))


def test_standard_headers_work_on_the_device(any_compiler: toolchain.Compiler) -> None:
    source = """#include <hip/hip_runtime.h>
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <tuple>
#include <type_traits>
#include <utility>
template <std::floating_point T> __device__ T clamp(T x) {
    return std::min(std::max(x, T(0)), std::numeric_limits<T>::max());
}
__global__ void k(float *x, std::uint32_t *u) {
    std::array<float, 4> a{1, 2, 3, std::sqrt(x[0])};
    auto [p, q] = std::pair{x[1], std::abs(x[2])};
    x[threadIdx.x] = clamp(a[threadIdx.x & 3] * p + q) + std::get<0>(std::tuple{std::fma(p, q, 1.0f)});
    u[0] = std::bit_cast<std::uint32_t>(x[3]) + std::popcount(u[1]);
}
"""
    assert compile_device(source, CompileOptions("gfx950")).diagnostics == ()


def test_a_host_launcher_beside_the_kernel(any_compiler: toolchain.Compiler) -> None:
    source = """
#include <hip/hip_runtime.h>
#include <cstdio>
extern __shared__ float scratch[];
__global__ __launch_bounds__(256, 2) void k(float *x) {
    scratch[threadIdx.x] = x[0];
    __syncthreads();
    x[1] = scratch[0];
}
void launch(float *x, hipStream_t stream) {
    hipFuncSetAttribute((void *)k, hipFuncAttributeMaxDynamicSharedMemorySize, 65536);
    k<<<dim3(4, 2), 256, 65536, stream>>>(x);
    hipLaunchKernelGGL(k, dim3(1), dim3(64), 0, stream, x);
    if (hipGetLastError() != hipSuccess) std::printf("%s\\n", hipGetErrorString(hipDeviceSynchronize()));
}
"""
    assert compile_device(source, CompileOptions("gfx942")).diagnostics == ()


def test_an_error_shows_the_cells_line_column_and_caret(any_compiler: toolchain.Compiler) -> None:
    error = failure("// äöü\n__global__ void k(float *x) {\n\tfloat ü = 1; x[0] = wrong + ü;\n}\n")
    (diagnostic,) = error.diagnostics
    assert (diagnostic.line, diagnostic.column, diagnostic.severity) == (3, 22, "error")
    assert diagnostic.message == "use of undeclared identifier 'wrong'"
    assert diagnostic.file is None
    lines = str(error).splitlines()
    assert lines[0] == "In[3] does not compile for gfx950: 1 error"
    assert lines[1] == "In[3]:3:22: error: use of undeclared identifier 'wrong'"
    assert "x[0] = wrong + ü;" in lines[2]
    assert lines[3].rstrip().endswith("^~~~~")
    assert lines[3].index("^") == lines[2].index("wrong")


def test_lines_count_from_the_cells_magic(any_compiler: toolchain.Compiler) -> None:
    error = failure("\n__global__ void k() { oops }\n", first_line=2)
    assert [item.line for item in error.diagnostics] == [3]
    assert "In[3]:3:23: error" in str(error)


def test_fixits_are_in_the_cells_coordinates(any_compiler: toolchain.Compiler) -> None:
    source = "__global__ void k(int *x) {\n  /* ü */ x[0] = 1\n  x[1] = 2;\n}\n"
    (diagnostic,) = failure(source, first_line=5).diagnostics
    (fixit,) = diagnostic.fixits
    assert (fixit.line, fixit.column, fixit.end_line, fixit.end_column, fixit.text) == (6, 19, 6, 19, ";")


def test_a_template_error_leads_to_the_line_that_asked(any_compiler: toolchain.Compiler) -> None:
    source = """template <typename T> __device__ auto member(T x) { return x.missing; }
__global__ void k(float *x) {
    x[0] = member(x[1]);
}
"""
    (diagnostic,) = failure(source).diagnostics
    assert diagnostic.line == 1
    (note,) = diagnostic.notes
    assert (note.line, note.column, note.severity) == (3, 12, "note")
    assert "member<float>" in note.message


def test_an_error_in_a_header_names_it_as_included(any_compiler: toolchain.Compiler, tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "tile.h").write_text(
        '#pragma once\ntemplate <int n> struct tile { static_assert(n % 16 == 0, "multiples of 16"); };\n'
    )
    source = '#include "sub/tile.h"\n__global__ void k() {\n    tile<20> t;\n}\n'
    diagnostic = failure(source, include=[tmp_path]).diagnostics[0]
    assert (diagnostic.file, diagnostic.line) == ("sub/tile.h", 2)
    assert "multiples of 16" in diagnostic.message
    assert (diagnostic.cell_line, diagnostic.cell_column) == (3, 14)
    (tmp_path / "bad.h").write_text("int 5x;\n")
    diagnostic = failure('\n#include "bad.h"\n', include=[tmp_path]).diagnostics[0]
    assert (diagnostic.file, diagnostic.line, diagnostic.cell_line) == ("bad.h", 1, 2)


def test_warnings_are_kept_with_the_result(any_compiler: toolchain.Compiler) -> None:
    source = "__global__ void k(int *x) {\n  int unused;\n  x[0] = 1;\n}\n"
    for cached in (False, True):
        result = compile_device(
            source, CompileOptions("gfx950", name="In[3]", flags="-Wall"), use_cache=cached
        )
        assert result.cached is cached
        (warning,) = result.diagnostics
        assert (warning.severity, warning.line, warning.option) == ("warning", 2, "-Wunused-variable")
        assert "unused variable 'unused'" in str(warning)


@pytest.mark.parametrize(
    ("body", "line", "message"),
    [
        ('x[0] = 1;\n  vprintf("%f", nullptr);', 3, "printf does not exist in device code"),
        ("x[0] = 1;\n  x = (float *)calloc(4, 1); x[1] = 2;", 3, "calloc does not exist in device code"),
        ("x[0] = elsewhere(1.0f);", 2, "elsewhere(float) is declared but nowhere defined"),
    ],
)
def test_what_the_linker_misses_is_a_compile_error(
    any_compiler: toolchain.Compiler, body: str, line: int, message: str
) -> None:
    declarations = (
        "__device__ float elsewhere(float); "
        'extern "C" __device__ void *calloc(unsigned long, unsigned long); '
        'extern "C" __device__ int vprintf(const char *, void *); '
    )
    error = failure(f"{declarations}__global__ void k(float *x) {{\n  {body}\n}}\n")
    (diagnostic,) = error.diagnostics
    assert diagnostic.line == line
    assert diagnostic.message.startswith(message)
    assert "^" in str(error)


def test_too_much_shared_memory_is_a_compile_error(any_compiler: toolchain.Compiler) -> None:
    body = "__shared__ float s[100000];\n  s[i] = i; x[0] = s[i ^ 1];"
    source = f"__global__ void k(float *x, int i) {{\n  {body}\n}}\n"
    assert "k asks for 400,000 bytes of shared memory" in str(failure(source))


def test_bad_assembly_is_a_compile_error(any_compiler: toolchain.Compiler) -> None:
    diagnostic = failure(
        '__global__ void k(float *x) {\n  asm volatile("v_foo_b32 v0, 1");\n}\n'
    ).diagnostics[0]
    assert (diagnostic.line, diagnostic.message) == (2, "invalid instruction")


def test_a_name_that_is_hard_to_quote(zig: toolchain.Compiler) -> None:
    name = 'a "cell" with \\ and: 3:4'
    assert f"{name}:1:" in str(failure("oops", name=name))


def test_no_source_at_all(zig: toolchain.Compiler) -> None:
    assert compile_device("", CompileOptions("gfx950")).code_object


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"arch": "gfx1030"}, "target 'gfx1030': expected one of gfx950, gfx942, gfx90a"),
        ({"flags": "-o x"}, "flag -o"),
        ({"flags": ["-c"]}, "flag -c"),
        ({"flags": "other.cpp"}, "flag 'other.cpp'"),
        ({"flags": "'"}, "No closing quotation"),
        ({"define": ["1X"]}, "define '1X'"),
        ({"include": ["/no/such/folder"]}, "include folder /no/such/folder does not exist"),
        ({"include": "/usr"}, r"include is '/usr'; expected a list of folders such as \['/usr'\]"),
        ({"include": [3]}, "include folder 3: expected a path"),
        ({"flags": 3}, "flags is 3; expected a text such as '-O1 -Wall', or a list of texts"),
        ({"flags": {"-O1": 1}}, "flags is .*; expected a text"),
        ({"flags": [3]}, "flag 3: expected a string"),
        ({"include": 3}, "include is 3; expected a list of folders"),
        ({"define": 3}, r"define is 3; expected a list such as \['N=4'\]"),
        ({"define": "N=4"}, r"define is the text 'N=4'; expected a list such as \['N=4'\]"),
        ({"define": [3]}, "define 3: expected NAME or NAME=VALUE"),
        ({"arch": 950}, "target 950: expected one of 'gfx950'"),
        ({"name": 3}, "name 3: expected a text"),
        ({"first_line": 0}, "first_line 0: expected the number of a line, 1 or more"),
        ({"first_line": "2"}, "first_line '2'"),
        ({"timeout": 0}, "timeout 0: expected a positive number of seconds"),
        ({"timeout": "1"}, "timeout '1': expected a positive number of seconds"),
        ({"timeout": float("nan")}, "timeout nan"),
        ({"timeout": float("inf")}, "timeout inf"),
        ({"flags": ["-DX=\0"]}, r"flag '-DX=\\x00': expected a text without null bytes"),
        ({"define": ["X=\0"]}, r"define 'X=\\x00': expected a text without null bytes"),
        ({"include": ["/usr\0"]}, r"include folder '/usr\\x00': expected a text without null bytes"),
        ({"name": "a\0b"}, r"name 'a\\x00b': expected a text without null bytes"),
    ],
)
def test_options_that_do_not_fit(options: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        CompileOptions(**{"arch": "gfx950", **options})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (None, "the source is a NoneType; expected the C[+][+] text"),
        (b"int i;", "the source is a bytes; expected the C[+][+] text"),
        (Path("a.hip"), r"the source is the path 'a.hip'; .* Path\('a.hip'\).read_text\(\)"),
        (__file__, r"the source is the path '.*test_compilation.py'; expected C[+][+] text"),
    ],
)
def test_sources_that_do_not_fit(source: object, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        compile_device(source, CompileOptions("gfx950"))  # type: ignore[arg-type]


def test_the_byte_order_mark_of_other_editors_is_no_text(zig: toolchain.Compiler) -> None:
    # Debug information has all types of a precompiled header, which may be ready only for the second one.
    options = CompileOptions("gfx950", debug=False)
    assert compile_device("\ufeff" + SCALE, options).code_object == compile_device(SCALE, options).code_object


def test_defines_and_flags_reach_the_compiler(zig: toolchain.Compiler) -> None:
    source = "static_assert(A == 3 && B == 1 && C(2) == 4 && D == 5);\n#ifndef E\n#error\n#endif\n" + SCALE
    compile_device(
        source,
        CompileOptions("gfx950", define=["A=3", "C(x)=((x) * 2)", "E"], flags="-DB=1 -DD=5 -ffast-math"),
    )
    compile_device(
        source, CompileOptions("gfx950", define={"A": 3, "B": True, "C(x)": "4", "D": "5", "E": None})
    )


def test_quoted_includes_come_from_the_current_folder_or_beside_the_source(
    zig: toolchain.Compiler, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mine.h").write_text("#define BY 3\n")
    source = '#include "mine.h"\n__global__ void k(float *x) { x[0] = BY; }\n'
    failure(source)
    monkeypatch.chdir(tmp_path)
    compile_device(source, CompileOptions("gfx950"))
    monkeypatch.chdir("/")
    (tmp_path / "kernel.cpp").write_text(source)
    compile_device(source, CompileOptions("gfx950", name=str(tmp_path / "kernel.cpp")))


# The cache.


def test_a_second_compilation_starts_no_compiler(zig: toolchain.Compiler) -> None:
    source = unique(SCALE)
    first = compile_device(source, CompileOptions("gfx950"))
    assert not first.cached
    second = compile_device(source, CompileOptions("gfx950"))
    assert second.cached
    assert second.code_object == first.code_object
    assert second.compile_seconds == first.compile_seconds


def test_all_inputs_of_the_result_are_part_of_the_key(zig: toolchain.Compiler, tmp_path: Path) -> None:
    source = unique(SCALE)
    compile_device(source, CompileOptions("gfx950"))
    different: list[dict[str, object]] = [
        {"arch": "gfx942"},
        {"name": "other"},
        {"flags": "-O1"},
        {"define": ["X"]},
        {"debug": False},
        {"first_line": 2},
        {"include": [tmp_path]},
    ]
    for options in different:
        changed = CompileOptions(**{"arch": "gfx950", **options})  # type: ignore[arg-type]
        assert not compile_device(source, changed).cached, options
    assert compile_device(source, CompileOptions("gfx950")).cached


def test_a_changed_header_is_noticed_and_a_restored_one_is_found(
    zig: toolchain.Compiler, tmp_path: Path
) -> None:
    header = tmp_path / "value.h"
    source = unique('#include "value.h"\n__global__ void k(float *x) { x[0] = VALUE; }\n')

    def compiled() -> toolchain.CompileResult:
        return compile_device(source, CompileOptions("gfx950", include=[tmp_path]))

    header.write_text("#define VALUE 1\n")
    first = compiled()
    assert compiled().cached
    header.write_text("#define VALUE 2\n")
    two = compiled()
    assert not two.cached
    assert two.code_object != first.code_object
    header.write_text("#define VALUE 1\n")
    again = compiled()
    assert again.cached
    assert again.code_object == first.code_object


def test_a_header_that_hides_another_is_noticed(zig: toolchain.Compiler, tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    first.mkdir()
    second.mkdir()
    (second / "value.h").write_text("#define VALUE 1\n")
    source = unique('#include "value.h"\n__global__ void k(float *x) { x[0] = VALUE; }\n')
    before = compile_device(source, CompileOptions("gfx950", include=[first, second]))
    (first / "value.h").write_text("#define VALUE 2\n")
    two = compile_device(source, CompileOptions("gfx950", include=[first, second]))
    assert not two.cached
    assert two.code_object != before.code_object


def test_a_damaged_result_is_made_again(zig: toolchain.Compiler, own_cache: Path) -> None:
    compile_device(SCALE, CompileOptions("gfx950"))
    precompiled.wait()
    for file in (own_cache / "code-objects").rglob("*"):
        if file.is_file():
            file.write_bytes(file.read_bytes()[:-9])
    result = compile_device(SCALE, CompileOptions("gfx950"))
    assert not result.cached
    assert result.code_object.startswith(b"\x7fELF")
    for file in (own_cache / "manifests").rglob("*"):
        if file.is_file():
            file.write_bytes(b"{")
    assert not compile_device(SCALE, CompileOptions("gfx950")).cached
    assert compile_device(SCALE, CompileOptions("gfx950")).cached


def test_a_damaged_compiler_answer_is_asked_again(own_cache: Path) -> None:
    python = Path(sys.executable)
    answer = questions.ask(python, "--version")
    assert answer.startswith("Python")
    (entry,) = (file for file in (own_cache / "compilers").rglob("*") if file.is_file())
    for garbage in (b"", b"\xff\xfe garbage", entry.read_bytes()[:-1]):
        entry.write_bytes(garbage)
        assert questions.ask(python, "--version") == answer


def test_threads_that_want_the_same_compile_it_once(
    zig: toolchain.Compiler, own_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs: list[int] = []
    original = compilation.compile_job
    monkeypatch.setattr(compilation, "compile_job", lambda each: (runs.append(1), original(each))[1])
    results: list[toolchain.CompileResult] = []
    threads = [
        threading.Thread(target=lambda: results.append(compile_device(SCALE, CompileOptions("gfx950"))))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(runs) == 1
    assert len({result.code_object for result in results}) == 1
    precompiled.wait()


def test_a_cached_cell_in_a_new_process(zig: toolchain.Compiler) -> None:
    """It starts no compiler, not even to query its version."""
    program = (
        "import subprocess\nfrom workbench.toolchain import CompileOptions, compile_device\n"
        "subprocess.Popen = None\n"
        f"print(compile_device({SCALE!r}, CompileOptions('gfx950', name='process')).cached)\n"
    )
    compile_device(SCALE, CompileOptions("gfx950", name="process"))
    out = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert out == "True\n"


def test_macros_with_names_of_the_headers_parameters(any_compiler: toolchain.Compiler) -> None:
    options = {"define": {"N": 4, "T": "float", "F(x)": "(x + 1)", "FAST": None}}
    source = "#if !FAST\noops\n#endif\n__global__ void k(T *x) { x[N] = F(2); }\n"
    assert compile_device(source, CompileOptions("gfx950", **options)).diagnostics == ()  # type: ignore[arg-type]
    error = failure(source + "  unknown_type y;\n", **options)
    assert "In[3]:5:3: error: unknown type name" in str(error)
    assert (error.diagnostics[0].line, error.diagnostics[0].column) == (5, 3)
    fixed = failure("void k() { int abcd = 1;\n  abce = 2; }\n", define={"N": 4}).diagnostics[0].fixits
    assert [(fix.line, fix.column, fix.text) for fix in fixed] == [(2, 3, "abcd")]


# Precompiled headers.


def test_a_precompiled_header_changes_nothing_but_the_time(
    any_compiler: toolchain.Compiler, own_cache: Path
) -> None:
    source = '#include <hip/hip_runtime.h>\n#define BY 2\n#include "hip/hip_bf16.h"\n' + SCALE
    without = compile_device(source, CompileOptions("gfx950", debug=False), use_cache=False)
    assert "-include-pch" not in without.command
    precompiled.wait()
    with_it = compile_device(source, CompileOptions("gfx950", debug=False), use_cache=False)
    assert "-include-pch" in with_it.command
    assert with_it.code_object == without.code_object
    error = failure(source + "oops\n", debug=False)
    assert f"In[3]:{source.count(chr(10)) + 1}:1: error" in str(error)


def test_warm_makes_them(zig: toolchain.Compiler, own_cache: Path) -> None:
    toolchain.warm("gfx950")
    assert Cache("precompiled").usage().entries >= 1
    assert "-include-pch" in compile_device(SCALE, CompileOptions("gfx950")).command


def test_a_damaged_precompiled_header_is_not_used(zig: toolchain.Compiler, own_cache: Path) -> None:
    toolchain.warm("gfx950")
    for file in (own_cache / "precompiled").rglob("*"):
        if file.is_file():
            file.write_bytes(b"CPCH" + bytes(100))
    assert "-include-pch" not in compile_device(SCALE, CompileOptions("gfx950")).command
    precompiled.wait()
    again = compile_device(SCALE, CompileOptions("gfx950"), use_cache=False)
    assert "-include-pch" in again.command


@pytest.mark.parametrize(
    ("source", "defines", "headers"),
    [
        ("__global__ void k() {}", [], PRELUDE),
        ("__global__ void k() {}\n#include <hip/hip_runtime.h>\n", [], PRELUDE),
        ("#include <hip/hip_fp16.h>\n", [], PRELUDE),
        ("#include <hip/hip_cooperative_groups.h>\n", [], RUNTIME),
        ("#include <hip_runtime.h>\n", [], RUNTIME),
        (
            "// c\n/* d\n */\n#pragma once\n#include <hip/hip_runtime.h>\n__global__ void k() {}",
            ["MINE"],
            RUNTIME,
        ),
        ("#include <cmath>\n#include <hip/hip_runtime.h>\n", [], RUNTIME),
        ('#define warpSize 32\n#include "kittens.cuh"\n', [], PRELUDE),
        ("__global__ void k() {}\n#include <kittens.cuh>\n", [], PRELUDE),
        ("", ["__launch_bounds__"], ()),
        ("", ["_FORTIFY_SOURCE"], ()),
        ('#include "kittens.cuh"\n', [], (*RUNTIME, precompiled.TILES)),
        ('#include "families/gemm.cuh"\n', [], (*RUNTIME, precompiled.TILES)),
        ('#define warpSize 32\n#include "families/gemm.cuh"\n', [], PRELUDE),
        ("#include <pybind11/stl.h>\n", [], (*PRELUDE, precompiled.PYBIND)),
        ("#define PYBIND11_NAMESPACE mine\n#include <pybind11/stl.h>\n", [], PRELUDE),
        ("#include <pybind11/stl.h>\n", ["PY_SSIZE_T_CLEAN"], PRELUDE),
        (
            '#include "kittens.cuh"\n#include "pyutils/pyutils.cuh"\n',
            ["N=4"],
            (*RUNTIME, precompiled.TILES, precompiled.PYBIND),
        ),
        # Our tile library reads this macro.
        (
            '#include "kittens.cuh"\n#include "pyutils/pyutils.cuh"\n',
            ["KITTENS_CDNA4"],
            (*RUNTIME, precompiled.PYBIND),
        ),
        ("#define __forceinline__\n#include <pybind11/stl.h>\n", [], (*PRELUDE, precompiled.PYBIND)),
        ("#define __mine__\n#include <pybind11/stl.h>\n", [], PRELUDE),
    ],
)
def test_which_precompiled_headers_may_stand_in(
    source: str, defines: list[str], headers: tuple[str, ...]
) -> None:
    folder = Path(pybind11.get_include())
    assert precompiled.headers_for(source, defines, [], folder) == headers


def test_a_header_of_the_users_own_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "kittens.cuh").write_text("\n")
    assert precompiled.headers_for('#include "kittens.cuh"\n', [], [str(tmp_path)]) == PRELUDE
    (tmp_path / "hip").mkdir()
    (tmp_path / "hip" / "hip_runtime.h").write_text("\n")
    assert precompiled.headers_for("", [], [str(tmp_path)]) == ()


def test_sources_of_operators_begin_with_the_precompiled_tile_library(tmp_path: Path) -> None:
    """By way of a family's header; a file of the user's that has the tile library's name prevents it."""
    families = [path.name for path in (kernel_headers().parent / "families").glob("*.cuh")]
    assert families
    for name in families:
        source = f'#include "families/{name}"\n'
        assert precompiled.headers_for(source, [], [str(tmp_path)]) == (*RUNTIME, precompiled.TILES), name
    (tmp_path / "kittens.cuh").write_text("\n")
    source = '#include "families/gemm.cuh"\n'
    assert precompiled.TILES not in precompiled.headers_for(source, [], [str(tmp_path)])


def test_macros_of_the_users_own_headers_keep_pybind_out(tmp_path: Path) -> None:
    folder, source = Path(pybind11.get_include()), '#include "mine/all.h"\n'
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "all.h").write_text(
        'namespace mine {}\n#include "names.h"\n#include <pybind11/stl.h>\n'
    )
    (tmp_path / "mine" / "names.h").write_text("#define HARMLESS\n")
    assert precompiled.headers_for(source, [], [str(tmp_path)], folder) == (*PRELUDE, precompiled.PYBIND)
    (tmp_path / "mine" / "names.h").write_text("#define PYBIND11_NAMESPACE mine\n")
    assert precompiled.headers_for(source, [], [str(tmp_path)], folder) == PRELUDE


# A compiler that misbehaves.


@pytest.fixture
def impostor(zig: toolchain.Compiler, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A script in place of the compiler."""
    script = tmp_path / "clang"
    monkeypatch.setattr(
        job,
        "find_compiler",
        lambda arch: toolchain.Compiler(**{**vars(zig), "command": (str(script),), "identity": str(script)}),
    )
    return script


def write(script: Path, body: str) -> None:
    script.write_text(f"#!/bin/sh\n{body}\n")
    script.chmod(0o755)


def alive(process: int) -> bool:
    """True if a process runs; False for one that has ended and is a zombie."""
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in "ZX"


NO_REGISTERS = """
typedef float floats __attribute__((ext_vector_type(4)));
__attribute__((global, amdgpu_num_vgpr(1))) void k(floats *x) { *x += *x; }
"""


def test_a_compiler_without_registers_left_names_the_others(zig: toolchain.Compiler) -> None:
    with pytest.raises(CompileError, match=r"found no allocation of registers; .* fewer values") as caught:
        compile_device(NO_REGISTERS, CompileOptions("gfx950"))
    others = search.other_compilers(zig, "gfx950")
    assert zig.path not in [other.path for other in others]
    for other in others:
        assert f"HIPKITTENS_COMPILER={other.path} ({other.version})" in str(caught.value)
    assert others or "No other compiler is installed" in str(caught.value)


@pytest.fixture
def zig_besides(zig: toolchain.Compiler, monkeypatch: pytest.MonkeyPatch) -> None:
    """Zig is the only other compiler."""
    for module in (job, retry):
        monkeypatch.setattr(module, "other_compilers", lambda compiler, arch: [zig])


@pytest.mark.usefixtures("zig_besides")
def test_another_compiler_compiles_what_one_has_no_registers_for(
    impostor: Path, zig: toolchain.Compiler, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is the result's compiler, also from the cache, and a note says so; a chosen one is not replaced."""
    write(impostor, "echo 'error: no registers from class available to allocate' >&2; exit 1")
    monkeypatch.delenv("HIPKITTENS_COMPILER", raising=False)
    for cached in (False, True):
        result = compile_device(SCALE, CompileOptions("gfx950"))
        assert result.compiler is zig
        assert result.cached == cached
        [note] = result.diagnostics
        assert note.severity == "note"
        assert f"compiled by {zig.version} ({zig.path}): " in note.message
    monkeypatch.setenv("HIPKITTENS_COMPILER", "clang")
    with pytest.raises(CompileError, match="found no allocation of registers"):
        compile_device(SCALE + "// other", CompileOptions("gfx950"))


@pytest.mark.usefixtures("zig_besides")
def test_another_compiler_compiles_a_module_or_a_program_too(
    impostor: Path, zig: toolchain.Compiler, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(impostor, "echo 'error: no registers from class available to allocate' >&2; exit 1")
    problem_of = host_library._problem
    monkeypatch.setattr(
        host_library, "_problem", lambda of, library: problem_of(of, library) if of is zig else ""
    )
    # It compiles plain C, as compilers that lack registers for a kernel do.
    conversions = host_library._conversions
    monkeypatch.setattr(host_library, "_conversions", lambda _, library: conversions(zig, library))
    monkeypatch.delenv("HIPKITTENS_COMPILER", raising=False)
    source = (
        "#include <hip/hip_runtime.h>\n"
        "__global__ void k() {}\nint main() { k<<<1, 1>>>(); return hipDeviceSynchronize(); }\n"
    )
    for cached in (False, True):
        result = host.compile_host(source, CompileOptions("gfx950"), module=False)
        assert result.compiler is zig
        assert result.cached == cached
        [note] = result.diagnostics
        assert f"compiled by {zig.version} ({zig.path}): " in note.message
    monkeypatch.setenv("HIPKITTENS_COMPILER", "clang")
    with pytest.raises(CompileError, match="found no allocation of registers"):
        host.compile_host(source + "// other", CompileOptions("gfx950"), module=False)


@pytest.mark.parametrize(
    "words",
    [
        "no registers from class available to allocate",
        "ran out of registers during register allocation",
        "cannot find enough VGPRs for wwm-regalloc",
    ],
)
def test_each_way_to_lack_registers(impostor: Path, words: str) -> None:
    write(impostor, f"echo 'error: {words}' >&2; exit 1")
    with pytest.raises(CompileError, match="found no allocation of registers"):
        compile_device(SCALE, CompileOptions("gfx950"))


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("kill -SEGV $$", "crashed with SIGSEGV"),
        ("kill -KILL $$", r"crashed with SIGKILL \(out of memory\?\)"),
        ("echo 'fatal error: error in backend: Cannot select: t5' >&2; exit 70", "crashed: .*Cannot select"),
        ("echo 'Stack dump:' >&2; echo '0. clang' >&2; exit 139", "crashed with SIGSEGV"),
        ("exit 1", "ended with status 1 and said nothing"),
        ("exit 0", "ended with status 0 and said nothing"),
    ],
)
def test_a_compiler_that_dies(impostor: Path, body: str, message: str) -> None:
    write(impostor, body)
    with pytest.raises(CompilerCrashed, match=message):
        compile_device(SCALE, CompileOptions("gfx950", name="In[3]"))


def test_a_compiler_that_hangs_is_stopped_with_its_children(impostor: Path, tmp_path: Path) -> None:
    mark = tmp_path / "child"
    write(impostor, f"sleep 300 & echo $! > {mark}; wait")
    with pytest.raises(CompilerTimeout, match="did not finish within 2 s"):
        compile_device(SCALE, CompileOptions("gfx950", name="In[3]", timeout=2))
    # A killed process may stay for a moment, until its parent or init has waited for it.
    until = time.monotonic() + 120
    while alive(int(mark.read_text())) and time.monotonic() < until:
        time.sleep(0.05)
    assert not alive(int(mark.read_text()))


def test_a_compiler_that_was_removed(impostor: Path) -> None:
    with pytest.raises(CompilerNotFound, match="cannot be started any more"):
        compile_device(SCALE, CompileOptions("gfx950"))


def test_the_time_limit_of_the_environment(impostor: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(impostor, "sleep 20")
    monkeypatch.setenv("HIPKITTENS_COMPILE_TIMEOUT", "0.3")
    with pytest.raises(CompilerTimeout):
        compile_device(SCALE, CompileOptions("gfx950"))
    monkeypatch.setenv("HIPKITTENS_COMPILE_TIMEOUT", "soon")
    with pytest.raises(UsageError, match="HIPKITTENS_COMPILE_TIMEOUT"):
        compile_device(SCALE, CompileOptions("gfx950"))


def test_nothing_is_left_in_the_temporary_folder(zig: toolchain.Compiler, temporary_folder: Path) -> None:
    compile_device(unique(SCALE), CompileOptions("gfx950"))
    failure("oops")
    precompiled.wait()
    assert os.listdir(temporary_folder) == []


def test_report(zig: toolchain.Compiler) -> None:
    report = toolchain.report()
    assert report.compiler is not None
    assert report.compiler.kind == "zig"
    assert {*TILE_TARGETS, "gfx1100", "gfx1201"} <= set(report.targets)
    assert all(report.targets[arch] == report.compiler.version for arch in TILE_TARGETS)
    assert all(Path(folder).is_dir() for folder in report.cache_folders)


def test_report_without_a_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HIPKITTENS_COMPILER", "/no/such/compiler")
    report = toolchain.report()
    assert report.compiler is None
    assert "HIPKITTENS_COMPILER" in report.problem
    assert set(report.targets.values()) == {None}
