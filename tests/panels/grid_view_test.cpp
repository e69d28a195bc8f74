/// The grid of all heads: search by name and pattern, and legibility for any number of heads.

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "app/panels/compare/head_captions.hpp"
#include "app/panels/compare/shown_maps.hpp"
#include "app/panels/kit/head_search.hpp"
#include "app/panels/views/heads_tiling.hpp"
#include "app/session/document/model_document.hpp"
#include "app/session/document/prepare.hpp"
#include "app/session/session.hpp"
#include "app/session/values/gradients.hpp"
#include "app/widgets/text.hpp"
#include "tests/support/interface_fixture.hpp"
#include "tests/support/item_finder.hpp"
#include "tests/support/temporary_folder.hpp"

namespace attn::app::test {
namespace {

class Grid : public InterfaceFixture {
protected:
    void open_grid(const std::string& preset) {
        open_example(preset);
        view.view = View::Grid;
        view.grid = {};
        frames(3, ui_frame);
    }
    /// Opens a model of this size with random weights.
    void open_large(std::int64_t layers, std::int64_t heads) {
        open_example("gpt-tiny");
        Config config = session->document().config;
        config.num_layers = layers;
        config.num_heads = heads;
        config.d_model = 2 * heads;
        session->apply({command::SetConfig{config}, ""});
        session->wait();
        view.view = View::Grid;
        frames(3, ui_frame);
    }
    /// The maps of the grid in the last frame, recognised as square ones.
    std::vector<NullCanvas::Call> maps() {
        canvas.calls.clear();
        frame(ui_frame);
        std::vector<NullCanvas::Call> found;
        const ImGuiWindow* grid = find_window("##grid");
        for (const auto& call : canvas.calls)
            if (grid != nullptr && call.min.x >= grid->Pos.x && call.max.x <= grid->Pos.x + grid->Size.x && call.min.y >= grid->Pos.y - 1 &&
                call.min.y <= grid->Pos.y + grid->Size.y)
                found.push_back(call);
        return found;
    }
};

float scroll_of(const char* window) {
    const ImGuiWindow* found = find_window(window);
    return found == nullptr ? -1 : found->Scroll.y;
}

/// In the Heads view, any number of heads fits into any room without overlap, and titles do not run into each other.
TEST(HeadsTiling, NothingOverlaps) {
    for (const float scale : {1.F, 2.F})
        for (const std::int64_t heads : {1, 5, 13, 33, 65})
            for (const ImVec2 size : {ImVec2(540, 340), ImVec2(800, 620), ImVec2(1500, 1000), ImVec2(300, 900)}) {
                const HeadsRoom room{{size.x * scale, size.y * scale}, 1, 62 * scale, scale};
                const HeadsTiling tiling = tile_heads(room, heads);
                const auto columns = static_cast<float>(tiling.columns);
                const auto rows = static_cast<float>((heads + tiling.columns - 1) / tiling.columns);
                EXPECT_GT(tiling.width, 0) << heads;
                EXPECT_LE(columns * (tiling.width + tiling.gap), room.size.x) << heads;
                EXPECT_LE(rows * (tiling.above + tiling.height + tiling.gap), room.size.y + 0.01F) << heads;
                EXPECT_TRUE(tiling.short_titles || room.longest_title < tiling.width + tiling.gap) << heads;
            }
}

TEST(HeadsTiling, SmallMapsGiveTheirLabelsUpToBeLarger) {
    const HeadsTiling few = tile_heads({{800, 620}, 1, 62, 1}, 5), many = tile_heads({{540, 340}, 1, 62, 1}, 33);
    EXPECT_TRUE(few.keys_named);
    EXPECT_FALSE(few.short_titles);
    EXPECT_FALSE(many.keys_named);
    EXPECT_TRUE(many.short_titles);
    EXPECT_GT(many.width, 41) << "29 with tokens above and 14 between them";
}

/// In any amount of room, with a smaller font or shortened.
/// It would be wrong for scores, which have a range for each layer.
TEST_F(Grid, ABarOfColoursStandsBesideWeightsIfThereIsRoom) {
    const auto room_beside = [] {
        const ImGuiWindow *grid = find_window("##grid"), *centre = find_window("##centre");
        return grid == nullptr || centre == nullptr ? -1 : centre->WorkRect.Max.x - (grid->Pos.x + grid->Size.x);
    };
    open_grid("gpt-tiny");
    EXPECT_GT(room_beside(), 90);
    view.compare.choose(Compare::Unmasked);
    frames(2, ui_frame);
    EXPECT_GT(room_beside(), 90) << "differences have one range, too";
    view.compare.end();
    view.heads.stage = Stage::Scores;
    frames(2, ui_frame);
    EXPECT_LT(room_beside(), 2);
    view.gradients = true;
    frames(4, ui_frame);
    EXPECT_GT(room_beside(), 90) << "gradients of all layers have one range";
    view.gradients = false;
    open_large(2, 48);
    view.heads.stage = Stage::Weights;
    frames(2, ui_frame);
    EXPECT_LT(room_beside(), 2) << "maps as wide as the room are not made smaller";
}

/// Where the bar has no place beside the maps, a small one with the menu of its range lies in the heading.
TEST_F(Grid, TheRangeOfManyMapsCanBeChangedInTheHeading) {
    const auto menus = [&] {
        frames(2, ui_frame);
        return std::count_if(view.focus.stops().begin(), view.focus.stops().end(), [](const FocusStop& stop) {
            return stop.label == "link" && stop.window.find("##centre") != std::string::npos;
        });
    };
    open_large(16, 32);
    view.heads.stage = Stage::Weights;
    EXPECT_EQ(menus(), 1);
    const auto link = find_item("##centre", {"##colors", "link"}, [&](float x, float y) {
        move_mouse(x, y);
        frame(ui_frame);
    });
    ASSERT_TRUE(link);
    EXPECT_LT(link->y, find_window("##grid")->Pos.y - 40) << "above the search";
    EXPECT_GT(maps().front().max.x - maps().front().min.x, 19) << "and the maps are as large as before";
    view.heads.stage = Stage::Scores;
    EXPECT_EQ(menus(), 0) << "each layer has a range of its own";
}

/// Gradients of different layers can be compared: the range reaches to the largest of all.
TEST_F(Grid, GradientsOfAllLayersHaveOneRange) {
    open_grid("gpt-tiny");
    view.gradients = true;
    frames(4, ui_frame);
    const auto gradients = get(facet::Gradients{});
    float largest = 0;
    for (const auto& stage : gradients->stages)
        if (stage.id.stage == Stage::Weights)
            for (const float value : stage.value.values()) largest = std::max(largest, std::abs(value));
    ASSERT_GT(largest, 0);
    const auto drawn = maps();
    ASSERT_GE(static_cast<std::int64_t>(drawn.size()), trace().config.num_layers * trace().config.num_heads);
    for (const auto& call : drawn) {
        EXPECT_FLOAT_EQ(call.request.style.hi, largest);
        EXPECT_FLOAT_EQ(call.request.style.lo, -largest);
    }
}

/// A search that is not understood says so without moving anything.
TEST_F(Grid, ARejectedSearchLeavesTheMapsWhereTheyAre) {
    open_grid("gpt-tiny");
    const auto places = [&] {
        frames(2, ui_frame);
        std::vector<std::pair<float, float>> found;
        for (const auto& call : maps()) found.emplace_back(call.min.x, call.min.y);
        return found;
    };
    const auto before = places();
    const int vertices_before = vertices();
    for (const char* rejected : {"z", "zebra", "a search that nobody could possibly understand"}) {
        view.grid.find = rejected;
        EXPECT_EQ(places(), before) << rejected;
        EXPECT_NE(vertices(), vertices_before) << "and says so";
    }
}

TEST_F(Grid, TheHeadingEndsBeforeTheSwitches) {
    open_grid("stories");
    view.heads.without_first_key = view.heads.norm_weighted = true;
    constexpr std::string_view kTitle = "Weights × ‖v W_O‖ without the first key";
    float widest = 0;
    for (const float room : {2000.F, 400.F, 300.F, 120.F, 0.F}) {
        float end = -1;
        frame([&] {
            with_context([&](PanelContext& context) {
                ASSERT_EQ(shown_title(context, view.stage), kTitle);
                end = draw_shown_title(context, view.stage, {50, 60}, 50 + room);
            });
        });
        EXPECT_GE(end, 50) << room;
        EXPECT_LE(end, 50 + room) << room;
        widest = std::max(widest, end);
    }
    EXPECT_FLOAT_EQ(widest, 50 + text_width(theme.fonts.heading, kTitle)) << "all of it, where there is room";
}

TEST_F(Grid, WhatIsFoundStandsOutFromTheRest) {
    open_grid("gpt-tiny");
    const auto layers = trace().config.num_layers, heads = trace().config.num_heads;
    auto all = maps();
    ASSERT_GE(static_cast<std::int64_t>(all.size()), layers * heads);
    for (const auto& call : all) EXPECT_EQ(call.request.opacity, 1);
    view.grid.find = "L1";
    const auto of_layer = maps();
    EXPECT_EQ(std::count_if(of_layer.begin(), of_layer.end(), [](const auto& call) { return call.request.opacity == 1; }), heads);
    view.grid.find = "L1 H0";
    const auto one = maps();
    EXPECT_EQ(std::count_if(one.begin(), one.end(), [](const auto& call) { return call.request.opacity == 1; }), 1);
    view.grid.find = "zebra";
    const auto none = maps();
    EXPECT_EQ(std::count_if(none.begin(), none.end(), [](const auto& call) { return call.request.opacity == 1; }), 0);
}

TEST_F(Grid, TheKeyboardFindsAndOpensAHead) {
    open_example("gpt-tiny");
    view.view = View::Step;
    frames(2, ui_frame);
    hold_modifiers(true, false);
    press('F', ui_frame);
    hold_modifiers(false, false);
    frames(2, ui_frame);
    EXPECT_EQ(view.view, View::Grid);
    type("L1 H1", ui_frame);
    EXPECT_EQ(view.grid.find, "L1 H1");
    press(Key::Enter, ui_frame);
    frames(2, ui_frame);
    EXPECT_EQ(view.view, View::Grid);
    EXPECT_EQ(view.stage.layer, 1);
    EXPECT_EQ(view.head, 1);
    press(Key::Enter, ui_frame);
    EXPECT_EQ(view.view, View::Step) << "the only one is opened";
}

TEST_F(Grid, EnterGoesFromOneFoundToTheNext) {
    open_grid("gpt-tiny");
    view.grid.find = "H0";
    view.grid.focus = true;
    frames(2, ui_frame);
    view.stage.layer = 0;
    view.head = 0;
    std::set<int> layers{0};
    for (std::int64_t i = 0; i < trace().config.num_layers; ++i) {
        press(Key::Enter, ui_frame);
        frames(2, ui_frame);
        EXPECT_EQ(view.head, 0);
        layers.insert(view.stage.layer);
    }
    EXPECT_EQ(static_cast<std::int64_t>(layers.size()), trace().config.num_layers);
    EXPECT_EQ(view.view, View::Grid);
}

TEST_F(Grid, AChipLooksForItsPatternAndIsPressedAgainForAll) {
    open_grid("gpt-tiny");
    const auto at = find_item("##centre", {"first token"}, [&](float x, float y) {
        move_mouse(x, y);
        frame(ui_frame);
    });
    ASSERT_TRUE(at);
    click(at->x, at->y, ui_frame);
    EXPECT_EQ(read_head_query(view.grid.find).pattern, "first token");
    std::int64_t expected = 0;
    for (const HeadScore& score : session->snapshot()->head_scores) expected += pattern_share(score, "first token") > kShowsPattern ? 1 : 0;
    const auto found = maps();
    EXPECT_EQ(std::count_if(found.begin(), found.end(), [](const auto& call) { return call.request.opacity == 1; }), expected);
}

TEST_F(Grid, ManyHeadsStandCloseTogetherAndDoNotOverlap) {
    open_large(16, 32);
    const auto found = maps();
    EXPECT_GT(found.size(), 300U) << "most of them are seen at once";
    for (std::size_t i = 0; i < found.size(); ++i) {
        EXPECT_GE(found[i].max.x - found[i].min.x, 8) << "still a picture";
        for (std::size_t j = 0; j < i; ++j) {
            const auto &a = found[i], &b = found[j];
            const bool apart = a.max.x <= b.min.x || b.max.x <= a.min.x || a.max.y <= b.min.y || b.max.y <= a.min.y;
            ASSERT_TRUE(apart) << i << " " << j;
        }
    }
    view.grid.find = "L15 H31";
    frames(3, ui_frame);
    const auto then = maps();
    EXPECT_EQ(std::count_if(then.begin(), then.end(), [](const auto& call) { return call.request.opacity == 1; }), 1);
}

TEST_F(Grid, WhereHeadsFindNoRoomSideBySideALayerTakesSeveralLines) {
    ImGui::GetIO().DisplaySize = {1280, 720};
    open_large(16, 32);
    const auto found = maps();
    ASSERT_GT(found.size(), 100U);
    std::map<float, int> lines;
    for (const auto& call : found) {
        EXPECT_GE(call.max.x - call.min.x, 20) << "its pattern can be told";
        ++lines[call.min.y];
    }
    // Scrolls to the head searched for while it is typed.
    EXPECT_EQ(scroll_of("##grid"), 0);
    view.grid.find = "L15 H31";
    frames(3, ui_frame);
    EXPECT_GT(scroll_of("##grid"), 0);
    // 32 heads and their mean: the mean ends every second line, which is one shorter.
    bool first = true;
    for (const auto& [y, count] : lines) {
        EXPECT_EQ(count, first ? 17 : 16) << y;
        first = !first;
    }
}

TEST_F(Grid, EveryPatternOfAnEncoderDecoderHasAChipInASmallWindow) {
    ImGui::GetIO().DisplaySize = {1280, 720};
    open_grid("encoder-decoder");
    for (const PatternInfo& pattern : head_patterns()) {
        const auto at = find_item("##centre", {pattern.name}, [&](float x, float y) {
            move_mouse(x, y);
            frame(ui_frame);
        });
        EXPECT_TRUE(at) << pattern.name;
    }
}

TEST_F(Grid, SortedMapsShowTheShareThatTheyAreSortedBy) {
    open_grid("encoder-decoder");
    with_context([](PanelContext& context) {
        const StageId self{Stage::Weights, 0, Stack::Decoder}, cross{Stage::Weights, 0, Stack::Decoder, kCrossAttention};
        const HeadScore* score = head_score(context, self, 1);
        ASSERT_NE(score, nullptr);
        for (const PatternInfo& pattern : head_patterns()) {
            const HeadCaption of_self = pattern_caption(context, self, 1, pattern.name),
                              of_cross = pattern_caption(context, cross, 1, pattern.name);
            EXPECT_TRUE(of_self.text.starts_with(pattern.short_name)) << of_self.text;
            if (has_pattern(*score, pattern.name))
                EXPECT_NEAR(std::stod(of_self.text.substr(of_self.text.rfind(' '))), pattern_share(*score, pattern.name), 0.0051);
            else EXPECT_TRUE(of_self.text.ends_with("–")) << of_self.text;
            EXPECT_EQ(of_cross.text.ends_with("–"), std::string_view(pattern.name) != "alignment") << of_cross.text;
        }
        EXPECT_EQ(pattern_caption(context, {Stage::Weights, 9}, 0, "first token").text, "") << "no such head";
    });
}

TEST_F(Grid, RescaledWeightsAreNotSaidToHaveTheEntropyOfTheOthers) {
    open_grid("gpt-tiny");
    view.heads.stage = Stage::Weights;
    with_context([&](PanelContext& context) {
        const StageId weights{Stage::Weights, 0};
        std::int64_t head = 0;
        while (head < 4 && !head_caption(context, weights, head).text.starts_with("spread")) ++head;
        ASSERT_LT(head, 4) << "no head has a caption to lose";
        context.view.heads.without_first_key = true;
        EXPECT_EQ(head_caption(context, weights, head).text, "");
        context.view.view = View::Lines;
        EXPECT_NE(head_caption(context, weights, head).text, "") << "where they are drawn as they are";
    });
}

/// Such as when the file of a model that is too large to keep all its stages becomes shorter.
TEST_F(Grid, SaysWhyMapsCannotBeComputed) {
    namespace fs = std::filesystem;
    open_grid("gpt-tiny");
    const float usual = find_window("##grid")->Pos.y;
    const attn::test::TemporaryFolder folder;
    const fs::path golden = fs::path(ATTN_TEST_DATA) / "golden/hf";
    for (const char* file : {"config.json", "model.safetensors"}) fs::copy_file(golden / "gpt2" / file, folder / file);
    fs::copy_file(golden / "tokenizers/roberta/tokenizer.json", folder / "tokenizer.json");
    const Document document = document_of_model(OpenedModel::open(folder.path()));
    session = std::make_unique<Session>(
        document, [] {}, 0.99 * prepare(document).size.whole);
    ASSERT_NE(session->wait()->trace, nullptr) << session->wait()->problem;
    ASSERT_FALSE(session->wait()->trace->whole());
    view.stage = {Stage::Scores, 0};
    view.view = View::Step;
    const auto settle = [&] {
        for (int i = 0; i < 4; ++i) {
            frame(ui_frame);
            session->wait();
        }
    };
    settle();
    fs::resize_file(folder / "model.safetensors", 100);
    view.view = View::Grid;
    settle();
    EXPECT_GT(find_window("##grid")->Pos.y, usual + 10) << "a sentence stands above the maps";
    EXPECT_EQ(static_cast<std::int64_t>(maps().size()), trace().config.num_heads)
        << "those of the layer that was there; their mean is no longer computed";
}

TEST_F(Grid, AScoreIsThatOfItsStageAndHead) {
    for (const char* preset : {"gpt-tiny", "encoder-decoder"}) {
        open_grid(preset);
        with_context([&](const PanelContext& context) {
            ASSERT_GT(context.snapshot.head_scores.size(), 4U);
            for (const HeadScore& score : context.snapshot.head_scores)
                EXPECT_EQ(head_score(context, score.id, score.head), &score) << tensor_name(score.id) << " head " << score.head;
            EXPECT_EQ(head_score(context, {Stage::Weights, 0}, context.structure().config.num_heads), nullptr);
            EXPECT_EQ(head_score(context, {Stage::Scores, 0}, 0), nullptr);
        });
    }
}

}  // namespace
}  // namespace attn::app::test
