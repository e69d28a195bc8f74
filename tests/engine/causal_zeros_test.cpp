// The masked half of a causal map is zeroed once, and again whenever it may have been overwritten.
#include "engine/attention/causal_zeros.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "engine/attention/fused_attention.hpp"

namespace attn {
namespace {

class CausalZerosTest : public testing::Test {
protected:
    static constexpr std::int64_t kHeads = 2, kSize = 3;

    /// Computes attention weights over `t` random positions, in the same map as in earlier calls.
    void attend(std::int64_t t, const Mask& mask) {
        std::normal_distribution<float> normal;
        AlignedVector<float> x(static_cast<std::size_t>(t * kHeads * kSize));
        for (float& number : x) number = normal(random_);
        const HeadsView<const float> rows{x.data(), 0, kSize, kHeads * kSize};
        AlignedVector<float> context(x.size());
        const DropoutPattern no_dropout(0, 0, {});
        fused_attention<float>(rows, rows, rows, {mask, 0.6, 1, no_dropout}, {1, kHeads, t, t, kSize, kSize}, weights_, dropped_, zeros_,
                               {context.data(), 0, kSize, kHeads * kSize});
    }
    /// Whether every row sums to 1 with nothing beyond the diagonal.
    bool causal_weights() const {
        const std::int64_t t = weights_.shape()[2].size;
        for (std::int64_t row = 0; row < kHeads * t; ++row) {
            const float* p = weights_.data() + row * t;
            float sum = 0;
            for (std::int64_t s = 0; s < t; ++s) {
                if (s > row % t && p[s] != 0) return false;
                sum += p[s];
            }
            if (!(std::abs(sum - 1) <= 1e-5F)) return false;
        }
        return true;
    }
    Tensor<float> weights_, dropped_;
    CausalZeros zeros_;
    std::mt19937 random_{3};
};

TEST_F(CausalZerosTest, StayFromCallToCall) {
    for (const std::int64_t t : {1, 5, 12, 13, 40, 100})
        for (int call = 0; call < 3; ++call) {
            attend(t, Mask::causal(t, t));
            EXPECT_TRUE(causal_weights()) << "T " << t << " call " << call;
        }
}

TEST_F(CausalZerosTest, AreWrittenAgainAfterAnotherMaskAnotherShapeOrAnotherMap) {
    attend(40, Mask::causal(40, 40));
    attend(40, Mask(40, 40));
    EXPECT_FALSE(causal_weights());
    attend(40, Mask::causal(40, 40));
    EXPECT_TRUE(causal_weights());
    attend(20, Mask::causal(20, 20));
    EXPECT_TRUE(causal_weights()) << "other rows in the same memory";
    attend(40, Mask::causal(40, 40));
    EXPECT_TRUE(causal_weights());
    Tensor<float> other(weights_.shape());
    std::fill(other.values().begin(), other.values().end(), 9.0F);
    std::swap(weights_, other);
    attend(40, Mask::causal(40, 40));
    EXPECT_TRUE(causal_weights());
}

TEST_F(CausalZerosTest, AreWrittenAgainWhenToldToForget) {
    for (const bool forget : {true, false}) {
        attend(40, Mask::causal(40, 40));
        std::fill(weights_.values().begin(), weights_.values().end(), 9.0F);
        if (forget) zeros_.forget();
        attend(40, Mask::causal(40, 40));
        EXPECT_EQ(causal_weights(), forget) << "what wrote to the map by itself has to say so";
    }
}

}  // namespace
}  // namespace attn
