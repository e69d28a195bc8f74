// Edits in the forward pass, the reference, explanations and gradients.
#include "engine/trace/edit.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <numeric>
#include <random>

#include "engine/explain/edit_list.hpp"
#include "engine/explain/explain.hpp"
#include "engine/model/model_pass.hpp"
#include "engine/ops/cross_entropy.hpp"
#include "engine/reference/verify.hpp"
#include "engine/tensor/error.hpp"
#include "engine/trace/apply_edit.hpp"
#include "tests/engine/gradient_check.hpp"
#include "tests/support/random_edits.hpp"

namespace attn {
namespace {

using testing_support::add_edits;
using testing_support::RandomModel;

std::string describe(const reference::Verification& verification) {
    const reference::StageError* failure = verification.first_failure();
    if (failure == nullptr) return "ok";
    return tensor_name(failure->id) + ": " + failure->problem + ", off by " + std::to_string(failure->max_abs);
}

TEST(Edits, FastPathAgreesWithTheReferenceOnRandomEdits) {
    int edited_stages = 0;
    for (unsigned seed = 0; seed < 300; ++seed) {
        RandomModel model(seed, seed % 2 == 1);
        add_edits(model, 1 + static_cast<int>(seed % 4));
        const Trace<double> fine = model.trace<double>();
        const auto exact = reference::verify(fine, 1e-12, 1e-12);
        ASSERT_TRUE(exact.ok) << "seed " << seed << " " << describe(exact);
        const auto rough = reference::verify(model.trace<float>());
        ASSERT_TRUE(rough.ok) << "seed " << seed << " " << describe(rough);
        for (const auto& stage : fine.stages) edited_stages += stage.edited != nullptr ? 1 : 0;
    }
    EXPECT_GT(edited_stages, 200);
}

TEST(Edits, AreSeenWhereTheReferenceDoesNotKnowThem) {
    int seen = 0;
    for (unsigned seed = 0; seed < 100; ++seed) {
        RandomModel model(seed);
        add_edits(model, 1);
        Trace<double> trace = model.trace<double>();
        const Trace<double> before = trace;
        trace.settings.edits.clear();
        const auto verification = reference::verify(trace, 1e-12, 1e-12);
        const StageId at = model.settings.edits.front().at;
        if (verification.ok) continue;  // the edit has no effect: switched off, masked, out of range, or the same value
        EXPECT_EQ(verification.first_failure()->id, at) << "seed " << seed;
        ++seen;
    }
    EXPECT_GT(seen, 40);
}

TEST(Edits, ExplanationsOfRandomEditsAddUp) {
    int edited = 0;
    for (unsigned seed = 0; seed < 200; ++seed) {
        RandomModel model(seed);
        add_edits(model, 3);
        const Trace<double> trace = model.trace<double>();
        for (const auto& stage : trace.stages) {
            CellRef cell{stage.id, "", {}};
            const Shape& shape = stage.value.shape();
            for (int axis = 0; axis < shape.rank(); ++axis)
                cell.index[static_cast<std::size_t>(axis)] = model.between(0, shape[axis].size - 1);
            std::int64_t flat = 0;
            for (int axis = 0; axis < shape.rank(); ++axis) flat = flat * shape[axis].size + cell.index[static_cast<std::size_t>(axis)];
            const Provenance out = explain(trace, cell);
            ASSERT_EQ(out.edited, stage.edited != nullptr && stage.edited->marked(flat)) << "seed " << seed << " " << out.formula;
            const bool same = out.result == out.recorded || (std::isnan(out.result) && std::isnan(out.recorded));
            ASSERT_TRUE(same || std::abs(out.result - out.recorded) <= 1e-10 * (1 + std::abs(out.recorded)))
                << "seed " << seed << " " << tensor_name(stage.id) << " " << out.formula << ": " << out.result << " for " << out.recorded;
            edited += out.edited ? 1 : 0;
        }
    }
    EXPECT_GT(edited, 100);
}

TEST(Edits, MarksKnowWhichMatricesHaveAny) {
    int with = 0, without = 0;
    for (unsigned seed = 0; seed < 100; ++seed) {
        RandomModel model(seed);
        add_edits(model, 3);
        for (const auto& stage : model.trace<float>().stages) {
            if (stage.edited == nullptr) continue;
            const Shape& shape = stage.value.shape();
            const std::int64_t cells = shape[shape.rank() - 2].size * shape[shape.rank() - 1].size;
            for (std::int64_t slice = 0; slice < shape.count() / cells; ++slice) {
                bool any = false;
                for (std::int64_t cell = slice * cells; cell < (slice + 1) * cells; ++cell) any = any || stage.edited->marked(cell);
                ASSERT_EQ(stage.edited->any_in(slice), any) << "seed " << seed << " " << tensor_name(stage.id) << " " << slice;
                (any ? with : without) += 1;
            }
        }
    }
    EXPECT_GT(with, 100);
    EXPECT_GT(without, 100);
}

TEST(Edits, TheListKnowsWhichCellsAnEditReaches) {
    int reached = 0;
    for (unsigned seed = 0; seed < 100; ++seed) {
        RandomModel model(seed);
        add_edits(model, 3);
        const Trace<float> trace = model.trace<float>();
        for (const auto& stage : trace.stages) {
            const Shape& shape = stage.value.shape();
            if (shape.rank() < 3) continue;
            for (int i = 0; i < 20; ++i) {
                CellRef cell{stage.id, "", {}};
                std::int64_t flat = 0;
                for (int axis = 0; axis < shape.rank(); ++axis) {
                    const std::int64_t index = model.between(0, shape[axis].size - 1);
                    cell.index[static_cast<std::size_t>(axis)] = index;
                    flat = flat * shape[axis].size + index;
                }
                bool any = false;
                for (const Edit& edit : model.settings.edits) any = any || reaches(edit, trace, cell);
                ASSERT_EQ(any, stage.edited != nullptr && stage.edited->marked(flat)) << "seed " << seed << " " << tensor_name(stage.id);
                reached += any ? 1 : 0;
            }
        }
        for (const Edit& edit : model.settings.edits)
            if (edit.on && trace.find(edit.at) != nullptr && why_without_effect(edit, trace).empty()) {
                EXPECT_TRUE(reaches(edit, trace, first_cell(edit, trace))) << "seed " << seed;
            }
    }
    EXPECT_GT(reached, 100);
}

TEST(Edits, ANewEditTakesThePlaceOfTheOneItRepeats) {
    Edit a, b;
    a.at = b.at = {Stage::Q, 0};
    a.row = 1, b.row = 2;
    std::vector<Edit> list = with_edit(with_edit({}, a), b);
    ASSERT_EQ(list.size(), 2U);
    a.value = 3, a.on = true;
    list = with_edit(list, a);
    ASSERT_EQ(list.size(), 2U);
    EXPECT_EQ(list.back(), a) << "it has the last word";
    a.kind = EditKind::Scale;
    EXPECT_EQ(with_edit(list, a).size(), 3U);
    Edit elsewhere;
    elsewhere.at = {Stage::Q, 9};
    Trace<float> trace;
    trace.plan = std::make_shared<const Plan>();
    EXPECT_EQ(why_without_effect(elsewhere, trace), "this model has no such stage");
}

TEST(Edits, OfARemovedTextGoAndOthersKeepTheirTexts) {
    Edit all, of_first, of_third, from_first, from_third;
    of_first.sequence = 0, of_third.sequence = 2;
    from_first.kind = from_third.kind = EditKind::TakeRow;
    from_first.from_sequence = 0, from_first.sequence = 2;
    from_third.from_sequence = 2, from_third.sequence = 1;
    const std::vector<Edit> left = without_text({all, of_first, of_third, from_first, from_third}, 0);
    of_third.sequence = 1;
    from_third.from_sequence = 1, from_third.sequence = 0;
    EXPECT_EQ(left, (std::vector<Edit>{all, of_third, from_third}));
}

// --- each kind of edit ------------------------------------------------------------------------------------------------------

class EditKinds : public testing::Test {
protected:
    EditKinds() {
        config_.vocab_size = 7;
        config_.d_model = 6;
        config_.num_heads = 2;
        config_.d_ff = 5;
        config_.layer_norm_eps = 1e-2;
        settings_.masks.causal = true;
        parameters_ = std::make_shared<const Parameters<double>>(initial_parameters<double>(config_));
    }
    Trace<double> trace() const { return trace_forward<double>(parameters_, kTokens, {}, settings_); }
    static Edit edit_of(EditKind kind, Stage stage, int layer = 0) {
        Edit edit;
        edit.kind = kind;
        edit.at = {stage, layer};
        return edit;
    }
    static const Tensor<double>& value(const Trace<double>& trace, Stage stage, int layer = 0) { return trace.find({stage, layer})->value; }

    const TokenBatch kTokens{5, {1, 4, 2, 6, 3, 5, 5, 0, 0, 0}, {5, 3}};
    const std::vector<std::int32_t> kTargets{4, 2, 6, 3, 0, 5, 1, kIgnoredTarget, kIgnoredTarget, kIgnoredTarget};
    Config config_;
    ForwardSettings settings_;
    std::shared_ptr<const Parameters<double>> parameters_;
};

TEST_F(EditKinds, ACellIsOverwrittenAndEverythingDownstreamFollows) {
    const Trace<double> before = trace();
    Edit edit = edit_of(EditKind::Set, Stage::Q);
    edit.sequence = 0, edit.head = 1, edit.row = 3, edit.column = 2, edit.value = 5;
    settings_.edits = {edit};
    const Trace<double> after = trace();
    const Tensor<double>&q = value(after, Stage::Q), &old = value(before, Stage::Q);
    for (std::int64_t b = 0; b < 2; ++b)
        for (std::int64_t h = 0; h < 2; ++h)
            for (std::int64_t t = 0; t < 5; ++t)
                for (std::int64_t d = 0; d < 3; ++d) {
                    const bool hit = b == 0 && h == 1 && t == 3 && d == 2;
                    EXPECT_EQ(q(b, h, t, d), hit ? 5 : old(b, h, t, d));
                    EXPECT_EQ(after.find(edit.at)->edited->marked(((b * 2 + h) * 5 + t) * 3 + d), hit);
                }
    // The row's scores change and, from there, its logits and those of positions that read it; nothing before it and no other text.
    EXPECT_NE(value(after, Stage::Scores)(0, 1, 3, 0), value(before, Stage::Scores)(0, 1, 3, 0));
    EXPECT_EQ(value(after, Stage::Scores)(0, 1, 2, 0), value(before, Stage::Scores)(0, 1, 2, 0));
    const Tensor<double>&logits = value(after, Stage::Logits, -1), &old_logits = value(before, Stage::Logits, -1);
    EXPECT_NE(logits(0, 3, 0), old_logits(0, 3, 0));
    EXPECT_NE(logits(0, 4, 0), old_logits(0, 4, 0));
    EXPECT_EQ(logits(0, 2, 0), old_logits(0, 2, 0));
    EXPECT_EQ(logits(1, 1, 0), old_logits(1, 1, 0));
    EXPECT_EQ(after.find({Stage::K, 0})->edited, nullptr);
}

TEST_F(EditKinds, ARowOfAMaskedStageLeavesItsMaskedCellsAlone) {
    Edit edit = edit_of(EditKind::Set, Stage::Masked);
    edit.row = 2, edit.value = 0.25;
    settings_.edits = {edit};
    const Trace<double> after = trace();
    for (std::int64_t s = 0; s < 5; ++s) {
        EXPECT_EQ(value(after, Stage::Masked)(0, 1, 2, s), s <= 2 ? 0.25 : -HUGE_VAL);
        EXPECT_NEAR(value(after, Stage::Weights)(0, 1, 2, s), s <= 2 ? 1.0 / 3 : 0, 1e-15);
    }
}

TEST_F(EditKinds, AHeadIsScaledOrRemoved) {
    const Trace<double> before = trace();
    Edit edit = edit_of(EditKind::Scale, Stage::Context);
    edit.head = 1, edit.value = -0.5;
    settings_.edits = {edit};
    const Trace<double> half = trace();
    EXPECT_EQ(value(half, Stage::Context)(0, 1, 2, 1), -0.5 * value(before, Stage::Context)(0, 1, 2, 1));
    EXPECT_EQ(value(half, Stage::Context)(0, 0, 2, 1), value(before, Stage::Context)(0, 0, 2, 1));
    settings_.edits[0].value = 0;
    const Trace<double> removed = trace();
    for (std::int64_t t = 0; t < 5; ++t)
        for (std::int64_t c = 0; c < 6; ++c)
            EXPECT_EQ(value(removed, Stage::Concat)(0, t, c), c < 3 ? value(before, Stage::Concat)(0, t, c) : 0);
    settings_.edits[0].head = Edit::kAll;
    EXPECT_EQ(value(trace(), Stage::Concat)(0, 4, 0), 0);
}

TEST_F(EditKinds, AHeadIsFrozenToEachPattern) {
    Edit edit = edit_of(EditKind::Freeze, Stage::Weights);
    edit.head = 0;
    for (const Pattern pattern : {Pattern::Uniform, Pattern::Previous, Pattern::Self, Pattern::First}) {
        edit.pattern = pattern;
        settings_.edits = {edit};
        const Trace<double> after = trace();
        for (std::int64_t t = 0; t < 5; ++t)
            for (std::int64_t s = 0; s < 5; ++s) {
                const double expected = pattern == Pattern::Uniform ? (s <= t ? 1.0 / static_cast<double>(t + 1) : 0)
                                        : pattern == Pattern::First ? (s == 0 ? 1 : 0)
                                        : pattern == Pattern::Self  ? (s == t ? 1 : 0)
                                                                    : (s == std::max<std::int64_t>(t - 1, 0) ? 1 : 0);
                EXPECT_EQ(value(after, Stage::Weights)(0, 0, t, s), expected) << t << " " << s;
            }
    }
    // A single row.
    edit.pattern = Pattern::Uniform, edit.row = 2;
    settings_.edits = {edit};
    EXPECT_EQ(value(trace(), Stage::Weights)(0, 0, 2, 1), 1.0 / 3);
    settings_.edits.clear();
    const Tensor<double> untouched = value(trace(), Stage::Weights);
    settings_.edits = {edit};
    EXPECT_EQ(value(trace(), Stage::Weights)(0, 0, 3, 1), untouched(0, 0, 3, 1));
    settings_.edits[0].row = Edit::kAll;
    // A row that may not attend there is left unchanged: nobody may attend to key 1.
    for (int t = 0; t < 5; ++t) settings_.masks.painted.push_back({t, 1});
    settings_.edits[0].pattern = Pattern::Previous;
    const Trace<double> after = trace();
    settings_.edits.clear();
    const Trace<double> before = trace();
    EXPECT_EQ(value(after, Stage::Weights)(0, 0, 2, 0), value(before, Stage::Weights)(0, 0, 2, 0));
    EXPECT_EQ(value(after, Stage::Weights)(0, 0, 3, 2), 1);
}

TEST_F(EditKinds, AQueryIsSwappedForAnother) {
    const Trace<double> before = trace();
    Edit edit = edit_of(EditKind::TakeRow, Stage::Q);
    edit.head = 1, edit.row = 4, edit.from = 1;
    settings_.edits = {edit};
    const Trace<double> after = trace();
    for (std::int64_t d = 0; d < 3; ++d) {
        EXPECT_EQ(value(after, Stage::Q)(0, 1, 4, d), value(before, Stage::Q)(0, 1, 1, d));
        EXPECT_EQ(value(after, Stage::Q)(0, 0, 4, d), value(before, Stage::Q)(0, 0, 4, d));
    }
    for (std::int64_t s = 0; s < 5; ++s)
        EXPECT_NEAR(value(after, Stage::Scores)(0, 1, 4, s), value(before, Stage::Scores)(0, 1, 1, s), 1e-15);
}

TEST_F(EditKinds, RowsAreTakenFromAnotherText) {
    const Trace<double> before = trace();
    Edit edit = edit_of(EditKind::TakeRow, Stage::Q);
    edit.head = 1, edit.from_sequence = 1;
    const auto expect_row = [&](const Trace<double>& after, std::int64_t t, std::int64_t from_text, std::int64_t from) {
        for (std::int64_t d = 0; d < 3; ++d) {
            EXPECT_EQ(value(after, Stage::Q)(0, 1, t, d), value(before, Stage::Q)(from_text, 1, from, d)) << t;
            EXPECT_EQ(value(after, Stage::Q)(0, 0, t, d), value(before, Stage::Q)(0, 0, t, d)) << "another head";
            EXPECT_EQ(value(after, Stage::Q)(1, 1, t, d), value(before, Stage::Q)(1, 1, t, d)) << "the other text";
        }
    };
    edit.row = 4, edit.from = 2;
    settings_.edits = {edit};
    Trace<double> after = trace();
    for (std::int64_t t = 0; t < 5; ++t) expect_row(after, t, t == 4 ? 1 : 0, t == 4 ? 2 : t);
    const Provenance taken = explain(after, {{Stage::Q, 0}, "", {0, 1, 4, 0}});
    EXPECT_EQ(taken.result, value(before, Stage::Q)(1, 1, 2, 0));
    ASSERT_EQ(taken.terms.size(), 1U);
    EXPECT_EQ(taken.terms[0].operands.at(0).cell, (CellRef{{Stage::Q, 0}, "", {1, 1, 2, 0}}));
    EXPECT_EQ(taken.formula, "q[4,0] = q[2,0] of text 2");
    edit.row = edit.from = Edit::kAll;
    settings_.edits = {edit};
    after = trace();
    for (std::int64_t t = 0; t < 5; ++t) expect_row(after, t, 1, t);
}

TEST_F(EditKinds, WhatReachesBeyondTheTextChangesNothingAndSaysSo) {
    const Trace<double> before = trace();
    const auto expect_inert = [&](const Edit& edit, const std::string& word) {
        settings_.edits = {edit};
        const Trace<double> after = trace();
        for (std::size_t i = 0; i < before.stages.size(); ++i) {
            const auto &a = before.stages[i].value.values(), &b = after.stages[i].value.values();
            EXPECT_TRUE(std::equal(a.begin(), a.end(), b.begin())) << tensor_name(before.stages[i].id);
            EXPECT_EQ(after.stages[i].edited, nullptr);
        }
        const auto* stage = after.find(edit.at);
        ASSERT_NE(stage, nullptr);
        EXPECT_NE(why_without_effect(edit, stage->value.shape(), stage->mask.get()).find(word), std::string::npos)
            << why_without_effect(edit, stage->value.shape(), stage->mask.get());
    };
    Edit edit = edit_of(EditKind::Set, Stage::Q);
    edit.row = edit.column = 0, edit.value = 1e3;
    for (const auto& [field, word] :
         {std::pair{&Edit::sequence, "text"}, {&Edit::head, "head"}, {&Edit::row, "position"}, {&Edit::column, "column"}}) {
        Edit far = edit;
        far.*field = 9;
        expect_inert(far, word);
    }
    Edit take = edit_of(EditKind::TakeRow, Stage::Q);
    expect_inert(take, "no row is chosen");
    take.row = 0, take.from = 9;
    expect_inert(take, "position");
    take.from = take.row;
    expect_inert(take, "itself");
    take.from_sequence = 2;
    expect_inert(take, "text");
    take.sequence = take.from_sequence = 0;
    expect_inert(take, "a text cannot be replaced by itself");
    Edit masked = edit_of(EditKind::Set, Stage::Weights);
    masked.row = 1, masked.column = 3, masked.value = 1;
    expect_inert(masked, "masked");
    expect_inert(edit_of(EditKind::Freeze, Stage::Scores), "cannot be edited like this");
    expect_inert(edit_of(EditKind::TakeRow, Stage::Weights), "cannot be edited like this");
    expect_inert(edit_of(EditKind::Set, Stage::Tokens, -1), "cannot be edited like this");
    Edit good = edit;
    good.row = 4;
    EXPECT_EQ(why_without_effect(good, value(before, Stage::Q).shape(), nullptr), "");
}

TEST_F(EditKinds, NumbersThatNoFloatCanCarryAreRefused) {
    for (const double bad : {HUGE_VAL, -HUGE_VAL, std::nan(""), 1.1e9}) {
        Edit edit = edit_of(EditKind::Set, Stage::Q);
        edit.value = bad;
        settings_.edits = {edit};
        EXPECT_THROW(trace(), ConfigError);
    }
}

TEST_F(EditKinds, ApplyToAPassThatRecordsNothing) {
    Edit edit = edit_of(EditKind::Freeze, Stage::Weights, 1);
    settings_.edits = {edit};
    ModelPass<double> pass(*parameters_);
    Tap<double> none;
    pass.forward(kTokens, {}, settings_, none);
    const Trace<double> recorded = trace();
    const Tensor<double>& logits = value(recorded, Stage::Logits, -1);
    for (std::int64_t i = 0; i < logits.size(); ++i) EXPECT_EQ(pass.logits().data()[i], logits.data()[i]);
}

// --- gradients ----------------------------------------------------------------------------------------------------------------

TEST_F(EditKinds, GradientsOfEveryParameterMatchDifferences) {
    const auto cell = [](Stage stage, EditKind kind, double value, int layer = 0) {
        Edit edit = edit_of(kind, stage, layer);
        edit.row = 2, edit.column = 1, edit.from = 1, edit.value = value;
        return edit;
    };
    std::vector<std::vector<Edit>> lists;
    for (int s = 0; s < kStageCount; ++s) {
        const auto stage = static_cast<Stage>(s);
        if (!is_editable(stage)) continue;
        const int layer = is_layer_stage(stage) ? 0 : -1;
        Edit row = cell(stage, EditKind::Set, 0.7, layer), whole = cell(stage, EditKind::Scale, -0.6, layer);
        row.column = whole.column = whole.row = Edit::kAll;
        whole.head = 1;
        lists.push_back({cell(stage, EditKind::Set, 0.7, layer)});
        lists.push_back({row});
        lists.push_back({whole});
        if (is_editable(stage, EditKind::TakeRow)) lists.push_back({cell(stage, EditKind::TakeRow, 0, layer)});
    }
    for (const Pattern pattern : {Pattern::Uniform, Pattern::Previous, Pattern::Self, Pattern::First}) {
        Edit freeze = edit_of(EditKind::Freeze, Stage::Weights);
        freeze.head = 0, freeze.pattern = pattern;
        lists.push_back({freeze});
        freeze.row = 3;
        lists.push_back({freeze});
    }
    lists.push_back({cell(Stage::Weights, EditKind::Scale, 0.3), cell(Stage::Weights, EditKind::Set, 0.2)});
    lists.push_back({cell(Stage::Q, EditKind::TakeRow, 0), cell(Stage::Q, EditKind::Scale, -2), cell(Stage::Q, EditKind::Set, 1)});
    std::mt19937 random(3);
    std::normal_distribution<double> normal(0, 0.1);
    for (const NormPlacement norm : {NormPlacement::Pre, NormPlacement::Post}) {
        config_.norm = norm;
        Parameters<double> parameters = initial_parameters<double>(config_);
        for (const std::vector<Edit>& edits : lists) {
            settings_.edits = edits;
            settings_.dropout.attention = edits.size() > 1 ? 0.3 : 0;
            SCOPED_TRACE(tensor_name(edits.front().at) + " kind " + std::to_string(static_cast<int>(edits.front().kind)));
            const auto trace = trace_gradients<double>(parameters, kTokens, {}, kTargets, settings_);
            ModelPass<double> pass(parameters);
            Tap<double> none;
            const auto loss = [&] {
                pass.forward(kTokens, {}, settings_, none);
                return pass.loss(kTargets).loss;
            };
            EXPECT_NEAR(loss(), trace.loss, 1e-14);
            // Along a direction through all parameters at once, so that every edit of every stage can be tested.
            std::vector<double> direction(static_cast<std::size_t>(parameters.count())), along{0};
            for (double& component : direction) component = normal(random);
            const std::vector<double> start(parameters.data(), parameters.data() + parameters.count());
            const double slope = std::inner_product(direction.begin(), direction.end(), trace.parameters->data(), 0.0);
            const double error = worst_gradient_error(along, std::vector<double>{slope}, [&] {
                for (std::size_t i = 0; i < start.size(); ++i) parameters.data()[i] = start[i] + along[0] * direction[i];
                return loss();
            });
            std::copy(start.begin(), start.end(), parameters.data());
            EXPECT_TRUE(error <= kGradientTolerance) << error;
        }
    }
}

/// The gradient shown at an edited cell is that of the edited number.
TEST_F(EditKinds, GradientShownAtAnEditIsThatOfItsNumber) {
    for (int s = 0; s < kStageCount; ++s) {
        const auto stage = static_cast<Stage>(s);
        if (!is_editable(stage) || Plan(config_).find({stage, is_layer_stage(stage) ? 1 : -1}) == nullptr) continue;
        Edit edit = edit_of(EditKind::Set, stage, is_layer_stage(stage) ? 1 : -1);
        if (Plan(parameters_->config()).find(edit.at) == nullptr) continue;
        edit.sequence = edit.head = 0, edit.row = 2, edit.column = 1, edit.value = 0.4;
        settings_.edits = {edit};
        const auto gradients = trace_gradients<double>(*parameters_, kTokens, {}, kTargets, settings_);
        const Tensor<double>& g = gradients.find(edit.at)->value;
        const double shown = g.shape().rank() == 4 ? g(0, 0, 2, 1) : g(0, 2, 1);
        ModelPass<double> pass(*parameters_);
        Tap<double> none;
        std::vector<double> number{0.4};
        const auto loss = [&] {
            settings_.edits[0].value = number[0];
            pass.forward(kTokens, {}, settings_, none);
            return pass.loss(kTargets).loss;
        };
        EXPECT_LE(worst_gradient_error(number, std::vector<double>{shown}, loss), kGradientTolerance) << tensor_name(edit.at);
    }
}

}  // namespace
}  // namespace attn
