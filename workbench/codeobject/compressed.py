"""Compressed offload bundles (CCOB), as clang's --offload-compress leaves them.

LLVM documents the header in OffloadBundle.h (CompressedOffloadBundle). Its checksum is not compared, because
its definition has changed between releases.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import importlib
import struct
import zlib
from functools import cache
from typing import Any, Protocol

from workbench.errors import CodeObjectError

MAGIC = b"CCOB"
_COMMON = struct.Struct("<4sHH")
# Sizes in bytes of the fields after the common ones: of the file, if it is stored, and uncompressed.
_SIZES = {1: struct.Struct("<I"), 2: struct.Struct("<II"), 3: struct.Struct("<QQ")}
_CHECKSUM = 8
HEADER = _COMMON.size + _SIZES[3].size + _CHECKSUM
"""Bytes that every header fits into."""
_ZLIB, _ZSTD = 0, 1
_LARGEST = 1 << 32


class _Decompressor(Protocol):
    """Like Python's own: `unused_data` has what follows the compressed data; `eof` is True at its end."""

    @property
    def unused_data(self) -> bytes: ...

    @property
    def eof(self) -> bool: ...

    def decompress(self, data: bytes, /) -> bytes: ...


class _LibraryDecompressor:
    """The same of the system's libzstd, for a frame whose uncompressed size is known."""

    def __init__(self, library: Any, size: int) -> None:
        self.unused_data, self.eof = b"", False
        self._library = library
        self._size = size

    def decompress(self, data: bytes, /) -> bytes:
        library = self._library
        length = library.ZSTD_findFrameCompressedSize(data, ctypes.c_size_t(len(data)))
        if library.ZSTD_isError(length):
            raise ValueError(library.ZSTD_getErrorName(length).decode())
        content = ctypes.create_string_buffer(self._size)
        count = library.ZSTD_decompress(content, len(content), data, ctypes.c_size_t(length))
        if library.ZSTD_isError(count):
            raise ValueError(library.ZSTD_getErrorName(count).decode())
        self.unused_data, self.eof = data[length:], True
        return content.raw[:count]


@cache
def _zstd_library() -> Any:
    name = ctypes.util.find_library("zstd") or "libzstd.so.1"
    library = ctypes.CDLL(name)
    for function in (library.ZSTD_findFrameCompressedSize, library.ZSTD_decompress):
        function.restype = ctypes.c_size_t
    library.ZSTD_decompress.argtypes = [
        ctypes.c_void_p,
        ctypes.c_size_t,
        ctypes.c_char_p,
        ctypes.c_size_t,
    ]
    library.ZSTD_isError.argtypes = library.ZSTD_getErrorName.argtypes = [ctypes.c_size_t]
    library.ZSTD_getErrorName.restype = ctypes.c_char_p
    return library


def _zstd(size: int) -> _Decompressor:
    """A decompressor of Zstandard: Python's since 3.14, the package `zstandard`, or the system's library."""
    try:
        own: _Decompressor = importlib.import_module("compression.zstd").ZstdDecompressor()
        return own
    except ImportError:
        pass
    try:
        other: _Decompressor = importlib.import_module("zstandard").ZstdDecompressor().decompressobj()
        return other
    except ImportError:
        pass
    try:
        return _LibraryDecompressor(_zstd_library(), size)
    except OSError:
        raise CodeObjectError(
            "the fat binary is compressed by Zstandard, and nothing here reads it: `pip install zstandard`, "
            "or build with --no-offload-compress."
        ) from None


def _header(data: bytes, start: int) -> tuple[int, int | None, int, int]:
    """Method, bytes of the whole bundle if the header has them, bytes uncompressed, bytes of the header."""
    magic, version, method = _COMMON.unpack_from(data, start)
    sizes = _SIZES.get(version)
    if magic != MAGIC or sizes is None:
        raise CodeObjectError(
            f"the fat binary is compressed, with a header of version {version}; versions 1 to 3 are read: "
            "build with --no-offload-compress, or unpack it with clang-offload-bundler -unbundle."
        )
    *whole, uncompressed = sizes.unpack_from(data, start + _COMMON.size)
    return method, whole[0] if whole else None, uncompressed, _COMMON.size + sizes.size + _CHECKSUM


def size_of(head: bytes) -> int:
    """Bytes of a compressed bundle, from its first `HEADER` bytes.

    Raises:
        CodeObjectError: the header does not say so.
    """
    _, whole, _, _ = _header(head, 0)
    if whole is None:
        raise CodeObjectError(
            "the fat binary is compressed, with a header of version 1, which does not say where it ends: "
            "compile it with clang 19 or later, or with --no-offload-compress."
        )
    return whole


def decompress(data: bytes, start: int) -> tuple[bytes, int]:
    """Decompresses the bundle at `data[start]`; returns it and the end of the compressed bytes.

    Raises:
        CodeObjectError: the bundle is damaged, or its compression method is not supported.
        Exception: any exception that a decompressor raises on damage.
    """
    method, whole, size, head = _header(data, start)
    end = len(data) if whole is None else start + whole
    if not start + head <= end <= len(data) or size > _LARGEST:
        raise CodeObjectError(
            f"the compressed fat binary is damaged or cut off: it claims {end - start} bytes, {size} of them "
            f"uncompressed, and there are {len(data) - start}."
        )
    if method not in (_ZLIB, _ZSTD):
        raise CodeObjectError(
            f"the fat binary is compressed by method {method}; 0 (zlib) and 1 (zstd) are read: build with "
            "--no-offload-compress."
        )
    decompressor: _Decompressor = zlib.decompressobj() if method == _ZLIB else _zstd(size)
    content = decompressor.decompress(data[start + head : end])
    if not decompressor.eof or len(content) != size:
        raise CodeObjectError(
            f"the compressed fat binary is damaged: it holds {len(content)} bytes, and claims {size}."
        )
    return content, end - len(decompressor.unused_data) if whole is None else end
