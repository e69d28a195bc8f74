/// What is said of new words.

#include "app/session/document/new_words.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/session/document/presets.hpp"

namespace attn::app {
namespace {

using testing::HasSubstr;
using Texts = std::vector<std::string>;

constexpr const char* kScooter = "Tom gives a red scooter to Sofia because she is sad. Who has the scooter?";

Document document_about(Texts texts) {
    Document document = open_preset("stories");
    document.texts = std::move(texts);
    return document;
}

TEST(NewWordsSentence, NamesThem) {
    EXPECT_EQ(new_words_sentence(Texts{}, 8), "");
    EXPECT_EQ(new_words_sentence(Texts{"scooter"}, 8),
              "“scooter” is new to this model: it can follow it through the story, but it has only "
              "read stories of this kind.");
    EXPECT_EQ(new_words_sentence(document_about({kScooter})),
              "“scooter” and “Sofia” are new to this model: it can follow them through the story, but it "
              "has only read stories of this kind.");
    EXPECT_THAT(new_words_sentence(Texts{"a", "b", "c"}, 8), HasSubstr("“a”, “b” and “c” are new"));
    EXPECT_THAT(new_words_sentence(Texts{"a", "b", "c", "d", "e"}, 8), HasSubstr("“a”, “b” and 3 others are new"));
    EXPECT_THAT(new_words_sentence(document_about({"a1 a2 a3 a4 a5 a6 a7 a8 a9"})),
                HasSubstr("it can tell 8 new words apart and reads “a8” and those after it as one, but"));
    EXPECT_EQ(new_words_sentence(document_about({"Tom has the ball."})), "");
    EXPECT_EQ(new_words_sentence(open_preset("self-attention")), "");
    EXPECT_EQ(new_words_of(document_about({"scooter", "Sofia scooter"})), (Texts{"scooter", "Sofia"}));
}

}  // namespace
}  // namespace attn::app
