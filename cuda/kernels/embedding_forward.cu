// Table-batched embedding bag, forward: each bag is the sum of the rows it looks up.
//
// Geometry: bags. `lanes` neighbouring lanes (4 to 32, chosen so that one 16-byte access of each
// covers a row) work on one bag, so a warp has up to eight bags; blockIdx.y is the table, which
// spares every bag a division. Indices are read coalesced, one per lane, and handed round by
// shuffles; four rows per bag are under way, 48 KiB or more per multiprocessor. Rows wider than
// the lanes cover are summed in stretches. Rows are added in order, so the result is that of a plain loop.
#include "bags.h"

// Three times 256 threads with four accesses each: above that, registers do not suffice.
constexpr u32 BLOCKS = 3;

template <typename T, typename I, int WIDTH>
INLINE void pool(const T* table, u32 dim, const I* indices, u64 begin, u64 end, T* out,
                 const Lanes& lanes) {
    typedef Sums<1, WIDTH> Part;
#pragma unroll 1
    for (u32 base = 0; base < dim; base += lanes.count * WIDTH) {
        Part sums;
#pragma unroll 1
        for (u64 first = begin; first < end; first += lanes.count) {
            const u32 here = (u32)smaller(lanes.count, end - first);
            const I mine = lanes.rank < here ? indices[first + lanes.rank] : 0;
            sums.template add<4>(table + base, dim, dim - base, mine, here, lanes);
        }
        const u32 column = base + Part::column(0, lanes);
        if (column < dim) put(out + column, sums.value[0]);
    }
}

template <typename T, typename I>
INLINE void forward(const T* weights, const I* indices, const u64* bag_offsets,
                    const u64* weight_offsets, const u64* dim_offsets, T* out, u64 tables,
                    u64 batch, u32 lanes_per_bag) {
    constexpr int WIDTH = PACK<T>;
    const Lanes lanes(lanes_per_bag);
    const u64 first = thread_of_grid() / lanes.count, stride = threads_of_grid() / lanes.count;
    for (u64 table = blockIdx.y; table < tables; table += gridDim.y) {
        const u32 dim = (u32)(dim_offsets[table + 1] - dim_offsets[table]);
        const T* rows = weights + weight_offsets[table];
        T* results = out + batch * dim_offsets[table];
        const bool packed = dim % WIDTH == 0 && aligned(rows) && aligned(results);
#pragma unroll 1
        for (u64 sample = first; sample < batch; sample += stride) {
            const u64 bag = table * batch + sample;
            const u64 begin = bag_offsets[bag], end = bag_offsets[bag + 1];
            T* result = results + sample * (u64)dim;
            if (packed) pool<T, I, WIDTH>(rows, dim, indices, begin, end, result, lanes);
            else pool<T, I, 1>(rows, dim, indices, begin, end, result, lanes);
        }
    }
}

#define FORWARD(suffix, T, index, I)                                                          \
    ENTRY_FITTING(BLOCKS, embedding_forward_##suffix##_##index,                                               \
          (const T* weights, const I* indices, const u64* bag_offsets,                        \
           const u64* weight_offsets, const u64* dim_offsets, T* out, u64 tables, u64 batch,  \
           u32 lanes)) {                                                                      \
        forward(weights, indices, bag_offsets, weight_offsets, dim_offsets, out, tables,      \
                batch, lanes);                                                                \
    }

FORWARD(f32, float, i32, i32)
FORWARD(f32, float, i64, i64)
FORWARD(f16, f16, i32, i32)
FORWARD(f16, f16, i64, i64)
