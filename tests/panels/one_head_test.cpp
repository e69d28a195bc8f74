/// A map held for one head only is drawn like one held for all heads.

#include <gtest/gtest.h>

#include "app/panels/maps/matrix.hpp"
#include "engine/model/looked_at_part.hpp"
#include "engine/model/outline.hpp"
#include "tests/support/random_model.hpp"

namespace attn::app {
namespace {

TEST(OneHead, IsDrawnAsTheMapOfAllHeadsIs) {
    testing_support::RandomModel model(3);
    model.config.architecture = Architecture::DecoderOnly;
    model.config.num_heads = 3;
    model.config.d_model = 12;
    model.config.context_length = 9;
    model.settings = {};
    model.settings.masks.causal = true;
    model.tokens = {9, std::vector<std::int32_t>(9, 0), {9}};
    const auto parameters = std::make_shared<const Parameters<float>>(model.parameters<float>());
    const auto outline = std::make_shared<const Trace<float>>(trace_outline<float>(parameters, model.tokens, {}, model.settings));
    const LookedAtPart all = look_at_part(outline, {Stage::Weights, 0});
    const LookedAtPart one = look_at_part(outline, {Stage::Weights, 0}, NumbersOfPart{{}, 2}, {4});
    MatrixStore store;
    Snapshot snapshot;
    snapshot.serial = 1;
    store.use(snapshot);
    for (const Stage stage : {Stage::Scores, Stage::Masked, Stage::Weights, Stage::Q, Stage::Residual1}) {
        const StageId id{stage, 0};
        SCOPED_TRACE(tensor_name(id));
        const Matrix expected = store.stage(all.trace, id, 0, 2), found = store.stage(one.trace, id, 0, 2);
        ASSERT_FALSE(found.empty());
        ASSERT_EQ(found.data.rows, expected.data.rows);
        ASSERT_EQ(found.data.cols, expected.data.cols);
        EXPECT_NE(found.data.key, expected.data.key);
        for (std::int64_t row = 0; row < found.data.rows; ++row)
            for (std::int64_t col = 0; col < found.data.cols; ++col) {
                EXPECT_EQ(found.at(row, col), expected.at(row, col));
                EXPECT_EQ(found.masked(row, col), expected.masked(row, col));
                EXPECT_EQ(found.cell(row, col)->index, expected.cell(row, col)->index);
            }
        EXPECT_EQ(store.stage(one.trace, id, 0, 1).empty(), is_attention_map(stage)) << "another head is not there";
    }
}

}  // namespace
}  // namespace attn::app
