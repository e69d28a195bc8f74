#include "engine/explain/explain.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <set>

#include "engine/tensor/error.hpp"
#include "tests/support/random_model.hpp"

namespace attn {
namespace {

using testing_support::RandomModel;

CellRef random_cell(RandomModel& model, const StageId& id, const Shape& shape) {
    CellRef cell{id, "", {}};
    for (int axis = 0; axis < shape.rank(); ++axis) cell.index[static_cast<std::size_t>(axis)] = model.between(0, shape[axis].size - 1);
    return cell;
}

/// The value of a cell in the trace or its parameters, found independently of explain().
template <class Scalar>
double value_at(const Trace<Scalar>& trace, const CellRef& cell) {
    const auto& i = cell.index;
    if (cell.parameter.empty()) return static_cast<double>(trace.find(cell.stage)->value(i[0], i[1], i[2], i[3]));
    const MatrixView parameter = trace.parameters->view(cell.parameter);
    const Scalar* numbers = parameter.numbers<Scalar>();
    return static_cast<double>(parameter.rows > 1 || i[1] > 0 ? numbers[i[0] * parameter.stride + i[1]] : numbers[i[0]]);
}

bool same(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

template <class Scalar>
void expect_operands_are_cells(const Trace<Scalar>& trace, const std::vector<Operand>& operands, const std::string& where) {
    for (const Operand& operand : operands) {
        EXPECT_FALSE(operand.label.empty()) << where;
        if (operand.constant) continue;
        ASSERT_TRUE(same(operand.value, value_at(trace, operand.cell))) << where << " " << operand.label;
        const Provenance further = explain(trace, operand.cell);  // operands can be explained as well
        EXPECT_TRUE(same(further.recorded, operand.value)) << where << " " << operand.label;
    }
}

template <class Scalar>
void expect_explained(const Trace<Scalar>& trace, const CellRef& cell, double tolerance) {
    const Provenance provenance = explain(trace, cell);
    const std::string where = tensor_name(cell.stage) + " " + provenance.formula;
    EXPECT_FALSE(provenance.formula.empty()) << where;
    EXPECT_FALSE(provenance.sentence.empty()) << where;
    EXPECT_TRUE(same(provenance.recorded, value_at(trace, cell))) << where;
    // Terms may be larger than their sum, and rounding is relative to them.
    double size = std::abs(provenance.recorded);
    for (const Term& term : provenance.terms) size = std::max(size, std::abs(term.value));
    if (!std::isfinite(size)) size = 1;
    const double gap = same(provenance.result, provenance.recorded) ? 0 : std::abs(provenance.result - provenance.recorded);
    EXPECT_TRUE(gap <= tolerance * (1 + size)) << where << ": " << provenance.result << " instead of " << provenance.recorded;
    for (const Term& term : provenance.terms) expect_operands_are_cells(trace, term.operands, where);
    for (const ArithmeticStep& step : provenance.steps) expect_operands_are_cells(trace, step.operands, where);
    for (const Operand& next : where_it_goes(trace, cell)) EXPECT_TRUE(same(next.value, value_at(trace, next.cell))) << where;
}

TEST(Provenance, ExplainsEveryStageOfRandomModels) {
    std::set<std::string> seen;
    for (unsigned seed = 0; seed < 120; ++seed) {
        SCOPED_TRACE(seed);
        RandomModel model(seed, seed % 2 == 1);
        const Trace<float> rough = model.trace<float>();
        const Trace<double> fine = model.trace<double>();
        for (const auto& stage : rough.stages) {
            const CellRef cell = random_cell(model, stage.id, stage.value.shape());
            expect_explained(rough, cell, 1e-5);
            expect_explained(fine, cell, 1e-12);
            seen.insert(stage_name(stage.id));
        }
        if (testing::Test::HasFailure()) break;
    }
    EXPECT_EQ(seen.size(), every_stage().size());
}

TEST(Provenance, ResultDoesNotComeFromTheRecordedCell) {
    RandomModel model(7);
    Trace<double> trace = model.trace<double>();
    for (auto& stage : trace.stages) {
        if (stage.id.stage == Stage::Tokens) continue;
        const CellRef cell = random_cell(model, stage.id, stage.value.shape());
        const double honest = explain(trace, cell).result;
        double& recorded = stage.value(cell.index[0], cell.index[1], cell.index[2], cell.index[3]);
        const double before = recorded;
        recorded = 1234.5;
        const Provenance provenance = explain(trace, cell);
        EXPECT_TRUE(same(provenance.result, honest)) << tensor_name(stage.id);
        EXPECT_EQ(provenance.recorded, 1234.5);
        recorded = before;
    }
}

/// Two sequences of a small decoder, the second one padded.
Trace<double> small_trace(const std::function<void(Config&, ForwardSettings&)>& change = {}) {
    Config config;
    config.vocab_size = 40;
    config.d_model = 8;
    config.num_heads = 2;
    config.num_layers = 2;
    config.d_ff = 16;
    ForwardSettings settings;
    settings.masks.causal = true;
    if (change) change(config, settings);
    const TokenBatch tokens{4, {5, 6, 7, 8, 9, 10, 0, 0}, {4, 2}};
    return trace_forward<double>(std::make_shared<const Parameters<double>>(initial_parameters<double>(config)), tokens, {}, settings);
}

TEST(Provenance, LookupIsAOneHotProduct) {
    const Provenance provenance = explain(small_trace(), {{Stage::TokenEmbedding}, "", {0, 1, 3, 0}});
    std::int64_t ones = 0;
    for (const Term& term : provenance.terms) {
        ASSERT_EQ(term.operands.size(), 2U);
        ones += term.operands[0].value == 1 ? 1 : 0;
        EXPECT_EQ(term.own, term.label == "6");
        EXPECT_EQ(term.operands[1].cell.parameter, "token_embedding.weight");
    }
    EXPECT_EQ(ones, 1);
    EXPECT_EQ(static_cast<std::int64_t>(provenance.terms.size()) + provenance.omitted_terms, 40);
    EXPECT_GT(provenance.omitted_terms, 0);
    EXPECT_EQ(provenance.result, provenance.recorded);
}

TEST(Provenance, TheEmbeddingNamesWhatItAdds) {
    const Provenance provenance = explain(small_trace(), {{Stage::Embedding}, "", {0, 1, 3, 0}});
    ASSERT_EQ(provenance.terms.size(), 2U);
    EXPECT_EQ(provenance.terms[0].label, "token");
    EXPECT_EQ(provenance.terms[1].label, "position");
}

TEST(Provenance, ScoresNameRowAndDimension) {
    const Provenance provenance = explain(small_trace(), {{Stage::Scores, 1}, "", {0, 1, 3, 2}});
    EXPECT_EQ(provenance.formula, "scores[3,2] = Σ over d of q[3,d] · k[2,d]");
    EXPECT_EQ(provenance.sentence, "Query position 3 times key position 2: one product per dimension.");
    ASSERT_EQ(provenance.terms.size(), 4U);
    EXPECT_EQ(provenance.terms[1].operands[0].label, "q[3,1]");
    EXPECT_EQ(provenance.terms[1].operands[1].label, "k[2,1]");
    EXPECT_EQ(provenance.terms[1].operands[0].cell, (CellRef{{Stage::Q, 1}, "", {0, 1, 3, 1}}));
}

TEST(Provenance, ProjectionsNameTheirOwnMatrix) {
    const Trace<double> trace = small_trace();
    const Provenance q = explain(trace, {{Stage::Q, 0}, "", {0, 1, 2, 3}}), v = explain(trace, {{Stage::V, 0}, "", {0, 1, 2, 3}});
    EXPECT_EQ(q.terms[5].operands[0].label, "norm_1[2,5]");
    EXPECT_EQ(q.terms[5].operands[1].label, "W_Q[5,7]");
    EXPECT_EQ(v.terms[5].operands[1].label, "W_V[5,7]");
    EXPECT_EQ(v.steps.back().operands.at(0).label, "b_V[7]");
    EXPECT_EQ(v.terms[5].operands[1].cell, (CellRef{{}, "layers.0.attention.v.weight", {5, 7, 0, 0}}));
}

TEST(Provenance, SaysWhichRuleMasked) {
    const Provenance causal = explain(small_trace(), {{Stage::Masked, 0}, "", {0, 0, 1, 3}});
    EXPECT_TRUE(causal.masked);
    EXPECT_NE(causal.sentence.find("causal"), std::string::npos) << causal.sentence;
    EXPECT_EQ(causal.sentence.find("padding"), std::string::npos) << causal.sentence;
    const Provenance padding = explain(small_trace(), {{Stage::Masked, 0}, "", {1, 0, 3, 2}});
    EXPECT_NE(padding.sentence.find("padding"), std::string::npos) << padding.sentence;
    const Provenance allowed = explain(small_trace(), {{Stage::Masked, 0}, "", {0, 0, 3, 1}});
    EXPECT_FALSE(allowed.masked);
    const Trace<double> others = small_trace([](Config&, ForwardSettings& settings) {
        settings.masks = {.causal = false, .padding = false, .window = 2, .prefix = 0, .block = 2, .painted = {{1, 0}}};
    });
    const auto sentence = [&](std::int64_t t, std::int64_t s) { return explain(others, {{Stage::Masked, 0}, "", {0, 0, t, s}}).sentence; };
    EXPECT_NE(sentence(3, 0).find("window 2"), std::string::npos);
    EXPECT_NE(sentence(3, 0).find("blocks of 2"), std::string::npos);
    EXPECT_NE(sentence(1, 0).find("painted"), std::string::npos);
}

TEST(Provenance, SoftmaxTermsAreExponentialsOfWhatMayBeAttended) {
    const Provenance provenance = explain(small_trace(), {{Stage::Weights, 0}, "", {0, 1, 2, 1}});
    ASSERT_EQ(provenance.terms.size(), 4U);
    EXPECT_TRUE(provenance.terms[3].masked);
    EXPECT_EQ(provenance.terms[3].value, 0);
    EXPECT_TRUE(provenance.terms[1].own);
    const double largest = std::max({provenance.terms[0].value, provenance.terms[1].value, provenance.terms[2].value});
    EXPECT_EQ(largest, 1);  // exp(max - max)
}

TEST(Provenance, ResidualsFromTheNormSaySo) {
    const CellRef cell{{Stage::Residual1, 0}, "", {0, 2, 1, 0}};
    EXPECT_EQ(explain(small_trace(), cell).terms[0].label, "stream");
    const Provenance normed = explain(small_trace([](Config& config, ForwardSettings&) { config.residual_from_norm = true; }), cell);
    EXPECT_EQ(normed.terms[0].label, "norm");
    EXPECT_NE(normed.formula.find("= norm_1[2,1] + "), std::string::npos) << normed.formula;
}

TEST(Provenance, DropoutSaysWhatItDid) {
    const Trace<double> trace = small_trace([](Config&, ForwardSettings& settings) { settings.dropout = {0.5, 0.5, 0.5, 3}; });
    int dropped = 0, kept = 0;
    for (std::int64_t s = 0; s < 4; ++s)
        for (std::int64_t t = s; t < 4; ++t) {
            const Provenance provenance = explain(trace, {{Stage::Dropped, 0}, "", {0, 0, t, s}});
            (provenance.terms[0].operands[1].value == 0 ? dropped : kept)++;
            EXPECT_EQ(provenance.recorded == 0, provenance.terms[0].operands[1].value == 0);
        }
    EXPECT_GT(dropped, 0);
    EXPECT_GT(kept, 0);
}

TEST(Provenance, TermsOfAMixtureAreOfTheirKeys) {
    const Trace<double> trace = small_trace();
    const Provenance provenance = explain(trace, {{Stage::Context, 0}, "", {0, 1, 3, 2}});
    ASSERT_EQ(provenance.terms.size(), 4U);
    for (std::int64_t s = 0; s < 4; ++s) EXPECT_EQ(provenance.terms[static_cast<std::size_t>(s)].key, s);
    for (const Term& term : explain(trace, {{Stage::Scores, 0}, "", {0, 1, 3, 2}}).terms) EXPECT_EQ(term.key, -1);
}

TEST(Provenance, GoesForwardToTheNextStage) {
    const Trace<double> trace = small_trace();
    const auto labels = [&](const CellRef& cell) {
        std::vector<std::string> out;
        for (const Operand& next : where_it_goes(trace, cell)) out.push_back(next.label);
        return out;
    };
    using Labels = std::vector<std::string>;
    EXPECT_EQ(labels({{Stage::Scores, 0}, "", {0, 1, 3, 2}}), (Labels{"scaled[3,2]"}));
    EXPECT_EQ(labels({{Stage::Dropped, 0}, "", {0, 1, 3, 2}}), (Labels{"context[3,0]"}));
    EXPECT_EQ(labels({{Stage::Context, 0}, "", {0, 1, 3, 2}}), (Labels{"concat[3,6]"}));
    EXPECT_EQ(labels({{Stage::Norm1, 0}, "", {0, 3, 6, 0}}), (Labels{"q[3,2]", "k[3,2]", "v[3,2]"}));
    EXPECT_EQ(labels({{Stage::Embedding}, "", {0, 3, 6, 0}}), (Labels{"L0 norm_1[3,6]", "L0 residual_1[3,6]"}));
    EXPECT_EQ(labels({{Stage::Residual2, 1}, "", {0, 3, 6, 0}}), (Labels{"final_norm[3,6]"}));
    EXPECT_TRUE(labels({{Stage::Probabilities}, "", {0, 3, 6, 0}}).empty());
    EXPECT_EQ(where_it_goes(trace, {{Stage::Residual2, 0}, "", {0, 3, 6, 0}}).front().cell.stage, (StageId{Stage::Norm1, 1}));
}

TEST(Provenance, RefusesCellsThatAreNotThere) {
    const Trace<double> trace = small_trace();
    EXPECT_THROW(explain(trace, {{Stage::Scores, 7}, "", {}}), Error);
    EXPECT_THROW(explain(trace, {{Stage::Scores, 0}, "", {0, 0, 0, 4}}), Error);
    EXPECT_THROW(explain(trace, {{Stage::Tokens}, "", {0, 0, 1, 0}}), Error);
    EXPECT_THROW(explain(trace, {{}, "layers.0.nothing", {}}), Error);
    EXPECT_THROW(where_it_goes(trace, {{Stage::Scores, 0}, "", {0, 0, -1, 0}}), Error);
}

}  // namespace
}  // namespace attn
