// Reduced attention maps and computed regions, against loops in double over recorded maps.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>

#include "engine/explain/explain.hpp"
#include "engine/model/looked_at_part.hpp"
#include "engine/model/outline.hpp"
#include "engine/model/text_rules.hpp"
#include "engine/model/transformer.hpp"
#include "engine/tensor/error.hpp"
#include "engine/trace/attention_totals.hpp"
#include "tests/support/random_model.hpp"

namespace attn {
namespace {

using testing_support::RandomModel;

constexpr StageId kWeights{Stage::Weights, 0};

/// The order of precedence within a block: NaN, then infinity, then larger magnitude; of two opposite numbers the negative one.
bool stands_before(float a, float b) {
    if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && !std::isnan(b);
    return std::abs(a) > std::abs(b) || (std::abs(a) == std::abs(b) && std::signbit(a) && !std::signbit(b));
}

bool same_number(float a, float b) { return (std::isnan(a) && std::isnan(b)) || (a == b && std::signbit(a) == std::signbit(b)); }

/// How many blocks of a map differ from the result of a loop over their cells.
std::int64_t wrong_blocks(const ReducedMap& map, std::int64_t place, const float* cells, std::int64_t cols, const Mask* mask) {
    const MapRegion& region = map.region;
    const std::int64_t side = std::int64_t{1} << region.level;
    std::int64_t wrong = 0;
    for (std::int64_t i = 0; i < region.block_rows(); ++i)
        for (std::int64_t j = 0; j < region.block_cols(); ++j) {
            bool any = false;
            float best = 0;
            for (std::int64_t row = i * side; row < std::min((i + 1) * side, region.rows); ++row)
                for (std::int64_t col = j * side; col < std::min((j + 1) * side, region.cols); ++col) {
                    const std::int64_t t = region.first_row + row, s = region.first_col + col;
                    if (mask != nullptr && !mask->may_attend(0, 0, t, s)) continue;
                    if (!any || stands_before(cells[t * cols + s], best)) best = cells[t * cols + s];
                    any = true;
                }
            const std::int64_t at = i * region.block_cols() + j;
            if (region.level == 0 && !any) best = cells[(region.first_row + i) * cols + region.first_col + j];
            const bool kept = map.keep.empty() || map.keep[static_cast<std::size_t>(at)] != 0;
            wrong += kept == any && same_number(map.numbers(place)[at], best) ? 0 : 1;
        }
    return wrong;
}

MapRegion random_region(std::mt19937& random, std::int64_t rows, std::int64_t cols) {
    const auto between = [&](std::int64_t lo, std::int64_t hi) { return std::uniform_int_distribution<std::int64_t>(lo, hi)(random); };
    MapRegion region;
    region.level = static_cast<int>(between(0, 4));
    const std::int64_t side = std::int64_t{1} << region.level;
    region.first_row = between(0, (rows - 1) / side) * side;
    region.first_col = between(0, (cols - 1) / side) * side;
    region.rows = between(1, rows - region.first_row);
    region.cols = between(1, cols - region.first_col);
    return region;
}

TEST(ReducedMap, EveryBlockIsItsCellOfLargestMagnitude) {
    std::mt19937 random(7);
    std::normal_distribution<float> normal;
    for (int i = 0; i < 300; ++i) {
        SCOPED_TRACE(i);
        const auto between = [&](std::int64_t lo, std::int64_t hi) { return std::uniform_int_distribution<std::int64_t>(lo, hi)(random); };
        const std::int64_t heads = between(1, 3), rows = between(1, 40), cols = between(1, 40);
        Tensor<float> cells({{Axis::B, 1}, {Axis::H, heads}, {Axis::T, rows}, {Axis::S, cols}});
        for (float& cell : cells.values()) {
            const std::int64_t kind = between(0, 40);
            const float infinity = std::numeric_limits<float>::infinity();
            cell = kind == 0   ? std::nanf("")
                   : kind == 1 ? infinity
                   : kind == 2 ? -infinity
                   : kind < 6  ? -0.F
                   : kind < 9  ? 0.F
                               : normal(random);
        }
        const bool masked = between(0, 2) > 0;
        const Mask mask = Mask::from_rule(rows, cols, [&](auto, auto) { return between(0, 3) == 0; });
        const MapRegion region = random_region(random, rows, cols);
        const std::optional<std::int64_t> only = between(0, 1) == 0 ? std::optional(between(0, heads - 1)) : std::nullopt;
        MapReducer reducer(kWeights, region, heads, only, true);
        for (std::int64_t first = 0; first < rows;) {
            const std::int64_t count = between(1, rows - first);
            Tensor<float> some({{Axis::B, 1}, {Axis::H, heads}, {Axis::T, count}, {Axis::S, cols}});
            for (std::int64_t h = 0; h < heads; ++h)
                std::copy_n(cells.data() + (h * rows + first) * cols, count * cols, some.data() + h * count * cols);
            const Mask part = Mask::from_rule(count, cols, [&](auto t, auto s) { return mask.may_attend(0, 0, first + t, s); });
            reducer.add(some, masked ? &part : nullptr, first);
            first += count;
        }
        const ReducedMap map = reducer.take();
        const Tensor<float> mean = head_mean({kWeights, cells});
        EXPECT_EQ(map.place_of(heads, heads).has_value(), !only);
        for (std::int64_t h = 0; h <= heads; ++h) {
            const auto place = map.place_of(h, heads);
            if (!place) continue;
            const float* whole = h < heads ? cells.data() + h * rows * cols : mean.data();
            EXPECT_EQ(wrong_blocks(map, *place, whole, cols, masked ? &mask : nullptr), 0);
            NonFinite expected;
            for (std::int64_t t = region.first_row; t < region.first_row + region.rows; ++t)
                for (std::int64_t s = region.first_col; s < region.first_col + region.cols; ++s) {
                    if (masked && !mask.may_attend(0, 0, t, s)) continue;
                    expected.nan += std::isnan(whole[t * cols + s]) ? 1 : 0;
                    expected.infinite += std::isinf(whole[t * cols + s]) ? 1 : 0;
                }
            EXPECT_EQ(map.non_finite[static_cast<std::size_t>(*place)], expected);
        }
    }
}

TEST(ReducedMap, TheTestFindsAWrongBlock) {
    Tensor<float> cells({{Axis::B, 1}, {Axis::H, 1}, {Axis::T, 5}, {Axis::S, 5}});
    std::iota(cells.data(), cells.data() + 25, -12.F);
    MapReducer reducer(kWeights, {0, 5, 0, 5, 1}, 1);
    reducer.add(cells, nullptr, 0);
    ReducedMap map = reducer.take();
    EXPECT_EQ(wrong_blocks(map, 0, cells.data(), 5, nullptr), 0);
    map.values.data()[4] += 0.001F;
    EXPECT_EQ(wrong_blocks(map, 0, cells.data(), 5, nullptr), 1);
    map.keep.assign(9, 1);
    map.keep[0] = 0;
    EXPECT_EQ(wrong_blocks(map, 0, cells.data(), 5, nullptr), 2);
}

TEST(ReducedMap, RefusesToBeginInsideABlock) {
    EXPECT_THROW(MapReducer(kWeights, {2, 4, 0, 4, 2}, 1), Error);
    EXPECT_THROW(MapReducer(kWeights, {0, 4, 3, 1, 1}, 1), Error);
}

TEST(ReducedMap, TheLevelIsTheFinestThatFits) {
    EXPECT_EQ(reduced_level(100, 100, 4, 160'000), 0);
    EXPECT_EQ(reduced_level(100, 100, 4, 159'999), 1);
    EXPECT_EQ(reduced_level(8192, 8192, 8, 4 << 20), 5);
    EXPECT_EQ(reduced_level(1, 1, 1, 0), 0);
    EXPECT_EQ(reduced_level(9, 5, 1, 0), 4) << "one block";
}

/// A model whose text is computed in rows.
RandomModel model_in_rows(unsigned seed, std::int64_t positions) {
    RandomModel model(seed);
    model.config.architecture = Architecture::DecoderOnly;
    if (model.config.position == PositionKind::Buckets) model.config.position = PositionKind::Rotary;
    model.config.context_length = std::max(model.config.context_length, positions);
    model.settings = {};
    model.settings.masks.causal = true;
    model.tokens = {positions, {}, {positions}};
    for (std::int64_t i = 0; i < positions; ++i)
        model.tokens.ids.push_back(static_cast<std::int32_t>(model.between(0, model.config.vocab_size - 1)));
    return model;
}

TEST(LookedAtPart, ReducesTheMapsOfALongTextAndComputesTheirRegionsAgain) {
    int in_rows = 0;
    for (unsigned seed = 0; seed < 60; ++seed) {
        SCOPED_TRACE(seed);
        std::mt19937 random(seed);
        RandomModel model = model_in_rows(seed, 1 + seed % 29);
        model.settings.masks.causal = seed % 4 > 0;
        model.settings.masks.window = seed % 5 == 0 ? 3 : 0;
        if (seed % 7 == 0) model.settings.mistake = Mistake::InvertedMask;
        if (seed % 11 == 0) model.settings.mistake = Mistake::MaskAfterSoftmax;
        try {
            validate(model.config);
        } catch (const Error&) {
            continue;
        }
        const std::int64_t positions = model.tokens.length, heads = model.config.num_heads;
        const auto parameters = std::make_shared<const Parameters<float>>(model.parameters<float>());
        const Trace<float> whole = trace_forward<float>(parameters, model.tokens, {}, model.settings);
        const auto outline =
            std::make_shared<const Trace<float>>(trace_outline<float>(parameters, model.tokens, {}, model.settings, {}, {}, {false, 2}));
        if (!can_compute_in_rows(*outline)) continue;
        ++in_rows;
        const int level = static_cast<int>(seed % 4);
        const PartInRows at_a_time{seed % 2 == 0 ? 0 : 3};
        const LookedAtPart numbers = look_at_part(outline, kWeights),
                           found = look_at_part(outline, kWeights, ReducedPart{level}, at_a_time);
        const LookedAtPart alone = look_at_part(outline, kWeights, MapsAlone{{kWeights}, level}, at_a_time);
        EXPECT_TRUE(alone.trace.stages.empty());
        ASSERT_EQ(alone.trace.reduced.size(), 1U);
        EXPECT_EQ(found.head_scores.size(), numbers.head_scores.size());
        for (std::size_t i = 0; i < numbers.head_scores.size(); ++i) {
            EXPECT_EQ(found.head_scores[i].entropy, numbers.head_scores[i].entropy);
            EXPECT_EQ(alone.head_scores[i].previous_token, numbers.head_scores[i].previous_token);
        }
        for (const RecordedStage<float>& stage : numbers.trace.stages) {
            SCOPED_TRACE(tensor_name(stage.id));
            const RecordedStage<float>& expected = *whole.find(stage.id);
            EXPECT_EQ(found.trace.find(stage.id) != nullptr, !is_attention_map(stage.id.stage));
            const ReducedMap* map = found.trace.reduced_map(stage.id);
            ASSERT_EQ(map != nullptr, is_attention_map(stage.id.stage));
            if (map == nullptr) continue;
            EXPECT_EQ(map->region, (MapRegion{0, positions, 0, positions, level}));
            const MapRegion region = random_region(random, positions, positions);
            const std::optional<std::int64_t> only = seed % 3 == 0 ? std::optional(heads - 1) : std::nullopt;
            const ReducedMap part = region_of_map(*outline, stage.id, region, seed % 2 == 0 ? &found.trace : nullptr, only);
            const Tensor<float> mean = head_mean(expected);
            for (std::int64_t h = 0; h <= heads; ++h) {
                const float* cells = h < heads ? expected.value.data() + h * positions * positions : mean.data();
                for (const ReducedMap* one : {map, &std::as_const(part)}) {
                    const auto place = one->place_of(h, heads);
                    EXPECT_EQ(place ? wrong_blocks(*one, *place, cells, positions, expected.mask.get()) : 0, 0);
                }
            }
        }
    }
    EXPECT_GT(in_rows, 40);
}

void expect_cells_explained_from_their_rows(const std::vector<Edit>& edits) {
    RandomModel model = model_in_rows(3, 13);
    model.settings.edits = edits;
    const std::int64_t positions = 13, heads = model.config.num_heads;
    const auto parameters = std::make_shared<const Parameters<float>>(model.parameters<float>());
    const auto outline = std::make_shared<const Trace<float>>(trace_outline<float>(parameters, model.tokens, {}, model.settings));
    ASSERT_TRUE(can_compute_in_rows(*outline));
    const Trace<float> whole = look_at_part(outline, kWeights).trace, reduced = look_at_part(outline, kWeights, ReducedPart{2}).trace;
    for (const RecordedStage<float>& stage : whole.stages) {
        if (stage.id.layer != 0) continue;
        SCOPED_TRACE(tensor_name(stage.id));
        const Shape& shape = stage.value.shape();
        CellRef cell{stage.id, "", {}};
        for (int a = 0; a < shape.rank(); ++a) cell.index[static_cast<std::size_t>(a)] = shape[a].axis == Axis::S ? 4 : shape[a].size / 2;
        const std::int64_t row = cell.index[shape.rank() == 4 ? 2 : 1];
        std::vector<ReducedMap> rows;
        for (const ReducedMap& map : reduced.reduced)
            rows.push_back(region_of_map(*outline, map.id, {row, 1, 0, positions, 0}, nullptr,
                                         row % 2 == 0 ? std::nullopt : std::optional(heads / 2)));
        const Provenance expected = explain(whole, cell), found = explain(reduced, cell, rows);
        EXPECT_EQ(found.recorded, expected.recorded);
        EXPECT_EQ(found.result, expected.result);
        EXPECT_EQ(found.formula, expected.formula);
        EXPECT_EQ(found.masked, expected.masked);
        EXPECT_EQ(found.edited, expected.edited);
        EXPECT_EQ(found.sentence, expected.sentence);
        ASSERT_EQ(found.terms.size(), expected.terms.size());
        const auto next = where_it_goes(whole, cell), in_rows = where_it_goes(reduced, cell, rows);
        ASSERT_EQ(next.size(), in_rows.size());
        for (std::size_t i = 0; i < next.size(); ++i) EXPECT_EQ(next[i].value, in_rows[i].value) << next[i].label;
        if (!is_attention_map(stage.id.stage)) continue;
        EXPECT_THROW((void)explain(reduced, cell), Error) << "without its row";
        cell.index[2] = row == 0 ? 1 : row - 1;
        EXPECT_THROW((void)explain(reduced, cell, rows), Error) << "another row";
    }
}

TEST(LookedAtPart, ACellOfAReducedMapIsExplainedFromItsRow) { expect_cells_explained_from_their_rows({}); }

TEST(LookedAtPart, AnEditedCellOfAReducedMapIsExplainedFromItsRow) {
    const StageId scores{Stage::Scores, 0}, dropped{Stage::Dropped, 0}, context{Stage::Context, 0};
    expect_cells_explained_from_their_rows({{.kind = EditKind::Freeze, .at = kWeights, .pattern = Pattern::Uniform},
                                            {.kind = EditKind::Scale, .at = scores, .value = 0.5},
                                            {.kind = EditKind::Freeze, .at = dropped, .pattern = Pattern::Previous},
                                            {.at = context, .row = 6, .value = 3}});
}

}  // namespace
}  // namespace attn
