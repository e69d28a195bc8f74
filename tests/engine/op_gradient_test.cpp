#include <gtest/gtest.h>

#include "engine/ops/activation.hpp"
#include "engine/ops/cross_entropy.hpp"
#include "engine/ops/embedding.hpp"
#include "engine/ops/linear.hpp"
#include "engine/ops/norm.hpp"
#include "engine/tensor/error.hpp"
#include "tests/engine/gradient_fixture.hpp"

namespace attn {
namespace {

TEST_F(OpGradients, TheCheckCatchesABrokenGradientAndNan) {
    Values x{0.3, -1.2};
    const auto loss = [&] { return x[0] * x[0] * x[1]; };
    EXPECT_LE(worst_gradient_error(x, Values{2 * 0.3 * -1.2, 0.09}, loss), 1e-9);
    EXPECT_GT(worst_gradient_error(x, Values{2 * 0.3 * -1.2 * 1.0001, 0.09}, loss), kGradientTolerance);
    EXPECT_GT(worst_gradient_error(x, Values{2 * 0.3 * -1.2, -0.09}, loss), kGradientTolerance);
    EXPECT_GT(worst_gradient_error(x, Values{std::nan(""), 0.09}, loss), kGradientTolerance);
    EXPECT_GT(worst_gradient_error(x, Values{2 * 0.3 * -1.2, 0.09}, [] { return std::nan(""); }), kGradientTolerance);
}

TEST_F(OpGradients, OfLinear) {
    for (const auto& [rows, in, out] : {std::array{1, 1, 1}, std::array{5, 3, 4}, std::array{70, 2, 9}}) {
        Values x = draw(rows * in), w = draw(in * out), b = draw(out), y(static_cast<std::size_t>(rows * out)), r = draw(rows * out);
        const MatrixView weight = MatrixView::of(w.data(), in, out), table = MatrixView::of(w.data(), out, in);
        const auto loss = [&, rows = rows] {
            linear(x.data(), rows, weight, b.data(), y.data());
            return project(r, y);
        };
        Values dx(x.size()), dw(w.size()), db(b.size());
        linear_backward(r.data(), x.data(), rows, weight, dx.data(), {dw.data(), out}, db.data());
        EXPECT_LE(worst_gradient_error(x, dx, loss), kGradientTolerance);
        EXPECT_LE(worst_gradient_error(w, dw, loss), kGradientTolerance);
        EXPECT_LE(worst_gradient_error(b, db, loss), kGradientTolerance);
        const auto tied_loss = [&, rows = rows] {
            linear<double>(x.data(), rows, table.across(), nullptr, y.data());
            return project(r, y);
        };
        Values dtable(w.size());
        linear_backward<double>(r.data(), x.data(), rows, table.across(), dx.data(), {dtable.data(), in, true}, nullptr);
        EXPECT_LE(worst_gradient_error(x, dx, tied_loss), kGradientTolerance);
        EXPECT_LE(worst_gradient_error(w, dtable, tied_loss), kGradientTolerance);
    }
}

TEST_F(OpGradients, OfRmsNorm) {
    for (const auto& [rows, n] : {std::array{1, 1}, std::array{3, 7}, std::array{80, 5}, std::array{2, 33}}) {
        Values x = draw(rows * n), gain = draw(n), plus = draw(rows * n), r = draw(rows * n);
        Values y(x.size()), rstd(static_cast<std::size_t>(rows));
        const auto loss = [&, rows = rows, n = n] {
            rms_norm(x.data(), rows, n, gain.data(), 1e-2, y.data(), rstd.data());
            return project(r, y) + project(plus, x);
        };
        loss();
        Values dx(x.size()), dgain(gain.size());
        rms_norm_backward<double>(r.data(), x.data(), rows, n, gain.data(), rstd.data(), {dx.data(), dgain.data(), nullptr, plus.data()});
        EXPECT_LE(worst_gradient_error(x, dx, loss), kGradientTolerance);
        EXPECT_LE(worst_gradient_error(gain, dgain, loss), kGradientTolerance);
    }
}

TEST_F(OpGradients, OfLayerNorm) {
    for (const auto& [rows, n] : {std::array{1, 1}, std::array{3, 7}, std::array{80, 5}, std::array{2, 33}}) {
        Values x = draw(rows * n), gain = draw(n), bias = draw(n), plus = draw(rows * n), r = draw(rows * n);
        Values y(x.size()), mean(static_cast<std::size_t>(rows)), rstd(mean);
        const auto loss = [&, rows = rows, n = n] {
            layer_norm(x.data(), rows, n, gain.data(), bias.data(), 1e-2, y.data(), mean.data(), rstd.data());
            return project(r, y) + project(plus, x);
        };
        loss();
        Values dx(x.size()), dgain(gain.size()), dbias(bias.size());
        layer_norm_backward<double>(r.data(), x.data(), rows, n, gain.data(), mean.data(), rstd.data(),
                                    {dx.data(), dgain.data(), dbias.data(), plus.data()});
        EXPECT_LE(worst_gradient_error(x, dx, loss), kGradientTolerance);
        EXPECT_LE(worst_gradient_error(gain, dgain, loss), kGradientTolerance);
        EXPECT_LE(worst_gradient_error(bias, dbias, loss), kGradientTolerance);
    }
}

TEST_F(OpGradients, OfActivations) {
    for (const Activation activation :
         {Activation::Relu, Activation::GeluErf, Activation::GeluTanh, Activation::Silu, Activation::QuickGelu, Activation::GeluClipped}) {
        Values x = draw(37), y(37), r = draw(37), dx(37);
        for (double& v : x) v += v < 0 ? -0.01 : 0.01;  // away from ReLU's kink
        const auto loss = [&] {
            activate(activation, x.data(), 37, y.data());
            return project(r, y);
        };
        activate_backward(activation, x.data(), r.data(), 37, dx.data());
        EXPECT_LE(worst_gradient_error(x, dx, loss), kGradientTolerance);
    }
}

TEST_F(OpGradients, OfEmbedding) {
    const std::vector<std::int32_t> ids{2, 0, 2, 1};
    Values table = draw(4 * 3), y(4 * 3), r = draw(4 * 3), dtable(4 * 3);
    const auto loss = [&] {
        embed<double>(ids, MatrixView::of(table.data(), 4, 3), y.data());
        return project(r, y);
    };
    embed_backward<double>(ids, r.data(), 3, dtable.data());
    EXPECT_LE(worst_gradient_error(table, dtable, loss), kGradientTolerance);
}

TEST_F(OpGradients, OfCrossEntropyWithIgnoredTargets) {
    for (const std::vector<std::int32_t>& targets :
         {std::vector<std::int32_t>{3, kIgnoredTarget, 0}, {kIgnoredTarget, kIgnoredTarget, kIgnoredTarget}}) {
        Values logits = draw(3 * 21), d(logits.size(), 9);
        std::vector<RowLoss> rows(3);
        const auto loss = [&] { return cross_entropy<double>(logits.data(), targets, 21, rows, nullptr).loss; };
        const CrossEntropy result = cross_entropy<double>(logits.data(), targets, 21, rows, d.data());
        EXPECT_LE(worst_gradient_error(logits, d, loss), kGradientTolerance);
        EXPECT_EQ(result.counted, targets[0] == 3 ? 2 : 0);
        for (std::size_t i = 21; i < 42; ++i) EXPECT_EQ(d[i], 0);
        EXPECT_TRUE(result.counted > 0 || result.loss == 0);
    }
}

TEST(CrossEntropyEdges, StaysFiniteAndRefusesBadTargets) {
    std::vector<float> logits{1e4F, 0, -1e4F};
    std::vector<RowLoss> rows(1);
    EXPECT_EQ(cross_entropy<float>(logits.data(), std::vector<std::int32_t>{2}, 3, rows, nullptr).loss, 2e4);
    EXPECT_EQ(cross_entropy<float>(logits.data(), std::vector<std::int32_t>{0}, 3, rows, nullptr).loss, 0);
    EXPECT_THROW(cross_entropy<float>(logits.data(), std::vector<std::int32_t>{3}, 3, rows, nullptr), Error);
    EXPECT_THROW(cross_entropy<float>(logits.data(), std::vector<std::int32_t>{-2}, 3, rows, nullptr), Error);
    EXPECT_THROW(cross_entropy<float>(logits.data(), std::vector<std::int32_t>{0}, 3, {}, nullptr), ShapeError);
}

}  // namespace
}  // namespace attn
