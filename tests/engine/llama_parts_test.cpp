/// Explanations and snippets for rotary positions, gates and shared keys.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "engine/explain/explain.hpp"
#include "engine/model/transformer.hpp"
#include "engine/snippet/snippet.hpp"
#include "engine/trace/query_key.hpp"
#include "tests/support/python.hpp"
#include "tests/support/temporary_folder.hpp"

namespace attn {
namespace {

using testing::HasSubstr;

/// Four heads over two key/value heads, one text of five tokens.
Trace<float> small_llama() {
    Config config;
    config.vocab_size = 9;
    config.d_model = 16;
    config.num_heads = 4;
    config.num_kv_heads = 2;
    config.num_layers = 2;
    config.d_ff = 12;
    config.norm_kind = NormKind::Rms;
    config.activation = Activation::Silu;
    config.ffn_gated = true;
    config.position = PositionKind::Rotary;
    ForwardSettings settings;
    settings.masks.causal = true;
    return trace_forward<float>(std::make_shared<const Parameters<float>>(initial_parameters<float>(config)), {5, {1, 4, 2, 7, 3}, {5}}, {},
                                settings);
}

TEST(LlamaParts, ARotatedNumberNamesItsPartnerAndAngle) {
    const Trace<float> trace = small_llama();
    const Provenance first = explain(trace, {{Stage::QRotated, 1}, "", {0, 3, 4, 1}});
    EXPECT_THAT(first.formula, HasSubstr("q_rotated[4,1] = q[4,1] · cos θ − q[4,3] · sin θ"));
    ASSERT_EQ(first.terms.size(), 2U);
    const double angle = 4 * std::pow(10000.0, -2.0 / 4);
    EXPECT_DOUBLE_EQ(first.terms[0].operands[1].value, std::cos(angle));
    EXPECT_DOUBLE_EQ(first.terms[1].operands[1].value, -std::sin(angle));
    const Provenance second = explain(trace, {{Stage::KRotated, 1}, "", {0, 1, 4, 3}});
    EXPECT_THAT(second.formula, HasSubstr("k_rotated[4,3] = k[4,3] · cos θ + k[4,1] · sin θ"));
    EXPECT_DOUBLE_EQ(second.terms[1].operands[1].value, std::sin(angle));
    EXPECT_THAT(explain(trace, {{Stage::FfnGate, 0}, "", {0, 0, 2, 0}}).formula, HasSubstr("W_g["));
}

TEST(LlamaParts, AScoreReadsTheSharedKeyHead) {
    const Trace<float> trace = small_llama();
    const StageId scores{Stage::Scores, 0};
    const Provenance found = explain(trace, {scores, "", {0, 3, 4, 2}});
    EXPECT_THAT(found.sentence, HasSubstr("Query head 3 reads key/value head 1"));
    EXPECT_EQ(found.terms.front().operands.at(1).cell, (CellRef{{Stage::KRotated, 0}, "", {0, 1, 2, 0}}));
    for (std::int64_t head = 0; head < 4; ++head) {
        const QueryKeyProduct product = query_key_product(trace, scores, 0, head, 4, 2);
        EXPECT_NEAR(product.sum, trace.find(scores)->value(0, head, 4, 2), 1e-5);
        EXPECT_EQ(product.key.at(1), trace.find({Stage::KRotated, 0})->value(0, head / 2, 2, 1));
    }
    // Forward from a key: to the first query head that reads it.
    const std::vector<Operand> next = where_it_goes(trace, {{Stage::KRotated, 0}, "", {0, 1, 2, 0}});
    ASSERT_FALSE(next.empty());
    EXPECT_EQ(next.front().cell.stage, scores);
    EXPECT_EQ(next.front().cell.index[1], 2);
}

TEST(LlamaParts, SnippetsGiveTheNumbersAgain) {
    const app::test::TemporaryFolder folder;
    ATTN_NEEDS_NUMPY(folder.path());
    const Trace<float> trace = small_llama();
    int count = 0;
    for (const RecordedStage<float>& stage : trace.stages)
        for (const SnippetDialect dialect : {SnippetDialect::NumPy, SnippetDialect::PyTorch})
            std::ofstream(folder.path() / ("stage_" + std::to_string(count++) + ".py"))
                << make_snippet(trace, stage.id, {}, {dialect, false, ""}).text;
    const test::PythonOutcome outcome = test::run_python(folder.path(), R"(
import pathlib
files = sorted(pathlib.Path('.').glob('stage_*.py'))
for file in files:
    exec(compile(file.read_text(encoding='utf-8'), file.name, 'exec'), {})
print('ran', len(files))
)",
                                                         test::torch_path(folder.path()));
    EXPECT_TRUE(outcome.ok) << outcome.said;
    EXPECT_THAT(outcome.said, HasSubstr("ran " + std::to_string(count)));
}

}  // namespace
}  // namespace attn
