/// Letters missing in the embedded fonts come from system fonts, if available.

#include "app/platform/system_fonts.hpp"

#include <gtest/gtest.h>
#include <imgui.h>

#include <algorithm>
#include <cstdlib>

#include "app/platform/fonts.hpp"
#include "app/platform/offscreen.hpp"
#include "app/widgets/imgui_compat.hpp"
#include "app/widgets/letters.hpp"
#include "app/widgets/text.hpp"
#include "app/widgets/token_chips.hpp"

namespace attn::app {
namespace {

TEST(SystemFonts, AreAskedForWhatOursLackOnly) {
    EXPECT_EQ(letters_lacking(U"abcäж→"), U"");
    EXPECT_EQ(letters_lacking(U"a\u05E9b\u6211"), U"\u05E9\u6211");
    EXPECT_EQ(letters_of("a\xD7\xA9\xFF!"), U"a\u05E9!");
    EXPECT_TRUE(has_right_to_left("a \xD7\xA9"));
    EXPECT_FALSE(has_right_to_left("abc \xE6\x88\x91"));
    EXPECT_TRUE(fonts_with(U"").empty());
}

TEST(SystemFonts, GiveTheLettersOfOtherScripts) {
    const LetterSet hebrew = U"\u05D0\u05E9\u05EA";
    const std::vector<SystemFont> fonts = fonts_with(hebrew);
    if (fonts.empty()) GTEST_SKIP() << "this system has no Hebrew font";
    LetterSet all;
    for (const SystemFont& font : fonts) {
        EXPECT_TRUE(std::filesystem::exists(font.file)) << font.file;
        all += font.letters;
    }
    std::sort(all.begin(), all.end());
    EXPECT_EQ(all, hebrew);
    ImFontAtlas without, with;
    const std::vector<ReadFont> more = read_system_fonts(hebrew);
    const Fonts plain = add_fonts(without, 1), rich = add_fonts(with, 1, more);
    without.Build();
    with.Build();
    EXPECT_EQ(plain.body->FindGlyphNoFallback(0x05E9), nullptr);
    for (ImFont* font : {rich.body, rich.mono, rich.mono_body, rich.label}) EXPECT_NE(font->FindGlyphNoFallback(0x05E9), nullptr);
    EXPECT_NE(rich.body->FindGlyphNoFallback('a'), nullptr);
}

TEST(SystemFonts, AreFoundForWhateverIsShown) {
    const std::string shin = "\xD7\xA9", nonesuch = "\xEF\xBF\xBE";
    if (fonts_with(U"\u05E9").empty()) GTEST_SKIP() << "this system has no Hebrew font";
    std::vector<std::string> seen;
    render_offscreen({64, 48, 1, true, 4, {}}, [&](Frame&) { seen.push_back(visible_text(shin + nonesuch)); });
    EXPECT_EQ(seen, (std::vector<std::string>{"U+05E9+FFFE", shin + "U+FFFE", shin + "U+FFFE", shin + "U+FFFE"}));
    // The text that is being edited is drawn by ImGui itself.
    TextEdit edit;
    begin_text_edit(edit, shin);
    bool has_it = false;
    const auto draw_field = [&](Frame& frame) {
        has_it = has_glyph(0x05E9);
        ImGui::Begin("window");
        text_edit(Ui{frame.theme, frame.canvas}, "##edit", edit, 40);
        ImGui::End();
    };
    render_offscreen({64, 48, 1, true, 3, {}}, draw_field);
    EXPECT_TRUE(has_it);
}

/// Bytes requested by ImGui.
std::size_t asked_of_imgui = 0;

TEST(SystemFonts, AreReadWhereTheyLie) {
    ImGuiMemAllocFunc allocate = nullptr;
    ImGuiMemFreeFunc free = nullptr;
    void* user = nullptr;
    ImGui::GetAllocatorFunctions(&allocate, &free, &user);
    asked_of_imgui = 0;
    ImGui::SetAllocatorFunctions(
        [](std::size_t bytes, void*) {
            asked_of_imgui += bytes;
            return std::malloc(bytes);
        },
        [](void* pointer, void*) { std::free(pointer); });
    {
        ImFontAtlas atlas;
        add_fonts(atlas, 1);
        EXPECT_LT(asked_of_imgui, 200U << 10) << "each of them is larger, and there are dozens of sizes";
        EXPECT_GT(asked_of_imgui, 0U);
    }
    ImGui::SetAllocatorFunctions(allocate, free, user);
}

}  // namespace
}  // namespace attn::app
