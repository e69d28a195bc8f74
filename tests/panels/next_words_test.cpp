/// The next-token candidates beside the text: shown for generating models, and a click appends a token.

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <set>
#include <thread>

#include "app/panels/write/writing_actions.hpp"
#include "app/session/document/model_document.hpp"
#include "app/session/document/prepare.hpp"
#include "app/session/values/next_words.hpp"
#include "tests/support/fake_computation.hpp"
#include "tests/support/interface_fixture.hpp"
#include "tests/support/item_finder.hpp"

namespace attn::app::test {
namespace {

class NextWordsTest : public InterfaceFixture {
protected:
    /// The places of the candidates in the row, from left to right.
    std::vector<ImVec2> candidates() {
        frames(3, ui_frame);
        const ImGuiWindow* row = find_window("##text");
        std::vector<ImVec2> found;
        ImGuiID last = 0;
        const float y = row->Pos.y + 12 + 20;
        for (float x = row->Pos.x + row->Size.x * 0.4F; x < row->Pos.x + row->Size.x - 60; x += 6) {
            move_mouse(x, y);
            frame(ui_frame);
            const ImGuiID id = ImGui::GetCurrentContext()->HoveredId;
            const bool is_word = is_candidate(id, row->ID);
            if (is_word && id != last) found.emplace_back(x + 3, y);
            last = is_word ? id : 0;
        }
        return found;
    }
    bool is_candidate(ImGuiID id, ImGuiID row) const {
        for (const NextWord& word : words_.likeliest) {
            const ImGuiID seed = ImHashData(&word.id, sizeof(word.id), row);
            if (id == ImHashStr("##next_word", 0, seed)) return true;
        }
        return false;
    }
    void know_words() { words_ = *get(facet::NextWords{0, session->document().sampling}); }
    NextWords words_;
};

TEST_F(NextWordsTest, AClickWritesTheWord) {
    open_example("gpt-tiny");
    const std::string before = session->document().texts[0];
    know_words();
    const std::vector<ImVec2> places = candidates();
    ASSERT_EQ(places.size(), 3U);
    click(places[0].x, places[0].y, ui_frame);
    frames(2, ui_frame);
    EXPECT_EQ(whole_texts(session->document())[0], before + " " + words_.likeliest.front().text);
    EXPECT_EQ(session->document().written.ids, std::vector{words_.likeliest.front().id});
    session->apply({command::Undo{}, ""});
    EXPECT_EQ(whole_texts(session->document())[0], before);
}

/// Three in a wide window; a narrow one has fewer, and the rest is in the menu.
TEST_F(NextWordsTest, FoldWithTheWindow) {
    open_example("gpt-tiny");
    know_words();
    for (const auto& [width, count] : {std::pair(1600.F, 3U), {1390.F, 2U}, {1090.F, 1U}, {990.F, 0U}}) {
        ImGui::GetIO().DisplaySize = {width, 900};
        EXPECT_EQ(candidates().size(), count) << width;
    }
}

TEST_F(NextWordsTest, TheMenuHasTheOthersAndTheTemperature) {
    open_example("gpt-tiny");
    know_words();
    frames(3, ui_frame);
    const auto at = find_item("##text", {"##more_words", "button"}, [&](float x, float y) {
        move_mouse(x, y);
        frame(ui_frame);
    });
    ASSERT_TRUE(at);
    click(at->x, at->y, ui_frame);
    frames(3, ui_frame);
    const ImGuiWindow* menu = find_window("##Popup");
    ASSERT_NE(menu, nullptr);
    std::set<std::string> labels;
    for (const FocusStop& stop : view.focus.stops()) labels.insert(stop.words);
    EXPECT_TRUE(labels.contains("Write on"));
    EXPECT_TRUE(labels.contains("sampling temperature")) << testing::PrintToString(labels);
    const std::size_t last = std::min<std::size_t>(words_.likeliest.size(), 10) - 1;
    EXPECT_LT(menu->Size.y, 520) << "temperature and button are in sight";
    click(menu->Pos.x + 60, menu->Pos.y + 10 + 31 * static_cast<float>(last) + 10, ui_frame);
    frames(2, ui_frame);
    EXPECT_EQ(session->document().written.ids, std::vector{words_.likeliest[last].id});
}

TEST_F(NextWordsTest, AreThereForModelsThatWriteOnly) {
    open_example("self-attention");
    frames(3, ui_frame);
    EXPECT_EQ(view.drawn.next_words.state, nullptr);
    open_example("causal-attention");
    know_words();
    EXPECT_EQ(candidates().size(), 3U);
    ForwardSettings settings = session->document().forward;
    settings.masks.causal = false;
    session->apply({command::SetForward{settings}, ""});
    session->wait();
    EXPECT_TRUE(candidates().empty()) << "a sentence says why there is no next word";
    EXPECT_EQ(view.drawn.next_words.state, nullptr);
}

/// A large model's layer is shown before its last one is computed: until then the words of the text before stay, without effect.
TEST_F(NextWordsTest, KeepsTheWordsOfTheTextBeforeUntilTheNewOnesAreThere) {
    Gate gate;
    Computation engine = Computation::engine();
    const auto slowly = [](const auto& call) {
        return [call](auto&&... arguments) {
            std::this_thread::sleep_for(std::chrono::milliseconds(12));  // a pass long enough to be shown from its beginning
            return call(std::forward<decltype(arguments)>(arguments)...);
        };
    };
    engine.outline = slowly(engine.outline);
    engine.continued = slowly(engine.continued);
    engine.completed = [&gate, plain = engine.completed](auto begun, bool attended, const auto* known, std::stop_token stop) {
        gate.pass(stop);
        return plain(std::move(begun), attended, known, std::move(stop));
    };
    const Document document = document_of_model(OpenedModel::open(std::filesystem::path(ATTN_TEST_DATA) / "golden/hf/gpt2"));
    const TraceSize size = prepare(document).size;
    session = std::make_unique<Session>(
        document, [] {}, engine, TrainingEngine::engine(), size.parameters + (size.outline + size.part + size.whole) / 2);
    session->wait();
    const auto shown = [&] {
        ShownNextWords words;
        with_context([&](PanelContext& context) { words = shown_next_words(context); });
        return words;
    };
    frames(3, ui_frame);
    const ShownNextWords before = shown();
    ASSERT_NE(before.words, nullptr);
    EXPECT_FALSE(before.changed);
    frames(2, ui_frame);

    gate.close();
    session->apply({command::SetTexts{{document.texts[0] + " and"}, {}}, ""});
    for (int i = 0; i < 20'000 && !session->shows_document(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    ASSERT_TRUE(session->shows_document());
    instant = false;
    const ShownNextWords between = shown();
    EXPECT_TRUE(between.changed);
    EXPECT_EQ(between.words, before.words);
    frames(2, ui_frame);
    words_ = *between.words;
    const std::vector<ImVec2> places = candidates();
    ASSERT_FALSE(places.empty());
    click(places.front().x, places.front().y, ui_frame);
    EXPECT_TRUE(session->document().written.ids.empty()) << "a click would add a word to another text";
    now += 10;
    frames(3, ui_frame);
    EXPECT_EQ(find_window("##old_centre"), nullptr) << "the layer shown is that of the new text";

    gate.open();
    session->wait();
    session->get(facet::NextWords{});
    const ShownNextWords after = shown();
    EXPECT_FALSE(after.changed);
    EXPECT_NE(after.words, before.words);
}

}  // namespace
}  // namespace attn::app::test
