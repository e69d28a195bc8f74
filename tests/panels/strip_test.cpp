/// The strip below the picture, with mouse and keyboard: layers, heads, stations, and the map of the model.

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "app/panels/kit/look.hpp"
#include "app/panels/kit/model_blocks.hpp"
#include "app/panels/kit/navigation.hpp"
#include "app/panels/kit/stations.hpp"
#include "app/session/document/presets.hpp"
#include "app/widgets/text.hpp"
#include "tests/support/interface_fixture.hpp"
#include "tests/support/item_finder.hpp"

namespace attn::app::test {
namespace {

class StripTest : public InterfaceFixture {
protected:
    std::vector<ModelBlock> blocks() const { return model_blocks(*trace().plan); }
    std::size_t open() const { return block_of(blocks(), *trace().plan, view.stage); }
    std::vector<Station> stations() const { return stations_of(*trace().plan, view.stage, true); }
    /// The middles of the controls of a window along a line, `y` pixels from its lower edge, from left to right.
    std::vector<ImVec2> controls(const char* window, float y) {
        frames(3, ui_frame);
        const ImRect area = find_window(window)->Rect();
        std::vector<ImVec2> found;
        ImGuiID last = 0;
        float from = 0;
        for (float x = area.Min.x + 1; x < area.Max.x; x += 3) {
            move_mouse(x, area.Max.y - y);
            frame(ui_frame);
            const ImGuiID id = ImGui::GetCurrentContext()->HoveredId;
            if (id != last) from = x;
            if (id != 0 && id == last) {
                if (!found.empty() && found.back().x >= from) found.pop_back();
                found.emplace_back((from + x) / 2, area.Max.y - y);
            }
            last = id;
        }
        return found;
    }
    /// Those of the stations, at the right of the choosers.
    std::vector<ImVec2> station_places() {
        std::vector<ImVec2> all = controls("##strip", 50);
        // Before them are layers and heads, and the button of the map.
        std::erase_if(all, [](const ImVec2& at) { return at.x < 16 + 212 + 44; });
        return all;
    }
};

TEST_F(StripTest, AClickShowsTheStation) {
    open_example("gpt-tiny");
    view.stage = {Stage::Weights, 1};
    const std::vector<Station> all = stations();
    const std::vector<ImVec2> places = station_places();
    ASSERT_EQ(places.size(), all.size());
    for (std::size_t i = 0; i < all.size(); ++i) {
        view.stage = {Stage::Weights, 1};
        view.view = View::Step;
        frame(ui_frame);
        if (all[i].kind == StationKind::Weights) continue;
        click(places[i].x, places[i].y, ui_frame);
        EXPECT_EQ(view.stage, all[i].opens) << i;
        EXPECT_EQ(view.view, View::Step);
    }
    EXPECT_TRUE(commands.empty()) << "looking changes nothing";
}

TEST_F(StripTest, AClickOnTheChosenOneGoesThroughItsStages) {
    open_example("gpt-tiny");
    view.stage = {Stage::FfnOut, 1};
    const Station station = stations()[station_with(stations(), view.stage)];
    ASSERT_GT(station.stages.size(), 2U);
    const ImVec2 at = station_places()[station_with(stations(), view.stage)];
    std::set<std::string> seen;
    for (std::size_t i = 0; i < station.stages.size(); ++i) {
        click(at.x, at.y, ui_frame);
        frames(2, ui_frame);
        seen.insert(tensor_name(view.stage));
    }
    EXPECT_EQ(seen.size(), station.stages.size());
    EXPECT_EQ(view.stage, (StageId{Stage::FfnOut, 1})) << "once round";
}

TEST_F(StripTest, LayersAndHeadsAreChosenHere) {
    open_example("gpt-tiny");
    view.stage = {Stage::Weights, 1};
    view.head = 0;
    std::set<int> layers;
    std::set<std::int64_t> heads;
    for (const ImVec2 at : controls("##strip", 112 - 24)) {
        if (at.x > 16 + 212) break;
        click(at.x, at.y, ui_frame);
        layers.insert(view.stage.layer);
        EXPECT_EQ(view.stage.stage, Stage::Weights);
    }
    for (const ImVec2 at : controls("##strip", 112 - 60)) {
        if (at.x > 16 + 212) break;
        click(at.x, at.y, ui_frame);
        heads.insert(view.head);
    }
    EXPECT_EQ(layers.size(), static_cast<std::size_t>(trace().config.num_layers));
    EXPECT_EQ(heads, (std::set<std::int64_t>{0, 1, 2, 3}));
}

/// In a decoder's layer both attentions can be shown.
TEST_F(StripTest, ADecodersLayerHasTwoAttentions) {
    open_example("encoder-decoder");
    view.stage = {Stage::Weights, 0, Stack::Decoder, kSelfAttention};
    const std::vector<ImVec2> places = controls("##strip", 112 - 16);
    std::set<std::uint8_t> shown;
    for (const ImVec2 at : places) {
        if (at.x < 16 + 212) continue;
        view.stage = {Stage::Weights, 0, Stack::Decoder, static_cast<std::uint8_t>(shown.empty() ? kCrossAttention : kSelfAttention)};
        frame(ui_frame);
        click(at.x, at.y, ui_frame);
        shown.insert(view.stage.attention);
    }
    EXPECT_EQ(shown, (std::set<std::uint8_t>{kSelfAttention, kCrossAttention}));
}

TEST_F(StripTest, ArrowsGoFromStationToStationAndWithControlThroughEveryStage) {
    open_example("gpt-tiny");
    press(Key::Home, ui_frame);
    std::vector<std::string> walked{tensor_name(view.stage)};
    for (int i = 0; i < 300; ++i) {
        press(Key::Right, ui_frame);
        if (tensor_name(view.stage) == walked.back()) break;
        walked.push_back(tensor_name(view.stage));
    }
    EXPECT_EQ(view.stage, trace().stages.back().id);
    EXPECT_LT(walked.size(), trace().stages.size());
    std::vector<std::string> back{tensor_name(view.stage)};
    for (std::size_t i = 1; i < walked.size(); ++i) {
        press(Key::Left, ui_frame);
        back.push_back(tensor_name(view.stage));
    }
    EXPECT_EQ(back, std::vector<std::string>(walked.rbegin(), walked.rend()));
    press(Key::Home, ui_frame);
    for (const auto& stage : trace().stages) {
        EXPECT_EQ(view.stage, stage.id);
        hold_modifiers(true, false);
        press(Key::Right, ui_frame);
        hold_modifiers(false, false);
    }
}

TEST_F(StripTest, AKeyOpensTheMapOfTheModelAndAClickGoesToABlock) {
    open_example("gpt-tiny");
    view.stage = {Stage::Scores, 1};
    frames(3, ui_frame);
    EXPECT_EQ(find_window("##map"), nullptr) << "there is no room for it unasked";
    const float high = find_window("##strip")->Size.y;
    type("4", ui_frame);
    frames(3, ui_frame);
    ASSERT_NE(find_window("##map"), nullptr);
    EXPECT_EQ(find_window("##strip")->Size.y, high + 64);
    const std::vector<ImVec2> places = controls("##map", 30);
    ASSERT_EQ(places.size(), blocks().size());
    for (std::size_t i = 0; i < places.size(); ++i) {
        view.stage = {Stage::Scores, 1};
        frame(ui_frame);
        click(places[i].x, places[i].y, ui_frame);
        EXPECT_EQ(open(), i);
        EXPECT_TRUE(view.stage.layer < 0 || view.stage.stage == Stage::Scores);
    }
    type("4", ui_frame);
    frames(3, ui_frame);
    EXPECT_EQ(find_window("##map"), nullptr);
}

TEST_F(StripTest, PageUpAndDownWalkFromBlockToBlock) {
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

/// The thumbnails show exactly the stations of the chosen layer.
TEST_F(StripTest, ThumbnailsAreTheStationsOfTheLayer) {
    open_example("gpt-tiny");
    for (const StageId id : {StageId{Stage::Weights, 2}, StageId{Stage::Embedding, -1}}) {
        view.stage = id;
        frames(3, ui_frame);
        const ImGuiWindow* strip = find_window("##strip");
        ASSERT_NE(strip, nullptr);
        std::set<std::string> shown, expected;
        for (const auto& call : canvas.calls) {
            if (call.min.y < strip->Pos.y) continue;
            for (const auto& stage : trace().stages) {
                const std::int64_t at = call.request.data.values - stage.value.data();
                if (at >= 0 && at < stage.value.size()) shown.insert(tensor_name(stage.id));
            }
        }
        for (const Station& station : stations()) {
            const bool current = std::find(station.stages.begin(), station.stages.end(), id) != station.stages.end();
            if (station.kind != StationKind::Words) expected.insert(tensor_name(current ? id : station.opens));
        }
        EXPECT_EQ(shown, expected);
    }
}

/// In a narrow window a station has less room than the narrowest thumbnail otherwise takes.
TEST_F(StripTest, ThumbnailsStayWithinTheirStations) {
    ImGui::GetIO().DisplaySize = {640, 1200};
    open_example("gpt-tiny");
    frames(3, ui_frame);
    const ImGuiWindow* strip = find_window("##strip");
    ASSERT_NE(strip, nullptr);
    float narrowest = 1e9F;
    int thumbnails = 0;
    for (const auto& call : canvas.calls) {
        if (call.min.y < strip->Pos.y) continue;
        ++thumbnails;
        const bool within = std::any_of(view.focus.stops().begin(), view.focus.stops().end(), [&](const FocusStop& stop) {
            return stop.label == "##station" && call.min.x >= stop.left && call.max.x <= stop.right;
        });
        EXPECT_TRUE(within) << "from " << call.min.x << " to " << call.max.x;
        narrowest = std::min(narrowest, call.max.x - call.min.x);
    }
    EXPECT_GT(thumbnails, 0);
    EXPECT_GT(narrowest, 0);
}

/// 12 and 32 layers: a menu between two arrows, and all stations in sight.
TEST_F(StripTest, ManyLayersStayUsable) {
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
                EXPECT_EQ(station_places().size(), stations().size()) << width << ", layer " << layer;
            }
        }
        ImGui::GetIO().DisplaySize = {1600, 1000};
        view.stage = {Stage::Weights, 5};
        const std::vector<ImVec2> row = controls("##strip", 112 - 24);
        click(row.front().x, row.front().y, ui_frame);
        EXPECT_EQ(view.stage.layer, 4);
        click(row[2].x, row[2].y, ui_frame);
        EXPECT_EQ(view.stage.layer, 5);
    }
}

TEST_F(StripTest, TheMapOpensByAButtonToo) {
    open_example("stories");
    frames(3, ui_frame);
    ASSERT_EQ(find_window("##model_map"), nullptr);
    const auto press_map = [&] {
        const auto& stops = view.focus.stops();
        const auto button = std::find_if(stops.begin(), stops.end(), [](const FocusStop& stop) { return stop.label == "##map_button"; });
        ASSERT_NE(button, stops.end());
        click((button->left + button->right) / 2, (button->top + button->bottom) / 2, ui_frame);
        frames(3, ui_frame);
    };
    press_map();
    EXPECT_NE(find_window("##model_map"), nullptr);
    press_map();
    EXPECT_EQ(find_window("##model_map"), nullptr);
}

/// In a low window the names alone stand there, and none of them is cut.
TEST_F(StripTest, NamesHaveTheRoomThatTheyNeed) {
    ImGui::GetIO().DisplaySize = {1600, 720};
    open_example("stories");
    turn_to(view, opening_look(find_preset("stories"), 0));
    frames(3, ui_frame);
    std::vector<FocusStop> drawn;
    std::copy_if(view.focus.stops().begin(), view.focus.stops().end(), std::back_inserter(drawn),
                 [](const FocusStop& stop) { return stop.label == "##station"; });
    const std::vector<Station> all = stations();
    ASSERT_EQ(drawn.size(), all.size());
    float end = 0;
    for (std::size_t i = 0; i < all.size(); ++i) {
        EXPECT_GE(drawn[i].left, end);
        end = drawn[i].right;
        for (const StageId& id : all[i].stages)
            EXPECT_GE(drawn[i].right - drawn[i].left, text_width(theme.fonts.mono_tiny, stage_name(id)) + 6) << stage_name(id);
    }
    EXPECT_LE(end, 1600 - 16);
}

}  // namespace
}  // namespace attn::app::test
