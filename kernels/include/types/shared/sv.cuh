/**
 * @file
 * @brief Shared vectors: a row or column of values in the LDS of a work-group.
 */
#pragma once

#include "../../common/common.cuh"

namespace kittens {

namespace ducks::sv {
struct identifier {};
} // namespace ducks::sv

/** `_length` elements in shared memory, one after the other. */
template <typename _T, int _length>
struct KITTENS_DEFAULT_ALIGN sv {
    using identifier = ducks::sv::identifier;
    using T = typename base_types::packing<_T>::unpacked_type;
    using T2 = typename base_types::packing<_T>::packed_type;
    using dtype = T;

    static_assert(_length > 0, "sv: the length is positive");
    static constexpr int length = _length;

    dtype data[length];

    __device__ inline dtype &operator[](int i) { return data[i]; }
    __device__ inline const dtype &operator[](int i) const { return data[i]; }
};

namespace ducks::sv {
/** Any shared vector. */
template <typename T>
concept all = requires { typename T::identifier; } && detail::is_same<typename T::identifier, identifier>;
} // namespace ducks::sv

template <int length>
using sv_bf = sv<bf16, length>;
template <int length>
using sv_hf = sv<half, length>;
template <int length>
using sv_fl = sv<float, length>;
template <int length>
using sv_fp8e4m3 = sv<fp8e4m3, length>;

} // namespace kittens
