// What every kernel is written in: names of types, entry points, 16-byte packs, 16-bit floats,
// sums over a warp, and the loop over a grid.
//
// A kernel file includes this header (and neighbours in this folder) and nothing of a toolkit, so
// NVRTC needs no include path. Where no CUDA compiler reads it, `host.h` stands in for the
// hardware, and the same source runs on a processor, thread by thread.
//
// Left to others: which block size and grid a kernel wants (`cuda/src/nvidia/kernels/geometry.rs`
// and README.md here).
#pragma once

typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef int i32;
typedef long long i64;

// Every block has this many threads at most; most have exactly this many.
constexpr u32 THREADS = 256;
constexpr u32 WARP = 32;
constexpr u32 WARPS = THREADS / WARP;
constexpr u32 ALL_LANES = 0xffffffffu;

// IEEE half and bfloat16 as stored; arithmetic is in float.
struct f16 { u16 bits; };
struct bf16 { u16 bits; };

#ifdef __CUDACC__
// BLOCKS blocks fit a multiprocessor at a time, which limits the registers of a thread.
#define ENTRY_FITTING(blocks, name, parameters) \
    extern "C" __global__ void __launch_bounds__(THREADS, blocks) name parameters
#define checked(pointer) (pointer)
#else
#include "host.h"
#define ENTRY_FITTING(blocks, name, parameters) \
    extern "C" void name parameters;            \
    HOST_LAUNCHER(name)                         \
    extern "C" void name parameters
#endif
#define ENTRY(name, parameters) ENTRY_FITTING(2, name, parameters)

#define INLINE __device__ __forceinline__

// Expands MACRO(suffix of the entry, element type) for each element type.
#define FOR_FLOATS(MACRO) MACRO(f32, float) MACRO(f16, f16) MACRO(bf16, bf16)

// ---- 16-bit floats -----------------------------------------------------------------------------

INLINE float widen(float x) { return x; }

INLINE float widen(bf16 x) { return __uint_as_float((u32)x.bits << 16); }

INLINE float widen(f16 x) {
#ifdef __CUDACC__
    float wide;
    asm("cvt.f32.f16 %0, %1;" : "=f"(wide) : "h"(x.bits));
    return wide;
#else
    return host::widen_half(x.bits);
#endif
}

template <typename T> INLINE T narrow(float x);

template <> INLINE float narrow<float>(float x) { return x; }

template <> INLINE f16 narrow<f16>(float x) {
    f16 half;
#ifdef __CUDACC__
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(half.bits) : "f"(x));
#else
    half.bits = host::narrow_half(x);
#endif
    return half;
}

// To nearest, ties to even; in integers because the instruction exists from sm_80 on only.
template <> INLINE bf16 narrow<bf16>(float x) {
    const u32 bits = __float_as_uint(x);
    const bool nan = (bits & 0x7fffffffu) > 0x7f800000u;
    bf16 result;
    result.bits = nan ? 0x7fff : (u16)((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
    return result;
}

INLINE float from_bits(u16 bits, f16) { f16 x; x.bits = bits; return widen(x); }
INLINE float from_bits(u16 bits, bf16) { bf16 x; x.bits = bits; return widen(x); }

// ---- Packs: WIDTH elements moved by one access -------------------------------------------------

// Elements in 16 bytes.
template <typename T> constexpr int PACK = 16 / sizeof(T);

// What an access of WIDTH elements yields before it is unpacked: 16 bytes, or one element.
template <typename T, int WIDTH> struct Raw { typedef uint4 Type; };
template <typename T> struct Raw<T, 1> { typedef T Type; };

INLINE bool aligned(const void* pointer) { return ((u64)pointer & 15u) == 0; }

// From memory that no thread of this launch writes.
template <int WIDTH, typename T> INLINE typename Raw<T, WIDTH>::Type fetch(const T* from) {
    if constexpr (WIDTH == 1) return *from;
    else return __ldg((const uint4*)from);
}

// From memory that this thread may write.
template <int WIDTH, typename T> INLINE typename Raw<T, WIDTH>::Type fetch_own(const T* from) {
    if constexpr (WIDTH == 1) return *from;
    else return *checked((uint4*)from);
}

template <typename T, int WIDTH>
INLINE void unpack(typename Raw<T, WIDTH>::Type raw, float (&values)[WIDTH]) {
    if constexpr (WIDTH == 1) {
        values[0] = widen(raw);
    } else {
        const u32 words[4] = {raw.x, raw.y, raw.z, raw.w};
#pragma unroll
        for (int word = 0; word < 4; ++word) {
            if constexpr (sizeof(T) == 4) {
                values[word] = __uint_as_float(words[word]);
            } else {
                values[2 * word] = from_bits((u16)(words[word] & 0xffffu), T());
                values[2 * word + 1] = from_bits((u16)(words[word] >> 16), T());
            }
        }
    }
}

template <typename T, int WIDTH> INLINE void put(T* to, const float (&values)[WIDTH]) {
    if constexpr (WIDTH == 1) {
        *to = narrow<T>(values[0]);
    } else {
        u32 words[4];
#pragma unroll
        for (int word = 0; word < 4; ++word) {
            if constexpr (sizeof(T) == 4) {
                words[word] = __float_as_uint(values[word]);
            } else {
                const u32 low = narrow<T>(values[2 * word]).bits;
                const u32 high = narrow<T>(values[2 * word + 1]).bits;
                words[word] = low | high << 16;
            }
        }
        *checked((uint4*)to) = make_uint4(words[0], words[1], words[2], words[3]);
    }
}

// ---- Threads -----------------------------------------------------------------------------------

INLINE u32 lane_of_warp() { return threadIdx.x % WARP; }
INLINE u32 warp_of_block() { return threadIdx.x / WARP; }
INLINE u64 thread_of_grid() { return (u64)blockIdx.x * blockDim.x + threadIdx.x; }
INLINE u64 threads_of_grid() { return (u64)gridDim.x * blockDim.x; }

INLINE u64 smaller(u64 a, u64 b) { return a < b ? a : b; }

INLINE float warp_sum(float x) {
#pragma unroll
    for (u32 apart = WARP / 2; apart > 0; apart /= 2) x += __shfl_xor_sync(ALL_LANES, x, apart, WARP);
    return x;
}

INLINE float warp_largest(float x) {
#pragma unroll
    for (u32 apart = WARP / 2; apart > 0; apart /= 2) {
        const float other = __shfl_xor_sync(ALL_LANES, x, apart, WARP);
        x = other > x ? other : x;
    }
    return x;
}

// Accesses in flight per thread: with 2048 threads a multiprocessor has 128 KiB under way, four
// times what latency times bandwidth of an H200 asks for.
constexpr int AHEAD = 4;

// Every step below `count` once, over all threads of the grid: `load` of AHEAD steps first, then
// `store` of each.
template <class Load, class Store> INLINE void sweep(u64 count, Load load, Store store) {
    const u64 stride = threads_of_grid();
    u64 at = thread_of_grid();
    for (; at + (AHEAD - 1) * stride < count; at += AHEAD * stride) {
        decltype(load(at)) held[AHEAD];
#pragma unroll
        for (int step = 0; step < AHEAD; ++step) held[step] = load(at + step * stride);
#pragma unroll
        for (int step = 0; step < AHEAD; ++step) store(at + step * stride, held[step]);
    }
    for (; at < count; at += stride) store(at, load(at));
}
