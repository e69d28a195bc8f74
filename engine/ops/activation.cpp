#include "engine/ops/activation.hpp"

#include "engine/kernels/kernels.hpp"
#include "engine/ops/parallel.hpp"

namespace attn {
namespace {

template <class Scalar>
auto forward_of(Activation activation) {
    const Kernels<Scalar>& k = kernels<Scalar>();
    switch (activation) {
    case Activation::Relu:
        return k.relu;
    case Activation::GeluErf:
        return k.gelu_erf;
    case Activation::GeluTanh:
        break;
    }
    return k.gelu_tanh;
}

}  // namespace

template <class Scalar>
void activate(Activation activation, const Scalar* x, std::int64_t n, Scalar* y) {
    const auto f = forward_of<Scalar>(activation);
    constexpr std::int64_t kGrain = 64, kCost = 4;
    parallel_ranges(n, kGrain, kCost, [&](std::int64_t first, std::int64_t last) { f(x + first, last - first, y + first); });
}

template void activate<float>(Activation, const float*, std::int64_t, float*);
template void activate<double>(Activation, const double*, std::int64_t, double*);

}  // namespace attn
