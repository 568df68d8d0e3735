/**
 * @file
 * @brief Mixtures of experts: the rows of tokens that a work-group multiplies by an expert's matrix, and the rows of
 * the result.
 *
 * A list holds pairs of a token and one of its `top_k` experts as id = token * top_k + index, sorted by expert.
 */
#pragma once

#include "kittens.cuh"

namespace kittens::families::experts {

/** Entries of a list for one expert; none if a work-group has nothing to do. */
struct entries {
    /** Negative if the entries' rows are zeros. */
    int expert;
    /** First entry, and the number of entries. */
    int first, rows;
};

/** Entries of experts, padded to whole blocks of one expert each; ids from `valid` on are padding. */
struct sorted_blocks {
    const int *sorted_token_ids, *expert_ids, *num_tokens_post_padded;
    /** Entries of a block. */
    int block;
    /** Pairs that there are. */
    int valid;
    int top_k;

    /** @param tile index of a tile of ROWS entries; a block is a multiple of tiles. */
    template <int ROWS>
    __device__ inline entries find(int tile, int) const {
        const int first = tile * ROWS;
        if (first >= *num_tokens_post_padded) return {};
        return {expert_ids[first / block], first, ROWS};
    }
    /** An entry's id; -1 for padding. */
    __device__ inline int id(int entry) const {
        const int found = sorted_token_ids[entry];
        return found < valid ? found : -1;
    }
    __device__ inline int token(int entry) const {
        const int found = id(entry);
        return found < 0 ? -1 : found / top_k;
    }
    /** The row of C. */
    __device__ inline int place(int entry) const { return id(entry); }
};

/** Entries of the experts, any number for each, without padding. */
struct ragged {
    /** The first entry of each expert, then the number of entries. */
    const int *offsets;
    /** Ids; null if entry i is row i of A. */
    const int *gather;
    int top_k;

    template <int ROWS>
    __device__ inline entries find(int tile, int experts) const {
        for (int expert = 0; expert < experts; expert++) {
            const int first = offsets[expert], rows = offsets[expert + 1] - first, tiles = ceil_div(rows, ROWS);
            if (tile < tiles) return {expert, first + tile * ROWS, detail::min(rows - tile * ROWS, ROWS)};
            tile -= tiles;
        }
        return {};
    }
    __device__ inline int id(int entry) const { return gather == nullptr ? entry : gather[entry]; }
    __device__ inline int token(int entry) const { return gather == nullptr ? entry : gather[entry] / top_k; }
    __device__ inline int place(int entry) const { return entry; }
};

} // namespace kittens::families::experts
