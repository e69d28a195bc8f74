/// The first minute of several kinds of users, with simulated mouse and keyboard: what they do, what they see, and how many clicks it
/// takes.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "app/panels/actions/actions.hpp"
#include "app/panels/actions/palette.hpp"
#include "app/panels/frame/frame.hpp"
#include "app/panels/kit/look.hpp"
#include "app/panels/kit/navigation.hpp"
#include "app/panels/kit/texts.hpp"
#include "app/panels/views/look_at_line.hpp"
#include "app/panels/write/writing_actions.hpp"
#include "app/session/document/new_words.hpp"
#include "app/session/document/presets.hpp"
#include "app/session/files/settings.hpp"
#include "app/session/values/next_words.hpp"
#include "app/widgets/imgui_compat.hpp"
#include "app/widgets/number.hpp"
#include "tests/support/interface_fixture.hpp"
#include "tests/support/item_finder.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/support/trained_session.hpp"

namespace attn::app::test {
namespace {

class Trial : public InterfaceFixture {
protected:
    Trial() {
#if IMGUI_VERSION_NUM < 18700
        ImGui::GetIO().KeyMap[ImGuiKey_A] = 'A';
#endif
        start("stories");
    }
    /// As at the first start, with an empty settings folder.
    void start(const char* preset) {
        open_example(preset);
        turn_to(view, opening_look(find_preset(preset), 0));
        const std::vector<std::string> folded = Settings().folded_parts;
        view.settings.folded.insert(folded.begin(), folded.end());
        frames(4, ui_frame);
    }

    const FocusStop* stop(std::string_view words) const {
        const auto& stops = view.focus.stops();
        const auto found =
            std::find_if(stops.begin(), stops.end(), [&](const FocusStop& one) { return one.words == words || one.label == words; });
        return found == stops.end() ? nullptr : &*found;
    }
    bool in_sight(std::string_view words) {
        frames(2, ui_frame);
        return stop(words) != nullptr;
    }
    void click_at(float x, float y) {
        ++clicks;
        click(x, y, ui_frame);
        move_mouse(2, 2);
        frames(4, ui_frame);
    }
    /// Clicks the control with these words, or fails.
    void click_on(std::string_view words) {
        frames(2, ui_frame);
        const FocusStop* found = stop(words);
        ASSERT_NE(found, nullptr) << words;
        click_at((found->left + found->right) / 2, (found->top + found->bottom) / 2);
    }
    /// Ctrl + K, the example's name, Enter.
    void open_by_name(const char* preset) {
        control('K');
        type(std::string("open the example ") + preset, ui_frame);
        frames(2, ui_frame);
        press(Key::Enter, ui_frame);
        session->wait();
        now += 2;  // what was chosen in the palette is no longer told
        frames(4, ui_frame);
        EXPECT_EQ(session->document().preset, preset);
    }
    void press_with_alt(Key key) {
        ImGui::GetIO().KeyAlt = true;
        press(key, ui_frame);
        ImGui::GetIO().KeyAlt = false;
        frames(3, ui_frame);
    }
    /// What is drawn of maps, and how much of everything.
    struct Picture {
        std::vector<std::array<float, 4>> maps;
        int vertices = 0;
        bool operator==(const Picture&) const = default;
    };
    Picture picture() {
        move_mouse(2, 2);
        now += 1;  // nothing fades any more
        frames(3, ui_frame);
        canvas.calls.clear();
        frame(ui_frame);
        Picture drawn{{}, vertices()};
        for (const auto& call : canvas.calls) drawn.maps.push_back({call.min.x, call.min.y, call.max.x, call.max.y});
        return drawn;
    }
    float weight_at_cell() { return map_of(view.stage, 0, view.head).at(*view.locked.on(Axis::T), *view.locked.on(Axis::S)); }
    int clicks = 0;
};

TEST_F(Trial, L1FindTheHead) {
    EXPECT_EQ(view.view, View::Step);
    EXPECT_EQ(view.stage.stage, Stage::Weights);
    const Trace<float>& shown = trace();
    ASSERT_TRUE(view.locked.on(Axis::T) && view.locked.on(Axis::S));
    const auto token = [&](Axis axis) { return session->snapshot()->tokens[0].at(static_cast<std::size_t>(*view.locked.on(axis))).text; };
    EXPECT_EQ(token(Axis::T), "?");
    const std::string looked_at = token(Axis::S);
    EXPECT_EQ(get(facet::NextWords{0, {}})->likeliest.front().text, looked_at) << "the model's answer";
    EXPECT_GT(weight_at_cell(), 0.9);
    const Picture first = picture();
    EXPECT_FALSE(first.maps.empty());
    for (int i = 0; i < 3; ++i) press(Key::Left, ui_frame);
    frames(3, ui_frame);
    EXPECT_EQ(view.stage.stage, Stage::Scores);
    const Matrix scores = map_of(view.stage, 0, view.head);
    const std::int64_t row = *view.locked.on(Axis::T);
    for (std::int64_t s = 0; s < scores.data.cols; ++s)
        EXPECT_LE(scores.at(row, s), scores.at(row, *view.locked.on(Axis::S))) << "the same word fits best";
    for (int i = 0; i < 3; ++i) press(Key::Right, ui_frame);
    EXPECT_EQ(view.stage.stage, Stage::Weights);
    EXPECT_EQ(picture(), first);
    EXPECT_EQ(&trace(), &shown) << "nothing was computed anew";
    EXPECT_EQ(clicks, 0);
}

TEST_F(Trial, L2OwnSentence) {
    click_on("Edit the text");
    ASSERT_TRUE(view.text_row.edit.editing);
    control('A');
    const std::string own = "Tom gives a red scooter to Sofia because she is sad. Who has the scooter?";
    for (std::size_t at = 0; at < own.size(); ++at) {
        type(own.substr(at, 1), ui_frame);
        EXPECT_FALSE(view.drawn.problem) << own.substr(0, at + 1);
    }
    press(Key::Enter, ui_frame);
    frames(4, ui_frame);
    EXPECT_EQ(session->document().texts, std::vector<std::string>{own}) << "no completion was taken";
    std::set<std::string> dashed;
    for (const Token& chip : session->snapshot()->tokens[0])
        if (chip.place > 0) dashed.insert(chip.text);
    EXPECT_EQ(dashed, (std::set<std::string>{"scooter", "Sofia"}));
    EXPECT_THAT(new_words_sentence(session->document()), testing::HasSubstr("are new to this model"));
    EXPECT_EQ(get(facet::NextWords{0, {}})->likeliest.front().text, "Sofia");
    EXPECT_FALSE(view.drawn.problem);
    EXPECT_FALSE(view.drawn.unread_text);
    EXPECT_LE(clicks, 1);
}

/// What is new in one text is not said of another.
TEST_F(Trial, TheEyeSpeaksOfTheShownText) {
    for (const Axis axis : {Axis::T, Axis::S}) view.locked.set(axis, 1);  // which both texts have
    frames(2, ui_frame);
    session->apply({command::SetTexts{{"Tom gives a red scooter to Sofia.", "Lily is sad."}, {}}, ""});
    session->wait();
    frames(4, ui_frame);
    const auto said = [&] {
        std::string words;
        with_context([&](PanelContext& context) { words = eye_sentence(context); });
        return words;
    };
    EXPECT_THAT(said(), testing::HasSubstr("“scooter” and “Sofia” are new"));
    with_context([](PanelContext& context) { show_text(context, 1); });
    frames(3, ui_frame);
    EXPECT_THAT(said(), testing::Not(testing::HasSubstr("scooter")));
}

TEST_F(Trial, L3BothMasks) {
    const Picture before = picture();
    const auto writes = [&] {
        bool can = false;
        with_context([&](PanelContext& context) { can = can_write(context); });
        return can;
    };
    EXPECT_TRUE(writes());
    click_on("Causal");
    EXPECT_FALSE(trace().settings.masks.causal);
    EXPECT_FALSE(writes()) << "the row says why";
    EXPECT_FALSE(map_of(view.stage, 0, view.head).masked(0, 1));
    click_on("Causal");
    EXPECT_TRUE(trace().settings.masks.causal);
    EXPECT_EQ(picture().maps, before.maps);
    click_on("add a second text");
    ASSERT_TRUE(view.text_row.edit.editing);
    type("Lily is sad.", ui_frame);
    press(Key::Enter, ui_frame);
    frames(4, ui_frame);
    ASSERT_EQ(session->document().texts.size(), 2U);
    EXPECT_EQ(session->document().texts[1], "Lily is sad.");
    EXPECT_EQ(view.batch, 1);
    for (const Axis axis : {Axis::T, Axis::S}) EXPECT_LT(view.locked.on(axis).value_or(0), 4) << "no padding is chosen";
    const std::vector<Token>& chips = session->snapshot()->tokens[1];
    EXPECT_EQ(std::count_if(chips.begin(), chips.end(), [](const Token& chip) { return !chip.padding; }), 4);
    EXPECT_TRUE(chips.back().padding);
    const auto last = static_cast<std::int64_t>(chips.size()) - 1;
    view.stage = {Stage::Weights, 0};
    view.batch = 1;
    const bool padded = trace().settings.masks.padding;
    EXPECT_EQ(map_of(view.stage, 1, 0).masked(last, last), padded);
    click_on("Padding");
    EXPECT_EQ(map_of(view.stage, 1, 0).masked(last, last), !padded) << "its columns empty and fill";
    click_on("Padding");
    EXPECT_EQ(map_of(view.stage, 1, 0).masked(last, last), padded);
    EXPECT_LE(clicks, 5);
}

TEST_F(Trial, L4FollowANumber) {
    const StageId weights = view.stage;
    const AxisSelection cell = view.locked;
    const auto line = find_item(
        "##cell_blocks", {"q · k", "row"},
        [this](float x, float y) {
            move_mouse(x, y);
            frame(ui_frame);
        },
        60, 6);
    ASSERT_TRUE(line);
    click_at(line->x, line->y);
    const StageId scores = of_same_attention(weights, Stage::Scores);
    ASSERT_EQ(view.stage, scores);
    EXPECT_EQ(view.locked.on(Axis::T), cell.on(Axis::T));
    EXPECT_EQ(view.locked.on(Axis::S), cell.on(Axis::S));
    click_on("##operand");
    EXPECT_THAT(view.stage.stage, testing::AnyOf(Stage::Q, Stage::QRotated)) << "the left one of q · k";
    press_with_alt(Key::Left);
    EXPECT_EQ(view.stage, scores);
    press_with_alt(Key::Left);
    EXPECT_EQ(view.stage, weights);
    EXPECT_EQ(view.locked, cell);
    press_with_alt(Key::Right);
    EXPECT_EQ(view.stage, scores);
    EXPECT_LE(clicks, 2);
}

/// The sentences of an example, which are long, and all of what is said of them.
TEST_F(Trial, TheListOfTextsIsWhole) {
    for (const ImVec2 size : {ImVec2(1600, 1000), ImVec2(1280, 720)}) {
        ImGui::GetIO().DisplaySize = size;
        click_on("Examples and texts");
        ASSERT_TRUE(any_popup_open());
        const ImGuiWindow* const menu = ImGui::GetCurrentContext()->OpenPopupStack[0].Window;
        std::size_t items = 0;
        for (const FocusStop& stop : view.focus.stops()) {
            if (!stop.in_popup) continue;
            ++items;
            EXPECT_LE(stop.right, menu->InnerClipRect.Max.x + 1) << stop.words;
            EXPECT_GE(stop.left, menu->InnerClipRect.Min.x - 1) << stop.words;
        }
        EXPECT_GT(items, 10U);
        press(Key::Escape, ui_frame);
        frames(3, ui_frame);
    }
}

/// "V" has no room at the right of its map there.
TEST_F(Trial, TheNamesOfAllMapsAreWholeInASmallWindow) {
    ImGui::GetIO().DisplaySize = {1280, 720};
    for (const Stage stage : {Stage::Scores, Stage::Context, Stage::Q}) {
        view.stage.stage = stage;
        frames(4, ui_frame);
        const ImRect centre = find_window("##centre")->Rect();
        for (const FocusStop& one : view.focus.stops())
            EXPECT_TRUE(one.label != "##title" || centre.Contains(ImRect(one.left, one.top, one.right, one.bottom))) << one.left;
    }
}

/// The colours of two stages are the same; what they mean is not.
TEST_F(Trial, ANewRangeIsSaidForAMoment) {
    const auto told = [&] {
        frames(2, ui_frame);
        return std::any_of(view.told_ranges.begin(), view.told_ranges.end(), [&](const ToldRange& one) { return one.until > now; });
    };
    view.told_ranges = {};
    EXPECT_FALSE(told()) << "nothing was before";
    view.stage.stage = Stage::Scores;
    EXPECT_FALSE(told()) << "another kind of map, with other colours";
    const float reach = view.told_ranges[0].hi;
    view.head = 0;
    EXPECT_FALSE(told()) << "all heads have the same range";
    view.stage.stage = Stage::Scaled;
    EXPECT_TRUE(told());
    EXPECT_EQ(view.told_ranges[0].was, "was ±" + format_number(reach, {.decimals = 2}));
    EXPECT_LE(seconds_at_rest(view, now), 4) << "then the window is drawn again";
    now += 5;
    EXPECT_FALSE(told());
}

/// All heads of all layers at once, those with a pattern framed, one of them opened, and back to the same place.
TEST_F(Trial, E2FindAHead) {
    start("induction");
    type("g", ui_frame);
    frames(4, ui_frame);
    ASSERT_EQ(view.view, View::Grid);
    click_on("previous token");
    EXPECT_NE(view.grid.find, "");
    // The first Enter chooses one of those found, unless the chosen one is; the next opens it.
    for (int i = 0; i < 2 && view.view == View::Grid; ++i) {
        press(Key::Enter, ui_frame);
        frames(3, ui_frame);
    }
    EXPECT_EQ(view.view, View::Step);
    press_with_alt(Key::Left);
    EXPECT_EQ(view.view, View::Grid);
    EXPECT_LE(clicks, 1);
}

TEST_F(Trial, E4Palette) {
    const Document before = session->document();
    const auto enter = [&](const char* typed) {
        view.panes.left_open = false;
        view.help = false;
        frames(2, ui_frame);
        control('K');
        EXPECT_TRUE(view.palette.open);
        type(typed, ui_frame);
        frames(2, ui_frame);
        const PaletteLine line = view.palette.list->lines.empty() ? PaletteLine{} : view.palette.list->lines.front();
        const std::string name = line.action == nullptr ? "" : line.action->name;
        press(Key::Enter, ui_frame);
        frames(3, ui_frame);
        EXPECT_EQ(view.palette.open, !line.can_run) << typed << ": what cannot act says why";
        if (view.palette.open) press(Key::Escape, ui_frame);
        if (view.text_row.edit.editing) press(Key::Escape, ui_frame);
        frames(3, ui_frame);
        return name;
    };
    const std::vector<std::pair<const char*, const char*>> trials = {
        {"undo", "Undo"},
        {"learning rate", "Learning rate"},
        {"batch size", "Batch size"},
        {"generate", "Show the view Write"},
        {"copy number", "Copy the value"},
        {"own text", "Edit the text"},
        {"branch", "Show the view Write"},
        {"language", "Examples and texts"},
    };
    for (const auto& [typed, name] : trials) {
        EXPECT_EQ(enter(typed), name) << typed;
        EXPECT_EQ(session->document(), before) << typed << " switched or discarded something";
    }
    EXPECT_EQ(enter("print"), "Export what is shown");
    press(Key::Escape, ui_frame);
    frames(3, ui_frame);
    EXPECT_EQ(session->document(), before);
    EXPECT_EQ(enter("second text"), "Add a second text");
    EXPECT_EQ(clicks, 0);
}

TEST_F(Trial, E5Narrow) {
    ImGui::GetIO().DisplaySize = {900, 600};
    frames(3, ui_frame);
    EXPECT_TRUE(in_sight("##causal"));
    EXPECT_TRUE(in_sight("##padding"));
    std::set<float> tabs;
    for (const char* preset : {"stories", "gpt-tiny", "translation"}) {
        open_by_name(preset);
        ASSERT_TRUE(in_sight("Step")) << preset;
        tabs.insert(stop("Step")->left);
        EXPECT_TRUE(in_sight("##origin")) << preset;
    }
    EXPECT_EQ(tabs.size(), 1U) << "tabs stay where they are";
    EXPECT_FALSE(in_sight("Edit the source"));
    type("b", ui_frame);
    frames(3, ui_frame);
    EXPECT_TRUE(view.compare.on());
    EXPECT_TRUE(in_sight("##end_comparison")) << "the chip says what it is compared with";
    click_on("##end_comparison");
    EXPECT_FALSE(view.compare.on());
    ImGui::GetIO().DisplaySize = {2560, 1440};
    EXPECT_TRUE(in_sight("Edit the source")) << "two rows of text";
    EXPECT_TRUE(in_sight("Edit the text"));
    EXPECT_LE(clicks, 2);
}

}  // namespace
}  // namespace attn::app::test
