// Part of every kernel build: softmax along rows. Included by build.hpp inside an unnamed namespace.

/// Lanes whose byte is not 0.
template <class Scalar>
ATTN_INLINE Bits<Scalar> lanes_of_bytes(const std::uint8_t* bytes) {
    typedef std::uint8_t Bytes __attribute__((vector_size(kWidth<Scalar>)));
    Bytes b;
    __builtin_memcpy(&b, bytes, sizeof b);
    return __builtin_convertvector(b, Bits<Scalar>) != 0;
}

/// Lanes of a row that take part in a softmax: within the row and kept.
template <class Scalar>
ATTN_INLINE Bits<Scalar> kept_lanes(const std::uint8_t* keep, std::int64_t count) {
    if (keep == nullptr) return first_lanes<Scalar>(count);
    if (count == kWidth<Scalar>) return lanes_of_bytes<Scalar>(keep);
    std::uint8_t bytes[kWidth<Scalar>] = {};
    for (std::int64_t i = 0; i < count; ++i) bytes[i] = keep[i];
    return lanes_of_bytes<Scalar>(bytes);
}

/// e^x for x <= 0 or NaN: fewer steps than exp_of() at the same accuracy.
template <class Scalar>
ATTN_INLINE Vec<Scalar> exp_of_negative(Vec<Scalar> x) {
    using C = ExpConstants<Scalar>;
    // Adding kRound leaves the integer in the low bits, which rounds even on processors without a rounding instruction.
    const Vec<Scalar> shifted = x * C::kLog2e + C::kRound, n = shifted - C::kRound;
    const Vec<Scalar> sum = exp_series<Scalar>((x - n * C::kLn2High) - n * C::kLn2Low);
#if defined(__AVX512F__)
    return times_power_of_two(not_below(x, C::kSmallest), sum, n);
#else
    const Bits<Scalar> integer = integer_of<Scalar>(shifted);
    // Scaled in two steps, because 2^n alone may underflow where the result does not.
    const Bits<Scalar> half = integer >> 1;
    const Vec<Scalar> y = sum * power_of_two<Scalar>(half) * power_of_two<Scalar>(integer - half);
    return x < C::kSmallest ? Vec<Scalar>{} : y;
#endif
}

/// The cells of one row that take part in a softmax: of its n numbers the first `allowed`, and of those the kept ones.
template <class Scalar>
struct KeptCells {
    const std::uint8_t* keep;
    std::int64_t allowed, n;

    template <class Rows>
    ATTN_INLINE static KeptCells of(const Rows& s, std::int64_t r) {
        const std::int64_t allowed = s.allowed + r * s.allowed_step;
        return {s.keep == nullptr ? nullptr : s.keep + r * s.keep_stride, allowed < s.most_allowed ? allowed : s.most_allowed, s.n};
    }

    /// Calls f(position, numbers in memory, allowed cells, mask of kept lanes) for every vector from `start` on that has allowed cells.
    /// Returns the position after the last.
    template <class F>
    ATTN_INLINE std::int64_t for_vectors(std::int64_t start, F f) const {
        std::int64_t i = start;
        constexpr std::int64_t kW = kWidth<Scalar>;
        if (keep == nullptr)
            for (; i + kW <= allowed; i += kW) f(i, kW, kW, Bits<Scalar>{} == Bits<Scalar>{});
        for (; i < allowed; i += kW) {
            const std::int64_t used = up_to_vector<Scalar>(allowed - i);
            f(i, up_to_vector<Scalar>(n - i), used, kept_lanes<Scalar>(keep == nullptr ? nullptr : keep + i, used));
        }
        return i;
    }
};

template <class Scalar>
ATTN_INLINE void set_zero(Scalar* p, std::int64_t first, std::int64_t n) {
    for (std::int64_t i = first; i < n; i += kWidth<Scalar>) store_count(p + i, Vec<Scalar>{}, up_to_vector<Scalar>(n - i));
}

/// One row of a softmax of x / temperature.
template <bool kUnitTemperature, class Scalar>
struct SoftmaxRow {
    KeptCells<Scalar> cells;
    Scalar temperature;

    ATTN_INLINE Vec<Scalar> scaled(Vec<Scalar> v) const { return kUnitTemperature ? v : v / temperature; }

    /// The largest kept number in each lane; NaN is ignored.
    ATTN_INLINE Vec<Scalar> largest(const Scalar* x) const {
        const Vec<Scalar> lowest = splat(-kInfinity<Scalar>);
        Vec<Scalar> result = lowest;
        std::int64_t start = 0;
        if (cells.keep == nullptr) {
            // Four independent chains, so that comparisons do not wait for one another.
            constexpr int kChains = 4;
            Vec<Scalar> chain[kChains] = {lowest, lowest, lowest, lowest};
            for (; start + kChains * kWidth<Scalar> <= cells.allowed; start += kChains * kWidth<Scalar>)
                for (int c = 0; c < kChains; ++c) chain[c] = larger_of(scaled(load(x + start + c * kWidth<Scalar>)), chain[c]);
            result = larger_of(larger_of(chain[0], chain[1]), larger_of(chain[2], chain[3]));
        }
        cells.for_vectors(
            start, [&](std::int64_t i, std::int64_t count, std::int64_t, Bits<Scalar> kept)
                       __attribute__((always_inline)) { result = larger_of(kept ? scaled(load_count(x + i, count)) : lowest, result); });
        return result;
    }

    /// e = e^(x - top); returns the sum of e per lane. Prefetches the memory at `next`, which finish() will write.
    ATTN_INLINE Vec<Scalar> exponentials(const Scalar* x, Scalar top, Scalar* e, const Scalar* next) const {
        // If top is -inf, x - top would be NaN; subtracting 0 instead gives e^-inf = 0.
        const Scalar origin = top == -kInfinity<Scalar> ? Scalar{0} : top;
        Vec<Scalar> sum = {};
        cells.for_vectors(
            0, [&](std::int64_t i, std::int64_t count, std::int64_t, Bits<Scalar> kept) __attribute__((always_inline)) {
                __builtin_prefetch(next + i, 1);
                const Vec<Scalar> y = exp_of_negative<Scalar>(scaled(load_count(x + i, count)) - origin), v = kept ? y : Vec<Scalar>{};
                sum += v;
                store_count(e + i, v, count);
            });
        return sum;
    }

    /// Multiplies p by `share`, giving the row's weights, and sets all other cells to 0; the same in the copy of copy_n cells unless it is
    /// null.
    ATTN_INLINE void finish(Scalar share, Scalar* p, Scalar* copy, std::int64_t copy_n) const {
        const std::int64_t end = cells.for_vectors(
            0, [&](std::int64_t i, std::int64_t count, std::int64_t used, Bits<Scalar> kept) __attribute__((always_inline)) {
                // Cells that are not kept stay 0 even if `share` is NaN.
                const Vec<Scalar> v = kept ? load_count(p + i, count) * share : Vec<Scalar>{};
                store_count(p + i, v, count);
                if (copy != nullptr) store_count(copy + i, v, used == kWidth<Scalar> ? used : up_to_vector<Scalar>(copy_n - i));
            });
        set_zero(p, end, cells.n);
        if (copy != nullptr) set_zero(copy, end, copy_n);
    }
};

/// Rows whose steps are interleaved, to hide the latency of each row's maximum and sum. Fewer if rows are long, so that they stay in the L1
/// cache between steps.
constexpr std::int64_t kTogether = 12, kTogetherBytes = 12 << 10;

template <bool kUnitTemperature, class Scalar>
void softmax_rows_at(const SoftmaxRows<Scalar>& s, std::int64_t first, std::int64_t rows) {
    const auto row = [&](std::int64_t r) __attribute__((always_inline)) {
        return SoftmaxRow<kUnitTemperature, Scalar>{KeptCells<Scalar>::of(s, first + r), s.temperature};
    };
    const Scalar* x = s.x + first * s.x_stride;
    Scalar *p = s.p + first * s.p_stride, *copy = s.copy == nullptr ? nullptr : s.copy + first * s.copy_stride;
    Vec<Scalar> lanes[kTogether];
    Scalar numbers[kTogether];
    for (std::int64_t r = 0; r < rows; ++r) lanes[r] = row(r).largest(x + r * s.x_stride);
    for (std::int64_t r = 0; r < rows; ++r) numbers[r] = max_lanes<Scalar>(lanes[r]);
    if (s.largest != nullptr)
        for (std::int64_t r = 0; r < rows; ++r) s.largest[first + r] = numbers[r];
    for (std::int64_t r = 0; r < rows; ++r) {
        lanes[r] = row(r).exponentials(x + r * s.x_stride, numbers[r], p + r * s.p_stride,
                                       copy == nullptr ? p + r * s.p_stride : copy + r * s.copy_stride);
    }
    for (std::int64_t r = 0; r < rows; ++r) numbers[r] = sum_lanes<Scalar>(lanes[r]);
    for (std::int64_t r = 0; r < rows; ++r) {
        // The sum is 0 if a row keeps nothing or only -inf.
        const Scalar share = numbers[r] == Scalar{0} ? Scalar{0} : Scalar{1} / numbers[r];
        row(r).finish(share, p + r * s.p_stride, copy == nullptr ? nullptr : copy + r * s.copy_stride, s.copy_n);
    }
}

/// How many rows of n numbers to process together.
template <class Scalar>
std::int64_t rows_together(std::int64_t n) {
    const std::int64_t fit = kTogetherBytes / static_cast<std::int64_t>(sizeof(Scalar)) / (n + 1);
    return fit < 1 ? 1 : fit < kTogether ? fit : kTogether;
}

template <class Scalar>
void softmax_rows(const SoftmaxRows<Scalar>& s) {
    const std::int64_t together = rows_together<Scalar>(s.n);
    for (std::int64_t first = 0; first < s.rows; first += together) {
        const std::int64_t rows = s.rows - first < together ? s.rows - first : together;
        if (s.temperature == Scalar{1}) softmax_rows_at<true>(s, first, rows);
        else softmax_rows_at<false>(s, first, rows);
    }
}

/// Sum of p (dp - origin) per lane. Prefetches the memory at `ahead` unless it is null.
template <class Scalar>
ATTN_INLINE Vec<Scalar> products(const KeptCells<Scalar>& cells, const Scalar* p, const Scalar* dp, Scalar origin, const Scalar* ahead) {
    Vec<Scalar> sum = {};
    cells.for_vectors(
        0, [&](std::int64_t i, std::int64_t count, std::int64_t used, Bits<Scalar> kept) __attribute__((always_inline)) {
            if (ahead != nullptr) __builtin_prefetch(ahead + i);
            sum += kept ? load_count(p + i, used) * (load_count(dp + i, count) - origin) : Vec<Scalar>{};
        });
    return sum;
}

/// Where one weight is nearly 1, its dp and the total sum(p dp) agree in almost all bits and their difference would be mostly rounding
/// error. A second sum, of p times the small remainders dp - total, corrects the total: since weights sum to 1, any origin gives the same
/// gradient.
template <class Scalar>
void softmax_backward_rows(const SoftmaxBackwardRows<Scalar>& s) {
    const std::int64_t together = rows_together<Scalar>(2 * s.n);
    Vec<Scalar> lanes[kTogether];
    Scalar totals[kTogether], rests[kTogether];
    for (std::int64_t first = 0; first < s.rows; first += together) {
        const std::int64_t rows = s.rows - first < together ? s.rows - first : together;
        const Scalar *p = s.p + first * s.p_stride, *dp = s.dp + first * s.dp_stride;
        Scalar* dx = s.dx + first * s.dx_stride;
        const auto cells = [&](std::int64_t r) __attribute__((always_inline)) { return KeptCells<Scalar>::of(s, first + r); };
        for (std::int64_t r = 0; r < rows; ++r)
            lanes[r] = products(cells(r), p + r * s.p_stride, dp + r * s.dp_stride, Scalar{0}, p + (r + s.rows) * s.p_stride);
        for (std::int64_t r = 0; r < rows; ++r) totals[r] = sum_lanes<Scalar>(lanes[r]);
        for (std::int64_t r = 0; r < rows; ++r)
            lanes[r] = products<Scalar>(cells(r), p + r * s.p_stride, dp + r * s.dp_stride, totals[r], nullptr);
        for (std::int64_t r = 0; r < rows; ++r) rests[r] = sum_lanes<Scalar>(lanes[r]);
        for (std::int64_t r = 0; r < rows; ++r, p += s.p_stride, dp += s.dp_stride, dx += s.dx_stride) {
            const std::int64_t end = cells(r).for_vectors(
                0, [&](std::int64_t i, std::int64_t count, std::int64_t used, Bits<Scalar> kept) __attribute__((always_inline)) {
                    const Vec<Scalar> d = load_count(p + i, used) * ((load_count(dp + i, count) - totals[r]) - rests[r]) * s.factor;
                    store_count(dx + i, kept ? d : Vec<Scalar>{}, count);
                });
            set_zero(dx, end, s.n);
        }
    }
}
