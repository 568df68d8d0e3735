/**
 * @file
 * @brief Location of a sequence's keys in a cache of keys and values: in pages, or in listed rows.
 *
 * A place knows the number of keys of a sequence, and its stream starts loads of blocks of them to shared memory.
 */
#pragma once

#include "attention.cuh"

namespace kittens::families::attention {

inline constexpr int DECODE_KEYS = 32;

/** Rows of the pages in a table, as consecutive tiles in shared memory. */
template <int waves, int run, typename ST, typename GL>
struct paged_stream {
    static_assert(DECODE_KEYS % run == 0, "attention: rows of a page that are loaded together divide a block");
    using part = st<typename ST::dtype, run, ST::cols, typename ST::shape>;
    using workers = group<waves>;
    const GL &cache;
    part &first_part;
    const int *pages;
    int page, head, keys;
    uint32_t lds;
    uint32_t offsets[workers::template loads_per_tile<part>];

    __device__ inline paged_stream(const GL &cache, ST &first, const int *pages, int page, int head, int keys)
        : cache(cache), first_part(reinterpret_cast<part &>(first)), pages(pages), page(page), head(head), keys(keys),
          lds(workers::lds_base(first_part)) {
        workers::template prefill_swizzled_offsets<1>(first_part, cache, offsets);
    }
    /** Starts loading block `at` into tile `slot`; rows past the last key are zero. */
    __device__ inline void start(int slot, int at) const {
        const auto pitch = static_cast<uint32_t>(cache.template stride<1>() * sizeof(typename GL::dtype));
        constexpr auto row_bytes = static_cast<uint32_t>(ST::cols * sizeof(typename GL::dtype));
#pragma unroll
        for (int i = 0; i < DECODE_KEYS / run; i++) {
            const int key = at * DECODE_KEYS + i * run, left = keys - key;
            const int number = left > 0 ? pages[key / page] : 0;
            const auto *from = &cache[{number, key % page, head, 0}];
            const int rows = left < run ? left : run;
            const i32x4 resource =
                make_srsrc(from, left <= 0 ? 0 : static_cast<uint32_t>(rows - 1) * pitch + row_bytes);
            workers::template load_async<1>(first_part, cache, {number, key % page / run, head, 0}, offsets, resource,
                                            from,
                                            lds + static_cast<uint32_t>(slot) * static_cast<uint32_t>(sizeof(ST)) +
                                                static_cast<uint32_t>(i) * static_cast<uint32_t>(sizeof(part)));
        }
    }
};

/**
 * @brief Keys in pages; a table lists the pages of each sequence in order.
 *
 * @tparam run rows that are loaded together: 32 or 16; the rows of a page are a multiple of it.
 */
template <int run>
struct in_pages {
    /** (B, `width`) and (B): pages of each sequence in order, and its keys. */
    const int *table, *lengths;
    int width;

    static constexpr bool has_holes = false;
    __device__ inline int keys(int sequence) const { return lengths[sequence]; }

    template <int waves, typename ST_K, typename ST_V, typename GL_K, typename GL_V>
    struct stream {
        paged_stream<waves, run, ST_K, GL_K> k;
        paged_stream<waves, run, ST_V, GL_V> v;

        __device__ inline stream(const in_pages &where, const GL_K &k, const GL_V &v, ST_K &ks, ST_V &vs, int sequence,
                                 int head, int keys, int)
            : k(k, ks, where.table + sequence * where.width, static_cast<int>(k.depth()), head, keys),
              v(v, vs, where.table + sequence * where.width, static_cast<int>(k.depth()), head, keys) {}
        __device__ inline void start_keys(int slot, int at) { k.start(slot, at); }
        /** State of the block whose loads were started last. */
        __device__ inline void start_values(int slot, int at) { v.start(slot, at); }
    };
};

/**
 * @brief Keys in listed rows; -1 is no key.
 *
 * The list holds rows of the cache, (pages * rows of a page, H_kv, D), or, with a table, positions in a sequence.
 */
struct in_list {
    /** Entries of sequence s, of one query: starts[s] to starts[s + 1] - 1, or s * count to (s + 1) * count - 1.
     */
    const int *indices, *starts;
    int count;
    /** As in `in_pages`, and the first query of each of the `sequences`, null if each has one; null without a table. */
    const int *table, *lengths, *queries;
    int width, sequences;

    static constexpr bool has_holes = true;
    __device__ inline int first(int query) const { return starts ? starts[query] : query * count; }
    __device__ inline int keys(int query) const { return starts ? starts[query + 1] - starts[query] : count; }
    /** The sequence of a query. */
    __device__ inline int sequence_of_query(int query) const {
        if (!queries) return query;
        int low = 0, high = sequences - 1;
        while (low < high) {
            const int middle = (low + high + 1) / 2;
            if (queries[middle] <= query)
                low = middle;
            else
                high = middle - 1;
        }
        return low;
    }

    template <int waves, typename ST_K, typename ST_V, typename GL_K, typename GL_V>
    struct stream {
        using workers = group<waves>;
        const GL_K &k;
        const GL_V &v;
        ST_K &ks;
        ST_V &vs;
        int head, keys, page;
        const int *indices, *pages;
        int length;
        /** A lane's key, lane % 32, of the block that was started last and of the one that is started next. */
        int loading, next;

        __device__ inline stream(const in_list &where, const GL_K &k, const GL_V &v, ST_K &ks, ST_V &vs, int query,
                                 int head, int keys, int begin)
            : k(k), v(v), ks(ks), vs(vs), head(head), keys(keys), page(static_cast<int>(k.depth())),
              indices(where.indices + where.first(query)), pages(nullptr), length(0), loading(-1) {
            if (where.table) {
                const int sequence = where.sequence_of_query(query);
                pages = where.table + sequence * where.width;
                length = where.lengths[sequence];
            }
            next = row_of_key(begin);
        }
        __device__ inline size_t rows() const { return k.batch() * k.depth(); }
        /** The cache's row of this lane's key of block `at`; -1 for none. */
        __device__ inline int row_of_key(int at) const {
            const int key = at * DECODE_KEYS + laneid() % DECODE_KEYS;
            const int index = key < keys ? indices[key] : -1, end = pages ? length : static_cast<int>(rows());
            if (index < 0 || index >= end) return -1;
            return pages ? pages[index / page] * page + index % page : index;
        }
        template <typename ST, typename GL>
        __device__ inline void start_tile(ST &first, const GL &cache, int slot) const {
            using T = typename GL::dtype;
            constexpr int D = GL::__c__;
            const gl_strided<T, 1, 1, -1, D> all(cache.raw_ptr + static_cast<size_t>(head) * cache.template stride<2>(),
                                                 nullptr, nullptr, rows(), nullptr, 0, 0, cache.template stride<1>());
            workers::gather_async(
                first, all, {0, 0, 0, 0}, [&](int row) { return packed_shfl(MASK_ALL, loading, row); },
                workers::lds_base(first) + static_cast<uint32_t>(slot) * static_cast<uint32_t>(sizeof(ST)));
        }
        __device__ inline void start_keys(int slot, int at) {
            loading = next;
            start_tile(ks, k, slot);
            next = row_of_key(at + 1);
        }
        __device__ inline void start_values(int slot, int) { start_tile(vs, v, slot); }
    };
};

} // namespace kittens::families::attention
