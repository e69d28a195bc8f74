/// Which of the page's fonts is fetched for letters.

#include "app/web/font_list.hpp"

#include <gtest/gtest.h>

namespace attn::app::test {
namespace {

const std::string kList = "Hebrew.ttf 20 5b0-5ea fb1d\n"
                          "Arabic.ttf 20 600-6ff\n"
                          "Both.ttf 5d0 600-610\n"
                          "\n"
                          "Broken.ttf 5d0-z g-ffff -5d1 5d0_5d2\n";

TEST(FontList, TheFontWithTheMostLettersIsTaken) {
    EXPECT_EQ(best_listed_font(kList, U"\u05d0\u05d1").file, "Hebrew.ttf");
    EXPECT_EQ(best_listed_font(kList, U"\u05d0\u05d1").letters, U"\u05d0\u05d1");
    EXPECT_EQ(best_listed_font(kList, U"\u0620\u0621\u05d0").file, "Arabic.ttf");
    EXPECT_EQ(best_listed_font(kList, U"\u0620\u0621\u05d0").letters, U"\u0620\u0621");
    EXPECT_EQ(best_listed_font(kList, U"\u05d0\u0601").file, "Both.ttf");
}

TEST(FontList, TheEndsOfARangeBelongToIt) {
    for (const char32_t letter : {U'\u05b0', U'\u05ea', U'\ufb1d'}) EXPECT_EQ(best_listed_font(kList, {letter}).letters, LetterSet{letter});
    for (const char32_t letter : {U'\u05af', U'\u05eb', U'\ufb1c', U'\ufb1e'})
        EXPECT_TRUE(best_listed_font(kList, {letter}).letters.empty());
}

TEST(FontList, WhereNoFontHasALetterThereIsNone) {
    EXPECT_TRUE(best_listed_font(kList, U"\u4e00").letters.empty());
    EXPECT_TRUE(best_listed_font("", U"a").letters.empty());
    EXPECT_TRUE(best_listed_font("Broken.ttf 5d0-z g-ffff -5d1 5d0_5d2", U"\u05d0\u05d1\uffff").letters.empty());
}

}  // namespace
}  // namespace attn::app::test
