// A recomputed part of a model is bit-identical to recorded stages.
#include "engine/model/looked_at_part.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "engine/explain/explain.hpp"
#include "engine/model/continued_outline.hpp"
#include "engine/model/outline.hpp"
#include "engine/model/text_rules.hpp"
#include "engine/model/transformer.hpp"
#include "engine/trace/apply_edit.hpp"
#include "engine/trace/query_key.hpp"
#include "tests/engine/outlined_models.hpp"
#include "tests/support/random_edits.hpp"

namespace attn {
namespace {

using testing_support::add_edits;
using testing_support::changed_behind;
using testing_support::expect_same_stage;
using testing_support::growing_model;
using testing_support::RandomModel;

void expect_same_scores(const std::vector<HeadScore>& expected, const std::vector<HeadScore>& found) {
    ASSERT_EQ(expected.size(), found.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
        EXPECT_EQ(expected[i].head, found[i].head);
        EXPECT_EQ(expected[i].previous_token, found[i].previous_token);
        EXPECT_EQ(expected[i].induction, found[i].induction);
        EXPECT_EQ(expected[i].entropy, found[i].entropy);
        EXPECT_EQ(expected[i].distance, found[i].distance);
        EXPECT_EQ(expected[i].rows, found[i].rows);
    }
}

void expect_same_ranges(const Trace<float>& whole, const LookedAtPart& part) {
    for (const StageRange& range : part.ranges) {
        const StageRange expected = stage_range(*whole.find(range.id));
        EXPECT_EQ(expected.lo, range.lo) << tensor_name(range.id);
        EXPECT_EQ(expected.hi, range.hi) << tensor_name(range.id);
        EXPECT_EQ(expected.finite, range.finite) << tensor_name(range.id);
    }
}

TEST(LookedAtPart, HoldsOneHeadWithTheRangesOfAll) {
    int in_rows = 0;
    for (unsigned seed = 0; seed < 60; ++seed) {
        SCOPED_TRACE(seed);
        RandomModel model = growing_model(seed, 3 + seed % 17);
        if (seed % 2 == 0) {
            add_edits(model, 4);
            for (Edit& edit : model.settings.edits)
                if (edit.kind == EditKind::TakeRow) edit.on = false;
        }
        const auto parameters = std::make_shared<const Parameters<float>>(model.parameters<float>());
        const Trace<float> whole = trace_forward<float>(parameters, model.tokens, {}, model.settings);
        const auto outline =
            std::make_shared<const Trace<float>>(trace_outline<float>(parameters, model.tokens, {}, model.settings, {}, {}, {false, 2}));
        if (!can_compute_in_rows(*outline)) continue;  // then all heads are computed
        ++in_rows;
        const StageId weights{Stage::Weights, 0};
        const std::int64_t head = model.between(0, model.config.num_heads - 1);
        const LookedAtPart found = look_at_part(outline, weights, NumbersOfPart{{}, head}, {2}), all = look_at_part(outline, weights);
        EXPECT_EQ(found.trace.stages.size(), all.trace.stages.size());
        for (const RecordedStage<float>& stage : found.trace.stages) {
            SCOPED_TRACE(tensor_name(stage.id));
            const RecordedStage<float>& expected = *whole.find(stage.id);
            if (!is_attention_map(stage.id.stage)) {
                expect_same_stage(expected, stage);
                continue;
            }
            EXPECT_EQ(found.trace.find(stage.id), nullptr) << "not all of it is there";
            EXPECT_EQ(found.trace.find(stage.id, head + 1), nullptr);
            ASSERT_EQ(found.trace.find(stage.id, head), &stage);
            ASSERT_EQ(stage.value.shape(), expected.value.shape().with_size(1, 1));
            EXPECT_EQ(std::memcmp(stage.value.data(), expected.value.data() + head * stage.value.size(),
                                  sizeof(float) * static_cast<std::size_t>(stage.value.size())),
                      0);
            EXPECT_EQ(stage.mask == nullptr, expected.mask == nullptr);
            for (std::int64_t cell = 0; cell < stage.value.size(); ++cell)
                EXPECT_EQ(stage.edited != nullptr && stage.edited->marked(cell),
                          expected.edited != nullptr && expected.edited->marked(head * stage.value.size() + cell));
        }
        expect_same_ranges(whole, found);
        expect_same_scores(all.head_scores, found.head_scores);
        EXPECT_EQ(std::ssize(found.head_scores), model.config.num_heads);
        EXPECT_GE(found.ranges.size(), found.trace.stages.size());
    }
    EXPECT_GT(in_rows, 40);
}

TEST(LookedAtPart, OfATextThatContinuesAnotherHasTheBitsOfAWholePass) {
    int taken_over = 0;
    for (unsigned seed = 0; seed < 120; ++seed) {
        SCOPED_TRACE(seed);
        RandomModel model = growing_model(seed, 2 + seed % 19);
        const auto parameters = std::make_shared<const Parameters<float>>(model.parameters<float>());
        const auto outline_of = [&](const TokenBatch& tokens) {
            return std::make_shared<const Trace<float>>(trace_outline<float>(parameters, tokens, {}, model.settings));
        };
        const StageId within{Stage::Weights, static_cast<int>(model.config.num_layers) - 1};
        WholePart wanted;
        wanted.before = std::make_shared<const Trace<float>>(look_at_part(outline_of(model.tokens), within).trace);
        const std::int64_t kept = model.between(0, model.tokens.length),
                           length = std::max<std::int64_t>(1, model.between(kept, std::min(kept + 3, model.config.context_length)));
        const TokenBatch tokens = changed_behind(model, std::min(kept, length), length);
        taken_over += positions_kept(*wanted.before, tokens) > 0 ? 1 : 0;
        const auto outline = outline_of(tokens);
        const LookedAtPart found = look_at_part(outline, within, wanted), expected = look_at_part(outline, within);
        ASSERT_EQ(found.trace.stages.size(), expected.trace.stages.size());
        for (std::size_t i = 0; i < found.trace.stages.size(); ++i) expect_same_stage(expected.trace.stages[i], found.trace.stages[i]);
        expect_same_ranges(expected.trace, found);
        expect_same_scores(expected.head_scores, found.head_scores);
    }
    EXPECT_GT(taken_over, 60);
}

TEST(LookedAtPart, ACellOfTheHeadThatIsThereIsExplained) {
    RandomModel model = growing_model(4, 7);
    model.config.num_heads = 3;
    model.config.num_kv_heads = 0;
    model.config.d_model = 12;
    const auto parameters = std::make_shared<const Parameters<float>>(model.parameters<float>());
    const auto outline =
        std::make_shared<const Trace<float>>(trace_outline<float>(parameters, model.tokens, {}, model.settings, {}, {}, {true, 2}));
    const Trace<float> one = look_at_part(outline, {Stage::Weights, 0}, NumbersOfPart{{}, 1}, {2}).trace,
                       all = look_at_part(outline, {Stage::Weights, 0}).trace;
    for (const Stage stage : {Stage::Scores, Stage::Scaled, Stage::Masked, Stage::Weights, Stage::Context}) {
        const CellRef cell{{stage, 0}, "", {0, 1, 5, 2}}, other{{stage, 0}, "", {0, 0, 5, 2}};
        const Provenance found = explain(one, cell), expected = explain(all, cell);
        EXPECT_EQ(found.recorded, expected.recorded);
        EXPECT_EQ(found.result, expected.result);
        EXPECT_EQ(found.formula, expected.formula);
        EXPECT_EQ(where_it_goes(one, cell).size(), where_it_goes(all, cell).size());
        EXPECT_THROW(explain(one, other), Error) << "no number of another head is made up";
    }
    EXPECT_EQ(query_key_product(one, {Stage::Scores, 0}, 0, 1, 5, 2).score, query_key_product(all, {Stage::Scores, 0}, 0, 1, 5, 2).score);
    EXPECT_THROW(query_key_product(one, {Stage::Scores, 0}, 0, 0, 5, 2), Error);
}

}  // namespace
}  // namespace attn
