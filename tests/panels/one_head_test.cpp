/// A map held for one head only is drawn like one held for all heads.

#include <gtest/gtest.h>

#include "app/session/numbers/number_desk.hpp"
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
    Snapshot snapshot_of_all, snapshot_of_one;
    snapshot_of_all.serial = 1, snapshot_of_one.serial = 2;
    snapshot_of_all.trace = std::make_shared<const Trace<float>>(all.trace);
    snapshot_of_one.trace = std::make_shared<const Trace<float>>(one.trace);
    Inquiry inquiry;
    NumberStore store;
    const auto map_in = [&](const Snapshot& snapshot, const StageId& id, std::int64_t head) {
        const Subject of{nullptr, &snapshot};
        return NumberDesk(inquiry, store, of, {}).numbers({.of = of, .stage = id, .head = head, .if_held = true}).map;
    };
    for (const Stage stage : {Stage::Scores, Stage::Masked, Stage::Weights, Stage::Q, Stage::Residual1}) {
        const StageId id{stage, 0};
        SCOPED_TRACE(tensor_name(id));
        const Matrix expected = map_in(snapshot_of_all, id, 2), found = map_in(snapshot_of_one, id, 2);
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
        EXPECT_EQ(map_in(snapshot_of_one, id, 1).empty(), is_attention_map(stage)) << "another head is not there";
    }
}

}  // namespace
}  // namespace attn::app
