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

/** `_length` consecutive elements in shared memory. */
template <typename _T, int _length>
struct KITTENS_DEFAULT_ALIGN sv {
    using identifier = ducks::sv::identifier;
    using T = typename base_types::packing<_T>::unpacked_type;
    using T2 = typename base_types::packing<_T>::packed_type;
    using dtype = T;

    static_assert(_length > 0, "sv: the length is positive");
    static constexpr int length = _length;

    static constexpr int tiles = length / TILE_ROW_DIM<T>;
    static constexpr int num_alloc_elements = length;

    dtype data[num_alloc_elements];

    /** The address of an element of the vector at `first`. */
    static __device__ inline T *idx(T *first, int index) { return first + index; }

    /** A part of it with a given length, as returned by `subvec_inplace`. */
    template <int sub_length>
    using subvec = sv<dtype, sub_length>;

    __device__ inline dtype &operator[](int i) { return data[i]; }
    __device__ inline const dtype &operator[](int i) const { return data[i]; }
};

namespace ducks::sv {
/** Any shared vector. */
template <typename T>
concept all = requires { typename T::identifier; } && detail::is_same<typename T::identifier, identifier>;
} // namespace ducks::sv

/** Part `index` of a shared vector, in place, counted in parts of `length` elements. */
template <int length, ducks::sv::all SV>
__device__ inline typename SV::template subvec<length> &subvec_inplace(SV &vector, int index) {
    constexpr bool divides = SV::length % length == 0;
    static_assert(divides, "subvec_inplace: the shared vector is a whole number of parts");
    constexpr bool aligned = length * static_cast<int>(sizeof(typename SV::dtype)) % 16 == 0;
    static_assert(aligned, "subvec_inplace: a part is a multiple of 16 bytes, what shared vectors are aligned to");
    return *reinterpret_cast<typename SV::template subvec<length> *>(&vector.data[index * length]);
}

template <int length>
using sv_bf = sv<bf16, length>;
template <int length>
using sv_hf = sv<half, length>;
template <int length>
using sv_fl = sv<float, length>;
template <int length>
using sv_fp8e4m3 = sv<fp8e4m3, length>;
template <int length>
using sv_fp8e5m2 = sv<fp8e5m2, length>;

} // namespace kittens
