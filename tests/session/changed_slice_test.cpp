/// Slices as views change them, compared with small cases worked out by hand.
#include "app/session/facets/changed_slice.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

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

TEST(ChangedSlice, TotalsBehindTheMaskCountIfTheyAreNotZero) {
    const Numbers values = {0.5F, 0, 0.25F, kNan, 0, 0};
    const Bytes keep = {1, 0, 0, 0, 1, 1};
    const ChangedSlice slice = slice_of_totals({values.data(), 2, 3, 3, keep.data()});
    EXPECT_EQ(slice.keep, Bytes({1, 0, 1, 1, 1, 1}));
    EXPECT_EQ(slice.statistics.masked, 1);
    EXPECT_EQ(slice.statistics.nan, 1);
    EXPECT_EQ(slice.statistics.count, 4);
    EXPECT_TRUE(slice_of_totals({values.data(), 2, 3, 3}).keep.empty());
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
    EXPECT_EQ(slice_times_moved({values.data(), 2, 2, 2}, norms.data()).values, Numbers({10, 1, 30, 2}));
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
