/// Readings are consistent with the whole trace, for every model.

#include "app/session/values/readings.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>

#include "app/session/document/presets.hpp"
#include "app/session/session.hpp"
#include "app/session/values/rollout_terms.hpp"
#include "engine/tensor/error.hpp"
#include "tests/support/random_model.hpp"

namespace attn::app::test {
namespace {

TEST(Readings, FollowEveryTraceOfASession) {
    Session session(open_preset("gpt-tiny"), [] {});
    const auto first = session.get(facet::Lens{});
    ASSERT_TRUE(first->lens);
    EXPECT_EQ(first->lens->positions, session.wait()->trace->tokens.length);
    session.apply({command::SetTexts{{"the same words"}, {}}, ""});
    const auto second = session.get(facet::Lens{});
    EXPECT_NE(first, second);
    EXPECT_EQ(second->lens->positions, 3);
    const auto totals = session.get(facet::Totals{});
    EXPECT_EQ(totals->of(Stack::Main)->rollouts.size(), static_cast<std::size_t>(session.wait()->trace->config.num_layers));
    EXPECT_EQ(totals->of(Stack::Encoder), nullptr);
}

TEST(Readings, OfEveryKindOfModel) {
    int with_lens = 0, two_stacks = 0;
    for (unsigned seed = 0; seed < 30; ++seed) {
        const testing_support::RandomModel model(seed);
        const auto trace = std::make_shared<const Trace<float>>(model.trace<float>());
        const LensReading lens = read_lens(trace, {});
        const TotalsReading readings = read_totals(trace, {});
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
        const AttentionTotals totals = read_totals(trace, {}).totals.back();
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

TEST(Readings, ANanInARolloutComesFirstAndCountsOnlyWithAShare) {
    Tensor<float> first({{Axis::B, 1}, {Axis::T, 3}, {Axis::S, 3}}), second = first;
    const std::vector<float> one = {1, 0, 0, std::nanf(""), 0, 0, 0.5F, 0, 0.5F}, two = {1, 0, 0, 1, 0, 0, 0.25F, 0.5F, 0.25F};
    std::copy(one.begin(), one.end(), first.data());
    std::copy(two.begin(), two.end(), second.data());
    TotalsOfLayers made(Stack::Main);
    made.add(first);
    made.add(second);
    const AttentionTotals totals = made.take();
    const RolloutTerms with_it = rollout_terms(totals, 1, 0, 2, 0);
    EXPECT_TRUE(std::isnan(with_it.sum));
    ASSERT_EQ(with_it.count, 3U);
    EXPECT_EQ(with_it.largest[0].through, 1);
    EXPECT_EQ(with_it.largest[1].through, 2);
    EXPECT_EQ(with_it.largest[2].through, 0);
    EXPECT_EQ(rollout_terms(totals, 1, 0, 0, 0).sum, 1);
}

TEST(Readings, CellsBeyondARolloutAreRefused) {
    Session session(open_preset("gpt-tiny"), [] {});
    const std::int64_t length = session.wait()->trace->tokens.length;
    EXPECT_TRUE(session.compute(facet::RolloutTerms{{}, length - 1, 0}));
    EXPECT_EQ(session.compute(facet::RolloutTerms{{}, length - 1, 0})->readings, session.get(facet::Totals{})->serial);
    EXPECT_FALSE(session.compute(facet::RolloutTerms{{}, length, 0}));
    EXPECT_FALSE(session.compute(facet::RolloutTerms{{}, 0, length}));
    EXPECT_FALSE(session.compute(facet::RolloutTerms{{}, -1, 0}));
    EXPECT_FALSE(session.compute(facet::RolloutTerms{{.layer = 99}, 0, 0}));
    EXPECT_FALSE(session.compute(facet::RolloutTerms{{.sequence = 9}, 0, 0}));
}

TEST(Readings, AreToldWhileTheyAreRead) {
    Session session(open_preset("gpt-tiny"), [] {});
    const auto whole = session.get(facet::Lens{});
    std::size_t last = 0, rows = 0;
    read_lens(session.wait()->trace, {}, [&](const LensReading& so_far, std::size_t done, std::size_t total) {
        EXPECT_EQ(done, ++last);
        EXPECT_EQ(total, whole->lens->stages.size());
        ASSERT_TRUE(so_far.lens);
        rows = static_cast<std::size_t>(std::count(so_far.lens->known.begin(), so_far.lens->known.end(), 1));
        EXPECT_EQ(rows, done);
    });
    EXPECT_EQ(rows, whole->lens->stages.size());
}

/// A lens of random predictions. Of some positions no token follows, of some no logit is a number, and some are certain or impossible.
LogitLens random_lens(std::mt19937& random) {
    LogitLens lens;
    lens.stages.resize(1 + random() % 3);
    lens.batches = 1 + random() % 3;
    lens.positions = 1 + random() % 6;
    for (std::size_t i = 0; i < lens.stages.size(); ++i) lens.known.push_back(random() % 4 != 0);
    lens.cells.resize(lens.stages.size() * static_cast<std::size_t>(lens.batches * lens.positions));
    for (LensCell& cell : lens.cells) {
        cell.next = random() % 4 == 0 ? -1 : 7;
        cell.count = random() % 4 == 0 ? 0 : 5;
        cell.next_probability = static_cast<float>(random() % 9) / 8;
    }
    return lens;
}

TEST(LensLosses, AreMeansOverWhatCounts) {
    std::mt19937 random(4);
    int none = 0, infinite = 0;
    for (int round = 0; round < 300; ++round) {
        const LogitLens lens = random_lens(random);
        const auto all = static_cast<std::size_t>(lens.batches * lens.positions);
        std::vector<std::uint8_t> counted(round % 3 == 0 ? 0 : all);
        for (std::uint8_t& one : counted) one = random() % 3 != 0;
        const std::vector<double> losses = lens_losses(lens, counted);
        ASSERT_EQ(losses.size(), lens.stages.size() * static_cast<std::size_t>(lens.batches));
        for (std::size_t stage = 0; stage < lens.stages.size(); ++stage)
            for (std::int64_t b = 0; b < lens.batches; ++b) {
                double sum = 0, number = 0;
                for (std::int64_t t = 0; t < lens.positions; ++t) {
                    const LensCell& cell = lens.at(stage, b, t);
                    const bool counts = counted.empty() || counted[static_cast<std::size_t>(b * lens.positions + t)] != 0;
                    if (lens.known[stage] == 0 || cell.count == 0 || cell.next < 0 || !counts) continue;
                    sum += std::log(1 / static_cast<double>(cell.next_probability));
                    number += 1;
                }
                const double loss = losses[stage * static_cast<std::size_t>(lens.batches) + static_cast<std::size_t>(b)];
                if (number == 0) EXPECT_TRUE(std::isnan(loss)) << loss;
                else if (std::isinf(sum)) EXPECT_EQ(loss, sum);
                else EXPECT_NEAR(loss, sum / number, 1e-12);
                none += number == 0;
                infinite += std::isinf(sum);
            }
    }
    EXPECT_GT(none, 0);
    EXPECT_GT(infinite, 0);
    const LogitLens lens = random_lens(random);
    EXPECT_THROW(lens_losses(lens, std::vector<std::uint8_t>(lens.cells.size() + 1)), ShapeError);
}

TEST(LensLosses, ComeWithTheTokensThatAreLikeliestSomewhere) {
    std::mt19937 random(6);
    for (int round = 0; round < 50; ++round) {
        LogitLens lens = random_lens(random);
        for (LensCell& cell : lens.cells) cell.top[0].token = static_cast<std::int32_t>(random() % 6);
        std::vector<std::int32_t> expected;
        for (std::int32_t token = 0; token < 6; ++token)
            if (std::any_of(lens.cells.begin(), lens.cells.end(),
                            [&](const LensCell& cell) { return cell.count > 0 && cell.top[0].token == token; }))
                expected.push_back(token);
        EXPECT_EQ(lens_first_choices(lens), expected);
    }
    Session session(open_preset("gpt-tiny"), [] {});
    const auto readings = session.get(facet::Lens{});
    EXPECT_EQ(readings->first_choices, lens_first_choices(*readings->lens));
    EXPECT_FALSE(readings->first_choices.empty());
}

}  // namespace
}  // namespace attn::app::test
