// Layer normalisation of each row, forward and backward.
//
// Forward: out = (a - mean) * factor * weight + bias with factor = 1 / sqrt(variance + floor), in
// two passes over a row that is held in registers (a warp per row up to 1024 columns, a block up
// to 8192) or read three times (`long`). Mean and factor of each row are written where asked for:
// the backward pass needs them.
//
// Backward, to the input: with x = (a - mean) * factor and g = gradient * weight,
// factor * (g - mean(g) - x * mean(g x)); rows are held up to 512 and 4096 columns.
// Backward, to weights and biases: sums over rows of gradient * x and of gradient, in strips of
// rows first (`strips`), then over the strips (`join`); always in the same order.
#include "rows.h"

template <typename T, class Group, int WIDTH, int HELD>
INLINE void forward_row(const T* a, const T* weights, const T* biases, T* out, float* mean_out,
                        float* factor_out, float floor, u64 columns) {
    Row<T, Group, WIDTH, HELD> row(a, columns);
    const float share = 1.0f / (float)columns;
    float sum = 0.0f;
    row.each([&](u64, float (&x)[WIDTH]) {
        for (int i = 0; i < WIDTH; ++i) sum += x[i];
    });
    const float mean = Group::sum(sum) * share;
    float squares = 0.0f;
    row.each([&](u64, float (&x)[WIDTH]) {
        for (int i = 0; i < WIDTH; ++i) squares += (x[i] - mean) * (x[i] - mean);
    });
    const float factor = 1.0f / sqrtf(Group::sum(squares) * share + floor);
    row.each([&](u64 column, float (&x)[WIDTH]) {
        float weight[WIDTH], bias[WIDTH];
        shared_values<WIDTH>(weights + column, weight);
        shared_values<WIDTH>(biases + column, bias);
        for (int i = 0; i < WIDTH; ++i) x[i] = (x[i] - mean) * factor * weight[i] + bias[i];
        put(out + column, x);
    });
    if (Group::rank() != 0) return;
    if (mean_out) *mean_out = mean;
    if (factor_out) *factor_out = factor;
}

template <typename T, class Group, int WIDTH, int HELD>
INLINE void forward_rows(const T* a, const T* weights, const T* biases, T* out, float* means,
                         float* factors, float floor, u64 rows, u64 columns) {
    for (u64 row = Group::first(); row < rows; row += Group::stride())
        forward_row<T, Group, WIDTH, HELD>(a + row * columns, weights, biases, out + row * columns,
                                           means ? means + row : means,
                                           factors ? factors + row : factors, floor, columns);
}

template <typename T, class Group, int HELD>
INLINE void forward(const T* a, const T* weights, const T* biases, T* out, float* means,
                    float* factors, float floor, u64 rows, u64 columns) {
    const bool packed = columns % PACK<T> == 0 && aligned(a) && aligned(weights) &&
                        aligned(biases) && aligned(out);
    if (packed)
        forward_rows<T, Group, PACK<T>, HELD>(a, weights, biases, out, means, factors, floor, rows,
                                              columns);
    else
        forward_rows<T, Group, 1, 0>(a, weights, biases, out, means, factors, floor, rows,
                                        columns);
}

template <typename T, class Group, int WIDTH, int HELD>
INLINE void backward_row(const T* gradient, const T* a, const T* weights, float mean, float factor,
                         T* out, u64 columns) {
    Row<T, Group, WIDTH, HELD> gradients(gradient, columns), inputs(a, columns);
    float sum = 0.0f, product = 0.0f;
    gradients.each_with(inputs, [&](u64 column, float (&g)[WIDTH], float (&x)[WIDTH]) {
        float weight[WIDTH];
        shared_values<WIDTH>(weights + column, weight);
        for (int i = 0; i < WIDTH; ++i) {
            g[i] *= weight[i];
            x[i] = (x[i] - mean) * factor;
            sum += g[i];
            product += g[i] * x[i];
        }
    });
    const float share = 1.0f / (float)columns;
    sum = Group::sum(sum) * share;
    product = Group::sum(product) * share;
    gradients.each_with(inputs, [&](u64 column, float (&g)[WIDTH], float (&x)[WIDTH]) {
        if constexpr (HELD == 0) {
            float weight[WIDTH];
            shared_values<WIDTH>(weights + column, weight);
            for (int i = 0; i < WIDTH; ++i) {
                g[i] *= weight[i];
                x[i] = (x[i] - mean) * factor;
            }
        }
        for (int i = 0; i < WIDTH; ++i) g[i] = factor * (g[i] - sum - x[i] * product);
        put(out + column, g);
    });
}

template <typename T, class Group, int WIDTH, int HELD>
INLINE void backward_rows(const T* gradients, const T* a, const T* weights, const float* means,
                          const float* factors, T* out, u64 rows, u64 columns) {
    for (u64 row = Group::first(); row < rows; row += Group::stride()) {
        const u64 at = row * columns;
        backward_row<T, Group, WIDTH, HELD>(gradients + at, a + at, weights, means[row],
                                            factors[row], out + at, columns);
    }
}

template <typename T, class Group, int HELD>
INLINE void backward(const T* gradients, const T* a, const T* weights, const float* means,
                     const float* factors, T* out, u64 rows, u64 columns) {
    const bool packed = columns % PACK<T> == 0 && aligned(gradients) && aligned(a) &&
                        aligned(weights) && aligned(out);
    if (packed)
        backward_rows<T, Group, PACK<T>, HELD>(gradients, a, weights, means, factors, out, rows,
                                               columns);
    else
        backward_rows<T, Group, 1, 0>(gradients, a, weights, means, factors, out, rows, columns);
}

// Block (x, y) sums columns [32 x, 32 x + 32) over every gridDim.y-th row from y on, eight rows at
// a time; the sums of all strips go to `partials`: strips x columns for the weights, then as many
// for the biases.
template <typename T>
INLINE void strips(const T* gradients, const T* a, const float* means, const float* factors,
                   float* partials, u64 rows, u64 columns) {
    __shared__ float weight_parts[WARPS][WARP];
    __shared__ float bias_parts[WARPS][WARP];
    const u64 column = (u64)blockIdx.x * WARP + lane_of_warp();
    const u32 warp = warp_of_block();
    float weight = 0.0f, bias = 0.0f;
    if (column < columns) {
#pragma unroll 4
        for (u64 row = (u64)blockIdx.y * WARPS + warp; row < rows; row += (u64)gridDim.y * WARPS) {
            const float g = widen(gradients[row * columns + column]);
            weight += g * (widen(a[row * columns + column]) - means[row]) * factors[row];
            bias += g;
        }
    }
    weight_parts[warp][lane_of_warp()] = weight;
    bias_parts[warp][lane_of_warp()] = bias;
    __syncthreads();
    if (warp != 0 || column >= columns) return;
    for (u32 other = 1; other < WARPS; ++other) {
        weight += weight_parts[other][lane_of_warp()];
        bias += bias_parts[other][lane_of_warp()];
    }
    partials[blockIdx.y * columns + column] = weight;
    partials[((u64)gridDim.y + blockIdx.y) * columns + column] = bias;
}

template <typename T>
INLINE void join(const float* partials, T* weights, T* biases, u64 strips, u64 columns) {
    for (u64 at = thread_of_grid(); at < 2 * columns; at += threads_of_grid()) {
        const u64 column = at < columns ? at : at - columns;
        const float* from = partials + (at < columns ? 0 : strips * columns) + column;
        float sum = 0.0f;
#pragma unroll 4
        for (u64 strip = 0; strip < strips; ++strip) sum += from[strip * columns];
        (at < columns ? weights : biases)[column] = narrow<T>(sum);
    }
}

#define FORWARD(suffix, T, group, Group, held)                                                \
    ENTRY(layer_norm_##group##_##suffix,                                                      \
          (const T* a, const T* weights, const T* biases, T* out, float* means, float* factors, \
           float floor, u64 rows, u64 columns)) {                                             \
        forward<T, Group, held>(a, weights, biases, out, means, factors, floor, rows, columns); \
    }
#define BACKWARD(suffix, T, group, Group, held)                                               \
    ENTRY(layer_norm_backward_##group##_##suffix,                                             \
          (const T* gradients, const T* a, const T* weights, const float* means,              \
           const float* factors, T* out, u64 rows, u64 columns)) {                            \
        backward<T, Group, held>(gradients, a, weights, means, factors, out, rows, columns);  \
    }
#define FORWARD_GROUPS(suffix, T) FOR_GROUPS(FORWARD, suffix, T, 32)
#define BACKWARD_GROUPS(suffix, T) FOR_GROUPS(BACKWARD, suffix, T, 16)
#define STRIPS(suffix, T)                                                                     \
    ENTRY(layer_norm_backward_strips_##suffix,                                                \
          (const T* gradients, const T* a, const float* means, const float* factors,          \
           float* partials, u64 rows, u64 columns)) {                                         \
        strips(gradients, a, means, factors, partials, rows, columns);                        \
    }
#define JOIN(suffix, T)                                                                       \
    ENTRY(layer_norm_backward_join_##suffix,                                                  \
          (const float* partials, T* weights, T* biases, u64 strips, u64 columns)) {          \
        join(partials, weights, biases, strips, columns);                                     \
    }

FOR_FLOATS(FORWARD_GROUPS)
FOR_FLOATS(BACKWARD_GROUPS)
FOR_FLOATS(STRIPS)
FOR_FLOATS(JOIN)
