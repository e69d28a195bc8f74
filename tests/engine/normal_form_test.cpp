/// Cases from UAX #15; the complete Unicode data is utf8proc's responsibility.

#include "engine/tokenizer/normal_form.hpp"

#include <gtest/gtest.h>

namespace attn {
namespace {

std::string in_form(std::string_view text, NormalForm form) { return normal_form(AlignedText::of(text), form).text; }

TEST(NormalForm, ComposesAndDecomposes) {
    EXPECT_EQ(in_form("e\u0301", NormalForm::C), "\u00E9");
    EXPECT_EQ(in_form("\u00E9", NormalForm::D), "e\u0301");
    EXPECT_EQ(in_form("\u212B", NormalForm::C), "\u00C5");
    EXPECT_EQ(in_form("\uFB01", NormalForm::C), "\uFB01");
    EXPECT_EQ(in_form("\uFB01", NormalForm::KC), "fi");
    EXPECT_EQ(in_form("\u2460", NormalForm::KD), "1");
    EXPECT_EQ(in_form("", NormalForm::C), "");
}

TEST(NormalForm, MarksAreOrderedAndBlockOthers) {
    EXPECT_EQ(in_form("a\u0301\u0323", NormalForm::D), "a\u0323\u0301");
    EXPECT_EQ(in_form("a\u0301\u0323", NormalForm::C), "\u1EA1\u0301");
    EXPECT_EQ(in_form("a\u0315\u0301", NormalForm::C), "\u00E1\u0315");
    EXPECT_EQ(in_form("a\u0305\u0301", NormalForm::C), "a\u0305\u0301") << "a mark of the same class between the two";
    EXPECT_EQ(in_form("\u0958", NormalForm::C), "\u0915\u093C") << "excluded from composition";
}

TEST(NormalForm, ComposesHangul) {
    EXPECT_EQ(in_form("\u1107\u116E", NormalForm::C), "\uBD80");
    EXPECT_EQ(in_form("\u1107\u116E\u11A8", NormalForm::C), "\uBD81");
    EXPECT_EQ(in_form("\uBD80\u11A7", NormalForm::C), "\uBD80\u11A7") << "not a final consonant";
    EXPECT_EQ(in_form("\uBD81", NormalForm::D), "\u1107\u116E\u11A8");
}

TEST(NormalForm, KnowsWhereEveryByteComesFrom) {
    const AlignedText composed = normal_form(AlignedText::of("xe\u0301y"), NormalForm::C);
    EXPECT_EQ(composed.origins, (std::vector<Origin>{{0, 1}, {1, 2}, {1, 2}, {4, 5}}));
    const AlignedText decomposed = normal_form(AlignedText::of("\u00E9y"), NormalForm::D);
    EXPECT_EQ(decomposed.origins, (std::vector<Origin>{{0, 2}, {0, 2}, {0, 2}, {2, 3}}));
}

}  // namespace
}  // namespace attn
