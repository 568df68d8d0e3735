/**
 * @file
 * @brief Matrix multiplication: a kernel's arguments, and the part that a work-group computes.
 */
#pragma once

#include "kittens.cuh"

namespace kittens::families::gemm {

/** Storage of A and B, row-major: A is M x K (n) or K x M (t), B is K x N (n) or N x K (t). */
enum class layout { nt, nn, tn, tt };
/** True if the rows of A (B) run along K. */
constexpr bool is_a_along_k(layout stored) { return stored == layout::nt || stored == layout::nn; }
constexpr bool is_b_along_k(layout stored) { return stored == layout::nt || stored == layout::tt; }

/** The tile of C of a work-group, in a run of rows of C that belong to one product. */
struct share {
    /** Indices of the matrices of A, B and C. */
    int a, b, c;
    /** The run's first row in A and C, and its number of rows; zero if the work-group has no work. */
    int first, rows;
    /** First row, relative to the run's, and first column of the tile. */
    int row, col;
    /** Columns of A that are multiplied; they begin at a multiple of a step. */
    int begin, end;
    /** Columns of A before those, for operands across K: any number. */
    int skipped = 0;

    /** Distance between consecutive rows of a strip, which has 16. */
    static constexpr int apart = 1;
};

/** The same with rows dealt in turn to `strips` strips. The run has a multiple of that many rows. */
template <int strips>
struct share_in_turn : share {
    static constexpr int apart = strips;
};

/**
 * @brief C = A B of each matrix of a batch, which blockIdx.y counts; B may be the same for all.
 *
 * @tparam window,chunk order of the tiles, as in `chiplet_tile`; 0 keeps its choice.
 */
template <int window, int chunk>
struct ordered_batches {
    /** @param id index of the work-group among those of the matrix. */
    template <int TILE, int per_cu, int TILE_N = TILE, typename G>
    __device__ inline share find(const G &g, int k, int id = static_cast<int>(blockIdx.x)) const {
        const int m = static_cast<int>(g.c.rows()), n = static_cast<int>(g.c.cols());
        const int2 at = schedules::chiplet_tile(id, ceil_div(m, TILE), ceil_div(n, TILE_N), per_cu, window, chunk);
        const int batch = static_cast<int>(blockIdx.y);
        return {batch, g.b.depth() == 1 ? 0 : batch, batch, 0, m, at.x * TILE, at.y * TILE_N, 0, k};
    }
};

using batches = ordered_batches<0, 0>;

/** The same for the work-groups after the first `before`, which compute something else. */
struct batches_behind {
    int before;

    template <int TILE, int per_cu, int TILE_N = TILE, typename G>
    __device__ inline share find(const G &g, int k) const {
        return batches{}.find<TILE, per_cu, TILE_N>(g, k, static_cast<int>(blockIdx.x) - before);
    }
};

/** C holds a matrix for each part of K, with index blockIdx.y: sums over `span` columns of A. */
struct parts_of_k {
    /** A multiple of a step. */
    int span;

    template <int TILE, int per_cu, int TILE_N = TILE, typename G>
    __device__ inline share find(const G &g, int k) const {
        share found = batches{}.find<TILE, per_cu, TILE_N>(g, k);
        found.a = found.b = 0;
        found.begin = found.c * span;
        found.end = detail::min(k, found.begin + span);
        return found;
    }
};

/** Parts of K as above, with all sums added to one matrix C. */
struct parts_into_one {
    int span;

    template <int TILE, int per_cu, int TILE_N = TILE, typename G>
    __device__ inline share find(const G &g, int k) const {
        share found = parts_of_k{span}.find<TILE, per_cu, TILE_N>(g, k);
        found.c = 0;
        return found;
    }
};

/** Rows of A and C come in groups, each multiplied by its own matrix of B. */
struct groups {
    /** The first row of each group, and after the last the number of rows. */
    const int *offsets;

    template <int TILE, int per_cu, int TILE_N = TILE, typename G>
    __device__ inline share find(const G &g, int k) const {
        const int cols = ceil_div(static_cast<int>(g.c.cols()), TILE_N), count = static_cast<int>(g.b.depth());
        int id = static_cast<int>(blockIdx.x);
        for (int group = 0; group < count; group++) {
            const int first = offsets[group], rows = offsets[group + 1] - first;
            const int high = ceil_div(rows, TILE);
            if (id < high * cols) {
                const int2 at = schedules::windowed_tile(id, high, cols, 8);
                return {0, group, 0, first, rows, at.x * TILE, at.y * TILE_N, 0, k};
            }
            id -= high * cols;
        }
        return {};
    }
};

/** Rows of A and B, which run across K, come in groups: C holds the product of each, with index blockIdx.y. */
struct groups_of_k {
    /** The first row of each group, and after the last the number of rows. */
    const int *offsets;

    template <int TILE, int per_cu, int TILE_N = TILE, typename G>
    __device__ inline share find(const G &g, int k) const {
        share found = batches{}.find<TILE, per_cu, TILE_N>(g, k);
        found.a = found.b = 0;
        found.skipped = offsets[found.c];
        found.end = offsets[found.c + 1] - found.skipped;
        return found;
    }
};

/**
 * @brief A kernel's arguments: tensors (batch, rows, columns), row-major, and the members of problem and epilogue.
 *
 * @tparam T,U element types of A and of C.
 * @tparam TB element type of B.
 */
template <typename T, typename U, typename Problem, typename Epilogue, typename TB = T>
struct globals : Problem, Epilogue {
    gl<T, 1, -1, -1, -1> a;
    gl<TB, 1, -1, -1, -1> b;
    gl<U, 1, -1, -1, -1> c;
};

/** Rows `first` to `first + rows` of matrix `index` of a tensor. */
template <ducks::gl::all GL>
__device__ inline GL rows_of(const GL &whole, int index, int first, int rows) {
    return GL(whole.raw_ptr + whole.offset({0, index, first, 0}), nullptr, size_t{1}, static_cast<size_t>(rows),
              whole.cols());
}
/** The same for a run with rows dealt to strips in turn: depth counts within a strip, rows count strips. */
template <int strips, ducks::gl::all GL>
__device__ inline GL rows_in_turn_of(const GL &whole, int index, int first, int rows) {
    return GL(whole.raw_ptr + whole.offset({0, index, first, 0}), nullptr, static_cast<size_t>(rows / strips),
              size_t{strips}, whole.cols());
}
/** The same for a tensor stored as bytes, with elements of type T. */
template <typename T, ducks::gl::all GL>
__device__ inline gl<T, 1, -1, -1, -1> elements_of(const GL &whole, int index, int first, int rows) {
    constexpr size_t size = sizeof(T) / sizeof(typename GL::dtype);
    return gl<T, 1, -1, -1, -1>(reinterpret_cast<T *>(whole.raw_ptr + whole.offset({0, index, first, 0})), nullptr,
                                size_t{1}, static_cast<size_t>(rows), whole.cols() / size);
}
/** Matrix `index` of a tensor. */
template <ducks::gl::all GL>
__device__ inline GL matrix_of(const GL &whole, int index) {
    return rows_of(whole, index, 0, static_cast<int>(whole.rows()));
}

} // namespace kittens::families::gemm
