"""DLPack's exchange in C, as a library such as TVM's runtime reads it from the class of tensors."""

from __future__ import annotations

import ctypes
import struct
from typing import Any

import pytest
import torch

import workbench as wb

CPU, ROCM = 1, 10
# Offsets of DLPack 1.3's header: the functions in the table; the device in a tensor.
ALLOCATE, FROM_OBJECT, TO_OBJECT, DESCRIBE, STREAM = 16, 24, 32, 40, 48
DEVICE = 40

pytestmark = pytest.mark.skipif(
    not hasattr(torch.Tensor, "__dlpack_c_exchange_api__"), reason="this PyTorch has no exchange in C"
)


class Consumer:
    """Takes tensors as C code does: by the functions of the table, at their addresses."""

    def __init__(self) -> None:
        pointer = ctypes.pythonapi.PyCapsule_GetPointer
        pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
        self.table = pointer(torch.Tensor.__dlpack_c_exchange_api__, b"dlpack_exchange_api")

    def call(self, offset: int, *arguments: Any) -> int:
        (address,) = struct.unpack("Q", ctypes.string_at(self.table + offset, 8))
        types = [ctypes.c_void_p if isinstance(a, int) else type(a) for a in arguments]
        return int(ctypes.PYFUNCTYPE(ctypes.c_int, *types)(address)(*arguments))

    def take(self, tensor: torch.Tensor) -> int:
        result = ctypes.c_void_p()
        assert self.call(FROM_OBJECT, id(tensor), ctypes.addressof(result)) == 0
        assert result.value is not None
        return result.value


def device_at(address: int) -> tuple[int, ...]:
    return struct.unpack("ii", ctypes.string_at(address, 8))


def test_tensors_are_on_the_claimed_device() -> None:
    with wb.torch_as_gpu("emulated:gfx942"):
        consumer = Consumer()
        x = torch.arange(6.0, device="cuda").reshape(2, 3)
        managed = consumer.take(x)
        assert device_at(managed + DEVICE) == (ROCM, 0)
        (data,) = struct.unpack("Q", ctypes.string_at(managed + DEVICE - 8, 8))
        assert data == x.data_ptr()

        described = ctypes.create_string_buffer(48)
        assert consumer.call(DESCRIBE, id(x), ctypes.addressof(described)) == 0
        assert device_at(ctypes.addressof(described) + 8) == (ROCM, 0)

        stream = ctypes.c_void_p(1)
        words = (ctypes.c_int32(ROCM), ctypes.c_int32(0), ctypes.addressof(stream))
        assert consumer.call(STREAM, *words) == 0
        assert stream.value is None

        allocated = ctypes.c_void_p()
        assert consumer.call(ALLOCATE, managed + DEVICE - 8, ctypes.addressof(allocated), 0, 0) == 0
        assert allocated.value is not None
        assert device_at(allocated.value + DEVICE) == device_at(managed + DEVICE) == (ROCM, 0)

        back = ctypes.py_object()
        assert consumer.call(TO_OBJECT, managed, ctypes.addressof(back)) == 0
        y = back.value
        assert y.data_ptr() == x.data_ptr()
        assert y.device.type == "cuda"
        assert torch.equal(y, x)


def test_the_table_outlives_the_door() -> None:
    """TVM's runtime reads it once for each class."""
    before = torch.Tensor.__dlpack_c_exchange_api__
    with wb.torch_as_gpu("emulated:gfx942"):
        consumer = Consumer()
    assert torch.Tensor.__dlpack_c_exchange_api__ is before
    assert device_at(consumer.take(torch.ones(3)) + DEVICE) == (CPU, 0)


def test_tensors_that_cannot_be_taken() -> None:
    with wb.torch_as_gpu("emulated:gfx942"):
        consumer = Consumer()
        sparse = torch.eye(3).to_sparse()
        result = ctypes.c_void_p()
        assert consumer.call(FROM_OBJECT, id(sparse), ctypes.addressof(result)) == -1
