// The sum of each row, in float, always added in the same order.
//
// Geometry: a warp per row up to 1024 columns, a block per row beyond. Where there are fewer rows
// than would fill the device, `split` gives each row to several blocks, which leave one partial
// sum each, and `join` adds those.
#include "rows.h"

// The sum of elements [begin, end) of `a` over the threads of a group; `begin` is a multiple of
// WIDTH.
template <typename T, class Group, int WIDTH>
INLINE float sum_of(const T* __restrict__ a, u64 begin, u64 end) {
    const u64 stride = (u64)Group::SIZE * WIDTH;
    float sums[AHEAD] = {};
    for (u64 at = begin + Group::rank() * WIDTH; at < end; at += AHEAD * stride) {
        typename Raw<T, WIDTH>::Type raw[AHEAD];
#pragma unroll
        for (int step = 0; step < AHEAD; ++step)
            if (at + step * stride < end) raw[step] = fetch<WIDTH>(a + at + step * stride);
#pragma unroll
        for (int step = 0; step < AHEAD; ++step) {
            if (at + step * stride >= end) continue;
            float x[WIDTH];
            unpack<T, WIDTH>(raw[step], x);
#pragma unroll
            for (int i = 0; i < WIDTH; ++i) sums[step] += x[i];
        }
    }
    return Group::sum((sums[0] + sums[1]) + (sums[2] + sums[3]));
}

template <typename T, class Group, typename Out>
INLINE void sum_rows(const T* a, Out* out, u64 rows, u64 columns) {
    const bool packed = columns % PACK<T> == 0 && aligned(a);
    for (u64 row = Group::first(); row < rows; row += Group::stride()) {
        const T* from = a + row * columns;
        const float sum = packed ? sum_of<T, Group, PACK<T>>(from, 0, columns)
                                 : sum_of<T, Group, 1>(from, 0, columns);
        if (Group::rank() == 0) out[row] = narrow<Out>(sum);
    }
}

// Block (x, y) sums part x of every gridDim.y-th row from y on.
template <typename T> INLINE void split(const T* a, float* partials, u64 rows, u64 columns) {
    const bool packed = columns % PACK<T> == 0 && aligned(a);
    const u64 parts = gridDim.x, packs = (columns + PACK<T> - 1) / PACK<T>;
    const u64 part = (packs + parts - 1) / parts * PACK<T>;
    const u64 begin = smaller(blockIdx.x * part, columns), end = smaller(begin + part, columns);
    for (u64 row = blockIdx.y; row < rows; row += gridDim.y) {
        const T* from = a + row * columns;
        const float sum = packed ? sum_of<T, BlockGroup, PACK<T>>(from, begin, end)
                                 : sum_of<T, BlockGroup, 1>(from, begin, end);
        if (threadIdx.x == 0) partials[row * parts + blockIdx.x] = sum;
    }
}

#define SUM(suffix, T)                                                                        \
    ENTRY(sum_warp_##suffix, (const T* a, T* out, u64 rows, u64 columns)) {                   \
        sum_rows<T, WarpGroup, T>(a, out, rows, columns);                                     \
    }                                                                                         \
    ENTRY(sum_block_##suffix, (const T* a, T* out, u64 rows, u64 columns)) {                  \
        sum_rows<T, BlockGroup, T>(a, out, rows, columns);                                    \
    }                                                                                         \
    ENTRY(sum_split_##suffix, (const T* a, float* partials, u64 rows, u64 columns)) {         \
        split(a, partials, rows, columns);                                                    \
    }                                                                                         \
    ENTRY(sum_join_##suffix, (const float* partials, T* out, u64 rows, u64 parts)) {          \
        sum_rows<float, WarpGroup, T>(partials, out, rows, parts);                            \
    }

FOR_FLOATS(SUM)
