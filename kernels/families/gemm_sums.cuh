/**
 * @file
 * @brief Matrix multiplication: use of the products of a step in the 8-wave ping-pong.
 *
 * `added_sums` has the matrix instructions add them. With `block_sums`, blocks of columns have float scales, and the
 * products of a step are scaled before they are added. With `power_sums`, the matrix instructions take the scales.
 */
#pragma once

#include "families/gemm_halves.cuh"

namespace kittens::families::gemm {

/**
 * @brief The elements of C of a wave's first quarter.
 *
 * @tparam second_row,second_col distance to the second quarter's.
 */
template <int second_row, int second_col>
struct place_of_wave {
    static constexpr int SECOND_ROW = second_row, SECOND_COL = second_col;
    /** First row and column, counted as in the share. */
    int row, col;
    /** The row (column) of C that row `laneid()` of A's part (`laneid() % 32` of B's) belongs to. */
    int lane_row, lane_col;
};

/** C = A B: products are added unscaled. */
struct added_sums {
    struct arguments {};
    template <typename T>
    using number = typename along_k<T>::sum;
    static constexpr bool scaled = false;
    /** Address of shared memory for scales, if any. */
    static __device__ inline uint32_t allocate(shared_allocator<> &) { return 0; }

    template <typename T, ducks::rt::all Quarter, typename Place>
    struct of_wave {
        template <typename G>
        __device__ inline of_wave(const G &, const share &, const Place &, uint32_t, int) {}
        __device__ inline void start_first() {}
        template <int turn>
        __device__ inline void start(int) {}
        __device__ inline void take_first() {}
        template <int turn>
        __device__ inline void take() {}
        /** Loads of turn `turn` and the four before that may be in flight after the halves that a wait covers. */
        template <int turn>
        static constexpr int loads = 0;
        /** @tparam quarter of B. */
        template <int quarter, ducks::rt::all A, ducks::rt::all B>
        __device__ inline void multiply(Quarter &sums, const A &a, const B &b) {
            mma_ABt(sums, a, b, sums);
        }
        __device__ inline void finish(Quarter &) {}
    };
};

#if defined(KITTENS_CDNA4)
/**
 * @brief Words of scales in shared memory, for each row of A and of B in a step; four of a row are loaded at a time.
 *
 * A load asks for a line for each row, so waves do not load the rows that they share again. Groups of four words take
 * turns at two slots: a group is loaded while the steps of the one before are used.
 *
 * @tparam IN_STEP words of a row in a step, 1 or 2.
 */
template <int IN_STEP = 1>
struct words_of_steps {
    static constexpr int WORDS = 4;
    /** Pairs of steps that a group of words serves. */
    static constexpr int PAIRS_IN_GROUP = WORDS / (2 * IN_STEP);
    static constexpr int ROW_BYTES = WORDS * static_cast<int>(sizeof(unsigned));
    /** Of A's rows, and behind them of B's. */
    static constexpr int SLOT_BYTES = 2 * HALVES_TILE * ROW_BYTES;
    /** Two slots, at address `lds`. */
    static __device__ inline uint32_t allocate(shared_allocator<> &al) {
        return detail::shared_address(&al.allocate<sv<float, 2 * SLOT_BYTES / 4>>().data[0]);
    }

    i32x4 from;
    uint32_t offset, lds;
    /** Words' columns of zeros before K. */
    int lacking;

    /** @param at_wave scales of the operand of which this wave loads 64 rows, the first of them row `row`. */
    template <ducks::gl::all GL>
    __device__ inline words_of_steps(const GL &scales, int matrix, int first, int rows, int row, uint32_t lds,
                                     int lacking)
        : lds(lds), lacking(lacking) {
        const auto pitch = static_cast<uint32_t>(scales.cols() * sizeof(typename GL::dtype));
        from = make_srsrc(&scales[{matrix, first, 0}], static_cast<uint32_t>(rows) * pitch);
        offset = static_cast<uint32_t>(row + laneid()) * pitch;
    }
    static __device__ inline bool is_first_of_group(int pair) { return pair % PAIRS_IN_GROUP == 0; }
    /** First word of the group of pair `pair`; columns of zeros use the first word. */
    __device__ inline int first_word(int pair) const { return detail::max(pair / PAIRS_IN_GROUP * WORDS - lacking, 0); }
    static __device__ inline int slot(int pair) { return pair / PAIRS_IN_GROUP % 2 * SLOT_BYTES; }
    /** Starts loading the group of pair `pair`, the group's first. */
    __device__ inline void start(int pair) const {
        detail::load_direct<16, 0>(from, lds + static_cast<uint32_t>(slot(pair) + warpid() * WARP_THREADS * ROW_BYTES),
                                   offset, static_cast<uint32_t>(first_word(pair) * 4));
    }
    /** Address of word `word` of step `step` of pair `pair`, relative to its row's first in the first slot. */
    __device__ inline uint32_t place(int pair, int step, int word = 0) const {
        const int at = detail::max((2 * pair + step) * IN_STEP + word - lacking, 0) - first_word(pair);
        return static_cast<uint32_t>(slot(pair) + at * 4);
    }
};
#endif

#if defined(KITTENS_CDNA4)
/** A float for each row of A in a step, by `words_of_steps`: a lane reads that of its row a turn before its use. */
template <typename T, int second_row>
struct scales_of_rows {
    using words_in_memory = words_of_steps<>;
    words_in_memory words;
    /** Address of this lane's words of the first slot, and the pair of steps in use. */
    uint32_t at_lane;
    int pair = 0;
    float of_row;

    static __device__ inline uint32_t allocate(shared_allocator<> &al) { return words_in_memory::allocate(al); }
    /** @param row this lane's; `lacking` columns are zeros before K. */
    template <typename GL>
    __device__ inline scales_of_rows(const GL &scales, const share &at, int row, uint32_t lds, int lacking)
        : words(scales, at.a, at.first, at.rows, at.row + warpid() * WARP_THREADS, lds, lacking / along_k<T>::K_STEP),
          at_lane(lds + static_cast<uint32_t>((row - at.row) * words_in_memory::ROW_BYTES)) {}

    /** Starts reading for turn `turn`. */
    template <int turn>
    __device__ inline void read() {
        const uint32_t from = at_lane + words.place(pair, turn / 4 % 2);
        of_row = *(detail::shared_pointer<const float>)(from + turn / 2 % 2 * second_row * words_in_memory::ROW_BYTES);
    }
    /** Of eight waves, four load the rows. */
    __device__ inline void start_group(int next) const {
        if (warpid() * WARP_THREADS < HALVES_TILE) words.start(next);
    }
    __device__ inline void start_first() { start_group(0); }
    template <int turn>
    __device__ inline void start(int next) {
        if constexpr (turn == 1)
            if (words.is_first_of_group(next)) start_group(next);
        if constexpr (turn == 7) {
            pair = next;
            read<8>();
        }
    }
    /** Loads that a wait need not cover: none is counted, since not every pair and wave starts one. */
    template <int turn>
    static constexpr int loads = 0;
    __device__ inline void take_first() { read<0>(); }
    /** The scale of this lane's row in turn `turn`. */
    template <int turn>
    __device__ inline float take() {
        const float taken = of_row;
        if constexpr (turn % 2 == 1 && turn < 7) read<turn + 1>();
        return taken;
    }
};
#else
/** A float for each row of A in a step, in a register of the row's lane: LDS has no room. It is loaded seven turns
 * before its use, as early as the operands and in the same order, so that a wave waits for it without waiting for other
 * loads.
 */
template <typename T, int second_row>
struct scales_of_rows {
    static constexpr int BLOCK = 128;
    i32x4 resource;
    uint32_t offset, second;
    int lacking;
    /** By step of a pair and half of A. */
    float of_rows[2][2] = {};

    static __device__ inline uint32_t allocate(shared_allocator<> &) { return 0; }
    template <typename GL>
    __device__ inline scales_of_rows(const GL &scales, const share &at, int row, uint32_t, int lacking)
        : lacking(lacking) {
        const auto pitch = static_cast<uint32_t>(scales.cols() * sizeof(float));
        resource = make_srsrc(&scales[{at.a, at.first, 0}], static_cast<uint32_t>(at.rows) * pitch);
        offset = static_cast<uint32_t>(row) * pitch;
        second = second_row * pitch;
    }
    template <int step, int half>
    __device__ inline void load(int pair) {
        const int block = detail::max((2 * pair + step) * along_k<T>::K_STEP - lacking, 0) / BLOCK;
        asm volatile("buffer_load_dword %0, %1, %2, %3 offen"
                     : "+v"(of_rows[step][half])
                     : "v"(offset + half * second), "s"(resource), "s"(block * static_cast<int>(sizeof(float)))
                     : "memory");
    }
    __device__ inline void start_first() {
        load<0, 0>(0);
        load<0, 1>(0);
        load<1, 0>(0);
        load<1, 1>(0);
    }
    template <int turn>
    __device__ inline void start(int next) {
        if constexpr (turn % 2 == 1) load<turn / 4, turn / 2 % 2>(next);
    }
    /** Loads of turns 1 to `turn`, at most the last five of them. */
    template <int turn>
    static constexpr int loads = (turn + 1) / 2 - (turn > 5 ? (turn - 4) / 2 : 0);
    __device__ inline void take_first() {}
    template <int turn>
    __device__ inline float take() {
        constexpr int step = turn / 4 % 2, half = turn / 2 % 2;
        asm volatile("" : "+v"(of_rows[step][half]));
        return of_rows[step][half];
    }
};
#endif

/**
 * @brief A has a float for each 128 columns of a row, (M, K / 128), B one for each 128 x 128, (N / 128, K / 128).
 *
 * The matrix instructions of a step add to zeros. Their results are multiplied by the scales and added in the next
 * memory cluster, when they have long arrived, and while the other wave of the SIMD uses the matrix cores. K is a
 * multiple of a block, so that a step lies in one block.
 *
 * A's scales for the 64 rows of a quarter are one register, a row for each lane, from which each lane fetches those of
 * its rows. B's scales are the same for all lanes, and are loaded by scalar
 * instructions; a wave's columns are in one block if B's rows run along K, else those of each quarter are.
 */
struct block_sums {
    static constexpr int BLOCK = 128;
    struct arguments {
        gl<float, 1, -1, -1, -1> scale_a, scale_b;
    };
    template <typename T>
    using number = float;
    static constexpr bool scaled = true;
    static __device__ inline uint32_t allocate(shared_allocator<> &al) { return scales_of_rows<bf16, 0>::allocate(al); }

    template <typename T, ducks::rt::all Quarter, typename Place>
    struct of_wave {
        static constexpr int K_STEP = along_k<T>::K_STEP;
        /** True if the columns of a wave's two quarters are in one block of B. */
        static constexpr bool one_square = Place::SECOND_COL < BLOCK;
        static constexpr int SQUARES = one_square ? 1 : 2;
        static_assert(Quarter::rows == WARP_THREADS && BLOCK % K_STEP == 0);
        using constant_floats = const float __attribute__((address_space(4))) *;

        scales_of_rows<T, Place::SECOND_ROW> rows;
        int first_lane;
        constant_floats scales_of_b[SQUARES];
        int lacking;
        /** By step of a pair and quarter of B. */
        float of_b[2][SQUARES];
        float factors[Quarter::height];
        rt<typename along_k<T>::sum, Quarter::rows, Quarter::cols, row_l, rt_16x16_s> products;

        /** @param lacking columns of zeros before K. */
        template <typename G>
        __device__ inline of_wave(const G &g, const share &at, const Place &place, uint32_t lds, int lacking)
            : rows(g.scale_a, at, place.lane_row, lds, lacking), first_lane(laneid() % 16 * 4), lacking(lacking) {
#pragma unroll
            for (int j = 0; j < SQUARES; j++) {
                // Columns past the last of C have no scales and need none.
                const int square =
                    detail::min((place.col + j * Place::SECOND_COL) / BLOCK, static_cast<int>(g.scale_b.rows()) - 1);
                scales_of_b[j] = (constant_floats)(&g.scale_b[{at.b, square, 0}]);
            }
        }

        /** Block of step `step` of pair `pair`; the zeros before K count as the first block. */
        __device__ inline int block(int pair, int step) const {
            return detail::max((2 * pair + step) * K_STEP - lacking, 0) / BLOCK;
        }
        __device__ inline void load_of_b(int pair) {
#pragma unroll
            for (int j = 0; j < SQUARES; j++) {
                of_b[0][j] = scales_of_b[j][block(pair, 0)];
                of_b[1][j] = scales_of_b[j][block(pair, 1)];
            }
        }
        /** Loads all scales of the first pair of steps, before its operands. */
        __device__ inline void start_first() {
            rows.start_first();
            load_of_b(0);
        }
        /** Starts for pair `pair`, the next one, in turn `turn`, 1 to 8, before it starts loading a half. */
        template <int turn>
        __device__ inline void start(int pair) {
            rows.template start<turn>(pair);
            if constexpr (turn == 7) load_of_b(pair);
        }
        template <int turn>
        static constexpr int loads = decltype(rows)::template loads<turn>;

        __device__ inline void take_first() {
            rows.take_first();
            take<0>();
        }
        /** The factors of turn `turn`, and of the next if they are the same, from the data that has arrived. */
        template <int turn>
        __device__ inline void take() {
            const float of_row = rows.template take<turn>();
            if constexpr (turn % 2 == 0 || !one_square) {
                const int scaled = detail::bit_cast<int>(of_row * of_b[turn / 4 % 2][one_square ? 0 : turn % 2]);
#pragma unroll
                for (int x = 0; x < Quarter::height; x++)
                    factors[x] = detail::bit_cast<float>(__builtin_amdgcn_ds_bpermute(first_lane + 64 * x, scaled));
            }
        }

        /** @tparam quarter of B. */
        template <int quarter, ducks::rt::all A, ducks::rt::all B>
        __device__ inline void multiply(Quarter &, const A &a, const B &b) {
            zero(products);
            mma_ABt(products, a, b, products);
        }
        /** Adds the results of `multiply` to the sums of the same turn. */
        __device__ inline void finish(Quarter &sums) {
            Quarter numbers;
            copy(numbers, products);
#pragma unroll
            for (int x = 0; x < Quarter::height; x++)
#pragma unroll
                for (int y = 0; y < Quarter::width; y++) {
                    auto total = detail::bit_cast<detail::f32x4>(sums.tiles[x][y]);
                    const auto made = detail::bit_cast<detail::f32x4>(numbers.tiles[x][y]);
#pragma unroll
                    for (int e = 0; e < 4; e++) {
                        float sum = __builtin_fmaf(factors[x], made[e], total[e]);
                        // Added here, not where the sums are finally used, since the compiler would keep all products
                        // until then; and one by one, since packed instructions do not overlap the other wave's matrix
                        // instructions.
                        asm volatile("" : "+v"(sum));
                        total[e] = sum;
                    }
                    __builtin_memcpy(sums.tiles[x][y].data, &total, sizeof(total));
                }
        }
    };
};

#if defined(KITTENS_CDNA4)
/**
 * @brief A and B of fp8 or fp4 have a power of two for each 32 columns of a row: fp8e8m0, (M, K / 32) and
 * (N, K / 32).
 *
 * A step is four blocks of fp8, so a row's scales for it are a word; of fp4 it is eight, two words. A lane reads the
 * words of its row of a quarter of A, or of the 64 rows of B, from shared memory, a turn before their use. The matrix
 * instructions want them the other way round: in lane l, the scales of four rows l % 16 for block l / 16. That is a
 * transposition of four bytes in four groups of lanes.
 */
struct power_sums {
    static constexpr int BLOCK = 32;
    struct arguments {
        gl<fp8e8m0, 1, -1, -1, -1> scale_a, scale_b;
    };
    template <typename T>
    using number = float;
    static constexpr bool scaled = true;
    static __device__ inline uint32_t allocate(shared_allocator<> &al) { return words_of_steps<>::allocate(al); }

    template <typename T, ducks::rt::all Quarter, typename Place>
    struct of_wave {
        /** Elements of T whose scales are a word, and words of a step. */
        static constexpr int OF_WORD = 4 * BLOCK / detail::numbers_in<T>;
        static constexpr int WORDS = along_k<T>::K_STEP / OF_WORD;
        static_assert(Quarter::rows == WARP_THREADS && 2 * Quarter::cols == WARP_THREADS && WORDS > 0);
        using words_in_memory = words_of_steps<WORDS>;

        words_in_memory words;
        /** Addresses of this lane's words of the first slot. */
        uint32_t at_a, at_b;
        /** The pair of steps in use. */
        int pair = 0;
        unsigned words_a[WORDS], words_b[WORDS];
        /** Scales of four base tiles, as the instructions take them: of a half of A, and of both quarters of B. */
        fp8e8m0_4 scales_a[WORDS], scales_b[WORDS];
        /** Bytes that a lane takes from two words, in both stages of the transposition. */
        unsigned pairs, bytes;

        /** @param lacking columns of zeros before K. */
        template <typename G>
        __device__ inline of_wave(const G &g, const share &at, const Place &place, uint32_t lds, int lacking)
            : words(words_for(g, at, lds, lacking / OF_WORD)) {
            constexpr int row_bytes = words_in_memory::ROW_BYTES;
            at_a = lds + static_cast<uint32_t>((place.lane_row - at.row) * row_bytes);
            at_b = lds + static_cast<uint32_t>(
                             (HALVES_TILE + place.lane_col - at.col + laneid() / Quarter::cols * Place::SECOND_COL) *
                             row_bytes);
            pairs = laneid() / 32 == 0 ? 0x05040100u : 0x07060302u;
            bytes = laneid() / 16 % 2 == 0 ? 0x06020400u : 0x07030501u;
        }
        /** Of eight waves, the lower four load A's words. */
        template <typename G>
        static __device__ inline words_in_memory words_for(const G &g, const share &at, uint32_t lds, int lacking) {
            const int row = warpid() * WARP_THREADS;
            if (row < HALVES_TILE) return {g.scale_a, at.a, at.first, at.rows, at.row + row, lds, lacking};
            return {g.scale_b, at.b, 0, static_cast<int>(g.scale_b.rows()), at.col + row - HALVES_TILE, lds, lacking};
        }

        static __device__ inline unsigned word_at(uint32_t address) {
            return *(detail::shared_pointer<const unsigned>)address;
        }
        /** Starts reading the words of turn `turn`. */
        template <int turn>
        __device__ inline void read() {
            constexpr int step = turn / 4 % 2, half = turn / 2 % 2;
#pragma unroll
            for (int word = 0; word < WORDS; word++) {
                const uint32_t at = words.place(pair, step, word);
                if constexpr (turn % 4 == 0) words_b[word] = word_at(at_b + at);
                words_a[word] = word_at(at_a + at + half * Place::SECOND_ROW * words_in_memory::ROW_BYTES);
            }
        }
        /** Loads the scales of the first two pairs of steps, before their operands. */
        __device__ inline void start_first() { words.start(0); }
        /** Starts for pair `pair`, the next one, in turn `turn`, 1 to 8, before it starts loading a half. */
        template <int turn>
        __device__ inline void start(int next) {
            if constexpr (turn == 1)
                if (words.is_first_of_group(next)) words.start(next);
            if constexpr (turn == 7) {
                pair = next;
                read<8>();
            }
        }
        /** Loads that a wait need not cover: none is counted, since not every pair starts one. */
        template <int turn>
        static constexpr int loads = 0;

        __device__ inline fp8e8m0_4 transposed(unsigned word) const {
            const auto halves = detail::both_groups<32>(word);
            const auto groups = detail::both_groups<16>(__builtin_amdgcn_perm(halves[1], halves[0], pairs));
            return __builtin_amdgcn_perm(groups[1], groups[0], bytes);
        }
        /** The scales of the first turn. */
        __device__ inline void take_first() {
            read<0>();
            take<0>();
        }
        /** The scales of turn `turn` and the next, if it is even; else starts reading those of the next. */
        template <int turn>
        __device__ inline void take() {
            if constexpr (turn % 2 == 0) {
#pragma unroll
                for (int word = 0; word < WORDS; word++) {
                    if constexpr (turn % 4 == 0) scales_b[word] = transposed(words_b[word]);
                    scales_a[word] = transposed(words_a[word]);
                }
            } else if constexpr (turn < 7) {
                read<turn + 1>();
            }
        }

        /** @tparam quarter of B. */
        template <int quarter, ducks::rt::all A, ducks::rt::all B>
        __device__ inline void multiply(Quarter &sums, const A &a, const B &b) {
            // Word by word, so that an instruction does not wait for the one before.
            detail::for_constants<WORDS>([&]<int word>() {
                detail::for_constants<Quarter::height>([&]<int x>() {
                    detail::for_constants<Quarter::width>([&]<int y>() {
                        mma_ABt_base_scaled<x, quarter * Quarter::width + y>(sums.tiles[x][y], a.tiles[x][word],
                                                                             b.tiles[y][word], sums.tiles[x][y],
                                                                             &scales_a[word], &scales_b[word]);
                    });
                });
            });
        }
        /** Holds the sums here: else the compiler multiplies the last step just before its results are stored. */
        __device__ inline void finish(Quarter &sums) { schedules::arrive(sums); }
    };
};
#endif

} // namespace kittens::families::gemm
