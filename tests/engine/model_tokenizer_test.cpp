#include "engine/tokenizer/model_tokenizer.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <random>
#include <set>

#include "engine/io/json.hpp"
#include "engine/tokenizer/byte_alphabet.hpp"
#include "engine/tokenizer/tokenizer_files.hpp"
#include "tests/engine/io_support.hpp"
#include "tests/support/temporary_folder.hpp"

namespace attn {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

const fs::path kTokenizerFolders = fs::path(ATTN_TEST_DATA) / "golden/hf/tokenizers";

std::vector<std::int32_t> token_ids(const ModelTokenizer& tokenizer, std::string_view text) {
    std::vector<std::int32_t> out;
    for (const EncodedToken& token : tokenizer.encode(text, false)) out.push_back(token.id);
    return out;
}

/// A tokenizer of a few characters; both arguments are JSON.
std::shared_ptr<const ModelTokenizer> tokenizer_of(const std::string& model, const std::string& more = "") {
    return parse_tokenizer_json(R"({"version": "1.0", )" + more + (more.empty() ? "" : ", ") + R"("model": )" + model + "}",
                                "tokenizer.json");
}

std::string tokenizer_refusal(const std::string& model, const std::string& more = "") {
    try {
        tokenizer_of(model, more);
    } catch (const FileError& error) {
        return error.what();
    }
    return "";
}

const std::string kAbc = R"({"type": "BPE", "vocab": {"a": 0, "b": 1, "c": 2, "ab": 3, "bc": 4, "abc": 5, "aa": 6, "aaaa": 7},
                             "merges": ["b c", "a b", "a bc", "a a", "aa aa"]})";

TEST(ModelTokenizer, JoinsTheLowestRankFirstAndTheLeftmostAmongEquals) {
    const auto tokenizer = tokenizer_of(kAbc);
    EXPECT_THAT(token_ids(*tokenizer, "abc"), ElementsAre(5));
    EXPECT_THAT(token_ids(*tokenizer, "abab"), ElementsAre(3, 3));
    EXPECT_THAT(token_ids(*tokenizer, "aaa"), ElementsAre(6, 0));
    EXPECT_THAT(token_ids(*tokenizer, "aaaaaaa"), ElementsAre(7, 6, 0));
    EXPECT_THAT(token_ids(*tokenizer, "xax"), ElementsAre(0)) << "what has no token, and no unknown token, is left out";
}

/// Merges one pair after the other, as BPE is defined.
std::vector<std::string> naive_bpe(std::string_view word, const std::vector<std::pair<std::string, std::string>>& merges) {
    std::vector<std::string> parts;
    for (const char c : word) parts.emplace_back(1, c);
    while (true) {
        std::size_t best = merges.size(), at = 0;
        for (std::size_t i = 0; i + 1 < parts.size(); ++i)
            for (std::size_t rank = 0; rank < best; ++rank)
                if (parts[i] == merges[rank].first && parts[i + 1] == merges[rank].second) best = rank, at = i;
        if (best == merges.size()) return parts;
        parts[at] += parts[at + 1];
        parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(at) + 1);
    }
}

TEST(ModelTokenizer, RandomMergesGiveWhatTheDefinitionGives) {
    std::mt19937 random(7);
    const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
    for (int round = 0; round < 60; ++round) {
        std::vector<std::string> tokens{"a", "b", "c"};
        std::vector<std::pair<std::string, std::string>> merges;
        for (std::size_t i = 0; i < 1 + below(25); ++i) {
            const std::string left = tokens[below(tokens.size())], right = tokens[below(tokens.size())];
            if (std::find(tokens.begin(), tokens.end(), left + right) != tokens.end()) continue;
            merges.emplace_back(left, right);
            tokens.push_back(left + right);
        }
        Json vocabulary = Json::object(), list = Json::list();
        for (std::size_t i = 0; i < tokens.size(); ++i) vocabulary[tokens[i]] = i;
        for (const auto& [left, right] : merges) list.push_back(Json::List{left, right});
        const auto tokenizer = tokenizer_of(R"({"type": "BPE", "vocab": )" + vocabulary.dump() + R"(, "merges": )" + list.dump() + "}");
        for (int text = 0; text < 20; ++text) {
            std::string word;
            for (std::size_t i = 0; i < 1 + below(40); ++i) word += static_cast<char>('a' + below(3));
            std::vector<std::string> ours;
            for (const std::int32_t id : token_ids(*tokenizer, word)) ours.push_back(*tokenizer->token_text(id));
            ASSERT_EQ(ours, naive_bpe(word, merges)) << word;
        }
    }
}

/// Searching all pairs after each merge would take hours here.
TEST(ModelTokenizer, AQuarterOfAMillionTimesOneLetterIsNoTrouble) {
    const auto tokenizer = tokenizer_of(kAbc);
    constexpr std::size_t kLetters = 1 << 18;
    EXPECT_EQ(token_ids(*tokenizer, std::string(kLetters, 'a')).size(), kLetters / 4);
    const auto gpt2 = read_tokenizer_json(kTokenizerFolders / "gpt2/tokenizer.json");
    for (const char letter : {'a', ' ', '\n', '1', '!', '\x80'}) {
        const std::string text(kLetters, letter);
        const Encoding encoding = gpt2->encode(text);
        ASSERT_FALSE(encoding.empty());
        EXPECT_EQ(encoding.back().end, kLetters);
    }
}

TEST(ModelTokenizer, RangesTileTheTypedTextWhateverItIs) {
    const auto tokenizer = read_tokenizer_json(kTokenizerFolders / "gpt2/tokenizer.json");
    std::mt19937 random(11);
    for (int round = 0; round < 200; ++round) {
        std::string text;
        for (std::size_t i = 0; i < random() % 60; ++i) text += static_cast<char>(random() % (round % 2 == 0 ? 256 : 128));
        std::uint32_t at = 0;
        for (const EncodedToken& token : tokenizer->encode(text)) {
            EXPECT_LE(token.begin, at) << "a gap";
            EXPECT_LE(token.end, text.size());
            at = std::max(at, token.end);
        }
        EXPECT_EQ(at, text.size());
        if (round % 2 == 1) {
            EXPECT_EQ(tokenizer->decode(token_ids(*tokenizer, text)), text);
        }
    }
}

TEST(ModelTokenizer, StrayBytesAreReadAsTheReplacementCharacterAndKeepTheirPlace) {
    const auto tokenizer = read_tokenizer_json(kTokenizerFolders / "gpt2/tokenizer.json");
    const Encoding stray = tokenizer->encode("a\xFFz"), replaced = tokenizer->encode("a\uFFFDz");
    ASSERT_EQ(stray.size(), replaced.size());
    for (std::size_t i = 0; i < stray.size(); ++i) EXPECT_EQ(stray[i].id, replaced[i].id);
    EXPECT_EQ(stray[1].begin, 1U);
    EXPECT_EQ(stray[1].end, 2U);
    EXPECT_EQ(stray.back().begin, 2U);
}

TEST(ModelTokenizer, VocabularyAndMergesAloneAreGpt2) {
    const auto whole = read_tokenizer_json(kTokenizerFolders / "gpt2/tokenizer.json");
    const Json json = Json::parse(test::file_bytes(kTokenizerFolders / "gpt2/tokenizer.json"), "tokenizer.json");
    Json vocabulary = *json.find("model")->find("vocab");
    vocabulary["<|endoftext|>"] = 365;
    std::string merges = "#version: 0.2\n";
    for (const Json& pair : json.find("model")->find("merges")->items())
        merges += pair.items()[0].text() + " " + pair.items()[1].text() + "\n";
    const test::TemporaryFolder folder;
    test::put_file(folder.path() / "vocab.json", vocabulary.dump());
    test::put_file(folder.path() / "merges.txt", merges);
    const auto parts = read_folder_tokenizer(folder.path());
    ASSERT_NE(parts, nullptr);
    EXPECT_EQ(parts->size(), whole->size());
    for (const char* text : {"Hello, world! It's 12 o'clock.", "  two\n\nlines<|endoftext|>after", "naïve 漢字 🦊"}) {
        EXPECT_EQ(token_ids(*parts, text), token_ids(*whole, text)) << text;
        EXPECT_EQ(parts->decode(token_ids(*parts, text)), text);
    }
    test::put_file(folder.path() / "merges.txt", "#version: 0.2\nh e\nhe\n");
    try {
        read_folder_tokenizer(folder.path());
        FAIL();
    } catch (const FileError& error) {
        EXPECT_THAT(error.what(), HasSubstr("merges.txt, line 3: expected two tokens"));
    }
}

TEST(ModelTokenizer, AddedTokensAreCutOutFirst) {
    const auto added = [](const std::string& fields) {
        return R"("added_tokens": [{"id": 9, "content": "<m>", "special": true)" + fields + "}]";
    };
    const auto ranges = [](const ModelTokenizer& tokenizer, std::string_view text) {
        std::vector<std::pair<std::uint32_t, std::uint32_t>> out;
        for (const EncodedToken& token : tokenizer.encode(text)) out.emplace_back(token.begin, token.end);
        return out;
    };
    using Ranges = std::vector<std::pair<std::uint32_t, std::uint32_t>>;
    EXPECT_EQ(ranges(*tokenizer_of(kAbc, added("")), "a <m> b"), (Ranges{{0, 1}, {2, 5}, {6, 7}}));
    EXPECT_EQ(ranges(*tokenizer_of(kAbc, added(R"(, "lstrip": true)")), "a  <m> b"), (Ranges{{0, 1}, {1, 6}, {7, 8}}));
    EXPECT_EQ(ranges(*tokenizer_of(kAbc, added(R"(, "rstrip": true)")), "a <m>  b"), (Ranges{{0, 1}, {2, 7}, {7, 8}}));
    const auto word = tokenizer_of(kAbc, added(R"(, "single_word": true)"));
    EXPECT_EQ(ranges(*word, "a<m>"), (Ranges{{0, 1}}));
    EXPECT_EQ(ranges(*word, "a <m>."), (Ranges{{0, 1}, {2, 5}}));
    // In lower case, the token is found only in the normalised text.
    const std::string lower = R"("normalizer": {"type": "Lowercase"}, )";
    EXPECT_EQ(token_ids(*tokenizer_of(kAbc, lower + added("")), "<M>"), (std::vector<std::int32_t>{}));
    EXPECT_EQ(token_ids(*tokenizer_of(kAbc, lower + added(R"(, "normalized": true)")), "<M>"), (std::vector<std::int32_t>{9}));
    EXPECT_EQ(tokenizer_of(kAbc, added(""))->decode(std::vector<std::int32_t>{0, 9, 77}, true), "a");
}

TEST(ModelTokenizer, RefusesComponentsThatItDoesNotKnowByName) {
    EXPECT_THAT(tokenizer_refusal(R"({"type": "Lattice", "vocab": {}})"),
                HasSubstr("/model/type: attnscope does not support the model \"Lattice\""));
    EXPECT_THAT(tokenizer_refusal(kAbc, R"("normalizer": {"type": "Rot13"})"), HasSubstr("does not support the normalizer \"Rot13\""));
    EXPECT_THAT(tokenizer_refusal(kAbc, R"("pre_tokenizer": {"type": "Syllables"})"),
                HasSubstr("does not support the pre-tokenizer \"Syllables\""));
    EXPECT_THAT(tokenizer_refusal(kAbc, R"("post_processor": {"type": "X"})"), HasSubstr("does not support the post-processor \"X\""));
    EXPECT_THAT(tokenizer_refusal(kAbc, R"("decoder": {"type": "Sequence", "decoders": [{"type": "Fuse"}, {"type": "X"}]})"),
                HasSubstr("/decoder/decoders/1/type: attnscope does not support the decoder \"X\""));
    EXPECT_THAT(tokenizer_refusal(kAbc, R"("normalizer": {"type": "NFC", "form": "odd"})"),
                HasSubstr("/normalizer/form: there is no such field"));
    EXPECT_THAT(tokenizer_refusal(kAbc, R"("more": 1)"), HasSubstr("/more: there is no such field"));
}

TEST(ModelTokenizer, RefusesWhatCannotBe) {
    EXPECT_THAT(tokenizer_refusal(R"({"type": "BPE", "vocab": {"a": 0, "b": 0}, "merges": []})"),
                HasSubstr("\"a\" and \"b\" have the same id 0"));
    EXPECT_THAT(tokenizer_refusal(R"({"type": "BPE", "vocab": {"a": -1}, "merges": []})"),
                HasSubstr("the id of \"a\" is not a whole number"));
    EXPECT_THAT(tokenizer_refusal(R"({"type": "BPE", "vocab": {"a": 18446744073709551615}, "merges": []})"), HasSubstr("expected 0 to"));
    EXPECT_THAT(tokenizer_refusal(R"({"type": "BPE", "vocab": {"a": 0}, "merges": ["a z"]})"),
                HasSubstr("the token \"z\" is not in the vocabulary"));
    EXPECT_THAT(tokenizer_refusal(R"({"type": "BPE", "vocab": {"a": 0}, "merges": ["a a"]})"),
                HasSubstr("the token \"aa\" is not in the vocabulary"));
    EXPECT_THAT(tokenizer_refusal(R"({"type": "BPE", "vocab": {"a": 0}, "merges": ["a"]})"), HasSubstr("entry 0 is not a pair"));
    EXPECT_THAT(tokenizer_refusal(R"({"type": "BPE", "vocab": {"a": 0}, "merges": [], "unk_token": "?"})"),
                HasSubstr("\"?\" is not in the vocabulary"));
    EXPECT_THAT(tokenizer_refusal(R"({"type": "BPE", "vocab": {"a": 0}, "merges": [], "dropout": 0.1})"), HasSubstr("/model/dropout"));
    EXPECT_THAT(
        tokenizer_refusal(R"({"type": "BPE", "vocab": {"a": 0}, "merges": [], "byte_fallback": true, "end_of_word_suffix": "</w>"})"),
        HasSubstr("byte_fallback beside a prefix or a suffix"));
    EXPECT_THAT(tokenizer_refusal(R"({"type": "Unigram", "vocab": [["a", 0.5]], "unk_id": 4})"),
                HasSubstr("4 is not in a vocabulary of 1"));
    EXPECT_THAT(tokenizer_refusal(R"({"type": "Unigram", "vocab": []})"), HasSubstr("/model/vocab"));
    EXPECT_THAT(tokenizer_refusal(R"({"type": "WordPiece", "vocab": {"a": 0}, "unk_token": "[UNK]"})"), HasSubstr("[UNK]"));
    EXPECT_THAT(tokenizer_refusal(kAbc, R"("added_tokens": [{"id": 1, "content": "<m>"}])"), HasSubstr("which belongs to \"b\""));
    EXPECT_THAT(tokenizer_refusal(kAbc, R"("added_tokens": [{"id": 9, "content": "a"}])"), HasSubstr("but has 0 in the vocabulary"));
    EXPECT_THAT(tokenizer_refusal(kAbc, R"("pre_tokenizer": {"type": "Split", "pattern": {"Regex": "("}, "behavior": "Isolated"})"),
                HasSubstr("the regular expression \"(\" cannot be used"));
    EXPECT_THAT(tokenizer_refusal(kAbc, R"("normalizer": {"type": "Precompiled", "precompiled_charsmap": "////"})"), HasSubstr("damaged"));
    EXPECT_THAT(tokenizer_refusal(kAbc, R"("normalizer": {"type": "Precompiled", "precompiled_charsmap": "\u0007"})"),
                HasSubstr("not Base64"));
    EXPECT_THAT(tokenizer_refusal(
                    kAbc, R"("post_processor": {"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "<x>", "type_id": 0}}]})"),
                HasSubstr("is not among the special_tokens"));
    const auto text_again = [](int times) {
        std::string entries;
        for (int i = 0; i < times; ++i) entries += std::string(i > 0 ? "," : "") + R"({"Sequence": {"id": "A", "type_id": 0}})";
        return R"("post_processor": {"type": "TemplateProcessing", "single": [)" + entries + R"(], "pair": []})";
    };
    EXPECT_EQ(tokenizer_refusal(kAbc, text_again(64)), "");
    EXPECT_THAT(tokenizer_refusal(kAbc, text_again(65)), HasSubstr("has more than 64 entries"));
    const auto steps = [](int times) {
        std::string entries;
        for (int i = 0; i < times; ++i) entries += std::string(i > 0 ? "," : "") + R"({"type": "NFC"})";
        return R"("normalizer": {"type": "Sequence", "normalizers": [)" + entries + "]}";
    };
    EXPECT_EQ(tokenizer_refusal(kAbc, steps(256)), "");
    EXPECT_THAT(tokenizer_refusal(kAbc, steps(257)), HasSubstr("/normalizer/normalizers: has more than 256 entries"));
    const auto piece = [](std::size_t length) {
        return R"({"type": "Unigram", "unk_id": 0, "vocab": [["<unk>", 0], [")" + std::string(length, 'a') + R"(", -1]]})";
    };
    EXPECT_EQ(tokenizer_refusal(piece(1024)), "");
    EXPECT_THAT(tokenizer_refusal(piece(1025)), HasSubstr("a token of 1025 bytes is too long"));
}

/// The expression would try 2^60 paths.
TEST(ModelTokenizer, AnExpressionThatTakesForeverEndsInAMessage) {
    const auto tokenizer =
        tokenizer_of(kAbc, R"("pre_tokenizer": {"type": "Split", "pattern": {"Regex": "(a|aa)+$"}, "behavior": "Isolated"})");
    EXPECT_THROW(tokenizer->encode(std::string(60, 'a') + "b"), ConfigError);
    EXPECT_EQ(tokenizer->encode("aa").size(), 1U);
}

/// Each replacement makes a hundred letters of one.
TEST(ModelTokenizer, ReplacementsThatMultiplyWithoutEndEndInAMessage) {
    const std::string step = R"({"type": "Replace", "pattern": {"Regex": "."}, "content": ")" + std::string(100, 'a') + R"("})";
    const auto with = [&](const std::string& steps) {
        return tokenizer_of(kAbc, R"("normalizer": {"type": "Sequence", "normalizers": [)" + steps + "]}");
    };
    EXPECT_EQ(with(step)->encode(std::string(5, 'b')).size(), 125U);  // four letters each
    EXPECT_THROW(with(step + "," + step + "," + step + "," + step)->encode(std::string(200, 'b')), ConfigError);
    EXPECT_THROW(with(R"({"type": "Replace", "pattern": {"String": "b"}, "content": ")" + std::string(1000, 'a') + R"("})")
                     ->encode(std::string(100'000, 'b')),
                 ConfigError);
    // None of forty doublings is absurd by itself.
    std::string doublings;
    for (int i = 0; i < 40; ++i)
        doublings += std::string(i == 0 ? "" : ",") + R"({"type": "Replace", "pattern": {"String": "b"}, "content": "bb"})";
    try {
        with(doublings)->encode("b");
        FAIL() << "a terabyte";
    } catch (const ConfigError& error) {
        EXPECT_THAT(error.what(), HasSubstr("the tokenizer's normalizer makes more than"));
    }
    // Nor has a text in front of it any limit of its own.
    EXPECT_THROW(with(R"({"type": "Prepend", "prepend": ")" + std::string(1 << 20, 'b') + R"("})")->encode("b"), ConfigError);
}

TEST(ModelTokenizer, DamagedFilesAreRefused) {
    const std::string good = test::file_bytes(kTokenizerFolders / "t5/tokenizer.json");
    std::mt19937 random(3);
    for (int round = 0; round < 60; ++round) {
        std::string bytes = good;
        const std::size_t at = random() % bytes.size();
        if (round % 2 == 0) bytes.resize(at);
        else bytes[at] = static_cast<char>(random());
        try {
            const auto tokenizer = parse_tokenizer_json(bytes, "tokenizer.json");
            tokenizer->encode("The cat sat on the mat. ½ ﬁ é 漢字");  // whatever was accepted must be safe to use
        } catch (const Error&) {
        }
    }
}

TEST(ByteAlphabet, IsABijectionThatKeepsWhatIsPrintable) {
    std::set<std::string_view> letters;
    for (unsigned byte = 0; byte < 256; ++byte) {
        const std::string_view letter = byte_letter(static_cast<unsigned char>(byte));
        EXPECT_TRUE(letters.insert(letter).second);
        EXPECT_EQ(bytes_of_letters(letter), std::string(1, static_cast<char>(byte)));
    }
    EXPECT_EQ(byte_letter(' '), "\u0120");
    EXPECT_EQ(byte_letter('\n'), "\u010A");
    EXPECT_EQ(byte_letter('A'), "A");
    EXPECT_EQ(bytes_of_letters("a b"), std::nullopt);
}

TEST(ModelTokenizer, ADamagedOrAbsurdFileIsRefusedInLittleMemory) {
    constexpr std::size_t kLittle = std::size_t{4} << 20;
    const test::TemporaryFolder folder;
    const fs::path path = folder.path() / "tokenizer.json";
    const auto repeated = [](std::string_view part, int times) {
        std::string text;
        for (int i = 0; i < times; ++i) text += part;
        return text;
    };
    const std::string pairs = R"({"merges": [)" + repeated(R"(["a", "b"], )", 800'000) + R"(["a", "b"]])";
    for (const auto& [text, fault] : {std::pair{pairs, FileFault::Format},
                                      {pairs + "!}", FileFault::Format},
                                      {"[" + repeated("1,", 4'000'001) + "1]", FileFault::Limit},
                                      {R"({"version": ")" + repeated(R"(\"abcdefg)", 200'000) + "\"}", FileFault::Limit}}) {
        ASSERT_GT(text.size(), std::size_t{1} << 20);
        test::put_file(path, text);
        test::expect_refused(text.substr(0, 20), fault, "tokenizer.json", kLittle, [&] { read_tokenizer_json(path); });
    }
}

}  // namespace
}  // namespace attn
