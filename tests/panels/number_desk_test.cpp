/// What the desk for numbers asks for, and under which keys it hands them out.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "app/panels/frame/frame.hpp"
#include "app/session/document/prepare.hpp"
#include "app/session/document/presets.hpp"
#include "app/session/values/gradients.hpp"
#include "app/session/values/part_looked_at.hpp"
#include "app/session/values/readings.hpp"
#include "tests/support/interface_fixture.hpp"

namespace attn::app::test {
namespace {

class Desk : public InterfaceFixture {
protected:
    /// The keys under which one more frame draws its numbers.
    std::multiset<std::uint64_t> keys_of_a_frame() {
        canvas.calls.clear();
        frame(ui_frame);
        std::multiset<std::uint64_t> keys;
        for (const auto& call : canvas.calls) {
            keys.insert(call.request.data.key);
            for (const HeatmapRegion* part : {call.request.data.finer, call.request.data.row})
                if (part != nullptr) keys.insert(part->key);
        }
        return keys;
    }
    std::uint64_t key_of(const StageId& id) { return map_of(id, 0, 0).data.key; }
};

TEST_F(Desk, NothingIsUploadedAtRest) {
    open_example("gpt-tiny");
    for (const View shown : {View::Step, View::Heads, View::Grid, View::Lines, View::Totals, View::Lens}) {
        for (const bool compared : {false, true}) {
            view.view = shown;
            view.compare.choose(compared ? Compare::Unmasked : Compare::Off);
            frames(4, ui_frame);
            const auto keys = keys_of_a_frame();
            EXPECT_FALSE(keys.contains(0)) << "would be uploaded in every frame";
            EXPECT_EQ(keys_of_a_frame(), keys) << "view " << static_cast<int>(shown);
        }
    }
}

TEST_F(Desk, OtherResultsLeaveTheKeysAlone) {
    open_example("gpt-tiny");
    view.view = View::Heads;
    frames(4, ui_frame);
    const auto keys = keys_of_a_frame();
    get(facet::Gradients{});
    get(facet::Totals{});
    session->update();
    EXPECT_EQ(keys_of_a_frame(), keys);
}

TEST_F(Desk, OtherNumbersHaveOtherKeys) {
    open_example("gpt-tiny");
    const StageId scores{Stage::Scores, 0}, weights{Stage::Weights, 1};
    std::set<std::uint64_t> keys;
    for (const StageId& id : {scores, weights})
        for (std::int64_t head = 0; head < trace().config.num_heads; ++head) keys.insert(map_of(id, 0, head).data.key);
    EXPECT_EQ(static_cast<std::int64_t>(keys.size()), 2 * trace().config.num_heads);
    const std::uint64_t before = key_of(weights);
    EXPECT_EQ(key_of(weights), before);
    ForwardSettings forward = session->document().forward;
    forward.temperature = 2;
    session->apply({command::SetForward{forward}, ""});
    EXPECT_NE(key_of(weights), before);
    // The same settings again are another computation.
    forward.temperature = 1;
    session->apply({command::SetForward{forward}, ""});
    EXPECT_NE(key_of(weights), 0U);
}

/// The pictures that share a window are taken from one part of a large model.
TEST_F(Desk, AStateIsLookedAtInOnePart) {
    const Document document = open_preset("gpt-tiny");
    const TraceSize size = prepare(document).size;
    session = std::make_unique<Session>(
        document, [] {}, size.parameters + (size.outline + size.part + size.whole) / 2);
    session->wait();
    frames(3, ui_frame);
    ASSERT_FALSE(session->snapshot()->is_whole());
    instant = false;
    const auto parts_per_state = [this] {
        std::map<StateRef, int> parts;
        frame([&] {
            with_context([&](PanelContext& context) {
                draw_frame(context);
                for (const Request& request : context.inquiry.wanted())
                    if (request.facet.as<facet::Inside>() != nullptr) ++parts[request.state];
            });
        });
        return parts;
    };
    view.view = View::Step;
    for (const StageId& id :
         {StageId{Stage::Scores, 1}, StageId{Stage::Weights, 1}, StageId{Stage::Concat, 1}, StageId{Stage::FfnOut, 1}}) {
        view.stage = id;
        for (int i = 0; i < 3; ++i) parts_per_state();
        const auto parts = parts_per_state();
        EXPECT_EQ(parts.size(), 1U);
        for (const auto& [state, count] : parts) EXPECT_EQ(count, 1) << tensor_name(id);
    }
    view.view = View::Grid;
    for (int i = 0; i < 3; ++i) parts_per_state();
    for (const auto& [state, count] : parts_per_state()) EXPECT_EQ(count, trace().config.num_layers) << "a part for each layer";
}

/// While a key is held, the maps of the other side are shown; those of this side are not computed anew afterwards.
TEST(NumberStore, KeepsSmallResultsForAWhile) {
    KeptByUse<int> kept(2);
    bool fresh = false;
    kept.at(7, &fresh) = 3;
    EXPECT_TRUE(fresh);
    kept.begin_frame();
    kept.begin_frame();
    EXPECT_EQ(kept.at(7, &fresh), 3);
    EXPECT_FALSE(fresh);
    for (int i = 0; i < 3; ++i) kept.begin_frame();
    EXPECT_EQ(kept.find(7), nullptr);
}

}  // namespace
}  // namespace attn::app::test
