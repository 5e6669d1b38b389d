// Ops whose elements depend on nothing but themselves: add, scale, relu, sigmoid, gelu, fill.
//
// Geometry: flat. 16 bytes per access where all operands allow it, single elements elsewhere and
// for the rest. Arithmetic is in float whatever the element type; the formulas are those of the
// host device (`cuda/src/host/memory/elementwise.rs`).
#include "device.h"

// out[i] = function(a[i])
template <typename T, class Function>
INLINE void map(const T* __restrict__ a, T* __restrict__ out, u64 elements, Function function) {
    constexpr int WIDTH = PACK<T>;
    u64 done = 0;
    if (aligned(a) && aligned(out)) {
        const u64 packs = elements / WIDTH;
        sweep(packs, [=](u64 pack) { return fetch<WIDTH>(a + pack * WIDTH); },
              [=](u64 pack, uint4 raw) {
                  float x[WIDTH];
                  unpack<T, WIDTH>(raw, x);
#pragma unroll
                  for (int i = 0; i < WIDTH; ++i) x[i] = function(x[i]);
                  put(out + pack * WIDTH, x);
              });
        done = packs * WIDTH;
    }
    sweep(elements - done, [=](u64 i) { return a[done + i]; },
          [=](u64 i, T x) { out[done + i] = narrow<T>(function(widen(x))); });
}

struct Pair { uint4 a, b; };

template <typename T>
INLINE void add(const T* __restrict__ a, const T* __restrict__ b, T* __restrict__ out,
                u64 elements) {
    constexpr int WIDTH = PACK<T>;
    u64 done = 0;
    if (aligned(a) && aligned(b) && aligned(out)) {
        const u64 packs = elements / WIDTH;
        sweep(packs,
              [=](u64 pack) {
                  return Pair{fetch<WIDTH>(a + pack * WIDTH), fetch<WIDTH>(b + pack * WIDTH)};
              },
              [=](u64 pack, Pair raw) {
                  float x[WIDTH], y[WIDTH];
                  unpack<T, WIDTH>(raw.a, x);
                  unpack<T, WIDTH>(raw.b, y);
#pragma unroll
                  for (int i = 0; i < WIDTH; ++i) x[i] += y[i];
                  put(out + pack * WIDTH, x);
              });
        done = packs * WIDTH;
    }
    sweep(elements - done, [=](u64 i) { return widen(a[done + i]) + widen(b[done + i]); },
          [=](u64 i, float x) { out[done + i] = narrow<T>(x); });
}

template <typename T> INLINE void fill(T* out, float value, u64 elements) {
    constexpr int WIDTH = PACK<T>;
    u64 done = 0;
    if (aligned(out)) {
        float values[WIDTH];
#pragma unroll
        for (int i = 0; i < WIDTH; ++i) values[i] = value;
        const u64 packs = elements / WIDTH;
        sweep(packs, [](u64) { return 0; }, [=](u64 pack, int) { put(out + pack * WIDTH, values); });
        done = packs * WIDTH;
    }
    sweep(elements - done, [](u64) { return 0; },
          [=](u64 i, int) { out[done + i] = narrow<T>(value); });
}

INLINE float logistic(float x) { return 1.0f / (1.0f + expf(-x)); }

// 2 sqrt(2 / pi), and that times 0.044715: the tanh approximation written with the logistic
// function.
constexpr float SLOPE = 1.5957691216057308f;
constexpr float CUBIC = 0.0713548162726f;

#define ADD(suffix, T) \
    ENTRY(add_##suffix, (const T* a, const T* b, T* out, u64 elements)) { add(a, b, out, elements); }
#define SCALE(suffix, T)                                                        \
    ENTRY(scale_##suffix, (const T* a, T* out, float factor, u64 elements)) {   \
        map(a, out, elements, [=](float x) { return factor * x; });             \
    }
#define RELU(suffix, T)                                                         \
    ENTRY(relu_##suffix, (const T* a, T* out, u64 elements)) {                  \
        map(a, out, elements, [](float x) { return x > 0.0f ? x : 0.0f; });     \
    }
#define SIGMOID(suffix, T)                                                      \
    ENTRY(sigmoid_##suffix, (const T* a, T* out, u64 elements)) {               \
        map(a, out, elements, [](float x) { return logistic(x); });             \
    }
#define GELU(suffix, T)                                                         \
    ENTRY(gelu_##suffix, (const T* a, T* out, u64 elements)) {                  \
        map(a, out, elements,                                                   \
            [](float x) { return x * logistic(x * (SLOPE + CUBIC * x * x)); }); \
    }
#define FILL(suffix, T) \
    ENTRY(fill_##suffix, (T* out, float value, u64 elements)) { fill(out, value, elements); }

FOR_FLOATS(ADD)
FOR_FLOATS(SCALE)
FOR_FLOATS(RELU)
FOR_FLOATS(SIGMOID)
FOR_FLOATS(GELU)
FOR_FLOATS(FILL)
