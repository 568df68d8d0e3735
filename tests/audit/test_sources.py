"""What an audit finds in a checkout, and how it makes problems smaller."""

from __future__ import annotations

from pathlib import Path

import pytest

from workbench.audit.build import Workplace
from workbench.audit.limits import Limits
from workbench.audit.output import first_error, telling_line, verdict, without_times
from workbench.audit.patches import (
    Insertion,
    applied,
    barriers_before,
    candidates,
    original_line,
    relaxed,
    starts_statement,
    unified,
)
from workbench.audit.signature import Signature, constant, defaults, signatures
from workbench.audit.sizes import make_variables, reduced
from workbench.audit.sources import Kind, checkout_of, kernel_sources
from workbench.errors import UsageError
from workbench.runtime.findings import Cause, Finding

PROGRAM = "#include <hip/hip_runtime.h>\n__global__ void k() {}\nint main() { k<<<1, 1>>>(); }\n"
MODULE = '#include "kittens.cuh"\nPYBIND11_MODULE(tk_kernel, m) {}\n'


def write(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def test_sources_of_a_checkout(tmp_path: Path) -> None:
    rules = "GPU_TARGET ?= CDNA4\nSRC ?= kernel.cpp\ninclude ../common.mk\n"
    checkout = write(
        tmp_path,
        {
            "include/kittens.cuh": "",
            "include/cdna4/common.cuh": "",
            "include/cdna4/main.cpp": PROGRAM,
            "kernels/common.mk": "# CDNA3, CDNA4\nall:\n\t$(HIPCXX) $(SRC) `python3 -m pybind11`\n",
            "kernels/topk/Makefile": "SRC = kernel.cpp\nall:\n\t$(HIPCXX) $(SRC)\n",
            "kernels/topk/kernel.cpp": MODULE,
            "kernels/softmax/Makefile": rules,
            "kernels/softmax/kernel.cpp": MODULE,
            "kernels/softmax/helper.cpp": "void helper() {}\n",
            "kernels/old/archive/kernel.cpp": MODULE,
            "kernels/gfx1250/kernel.cpp": MODULE,
            "analysis/mi325x/kernel.cpp": MODULE,
            "plain.hip": PROGRAM,
            "cuda.cu": "#include <cuda_runtime.h>\n" + PROGRAM,
            "triton_add.py": "import triton\n@triton.jit\ndef add(): ...\n",
            "inline.py": "from torch.utils.cpp_extension import load_inline\n",
            "plot.py": "import matplotlib\n",
            "add.hsaco": "",
        },
    )
    rows = [(s.name, s.kind, s.target, s.makefile is not None) for s in kernel_sources(checkout)]
    assert rows == [
        ("kernels/gfx1250/kernel.cpp", Kind.MODULE, "", False),
        ("kernels/softmax/kernel.cpp", Kind.MODULE, "gfx950", True),
        # Its Makefile does not know how to build a module.
        ("kernels/topk/kernel.cpp", Kind.MODULE, "gfx950", False),
        ("analysis/mi325x/kernel.cpp", Kind.MODULE, "gfx942", False),
        ("add.hsaco", Kind.CODE_OBJECT, "", False),
        ("inline.py", Kind.SCRIPT, "gfx942", False),
        ("inline.py", Kind.SCRIPT, "gfx950", False),
        ("plain.hip", Kind.PROGRAM, "gfx942", False),
        ("plain.hip", Kind.PROGRAM, "gfx950", False),
        ("triton_add.py", Kind.SCRIPT, "gfx942", False),
        ("triton_add.py", Kind.SCRIPT, "gfx950", False),
        ("kernels/old/archive/kernel.cpp", Kind.MODULE, "gfx950", False),
    ]
    # A folder or a file of it belongs to the same checkout.
    (source,) = kernel_sources(checkout / "kernels" / "softmax")
    assert source.root == checkout
    assert source.module == "tk_kernel"
    assert kernel_sources(source.path) == [source]
    assert checkout_of(source.path) == checkout


def test_a_test_script_that_judges_runs_a_module(tmp_path: Path) -> None:
    judges = "import tk_kernel\nN = 8192\nprint('PASSED' if tk_kernel.f(N) else 'FAILED')\n"
    bound = MODULE + 'auto f = py::bind_function<f>(m, "f", &g::x, &g::o);\nconstexpr int N = 8192;\n'
    checkout = write(
        tmp_path / "checkout",
        {
            "include/kittens.cuh": "",
            "softmax/kernel.cpp": bound,
            "softmax/test_python.py": judges.replace("PASSED", "right"),
            "topk/kernel.cpp": bound,
            "topk/test_python.py": judges.replace("PASSED", "right"),
            "topk/plot.py": judges,
            "judged/softmax.cpp": bound,
            "judged/test_python.py": judges,
            "other/kernel.cpp": bound,
            "other/test_python.py": judges.replace("tk_kernel", "another"),
        },
    )
    scripts = {}
    for source in kernel_sources(checkout):
        if source.target == "gfx950":
            workplace = Workplace(source, tmp_path / "copy", Limits())
            scripts[source.name] = (
                workplace.script and workplace.script.relative_to(workplace.root).as_posix()
            )
            if workplace.script is not None:
                assert "N = 512\n" in workplace.script.read_text()
            workplace.restore()
    assert scripts == {
        # The audit has a reference for its signature, and the script prints no verdict.
        "softmax/kernel.cpp": None,
        "topk/kernel.cpp": "topk/test_python.py",
        "judged/softmax.cpp": "judged/test_python.py",
        "other/kernel.cpp": None,
    }
    assert (tmp_path / "copy/checkout/judged/test_python.py").read_text() == judges


def test_a_path_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"there is no .*absent; expected a checkout"):
        kernel_sources(tmp_path / "absent")


def test_sizes_become_smaller_and_lines_stay() -> None:
    text = (
        "#define SIZE 8192\n#define M 192*40 // rows\nconstexpr int warmup_iters  = 500;\n"
        "constexpr int N = 64;\nconstexpr int ATTN_B = 16; // batch\nint K = g.cols();\n#define NUM_WARPS 8\n"
    )
    smaller, sizes = reduced(text)
    assert smaller == (
        "#define SIZE 512\n#define M 768 // rows\nconstexpr int warmup_iters  = 1;\n"
        "constexpr int N = 64;\nconstexpr int ATTN_B = 1; // batch\nint K = g.cols();\n#define NUM_WARPS 8\n"
    )
    assert [str(size) for size in sizes] == [
        "SIZE 8192 as 512",
        "M 7680 as 768",
        "warmup_iters 500 as 1",
        "ATTN_B 16 as 1",
    ]


def test_sizes_of_a_script_and_a_makefile() -> None:
    script = "B = 16\nN = int(sys.argv[5]) if len(sys.argv) > 5 else 2048\nnum_iters = 100\nD = 128\n"
    smaller, _ = reduced(script, is_python=True)
    assert smaller == "B = 1\nN = int(sys.argv[5]) if len(sys.argv) > 5 else 512\nnum_iters = 1\nD = 128\n"
    assert make_variables("ATTN_B ?= 16\nATTN_N ?= 2048\nATTN_D ?= 128\n") == ("ATTN_B=1", "ATTN_N=512")


def test_a_source_knows_its_defaults_better_than_a_makefile_for_several() -> None:
    text = "#ifndef ATTN_D\nconstexpr int ATTN_D = 64;\n#endif\n#ifndef ATTN_B\n#define ATTN_B 16\n#endif\n"
    text += "constexpr int D = 3;\n"
    rules = "ATTN_D ?= 128\nATTN_B ?= 16\nD ?= 5\nFLAGS += -DATTN_D=$(ATTN_D) -DATTN_B=$(ATTN_B) -DD=$(D)\n"
    assert defaults(text, rules) == ("ATTN_D=64",)
    assert defaults(text, "ATTN_D ?= 128\n") == ()


def test_signatures() -> None:
    text = (
        'PYBIND11_MODULE(tk, m) {\n  py::bind_function<dispatch<D>>(m, "dispatch_micro",\n'
        "    &globals<D>::x, // &globals<D>::y,\n    &globals<D>::o\n  );\n"
        '  py::bind_kernel<k>(m, "k", &other::a);\n}\n'
    )
    assert signatures(text) == [Signature("dispatch_micro", ("x", "o")), Signature("k", ("a",))]
    assert constant("constexpr int ATTN_N = 4 * 128;", "ATTN_H", "ATTN_N") == 512
    assert constant("int main() {}", "ATTN_N") is None


@pytest.mark.parametrize(
    ("output", "passed"),
    [
        ("atol: 2.8e-02 -> 83655 / 262144 failures -> FAIL\n", False),
        ("atol: 2.8e-02 -> 0 / 262144 failures -> PASS\nCorrectness: PASSED\n", True),
        ("0 errors, failed: 0\n", None),
        ("3 of 4 tests pass, Results MISMATCH", False),
        ('{"max_diff": 3.0, "passed": false}', False),
        ('{"max_diff": 0.0, "passed": true}', True),
        # Composable Kernel's tile examples.
        ("[bf16] m:128, n:8, valid:y\n", True),
        ("[bf16] m:128, n:8, valid:n\n", False),
        ("time 3 ms\n", None),
    ],
)
def test_verdicts(output: str, passed: bool | None) -> None:
    assert verdict(output) is passed


def test_lines_of_output() -> None:
    output = "header\nrow 3 FAILED by 2\nPASSED\n"
    assert telling_line(output) == "row 3 FAILED by 2"
    assert first_error("x\na.cpp:3:1: error: no member\nmake: *** [all] Error 1\n") == "no member"
    assert without_times("7 wrong\ntook 3.5 ms, 12 GB/s\nTFLOPS: 3\nend") == "7 wrong\nend"


CODE = "void k() {\n    int a =\n        1;\n    // second\n    b();\n    if (a)\n        c();\n}\n"


def race(file: str, line: int, other: int) -> Cause:
    who = (0, 0, 0), 1, 0, 64
    return Cause((Finding("race", "", file, line, 1, True, "", 16, *who, related=(file, other)),))


def test_candidates_are_in_the_words_of_the_source() -> None:
    cause = race("/k.cu", 2, 5)
    plain = list(candidates(cause, CODE, "/k.cu"))
    assert [(each.line, each.statements) for each in plain] == [
        (5, ("__syncthreads();",)),
        (2, ("__syncthreads();",)),
    ]
    tiles = list(candidates(cause, CODE + 'asm volatile("s_waitcnt vmcnt(0)");', "/k.cu"))
    assert str(tiles[0]) == "a wait for lgkmcnt(0) and a barrier before line 5"
    # The same lines once there is an insertion before line 4.
    before = [Insertion(4, ("__syncthreads();",))]
    assert list(candidates(race("/k.cu", 2, 6), CODE, "/k.cu", before)) == plain
    # Nothing is inserted into another file.
    assert not list(candidates(cause, CODE, "/other.cu"))


STAGES = "\n".join(
    ("void k() {", "load();", "s_barrier();", "use();", "s_barrier();", "// s_barrier();", "read();", "}")
)


def test_a_wait_for_loads_is_tried_before_barriers_too() -> None:
    assert barriers_before(STAGES, 7) == [5, 3]
    assert barriers_before(STAGES, 5) == [3]
    message = "expected an s_waitcnt vmcnt between them"
    who = (0, 0, 0), 1, 0, 64
    finding = Finding("missing wait", message, "/k.cu", 7, 1, True, "", 16, *who, related=("/k.cu", 2))
    waits = [each for each in candidates(Cause((finding,)), STAGES, "/k.cu") if each.waits_for_memory]
    # The load's own line is the last to be tried.
    assert [each.line for each in waits] == [7, 5, 3, 2]
    weaker = relaxed(waits[1], 10)
    assert str(weaker) == "a wait for vmcnt(10) before line 5"
    assert not weaker.waits_for_memory
    assert 'asm volatile("s_waitcnt vmcnt(10)" ::: "memory");' in weaker.statements


def test_insertions_go_before_statements_only() -> None:
    assert [line for line in range(1, 9) if starts_statement(CODE, line)] == [2, 4, 5, 6]
    insertion = Insertion(5, ("__syncthreads();",))
    assert applied(CODE, [insertion]).splitlines()[3:6] == [
        "    // second",
        "    __syncthreads();",
        "    b();",
    ]
    # Line 5 is the sixth of the patched source.
    assert [original_line(line, [insertion]) for line in (4, 6, 7)] == [4, 5, 6]
    patch = unified("k/a.cu", CODE, [insertion, Insertion(2, ("wait();",))])
    assert patch.startswith("--- a/k/a.cu\n+++ b/k/a.cu\n@@ ")
    assert [line for line in patch.splitlines() if line.startswith("+ ")] == [
        "+    wait();",
        "+    __syncthreads();",
    ]
