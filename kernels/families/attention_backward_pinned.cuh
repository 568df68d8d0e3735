/**
 * @file
 * @brief Attention, backward: dK, dV and sums of dQ by four waves that share dS, in pinned registers (gfx950).
 *
 * A work-group has 256 keys, a wave 64 of them, and a loop over blocks of 32 queries. A wave computes S, dP, dV and dK
 * of its keys, and writes dS to shared memory; then each wave computes a tile of the block's dQ from the dS of all
 * waves. dQ is added to memory once per 256 keys instead of once per 32, with an eighth of the atomics of
 * `attention_backward.cuh`.
 *
 * The kernel uses all 512 registers of a lane: the accumulators of dK and dV are AGPRs; K stays in VGPRs, as the right
 * operand of S and by columns as the left operand of dQ. V, dS, and two blocks of Q and dO are in shared memory. The
 * remaining registers change their contents during a step; `pinned_plan` places each load and each vector instruction
 * after a matrix instruction, and computes the waits. A step has one barrier.
 */
#pragma once

#include "attention_backward.cuh"

/** A call that is not inlined would use its own registers. */
#define KITTENS_INLINE __device__ __attribute__((always_inline)) inline

namespace kittens::families::attention {

inline constexpr int PINNED_WARPS = 4;
/** Keys per wave and per work-group, and queries per step. */
inline constexpr int PINNED_WARP_KEYS = 64;
inline constexpr int PINNED_KEYS = PINNED_WARPS * PINNED_WARP_KEYS;
inline constexpr int PINNED_QUERIES = 32;

namespace pinned {

/** Registers, and their contents in the course of a step. `a` and `b` are the wave's first and last 32 keys. */
struct registers {
    /** Nine fragments of four: Q, then dO and V, then P and dO by columns, then dS. The compiler uses lower
        registers. */
    static constexpr int FRAGMENTS = 28;
    /** Logits of a and b, their weights, and dS rounded; of a, the shift first. */
    static constexpr int S = 64;
    /** dP of a and b; of a, delta first, and later Q by columns and dS; of b later dQ. */
    static constexpr int DP = 96;
    static constexpr int K = 128, K_COLUMNS = 192;
    static constexpr int DK = 256, DV = 384;

    static constexpr int POOL = 9;
    static __host__ __device__ constexpr int fragment(int n) { return FRAGMENTS + 4 * (n % POOL); }
    /** P, rounded: of a in fragments 5 and 6, of b in 7 and 8. */
    static __host__ __device__ constexpr int p(int t) { return fragment(5 + 2 * t); }
    static __host__ __device__ constexpr int s(int t) { return S + 16 * t; }
    static __host__ __device__ constexpr int dp(int t) { return DP + 16 * t; }
    /** By number of the fragment, in the order of use. */
    static __host__ __device__ constexpr int of_rows(int n) { return fragment(n + POOL - 1); }
    static __host__ __device__ constexpr int of_dout_columns(int n) { return fragment(n % 5); }
    static __host__ __device__ constexpr int of_q_columns(int n) { return DP + 4 * n; }
    static __host__ __device__ constexpr int of_ds(int n) {
        return n < POOL       ? fragment(n)
               : n < POOL + 4 ? DP + 4 * (n - POOL)
               : n < POOL + 6 ? s(1) + 8 + 4 * (n - POOL - 4)
                              : s(1);
    }
};

/** An action after a matrix instruction. */
enum class kind {
    q_row,
    shift,
    delta,
    row,
    dout_column,
    q_column,
    store_ds,
    ds,
    add,
    feed,
    mask,
    scale,
    exponential,
    round_p,
    slope,
    round_ds,
    meet,
};
struct action {
    kind what;
    int n;
    /** The matrix instruction before it; for a load, also the one that waits for it. */
    int at, use;
    /** Instructions that lgkmcnt counts. */
    int counted;
};

/** The order of a step. Matrix instructions are numbered: S, dP, dV, dK, dQ. */
template <int D>
struct plan {
    /** Base tiles along D of operands and of results, and along the keys whose dS a wave multiplies for dQ. */
    static constexpr int DEPTH = D / 16, HEIGHT = D / 32, WAVES_OF_TILE = PINNED_WARPS / HEIGHT;
    static constexpr int DQ_KEYS = PINNED_KEYS / WAVES_OF_TILE, DQ_DEPTH = DQ_KEYS / 16;
    static constexpr int COLUMNS = 2 * HEIGHT;
    static constexpr int DP = 2 * DEPTH, DV = 2 * DP, DK = DV + 2 * COLUMNS, DQ = DK + 2 * COLUMNS, END = DQ + DQ_DEPTH;
    /** dS of a is in shared memory; the waves meet at the barrier. */
    static constexpr int DS_OF_A = DV + 3 * COLUMNS / 2, MEET = DK + 5;
    static constexpr int LONG_AGO = 5;
    /** Atomics of a wave's tile of dQ. */
    static constexpr int SUMS = 16;

    static constexpr int MOST = 256;
    action actions[MOST] = {};
    int count = 0;
    /** Actions after matrix instruction m are first[m] to first[m + 1] - 1. */
    int first[END + 1] = {};
    /** Loads from and stores to shared memory that may be in flight before m; -1: no wait. */
    int waits[END] = {};
    int left_at_meet = 0;

    /** Matrix instruction after which a fragment of the rows of dO and V is read: dO, V of b, V of a, along D. */
    static __host__ __device__ constexpr int use_of_row(int n) { return DP + n / 3 * 2 + n % 3 / 2; }
    static __host__ __device__ constexpr int done_with_row(int n) { return DP + n / 3 * 2 + (n % 3 != 1); }
    /** The matrix instruction after which a fragment of these rows is free. */
    static __host__ __device__ constexpr int done_with_rows(int fragment) {
        int n = 3 * DEPTH - 1;
        while ((n + registers::POOL - 1) % registers::POOL != fragment) n--;
        return done_with_row(n);
    }

    static __host__ __device__ constexpr int later(int one, int other) { return one > other ? one : other; }
    __host__ __device__ constexpr void put(kind what, int n, int at, int use = -1, int counted = 0) {
        actions[count++] = {what, n, at, use, counted};
    }
    /** `n` vector instructions, spread evenly after `from` up to `to`. */
    __host__ __device__ constexpr void spread(kind what, int begin, int n, int from, int to) {
        for (int i = 0; i < n; i++) put(what, begin + i, from + i * (to - from) / n);
    }

    __host__ __device__ constexpr plan() {
        loads();
        vectors();
        for (int pair = 0; pair < SUMS / 2; pair++) put(kind::add, pair, DP * 3 / 8 + pair * DP / 16);
        put(kind::meet, 0, MEET);
        for (int n = 0; n < 4; n++) put(kind::feed, n, MEET + 2 + 2 * n);
        sort();
        find_waits();
    }

  private:
    __host__ __device__ constexpr void loads() {
        using r = registers;
        put(kind::delta, 0, 1, DP, 4);
        for (int n = 0; n < 3 * DEPTH; n++)
            put(kind::row, n,
                n == 0        ? 0
                : n <= DEPTH  ? 2 * n - 1
                : n < r::POOL ? DP - 1
                              : done_with_row(n - r::POOL),
                use_of_row(n), 1);
        for (int n = 0; n < COLUMNS; n++)
            put(kind::dout_column, n, n < 5 ? done_with_rows(n) : DV + 2 * (n - 5) + 1, DV + 2 * n, 2);
        put(kind::store_ds, 0, DS_OF_A, -1, 4);
        put(kind::store_ds, 1, DK, -1, 4);
        for (int n = 0; n < COLUMNS; n++)
            put(kind::q_column, n, n < 4 ? DS_OF_A + n * COLUMNS / 8 : DK + 1 + (n - 4), DK + 2 * n, 2);
        for (int n = 0; n < DQ_DEPTH; n++)
            put(kind::ds, n,
                n < r::POOL       ? MEET + 1 + n / 2
                : n < r::POOL + 4 ? later(DK + 2 * (n - r::POOL) + 1, MEET + 1 + n / 2)
                : n < r::POOL + 6 ? MEET + 1 + n / 2
                                  : DQ,
                DQ + n, 2);
        put(kind::shift, 0, DQ + 1, END, 4);
        for (int n = 0; n < DEPTH; n++) put(kind::q_row, n, DQ + n + 1, END + 2 * n, 1);
    }
    /** Vector instructions: logits to weights as soon as they are computed, then dS. */
    __host__ __device__ constexpr void vectors() {
        constexpr int EIGHTH = COLUMNS / 4, LOGITS = DP + 4, WEIGHTS = DV - 3 * COLUMNS / 8;
        put(kind::mask, 0, LOGITS);
        // The first 16 queries of both, then the last, since dV takes them in this order.
        spread(kind::scale, 0, 8, LOGITS, LOGITS + 3 * COLUMNS / 8);
        spread(kind::exponential, 0, 16, LOGITS + 3 * COLUMNS / 8, WEIGHTS);
        spread(kind::round_p, 0, 8, WEIGHTS, DV);
        spread(kind::scale, 8, 8, DV, DV + EIGHTH);
        spread(kind::exponential, 16, 16, DV + EIGHTH, DV + 3 * EIGHTH);
        spread(kind::round_p, 8, 8, DV + 3 * EIGHTH, DV + 4 * EIGHTH);
        spread(kind::slope, 0, 8, DV + 4 * EIGHTH, DV + 5 * EIGHTH);
        spread(kind::round_ds, 0, 8, DV + 5 * EIGHTH, DS_OF_A);
        spread(kind::slope, 8, 8, DS_OF_A, DV + 7 * EIGHTH);
        spread(kind::round_ds, 8, 8, DV + 7 * EIGHTH, DK);
    }
    __host__ __device__ constexpr void sort() {
        action sorted[MOST] = {};
        int at = 0;
        for (int m = 0; m < END; m++) {
            first[m] = at;
            for (int i = 0; i < count; i++)
                if (actions[i].at == m) sorted[at++] = actions[i];
        }
        first[END] = at;
        for (int i = 0; i < at; i++) actions[i] = sorted[i];
        // An action that follows no matrix instruction of the step would be lost.
        if (at != count) __builtin_trap();
    }

    /**
     * The first instruction that reads a load waits for it, unless an earlier wait covers it. Loads started `LONG_AGO`
     * matrix instructions earlier have arrived, so one wait covers them for the following instructions.
     */
    __host__ __device__ constexpr void find_waits() {
        int behind[MOST] = {}, total = 0, met = 0, before_meet = 0;
        for (int i = 0; i < count; i++) {
            total += actions[i].counted;
            behind[i] = total;
            if (actions[i].what == kind::meet) before_meet = total;
            if (actions[i].what == kind::store_ds || actions[i].what == kind::q_column) met = total;
        }
        left_at_meet = before_meet - met;
        int needed[END] = {};
        for (int m = 0; m < END; m++) needed[m] = -MOST;
        for (int i = 0; i < count; i++)
            if (actions[i].use >= 0) {
                // Reads of the next step, counted in the same way.
                const int of = actions[i].use < END ? behind[i] : behind[i] - total;
                int &most = needed[actions[i].use % END];
                if (of > most) most = of;
            }
        int waited = -MOST;
        for (int m = 0; m < END; m++) {
            const int issued = first[m] ? behind[first[m] - 1] : 0;
            waits[m] = -1;
            if (needed[m] > waited) {
                const int all = later(needed[m], there(m, behind, total));
                // The counter stops at 15.
                waits[m] = issued - all < 14 ? issued - all : 14;
                waited = issued - waits[m];
            }
            if (m == MEET && met > waited) waited = met;
        }
    }
    /** Number of loads and stores after the last load that was started long before m and that later instructions
        read. */
    __host__ __device__ constexpr int there(int m, const int (&behind)[MOST], int total) const {
        int most = -MOST;
        for (int i = 0; i < count; i++) {
            const bool of_next = actions[i].use >= END;
            const int use = actions[i].use - of_next * END, at = actions[i].at - of_next * END;
            if (use > m && at + LONG_AGO <= m) most = later(most, behind[i] - of_next * total);
        }
        return most;
    }
};

template <int... n>
struct numbers {
    /** Ranges of `size` registers, the i-th from at(i) on. */
    template <int size, auto at>
    using ranges = ducks::art::type_list<ducks::art::range<at(n), at(n) + size - 1>...>;
};
template <typename Int, Int... n>
struct sequence : numbers<n...> {};
template <int count>
using first_numbers = __make_integer_seq<sequence, int, count>;
template <int count, auto at, int size = 4>
using ranges = typename first_numbers<count>::template ranges<size, at>;

/** first, first + step, ... */
template <int first, int step>
struct every {
    __host__ __device__ constexpr int operator()(int n) const { return first + step * n; }
};

/** A wave's tiles, by the registers above. */
template <typename T, int D>
struct tiles {
    using r = registers;
    using order = plan<D>;
    static constexpr int KEYS = PINNED_WARP_KEYS, QUERIES = PINNED_QUERIES;
    static constexpr int DEPTH = order::DEPTH, HEIGHT = order::HEIGHT;

    art<T, KEYS, D, row_l, rt_32x16_s, ranges<2 * DEPTH, [](int n) { return r::K + 4 * n; }>> k;
    art<T, order::DQ_KEYS, 32, col_l, rt_16x32_4_s, ranges<order::DQ_DEPTH, [](int n) { return r::K_COLUMNS + 4 * n; }>>
        k_columns;
    art<T, QUERIES, D, row_l, rt_32x16_s, ranges<DEPTH, [](int n) { return r::fragment(n); }>> q;
    art<T, QUERIES, D, row_l, rt_32x16_s, ranges<DEPTH, [](int n) { return r::of_rows(3 * n); }>> dout;
    art<T, KEYS, D, row_l, rt_32x16_s,
        ranges<2 * DEPTH, [](int n) { return r::of_rows(n % DEPTH * 3 + (n < DEPTH ? 2 : 1)); }>>
        v;
    art<T, QUERIES, D, col_l, rt_16x32_4_s, ranges<2 * HEIGHT, [](int n) { return r::of_dout_columns(n); }>>
        dout_columns;
    art<T, QUERIES, D, col_l, rt_16x32_4_s, ranges<2 * HEIGHT, [](int n) { return r::of_q_columns(n); }>> q_columns;
    art<T, order::DQ_KEYS, 32, col_l, rt_16x32_4_s, ranges<order::DQ_DEPTH, [](int n) { return r::of_ds(n); }>>
        ds_columns;

    template <auto at>
    using scores = art<float, QUERIES, KEYS, col_l, rt_32x32_s, ranges<2, at, 16>>;
    scores<[](int n) { return r::s(n); }> s;
    scores<[](int n) { return r::dp(n); }> dp;
    /** Both begin with a's registers. */
    scores<[](int) { return r::s(0); }> shift;
    scores<[](int) { return r::dp(0); }> delta;
    /** Rounded, as operands whose rows run along K, and dS as rows of keys. */
    template <auto at>
    using operand = art<T, QUERIES, KEYS, col_l, rt_16x32_4_s, ranges<4, at>>;
    operand<[](int n) { return r::p(n % 2) + n / 2 * 4; }> p;
    operand<[](int n) { return r::s(n % 2) + n / 2 * 4; }> ds;
    art<T, KEYS, QUERIES, row_l, rt_32x32_s, ranges<2, [](int n) { return r::s(n); }, 8>> ds_rows;

    art<float, 32, QUERIES, col_l, rt_32x32_s, ranges<1, [](int) { return r::dp(1); }, 16>> dq;
    template <int from>
    using sums = art<float, D, KEYS, col_l, rt_32x32_s, ranges<2 * HEIGHT, every<from, 16>{}, 16>>;
    sums<r::DK> dk;
    sums<r::DV> dv;

    /** Matrix instruction m of a step. */
    template <int m>
    KITTENS_INLINE void multiply() {
        if constexpr (m < order::DP)
            // b first: both begin with the contents of a's registers.
            times_rows<m / 2, 1 - m % 2>(s, q, k, shift);
        else if constexpr (m < order::DV)
            times_rows<(m - order::DP) / 2, 1 - m % 2>(dp, dout, v, delta);
        else if constexpr (m < order::DK)
            times_columns<m - order::DV>(dv, dout_columns, p);
        else if constexpr (m < order::DQ)
            times_columns<m - order::DK>(dk, q_columns, ds);
        else if constexpr (m == order::DQ)
            mma_AtB<0, 0, 0>(dq, k_columns, ds_columns);
        else
            mma_AtB<0, 0, m - order::DQ>(dq, k_columns, ds_columns, dq);
    }

  private:
    template <int step, int t, typename Sums, typename A, typename B, typename C>
    KITTENS_INLINE void times_rows(Sums &sums, const A &a, const B &b, const C &start) {
        if constexpr (step == 0)
            mma_ABt<0, t, 0>(sums, a, b, start);
        else
            mma_ABt<0, t, step>(sums, a, b, sums);
    }
    template <int n, typename Sums, typename A, typename B>
    KITTENS_INLINE void times_columns(Sums &sums, const A &a, const B &b) {
        mma_AtB<n / 2 % HEIGHT, 1 - n % 2, n / order::COLUMNS>(sums, a, b, sums);
    }
};

/**
 * @brief Loads a block straight to shared memory at `lds` + `first`: adds `step` to `at`, then loads from `at` bytes
 * into a resource; with 16 bytes per lane optionally a second load, from `column` bytes further to `second`.
 *
 * A load may read M0 one cycle after M0 is written; the addition to `at` fills that cycle. A constant offset applies to
 * shared memory too.
 */
template <int bytes, int first, int second = 0, int column = 0>
KITTENS_INLINE void load_next(const i32x4 &resource, uint32_t lds, uint32_t offset, uint32_t &at, uint32_t step) {
    if constexpr (bytes == 4)
        asm volatile("s_add_u32 m0, %1, %5\n\ts_add_u32 %0, %0, %4\n\tbuffer_load_dword %2, %3, %0 offen lds"
                     : "+s"(at)
                     : "s"(lds), "v"(offset), "s"(resource), "s"(step), "n"(first)
                     : "memory", "scc");
    else if constexpr (column == 0)
        asm volatile("s_add_u32 m0, %1, %5\n\ts_add_u32 %0, %0, %4\n\tbuffer_load_dwordx4 %2, %3, %0 offen lds"
                     : "+s"(at)
                     : "s"(lds), "v"(offset), "s"(resource), "s"(step), "n"(first)
                     : "memory", "scc");
    else
        asm volatile("s_add_u32 m0, %1, %5\n\ts_add_u32 %0, %0, %4\n\tbuffer_load_dwordx4 %2, %3, %0 offen lds\n\t"
                     "s_add_u32 m0, %1, %6\n\ts_nop 0\n\tbuffer_load_dwordx4 %2, %3, %0 offen offset:%7 lds"
                     : "+s"(at)
                     : "s"(lds), "v"(offset), "s"(resource), "s"(step), "n"(first), "n"(second - column), "n"(column)
                     : "memory", "scc");
}
/** A resource from a uniform address. A load may read it five cycles after a vector instruction wrote it. */
KITTENS_INLINE i32x4 resource_of(const void *from, uint32_t bytes) {
    i32x4 resource = make_srsrc(from, bytes);
    asm volatile("s_nop 4" : "+s"(resource));
    return resource;
}

/**
 * @brief Loads of blocks of a head's rows by all waves, alternately to two adjacent shared tiles.
 *
 * A wave loads equal parts of the same rows of a block: their addresses differ by a constant and need one register. The
 * range, which counts the offset shared by all lanes, is the head from the first block on.
 */
template <typename ST, typename T>
struct block_loads {
    using workers = group<PINNED_WARPS>;
    static constexpr int loads = workers::template loads_per_tile<ST>;
    static constexpr int BYTES = PINNED_WARPS * WARP_THREADS * 16;
    static constexpr bool side_by_side = ST::height == 1 && BYTES % ST::underlying_subtile_bytes == 0;
    static_assert(loads == 1 || side_by_side, "attention: a wave's loads of a block begin in the same rows");
    static constexpr int COLUMNS = BYTES / ST::underlying_subtile_bytes * ST::underlying_subtile_row_bytes;
    static_assert(loads <= 2 && COLUMNS < 4096,
                  "attention: a wave has two loads of a block, a constant offset 12 bits");

    i32x4 resource;
    /** Bytes of a block, and from the head's first one to that before the next. */
    uint32_t step, at, lds, offset;

    /** @param rows rows of one head; @param begin first block. */
    template <typename GL>
    KITTENS_INLINE block_loads(const GL &rows, ST &first, int begin) : lds(workers::lds_base(first)) {
        const auto pitch = static_cast<uint32_t>(rows.template stride<1>() * sizeof(T));
        step = ST::rows * pitch;
        at = -step;
        // A sequence is within 4 GiB.
        const auto after = static_cast<uint32_t>(static_cast<int>(rows.depth()) - begin * ST::rows - 1);
        resource = resource_of(&rows[{0, begin * ST::rows, 0, 0}],
                               after * pitch + ST::cols * static_cast<uint32_t>(sizeof(T)));
        uint32_t offsets[loads];
        workers::template prefill_swizzled_offsets<1>(first, rows, offsets);
        offset = offsets[0];
    }
    template <int slot>
    KITTENS_INLINE void start() {
        constexpr int tile = slot * static_cast<int>(sizeof(ST));
        load_next<16, tile, tile + BYTES, (loads - 1) * COLUMNS>(resource, lds, offset, at, step);
    }
    /** Moves back by `blocks` blocks, in a head that begins `bytes` bytes after this one. */
    KITTENS_INLINE void rewind(int blocks, int64_t bytes) {
        const uint64_t from = (static_cast<uint64_t>(resource[1]) << 32 | static_cast<uint32_t>(resource[0])) +
                              static_cast<uint64_t>(bytes);
        resource[0] = static_cast<int>(from);
        resource[1] = static_cast<int>(from >> 32) & 0xffff;
        at -= static_cast<uint32_t>(blocks) * step;
    }
    /** From here on, loads return zero. */
    KITTENS_INLINE void stop() { resource[2] = step = at = 0; }
};

/** Addresses of the next block of queries: its rows of Q and dO, shift and delta, over all heads that share the keys.
 */
template <typename T, int D>
struct feed {
    using shared = st<T, PINNED_QUERIES, D, st_32x32_s>;
    using rows_of_head = gl_strided<T, 1, -1, 1, D>;
    /** 32 values followed by 32 zeros, so that a whole wave loads. */
    using values = sv_fl<2 * PINNED_QUERIES>;
    static constexpr int VALUES = PINNED_QUERIES * static_cast<int>(sizeof(float));

    block_loads<shared, T> q, dout;
    i32x4 shift, delta;
    /** Bytes from the first block's values to those of the block before the next; this wave's memory for them. */
    uint32_t at, lds, lane_word;
    int64_t next_q, next_dout;
    int blocks, until, heads, padded;

    KITTENS_INLINE feed(const backward_globals<T, D> &g, const rows_of_head &q_rows, const rows_of_head &dout_rows,
                        const backward_part &of, int head, int heads, int begin, int blocks, shared &qs, shared &douts,
                        values &vectors)
        : q(q_rows, qs, begin), dout(dout_rows, douts, begin),
          shift(resource_of(&g.shift[{of.batch, head, of.values + begin * PINNED_QUERIES}], VALUES)),
          delta(resource_of(&g.delta[{of.batch, head, of.values + begin * PINNED_QUERIES}], VALUES)),
          at(-static_cast<uint32_t>(VALUES)), lds(static_cast<uint32_t>(__builtin_amdgcn_readfirstlane(
                                                  static_cast<int>(detail::shared_address(&vectors.data[0]))))),
          lane_word(static_cast<uint32_t>(laneid() * 4)),
          next_q(static_cast<int64_t>(g.q.template stride<2>()) * static_cast<int64_t>(sizeof(T))),
          next_dout(static_cast<int64_t>(g.dout.template stride<2>()) * static_cast<int64_t>(sizeof(T))),
          blocks(blocks), until(blocks), heads(heads), padded(static_cast<int>(g.delta.cols())) {}

    /** Part n of 4 of a block's loads, with vectors to this wave's memory; the last part advances to the next block. */
    template <int n, int slot>
    KITTENS_INLINE void start() {
        constexpr int own = slot * static_cast<int>(sizeof(values)), all = 2 * PINNED_WARPS * sizeof(values);
        if constexpr (n == 0) {
            q.template start<slot>();
        } else if constexpr (n == 1) {
            dout.template start<slot>();
        } else if constexpr (n == 2) {
            load_next<4, own>(shift, lds, lane_word, at, VALUES);
            shift[2] += VALUES;
        } else {
            load_next<4, own + all>(delta, lds, lane_word, at, 0);
            delta[2] += VALUES;
            if (__builtin_expect(--until == 0, false)) next_head();
        }
    }

  private:
    KITTENS_INLINE void next_head() {
        until = blocks;
        if (--heads > 0) {
            q.rewind(blocks, next_q);
            dout.rewind(blocks, next_dout);
            const int skipped = (padded - blocks * PINNED_QUERIES) * 4;
            at += static_cast<uint32_t>(skipped);
            shift[2] += skipped;
            delta[2] += skipped;
        } else {
            q.stop();
            dout.stop();
            shift[2] = delta[2] = 0;
        }
    }
};

} // namespace pinned

/** dK, dV and sums of dQ; a wave has 64 keys, and goes through the queries of all heads that share them. */
template <typename T, int D>
struct keys_pinned {
    using r = pinned::registers;
    using order = pinned::plan<D>;
    static constexpr order PLAN = {};
    using tiles = pinned::tiles<T, D>;
    using feed = pinned::feed<T, D>;
    using shared = typename feed::shared;
    using values = typename feed::values;
    using shared_ds = st<T, PINNED_KEYS, PINNED_QUERIES, st_32x32_swizzled_s>;
    using shared_v = st<T, PINNED_KEYS, D, st_32x32_s>;
    using part_of_v = st_subtile<shared_v, PINNED_WARP_KEYS, D>;
    using part_of_ds = st_subtile<shared_ds, PINNED_WARP_KEYS, PINNED_QUERIES>;
    using columns_of_ds = st_subtile<shared_ds, order::DQ_KEYS, PINNED_QUERIES>;

    struct memory {
        shared q[2], dout[2];
        shared_v v;
        shared_ds ds[2];
        /** Separate for each wave. */
        values shift[PINNED_WARPS][2], delta[PINNED_WARPS][2];
    };

    tiles t;
    feed &next;
    lane_addresses<decltype(tiles::q), shared> rows;
    lane_addresses<decltype(tiles::dout_columns), shared> columns;
    lane_addresses<decltype(tiles::v), part_of_v> v_rows;
    using addresses_of_ds = lane_addresses<decltype(tiles::ds_rows), part_of_ds>;
    /** The first of them; there are no registers for the others, which are computed when dS is stored. */
    uint32_t ds_rows;
    lane_addresses<decltype(tiles::ds_columns), columns_of_ds> ds_columns;
    /** A lane's part of this wave's shift and delta. */
    uint32_t vectors;
    /** Address of a lane's word in the sums of dQ of this wave's tile, for the step before, to which this step adds. */
    const float *sums;
    uint32_t lane_word;
    float unit;
    band seen;
    int key, n_k;
    /** The first of the blocks whose queries see all keys of the wave, and how many queries from there on begin one. */
    int whole_from;
    unsigned whole;

    KITTENS_INLINE keys_pinned(memory &m, feed &next, const float *sums, float unit, const band &seen, int key, int n_k)
        : next(next), rows(m.q[0]), columns(m.q[0]), v_rows(subtile_inplace<PINNED_WARP_KEYS, D>(m.v, {warpid(), 0})),
          ds_rows(
              addresses_of_ds(subtile_inplace<PINNED_WARP_KEYS, PINNED_QUERIES>(m.ds[0], {warpid(), 0})).addresses[0]),
          ds_columns(subtile_inplace<order::DQ_KEYS, PINNED_QUERIES>(m.ds[0], {warpid() / order::HEIGHT, 0})),
          vectors(detail::shared_address(&m.shift[warpid()][0].data[0]) + static_cast<uint32_t>(laneid() / 32 * 16)),
          sums(sums), lane_word(next.lane_word), unit(unit), seen(seen), key(key), n_k(n_k),
          whole_from(key + PINNED_WARP_KEYS - 1 - seen.offset - seen.right) {
        const int last = key - (PINNED_QUERIES - 1) - seen.offset + seen.left;
        whole = last < whole_from || key + PINNED_WARP_KEYS > n_k ? 0 : static_cast<unsigned>(last - whole_from) + 1;
    }

    /** Values of the block's queries, of rows as the registers of 32x32 accumulators have them. */
    template <int to, int further>
    KITTENS_INLINE void read_vector() const {
        schedules::for_each_index<0, 4>(
            [&](auto run) { macros::ds_read<to + 4 * run, 4, further + 32 * run>(vectors); });
    }
    template <int slot>
    KITTENS_INLINE void read_shift() const {
        read_vector<r::s(0), slot *static_cast<int>(sizeof(values))>();
    }
    template <int slot, int n>
    KITTENS_INLINE void read_q() {
        load<0, n, slot *static_cast<int>(sizeof(shared))>(t.q, rows);
    }
    /** A wave's tile of dQ to the sums. */
    template <int n>
    KITTENS_INLINE void add() const {
        schedules::for_each_index<0, 2>([&](auto i) {
            constexpr int at = 2 * n + i;
            macros::global_atomic_add_f32<r::dp(1) + at, at * WARP_THREADS * 4>(sums, lane_word);
        });
    }
    /** Sets the logits of keys that are not seen, or do not exist, to -infinity. */
    KITTENS_INLINE void mask(int query) const {
        int lane = laneid();
        float hidden = MINUS_INFINITY;
        // Computed here, since few blocks are cut: values computed before the loop would occupy registers throughout.
        asm volatile("" : "+v"(lane), "+v"(hidden));
        const int from = key - seen.offset - seen.right - query;
        const auto span = static_cast<unsigned>(seen.left + seen.right + 1);
        const auto hide = [&]<int tile>() {
            const int col = lane % 32 + 32 * tile;
            // Past the last key no row is seen.
            const int begin = key + col < n_k ? from + col - lane / 32 * 4 : PINNED_QUERIES;
            schedules::for_each_index<0, 16>([&](auto e) {
                constexpr int row = e / 4 * 8 + e % 4;
                const uint64_t kept = __builtin_amdgcn_ballot_w64(static_cast<unsigned>(row - begin) < span);
                macros::keep_where<r::s(tile) + e>(kept, hidden);
            });
        };
        hide.template operator()<0>();
        hide.template operator()<1>();
    }
    /** Executes the actions after a matrix instruction; `query` is the block's first, from `whole_from` on. */
    template <pinned::kind what, int n, int slot>
    KITTENS_INLINE void act(int query) {
        using pinned::kind;
        constexpr int own = slot * static_cast<int>(sizeof(shared)), ds = slot * static_cast<int>(sizeof(shared_ds));
        constexpr int dout = own + 2 * static_cast<int>(sizeof(shared));
        if constexpr (what == kind::q_row) {
            read_q<1 - slot, n>();
        } else if constexpr (what == kind::shift) {
            read_shift<1 - slot>();
        } else if constexpr (what == kind::delta) {
            read_vector<r::dp(0), (2 * PINNED_WARPS + slot) * static_cast<int>(sizeof(values))>();
        } else if constexpr (what == kind::row) {
            if constexpr (n % 3 == 0)
                load<0, n / 3, dout>(t.dout, rows);
            else
                load<n % 3 == 1, n / 3>(t.v, v_rows);
        } else if constexpr (what == kind::dout_column) {
            load<n / order::HEIGHT, n % order::HEIGHT, dout>(t.dout_columns, columns);
        } else if constexpr (what == kind::q_column) {
            load<n / order::HEIGHT, n % order::HEIGHT, own>(t.q_columns, columns);
        } else if constexpr (what == kind::store_ds) {
            uint32_t first = ds_rows;
            asm volatile("" : "+v"(first));
            store<n, 0, ds>(addresses_of_ds(first), t.ds_rows);
        } else if constexpr (what == kind::ds) {
            load<n, 0, ds>(t.ds_columns, ds_columns);
        } else if constexpr (what == kind::add) {
            add<n>();
        } else if constexpr (what == kind::feed) {
            next.template start<n, slot>();
        } else if constexpr (what == kind::mask) {
            if (__builtin_expect(static_cast<unsigned>(query) >= whole, false)) mask(query + whole_from);
        } else if constexpr (what == kind::scale) {
            // Four pairs of registers of b, four of a; then those of the last queries.
            constexpr int at = r::s(1 - n / 4 % 2) + n / 8 * 8 + n % 4 * 2;
            macros::v_pk_mul_f32<at, at>(unit);
        } else if constexpr (what == kind::exponential) {
            constexpr int at = r::s(1 - n / 8 % 2) + n / 16 * 8 + n % 8;
            macros::exp2::op<at, at>();
        } else if constexpr (what == kind::round_p) {
            constexpr int tile = 1 - n / 4 % 2, pair = n / 8 * 4 + n % 4;
            macros::v_cvt_pk_bf16_f32<r::p(tile) + pair, r::s(tile) + 2 * pair, r::s(tile) + 2 * pair + 1>();
        } else if constexpr (what == kind::slope) {
            constexpr int tile = n / 8, pair = n % 8 * 2;
            macros::v_pk_mul_f32<r::s(tile) + pair, r::s(tile) + pair, r::dp(tile) + pair>();
        } else if constexpr (what == kind::round_ds) {
            constexpr int tile = n / 8, pair = n % 8;
            macros::v_cvt_pk_bf16_f32<r::s(tile) + pair, r::s(tile) + 2 * pair, r::s(tile) + 2 * pair + 1>();
        } else if constexpr (what == kind::meet) {
            // At this point, dS of all waves and the next block have arrived, and no wave reads this block any more.
            wait_lgkmcnt<PLAN.left_at_meet>();
            wait_vmcnt<order::SUMS>();
            barrier();
        }
    }
    /** Contents of registers at the first step. */
    KITTENS_INLINE void begin() {
        zero(t.dk);
        zero(t.dv);
        zero(t.dq);
        read_shift<0>();
        schedules::for_each_index<0, order::DEPTH>([&](auto n) { read_q<0, n>(); });
        wait_lgkmcnt<0>();
    }
    /** The queries of the block in slot `slot`, starting at `query`, from `whole_from` on. */
    template <int slot>
    KITTENS_INLINE void step(int query) {
        schedules::for_each_index<0, order::END>([&](auto m) {
            if constexpr (PLAN.waits[m] >= 0) wait_lgkmcnt<PLAN.waits[m]>();
            t.template multiply<m>();
            schedules::for_each_index<PLAN.first[m], PLAN.first[m + 1]>(
                [&](auto i) { act<PLAN.actions[i].what, PLAN.actions[i].n, slot>(query); });
        });
    }
    /** Processes blocks `begin` to `end` - 1 of `heads` heads, whose sums of dQ are `pitch` numbers apart. */
    KITTENS_INLINE void loop(int begin, int end, int heads, int pitch) {
        constexpr int64_t BLOCK = PINNED_QUERIES * D;
        const int first = begin * PINNED_QUERIES - whole_from, last = end * PINNED_QUERIES - whole_from;
        int left = heads * (end - begin), at = first;
        // A block's sums are added in the next step.
        int64_t by = 0;
        const auto take = [&]<int slot>() __attribute__((always_inline)) {
            step<slot>(at);
            sums += by;
            by = BLOCK;
            at += PINNED_QUERIES;
            if (__builtin_expect(at == last, false)) {
                at = first;
                by += pitch - (end - begin) * BLOCK;
                asm volatile("" : "+s"(at));
            }
            return --left > 0;
        };
        while (take.template operator()<0>() && take.template operator()<1>()) {
        }
    }
    KITTENS_INLINE void finish() {
        wait_states<20>();
        schedules::for_each_index<0, order::SUMS / 2>([&](auto n) { add<n>(); });
    }

    /** Stores `sums` times `factor`, by way of the registers of K. */
    static constexpr auto in_turned = [](int n) { return r::K + 16 * (n % order::HEIGHT * 2 + n / order::HEIGHT); };
    template <typename GL, typename Sums>
    static KITTENS_INLINE void store_sums(const GL &rows, const Sums &, float factor, int tile) {
        constexpr int HEIGHT = order::HEIGHT;
        art<float, D, PINNED_WARP_KEYS, col_l, rt_32x32_s, pinned::ranges<2 * HEIGHT, pinned::every<r::K, 16>{}, 16>>
            columns;
        art<float, PINNED_WARP_KEYS, D, row_l, rt_32x32_s, pinned::ranges<2 * HEIGHT, in_turned, 16>> turned;
        art<T, PINNED_WARP_KEYS, D, row_l, rt_32x32_s, pinned::ranges<2 * HEIGHT, in_turned, 8>> rounded;
        const Sums sums;
        accvgpr_read(columns, sums);
        mul(turned, turned, factor);
        copy(rounded, turned);
        store<1>(rows, rounded, {0, tile, 0, 0});
    }

    static KITTENS_INLINE void run(const backward_globals<T, D> &g) {
        extern __shared__ alignment_dummy __shm[];
        shared_allocator al(reinterpret_cast<int *>(&__shm[0]));
        memory &m = al.allocate<memory>();
        using workers = group<PINNED_WARPS>;

        const int head_k = static_cast<int>(blockIdx.x);
        const backward_part of(g, static_cast<int>(blockIdx.z));
        const int heads = static_cast<int>(g.q.rows()) / static_cast<int>(g.k.rows());
        const int n_q = of.n_q, n_k = of.n_k;
        const int block = static_cast<int>(blockIdx.y), tile = block * PINNED_WARPS + warpid();
        const band seen{g.left, g.right, n_k - n_q};
        const int first = block * PINNED_KEYS;
        if (first >= n_k) return;
        const int end_key = first + PINNED_KEYS < n_k ? first + PINNED_KEYS : n_k;
        const int from = first - seen.offset - seen.right, to = end_key - seen.offset + seen.left;
        const int begin = (from < 0 ? 0 : from) / PINNED_QUERIES;
        const int end = ceil_div(to < n_q ? (to < 0 ? 0 : to) : n_q, PINNED_QUERIES);

        tiles t;
        const auto k_rows = of.keys_of(g.k, head_k), v_rows = of.keys_of(g.v, head_k);
        shared(&parts)[PINNED_KEYS / PINNED_QUERIES] = reinterpret_cast<shared(&)[PINNED_KEYS / PINNED_QUERIES]>(m.v);
        const auto fill = [&](const auto &rows) {
#pragma unroll
            for (int i = 0; i < PINNED_KEYS / PINNED_QUERIES; i++)
                workers::template load_async<1>(parts[i], rows, {0, block * (PINNED_KEYS / PINNED_QUERIES) + i, 0, 0});
        };
        fill(k_rows);
        load<1>(t.k, k_rows, {0, tile, 0, 0});
        wait_and_barrier();
        load(t.k_columns,
             subtile_inplace<order::DQ_KEYS, 32>(m.v, {warpid() / order::HEIGHT, warpid() % order::HEIGHT}));
        wait_and_barrier();
        fill(v_rows);

        const int head = head_k * heads;
        const auto q_rows = of.queries_of(g.q, head), dout_rows = of.queries_of(g.dout, head);
        feed next(g, q_rows, dout_rows, of, head, heads, begin, end - begin, m.q[0], m.dout[0], m.shift[warpid()][0]);
        const float *sums = g.dq_sums + g.delta.offset({of.batch, head, of.values + begin * PINNED_QUERIES}) * D +
                            warpid() % order::HEIGHT * order::SUMS * WARP_THREADS;
        keys_pinned work(m, next, sums, g.scale * LOG2_E, seen, tile * PINNED_WARP_KEYS, n_k);
        if (begin < end) {
            schedules::for_each_index<0, 2>(
                [&](auto slot) { schedules::for_each_index<0, 4>([&](auto n) { next.template start<n, slot>(); }); });
        }
        wait_and_barrier();
        work.begin();
        if (begin < end) {
            work.loop(begin, end, heads, static_cast<int>(g.delta.cols()) * D);
            work.finish();
        }
        store_sums(of.keys_of(g.dk, head_k), t.dk, g.scale, tile);
        store_sums(of.keys_of(g.dv, head_k), t.dv, 1.0f, tile);
    }
};

} // namespace kittens::families::attention

#undef KITTENS_INLINE
