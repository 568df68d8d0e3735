"""Launches on the emulated devices through HIP: results, limits, and each class of fault."""

from __future__ import annotations

import ctypes
import struct
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from workbench import errors, runtime, toolchain
from workbench.runtime import LaunchOptions
from workbench.targets import TILE_TARGETS

SOURCE = (Path(__file__).parent / "kernels.hip").read_text()


def line_of(mark: str) -> int:
    """Line of the kernels' source that carries a mark."""
    return next(i for i, line in enumerate(SOURCE.splitlines(), 1) if f"// LINE: {mark}" in line)


@pytest.fixture(scope="module", params=TILE_TARGETS)
def loaded(request: pytest.FixtureRequest) -> Any:
    code = toolchain.compile_device(
        SOURCE, toolchain.CompileOptions(request.param, name="kernels.hip")
    ).code_object
    return runtime.device(f"emulated:{request.param}").load(code)


def launch(
    loaded: Any,
    kernel: str,
    grid: tuple[int, int, int] | int,
    block: tuple[int, int, int] | int,
    *arguments: Any,
    shared: int = 0,
    **options: Any,
) -> runtime.LaunchRecord:
    """Packs NumPy arrays as pointers and ints as 32-bit, and registers the arrays for the launch."""
    content, buffers = b"", []
    for argument in arguments:
        if isinstance(argument, np.ndarray):
            content += b"\0" * (-len(content) % 8) + struct.pack("<Q", argument.ctypes.data)
            buffers.append((argument.ctypes.data, argument.nbytes))
        elif isinstance(argument, ctypes.c_uint64):
            content += b"\0" * (-len(content) % 8) + struct.pack("<Q", argument.value)
        else:
            content += struct.pack("<i", argument)
    return loaded.function(kernel).launch(
        grid if isinstance(grid, tuple) else (grid, 1, 1),
        block if isinstance(block, tuple) else (block, 1, 1),
        shared,
        content,
        buffers=buffers,
        options=LaunchOptions(**options) if options else None,
    )


@pytest.fixture
def works(loaded: Any) -> Any:
    """After the test: the device still computes."""
    yield
    check_vector_add(loaded, 1000)


def check_vector_add(loaded: Any, n: int) -> runtime.LaunchRecord:
    a = np.arange(n, dtype=np.float32)
    b = np.full(n, 0.5, dtype=np.float32)
    c = np.full(n, np.nan, dtype=np.float32)
    record = launch(loaded, "vector_add", -(-n // 256), 256, a, b, c, n, count=True)
    np.testing.assert_array_equal(c, a + b)
    return record


@pytest.mark.parametrize("n", [1, 63, 64, 256, 257, 10_000])
def test_vector_add(loaded: Any, n: int) -> None:
    record = check_vector_add(loaded, n)
    assert record.elapsed is None
    assert record.device == loaded.device.name
    assert record.counts is not None
    assert max(record.counts.values()) == -(-n // 256) * 4


def test_sums_through_shared_memory(loaded: Any) -> None:
    x = np.random.default_rng(1).integers(-8, 8, (5, 1000)).astype(np.float32)
    out = np.zeros(5, dtype=np.float32)
    launch(loaded, "row_sums", 5, 256, x, out, 1000)
    np.testing.assert_array_equal(out, x.sum(axis=1))


@pytest.mark.parametrize(
    ("grid", "block"),
    [
        ((3, 1, 1), (70, 1, 1)),
        ((2, 3, 2), (8, 4, 4)),
        ((1, 2, 3), (5, 7, 3)),
        ((2, 1, 1), (1024, 1, 1)),
        ((1, 70_000, 1), (1, 1, 1)),
    ],
)
def test_kernels_see_their_launch_shape(loaded: Any, grid: tuple[int, ...], block: tuple[int, ...]) -> None:
    items = int(np.prod(block))
    groups = int(np.prod(grid))
    out = np.zeros((groups, items, 4), dtype=np.uint32)
    launch(loaded, "shape", grid, block, out)
    z, y, x = np.unravel_index(np.arange(groups), grid[::-1])
    tz, ty, tx = np.unravel_index(np.arange(items), block[::-1])
    np.testing.assert_array_equal(out[:, :, 0], np.repeat((x | y << 8 | z << 16)[:, None], items, axis=1))
    np.testing.assert_array_equal(out[:, :, 1], np.repeat((tx | ty << 10 | tz << 20)[None], groups, axis=0))
    assert (out[:, :, 2] == (grid[0] | grid[1] << 8 | grid[2] << 16)).all()
    assert (out[:, :, 3] == items).all()


def test_dynamic_shared_memory_up_to_the_devices_limit(loaded: Any) -> None:
    limit = loaded.device.properties["sharedMemPerBlock"]
    words = limit // 4
    out = np.zeros(64, dtype=np.uint32)
    launch(loaded, "dynamic_shared", 1, 64, out, words, shared=limit)
    assert (out == np.uint32(sum(3 * i for i in range(words)) & 0xFFFFFFFF)).all()


def test_globals_and_constants_live_with_the_module(loaded: Any) -> None:
    first, second = np.zeros(8, dtype=np.int32), np.zeros(8, dtype=np.int32)
    launch(loaded, "globals", 1, 8, first)
    launch(loaded, "bump", 1, 64)
    launch(loaded, "globals", 1, 8, second)
    np.testing.assert_array_equal(first - first[0], np.tile(np.arange(4), 2))
    np.testing.assert_array_equal(second, first + 64)


def test_views_of_one_array_are_one_buffer(loaded: Any) -> None:
    whole = np.arange(300, dtype=np.float32)
    out = np.zeros(100, dtype=np.float32)
    launch(loaded, "vector_add", 1, 256, whole[:200], whole[100:], out, 100)
    np.testing.assert_array_equal(out, whole[:100] + whole[100:200])


def test_out_of_bounds_names_the_line_the_lane_and_the_buffer(loaded: Any, works: None) -> None:
    data = np.zeros(64, dtype=np.int32)
    with pytest.raises(errors.AddressFault) as caught:
        launch(loaded, "out_of_bounds", 2, 64, data, 67)
    error = caught.value
    assert (error.kernel, error.workgroup, error.wave, error.lane) == ("out_of_bounds", (0, 0, 0), 0, 3)
    assert error.source is not None
    assert error.source[1] == line_of("out_of_bounds")
    text = str(error)
    assert "wrote 4 bytes" in text
    assert "past the end of a 256-byte host buffer" in text
    assert "store" in text


def test_wild_pointer(loaded: Any, works: None) -> None:
    out = np.zeros(64, dtype=np.int32)
    with pytest.raises(errors.AddressFault) as caught:
        launch(loaded, "read_wild", 1, 64, out, ctypes.c_uint64(0x1234))
    assert caught.value.source is not None
    assert caught.value.source[1] == line_of("read_wild")


def test_memory_of_an_earlier_launch_is_out_of_bounds(loaded: Any, works: None) -> None:
    earlier = np.zeros(64, dtype=np.int32)
    out = np.zeros(64, dtype=np.int32)
    launch(loaded, "read_wild", 1, 64, out, earlier)
    with pytest.raises(errors.AddressFault):
        launch(loaded, "read_wild", 1, 64, out, ctypes.c_uint64(earlier.ctypes.data))


def test_shared_memory_out_of_bounds(loaded: Any, works: None) -> None:
    """A GPU continues with the memory after the kernel's bytes, or 0; here it is a fault."""
    out = np.zeros(64, dtype=np.int32)
    with pytest.warns(errors.SharedMemoryOverrun) as caught:
        record = launch(loaded, "shared_out_of_bounds", 1, 64, out, 1)
    assert list(out[:63]) == list(range(1, 64))
    assert [str(warning.message) for warning in caught] == list(record.notes)
    [note] = record.notes
    assert f":{line_of('shared_out_of_bounds')}: lane 63 of wave 0" in note
    assert "read 4 bytes of shared memory at byte 256, up to 4 bytes past the end of the kernel's 256" in note
    assert caught[0].filename == __file__
    with pytest.warns(errors.SharedMemoryOverrun, match=r"it gets 0 .*; 64 such accesses in all"):
        launch(loaded, "shared_out_of_bounds", 1, 64, out, 1 << 16)
    assert not out.any()
    with pytest.warns(errors.SharedMemoryOverrun, match="at byte -8, 8 bytes before the start"):
        launch(loaded, "shared_out_of_bounds", 1, 64, out, -2)
    assert list(out[:3]) == [0, 0, 0]


@pytest.mark.parametrize("by_variable", [False, True])
def test_shared_bounds_may_be_exact(loaded: Any, works: None, monkeypatch: Any, by_variable: bool) -> None:
    out = np.zeros(64, dtype=np.int32)
    options = {} if by_variable else {"shared_bounds": "exact"}
    if by_variable:
        monkeypatch.setenv("HIPKITTENS_SHARED_BOUNDS", "exact")
    with pytest.raises(errors.SharedMemoryFault) as caught:
        launch(loaded, "shared_out_of_bounds", 1, 64, out, 1, **options)
    assert caught.value.lane == 63
    assert caught.value.source is not None
    assert caught.value.source[1] == line_of("shared_out_of_bounds")
    assert "256 bytes" in str(caught.value)
    with monkeypatch.context() as context:
        context.setenv("HIPKITTENS_SHARED_BOUNDS", "loose")
        with pytest.raises(errors.UsageError, match="HIPKITTENS_SHARED_BOUNDS is 'loose'"):
            launch(loaded, "shared_out_of_bounds", 1, 64, out, 0)
    monkeypatch.undo()


def test_scratch_out_of_bounds(loaded: Any, works: None) -> None:
    out = np.zeros(64, dtype=np.int32)
    with pytest.raises(errors.ScratchFault) as caught:
        launch(loaded, "scratch_out_of_bounds", 1, 64, out, 1 << 20)
    assert caught.value.source is not None
    assert caught.value.source[1] == line_of("scratch_out_of_bounds")


def test_a_barrier_that_some_waves_miss(loaded: Any, works: None) -> None:
    """s_barrier does not wait for waves that have ended (CDNA3 ISA guide)."""
    out = np.zeros(64, dtype=np.int32)
    launch(loaded, "missed_barrier", 1, 256, out)
    assert (out == 2).all()


def test_trap(loaded: Any, works: None) -> None:
    with pytest.raises(errors.TrapFault) as caught:
        launch(loaded, "trap", 1, 64, np.zeros(64, dtype=np.int32))
    assert caught.value.kernel == "trap"
    assert "executed trap 2 (a failed assertion or __builtin_trap)" in str(caught.value)


@pytest.mark.parametrize(
    ("grid", "block", "shared", "words"),
    [
        ((0, 1, 1), (64, 1, 1), 0, "grid"),
        ((1, 1, 1), (0, 1, 1), 0, "block"),
        ((1, 1, 1), (1025, 1, 1), 0, "1024"),
        ((1, 1, 1), (64, 32, 1), 0, "2048 work-items"),
        ((2**31, 1, 1), (2, 1, 1), 0, "too large"),
        ((1, 2**26, 1), (1, 64, 1), 0, "too large"),
        ((1, 1, 1), (64, 1, 1), 200_000, "200000 dynamic"),
        ((1, 1, 1), (64, 1, 1), -1, "dynamic shared"),
    ],
)
def test_shapes_that_the_device_cannot_take(
    loaded: Any, works: None, grid: tuple[int, int, int], block: tuple[int, int, int], shared: int, words: str
) -> None:
    out = np.zeros(64, dtype=np.uint32)
    with pytest.raises(errors.LaunchError, match=words):
        launch(loaded, "dynamic_shared", grid, block, out, 1, shared=shared)


def test_launch_bounds_are_respected(loaded: Any, works: None) -> None:
    out = np.zeros(256, dtype=np.int32)
    launch(loaded, "small_blocks", 1, 128, out)
    with pytest.raises(errors.LaunchError, match="at most 128"):
        launch(loaded, "small_blocks", 1, 256, out)


def test_too_much_shared_memory_says_how_much(loaded: Any, works: None) -> None:
    limit = loaded.device.properties["sharedMemPerBlock"]
    launch(loaded, "big_static", 1, 64, shared=limit - 65536)
    with pytest.raises(errors.LaunchError, match=f"65536 static \\+ {limit - 65536 + 4} dynamic"):
        launch(loaded, "big_static", 1, 64, shared=limit - 65536 + 4)


@pytest.mark.parametrize("sanitize", [False, True])
def test_a_short_block_of_arguments_leaves_the_rest(loaded: Any, works: None, sanitize: bool) -> None:
    """Launchers of assembly kernels omit arguments that are never read; here they are zero."""
    data = np.arange(8, dtype=np.int32)
    record = loaded.function("out_of_bounds").launch(
        (1, 1, 1),
        (64, 1, 1),
        0,
        data.ctypes.data.to_bytes(8, "little"),
        buffers=[(data.ctypes.data, data.nbytes)],
        options=LaunchOptions(sanitize=sanitize),
    )
    np.testing.assert_array_equal(data, [1, 1, 2, 3, 4, 5, 6, 7])
    if sanitize:
        (note,) = record.findings
        assert note.category == "note"
        # Compiled without names of arguments.
        assert "gave 8 of 12 bytes of arguments; not given: that at byte 8." in note.message


@pytest.mark.parametrize("text", ["soon", "-1", "nan"])
def test_a_time_limit_that_is_no_time(loaded: Any, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv("HIPKITTENS_TIMEOUT", text)
    with pytest.raises(
        errors.UsageError, match=f"HIPKITTENS_TIMEOUT is '{text}': expected a number of seconds"
    ):
        launch(loaded, "endless", 1, 64, np.zeros(1, dtype=np.int32))


def test_an_endless_loop_ends_at_its_time_limit(loaded: Any, works: None) -> None:
    with pytest.raises(errors.KernelTimeout) as caught:
        launch(loaded, "endless", 50, 256, np.zeros(1, dtype=np.int32), timeout=0.3)
    assert caught.value.source is not None
    # A busy machine may stop a work-group before its loop: on any of the kernel's three lines.
    assert line_of("endless") - 2 <= caught.value.source[1] <= line_of("endless")
    assert "0.3 s" in str(caught.value)


def test_an_interrupt_stops_a_launch(
    loaded: Any, works: None, monkeypatch: pytest.MonkeyPatch, interrupt_of_a_launch: None
) -> None:
    monkeypatch.setenv("HIPKITTENS_THREADS", "2")
    with pytest.raises(KeyboardInterrupt):
        launch(loaded, "endless", 50, 256, np.zeros(1, dtype=np.int32), timeout=0)


def test_an_unsupported_instruction_is_refused_before_anything_runs(loaded: Any, works: None) -> None:
    with pytest.raises(errors.UnsupportedInstruction) as caught:
        launch(loaded, "unsupported", 1, 64)
    text = str(caught.value)
    assert "s_rfe_b64" in text
    assert str(line_of("unsupported")) in text


def test_results_do_not_depend_on_the_number_of_threads(loaded: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.random.default_rng(2).standard_normal((64, 999)).astype(np.float32)
    results = []
    for threads in ("1", "2", "5"):
        monkeypatch.setenv("HIPKITTENS_THREADS", threads)
        out = np.zeros(64, dtype=np.float32)
        record = launch(loaded, "row_sums", 64, 256, x, out, 999, count=True, profile=True)
        results.append((out.tobytes(), record.counts, record.counters))
    assert results[0] == results[1] == results[2]


def test_counts_and_counters_come_only_when_asked(loaded: Any) -> None:
    x, out = np.ones((2, 256), dtype=np.float32), np.zeros(2, dtype=np.float32)
    plain = launch(loaded, "row_sums", 2, 256, x, out, 256)
    assert plain.counts is None
    assert plain.counters == {}
    full = launch(loaded, "row_sums", 2, 256, x, out, 256, count=True, profile=True)
    assert full.counters["global_bytes_read"] == 2 * 256 * 4
    assert full.counters["global_bytes_written"] == 2 * 4
    assert full.counters["lds_bytes_written"] >= 2 * 256 * 4


def test_launches_from_several_threads(loaded: Any) -> None:
    failures = []

    def work(seed: int) -> None:
        try:
            for n in (100, 1000, 333):
                check_vector_add(loaded, n + seed)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_a_code_object_for_the_other_device_is_refused() -> None:
    code = toolchain.compile_device(
        SOURCE, toolchain.CompileOptions("gfx942", name="kernels.hip")
    ).code_object
    with pytest.raises(errors.DeviceError, match="gfx942") as caught:
        runtime.device("emulated:gfx950").load(code)
    assert caught.value.code == 209


def test_calls_recursion_and_function_pointers(loaded: Any) -> None:
    out = np.zeros(64, dtype=np.int32)
    launch(loaded, "recursion", 1, 64, out)
    np.testing.assert_array_equal(out, np.tile([0, 1, 1, 2, 3, 5, 8, 13], 8))
    lanes = np.arange(64, dtype=np.float32)
    for which, expected in ((1, 2 * lanes), (0, lanes + 1)):
        result = np.zeros(64, dtype=np.float32)
        launch(loaded, "call_through_pointer", 1, 64, result, which)
        np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize("arch", TILE_TARGETS)
def test_code_without_optimization(arch: str) -> None:
    code = toolchain.compile_device(
        SOURCE, toolchain.CompileOptions(arch, name="kernels.hip", flags=("-O0",))
    ).code_object
    plain = runtime.device(f"emulated:{arch}").load(code)
    check_vector_add(plain, 1000)
    test_sums_through_shared_memory(plain)
    test_calls_recursion_and_function_pointers(plain)
    test_kernels_see_their_launch_shape(plain, (2, 3, 2), (8, 4, 4))


class InvalidValue(int):
    """AMD's status for a block or an LDS size beyond the device's limit."""

    name = "hipErrorInvalidValue"


@pytest.mark.usefixtures("works")
def test_a_shape_that_hip_refuses_with_a_number_is_in_the_message(loaded: Any) -> None:
    x = np.zeros(64, np.float32)
    with loaded.device.hip() as hip, pytest.MonkeyPatch.context() as patch:
        patch.setattr(hip.api, "hipModuleLaunchKernel", lambda *arguments: (InvalidValue(1),))
        with pytest.raises(
            errors.LaunchError, match=r"hipErrorInvalidValue.*block \(2048, 1, 1\) and 7 bytes"
        ):
            launch(loaded, "vector_add", 1, 2048, x, x, x, 64, shared=7)
