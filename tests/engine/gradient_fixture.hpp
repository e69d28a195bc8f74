#pragma once
/// Random inputs for gradient tests, and scalar losses of them.

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <span>
#include <vector>

#include "engine/tensor/tensor.hpp"
#include "tests/engine/gradient_check.hpp"

namespace attn {

using Values = std::vector<double>;

class OpGradients : public testing::Test {
protected:
    Values draw(std::int64_t n) {
        std::normal_distribution<double> normal;
        Values out(static_cast<std::size_t>(n));
        for (double& x : out) x = normal(random_);
        return out;
    }
    Tensor<double> draw(const Shape& shape) {
        Tensor<double> out(shape);
        const Values values = draw(shape.count());
        std::copy(values.begin(), values.end(), out.data());
        return out;
    }
    static double project(std::span<const double> r, std::span<const double> y) {
        double sum = 0;
        for (std::size_t i = 0; i < r.size(); ++i) sum += r[i] * y[i];
        return sum;
    }
    std::mt19937 random_{11};
};

}  // namespace attn
