/// Token-to-token totals against plain loops over matrices of doubles, for every mask and with fully masked rows.

#include "engine/trace/attention_totals.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

#include "engine/tensor/error.hpp"
#include "tests/support/random_model.hpp"

namespace attn {
namespace {

using testing_support::RandomModel;
using Square = std::vector<std::vector<double>>;

Square zeros(std::int64_t n) { return Square(static_cast<std::size_t>(n), std::vector<double>(static_cast<std::size_t>(n))); }

/// The mean over the heads.
Square mean_of_heads(const Trace<float>& trace, const StageId& id, std::int64_t b) {
    const Tensor<float>& w = trace.find(id)->value;
    const std::int64_t heads = w.shape()[1].size, n = w.shape()[2].size;
    Square a = zeros(n);
    for (std::int64_t t = 0; t < n; ++t)
        for (std::int64_t s = 0; s < n; ++s)
            for (std::int64_t h = 0; h < heads; ++h)
                a[static_cast<std::size_t>(t)][static_cast<std::size_t>(s)] +=
                    static_cast<double>(w(b, h, t, s)) / static_cast<double>(heads);
    return a;
}

/// R = Ã R written out, with an independent normalisation and the product's loops in another order.
Square oracle_step(const Square& a, const Square& before) {
    const std::size_t n = a.size();
    Square next = zeros(static_cast<std::int64_t>(n));
    for (std::size_t s = 0; s < n; ++s)
        for (std::size_t t = 0; t < n; ++t) {
            double total = 1;  // of a[t] plus the identity's row, before both are halved
            for (std::size_t j = 0; j < n; ++j) total += a[t][j];
            for (std::size_t j = n; j-- > 0;) next[t][s] += (a[t][j] + (j == t ? 1 : 0)) / total * before[j][s];
        }
    return next;
}

/// `got`: [T,T] row by row.
double largest_error(const std::vector<float>& got, const Square& expected) {
    double worst = 0;
    for (std::size_t t = 0; t < expected.size(); ++t)
        for (std::size_t s = 0; s < expected.size(); ++s) {
            const double error = std::abs(static_cast<double>(got[t * expected.size() + s]) - expected[t][s]);
            if (!(error <= worst)) worst = error;
        }
    return worst;
}

TEST(AttentionTotals, AgreesWithPlainLoopsForRandomModels) {
    int fully_masked = 0;
    for (unsigned seed = 0; seed < 60; ++seed) {
        const RandomModel model(seed);
        const Trace<float> trace = model.trace<float>();
        for (const Stack stack : {Stack::Main, Stack::Encoder, Stack::Decoder}) {
            if (trace.find({Stage::Weights, 0, stack}) == nullptr) continue;
            const AttentionTotals totals = attention_totals(trace, stack);
            ASSERT_EQ(totals.rollouts.size(), static_cast<std::size_t>(model.config.num_layers));
            const std::int64_t sequences = totals.rollouts[0].sequences(), positions = totals.rollouts[0].positions();
            for (std::int64_t b = 0; b < sequences; ++b) {
                Square rollout = zeros(positions), sum = rollout;
                for (std::size_t t = 0; t < rollout.size(); ++t) rollout[t][t] = 1;
                for (int layer = 0; layer < model.config.num_layers; ++layer) {
                    const StageId id{Stage::Weights, layer, stack};
                    const Square a = mean_of_heads(trace, id, b);
                    rollout = oracle_step(a, rollout);
                    for (std::size_t t = 0; t < sum.size(); ++t)
                        for (std::size_t s = 0; s < sum.size(); ++s) sum[t][s] += a[t][s];
                    Square mean = sum;
                    for (auto& row : mean)
                        for (double& x : row) x /= layer + 1;
                    const auto l = static_cast<std::size_t>(layer);
                    EXPECT_TRUE(largest_error(totals.head_means[l].sequence(b), a) <= 1e-6) << seed;
                    EXPECT_TRUE(largest_error(mean_of_layers(totals, l, b), mean) <= 1e-6) << seed;
                    EXPECT_TRUE(largest_error(totals.rollouts[l].sequence(b), rollout) <= 1e-6) << seed;
                    for (std::int64_t t = 0; t < positions; ++t) {
                        double row = 0;
                        for (std::int64_t s = 0; s < positions; ++s) row += static_cast<double>(totals.rollouts[l](b, t, s));
                        EXPECT_TRUE(std::abs(row - 1) <= 1e-5) << "every row of a rollout is a distribution";
                        const Mask* mask = trace.find(id)->mask.get();
                        fully_masked += mask != nullptr && mask->row_fully_masked(b, 0, t);
                    }
                }
                // Negative control: without normalising rows, the result differs as soon as a row is masked.
                Square wrong = rollout;
                wrong[0][0] += 1e-4;
                EXPECT_FALSE(largest_error(totals.rollouts.back().sequence(b), wrong) <= 1e-6);
            }
        }
    }
    EXPECT_GT(fully_masked, 0) << "the models are to have rows that attend to nothing";
}

/// Rows that sum to 1, in more positions than are mixed at a time.
TEST(AttentionTotals, ManyPositionsAreMixedInBlocks) {
    constexpr std::int64_t kPositions = 150;
    constexpr int kLayers = 3;
    std::mt19937 random(7);
    std::uniform_real_distribution<float> number(0, 1);
    // How many later positions each layer sees.
    for (const std::array<std::int64_t, kLayers>& ahead : {std::array<std::int64_t, kLayers>{0, 0, 0}, {0, kPositions, 0}, {3, 0, 0}}) {
        SCOPED_TRACE(ahead[1]);
        Trace<float> trace;
        trace.config.num_layers = kLayers;
        for (int layer = 0; layer < kLayers; ++layer) {
            Tensor<float> w({{Axis::B, 1}, {Axis::H, 2}, {Axis::T, kPositions}, {Axis::S, kPositions}});
            for (std::int64_t i = 0; i < 2 * kPositions; ++i) {
                float* const row = w.data() + i * kPositions;
                const std::int64_t seen = std::min(kPositions, i % kPositions + 1 + ahead[static_cast<std::size_t>(layer)]);
                std::generate_n(row, seen, [&] { return number(random); });
                const float sum = std::accumulate(row, row + seen, 0.F);
                for (std::int64_t s = 0; s < seen; ++s) row[s] /= sum;
            }
            trace.stages.push_back({{Stage::Weights, layer}, std::move(w), nullptr});
        }
        const AttentionTotals totals = attention_totals(trace, Stack::Main);
        Square rollout = zeros(kPositions);
        for (std::size_t t = 0; t < rollout.size(); ++t) rollout[t][t] = 1;
        for (int layer = 0; layer < kLayers; ++layer) {
            const auto l = static_cast<std::size_t>(layer);
            rollout = oracle_step(mean_of_heads(trace, {Stage::Weights, layer}, 0), rollout);
            EXPECT_TRUE(largest_error(totals.rollouts[l].sequence(0), rollout) <= 1e-6) << layer;
            EXPECT_EQ(totals.head_means[l].is_lower(), ahead[l] == 0) << layer;
        }
        EXPECT_EQ(totals.rollouts.back().is_lower(), ahead == (std::array<std::int64_t, kLayers>{}));
    }
}

TEST(AttentionTotals, CoverTheLayersOfTheirOwnStack) {
    RandomModel model(3);
    for (unsigned seed = 3; model.config.architecture != Architecture::EncoderDecoder; ++seed) model = RandomModel(seed);
    model.config.output_projection = true;
    for (const auto& [encoder, decoder] : {std::pair<std::int64_t, std::int64_t>{1, 2}, {2, 1}}) {
        model.config.encoder_layers = encoder;
        model.config.num_layers = decoder;
        const Trace<float> trace = model.trace<float>();
        EXPECT_EQ(attention_totals(trace, Stack::Encoder).layers(), static_cast<std::size_t>(encoder));
        EXPECT_EQ(attention_totals(trace, Stack::Decoder).layers(), static_cast<std::size_t>(decoder));
    }
}

TEST(AttentionTotals, ATokenThatAttendsToNothingIsPassedOn) {
    const std::vector<float> nothing(3, 0.F);
    EXPECT_EQ(with_residual(nothing.data(), 3, 1), (std::vector<double>{0, 1, 0}));
    const std::vector<float> half = {1, 0, 0};
    EXPECT_EQ(with_residual(half.data(), 3, 1), (std::vector<double>{0.5, 0.5, 0}));
    const std::vector<float> cancels = {0, -1, 0};
    EXPECT_EQ(with_residual(cancels.data(), 3, 1), (std::vector<double>{0, 0, 0})) << "a sum of 0 divides nothing";
}

TEST(AttentionTotals, ANanStaysWhereItIs) {
    Trace<float> trace;
    trace.config.num_layers = 2;
    const float nan = std::numeric_limits<float>::quiet_NaN();
    for (int layer = 0; layer < 2; ++layer) {
        Tensor<float> w({{Axis::B, 1}, {Axis::H, 1}, {Axis::T, 3}, {Axis::S, 3}});
        w(0, 0, 0, 0) = 1;
        w(0, 0, 1, 0) = layer == 0 ? nan : 1;
        w(0, 0, 2, 0) = 1;
        trace.stages.push_back({{Stage::Weights, layer}, std::move(w), nullptr});
    }
    const AttentionTotals totals = attention_totals(trace, Stack::Main);
    for (std::int64_t s = 0; s < 3; ++s) {
        EXPECT_TRUE(std::isnan(totals.rollouts[1](0, 1, s)));
        EXPECT_TRUE(std::isfinite(totals.rollouts[1](0, 0, s)));
        EXPECT_TRUE(std::isfinite(totals.rollouts[1](0, 2, s))) << "row 2 never looks at row 1";
    }
}

TEST(AttentionTotals, SaysWhatIsMissing) {
    Trace<float> trace;
    trace.config.num_layers = 1;
    EXPECT_THROW(attention_totals(trace, Stack::Encoder), Error);
    EXPECT_THROW(head_mean({{Stage::Q, 0}, Tensor<float>({{Axis::B, 1}, {Axis::T, 2}, {Axis::C, 2}}), nullptr}), ShapeError);
    const RandomModel model(1);
    const Trace<float> real = model.trace<float>();
    std::stop_source stop;
    stop.request_stop();
    EXPECT_THROW(attention_totals(real, real.find({Stage::Weights, 0}) ? Stack::Main : Stack::Decoder, stop.get_token()), Cancelled);
}

}  // namespace
}  // namespace attn
