/// A second tokenizer on the same text: its pieces in the same columns, and the first difference.

#include "app/session/values/other_tokens.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "app/session/document/model_document.hpp"
#include "app/session/document/presets.hpp"
#include "app/session/session.hpp"
#include "app/session/states/kept_tokenizer.hpp"
#include "engine/tokenizer/tokenizer_files.hpp"

namespace attn::app::test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

const fs::path kHubModels = fs::path(ATTN_TEST_DATA) / "golden/hf", kTokenizers = kHubModels / "tokenizers";

Document of_text(const std::string& text) {
    Document document = document_of_model(OpenedModel::open(kHubModels / "gpt2"));
    document.texts = {text};
    return document;
}

OtherTokens beside(const Document& document, const std::string& model) {
    KeptTokenizer kept;
    return other_tokens(document, {}, kept, *read_tokenizer(kTokenizers / model), model);
}

TEST(OtherTokens, AreTheOtherTokenizersInTheOwnColumns) {
    const Document document = of_text("the weights of the reading");
    const OtherTokens other = beside(document, "bert_uncased");
    const auto tokenizer = read_tokenizer(kTokenizers / "bert_uncased");
    const Encoding expected = tokenizer->encode(document.texts[0]);
    ASSERT_EQ(other.tokens.size(), expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_EQ(other.tokens[i].id, expected[i].id);
    EXPECT_EQ(other.path.pieces.size(), expected.size());
    KeptTokenizer kept;
    EXPECT_EQ(other.path.columns.size(), token_path(document, {}, kept).columns.size());
    EXPECT_EQ(other.path.tokenizer.kind, "WordPiece");
    EXPECT_EQ(other.path.tokenizer.pieces, tokenizer->size());
    ASSERT_TRUE(other.difference);
    const auto& found = *other.difference;
    EXPECT_GE(found.first, 0);
    EXPECT_GT(found.last, found.first);
    EXPECT_LE(found.last, static_cast<float>(other.path.columns.size()));
    EXPECT_GT(found.count_own + found.count_other, 2U);
}

TEST(OtherTokens, OfTheSameTokenizerDoNotDiffer) {
    const Document document = of_text("the weights of na\u00EFve \U0001F98A readers");
    KeptTokenizer kept;
    EXPECT_FALSE(other_tokens(document, {}, kept, *read_tokenizer(kHubModels / "gpt2"), "gpt2").difference);
}

TEST(OtherTokens, KnowWhichOwnPiecesCoverTheSame) {
    const Document document = of_text("a na\u00EFve reader, a \U0001F98A of the weights");
    KeptTokenizer kept;
    const TokenPath own = token_path(document, {}, kept);
    const auto trimmed = [](std::string text) {
        text.erase(0, text.find_first_not_of(' '));
        return text.erase(text.find_last_not_of(' ') + 1);
    };
    for (const char* model : {"bert_uncased", "t5", "gemma"}) {
        const OtherTokens other = beside(document, model);
        ASSERT_EQ(other.twins.size(), other.tokens.size());
        std::size_t alike = 0;
        for (std::size_t i = 0; i < other.twins.size(); ++i) {
            if (other.twins[i] < 0) continue;
            ++alike;
            EXPECT_EQ(trimmed(own.pieces.at(static_cast<std::size_t>(other.twins[i])).typed), trimmed(other.path.pieces[i].typed)) << model;
        }
        EXPECT_EQ(other.alike + other.respelled, alike);
        EXPECT_GE(other.alike, 2U) << model << ": the letter a, twice";
        EXPECT_LE(other.of_other_ids, other.alike);
    }
    // The same tokenizer: every piece has a twin, and the same id.
    const OtherTokens same = other_tokens(document, {}, kept, *read_tokenizer(kHubModels / "gpt2"), "gpt2");
    EXPECT_EQ(same.of_other_ids, 0U);
    EXPECT_GT(same.alike, 10U);
}

TEST(OtherTokens, OfALowerCaseTokenizerAreSpelledDifferently) {
    const OtherTokens lower = beside(of_text("a the"), "bert_uncased"), upper = beside(of_text("A the"), "bert_uncased");
    ASSERT_FALSE(lower.difference || upper.difference);
    EXPECT_EQ(lower.alike, 2U);
    EXPECT_EQ(lower.respelled, 0U);
    EXPECT_EQ(upper.alike, 1U);
    EXPECT_EQ(upper.respelled, 1U);
}

/// A bracket around the first difference never ends within a piece.
TEST(OtherTokens, DifferInWholePieces) {
    const auto expect_whole = [](const Document& document, const std::string& model) {
        SCOPED_TRACE(model + " for " + document.texts[0]);
        KeptTokenizer kept;
        const TokenPath own = token_path(document, {}, kept);
        const OtherTokens other = beside(document, model);
        ASSERT_TRUE(other.difference);
        const auto ends_with_pieces = [](const TokenPath& path, const OtherTokens::Span& span) {
            bool begins = false, ends = false;
            for (const TokenPath::Piece& piece : path.pieces) {
                begins |= piece.word >= 0 && piece.first == span.first;
                ends |= piece.word >= 0 && piece.last == span.last;
            }
            return begins && ends && span.first < span.last;
        };
        EXPECT_TRUE(ends_with_pieces(own, other.difference->own_pieces));
        EXPECT_TRUE(ends_with_pieces(other.path, other.difference->other_pieces));
        EXPECT_NE(document.texts[0].find(other.difference->text), std::string::npos);
        EXPECT_FALSE(other.difference->text.empty());
    };
    for (const char* text : {"the weights of na\u00EFve \U0001F98A", "A cat woke Zo\u00EB unhappily \U0001F638.", "\U0001F638 unhappily"})
        for (const char* model : {"bert_uncased", "bert_cased", "t5", "gemma"}) expect_whole(of_text(text), model);
}

/// Columns count characters, not bytes.
TEST(OtherTokens, DifferAtCharacters) {
    const OtherTokens plain = beside(of_text("a e the weights"), "bert_uncased"),
                      wide = beside(of_text("a \u00E9 the weights"), "bert_uncased");
    ASSERT_TRUE(plain.difference && wide.difference);
    EXPECT_EQ(plain.path.columns.size(), wide.path.columns.size());
    EXPECT_LE(wide.difference->last, static_cast<float>(wide.path.columns.size()));
}

TEST(OtherTokens, AreAFacetAndSayInASentenceWhatIsWrong) {
    Session session(of_text("a cat"), [] {});
    const StateRef state = session.wait()->state;
    const auto good = session.compute(state, facet::OtherTokens{{}, (kTokenizers / "bert_uncased").string(), 0});
    ASSERT_TRUE(good) << good.problem;
    EXPECT_EQ(good->name, "bert_uncased");
    const auto missing = session.compute(state, facet::OtherTokens{{}, (kTokenizers / "nothing").string(), 0});
    EXPECT_THAT(missing.problem, HasSubstr("nothing"));
    const auto again = session.compute(state, facet::OtherTokens{{}, (kTokenizers / "bert_uncased").string(), 1});
    EXPECT_TRUE(again) << again.problem;
    Session words(open_preset("gpt-tiny"), [] {});
    const auto none = words.compute(words.wait()->state, facet::OtherTokens{{}, (kTokenizers / "bert_uncased").string(), 0});
    EXPECT_THAT(none.problem, HasSubstr("found in one step"));
}

}  // namespace
}  // namespace attn::app::test
