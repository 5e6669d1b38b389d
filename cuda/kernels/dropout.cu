// Dropout: an element is kept and scaled, or becomes zero, by a random word that depends on the
// seed and its position only. No mask is stored: the same kernel with the same seed, applied to
// gradients, is the backward pass.
//
// The words are those of Philox4x32-10 (Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as
// easy as 1, 2, 3", 2011): element i takes word i % 4 of counter i / 4, the seed is the key.
//
// Geometry: flat.
#include "device.h"

struct Words { u32 word[4]; };

INLINE Words philox(u64 counter, u64 seed) {
    u32 c[4] = {(u32)counter, (u32)(counter >> 32), 0, 0};
    u32 k[2] = {(u32)seed, (u32)(seed >> 32)};
#pragma unroll
    for (int round = 0; round < 10; ++round) {
        const u32 high0 = __umulhi(0xd2511f53u, c[0]), low0 = 0xd2511f53u * c[0];
        const u32 high1 = __umulhi(0xcd9e8d57u, c[2]), low1 = 0xcd9e8d57u * c[2];
        c[0] = high1 ^ c[1] ^ k[0];
        c[1] = low1;
        c[2] = high0 ^ c[3] ^ k[1];
        c[3] = low0;
        k[0] += 0x9e3779b9u;
        k[1] += 0xbb67ae85u;
    }
    return Words{{c[0], c[1], c[2], c[3]}};
}

// Elements whose word is below `threshold` become zero.
template <typename T>
INLINE void dropout(const T* __restrict__ a, T* __restrict__ out, u64 elements, u32 threshold,
                    float scale, u64 seed) {
    constexpr int WIDTH = PACK<T>;
    u64 done = 0;
    if (aligned(a) && aligned(out)) {
        const u64 packs = elements / WIDTH;
        sweep(packs, [=](u64 pack) { return fetch<WIDTH>(a + pack * WIDTH); },
              [=](u64 pack, uint4 raw) {
                  float x[WIDTH];
                  unpack<T, WIDTH>(raw, x);
#pragma unroll
                  for (int quarter = 0; quarter < WIDTH / 4; ++quarter) {
                      const Words words = philox(pack * (WIDTH / 4) + quarter, seed);
#pragma unroll
                      for (int i = 0; i < 4; ++i) {
                          float& value = x[4 * quarter + i];
                          value = words.word[i] < threshold ? 0.0f : value * scale;
                      }
                  }
                  put(out + pack * WIDTH, x);
              });
        done = packs * WIDTH;
    }
    sweep(elements - done, [=](u64 i) { return a[done + i]; },
          [=](u64 i, T x) {
              const u64 at = done + i;
              const Words words = philox(at / 4, seed);
              const u32 low = at % 2 ? words.word[1] : words.word[0];
              const u32 high = at % 2 ? words.word[3] : words.word[2];
              const bool dropped = (at % 4 < 2 ? low : high) < threshold;
              out[at] = narrow<T>(dropped ? 0.0f : widen(x) * scale);
          });
}

#define DROPOUT(suffix, T)                                                                    \
    ENTRY(dropout_##suffix,                                                                   \
          (const T* a, T* out, u64 elements, u32 threshold, float scale, u64 seed)) {         \
        dropout(a, out, elements, threshold, scale, seed);                                    \
    }

FOR_FLOATS(DROPOUT)
