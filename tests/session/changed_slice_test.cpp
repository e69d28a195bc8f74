/// Slices as views change them, compared with small cases worked out by hand.
#include "app/session/values/changed_slice.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <vector>

#include "engine/model/outline.hpp"
#include "engine/model/transformer.hpp"
#include "engine/tensor/error.hpp"
#include "engine/trace/attention_totals.hpp"

namespace attn::app {
namespace {

using Bytes = std::vector<std::uint8_t>;
using Numbers = std::vector<float>;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

TEST(ChangedSlice, RowsAreSummedOverWhatIsNotMasked) {
    const Numbers values = {1, 2, kNan, 4, 5, 6};
    const Bytes keep = {1, 1, 0, 1, 0, 1};
    EXPECT_EQ(slice_row_sums({values.data(), 2, 3, 3, keep.data()}).values, Numbers({3, 10}));
    EXPECT_TRUE(std::isnan(slice_row_sums({values.data(), 2, 3, 3}).values[0])) << "what is not masked counts, even if it is no number";
    // Columns as rows.
    EXPECT_EQ(slice_row_sums({.values = values.data(), .rows = 2, .cols = 2, .row_stride = 1, .col_stride = 3}).values, Numbers({5, 7}));
    EXPECT_EQ(slice_row_sums({values.data(), 1, 1, 1}).values, Numbers({1}));
    EXPECT_EQ(slice_row_sums({values.data(), 1, 2, 2}).statistics.max, 3);
}

/// Two layers of three tokens; the second masks all but a few cells.
class TotalsOfTwoLayers : public testing::Test {
protected:
    TotalsOfTwoLayers() {
        const Numbers first = {1, 0, 0, 0.5F, 0, 0.5F, 0, 0, 0}, second = {0, 0, 0, 0, kNan, 0, 0, 0.5F, 0.5F};
        for (const Numbers* numbers : {&first, &second}) totals.head_means.emplace_back(map_of(*numbers));
        for (const Numbers& numbers : {Numbers{1, 0, 0, 0, 1, 0, 0, 0, 1}, Numbers{0.5F, 0, 0.25F, kNan, 0, 0, 0, 0, 0}})
            totals.rollouts.emplace_back(map_of(numbers));
        auto mask = std::make_shared<Mask>(3, 3);
        const Bytes keep = {1, 0, 0, 0, 1, 1, 0, 0, 1};
        for (std::int64_t t = 0; t < 3; ++t) mask->set_row(t, keep.data() + 3 * t);
        trace.stages.push_back({.id = {Stage::Weights, 1}, .value = {}, .mask = mask});
    }
    static Tensor<float> map_of(const Numbers& numbers) {
        Tensor<float> map({{Axis::B, 1}, {Axis::T, 3}, {Axis::S, 3}});
        std::copy(numbers.begin(), numbers.end(), map.data());
        return map;
    }
    ChangedSlice slice(bool rollout, std::size_t layer, std::int64_t sequence = 0) const {
        return slice_of_totals({trace, totals, rollout, layer, sequence});
    }
    Trace<float> trace;
    AttentionTotals totals;
};

TEST_F(TotalsOfTwoLayers, CountBehindTheMaskIfTheyAreNotZero) {
    const ChangedSlice rollout = slice(true, 1);
    EXPECT_EQ(rollout.keep, Bytes({1, 0, 1, 1, 1, 1, 0, 0, 1}));
    EXPECT_EQ(rollout.statistics.masked, 3);
    EXPECT_EQ(rollout.statistics.nan, 1);
    EXPECT_EQ(rollout.statistics.count, 5);
    EXPECT_TRUE(slice(true, 0).keep.empty()) << "the trace holds no mask of layer 0";
}

/// An outline holds no weights, but its mask follows from the settings.
TEST(ChangedSlice, TotalsOfAnOutlineAreMaskedAsThoseOfTheTrace) {
    Config config;
    config.num_layers = 2, config.num_heads = 2, config.d_model = 8, config.vocab_size = 9;
    const auto parameters = std::make_shared<const Parameters<float>>(initial_parameters<float>(config));
    ForwardSettings settings;
    settings.masks.causal = true;
    const TokenBatch tokens{4, {1, 2, 3, 4, 5, 6, 0, 0}, {4, 2}};
    const Trace<float> whole = trace_forward<float>(parameters, tokens, {}, settings),
                       outline = trace_outline<float>(parameters, tokens, {}, settings);
    const AttentionTotals totals = attention_totals(whole, Stack::Main);
    for (const std::int64_t sequence : {0, 1})
        for (const std::size_t layer : {0, 1}) {
            const ChangedSlice expected = slice_of_totals({whole, totals, true, layer, sequence});
            ASSERT_FALSE(expected.keep.empty());
            EXPECT_EQ(slice_of_totals({outline, totals, true, layer, sequence}).keep, expected.keep);
        }
}

TEST_F(TotalsOfTwoLayers, MeansAreTakenUpToTheLayer) {
    EXPECT_EQ(slice(false, 0).values, Numbers({1, 0, 0, 0.5F, 0, 0.5F, 0, 0, 0}));
    const ChangedSlice mean = slice(false, 1);
    EXPECT_TRUE(std::isnan(mean.values[4]));
    Numbers rest = mean.values;
    rest[4] = 0;
    EXPECT_EQ(rest, Numbers({0.5F, 0, 0, 0.25F, 0, 0.25F, 0, 0.25F, 0.25F}));
    EXPECT_EQ(mean.keep, Bytes({1, 0, 0, 1, 1, 1, 0, 1, 1}));
    EXPECT_THROW(slice(false, 2), Error);
    EXPECT_THROW(slice(true, 0, 1), Error);
}

TEST(ChangedSlice, WithoutTheFirstKeyTheRestOfARowSumsToOne) {
    const Numbers values = {0.5F, 0.25F, 0.25F, 1, 0, 0};
    const Bytes keep = {1, 1, 1, 1, 0, 0};
    const ChangedSlice slice = slice_without_first_key({values.data(), 2, 3, 3, keep.data()});
    EXPECT_EQ(slice.values, Numbers({0, 0.5F, 0.5F, 0, 0, 0}));
    EXPECT_EQ(slice.keep, Bytes({0, 1, 1, 0, 0, 0}));
}

TEST(ChangedSlice, WeightsAreMultipliedByTheNormOfTheirColumn) {
    const Numbers values = {1, 2, 3, 4}, norms = {10, 0.5F};
    EXPECT_EQ(norm_weighted_slice({values.data(), 2, 2, 2}, norms.data()).values, Numbers({10, 1, 30, 2}));
}

TEST(ChangedSlice, DifferencesTreatTheMaskAsTheStageDoes) {
    const Numbers now = {0.5F, 0, 0.75F, 0}, before = {0.25F, 0.25F, 0, 0};
    const Bytes keep_now = {1, 0, 1, 0}, keep_before = {1, 1, 0, 0};
    const NumberGrid a{now.data(), 2, 2, 2, keep_now.data()}, b{before.data(), 2, 2, 2, keep_before.data()};
    const ChangedSlice weights = slice_difference(a, b, true);
    EXPECT_EQ(weights.values, Numbers({0.25F, -0.25F, 0.75F, 0}));
    EXPECT_EQ(weights.keep, Bytes({1, 1, 1, 0})) << "a masked weight is 0";
    EXPECT_EQ(slice_difference(a, b, false).keep, Bytes({1, 0, 0, 0})) << "a masked score has no value";
    EXPECT_TRUE(slice_difference({now.data(), 2, 2, 2}, {before.data(), 2, 2, 2}, false).keep.empty());
}

}  // namespace
}  // namespace attn::app
