"""HIP programs on the emulated devices: results, output, exit status, failures."""

from __future__ import annotations

import itertools
import re
import signal
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import workbench as wb
from workbench import errors
from workbench.emulator.hip.threads import PerThread
from workbench.kernel import program
from workbench.runtime import Device

INCLUDE = "#include <hip/hip_runtime.h>\n"

PROGRAMS = Path(__file__).parents[1] / "emulator" / "hip" / "programs"

GREETINGS = [f"group {g}, thread {t}:  0.{25 * t:02}|-7  |0xff|z" for g in range(3) for t in range(2)]


@pytest.mark.parametrize("device", ["emulated:gfx950", "emulated:gfx942"])
def test_vector_add(device: str) -> None:
    result = wb.run_program(PROGRAMS / "vector_add.cpp", [777], device=device).check()
    assert result.stdout == f"777 sums are right on {device.split(':')[1]}\n"
    assert (result.stderr, result.exit_code, result.device) == ("", 0, device)


def test_a_program_sees_the_product_that_was_named_alone() -> None:
    result = wb.run_program(PROGRAMS / "vector_add.cpp", [777], device="emulated:MI325X").check()
    assert (result.stdout, result.device) == ("777 sums are right on gfx942\n", "emulated:mi325x")


def test_memory_symbols_occupancy_and_launches() -> None:
    assert (
        wb.run_program(PROGRAMS / "memory.cpp", device="emulated:gfx950").check().stdout
        == "memory is right\n"
    )


def test_hip_7_errors_and_captures() -> None:
    result = wb.run_program(PROGRAMS / "hip7.cpp", device="emulated:gfx942").check()
    assert result.stdout == "HIP 7 is right\n"


def test_streams_events_and_graphs() -> None:
    assert (
        wb.run_program(PROGRAMS / "graphs.cpp", device="emulated:gfx950").check().stdout
        == "graphs are right\n"
    )


def test_memory_pools_driver_copies_stream_values_and_captures() -> None:
    assert (
        wb.run_program(PROGRAMS / "pools.cpp", device="emulated:gfx942").check().stdout == "pools are right\n"
    )


def test_threads_that_the_program_started_have_their_own_launches_devices_and_errors() -> None:
    result = wb.run_program(PROGRAMS / "threads.cpp", device="emulated:gfx950").check()
    assert result.stdout == "4 threads have their own\n"


def test_what_threads_had_is_forgotten_with_them() -> None:
    class Value:
        """A value of one thread."""

    per_thread, values = PerThread(Value), weakref.WeakSet[Value]()
    deadline = time.monotonic() + 60
    for number in itertools.count(1):
        thread = threading.Thread(target=lambda: values.add(per_thread()))
        thread.start()
        thread.join()
        # Python's join returns slightly before the system's thread ends.
        if number > 3 and len(values) < 3:
            return
        assert time.monotonic() < deadline


def talk(*args: str, **options: object) -> wb.ProgramResult:
    return wb.run_program(PROGRAMS / "talk.cpp", args, device="emulated:gfx950", **options)


def test_kernels_print_between_what_the_host_prints() -> None:
    result = talk().check()
    assert result.stdout.splitlines() == ["host first", *GREETINGS, "host last"]


def test_one_thread_prints_the_same_as_many() -> None:
    assert talk(env={"HIPKITTENS_THREADS": "1"}) == talk(env={"HIPKITTENS_THREADS": "4"})


def test_a_failed_assertion_says_which() -> None:
    result = talk("assert")
    assert result.exit_code == 1
    line = next(
        n
        for n, text in enumerate((PROGRAMS / "talk.cpp").read_text().splitlines(), 1)
        if "assert(int" in text
    )
    explanation, from_hip = result.stderr.splitlines()
    assert f"talk.cpp:{line}: assertion `int(threadIdx.x) < n` failed" in explanation
    assert "thread (40, 0, 0) of block (0, 0, 0) (and of 23 more in this block)" in explanation
    assert "device-side assert triggered" in from_hip


def test_a_wild_write_is_explained_and_reported_where_the_program_waits() -> None:
    result = talk("wild")
    assert result.exit_code == 1
    assert "kernel wild at " in result.stderr
    assert "hipDeviceSynchronize(): an illegal memory access was encountered" in result.stderr
    with pytest.raises(errors.ProgramError, match="exit status 1") as caught:
        result.check()
    assert caught.value.result is result


def test_exit_status_standard_input_and_signals() -> None:
    assert talk("exit").exit_code == 42
    assert talk("read", stdin="a line\n").stdout.endswith("read a line\n")
    thrown = talk("throw")
    assert thrown.exit_code == -6
    assert "thrown on purpose" in thrown.stderr
    with pytest.raises(errors.ProgramError, match="SIGABRT"):
        thrown.check()


@pytest.mark.parametrize(
    ("thrown", "exception", "message"),
    [
        ('std::runtime_error("no such shape")', "std::runtime_error", "no such shape"),
        ("Oops{3}", "Oops", ""),
        ("7", "int", ""),
    ],
)
def test_an_exception_that_nothing_caught_is_named(thrown: str, exception: str, message: str) -> None:
    source = "#include <stdexcept>\nstruct Oops { int code; };\nint main(int n, char **) {\n"
    result = wb.run_program(f"{source}    if (n) throw {thrown};\n}}\n")
    assert result.exit_code == -signal.SIGABRT
    pattern = rf"a C\+\+ exception of type {exception} that nothing caught"
    with pytest.raises(errors.UncaughtException, match=pattern) as caught:
        result.check()
    assert (caught.value.exception, caught.value.what) == (exception, message)
    assert caught.value.result is result


def test_a_program_errs_as_the_block_around_it_says() -> None:
    source = """#include <cstdio>
#include <hip/hip_runtime.h>
__global__ void k(float *x) { *x = __builtin_amdgcn_rcpf(*x); }
int main() {
    float *x;
    hipMallocManaged(&x, 4);
    for (int i = 3; i < 35; i++) {
        *x = i;
        k<<<1, 1>>>(x);
        hipDeviceSynchronize();
        printf("%a ", *x);
    }
}
"""
    exact = wb.run_program(source).check().stdout
    with wb.approximate(4):
        erring = wb.run_program(source).check().stdout
        assert wb.run_program(source, env={"HIPKITTENS_APPROXIMATE": ""}).stdout == exact
    assert erring != exact
    assert erring == wb.run_program(source, env={"HIPKITTENS_APPROXIMATE": "4"}).stdout


def test_llvms_words_for_an_exception_are_known_too() -> None:
    message = "libc++abi: terminating due to uncaught exception of type std::runtime_error: no such shape\n"
    result = wb.ProgramResult("p.cpp", "", f"1\n{message}", -signal.SIGABRT, 0.1, "gpu:0")
    with pytest.raises(errors.UncaughtException) as caught:
        result.check()
    assert (caught.value.exception, caught.value.what) == ("std::runtime_error", "no such shape")
    aborted = wb.ProgramResult(
        "p.cpp", "", "libc++abi: Pure virtual function called!", -signal.SIGABRT, 0.1, "x"
    )
    with pytest.raises(errors.ProgramError) as plain:
        aborted.check()
    assert type(plain.value) is errors.ProgramError


def test_a_program_that_does_not_end_is_stopped() -> None:
    with pytest.raises(errors.ProgramTimeout, match=r"did not end within 3 s") as caught:
        talk("loop", timeout=3)
    assert caught.value.result.exit_code == -9
    # The kernel's own limit ends the launch instead, and the program continues.
    result = talk("loop", env={"HIPKITTENS_TIMEOUT": "0.5"})
    assert result.exit_code == 1
    assert "time limit of 0.5 s" in result.stderr
    assert "timed out" in result.stderr.splitlines()[-1]


def test_a_program_dies_with_the_process_that_started_it(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    source = f"""
    #include <unistd.h>
    #include <cstdio>
    int main() {{
        std::FILE *file = std::fopen("{mark}", "w");
        std::fprintf(file, "%d ", getpid());
        std::fclose(file);
        for (;;) pause();
    }}
    """
    command = [sys.executable, "-c", "import sys, workbench as wb; wb.run_program(sys.argv[1])", source]
    starter = subprocess.Popen(command)
    try:
        wait_for(lambda: mark.exists() and mark.read_text().endswith(" "))
        program = int(mark.read_text())
        assert Path(f"/proc/{program}").exists()
        starter.kill()
        starter.wait()
        wait_for(lambda: not Path(f"/proc/{program}").exists())
    finally:
        starter.kill()


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 120
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_a_source_without_main() -> None:
    with pytest.raises(errors.UsageError, match="no `int main`"):
        wb.run_program("#include <hip/hip_runtime.h>\n__global__ void k() {}\nvoid f() { k<<<1, 1>>>(); }\n")


def test_errors_of_the_compiler_name_the_line_in_device_and_in_host_code() -> None:
    with pytest.raises(errors.CompileError) as device:
        wb.run_program(f"{INCLUDE}__global__ void k(int *x) {{\n  *x = nothing;\n}}\nint main() {{}}\n")
    assert [d.line for d in device.value.diagnostics if d.severity == "error"] == [3]
    with pytest.raises(errors.CompileError) as host:
        wb.run_program(
            f"{INCLUDE}__global__ void k() {{}}\n"
            "#ifndef __HIP_DEVICE_COMPILE__\nint main() { return no; }\n#endif\n"
        )
    assert [d.line for d in host.value.diagnostics if d.severity == "error"] == [4]


def test_a_symbol_that_nobody_has() -> None:
    result = wb.run_program("int nowhere();\nint main() { return nowhere(); }\n")
    assert result.exit_code == 127
    assert re.search(r"does not load: .*nowhere", result.stderr)


def test_a_program_of_one_line_is_no_path() -> None:
    assert wb.run_program("int main() { return 3; }").exit_code == 3


def test_every_exit_status_is_the_programs_own() -> None:
    source = "#include <cstdlib>\nint main(int, char **argv) { return atoi(argv[1]); }\n"
    for code in (254, 255, 127, 1):
        assert wb.run_program(source, [code]).exit_code == code


def test_a_destructor_that_crashes_loses_nothing_that_was_printed() -> None:
    source = """
#include <cstdio>
#include <cstdlib>
struct Crash { ~Crash() { abort(); } } crash;
int main() { printf("printed\\n"); }
"""
    # Unbuffered streams in Python mean unbuffered streams in C.
    result = wb.run_program(source, env={"PYTHONUNBUFFERED": ""})
    assert (result.stdout, result.exit_code) == ("printed\n", -6)


def test_the_devices_library_is_built_before_the_program_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    """The build must not use the program's time, and must survive the end of the program."""
    happened: list[str] = []
    start = program._run

    def started(*arguments: Any) -> Any:
        happened.append("start")
        return start(*arguments)

    backend = type(wb.device("emulated:gfx950").backend)
    monkeypatch.setattr(Device, "build_later", lambda self: None)
    monkeypatch.setattr(backend, "build", lambda self, partial: happened.append("build"))
    monkeypatch.setattr(program, "_run", started)
    wb.run_program("int main() { return 0; }", device="emulated:gfx950").check()
    assert happened == ["build", "start"]


def test_arguments_of_another_type() -> None:
    for source in (None, 3, ""):
        with pytest.raises(errors.UsageError, match=f"run_program: got {source!r}; expected the path of a C"):
            wb.run_program(source)  # type: ignore[arg-type]
    with pytest.raises(errors.UsageError, match="run_program: / is a folder; expected the path of a C"):
        wb.run_program("/")
    with pytest.raises(errors.UsageError, match=r"args is the text 'abc'; expected a list such as \['abc'\]"):
        wb.run_program("int main() { return 0; }", args="abc")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"args": 5}, r"args is 5; expected a list such as \[5\]"),
        ({"args": [1, None]}, r"args\[1\] is None; expected a text"),
        ({"args": ["a\0b"]}, r"args\[0\] is 'a\\x00b'; expected a text without null bytes"),
        ({"env": 5}, "env is 5; expected variables by name"),
        ({"env": {1: 2}}, "env has the name 1; expected a text"),
        ({"env": {"A=B": "2"}}, "env has the name 'A=B'"),
        ({"env": {"A": 2}}, r"env\['A'\] is 2; expected a text"),
        ({"stdin": 5}, "stdin is 5; expected a text"),
        ({"cwd": "/absent"}, "cwd is '/absent'; expected an existing folder"),
        ({"timeout": "soon"}, "timeout is 'soon'; expected a positive number of seconds"),
        ({"timeout": float("nan")}, "timeout is nan"),
        ({"timeout": 0}, "timeout is 0"),
    ],
)
def test_options_of_another_type(options: dict[str, Any], message: str) -> None:
    with pytest.raises(errors.UsageError, match=message):
        wb.run_program("int main() { return 0; }", **options)


def test_a_file_that_is_not_there() -> None:
    with pytest.raises(errors.MissingFile, match=r"run_program: there is no file no/such/program\.cpp in /"):
        wb.run_program("no/such/program.cpp")


def test_a_program_that_is_not_utf_8(tmp_path: Path) -> None:
    """Its bytes are passed through, as by other compilers, with a warning."""
    path = tmp_path / "latin.cpp"
    path.write_bytes(b'#include <cstdio>\n// Andr\xe9\nint main() { printf("%zu", sizeof("caf\xe9")); }\n')
    result = wb.run_program(path).check()
    assert result.stdout == "5"
    assert "illegal character encoding in string literal" in result.notes[0]
