#include "app/session/history.hpp"

#include <gtest/gtest.h>

namespace attn::app {
namespace {

Document with_text(const std::string& text) {
    Document document;
    document.texts = {text};
    return document;
}

std::string text_of(const DocumentHistory& history) { return history.current()->texts.at(0); }

TEST(DocumentHistory, UndoesAndRedoesInOrder) {
    DocumentHistory history(with_text("a"));
    EXPECT_FALSE(history.can_undo());
    EXPECT_FALSE(history.undo());
    EXPECT_TRUE(history.change(with_text("b"), ""));
    EXPECT_TRUE(history.change(with_text("c"), ""));
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

TEST(DocumentHistory, AChangeDropsWhatWasUndone) {
    DocumentHistory history(with_text("a"));
    history.change(with_text("b"), "");
    history.undo();
    history.change(with_text("c"), "");
    EXPECT_FALSE(history.can_redo());
    history.undo();
    EXPECT_EQ(text_of(history), "a");
}

TEST(DocumentHistory, AnEqualDocumentIsNoStep) {
    DocumentHistory history(with_text("a"));
    const auto before = history.current();
    EXPECT_FALSE(history.change(with_text("a"), ""));
    EXPECT_FALSE(history.can_undo());
    EXPECT_EQ(history.current(), before);
}

TEST(DocumentHistory, StepsOfOneNameJoin) {
    DocumentHistory history(with_text("a"));
    for (const char* text : {"b", "c", "d"}) history.change(with_text(text), "slider");
    EXPECT_EQ(text_of(history), "d");
    history.undo();
    EXPECT_EQ(text_of(history), "a");
    history.redo();
    EXPECT_EQ(text_of(history), "d");
}

TEST(DocumentHistory, OtherNamesAndNoNameDoNotJoin) {
    DocumentHistory history(with_text("a"));
    history.change(with_text("b"), "one");
    history.change(with_text("c"), "two");
    history.change(with_text("d"), "");
    history.change(with_text("e"), "");
    for (const char* text : {"d", "c", "b", "a"}) {
        ASSERT_TRUE(history.undo());
        EXPECT_EQ(text_of(history), text);
    }
}

TEST(DocumentHistory, UndoAndRedoEndAJoiningStep) {
    DocumentHistory history(with_text("a"));
    history.change(with_text("b"), "slider");
    history.change(with_text("c"), "");
    history.undo();
    history.change(with_text("d"), "slider");
    history.undo();
    EXPECT_EQ(text_of(history), "b");
}

TEST(DocumentHistory, AStepThatEndsWhereItBeganIsNone) {
    DocumentHistory history(with_text("a"));
    history.change(with_text("b"), "slider");
    EXPECT_TRUE(history.change(with_text("a"), "slider"));
    EXPECT_EQ(text_of(history), "a");
    EXPECT_FALSE(history.can_undo());
    // The drag goes on: one step again.
    history.change(with_text("c"), "slider");
    history.change(with_text("d"), "slider");
    history.undo();
    EXPECT_EQ(text_of(history), "a");
    EXPECT_FALSE(history.can_undo());
}

TEST(DocumentHistory, IsBounded) {
    DocumentHistory history(with_text("0"));
    const int changes = static_cast<int>(DocumentHistory::kMaxSteps) + 20;
    for (int i = 1; i <= changes; ++i) history.change(with_text(std::to_string(i)), "");
    int steps = 0;
    while (history.undo()) ++steps;
    EXPECT_EQ(steps, static_cast<int>(DocumentHistory::kMaxSteps));
    EXPECT_EQ(text_of(history), "20");
}

}  // namespace
}  // namespace attn::app
