// The strictly lower triangle of each square matrix of a batch as one row, and back.
//
// Element (i, j) with i > j of a matrix of `side` by `side` is element i (i - 1) / 2 + j of its
// row: the pairs of an interaction of features. The way back (`scatter`, the backward pass)
// writes zeros everywhere else.
//
// Geometry: lines, with the elements of a row of the result along blockDim.x.
#include "device.h"

// The larger index of pair `pair`: from a root in float, then made exact in integers.
INLINE u64 row_of_pair(u64 pair) {
    u64 row = (u64)((1.0f + sqrtf(1.0f + 8.0f * (float)pair)) * 0.5f);
    while (row * (row - 1) / 2 > pair) --row;
    while ((row + 1) * row / 2 <= pair) ++row;
    return row;
}

template <typename T>
INLINE void gather(const T* __restrict__ a, T* __restrict__ out, u64 batch, u64 side) {
    const u64 pairs = side * (side - 1) / 2;
    const u64 first = (u64)blockIdx.x * blockDim.y + threadIdx.y;
    for (u64 pair = threadIdx.x; pair < pairs; pair += blockDim.x) {
        const u64 row = row_of_pair(pair), column = pair - row * (row - 1) / 2;
#pragma unroll 4
        for (u64 sample = first; sample < batch; sample += (u64)gridDim.x * blockDim.y)
            out[sample * pairs + pair] = a[(sample * side + row) * side + column];
    }
}

template <typename T>
INLINE void scatter(const T* __restrict__ a, T* __restrict__ out, u64 batch, u64 side) {
    const u64 pairs = side * (side - 1) / 2;
    const u64 first = (u64)blockIdx.x * blockDim.y + threadIdx.y;
    for (u64 at = threadIdx.x; at < side * side; at += blockDim.x) {
        const u64 row = at / side, column = at % side;
        const u64 pair = row * (row - 1) / 2 + column;
#pragma unroll 4
        for (u64 sample = first; sample < batch; sample += (u64)gridDim.x * blockDim.y)
            out[sample * side * side + at] = row > column ? a[sample * pairs + pair] : T(0);
    }
}

#define TRIANGLE(bytes, T)                                                        \
    ENTRY(triangle_gather_##bytes, (const T* a, T* out, u64 batch, u64 side)) {   \
        gather(a, out, batch, side);                                              \
    }                                                                             \
    ENTRY(triangle_scatter_##bytes, (const T* a, T* out, u64 batch, u64 side)) {  \
        scatter(a, out, batch, side);                                             \
    }

TRIANGLE(4, u32)
TRIANGLE(2, u16)
