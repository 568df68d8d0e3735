"""The magics in a real IPython shell, on the emulated device."""

from __future__ import annotations

import math
import re
import sys
from types import ModuleType

import pytest
import torch
from IPython.core.error import UsageError
from IPython.utils.capture import capture_output

import workbench as wb
from workbench.errors import CompileError, ProgramError, SanitizerError, ToolchainError
from workbench.toolchain import device_libraries

CELL = """#include <hip/hip_runtime.h>
__global__ void scale(float *x, float factor, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] *= factor;
}
"""


def run(shell, line, cell=CELL):
    with capture_output() as out:
        shell.run_cell_magic("hipkittens", line, cell)
    return out


def html_of(out):
    return "".join(o.data.get("text/html", "") for o in out.outputs)


def test_colab_gets_one_list_of_missing_parts(shell, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "google.colab", ModuleType("google.colab"))
    shell.run_line_magic("reload_ext", "workbench")
    assert capsys.readouterr().out.count("Colab is not JupyterLab: magics, figures and tables work") == 1
    monkeypatch.delitem(sys.modules, "google.colab")
    shell.run_line_magic("reload_ext", "workbench")
    assert capsys.readouterr().out == ""


def test_compiles_and_binds(shell):
    out = run(shell, "mod")
    page = html_of(out)
    assert "emulated:gfx950" in page
    assert "modelled" not in page  # nothing was timed
    assert "scale" in page
    assert "compiled in" in page or "cached" in page
    x = torch.ones(64)
    shell.user_ns["mod"]["scale"][1, 64](x, 2.0, 64)
    assert x.unique().tolist() == [2.0]
    assert "cached" in html_of(run(shell, "mod"))


def test_payload_for_the_editor(shell):
    [output] = run(shell, "mod").outputs
    payload = output.data["application/vnd.hipkittens.cell+json"]
    assert payload["status"] == "compiled"
    assert payload["kernels"][0]["name"] == "scale"
    assert payload["device"]["arch"] == "gfx950"


def test_options_reach_the_compiler(shell, tmp_path):
    (tmp_path / "answer.h").write_text("#define ANSWER 42\n")
    cell = (
        "#include <hip/hip_runtime.h>\n"
        '#include "answer.h"\n__global__ void k(int *x) { x[threadIdx.x] = ANSWER + EXTRA; }\n'
        "#ifndef FAST\n#error slow\n#endif"
    )
    run(shell, f'm2 --arch gfx942 -I "{tmp_path}" -D EXTRA=3 --flags "-DFAST -O2"', cell)
    module = shell.user_ns["m2"]
    assert module.arch == "gfx942"
    x = torch.zeros(64, dtype=torch.int32)
    module["k"][1, 64](x)
    assert x.unique().tolist() == [45]


def test_rocms_device_libraries(shell, monkeypatch, tmp_path):
    """Without the option the error names it; with it the libraries come from the user's folder."""
    monkeypatch.setenv(device_libraries.FOLDER, str(tmp_path))
    cell = (
        '#include <hip/hip_runtime.h>\nextern "C" __device__ float __ocml_i1_f32(float);\n'
        "__global__ void k(float *x) { x[threadIdx.x] = __ocml_i1_f32(x[threadIdx.x]); }"
    )
    with pytest.raises(CompileError, match=r"not linked.*--device-libraries"):
        run(shell, "gamma", cell)
    with pytest.raises(ToolchainError, match=rf"ocml\.bc.*{tmp_path}"):
        run(shell, "gamma --device-libraries", cell)


def test_what_changed_is_shown(shell):
    run(shell, "changing")
    more = CELL.replace(
        "x[i] *= factor;",
        "{ __shared__ float k[64]; k[threadIdx.x] = x[i]; __syncthreads(); x[i] = k[63 - threadIdx.x]; }",
    )
    assert "(+256)" in html_of(run(shell, "changing", more))


def test_warnings_are_shown(shell):
    cell = '__global__ void k(int *x) {\n#warning "look here"\n}'
    page = html_of(run(shell, "warned", cell))
    assert "1 warning" in page
    assert "look here" in page


def test_compile_error_shows_the_cells_line_and_nothing_is_bound(shell):
    with capture_output() as out, pytest.raises(CompileError) as raised:
        shell.run_cell_magic("hipkittens", "broken", "\n__global__ void k(int *x) { x[0] = y; }\n")
    assert raised.value.diagnostics[0].line == 3
    lines = raised.value._render_traceback_()
    assert any("broken.hip:3:36: error: use of undeclared identifier 'y'" in line for line in lines)
    assert not any("File" in line for line in lines)
    assert "broken" not in shell.user_ns
    [output] = out.outputs
    payload = output.data["application/vnd.hipkittens.cell+json"]
    assert payload["status"] == "failed"
    assert payload["diagnostics"][0]["line"] == 3


def test_run_all_stops_at_a_compile_error(shell):
    with capture_output():
        result = shell.run_cell("%%hipkittens broken\n__global__ void k( {")
    assert not result.success
    assert isinstance(result.error_in_exec, CompileError)


def test_a_cell_that_fails_on_purpose_prints_its_error(shell):
    with capture_output() as out:
        result = shell.run_cell("%%hipkittens broken --fails\n__global__ void k( {")
    assert result.success
    assert "CompileError: " in out.stdout
    assert "broken.hip:2:" in out.stdout
    assert "broken" not in shell.user_ns
    payload = out.outputs[0].data["application/vnd.hipkittens.cell+json"]
    assert payload["status"] == "failed", "it is marked all the same"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("", "arguments are required: NAME"),
        ("mod --fast", "unrecognized arguments: --fast"),
        ("9lives", "'9lives' cannot be a Python name"),
        ("class", "cannot be a Python name"),
        ("mod --arch gfx000", "gfx000"),
        ("mod --verify norm/rmsnrm", "no kernel is named 'norm/rmsnrm'"),
        ("mod --shape n=4", "--shape needs --verify SPEC or --spec SPEC"),
        ('mod --flags "-O2', "No closing quotation"),
        ('mod --flags "-DX=\'a"', "No closing quotation"),
        ("mod --profil", "unrecognized arguments: --profil; did you mean --profile?"),
        ("print", "print is a function or value of Python's own; choose another, such as print_kernel"),
        ("__builtins__", "__builtins__ is the name of an imported module; choose another"),
        (
            "__spare__",
            "__spare__ is a name that Python or IPython needs; choose another",
        ),
        ("In", "In is a name that Python or IPython needs"),
        ("math", "math is the name of an imported module; choose another, such as math_kernel"),
        ("fresh --time", "--time needs a launch: add --verify SPEC"),
        ("fresh --profile", "--profile needs a launch"),
    ],
)
def test_usage_errors_are_one_line(shell, line, message):
    shell.user_ns["math"] = math
    with pytest.raises(UsageError) as raised:
        run(shell, line)
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)


def test_time_and_profile_repeat_the_last_launch(shell):
    run(shell, "timed")
    x = torch.ones(1024)
    shell.user_ns["timed"]["scale"][4, 256](x, 2.0, 1024)
    out = run(shell, "timed --time --profile")
    page = html_of(out)
    assert "SQ_WAVES" in page
    assert "modelled" in page
    payload = out.outputs[0].data["application/vnd.hipkittens.cell+json"]
    assert payload["run"]["kind"] == "profile"
    assert payload["run"]["time"]["origin"] == "modelled"
    assert {line["line"] for line in payload["heat"]["lines"]} <= set(range(3, 7))
    # The cell's own lines: the loads and the product are on line 5 of the cell, magic included.
    assert any(line["line"] == 5 for line in payload["heat"]["lines"])


def test_show_draws_what_the_cell_shows(shell):
    cell = (
        "%%hipkittens shows --show --launch 'k[1, 64]' --inputs 'dict(x=torch.arange(64.))'\n"
        '#include "kittens.cuh"\n'
        "__global__ void k(float *x) { float y = x[threadIdx.x] + 1; show(y); }\n"
    )
    shell.run_cell("import torch")
    assert shell.run_cell(cell).success
    module = shell.user_ns["shows"]
    values = module["k"].last.record.shown
    assert values["y"][0, 0, 0].tolist() == [lane + 1.0 for lane in range(64)]
    assert shell.run_cell(cell.replace("--show ", "").replace("show(y);", "x[0] = y;")).success
    assert not shell.user_ns["shows"].shows


def test_line_magic(shell):
    for question, answer in (
        ("devices", "emulated:gfx942"),
        ("doctor", "compiler"),
        ("cache", "limit"),
        ("kernels", "kernel"),
    ):
        assert answer in repr(shell.run_line_magic("hipkittens", question))
    for line, message in (
        ("", "expected one of devices"),
        ("devcies", "did you mean devices"),
        ("devices now", "takes nothing after"),
    ):
        with pytest.raises(UsageError, match=message):
            shell.run_line_magic("hipkittens", line)


@pytest.mark.parametrize("line", ["-h", "--help", "helped --help"])
def test_help_in_the_line(shell, line):
    assert "--sanitize" in run(shell, line).stdout
    assert "helped" not in shell.user_ns
    with capture_output() as out:
        shell.run_line_magic("hipkittens", line.split()[-1])
    assert "%hipkittens doctor" in out.stdout


def test_a_cell_without_a_kernel_is_reported(shell):
    out = run(shell, "empty", "// nothing yet\n")
    assert "no kernel: is a function marked __global__" in html_of(out)
    assert "no kernel: is a function marked __global__" in str(out.outputs[0].data["text/plain"])


def test_help_lists_every_option(shell):
    text = shell.find_cell_magic("hipkittens").__doc__
    for option in ("--arch", "-I", "-D", "--flags", "--time", "--profile", "--verify", "--shape"):
        assert option in text


def test_everything_works_without_ipython():
    assert {"compile", "verify", "time", "profile", "devices", "doctor", "kernels"} <= set(wb.__all__)


def test_an_unchanged_cell_shows_no_change_after_a_launch(shell):
    run(shell, "same")
    shell.user_ns["same"]["scale"][4, 64](torch.ones(256), 2.0, 256)
    payload = run(shell, "same --time").outputs[0].data["application/vnd.hipkittens.cell+json"]
    assert payload["kernels"][0]["changes"] == []


WILD = """#include <hip/hip_runtime.h>
__global__ void scale(float *x, float factor, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  x[i + (1 << 28)] *= factor;
}
"""


def test_a_fault_is_a_failed_run_with_its_line(shell):
    run(shell, "faulty")
    shell.user_ns["faulty"]["scale"][1, 64](torch.ones(64), 2.0, 64)
    for option in ("--time", "--profile"):
        with capture_output() as out, pytest.raises(wb.errors.KernelFault) as raised:
            shell.run_cell_magic("hipkittens", f"faulty {option}", WILD)
        payload = out.outputs[0].data["application/vnd.hipkittens.cell+json"]
        assert payload["status"] == "compiled"
        assert payload["run"]["kind"] == "run"
        assert payload["run"]["error"] == str(raised.value).partition("\n")[0]
        [finding] = payload["diagnostics"]
        assert (finding["line"], finding["source"], finding["severity"]) == (5, "device", "error")
    # Its machine code can be viewed, and the launch can be repeated with a corrected kernel.
    assert "1 << 28" in shell.user_ns["faulty"].source
    assert "SQ_WAVES" in html_of(run(shell, "faulty --profile"))


def test_a_launch_is_repeated_after_a_compile_alone(shell):
    run(shell, "again")
    x = torch.ones(64)
    shell.user_ns["again"]["scale"][1, 64](x, 2.0, 64)
    run(shell, "again", CELL.replace("*= factor", "+= factor"))
    assert shell.user_ns["again"]["scale"].last.record.counts is None
    assert "SQ_WAVES" in html_of(run(shell, "again --profile", CELL.replace("*= factor", "+= factor")))
    # The result of the failing check before it stays; the sanitizer's fault does not end the chain either.
    out = run(shell, "again --sanitize", WILD)
    assert out.outputs[0].data["application/vnd.hipkittens.cell+json"]["diagnostics"]
    assert "SQ_WAVES" in html_of(run(shell, "again --profile"))


OWN = "--launch 'scale[2, 64]' --inputs 'dict(x=torch.randn(100), factor=2.0, n=100)' --outputs x"


def test_a_cell_is_verified_against_the_users_function(shell):
    shell.user_ns.update(torch=torch, twice=lambda x, factor: x * factor)
    out = run(shell, f"own {OWN} --reference twice --profile")
    payload = out.outputs[0].data["application/vnd.hipkittens.cell+json"]
    assert payload["run"]["verified"] is True
    assert payload["run"]["time"]["origin"] == "modelled", "the launch is profiled too"
    wrong = run(shell, f"own {OWN} --reference 'lambda x: x * 3'")
    assert wrong.outputs[0].data["application/vnd.hipkittens.cell+json"]["run"]["verified"] is False


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (f"own {OWN} --reference unknown", "--reference: `unknown` raised NameError: name 'unknown' is not"),
        (f"own {OWN} --reference 'lambda x: x *'", "raised SyntaxError: invalid syntax, at column"),
        (f"own {OWN} --reference 3", "--reference: `3` is a int; expected a function"),
        (f"own {OWN} --reference 'lambda x: x @ x[:7]'", "`lambda x: x @ x[:7]` raised RuntimeError"),
        (f"own {OWN} --reference 'lambda x, y: x'", "raised TypeError"),
        (f"own {OWN} --reference 'lambda x: x' --verify activations/softmax", "and a spec are given"),
        ("own --reference 'lambda x: x'", "--reference needs --launch and --inputs and --outputs too"),
        (
            f"own {OWN.replace('scale[2', 'scala[2')} --reference abs",
            "--launch: `scala[2, 64]` raised NameError",
        ),
        (f"own {OWN} z --reference abs", "unrecognized"),
        (
            f"own {OWN},z --reference abs",
            "expected the names of the tensors that the launch writes, some of x",
        ),
    ],
)
def test_errors_in_the_users_reference_are_explained(shell, line, message):
    shell.user_ns["torch"] = torch
    with pytest.raises(UsageError) as raised:
        run(shell, line)
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)


PROGRAM = """#include <hip/hip_runtime.h>
#include <cstdio>
__global__ void fill(int *x, int by) { x[threadIdx.x] = by * threadIdx.x; }
int main(int count, char **words) {
    int *x;
    hipMallocManaged(&x, 256);
    fill<<<1, 64>>>(x, count);
    hipDeviceSynchronize();
    printf("%d", x[63]);
    for (int i = 1; i < count; i++) printf(" %s", words[i]);
    fprintf(stderr, "beside");
    return count > 3;
}
"""


def test_a_cell_s_main_runs_as_a_program(shell):
    out = run(shell, "--program", PROGRAM)
    assert (out.stdout, out.stderr) == ("63", "beside")
    out = run(shell, 'p --arch gfx942 --program "a b" --time', PROGRAM)
    assert out.stdout == "189 a b --time"
    assert (shell.user_ns["p"].exit_code, shell.user_ns["p"].device) == (0, "emulated:gfx942")
    with capture_output(), pytest.raises(ProgramError, match="p on emulated:gfx950 ended with exit status 1"):
        shell.run_cell_magic("hipkittens", "p --program 1 2 3", PROGRAM)
    assert shell.user_ns["p"].exit_code == 1
    assert "ended with exit status 1" in run(shell, "--fails --program 1 2 3", PROGRAM).stdout


def test_a_program_is_sanitized(shell):
    out = run(shell, "p --sanitize --program", PROGRAM)
    assert "1 launch sanitized, no findings" in out.stdout
    assert shell.user_ns["p"].launches == 1
    raced = PROGRAM.replace("x[threadIdx.x] = by", "x[threadIdx.x / 128] = by").replace("1, 64", "1, 128")
    with capture_output(), pytest.raises(SanitizerError, match=r"race .*program\.cpp|program\.cpp:4: race"):
        shell.run_cell_magic("hipkittens", "p --sanitize --program", raced)
    empty = '#include <cstdio>\nint main() { puts("hi"); }\n'
    with capture_output(), pytest.raises(UsageError, match="launched nothing, so nothing was sanitized"):
        shell.run_cell_magic("hipkittens", "p --sanitize --program", empty)


def test_a_fault_of_a_program_has_the_cell_s_line(shell):
    out = run(shell, "--program", PROGRAM.replace("256", "128"))
    assert "kernel fill at program.cpp:4: lane 32 of wave 0" in out.stderr


def test_an_error_in_a_program_has_the_cell_s_line(shell):
    with capture_output(), pytest.raises(CompileError) as raised:
        shell.run_cell_magic("hipkittens", "--program", PROGRAM.replace("int *x;", "", 1))
    assert raised.value.diagnostics[0].line == 7


@pytest.mark.parametrize(
    ("line", "cell", "message"),
    [
        ("", PROGRAM, "the following arguments are required: NAME. .*--program runs the cell's main"),
        ("--program", CELL, "no `int main`: expected a program"),
        ("m --profile --program", PROGRAM, "--profile and --program: .*leave out one"),
        ("a b --program", PROGRAM, "unrecognized arguments: b"),
        ("print --program", PROGRAM, "a function or value of Python's own"),
    ],
)
def test_what_a_program_is_not(shell, line, cell, message):
    with pytest.raises(UsageError, match=message):
        shell.run_cell_magic("hipkittens", line, cell)


def test_a_main_that_does_not_run_is_said(shell):
    assert "the cell's main has not run; `%%hipkittens --program` runs it" in run(shell, "m", PROGRAM).stdout
    assert "main" not in run(shell, "m", CELL + "// int main() {}").stdout


def test_a_cell_of_cuda_compiles_under_hip_s_names(shell):
    cell = "#include <cuda_bf16.h>\n__global__ void k(__nv_bfloat16 *x) { x[0] = x[1]; __nanosleep(9); }\n"
    with capture_output() as out, pytest.raises(CompileError):
        shell.run_cell_magic("hipkittens", "m --hipify", cell)
    assert "2 names exchanged, hip/hip_runtime.h included, 1 left to do\nline 3: `__nanosleep`" in out.stdout
    out = run(shell, "m --hipify", cell.replace("__nanosleep(9);", ""))
    x = torch.tensor([1.0, 2.0, 3.0], dtype=torch.bfloat16)
    shell.user_ns["m"]["k"][1, 1](x)
    assert x.tolist() == [2.0, 2.0, 3.0]
    output = run(shell, "m --hipify --program", PROGRAM.replace("hip/hip_", "cuda_").replace("hipM", "cudaM"))
    assert output.stdout == "hipify: 2 names exchanged, 0 left to do\n63"


RACED = """#include <hip/hip_runtime.h>
__global__ void flip(float *x, int beyond) {
  __shared__ float s[128];
  s[threadIdx.x] = x[threadIdx.x];
  __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "wavefront");
  x[threadIdx.x + beyond] = s[threadIdx.x ^ 64];
}
"""
PAYLOAD = "application/vnd.hipkittens.cell+json"


def test_findings_from_another_cell_are_marked_in_the_kernels_cell(shell, monkeypatch):
    monkeypatch.setattr("workbench.display.in_terminal", lambda: False)
    shell.user_ns.update(torch=torch, wb=wb, x=torch.ones(128))
    cell_output = run(shell, "raced", RACED).outputs[0]
    place = cell_output.transient["display_id"]

    def marked(code):
        """Data of the cell's output after another cell has run; None if it was not updated."""
        with capture_output() as out:
            shell.run_cell(code)
        updates = [
            output for output in out.outputs if output.update and output.transient["display_id"] == place
        ]
        return updates[-1].data if updates else None

    launch = "raced['flip'][1, 128]"
    update = marked(f"result = wb.sanitize({launch}, x, 0)")
    marks = update[PAYLOAD]["diagnostics"]
    assert {mark["source"] for mark in marks} == {"sanitizer"}
    assert {mark["line"] for mark in marks if mark["option"] == "race"} <= {5, 7}
    assert len(marks) >= len(shell.user_ns["result"].causes)
    # The rest of the output has not changed.
    assert {**update[PAYLOAD], "diagnostics": []} == cell_output.data[PAYLOAD]
    assert update["text/html"] == cell_output.data["text/html"]
    assert marked(f"wb.sanitize({launch}, x, 0);") is None, "nothing else is said"
    faulted = marked(f"{launch}(x, 1 << 28)")[PAYLOAD]["diagnostics"]
    assert [mark for mark in faulted if mark["source"] == "sanitizer"] == marks
    [fault] = [mark for mark in faulted if mark["source"] == "device"]
    assert (fault["line"], fault["severity"], fault["option"]) == (7, "error", "out of bounds")
    assert re.match(r"(read|wrote) 4 bytes at 0x", fault["message"]), "the cause first; notes say which lane"
    caught = marked(f"try:\n    {launch}(x, 1 << 27)\nexcept wb.errors.AddressFault:\n    pass")
    [fault] = [mark for mark in caught[PAYLOAD]["diagnostics"] if mark["source"] == "device"]
    assert fault["line"] == 7, "a fault that the cell catches has a mark too"
    watched = marked(f"""
with wb.sanitizing():
    try:
        {launch}(x, 1 << 28)
    except wb.errors.AddressFault:
        pass
""")[PAYLOAD]["diagnostics"]
    assert {mark["option"] for mark in watched if mark["source"] == "sanitizer"} >= {"race", "out of bounds"}
    assert {mark["source"] for mark in watched} == {"sanitizer"}, "it has found the cause of the fault"
    # A new compilation of the cell is other code, without findings so far.
    run(shell, "raced", RACED.replace("^ 64", "^ 32"))
    assert marked("raced['flip'][1, 128](x, 0)") is None
