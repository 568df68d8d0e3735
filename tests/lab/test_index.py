"""The index of the tile library: entries read from hard headers, and the library's public names."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from workbench.lab.index import doc_text, index, lookup, read_header
from workbench.paths import include_dir

HEADER = """\
/**
 * @file
 * @brief Not a name.
 */
#pragma once
/** Rounds up. */
#define CEIL(a, b) (((a) + (b) - 1) / (b))
#define UNDOCUMENTED 1
namespace kittens {
namespace detail {
/** Hidden. */
inline int helper() { return 1; }
} // namespace detail
namespace ducks::rt {
/** Any register tile. */
template <typename T>
concept all = requires { typename T::identifier; };
} // namespace ducks::rt

/**
 * @brief A tile.
 *
 * @tparam T element type.
 */
template <typename T, int rows = 16> struct alignas(16) tile {
    using dtype = T;
    static constexpr int height = rows / 16;
    T data[rows];
    /** Where it is; "} ;" in a string or char '{' means nothing. */
    __device__ inline const T &at(int row) const { const char *s = "};"; return data[row]; }
    tile(int x) : data{x} {}
};

/** dst = src. */
template <ducks::rt::all RT> __device__ inline void copy(RT &dst, const RT &src) { dst = src; }
template <ducks::rt::all RT> __device__ inline void move(RT &dst, const RT &src) { dst = src; }

template <typename T>
    requires(sizeof(T) == 2)
__device__ static inline __attribute__((always_inline)) T undocumented(T a, int b = sizeof(int));
/// Shorter.
template <int n> using tile16 = tile<short, n>;
} // namespace kittens
"""


@pytest.fixture(scope="module")
def entries() -> dict[str, object]:
    return {entry.name: entry for entry in read_header(HEADER, "tile.cuh")}


def test_names_kinds_and_lines(entries) -> None:
    lines = HEADER.splitlines()
    assert {name: entry.kind for name, entry in entries.items()} == {
        "CEIL": "macro",
        "all": "concept",
        "tile": "type",
        "dtype": "type",
        "height": "variable",
        "at": "function",
        "copy": "function",
        "move": "function",
        "undocumented": "function",
        "tile16": "type",
    }
    for name in ("tile", "copy", "tile16", "dtype"):
        assert name in lines[entries[name].line - 1]


def test_signatures_scopes_and_documentation(entries) -> None:
    assert entries["copy"].signature == "template <ducks::rt::all RT> void copy(RT &dst, const RT &src)"
    assert entries["copy"].scope == "kittens"
    assert entries["at"].scope == "kittens::tile"
    assert entries["all"].scope == "kittens::ducks::rt"
    assert entries["tile"].doc == "A tile.\n\n- `T`: element type."
    assert entries["copy"].doc == entries["move"].doc == "dst = src."
    assert entries["undocumented"].doc == ""
    assert entries["tile16"].doc == "Shorter."
    assert entries["tile"].signature.startswith("template <typename T, int rows = 16> struct tile")


def test_doc_text_takes_doxygen_away() -> None:
    text = "/**\n * @brief Sums.\n * @param[in] a the @p b th\n * @return a sum\n */"
    assert doc_text(text) == "Sums.\n\n- `a`: the `b` th\n\nReturns: a sum"


def test_index_is_read_again_when_a_header_changes(tmp_path: Path) -> None:
    header = tmp_path / "a.cuh"
    header.write_text("int first();")
    before = index(tmp_path)
    assert [e.name for e in before.entries] == ["first"]
    header.write_text("int second(); int third();")
    after = index(tmp_path)
    assert [e.name for e in after.entries] == ["second", "third"]
    assert before.digest != after.digest
    assert index(tmp_path / "absent").entries == ()


@pytest.mark.skipif(not include_dir().is_dir(), reason="no tile library here")
def test_the_library_s_public_names_are_found() -> None:
    library = index()
    names = "gl rt rv st sv rt_bf st_bf rt_fl coord load store mma_ABt row_sum exp zero mul_row warpid laneid"
    assert not [name for name in names.split() if not lookup(name, library)]
    json.dumps(library.to_dict())
    assert all(entry.signature and len(entry.signature) <= 400 for entry in library.entries)
    assert not [entry for entry in library.entries if "detail" in entry.scope.split("::")]


HARD = """\
#define DECLARE(name) \\
    /** A comment in a macro's body. */ \\
    struct name { int inside; };
DECLARE(declared)
/** After a macro that declares something. */
template <typename T>
    requires(sizeof(T) == 2 || sizeof(T) == 4)
__host__ __device__ __attribute__((always_inline)) inline const T *first(const T (&values)[4], T none = T{}) {
    return sizeof(T) == 2 ? values : nullptr;
}
struct __attribute__((packed)) alignas(8) outer {
    template <int n, typename T> struct nested { using type = T; };
    template <int n> struct nested<n, void>;
    enum class colour : int { red, green };
    operator int() const;
    outer &operator=(const outer &) = default;
    ~outer();
    friend void stranger(outer);
    static constexpr int count = 4, other = 5;
};
#if defined(FAST)
inline constexpr int LANES = 64;
#else
inline constexpr int LANES = 32;
#endif
extern "C" int c_name(int);
namespace { int hidden(); }
typedef int old_name;
static_assert(sizeof(int) == 4, "four; bytes {");
using vec = float __attribute__((ext_vector_type(4)));
"""


def test_what_a_parser_of_plain_c_plus_plus_stumbles_over() -> None:
    entries = [(e.name, e.scope, e.kind, e.line) for e in read_header(HARD, "hard.cuh")]
    assert entries == [
        ("first", "", "function", 6),
        ("outer", "", "type", 11),
        ("nested", "outer", "type", 12),
        ("type", "outer::nested", "type", 12),
        ("nested", "outer", "type", 13),
        ("colour", "outer", "type", 14),
        ("count", "outer", "variable", 19),
        ("LANES", "", "variable", 22),
        ("LANES", "", "variable", 24),
        ("c_name", "", "function", 26),
        ("vec", "", "type", 30),
    ]
    first = next(e for e in read_header(HARD, "hard.cuh") if e.name == "first")
    assert first.doc == "After a macro that declares something."
    assert first.signature == (
        "template <typename T> requires(sizeof(T) == 2 || sizeof(T) == 4) "
        "const T *first(const T (&values)[4], T none = T{})"
    )


_DETAIL = re.compile(
    r"namespace (?:\w+::)*detail \{.*?^\} // namespace (?:\w+::)*detail", re.DOTALL | re.MULTILINE
)


def test_every_concept_and_constant_of_the_library_is_found() -> None:
    """Against a search in the headers' text, which knows nothing of scopes."""
    library = index()
    names = {(e.header, e.name) for e in library.entries}
    root = include_dir()
    searched = 0
    for path in root.rglob("*.cuh"):
        text = re.sub(
            r"namespace (?:\w+::)*detail \{.*?^\} // namespace (?:\w+::)*detail",
            "",
            path.read_text(),
            flags=re.S | re.M,
        )
        for name in re.findall(r"^(?:concept|inline constexpr int) (\w+) =", text, re.M):
            searched += 1
            assert (path.relative_to(root).as_posix(), name) in names, (path, name)
    assert searched > 30
