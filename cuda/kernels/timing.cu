// What timing needs beside the kernels timed: nothing at all, a clock, a blocked stream, a cache
// without operands.
//
// Geometry: `empty` any, `sample_clock` and `hold_stream` one thread, `flush_cache` flat.
#include "device.h"

INLINE u64 nanoseconds() {
#ifdef __CUDACC__
    u64 now;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
    return now;
#else
    return host_nanoseconds();
#endif
}

// Launch overhead and kernel gaps.
ENTRY(empty, ()) {}

// The clock of the multiprocessor: spins from one change of the nanosecond timer (which moves in
// steps of up to a microsecond) to the first change after `least` nanoseconds, and leaves cycles
// and nanoseconds between the two in out[0] and out[1].
ENTRY(sample_clock, (u64* out, u64 least)) {
    if (thread_of_grid() != 0) return;
    const u64 before = nanoseconds();
    u64 begin = before;
    while (begin == before) begin = nanoseconds();
    const u64 cycles = (u64)clock64();
    u64 last = begin, end = begin;
    while (end - begin < least || end == last) {
        last = end;
        end = nanoseconds();
    }
    out[0] = (u64)clock64() - cycles;
    out[1] = end - begin;
}

// Keeps the stream from going on until the host sets `flag`, or for `most` nanoseconds, so that
// what is queued behind it starts without waiting for its own launch. Leaves 1 in `late` where the
// time ran out: what was timed behind it may hold launch overhead.
ENTRY(hold_stream, (const volatile u32* flag, u32* late, u64 most)) {
    if (thread_of_grid() != 0) return;
    const u64 begin = nanoseconds();
    while (*flag == 0) {
        if (nanoseconds() - begin < most) continue;
        *late = 1;
        return;
    }
}

// Writes `bytes` (a multiple of 16) at `buffer`, which is as large as the cache or larger: what
// the cache held is gone afterwards.
ENTRY(flush_cache, (uint4* buffer, u64 bytes, u32 value)) {
    const uint4 pack = make_uint4(value, value, value, value);
    sweep(bytes / 16, [](u64) { return 0; }, [=](u64 at, int) { buffer[at] = pack; });
}
