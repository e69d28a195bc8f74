/// The row of next-token candidates: shown for generating models, and a click appends a token.

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <thread>

#include "app/panels/frame/next_row.hpp"
#include "app/panels/write/writing_actions.hpp"
#include "app/session/document/model_document.hpp"
#include "app/session/document/prepare.hpp"
#include "app/session/values/next_words.hpp"
#include "tests/support/fake_computation.hpp"
#include "tests/support/interface_fixture.hpp"
#include "tests/support/item_finder.hpp"

namespace attn::app::test {
namespace {

class NextRowTest : public InterfaceFixture {
protected:
    float height() {
        float high = 0;
        with_context([&](PanelContext& context) { high = next_row_height(context, ImGui::GetIO().DisplaySize.y); });
        return high;
    }
};

TEST_F(NextRowTest, AClickWritesTheWord) {
    open_example("gpt-tiny");
    const std::string before = session->document().texts[0];
    const NextWords words = *get(facet::NextWords{0, session->document().sampling});
    ASSERT_GT(height(), 0);
    const ImGuiWindow* window = find_window("##next");
    ASSERT_NE(window, nullptr);
    click(window->Pos.x + 100, window->Pos.y + 16, ui_frame);
    frames(2, ui_frame);
    EXPECT_EQ(whole_texts(session->document())[0], before + " " + words.likeliest.front().text);
    EXPECT_EQ(session->document().written.ids, std::vector{words.likeliest.front().id});
    session->apply({command::Undo{}, ""});
    EXPECT_EQ(whole_texts(session->document())[0], before);
}

TEST_F(NextRowTest, IsThereForModelsThatWriteOnly) {
    open_example("self-attention");
    EXPECT_EQ(height(), 0);
    open_example("causal-attention");
    EXPECT_GT(height(), 0);
    view.view = View::Train;
    EXPECT_EQ(height(), 0) << "which has predictions of its own";
    view.view = View::Heads;
    ForwardSettings settings = session->document().forward;
    settings.masks.causal = false;
    session->apply({command::SetForward{settings}, ""});
    session->wait();
    EXPECT_GT(height(), 0) << "nothing moves when a mask is switched off";
    frames(2, ui_frame);
    const ImGuiWindow* window = find_window("##next");
    ASSERT_NE(window, nullptr);
    click(window->Pos.x + 100, window->Pos.y + 16, ui_frame);
    EXPECT_TRUE(session->document().written.ids.empty());
    ImGui::GetIO().DisplaySize = {900, 600};
    EXPECT_EQ(height(), 0) << "a low window has no room for it";
}

/// A large model's layer is shown before its last one is computed: until then the words of the text before stay, without effect.
TEST_F(NextRowTest, KeepsTheWordsOfTheTextBeforeUntilTheNewOnesAreThere) {
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
    const ImGuiWindow* window = find_window("##next");
    ASSERT_NE(window, nullptr);
    click(window->Pos.x + 100, window->Pos.y + 16, ui_frame);
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
