/**
 * @file
 * @brief `show(tile)`: prints the contents of a tile, a vector or a scalar, for the author of the kernel.
 *
 * Code that is compiled with `show` (a cell's `--show`, `wb.compile(..., show=True)`) writes it to a buffer, which the
 * workbench passes in the variable `hipkittens_show` before a launch and reads after it. In other code, `show` is an
 * empty function.
 */
#pragma once

#include "../types/types.cuh"
#include "common.cuh"

#if defined(KITTENS_SHOW)

namespace kittens::detail {
namespace shown {

/** Largest number of uses of `show` in a program: the length of each wave's row of trip counters. */
inline constexpr int SITES = 256;

/** Data shared by the device and the workbench (`workbench/kernel/show.py` has the same fields). */
struct state {
    /** Destination of the records, its size in bytes, and the bytes that all records need. Without data, nothing is
        shown. */
    unsigned long long data, capacity, used;
    /** For each work-group, its index among the selected ones, or ~0. */
    unsigned long long ranks;
    /** Number of times that each of their waves passed each `show`. */
    unsigned long long trips;
    /** A bit for each selected wave. */
    unsigned long long waves;
    unsigned waves_of_group, first_trip, end_trip;
    /** Line of a `show` of a tile in which not all lanes of a wave took part. */
    unsigned divergent;
};

enum kind : unsigned { SCALAR, REGISTER_VECTOR, REGISTER_TILE, SHARED_VECTOR, SHARED_TILE };

/** One value at one moment, followed by `count` elements and, with `places`, the position of each in 4 bytes. */
struct record {
    unsigned long long bytes, lanes;
    unsigned group, wave, trip, line, what, rows, cols, element_bytes, places;
    char name[64], element[20];
};

} // namespace shown
} // namespace kittens::detail

extern "C" {
__device__ __attribute__((used, weak, visibility("default"))) kittens::detail::shown::state hipkittens_show;
}

namespace kittens::detail {
namespace shown {

// The names are those of workbench/dtypes.py.
template <typename T>
__device__ constexpr const char *element_name() {
    if constexpr (is_same<T, float>) return "float";
    if constexpr (is_same<T, double>) return "double";
    if constexpr (is_same<T, bf16>) return "bf16";
    if constexpr (is_same<T, half>) return "half";
    if constexpr (is_same<T, fp8e4m3>) return "fp8e4m3";
    if constexpr (is_same<T, fp8e5m2>) return "fp8e5m2";
    if constexpr (is_same<T, fp8e8m0>) return "fp8e8m0";
    if constexpr (is_same<T, fp4e2m1_2>) return "fp4e2m1_2";
    if constexpr (is_same<T, fp6e2m3_4>) return "fp6e2m3_4";
    if constexpr (is_same<T, fp6e3m2_4>) return "fp6e3m2_4";
    if constexpr (is_same<T, bool>) return "bool";
    if constexpr (is_same<T, int8>) return "int8";
    if constexpr (is_same<T, unsigned char>) return "unsigned char";
    if constexpr (is_same<T, short>) return "short";
    if constexpr (is_same<T, unsigned short>) return "unsigned short";
    if constexpr (is_same<T, int>) return "int";
    if constexpr (is_same<T, unsigned>) return "unsigned int";
    if constexpr (is_same<T, long> || is_same<T, long long>) return "long";
    return "";
}
template <typename T>
concept element = element_name<T>()[0] != 0;

__device__ inline int lane_of_wave() { return __builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0)); }

/** Lanes that the wave was launched with: all, except perhaps in the last wave of the work-group. */
__device__ inline unsigned long long lanes_of_wave(int wave) {
    const int left = static_cast<int>(blockDim.x * blockDim.y * blockDim.z) - wave * WARP_THREADS;
    return left >= WARP_THREADS ? ~0ull : (1ull << left) - 1;
}

__device__ inline void copy(char *to, int room, const char *from) {
    int at = 0;
    for (; at < room - 1 && from[at]; at++) to[at] = from[at];
    for (; at < room; at++) to[at] = 0;
}

/** Writes one record; `put(elements, places)` writes the data after it. */
template <typename T, typename Put>
__device__ inline void write(kind what, int rows, int cols, const char *name, int line, int site, const Put &put) {
    state &to = hipkittens_show;
    if (to.data == 0) return;
    const unsigned group = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
    const int thread = static_cast<int>(threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z));
    const int wave = __builtin_amdgcn_readfirstlane(thread / WARP_THREADS);
    const unsigned rank = reinterpret_cast<const unsigned *>(to.ranks)[group];
    if (rank == ~0u || !(to.waves >> wave & 1)) return;
    const unsigned long long lanes = __builtin_amdgcn_read_exec();
    if (what != SCALAR && lanes != lanes_of_wave(wave)) {
        to.divergent = static_cast<unsigned>(line);
        return;
    }
    const bool first = lane_of_wave() == __builtin_ctzll(lanes);
    unsigned *const passed = reinterpret_cast<unsigned *>(to.trips) + (rank * to.waves_of_group + wave) * SITES + site;
    const unsigned trip = __builtin_amdgcn_readfirstlane(*passed);
    if (first) *passed = trip + 1;
    if (trip < to.first_trip || trip >= to.end_trip) return;

    const bool places = trip == to.first_trip && what != SCALAR;
    const unsigned long long values = (static_cast<unsigned long long>(rows) * cols * sizeof(T) + 7) / 8 * 8;
    const unsigned long long bytes = (sizeof(record) + values + (places ? 4ull * rows * cols : 0) + 7) / 8 * 8;
    unsigned long long at = 0;
    if (first) at = atomicAdd(&to.used, bytes);
    at = static_cast<unsigned long long>(__builtin_amdgcn_readfirstlane(static_cast<int>(at >> 32))) << 32 |
         static_cast<unsigned>(__builtin_amdgcn_readfirstlane(static_cast<int>(at)));
    if (at + bytes > to.capacity) return;
    char *const begin = reinterpret_cast<char *>(to.data + at);
    if (first) {
        record &head = *reinterpret_cast<record *>(begin);
        head.bytes = bytes, head.lanes = lanes;
        head.group = group, head.wave = wave, head.trip = trip, head.line = line, head.what = what;
        head.rows = rows, head.cols = cols, head.element_bytes = sizeof(T), head.places = places;
        copy(head.name, sizeof(head.name), name);
        copy(head.element, sizeof(head.element), element_name<T>());
    }
    put(reinterpret_cast<T *>(begin + sizeof(record)),
        places ? reinterpret_cast<unsigned *>(begin + sizeof(record) + values) : nullptr);
}

/** Elements of a packed register, each with its number. */
template <typename T, int count, typename Packed, typename Each>
__device__ inline void unpacked(const Packed &value, const Each &each) {
    struct elements {
        T e[count];
    };
    static_assert(sizeof(elements) == sizeof(Packed), "show: elements of less than a byte that are packed otherwise");
    const auto held = bit_cast<elements>(value);
#pragma unroll
    for (int i = 0; i < count; i++) each(i, held.e[i]);
}

/** Position of an element in the registers: its lane, and its index among the lane's elements. */
__device__ inline unsigned in_registers(int lane, int element) { return lane | element << 8; }

template <typename V>
__device__ inline void take(int site, int line, const V &value, const char *text, const char *name = nullptr) {
    const char *const called = name != nullptr ? name : text;
    if constexpr (requires { typename V::component; }) {
        static_assert(never<V>, "show: a complex tile is two; show its .real and its .imag");
    } else if constexpr (ducks::rt::all<V>) {
        using T = typename V::T;
        write<T>(REGISTER_TILE, V::rows, V::cols, called, line, site, [&](T *out, unsigned *places) {
            using base = typename V::base_tile;
            const int lane = lane_of_wave();
#pragma unroll
            for (int i = 0; i < V::height; i++)
#pragma unroll
                for (int j = 0; j < V::width; j++)
#pragma unroll
                    for (int k = 0; k < V::packed_per_base_tile; k++)
                        unpacked<T, V::packing>(value.tiles[i][j].data[k], [&](int e, const T &held) {
                            const int element = k * V::packing + e;
                            const int row = i * base::rows + base::row(lane, element);
                            const int col = j * base::cols + base::col(lane, element);
                            out[row * V::cols + col] = held;
                            if (places != nullptr)
                                places[row * V::cols + col] =
                                    in_registers(lane, (i * V::width + j) * base::elements_per_thread + element);
                        });
        });
    } else if constexpr (ducks::rv::all<V>) {
        using T = typename V::T;
        write<T>(REGISTER_VECTOR, 1, V::length, called, line, site, [&](T *out, unsigned *places) {
            const int lane = lane_of_wave();
#pragma unroll
            for (int i = 0; i < V::outer_dim; i++)
#pragma unroll
                for (int k = 0; k < V::inner_dim; k++)
                    unpacked<T, V::packing>(value[i][k], [&](int e, const T &held) {
                        const int index = V::index(i, lane, k * V::packing + e);
                        if (index >= V::length) return;
                        out[index] = held;
                        if (places != nullptr)
                            places[index] = in_registers(lane, (i * V::inner_dim + k) * V::packing + e);
                    });
        });
    } else if constexpr (ducks::st::all<V>) {
        using T = __remove_cvref(decltype(value[int2{0, 0}]));
        write<T>(SHARED_TILE, V::rows, V::cols, called, line, site, [&](T *out, unsigned *places) {
            for (int i = lane_of_wave(); i < V::rows * V::cols; i += WARP_THREADS) {
                const T &held = value[int2{i / V::cols, i % V::cols}];
                out[i] = held;
                if (places != nullptr) places[i] = static_cast<unsigned>(reinterpret_cast<uintptr_t>(&held));
            }
        });
    } else if constexpr (ducks::sv::all<V>) {
        using T = __remove_cvref(decltype(value[0]));
        write<T>(SHARED_VECTOR, 1, V::length, called, line, site, [&](T *out, unsigned *places) {
            for (int i = lane_of_wave(); i < V::length; i += WARP_THREADS) {
                out[i] = value[i];
                if (places != nullptr) places[i] = static_cast<unsigned>(reinterpret_cast<uintptr_t>(&value[i]));
            }
        });
    } else if constexpr (element<V>) {
        write<V>(SCALAR, 1, WARP_THREADS, called, line, site, [&](V *out, unsigned *) { out[lane_of_wave()] = value; });
    } else {
        static_assert(never<V>, "show: takes a register or shared tile, a vector of either, or a number; registers by "
                                "number (art) have no address: copy them to an rt first");
    }
}

template <int site>
struct at_site {
    static_assert(site < SITES, "show: 256 of them are the most that a program has");
    int line;
};

/** The function that the macro calls: found by its first argument, or written as `kittens::show`. */
template <int site, typename V, typename... Name>
__device__ inline void show_at(at_site<site> at, const V &value, const char *text, Name... name) {
    take(site, at.line, value, text, name...);
}

inline constexpr int FIRST_SITE = __COUNTER__ + 1;

} // namespace shown
} // namespace kittens::detail

namespace kittens {
using detail::shown::show_at;
}

#define show(value, ...)                                                                                               \
    show_at(::kittens::detail::shown::at_site<__COUNTER__ - ::kittens::detail::shown::FIRST_SITE>{__LINE__}, value,    \
            #value __VA_OPT__(, ) __VA_ARGS__)

#else

namespace kittens {
/** Does nothing unless the program is compiled with `show`: then prints `value`, under `name` or as written in the
    source. */
template <typename V>
__host__ __device__ inline void show(const V &, const char * = nullptr) {}
} // namespace kittens

#endif
