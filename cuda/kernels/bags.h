// What the embedding kernels share: how tables lie in memory, the lanes that work on one bag, and
// sums of rows.
//
// Tables t = 0, 1, .. with rows R(t) and dim D(t) lie one behind the other:
//   row_offsets[t]     rows of the tables before t (tables + 1 entries)
//   dim_offsets[t]     sum of the dims of the tables before t (tables + 1 entries)
//   weight_offsets[t]  elements of the tables before t
//   bag_offsets[b]     where the lookups of bag b begin among all indices (bags + 1 entries)
// Bag t * batch + s is that of sample s. Results and gradients are one block of batch x D(t)
// elements per table, in the order of the tables. With equal tables that is tables x batch x dim,
// as on the host device.
//
// Left to others: what is summed (embedding_forward.cu, embedding_backward.cu).
#pragma once
#include "device.h"

// A power of two of neighbouring lanes of a warp, from 4 to 32.
struct Lanes {
    u32 count, rank, mask;

    INLINE explicit Lanes(u32 count) : count(count), rank(threadIdx.x % count) {
        const u32 first = lane_of_warp() - rank;
        mask = count == WARP ? ALL_LANES : ((1u << count) - 1u) << first;
    }

    template <typename I> INLINE I from(u32 lane, I value) const {
        return __shfl_sync(mask, value, (int)lane, (int)count);
    }

    INLINE float sum(float x) const {
        for (u32 apart = count / 2; apart > 0; apart /= 2)
            x += __shfl_xor_sync(mask, x, (int)apart, (int)count);
        return x;
    }

    // How many lanes, from the first on, vote yes.
    INLINE u32 votes(bool vote) const { return (u32)__popc(__ballot_sync(mask, vote)); }
};

// One lane's part of `lanes.count * PACKS * WIDTH` columns from `base` on.
template <int PACKS, int WIDTH> struct Sums {
    float value[PACKS][WIDTH];

    INLINE Sums() {
#pragma unroll
        for (int pack = 0; pack < PACKS; ++pack)
#pragma unroll
            for (int i = 0; i < WIDTH; ++i) value[pack][i] = 0.0f;
    }

    // The column of a pack, counted from `base`.
    INLINE static u32 column(int pack, const Lanes& lanes) {
        return (pack * lanes.count + lanes.rank) * WIDTH;
    }

    // Adds `here` rows of `dim` elements in order; lane i knows the number of the i-th. `rows` is
    // where column `base` of row 0 is, of which `left` are left. ROWS of them are under way at a
    // time.
    template <int ROWS, typename T, typename I>
    INLINE void add(const T* rows, u32 dim, u32 left, I mine, u32 here, const Lanes& lanes) {
#pragma unroll 1
        for (u32 first = 0; first < here; first += ROWS) {
            typename Raw<T, WIDTH>::Type raw[ROWS][PACKS];
#pragma unroll
            for (int row = 0; row < ROWS; ++row) {
                const u64 number = (u64)lanes.from(first + row, mine);
#pragma unroll
                for (int pack = 0; pack < PACKS; ++pack)
                    if (first + row < here && column(pack, lanes) < left)
                        raw[row][pack] = fetch<WIDTH>(rows + number * dim + column(pack, lanes));
            }
#pragma unroll
            for (int row = 0; row < ROWS; ++row) {
                if (first + row >= here) continue;
#pragma unroll
                for (int pack = 0; pack < PACKS; ++pack) {
                    if (column(pack, lanes) >= left) continue;
                    float x[WIDTH];
                    unpack<T, WIDTH>(raw[row][pack], x);
#pragma unroll
                    for (int i = 0; i < WIDTH; ++i) value[pack][i] += x[i];
                }
            }
        }
    }
};
