/// Text in a field: what ImGui cannot store comes back unchanged.

#include "app/widgets/field_text.hpp"

#include "app/platform/imgui_compat.hpp"
#include "app/widgets/path_field.hpp"
#include "app/widgets/text.hpp"
#include "app/widgets/text_field.hpp"
#include "app/widgets/token_chips.hpp"
#include "tests/support/imgui_fixture.hpp"

namespace attn::app {
namespace {

const std::string kEmoji = "a\U0001F355b\U0001F469\u200D\U0001F467 \U0001F355";

TEST(FieldText, WhatFitsStaysAsItIs) {
    FieldText stand_ins;
    EXPECT_EQ(stand_ins.to_field("déjà 猫 \uFFFD"), "déjà 猫 \uFFFD");
    EXPECT_EQ(stand_ins.to_field(""), "");
}

TEST(FieldText, EverythingComesBack) {
    const std::string texts[] = {kEmoji,         "\xFF\xFE",         std::string("a\0b", 3),    "\uE000\uE001",
                                 "\xF0\x9F\x8D", "\uF8FF\U0010FFFF", "one\ntwo\r\n\tthree\x7F", "a sign \u21B5 and a break \n"};
    for (const std::string& text : texts) {
        FieldText stand_ins;
        const std::string field = stand_ins.to_field(text);
        EXPECT_EQ(stand_ins.from_field(field), text);
        for (std::size_t at = 0; at < field.size();) {
            const std::size_t length = character_length(std::string_view(field).substr(at));
            ASSERT_TRUE(length >= 1 && length <= 3) << "what a field can hold";
            ASSERT_GE(static_cast<unsigned char>(field[at]), 0x20) << "control characters would be dropped";
            at += length;
        }
    }
}

TEST(FieldText, BreaksAndTabsAreSeen) {
    FieldText stand_ins;
    EXPECT_EQ(stand_ins.to_field("one\ntwo\tthree"), "one\u21B5two\u21E5three");
}

TEST(FieldText, TheSameCharacterHasOneStandIn) {
    FieldText stand_ins;
    const std::string first = stand_ins.to_field("\U0001F355"), other = stand_ins.to_field("\U0001F356");
    EXPECT_EQ(stand_ins.to_field("\U0001F355"), first);
    EXPECT_NE(other, first);
    EXPECT_EQ(stand_ins.from_field(other + "x" + first), "\U0001F356x\U0001F355") << "moved about in the field";
    EXPECT_EQ(stand_ins.from_field("\uE777"), "\uE777") << "stands for nothing";
}

TEST(FieldText, MoreThanThePrivateAreaHolds) {
    FieldText stand_ins;
    for (int i = 0; i < 6400; ++i) {
        const std::string character{static_cast<char>(0xF0), static_cast<char>(0x90 + i / 4096), static_cast<char>(0x80 + i / 64 % 64),
                                    static_cast<char>(0x80 + i % 64)};
        ASSERT_EQ(stand_ins.from_field(stand_ins.to_field(character)), character) << i;
    }
    EXPECT_EQ(stand_ins.to_field("\U0001F355"), "\uFFFD");
}

class EmojiEdit : public test::ImGuiFixture {
protected:
    EmojiEdit() {
#if IMGUI_VERSION_NUM < 18700
        ImGuiIO& io = ImGui::GetIO();
        io.KeyMap[ImGuiKey_A] = 'A';
        io.KeyMap[ImGuiKey_C] = 'C';
        io.KeyMap[ImGuiKey_V] = 'V';
#endif
    }
    const std::function<void()> contents = [this] {
        if (!edit.editing) return;
        const TextEditResult result = text_edit(ui, "edit", edit, 400);
        changes += result.changed;
    };
    TextEdit edit;
    int changes = 0;
};

TEST_F(EmojiEdit, OpeningATextLeavesItAsItIs) {
    begin_text_edit(edit, kEmoji);
    frames(6, contents);
    EXPECT_EQ(edit.text, kEmoji);
    EXPECT_EQ(changes, 0);
    type("!", contents);
    EXPECT_EQ(edit.text, kEmoji + "!");
    press(Key::Enter, contents);
    EXPECT_EQ(edit.text, kEmoji + "!");
    EXPECT_FALSE(edit.editing);
}

TEST_F(EmojiEdit, TypedCharactersArriveWhole) {
    begin_text_edit(edit, "a");
    frames(4, contents);
    for (const unsigned code : {0x1F642U, 0x4F60U, 0x10FFFFU, 0x10000U, unsigned{'b'}, 0x1F642U}) {
        imgui_compat::add_character(code);
        frame(contents);
    }
    EXPECT_EQ(edit.text, "a\U0001F642\u4F60\U0010FFFF\U00010000b\U0001F642");
}

TEST_F(EmojiEdit, OtherFieldsTakeNoHalves) {
    std::string text = "a";
    PathField path;
    path.text = "b";
    const auto both = [&] {
        text_field(ui, "##text", text, "", 200, {});
        path_field(ui, "##path", path, "");
    };
    const auto type_into = [&](float y) {
        click(60, y, both);
        frames(2, both);
        imgui_compat::add_character(0x1F642);
        frame(both);
        imgui_compat::add_character('c');
        frames(2, both);
    };
    type_into(15);
    EXPECT_TRUE(text == "ac" || text == "ca") << text;
    type_into(50);
    EXPECT_TRUE(path.text == "bc" || path.text == "cb" || path.text == "c") << path.text;
}

TEST(FieldText, HalvesOfCharactersAreJoined) {
    FieldText text;
    EXPECT_EQ(text.typed('a'), unsigned{'a'});
    EXPECT_EQ(text.typed(0xD83D), 0U);
    const unsigned stand_in = text.typed(0xDE42);
    EXPECT_EQ(text.to_field("\U0001F642"),
              std::string({static_cast<char>(0xE0 | stand_in >> 12), static_cast<char>(0x80 | (stand_in >> 6 & 0x3F)),
                           static_cast<char>(0x80 | (stand_in & 0x3F))}));
    EXPECT_EQ(text.typed(0xDE42), 0U) << "a second half alone";
    EXPECT_EQ(text.typed(0xD83D), 0U);
    EXPECT_EQ(text.typed('b'), unsigned{'b'});
    EXPECT_EQ(text.typed(0xDE42), 0U) << "its first half was not the last one typed";
}

TEST_F(EmojiEdit, ACharacterIsErasedAsAWhole) {
    begin_text_edit(edit, "ab\U0001F355");
    frames(4, contents);
    press(Key::Backspace, contents);
    EXPECT_EQ(edit.text, "ab");
}

TEST_F(EmojiEdit, CopyingAndPastingKeepIt) {
    ImGui::SetClipboardText("\U0001F34B");
    begin_text_edit(edit, "a");
    frames(4, contents);
    const auto with_ctrl = [&](char letter) {
        hold_modifiers(true, false);
        press(letter, contents);
        hold_modifiers(false, false);
        frames(2, contents);
    };
    with_ctrl('V');
    EXPECT_EQ(edit.text, "a\U0001F34B");
    with_ctrl('A');
    with_ctrl('C');
    EXPECT_STREQ(ImGui::GetClipboardText(), "a\U0001F34B");
}

}  // namespace
}  // namespace attn::app
