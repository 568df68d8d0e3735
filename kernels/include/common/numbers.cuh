/**
 * @file
 * @brief Single elements, as numbers for functions.
 */
#pragma once

#include "base_types.cuh"

namespace kittens::detail {

/** The elements of a packed value (or one element) as floats, or as `int` if they are `int`; and back. */
template <typename P>
struct numbers {
    static constexpr int count = base_types::packing<P>::num();
    using number = select<is_same<typename base_types::packing<P>::unpacked_type, int>, int, float>;
    using wide = select<is_same<number, int>, P, select<count == 4, float4, select<count == 2, float2, float>>>;
    static_assert(numbers_in<typename base_types::packing<P>::unpacked_type> == 1,
                  "map: an element of fp6 or fp4 is several numbers; copy the tile to another type first");

    number n[count];

    static __device__ inline numbers of(const P &packed) {
        return bit_cast<numbers>(base_types::convertor<wide, P>::convert(packed));
    }
    __device__ inline P packed() const { return base_types::convertor<P, wide>::convert(bit_cast<wide>(*this)); }
};

/** f(values..., position...) where f takes the position, else f(values...). */
template <typename F, typename... Values>
__device__ inline auto call_at(const F &f, int row, int col, Values... values) {
    if constexpr (requires { f(values..., row, col); })
        return f(values..., row, col);
    else
        return f(values...);
}
template <typename F, typename... Values>
__device__ inline auto call_at(const F &f, int index, Values... values) {
    if constexpr (requires { f(values..., index); })
        return f(values..., index);
    else
        return f(values...);
}

} // namespace kittens::detail
