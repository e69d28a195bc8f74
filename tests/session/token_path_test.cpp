/// The tokenization steps of a text, laid out in columns of typed characters.

#include "app/session/values/token_path.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <limits>

#include "app/session/document/model_document.hpp"
#include "app/session/document/prepare.hpp"
#include "app/session/states/opened_model.hpp"
#include "engine/io/file_error.hpp"
#include "engine/io/json.hpp"
#include "engine/tensor/error.hpp"
#include "engine/tokenizer/tokenizer_files.hpp"
#include "tests/support/temporary_folder.hpp"

namespace attn::app {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

const fs::path kGoldenModels = fs::path(ATTN_TEST_DATA) / "golden/hf";

/// A small Llama with another tokenizer that has at most as many ids.
Document document_with_tokenizer(const test::TemporaryFolder& folder, const std::string& model, const std::string& tokenizer) {
    for (const auto& entry : fs::directory_iterator(kGoldenModels / model))
        if (entry.path().extension() != ".md" && entry.path().filename().string().find("tokenizer") == std::string::npos)
            fs::copy(entry.path(), folder.path());
    fs::copy(kGoldenModels / "tokenizers" / tokenizer / "tokenizer.json", folder.path());
    return document_of_model(OpenedModel::open(folder.path()));
}

std::vector<std::string> texts_of_cells(const std::vector<TokenPath::Cell>& cells) {
    std::vector<std::string> out;
    for (const TokenPath::Cell& cell : cells) out.push_back(cell.text);
    return out;
}

const TokenPath::Row* row_named(const TokenPath& path, std::string_view name) {
    for (const TokenPath::Row& row : path.rows)
        if (row.name == name) return &row;
    return nullptr;
}

/// The counts are those of the model's tokenizer.json.
TEST(TokenPath, KnowsItsTokenizer) {
    const auto facts = [](const char* name) {
        return token_path(*read_folder_tokenizer(kGoldenModels / "tokenizers" / name), "a").tokenizer;
    };
    EXPECT_EQ(facts("gpt2"), (TokenizerFacts{"byte-level BPE", 366, 109, 1}));
    EXPECT_EQ(facts("llama2").kind, "BPE");
    EXPECT_EQ(facts("bert_cased").kind, "WordPiece");
    EXPECT_EQ(facts("bert_cased").merges, 0U);
    EXPECT_EQ(facts("t5").kind, "Unigram");
}

TEST(TokenPath, HasAColumnForEveryCharacterAndARowForEveryStage) {
    Document document = document_of_model(OpenedModel::open(kGoldenModels / "gpt2"));
    document.texts = {"a cat \U0001F98A."};
    KeptTokenizer tokenizer;
    const TokenPath path = token_path(document, {}, tokenizer);
    ASSERT_EQ(path.columns.size(), 8U);
    EXPECT_EQ(path.columns[6].text, "\U0001F98A");
    EXPECT_GT(path.columns[6].width, path.columns[0].width) << "four bytes need room";
    EXPECT_THAT(texts_of_cells(path.rows.front().cells), ElementsAre("a", " ", "c", "a", "t", " ", "\U0001F98A", "."));
    const TokenPath::Row* words = row_named(path, "words");
    ASSERT_NE(words, nullptr);
    EXPECT_THAT(words->note, HasSubstr("words"));
    ASSERT_EQ(words->pieces.size(), path.words.size());
    const TokenPath::Row* bytes = row_named(path, "bytes");
    ASSERT_NE(bytes, nullptr);
    EXPECT_EQ(bytes->note, "11 bytes");
    EXPECT_THAT(texts_of_cells(bytes->cells), ElementsAre("61", "20", "63", "61", "74", "20", "F0", "9F", "A6", "8A", "2E"));
    EXPECT_FLOAT_EQ(bytes->cells[7].first, 6.25F) << "a quarter of the fox";
    EXPECT_FALSE(bytes->cells[7].same);
    EXPECT_TRUE(bytes->cells[0].same);
}

TEST(TokenPath, PiecesTileTheColumnsAndAreTheTokens) {
    for (const char* text : {"the cat sat", "na\u00EFve \u6F22\u5B57, it's\n\n12", "  two  "}) {
        Document document = document_of_model(OpenedModel::open(kGoldenModels / "gpt2"));
        document.texts = {text};
        KeptTokenizer tokenizer;
        const TokenPath path = token_path(document, {}, tokenizer);
        const Prepared prepared = prepare(document, std::numeric_limits<double>::infinity());
        ASSERT_EQ(path.pieces.size(), prepared.chips.at(0).size());
        float at = 0;
        for (const TokenPath::Piece& piece : path.pieces) {
            EXPECT_NEAR(piece.first, at, 1e-4);
            EXPECT_GE(piece.word, 0);
            at = piece.last;
        }
        EXPECT_NEAR(at, static_cast<float>(path.columns.size()), 1e-4);
    }
}

TEST(TokenPath, BytesOfACharacterShareItsColumn) {
    const test::TemporaryFolder folder;
    Document document = document_with_tokenizer(folder, "gemma2", "gemma");
    document.texts = {"na\u00EFve \U0001F98A."};
    KeptTokenizer tokenizer;
    const TokenPath path = token_path(document, {}, tokenizer);
    const Prepared prepared = prepare(document, std::numeric_limits<double>::infinity());
    ASSERT_EQ(path.pieces.size(), prepared.chips.at(0).size());
    EXPECT_EQ(path.pieces.front().word, -1) << "the template's <bos>";
    float at = 0;
    for (std::size_t i = 1; i < path.pieces.size(); ++i) {
        EXPECT_NEAR(path.pieces[i].first, at, 1e-4) << i;
        EXPECT_GT(path.pieces[i].last, path.pieces[i].first) << i;
        at = path.pieces[i].last;
    }
    EXPECT_NEAR(at, static_cast<float>(path.columns.size()), 1e-4);
    EXPECT_FLOAT_EQ(path.columns[2].width, 1.5F) << "room for two bytes";
    for (const TokenPath::Word& word : path.words)
        for (const TokenPath::Step& step : word.steps)
            for (const TokenPath::Cell& part : step.parts) EXPECT_GT(part.last, part.first) << step.what;
}

TEST(TokenPath, EveryStepJoinsTwoPartsOfTheStepBefore) {
    Document document = document_of_model(OpenedModel::open(kGoldenModels / "gpt2"));
    document.texts = {"the weights of the reading"};
    KeptTokenizer tokenizer;
    const TokenPath path = token_path(document, {}, tokenizer);
    std::size_t joined = 0;
    for (const TokenPath::Word& word : path.words) {
        ASSERT_FALSE(word.steps.empty());
        EXPECT_EQ(word.steps.front().what, "bytes");
        for (std::size_t i = 1; i < word.steps.size(); ++i) {
            const TokenPath::Step &before = word.steps[i - 1], &step = word.steps[i];
            ++joined;
            EXPECT_EQ(step.parts.size() + 1, before.parts.size());
            const auto made = static_cast<std::size_t>(step.made);
            EXPECT_EQ(step.parts[made].text, before.parts[made].text + before.parts[made + 1].text);
            EXPECT_EQ(step.what, before.parts[made].text);
            EXPECT_EQ(step.joined_with, before.parts[made + 1].text);
            const auto chosen = [](const TokenPath::Candidate& candidate) { return candidate.chosen; };
            ASSERT_EQ(std::count_if(step.candidates.begin(), step.candidates.end(), chosen), 1);
            EXPECT_EQ(step.candidates.front().number, step.number) << "the lowest rank stands first";
        }
    }
    EXPECT_GT(joined, 8U);
}

TEST(TokenPath, SpellingsAndLookUpsHaveStepsToo) {
    {
        const test::TemporaryFolder folder;
        Document document = document_with_tokenizer(folder, "llama", "t5");
        document.texts = {"the mat"};
        KeptTokenizer tokenizer;
        const TokenPath path = token_path(document, {}, tokenizer);
        EXPECT_THAT(path.rule, HasSubstr("highest sum of scores"));
        EXPECT_EQ(path.number_title, "score");
        ASSERT_FALSE(path.words.empty());
        const TokenPath::Step& last = path.words[0].steps.back();
        EXPECT_THAT(texts_of_cells(last.parts), ElementsAre("\u2581the"));
        EXPECT_GT(last.candidates.size(), 1U);
        EXPECT_TRUE(last.candidates.front().chosen);
        EXPECT_THAT(last.sentence, HasSubstr("the best of"));
        EXPECT_EQ(path.pieces.back().word, -1) << "the end token stands nowhere";
    }
    const test::TemporaryFolder folder;
    Document document = document_with_tokenizer(folder, "llama", "bert_uncased");
    document.texts = {"Unreading \U0001F98A"};
    KeptTokenizer tokenizer;
    const TokenPath path = token_path(document, {}, tokenizer);
    const TokenPath::Row* normalised = row_named(path, "normalised");
    ASSERT_NE(normalised, nullptr);
    EXPECT_EQ(normalised->cells.front().text, "u");
    EXPECT_FALSE(normalised->cells.front().same);
    EXPECT_TRUE(normalised->cells.back().same);
    EXPECT_GT(path.words.at(0).steps.size(), 1U);
    EXPECT_TRUE(path.words.at(0).steps.front().candidates.back().chosen);
    EXPECT_THAT(path.words.at(1).steps.back().sentence, HasSubstr("one unknown piece"));
    const Prepared prepared = prepare(document, std::numeric_limits<double>::infinity());
    const Token& fox = prepared.chips.at(0).at(prepared.chips.at(0).size() - 2);
    EXPECT_EQ(fox.text, "[UNK]");
    EXPECT_TRUE(fox.unknown);
}

TEST(TokenPath, PiecesOfMergesKnowTheirMerges) {
    Document document = document_of_model(OpenedModel::open(kGoldenModels / "gpt2"));
    document.texts = {"the weights of the weights \u00EB \U0001F98A"};
    KeptTokenizer kept;
    const TokenPath path = token_path(document, {}, kept);
    const Prepared prepared = prepare(document, std::numeric_limits<double>::infinity());
    std::string all;
    std::size_t merges = 0;
    for (std::size_t i = 0; i < path.pieces.size(); ++i) {
        const TokenPath::Piece& piece = path.pieces[i];
        EXPECT_EQ(piece.bytes, prepared.chips.at(0).at(i).text);
        EXPECT_EQ(piece.typed, document.texts[0].substr(piece.begin, piece.end - piece.begin));
        EXPECT_NE(piece.typed.find(piece.bytes), std::string::npos) << "a part of what was typed";
        EXPECT_FALSE(piece.spelling.empty());
        EXPECT_FALSE(piece.added);
        EXPECT_FALSE(piece.score);
        const auto same = std::count_if(prepared.chips[0].begin(), prepared.chips[0].end(),
                                        [&](const Token& token) { return token.id == prepared.chips[0][i].id; });
        EXPECT_EQ(piece.times, static_cast<std::size_t>(same));
        all += piece.bytes;
        merges += piece.merges.size();
        // Every merge makes one part of two, from single bytes to the piece.
        if (!piece.merges.empty()) {
            EXPECT_EQ(piece.merges.size() + 1, piece.bytes.size());
            EXPECT_EQ(piece.merges.back().left + piece.merges.back().right, piece.bytes);
        }
    }
    EXPECT_EQ(all, document.texts[0]);
    EXPECT_GT(merges, 4U);
    std::size_t steps = 0;
    for (const TokenPath::Word& word : path.words) steps += word.steps.size() - 1;
    EXPECT_EQ(merges, steps) << "every step belongs to one piece";
    EXPECT_TRUE(path.pieces.front().starts_word);
    EXPECT_EQ(path.pieces.front().first_character, 1U);
    EXPECT_EQ(path.pieces.back().last_character, path.columns.size());
    EXPECT_EQ(path.pieces.back().end, document.texts[0].size());
    EXPECT_THAT(path.pieces.back().origin, HasSubstr("single byte"));
}

TEST(TokenPath, PiecesKnowTheirScoreOrTheirMark) {
    {
        const test::TemporaryFolder folder;
        Document document = document_with_tokenizer(folder, "llama", "t5");
        document.texts = {"the mat"};
        KeptTokenizer kept;
        const TokenPath path = token_path(document, {}, kept);
        const TokenPath::Piece& the = path.pieces.front();
        EXPECT_EQ(the.spelling, "\u2581the");
        EXPECT_EQ(the.typed, "the");
        EXPECT_EQ(the.bytes, " the") << "with the space that this tokenizer puts before a text";
        ASSERT_TRUE(the.score);
        EXPECT_LT(*the.score, 0);
        EXPECT_EQ(fmt::format("{:.3f}", *the.score), path.words[0].steps.back().number);
        EXPECT_TRUE(path.pieces.back().special);
        EXPECT_TRUE(path.pieces.back().bytes.empty());
        EXPECT_EQ(path.pieces.back().first_character, 0U);
        EXPECT_THAT(path.pieces.back().origin, HasSubstr("template"));
    }
    const test::TemporaryFolder folder;
    Document document = document_with_tokenizer(folder, "llama", "bert_uncased");
    document.texts = {"Unreading \U0001F98A [MASK]"};
    KeptTokenizer kept;
    const TokenPath path = token_path(document, {}, kept);
    ASSERT_GE(path.pieces.size(), 5U);
    const TokenPath::Piece &first = path.pieces[1], &second = path.pieces[2], &fox = path.pieces[path.pieces.size() - 3],
                           &mask = path.pieces[path.pieces.size() - 2];
    EXPECT_EQ(first.typed.front(), 'U') << "as typed, not as normalised";
    EXPECT_TRUE(first.starts_word);
    EXPECT_GT(first.tried, 1U);
    EXPECT_FALSE(second.starts_word);
    EXPECT_THAT(second.origin, HasSubstr("“##”"));
    EXPECT_EQ(second.begin, first.end);
    EXPECT_EQ(fox.bytes, "\U0001F98A");
    EXPECT_EQ(fox.first_character, 11U);
    EXPECT_EQ(fox.last_character, 11U);
    EXPECT_THAT(fox.origin, HasSubstr("unknown"));
    EXPECT_TRUE(mask.added && mask.special);
    EXPECT_EQ(mask.typed, "[MASK]");
}

TEST(TokenPath, OnlyPublishedModelsHaveOne) {
    KeptTokenizer tokenizer;
    EXPECT_THROW(token_path(Document(), {}, tokenizer), Error);
    Document document = document_of_model(OpenedModel::open(kGoldenModels / "gpt2"));
    document.texts = {std::string(20'000, 'a')};
    EXPECT_THROW(token_path(document, {}, tokenizer), ConfigError);
}

/// An encoder reads its text with the template's end token; a decoder reads its own after the start token and without a template.
TEST(TokenPath, BothTextsOfAnEncoderDecoderHaveOne) {
    const test::TemporaryFolder folder;
    Document document = document_with_tokenizer(folder, "t5_v1_1", "t5");
    document.source_texts = {"the weights of a cat"};
    document.texts = {"a cat"};
    KeptTokenizer kept;
    const Prepared prepared = prepare(document, 1000, &kept);
    const TokenPath source = token_path(document, {0, true}, kept), own = token_path(document, {0, false}, kept);
    EXPECT_EQ(source.columns.size(), 20U);
    EXPECT_EQ(own.columns.size(), 5U);
    ASSERT_EQ(source.pieces.size(), prepared.source_chips[0].size());
    ASSERT_EQ(own.pieces.size(), prepared.chips[0].size());
    EXPECT_EQ(own.pieces.front().word, -1) << "the start token";
    EXPECT_GE(own.pieces.back().word, 0) << "no template";
    EXPECT_EQ(source.pieces.back().word, -1) << "the end token";
    // The first real piece of each begins where its text does.
    EXPECT_EQ(own.pieces[1].first, 0);
    EXPECT_EQ(source.pieces[0].first, 0);
    EXPECT_THROW(token_path(document_of_model(OpenedModel::open(kGoldenModels / "gpt2")), {0, true}, kept), Error);
}

TEST(TokenPath, ChipsArePiecesAsTheVocabularyHasThem) {
    Document document = document_of_model(OpenedModel::open(kGoldenModels / "gpt2"));
    document.texts = {"a\n\u00EB"};
    std::string joined;
    std::vector<std::string> texts;
    const Prepared prepared = prepare(document, std::numeric_limits<double>::infinity());
    for (const Token& token : prepared.chips.at(0)) {
        texts.push_back(token.text);
        joined += token.text;
    }
    EXPECT_EQ(joined, document.texts[0]);
    EXPECT_THAT(texts, testing::Contains("\xC3")) << "half a character";
    const test::TemporaryFolder folder;
    Document llama = document_with_tokenizer(folder, "llama", "llama2");
    llama.texts = {"the \u6F22"};
    const auto chips = prepare(llama, std::numeric_limits<double>::infinity()).chips.at(0);
    EXPECT_EQ(chips.front().text, "<s>");
    std::string after;
    for (std::size_t i = 1; i < chips.size(); ++i) after += chips[i].text;
    EXPECT_EQ(after, " the \u6F22") << "with the space that this tokenizer puts before a text";
}

TEST(OpenedModelTokenizers, EveryKindOfFileOpensWithItsModel) {
    const fs::path cases = fs::path(ATTN_TEST_DATA) / "golden/tokenizer_files";
    const auto opens_with = [&](const fs::path& file) {
        const test::TemporaryFolder folder;
        document_with_tokenizer(folder, "llama", "llama2");
        fs::remove(folder.path() / "tokenizer.json");
        EXPECT_TRUE(OpenedModel::open(folder.path())->text().conventions().ids) << "without a tokenizer";
        fs::copy(file, folder.path());
        const auto model = OpenedModel::open(folder.path());
        return prepare(document_of_model(model), std::numeric_limits<double>::infinity()).tokens.ids.size();
    };
    EXPECT_GT(opens_with(cases / "sentencepiece_unigram/tokenizer.model"), 0U);
    EXPECT_GT(opens_with(cases / "sentencepiece_bpe_bare/tokenizer.model"), 0U);
}

}  // namespace
}  // namespace attn::app
