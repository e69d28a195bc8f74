/// The whole interface under random mouse and keyboard input, without a display. ATTN_RANDOM_ACTIONS sets the number of actions (in nightly
/// runs 1000000), ATTN_RANDOM_SEED the seed.

#include <gtest/gtest.h>
#include <imgui_internal.h>

#include <cmath>
#include <cstdlib>
#include <random>
#include <string>

#include "app/panels/frame/frame.hpp"
#include "app/session/document/prepare.hpp"
#include "app/session/document/presets.hpp"
#include "tests/support/interface_fixture.hpp"
#include "tests/support/trained_session.hpp"
#include "tests/support/window_agreement.hpp"

namespace attn::app::test {
namespace {

std::uint64_t number_from(const char* variable, std::uint64_t otherwise) {
    const char* text = std::getenv(variable);
    return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

/// What is wrong with the shapes drawn in the last frame; "" if nothing is.
std::string fault_of_shapes() {
    const ImDrawData* data = ImGui::GetDrawData();
    for (int i = 0; i < data->CmdListsCount; ++i) {
        const ImDrawList& list = *data->CmdLists[i];
        for (const ImDrawVert& vertex : list.VtxBuffer)
            if (!std::isfinite(vertex.pos.x) || !std::isfinite(vertex.pos.y))
                return std::string("a corner is nowhere in ") + list._OwnerName;
    }
    return "";
}

/// Begin calls without matching End calls at the end of a frame; "" if there are none.
std::string fault_of_stacks() {
    const ImGuiContext& g = *ImGui::GetCurrentContext();
    if (g.CurrentWindowStack.Size != 1) return "a window is not ended";
    if (g.ColorStack.Size != 0 || g.StyleVarStack.Size != 0) return "a colour or a style is not popped";
    if (g.GroupStack.Size != 0) return "a group is not ended";
    return "";
}

class RandomActions : public InterfaceFixture {
protected:
    RandomActions() : random_(number_from("ATTN_RANDOM_SEED", 20)) {
        instant = false;
        carry_out = false;
        session = std::make_unique<Session>(open_preset("causal-attention"), [] {});
        session->apply({command::SetRun{small_run()}, ""});
        session->wait();
    }

    void draw() override {
        files = session->files();
        with_context([this](PanelContext& context) {
            draw_frame(context);
            disagreement_ = disagreement_in_window(context);
        });
        now += 1.0 / 60;
        stacks_ = fault_of_stacks();
        std::vector<Command> asked;
        asked.swap(commands);
        for (const Command& command : asked)
            if (!leaves_the_test(command)) session->apply(command);
        view.files.picture.reset();
        view.files.closing = Closing::No;
    }

    void act();
    void expect_sound();

    std::string stacks_, disagreement_;

private:
    /// Excludes commands that access files or train for hours.
    static bool leaves_the_test(const Command& command) {
        using namespace command;
        return std::visit(
            [](const auto& what) {
                using What = std::decay_t<decltype(what)>;
                return std::is_same_v<What, SaveDocument> || std::is_same_v<What, OpenFile> || std::is_same_v<What, ExportTensor> ||
                       std::is_same_v<What, MakeLessonStep> || std::is_same_v<What, ExportLesson> || std::is_same_v<What, SaveRun> ||
                       std::is_same_v<What, OpenCheckpoint> || std::is_same_v<What, OpenDump> || std::is_same_v<What, OpenTrainingText> ||
                       std::is_same_v<What, StartTraining> || std::is_same_v<What, RestartTraining> || std::is_same_v<What, TrainBoth>;
            },
            command.what);
    }
    /// This trained example has a fixed vocabulary.
    void make_unreadable() {
        if (below(2) == 0) session->apply({command::OpenPreset{"addition"}, ""});
        std::vector<std::string> texts = session->document().texts;
        texts[static_cast<std::size_t>(below(static_cast<int>(texts.size())))] += below(2) == 0 ? " zzz" : "1";
        session->apply({command::SetTexts{std::move(texts), session->document().source_texts}, ""});
    }
    int below(int count) { return std::uniform_int_distribution<int>(0, count - 1)(random_); }
    ImVec2 somewhere() {
        const ImVec2 size = ImGui::GetIO().DisplaySize;
        return {static_cast<float>(below(static_cast<int>(size.x) + 40) - 20),
                static_cast<float>(below(static_cast<int>(size.y) + 40) - 20)};
    }

    std::mt19937 random_;
};

void RandomActions::act() {
    static constexpr const char* kTexts[] = {"a", " ", "the cat", "0.5", "-1e30", "\xC3\xA4", "nan", "/"};
    static const ImVec2 kSizes[] = {{1600, 1000}, {900, 600}, {320, 240}, {2560, 1440}, {640, 1200}};
    const ImVec2 at = somewhere();
    switch (below(16)) {
    case 0:
    case 1:
    case 2:
    case 3:
    case 4:
        return click(at.x, at.y, ui_frame, below(8) == 0 ? 1 : 0);
    case 5:
        click(at.x, at.y, ui_frame);
        return click(at.x, at.y, ui_frame);  // a double-click
    case 6:
        return drag(at, somewhere(), ui_frame, 1 + below(4));
    case 7:
        move_mouse(at.x, at.y);
        return wheel(static_cast<float>(below(7) - 3), ui_frame);
    case 8:
        return type(kTexts[below(8)], ui_frame);
    case 9:
    case 10:
        return press(static_cast<Key>(below(16)), ui_frame);
    case 11:
    case 12: {
        static constexpr char kTyped[] = "cpbdtflma123456789[],.?+xo";
        ImGui::GetIO().AddInputCharacter(static_cast<unsigned char>(kTyped[below(26)]));
        return frame(ui_frame);
    }
    case 13: {
        static constexpr char kLetters[] = "ZYKOSECPQVAX";
        hold_modifiers(true, below(3) == 0);
        press(kLetters[below(12)], ui_frame);
        hold_modifiers(false, false);
        return;
    }
    case 14:
        if (below(8) == 0) ImGui::GetIO().DisplaySize = kSizes[below(5)];
        return frame(ui_frame);
    default:
        if (below(10) == 0)
            session->apply({command::OpenPreset{presets()[static_cast<std::size_t>(below(static_cast<int>(presets().size())))].name}, ""});
        if (below(10) == 0) make_unreadable();
        now += 2;  // lets notices disappear and replays advance
        return frame(ui_frame);
    }
}

void RandomActions::expect_sound() {
    ASSERT_EQ(stacks_, "");
    ASSERT_EQ(disagreement_, "");
    ASSERT_EQ(fault_of_shapes(), "");
    const Document& document = session->document();
    ASSERT_FALSE(document.texts.empty());
    ASSERT_LE(text_bytes(document), kTextLimitBytes);
    ASSERT_TRUE(document.source_texts.empty() || document.source_texts.size() == document.texts.size());
    const std::shared_ptr<const Snapshot> snapshot = session->snapshot();
    ASSERT_NE(snapshot, nullptr);
    if (snapshot->trace != nullptr) {
        ASSERT_EQ(snapshot->tokens.size(), static_cast<std::size_t>(snapshot->trace->tokens.size()));
    }
    ASSERT_TRUE(std::isfinite(view.ui_zoom) && std::isfinite(view.panes.left_width));
    for (const auto& [name, zoom] : view.zooms) ASSERT_FALSE(name.empty());
}

TEST_F(RandomActions, LeaveEverythingSound) {
    const std::uint64_t count = number_from("ATTN_RANDOM_ACTIONS", 3000);
    for (std::uint64_t i = 0; i < count; ++i) {
        SCOPED_TRACE("action " + std::to_string(i));
        act();
        expect_sound();
        if (HasFatalFailure()) return;
    }
    session->wait();
    ASSERT_TRUE(session->snapshot()->trace != nullptr || !session->snapshot()->problem.empty());
}

TEST_F(RandomActions, TheChecksSeeWhatTheyLookFor) {
    frame([] { ImGui::GetForegroundDrawList()->AddRectFilled({std::nanf(""), 0}, {10, 10}, 0xFFFFFFFFU); });
    EXPECT_NE(fault_of_shapes(), "");
    std::string fault;
    frame([&] {
        ImGui::PushStyleVar(ImGuiStyleVar_Alpha, 0.5F);
        fault = fault_of_stacks();
        ImGui::PopStyleVar();
    });
    EXPECT_NE(fault, "");
}

/// Each of these is what a window would show whose parts do not know of each other.
TEST_F(RandomActions, TheChecksSeePartsThatDisagree) {
    session->apply({command::SetTexts{{"the cat zzz"}, {}}, ""});
    session->apply({command::OpenPreset{"stories"}, ""});
    view.view = View::Step;
    session->wait();
    frames(3, ui_frame);
    ASSERT_EQ(disagreement_, "");
    const auto seen_in = [&](const std::function<void(Document&, Snapshot&, DrawnParts&)>& plant) {
        std::string seen;
        const auto look = [&](PanelContext& context) {
            draw_frame(context);
            Document document = context.document;
            Snapshot snapshot = context.snapshot;
            plant(document, snapshot, context.view.drawn);
            seen = disagreement_in_window({{.theme = context.theme,
                                            .canvas = context.canvas,
                                            .document = document,
                                            .inquiry = context.inquiry,
                                            .training = context.training,
                                            .view = context.view,
                                            .number_store = context.number_store,
                                            .commands = context.commands,
                                            .up_to_date = context.up_to_date,
                                            .outdated = context.outdated},
                                           snapshot,
                                           context.states});
        };
        frame([&] { with_context(look); });
        return seen;
    };
    EXPECT_EQ(seen_in([](Document&, Snapshot&, DrawnParts&) {}), "");
    EXPECT_NE(seen_in([](Document& document, Snapshot&, DrawnParts&) { document.forward.masks.causal = false; }), "") << "a switch";
    EXPECT_NE(seen_in([](Document& document, Snapshot&, DrawnParts&) { document.texts = {"Tom has a ball ."}; }), "") << "a text";
    EXPECT_NE(seen_in([](Document& document, Snapshot& snapshot, DrawnParts& drawn) {
                  document.texts = {"Tom zzz"};
                  snapshot.problem = "“zzz” is not in the vocabulary";
                  drawn.problem = drawn.unread_text = drawn.verified = true;
              }),
              "")
        << "a green badge";
    EXPECT_NE(seen_in([](Document&, Snapshot&, DrawnParts& drawn) {
                  drawn.chips.state = std::make_shared<const State>(State{std::make_shared<const app::Setup>(), {}});
              }),
              "")
        << "chips";
    EXPECT_NE(seen_in([](Document&, Snapshot&, DrawnParts& drawn) { drawn.written = {1, 0}; }), "") << "the Write view";
}

}  // namespace
}  // namespace attn::app::test
