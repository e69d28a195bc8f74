/// The arithmetic shown for a number is the one carried out, even with a deliberate mistake.

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "engine/explain/explain.hpp"
#include "engine/plan/mistake.hpp"
#include "tests/support/random_model.hpp"

namespace attn {
namespace {

using testing_support::RandomModel;

bool same(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

CellRef random_cell(RandomModel& model, const StageId& id, const Shape& shape) {
    CellRef cell{id, "", {}};
    for (int axis = 0; axis < shape.rank(); ++axis) cell.index[static_cast<std::size_t>(axis)] = model.between(0, shape[axis].size - 1);
    return cell;
}

double gap_of(const Provenance& provenance) {
    double size = std::abs(provenance.recorded);
    for (const Term& term : provenance.terms) size = std::max(size, std::abs(term.value));
    if (!std::isfinite(size)) size = 1;
    return same(provenance.result, provenance.recorded) ? 0 : std::abs(provenance.result - provenance.recorded) / (1 + size);
}

const ArithmeticStep* step_named(const Provenance& provenance, const std::string& label) {
    for (const ArithmeticStep& step : provenance.steps)
        if (step.label == label) return &step;
    return nullptr;
}

TEST(MistakeProvenance, GivesTheNumbersThatWereComputed) {
    for (const MistakeInfo& info : mistakes())
        for (unsigned seed = 0; seed < 30; ++seed) {
            RandomModel model(seed, seed >= 20);
            model.settings.mistake = info.mistake;
            const Trace<double> trace = model.trace<double>();
            for (const auto& stage : trace.stages)
                for (int i = 0; i < 3; ++i) {
                    const CellRef cell = random_cell(model, stage.id, stage.value.shape());
                    const Provenance provenance = explain(trace, cell);
                    const double gap = gap_of(provenance);
                    ASSERT_TRUE(gap <= 1e-12) << info.name << " seed " << seed << " " << tensor_name(stage.id) << " " << provenance.formula
                                              << ": " << provenance.result << " instead of " << provenance.recorded;
                }
        }
}

TEST(MistakeProvenance, SaysWhereItActsAndWhatWouldBeRight) {
    for (const MistakeInfo& info : mistakes()) {
        bool said = false;
        for (unsigned seed = 0; seed < 40; ++seed) {
            RandomModel model(seed);
            model.settings.mistake = info.mistake;
            const Trace<double> trace = model.trace<double>();
            for (const auto& stage : trace.stages) {
                const Provenance provenance = explain(trace, random_cell(model, stage.id, stage.value.shape()));
                said |= provenance.sentence.find(info.words) != std::string::npos;
                const ArithmeticStep* right = step_named(provenance, "done right");
                EXPECT_FALSE(right != nullptr && same(right->value, provenance.result));
            }
        }
        EXPECT_TRUE(said) << info.name;
    }
}

TEST(MistakeProvenance, NamesTheRightNumberBesideTheWrongOne) {
    RandomModel model(3);
    model.config = Config{.vocab_size = 9, .context_length = 8, .d_model = 8, .num_heads = 2};
    model.config.num_layers = 1;
    model.tokens = {3, {1, 2, 3}, {3}};
    model.source = {};
    model.settings = {};
    model.settings.mistake = Mistake::NoScale;
    const Trace<double> trace = model.trace<double>();
    const CellRef cell{{Stage::Scaled, 0}, "", {0, 1, 2, 1}};
    const Provenance provenance = explain(trace, cell);
    EXPECT_EQ(provenance.formula, "scaled[2,1] = scores[2,1]");
    const ArithmeticStep* right = step_named(provenance, "done right");
    ASSERT_NE(right, nullptr);
    EXPECT_NEAR(right->value, provenance.recorded / 2, 1e-12);
    // Stages that the mistake does not affect do not mention it.
    EXPECT_EQ(explain(trace, {{Stage::Scores, 0}, "", {0, 1, 2, 1}}).sentence.find("On purpose"), std::string::npos);
}

}  // namespace
}  // namespace attn
