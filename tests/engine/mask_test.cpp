#include "engine/attention/mask.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "engine/attention/mistaken_mask.hpp"
#include "engine/tensor/error.hpp"

namespace attn {
namespace {

using testing::HasSubstr;
constexpr double kInfiniteBias = std::numeric_limits<double>::infinity();

template <class F>
std::string message_of(F f) {
    try {
        f();
    } catch (const Error& error) {
        return error.what();
    }
    return "";
}

template <class F>
void expect_cells(const Mask& mask, F allowed) {
    for (std::int64_t b = 0; b < mask.batches(); ++b)
        for (std::int64_t h = 0; h < mask.heads(); ++h)
            for (std::int64_t t = 0; t < mask.queries(); ++t)
                for (std::int64_t s = 0; s < mask.keys(); ++s)
                    EXPECT_EQ(mask.may_attend(b, h, t, s), allowed(b, h, t, s)) << b << " " << h << " " << t << " " << s;
}

TEST(Mask, PatternsAllowWhatTheyPromise) {
    for (const std::int64_t t : {1, 4, 7})
        for (const std::int64_t s : {1, 4, 6}) {
            expect_cells(Mask(t, s), [](auto, auto, auto, auto) { return true; });
            expect_cells(Mask::causal(t, s), [](auto, auto, auto q, auto k) { return k <= q; });
            expect_cells(Mask::sliding_window(t, s, 2), [](auto, auto, auto q, auto k) { return std::abs(q - k) <= 1; });
            expect_cells(Mask::prefix_causal(t, s, 3), [](auto, auto, auto q, auto k) { return k <= q || k < 3; });
            expect_cells(Mask::block_diagonal(t, s, 2), [](auto, auto, auto q, auto k) { return q / 2 == k / 2; });
            EXPECT_TRUE(Mask(t, s).allows_everything());
            EXPECT_TRUE(Mask::causal(t, s).is_plain_causal());
            EXPECT_FALSE(Mask::causal(t, s)
                             .combined_with(Mask::from_additive({t, s}, std::vector<double>(t * s, 1.0), {1, 1, t, s}))
                             .is_plain_causal());
        }
    const Mask padded = Mask::padding({2, 0, 3}, 4, 3);
    expect_cells(padded, [](auto b, auto, auto, auto k) { return k < (b == 0 ? 2 : b == 1 ? 0 : 3); });
    EXPECT_TRUE(padded.row_fully_masked(1, 0, 0));
    EXPECT_FALSE(padded.row_fully_masked(0, 0, 0));
    EXPECT_FALSE(Mask::padding({2}, 3, 3).is_plain_causal());
}

TEST(Mask, StoredAsRangesIsTheSame) {
    std::mt19937 random(5);
    const auto between = [&](int low, int high) { return std::uniform_int_distribution<int>(low, high)(random); };
    for (int round = 0; round < 400; ++round) {
        SCOPED_TRACE(round);
        const std::int64_t positions = between(1, 9);
        MaskSettings settings{between(0, 1) == 1, between(0, 1) == 1, between(0, 4), between(0, 3), between(0, 4), {}};
        for (int painted = between(-2, 3); painted > 0; --painted) settings.painted.push_back({between(-1, 9), between(-1, 9)});
        std::vector<std::int64_t> lengths;
        for (int b = between(1, 3); b > 0; --b) lengths.push_back(between(0, static_cast<int>(positions)));
        const QueryRows rows{between(0, static_cast<int>(positions) - 1), 1};
        const QueryRows wanted{rows.first, between(1, static_cast<int>(positions - rows.first))};
        const auto rule = static_cast<MaskRule>(between(0, 5));
        Mask cells, ranges(MaskForm::Ranges);
        for (Mask* mask : {&cells, &ranges}) build_mask_rows(rule, settings, lengths, positions, wanted, *mask);
        ASSERT_EQ(ranges.batches(), cells.batches());
        expect_cells(ranges, [&](auto b, auto h, auto t, auto s) { return cells.may_attend(b, h, t, s); });
        for (std::int64_t b = 0; b < cells.batches(); ++b) {
            const std::int64_t t = between(0, static_cast<int>(wanted.count) - 1), count = between(1, static_cast<int>(wanted.count - t));
            std::vector<std::uint8_t> expected(static_cast<std::size_t>(count * positions)), found(expected.size(), 7);
            cells.copy_rows(b, 0, t, count, expected.data());
            ranges.copy_rows(b, 0, t, count, found.data());
            EXPECT_EQ(found, expected);
        }
        // They may miss that a mask is of these kinds, never claim it.
        EXPECT_LE(ranges.is_plain_causal(), cells.is_plain_causal());
        EXPECT_LE(ranges.allows_everything(), cells.allows_everything());
        if (settings.painted.empty() && rule != MaskRule::Inverted) {
            EXPECT_EQ(ranges.is_plain_causal(), cells.is_plain_causal());
            EXPECT_EQ(ranges.allows_everything(), cells.allows_everything());
        }
        EXPECT_THROW(ranges.keep_row(0, 0, 0), Error);
    }
}

TEST(Mask, RefusesPatternsThatSeeNothing) {
    EXPECT_THROW(Mask::sliding_window(3, 3, 0), ConfigError);
    EXPECT_THROW(Mask::block_diagonal(3, 3, 0), ConfigError);
    EXPECT_THROW(Mask::prefix_causal(3, 3, -1), ConfigError);
    EXPECT_THROW(Mask::padding({4}, 3, 3), ShapeError);
    EXPECT_THROW(Mask(-1, 3), ShapeError);
}

TEST(Mask, AcceptsEveryDocumentedShape) {
    std::mt19937 random(3);
    const Mask::Target target{2, 3, 4, 5};
    const auto draw = [&](std::int64_t n) {
        std::vector<std::uint8_t> values(static_cast<std::size_t>(n));
        for (auto& v : values) v = random() % 2;
        return values;
    };
    const auto at = [](const std::vector<std::uint8_t>& v, std::int64_t i) { return v[static_cast<std::size_t>(i)] != 0; };
    const auto two = draw(20), row = draw(10), batch = draw(40), head = draw(60), all = draw(120);
    expect_cells(Mask::from_sdpa_bool({4, 5}, two, target), [&](auto, auto, auto t, auto s) { return at(two, t * 5 + s); });
    expect_cells(Mask::from_sdpa_bool({2, 1, 1, 5}, row, target), [&](auto b, auto, auto, auto s) { return at(row, b * 5 + s); });
    expect_cells(Mask::from_sdpa_bool({2, 1, 4, 5}, batch, target),
                 [&](auto b, auto, auto t, auto s) { return at(batch, (b * 4 + t) * 5 + s); });
    expect_cells(Mask::from_sdpa_bool({1, 3, 4, 5}, head, target),
                 [&](auto, auto h, auto t, auto s) { return at(head, (h * 4 + t) * 5 + s); });
    expect_cells(Mask::from_sdpa_bool({2, 3, 4, 5}, all, target),
                 [&](auto b, auto h, auto t, auto s) { return at(all, ((b * 3 + h) * 4 + t) * 5 + s); });
    // PyTorch's other convention is the opposite.
    expect_cells(Mask::from_mha_bool({4, 5}, two, target), [&](auto, auto, auto t, auto s) { return !at(two, t * 5 + s); });
    expect_cells(Mask::from_key_padding({2, 5}, row, target), [&](auto b, auto, auto, auto s) { return !at(row, b * 5 + s); });
}

TEST(Mask, RefusesOtherShapesNamingBoth) {
    const Mask::Target target{2, 3, 4, 5};
    const std::vector<std::vector<std::int64_t>> wrong = {{5, 4},       {5},          {4, 5, 1},       {3, 1, 4, 5},   {2, 2, 4, 5},
                                                          {2, 1, 5, 4}, {1, 3, 1, 5}, {2, 3, 1, 5},    {2, 1, 4, 1},   {},
                                                          {1, 1},       {4, 1},       {1, 2, 3, 4, 5}, {2, 3, 4, 5, 1}};
    for (const auto& sizes : wrong) {
        std::int64_t count = 1;
        for (const std::int64_t size : sizes) count *= size;
        const std::vector<std::uint8_t> values(static_cast<std::size_t>(count), 1);
        const std::string message = message_of([&] { Mask::from_sdpa_bool(sizes, values, target); });
        EXPECT_THAT(message, HasSubstr("[B=2, H=3, T=4, S=5]"));
        for (const std::int64_t size : sizes) EXPECT_THAT(message, HasSubstr(std::to_string(size)));
    }
    EXPECT_THAT(message_of([&] { Mask::from_key_padding({5, 2}, std::vector<std::uint8_t>(10), target); }), HasSubstr("[5, 2]"));
    EXPECT_THROW(Mask::from_sdpa_bool({4, 5}, std::vector<std::uint8_t>(19), target), ShapeError);
    EXPECT_THROW(Mask(2, 3).combined_with(Mask(3, 2)), ShapeError);
    EXPECT_THROW(Mask::padding({1, 1}, 2, 2).combined_with(Mask::padding({1, 1, 1}, 2, 2)), ShapeError);
}

TEST(Mask, AdditiveMinusInfinityMasksAndTheRestIsABias) {
    const Mask mask = Mask::from_additive({2, 3}, {0, -kInfiniteBias, 1.5, -1e9, 2, kInfiniteBias}, {1, 1, 2, 3});
    expect_cells(mask, [](auto, auto, auto t, auto s) { return !(t == 0 && s == 1); });
    ASSERT_TRUE(mask.has_bias());
    EXPECT_EQ(mask.bias_row(0, 0, 0)[2], 1.5);
    EXPECT_EQ(mask.bias_row(0, 0, 0)[1], 0);
    EXPECT_EQ(mask.bias_row(0, 0, 1)[0], -1e9);
    EXPECT_EQ(mask.bias_row(0, 0, 1)[2], kInfiniteBias);
}

TEST(Mask, CombiningIsAndOfPermissionsAndSumOfBiases) {
    const Mask bias = Mask::from_additive({3, 3}, std::vector<double>(9, 0.5), {1, 1, 3, 3});
    const Mask both = Mask::padding({3, 2}, 3, 3).combined_with(Mask::causal(3, 3)).combined_with(bias).combined_with(bias);
    EXPECT_EQ(both.batches(), 2);
    expect_cells(both, [](auto b, auto, auto t, auto s) { return s <= t && s < (b == 0 ? 3 : 2); });
    EXPECT_EQ(both.bias_row(1, 0, 2)[0], 1.0);
}

TEST(MaskSettings, AllRulesHoldTogether) {
    MaskSettings settings;
    settings.causal = true;
    settings.window = 3;
    settings.prefix = 2;
    settings.painted = {{4, 3}, {99, 0}, {-1, 0}};
    const Mask mask = build_mask(settings, {6, 4}, 6);
    expect_cells(mask, [](auto b, auto, auto t, auto s) {
        return (s <= t || s < 2) && std::abs(t - s) < 3 && s < (b == 0 ? 6 : 4) && !(t == 4 && s == 3);
    });
    settings.padding = false;
    EXPECT_EQ(build_mask(settings, {6, 4}, 6).batches(), 1);
    for (int MaskSettings::*field : {&MaskSettings::window, &MaskSettings::prefix, &MaskSettings::block}) {
        MaskSettings bad;
        bad.*field = -1;
        EXPECT_THROW(build_mask(bad, {2}, 2), ConfigError);
    }
    settings.padding = true;
    const Mask cross = build_cross_mask(settings, {2, 3}, 4, 3);
    expect_cells(cross, [](auto b, auto, auto, auto s) { return s < (b == 0 ? 2 : 3); });
}

/// Whether the settings allow a cell, computed cell by cell.
bool says(const MaskSettings& settings, const std::vector<std::int64_t>& lengths, std::size_t b, std::int64_t t, std::int64_t s) {
    if (settings.padding && s >= lengths[b]) return false;
    if (settings.causal && s > t && s >= settings.prefix) return false;
    if (settings.window > 0 && std::abs(t - s) >= settings.window) return false;
    if (settings.block > 0 && t / settings.block != s / settings.block) return false;
    return std::find(settings.painted.begin(), settings.painted.end(),
                     PaintedCell{static_cast<std::int32_t>(t), static_cast<std::int32_t>(s)}) == settings.painted.end();
}

TEST(Mask, OfSomeRowsIsThoseRowsOfTheWhole) {
    std::mt19937 random(5);
    const auto between = [&](std::int64_t lo, std::int64_t hi) { return std::uniform_int_distribution<std::int64_t>(lo, hi)(random); };
    for (int i = 0; i < 400; ++i) {
        SCOPED_TRACE(i);
        const std::int64_t positions = between(1, 12), first = between(0, positions - 1), count = between(1, positions - first);
        MaskSettings settings;
        settings.causal = between(0, 1) == 0;
        settings.padding = between(0, 1) == 0;
        if (between(0, 1) == 0) settings.window = static_cast<int>(between(1, positions));
        if (between(0, 1) == 0) settings.prefix = static_cast<int>(between(1, positions));
        if (between(0, 1) == 0) settings.block = static_cast<int>(between(1, positions));
        for (std::int64_t n = between(0, 3); n > 0; --n)
            settings.painted.push_back(
                {static_cast<std::int32_t>(between(-1, positions)), static_cast<std::int32_t>(between(-1, positions))});
        std::vector<std::int64_t> lengths;
        for (std::int64_t n = between(1, 3); n > 0; --n) lengths.push_back(between(1, positions));
        for (const MaskRule rule : {MaskRule::Right, MaskRule::Inverted, MaskRule::Missing}) {
            Mask rows;
            build_mask_rows(rule, settings, lengths, positions, {first, count}, rows);
            ASSERT_EQ(rows.queries(), count);
            ASSERT_EQ(rows.keys(), positions);
            for (std::size_t b = 0; b < lengths.size(); ++b)
                for (std::int64_t t = 0; t < count; ++t)
                    for (std::int64_t s = 0; s < positions; ++s) {
                        const bool right = says(settings, lengths, b, first + t, s);
                        const bool expected = rule == MaskRule::Missing || right == (rule == MaskRule::Right);
                        ASSERT_EQ(rows.may_attend(static_cast<std::int64_t>(b), 0, t, s), expected) << t << ' ' << s;
                    }
        }
    }
    Mask rows;
    EXPECT_THROW(build_mask_rows({}, {7}, 6, {2, 3}, rows), ShapeError);
    EXPECT_THROW(build_mask_rows({}, {-1}, 6, {2, 3}, rows), ShapeError);
}

TEST(MaskSettings, TheNarrowerWindowHolds) {
    const auto width = [](int set, std::int64_t own) {
        MaskSettings settings;
        settings.window = set;
        return with_window(settings, own).window;
    };
    EXPECT_EQ(width(0, 0), 0);
    EXPECT_EQ(width(3, 0), 3);
    EXPECT_EQ(width(0, 4), 4);
    EXPECT_EQ(width(3, 4), 3);
    EXPECT_EQ(width(4, 3), 3);
    EXPECT_EQ(width(0, std::int64_t{1} << 40), std::numeric_limits<int>::max());
}

}  // namespace
}  // namespace attn
