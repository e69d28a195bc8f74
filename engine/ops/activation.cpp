#include "engine/ops/activation.hpp"

#include "engine/kernels/kernels.hpp"
#include "engine/ops/parallel.hpp"

namespace attn {
namespace {

/// The kernels of one activation; with_slope is null where the derivative is cheap anyway.
template <class Scalar>
struct Functions {
    void (*forward)(const Scalar* x, std::int64_t n, Scalar* y);
    void (*backward)(const Scalar* x, const Scalar* dy, std::int64_t n, Scalar* dx);
    void (*with_slope)(Scalar* x, std::int64_t n, Scalar* y);
};

template <class Scalar>
Functions<Scalar> functions_of(Activation activation) {
    const Kernels<Scalar>& k = kernels<Scalar>();
    switch (activation) {
    case Activation::Relu:
        return {k.relu, k.relu_backward, nullptr};
    case Activation::GeluErf:
        return {k.gelu_erf, k.gelu_erf_backward, k.gelu_erf_with_slope};
    case Activation::Silu:
        return {k.silu, k.silu_backward, k.silu_with_slope};
    case Activation::QuickGelu:
        return {k.quick_gelu, k.quick_gelu_backward, k.quick_gelu_with_slope};
    case Activation::GeluClipped:
        return {k.gelu_clipped, k.gelu_clipped_backward, k.gelu_clipped_with_slope};
    case Activation::GeluTanh:
        break;
    }
    return {k.gelu_tanh, k.gelu_tanh_backward, k.gelu_tanh_with_slope};
}

constexpr std::int64_t kGrain = 64, kCost = 4;

}  // namespace

template <class Scalar>
void activate(Activation activation, const Scalar* x, std::int64_t n, Scalar* y) {
    const auto f = functions_of<Scalar>(activation).forward;
    parallel_ranges(n, kGrain, kCost, [&](std::int64_t first, std::int64_t last) { f(x + first, last - first, y + first); });
}

template <class Scalar>
void activate_backward(Activation activation, const Scalar* x, const Scalar* dy, std::int64_t n, Scalar* dx) {
    const auto f = functions_of<Scalar>(activation).backward;
    parallel_ranges(n, kGrain, kCost, [&](std::int64_t first, std::int64_t last) { f(x + first, dy + first, last - first, dx + first); });
}

bool leaves_slope(Activation activation) { return activation != Activation::Relu; }

template <class Scalar>
void activate_once(Activation activation, Scalar* x, std::int64_t n, Scalar* y) {
    if (!leaves_slope(activation)) return activate(activation, x, n, y);
    const auto f = functions_of<Scalar>(activation).with_slope;
    parallel_ranges(n, kGrain, kCost, [&](std::int64_t first, std::int64_t last) { f(x + first, last - first, y + first); });
}

template <class Scalar>
void activate_once_backward(Activation activation, const Scalar* x, const Scalar* dy, std::int64_t n, Scalar* dx) {
    if (!leaves_slope(activation)) return activate_backward(activation, x, dy, n, dx);
    const Kernels<Scalar>& k = kernels<Scalar>();
    parallel_ranges(n, kGrain, 1,
                    [&](std::int64_t first, std::int64_t last) { k.multiply(x + first, dy + first, last - first, dx + first); });
}

template void activate_once<float>(Activation, float*, std::int64_t, float*);
template void activate_once<double>(Activation, double*, std::int64_t, double*);
template void activate_once_backward<float>(Activation, const float*, const float*, std::int64_t, float*);
template void activate_once_backward<double>(Activation, const double*, const double*, std::int64_t, double*);
template void activate_backward<float>(Activation, const float*, const float*, std::int64_t, float*);
template void activate_backward<double>(Activation, const double*, const double*, std::int64_t, double*);
template void activate<float>(Activation, const float*, std::int64_t, float*);
template void activate<double>(Activation, const double*, std::int64_t, double*);

}  // namespace attn
