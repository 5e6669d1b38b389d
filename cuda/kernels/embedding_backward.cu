// Table-batched embedding bag, backward, exactly: all gradients of a row are summed before its one
// update (SGD, or adagrad with one running square per row), as the host device does it.
//
// In order: `keys` writes one key per lookup (the row among all tables in the upper 32 bits, the
// bag in the lower), sort.cu sorts the keys by row, `short` gives every run of equal rows to
// `lanes` lanes and lists the runs of more than LONG lookups, `long` gives each of those to a
// block. Gradients of a row are added in the order of the bags (`long`: of every eighth 32 bags,
// then of those sums), so nothing depends on the order in which blocks run.
//
// Geometry: `keys` bags with 8 lanes; `short` a group of lanes per lookup (those that do not begin
// a run leave at once); `long` as many blocks as fill the device.
#include "bags.h"

// Lookups of one row above which a block adds them. A group of lanes has four rows under way,
// so this many take about 32 round trips to memory.
constexpr u64 LONG = 128;

// Lanes per bag in `keys`.
constexpr u32 KEY_LANES = 8;

INLINE u64 row_of(u64 key) { return key >> 32; }
INLINE u64 bag_of(u64 key) { return key & 0xffffffffu; }

// Also empties the list of long runs.
template <typename I>
INLINE void keys(const I* indices, const u64* bag_offsets, const u64* row_offsets, u64* out,
                 u64* long_runs, u64 tables, u64 batch) {
    if (thread_of_grid() == 0 && blockIdx.y == 0) *long_runs = 0;
    const Lanes lanes(KEY_LANES);
    const u64 first = thread_of_grid() / KEY_LANES, stride = threads_of_grid() / KEY_LANES;
    for (u64 table = blockIdx.y; table < tables; table += gridDim.y)
#pragma unroll 1
        for (u64 sample = first; sample < batch; sample += stride) {
            const u64 bag = table * batch + sample, end = bag_offsets[bag + 1];
            for (u64 at = bag_offsets[bag] + lanes.rank; at < end; at += KEY_LANES)
                out[at] = (row_offsets[table] + (u64)indices[at]) << 32 | bag;
        }
}

// What an update needs to know of the table of a row, and the row itself.
template <typename T> struct Target {
    u64 row, first_bag;
    u32 dim;
    T* weights;
    const T* gradients;
    bool packed;

    INLINE Target(u64 key, T* weights_of_all, const T* gradients_of_all, const u64* row_offsets,
                  const u64* weight_offsets, const u64* dim_offsets, u64 batch) {
        // Both fit in 32 bits, where a division is four times cheaper.
        const u32 table = (u32)bag_of(key) / (u32)batch;
        dim = (u32)(dim_offsets[table + 1] - dim_offsets[table]);
        row = row_of(key);
        first_bag = (u64)table * batch;
        weights = weights_of_all + weight_offsets[table] + (row - row_offsets[table]) * dim;
        gradients = gradients_of_all + batch * dim_offsets[table];
        packed = dim % PACK<T> == 0 && aligned(weights) && aligned(gradients);
    }
};

// The step of a row whose gradient has this mean square.
INLINE float adagrad_step(float before, float mean_square, float rate, float floor) {
    return rate / (sqrtf(before + mean_square) + floor);
}

// Columns from `base` on of the gradient of the row of keys[first].
template <typename T, int WIDTH, int PACKS>
INLINE Sums<PACKS, WIDTH> gradient(const u64* keys, u64 number, u64 first, u32 base,
                                   const Target<T>& target, const Lanes& lanes) {
    Sums<PACKS, WIDTH> sums;
#pragma unroll 1
    for (;; first += lanes.count) {
        const u64 at = first + lanes.rank;
        const u64 key = at < number ? keys[at] : ~0ull;
        const u32 here = lanes.votes(at < number && row_of(key) == target.row);
        const u32 mine = (u32)(bag_of(key) - target.first_bag);
        sums.template add<4 / PACKS>(target.gradients + base, target.dim, target.dim - base, mine,
                                     here, lanes);
        if (here < lanes.count) return sums;
    }
}

template <bool ADAGRAD, typename T, int WIDTH>
INLINE void update(const u64* keys, u64 number, u64 first, const Target<T>& target,
                   float* squares, float rate, float floor, const Lanes& lanes) {
    constexpr int PACKS = 1;
    typedef Sums<PACKS, WIDTH> Part;
    const u32 covered = PACKS * lanes.count * WIDTH;
    Part sums;
    if constexpr (ADAGRAD) {
        float square = 0.0f;
#pragma unroll 1
        for (u32 base = 0; base < target.dim; base += covered) {
            sums = gradient<T, WIDTH, PACKS>(keys, number, first, base, target, lanes);
            for (int pack = 0; pack < PACKS; ++pack)
                for (int i = 0; i < WIDTH; ++i) square += sums.value[pack][i] * sums.value[pack][i];
        }
        const float mean = lanes.sum(square) / (float)target.dim;
        const float before = squares[target.row];
        __syncwarp(lanes.mask);
        if (lanes.rank == 0) squares[target.row] = before + mean;
        rate = adagrad_step(before, mean, rate, floor);
    }
#pragma unroll 1
    for (u32 base = 0; base < target.dim; base += covered) {
        // The gradient of a row that is covered at once is still there.
        if (!ADAGRAD || target.dim > covered)
            sums = gradient<T, WIDTH, PACKS>(keys, number, first, base, target, lanes);
#pragma unroll
        for (int pack = 0; pack < PACKS; ++pack) {
            const u32 column = base + Part::column(pack, lanes);
            if (column >= target.dim) continue;
            float weight[WIDTH];
            unpack<T, WIDTH>(fetch_own<WIDTH>(target.weights + column), weight);
#pragma unroll
            for (int i = 0; i < WIDTH; ++i) weight[i] = weight[i] - rate * sums.value[pack][i];
            put(target.weights + column, weight);
        }
    }
}

template <bool ADAGRAD, typename T>
INLINE void short_runs(const u64* keys, u64 number, const T* gradients, T* weights, float* squares,
                       const u64* row_offsets, const u64* weight_offsets, const u64* dim_offsets,
                       u64 batch, float rate, float floor, u64* long_runs, u32 lanes_per_run) {
    constexpr int WIDTH = PACK<T>;
    const Lanes lanes(lanes_per_run);
    const u64 stride = threads_of_grid() / lanes.count;
    for (u64 first = thread_of_grid() / lanes.count; first < number; first += stride) {
        const u64 key = keys[first], row = row_of(key);
        if (first > 0 && row_of(keys[first - 1]) == row) continue;
        if (first + LONG < number && row_of(keys[first + LONG]) == row) {
            // The order of the list differs from launch to launch, the rows do not.
            if (lanes.rank == 0) long_runs[1 + atomicAdd(long_runs, (u64)1)] = first;
            continue;
        }
        const Target<T> target(key, weights, gradients, row_offsets, weight_offsets, dim_offsets,
                               batch);
        if (target.packed)
            update<ADAGRAD, T, WIDTH>(keys, number, first, target, squares, rate, floor, lanes);
        else update<ADAGRAD, T, 1>(keys, number, first, target, squares, rate, floor, lanes);
    }
}

// Where the run that begins at `first` ends.
INLINE u64 end_of_run(const u64* keys, u64 number, u64 first) {
    const u64 row = row_of(keys[first]);
    u64 low = first + 1, high = number;
    while (low < high) {
        const u64 middle = low + (high - low) / 2;
        if (row_of(keys[middle]) == row) low = middle + 1;
        else high = middle;
    }
    return low;
}

INLINE float block_sum(float x) {
    __shared__ float parts[WARPS];
    x = warp_sum(x);
    if (lane_of_warp() == 0) parts[warp_of_block()] = x;
    __syncthreads();
    float all = 0.0f;
    for (u32 warp = 0; warp < WARPS; ++warp) all += parts[warp];
    __syncthreads();
    return all;
}

// Floats of a gradient that a block adds at a time.
template <typename T> constexpr u32 STRETCH = WARP * PACK<T>;

// Columns [base, base + STRETCH) of the gradient of a long run, left in `total`.
template <typename T, int WIDTH>
INLINE void long_gradient(const u64* keys, u64 first, u64 end, u32 base, const Target<T>& target,
                          float (&parts)[WARPS][STRETCH<T>]) {
    constexpr int PACKS = STRETCH<T> / WARP / WIDTH;
    const Lanes lanes(WARP);
    Sums<PACKS, WIDTH> sums;
#pragma unroll 1
    for (u64 at = first + warp_of_block() * WARP; at < end; at += THREADS) {
        const u32 here = (u32)smaller(WARP, end - at);
        const u64 key = lanes.rank < here ? keys[at + lanes.rank] : 0;
        const u32 mine = (u32)(bag_of(key) - target.first_bag);
        sums.template add<(WIDTH > 1 ? 4 : 1)>(target.gradients + base, target.dim, target.dim - base,
                                                  mine, here, lanes);
    }
#pragma unroll
    for (int pack = 0; pack < PACKS; ++pack)
#pragma unroll
        for (int i = 0; i < WIDTH; ++i)
            parts[warp_of_block()][(pack * WARP + lanes.rank) * WIDTH + i] = sums.value[pack][i];
    __syncthreads();
    for (u32 column = threadIdx.x; column < STRETCH<T>; column += THREADS) {
        float sum = parts[0][column];
        for (u32 warp = 1; warp < WARPS; ++warp) sum += parts[warp][column];
        parts[0][column] = sum;
    }
    __syncthreads();
}

template <bool ADAGRAD, typename T>
INLINE void long_run(const u64* keys, u64 first, u64 end, const Target<T>& target, float* squares,
                     float rate, float floor) {
    __shared__ float parts[WARPS][STRETCH<T>];
    const auto gradient = [&](u32 base) {
        if (target.packed) long_gradient<T, PACK<T>>(keys, first, end, base, target, parts);
        else long_gradient<T, 1>(keys, first, end, base, target, parts);
    };
    if constexpr (ADAGRAD) {
        float square = 0.0f;
#pragma unroll 1
        for (u32 base = 0; base < target.dim; base += STRETCH<T>) {
            gradient(base);
            for (u32 column = threadIdx.x; column < STRETCH<T>; column += THREADS)
                square += parts[0][column] * parts[0][column];
            __syncthreads();
        }
        const float mean = block_sum(square) / (float)target.dim;
        const float before = squares[target.row];
        __syncthreads();
        if (threadIdx.x == 0) squares[target.row] = before + mean;
        rate = adagrad_step(before, mean, rate, floor);
    }
#pragma unroll 1
    for (u32 base = 0; base < target.dim; base += STRETCH<T>) {
        if (!ADAGRAD || target.dim > STRETCH<T>) gradient(base);
        for (u32 column = threadIdx.x; column < STRETCH<T>; column += THREADS) {
            if (base + column >= target.dim) continue;
            T& weight = target.weights[base + column];
            weight = narrow<T>(widen(weight) - rate * parts[0][column]);
        }
        __syncthreads();
    }
}

template <bool ADAGRAD, typename T>
INLINE void long_runs(const u64* keys, u64 number, const T* gradients, T* weights, float* squares,
                      const u64* row_offsets, const u64* weight_offsets, const u64* dim_offsets,
                      u64 batch, float rate, float floor, const u64* list) {
    for (u64 item = blockIdx.x; item < list[0]; item += gridDim.x) {
        const u64 first = list[1 + item];
        const Target<T> target(keys[first], weights, gradients, row_offsets, weight_offsets,
                               dim_offsets, batch);
        const u64 end = end_of_run(keys, number, first);
        long_run<ADAGRAD>(keys, first, end, target, squares, rate, floor);
    }
}

#define KEYS(index, I)                                                                        \
    ENTRY(embedding_keys_##index,                                                             \
          (const I* indices, const u64* bag_offsets, const u64* row_offsets, u64* out,        \
           u64* long_runs, u64 tables, u64 batch)) {                                          \
        keys(indices, bag_offsets, row_offsets, out, long_runs, tables, batch);               \
    }

#define BACKWARD(suffix, T, optimizer, ADAGRAD)                                               \
    ENTRY_FITTING((ADAGRAD ? 2 : 3), embedding_backward_short_##optimizer##_##suffix,                                    \
          (const u64* keys, u64 number, const T* gradients, T* weights, float* squares,       \
           const u64* row_offsets, const u64* weight_offsets, const u64* dim_offsets,         \
           u64 batch, float rate, float floor, u64* list, u32 lanes)) {                       \
        short_runs<ADAGRAD>(keys, number, gradients, weights, squares, row_offsets,           \
                            weight_offsets, dim_offsets, batch, rate, floor, list, lanes);    \
    }                                                                                         \
    ENTRY_FITTING((ADAGRAD ? 2 : 3), embedding_backward_long_##optimizer##_##suffix,                                     \
          (const u64* keys, u64 number, const T* gradients, T* weights, float* squares,       \
           const u64* row_offsets, const u64* weight_offsets, const u64* dim_offsets,         \
           u64 batch, float rate, float floor, const u64* list)) {                            \
        long_runs<ADAGRAD>(keys, number, gradients, weights, squares, row_offsets,            \
                           weight_offsets, dim_offsets, batch, rate, floor, list);            \
    }

KEYS(i32, i32)
KEYS(i64, i64)
BACKWARD(f32, float, sgd, false)
BACKWARD(f32, float, rowwise_adagrad, true)
BACKWARD(f16, f16, sgd, false)
BACKWARD(f16, f16, rowwise_adagrad, true)
