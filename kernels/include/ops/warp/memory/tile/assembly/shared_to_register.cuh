/**
 * @file
 * @brief Explicit-register tiles from and to shared tiles.
 *
 * The functions return when their loads are in flight, straight to the tile's registers, VGPRs or AGPRs; the kernel
 * must call `wait_lgkmcnt` before anything uses them. The tiles have the same size and element type.
 *
 * With a lane's address from `get_address`, overloads with <N, M> move only base tile {N, M} and compute no addresses:
 * all base tiles are at constant distances.
 */
#pragma once

#include "../../../register/tile/assembly/conversions.cuh"
#include "../../words.cuh"
#include "../shared_to_register.cuh"

namespace kittens {

namespace detail {

/** First offsets of the steps of a row layout's loads and stores: cells of `bytes` bytes. */
template <typename A, ducks::st::all ST, int bytes>
struct row_steps {
    using C = cells<A, ST>;
    static __host__ __device__ constexpr int row(int lane, int step) { return C::row(lane, step, bytes); }
    static __host__ __device__ constexpr int col(int lane, int step) { return C::col(lane, step, bytes); }
};
/** The same for single elements of a column layout. */
template <typename A>
struct element_steps {
    static __host__ __device__ constexpr int row(int lane, int step) { return A::base_tile::row(lane, step); }
    static __host__ __device__ constexpr int col(int lane, int step) { return A::base_tile::col(lane, step); }
};
#if defined(KITTENS_CDNA4)
/** The same for reads that transpose. */
template <typename A, ducks::st::all ST>
struct transposing_steps {
    using how = transposing<A, ST>;
    static __host__ __device__ constexpr int row(int lane, int step) {
        return A::base_tile::row(lane, step * how::rows) + how::read::row(lane);
    }
    static __host__ __device__ constexpr int col(int lane, int step) {
        return A::base_tile::col(lane, step * how::rows) / 16 * 16 + how::read::col(lane);
    }
};
#endif

/** A lane's address of a step of base tile {i, j}, split into the lane's part and a constant for the instruction. */
template <ducks::art::all A, ducks::st::all ST, typename Steps, int i, int j, int step>
struct step_address {
    using base = typename A::base_tile;
    using shape = typename ST::shape;
    static constexpr int first_row = i * base::rows, first_col = j * base::cols;
    /** The base tile lies in one of the shared tile's, in which offsets are linear in the bits of lane and step. */
    static constexpr bool contained = shape::rows % base::rows == 0 && shape::cols % base::cols == 0;

    /** Offset of a lane's step in the tile, and of its first step in the first base tile. */
    static __host__ __device__ constexpr uint32_t offset(int lane) {
        return shared_offset<A, ST>(i, j, Steps::row(lane, step), Steps::col(lane, step));
    }
    static __host__ __device__ constexpr uint32_t first_offset(int lane) {
        return shared_offset<A, ST>(0, 0, Steps::row(lane, 0), Steps::col(lane, 0));
    }
    static __host__ __device__ constexpr uint32_t lane_bits() {
        uint32_t bits = 0;
        for (int lane = 1; lane < WARP_THREADS; lane *= 2) bits |= first_offset(lane);
        return bits;
    }
    static constexpr uint32_t of_step = contained ? ST::order::inside(first_row % shape::rows + Steps::row(0, step),
                                                                      first_col % shape::cols + Steps::col(0, step))
                                                  : 0;
    static __host__ __device__ constexpr bool same_distance() {
        if constexpr (contained) return (lane_bits() & of_step) == 0;
        for (int lane = 1; lane < WARP_THREADS; lane++)
            if (offset(lane) - first_offset(lane) != offset(0) - first_offset(0)) return false;
        return true;
    }
    /** True if the distance from a lane's first step is a constant. */
    static constexpr bool one_address = same_distance();
    static constexpr uint32_t constant =
        one_address ? offset(0) - first_offset(0)
        : contained ? static_cast<uint32_t>(
                          (first_row / shape::rows * ST::underlying_subtiles_per_row + first_col / shape::cols) *
                          ST::underlying_subtile_bytes)
                    : 0;
    /** The part of it that fits an instruction's offset, 16 bits. */
    static constexpr int immediate = static_cast<int>(constant % 65536);

    /** A lane's part, if it is the same for every step, and the tile begins at `memory`. */
    static __device__ inline uint32_t of_lane(uint32_t memory, int lane) { return memory + first_offset(lane); }
    static __device__ inline uint32_t address(uint32_t memory, int lane) {
        if constexpr (one_address)
            return of_lane(memory, lane) + (constant - immediate);
        else if constexpr (contained)
            return memory + (ST::order::inside(Steps::row(lane, 0), Steps::col(lane, 0)) ^ of_step) +
                   (constant - immediate);
        else
            return memory + offset(lane);
    }
    /** The same, if the lane's part of the first step is known. */
    static __device__ inline uint32_t address_from(uint32_t first, uint32_t memory, int lane) {
        if constexpr (one_address)
            return first + (constant - immediate);
        else
            return address(memory, lane);
    }
};

/** Reads of a tile's base tiles: steps, their number, and the action of one. */
template <ducks::art::all A, ducks::st::all ST>
struct pinned_access {
    using U = typename ST::dtype;
    static constexpr int size = static_cast<int>(sizeof(U));
    static constexpr bool same_type = is_same<typename A::T, U>;
    static_assert(same_type, "load, store: an explicit-register tile has the shared tile's element type; "
                             "copy converts in registers");
    static constexpr bool same_size = A::rows == ST::rows && A::cols == ST::cols;
    static_assert(same_size,
                  "load, store: the register tile and the shared tile have the same size; subtile_inplace takes a part "
                  "of a shared tile");
    using C = cells<A, ST>;
#if defined(KITTENS_CDNA4)
    static constexpr bool transposes = transposing<A, ST>::possible;
    using of_columns = select<transposes, transposing_steps<A, ST>, element_steps<A>>;
#else
    static constexpr bool transposes = false;
    using of_columns = element_steps<A>;
#endif
    static constexpr bool accessible = A::is_row || transposes || size >= 2;
    static_assert(
        accessible,
        "load, store: on gfx942 there is no access to single bytes of given registers, so that tiles of fp8 are "
        "in the row layout");
    static constexpr bool whole_words = !A::is_row || C::possible;
    static_assert(whole_words, "load, store: a lane of an explicit-register tile holds whole words of a row");
    static constexpr int bytes = A::is_row ? C::widest : transposes ? 8 : size;
    static constexpr int count = C::total_bytes / bytes;
    using steps = select<A::is_row, row_steps<A, ST, (A::is_row ? C::widest : 4)>, of_columns>;

    template <int i, int j, int step>
    using at = step_address<A, ST, steps, i, j, step>;

    /** Starts loading base tile {i, j} from the address that `address` has for each step, less its `immediate`. */
    template <int i, int j, typename F>
    static __device__ inline void read(F address) {
        constexpr int first = A::template first_register<i, j>;
        if constexpr (bytes == 2) {
            uint16_t halves[count];
            for_constants<count>([&]<int step>() {
                constexpr uint32_t offset = at<i, j, step>::immediate;
                halves[step] = load_from<uint16_t>(address.template operator()<step>() + offset);
            });
            for_constants<count / 2>(
                [&]<int n>() { macros::write_halves<first + n>(halves[2 * n], halves[2 * n + 1]); });
        } else {
            for_constants<count>([&]<int step>() {
                constexpr int to = first + step * bytes / 4, offset = at<i, j, step>::immediate;
                if constexpr (transposes)
                    macros::ds_read_transposed<to, 8 * size, offset>(address.template operator()<step>());
                else
                    macros::ds_read<to, bytes / 4, offset>(address.template operator()<step>());
            });
        }
    }
};

} // namespace detail

/** A lane's address for the forms of `load` and `store` that take one; it serves all base tiles. */
template <ducks::art::all A, ducks::st::all ST>
__device__ inline uint32_t get_address(A &, const ST &src) {
    using access = detail::pinned_access<A, ST>;
    return access::template at<0, 0, 0>::of_lane(detail::shared_address(&src.data[0]), laneid());
}
template <ducks::art::all A, ducks::st::all ST>
__device__ inline uint32_t get_address(const ST &dst, A &src) {
    return get_address(src, dst);
}

/** Starts loading base tile {N, M} from a lane's address; steps without a constant distance use their own addresses. */
template <int N, int M, ducks::art::all A, ducks::st::all ST>
__device__ inline void load(A &, const ST &src, uint32_t address) {
    using access = detail::pinned_access<A, ST>;
    const uint32_t memory = detail::shared_address(&src.data[0]);
    access::template read<N, M>([&]<int step>() {
        using at = typename access::template at<N, M, step>;
        return at::address_from(address, memory, laneid());
    });
}

/**
 * @brief Starts loading dst = src.
 *
 * Costs the same loads as `load` for register tiles; on gfx942 and for float, a column layout is loaded element by
 * element.
 */
template <ducks::art::all A, ducks::st::all ST>
__device__ inline void load(A &, const ST &src) {
    using access = detail::pinned_access<A, ST>;
    const uint32_t memory = detail::shared_address(&src.data[0]);
    const int lane = laneid();
    detail::for_base_tiles<A>([&]<int i, int j>() {
        access::template read<i, j>([&]<int step>() { return access::template at<i, j, step>::address(memory, lane); });
    });
}

namespace detail {

/** The patterns of a swizzle in the steps of a register tile's loads and stores. */
template <ducks::art::all A, ducks::st::all ST>
struct step_patterns {
    using access = pinned_access<A, ST>;
    using steps = typename access::steps;
    using base = typename A::base_tile;
    using shape = typename ST::shape;
    using first = typename access::template at<0, 0, 0>;
    static_assert(first::contained, "lane_addresses: the register tile's base tiles lie in the shared tile's");
    static constexpr bool by_words = access::bytes >= 4;
    static_assert(by_words, "lane_addresses: on gfx942 column layouts are loaded element by element; load(dst, src)");

    /** A step's bits of the offset in the shared tile's base tile. */
    static __host__ __device__ constexpr uint32_t of_step(int i, int j, int step) {
        return ST::order::inside(i * base::rows % shape::rows + steps::row(0, step),
                                 j * base::cols % shape::cols + steps::col(0, step));
    }
    /** The bits among them that also depend on the lane. */
    static __host__ __device__ constexpr uint32_t pattern(int i, int j, int step) {
        return of_step(i, j, step) & first::lane_bits();
    }
    /** Bytes from a lane's address of its pattern to a step. */
    static __host__ __device__ constexpr int distance(int i, int j, int step) {
        const int row = i * base::rows / shape::rows, col = j * base::cols / shape::cols;
        return (row * ST::underlying_subtiles_per_row + col) * ST::underlying_subtile_bytes +
               static_cast<int>(of_step(i, j, step) & ~first::lane_bits());
    }

    static constexpr int MOST = 8;
    uint32_t of[MOST] = {};
    int count = 0;

    __host__ __device__ constexpr int find(uint32_t wanted) const {
        int at = 0;
        while (at < count && of[at] != wanted) at++;
        return at;
    }
    __host__ __device__ constexpr step_patterns() {
        for (int i = 0; i < A::height; i++)
            for (int j = 0; j < A::width; j++)
                for (int step = 0; step < access::count; step++)
                    if (find(pattern(i, j, step)) == count) of[count++] = pattern(i, j, step);
    }
};

} // namespace detail

/**
 * @brief A lane's addresses in shared tiles of one type, for loads and stores in a loop without address computation:
 * one for each pattern of the swizzle, or just one if `get_address` suffices.
 *
 * The addresses belong to the constructor's tile; `load` and `store` reach other tiles, for example of an array, by a
 * constant number of bytes, which must keep the total below 64 KB.
 */
template <ducks::art::all A, ducks::st::all ST>
struct lane_addresses {
    /** The swizzle's patterns over the steps of a base tile. */
    using patterns = detail::step_patterns<A, ST>;
    /** All of them, each once. */
    static constexpr patterns all = {};
    uint32_t addresses[all.count];

    __device__ inline explicit lane_addresses(const ST &tile) {
        const uint32_t memory = detail::shared_address(&tile.data[0]);
        const int lane = laneid();
        const uint32_t own = ST::order::inside(patterns::steps::row(lane, 0), patterns::steps::col(lane, 0));
        detail::for_constants<all.count>([&]<int n>() { addresses[n] = memory + (own ^ all.of[n]); });
    }
    /** If the tile begins at a multiple of 1 KB, each of the others takes one instruction from the first. */
    __device__ inline explicit lane_addresses(uint32_t first) {
        detail::for_constants<all.count>([&]<int n>() { addresses[n] = first ^ (all.of[n] ^ all.of[0]); });
    }
};

namespace detail {

/** Calls f.template operator()<register, offset>(address) for the steps of base tile {i, j} of B. */
template <ducks::art::all B, int i, int j, int further, ducks::art::all A, ducks::st::all ST, typename F>
__device__ inline void for_steps(const lane_addresses<A, ST> &lane, F f) {
    constexpr bool alike = is_same<typename A::like, typename B::like>;
    static_assert(alike, "load, store: lane_addresses are of tiles of one type, size, layout and base shape");
    using patterns = typename lane_addresses<A, ST>::patterns;
    using access = typename patterns::access;
    for_constants<access::count>([&]<int step>() {
        constexpr int number = lane_addresses<A, ST>::all.find(patterns::pattern(i, j, step));
        f.template operator()<B::template first_register<i, j> + step * access::bytes / 4,
                              patterns::distance(i, j, step) + further>(lane.addresses[number]);
    });
}

} // namespace detail

/**
 * @brief Starts loading base tile {N, M} from the tile `further` bytes after the addresses' tile, to a tile in any
 * registers.
 */
template <int N, int M, int further = 0, ducks::art::all B, ducks::art::all A, ducks::st::all ST>
__device__ inline void load(B &, const lane_addresses<A, ST> &from) {
    using access = detail::pinned_access<A, ST>;
    detail::for_steps<B, N, M, further>(from, []<int to, int offset>(uint32_t address) {
        if constexpr (access::transposes)
            macros::ds_read_transposed<to, 8 * access::size, offset>(address);
        else
            macros::ds_read<to, access::bytes / 4, offset>(address);
    });
}
/** Starts storing base tile {N, M}, of a tile in the row layout, in the same way. */
template <int N, int M, int further = 0, ducks::art::all B, ducks::art::all A, ducks::st::all ST>
__device__ inline void store(const lane_addresses<A, ST> &to, const B &) {
    using access = detail::pinned_access<A, ST>;
    constexpr bool in_rows = A::is_row;
    static_assert(in_rows, "store: base tiles are stored one by one in the row layout; store(dst, src) takes both");
    detail::for_steps<B, N, M, further>(
        to, []<int from, int offset>(uint32_t address) { macros::ds_write<from, access::bytes / 4, offset>(address); });
}

/** Starts storing base tile {N, M}, of a tile in the row layout, at a lane's address. */
template <int N, int M, ducks::art::all A, ducks::st::all ST>
__device__ inline void store(ST &dst, const A &, uint32_t address) {
    using access = detail::pinned_access<A, ST>;
    constexpr bool in_rows = A::is_row;
    static_assert(in_rows, "store: base tiles are stored one by one in the row layout; store(dst, src) takes both");
    const uint32_t memory = detail::shared_address(&dst.data[0]);
    detail::for_constants<access::count>([&]<int step>() {
        using at = typename access::template at<N, M, step>;
        macros::ds_write<A::template first_register<N, M> + step * access::bytes / 4, access::bytes / 4, at::immediate>(
            at::address_from(address, memory, laneid()));
    });
}

/**
 * @brief dst = src. Other waves see it after `wait_lgkmcnt` here and a barrier.
 *
 * Straight from the tile's registers if the widest stores have no bank conflicts; otherwise, and in the column layout,
 * through registers of the compiler's choice, at the cost of `store` for register tiles plus one instruction per
 * register.
 */
template <ducks::st::all ST, ducks::art::all A>
__device__ inline void store(ST &dst, const A &) {
    using access = detail::pinned_access<A, ST>;
    using C = detail::cells<A, ST>;
    const uint32_t memory = detail::shared_address(&dst.data[0]);
    const int lane = laneid();
    if constexpr (A::is_row && C::plan_of(C::widest, true, false).clean) {
        detail::for_base_tiles<A>([&]<int i, int j>() {
            detail::for_constants<access::count>([&]<int step>() {
                using at = typename access::template at<i, j, step>;
                macros::ds_write<A::template first_register<i, j> + step * access::bytes / 4, access::bytes / 4,
                                 at::immediate>(at::address(memory, lane));
            });
        });
    } else {
        const detail::program_order order;
        const auto pointer = (detail::shared_pointer<char>)reinterpret_cast<char *>(&dst.data[0]);
        detail::for_base_tiles<A>(
            [&]<int i, int j>() { detail::store_base<A>(dst, pointer, i, j, lane, detail::read_base<i, j, A>()); });
    }
}

} // namespace kittens
