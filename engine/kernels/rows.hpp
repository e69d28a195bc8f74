// Part of every kernel build: element-wise operations and reductions along rows. Included by build.hpp inside an unnamed namespace.

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
    Vec<Scalar> bad = {}, also_bad = {};  // two independent sums, to hide latency
    for (; rows > 0; --rows, x += stride) {
        std::int64_t i = 0;
        for (; i + 2 * kWidth<Scalar> <= n; i += 2 * kWidth<Scalar>) {
            bad += load(x + i) * Scalar{0};  // 0 unless infinite or NaN
            also_bad += load(x + i + kWidth<Scalar>) * Scalar{0};
        }
        for (; i < n; i += kWidth<Scalar>) bad += load_count(x + i, up_to_vector<Scalar>(n - i)) * Scalar{0};
    }
    return sum_lanes<Scalar>(bad + also_bad) == Scalar{0};
}

template <class Scalar>
bool all_finite(const Scalar* x, std::int64_t n) {
    return rows_finite(x, 1, n, n);
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
