/**
 * @file
 * @brief Mixtures of experts: listed rows of tokens, each multiplied by the matrix of its expert; sums in float.
 *
 * A work-group of 4 waves computes ROWS entries of a list and some columns. It advances along K in steps: while the
 * matrix cores work on one step, the next is loaded from global memory to registers, then stored to the other half of
 * shared memory: int8, fp8 and int4 minus 8 as bytes, also fp4 if the instructions take it with its scales (gfx950),
 * all others as bf16. A matrix of an expert is K x N, or N x K where `along_k`. Bytes of a K x N matrix are transposed.
 *
 * A row of A, and of a K x N matrix, is a multiple of 8 elements. Elements past K, N and the list's end read as zero
 * and are not written.
 */
#pragma once

#include "families/expert_lists.cuh"
#include "families/expert_operands.cuh"

namespace kittens::families::experts {

/**
 * @brief Use of the sums: `plain` a function of each; `halves` a function of column j of the first half, times column j
 * of the second; `pairs` x sigmoid(alpha x) (y + 1) of adjacent columns x and y.
 */
enum class finish { plain, halves, pairs };

/** Factors of sums over `group_k` elements along K: of A (rows, blocks), of B (experts, blocks, N / group_n). */
struct block_factors {
    const float *blocks_a, *blocks_b;
    int group_k, group_n;
};
struct no_factors {};

/**
 * @tparam A,B `whole<T>`, `fp4`; B also `nibbles`, `eights`.
 * @tparam List from expert_lists.cuh.
 * @tparam Factors block_factors, whose blocks are whole steps, or no_factors.
 * @tparam how,op use of the sums.
 * @tparam ROWS 16, 32, 64 or 128; K_STEP 32 or 64, 128 of fp4 as it is.
 */
template <typename A, typename B, typename List, typename Factors, bool along_k, finish how, typename op, int ROWS,
          int K_STEP>
struct multiply {
    struct arguments : List, Factors, extras {
        gl<typename A::stored, 1, 1, -1, -1> a;
        gl<typename B::stored, 1, -1, -1, -1> b;
        gl<bf16, 1, 1, -1, -1> c;
        /** A scale of A, a scale and a bias for each expert, and a weight for each id; null for none. */
        const float *scale_a, *scale_b, *bias, *weights;
        /** Columns of B, and its rows. */
        int n, k;
        float alpha;
    };

    static constexpr int NUM_WARPS = 4;
    static constexpr int threads = NUM_WARPS * WARP_THREADS;
    static constexpr int WARPS_M = ROWS == 16 ? 1 : 2, WARPS_N = NUM_WARPS / WARPS_M;
    static constexpr int PART = ROWS / WARPS_M;
    /** Columns of B that a wave and a work-group multiply at once; a wave does so twice, `second` columns apart. */
    static constexpr int HALF = 32, SPAN = HALF * WARPS_N, COLS = 2 * SPAN;
    static constexpr bool scaled = detail::is_same<Factors, block_factors>;
    static constexpr int packed = along_k ? 1 : B::per_element;

    using as = multiplied<A, B>;
    using element = typename as::element;
    static constexpr bool as_stored = as::as_stored;
    static_assert(!(as_stored && along_k), "experts: bytes of N x K are not turned");
    /** Elements of a tile along K, each with one number or two; whether a row of B's tile is a column of B.
     */
    static constexpr int DEEP = as_stored ? K_STEP / A::per_element : K_STEP;
    static constexpr bool rows_of_columns = along_k || as_stored;
    static constexpr bool wide = as_stored && DEEP == 64;
    using shared_shape = detail::select<DEEP == 64, st_16x64_s, st_16x32_s>;
    using shape = detail::select<wide, rt_16x64_s, rt_16x32_s>;
    using shared_a = st<element, ROWS, DEEP, shared_shape>;
    using shared_b =
        detail::select<rows_of_columns, st<element, COLS, DEEP, shared_shape>, st_bf<K_STEP, COLS, st_32x128_s>>;
    using registers_a = rt<element, PART, DEEP, row_l, shape>;
    using registers_b = rt<element, HALF, DEEP, row_l, shape>;
    using sums = rt_fl<PART, HALF, row_l, rt_16x16_s>;
    /** Type in which the instructions sum: whole numbers for int8. */
    using exact = rt<detail::select<detail::is_same<element, int8>, int, float>, PART, HALF, row_l, rt_16x16_s>;
    using base = rt_base<float, row_l, rt_16x16_s>;

    /** Position of a work-group. */
    struct place {
        entries at;
        /** First column of the first half of B's tile, distance to the second half, and the end of each half's
            columns. */
        int col, second, end;
    };

    /** The lane's share of A's step: groups of eight elements or bytes of listed rows. */
    struct share_of_a {
        static constexpr int PER_ROW = DEEP / 8, EIGHTS = ROWS * PER_ROW, COUNT = (EIGHTS + threads - 1) / threads;
        using number = detail::select<as_stored, eight_bytes, typename A::along>;
        const typename A::stored *rows[COUNT];
        const unsigned char *powers[COUNT];
        number numbers[COUNT];
        bool there[COUNT];

        __device__ inline share_of_a(const arguments &g, const entries &at) {
#pragma unroll
            for (int i = 0; i < COUNT; i++) {
                const int row = (i * threads + static_cast<int>(threadIdx.x)) / PER_ROW;
                const int token = row < at.rows ? g.token(at.first + row) : -1;
                rows[i] = token < 0 ? nullptr : &g.a[{token, 0}];
                powers[i] =
                    token < 0 || g.powers_a == nullptr ? nullptr : g.powers_a + static_cast<size_t>(token) * (g.k / 32);
            }
        }
        __device__ inline void fetch(int step, int k) {
#pragma unroll
            for (int i = 0; i < COUNT; i++) {
                const int col = step * DEEP + (i * threads + static_cast<int>(threadIdx.x)) % PER_ROW * 8;
                there[i] = rows[i] != nullptr && col < (as_stored ? k / A::per_element : k);
                if (!there[i]) continue;
                if constexpr (as_stored)
                    numbers[i].fetch(rows[i], col);
                else
                    numbers[i].fetch(rows[i], col, powers[i]);
            }
        }
        __device__ inline void put(shared_a &to) const {
            using unit = decltype(numbers[0].widen());
#pragma unroll
            for (int i = 0; i < COUNT; i++) {
                const int id = i * threads + static_cast<int>(threadIdx.x);
                if (EIGHTS % threads == 0 || id < EIGHTS)
                    *reinterpret_cast<unit *>(shared_a::idx(&to.data[0], {id / PER_ROW, id % PER_ROW * 8})) =
                        there[i] ? numbers[i].widen() : unit{};
            }
        }
    };

    /** The lane's share of B's step, converted to bf16. */
    struct share_of_b {
        /** Groups of eight per row of the tile, and in total, counting rows that share bytes once. */
        static constexpr int PER_ROW = (along_k ? K_STEP : COLS) / 8;
        static constexpr int EIGHTS = COLS * K_STEP / 8 / packed, COUNT = EIGHTS / threads;
        static_assert(EIGHTS % threads == 0);
        using number = detail::select<along_k, typename whole<bf16>::along, typename B::across>;
        number numbers[COUNT];
        bool there[COUNT];

        static __device__ inline int2 where(int i) {
            const int id = i * threads + static_cast<int>(threadIdx.x);
            return {id / PER_ROW * packed, id % PER_ROW * 8};
        }
        __device__ inline void fetch(const arguments &g, const place &to, int step) {
#pragma unroll
            for (int i = 0; i < COUNT; i++) {
                const int2 at = where(i);
                const int across = along_k ? at.x : at.y, deep = step * K_STEP + (along_k ? at.y : at.x);
                const int within = to.col + across % SPAN, col = within + (across < SPAN ? 0 : to.second);
                there[i] = within + (how == finish::halves || across < SPAN ? 0 : to.second) < to.end && deep < g.k;
                if (!there[i]) continue;
                if constexpr (along_k)
                    numbers[i].fetch(&g.b[{to.at.expert, col, 0}], deep, nullptr);
                else
                    numbers[i].fetch(&g.b[{to.at.expert, deep / B::per_element, col}], g, to.at.expert, deep, col, g.k,
                                     g.n);
            }
        }
        __device__ inline void put(shared_b &to) const {
#pragma unroll
            for (int i = 0; i < COUNT; i++) {
                const int2 at = where(i);
                detail::for_constants<packed>([&]<int which>() {
                    eight made = {};
                    if (there[i]) {
                        if constexpr (along_k)
                            made = numbers[i].widen();
                        else
                            made = numbers[i].widen(which);
                    }
                    *reinterpret_cast<eight *>(shared_b::idx(&to.data[0], {at.x + which, at.y})) = made;
                });
            }
        }
    };

    /** The lane's share of B's step of bytes: blocks of eight rows and four columns. */
    struct share_of_bytes {
        static constexpr int PER_ROW = COLS / 4, BLOCKS = COLS * DEEP / 32, COUNT = (BLOCKS + threads - 1) / threads;
        turned_bytes blocks[COUNT];

        __device__ inline void fetch(const arguments &g, const place &to, int step) {
#pragma unroll
            for (int i = 0; i < COUNT; i++) {
                const int id = i * threads + static_cast<int>(threadIdx.x), across = id % PER_ROW * 4;
                const int within = to.col + across % SPAN, col = within + (across < SPAN ? 0 : to.second);
                const int deep = step * DEEP + id / PER_ROW * 8;
                const bool there = within + (how == finish::halves || across < SPAN ? 0 : to.second) < to.end &&
                                   deep < g.k / A::per_element && (BLOCKS % threads == 0 || id < BLOCKS);
                // Rows of memory may hold two rows of the tile.
                constexpr int each = B::per_element / A::per_element;
#pragma unroll
                for (int row = 0; row < 8; row += each) {
                    const unsigned four =
                        there ? *reinterpret_cast<const unsigned *>(&g.b[{to.at.expert, (deep + row) / each, col}]) : 0;
                    blocks[i].rows[row] = four;
                    if constexpr (each == 2) {
                        blocks[i].rows[row] = there ? B::widened(four, 0) : 0;
                        blocks[i].rows[row + 1] = there ? B::widened(four, 1) : 0;
                    }
                }
            }
        }
        __device__ inline void put(shared_b &to) const {
#pragma unroll
            for (int i = 0; i < COUNT; i++) {
                const int id = i * threads + static_cast<int>(threadIdx.x);
                if (BLOCKS % threads != 0 && id >= BLOCKS) continue;
                detail::for_constants<4>([&]<int which>() {
                    *reinterpret_cast<uint2 *>(
                        shared_b::idx(&to.data[0], {id % PER_ROW * 4 + which, id / PER_ROW * 8})) =
                        blocks[i].template column<which>();
                });
            }
        }
    };

    /** The powers of two of a lane's rows of A and of both halves of B, as the instructions take them. */
    struct powers {
        fp8e8m0_4 of_a = 0, of_b[2] = {};

        __device__ inline void fetch(const arguments &g, const place &to, int step, int row, int col) {
            const int blocks = g.k / 32, block = step * (K_STEP / 32) + laneid() / 16, own = laneid() % 16;
            of_a = of_b[0] = of_b[1] = 0;
            // Elements past the end are zeros, whatever their scale.
            if (block >= blocks) return;
#pragma unroll
            for (int i = 0; i < PART / 16; i++) {
                const int entry = row + i * 16 + own, token = entry < to.at.rows ? g.token(to.at.first + entry) : -1;
                if (token >= 0) of_a |= unsigned{g.powers_a[static_cast<size_t>(token) * blocks + block]} << 8 * i;
            }
            const unsigned char *of = g.powers_b + (static_cast<size_t>(to.at.expert) * blocks + block) * g.n;
#pragma unroll
            for (int j = 0; j < 2 * HALF / 16; j++) {
                const int within = j % (HALF / 16), half = j / (HALF / 16);
                const int n = col + half * to.second + within * 16 + own;
                of_b[half] |= unsigned{of[detail::min(n, g.n - 1)]} << 8 * within;
            }
        }
    };

    /** c += the products of a step, of half `which` of the columns. */
    static __device__ inline void multiply_step(exact &c, const registers_a &a, shared_b &from, const powers &by,
                                                int part, int which) {
        registers_b b;
        if constexpr (rows_of_columns)
            load(b, subtile_inplace<HALF, DEEP>(from, {which * WARPS_N + part, 0}));
        else
            load_columns(b, from, (which * WARPS_N + part) * HALF);
        if constexpr (as::powers)
            mma_ABt_scaled(c, a, b, c, &by.of_a, &by.of_b[which]);
        else
            mma_ABt(c, a, b, c);
    }

    /** c += the factors of a step times its products. */
    static __device__ inline void add_scaled(sums &c, const sums &products, const arguments &g, const place &to,
                                             int step, int row, int col) {
        if constexpr (scaled) {
            const int block = step * K_STEP / g.group_k, blocks = ceil_div(g.k, g.group_k);
            const int across = ceil_div(g.n, g.group_n);
            const float *of_b = g.blocks_b + (static_cast<size_t>(to.at.expert) * blocks + block) * across;
#pragma unroll
            for (int i = 0; i < sums::height; i++) {
                const int entry = row + i * 16 + base::row(laneid(), 0);
                const int token = g.blocks_a != nullptr && entry < to.at.rows ? g.token(to.at.first + entry) : -1;
                const float by = token < 0 ? 1.0f : g.blocks_a[static_cast<size_t>(token) * blocks + block];
#pragma unroll
                for (int j = 0; j < sums::width; j++)
                    each(c.tiles[i][j], products.tiles[i][j], [&](int element, float sum, float product) {
                        const int n = col + j * 16 + base::col(laneid(), element);
                        return sum + by * of_b[detail::min(n, g.n - 1) / g.group_n] * product;
                    });
            }
        }
    }
    /** to = f(element, to, from) of a lane's elements. */
    template <typename F>
    static __device__ inline void each(base &to, const base &from, const F &f) {
#pragma unroll
        for (int pair = 0; pair < base::packed_per_thread; pair++) {
            to.data[pair].x = f(2 * pair, to.data[pair].x, from.data[pair].x);
            to.data[pair].y = f(2 * pair + 1, to.data[pair].y, from.data[pair].y);
        }
    }

    /** Sums times scales and weights, and the bias. */
    static __device__ inline void finish_sums(sums &c, const arguments &g, const place &to, int row, int col) {
        const int expert = detail::max(to.at.expert, 0);
        const float by = (g.scale_a == nullptr ? 1.0f : *g.scale_a) * (g.scale_b == nullptr ? 1.0f : g.scale_b[expert]);
#pragma unroll
        for (int i = 0; i < sums::height; i++) {
            const int entry = row + i * 16 + base::row(laneid(), 0);
            const int id = g.weights != nullptr && entry < to.at.rows ? g.id(to.at.first + entry) : -1;
            const float weight = id < 0 ? 1.0f : g.weights[id];
#pragma unroll
            for (int j = 0; j < sums::width; j++)
                each(c.tiles[i][j], c.tiles[i][j], [&](int element, float sum, float) {
                    const int n = detail::min(col + j * 16 + base::col(laneid(), element), g.n - 1);
                    const float added = g.bias == nullptr ? 0.0f : g.bias[static_cast<size_t>(expert) * g.n + n];
                    return (sum * by + added) * weight;
                });
        }
    }

    /** Rounds and stores entries from `row` on, to the rows of C in the list. */
    template <ducks::rt::all RT>
    static __device__ inline void store_rows(const arguments &g, const place &to, const RT &c, int row, int col) {
        rt<bf16, RT::rows, RT::cols, row_l, typename RT::shape> made;
        copy(made, c);
        scatter(g.c, made, coord<RT>(0, 0, 0, col / RT::cols), [&](int in_tile) {
            const int entry = row + in_tile;
            return entry < to.at.rows ? g.place(to.at.first + entry) : -1;
        });
    }
    /** The same for adjacent columns that become one. */
    static __device__ inline void store_pairs(const arguments &g, const place &to, const sums &c, int row, int col) {
#pragma unroll
        for (int i = 0; i < sums::height; i++) {
            const int entry = row + i * 16 + base::row(laneid(), 0);
            const int at = entry < to.at.rows ? g.place(to.at.first + entry) : -1;
#pragma unroll
            for (int j = 0; j < sums::width; j++)
#pragma unroll
                for (int pair = 0; pair < base::packed_per_thread; pair++) {
                    const float2 both = c.tiles[i][j].data[pair];
                    const float gate = both.x / (1.0f + __expf(-g.alpha * both.x));
                    const int n = col + j * 16 + base::col(laneid(), 2 * pair);
                    if (at >= 0 && n < g.n)
                        g.c[{at, n / 2}] = base_types::convertor<bf16, float>::convert(gate * (both.y + 1.0f));
                }
        }
    }

    static __device__ inline void run(const arguments &g) {
        extern __shared__ alignment_dummy __shm[];
        shared_allocator al(reinterpret_cast<int *>(&__shm[0]));
        shared_a(&As)[2] = al.template allocate<shared_a, 2>();
        shared_b(&Bs)[2] = al.template allocate<shared_b, 2>();

        place to;
        to.at = g.template find<ROWS>(static_cast<int>(blockIdx.x), static_cast<int>(g.b.depth()));
        if (to.at.rows == 0) return;
        to.end = how == finish::halves ? g.n / 2 : g.n;
        to.second = how == finish::halves ? g.n / 2 : SPAN;
        to.col = static_cast<int>(blockIdx.y) * (how == finish::halves ? SPAN : COLS);

        share_of_a from_a(g, to.at);
        detail::select<as_stored, share_of_bytes, share_of_b> from_b;
        sums c[2];
        exact raw[2];
        zero(c[0]), zero(c[1]), zero(raw[0]), zero(raw[1]);
        const int row = warpid() / WARPS_N * PART, part = warpid() % WARPS_N;
        const int steps = to.at.expert < 0 ? 0 : ceil_div(g.k, K_STEP);
        const int col = to.col + part * HALF;
        powers by;
        const auto fetch = [&](int step) {
            from_a.fetch(step, g.k);
            from_b.fetch(g, to, step);
        };
        const auto put = [&](int half) {
            from_a.put(As[half]);
            from_b.put(Bs[half]);
        };
        if (steps > 0) {
            if constexpr (as::powers) by.fetch(g, to, 0, row, col);
            fetch(0);
            put(0);
        }
        for (int step = 0, half = 0; step < steps; step++, half ^= 1) {
            __syncthreads();
            if (step + 1 < steps) fetch(step + 1);
            registers_a a;
            load(a, subtile_inplace<PART, DEEP>(As[half], {row / PART, 0}));
            const powers own = by;
            if constexpr (as::powers) by.fetch(g, to, step + 1, row, col);
            detail::for_constants<2>([&]<int which>() {
                if constexpr (scaled) zero(raw[which]);
                multiply_step(raw[which], a, Bs[half], own, part, which);
                if constexpr (scaled) {
                    sums products;
                    copy(products, raw[which]);
                    add_scaled(c[which], products, g, to, step, row, col + which * to.second);
                }
            });
            if (step + 1 < steps) put(half ^ 1);
        }

        if constexpr (!scaled) copy(c[0], raw[0]), copy(c[1], raw[1]);
        finish_sums(c[0], g, to, row, col);
        finish_sums(c[1], g, to, row, col + to.second);
        if constexpr (how == finish::halves) {
            unary_map<op>(c[0], c[0]);
            mul(c[0], c[0], c[1]);
            store_rows(g, to, c[0], row, col);
        } else if constexpr (how == finish::pairs) {
            store_pairs(g, to, c[0], row, col);
            store_pairs(g, to, c[1], row, col + SPAN);
        } else {
            unary_map<op>(c[0], c[0]);
            unary_map<op>(c[1], c[1]);
            store_rows(g, to, c[0], row, col);
            store_rows(g, to, c[1], row, col + SPAN);
        }
    }
};

} // namespace kittens::families::experts
