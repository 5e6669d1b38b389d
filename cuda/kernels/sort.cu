// Sorts 64-bit keys by eight of their bits, keys with equal bits in the order they came: one pass
// of a radix sort, to be repeated from the lowest bits that matter to the highest.
//
// A pass is three launches. `count` (a block per tile of 4096 keys) counts the digits of each
// tile, `scan` (a block per digit) turns the counts of a digit into places among the keys of that
// digit, `scatter` (a block per tile) moves every key to its place. Nothing depends on the order
// in which blocks run.
#include "device.h"

constexpr u32 DIGITS = 256;
constexpr u32 PER_THREAD = 16;
constexpr u32 TILE = THREADS * PER_THREAD;
static_assert(DIGITS == THREADS, "a thread per digit");

INLINE u32 digit_of(u64 key, u32 shift) { return (u32)(key >> shift) % DIGITS; }

// The sum of `x` over the threads of the block before this one; `all` becomes the sum over all.
INLINE u64 sum_before(u64 x, u64& all) {
    __shared__ u64 sums[WARPS];
    u64 through = x;
#pragma unroll
    for (u32 apart = 1; apart < WARP; apart *= 2) {
        const u32 from = lane_of_warp() < apart ? lane_of_warp() : lane_of_warp() - apart;
        const u64 other = __shfl_sync(ALL_LANES, through, from, WARP);
        if (lane_of_warp() >= apart) through += other;
    }
    if (lane_of_warp() == WARP - 1) sums[warp_of_block()] = through;
    __syncthreads();
    u64 before = 0;
    all = 0;
#pragma unroll
    for (u32 warp = 0; warp < WARPS; ++warp) {
        if (warp < warp_of_block()) before += sums[warp];
        all += sums[warp];
    }
    __syncthreads();
    return before + through - x;
}

// counts[digit * tiles + tile]: how many keys of the tile have the digit.
ENTRY(sort_count, (const u64* keys, u64* counts, u64 number, u32 shift)) {
    __shared__ u32 found[DIGITS];
    found[threadIdx.x] = 0;
    __syncthreads();
    const u64 first = (u64)blockIdx.x * TILE;
#pragma unroll
    for (u32 step = 0; step < PER_THREAD; ++step) {
        const u64 at = first + step * THREADS + threadIdx.x;
        if (at < number) atomicAdd(&found[digit_of(keys[at], shift)], 1u);
    }
    __syncthreads();
    counts[(u64)threadIdx.x * gridDim.x + blockIdx.x] = found[threadIdx.x];
}

// Block d replaces the counts of digit d by the counts of the tiles before, and leaves their sum in
// totals[d].
ENTRY(sort_scan, (u64* counts, u64* totals, u64 tiles)) {
    u64* mine = counts + (u64)blockIdx.x * tiles;
    u64 before = 0;
    for (u64 first = 0; first < tiles; first += THREADS) {
        const u64 at = first + threadIdx.x;
        const u64 count = at < tiles ? mine[at] : 0;
        u64 all;
        const u64 place = before + sum_before(count, all);
        if (at < tiles) mine[at] = place;
        before += all;
    }
    if (threadIdx.x == 0) totals[blockIdx.x] = before;
}

// Warps own consecutive parts of the tile; within a warp, lanes with equal digits find each other.
ENTRY(sort_scatter,
      (const u64* keys, u64* out, const u64* counts, const u64* totals, u64 number, u32 shift)) {
    __shared__ u32 found[WARPS][DIGITS];
    __shared__ u64 places[DIGITS];
    const u32 warp = warp_of_block(), lane = lane_of_warp();
    for (u32 other = 0; other < WARPS; ++other) found[other][threadIdx.x] = 0;
    __syncthreads();
    const u64 first = (u64)blockIdx.x * TILE + warp * (WARP * PER_THREAD) + lane;
    u64 held[PER_THREAD];
    u32 ranks[PER_THREAD];
#pragma unroll
    for (u32 step = 0; step < PER_THREAD; ++step)
        if (first + step * WARP < number) held[step] = keys[first + step * WARP];
#pragma unroll
    for (u32 step = 0; step < PER_THREAD; ++step) {
        const bool valid = first + step * WARP < number;
        const u32 digit = valid ? digit_of(held[step], shift) : DIGITS;
        const u32 peers = __match_any_sync(ALL_LANES, digit);
        const u32 before = __popc(peers & ((1u << lane) - 1u));
        const u32 base = valid ? found[warp][digit] : 0;
        __syncwarp(ALL_LANES);
        if (valid && before == 0) found[warp][digit] = base + __popc(peers);
        __syncwarp(ALL_LANES);
        ranks[step] = base + before;
    }
    __syncthreads();
    u32 running = 0;
    for (u32 other = 0; other < WARPS; ++other) {
        const u32 count = found[other][threadIdx.x];
        found[other][threadIdx.x] = running;
        running += count;
    }
    u64 all;
    places[threadIdx.x] = sum_before(totals[threadIdx.x], all) +
                          counts[(u64)threadIdx.x * gridDim.x + blockIdx.x];
    __syncthreads();
#pragma unroll
    for (u32 step = 0; step < PER_THREAD; ++step) {
        if (first + step * WARP >= number) continue;
        const u32 digit = digit_of(held[step], shift);
        out[places[digit] + found[warp][digit] + ranks[step]] = held[step];
    }
}
