"""The tile library's functions: read from a hard header, and from the library's own."""

from __future__ import annotations

import re
from pathlib import Path

from workbench.lab import library
from workbench.paths import include_dir

HEADER = """\
/** Not a function. */
#define CALL(a) \\
    __device__ inline void in_a_macro(int x) {}
namespace kittens {
namespace detail {
/** Hidden. */
__device__ inline int helper() { return 1; }
} // namespace detail

/** dst = src. */
template <ducks::rt::all RT> __device__ inline void copy(RT &dst, const RT &src) { dst = src; }
template <ducks::rt::all RT> __device__ inline void move(RT &dst, const RT &src) {
    dst = src; // calls(nothing);
}

template <typename T>
    requires(sizeof(T) == 2)
[[nodiscard]] __device__ static inline __attribute__((always_inline)) T undocumented(T a, int b = sizeof(a));
/** f of each place. */
template <typename F>
    requires requires(const F &f) { f(0, 0); }
__device__ inline void fill(const F &f) {}
/// Shorter,
/// and in two lines.
__device__ inline void barrier() { __syncthreads(); }
struct tile {
    __device__ inline tile(int x) : data{x} {}
    __device__ inline bool operator()(int x) const { return x; }
    /** @brief Where it is.
     * @param row of the tile
     */
    __device__ inline const int &at(int row) const { return data[row]; }
};
} // namespace kittens
"""


def functions() -> dict[str, library.Function]:
    return {function.name: function for function in library.read_header(HEADER, "tile.cuh")}


def test_names_and_lines() -> None:
    assert list(functions()) == ["copy", "move", "undocumented", "fill", "barrier", "at"]
    for name, function in functions().items():
        assert f"{name}(" in HEADER.splitlines()[function.line - 1]


def test_declarations_as_they_are_written() -> None:
    read = functions()
    assert read["copy"].signature == "template <ducks::rt::all RT> void copy(RT &dst, const RT &src)"
    assert read["copy"].parameters == "(RT &dst, const RT &src)"
    assert read["undocumented"].signature == (
        "template <typename T> requires(sizeof(T) == 2) T undocumented(T a, int b = sizeof(a))"
    )


def test_documentation() -> None:
    read = functions()
    # One comment serves the functions below it.
    assert read["move"].doc == "dst = src."
    assert read["undocumented"].doc == ""
    assert read["fill"].doc == "f of each place."
    assert read["barrier"].doc == "Shorter, and in two lines."
    assert read["at"].doc == "Where it is.\n\n- `row`: of the tile"


def test_a_changed_header_is_read_again(tmp_path: Path) -> None:
    header = tmp_path / "a.cuh"
    header.write_text("__device__ void first();")
    assert [function.name for function in library.functions(tmp_path)] == ["first"]
    header.write_text("__device__ void second(); __device__ int third();")
    assert [function.name for function in library.functions(tmp_path)] == ["second", "third"]
    assert library.functions(tmp_path / "absent") == ()


def test_the_library_s_functions_are_there() -> None:
    names = {function.name for function in library.functions()}
    assert {"load", "store", "mma_ABt", "row_sum", "exp", "zero", "mul_row", "warpid", "laneid"} <= names
    # Against a text search in the headers.
    hidden = re.compile(r"^namespace (?:\w+::)*detail \{.*?^\} // namespace (?:\w+::)*detail", re.S | re.M)
    for path in include_dir().rglob("*.cuh"):
        text = hidden.sub("", path.read_text())
        for name in re.findall(r"^(?:static )?__device__ inline \w+ ([a-z]\w+)\(", text, re.M):
            assert name in names, (path, name)


def test_a_function_is_found_by_its_line() -> None:
    function = next(function for function in library.functions() if function.name == "mma_ABt")
    assert library.at(function.header, function.line) == function
    assert library.at(function.header, 1) is None


def test_headers_that_a_cell_can_include() -> None:
    headers = library.headers()
    assert headers[0] == "kittens.cuh"
    assert headers.index("types/register/rt.cuh") < headers.index("hip/hip_runtime.h")
