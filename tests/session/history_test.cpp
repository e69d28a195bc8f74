#include "app/session/history.hpp"

#include <gtest/gtest.h>

namespace attn::app {
namespace {

Document document_of(const std::string& text) {
    Document document;
    document.texts = {text};
    return document;
}

std::string text_of(const DocumentHistory& history) { return history.current()->texts.at(0); }

TEST(DocumentHistory, UndoesAndRedoesInOrder) {
    DocumentHistory history(document_of("a"));
    EXPECT_FALSE(history.can_undo());
    EXPECT_FALSE(history.undo());
    EXPECT_TRUE(history.change(document_of("b"), ""));
    EXPECT_TRUE(history.change(document_of("c"), ""));
    EXPECT_TRUE(history.undo());
    EXPECT_EQ(text_of(history), "b");
    EXPECT_TRUE(history.undo());
    EXPECT_EQ(text_of(history), "a");
    EXPECT_FALSE(history.can_undo());
    EXPECT_TRUE(history.redo());
    EXPECT_TRUE(history.redo());
    EXPECT_EQ(text_of(history), "c");
    EXPECT_FALSE(history.redo());
}

TEST(DocumentHistory, NamesWhatWouldBeUndone) {
    DocumentHistory history(document_of("a"));
    EXPECT_EQ(history.undone_part(), "");
    history.change(document_of("b"), "");
    EXPECT_EQ(history.undone_part(), "the text");
    Document pinned = document_of("b");
    pinned.pins.a = State{std::make_shared<const app::Setup>(pinned), {}};
    history.change(pinned, "");
    pinned.forward.edits.push_back({});
    history.change(pinned, "");
    EXPECT_EQ(history.undone_part(), "an edit");
    history.undo();
    EXPECT_EQ(history.undone_part(), "the pin");
    EXPECT_EQ(history.redone_part(), "an edit");
    history.undo();
    EXPECT_EQ(history.undone_part(), "the text");
    EXPECT_EQ(history.redone_part(), "the pin");
    Document next = document_of("b");
    next.preset = "stories";
    next.config.num_layers = 7;
    history.change(next, "");
    EXPECT_EQ(history.undone_part(), "opening the example") << "not one of its settings";
    next.preset.clear();
    next.trained = TrainedModel{1, 2};
    history.change(next, "");
    EXPECT_EQ(history.undone_part(), "the moment of the run");
    history.undo();
    history.undo();
    history.begin_here();
    EXPECT_EQ(history.undone_part(), "");
    EXPECT_EQ(history.redone_part(), "");
    EXPECT_FALSE(history.undo());
    EXPECT_EQ(text_of(history), "b");
}

/// Of what was shown for a while, undo knows nothing once the document from before is back.
TEST(DocumentHistory, AVisitLeavesNoSteps) {
    DocumentHistory history(document_of("a"));
    history.change(document_of("b"), "");
    history.change(document_of("c"), "");
    history.undo();
    history.begin_visit();
    for (const char* text : {"v", "w"}) history.change(document_of(text), "");
    history.undo();
    history.undo();
    history.undo();
    EXPECT_EQ(text_of(history), "a") << "also from before the visit";
    history.change(document_of("x"), "");
    history.change(document_of("b"), "");
    history.end_visit();
    EXPECT_TRUE(history.redo());
    EXPECT_EQ(text_of(history), "c");
    history.undo();
    EXPECT_EQ(text_of(history), "b");
    history.undo();
    EXPECT_EQ(text_of(history), "a");
    EXPECT_FALSE(history.can_undo());
    history.end_visit();
    EXPECT_EQ(text_of(history), "a") << "there was none";
}

TEST(DocumentHistory, AVisitThatEndsElsewhereIsOneStep) {
    DocumentHistory history(document_of("a"));
    history.change(document_of("b"), "");
    history.begin_visit();
    for (const char* text : {"v", "w", "x"}) history.change(document_of(text), "");
    history.end_visit();
    EXPECT_EQ(history.undone_part(), "the text");
    history.undo();
    EXPECT_EQ(text_of(history), "b");
    history.redo();
    EXPECT_EQ(text_of(history), "x");
    history.begin_visit();
    history.change(document_of("file"), "");
    history.begin_subject();
    history.change(document_of("x"), "");
    history.end_visit();
    history.undo();
    EXPECT_EQ(text_of(history), "file") << "what was opened meanwhile stays";
}

TEST(DocumentHistory, StepsStayWithinTheirLimitAfterAVisit) {
    DocumentHistory history(document_of("a"));
    const auto change = [&](std::size_t steps) {
        for (std::size_t i = 0; i < steps; ++i) history.change(document_of(i % 2 == 0 ? "b" : "c"), "");
    };
    change(DocumentHistory::kMaxSteps);
    history.begin_visit();
    history.change(document_of("v"), "");
    history.end_visit();
    change(3);
    std::size_t undone = 0;
    while (history.undo() > 0) ++undone;
    EXPECT_EQ(undone, DocumentHistory::kMaxSteps);
}

TEST(DocumentHistory, AChangeDropsWhatWasUndone) {
    DocumentHistory history(document_of("a"));
    history.change(document_of("b"), "");
    history.undo();
    history.change(document_of("c"), "");
    EXPECT_FALSE(history.can_redo());
    history.undo();
    EXPECT_EQ(text_of(history), "a");
}

TEST(DocumentHistory, AnEqualDocumentIsNoStep) {
    DocumentHistory history(document_of("a"));
    const auto before = history.current();
    EXPECT_FALSE(history.change(document_of("a"), ""));
    EXPECT_FALSE(history.can_undo());
    EXPECT_EQ(history.current(), before);
}

TEST(DocumentHistory, StepsOfOneNameJoin) {
    DocumentHistory history(document_of("a"));
    for (const char* text : {"b", "c", "d"}) history.change(document_of(text), "slider");
    EXPECT_EQ(text_of(history), "d");
    history.undo();
    EXPECT_EQ(text_of(history), "a");
    history.redo();
    EXPECT_EQ(text_of(history), "d");
}

TEST(DocumentHistory, OtherNamesAndNoNameDoNotJoin) {
    DocumentHistory history(document_of("a"));
    history.change(document_of("b"), "one");
    history.change(document_of("c"), "two");
    history.change(document_of("d"), "");
    history.change(document_of("e"), "");
    for (const char* text : {"d", "c", "b", "a"}) {
        ASSERT_TRUE(history.undo());
        EXPECT_EQ(text_of(history), text);
    }
}

TEST(DocumentHistory, UndoAndRedoEndAJoiningStep) {
    DocumentHistory history(document_of("a"));
    history.change(document_of("b"), "slider");
    history.change(document_of("c"), "");
    history.undo();
    history.change(document_of("d"), "slider");
    history.undo();
    EXPECT_EQ(text_of(history), "b");
}

TEST(DocumentHistory, AStepThatEndsWhereItBeganIsNone) {
    DocumentHistory history(document_of("a"));
    history.change(document_of("b"), "slider");
    EXPECT_TRUE(history.change(document_of("a"), "slider"));
    EXPECT_EQ(text_of(history), "a");
    EXPECT_FALSE(history.can_undo());
    // The drag continues in the same step.
    history.change(document_of("c"), "slider");
    history.change(document_of("d"), "slider");
    history.undo();
    EXPECT_EQ(text_of(history), "a");
    EXPECT_FALSE(history.can_undo());
}

TEST(DocumentHistory, GoesToASubjectInOneStep) {
    DocumentHistory history(document_of("a"));
    history.change(document_of("a2"), "");
    history.change(document_of("b"), "");
    history.begin_subject();
    history.change(document_of("b2"), "");
    EXPECT_TRUE(history.go_to(0));
    EXPECT_EQ(text_of(history), "a2") << "as it was left";
    EXPECT_EQ(history.subject(), 0U);
    EXPECT_TRUE(history.go_to(1));
    EXPECT_EQ(text_of(history), "b") << "redo reaches its first version first";
    EXPECT_FALSE(history.go_to(7));
    EXPECT_FALSE(history.go_to(0, [](const Document& document) { return document.texts.at(0) == "never"; }));
    EXPECT_EQ(text_of(history), "b");
}

TEST(DocumentHistory, IsBounded) {
    DocumentHistory history(document_of("0"));
    const int changes = static_cast<int>(DocumentHistory::kMaxSteps) + 20;
    for (int i = 1; i <= changes; ++i) history.change(document_of(std::to_string(i)), "");
    int steps = 0;
    while (history.undo()) ++steps;
    EXPECT_EQ(steps, static_cast<int>(DocumentHistory::kMaxSteps));
    EXPECT_EQ(text_of(history), "20");
}

}  // namespace
}  // namespace attn::app
