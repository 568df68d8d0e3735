/**
 * @file
 * @brief Assignment of a matrix's tiles to work-groups such that work-groups with common operands share an L2.
 */
#pragma once

#include "sequence.cuh"

namespace kittens::schedules {

/**
 * @brief Row and column, {x, y}, of tile number `id` of a grid of rows x cols tiles, in windows: `window` rows of
 * tiles, column by column, then the next `window` rows.
 *
 * Concurrent work-groups then form a block of about `window` rows rather than one long row: 64 tiles in windows of 8
 * rows read 8 row blocks of A and 8 of B; a row of 64 tiles reads 1 and 64. The result is a permutation for every size;
 * the last window has the remaining rows.
 */
__host__ __device__ constexpr int2 windowed_tile(int id, int rows, int cols, int window) {
    const int per_window = window * cols;
    const int first = id / per_window * window;
    const int height = rows - first < window ? rows - first : window;
    const int inside = id % per_window;
    return int2{first + inside % height, inside / height};
}

/**
 * @brief The same for a work-group of the launch, with a run of consecutive tiles for each XCD.
 *
 * The hardware assigns work-groups in turn to the XCDs (`chiplet_transform_chunked`), each of which has its own L2. A
 * run has as many tiles as an XCD computes at a time, or an XCD's share if there are fewer; windows are about as high
 * as a run is wide, rounded to a power of two.
 *
 * @param per_cu work-groups that a compute unit holds at a time.
 * @param rows_of_window, chunk rows of a window and tiles of a run; 0 for the choice above.
 */
__host__ __device__ constexpr int2 chiplet_tile(int workgroup, int rows, int cols, int per_cu = 1,
                                                int rows_of_window = 0, int chunk = 0) {
    const int share = rows * cols / NUM_XCDS, at_a_time = CUS_PER_XCD * per_cu;
    const int run = chunk ? chunk : share < 1 ? 1 : share < at_a_time ? share : at_a_time;
    int window = rows_of_window ? rows_of_window : 1;
    while (!rows_of_window && window * window < run) window *= 2;
    return windowed_tile(chiplet_transform_chunked(workgroup, rows * cols, NUM_XCDS, run), rows, cols, window);
}

} // namespace kittens::schedules
