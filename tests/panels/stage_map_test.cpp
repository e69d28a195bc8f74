/// The model map, with mouse and keyboard.

#include <gtest/gtest.h>

#include <set>

#include "app/panels/kit/model_blocks.hpp"
#include "app/panels/kit/navigation.hpp"
#include "tests/support/interface_fixture.hpp"
#include "tests/support/item_finder.hpp"

namespace attn::app::test {
namespace {

class StageMapTest : public InterfaceFixture {
protected:
    std::vector<ModelBlock> blocks() const { return model_blocks(*trace().plan); }
    std::size_t open() const { return block_of(blocks(), *trace().plan, view.stage); }
    /// The positions of the map's controls, from left to right.
    std::vector<ImVec2> controls(float step = 3) {
        frames(3, ui_frame);
        const ImRect area = find_window("##map")->Rect();
        std::vector<ImVec2> found;
        ImGuiID last = 0;
        for (float x = area.Min.x + 1; x < area.Max.x; x += step) {
            move_mouse(x, (area.Min.y + area.Max.y) / 2 + 4);
            frame(ui_frame);
            const ImGuiID id = ImGui::GetCurrentContext()->HoveredId;
            if (id != 0 && id != last) found.emplace_back(x + 1, (area.Min.y + area.Max.y) / 2 + 4);
            last = id;
        }
        return found;
    }
};

TEST_F(StageMapTest, AClickOpensABlockAndKeepsTheStageWhereThatHasIt) {
    open_example("gpt-tiny");
    view.stage = {Stage::Scores, 1};
    std::set<std::size_t> opened;
    for (const std::size_t wanted : {5U, 4U, 3U, 1U, 0U, 2U}) {
        // All others, each on its own; those of the open block lie between them.
        for (const ImVec2 at : controls(6)) {
            const std::size_t before = open();
            const StageId stage = view.stage;
            click(at.x, at.y, ui_frame);
            if (open() == wanted) break;
            view.stage = stage;
            view.panes.thumbnails = true;
            ASSERT_EQ(open(), before);
            frames(2, ui_frame);
        }
        EXPECT_EQ(open(), wanted);
        opened.insert(open());
        EXPECT_TRUE(view.stage.layer < 0 || is_attention_map(view.stage.stage));
    }
    EXPECT_EQ(opened.size(), blocks().size());
    EXPECT_TRUE(commands.empty()) << "looking changes nothing";
}

TEST_F(StageMapTest, TheOpenBlockHasItsHeadsPartsAndSums) {
    open_example("gpt-tiny");
    view.stage = {Stage::Weights, 1};
    std::set<std::int64_t> heads;
    std::set<Stage> stages;
    for (const ImVec2 at : controls()) {
        view.stage = {Stage::Weights, 1};
        view.panes.thumbnails = true;
        frame(ui_frame);
        click(at.x, at.y, ui_frame);
        if (view.stage.layer != 1) continue;
        heads.insert(view.head);
        stages.insert(view.stage.stage);
    }
    EXPECT_EQ(heads, (std::set<std::int64_t>{0, 1, 2, 3}));
    EXPECT_EQ(stages, (std::set<Stage>{Stage::Weights, Stage::Residual1, Stage::FfnOut, Stage::Residual2}));
}

TEST_F(StageMapTest, ItsNameFoldsTheStagesBelow) {
    open_example("gpt-tiny");
    view.stage = {Stage::Weights, 1};
    frames(3, ui_frame);
    const float high = find_window("##strip")->Size.y;
    bool folded = false;
    for (const ImVec2 at : controls()) {
        view.stage = {Stage::Weights, 1};
        frame(ui_frame);
        click(at.x, at.y, ui_frame);
        folded = !view.panes.thumbnails;
        if (folded) break;
    }
    ASSERT_TRUE(folded);
    frames(3, ui_frame);
    EXPECT_LT(find_window("##strip")->Size.y, high / 2);
    EXPECT_EQ(find_window("##stages"), nullptr);
    type("4", ui_frame);
    frames(3, ui_frame);
    EXPECT_EQ(find_window("##strip")->Size.y, high);
    EXPECT_NE(find_window("##stages"), nullptr);
}

TEST_F(StageMapTest, PageUpAndDownWalkFromBlockToBlock) {
    open_example("encoder-decoder");
    go_to_first_stage(view, trace());
    frames(2, ui_frame);
    for (std::size_t i = 1; i < blocks().size(); ++i) {
        press(Key::PageDown, ui_frame);
        EXPECT_EQ(open(), i);
    }
    press(Key::PageDown, ui_frame);
    EXPECT_EQ(open(), blocks().size() - 1) << "it stays at the end";
    press(Key::PageUp, ui_frame);
    EXPECT_EQ(open(), blocks().size() - 2);
}

/// The thumbnails show exactly the stages of the open block.
TEST_F(StageMapTest, ThumbnailsAreTheStagesOfTheOpenBlock) {
    open_example("gpt-tiny");
    for (const StageId id : {StageId{Stage::Weights, 2}, StageId{Stage::Embedding, -1}}) {
        view.stage = id;
        frames(3, ui_frame);
        const ModelBlock block = blocks()[open()];
        const ImGuiWindow* strip = find_window("##stages");
        ASSERT_NE(strip, nullptr);
        std::set<StageId, bool (*)(const StageId&, const StageId&)> shown(
            [](const StageId& a, const StageId& b) { return tensor_name(a) < tensor_name(b); });
        for (const auto& call : canvas.calls) {
            if (call.min.y < strip->Pos.y) continue;
            for (const auto& stage : trace().stages) {
                const std::int64_t at = call.request.data.values - stage.value.data();
                if (at >= 0 && at < stage.value.size()) shown.insert(stage.id);
            }
        }
        EXPECT_FALSE(shown.empty());
        for (const StageId& stage : shown) {
            EXPECT_EQ(stage.layer, block.layer);
            EXPECT_EQ(stage.stack, block.stack);
        }
    }
}

/// 12 and 32 layers: the open block is always completely visible, and the cost does not depend on the contents of a layer.
TEST_F(StageMapTest, ManyLayersStayUsable) {
    open_example("gpt-tiny");
    for (const std::int64_t layers : {12, 32}) {
        Config config = session->document().config;
        config.num_layers = layers;
        session->apply({command::SetConfig{config}, ""});
        session->wait();
        for (const float width : {900.F, 1280.F, 1600.F, 2560.F}) {
            ImGui::GetIO().DisplaySize = {width, 900};
            for (const int layer : {0, 7, static_cast<int>(layers) - 1}) {
                view.stage = {Stage::Weights, layer};
                frames(4, ui_frame);
                const ImGuiWindow* map = find_window("##map");
                ASSERT_NE(map, nullptr);
                EXPECT_GE(map->Scroll.x, 0);
                if (width != 1280) continue;
                // The head chips of the open block can all be clicked.
                std::set<std::int64_t> heads;
                for (const ImVec2 at : controls()) {
                    const ViewState before = view;
                    view.head = 99;
                    click(at.x, at.y, ui_frame);
                    if (view.stage == before.stage) heads.insert(view.head);
                    view.stage = before.stage;
                    view.panes = before.panes;
                    frame(ui_frame);
                    if (heads.size() > 4) break;
                }
                EXPECT_GE(heads.size(), 4U) << layers << " layers, layer " << layer;
            }
        }
        ImGui::GetIO().DisplaySize = {1600, 1000};
    }
}

}  // namespace
}  // namespace attn::app::test
