/// Why an edit changes nothing, as the list of edits says it.

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "app/session/document/prepare.hpp"
#include "app/session/document/presets.hpp"
#include "app/session/session.hpp"
#include "app/session/values/part_looked_at.hpp"
#include "engine/explain/edit_list.hpp"
#include "engine/model/transformer.hpp"
#include "engine/weights/parameters.hpp"

namespace attn::app {
namespace {

std::vector<Edit> edits_of_all_sorts() {
    const Edit works{.at = {Stage::Weights, 0}, .row = 2, .column = 1, .value = 0.5F};
    Edit masked = works, off = works, outside = works, nowhere = works;
    masked.row = 1, masked.column = 3;
    off.on = false, off.head = 99;
    outside.row = 99;
    nowhere.at.layer = 7;
    return {works, masked, off, outside, nowhere};
}

TEST(EditsInVain, EachHasItsReasonAndThoseThatWorkHaveNone) {
    Document document = open_preset("causal-attention");
    document.forward.edits = edits_of_all_sorts();
    Session session(std::move(document), [] {});
    const std::vector<std::string> reasons = session.wait()->edits_in_vain;
    ASSERT_EQ(reasons.size(), 5U);
    EXPECT_EQ(reasons[0], "");
    EXPECT_EQ(reasons[1], "every cell it would change is masked");
    EXPECT_NE(reasons[2].find("head"), std::string::npos) << "also of an edit that is switched off: " << reasons[2];
    EXPECT_NE(reasons[3].find("positions"), std::string::npos) << reasons[3];
    EXPECT_EQ(reasons[4], "this model has no such stage");
}

/// An outline holds no masks, so that a part of it is needed to know.
TEST(EditsInVain, InAnOutlineTheyComeWithThePart) {
    Document document = open_preset("gpt-tiny");
    document.forward.edits = edits_of_all_sorts();
    const TraceSize size = prepare(document).size;
    Session session(
        document, [] {}, size.parameters + (size.outline + size.part + size.whole) / 2);
    const auto snapshot = session.wait();
    ASSERT_FALSE(snapshot->trace->whole());
    const Plan& plan = *snapshot->trace->plan;
    const auto inside = session.get(facet::Inside{plan.nodes()[plan.part_around({Stage::Weights, 0}).first].id});
    ASSERT_EQ(inside->edits_in_vain.size(), 5U);
    EXPECT_EQ(inside->edits_in_vain[0], "");
    EXPECT_EQ(inside->edits_in_vain[1], "every cell it would change is masked");
}

TEST(EditsInVain, AScoreThatIsMaskedLaterTakesNoPart) {
    const Prepared prepared = prepare(open_preset("causal-attention"));
    const auto parameters = std::make_shared<const Parameters<float>>(initial_parameters<float>(prepared.config));
    int masked = 0;
    for (const MistakeInfo& mistake : mistakes())
        for (const Stage stage : {Stage::Scores, Stage::Scaled})
            for (const auto& [row, column] : {std::pair{1, 3}, {3, 1}, {2, 2}, {2, 3}}) {
                ForwardSettings settings = open_preset("causal-attention").forward;
                settings.mistake = mistake.mistake;
                const Trace<float> before = trace_forward<float>(parameters, prepared.tokens, prepared.source, settings);
                settings.edits = {{.at = {stage, 0}, .sequence = 0, .head = 0, .row = row, .column = column, .value = 3}};
                const Trace<float> after = trace_forward<float>(parameters, prepared.tokens, prepared.source, settings);
                const StageId last{Stage::AttentionOut, 0};
                const auto a = before.find(last)->value.values(), b = after.find(last)->value.values();
                const std::string why = edits_in_vain(after).front();
                EXPECT_EQ(why.empty(), !std::equal(a.begin(), a.end(), b.begin(), b.end()))
                    << mistake.name << ", " << stage_name({stage}) << "[" << row << "," << column << "]: " << why;
                EXPECT_TRUE(why.empty() || why == "masked: takes no part") << why;
                masked += why.empty() ? 0 : 1;
            }
    EXPECT_GT(masked, 0);
}

}  // namespace
}  // namespace attn::app
