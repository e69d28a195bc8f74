// Stages recomputed from an outline are bit-identical to recorded ones.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>

#include "engine/model/continued_outline.hpp"
#include "engine/model/outline.hpp"
#include "engine/model/recomputation.hpp"
#include "engine/model/text_rules.hpp"
#include "engine/model/transformer.hpp"
#include "engine/plan/mistake.hpp"
#include "engine/reference/verify.hpp"
#include "engine/tensor/position_rows.hpp"
#include "tests/engine/io_support.hpp"
#include "tests/engine/outlined_models.hpp"
#include "tests/support/random_edits.hpp"

namespace attn {
namespace {

using testing_support::add_edits;
using testing_support::changed_behind;
using testing_support::expect_same_stage;
using testing_support::growing_model;
using testing_support::random_edit;
using testing_support::RandomModel;

/// A model with all operations, edits, dropout and mistakes.
RandomModel outlined_model(unsigned seed) {
    RandomModel model(seed, true);
    if (seed % 3 != 0) add_edits(model, static_cast<int>(seed % 5));
    if (seed % 4 == 0) model.settings.mistake = mistakes()[static_cast<std::size_t>(seed / 4) % mistakes().size()].mistake;
    return model;
}

TEST(Outline, EveryStageIsComputedAgainBitForBit) {
    for (unsigned seed = 0; seed < 200; ++seed) {
        SCOPED_TRACE(seed);
        const RandomModel model = outlined_model(seed);
        const auto parameters = std::make_shared<const Parameters<float>>(model.parameters<float>());
        const Trace<float> whole = trace_forward<float>(parameters, model.tokens, model.source, model.settings);
        const auto outline =
            std::make_shared<const Trace<float>>(trace_outline<float>(parameters, model.tokens, model.source, model.settings));
        EXPECT_LT(outline->stages.size(), whole.stages.size());
        for (const RecordedStage<float>& stage : outline->stages) expect_same_stage(*whole.find(stage.id), stage);
        Recomputation<float> again(outline);
        for (const RecordedStage<float>& stage : whole.stages) {
            const Trace<float> found = again.trace_around(stage.id);
            ASSERT_NE(found.find(stage.id), nullptr) << tensor_name(stage.id);
            expect_same_stage(stage, *found.find(stage.id));
        }
    }
}

TEST(Outline, ShowsEveryStageOfTheLayersAsItIsComputed) {
    for (unsigned seed = 0; seed < 40; ++seed) {
        SCOPED_TRACE(seed);
        const RandomModel model = outlined_model(seed);
        const auto parameters = std::make_shared<const Parameters<float>>(model.parameters<float>());
        std::map<std::string, std::vector<float>> whole, seen;
        const auto keep_in = [](std::map<std::string, std::vector<float>>& all) {
            return [&all](const StageId& id, const Tensor<float>& value, const Mask*) {
                all[tensor_name(id)] = {value.values().begin(), value.values().end()};
            };
        };
        trace_forward<float>(parameters, model.tokens, model.source, model.settings, {}, keep_in(whole));
        trace_outline<float>(parameters, model.tokens, model.source, model.settings, keep_in(seen));
        for (const auto& [name, values] : seen)
            EXPECT_EQ(std::memcmp(values.data(), whole.at(name).data(), sizeof(float) * values.size()), 0) << name;
        EXPECT_EQ(seen.size(), Plan(model.config, model.settings.mistake).end_of_layers())
            << "all but the last norm and what the head makes of it";
    }
}

TEST(Outline, EditsAreMadeFromTheLayerWhereTheyBegin) {
    for (unsigned seed = 0; seed < 200; ++seed) {
        SCOPED_TRACE(seed);
        RandomModel model = outlined_model(seed);
        const auto parameters = std::make_shared<const Parameters<float>>(model.parameters<float>());
        const auto before =
            std::make_shared<const Trace<float>>(trace_forward<float>(parameters, model.tokens, model.source, model.settings));
        const auto outline =
            std::make_shared<const Trace<float>>(trace_outline<float>(parameters, model.tokens, model.source, model.settings));
        Recomputation<float> from_trace(before), from_outline(outline);
        for (int round = 0; round < 3; ++round) {
            std::vector<Edit> edits = model.settings.edits;
            if (round == 1 && !edits.empty()) edits.erase(edits.begin());
            if (round > 0) edits.push_back(random_edit(model, *before));
            ForwardSettings settings = model.settings;
            settings.edits = edits;
            const Trace<float> expected = trace_forward<float>(parameters, model.tokens, model.source, settings);
            const Trace<float> found = from_trace.with_edits(edits), short_one = from_outline.with_edits(edits);
            EXPECT_EQ(found.settings, settings);
            ASSERT_EQ(found.stages.size(), expected.stages.size());
            for (std::size_t i = 0; i < found.stages.size(); ++i) expect_same_stage(expected.stages[i], found.stages[i]);
            ASSERT_EQ(short_one.stages.size(), outline->stages.size());
            for (const RecordedStage<float>& stage : short_one.stages) expect_same_stage(*expected.find(stage.id), stage);
        }
    }
}

TEST(Outline, ALongTextIsEditedSomePositionsAtATime) {
    int of_maps = 0, before_layers = 0;
    for (unsigned seed = 0; seed < 150; ++seed) {
        SCOPED_TRACE(seed);
        RandomModel model = growing_model(seed, 2 + seed % 17);
        const auto parameters = std::make_shared<const Parameters<float>>(model.parameters<float>());
        const Trace<float> whole = trace_forward<float>(parameters, model.tokens, {}, model.settings);
        const std::int64_t rows = model.between(1, 4);
        auto outline = std::make_shared<const Trace<float>>(
            trace_outline<float>(parameters, model.tokens, {}, model.settings, {}, {}, {seed % 2 == 0, rows}));
        std::vector<Edit> edits;
        for (int round = 0; round < 3; ++round) {
            Edit edit = random_edit(model, whole);
            if (edit.kind == EditKind::TakeRow) edit.kind = EditKind::Scale;
            edits.push_back(edit);
            of_maps += edit.on && is_attention_map(edit.at.stage) ? 1 : 0;
            before_layers += edit.on && !whole.plan->part_around(edit.at).stream ? 1 : 0;
            ForwardSettings settings = model.settings;
            settings.edits = edits;
            const Trace<float> expected = trace_forward<float>(parameters, model.tokens, {}, settings);
            outline = std::make_shared<const Trace<float>>(Recomputation<float>(outline).with_edits(edits, {}, rows));
            EXPECT_EQ(outline->settings, settings);
            ASSERT_EQ(outline->stages.size(), outline_stages(*whole.plan, seed % 2 == 0).size());
            for (const RecordedStage<float>& stage : outline->stages) expect_same_stage(*expected.find(stage.id), stage);
        }
    }
    EXPECT_GT(of_maps, 40);
    EXPECT_GT(before_layers, 10);
}

/// A model that can be computed in rows, with masks and a mistake that does not mix rows.
RandomModel model_of_rows(unsigned seed, std::int64_t length) {
    RandomModel model = growing_model(seed, length);
    MaskSettings& masks = model.settings.masks;
    masks.causal = model.coin(0.7);
    masks.window = model.coin(0.7) ? 0 : static_cast<int>(model.between(1, length));
    masks.prefix = model.coin(0.7) ? 0 : static_cast<int>(model.between(1, length));
    masks.block = model.coin(0.7) ? 0 : static_cast<int>(model.between(1, length));
    for (std::int64_t i = model.coin() ? 0 : model.between(0, 4); i > 0; --i)
        masks.painted.push_back({static_cast<std::int32_t>(model.between(0, length)), static_cast<std::int32_t>(model.between(0, length))});
    const auto& all = mistakes();
    ForwardSettings settings = model.settings;
    settings.mistake = all[static_cast<std::size_t>(model.between(0, std::ssize(all) - 1))].mistake;
    if (model.coin() && can_compute_in_rows(model.config, model.tokens, settings)) model.settings = settings;
    return model;
}

/// Adds edits that can be computed in rows: none copies from another row.
void edit_rows(RandomModel& model) {
    const Trace<float> trace = model.trace<float>();
    for (std::int64_t i = model.between(1, 4); i > 0; --i) {
        Edit edit = random_edit(model, trace);
        if (edit.kind == EditKind::TakeRow) edit.on = false;
        model.settings.edits.push_back(edit);
    }
}

TEST(Outline, OfATextThatGrowsOrChangesAtItsEndHasTheBitsOfAWholePass) {
    int taken_over = 0;
    for (unsigned seed = 0; seed < 150; ++seed) {
        SCOPED_TRACE(seed);
        RandomModel model = growing_model(seed, 1 + seed % 23);
        const auto parameters = std::make_shared<const Parameters<float>>(model.parameters<float>());
        Trace<float> outline = trace_outline<float>(parameters, model.tokens, {}, model.settings);
        for (int round = 0; round < 4; ++round) {
            const std::int64_t kept = model.between(0, outline.tokens.length);
            const std::int64_t length = std::max<std::int64_t>(1, model.between(kept, std::min<std::int64_t>(kept + 5, 23)));
            model.tokens = outline.tokens;
            const TokenBatch tokens = changed_behind(model, std::min(kept, length), length);
            model.config.context_length = parameters->config().context_length;
            if (length > model.config.context_length) continue;
            taken_over += positions_kept(outline, tokens) > 0 ? 1 : 0;
            const Trace<float> found = continue_outline(outline, tokens);
            const Trace<float> expected = trace_outline<float>(parameters, tokens, {}, model.settings);
            ASSERT_EQ(found.stages.size(), expected.stages.size());
            for (std::size_t i = 0; i < found.stages.size(); ++i) expect_same_stage(expected.stages[i], found.stages[i]);
            EXPECT_EQ(found.tokens, tokens);
            outline = found;
        }
    }
    EXPECT_GT(taken_over, 300);
}

TEST(Outline, TakesOverPositionsOnlyWhereTheyStayAsTheyAre) {
    RandomModel model = growing_model(2, 6);
    const auto parameters = std::make_shared<const Parameters<float>>(model.parameters<float>());
    const auto kept_under = [&](const ForwardSettings& settings, const TokenBatch& tokens) {
        return positions_kept(trace_outline<float>(parameters, model.tokens, {}, settings), tokens);
    };
    EXPECT_EQ(kept_under(model.settings, model.tokens), 6);
    TokenBatch other = model.tokens;
    other.ids[3] = (other.ids[3] + 1) % static_cast<std::int32_t>(model.config.vocab_size);
    EXPECT_EQ(kept_under(model.settings, other), 3);
    ForwardSettings settings = model.settings;
    settings.masks.causal = false;
    EXPECT_EQ(kept_under(settings, other), 0) << "the first positions see the last";
    settings = model.settings;
    settings.dropout.residual = 0.5;
    EXPECT_EQ(kept_under(settings, other), 0);
    TokenBatch two = other;
    two.ids.insert(two.ids.end(), other.ids.begin(), other.ids.end());
    two.lengths.push_back(6);
    EXPECT_EQ(kept_under(model.settings, two), 0);
}

TEST(Outline, APartIsATraceOfItsOwnWithWhatItIsComputedFrom) {
    for (unsigned seed = 0; seed < 60; ++seed) {
        SCOPED_TRACE(seed);
        const RandomModel model = outlined_model(seed);
        const auto parameters = std::make_shared<const Parameters<float>>(model.parameters<float>());
        const Trace<float> whole = trace_forward<float>(parameters, model.tokens, model.source, model.settings);
        EXPECT_TRUE(whole.whole());
        const auto outline =
            std::make_shared<const Trace<float>>(trace_outline<float>(parameters, model.tokens, model.source, model.settings));
        EXPECT_FALSE(outline->whole());
        Recomputation<float> again(outline);
        for (const PlanNode& node : whole.plan->nodes()) {
            const Trace<float> part = again.trace_around(node.id);
            EXPECT_EQ(part.settings, whole.settings);
            ASSERT_NE(part.find(node.id), nullptr);
            for (const RecordedStage<float>& stage : part.stages) expect_same_stage(*whole.find(stage.id), stage);
            if (!is_layer_stage(node.id.stage)) continue;
            for (const StageId& input : node.inputs) EXPECT_NE(part.find(input), nullptr) << tensor_name(node.id);
        }
    }
}

/// Verifies every part of a model with one number changed; returns the stages reported.
std::vector<StageId> wrong_stages(const RandomModel& model, const StageId& changed, float by) {
    const auto parameters = std::make_shared<const Parameters<float>>(model.parameters<float>());
    const auto outline = std::make_shared<const Trace<float>>(trace_outline<float>(parameters, model.tokens, model.source, model.settings));
    std::vector<StageId> wrong;
    std::size_t seen = 0;
    for (std::size_t i = 0; i < outline->plan->nodes().size(); i = outline->plan->part_around(outline->plan->nodes()[i].id).end) {
        const StageId within = outline->plan->nodes()[i].id;
        Recomputation<float> again(outline, Keep::OneLayer);
        const auto show = [&](const reference::StageRowsObserver<float>& each) {
            again.show_around(within, [&](const StageId& id, const Tensor<float>& value, const Mask* mask) {
                Tensor<float> shown = value;
                if (id == changed && !shown.empty()) shown.data()[shown.size() / 2] += by;
                each(id, 0, shown, mask);
            });
        };
        const reference::Verification found = reference::verify_part<float>(*outline, within, show);
        seen += found.stages.size();
        for (const auto& stage : found.stages)
            if (!stage.ok) wrong.push_back(stage.id);
    }
    EXPECT_EQ(seen, outline->plan->nodes().size());
    return wrong;
}

/// The stages shown by a pass in rows, reassembled.
struct ShownInRows {
    std::map<std::string, Tensor<float>> values;
    std::map<std::string, std::int64_t> positions;

    void add(const StageRows<float>& shown, const RecordedStage<float>& whole) {
        const std::string name = tensor_name(shown.id);
        Tensor<float>& all = values[name];
        if (all.empty()) all = Tensor<float>(whole.value.shape());
        EXPECT_EQ(shown.first, positions[name]) << "rows come one after the other";
        const std::int64_t count = PositionRows(shown.value.shape()).positions;
        copy_positions(shown.value, 0, all, shown.first, count);
        positions[name] += count;
        for (std::int64_t t = 0; shown.mask != nullptr && t < count; ++t)
            for (std::int64_t s = 0; s < shown.mask->keys(); ++s)
                EXPECT_EQ(shown.mask->may_attend(0, 0, t, s), whole.mask->may_attend(0, 0, shown.first + t, s));
    }
};

TEST(Outline, SomePositionsAtATimeHaveTheBitsOfAllAtOnce) {
    for (unsigned seed = 0; seed < 240; ++seed) {
        SCOPED_TRACE(seed);
        RandomModel model = model_of_rows(seed, 1 + seed % 23);
        if (seed % 3 == 0) edit_rows(model);
        const auto parameters = std::make_shared<const Parameters<float>>(model.parameters<float>());
        const Trace<float> whole = trace_forward<float>(parameters, model.tokens, {}, model.settings);
        const std::int64_t rows = model.between(1, 6);
        const bool attended = seed % 2 == 0;
        const auto outline = std::make_shared<const Trace<float>>(
            trace_outline<float>(parameters, model.tokens, {}, model.settings, {}, {}, {attended, rows}));
        ASSERT_EQ(outline->stages.size(), outline_stages(*whole.plan, attended).size());
        for (const RecordedStage<float>& stage : outline->stages) expect_same_stage(*whole.find(stage.id), stage);
        ShownInRows shown;
        Recomputation<float> again(outline, Keep::OneLayer);
        for (std::size_t i = 0; i < whole.plan->nodes().size(); i = whole.plan->part_around(whole.plan->nodes()[i].id).end)
            again.show_rows_around(
                whole.plan->nodes()[i].id, [&](const StageRows<float>& some) { shown.add(some, *whole.find(some.id)); }, {}, rows);
        EXPECT_EQ(shown.values.size(), whole.stages.size());
        for (const RecordedStage<float>& stage : whole.stages)
            EXPECT_EQ(std::memcmp(stage.value.data(), shown.values[tensor_name(stage.id)].data(),
                                  sizeof(float) * static_cast<std::size_t>(stage.value.size())),
                      0)
                << tensor_name(stage.id);
    }
}

TEST(Outline, WithoutKeysAndValuesIsContinuedAllTheSame) {
    for (unsigned seed = 0; seed < 80; ++seed) {
        SCOPED_TRACE(seed);
        RandomModel model = growing_model(seed, 2 + seed % 20);
        const auto parameters = std::make_shared<const Parameters<float>>(model.parameters<float>());
        const Trace<float> outline = trace_outline<float>(parameters, model.tokens, {}, model.settings, {}, {}, {false, 3});
        for (const std::int64_t kept : {model.tokens.length, model.tokens.length - 1, std::int64_t{0}}) {
            const TokenBatch tokens = changed_behind(model, kept, std::min(kept + 2, model.config.context_length));
            const Trace<float> found = continue_outline(outline, tokens),
                               expected = trace_outline<float>(parameters, tokens, {}, model.settings, {}, {}, {false});
            ASSERT_EQ(found.stages.size(), outline.stages.size());
            for (std::size_t i = 0; i < found.stages.size(); ++i) expect_same_stage(expected.stages[i], found.stages[i]);
        }
    }
}

/// A stage of each part up to the end of the layers, and one after it.
std::vector<StageId> stage_of_every_part(const Plan& plan) {
    std::vector<StageId> stages;
    for (std::size_t place = 0; place < plan.nodes().size(); place = plan.part_around(plan.nodes()[place].id).end)
        stages.push_back(plan.nodes()[place].id);
    return stages;
}

TEST(Outline, MayBeBegunBeforeAnyPartAndCompletedLater) {
    int begun_short = 0;
    for (unsigned seed = 0; seed < 160; ++seed) {
        SCOPED_TRACE(seed);
        const RandomModel model = seed % 2 == 0 ? outlined_model(seed) : model_of_rows(seed, 1 + seed % 23);
        const auto parameters = std::make_shared<const Parameters<float>>(model.parameters<float>());
        const bool attended = seed % 3 != 0;
        const Trace<float> whole = trace_outline<float>(parameters, model.tokens, model.source, model.settings, {}, {}, {attended, 0});
        EXPECT_TRUE(is_complete(whole));
        for (const StageId& before : stage_of_every_part(*whole.plan)) {
            const auto begun = std::make_shared<const Trace<float>>(
                trace_outline<float>(parameters, model.tokens, model.source, model.settings, {}, {}, {attended, 0, before}));
            const PlanPart part = whole.plan->part_around(before);
            EXPECT_EQ(is_complete(*begun), part.first >= whole.plan->end_of_layers());
            begun_short += is_complete(*begun) ? 0 : 1;
            // The part before which it stops can be computed.
            EXPECT_TRUE(!part.stream || begun->find(*part.stream) != nullptr);
            const Trace<float> completed = complete_outline<float>(begun, attended);
            ASSERT_EQ(completed.stages.size(), whole.stages.size());
            for (std::size_t i = 0; i < whole.stages.size(); ++i) expect_same_stage(whole.stages[i], completed.stages[i]);
        }
    }
    EXPECT_GT(begun_short, 300);
}

TEST(Outline, OfALongerTextMayBeBegunAndCompletedFromTheOneBefore) {
    for (unsigned seed = 0; seed < 100; ++seed) {
        SCOPED_TRACE(seed);
        RandomModel model = growing_model(seed, 2 + seed % 20);
        const auto parameters = std::make_shared<const Parameters<float>>(model.parameters<float>());
        const bool attended = seed % 2 == 0;
        const Trace<float> outline = trace_outline<float>(parameters, model.tokens, {}, model.settings, {}, {}, {attended, 3});
        for (const std::int64_t kept : {model.tokens.length, model.tokens.length - 1, std::int64_t{0}}) {
            const std::int64_t length = seed % 5 == 0 ? std::max<std::int64_t>(kept, 1) : std::min(kept + 2, model.config.context_length);
            const TokenBatch tokens = changed_behind(model, std::min(kept, length), length);
            const Trace<float> expected = trace_outline<float>(parameters, tokens, {}, model.settings, {}, {}, {attended});
            for (const StageId& before : stage_of_every_part(*outline.plan)) {
                const auto begun = std::make_shared<const Trace<float>>(continue_outline(outline, tokens, {}, before));
                EXPECT_EQ(is_complete(*begun), outline.plan->part_around(before).first >= outline.plan->end_of_layers());
                const Trace<float> found = complete_outline<float>(begun, attended, &outline);
                ASSERT_EQ(found.stages.size(), expected.stages.size());
                for (std::size_t i = 0; i < found.stages.size(); ++i) expect_same_stage(expected.stages[i], found.stages[i]);
            }
        }
    }
}

/// Verifies a layer shown `rows` positions at a time, with one number of a stage changed; returns the stages reported.
std::vector<reference::StageError> wrong_in_rows(const std::shared_ptr<const Trace<float>>& outline, const StageId& changed,
                                                 std::int64_t cell, float by, std::int64_t rows) {
    Recomputation<float> again(outline, Keep::OneLayer);
    const Shape whole = outline->shape_of(changed);
    const PositionRows all(whole);
    const auto show = [&](const reference::StageRowsObserver<float>& each) {
        const auto change = [&](const StageRows<float>& shown) {
            Tensor<float> value = shown.value;
            const PositionRows some(value.shape());
            const std::int64_t row = cell / all.width % all.positions - shown.first, block = cell / all.width / all.positions;
            if (shown.id == changed && row >= 0 && row < some.positions)
                value.data()[(block * some.positions + row) * some.width + cell % all.width] += by;
            each(shown.id, shown.first, value, shown.mask);
        };
        again.show_rows_around(changed, change, {}, rows);
    };
    const reference::Verification found = reference::verify_part<float>(*outline, changed, show);
    const PlanPart part = outline->plan->part_around(changed);
    EXPECT_EQ(found.stages.size(), part.end - part.first);
    std::vector<reference::StageError> wrong;
    for (const auto& stage : found.stages)
        if (!stage.ok) wrong.push_back(stage);
    return wrong;
}

TEST(Outline, TheReferenceAgreesInRowsUnderAnyMaskAndMistake) {
    int others = 0;
    for (unsigned seed = 0; seed < 120; ++seed) {
        SCOPED_TRACE(seed);
        RandomModel model = model_of_rows(seed, 1 + seed % 11);
        model.unruly = false;
        if (seed % 3 == 0) edit_rows(model);
        others += model.settings.masks.causal && !model.settings.mistaken() ? 0 : 1;
        const auto parameters = std::make_shared<const Parameters<float>>(model.parameters<float>());
        const auto outline =
            std::make_shared<const Trace<float>>(trace_outline<float>(parameters, model.tokens, {}, model.settings, {}, {}, {false, 2}));
        EXPECT_THAT(wrong_in_rows(outline, outline->plan->streams(Stack::Main).back(), 0, 0, 2), testing::IsEmpty());
    }
    EXPECT_GT(others, 30);
}

TEST(Outline, AWrongNumberIsFoundInEveryHeadAndEveryRow) {
    RandomModel model = growing_model(4, 7);
    model.config.num_heads = 3;
    model.config.num_kv_heads = 0;
    model.config.d_model = 12;
    model.unruly = false;
    const auto parameters = std::make_shared<const Parameters<float>>(model.parameters<float>());
    const auto outline =
        std::make_shared<const Trace<float>>(trace_outline<float>(parameters, model.tokens, {}, model.settings, {}, {}, {false, 2}));
    for (const PlanNode& node : outline->plan->nodes()) {
        if (node.id.layer != 0) continue;
        SCOPED_TRACE(tensor_name(node.id));
        const Shape shape = outline->shape_of(node.id);
        const PositionRows rows(shape);
        EXPECT_THAT(wrong_in_rows(outline, node.id, 0, 0, 2), testing::IsEmpty());
        for (std::int64_t block = 0; block < rows.blocks; ++block)
            for (std::int64_t row = 0; row < rows.positions; ++row) {
                const std::int64_t cell = (block * rows.positions + row) * rows.width;  // column 0 is never masked
                const auto wrong = wrong_in_rows(outline, node.id, cell, 1, 2);
                ASSERT_EQ(wrong.size(), 1U);
                EXPECT_EQ(wrong[0].id, node.id);
                EXPECT_EQ(wrong[0].worst_index, cell);
            }
    }
}

TEST(Outline, RowsThatAreNotShownAreMissed) {
    RandomModel model = growing_model(6, 9);
    const auto parameters = std::make_shared<const Parameters<float>>(model.parameters<float>());
    const auto outline =
        std::make_shared<const Trace<float>>(trace_outline<float>(parameters, model.tokens, {}, model.settings, {}, {}, {true, 2}));
    const StageId left_out{Stage::Weights, 0};
    for (const std::int64_t gone : {0, 4, 8}) {
        Recomputation<float> again(outline, Keep::OneLayer);
        const auto show = [&](const reference::StageRowsObserver<float>& each) {
            again.show_rows_around(
                left_out,
                [&](const StageRows<float>& shown) {
                    if (!(shown.id == left_out && shown.first == gone)) each(shown.id, shown.first, shown.value, shown.mask);
                },
                {}, 2);
        };
        const reference::Verification found = reference::verify_part<float>(*outline, left_out, show);
        EXPECT_FALSE(found.ok);
        ASSERT_NE(found.first_failure(), nullptr);
        EXPECT_EQ(found.first_failure()->id, left_out);
    }
}

TEST(Outline, SomePositionsAtATimeTakeLittleMoreThanWhatIsKept) {
    Config config;
    config.vocab_size = 65;
    config.context_length = 512;
    config.d_model = 64;
    config.num_heads = 8;
    config.num_layers = 2;
    config.d_ff = 256;
    TokenBatch batch{512, std::vector<std::int32_t>(512, 3), {512}};
    ForwardSettings settings;
    settings.masks.causal = true;
    const auto parameters = std::make_shared<const Parameters<float>>(config);
    const auto peak = [&](std::int64_t rows) {
        const test::AllocationWatch watch;
        trace_outline<float>(parameters, batch, {}, settings, {}, {}, {false, rows});
        return watch.peak();
    };
    const std::size_t row = 512 * sizeof(float), stream = 64 * row, map = 8 * 512 * row, mask = 512 * 512;
    // Allowed: the residual streams, the inputs of maps, and the rows themselves, but never maps. Measure the second pass of both, because
    // the first allocates scratch memory of the threads.
    for (const std::int64_t rows : {16, 512}) peak(rows);
    EXPECT_LT(peak(16), 3 * stream + 5 * stream + mask + (256U << 10));
    EXPECT_LT(peak(512), map);
    const auto watched = [&](const StageId&, const Tensor<float>&, const Mask*) {};
    const test::AllocationWatch watch;
    trace_outline<float>(parameters, batch, {}, settings, watched, {}, {false, 16});
    EXPECT_GT(watch.peak(), map) << "who looks at them makes them";
}

TEST(Outline, EveryPartIsVerifiedAndAWrongNumberIsFound) {
    for (unsigned seed = 0; seed < 60; ++seed) {
        SCOPED_TRACE(seed);
        RandomModel model = outlined_model(seed);
        model.unruly = false;
        EXPECT_THAT(wrong_stages(model, {}, 0), testing::IsEmpty());
        const Plan plan(model.config, model.settings.mistake);
        const StageId changed = plan.nodes()[static_cast<std::size_t>(model.between(0, std::ssize(plan.nodes()) - 1))].id;
        // Not a masked cell, which has no number.
        if (is_attention_map(changed.stage)) continue;
        EXPECT_THAT(wrong_stages(model, changed, 1), testing::ElementsAre(changed));
        EXPECT_THAT(wrong_stages(model, changed, NAN), testing::ElementsAre(changed));
    }
}

TEST(Outline, NeedsTheMemoryOfOneLayer) {
    Config config;
    config.vocab_size = 65;
    config.context_length = 512;
    config.d_model = 64;
    config.num_heads = 4;
    config.d_ff = 256;
    // Long enough to make the bookkeeping of a layer's stages negligible.
    TokenBatch batch{512, std::vector<std::int32_t>(512, 3), {512}};
    const auto peak = [&](std::int64_t layers) {
        config.num_layers = layers;
        const auto parameters = std::make_shared<const Parameters<float>>(config);
        const test::AllocationWatch watch;
        trace_outline<float>(parameters, batch, {}, {});
        return static_cast<double>(watch.peak());
    };
    peak(1);
    const double outline_of_layer = 3 * 512 * 64 * sizeof(float);  // residual stream, keys and values
    EXPECT_LE(peak(9) - peak(1), 8 * 1.3 * outline_of_layer);
}

TEST(Outline, RefusesWhatThereIsNot) {
    const RandomModel model(3);
    const auto parameters = std::make_shared<const Parameters<float>>(model.parameters<float>());
    Recomputation<float> again(
        std::make_shared<const Trace<float>>(trace_outline<float>(parameters, model.tokens, model.source, model.settings)));
    EXPECT_THROW(again.trace_around({Stage::Q, 99}), Error);
    Edit bad;
    bad.value = HUGE_VAL;
    EXPECT_THROW(again.with_edits({bad}), ConfigError);
    std::stop_source stopped;
    stopped.request_stop();
    const StageId some = Plan(model.config).nodes().back().id;
    EXPECT_THROW(again.trace_around(some, stopped.get_token()), Cancelled);
}

}  // namespace
}  // namespace attn
