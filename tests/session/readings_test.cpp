/// Readings are consistent with the whole trace, for every model.

#include "app/session/facets/readings.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "app/session/document/presets.hpp"
#include "app/session/facets/rollout_terms.hpp"
#include "app/session/session.hpp"
#include "tests/support/random_model.hpp"

namespace attn::app::test {
namespace {

TEST(Readings, FollowEveryTraceOfASession) {
    Session session(open_preset("gpt-tiny"), [] {});
    const auto first = session.get(facet::Readings{});
    ASSERT_TRUE(first->lens);
    EXPECT_EQ(first->lens->positions, session.wait()->trace->tokens.length);
    session.apply({command::SetTexts{{"the same words"}, {}}, ""});
    const auto second = session.get(facet::Readings{});
    EXPECT_NE(first, second);
    EXPECT_EQ(second->lens->positions, 3);
    const auto totals = session.get(facet::Readings{ReadingKind::Totals});
    EXPECT_FALSE(totals->lens);
    EXPECT_EQ(totals->of(Stack::Main)->rollouts.size(), static_cast<std::size_t>(session.wait()->trace->config.num_layers));
    EXPECT_EQ(totals->of(Stack::Encoder), nullptr);
    EXPECT_TRUE(second->totals.empty());
}

TEST(Readings, OfEveryKindOfModel) {
    int with_lens = 0, two_stacks = 0;
    for (unsigned seed = 0; seed < 30; ++seed) {
        const testing_support::RandomModel model(seed);
        const auto trace = std::make_shared<const Trace<float>>(model.trace<float>());
        const Readings lens = read_trace(trace, ReadingKind::Lens, {}), readings = read_trace(trace, ReadingKind::Totals, {});
        EXPECT_EQ(lens.lens.has_value(), model.config.lm_head);
        with_lens += lens.lens.has_value();
        const bool both = model.config.architecture == Architecture::EncoderDecoder;
        EXPECT_EQ(readings.totals.size(), both ? 2U : 1U);
        two_stacks += both;
    }
    EXPECT_GT(with_lens, 0);
    EXPECT_GT(two_stacks, 0);
}

TEST(Readings, LossesAreMeansOverWhatCounts) {
    LogitLens lens;
    lens.stages = {{Stage::Embedding}, {Stage::Residual2, 0}};
    lens.batches = 2;
    lens.positions = 3;
    lens.known = {0, 1};
    lens.cells.resize(12);
    const auto put = [&](std::int64_t b, std::int64_t t, std::int32_t next, float probability) {
        LensCell& cell = lens.cells[static_cast<std::size_t>((2 + b) * 3 + t)];
        cell.count = 1, cell.next = next, cell.next_probability = probability;
    };
    put(0, 0, 1, 0.5F);
    put(0, 1, 1, 0.25F);
    put(0, 2, -1, 0);
    put(1, 0, 1, 0.125F);
    put(1, 1, 1, 1);
    put(1, 2, -1, 0);
    const auto nan = [](double loss) { return std::isnan(loss); };
    const std::vector<double> all = lens_losses(lens, {});
    ASSERT_EQ(all.size(), 4U);
    EXPECT_TRUE(nan(all[0]) && nan(all[1])) << "not computed yet";
    EXPECT_NEAR(all[2], 1.5 * std::log(2.0), 1e-15);
    EXPECT_NEAR(all[3], 1.5 * std::log(2.0), 1e-15);
    const std::vector<double> some = lens_losses(lens, std::vector<std::uint8_t>{0, 1, 1, 0, 0, 1});
    EXPECT_NEAR(some[2], 2 * std::log(2.0), 1e-15);
    EXPECT_TRUE(nan(some[3])) << "nothing counts";
    put(0, 1, 1, std::nanf(""));
    EXPECT_TRUE(nan(lens_losses(lens, {})[2]));
    EXPECT_FALSE(nan(lens_losses(lens, {})[3]));
}

/// Every cell of every layer: the sum is the rollout, and the terms are those of a double loop.
TEST(Readings, RolloutTermsAddUpToTheirCell) {
    for (unsigned seed = 0; seed < 12; ++seed) {
        const testing_support::RandomModel model(seed);
        const auto trace = std::make_shared<const Trace<float>>(model.trace<float>());
        const AttentionTotals totals = read_trace(trace, ReadingKind::Totals, {}).totals.back();
        for (std::size_t layer = 0; layer < totals.layers(); ++layer) {
            const TokenMap &rollout = totals.rollouts[layer], &mean = totals.head_means[layer];
            const std::int64_t b = rollout.sequences() - 1, positions = rollout.positions();
            for (std::int64_t t = 0; t < positions; ++t) {
                double whole = 0;
                for (std::int64_t j = 0; j < positions; ++j) whole += 0.5 * static_cast<double>(mean(b, t, j)) + (j == t ? 0.5 : 0);
                for (std::int64_t s = 0; s < positions; ++s) {
                    const RolloutTerms terms = rollout_terms(totals, layer, b, t, s);
                    EXPECT_NEAR(terms.sum, static_cast<double>(rollout(b, t, s)), 1e-6);
                    std::vector<double> products;
                    for (std::int64_t j = 0; j < positions; ++j) {
                        const double share = (0.5 * static_cast<double>(mean(b, t, j)) + (j == t ? 0.5 : 0)) / whole;
                        const double before = layer == 0 ? (j == s ? 1.0 : 0.0) : static_cast<double>(totals.rollouts[layer - 1](b, j, s));
                        if (share * before != 0) products.push_back(share * before);
                    }
                    std::sort(products.begin(), products.end(), std::greater<>());
                    ASSERT_EQ(terms.count, products.size());
                    ASSERT_EQ(terms.largest.size(), std::min(products.size(), RolloutTerms::kMost));
                    for (std::size_t i = 0; i < terms.largest.size(); ++i) EXPECT_NEAR(terms.largest[i].product, products[i], 1e-6);
                }
            }
        }
    }
}

/// Twenty positions that attend to all evenly: by hand, R_1[t,s] = 0.0375 for t ≠ s.
TEST(Readings, OnlyTheLargestRolloutTermsAreListed) {
    TotalsOfLayers made(Stack::Main);
    Tensor<float> even({{Axis::B, 1}, {Axis::T, 20}, {Axis::S, 20}});
    std::fill_n(even.data(), 400, 0.05F);
    made.add(even);
    made.add(even);
    const RolloutTerms terms = rollout_terms(made.take(), 1, 0, 3, 7);
    EXPECT_EQ(terms.count, 20U);
    ASSERT_EQ(terms.largest.size(), 12U);
    EXPECT_TRUE(terms.largest[0].through == 3 || terms.largest[0].through == 7) << "its own, or the key's";
    EXPECT_NEAR(terms.sum, 0.05 * 0.75, 1e-6);
}

TEST(Readings, CellsBeyondARolloutAreRefused) {
    Session session(open_preset("gpt-tiny"), [] {});
    const std::int64_t length = session.wait()->trace->tokens.length;
    EXPECT_TRUE(session.compute(facet::RolloutTerms{{}, length - 1, 0}));
    EXPECT_EQ(session.compute(facet::RolloutTerms{{}, length - 1, 0})->readings, session.get(facet::Readings{ReadingKind::Totals})->serial);
    EXPECT_FALSE(session.compute(facet::RolloutTerms{{}, length, 0}));
    EXPECT_FALSE(session.compute(facet::RolloutTerms{{}, 0, length}));
    EXPECT_FALSE(session.compute(facet::RolloutTerms{{.layer = 99}, 0, 0}));
    EXPECT_FALSE(session.compute(facet::RolloutTerms{{.sequence = 9}, 0, 0}));
}

TEST(Readings, AreToldWhileTheyAreRead) {
    Session session(open_preset("gpt-tiny"), [] {});
    const auto whole = session.get(facet::Readings{});
    std::size_t last = 0, rows = 0;
    read_trace(session.wait()->trace, ReadingKind::Lens, {}, [&](const Readings& so_far, std::size_t done, std::size_t total) {
        EXPECT_EQ(done, ++last);
        EXPECT_EQ(total, whole->lens->stages.size());
        ASSERT_TRUE(so_far.lens);
        rows = static_cast<std::size_t>(std::count(so_far.lens->known.begin(), so_far.lens->known.end(), 1));
        EXPECT_EQ(rows, done);
    });
    EXPECT_EQ(rows, whole->lens->stages.size());
}

}  // namespace
}  // namespace attn::app::test
