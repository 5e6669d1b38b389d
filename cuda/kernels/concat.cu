// Two matrices side by side: each row of `out` is a row of `a` (`left` elements) followed by a row
// of `b` (`right` elements), of 4 or of 2 bytes each.
//
// Geometry: lines, blockDim.x threads along a row and blockDim.y rows per block, so that no
// position is divided. 16 bytes per access where rows and operands allow it.
#include "device.h"

template <typename T>
INLINE void copy_lines(const T* __restrict__ from, T* __restrict__ to, u64 rows, u64 width,
                       u64 pitch, u64 shift) {
    const u64 first = (u64)blockIdx.x * blockDim.y + threadIdx.y;
    for (u64 row = first; row < rows; row += (u64)gridDim.x * blockDim.y)
#pragma unroll 4
        for (u64 column = threadIdx.x; column < width; column += blockDim.x)
            to[row * pitch + shift + column] = from[row * width + column];
}

template <typename T>
INLINE void concat(const T* a, const T* b, T* out, u64 rows, u64 left, u64 right) {
    constexpr u64 WIDTH = PACK<T>;
    if (left % WIDTH == 0 && right % WIDTH == 0 && aligned(a) && aligned(b) && aligned(out)) {
        const u64 pitch = (left + right) / WIDTH;
        copy_lines((const uint4*)a, (uint4*)out, rows, left / WIDTH, pitch, 0);
        copy_lines((const uint4*)b, (uint4*)out, rows, right / WIDTH, pitch, left / WIDTH);
    } else {
        copy_lines(a, out, rows, left, left + right, 0);
        copy_lines(b, out, rows, right, left + right, left);
    }
}

ENTRY(concat_4, (const u32* a, const u32* b, u32* out, u64 rows, u64 left, u64 right)) {
    concat(a, b, out, rows, left, right);
}
ENTRY(concat_2, (const u16* a, const u16* b, u16* out, u64 rows, u64 left, u64 right)) {
    concat(a, b, out, rows, left, right);
}
