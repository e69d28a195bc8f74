// Part of every kernel build: loss, sums of gradients over rows, and optimizer. Included by build.hpp inside an unnamed namespace.

template <class Scalar>
[[gnu::flatten]] RowLoss cross_entropy_row(const Scalar* x, std::int64_t n, std::int64_t target, Scalar factor, Scalar* dx) {
    const Scalar mine = x[target];
    Vec<Scalar> largest = splat(-kInfinity<Scalar>);
    for_vectors<Scalar>(
        n, [&](std::int64_t i, std::int64_t here) __attribute__((always_inline)) {
            largest = larger_of(here == kWidth<Scalar> ? load(x + i) : load_part(x + i, here, -kInfinity<Scalar>), largest);
        });
    const Scalar top = max_lanes<Scalar>(largest);
    Vec<Scalar> sum = {};
    for_vectors<Scalar>(
        n, [&](std::int64_t i, std::int64_t here) __attribute__((always_inline)) {
            const Vec<Scalar> v = here == kWidth<Scalar> ? load(x + i) : load_part(x + i, here, -kInfinity<Scalar>);
            const Vec<Scalar> e = exp_of<Scalar>(v - top);
            sum += e;
            if (dx != nullptr) store_count(dx + i, e, here);
        });
    const Scalar total = sum_lanes<Scalar>(sum);
    if (dx != nullptr) {
        scale(dx, factor / total, n, dx);
        dx[target] -= factor;
    }
    return {__builtin_log(static_cast<double>(total)) + (static_cast<double>(top) - static_cast<double>(mine)), mine == top};
}

template <class Scalar>
[[gnu::flatten]] void add_rows(const Scalar* x, std::int64_t rows, std::int64_t n, Scalar* sums) {
    // Several rows at a time, to read and write the sums less often.
    constexpr int kRows = 8;
    const auto add_some = [ n, sums ]<int kCount>(Number<kCount>, const Scalar* from) __attribute__((always_inline)) {
        for_vectors<Scalar>(
            n, [&](std::int64_t i, std::int64_t here) __attribute__((always_inline)) {
                Vec<Scalar> sum = load_count(sums + i, here);
                each<kCount>([&](int r) { sum += load_count(from + r * n + i, here); });
                store_count(sums + i, sum, here);
            });
    };
    std::int64_t row = 0;
    for (; row + kRows <= rows; row += kRows) add_some(Number<kRows>{}, x + row * n);
    for (; row < rows; ++row) add_some(Number<1>{}, x + row * n);
}

#if defined(__AVX512F__)
ATTN_INLINE Vec<float> root_of(Vec<float> x) { return _mm512_sqrt_ps(x); }
ATTN_INLINE Vec<double> root_of(Vec<double> x) { return _mm512_sqrt_pd(x); }
#elif defined(__AVX2__)
ATTN_INLINE Vec<float> root_of(Vec<float> x) { return _mm256_sqrt_ps(x); }
ATTN_INLINE Vec<double> root_of(Vec<double> x) { return _mm256_sqrt_pd(x); }
#else
template <class Vector>
ATTN_INLINE Vector root_of(Vector x) {
    for (unsigned i = 0; i < sizeof x / sizeof x[0]; ++i) x[i] = sizeof x[0] == 4 ? __builtin_sqrtf(x[i]) : __builtin_sqrt(x[i]);
    return x;
}
#endif

template <class Scalar>
[[gnu::flatten]] void adamw(const AdamwArguments<Scalar>& arguments, std::int64_t n, const Scalar* gradient, Scalar* parameter, Scalar* m,
                            Scalar* v) {
    const AdamwArguments<Scalar> a = arguments;
    // Gradients are clamped: the square of a larger one would be infinite and freeze its parameter forever.
    constexpr Scalar kLargest = sizeof(Scalar) == 4 ? static_cast<Scalar>(1e18) : static_cast<Scalar>(1e150);
    for_vectors<Scalar>(
        n, [=](std::int64_t i, std::int64_t here) __attribute__((always_inline)) {
            const Vec<Scalar> given = load_count(gradient + i, here) * a.gradient_factor;
            const Vec<Scalar> g = larger_of(splat(-kLargest), smaller_of(splat(kLargest), given));
            const Vec<Scalar> mean = a.beta1 * load_count(m + i, here) + (Scalar{1} - a.beta1) * g;
            const Vec<Scalar> square = a.beta2 * load_count(v + i, here) + (Scalar{1} - a.beta2) * (g * g);
            const Vec<Scalar> move = a.rate * mean / (root_of(square) * a.root_correction + a.eps);
            store_count(parameter + i, load_count(parameter + i, here) * a.decay - move, here);
            store_count(m + i, mean, here);
            store_count(v + i, square, here);
        });
}
