// Between f32, f16 and bf16, to nearest, ties to even.
//
// Geometry: flat, with eight elements a step: 16 bytes of the narrow type, one or two accesses of
// the wide one.
#include "device.h"

constexpr int STEP = 8;

template <typename T> struct Eight { uint4 raw[STEP / PACK<T>]; };

template <typename T> INLINE Eight<T> fetch_eight(const T* from) {
    Eight<T> eight;
#pragma unroll
    for (int i = 0; i < STEP / PACK<T>; ++i) eight.raw[i] = fetch<PACK<T>>(from + i * PACK<T>);
    return eight;
}

template <typename From, typename To>
INLINE void cast(const From* __restrict__ a, To* __restrict__ out, u64 elements) {
    u64 done = 0;
    if (aligned(a) && aligned(out)) {
        const u64 steps = elements / STEP;
        sweep(steps, [=](u64 step) { return fetch_eight(a + step * STEP); },
              [=](u64 step, const Eight<From>& eight) {
                  float x[STEP];
#pragma unroll
                  for (int i = 0; i < STEP / PACK<From>; ++i) {
                      float part[PACK<From>];
                      unpack<From, PACK<From>>(eight.raw[i], part);
#pragma unroll
                      for (int j = 0; j < PACK<From>; ++j) x[i * PACK<From> + j] = part[j];
                  }
#pragma unroll
                  for (int i = 0; i < STEP / PACK<To>; ++i) {
                      float part[PACK<To>];
#pragma unroll
                      for (int j = 0; j < PACK<To>; ++j) part[j] = x[i * PACK<To> + j];
                      put(out + step * STEP + i * PACK<To>, part);
                  }
              });
        done = steps * STEP;
    }
    sweep(elements - done, [=](u64 i) { return a[done + i]; },
          [=](u64 i, From x) { out[done + i] = narrow<To>(widen(x)); });
}

#define CAST(from, From, to, To) \
    ENTRY(cast_##from##_##to, (const From* a, To* out, u64 elements)) { cast(a, out, elements); }

CAST(f32, float, f16, f16)
CAST(f32, float, bf16, bf16)
CAST(f16, f16, f32, float)
CAST(f16, f16, bf16, bf16)
CAST(bf16, bf16, f32, float)
CAST(bf16, bf16, f16, f16)
