// Softmax of each row: e^(a - max) / sum e^(a - max).
//
// Geometry: a warp per row up to 1024 columns, a block per row up to 8192 (rows stay in registers,
// each element is read and written once), `long` beyond (read twice: running largest and sum, then
// the result).
#include "rows.h"

// Below every finite float, so that no difference with it is NaN.
constexpr float LOWEST = -3.402823466e38f;

template <typename T, class Group, int WIDTH, int HELD>
INLINE void softmax_held(const T* a, T* out, u64 columns) {
    Row<T, Group, WIDTH, HELD> row(a, columns);
    float largest = LOWEST;
    row.each([&](u64, float (&x)[WIDTH]) {
        for (int i = 0; i < WIDTH; ++i) largest = x[i] > largest ? x[i] : largest;
    });
    largest = Group::largest(largest);
    float sum = 0.0f;
    row.each([&](u64, float (&x)[WIDTH]) {
        for (int i = 0; i < WIDTH; ++i) sum += x[i] = expf(x[i] - largest);
    });
    const float factor = 1.0f / Group::sum(sum);
    row.each([&](u64 column, float (&x)[WIDTH]) {
        for (int i = 0; i < WIDTH; ++i) x[i] *= factor;
        put(out + column, x);
    });
}

template <typename T, class Group, int WIDTH>
INLINE void softmax_read_twice(const T* a, T* out, u64 columns) {
    Row<T, Group, WIDTH, 0> row(a, columns);
    float largest = LOWEST, sum = 0.0f;
    row.each([&](u64, float (&x)[WIDTH]) {
        float here = largest;
        for (int i = 0; i < WIDTH; ++i) here = x[i] > here ? x[i] : here;
        sum *= expf(largest - here);
        for (int i = 0; i < WIDTH; ++i) sum += expf(x[i] - here);
        largest = here;
    });
    const float overall = Group::largest(largest);
    const float factor = 1.0f / Group::sum(sum * expf(largest - overall));
    row.each([&](u64 column, float (&x)[WIDTH]) {
        for (int i = 0; i < WIDTH; ++i) x[i] = expf(x[i] - overall) * factor;
        put(out + column, x);
    });
}

template <typename T, class Group, int WIDTH, int HELD>
INLINE void softmax_rows(const T* a, T* out, u64 rows, u64 columns) {
    for (u64 row = Group::first(); row < rows; row += Group::stride()) {
        if constexpr (HELD > 0)
            softmax_held<T, Group, WIDTH, HELD>(a + row * columns, out + row * columns, columns);
        else
            softmax_read_twice<T, Group, WIDTH>(a + row * columns, out + row * columns, columns);
    }
}

template <typename T, class Group, int HELD>
INLINE void softmax(const T* a, T* out, u64 rows, u64 columns) {
    if (columns % PACK<T> == 0 && aligned(a) && aligned(out))
        softmax_rows<T, Group, PACK<T>, HELD>(a, out, rows, columns);
    else
        softmax_rows<T, Group, 1, 0>(a, out, rows, columns);
}

#define SOFTMAX(suffix, T, group, Group, held)                                          \
    ENTRY(softmax_##group##_##suffix, (const T* a, T* out, u64 rows, u64 columns)) {    \
        softmax<T, Group, held>(a, out, rows, columns);                                 \
    }
#define SOFTMAX_GROUPS(suffix, T) FOR_GROUPS(SOFTMAX, suffix, T, 32)

FOR_FLOATS(SOFTMAX_GROUPS)
