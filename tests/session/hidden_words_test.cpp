/// Hiding words of a text and filling in others.

#include "app/session/states/hidden_words.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <random>

#include "app/session/document/model_document.hpp"
#include "app/session/document/presets.hpp"
#include "app/session/session.hpp"
#include "app/session/states/kept_tokenizer.hpp"
#include "app/session/states/opened_model.hpp"
#include "app/session/values/gradients.hpp"
#include "app/session/values/readings.hpp"
#include "engine/trace/gradient_trace.hpp"
#include "tests/support/temporary_folder.hpp"

namespace attn::app {
namespace {

std::vector<std::string> texts_of(std::string_view text, std::string_view mask) {
    std::vector<std::string> words;
    for (const TextWord& word : words_of(text, mask))
        words.push_back((word.hidden ? "?" : "") + std::string(text.substr(word.begin, word.end - word.begin)));
    return words;
}

TEST(HiddenWords, AreFoundAmongWordsAndSigns) {
    using Words = std::vector<std::string>;
    EXPECT_EQ(texts_of("", "[MASK]"), Words());
    EXPECT_EQ(texts_of(" ,. ", "[MASK]"), Words());
    EXPECT_EQ(texts_of("The cat, isn't it?", "[MASK]"), (Words{"The", "cat", "isn't", "it"}));
    EXPECT_EQ(texts_of("a [MASK] on[MASK]it [MASK", "[MASK]"), (Words{"a", "?[MASK]", "on", "?[MASK]", "it", "MASK"}));
    EXPECT_EQ(texts_of("<mask><mask>", "<mask>"), (Words{"?<mask>", "?<mask>"}));
    EXPECT_EQ(texts_of("Lily and _ .", "_"), (Words{"Lily", "and", "?_"}));
    EXPECT_EQ(texts_of("na\u00EFve \u6F22\u5B57.", "_"), (Words{"na\u00EFve", "\u6F22\u5B57"}));
}

TEST(HiddenWords, SpecialTokensStayWhole) {
    const std::vector<std::string> specials = {"[SEP]", "[SEP2]"};
    const std::string text = "of heads [SEP] it[SEP2]is [SEP a [MASK]";
    std::vector<std::string> special, words;
    for (const TextWord& word : words_of(text, "[MASK]", specials))
        (word.special ? special : words).push_back(text.substr(word.begin, word.end - word.begin));
    EXPECT_EQ(special, (std::vector<std::string>{"[SEP]", "[SEP2]"}));
    EXPECT_EQ(words, (std::vector<std::string>{"of", "heads", "it", "is", "SEP", "a", "[MASK]"}));
}

TEST(HiddenWords, SpecialTokensAreThoseOfTheModel) {
    const test::TemporaryFolder folder;
    const std::filesystem::path golden = std::filesystem::path(ATTN_TEST_DATA) / "golden/hf";
    for (const char* file : {"config.json", "model.safetensors"}) std::filesystem::copy_file(golden / "bert" / file, folder.path() / file);
    std::filesystem::copy_file(golden / "tokenizers/bert_uncased/tokenizer.json", folder.path() / "tokenizer.json");
    std::vector<std::string> words = OpenedModel::open(folder.path())->text().conventions().specials;
    std::sort(words.begin(), words.end());
    EXPECT_EQ(words, (std::vector<std::string>{"[CLS]", "[PAD]", "[SEP]", "[UNK]"})) << "the mask is a hidden word";
    EXPECT_TRUE(conventions_of(open_preset("masked")).specials.empty());
}

TEST(HiddenWords, HaveNoRightAnswerInTheLens) {
    Session session(open_preset("masked"), [] {});
    const auto shown = session.wait();
    ASSERT_NE(shown->trace, nullptr) << shown->problem;
    const auto readings = session.compute(shown->state, facet::Lens{});
    ASSERT_TRUE(readings && readings.value->lens) << readings.problem;
    int hidden = 0;
    for (std::size_t t = 0; t < shown->tokens[0].size(); ++t) {
        const Token& token = shown->tokens[0][t];
        const LensCell& cell = readings.value->lens->at(0, 0, static_cast<std::int64_t>(t));
        hidden += token.text == "_" ? 1 : 0;
        EXPECT_EQ(cell.next, token.text == "_" ? -1 : token.id) << "an encoder predicts the words where they stand";
        EXPECT_EQ(cell.next_rank > 0, token.text != "_");
    }
    EXPECT_EQ(hidden, 1);
    EXPECT_EQ(session.get(facet::Gradients{})->counted, static_cast<std::int64_t>(shown->tokens[0].size()) - 1);
}

TEST(HiddenWords, TakeTheMasksPlace) {
    const std::string mask = "[MASK]";
    EXPECT_EQ(with_filled_in("the [MASK] sat", mask, 0, "cat"), "the cat sat");
    EXPECT_EQ(with_filled_in("the [MASK] sat", mask, 0, " cat"), "the cat sat") << "one space is enough";
    EXPECT_EQ(with_filled_in("the[MASK] sat", mask, 0, " cat"), "the cat sat");
    EXPECT_EQ(with_filled_in("[MASK] sat", mask, 0, " cat"), "cat sat");
    EXPECT_EQ(with_filled_in("the cat [MASK] sat", mask, 0, "##s"), "the cats sat");
    EXPECT_EQ(with_filled_in("[MASK] and [MASK]", mask, 1, "rat"), "[MASK] and rat");
    EXPECT_EQ(with_filled_in("[MASK] and [MASK]", mask, 2, "rat"), "[MASK] and [MASK]");
}

TEST(HiddenWords, ComeBackFromBehindTheMask) {
    std::mt19937 random(5);
    const std::string letters = "ab ,.'-_\u00E9", mask = "[MASK]";
    for (int round = 0; round < 500; ++round) {
        std::string text;
        for (unsigned i = random() % 20; i > 0; --i) text += letters[random() % 8];
        const std::vector<TextWord> words = words_of(text, mask);
        for (std::size_t i = 0; i < words.size(); ++i) {
            const std::string hidden = with_hidden(text, words[i], mask);
            const std::vector<TextWord> left = words_of(hidden, mask);
            ASSERT_EQ(left.size(), words.size()) << text;
            EXPECT_TRUE(left[i].hidden);
            EXPECT_EQ(with_filled_in(hidden, mask, 0, text.substr(words[i].begin, words[i].end - words[i].begin)), text);
        }
    }
}

}  // namespace
}  // namespace attn::app
