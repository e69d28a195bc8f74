// Regions of transformed maps, and totals computed in rows, compared with recorded passes.
#include "engine/model/changed_map.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <random>

#include "engine/model/outline.hpp"
#include "engine/model/text_rules.hpp"
#include "engine/model/totals_in_rows.hpp"
#include "engine/model/transformer.hpp"
#include "engine/tensor/error.hpp"
#include "engine/trace/attention_totals.hpp"
#include "tests/support/random_model.hpp"

namespace attn {
namespace {

using testing_support::RandomModel;

/// A text that can be computed in rows, as a whole trace and as an outline, and the same without masks.
struct TwoTexts {
    RandomModel model;
    std::optional<std::int32_t> broken_token;  ///< has a NaN embedding
    std::shared_ptr<const Parameters<float>> parameters;
    Trace<float> whole, other_whole;
    std::shared_ptr<const Trace<float>> outline, other;

    TwoTexts(unsigned seed, std::int64_t positions) : model(seed) {
        model.config.architecture = Architecture::DecoderOnly;
        if (model.config.position == PositionKind::Buckets) model.config.position = PositionKind::Rotary;
        model.config.context_length = std::max(model.config.context_length, positions);
        model.settings = {};
        model.settings.masks.causal = seed % 5 > 0;
        if (seed % 4 == 3) model.settings.masks.prefix = static_cast<int>(model.between(1, positions));
        if (seed % 7 == 6) model.settings.mistake = Mistake::CausalLeaksOne;
        model.tokens = {positions, {}, {positions}};
        for (std::int64_t i = 0; i < positions; ++i)
            model.tokens.ids.push_back(static_cast<std::int32_t>(model.between(0, model.config.vocab_size - 1)));
    }
    bool compute() {
        try {
            validate(model.config);
        } catch (const Error&) {
            return false;
        }
        Parameters<float> drawn = model.parameters<float>();
        if (broken_token) drawn.find("token_embedding.weight")[*broken_token * model.config.embedding_width()] = std::nanf("");
        parameters = std::make_shared<const Parameters<float>>(std::move(drawn));
        ForwardSettings unmasked = model.settings;
        unmasked.mistake = Mistake::None;
        unmasked.masks.causal = false;
        unmasked.masks.prefix = 0;
        unmasked.masks.window = 2;
        whole = trace_forward<float>(parameters, model.tokens, {}, model.settings);
        other_whole = trace_forward<float>(parameters, model.tokens, {}, unmasked);
        outline = outline_of(model.settings);
        other = outline_of(unmasked);
        return can_compute_in_rows(*outline) && can_compute_in_rows(*other);
    }
    std::shared_ptr<const Trace<float>> outline_of(const ForwardSettings& settings) const {
        return std::make_shared<const Trace<float>>(trace_outline<float>(parameters, model.tokens, {}, settings, {}, {}, {false, 2}));
    }
};

/// A cell of a head or of the mean, from the whole trace.
float number(const RecordedStage<float>& stage, std::int64_t head, std::int64_t t, std::int64_t s) {
    const std::int64_t heads = stage.value.shape()[1].size;
    if (head < heads) return stage.value(0, head, t, s);
    double sum = 0;
    for (std::int64_t h = 0; h < heads; ++h) sum += static_cast<double>(stage.value(0, h, t, s));
    return static_cast<float>(sum / static_cast<double>(heads));
}

struct Cell {
    float value = 0;
    bool kept = true;
};

bool is_allowed(const RecordedStage<float>& stage, std::int64_t t, std::int64_t s) {
    return stage.mask == nullptr || stage.mask->may_attend(0, 0, t, s);
}

bool near(float a, float b) { return std::isnan(a) == std::isnan(b) && !(std::abs(a - b) > 1e-6F + 1e-5F * std::abs(b)); }

/// Counts blocks that differ from the cell of largest magnitude by more than rounding.
template <class CellAt>
std::int64_t wrong_blocks(const ReducedMap& map, std::int64_t place, const CellAt& cell_at) {
    const MapRegion& region = map.region;
    std::int64_t wrong = 0;
    for (std::int64_t i = 0; i < region.block_rows(); ++i)
        for (std::int64_t j = 0; j < region.block_cols(); ++j) {
            float most = 0;
            bool any = false;
            const std::int64_t side = std::int64_t{1} << region.level;
            for (std::int64_t t = i * side; t < std::min((i + 1) * side, region.rows); ++t)
                for (std::int64_t s = j * side; s < std::min((j + 1) * side, region.cols); ++s) {
                    const Cell cell = cell_at(region.first_row + t, region.first_col + s);
                    if (cell.kept) most = std::isnan(cell.value) ? cell.value : std::max(most, std::abs(cell.value));
                    any |= cell.kept;
                }
            const std::int64_t at = i * region.block_cols() + j;
            const bool kept = map.keep.empty() || map.keep[static_cast<std::size_t>(at)] != 0;
            wrong += kept != any || (kept && !near(std::abs(map.numbers(place)[at]), most)) ? 1 : 0;
        }
    return wrong;
}

MapRegion some_region(RandomModel& model, std::int64_t positions) {
    MapRegion region;
    region.level = static_cast<int>(model.between(0, 3));
    const std::int64_t side = std::int64_t{1} << region.level;
    region.first_row = model.between(0, (positions - 1) / side) * side;
    region.first_col = model.between(0, (positions - 1) / side) * side;
    region.rows = model.between(1, positions - region.first_row);
    region.cols = model.between(1, positions - region.first_col);
    return region;
}

TEST(ChangedMap, IsWhatTheWholeMapsGive) {
    int compared = 0;
    for (unsigned seed = 0; seed < 80; ++seed) {
        SCOPED_TRACE(seed);
        TwoTexts texts(seed, 1 + seed % 21);
        if (!texts.compute()) continue;
        ++compared;
        const std::int64_t positions = texts.model.tokens.length, heads = texts.model.config.num_heads;
        const StageId id{seed % 3 == 0 ? Stage::Scores : seed % 3 == 1 ? Stage::Weights : Stage::Masked, 0};
        const RecordedStage<float>&now = *texts.whole.find(id), &before = *texts.other_whole.find(id);
        const MapRegion region = some_region(texts.model, positions);
        const auto only = texts.model.coin() ? std::optional(texts.model.between(0, heads - 1)) : std::nullopt;
        const auto other_head = texts.model.coin() ? std::optional(texts.model.between(0, heads - 1)) : std::nullopt;
        MapChange change;
        // The subtracted state may be an outline or a whole trace.
        change.minus.emplace(MapOfOutline{seed % 4 == 1 ? texts.other_whole : *texts.other, id});
        change.minus_head = other_head;
        const ReducedMap found = region_of_changed_map({seed % 5 == 1 ? texts.whole : *texts.outline, id}, region, change, only);
        EXPECT_EQ(found.place_of(heads, heads).has_value(), id.stage == Stage::Weights && !only);
        for (std::int64_t head = 0; head <= heads; ++head) {
            const auto place = found.place_of(head, heads);
            if (!place) continue;
            const auto cell = [&](std::int64_t t, std::int64_t s) {
                const bool here = is_allowed(now, t, s), there = is_allowed(before, t, s);
                return Cell{number(now, head, t, s) - number(before, other_head.value_or(head), t, s),
                            id.stage == Stage::Weights ? here || there : here && there};
            };
            EXPECT_EQ(wrong_blocks(found, *place, cell), 0) << "head " << head;
            const auto wrong = [&](std::int64_t t, std::int64_t s) {
                Cell other = cell(t, s);
                other.value += 1;
                return other;
            };
            EXPECT_EQ(wrong_blocks(found, *place, wrong) == 0, wrong_blocks(found, *place,
                                                                            [](auto, auto) {
                                                                                return Cell{0, false};
                                                                            }) == 0)
                << "only what is masked everywhere does not depend on the numbers";
        }
    }
    EXPECT_GT(compared, 50);
}

TEST(ChangedMap, LeavesOutTheFirstKeyAndWeighsWhatIsMoved) {
    int compared = 0;
    for (unsigned seed = 0; seed < 60; ++seed) {
        SCOPED_TRACE(seed);
        TwoTexts texts(seed, 1 + seed % 13);
        if (!texts.compute()) continue;
        ++compared;
        const StageId id{Stage::Weights, 0};
        const RecordedStage<float>& weights = *texts.whole.find(id);
        const std::int64_t positions = texts.model.tokens.length, heads = texts.model.config.num_heads;
        Tensor<float> norms({{Axis::B, 1}, {Axis::H, heads}, {Axis::S, positions}});
        for (float& norm : norms.values()) norm = static_cast<float>(texts.model.between(1, 9));
        MapChange change;
        change.without_first_key = seed % 3 != 0;
        if (seed % 3 != 1) change.norms = &norms;
        const auto only = texts.model.coin(0.3) ? std::optional(texts.model.between(0, heads - 1)) : std::nullopt;
        const ReducedMap found = region_of_changed_map({*texts.outline, id}, some_region(texts.model, positions), change, only);
        for (const float value : found.values.values()) EXPECT_TRUE(std::isfinite(value)) << "masked cells are numbers, too";
        for (std::int64_t head = 0; head <= heads; ++head) {
            const auto place = found.place_of(head, heads);
            if (!place) continue;
            const bool first_is_there = found.region.level == 0 && found.region.first_col == 0 && change.without_first_key;
            for (std::int64_t i = 0; first_is_there && i < found.region.block_rows(); ++i)
                EXPECT_EQ(found.numbers(*place)[i * found.region.block_cols()], 0) << "what is left out leaves no number";
            const auto cell = [&](std::int64_t t, std::int64_t s) {
                Cell out{number(weights, head, t, s), is_allowed(weights, t, s)};
                if (change.without_first_key) {
                    double sum = 0;
                    for (std::int64_t key = 1; key < positions; ++key)
                        sum += is_allowed(weights, t, key) ? static_cast<double>(number(weights, head, t, key)) : 0;
                    out.kept = out.kept && s > 0;
                    out.value = s == 0 || sum == 0 ? 0 : static_cast<float>(static_cast<double>(out.value) / sum);
                }
                if (change.norms != nullptr && head < heads) out.value *= norms(0, head, s);
                return out;
            };
            EXPECT_EQ(wrong_blocks(found, *place, cell), 0) << "head " << head;
        }
    }
    EXPECT_GT(compared, 40);
}

/// More rows than are computed or transformed at a time.
TEST(ChangedMap, LongMapsAreChangedInPieces) {
    TwoTexts texts(2, 1100);
    texts.model.config.num_heads = 4;
    texts.model.config.d_model = 8;
    texts.model.config.d_head = 2;
    texts.model.config.num_layers = 1;
    ASSERT_TRUE(texts.compute());
    const StageId id{Stage::Weights, 0};
    const RecordedStage<float>&now = *texts.whole.find(id), &before = *texts.other_whole.find(id);
    const Trace<float> held = read_by_maps(*texts.outline, id, {});
    MapChange change;
    change.minus.emplace(MapOfOutline{*texts.other, id});
    const ReducedMap found = region_of_changed_map({*texts.outline, id, &held}, {4, 1090, 8, 1000, 2}, change);
    for (const std::int64_t head : {std::int64_t{0}, std::int64_t{3}, std::int64_t{4}}) {
        const auto cell = [&](std::int64_t t, std::int64_t s) {
            return Cell{number(now, head, t, s) - number(before, head, t, s), is_allowed(now, t, s) || is_allowed(before, t, s)};
        };
        EXPECT_EQ(wrong_blocks(found, *found.place_of(head, 4), cell), 0) << "head " << head;
    }
}

TEST(ChangedMap, OfTextsOfOtherLengthsThereIsNone) {
    TwoTexts longer(1, 9), shorter(1, 7);
    ASSERT_TRUE(longer.compute());
    ASSERT_TRUE(shorter.compute());
    const StageId id{Stage::Weights, 0};
    MapChange change;
    change.minus.emplace(MapOfOutline{*shorter.outline, id});
    EXPECT_THROW((void)region_of_changed_map({*longer.outline, id}, {0, 1, 0, 9, 0}, change), Error);
}

TEST(TotalsInRows, AreThoseOfTheWholeTraceReduced) {
    int compared = 0;
    for (unsigned seed = 0; seed < 60; ++seed) {
        SCOPED_TRACE(seed);
        TwoTexts texts(seed, 1 + seed % 23);
        if (!texts.compute()) continue;
        ++compared;
        const int level = static_cast<int>(seed % 4);
        for (const auto& [whole, outline] : {std::pair(&texts.whole, texts.outline), std::pair(&texts.other_whole, texts.other)}) {
            const AttentionTotals expected = attention_totals(*whole, Stack::Main);
            int layers = 0;
            const AttentionTotals found = totals_in_rows(*outline, level, {}, [&] { ++layers; });
            EXPECT_EQ(layers, whole->config.num_layers);
            ASSERT_EQ(found.layers(), expected.layers());
            EXPECT_TRUE(found.rollouts.empty());
            for (std::size_t layer = 0; layer < found.layers(); ++layer) {
                const RecordedStage<float>& weights = *whole->find({Stage::Weights, static_cast<int>(layer)});
                const auto rolled = [&](std::int64_t t, std::int64_t s) {
                    const float value = expected.rollouts[layer](0, t, s);
                    return Cell{value, is_allowed(weights, t, s) || value != 0};
                };
                const std::vector<float> means = mean_of_layers(expected, layer, 0);
                const auto mean = [&](std::int64_t t, std::int64_t s) {
                    const float value = means[static_cast<std::size_t>(t * texts.model.tokens.length + s)];
                    return Cell{value, is_allowed(weights, t, s) || value != 0};
                };
                const Tensor<float> in_rows = head_mean_in_rows(*outline, weights.id), at_once = head_mean(weights);
                EXPECT_EQ(in_rows.shape(), at_once.shape());
                EXPECT_TRUE(std::equal(in_rows.data(), in_rows.data() + in_rows.size(), at_once.data())) << layer;
                EXPECT_EQ(wrong_blocks(found.reduced_rollouts[layer], 0, rolled), 0) << layer;
                EXPECT_EQ(wrong_blocks(found.reduced_means[layer], 0, mean), 0) << layer;
                const auto wrong = [&](std::int64_t t, std::int64_t s) { return Cell{rolled(t, s).value + 1, rolled(t, s).kept}; };
                EXPECT_GT(wrong_blocks(found.reduced_rollouts[layer], 0, wrong), 0) << layer;
            }
        }
    }
    EXPECT_GT(compared, 40);
}

/// Also if a position can see later ones, in the next block.
TEST(TotalsInRows, ManyRowsAreMixedInBlocks) {
    for (const auto& [prefix, mistake] :
         {std::pair{0, Mistake::None}, std::pair{600, Mistake::None}, std::pair{0, Mistake::CausalLeaksOne}}) {
        SCOPED_TRACE(prefix);
        TwoTexts texts(2, 700);
        texts.model.settings.masks.prefix = prefix;
        texts.model.settings.mistake = mistake;
        texts.model.config.num_heads = 4;
        texts.model.config.d_model = 8;
        texts.model.config.d_head = 2;
        texts.model.config.num_layers = 2;
        ASSERT_TRUE(texts.compute());
        const AttentionTotals expected = attention_totals(texts.whole, Stack::Main), found = totals_in_rows(*texts.outline, 2);
        const RecordedStage<float>& weights = *texts.whole.find({Stage::Weights, 1});
        const auto rolled = [&](std::int64_t t, std::int64_t s) {
            const float value = expected.rollouts[1](0, t, s);
            return Cell{value, is_allowed(weights, t, s) || value != 0};
        };
        EXPECT_EQ(wrong_blocks(found.reduced_rollouts[1], 0, rolled), 0);
        const std::vector<float> means = mean_of_layers(expected, 1, 0);
        const auto mean = [&](std::int64_t t, std::int64_t s) {
            return Cell{means[static_cast<std::size_t>(t * 700 + s)], is_allowed(weights, t, s)};
        };
        EXPECT_EQ(wrong_blocks(found.reduced_means[1], 0, mean), 0);
    }
}

/// Rows that do not attend to a NaN stay finite.
TEST(TotalsInRows, ANanReachesOnlyRowsThatAttendToIt) {
    int numbers = 0, none = 0;
    for (unsigned seed = 0; seed < 40; ++seed) {
        SCOPED_TRACE(seed);
        TwoTexts texts(seed, 2 + seed % 15);
        texts.model.config.num_layers = 3;
        texts.broken_token = texts.model.tokens.ids[static_cast<std::size_t>(texts.model.tokens.length / 2)];
        if (!texts.compute()) continue;
        for (const auto& [whole, outline] : {std::pair(&texts.whole, texts.outline), std::pair(&texts.other_whole, texts.other)}) {
            const AttentionTotals expected = attention_totals(*whole, Stack::Main), found = totals_in_rows(*outline, 0);
            for (std::size_t layer = 0; layer < found.layers(); ++layer) {
                const RecordedStage<float>& weights = *whole->find({Stage::Weights, static_cast<int>(layer)});
                const auto rolled = [&](std::int64_t t, std::int64_t s) {
                    const float value = expected.rollouts[layer](0, t, s);
                    (std::isnan(value) ? none : numbers) += 1;
                    return Cell{value, is_allowed(weights, t, s) || value != 0};
                };
                EXPECT_EQ(wrong_blocks(found.reduced_rollouts[layer], 0, rolled), 0) << layer;
            }
        }
    }
    EXPECT_GT(numbers, 1000);
    EXPECT_GT(none, 1000);
}

}  // namespace
}  // namespace attn
