// Runs a kernel on a processor, for tests of its arithmetic: what `device.h` needs of the
// hardware, emulated.
//
// Blocks run one after another. The threads of a block are fibers: each runs until it waits for
// others (block barrier, warp barrier, shuffle) and goes on when they have come. What would be a
// fault, a hang or undefined on a GPU ends the launch with a sentence: a misaligned 16-byte
// access, a barrier that not all can reach, a warp operation whose mask names a thread that has
// left or that waits elsewhere.
//
// A fiber begins through its context and is switched to by jumps, which, unlike switches of
// contexts, make no system call. It goes round: where it is done with one block, it waits for
// the next. (Compile without _FORTIFY_SOURCE, which takes such jumps for a fault.)
//
// Left to others: data races between threads that no barrier orders (fibers switch at barriers
// only), and all timing.
#pragma once

#include <cmath>
#include <csetjmp>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <functional>
#include <string>
#include <tuple>
#include <type_traits>
#include <ucontext.h>
#include <utility>
#include <vector>

#define __device__
#define __global__
#define __forceinline__ inline
#define __restrict__
// Blocks run one after another, so one copy does for all.
#define __shared__ static

struct uint4 { unsigned x, y, z, w; };
inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) { return {x, y, z, w}; }

namespace host {

struct Place { unsigned x, y, z; };

enum class Waiting { No, Block, Warp, Done };

struct Fiber {
    ucontext_t context;
    jmp_buf place;
    bool begun;
    std::vector<char> stack;
    Place thread;
    unsigned linear;
    Waiting waiting;
    unsigned mask;
    uint64_t slot;
};

constexpr size_t STACK = 128 << 10;

static Place block_index, block_size, grid_size;
static std::vector<Fiber> fibers;
static Fiber* self;
static jmp_buf scheduler;
static std::function<void()> body;
static std::string failure;
static uint64_t ticks;

inline void wait(Waiting what) {
    self->waiting = what;
    if (!_setjmp(self->place)) _longjmp(scheduler, 1);
}

// Lets `self` run until it waits.
__attribute__((noinline)) inline void resume() {
    if (_setjmp(scheduler)) return;
    if (self->begun) _longjmp(self->place, 1);
    self->begun = true;
    setcontext(&self->context);
}

// Ends the launch with a sentence; never comes back.
inline void fail(const char* what) {
    if (failure.empty()) {
        char place[160];
        snprintf(place, sizeof place, "%s in block (%u, %u, %u), thread (%u, %u, %u)", what,
                 block_index.x, block_index.y, block_index.z, self->thread.x, self->thread.y,
                 self->thread.z);
        failure = place;
    }
    wait(Waiting::Done);
}

inline void enter() {
    for (;;) {
        body();
        wait(Waiting::Done);
    }
}

inline unsigned lane() { return self->linear % 32; }
inline Fiber& neighbour(unsigned lane) { return fibers[self->linear / 32 * 32 + lane]; }

// Lets those go on whose companions have all come; false where nobody can.
inline bool release() {
    bool any = false, all_at_block = true;
    for (const Fiber& fiber : fibers)
        all_at_block &= fiber.waiting == Waiting::Block || fiber.waiting == Waiting::Done;
    std::vector<Fiber*> ready;
    for (Fiber& fiber : fibers) {
        if (fiber.waiting == Waiting::No) any = true;
        if (fiber.waiting == Waiting::Block && all_at_block) ready.push_back(&fiber);
        if (fiber.waiting != Waiting::Warp) continue;
        bool complete = true;
        for (unsigned lane = 0; lane < 32; ++lane) {
            if (!(fiber.mask >> lane & 1)) continue;
            const size_t place = fiber.linear / 32 * 32 + lane;
            complete &= place < fibers.size() && fibers[place].waiting == Waiting::Warp &&
                        fibers[place].mask == fiber.mask;
        }
        if (complete) ready.push_back(&fiber);
    }
    for (Fiber* fiber : ready) fiber->waiting = Waiting::No;
    return any || !ready.empty();
}

inline void run_block() {
    for (Fiber& fiber : fibers) fiber.waiting = Waiting::No;
    for (;;) {
        bool left = false;
        for (Fiber& fiber : fibers) {
            if (fiber.waiting == Waiting::No) {
                self = &fiber;
                resume();
                if (!failure.empty()) return;
            }
            left |= fiber.waiting != Waiting::Done;
        }
        if (!left) return;
        if (!release()) {
            for (Fiber& fiber : fibers) {
                if (fiber.waiting == Waiting::Done) continue;
                self = &fiber;
                break;
            }
            char what[120];
            snprintf(what, sizeof what, "%s that never completes (mask %08x)",
                     self->waiting == Waiting::Block ? "a block barrier" : "a warp operation",
                     self->mask);
            char place[240];
            snprintf(place, sizeof place, "%s in block (%u, %u, %u), thread %u", what,
                     block_index.x, block_index.y, block_index.z, self->linear);
            failure = place;
            return;
        }
    }
}

// Runs the grid; null, or what went wrong (valid until the next launch).
inline const char* run(const unsigned* geometry) {
    grid_size = {geometry[0], geometry[1], geometry[2]};
    block_size = {geometry[3], geometry[4], geometry[5]};
    failure.clear();
    fibers.resize(size_t(block_size.x) * block_size.y * block_size.z);
    unsigned linear = 0;
    for (Fiber& fiber : fibers) {
        fiber.stack.resize(STACK);
        getcontext(&fiber.context);
        fiber.context.uc_stack.ss_sp = fiber.stack.data();
        fiber.context.uc_stack.ss_size = fiber.stack.size();
        fiber.context.uc_link = nullptr;
        fiber.begun = false;
        makecontext(&fiber.context, enter, 0);
        fiber.linear = linear;
        fiber.thread = {linear % block_size.x, linear / block_size.x % block_size.y,
                        linear / block_size.x / block_size.y};
        ++linear;
    }
    for (unsigned z = 0; z < grid_size.z; ++z)
        for (unsigned y = 0; y < grid_size.y; ++y)
            for (unsigned x = 0; x < grid_size.x; ++x) {
                block_index = {x, y, z};
                run_block();
                if (!failure.empty()) return failure.c_str();
            }
    return nullptr;
}

// `arguments` points to one pointer per parameter, as the CUDA driver takes them.
template <class... Parameters, size_t... Index>
const char* launch(void (*kernel)(Parameters...), const unsigned* geometry, void** arguments,
                   std::index_sequence<Index...>) {
    body = [=] { kernel(*static_cast<std::remove_cv_t<Parameters>*>(arguments[Index])...); };
    return run(geometry);
}

template <class... Parameters>
const char* launch(void (*kernel)(Parameters...), const unsigned* geometry, void** arguments) {
    return launch(kernel, geometry, arguments, std::index_sequence_for<Parameters...>());
}

// Sizes of the parameters, in their order; how many there are.
template <class... Parameters> unsigned sizes(void (*)(Parameters...), unsigned* sizes) {
    unsigned count = 0;
    ((sizes[count++] = sizeof(Parameters)), ...);
    return count;
}

inline void sync_warp(unsigned mask) {
    if (!(mask >> lane() & 1)) fail("a warp operation whose mask leaves out its own thread");
    self->mask = mask;
    wait(Waiting::Warp);
}

// Offers `mine` to the lanes of `mask` and calls `read` when all have offered.
template <typename T, class Read> auto exchange(unsigned mask, T mine, Read read) {
    static_assert(sizeof(T) <= 8, "a slot holds 8 bytes");
    memcpy(&self->slot, &mine, sizeof mine);
    sync_warp(mask);
    auto result = read([mask](unsigned lane) {
        if (!(mask >> lane & 1)) fail("a shuffle from a lane outside its mask");
        T value;
        memcpy(&value, &neighbour(lane).slot, sizeof value);
        return value;
    });
    sync_warp(mask);
    return result;
}

inline float widen_half(uint16_t bits) {
    const int exponent = bits >> 10 & 31;
    const float mantissa = float(bits & 1023);
    float size;
    if (exponent == 31) size = mantissa == 0 ? INFINITY : NAN;
    else if (exponent == 0) size = std::ldexp(mantissa, -24);
    else size = std::ldexp(mantissa + 1024, exponent - 25);
    return bits >> 15 ? -size : size;
}

// To nearest, ties to even.
inline uint16_t narrow_half(float x) {
    const uint16_t sign = std::signbit(x) ? 0x8000 : 0;
    const double size = std::fabs(double(x));
    if (size != size) return 0x7fff;
    if (size >= 65520.0) return sign | 0x7c00;
    if (size < 0x1p-14) return sign | uint16_t(std::nearbyint(size * 0x1p24));
    int exponent;
    std::frexp(size, &exponent);
    const double mantissa = std::nearbyint(std::ldexp(size, 11 - exponent));
    // A mantissa rounded up to 2048 carries into the exponent by itself.
    return sign | uint16_t((exponent + 13) * 1024 + int(mantissa));
}

}  // namespace host

#define HOST_LAUNCHER(name)                                                                \
    extern "C" const char* launch_##name(const unsigned* geometry, void** arguments) {     \
        return host::launch(&name, geometry, arguments);                                   \
    }                                                                                      \
    extern "C" unsigned sizes_##name(unsigned* sizes) { return host::sizes(&name, sizes); }

#define threadIdx (host::self->thread)
#define blockIdx (host::block_index)
#define blockDim (host::block_size)
#define gridDim (host::grid_size)

inline void __syncthreads() { host::wait(host::Waiting::Block); }
inline void __syncwarp(unsigned mask = 0xffffffffu) { host::sync_warp(mask); }

template <typename T> T __shfl_sync(unsigned mask, T value, int lane, int width = 32) {
    const unsigned from = (host::lane() & ~(width - 1)) | (unsigned(lane) & (width - 1));
    return host::exchange(mask, value, [from](auto at) { return at(from); });
}

template <typename T> T __shfl_xor_sync(unsigned mask, T value, int apart, int width = 32) {
    const unsigned other = host::lane() ^ unsigned(apart);
    const bool outside = other / width > host::lane() / width;
    const unsigned from = outside ? host::lane() : other;
    return host::exchange(mask, value, [from](auto at) { return at(from); });
}

inline unsigned __ballot_sync(unsigned mask, bool vote) {
    return host::exchange(mask, vote, [mask](auto at) {
        unsigned votes = 0;
        for (unsigned lane = 0; lane < 32; ++lane)
            if (mask >> lane & 1) votes |= unsigned(at(lane)) << lane;
        return votes;
    });
}

template <typename T> unsigned __match_any_sync(unsigned mask, T value) {
    return host::exchange(mask, value, [mask, value](auto at) {
        unsigned same = 0;
        for (unsigned lane = 0; lane < 32; ++lane)
            if (mask >> lane & 1) same |= unsigned(at(lane) == value) << lane;
        return same;
    });
}

inline int __popc(unsigned bits) { return __builtin_popcount(bits); }
inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
    return (unsigned long long)((unsigned __int128)a * b >> 64);
}
inline unsigned __umulhi(unsigned a, unsigned b) { return unsigned(uint64_t(a) * b >> 32); }

inline float __uint_as_float(unsigned bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}
inline unsigned __float_as_uint(float value) {
    unsigned bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

// The pointer of a 16-byte access, which must be a multiple of 16.
template <typename T> T* checked(T* pointer) {
    if (uintptr_t(pointer) % 16 != 0) host::fail("a misaligned 16-byte access");
    return pointer;
}

inline uint4 __ldg(const uint4* from) { return *checked(from); }

template <typename T> T atomicAdd(T* at, T value) {
    const T before = *at;
    *at += value;
    return before;
}

// Time passes by being looked at.
inline long long clock64() { return (long long)(host::ticks += 3); }
inline unsigned long long host_nanoseconds() { return host::ticks += 2; }
