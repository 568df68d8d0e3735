/**
 * @file
 * @brief Matrix multiplication: operands whose rows run along K, in shared memory and in registers.
 */
#pragma once

#include "families/gemm_problem.cuh"

namespace kittens::families::gemm {

/** Tile of a work-group of 4 waves, and how far it loads ahead. */
struct tile_of_c {
    /** Rows and columns of C: 16 rows, or multiples of 32. */
    int high, wide;
    /** Steps along K in shared memory: all but one are loading while the matrix cores work on that one. */
    int steps;
    /** Whether scales go to shared memory with the operands. */
    bool words;

    constexpr tile_of_c(int side) : tile_of_c(side, side, 2) {}
    constexpr tile_of_c(int high, int wide, int steps, bool words = false)
        : high(high), wide(wide), steps(steps), words(words) {}
    constexpr int warps_m() const { return high == 16 ? 1 : 2; }
    constexpr int warps_n() const { return 4 / warps_m(); }
    constexpr int part_m() const { return high / warps_m(); }
    constexpr int part_n() const { return wide / warps_n(); }
};

/**
 * @brief A ring of steps in shared memory; `held` of them are loaded or in flight.
 *
 * @tparam loads least number of loads that a wave has started for each step.
 * @param start begins loading a step into a slot.
 * @param work does the work of a step in its slot, and calls its argument once it has read the slot. Waves reach it
 *        together.
 */
template <int held, int loads, typename Start, typename Work>
__device__ inline void ring_of_steps(int first, int end, Start &&start, Work &&work) {
    // Kept short, since code that runs once must be fetched first.
#pragma clang loop unroll(disable)
    for (int ahead = 0; ahead < held - 1 && first + ahead < end; ahead++) start(first + ahead, ahead);
    int slot = 0, free = held - 1;
    for (int step = first; step < end; step++) {
        // This step has arrived, and the slot of the previous step is free. Fewer loads follow the last steps.
        if (step + held - 1 <= end)
            wait_vmcnt<(held - 2) * loads>();
        else
            wait_vmcnt<0>();
        wait_lgkmcnt<0>();
        barrier();
        work(step, slot, [&] {
            if (step + held - 1 < end) start(step + held - 1, free);
        });
        free = slot;
        slot = slot + 1 == held ? 0 : slot + 1;
    }
}

/**
 * @brief Elements of type T in a step along K: 128 bytes of a row, or 64 on gfx942, whose LDS has 64 KB.
 *
 * @tparam T of 2 or 1 bytes, such as pairs of fp4.
 */
template <typename T>
struct along_k {
    using element = T;
    /** Type of the sums. */
    using sum = detail::select<detail::is_same<T, int8>, int, float>;
#if defined(KITTENS_CDNA4) || defined(KITTENS_CDNA5)
    static constexpr int BYTES = 128;
#else
    static constexpr int BYTES = 64;
#endif
    static constexpr bool wide = sizeof(T) == 2;
    static_assert(wide || sizeof(T) == 1, "gemm: elements have 1 or 2 bytes");
    static constexpr int K_STEP = BYTES / static_cast<int>(sizeof(T));

    /** Base shape in shared memory: rows of a step are whole or half cache lines. */
    using shared_shape =
        detail::select<K_STEP == 128, st_16x128_s, detail::select<K_STEP == 64, st_16x64_s, st_16x32_s>>;
    /** Base shape in registers: what a matrix instruction takes. */
    using shape = detail::select<wide, rt_16x32_s,
                                 detail::select<K_STEP == 128 && detail::numbers_in<T> == 1, rt_16x128_s, rt_16x64_s>>;
};

/**
 * @brief An operand whose rows run along K: M x K (N x K).
 *
 * @tparam Shapes such as along_k.
 * @tparam rows of the tile.
 * @tparam workers the group that loads it.
 */
template <typename Shapes, int rows, typename workers>
struct operand_along_k {
    static constexpr bool transposed = false;
    using T = typename Shapes::element;
    static constexpr int K_STEP = Shapes::K_STEP;
    using shared = st<T, rows, K_STEP, typename Shapes::shared_shape>;
    template <int part>
    using registers = rt<T, part, K_STEP, row_l, typename Shapes::shape>;
    using matrix = gl<T, 1, -1, -1, -1>;

    matrix from;
    int tile, k;
    const T *base;
    i32x4 resource;
    uint32_t offsets[workers::template loads_per_tile<shared>];
    uint32_t lds;

    /** Loads rows from `row` on of the matrix `from` into consecutive tiles, the first of which is `first`. */
    __device__ inline operand_along_k(const matrix &from, int row, shared &first)
        : from(from), tile(row / rows), k(static_cast<int>(from.cols())), base(&from[{row, 0}]) {
        workers::prefill_swizzled_offsets(first, from, offsets);
        const int inside = detail::min(static_cast<int>(from.rows()) - row, rows);
        resource = make_srsrc(base, static_cast<uint32_t>(inside) * static_cast<uint32_t>(k) * sizeof(T));
        lds = workers::lds_base(first);
    }
    /** Loads that every wave starts for a step. */
    static constexpr int LOADS = workers::template least_loads_per_tile<shared>;
    __device__ inline void start(shared &to, int step, int slot) const {
        if ((step + 1) * K_STEP <= k)
            workers::load_async(to, from, {tile, step}, offsets, resource, base,
                                lds + static_cast<uint32_t>(slot) * static_cast<uint32_t>(sizeof(shared)));
        else
            workers::load_bounded_async(to, from, {tile, step});
    }
    template <int part>
    static __device__ inline void read(registers<part> &to, shared &from, int index) {
        load(to, subtile_inplace<part, K_STEP>(from, {index, 0}));
    }
    template <int part>
    static __device__ inline void read_as_rows(registers<part> &to, shared &from, int index) {
        read<part>(to, from, index);
    }
};

/**
 * @brief An operand whose rows run across K: K x M (K x N). Columns past the last are never used.
 *
 * A lane gets its columns by transposing reads, on gfx942 element by element.
 *
 * @tparam Shapes such as along_k.
 */
template <typename Shapes, int cols, typename workers>
struct operand_across_k {
    static constexpr bool transposed = true;
    using T = typename Shapes::element;
    static constexpr int K_STEP = Shapes::K_STEP;
    using shared = st<T, K_STEP, cols, st_32x32_s>;
    template <int part>
    using registers = rt<T, K_STEP, part, col_l, typename Shapes::shape::transposed>;
    using matrix = gl<T, 1, -1, -1, -1>;

    const matrix &from;
    int tile;
    uint32_t offsets[workers::template loads_per_tile<shared>];

    __device__ inline operand_across_k(const matrix &from, int col, shared &first) : from(from), tile(col / cols) {
        workers::prefill_swizzled_offsets(first, from, offsets);
    }
    static constexpr int LOADS = workers::template least_loads_per_tile<shared>;
    __device__ inline void start(shared &to, int step, int) const {
        workers::load_async(to, from, {step, tile}, offsets);
    }
    template <int part>
    static __device__ inline void read(registers<part> &to, shared &from, int index) {
        load(to, subtile_inplace<K_STEP, part>(from, {0, index}));
    }
    /** The same columns as rows of a tile in the row layout, of which a lane has the same elements. */
    template <int part>
    static __device__ inline void read_as_rows(rt<T, part, K_STEP, row_l, typename Shapes::shape> &to, shared &from,
                                               int index) {
        registers<part> columns;
        read<part>(columns, from, index);
#pragma unroll
        for (int i = 0; i < to.height; i++)
#pragma unroll
            for (int j = 0; j < to.width; j++)
                __builtin_memcpy(to.tiles[i][j].data, columns.tiles[j][i].data, sizeof(to.tiles[i][j].data));
    }
};

/**
 * @brief Two operands whose rows run along K, the matrices of a `gated` epilogue, with equal numbers of rows.
 *
 * @tparam rows rows of the tile, half of them of each matrix; the same holds for a wave's rows, with the left matrix
 * first.
 */
template <typename Shapes, int rows, typename workers>
struct operand_pair {
    static constexpr bool transposed = false;
    using half = operand_along_k<Shapes, rows / 2, workers>;
    using T = typename half::T;
    static constexpr int K_STEP = half::K_STEP;
    struct shared {
        typename half::shared left, right;
    };
    template <int part>
    using registers = rt<T, part, K_STEP, row_l, typename Shapes::shape>;
    using matrix = typename half::matrix;

    half from_left, from_right;

    /** Rows from `row` on of both halves of the rows of `from`. */
    __device__ inline operand_pair(const matrix &from, int row, shared &first)
        : from_left(half_of(from, 0), row, first.left), from_right(half_of(from, 1), row, first.right) {}
    static __device__ inline matrix half_of(const matrix &from, int which) {
        const int rows_of_half = static_cast<int>(from.rows()) / 2;
        return rows_of(from, 0, which * rows_of_half, rows_of_half);
    }
    static constexpr int LOADS = 2 * half::LOADS;
    __device__ inline void start(shared &to, int step, int slot) const {
        // Tiles come in pairs, so the next of a kind is two tiles further.
        from_left.start(to.left, step, 2 * slot);
        from_right.start(to.right, step, 2 * slot);
    }
    template <int part>
    static __device__ inline void read(registers<part> &to, shared &from, int index) {
        typename half::template registers<part / 2> rows_of_left, rows_of_right;
        half::template read<part / 2>(rows_of_left, from.left, index);
        half::template read<part / 2>(rows_of_right, from.right, index);
        constexpr int high = decltype(rows_of_left)::height;
#pragma unroll
        for (int i = 0; i < high; i++)
#pragma unroll
            for (int j = 0; j < decltype(rows_of_left)::width; j++) {
                to.tiles[i][j] = rows_of_left.tiles[i][j];
                to.tiles[i + high][j] = rows_of_right.tiles[i][j];
            }
    }
};

/**
 * @brief Eight e2m1 elements, each a nibble of `stored`, times 2^d, as four pairs of bf16.
 *
 * The magnitudes times 2^d are a table of eight, looked up byte by byte; d is from -125 to 125.
 */
__device__ inline void widen_e2m1(unsigned (&pairs)[4], unsigned stored, int d) {
    // Entries 0 to 7 as bf16, two per word; adding to an exponent is adding to the bits, except for zero.
    const unsigned step = static_cast<unsigned>(d) * 0x00800080u;
    const unsigned e01 = 0x3f000000u + (static_cast<unsigned>(d) << 23), e23 = 0x3fc03f80u + step;
    const unsigned e45 = 0x40404000u + step, e67 = 0x40c04080u + step;
    const unsigned low[2] = {__builtin_amdgcn_perm(e23, e01, 0x06040200u),
                             __builtin_amdgcn_perm(e67, e45, 0x06040200u)};
    const unsigned high[2] = {__builtin_amdgcn_perm(e23, e01, 0x07050301u),
                              __builtin_amdgcn_perm(e67, e45, 0x07050301u)};
    unsigned first[2], second[2];
#pragma unroll
    for (int odd = 0; odd < 2; odd++) {
        const unsigned codes = stored >> (4 * odd), sizes = codes & 0x07070707u;
        const unsigned lower = __builtin_amdgcn_perm(low[1], low[0], sizes);
        const unsigned upper = __builtin_amdgcn_perm(high[1], high[0], sizes) | (codes & 0x08080808u) << 4;
        first[odd] = __builtin_amdgcn_perm(upper, lower, 0x05010400u);
        second[odd] = __builtin_amdgcn_perm(upper, lower, 0x07030602u);
    }
    pairs[0] = __builtin_amdgcn_perm(first[1], first[0], 0x05040100u);
    pairs[1] = __builtin_amdgcn_perm(first[1], first[0], 0x07060302u);
    pairs[2] = __builtin_amdgcn_perm(second[1], second[0], 0x05040100u);
    pairs[3] = __builtin_amdgcn_perm(second[1], second[0], 0x07060302u);
}

/**
 * @brief A lane's elements of a base tile as bf16, times powers of two: exact, since none has more than 8 bits.
 *
 * @param from of bf16, fp8, fp6, fp4 or int8, with the same elements per lane as `to`.
 * @param scales for equal parts of a lane's elements; for fp4, 2^-125 to 2^125.
 */
template <typename To, typename From, int parts>
__device__ inline void widen(To &to, const From &from, const float (&scales)[parts]) {
    using T = typename From::T;
    constexpr int count = To::elements_per_thread, pairs = count / 2;
    static_assert(detail::is_same<typename To::T, bf16>, "gemm: small numbers become bf16");
    static_assert(count == From::elements_per_thread * detail::numbers_in<T>, "gemm: lanes hold the same numbers");
    unsigned words[pairs];
    if constexpr (detail::is_same<T, bf16>) {
        __builtin_memcpy(words, from.data, sizeof(words));
#if defined(KITTENS_CDNA4)
    } else if constexpr (detail::is_same<T, fp4e2m1_2> || detail::is_same<T, fp8e4m3>) {
        constexpr int in_word = 2 / static_cast<int>(sizeof(T)) * detail::numbers_in<T>;
        unsigned stored[pairs / in_word];
        __builtin_memcpy(stored, from.data, sizeof(stored));
        detail::for_constants<pairs>([&]<int pair>() {
            constexpr int which = pair % in_word;
            const unsigned word = stored[pair / in_word];
            const float scale = scales[pair * parts / pairs];
            if constexpr (detail::is_same<T, fp4e2m1_2>)
                words[pair] = detail::bit_cast<unsigned>(__builtin_amdgcn_cvt_scalef32_pk_bf16_fp4(word, scale, which));
            else
                words[pair] = detail::bit_cast<unsigned>(__builtin_amdgcn_cvt_scalef32_pk_bf16_fp8(word, scale, which));
        });
#else
    } else if constexpr (detail::is_same<T, fp4e2m1_2>) {
        unsigned stored[pairs / 4];
        __builtin_memcpy(stored, from.data, sizeof(stored));
#pragma unroll
        for (int word = 0; word < pairs / 4; word++) {
            const int d = static_cast<int>(detail::bit_cast<unsigned>(scales[4 * word * parts / pairs]) >> 23) - 127;
            unsigned four[4];
            widen_e2m1(four, stored[word], d);
#pragma unroll
            for (int pair = 0; pair < 4; pair++) words[4 * word + pair] = four[pair];
        }
#endif
    } else {
        detail::lane_numbers<count> numbers;
        if constexpr (detail::numbers_in<T> == 1) {
            numbers = detail::numbers_of(from);
        } else {
            using floats = detail::small_floats<T, count>;
            typename floats::elements small;
            __builtin_memcpy(&small, from.data, sizeof(small));
            numbers = floats::numbers(small);
        }
        // Upper halves without an element are zero.
#pragma unroll
        for (int pair = 0; pair < pairs; pair++) {
            const float scale = scales[pair * parts / pairs];
            words[pair] = __builtin_amdgcn_perm(detail::bit_cast<unsigned>(numbers.x[2 * pair + 1] * scale),
                                                detail::bit_cast<unsigned>(numbers.x[2 * pair] * scale), 0x07060302u);
        }
    }
    __builtin_memcpy(to.data, words, sizeof(words));
}

} // namespace kittens::families::gemm
