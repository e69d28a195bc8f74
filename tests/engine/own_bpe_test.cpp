/// Our BPE training against a slow plain implementation and vocabularies trained by the tokenizers library.

#include "engine/tokenizer/own_bpe.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <functional>
#include <map>

#include "engine/io/json_object.hpp"
#include "engine/tensor/error.hpp"
#include "engine/tokenizer/byte_alphabet.hpp"
#include "engine/tokenizer/pre_tokenizer.hpp"
#include "engine/tokenizer/tokenizer.hpp"
#include "engine/train/checkpoint.hpp"
#include "engine/train/resume.hpp"
#include "engine/train/run_json.hpp"
#include "tests/engine/io_support.hpp"
#include "tests/support/temporary_folder.hpp"

namespace attn {
namespace {

using testing::HasSubstr;

std::vector<std::string> words_of(const std::string& text) {
    PieceList list{AlignedText::of(text), {}};
    list.pieces.push_back({0, list.content.text.size(), true, -1});
    byte_level(false, true).apply(list);
    std::vector<std::string> words;
    for (const Piece& piece : list.pieces) words.push_back(bytes_of_letters(list.text_of(piece)).value());
    return words;
}

using Parts = std::vector<std::string>;

void join_everywhere(Parts& parts, const std::string& left, const std::string& right) {
    Parts joined;
    for (std::size_t i = 0; i < parts.size(); ++i) {
        if (i + 1 < parts.size() && parts[i] == left && parts[i + 1] == right) {
            joined.push_back(left + right);
            ++i;
        } else {
            joined.push_back(parts[i]);
        }
    }
    parts = joined;
}

struct Plain {
    std::vector<std::string> tokens;
    std::vector<std::pair<std::string, std::string>> joins;

    std::size_t id(const std::string& token) const {
        return static_cast<std::size_t>(std::find(tokens.begin(), tokens.end(), token) - tokens.begin());
    }
    std::vector<std::int32_t> encode(const std::string& text) const {
        std::vector<std::int32_t> ids;
        for (const std::string& word : words_of(text)) {
            Parts parts;
            for (const char byte : word) parts.emplace_back(1, byte);
            for (const auto& [left, right] : joins) join_everywhere(parts, left, right);
            for (const std::string& part : parts) ids.push_back(static_cast<std::int32_t>(id(part)));
        }
        return ids;
    }
};

/// Counts all pairs anew for every merge.
Plain trained_plainly(const std::string& text, std::size_t size) {
    Plain plain;
    for (char32_t letter = 0; letter < 0x200; ++letter)
        if (const auto byte = byte_of_letter(letter)) plain.tokens.emplace_back(1, static_cast<char>(*byte));
    std::vector<Parts> words;
    for (const std::string& word : words_of(text)) {
        Parts& parts = words.emplace_back();
        for (const char byte : word) parts.emplace_back(1, byte);
    }
    while (plain.tokens.size() < size) {
        std::map<std::pair<std::size_t, std::size_t>, int> counts;
        for (const Parts& parts : words)
            for (std::size_t i = 0; i + 1 < parts.size(); ++i) ++counts[{plain.id(parts[i]), plain.id(parts[i + 1])}];
        std::pair<std::size_t, std::size_t> best;
        int most = 1;
        for (const auto& [pair, count] : counts)
            if (count > most) {
                most = count;
                best = pair;
            }
        if (most == 1) break;
        const std::string left = plain.tokens[best.first], right = plain.tokens[best.second];
        for (Parts& parts : words) join_everywhere(parts, left, right);
        plain.joins.emplace_back(left, right);
        plain.tokens.push_back(left + right);
    }
    return plain;
}

std::string random_text(std::uint32_t seed, std::size_t length) {
    static const std::vector<std::string> kSigns = {"a", "b", "a", "b", "c", " ", " ", "\n", "1", "é", "猫", "\U0001F639", "!", "'s", "  "};
    std::string text;
    for (std::size_t i = 0; i < length; ++i) {
        seed = seed * 1664525U + 1013904223U;
        text += kSigns[(seed >> 16U) % kSigns.size()];
    }
    return text;
}

std::vector<std::int32_t> ids_by(const Tokenizer& tokenizer, const std::string& text) {
    std::vector<std::int32_t> ids;
    for (const TextToken& token : tokenizer.encode(text)) ids.push_back(token.id);
    return ids;
}

TEST(OwnBpe, LearnsAndEncodesAsAPlainImplementationDoes) {
    for (std::uint32_t seed = 1; seed <= 12; ++seed) {
        const std::string text = random_text(seed, 40 * seed), other = random_text(seed + 100, 200);
        const Plain plain = trained_plainly(text, 300);
        const Tokenizer tokenizer = Tokenizer::trained(text, 300);
        ASSERT_EQ(tokenizer.vocabulary(), plain.tokens) << seed;
        for (const std::string& one : {text, other}) {
            const std::vector<std::int32_t> ids = ids_by(tokenizer, one);
            EXPECT_EQ(ids, plain.encode(one)) << seed;
            EXPECT_EQ(tokenizer.decode(ids), one) << seed;
        }
    }
}

/// tests/golden/tokenizer_files/own_bpe.json contains the result of tokenizers.BpeTrainer for the text beside it (see make_own_bpe.py).
TEST(OwnBpe, LearnsWhatTheTokenizersLibraryDoes) {
    const std::filesystem::path folder = std::filesystem::path(ATTN_TEST_DATA) / "golden/tokenizer_files";
    JsonObject file(test::file_bytes(folder / "own_bpe.json"), "own_bpe.json");
    std::string text;
    std::vector<std::string> letters;
    std::vector<std::int32_t> expected;
    ASSERT_TRUE(file.read("text", text) && file.read("vocabulary", letters));
    for (const Json& id : file.whole().find("ids")->items()) expected.push_back(static_cast<std::int32_t>(id.as_unsigned()));
    const Tokenizer tokenizer = Tokenizer::trained(text, static_cast<std::int64_t>(letters.size()));
    std::vector<std::string> own;
    for (const std::string& token : tokenizer.vocabulary()) own.push_back(letters_of_bytes(token));
    EXPECT_EQ(own, letters);
    EXPECT_EQ(ids_by(tokenizer, text), expected);
    EXPECT_GT(letters.size(), 300U);
}

/// Splitting inside a word would change pair counts and therefore the order of merges.
TEST(OwnBpe, ALongTextIsCutBetweenWords) {
    const auto repeated = [](std::size_t times) {
        std::string text;
        for (std::size_t i = 0; i < times; ++i) text += i == 0 ? "abcdefgh" : " abcdefgh";
        return text;
    };
    const std::vector<std::string> tokens = train_bpe(repeated(40'000), 1024);
    EXPECT_EQ(tokens, train_bpe(repeated(50), 1024));
    EXPECT_EQ(tokens.back(), " abcdefgh");
    const std::string text = random_text(3, 150'000);
    EXPECT_EQ(train_bpe(text, 300), train_bpe(text, 300)) << "the same text gives the same vocabulary";
}

TEST(OwnBpe, SmallAndOddTexts) {
    EXPECT_EQ(train_bpe("", 1024).size(), 256U);
    EXPECT_EQ(train_bpe("abc", 1024).size(), 256U) << "nothing occurs twice";
    EXPECT_EQ(train_bpe("abab", 256).size(), 256U);
    EXPECT_EQ(train_bpe("ab ab", 1024), trained_plainly("ab ab", 1024).tokens);
    const std::string run(3000, 'a');
    const std::vector<std::string> tokens = train_bpe(run, 1024);
    EXPECT_EQ(tokens.back(), std::string(256, 'a')) << "no longer ones; " << tokens.size();
    EXPECT_EQ(Tokenizer::from_vocabulary(TokenizerKind::Bpe, tokens, false).encode(run).size(), 3000U / 256 + 4);
    EXPECT_THROW(train_bpe("a", 255), ConfigError);
    EXPECT_THROW(train_bpe("a", 65'537), ConfigError);
    EXPECT_THROW(Tokenizer(TokenizerKind::Bpe, std::vector<std::string>{"a"}, false), ConfigError);
}

TEST(OwnBpe, AVocabularyWhoseOrderMakesNoSenseIsRefused) {
    std::vector<std::string> tokens = train_bpe("the cat the cat the cat", 262);
    const auto refusal = [&](const std::function<void(std::vector<std::string>&)>& change) {
        std::vector<std::string> changed = tokens;
        change(changed);
        try {
            Tokenizer::from_vocabulary(TokenizerKind::Bpe, changed, false);
        } catch (const ConfigError& error) {
            return std::string(error.what());
        }
        return std::string();
    };
    EXPECT_EQ(refusal([](auto&) {}), "");
    EXPECT_THAT(refusal([](auto& t) { t.back() = "xyz"; }), HasSubstr("\"xyz\", is not made of two earlier pieces"));
    EXPECT_THAT(refusal([](auto& t) { t.push_back(t.back()); }), HasSubstr("is not made of two earlier pieces"));
    EXPECT_THAT(refusal([](auto& t) { t.push_back(""); }), HasSubstr("is not made of two earlier pieces"));
    EXPECT_THAT(refusal([](auto& t) { std::swap(t[0], t[1]); }), HasSubstr("the 256 bytes come first"));
    EXPECT_THAT(refusal([](auto& t) { t.resize(200); }), HasSubstr("the 256 bytes come first"));
    EXPECT_THAT(refusal([](auto& t) { t.push_back(std::string(300, 'a')); }), HasSubstr("a piece of 300 bytes is too long"));
    EXPECT_THROW(Tokenizer::from_vocabulary(TokenizerKind::Bpe, tokens, true), ConfigError);
}

RunSettings piece_run() {
    RunSettings settings = default_run(TaskKind::Text);
    settings.task.tokenizer = TokenizerKind::Bpe;
    settings.task.vocab = 300;
    settings.task.length = 8;
    settings.task.text_name = "mine.txt";
    settings.task.text = std::make_shared<const std::string>(random_text(7, 3000));
    settings.model.num_layers = 1;
    settings.model.d_model = 8;
    settings.model.num_heads = 2;
    settings.model.d_ff = 8;
    settings.batch_size = 2;
    settings.stop.steps = 6;
    return settings;
}

TEST(OwnBpe, ARunIsSavedWithItsPiecesAndGoesOnBitForBit) {
    const test::TemporaryFolder folder;
    TrainingRun whole(piece_run());
    EXPECT_EQ(whole.settings().model.vocab_size, 300);
    std::vector<std::uint64_t> losses;
    for (int i = 0; i < 6; ++i) losses.push_back(std::bit_cast<std::uint64_t>(whole.step().loss));
    TrainingRun first(piece_run());
    for (int i = 0; i < 3; ++i) first.step();
    write_checkpoint(folder / "model.safetensors", take_checkpoint(first));
    const Checkpoint read = read_checkpoint(folder / "model.safetensors");
    EXPECT_EQ(read.tokenizer, TokenizerKind::Bpe);
    EXPECT_EQ(read.vocabulary, first.dataset().tokenizer().vocabulary());
    EXPECT_EQ(read.settings.task.vocab, 300);
    const auto resumed = resume_run(read);
    for (int i = 3; i < 6; ++i) {
        const LossPoint again = resumed->step();
        EXPECT_EQ(std::bit_cast<std::uint64_t>(again.loss), losses[static_cast<std::size_t>(i)]) << i;
    }
    Checkpoint changed = read;
    changed.settings.task.vocab = 299;
    EXPECT_THROW(resume_run(changed), ConfigError);
}

TEST(OwnBpe, SettingsSayWhatATextIsCutInto) {
    const RunSettings settings = piece_run();
    RunSettings read = run_settings_from_json(to_json(settings).dump(), "x");
    read.task.text = settings.task.text;
    EXPECT_EQ(read, settings);
    EXPECT_EQ(to_json(default_run(TaskKind::Text)).dump().find("vocab\""), std::string::npos)
        << "characters are as they were written before";
    RunSettings wrong = default_run(TaskKind::Repeat);
    wrong.task.tokenizer = TokenizerKind::Bpe;
    EXPECT_THROW(validate(wrong), ConfigError);
    wrong = piece_run();
    wrong.task.vocab = 100;
    EXPECT_THROW(validate(wrong), ConfigError);
}

}  // namespace
}  // namespace attn
