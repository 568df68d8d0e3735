// char1 to double4 and dim3, with HIP's sizes and alignments: a vector of 1, 2 or 4 elements is aligned to its size,
// one of 3 to its element. Since HIP 7 an element has no second name in a vector of the compiler's.
#pragma once
#ifndef HIP_INCLUDE_HIP_HIP_VECTOR_TYPES_H
#define HIP_INCLUDE_HIP_HIP_VECTOR_TYPES_H
#define HIP_INCLUDE_HIP_AMD_DETAIL_HIP_VECTOR_TYPES_H

#include "hip/device/push_names.h"

#include "hip/amd_detail/host_defines.h"

#include <cstdint>
#include <type_traits>

template <typename T, unsigned N>
struct HIP_vector_type;

namespace __hip_vector {

// The compiler's vector of that many elements, if it has one of the type.
template <typename T, unsigned N, typename = void>
struct native {
    struct type {
        T d[N];
    };
};
#if __has_attribute(ext_vector_type)
template <typename T, unsigned N>
struct native<T, N, decltype(void(sizeof(T __attribute__((ext_vector_type(N))))))> {
    using type = T __attribute__((ext_vector_type(N)));
};
#endif

// Loops, which constexpr functions of C++11 may not have.
template <typename Vector, typename T>
__host__ __device__ inline void fill(Vector &vector, T value, unsigned n) {
    for (unsigned i = 0; i < n; i++) vector[i] = value;
}
template <typename Vector>
__host__ __device__ inline bool equal(const Vector &a, const Vector &b, unsigned n) {
    bool equal = true;
    for (unsigned i = 0; i < n; i++) equal = equal && a[i] == b[i];
    return equal;
}

} // namespace __hip_vector

// The compiler's vector as a member, which HIP's vectors had before HIP 7. Programs for hipcc have it, with a warning,
// because rocWMMA 1 and others of its time use it; cells do not, as with HIP 7. A property takes no storage, so x to w
// stay the only members and constant expressions.
#if defined(__HIP__) && defined(__HIP_WHOLE_PROGRAM__)
#define __HIP_VECTOR_DATA                                                                                              \
    __host__ __device__ Native_vec_ &__native() { return reinterpret_cast<Native_vec_ &>(*this); }                     \
    __host__ __device__ const Native_vec_ &__native() const { return reinterpret_cast<const Native_vec_ &>(*this); }   \
    __host__ __device__ void __set_native(const Native_vec_ &vector) { __native() = vector; }                          \
    [[deprecated("HIP 7 has no member data: write get_native_vector(x)")]]                                             \
    __declspec(property(get = __native, put = __set_native)) Native_vec_ data;
#else
#define __HIP_VECTOR_DATA
#endif

// Storage of the elements, by HIP's name: programs specialise it for more elements, with a Native_vec_ that has the
// operators (rocWMMA's vector.hpp).
template <typename T, unsigned N>
struct HIP_vector_base;
template <typename T>
struct alignas(sizeof(T)) HIP_vector_base<T, 1> {
    using Native_vec_ = typename __hip_vector::native<T, 1>::type;
    using value_type = T;
    T x;
    __HIP_VECTOR_DATA
    HIP_vector_base() = default;
    __host__ __device__ constexpr explicit HIP_vector_base(T x) : x(x) {}
};
template <typename T>
struct alignas(2 * sizeof(T)) HIP_vector_base<T, 2> {
    using Native_vec_ = typename __hip_vector::native<T, 2>::type;
    using value_type = T;
    T x, y;
    __HIP_VECTOR_DATA
    HIP_vector_base() = default;
    __host__ __device__ constexpr explicit HIP_vector_base(T x) : x(x), y() {}
    __host__ __device__ constexpr HIP_vector_base(T x, T y) : x(x), y(y) {}
};
template <typename T>
struct HIP_vector_base<T, 3> {
    // The bytes of three elements, for which the compiler has no vector.
    using Native_vec_ = typename __hip_vector::native<T, 3, int>::type;
    using value_type = T;
    T x, y, z;
    __HIP_VECTOR_DATA
    HIP_vector_base() = default;
    __host__ __device__ constexpr explicit HIP_vector_base(T x) : x(x), y(), z() {}
    __host__ __device__ constexpr HIP_vector_base(T x, T y, T z) : x(x), y(y), z(z) {}
};
template <typename T>
struct alignas(4 * sizeof(T)) HIP_vector_base<T, 4> {
    using Native_vec_ = typename __hip_vector::native<T, 4>::type;
    using value_type = T;
    T x, y, z, w;
    __HIP_VECTOR_DATA
    HIP_vector_base() = default;
    __host__ __device__ constexpr explicit HIP_vector_base(T x) : x(x), y(), z(), w() {}
    __host__ __device__ constexpr HIP_vector_base(T x, T y, T z, T w) : x(x), y(y), z(z), w(w) {}
};

#undef __HIP_VECTOR_DATA

// As HIP 7 has it (its amd_hip_vector_types.h): made of N numbers of any type, or of the first; then the others are 0.
template <typename T, unsigned N>
struct HIP_vector_type : HIP_vector_base<T, N> {
    using value_type = T;
    HIP_vector_type() = default;
    template <typename U, __hip_if<std::is_convertible<U, T>::value> = 0>
    __host__ __device__ constexpr explicit HIP_vector_type(U x) : HIP_vector_base<T, N>(static_cast<T>(x)) {}
    template <typename... U, __hip_if<(N > 1) && sizeof...(U) == N && (std::is_convertible<U, T>::value && ...)> = 0>
    __host__ __device__ constexpr HIP_vector_type(U... each) : HIP_vector_base<T, N>(static_cast<T>(each)...) {}

    __hip_host_device_inline constexpr HIP_vector_type splat(T value) {
        HIP_vector_type all(value);
        if constexpr (N > 4)
            __hip_vector::fill(all, value, N);
        else {
            if constexpr (N > 1) all.y = value;
            if constexpr (N > 2) all.z = value;
            if constexpr (N > 3) all.w = value;
        }
        return all;
    }
    __host__ __device__ T &operator[](unsigned index) { return at<T>(*this, index); }
    __host__ __device__ constexpr const T &operator[](unsigned index) const { return at<const T>(*this, index); }

    __host__ __device__ HIP_vector_type &operator++() noexcept { return *this += splat(T(1)); }
    __host__ __device__ HIP_vector_type &operator--() noexcept { return *this -= splat(T(1)); }
    __host__ __device__ HIP_vector_type operator++(int) noexcept {
        HIP_vector_type before = *this;
        ++*this;
        return before;
    }
    __host__ __device__ HIP_vector_type operator--(int) noexcept {
        HIP_vector_type before = *this;
        --*this;
        return before;
    }

  private:
    template <typename Element, typename Self>
    __host__ __device__ static constexpr Element &at(Self &self, unsigned index) {
        if constexpr (N > 4)
            return reinterpret_cast<Element *>(&self)[index];
        else {
            if constexpr (N > 3)
                if (index == 3) return self.w;
            if constexpr (N > 2)
                if (index == 2) return self.z;
            if constexpr (N > 1)
                if (index == 1) return self.y;
            return self.x;
        }
    }
};

// The same memory as the compiler's vector.
template <typename T, unsigned N>
__host__ __device__ inline typename HIP_vector_base<T, N>::Native_vec_ &get_native_vector(HIP_vector_type<T, N> &a) {
    return reinterpret_cast<typename HIP_vector_base<T, N>::Native_vec_ &>(a);
}
template <typename T, unsigned N>
__host__ __device__ inline const typename HIP_vector_base<T, N>::Native_vec_ &
get_native_vector(const HIP_vector_type<T, N> &a) {
    return reinterpret_cast<const typename HIP_vector_base<T, N>::Native_vec_ &>(a);
}

// Element by element, between vectors and between a vector and a number; integer operations for integers only.
#define __HIP_VECTOR_ELEMENT(T)
#define __HIP_VECTOR_ASSIGN(op)                                                                                        \
    template <typename T, unsigned N __HIP_VECTOR_ELEMENT(T)>                                                          \
    __host__ __device__ constexpr HIP_vector_type<T, N> &operator op(HIP_vector_type<T, N> &a,                         \
                                                                     const HIP_vector_type<T, N> &b) {                 \
        if constexpr (N > 4)                                                                                           \
            get_native_vector(a) op get_native_vector(b);                                                              \
        else {                                                                                                         \
            a.x op b.x;                                                                                                \
            if constexpr (N > 1) a.y op b.y;                                                                           \
            if constexpr (N > 2) a.z op b.z;                                                                           \
            if constexpr (N > 3) a.w op b.w;                                                                           \
        }                                                                                                              \
        return a;                                                                                                      \
    }                                                                                                                  \
    template <typename T, unsigned N, typename U,                                                                      \
              __hip_if<std::is_convertible<U, T>::value> = 0 __HIP_VECTOR_ELEMENT(T)>                                  \
    __host__ __device__ constexpr HIP_vector_type<T, N> &operator op(HIP_vector_type<T, N> &a, U b) {                  \
        return a op HIP_vector_type<T, N>::splat(static_cast<T>(b));                                                   \
    }
#define __HIP_VECTOR_BINARY(op, assign)                                                                                \
    __HIP_VECTOR_ASSIGN(assign)                                                                                        \
    template <typename T, unsigned N __HIP_VECTOR_ELEMENT(T)>                                                          \
    __host__ __device__ constexpr HIP_vector_type<T, N> operator op(HIP_vector_type<T, N> a,                           \
                                                                    const HIP_vector_type<T, N> &b) {                  \
        return a assign b;                                                                                             \
    }                                                                                                                  \
    template <typename T, unsigned N, typename U,                                                                      \
              __hip_if<std::is_convertible<U, T>::value> = 0 __HIP_VECTOR_ELEMENT(T)>                                  \
    __host__ __device__ constexpr HIP_vector_type<T, N> operator op(HIP_vector_type<T, N> a, U b) {                    \
        return a assign b;                                                                                             \
    }                                                                                                                  \
    template <typename T, unsigned N, typename U,                                                                      \
              __hip_if<std::is_convertible<U, T>::value> = 0 __HIP_VECTOR_ELEMENT(T)>                                  \
    __host__ __device__ constexpr HIP_vector_type<T, N> operator op(U a, const HIP_vector_type<T, N> &b) {             \
        HIP_vector_type<T, N> result = HIP_vector_type<T, N>::splat(static_cast<T>(a));                                \
        return result assign b;                                                                                        \
    }
__HIP_VECTOR_BINARY(+, +=)
__HIP_VECTOR_BINARY(-, -=)
__HIP_VECTOR_BINARY(*, *=)
__HIP_VECTOR_BINARY(/, /=)
#undef __HIP_VECTOR_ELEMENT
#define __HIP_VECTOR_ELEMENT(T) , __hip_if<std::is_integral<T>::value> = 0
__HIP_VECTOR_BINARY(%, %=)
__HIP_VECTOR_BINARY(&, &=)
__HIP_VECTOR_BINARY(|, |=)
__HIP_VECTOR_BINARY(^, ^=)
__HIP_VECTOR_BINARY(<<, <<=)
__HIP_VECTOR_BINARY(>>, >>=)
#undef __HIP_VECTOR_ELEMENT
#undef __HIP_VECTOR_BINARY
#undef __HIP_VECTOR_ASSIGN

template <typename T, unsigned N>
__host__ __device__ constexpr HIP_vector_type<T, N> operator+(const HIP_vector_type<T, N> &a) {
    return a;
}
template <typename T, unsigned N>
__host__ __device__ constexpr HIP_vector_type<T, N> operator-(HIP_vector_type<T, N> a) {
    if constexpr (N > 4)
        get_native_vector(a) = -get_native_vector(a);
    else {
        a.x = -a.x;
        if constexpr (N > 1) a.y = -a.y;
        if constexpr (N > 2) a.z = -a.z;
        if constexpr (N > 3) a.w = -a.w;
    }
    return a;
}
template <typename T, unsigned N, __hip_if<std::is_integral<T>::value> = 0>
__host__ __device__ constexpr HIP_vector_type<T, N> operator~(HIP_vector_type<T, N> a) {
    if constexpr (N > 4)
        get_native_vector(a) = ~get_native_vector(a);
    else {
        a.x = ~a.x;
        if constexpr (N > 1) a.y = ~a.y;
        if constexpr (N > 2) a.z = ~a.z;
        if constexpr (N > 3) a.w = ~a.w;
    }
    return a;
}
// Equal if all elements are.
template <typename T, unsigned N>
__host__ __device__ constexpr bool operator==(const HIP_vector_type<T, N> &a, const HIP_vector_type<T, N> &b) {
    bool equal = a[0] == b[0];
    if constexpr (N > 4)
        equal = __hip_vector::equal(a, b, N);
    else {
        if constexpr (N > 1) equal = equal && a.y == b.y;
        if constexpr (N > 2) equal = equal && a.z == b.z;
        if constexpr (N > 3) equal = equal && a.w == b.w;
    }
    return equal;
}

#define __HIP_VECTOR_NAMES(T, name)                                                                                    \
    using name##1 = HIP_vector_type<T, 1>;                                                                             \
    using name##2 = HIP_vector_type<T, 2>;                                                                             \
    using name##3 = HIP_vector_type<T, 3>;                                                                             \
    using name##4 = HIP_vector_type<T, 4>;                                                                             \
    __hip_host_device_inline constexpr name##1 make_##name##1(T x) { return name##1(x); }                              \
    __hip_host_device_inline constexpr name##2 make_##name##2(T x, T y) { return {x, y}; }                             \
    __hip_host_device_inline constexpr name##3 make_##name##3(T x, T y, T z) { return {x, y, z}; }                     \
    __hip_host_device_inline constexpr name##4 make_##name##4(T x, T y, T z, T w) { return {x, y, z, w}; }

__HIP_VECTOR_NAMES(char, char)
__HIP_VECTOR_NAMES(unsigned char, uchar)
__HIP_VECTOR_NAMES(short, short)
__HIP_VECTOR_NAMES(unsigned short, ushort)
__HIP_VECTOR_NAMES(int, int)
__HIP_VECTOR_NAMES(unsigned int, uint)
__HIP_VECTOR_NAMES(long, long)
__HIP_VECTOR_NAMES(unsigned long, ulong)
__HIP_VECTOR_NAMES(long long, longlong)
__HIP_VECTOR_NAMES(unsigned long long, ulonglong)
__HIP_VECTOR_NAMES(float, float)
__HIP_VECTOR_NAMES(double, double)
#undef __HIP_VECTOR_NAMES

// A load with a cache hint, which is ignored.
template <typename T, __hip_if<std::is_arithmetic<T>::value> = 0>
__hip_device_inline T __ldg(const T *address) {
    return *address;
}
template <typename T, unsigned N>
__hip_device_inline HIP_vector_type<T, N> __ldg(const HIP_vector_type<T, N> *address) {
    return *address;
}

struct dim3 {
    std::uint32_t x, y, z;
    __host__ __device__ constexpr dim3(std::uint32_t x = 1, std::uint32_t y = 1, std::uint32_t z = 1)
        : x(x), y(y), z(z) {}
    __host__ __device__ constexpr dim3(const uint3 &v) : x(v.x), y(v.y), z(v.z) {}
};

#include "hip/device/pop_names.h"

#endif
