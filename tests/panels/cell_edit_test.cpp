/// Editing numbers with mouse and keyboard: the field, the menu, the list.

#include <gtest/gtest.h>

#include "app/panels/edit/cell_edit.hpp"
#include "app/panels/edit/edit_words.hpp"
#include "app/panels/frame/frame.hpp"
#include "app/panels/kit/navigation.hpp"
#include "app/panels/views/look_at_line.hpp"
#include "app/session/document/presets.hpp"
#include "app/session/session.hpp"
#include "tests/support/interface_fixture.hpp"
#include "tests/support/item_finder.hpp"

namespace attn::app::test {
namespace {

class CellEditTest : public InterfaceFixture {
protected:
    CellEditTest() {
        session = std::make_unique<Session>(open_preset("causal-attention"), [] {});
        session->wait();
        view.stage = {Stage::Scores, 0};
        frames(3, ui_frame);
    }

    const std::vector<Edit>& edits() const { return session->document().forward.edits; }
    float value(Stage stage, std::int64_t head, std::int64_t row, std::int64_t column) const {
        return trace().find({stage, 0})->value(0, head, row, column);
    }

    /// The centre of a cell of the current stage's map, which is the largest on screen.
    ImVec2 middle_of(std::int64_t row, std::int64_t column) {
        canvas.calls.clear();
        frame(ui_frame);
        NullCanvas::Call best;
        float area = -1;
        for (const auto& call : canvas.calls) {
            const float size = (call.max.x - call.min.x) * (call.max.y - call.min.y);
            if (size <= area) continue;
            area = size;
            best = call;
        }
        const auto& data = best.request.data;
        return {best.min.x + (best.max.x - best.min.x) * (static_cast<float>(column) + 0.5F) / static_cast<float>(data.cols),
                best.min.y + (best.max.y - best.min.y) * (static_cast<float>(row) + 0.5F) / static_cast<float>(data.rows)};
    }
    void double_click(ImVec2 at) {
        click(at.x, at.y, ui_frame);
        click(at.x, at.y, ui_frame);
        frames(2, ui_frame);
    }
    std::string words(std::size_t i) {
        std::string out;
        with_context([&](PanelContext& context) {
            const EditWords words = words_of(context, edits().at(i));
            out = words.place + ": " + words.what;
        });
        return out;
    }
};

TEST_F(CellEditTest, EnterOnTheNumberThatIsThereChangesNothing) {
    double_click(middle_of(3, 1));
    ASSERT_TRUE(any_popup_open());
    press(Key::Enter, ui_frame);
    frames(2, ui_frame);
    EXPECT_FALSE(any_popup_open());
    EXPECT_TRUE(edits().empty());
}

TEST_F(CellEditTest, EnterHeldDownOpensTheFieldAndDoesNotConfirmIt) {
    view.locked.set(Axis::T, 3);
    view.locked.set(Axis::S, 1);
    hold(Key::Enter, true);
    frames(2, ui_frame);
    ASSERT_TRUE(any_popup_open());
    view.edits.typed = "7";  // as if the field had contents
    frames(60, ui_frame);    // longer than a key takes to repeat
    EXPECT_TRUE(edits().empty());
    EXPECT_TRUE(any_popup_open());
    hold(Key::Enter, false);
    frames(3, ui_frame);
    type("4", ui_frame);
    press(Key::Enter, ui_frame);
    frames(2, ui_frame);
    ASSERT_EQ(edits().size(), 1U) << "the keyboard is in the field again";
    EXPECT_EQ(edits()[0].value, 4);
}

TEST_F(CellEditTest, ADoubleClickOpensAFieldAndEnterSetsTheNumber) {
    const float before = value(Stage::Weights, 0, 3, 1);
    double_click(middle_of(3, 1));
    ASSERT_TRUE(any_popup_open());
    EXPECT_EQ(view.locked.on(Axis::T), 3);
    EXPECT_EQ(view.locked.on(Axis::S), 1);
    type("2.5", ui_frame);
    press(Key::Enter, ui_frame);
    frames(2, ui_frame);
    EXPECT_FALSE(any_popup_open());
    ASSERT_EQ(edits().size(), 1U);
    EXPECT_EQ(value(Stage::Scores, 0, 3, 1), 2.5F);
    EXPECT_NE(value(Stage::Weights, 0, 3, 1), before);
    EXPECT_EQ(words(0), "scores, layer 0, head 0, text 1: row 3 ‘" + session->snapshot()->tokens[0][3].text + "’, key 1 ‘" +
                            session->snapshot()->tokens[0][1].text + "’ set to 2.5");
    session->apply({command::Undo{}, ""});
    session->wait();
    EXPECT_TRUE(edits().empty());
    EXPECT_EQ(value(Stage::Weights, 0, 3, 1), before);
}

/// The button is drawn after the map in which the field opens.
TEST_F(CellEditTest, TheButtonOpensTheFieldToo) {
    view.locked.set(Axis::T, 3);
    view.locked.set(Axis::S, 1);
    frames(3, ui_frame);
    ASSERT_TRUE(press_control("Change this cell"));
    ASSERT_TRUE(any_popup_open());
    type("0.5", ui_frame);
    press(Key::Enter, ui_frame);
    frames(2, ui_frame);
    ASSERT_EQ(edits().size(), 1U);
    EXPECT_EQ(value(Stage::Scores, 0, 3, 1), 0.5F);
    with_context([](PanelContext& context) { EXPECT_EQ(eye_sentence(context).find("You set this cell to 0.5. "), 0U); });
    view.locked.set(Axis::S, 2);
    frames(2, ui_frame);
    with_context([](PanelContext& context) { EXPECT_EQ(eye_sentence(context).find("You set"), std::string::npos); });
    // A cell that no map on screen has leaves nothing that opens a field later.
    view.view = View::Train;
    frames(2, ui_frame);
    with_context([](PanelContext& context) { edit_chosen_cell(context); });
    frames(3, ui_frame);
    view.view = View::Step;
    frames(3, ui_frame);
    EXPECT_FALSE(any_popup_open());
}

TEST_F(CellEditTest, TypingTheSameNumberTwiceIsOneLine) {
    for (const char* text : {"1", "-4"}) {
        double_click(middle_of(2, 2));
        type(text, ui_frame);
        press(Key::Enter, ui_frame);
        frames(2, ui_frame);
    }
    ASSERT_EQ(edits().size(), 1U);
    EXPECT_EQ(edits()[0].value, -4);
}

TEST_F(CellEditTest, EscapeCancelsAndNonsenseIsKeptInTheField) {
    double_click(middle_of(2, 1));
    type("7", ui_frame);
    press(Key::Escape, ui_frame);
    frames(2, ui_frame);
    EXPECT_FALSE(any_popup_open());
    EXPECT_TRUE(edits().empty());

    double_click(middle_of(2, 1));
    type("seven", ui_frame);
    press(Key::Enter, ui_frame);
    frames(2, ui_frame);
    EXPECT_TRUE(any_popup_open());
    EXPECT_NE(view.edits.problem, "");
    EXPECT_TRUE(edits().empty());
}

TEST_F(CellEditTest, AfterARefusedNumberTheNextOneIsTypedOverIt) {
    double_click(middle_of(2, 1));
    for (const auto& [typed, problem] :
         {std::pair{"1e999", "Use a number between"}, {"-1e999", "Use a number between"}, {"2e", "This is not a number."}}) {
        type(typed, ui_frame);
        press(Key::Enter, ui_frame);
        frames(3, ui_frame);
        EXPECT_EQ(view.edits.problem.rfind(problem, 0), 0U) << typed << ": " << view.edits.problem;
        EXPECT_TRUE(edits().empty());
    }
    type("0.7", ui_frame);
    press(Key::Enter, ui_frame);
    frames(2, ui_frame);
    EXPECT_FALSE(any_popup_open());
    ASSERT_EQ(edits().size(), 1U);
    EXPECT_EQ(edits()[0].value, 0.7);
    // Smaller than any double: 0.
    double_click(middle_of(2, 1));
    type("1e-999", ui_frame);
    press(Key::Enter, ui_frame);
    frames(2, ui_frame);
    ASSERT_EQ(edits().size(), 1U);
    EXPECT_EQ(edits()[0].value, 0);
}

TEST_F(CellEditTest, EnterOpensTheFieldOfTheLockedCell) {
    const ImVec2 at = middle_of(4, 2);
    click(at.x, at.y, ui_frame);
    press(Key::Enter, ui_frame);
    frames(2, ui_frame);
    ASSERT_TRUE(any_popup_open());
    type("0,5", ui_frame);
    press(Key::Enter, ui_frame);
    frames(2, ui_frame);
    ASSERT_EQ(edits().size(), 1U);
    EXPECT_EQ(edits()[0].value, 0.5);
    EXPECT_EQ(value(Stage::Scores, 0, 4, 2), 0.5F);
}

TEST_F(CellEditTest, MaskedCellsAndProbabilitiesSayWhyTheyCannotBeSet) {
    view.stage = {Stage::Masked, 0};
    double_click(middle_of(1, 3));
    EXPECT_NE(view.edits.refusal.find("Masked"), std::string::npos);
    type("1", ui_frame);
    press(Key::Enter, ui_frame);
    press(Key::Escape, ui_frame);
    frames(2, ui_frame);
    EXPECT_TRUE(edits().empty());
    EXPECT_FALSE(any_popup_open());
}

TEST_F(CellEditTest, AnExplanationDoesNotKeepTheKeys) {
    view.stage = {Stage::Masked, 0};
    view.locked.set(Axis::T, 0);
    view.locked.set(Axis::S, 2);
    press(Key::Enter, ui_frame);
    frames(2, ui_frame);
    ASSERT_TRUE(any_popup_open());
    ASSERT_FALSE(view.edits.refusal.empty());
    type("b", ui_frame);
    frames(2, ui_frame);
    EXPECT_TRUE(view.compare.on());
    EXPECT_FALSE(any_popup_open());
}

TEST_F(CellEditTest, TheRightButtonOpensTheMenuAndTheNumberStaysChosen) {
    const ImVec2 at = middle_of(3, 1);
    click(at.x, at.y, ui_frame, 1);
    frames(2, ui_frame);
    EXPECT_TRUE(any_popup_open());
    EXPECT_EQ(view.locked.on(Axis::T), 3);
    press(Key::Escape, ui_frame);
    frames(2, ui_frame);
    EXPECT_FALSE(any_popup_open());
}

TEST_F(CellEditTest, AChipLeadsToEditsWhoseListIsOutOfSight) {
    const auto chip = [&] {
        move_mouse(2, 2);
        frames(3, ui_frame);
        const auto hover = [&](float x, float y) {
            move_mouse(x, y);
            frame(ui_frame);
        };
        return find_item("##text", {"##edits_in_force"}, hover, 30, 12);
    };
    view.settings.folded = {"edits", "what if"};
    EXPECT_EQ(chip(), std::nullopt) << "there are none";
    ForwardSettings forward = session->document().forward;
    forward.edits = {{.at = {Stage::Scores, 0}, .row = 1, .column = 0, .value = 1},
                     {.at = {Stage::Scores, 0}, .row = 2, .column = 0, .value = 1, .on = false}};
    session->apply({command::SetForward{forward}, ""});
    session->wait();
    for (const View shown : {View::Train, View::Precision, View::Step}) {
        view.view = shown;
        EXPECT_EQ(chip().has_value(), shown == View::Step)
            << static_cast<int>(shown) << ": where edits count for nothing, they have no list";
    }
    auto place = chip();
    ASSERT_TRUE(place);
    click(place->x, place->y, ui_frame);
    EXPECT_FALSE(view.settings.folded.contains("edits"));
    EXPECT_EQ(chip(), std::nullopt) << "the list is in sight";
    view.panes.left = view.panes.left_open = false;
    place = chip();
    ASSERT_TRUE(place);
    click(place->x, place->y, ui_frame);
    EXPECT_TRUE(view.panes.left_open);
    EXPECT_EQ(chip(), std::nullopt);
    view.panes.left_open = false;
    forward.edits[0].on = false;
    session->apply({command::SetForward{forward}, ""});
    session->wait();
    EXPECT_EQ(chip(), std::nullopt) << "none is in force";
    forward.edits = {{.at = {Stage::Scores, 0}, .sequence = 0, .head = 0, .row = 1, .column = 3, .value = 1}};
    session->apply({command::SetForward{forward}, ""});
    EXPECT_EQ(session->wait()->edits_in_vain.front(), "masked: takes no part");
    for (const ImVec2 size : {ImVec2{1600, 900}, ImVec2{640, 480}}) {
        ImGui::GetIO().DisplaySize = size;
        EXPECT_TRUE(chip()) << size.x << ": without its reason, if there is no room for it";
    }
}

TEST_F(CellEditTest, EveryViewDrawsEveryKindOfEdit) {
    ForwardSettings forward = session->document().forward;
    Edit edit;
    edit.at = {Stage::Weights, 0};
    edit.head = 0;
    edit.kind = EditKind::Freeze;
    forward.edits.push_back(edit);
    edit.pattern = Pattern::Previous, edit.row = 2;
    forward.edits.push_back(edit);
    edit.at = {Stage::Q, 0}, edit.kind = EditKind::TakeRow, edit.from = 1;
    forward.edits.push_back(edit);
    edit.at = {Stage::Context, 0}, edit.kind = EditKind::Scale, edit.row = Edit::kAll;
    forward.edits.push_back(edit);
    edit.at = {Stage::Q, 7}, edit.kind = EditKind::Set, edit.row = 99;
    forward.edits.push_back(edit);
    session->apply({command::SetForward{forward}, ""});
    session->wait();
    EXPECT_EQ(words(0), "weights, layer 0, head 0: every row set to uniform");
    EXPECT_EQ(words(3), "context, layer 0, head 0: every row removed");
    for (const View shown : {View::Step, View::Heads, View::Grid, View::KnockOut, View::Train}) {
        view.view = shown;
        frames(3, ui_frame);
        EXPECT_GT(vertices(), 0);
    }
}

class OtherTextTest : public CellEditTest {
protected:
    OtherTextTest() {
        Document document = open_preset("causal-attention");
        document.texts = {"the cat sat", "the dog ran"};
        session = std::make_unique<Session>(std::move(document), [] {});
        session->wait();
        view.stage = {Stage::Q, 0};
        frames(3, ui_frame);
    }
    /// Clicks upwards through the menu of a number until something happens; its last item comes first. `opened` is called for each menu.
    bool click_upwards(const std::function<void()>& opened, const std::function<bool()>& happened) {
        const ImVec2 at = middle_of(1, 0);
        for (float y = 880; y > 20; y -= 9) {
            if (!any_popup_open()) {
                click(at.x, at.y, ui_frame, 1);
                frames(2, ui_frame);
                opened();
            }
            frames(2, ui_frame);
            click(at.x + 60, y, ui_frame);
            frames(2, ui_frame);
            if (happened()) return true;
        }
        return false;
    }
};

TEST_F(OtherTextTest, AHeadTakesTheNumbersOfAnotherText) {
    ASSERT_TRUE(click_upwards([] {}, [&] { return view.edits.picking == EditState::Picking::Text; }));
    ASSERT_TRUE(edits().empty());
    const float others = trace().find({Stage::Q, 0})->value(1, 0, 1, 0);
    ASSERT_NE(value(Stage::Q, 0, 1, 0), others);
    press(Key::Escape, ui_frame);
    ASSERT_TRUE(click_upwards([&] { view.edits.picking = EditState::Picking::Text; }, [&] { return !edits().empty(); }));
    session->wait();
    frames(2, ui_frame);
    ASSERT_EQ(edits().size(), 1U);
    EXPECT_EQ(words(0), "q, layer 0, head 0, text 1: every row taken from text 2");
    EXPECT_EQ(value(Stage::Q, 0, 1, 0), others);
}

TEST_F(OtherTextTest, RowsSayWhereTheyComeFrom) {
    ForwardSettings forward = session->document().forward;
    forward.edits = {{.kind = EditKind::TakeRow, .at = {Stage::Q, 0}, .sequence = 0, .head = 0, .row = 1, .from = 1, .from_sequence = 1},
                     {.kind = EditKind::TakeRow, .at = {Stage::Q, 0}, .sequence = 0, .head = 0, .row = 1, .from = 2, .from_sequence = 1},
                     {.kind = EditKind::TakeRow, .at = {Stage::Q, 0}, .sequence = 0, .head = 0, .row = 1, .from = 2}};
    session->apply({command::SetForward{forward}, ""});
    session->wait();
    EXPECT_EQ(words(0), "q, layer 0, head 0, text 1: row 1 ‘cat’ taken from text 2");
    EXPECT_EQ(words(1), "q, layer 0, head 0, text 1: row 1 ‘cat’ taken from text 2, 2 ‘ran’");
    EXPECT_EQ(words(2), "q, layer 0, head 0, text 1: row 1 ‘cat’ taken from 2 ‘sat’");
}

TEST_F(CellEditTest, BytesAreNamedAsOnChips) {
    Document document = open_preset("causal-attention");
    document.tokenizer = TokenizerKind::Byte;
    document.texts = {"a\u00E9"};
    document.forward.edits = {{.at = {Stage::Scores, 0}, .row = 1, .column = 2, .value = 1}};
    session = std::make_unique<Session>(std::move(document), [] {});
    session->wait();
    EXPECT_NE(words(0).find("row 1 ‘C3’, key 2 ‘A9’"), std::string::npos) << words(0);
}

}  // namespace
}  // namespace attn::app::test
