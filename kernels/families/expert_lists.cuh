/**
 * @file
 * @brief Mixtures of experts: which rows of tokens a work-group multiplies by which expert's matrix, and where they go.
 *
 * A list names pairs of a token and one of its `top_k` experts by id = token * top_k + which, in runs by expert.
 */
#pragma once

#include "kittens.cuh"

namespace kittens::families::experts {

/** Entries of a list for one expert; none if a work-group has nothing to do. */
struct entries {
    /** Negative where the entries' rows are zeros. */
    int expert;
    /** First entry, and how many there are. */
    int first, rows;
};

/** Every expert's entries padded to whole blocks, each with one expert; ids from `valid` on are padding. */
struct sorted_blocks {
    const int *sorted_token_ids, *expert_ids, *num_tokens_post_padded;
    /** Entries of a block. */
    int block;
    /** Pairs that there are. */
    int valid;
    int top_k;

    /** @param tile counts ROWS entries; a block is whole tiles. */
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
    /** The first entry of each expert, and after the last the number of entries. */
    const int *offsets;
    /** Ids; null where entry i is row i of A. */
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
