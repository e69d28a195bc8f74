// Part of every kernel build: layer norm and RMS norm, several rows side by side because a single row mostly waits for its own sums.
// Included by build.hpp inside an unnamed namespace.

/// Calls f(Number<count>, first row) over all rows, four at a time and the remaining ones singly.
template <class F>
ATTN_INLINE void for_rows(std::int64_t rows, const F& f) {
    constexpr int kRows = 4;
    std::int64_t row = 0;
    for (; row + kRows <= rows; row += kRows) f(Number<kRows>{}, row);
    for (; row < rows; ++row) f(Number<1>{}, row);
}

template <int kRows, class Scalar>
ATTN_INLINE void norm_rows(const Scalar* x, const Scalar* gain, const Scalar* bias, Scalar eps, std::int64_t n, Scalar* y, Scalar* mean,
                           Scalar* rstd) {
    const Scalar count = static_cast<Scalar>(n);
    // Numbers of a row; lanes beyond its end hold `rest`.
    const auto at = [ x, n ](int r, std::int64_t i, std::int64_t here, Scalar rest) __attribute__((always_inline)) {
        return here == kWidth<Scalar> ? load(x + r * n + i) : load_part(x + r * n + i, here, rest);
    };
    Vec<Scalar> sum[kRows] = {}, squares[kRows] = {};
    Scalar center[kRows], factor[kRows];
    // Deviations from the row's first number rather than from 0, so that the mean of a constant row is exact.
    for_vectors<Scalar>(
        n, [&](std::int64_t i, std::int64_t here)
               __attribute__((always_inline)) { each<kRows>([&](int r) { sum[r] += at(r, i, here, x[r * n]) - x[r * n]; }); });
    each<kRows>([&](int r) { center[r] = x[r * n] + sum_lanes<Scalar>(sum[r]) / count; });
    for_vectors<Scalar>(
        n, [&](std::int64_t i, std::int64_t here) __attribute__((always_inline)) {
            each<kRows>([&](int r) {
                const Vec<Scalar> d = at(r, i, here, center[r]) - center[r];
                squares[r] += d * d;
            });
        });
    each<kRows>([&](int r) {
        const Scalar variance = sum_lanes<Scalar>(squares[r]) / count;
        factor[r] = Scalar{1} / static_cast<Scalar>(__builtin_sqrt(static_cast<double>(variance + eps)));
    });
    for_vectors<Scalar>(
        n, [&](std::int64_t i, std::int64_t here) __attribute__((always_inline)) {
            const Vec<Scalar> g = load_count(gain + i, here), b = load_count(bias + i, here);
            each<kRows>([&](int r) { store_count(y + r * n + i, (at(r, i, here, center[r]) - center[r]) * factor[r] * g + b, here); });
        });
    each<kRows>([&](int r) {
        mean[r] = center[r];
        rstd[r] = factor[r];
    });
}

template <class Scalar>
[[gnu::flatten]] void layer_norm_rows(const Scalar* x, std::int64_t rows, std::int64_t n, const Scalar* gain, const Scalar* bias,
                                      Scalar eps, Scalar* y, Scalar* mean, Scalar* rstd) {
    for_rows(
        rows, [=]<int kRows>(Number<kRows>, std::int64_t row) __attribute__((always_inline)) {
            norm_rows<kRows>(x + row * n, gain, bias, eps, n, y + row * n, mean + row, rstd + row);
        });
}

/// With z = (x - mean) rstd and g = gain dy: dx = rstd (g - mean(g) - z mean(g z)).
template <int kRows, class Scalar>
ATTN_INLINE void norm_backward_rows(const NormBackwardArguments<Scalar>& o, std::int64_t first, std::int64_t n) {
    const std::int64_t start = first * n;
    const Scalar *x = o.x + start, *dy = o.dy + start, *mean = o.mean + first, *rstd = o.rstd + first;
    const auto z_of = [&](int r, std::int64_t i, std::int64_t here) __attribute__((always_inline)) {
        return (load_count(x + r * n + i, here) - mean[r]) * rstd[r];
    };
    Vec<Scalar> sum[kRows] = {}, sum_z[kRows] = {};
    Scalar mean_g[kRows], mean_gz[kRows];
    for_vectors<Scalar>(
        n, [&](std::int64_t i, std::int64_t here) __attribute__((always_inline)) {
            const Vec<Scalar> gain = load_count(o.gain + i, here);  // 0 beyond the row's end
            Vec<Scalar> dgain = load_count(o.dgain + i, here), dbias = load_count(o.dbias + i, here);
            each<kRows>([&](int r) {
                const Vec<Scalar> d = load_count(dy + r * n + i, here), z = z_of(r, i, here), g = d * gain;
                sum[r] += g;
                sum_z[r] += g * z;
                dgain += d * z;
                dbias += d;
            });
            store_count(o.dgain + i, dgain, here);
            store_count(o.dbias + i, dbias, here);
        });
    each<kRows>([&](int r) {
        mean_g[r] = sum_lanes<Scalar>(sum[r]) / static_cast<Scalar>(n);
        mean_gz[r] = sum_lanes<Scalar>(sum_z[r]) / static_cast<Scalar>(n);
    });
    for_vectors<Scalar>(
        n, [&](std::int64_t i, std::int64_t here) __attribute__((always_inline)) {
            const Vec<Scalar> gain = load_count(o.gain + i, here);
            each<kRows>([&](int r) {
                const std::int64_t at = r * n + i;
                const Vec<Scalar> d = load_count(dy + at, here) * gain - mean_g[r] - z_of(r, i, here) * mean_gz[r];
                // Always adds, with 0 if there is no plus, so that the compiler fuses the same operations for any number of rows.
                const Vec<Scalar> plus = o.plus != nullptr ? load_count(o.plus + start + at, here) : Vec<Scalar>{};
                store_count(o.dx + start + at, d * rstd[r] + plus, here);
            });
        });
}

template <class Scalar>
[[gnu::flatten]] void layer_norm_backward_rows(const NormBackwardArguments<Scalar>& arguments, std::int64_t rows, std::int64_t n) {
    const NormBackwardArguments<Scalar> o = arguments;
    for_rows(
        rows,
        [&o, n ]<int kRows>(Number<kRows>, std::int64_t row) __attribute__((always_inline)) { norm_backward_rows<kRows>(o, row, n); });
}

/// y = x rstd gain with rstd = 1 / sqrt(mean(x^2) + eps).
template <int kRows, class Scalar>
ATTN_INLINE void rms_rows(const Scalar* x, const Scalar* gain, Scalar eps, std::int64_t n, Scalar* y, Scalar* rstd) {
    Vec<Scalar> squares[kRows] = {};
    Scalar factor[kRows];
    for_vectors<Scalar>(
        n, [&](std::int64_t i, std::int64_t here) __attribute__((always_inline)) {
            each<kRows>([&](int r) {
                const Vec<Scalar> v = load_count(x + r * n + i, here);
                squares[r] += v * v;
            });
        });
    each<kRows>([&](int r) {
        const Scalar mean = sum_lanes<Scalar>(squares[r]) / static_cast<Scalar>(n);
        rstd[r] = factor[r] = Scalar{1} / static_cast<Scalar>(__builtin_sqrt(static_cast<double>(mean + eps)));
    });
    for_vectors<Scalar>(
        n, [&](std::int64_t i, std::int64_t here) __attribute__((always_inline)) {
            const Vec<Scalar> g = load_count(gain + i, here);
            each<kRows>([&](int r) { store_count(y + r * n + i, load_count(x + r * n + i, here) * factor[r] * g, here); });
        });
}

template <class Scalar>
[[gnu::flatten]] void rms_norm_rows(const Scalar* x, std::int64_t rows, std::int64_t n, const Scalar* gain, Scalar eps, Scalar* y,
                                    Scalar* rstd) {
    for_rows(
        rows, [=]<int kRows>(Number<kRows>, std::int64_t row)
                  __attribute__((always_inline)) { rms_rows<kRows>(x + row * n, gain, eps, n, y + row * n, rstd + row); });
}

/// With z = x rstd and g = gain dy: dx = rstd (g - z mean(g z)).
template <int kRows, class Scalar>
ATTN_INLINE void rms_backward_rows(const NormBackwardArguments<Scalar>& o, std::int64_t first, std::int64_t n) {
    const std::int64_t start = first * n;
    const Scalar *x = o.x + start, *dy = o.dy + start, *rstd = o.rstd + first;
    Vec<Scalar> sum_z[kRows] = {};
    Scalar mean_gz[kRows];
    for_vectors<Scalar>(
        n, [&](std::int64_t i, std::int64_t here) __attribute__((always_inline)) {
            const Vec<Scalar> gain = load_count(o.gain + i, here);
            Vec<Scalar> dgain = load_count(o.dgain + i, here);
            each<kRows>([&](int r) {
                const Vec<Scalar> dz = load_count(dy + r * n + i, here) * (load_count(x + r * n + i, here) * rstd[r]);
                sum_z[r] += dz * gain;
                dgain += dz;
            });
            store_count(o.dgain + i, dgain, here);
        });
    each<kRows>([&](int r) { mean_gz[r] = sum_lanes<Scalar>(sum_z[r]) / static_cast<Scalar>(n); });
    for_vectors<Scalar>(
        n, [&](std::int64_t i, std::int64_t here) __attribute__((always_inline)) {
            const Vec<Scalar> gain = load_count(o.gain + i, here);
            each<kRows>([&](int r) {
                const std::int64_t at = r * n + i;
                const Vec<Scalar> d = load_count(dy + at, here) * gain - load_count(x + at, here) * rstd[r] * mean_gz[r];
                const Vec<Scalar> plus = o.plus != nullptr ? load_count(o.plus + start + at, here) : Vec<Scalar>{};
                store_count(o.dx + start + at, d * rstd[r] + plus, here);
            });
        });
}

template <class Scalar>
[[gnu::flatten]] void rms_norm_backward_rows(const NormBackwardArguments<Scalar>& arguments, std::int64_t rows, std::int64_t n) {
    const NormBackwardArguments<Scalar> o = arguments;
    for_rows(
        rows, [&o, n ]<int kRows>(Number<kRows>, std::int64_t row) __attribute__((always_inline)) { rms_backward_rows<kRows>(o, row, n); });
}
