/**
 * @file
 * @brief Complex tiles and vectors: a real and an imaginary part of the same type.
 *
 * HipKittens' fp6 branch has these types without operations; apply operations to the parts.
 */
#pragma once

#include "global/gl.cuh"
#include "register/rt.cuh"
#include "shared/st.cuh"

namespace kittens {

namespace detail {
/** Common base of complex types; `kind` distinguishes them. */
template <typename Kind, typename Part>
struct KITTENS_DEFAULT_ALIGN complex_of {
    using identifier = Kind;
    using component = Part;
    using T = typename component::T;
    using T2 = typename component::T2;
    using dtype = typename component::dtype;
    component real, imag;
};
template <typename Kind, typename Part>
struct complex_tile : complex_of<Kind, Part> {
    static constexpr int rows = Part::rows;
    static constexpr int cols = Part::cols;
    static constexpr int height = Part::height;
    static constexpr int width = Part::width;
};
template <typename Kind, typename Part>
struct complex_vector : complex_of<Kind, Part> {
    static constexpr int length = Part::length;
    static constexpr int tiles = Part::tiles;
};
template <typename T, typename Kind>
concept complex_kind = requires { typename T::identifier; } && is_same<typename T::identifier, Kind>;
} // namespace detail

namespace ducks {
namespace crv {
struct identifier {};
/** Any complex register vector. */
template <typename T>
concept all = detail::complex_kind<T, identifier>;
template <typename T>
concept naive_layout = all<T> && detail::is_same<typename T::layout, rv_layout::naive>;
template <typename T>
concept align_layout = all<T> && detail::is_same<typename T::layout, rv_layout::align>;
template <typename T>
concept ortho_layout = all<T> && detail::is_same<typename T::layout, rv_layout::ortho>;
template <typename T>
concept tile_layout = align_layout<T> || ortho_layout<T>;
} // namespace crv
namespace crt {
struct identifier {};
/** Any complex register tile. */
template <typename T>
concept all = detail::complex_kind<T, identifier> && ducks::rt::all<typename T::component>;
template <typename T>
concept row_layout = all<T> && detail::is_same<typename T::layout, rt_layout::row>;
template <typename T>
concept col_layout = all<T> && detail::is_same<typename T::layout, rt_layout::col>;
} // namespace crt
namespace csv {
struct identifier {};
/** Any complex shared vector. */
template <typename T>
concept all = detail::complex_kind<T, identifier> && ducks::sv::all<typename T::component>;
} // namespace csv
namespace cst {
struct identifier {};
/** Any complex shared tile. */
template <typename T>
concept all = detail::complex_kind<T, identifier> && ducks::st::all<typename T::component>;
} // namespace cst
namespace cgl {
struct identifier {};
/** Any complex global layout. */
template <typename T>
concept all = detail::complex_kind<T, identifier>;
} // namespace cgl
} // namespace ducks

/** A complex register vector. */
template <typename T, size_t length, ducks::rv_layout::all _layout = naive_l>
struct crv : detail::complex_vector<ducks::crv::identifier,
                                    detail::register_vector<T, static_cast<int>(length), _layout, rt_16x16_s>> {
    using layout = _layout;
};
/** A complex register tile. */
template <typename _T, int _rows, int _cols, ducks::rt_layout::all _layout = row_l>
struct crt : detail::complex_tile<ducks::crt::identifier, rt<_T, _rows, _cols, _layout>> {
    using layout = _layout;
    using row_vec = crv<_T, _cols, typename crt::component::base_tile::row_vec_layout>;
    using col_vec = crv<_T, _rows, typename crt::component::base_tile::col_vec_layout>;
};
/** A complex shared vector. */
template <typename T, int length>
struct csv : detail::complex_vector<ducks::csv::identifier, sv<T, length>> {};
/** A complex shared tile. */
template <typename _T, int _rows, int _cols>
struct cst : detail::complex_tile<ducks::cst::identifier, st<_T, _rows, _cols>> {
    using row_vec = csv<_T, _cols>;
    using col_vec = csv<_T, _rows>;
};
/** Two global layouts of a type. */
template <ducks::gl::all GL>
struct cgl : detail::complex_of<ducks::cgl::identifier, GL> {};

template <int rows, int cols, ducks::rt_layout::all layout = row_l>
using crt_fl = crt<float, rows, cols, layout>;
template <int rows, int cols, ducks::rt_layout::all layout = row_l>
using crt_bf = crt<bf16, rows, cols, layout>;
template <int rows, int cols, ducks::rt_layout::all layout = row_l>
using crt_hf = crt<half, rows, cols, layout>;
template <int length, ducks::rv_layout::all layout = naive_l>
using crv_fl = crv<float, length, layout>;
template <int length, ducks::rv_layout::all layout = naive_l>
using crv_bf = crv<bf16, length, layout>;
template <int length, ducks::rv_layout::all layout = naive_l>
using crv_hf = crv<half, length, layout>;
template <int rows, int cols>
using cst_fl = cst<float, rows, cols>;
template <int rows, int cols>
using cst_bf = cst<bf16, rows, cols>;
template <int rows, int cols>
using cst_hf = cst<half, rows, cols>;
template <int length>
using csv_fl = csv<float, length>;
template <int length>
using csv_bf = csv<bf16, length>;
template <int length>
using csv_hf = csv<half, length>;

} // namespace kittens
