// Part of every kernel build: everything that works along rows. Included by build.hpp inside an unnamed namespace.

template <class Scalar>
constexpr Scalar kInfinity = static_cast<Scalar>(__builtin_inf());

template <class Scalar>
void add(const Scalar* a, const Scalar* b, std::int64_t n, Scalar* y) {
    map_rows(a, b, n, y, [](Vec<Scalar> u, Vec<Scalar> v) { return u + v; });
}

template <class Scalar>
void multiply(const Scalar* a, const Scalar* b, std::int64_t n, Scalar* y) {
    map_rows(a, b, n, y, [](Vec<Scalar> u, Vec<Scalar> v) { return u * v; });
}

template <class Scalar>
void scale(const Scalar* x, Scalar alpha, std::int64_t n, Scalar* y) {
    map_row(x, n, y, [alpha](Vec<Scalar> v) { return v * alpha; });
}

template <class Scalar>
bool rows_finite(const Scalar* x, std::int64_t rows, std::int64_t n, std::int64_t stride) {
    Vec<Scalar> bad = {};
    for (; rows > 0; --rows, x += stride) {
        std::int64_t i = 0;
        for (; i + kWidth<Scalar> <= n; i += kWidth<Scalar>) bad += load(x + i) * Scalar{0};  // 0 unless infinite or NaN
        if (i < n) bad += load_part(x + i, n - i, Scalar{0}) * Scalar{0};
    }
    return sum_lanes<Scalar>(bad) == Scalar{0};
}

template <class Scalar>
bool all_finite(const Scalar* x, std::int64_t n) {
    return rows_finite(x, 1, n, n);
}

/// Lanes whose byte is not 0.
template <class Scalar>
ATTN_INLINE Bits<Scalar> lanes_of_bytes(const std::uint8_t* bytes) {
    typedef std::uint8_t Bytes __attribute__((vector_size(kWidth<Scalar>)));
    Bytes b;
    __builtin_memcpy(&b, bytes, sizeof b);
    return __builtin_convertvector(b, Bits<Scalar>) != 0;
}

/// Lanes of a row that take part in a softmax: inside the row and kept.
template <class Scalar>
ATTN_INLINE Bits<Scalar> kept_lanes(const std::uint8_t* keep, std::int64_t count) {
    if (keep == nullptr) return first_lanes<Scalar>(count);
    if (count == kWidth<Scalar>) return lanes_of_bytes<Scalar>(keep);
    std::uint8_t bytes[kWidth<Scalar>] = {};
    for (std::int64_t i = 0; i < count; ++i) bytes[i] = keep[i];
    return lanes_of_bytes<Scalar>(bytes);
}

/// Calls f(position, count of numbers there, which of them are kept) for every vector of a row.
template <class Scalar, class F>
ATTN_INLINE void for_kept(const std::uint8_t* keep, std::int64_t n, F f) {
    std::int64_t i = 0;
    if (keep == nullptr)
        for (; i + kWidth<Scalar> <= n; i += kWidth<Scalar>) f(i, std::int64_t{kWidth<Scalar>}, Bits<Scalar>{} == Bits<Scalar>{});
    for (; i < n; i += kWidth<Scalar>) {
        const std::int64_t count = n - i < kWidth<Scalar> ? n - i : kWidth<Scalar>;
        f(i, count, kept_lanes<Scalar>(keep == nullptr ? nullptr : keep + i, count));
    }
}

template <class Scalar>
bool keeps_nan(const Scalar* x, const std::uint8_t* keep, std::int64_t n) {
    bool nan = false;
    for (std::int64_t i = 0; i < n; ++i) nan |= (keep == nullptr || keep[i] != 0) && x[i] != x[i];
    return nan;
}

template <bool kUnitTemperature, class Scalar>
ATTN_INLINE void softmax_row_at(const Scalar* x, const std::uint8_t* keep, std::int64_t n, Scalar temperature, Scalar* p) {
    const auto scaled = [temperature](Vec<Scalar> v) __attribute__((always_inline)) { return kUnitTemperature ? v : v / temperature; };
    const Vec<Scalar> lowest = splat(-kInfinity<Scalar>);
    Vec<Scalar> largest = lowest;
    std::int64_t start = 0;
    if (keep == nullptr) {
        // Four at a time, each for itself: one comparison need not wait for the one before.
        constexpr int kChains = 4;
        Vec<Scalar> chain[kChains] = {lowest, lowest, lowest, lowest};
        for (; start + kChains * kWidth<Scalar> <= n; start += kChains * kWidth<Scalar>)
            for (int c = 0; c < kChains; ++c) chain[c] = larger_of(scaled(load(x + start + c * kWidth<Scalar>)), chain[c]);
        largest = larger_of(larger_of(chain[0], chain[1]), larger_of(chain[2], chain[3]));
    }
    for_kept<Scalar>(
        keep, n - start, [&](std::int64_t i, std::int64_t count, Bits<Scalar> kept) __attribute__((always_inline)) {
            largest = larger_of(kept ? scaled(load_count(x + start + i, count)) : lowest, largest);
        });
    const Scalar top = max_lanes<Scalar>(largest);
    // No kept cell, or all of them -inf. Whether a row is masked is not inferred from its maximum alone: a NaN hides from it.
    if (top == -kInfinity<Scalar> && !keeps_nan(x, keep, n)) {
        for (std::int64_t i = 0; i < n; ++i) p[i] = 0;
        return;
    }
    Vec<Scalar> sum = {};
    for_kept<Scalar>(
        keep, n, [&](std::int64_t i, std::int64_t count, Bits<Scalar> kept) __attribute__((always_inline)) {
            const Vec<Scalar> e = kept ? exp_of<Scalar>(scaled(load_count(x + i, count)) - top) : Vec<Scalar>{};
            sum += e;
            store_count(p + i, e, count);
        });
    // Cells that are not kept hold 0; times a NaN they would not.
    const Scalar share = Scalar{1} / sum_lanes<Scalar>(sum);
    for_kept<Scalar>(
        keep, n, [&](std::int64_t i, std::int64_t count, Bits<Scalar> kept) __attribute__((always_inline)) {
            store_count(p + i, kept ? load_count(p + i, count) * share : Vec<Scalar>{}, count);
        });
}

template <class Scalar>
void softmax_row(const Scalar* x, const std::uint8_t* keep, std::int64_t n, Scalar temperature, Scalar* p) {
    if (temperature == Scalar{1}) softmax_row_at<true>(x, keep, n, temperature, p);
    else softmax_row_at<false>(x, keep, n, temperature, p);
}

template <class Scalar>
void softmax_backward_row(const Scalar* p, const Scalar* dp, const std::uint8_t* keep, std::int64_t n, Scalar factor, Scalar* dx) {
    Vec<Scalar> products = {};
    for_kept<Scalar>(
        keep, n, [&](std::int64_t i, std::int64_t count, Bits<Scalar> kept) __attribute__((always_inline)) {
            products += kept ? load_count(p + i, count) * load_count(dp + i, count) : Vec<Scalar>{};
        });
    const Scalar total = sum_lanes<Scalar>(products);
    for_kept<Scalar>(
        keep, n, [&](std::int64_t i, std::int64_t count, Bits<Scalar> kept) __attribute__((always_inline)) {
            const Vec<Scalar> d = load_count(p + i, count) * (load_count(dp + i, count) - total) * factor;
            store_count(dx + i, kept ? d : Vec<Scalar>{}, count);
        });
}

template <class Scalar>
double sum_of_squares(const Scalar* x, std::int64_t n) {
    constexpr int kParts = 16;
    double parts[kParts] = {};
    std::int64_t i = 0;
    for (; i + kParts <= n; i += kParts)
        for (int j = 0; j < kParts; ++j) parts[j] += static_cast<double>(x[i + j]) * static_cast<double>(x[i + j]);
    for (; i < n; ++i) parts[0] += static_cast<double>(x[i]) * static_cast<double>(x[i]);
    double sum = 0;
    for (const double part : parts) sum += part;
    return sum;
}
