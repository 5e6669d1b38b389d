// Rows that a warp or a block works on together, kept in registers where they are short enough.
//
// Left to others: what is done with a row (softmax.cu, layer_norm.cu).
#pragma once
#include "device.h"

// A warp per row, WARPS rows per block.
struct WarpGroup {
    static constexpr u32 SIZE = WARP;
    INLINE static u32 rank() { return lane_of_warp(); }
    INLINE static u64 first() { return (u64)blockIdx.x * WARPS + warp_of_block(); }
    INLINE static u64 stride() { return (u64)gridDim.x * WARPS; }
    INLINE static float sum(float x) { return warp_sum(x); }
    INLINE static float largest(float x) { return warp_largest(x); }
};

// A block per row.
struct BlockGroup {
    static constexpr u32 SIZE = THREADS;
    INLINE static u32 rank() { return threadIdx.x; }
    INLINE static u64 first() { return blockIdx.x; }
    INLINE static u64 stride() { return gridDim.x; }

    INLINE static float sum(float x) {
        return over_warps(warp_sum(x), [](float a, float b) { return a + b; });
    }

    INLINE static float largest(float x) {
        return over_warps(warp_largest(x), [](float a, float b) { return a > b ? a : b; });
    }

  private:
    template <class Join> INLINE static float over_warps(float x, Join join) {
        __shared__ float parts[WARPS];
        if (lane_of_warp() == 0) parts[warp_of_block()] = x;
        __syncthreads();
        float all = parts[0];
#pragma unroll
        for (u32 warp = 1; warp < WARPS; ++warp) all = join(all, parts[warp]);
        // The next call must not overwrite what a slower warp still reads.
        __syncthreads();
        return all;
    }
};

// This thread's share of one row: HELD floats in registers, or, with HELD = 0, read anew by every
// pass. A row is dealt out in packs of WIDTH, so `columns` is a multiple of WIDTH.
template <typename T, class Group, int WIDTH, int HELD> struct Row {
    static constexpr int PACKS = HELD > 0 ? HELD / WIDTH : 1;
    const T* data;
    u64 columns;
    float held[PACKS][WIDTH];

    INLINE Row(const T* data, u64 columns) : data(data), columns(columns) {
        if constexpr (HELD > 0) {
            typename Raw<T, WIDTH>::Type raw[PACKS];
#pragma unroll
            for (int pack = 0; pack < PACKS; ++pack)
                if (at(pack) < columns) raw[pack] = fetch<WIDTH>(data + at(pack));
#pragma unroll
            for (int pack = 0; pack < PACKS; ++pack)
                if (at(pack) < columns) unpack<T, WIDTH>(raw[pack], held[pack]);
        }
    }

    // The first column of pack `pack` of this thread.
    INLINE static u64 at(u64 pack) { return (pack * Group::SIZE + Group::rank()) * WIDTH; }

    // Calls f(first column, values) for every pack. What f writes into the values stays where they
    // are held, and is lost where they are read anew.
    template <class F> INLINE void each(F f) {
        if constexpr (HELD > 0) {
#pragma unroll
            for (int pack = 0; pack < PACKS; ++pack)
                if (at(pack) < columns) f(at(pack), held[pack]);
        } else {
#pragma unroll 4
            for (u64 column = at(0); column < columns; column += (u64)Group::SIZE * WIDTH) {
                float values[WIDTH];
                unpack<T, WIDTH>(fetch<WIDTH>(data + column), values);
                f(column, values);
            }
        }
    }

    // As `each`, for two rows side by side: f(first column, values, values of other).
    template <class F> INLINE void each_with(Row& other, F f) {
        if constexpr (HELD > 0) {
#pragma unroll
            for (int pack = 0; pack < PACKS; ++pack)
                if (at(pack) < columns) f(at(pack), held[pack], other.held[pack]);
        } else {
#pragma unroll 2
            for (u64 column = at(0); column < columns; column += (u64)Group::SIZE * WIDTH) {
                float mine[WIDTH], others[WIDTH];
                unpack<T, WIDTH>(fetch<WIDTH>(data + column), mine);
                unpack<T, WIDTH>(fetch<WIDTH>(other.data + column), others);
                f(column, mine, others);
            }
        }
    }
};

// WIDTH values of a vector that all rows share.
template <int WIDTH, typename T> INLINE void shared_values(const T* from, float (&values)[WIDTH]) {
    unpack<T, WIDTH>(fetch<WIDTH>(from), values);
}

// Expands MACRO(suffix, T, group suffix, Group, floats held) for a warp per row, a block per row
// and a block per row too long to hold; FLOATS is what a thread holds.
#define FOR_GROUPS(MACRO, suffix, T, FLOATS)         \
    MACRO(suffix, T, warp, WarpGroup, FLOATS)        \
    MACRO(suffix, T, block, BlockGroup, FLOATS)      \
    MACRO(suffix, T, long, BlockGroup, 0)
