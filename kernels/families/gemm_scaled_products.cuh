/**
 * @file
 * @brief Matrix multiplication: the products of a step along K with scales for blocks of columns.
 *
 * The kinds of scales of both operands and the element types determine the products:
 *   - Powers of two are applied to elements. On gfx950 the matrix instructions take them with fp8, fp6 and fp4. On
 *     other
 *     targets, and for a product with bf16 or int8, elements times scales are converted to bf16 in registers, which is
 *     exact.
 *   - Floats are applied to sums: a block's products are summed separately, then scaled and added. Elements are
 *     multiplied without conversion if both operands have the same type, else as bf16.
 */
#pragma once

#include "families/gemm_epilogue.cuh"
#include "families/gemm_operands.cuh"

namespace kittens::families::gemm {

/** Rows and columns of C per wave if operands pass through shared memory, at most 64, and whether scales do too. */
template <int ROWS = 64, int COLS = 64, bool words = false>
struct by_shared_memory {
    static constexpr int rows = ROWS, cols = COLS;
    static constexpr bool direct = false;
    /** Whether a step may have two registers of scales, which are many loads if each loads its bytes. */
    static constexpr bool of_lines = words;
};
/** Tile of a wave whose operands come straight from global memory: 16 to 64 rows and columns. */
template <int ROWS, int COLS>
struct by_registers {
    static constexpr int rows = ROWS, cols = COLS;
    static constexpr bool direct = true, of_lines = true;
};

/** A lane's position in an operand: the wave's first row, the matrix, and the columns before the step. */
struct step_place {
    int matrix, row, column;
};

/**
 * @brief Loads of a step's scales to shared memory: a word or two for each row of a tile, 64 rows per wave.
 *
 * A word is a float, or four powers of two.
 */
struct words_ahead {
    i32x4 resource;
    /** Bytes from the first scale to this lane's, from one word to the next, and from the first to the last. */
    uint32_t offset, step, last;

    /**
     * @brief Starts loading the words of step `index`.
     *
     * @param apart bytes of shared memory from the rows' first words to their second ones.
     */
    template <int words>
    __device__ inline void start(uint32_t lds, uint32_t apart, int index) const {
        // The same in all lanes, but the compiler may have put it in vector registers, since each wave has its own.
        i32x4 uniform = resource;
#pragma unroll
        for (int i = 0; i < 4; i++) uniform[i] = __builtin_amdgcn_readfirstlane(uniform[i]);
        const auto at = static_cast<uint32_t>(__builtin_amdgcn_readfirstlane(index * words * static_cast<int>(step)));
        detail::load_direct<4, 0>(uniform, lds, offset, at);
        // K may end with half a step, whose second word is multiplied by zeros, but must be of the same row.
        if constexpr (words == 2)
            detail::load_direct<4, 0>(uniform, lds + apart, offset, at + step < last ? at + step : last);
    }
    /** Words in rows of `scales`; a step uses four bytes. */
    template <ducks::gl::all GL>
    static __device__ inline words_ahead in_rows(const GL &scales, int matrix, int row) {
        const auto pitch = static_cast<uint32_t>(scales.cols() * sizeof(typename GL::dtype));
        const int inside = detail::max(static_cast<int>(scales.rows()) - row, 0);
        const int first = detail::min(row, static_cast<int>(scales.rows()) - 1);
        return {make_srsrc(&scales[{matrix, first, 0}], static_cast<uint32_t>(inside) * pitch),
                static_cast<uint32_t>(laneid()) * pitch, 4, pitch - 4};
    }
    /** The same for floats in columns. */
    template <ducks::gl::all GL>
    static __device__ inline words_ahead in_columns(const GL &scales, int matrix, int column) {
        const auto pitch = static_cast<uint32_t>(scales.cols() * sizeof(float));
        const auto at = static_cast<uint32_t>(column + laneid()) * static_cast<uint32_t>(sizeof(float));
        // The step's part of a lane's offset is not checked against the range.
        return {make_srsrc(&scales[{matrix, 0, 0}], static_cast<uint32_t>(scales.rows()) * pitch),
                at < pitch ? at : detail::OUT_OF_RANGE, pitch, 0};
    }
};

/** For kinds of scales that store no words. */
struct no_words {
    static constexpr bool words = false;
};

/** No scale. */
struct unscaled : no_words {
    static constexpr bool floats = false;
    struct of_a {};
    struct of_b {};
    struct none {};
    template <int, typename>
    using registers = none;
    template <int, typename, typename G>
    static __device__ inline none read_a(const G &, const step_place &) {
        return {};
    }
    template <int, typename, typename G>
    static __device__ inline none read_b(const G &, const step_place &) {
        return {};
    }
    template <int, typename Sums, typename G, typename Words>
    static __device__ inline none take_a(const G &, Words &, int) {
        return {};
    }
    template <int, typename Sums, typename G, typename Words>
    static __device__ inline none take_b(const G &, Words &, int, const step_place &) {
        return {};
    }
};

/** Powers of two for blocks of 32 columns of a row: fp8e8m0, 1 to 254. */
struct powers {
    static constexpr bool floats = false;
    static constexpr bool words = true;
    struct of_a {
        gl<fp8e8m0, 1, -1, -1, -1> scale_a;
    };
    struct of_b {
        gl<fp8e8m0, 1, -1, -1, -1> scale_b;
    };
    /** In each base tile, a lane has one of a step's blocks if there are four, both if there are two. Of eight it has
     * two, as two base tiles take them. */
    template <int columns>
    struct of_step {
        static constexpr int blocks = columns == 64 ? 1 : 4;
        static constexpr int parts = columns / 32 / blocks;
        fp8e8m0_4 of[parts];
    };
    template <int columns, typename>
    using registers = of_step<columns>;
    template <int columns, int tiles, ducks::gl::all GL>
    static __device__ inline of_step<columns> read(const GL &scales, const step_place &at) {
        of_step<columns> made;
        constexpr int parts = of_step<columns>::parts, blocks = of_step<columns>::blocks;
#pragma unroll
        for (int part = 0; part < parts; part++) {
            int block = at.column / 32 + part * blocks;
            // See `words_ahead::start`.
            if constexpr (parts * blocks == 8) block = block < static_cast<int>(scales.cols()) ? block : 0;
            made.of[part] = load_scales<blocks, tiles>(scales, {0, at.matrix, at.row, block});
        }
        return made;
    }
    template <int columns, typename Sums, typename G>
    static __device__ inline of_step<columns> read_a(const G &g, const step_place &at) {
        return read<columns, Sums::height>(g.scale_a, at);
    }
    template <int columns, typename Sums, typename G>
    static __device__ inline of_step<columns> read_b(const G &g, const step_place &at) {
        return read<columns, Sums::width>(g.scale_b, at);
    }
    template <typename G>
    static __device__ inline words_ahead ahead_of_a(const G &g, int matrix, int row) {
        return words_ahead::in_rows(g.scale_a, matrix, row);
    }
    template <typename G>
    static __device__ inline words_ahead ahead_of_b(const G &g, int matrix, int row) {
        return words_ahead::in_rows(g.scale_b, matrix, row);
    }
    /** For base tiles from row `row` on: a lane gets the byte of its row and block. */
    template <int columns, int tiles, typename Words>
    static __device__ inline of_step<columns> take(Words &words, int row) {
        constexpr int parts = of_step<columns>::parts;
        static_assert(of_step<columns>::blocks == 4, "gemm: words have four blocks");
        of_step<columns> made;
#pragma unroll
        for (int part = 0; part < parts; part++) {
            made.of[part] = 0;
            const auto *bytes = (detail::shared_pointer<const unsigned char>)reinterpret_cast<const unsigned char *>(
                &words.data[part * (Words::length / parts) + row + laneid() % 16]);
#pragma unroll
            for (int n = 0; n < tiles; n++)
                made.of[part] |= static_cast<fp8e8m0_4>(bytes[n * 64 + laneid() / 16]) << (n * 8);
        }
        return made;
    }
    template <int columns, typename Sums, typename G, typename Words>
    static __device__ inline of_step<columns> take_a(const G &, Words &words, int index) {
        return take<columns, Sums::height>(words, index * Sums::rows);
    }
    template <int columns, typename Sums, typename G, typename Words>
    static __device__ inline of_step<columns> take_b(const G &, Words &words, int index, const step_place &) {
        return take<columns, Sums::width>(words, index * Sums::cols);
    }
};

/** Floats for blocks of `block` columns of each row of A, (M, K / block). */
template <int block>
struct floats_of_rows {
    static constexpr bool floats = true;
    static constexpr bool words = true;
    static constexpr int columns = block;
    struct of_a {
        gl<float, 1, -1, -1, -1> scale_a;
    };
    template <int, typename Sums>
    using registers = typename Sums::col_vec;
    template <int, typename Sums, typename G>
    static __device__ inline typename Sums::col_vec read_a(const G &g, const step_place &at) {
        typename Sums::col_vec made;
        load_along(made, g.scale_a, {0, at.matrix, at.row, at.column / block});
        return made;
    }
    template <typename G>
    static __device__ inline words_ahead ahead_of_a(const G &g, int matrix, int row) {
        return words_ahead::in_rows(g.scale_a, matrix, row);
    }
    template <int, typename Sums, typename G, typename Words>
    static __device__ inline typename Sums::col_vec take_a(const G &, Words &words, int index) {
        typename Sums::col_vec made;
        load(made, subvec_inplace<Sums::rows>(words, index));
        return made;
    }
};

/** Floats for blocks of `block` columns of each row of B, (K / block, N). */
template <int block>
struct floats_of_columns {
    static constexpr bool floats = true;
    static constexpr bool words = true;
    static constexpr int columns = block;
    struct of_b {
        gl<float, 1, -1, -1, -1> scale_b;
    };
    template <int, typename Sums>
    using registers = typename Sums::row_vec;
    template <int, typename Sums, typename G>
    static __device__ inline typename Sums::row_vec read_b(const G &g, const step_place &at) {
        typename Sums::row_vec made;
        load(made, g.scale_b, {0, at.matrix, at.column / block, at.row / Sums::cols});
        return made;
    }
    template <typename G>
    static __device__ inline words_ahead ahead_of_b(const G &g, int matrix, int row) {
        return words_ahead::in_columns(g.scale_b, matrix, row);
    }
    template <int, typename Sums, typename G, typename Words>
    static __device__ inline typename Sums::row_vec take_b(const G &, Words &words, int index, const step_place &) {
        typename Sums::row_vec made;
        load(made, subvec_inplace<Sums::cols>(words, index));
        return made;
    }
};

/** Floats for squares of `block` rows and columns of B, (N / block, K / block). */
template <int block>
struct floats_of_squares : no_words {
    static_assert(block % 64 == 0, "gemm: a wave's rows of B have one scale");
    static constexpr bool floats = true;
    static constexpr int columns = block;
    struct of_b {
        gl<float, 1, -1, -1, -1> scale_b;
    };
    template <int, typename>
    using registers = float;
    template <int, typename, typename G>
    static __device__ inline float read_b(const G &g, const step_place &at) {
        return g.scale_b[{at.matrix, at.row / block, at.column / block}];
    }
    /** A scalar load, whose wait does not include later vector loads. Columns past the last have no scales. */
    template <int, typename, typename G, typename Words>
    static __device__ inline float take_b(const G &g, Words &, int, const step_place &at) {
        using constant_floats = const float __attribute__((address_space(4))) *;
        const int square = detail::min(at.row / block, static_cast<int>(g.scale_b.rows()) - 1);
        return ((constant_floats)(&g.scale_b[{at.matrix, square, 0}]))[at.column / block];
    }
};

/**
 * @brief Products of a step.
 *
 * @tparam TA,TB element types: bf16, int8, fp8, fours of fp6 or pairs of fp4.
 * @tparam ScaleA unscaled, powers or floats_of_rows.
 * @tparam ScaleB unscaled, powers, floats_of_columns or floats_of_squares.
 * @tparam Part the tile of a wave, and the source of its operands.
 */
template <typename TA, typename TB, typename ScaleA, typename ScaleB, typename Part = by_shared_memory<>>
struct scaled_products {
    static constexpr bool small = sizeof(TA) == 1 && sizeof(TB) == 1;
    static constexpr bool alike = detail::is_same<TA, TB>;
    static constexpr bool floats = ScaleA::floats || ScaleB::floats;
    template <typename T>
    static constexpr bool is_microscaled = detail::matrix_format<T> >= 0;
#if defined(KITTENS_CDNA4)
    /** True if the matrix instructions take the scales. */
    static constexpr bool by_instruction = !floats && is_microscaled<TA> && is_microscaled<TB>;
#else
    static constexpr bool by_instruction = false;
#endif
    /** True if both are multiplied without conversion. */
    static constexpr bool as_stored = by_instruction || (floats && alike);
    static constexpr bool wide = sizeof(TA) == 2 || sizeof(TB) == 2;
    static constexpr bool one_block = detail::is_same<ScaleB, floats_of_columns<32>>;
    static constexpr bool lines_of_fp4 =
        Part::of_lines && by_instruction && detail::numbers_in<TA> == 2 && detail::numbers_in<TB> == 2;
    /** Columns per step: a block of float scales, or a line of 128 bytes of a row of bf16, fp8 or fp4. */
    static constexpr int COLUMNS = one_block ? 32 : wide && !Part::direct ? 64 : lines_of_fp4 ? 256 : 128;
    /** Words of powers of two for each row of a step. */
    static constexpr int WORDS = lines_of_fp4 ? 2 : 1;
    /** Consecutive elements of a row per lane if elements are converted to bf16: with a bf16 operand, as many as one
     * read of it from shared memory, else a block of powers of two. */
    static constexpr int RUN = wide && (!Part::direct || one_block) ? 8 : 32;

    /** True if a lane's loads straight to shared memory have 16 bytes, and the swizzle keeps their pieces together. */
    static constexpr bool BY_16_BYTES = MAX_DIRECT_LOAD_BYTES == 16;

    /** An operand of a step, for `operand_along_k`. */
    template <typename T>
    struct operand {
        using element = T;
        static constexpr int numbers = detail::numbers_in<T>;
        using stored = detail::select<numbers == 1, T, unsigned char>;
        static constexpr int K_STEP = COLUMNS / numbers;
        /** On gfx942, reads of 8 bytes of 16 rows need an order with pieces of that size. */
        static constexpr bool short_pieces = !BY_16_BYTES && !as_stored && sizeof(T) == 1 && RUN / numbers == 8;
        using shared_shape = detail::select<K_STEP == 128, st_16x128_s,
                                            detail::select<K_STEP == 64 && !short_pieces, st_16x64_s, st_16x32_s>>;
        using matrix_shape = detail::select<sizeof(T) == 2 || K_STEP == 32, rt_16x32_s,
                                            detail::select<K_STEP == 128 && numbers == 1, rt_16x128_s, rt_16x64_s>>;
        /** If elements are converted to bf16, a lane holds equally many consecutive elements of both operands. */
        using shape = detail::select<as_stored, matrix_shape, rt_shape<16, K_STEP, RUN / numbers>>;
    };
    /** The maximum: elements converted to bf16 need more than half of the registers. */
    static constexpr int waves_per_simd = as_stored || wide ? 2 : 1;

    using sums = rt_fl<Part::rows, Part::cols, row_l, rt_16x16_s>;
    struct scales {
        typename ScaleA::template registers<COLUMNS, sums> of_a;
        typename ScaleB::template registers<COLUMNS, sums> of_b;
    };
    /** Scales of step `step`, for rows `row` and columns `col` of C. */
    template <typename G>
    static __device__ inline scales read(const G &g, const share &at, int row, int col, int step) {
        return {ScaleA::template read_a<COLUMNS, sums>(g, {at.a, row, step * COLUMNS}),
                ScaleB::template read_b<COLUMNS, sums>(g, {at.b, col, step * COLUMNS})};
    }

    /** True if scales can pass through shared memory, with words for each row of a step. */
    static constexpr bool by_words = COLUMNS >= 128 && !Part::direct;
    /** Scales of step `step` from words in shared memory, of part `row` of the tile and, at column `col` of C, `part`.
     */
    template <typename G, typename WordsA, typename WordsB>
    static __device__ inline scales take(const G &g, WordsA &of_rows, WordsB &of_cols, int row, int part,
                                         const step_place &at) {
        return {ScaleA::template take_a<COLUMNS, sums>(g, of_rows, row),
                ScaleB::template take_b<COLUMNS, sums>(g, of_cols, part, at)};
    }

    using of_a = operand<TA>;
    using of_b = operand<TB>;
    struct arguments : ScaleA::of_a, ScaleB::of_b {};

    template <typename A, typename B>
    static __device__ inline void multiply(sums &c, const A &a, const B &b, const scales &by) {
        if constexpr (floats) {
            rt<typename along_k<detail::select<as_stored, TA, bf16>>::sum, sums::rows, sums::cols, row_l, rt_16x16_s>
                products;
            zero(products);
            if constexpr (as_stored)
                mma_ABt(products, a, b, products);
            else
                multiply_as_bf16(products, a, b, by);
            sums numbers;
            copy(numbers, products);
            add_scaled(c, numbers, by);
        } else if constexpr (by_instruction) {
            mma_ABt_scaled(c, a, b, c, registers_of(by.of_a).of, registers_of(by.of_b).of);
        } else {
            multiply_as_bf16(c, a, b, by);
        }
    }

  private:
    template <typename Scale>
    static constexpr bool are_powers = detail::is_same<Scale, powers::of_step<COLUMNS>>;

    /** The scales, or four scales of one. */
    template <typename Scale>
    static __device__ inline auto registers_of(const Scale &scales) {
        if constexpr (are_powers<Scale>) {
            return scales;
        } else {
            static_assert(WORDS == 1);
            return powers::of_step<COLUMNS>{{0x7f7f7f7fu}};
        }
    }

    using wide_tile = rt<bf16, 16, COLUMNS, row_l, rt_shape<16, COLUMNS, RUN>>;

    /** Base tile `index` of an operand with its scales, bytes `index` of registers. */
    template <typename A, typename Scale>
    static __device__ inline void widen_rows(wide_tile &rows, const A &a, int index, const Scale &by) {
        if constexpr (are_powers<Scale>) {
            float scales[Scale::parts];
#pragma unroll
            for (int part = 0; part < Scale::parts; part++)
                scales[part] = __builtin_bit_cast(float, (by.of[part] >> (8 * index) & 255u) << 23);
            widen(rows.tiles[0][0], a.tiles[index][0], scales);
        } else {
            const float ones[1] = {1.0f};
            widen(rows.tiles[0][0], a.tiles[index][0], ones);
        }
    }
    template <typename C, typename A, typename B>
    static __device__ inline void multiply_as_bf16(C &c, const A &a, const B &b, const scales &by) {
        wide_tile right[sums::width];
#pragma unroll
        for (int j = 0; j < sums::width; j++) widen_rows(right[j], b, j, by.of_b);
#pragma unroll
        for (int i = 0; i < sums::height; i++) {
            wide_tile left;
            widen_rows(left, a, i, by.of_a);
#pragma unroll
            for (int j = 0; j < sums::width; j++)
                mma_ABt_base(c.tiles[i][j], left.tiles[0][0], right[j].tiles[0][0], c.tiles[i][j]);
        }
    }

    /** c += products times the factors of their rows and columns. */
    static __device__ inline void add_scaled(sums &c, sums &products, const scales &by) {
        constexpr bool of_columns =
            detail::is_same<typename ScaleB::template registers<COLUMNS, sums>, typename sums::row_vec>;
        if constexpr (!ScaleA::floats) {
            if constexpr (of_columns)
                col_map<base_ops::fma_AxCtB>(c, products, c, by.of_b);
            else
                map(c, c, products, [&](float sum, float x) { return __builtin_fmaf(by.of_b, x, sum); });
        } else {
            typename sums::col_vec factors = by.of_a;
            if constexpr (of_columns)
                mul_col(products, products, by.of_b);
            else if constexpr (ScaleB::floats)
                mul(factors, factors, by.of_b);
            row_map<base_ops::fma_AxCtB>(c, products, c, factors);
        }
    }
};

/** fp8 or int8, also stored as bf16, with a float for each 128 columns of a row of A; B has floats for squares of 128
 * or for columns.
 */
template <typename T>
using blocks_of_128 = scaled_products<T, T, floats_of_rows<128>, floats_of_squares<128>>;
template <typename T>
using columns_of_128 = scaled_products<T, T, floats_of_rows<128>, floats_of_columns<128>>;
/** The OCP microscaling formats; A may have another type, without scales. */
template <typename T>
using microscaled = scaled_products<T, T, powers, powers>;
template <typename TA, typename TB>
using microscaled_weights = scaled_products<TA, TB, unscaled, powers>;

} // namespace kittens::families::gemm
