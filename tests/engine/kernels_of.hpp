#pragma once
/// Runs kernel tests on every build that this processor supports.

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "engine/kernels/kernels.hpp"

namespace attn::test {

/// Every test runs on each build.
template <class Scalar>
class KernelsOf : public testing::Test {
protected:
    template <class F>
    void on_every_build(F f) {
        for (const KernelBuild build : available_kernel_builds()) {
            SCOPED_TRACE(kernel_build_name(build));
            f(kernels_of<Scalar>(build));
        }
    }
    std::vector<Scalar> draw(std::int64_t n, double size = 1) {
        std::normal_distribution<double> normal(0, size);
        std::vector<Scalar> out(static_cast<std::size_t>(n));
        for (Scalar& x : out) x = static_cast<Scalar>(normal(random_));
        return out;
    }
    std::int64_t size_up_to(std::int64_t most) { return std::uniform_int_distribution<std::int64_t>(1, most)(random_); }
    static constexpr double kEps = std::numeric_limits<Scalar>::epsilon();
    std::mt19937 random_{7};
};

using Scalars = testing::Types<float, double>;

}  // namespace attn::test
