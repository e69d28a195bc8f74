#include <gtest/gtest.h>

#include "engine/attention/fused_attention.hpp"
#include "tests/engine/attention_paths.hpp"
#include "tests/engine/gradient_fixture.hpp"

namespace attn {
namespace {

/// Random q, k and v under a mask, computed stage by stage.
struct Stages {
    Tensor<double> q, k, v, scores, scaled, masked, weights, dropped, context;
};

std::vector<Mask> masks_for(std::int64_t t, std::int64_t s) {
    std::vector<double> bias(static_cast<std::size_t>(t * s));
    for (std::size_t i = 0; i < bias.size(); ++i) bias[i] = i % 5 == 3 ? -HUGE_VAL : 0.1 * static_cast<double>(i % 7);
    Mask row_masked(t, s);
    for (std::int64_t j = 0; j < s; ++j) row_masked.forbid(t / 2, j);
    return {Mask(t, s), Mask::causal(t, s), Mask::padding({s, std::max<std::int64_t>(1, s - 2)}, t, s), row_masked,
            Mask::from_additive({t, s}, bias, {2, 3, t, s})};
}

class AttentionGradientsTest : public OpGradients {
protected:
    static void run(Stages& a, const Mask& mask, const DropoutPattern& pattern, const AttentionSizes& sizes) {
        attention_scores(a.q, a.k, sizes, a.scores);
        scale_scores(a.scores, 0.7, a.scaled);
        mask_scores(a.scaled, mask, sizes, a.masked);
        from_masked(a, mask, pattern, sizes);
    }
    static void from_masked(Stages& a, const Mask& mask, const DropoutPattern& pattern, const AttentionSizes& sizes) {
        attention_weights(a.masked, mask, 1.3, sizes, a.weights);
        from_weights(a, mask, pattern, sizes);
    }
    static void from_weights(Stages& a, const Mask& mask, const DropoutPattern& pattern, const AttentionSizes& sizes) {
        a.dropped.resize(a.weights.shape());
        dropout(pattern, a.weights.data(), a.weights.size(), a.dropped.data());
        attention_context(a.dropped, a.v, mask, sizes, a.context);
    }
    static Stages backward(const Stages& a, const Tensor<double>& dcontext, const Mask& mask, const DropoutPattern& pattern,
                           const AttentionSizes& sizes) {
        Stages g;
        g.context = dcontext;
        attention_context_backward(g.context, a.dropped, a.v, mask, sizes, g.dropped, g.v);
        g.weights.resize(g.dropped.shape());
        dropout(pattern, g.dropped.data(), g.dropped.size(), g.weights.data());
        attention_weights_backward(g.weights, a.weights, mask, 1.3, sizes, g.masked);
        scale_scores(g.masked, 0.7, g.scores);
        attention_scores_backward(g.scores, a.q, a.k, mask, sizes, g.q, g.k);
        return g;
    }
};

TEST_F(AttentionGradientsTest, OfEveryStage) {
    for (const auto& [t, s] : {std::array<std::int64_t, 2>{1, 1}, {4, 4}, {3, 6}, {5, 2}})
        for (const Mask& mask : masks_for(t, s))
            for (const double rate : {0.0, 0.4, 1.0}) {
                const DropoutPattern pattern(rate, 3, {Stage::Dropped, 0});
                Stages a;
                a.q = draw({{Axis::B, 2}, {Axis::H, 3}, {Axis::T, t}, {Axis::D, 4}});
                a.k = draw({{Axis::B, 2}, {Axis::H, 3}, {Axis::S, s}, {Axis::D, 4}});
                a.v = draw({{Axis::B, 2}, {Axis::H, 3}, {Axis::S, s}, {Axis::D, 5}});
                const AttentionSizes sizes = attention_sizes(a.q, a.k, a.v);
                const Tensor<double> r = draw(sizes.context_shape());
                run(a, mask, pattern, sizes);
                const Stages g = backward(a, r, mask, pattern, sizes);
                const auto whole = [&] { return run(a, mask, pattern, sizes), project(r.values(), a.context.values()); };
                EXPECT_LE(worst_gradient_error(a.q.values(), g.q.values(), whole), kGradientTolerance);
                EXPECT_LE(worst_gradient_error(a.k.values(), g.k.values(), whole), kGradientTolerance);
                EXPECT_LE(worst_gradient_error(a.v.values(), g.v.values(), whole), kGradientTolerance);
                run(a, mask, pattern, sizes);
                // Shifting -inf changes nothing, so its gradient must be 0.
                const auto masked = [&] { return from_masked(a, mask, pattern, sizes), project(r.values(), a.context.values()); };
                EXPECT_LE(worst_gradient_error(a.masked.values(), g.masked.values(), masked), kGradientTolerance);
                run(a, mask, pattern, sizes);
                const auto weights = [&] {
                    // A masked cell has no effect, so its gradient must be 0.
                    for (std::int64_t i = 0; i < a.weights.size(); ++i)
                        if (std::isinf(a.masked.data()[i])) a.weights.data()[i] = 0;
                    from_weights(a, mask, pattern, sizes);
                    return project(r.values(), a.context.values());
                };
                EXPECT_LE(worst_gradient_error(a.weights.values(), g.weights.values(), weights), kGradientTolerance);
            }
}

TEST_F(AttentionGradientsTest, AreExactlyZeroInFullyMaskedRowsAndUntouchedByABadForbiddenKey) {
    const std::int64_t n = 5;
    Mask mask = Mask::causal(n, n);
    for (std::int64_t s = 0; s < n; ++s) mask.forbid(2, s);
    const DropoutPattern pattern(0, 0, {});
    Stages a;
    const Shape shape{{Axis::B, 1}, {Axis::H, 1}, {Axis::T, n}, {Axis::D, 3}};
    a.q = draw(shape), a.k = draw(shape), a.v = draw(shape);
    const AttentionSizes sizes = attention_sizes(a.q, a.k, a.v);
    const Tensor<double> r = draw(sizes.context_shape());
    run(a, mask, pattern, sizes);
    const Stages clean = backward(a, r, mask, pattern, sizes);
    for (std::int64_t s = 0; s < n; ++s) {
        EXPECT_EQ(clean.scores(0, 0, 2, s), 0);
        EXPECT_EQ(clean.dropped(0, 0, 2, s), 0);
    }
    for (std::int64_t d = 0; d < 3; ++d) EXPECT_EQ(clean.q(0, 0, 2, d), 0);
    for (const double bad : {std::nan(""), HUGE_VAL}) {
        Stages b = a;
        b.k(0, 0, 4, 1) = b.v(0, 0, 4, 2) = bad;  // only the last query can see the last key
        run(b, mask, pattern, sizes);
        const Stages g = backward(b, r, mask, pattern, sizes);
        for (std::int64_t t = 0; t < 4; ++t)
            for (std::int64_t d = 0; d < 3; ++d) EXPECT_EQ(g.q(0, 0, t, d), clean.q(0, 0, t, d));
    }
}

TEST_F(AttentionGradientsTest, OfWeightsAreThoseOfAutogradExceptInForbiddenCells) {
    const std::int64_t n = 6;
    const DropoutPattern pattern(0, 0, {});
    for (const Mask& mask : masks_for(n, n)) {
        Stages a;
        const Shape shape{{Axis::B, 2}, {Axis::H, 3}, {Axis::T, n}, {Axis::D, 4}};
        a.q = draw(shape), a.k = draw(shape), a.v = draw(shape);
        const AttentionSizes sizes = attention_sizes(a.q, a.k, a.v);
        const Tensor<double> r = draw(sizes.context_shape());
        run(a, mask, pattern, sizes);
        const Stages g = backward(a, r, mask, pattern, sizes);
        for (std::int64_t i = 0; i < g.weights.size(); ++i) {
            const std::int64_t s = i % n, t = i / n % n, head = i / (n * n);
            double autograd = 0;  // dcontext v^T, also in masked cells
            for (std::int64_t d = 0; d < 4; ++d) autograd += r.data()[(head * n + t) * 4 + d] * a.v.data()[(head * n + s) * 4 + d];
            EXPECT_NE(autograd, 0);
            if (mask.may_attend(head / 3, head % 3, t, s)) EXPECT_NEAR(g.weights.data()[i], autograd, 1e-12);
            else EXPECT_EQ(g.weights.data()[i], 0);
            EXPECT_TRUE(g.masked.data()[i] == 0 || mask.may_attend(head / 3, head % 3, t, s));
        }
    }
}

TEST_F(AttentionGradientsTest, OneTokenGivesNoGradientToQueryAndKey) {
    Stages a;
    const Shape shape{{Axis::B, 1}, {Axis::H, 1}, {Axis::T, 1}, {Axis::D, 3}};
    a.q = draw(shape), a.k = draw(shape), a.v = draw(shape);
    const AttentionSizes sizes = attention_sizes(a.q, a.k, a.v);
    const DropoutPattern pattern(0, 0, {});
    const Mask mask(1, 1);
    run(a, mask, pattern, sizes);
    const Stages g = backward(a, draw(sizes.context_shape()), mask, pattern, sizes);
    for (std::int64_t d = 0; d < 3; ++d) EXPECT_TRUE(g.q(0, 0, 0, d) == 0 && g.k(0, 0, 0, d) == 0);
}

TEST_F(AttentionGradientsTest, FusedAttentionEqualsTheStages) {
    for (const auto& [t, s] : {std::array<std::int64_t, 2>{1, 1}, {4, 4}, {3, 17}, {70, 70}, {130, 61}, {50, 120}})
        for (const Mask& mask : masks_for(t, s))
            for (const double rate : {0.0, 0.3}) {
                test::AttentionCase<double> in;
                in.q = draw({{Axis::B, 2}, {Axis::H, 3}, {Axis::T, t}, {Axis::D, 4}});
                in.k = draw({{Axis::B, 2}, {Axis::H, 3}, {Axis::S, s}, {Axis::D, 4}});
                in.v = draw({{Axis::B, 2}, {Axis::H, 3}, {Axis::S, s}, {Axis::D, 5}});
                in.dcontext = draw({{Axis::B, 2}, {Axis::H, 3}, {Axis::T, t}, {Axis::D, 5}});
                in.mask = mask;
                in.factor = 0.7;
                in.temperature = 1.3;
                in.dropout = DropoutPattern(rate, 3, {Stage::Dropped, 0});
                const auto staged = test::Staged<double>::run(in), fused = test::Fused<double>::run(in);
                const auto expect_equal = [&, t = t, s = s](const Tensor<double>& x, const Tensor<double>& y, const char* what) {
                    ASSERT_EQ(x.size(), y.size());
                    for (std::int64_t i = 0; i < x.size(); ++i)
                        ASSERT_TRUE(std::abs(x.data()[i] - y.data()[i]) <= 1e-12) << what << " " << i << " T=" << t << " S=" << s;
                };
                expect_equal(fused.weights, staged.weights, "weights");
                expect_equal(fused.dropped, staged.dropped, "dropped");
                expect_equal(fused.context, staged.context, "context");
                expect_equal(fused.dq, staged.dq, "dq");
                expect_equal(fused.dk, staged.dk, "dk");
                expect_equal(fused.dv, staged.dv, "dv");
            }
}

}  // namespace
}  // namespace attn
