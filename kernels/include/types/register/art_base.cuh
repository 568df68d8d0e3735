/**
 * @file
 * @brief Ranges of registers, by number, and base tiles in them.
 *
 * Numbers 0 to 255 are VGPRs, 256 to 511 AGPRs, as in macros.cuh.
 */
#pragma once

#include "rt_base.cuh"

namespace kittens {

namespace detail {
template <typename Int, Int... values>
struct places {};
} // namespace detail

namespace ducks::art {

/** Registers `lo` to `hi`, both included. */
template <int _lo, int _hi>
struct range {
    static constexpr int lo = _lo, hi = _hi;
    static constexpr int size = hi - lo + 1;
    static_assert(lo >= 0 && lo <= hi && hi < 512, "art::range: registers are numbered 0 to 511, lowest first");
    static_assert(hi < 256 || lo >= 256, "art::range: a range is of VGPRs (0 to 255) or of AGPRs (256 to 511)");
};

/** A list of ranges: those of a tile's base tiles, row by row. */
template <typename... Ts>
struct type_list {
    static constexpr int size = sizeof...(Ts);
};

template <typename List>
struct type_list_size {
    static constexpr int value = List::size;
};
template <typename List>
inline constexpr int type_list_size_v = List::size;

template <typename A, typename B>
struct concat;
/** The concatenation of two lists. */
template <typename... As, typename... Bs>
struct concat<type_list<As...>, type_list<Bs...>> {
    using type = type_list<As..., Bs...>;
};

template <typename List>
inline constexpr bool apart = false;
/** True if no register is in two ranges of a list, or of several lists concatenated. */
template <typename... Ts>
inline constexpr bool apart<type_list<Ts...>> = [] {
    bool taken[512] = {}, free = true;
    const auto take = [&](int lo, int hi) {
        for (int at = lo; at <= hi && at < 512; at++) {
            free = free && !taken[at];
            taken[at] = true;
        }
    };
    (take(Ts::lo, Ts::hi), ...);
    return free;
}();

template <int n, typename... Ts>
struct nth_of {
    static_assert(detail::never<nth_of<n, Ts...>>, "art: the list has fewer ranges of registers than are asked for");
};
template <typename T, typename... Ts>
struct nth_of<0, T, Ts...> {
    using type = T;
};
template <int n, typename T, typename... Ts>
    requires(n > 0)
struct nth_of<n, T, Ts...> : nth_of<n - 1, Ts...> {};
template <typename List, int n>
struct get_nth_range;
template <typename... Ts, int n>
struct get_nth_range<type_list<Ts...>, n> {
    using type = typename nth_of<n, Ts...>::type;
};
/** The n-th range of a list, from 0. */
template <typename List, int n>
using get_nth_range_t = typename get_nth_range<List, n>::type;

/** Ranges of n registers each from `lo` on, one for each index; only its type is used. */
template <int lo, int n, int... at>
type_list<range<lo + at * n, lo + at * n + n - 1>...> in_ranges(detail::places<int, at...>);

/** Registers `lo` to `hi` split into ranges of n registers. */
template <int lo, int hi, int n>
struct split_one {
    static constexpr bool divides = n > 0 && (hi - lo + 1) % n == 0;
    static_assert(divides, "art::split_many: a range is a whole number of ranges of that size");
    /** The number of ranges. */
    static constexpr int count = divides ? (hi - lo + 1) / n : 0;
    /** The first one's last register. */
    static constexpr int end = lo + n - 1;
    using type = decltype(in_ranges<lo, n>(__make_integer_seq<detail::places, int, count>{}));
    using head = range<lo, divides ? end : hi>;
    /** All ranges but the first. */
    using tail = decltype(in_ranges<end + 1, n>(__make_integer_seq<detail::places, int, count ? count - 1 : 0>{}));
};
template <typename List, int n>
struct split_many;
template <int n>
struct split_many<type_list<>, n> {
    using type = type_list<>;
};
/** The ranges of a list split into ranges of n registers: those of its first range, and the rest. */
template <typename R, typename... Rs, int n>
struct split_many<type_list<R, Rs...>, n>
    : concat<typename split_one<R::lo, R::hi, n>::type, typename split_many<type_list<Rs...>, n>::type> {
    using first = typename split_one<R::lo, R::hi, n>::type;
    using rest = typename split_many<type_list<Rs...>, n>::type;
};
/** `split_many` as a type: the split ranges of the list. */
template <typename List, int n>
using split_many_t = typename split_many<List, n>::type;

/** The ranges of a tile of h x w base tiles, in the order of its transpose, at some indices. */
template <typename List, int h, int w, int... at>
struct transposed {
    using type = type_list<get_nth_range_t<List, at % h * w + at / h>...>;
};
/** The same, with the row, the column and the list index of the first, its range in a separate list, and the rest. */
template <typename List, int h, int w, int... at>
struct transpose_2d_impl : transposed<List, h, w> {};
template <typename List, int h, int w, int at, int... others>
struct transpose_2d_impl<List, h, w, at, others...> : transposed<List, h, w, at, others...> {
    /** The first one's row and column, and its index in the list. */
    static constexpr int r = at % h, c = at / h, src_idx = r * w + c;
    using current = typename transposed<List, h, w, at>::type;
    using rest = typename transposed<List, h, w, others...>::type;
};
template <typename List, int h, int w>
struct transpose_2d_helper {
    static_assert(List::size == h * w, "art::transpose_2d: the list has height x width ranges");
    /** The list's type, for the compiler to deduce. */
    template <int... at>
    static typename transposed<List, h, w, at...>::type make_impl(detail::places<int, at...>);
    using type = decltype(make_impl(__make_integer_seq<detail::places, int, h * w>{}));
};
/** The ranges of a tile of h x w base tiles in the order of its transpose: the same registers seen as w x h. */
template <typename List, int h, int w>
using transpose_2d = typename transpose_2d_helper<List, h, w>::type;

/** A range of registers. */
template <typename T>
concept register_range_t = requires {
    T::lo;
    T::hi;
    T::size;
};
/** A list of ranges. */
template <typename T>
concept register_list_t = requires { T::size; } && !register_range_t<T>;

template <typename R, int at = 0>
__device__ inline void clobber_range() {
    if constexpr (at < R::size) {
        macros::clobber_gpr<R::lo + at>();
        clobber_range<R, at + 1>();
    }
}
/**
 * @brief Tells the compiler that the registers of a list are in use, so that it allocates enough for the kernel.
 *
 * Declaring a tile does so for the tile's registers.
 */
template <register_list_t List, int at = 0>
__device__ inline void clobber() {
    if constexpr (at < List::size) {
        clobber_range<get_nth_range_t<List, at>>();
        clobber<List, at + 1>();
    }
}

} // namespace ducks::art

namespace ducks::art_base {
struct identifier {};
} // namespace ducks::art_base

/**
 * @brief One base tile in given registers, as `rt_base` is one in registers of the compiler's choice. Holds no data
 * itself.
 *
 * The range has as many registers as the base tile needs, and begins with an even one if there are several.
 */
template <typename _T, ducks::rt_layout::all _layout, ducks::rt_shape::all _shape,
          ducks::art::register_range_t _register_range>
struct art_base {
    using identifier = ducks::art_base::identifier;
    using like = rt_base<_T, _layout, _shape>;
    using T = typename like::T;
    using T2 = typename like::T2;
    using dtype = T2;
    using layout = _layout;
    using shape = _shape;
    using register_range = _register_range;
    using row_vec_layout = typename like::row_vec_layout;
    using col_vec_layout = typename like::col_vec_layout;
    /** The registers, as a value. */
    [[no_unique_address]] register_range registers;

    static constexpr int rows = like::rows;
    static constexpr int cols = like::cols;
    static constexpr int stride = like::stride;
    static constexpr int num_elements = like::num_elements;
    static constexpr int elements_per_thread = like::elements_per_thread;
    static constexpr int num_strides = like::num_strides;
    static constexpr int packed_per_thread = like::packed_per_thread;
    static constexpr int registers_per_thread = like::registers_per_thread;
    static constexpr int registers_per_stride = registers_per_thread / num_strides;
    static constexpr int reductions = like::reductions;
    static constexpr int threads_per_reduction = like::threads_per_reduction;
    static constexpr int elements_per_stride_group = like::elements_per_stride_group;

    static constexpr bool right_size = register_range::size == registers_per_thread;
    static_assert(right_size, "art: a range has as many registers as a base tile takes; split_many cuts ranges");
    static constexpr bool begins_even = register_range::size == 1 || register_range::lo % 2 == 0;
    static_assert(begins_even,
                  "art: a range of two registers or more begins with an even one, as the instructions want it");
};

namespace ducks::art_base {
/** Any base tile in given registers. */
template <typename T>
concept all = requires { typename T::identifier; } && detail::is_same<typename T::identifier, identifier>;
} // namespace ducks::art_base

/** Base tiles in given registers by element type. */
template <ducks::rt_layout::all L = row_l, ducks::rt_shape::all S = rt_16x16_s,
          ducks::art::register_range_t R = ducks::art::range<0, 3>>
using art_base_fl = art_base<float, L, S, R>;
template <ducks::rt_layout::all L = row_l, ducks::rt_shape::all S = rt_16x16_s,
          ducks::art::register_range_t R = ducks::art::range<0, 1>>
using art_base_bf = art_base<bf16, L, S, R>;
template <ducks::rt_layout::all L = row_l, ducks::rt_shape::all S = rt_16x16_s,
          ducks::art::register_range_t R = ducks::art::range<0, 1>>
using art_base_hf = art_base<half, L, S, R>;

} // namespace kittens
