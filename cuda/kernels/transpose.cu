// out[j, i] = a[i, j] for a matrix of `rows` by `columns` elements of 4 or of 2 bytes.
//
// Geometry: tiles, one square tile per block at a time, through shared memory, so that reading and
// writing both touch whole sectors: 32 elements of 4 bytes or 64 of 2 bytes a side. Lines of the
// tile are one word longer than its side, so that a column of it lies in different banks.
#include "device.h"

template <typename T, u32 SIDE>
INLINE void transpose(const T* __restrict__ a, T* __restrict__ out, u64 rows, u64 columns) {
    constexpr u32 PADDED = SIDE + 4 / sizeof(T);
    constexpr u32 STEP = THREADS / SIDE;
    __shared__ T tile[SIDE][PADDED];
    const u32 x = threadIdx.x % SIDE, y = threadIdx.x / SIDE;
    const u64 across = (columns + SIDE - 1) / SIDE, down = (rows + SIDE - 1) / SIDE;
    for (u64 at = blockIdx.x; at < across * down; at += gridDim.x) {
        const u64 top = at / across * SIDE, left = at % across * SIDE;
#pragma unroll
        for (u32 line = 0; line < SIDE; line += STEP)
            if (top + y + line < rows && left + x < columns)
                tile[y + line][x] = a[(top + y + line) * columns + left + x];
        __syncthreads();
#pragma unroll
        for (u32 line = 0; line < SIDE; line += STEP)
            if (left + y + line < columns && top + x < rows)
                out[(left + y + line) * rows + top + x] = tile[x][y + line];
        __syncthreads();
    }
}

ENTRY(transpose_4, (const u32* a, u32* out, u64 rows, u64 columns)) {
    transpose<u32, 32>(a, out, rows, columns);
}
ENTRY(transpose_2, (const u16* a, u16* out, u64 rows, u64 columns)) {
    transpose<u16, 64>(a, out, rows, columns);
}
