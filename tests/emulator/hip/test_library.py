"""The emulated libamdhip64: what it exports, its structures, and that no exception crosses into C."""

from __future__ import annotations

import ctypes
import subprocess
import sys
from pathlib import Path

import pytest

from workbench import errors, runtime
from workbench.emulator import hip as emulated
from workbench.emulator.hip import library, structures
from workbench.emulator.hip.calls import CALLS
from workbench.emulator.hip.update_interface import installed_enums, installed_functions
from workbench.runtime.hip import api as load_hip
from workbench.toolchain import zig
from workbench.toolchain.native import Target


@pytest.fixture(scope="module")
def hip():
    return load_hip(runtime.device("emulated").backend)


def test_every_function_that_the_bindings_look_up_is_exported() -> None:
    missing = installed_functions() - set(library.function_names())
    assert not missing, "run python -m workbench.emulator.hip.update_interface"
    handle = emulated.load().handle
    for name in library.function_names():
        # hiprtc's functions are for programs that were linked with a version of them.
        if not name.startswith("hiprtc"):
            assert ctypes.cast(getattr(handle, name), ctypes.c_void_p).value


def test_all_that_amds_library_exports_is_exported_at_its_version() -> None:
    handle, find = emulated.load().handle, ctypes.CDLL(None).dlvsym
    find.restype = ctypes.c_void_p
    find.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p]
    versions = library.symbol_versions()
    assert sum(map(len, versions.values())) > 500
    missing = [
        f"{name}@{version}"
        for version, names in versions.items()
        for name in names
        if not find(handle._handle, name.encode(), version.encode())
    ]
    assert not missing


def test_what_is_not_implemented_says_so() -> None:
    program = """
from workbench.emulator import hip
handle = hip.load().handle
names = ("hipGLGetDevices", "hipGLGetDevices", "hipGraphicsMapResources")
print([getattr(handle, name)(0, 0, 0, 0) for name in names])
"""
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert result.stdout == "[801, 801, 801]\n"
    assert result.stderr.splitlines() == [
        f"hipkittens: the emulated device does not support {name} (hipErrorNotSupported)"
        for name in ("hipGLGetDevices", "hipGraphicsMapResources")
    ]


def test_functions_that_amds_library_has_under_further_names() -> None:
    amdhip64 = emulated.load().handle
    find = ctypes.CDLL(None).dlvsym
    find.restype = ctypes.c_void_p
    find.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p]
    address = find(amdhip64._handle, b"hiprtcVersion", b"hip_4.2")
    version = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)(address)
    major, minor = ctypes.c_int(), ctypes.c_int()
    assert version(ctypes.addressof(major), ctypes.addressof(minor)) == 0
    assert major.value == structures.VERSION // 10_000_000
    mangled = [name for name in library.function_names() if name.startswith("_Z")]
    assert len(mangled) == 2
    for name in mangled:
        plain = name[4:].partition("P18")[0]
        assert CALLS[name].handler is CALLS[plain].handler
    amdhip64.__gnu_f2h_ieee.argtypes, amdhip64.__gnu_f2h_ieee.restype = [ctypes.c_float], ctypes.c_uint16
    amdhip64.__gnu_h2f_ieee.argtypes, amdhip64.__gnu_h2f_ieee.restype = [ctypes.c_uint16], ctypes.c_float
    for value, bits in ((1.0, 0x3C00), (-2.5, 0xC100), (65504.0, 0x7BFF), (1e6, 0x7C00), (2.0**-24, 1)):
        assert amdhip64.__gnu_f2h_ieee(value) == bits
        if value != 1e6:
            assert amdhip64.__gnu_h2f_ieee(bits) == value


def test_the_function_that_a_program_asks_for_by_release() -> None:
    handle = emulated.load().handle
    status = ctypes.c_int()
    addresses = []
    for release in (500, 600):
        address = ctypes.c_void_p()
        error = handle.hipGetProcAddress(
            b"hipGetDeviceProperties",
            ctypes.byref(address),
            release,
            ctypes.c_uint64(0),
            ctypes.byref(status),
        )
        assert (error, status.value) == (0, 0)
        addresses.append(address.value)
    names = ("hipGetDeviceProperties", "hipGetDevicePropertiesR0600")
    assert addresses == [emulated.load().address_of(name) for name in names]


def test_enumerations_are_those_of_the_bindings() -> None:
    for name, values in installed_enums().items():
        members = structures.enum(name)
        common = set(members) & set(values)
        # The sentinels at an enumeration's end move as it grows.
        common -= {"HIP_FUNC_ATTRIBUTE_MAX", "hipLimitRange", "hipErrorTbd"}
        assert len(common) > 3
        assert {n: members[n] for n in common} == {n: values[n] for n in common}


def test_only_exported_functions_are_registered() -> None:
    assert set(CALLS) <= set(library.function_names())


def fields_of(structure: type[ctypes.Structure]) -> list[tuple[str, int, int]]:
    return [
        (name, getattr(structure, name).offset, getattr(structure, name).size)
        for name, *_ in structure._fields_
    ]


@pytest.mark.parametrize(
    ("wrapper", "structure"),
    [
        ("hipDeviceProp_t", structures.DeviceProp),
        ("hipPointerAttribute_t", structures.PointerAttributes),
        ("hipFuncAttributes", structures.FuncAttributes),
        ("hip_Memcpy2D", structures.Memcpy2D),
        ("HIP_MEMCPY3D", structures.Memcpy3DDriver),
    ],
)
def test_structures_have_the_layout_that_the_bindings_read(hip, wrapper: str, structure) -> None:
    """Writes a different value into each field's place and reads it through hip-python."""
    type_ = getattr(hip, wrapper)
    content = ctypes.create_string_buffer(2 * ctypes.sizeof(structure))
    record = type_.fromObj(ctypes.addressof(content))
    checked = 0
    for index, (name, offset, size) in enumerate(fields_of(structure)):
        if size not in (4, 8) or not hasattr(record, name) or name in ("arch", "luid", "type"):
            continue
        if name.endswith("MemoryType"):
            # The binding reads an enumeration, which has few values.
            continue
        ctypes.memset(content, 0, len(content))
        (ctypes.c_uint32 if size == 4 else ctypes.c_uint64).from_buffer(content, offset).value = 1000 + index
        value = getattr(record, name)
        if isinstance(value, list | tuple):
            value = value[0]
        assert int(value) == 1000 + index, name
        checked += 1
    assert checked >= 5
    if hasattr(type_, "c_sizeof"):
        assert record.c_sizeof() == ctypes.sizeof(structure)


@pytest.mark.parametrize(
    ("wrapper", "structure"),
    [
        ("hipMemPoolProps", structures.MemPoolProps),
        ("hipMemAccessDesc", structures.MemAccessDesc),
        ("hipMemLocation", structures.MemLocation),
        ("HIP_LAUNCH_CONFIG", structures.DriverLaunchConfig),
        ("hipMemsetParams", structures.MemsetParams),
    ],
)
def test_small_structures_have_the_size_that_the_bindings_give_them(hip, wrapper: str, structure) -> None:
    content = ctypes.create_string_buffer(2 * ctypes.sizeof(structure))
    record = getattr(hip, wrapper).fromObj(ctypes.addressof(content))
    assert record.c_sizeof() == ctypes.sizeof(structure)


def test_an_unknown_function_says_its_name_once() -> None:
    code = (
        "from workbench.emulator import hip\n"
        "handle = hip.load().handle\n"
        "print([handle.hipIpcGetMemHandle(0, 0) for _ in range(3)])\n"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True
    )
    assert result.stdout.strip() == "[801, 801, 801]"
    assert result.stderr.count("hipIpcGetMemHandle") == 1


def test_a_file_without_content_is_no_image(tmp_path: Path) -> None:
    """As HIP 7 answers; hiprtc's functions are only in its own library."""
    handle = emulated.load().handle
    module = ctypes.c_void_p()
    (tmp_path / "empty.co").touch()
    name = str(tmp_path / "empty.co").encode()
    assert handle.hipModuleLoad(ctypes.byref(module), name) == structures.INVALID_IMAGE
    assert handle.hipModuleLoad(ctypes.byref(module), name + b"!") == structures.FILE_NOT_FOUND
    handle.hipGetLastError()
    emulated.take_exception()
    assert not hasattr(handle, "hiprtcCreateProgram")


def test_a_failing_callback_keeps_its_exception_and_answers_with_a_number() -> None:
    handle = emulated.load().handle
    emulated.take_exception()
    image = ctypes.create_string_buffer(b"no code object at all", 200)
    module = ctypes.c_void_p()
    assert handle.hipModuleLoadData(ctypes.byref(module), image) == structures.INVALID_IMAGE
    behind = emulated.take_exception()
    assert isinstance(behind, errors.DeviceError)
    assert "not a code object" in str(behind)
    assert emulated.take_exception() is None
    assert handle.hipGetLastError() == structures.INVALID_IMAGE
    assert handle.hipGetLastError() == structures.SUCCESS


def test_a_function_that_returns_a_structure(hip) -> None:
    description = hip.hipCreateChannelDesc(8, 16, 32, 0, hip.hipChannelFormatKind.hipChannelFormatKindFloat)
    description = description[-1] if isinstance(description, tuple) else description
    assert (description.x, description.y, description.z, description.w) == (8, 16, 32, 0)


@pytest.mark.parametrize(
    ("machine", "system"), [("x86_64", "linux"), ("aarch64", "linux"), ("aarch64", "macos")]
)
def test_trampolines_assemble(machine: str, system: str, tmp_path) -> None:
    source = tmp_path / "t.S"
    source.write_text(library.trampolines(Target(machine, system), ("hipInit", "hipMalloc")))
    command = [sys.executable, "-m", "ziglang", "cc", "-target", zig.target(machine, system), "-c", "t.S"]
    subprocess.run(command, check=True, timeout=120, cwd=tmp_path)


def test_trampolines_for_an_unknown_machine_are_refused() -> None:
    with pytest.raises(errors.ToolchainError, match="vax"):
        library.trampolines(Target("vax", "linux"), ("hipInit",))


def test_calls_after_the_end_of_python_fail_quietly() -> None:
    code = (
        "import atexit, ctypes\n"
        "from workbench.emulator import hip\n"
        "handle = None\n"
        "atexit.register(lambda: print(handle.hipGetDeviceCount(ctypes.byref(ctypes.c_int()))))\n"
        "handle = hip.load().handle\n"
        "print(handle.hipGetDeviceCount(ctypes.byref(ctypes.c_int())))\n"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True
    )
    assert result.stdout.split() == ["0", "4"]
