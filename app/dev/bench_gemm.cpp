/// attnscope-dev bench gemm: compares our matrix product with Eigen's on shapes that occur in models.

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "app/dev/bench.hpp"
#include "engine/kernels/eigen_product.hpp"
#include "engine/ops/gemm.hpp"
#include "engine/tensor/error.hpp"
#include "engine/tensor/random.hpp"
#include "engine/tensor/tensor.hpp"

namespace attn::app {
namespace {

constexpr std::int64_t kRounds = 15, kWarmUpRounds = 2;
constexpr double kShortestMs = 0.5;  // minimum duration of a measurement; short calls are repeated

/// C [m,n] = op(A) op(B), and the model in which it occurs.
struct Product {
    std::string model, name;
    std::int64_t m, n, k;
    Transpose transpose_a = Transpose::No, transpose_b = Transpose::No;

    double operations() const { return 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k); }
};

struct ModelSize {
    std::string name;
    std::int64_t rows, positions, d_model, d_head, d_ff;
    bool trains = true;
    std::int64_t vocabulary = 0;  ///< 0: without the output head
};

std::vector<Product> products_of(const ModelSize& size) {
    const auto [name, rows, positions, c, d, f, trains, vocabulary] = size;
    std::vector<Product> products{{name, "x W_qkv", rows, 3 * c, c}, {name, "x W_1", rows, f, c}, {name, "h W_2", rows, c, f}};
    if (positions > 1) products.push_back({name, "Q K^T", positions, positions, d, Transpose::No, Transpose::Yes});
    if (trains) {
        products.push_back({name, "dh W_1^T", rows, c, f, Transpose::No, Transpose::Yes});
        products.push_back({name, "x^T dh", c, f, rows, Transpose::Yes, Transpose::No});
    }
    if (vocabulary > 0) products.push_back({name, "x W_E^T", rows, vocabulary, c, Transpose::No, Transpose::Yes});
    return products;
}

std::vector<Product> all_products() {
    const std::vector<ModelSize> sizes = {{"tiny", 2048, 64, 64, 16, 256},
                                          {"small", 2048, 128, 128, 32, 512},
                                          {"medium", 2048, 256, 384, 64, 1536},
                                          {"gpt2", 64, 64, 768, 64, 3072, false, 50257},
                                          {"one row", 1, 1, 768, 64, 3072, false, 50257}};
    std::vector<Product> all;
    for (const ModelSize& size : sizes) {
        const std::vector<Product> products = products_of(size);
        all.insert(all.end(), products.begin(), products.end());
    }
    return all;
}

Tensor<float> drawn(std::int64_t rows, std::int64_t columns, std::uint64_t seed) {
    Tensor<float> values({{Axis::N, rows}, {Axis::N, columns}});
    const CounterRandom random(seed, 0);
    for (std::int64_t i = 0; i < values.size(); ++i)
        values.data()[i] = static_cast<float>(random.uniform(static_cast<std::uint64_t>(i))) - 0.5F;
    return values;
}

/// Operands and results of a product, laid out as in models: row-major and contiguous.
class Operands {
public:
    explicit Operands(const Product& product)
        : a_(transposed(product.transpose_a) ? drawn(product.k, product.m, 1) : drawn(product.m, product.k, 1)),
          b_(transposed(product.transpose_b) ? drawn(product.n, product.k, 2) : drawn(product.k, product.n, 2)),
          ours_({{Axis::N, product.m}, {Axis::N, product.n}}), eigens_(ours_.shape()), product_(product) {}

    GemmArguments<float> into_ours() { return into(ours_); }
    /// B as models give a weight to the product.
    MatrixView b() const {
        const bool across = transposed(product_.transpose_b);
        return {b_.data(), kNumberKind<float>, product_.k, product_.n, across ? product_.k : product_.n, across};
    }
    GemmArguments<float> into_eigens() { return into(eigens_); }
    /// The largest difference between the results, relative to the rounding bound k eps sum |a||b| <= k^2 eps / 4.
    double disagreement() const {
        double largest = 0;
        for (std::int64_t i = 0; i < ours_.size(); ++i) {
            const double difference = std::abs(static_cast<double>(ours_.data()[i]) - static_cast<double>(eigens_.data()[i]));
            if (!(difference <= largest)) largest = difference;  // also true for NaN
        }
        const double k = static_cast<double>(product_.k);
        return largest / (k * k / 4 * std::ldexp(1.0, -23));
    }

private:
    static bool transposed(Transpose transpose) { return transpose == Transpose::Yes; }
    GemmArguments<float> into(Tensor<float>& c) const {
        GemmArguments<float> g;
        g.m = product_.m, g.n = product_.n, g.k = product_.k;
        g.a = a_.data(), g.lda = transposed(product_.transpose_a) ? product_.m : product_.k;
        g.b = b_.data(), g.ldb = transposed(product_.transpose_b) ? product_.k : product_.n;
        g.c = c.data(), g.ldc = product_.n;
        g.transpose_a = product_.transpose_a, g.transpose_b = product_.transpose_b;
        return g;
    }

    Tensor<float> a_, b_, ours_, eigens_;
    const Product& product_;
};

/// Milliseconds per call, averaged over `calls`.
template <class F>
double time_of(std::int64_t calls, const F& call) {
    const auto start = std::chrono::steady_clock::now();
    for (std::int64_t i = 0; i < calls; ++i) call();
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count() / static_cast<double>(calls);
}

struct GemmTimes {
    Product product;
    double ours_ms = 0, eigen_ms = 0;
    double ratio = 0;  ///< median of Eigen's time divided by ours, from consecutive measurements
};

GemmTimes compare(const Product& product, std::int64_t rounds, int threads) {
    Operands operands(product);
    const EigenProduct eigens = eigen_product(active_kernel_build());
    const GemmArguments<float> g = operands.into_ours(), e = operands.into_eigens();
    const MatrixView b = operands.b();
    const auto run_ours = [&] { parallel_gemm(g, b); };
    const auto run_eigens = [&] { eigens(e, threads); };
    std::vector<double> ours, eigen, ratios;
    std::int64_t calls = 1;
    for (std::int64_t round = -kWarmUpRounds; round < rounds; ++round) {
        const double first = time_of(calls, run_ours), second = time_of(calls, run_eigens);
        if (round == -1) calls = std::max<std::int64_t>(1, static_cast<std::int64_t>(kShortestMs / std::max(first, 1e-6)));
        if (round < 0) continue;
        ours.push_back(first), eigen.push_back(second), ratios.push_back(second / first);
    }
    if (!(operands.disagreement() <= 1)) throw Error("the two products of " + product.model + ", " + product.name + " do not agree");
    return {product, median(ours), median(eigen), median(ratios)};
}

double gflops(const Product& product, double ms) { return product.operations() / ms * 1e-6; }

void print(const GemmTimes& c) {
    fmt::print("{:<8} {:<9} {:>5} x {:>5} x {:>4}  {:9.3f} {:9.3f} ms  {:7.1f} {:7.1f} GFLOP/s  {:5.2f}\n", c.product.model, c.product.name,
               c.product.m, c.product.n, c.product.k, c.ours_ms, c.eigen_ms, gflops(c.product, c.ours_ms), gflops(c.product, c.eigen_ms),
               c.ratio);
}

Json fields_of(const GemmTimes& c) {
    return {{"model", c.product.model},
            {"product", c.product.name},
            {"m", c.product.m},
            {"n", c.product.n},
            {"k", c.product.k},
            {"ours_ms", c.ours_ms},
            {"eigen_ms", c.eigen_ms},
            {"ours_gflops", gflops(c.product, c.ours_ms)},
            {"eigen_gflops", gflops(c.product, c.eigen_ms)},
            {"eigen_over_ours", c.ratio}};
}

void run(const BenchOptions& options) {
    const int threads = use_threads(options);
    if (!options.json)
        fmt::print("{:<8} {:<9} {:>5}   {:>5}   {:>4}  {:>9} {:>9}     {:>7} {:>7}         time\n", "model", "product", "m", "n", "k",
                   "ours", "Eigen", "ours", "Eigen");
    Json products = Json::list();
    for (const Product& product : all_products()) {
        const GemmTimes comparison = compare(product, options.steps > 0 ? options.steps : kRounds, threads);
        if (options.json) products.push_back(fields_of(comparison));
        else print(comparison);
    }
    if (!options.json) {
        fmt::print("kernels {}, {} thread{}, load average {:.1f}\n", kernel_build_name(active_kernel_build()), threads,
                   threads == 1 ? "" : "s", load_average());
        return;
    }
    const Json line{{"bench", "gemm"},
                    {"products", products},
                    {"kernels", kernel_build_name(active_kernel_build())},
                    {"threads", threads},
                    {"load_average", load_average()}};
    fmt::print("{}\n", line.dump());
}

}  // namespace

void add_bench_gemm(CliCommand bench) {
    auto options = std::make_shared<BenchOptions>();
    CliCommand command = bench.command("gemm", "Measure our matrix product and Eigen's side by side");
    add_bench_options(command, *options);
    command.footer("C [m,n] = A B with sums of k terms, float, on the shapes of bench's models, of GPT-2 small over 64 tokens and of GPT-2 "
                   "small\nover one. Both products are built for the kernels in use and take turns; the last column is the median of "
                   "Eigen's time over\nours, so above 1 ours is faster. Neither gets prepacked operands, which training and sampling keep "
                   "for ours.\nResults that differ by more than rounding end the run.");
    command.on_run([options] { run(*options); });
}

}  // namespace attn::app
