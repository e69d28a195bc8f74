/// Tokenizers in formats other than tokenizer.json: SentencePiece, tiktoken, BERT's vocabulary list and GGUF, against the ids given by
/// those libraries or by the same tokenizer as tokenizer.json.

#include "engine/tokenizer/tokenizer_files.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <random>
#include <set>

#include "engine/io/json.hpp"
#include "engine/io/protobuf.hpp"
#include "engine/tokenizer/gguf_tokenizer.hpp"
#include "engine/tokenizer/sentence_piece_file.hpp"
#include "engine/tokenizer/tiktoken.hpp"
#include "engine/tokenizer/tokenizer.hpp"
#include "tests/engine/gguf_bytes.hpp"
#include "tests/support/temporary_folder.hpp"

namespace attn {
namespace {

namespace fs = std::filesystem;
using test::GgufKeys;
using testing::ElementsAre;
using testing::HasSubstr;

const fs::path kTokenizerFileCases = fs::path(ATTN_TEST_DATA) / "golden/tokenizer_files";
const fs::path kTokenizerJsonCases = fs::path(ATTN_TEST_DATA) / "golden/hf/tokenizers";

std::vector<std::int32_t> encoded_ids(const ModelTokenizer& tokenizer, std::string_view text, bool special = false) {
    std::vector<std::int32_t> out;
    for (const EncodedToken& token : tokenizer.encode(text, special)) out.push_back(token.id);
    return out;
}

std::vector<std::int32_t> numbers_in(const Json& list) {
    std::vector<std::int32_t> out;
    for (const Json& item : list.items()) out.push_back(static_cast<std::int32_t>(item.number()));
    return out;
}

Json json_of(const fs::path& path) { return Json::parse(test::file_bytes(path), path.string()); }

// --- against the libraries -------------------------------------------------------------------------------------

class TokenizerFile : public testing::TestWithParam<std::string> {};

TEST_P(TokenizerFile, GivesTheIdsOfItsLibrary) {
    const fs::path folder = kTokenizerFileCases / GetParam();
    const auto tokenizer = read_folder_tokenizer(folder);
    ASSERT_NE(tokenizer, nullptr);
    std::size_t cases = 0;
    const Json golden = json_of(folder / "tokens.json");
    for (const Json& entry : golden.find("cases")->items()) {
        ++cases;
        const std::string& text = entry.find("text")->text();
        SCOPED_TRACE(testing::Message() << "text " << cases << ": \"" << text << "\"");
        const std::vector<std::int32_t> ids = encoded_ids(*tokenizer, text);
        EXPECT_EQ(ids, numbers_in(*entry.find("ids")));
        EXPECT_EQ(encoded_ids(*tokenizer, text, true), ids) << "these libraries put nothing around a text";
        std::uint32_t at = 0;
        for (const EncodedToken& token : tokenizer->encode(text)) {
            EXPECT_LE(token.begin, token.end);
            EXPECT_LE(token.end, text.size());
            EXPECT_GE(token.begin, at) << "ranges go forward";
            at = token.begin;
        }
    }
    EXPECT_GT(cases, 100U);
}
INSTANTIATE_TEST_SUITE_P(EveryKind, TokenizerFile,
                         testing::Values("sentencepiece_bpe", "sentencepiece_bpe_bare", "sentencepiece_bpe_suffix", "sentencepiece_unigram",
                                         "sentencepiece_unigram_bytes", "tiktoken"),
                         [](const auto& file) { return file.param; });

TEST(TokenizerFiles, DecodeWhatTheyEncode) {
    for (const char* name : {"sentencepiece_bpe", "sentencepiece_bpe_bare", "sentencepiece_unigram_bytes", "tiktoken"}) {
        const auto tokenizer = read_tokenizer(kTokenizerFileCases / name);
        for (const char* text : {"The cat sat on the mat.", "softmax of 12 numbers <sep> and more"})
            EXPECT_EQ(tokenizer->decode(encoded_ids(*tokenizer, text)), text) << name;
    }
}

TEST(TokenizerFiles, SentencePieceInAFolderOfTransformersHasItsSpecialTokens) {
    const test::TemporaryFolder folder;
    const fs::path file = folder.path() / "tokenizer.model";
    test::put_file(file, test::file_bytes(kTokenizerFileCases / "sentencepiece_bpe_bare/tokenizer.model"));
    EXPECT_GT(encoded_ids(*read_tokenizer(folder.path()), "<s>a", true).size(), 2U) << "by itself a control piece stands in no text";
    EXPECT_EQ(encoded_ids(*read_tokenizer(file), "<s>a", true), encoded_ids(*read_tokenizer(folder.path()), "<s>a", true));
    test::put_file(folder.path() / "tokenizer_config.json", R"({"tokenizer_class": "LlamaTokenizer", "add_bos_token": true})");
    EXPECT_THAT(encoded_ids(*read_tokenizer(folder.path()), "<s>a", true),
                testing::AllOf(testing::SizeIs(3), testing::Contains(1).Times(2)));
    EXPECT_EQ(encoded_ids(*read_tokenizer(file), "<s>a", true), encoded_ids(*read_tokenizer(folder.path()), "<s>a", true));
    test::put_file(folder.path() / "tokenizer_config.json", R"({"tokenizer_class": "OddTokenizer"})");
    EXPECT_THROW(read_tokenizer(folder.path()), FileError);
    EXPECT_THROW(read_tokenizer(file), FileError);
}

/// A vocabulary without some of the letters that its pieces are made of: SentencePiece merges them all the same.
TEST(TokenizerFiles, LettersWithoutAPieceMerge) {
    SentencePieceModel model;
    model.kind = SentencePieceModel::Kind::Bpe;
    model.add_dummy_prefix = false;
    for (const auto& [text, score] : {std::pair("<unk>", 0.0), {"a", -3.0}, {"ab", -1.0}, {"abc", -2.0}, {"b\u00e9", -4.0}})
        model.pieces.push_back({text, score, std::string_view(text) == "<unk>" ? PieceType::Unknown : PieceType::Normal});
    const auto tokenizer_of_model = [&] { return ModelTokenizer(sentence_piece_parts(model, SpecialPieces::InWords)); };
    const ModelTokenizer bare = tokenizer_of_model();
    EXPECT_THAT(encoded_ids(bare, "abc"), ElementsAre(3));
    EXPECT_THAT(encoded_ids(bare, "ab\u00e9"), ElementsAre(2, 0)) << "the better score first";
    EXPECT_THAT(encoded_ids(bare, "b\u00e9cba"), ElementsAre(4, 0, 1)) << "letters left alone are unknown, together";
    EXPECT_THAT(encoded_ids(bare, "xbya"), ElementsAre(0, 1));
    const TokenSteps steps = bare.steps("abc");
    ASSERT_EQ(steps.words.size(), 1U);
    std::vector<std::int32_t> parts;
    for (const WordToken& part : steps.words[0].trace.parts) parts.push_back(part.id);
    EXPECT_THAT(parts, ElementsAre(1, -1, -1));
    EXPECT_EQ(steps.words[0].trace.joins.size(), 2U);
    model.byte_fallback = true;
    for (const char* byte : {"<0x62>", "<0x63>", "<0xC3>", "<0xA9>"}) model.pieces.push_back({byte, 0, PieceType::Byte});
    const ModelTokenizer with_bytes = tokenizer_of_model();
    EXPECT_THAT(encoded_ids(with_bytes, "abcb\u00e9c\u00e9"), ElementsAre(3, 4, 6, 7, 8));
    const Encoding encoding = with_bytes.encode("a\u00e9");
    ASSERT_EQ(encoding.size(), 3U);
    EXPECT_EQ(encoding[1].begin, 1U);
    EXPECT_EQ(encoding[2].end, 3U);
}

TEST(TokenizerFiles, GgufOfAPrunedVocabularyMergesLikeLlamaCpp) {
    const auto tokenizer = read_tokenizer(kTokenizerFileCases / "spm_pruned.gguf");
    const Json golden = json_of(kTokenizerFileCases / "spm_pruned.json");
    for (const Json& entry : golden.find("spm_pruned")->find("cases")->items())
        EXPECT_EQ(encoded_ids(*tokenizer, entry.find("text")->text()), numbers_in(*entry.find("ids"))) << entry.find("text")->text();
}

TEST(TokenizerFiles, RanksSayWhichVocabularyTheyAre) {
    const auto small = read_tokenizer(kTokenizerFileCases / "tiktoken/small.tiktoken");
    ASSERT_EQ(small->notes().size(), 1U);
    EXPECT_THAT(small->notes()[0], HasSubstr("420 ranks"));
    // As many ranks as in Llama 3; their contents do not matter here.
    const auto base64 = [](const std::string& bytes) {
        constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        std::string out;
        for (std::size_t i = 0; i < bytes.size(); i += 3) {
            std::uint32_t bits = 0;
            for (std::size_t j = 0; j < 3; ++j)
                bits = (bits << 8U) | (i + j < bytes.size() ? static_cast<unsigned char>(bytes[i + j]) : 0U);
            for (std::size_t j = 0; j < 4; ++j) out += i + j <= bytes.size() ? kDigits[(bits >> (18 - 6 * j)) & 63U] : '=';
        }
        return out;
    };
    std::string text;
    for (int rank = 0; rank < 128'000; ++rank) {
        std::string bytes(1, static_cast<char>(rank % 256));
        if (rank >= 256) bytes = std::to_string(rank);
        text += base64(bytes) + " " + std::to_string(rank) + "\n";
    }
    const ModelTokenizer llama(parse_tiktoken(text, "llama"));
    EXPECT_TRUE(llama.notes().empty());
    EXPECT_EQ(llama.size(), 128'256);
    EXPECT_THAT(encoded_ids(llama, "<|eot_id|>", true), ElementsAre(128'000, 128'009));
    EXPECT_EQ(llama.token_text(128'008), "<|reserved_special_token_4|>");
    EXPECT_EQ(llama.token_text(128'255), "<|reserved_special_token_250|>");
}

// --- against the same tokenizer as tokenizer.json --------------------------------------------------------------

/// Compares all texts of tokens.json, with and without the template's tokens.
void expect_golden_ids(const std::string& name, const ModelTokenizer& tokenizer, bool with_special) {
    const Json golden = json_of(kTokenizerJsonCases / name / "tokens.json");
    std::size_t cases = 0;
    for (const Json& entry : golden.find("cases")->items()) {
        if (entry.find("pair") != nullptr) continue;
        ++cases;
        const std::string& text = entry.find("text")->text();
        const Json& plain = *entry.find("plain");
        const Json& special = entry.find("special")->find("ids") != nullptr ? *entry.find("special") : plain;
        ASSERT_EQ(encoded_ids(tokenizer, text), numbers_in(*plain.find("ids"))) << name << ": \"" << text << "\"";
        if (with_special) {
            ASSERT_EQ(encoded_ids(tokenizer, text, true), numbers_in(*special.find("ids"))) << name << ": \"" << text << "\"";
        }
    }
    EXPECT_GT(cases, 100U) << name;
}

/// Token texts by id: the model's vocabulary and the added tokens.
std::vector<std::string> texts_by_id(const Json& json) {
    std::vector<std::string> texts;
    const auto put = [&](std::uint64_t id, const std::string& text) {
        if (id >= texts.size()) texts.resize(id + 1);
        texts[id] = text;
    };
    for (const auto& [text, id] : json.find("model")->find("vocab")->members()) put(id.as_unsigned(), text);
    for (const Json& token : json.find("added_tokens")->items()) put(token.find("id")->as_unsigned(), token.find("content")->text());
    return texts;
}

TEST(TokenizerFiles, BertsListOfPiecesIsBert) {
    for (const char* name : {"bert_cased", "bert_uncased"}) {
        const test::TemporaryFolder folder;
        std::string lines;
        // Lines cannot contain line breaks, but neither can words.
        for (const std::string& text : texts_by_id(json_of(kTokenizerJsonCases / name / "tokenizer.json")))
            lines += (text == "\n" || text == "\r" ? "[unused]" + std::to_string(text[0]) : text) + "\n";
        test::put_file(folder.path() / "vocab.txt", lines);
        expect_golden_ids(name, *read_tokenizer(folder.path()), true);
        expect_golden_ids(name, *read_tokenizer(folder.path() / "vocab.txt"), true);
    }
    // Settings in the folder take precedence over the appearance of pieces.
    const test::TemporaryFolder folder;
    test::put_file(folder.path() / "vocab.txt", "[UNK]\r\na\r\nA\r\n");
    EXPECT_THAT(encoded_ids(*read_tokenizer(folder.path()), "A a"), ElementsAre(2, 1));
    test::put_file(folder.path() / "tokenizer_config.json", R"({"do_lower_case": true})");
    EXPECT_THAT(encoded_ids(*read_tokenizer(folder.path()), "A a"), ElementsAre(1, 1));
}

/// A byte-level tokenizer.json as a GGUF file, as converters write it.
GgufKeys byte_level_gguf(const std::string& name, const std::string& pre) {
    const Json json = json_of(kTokenizerJsonCases / name / "tokenizer.json");
    const std::vector<std::string> texts = texts_by_id(json);
    std::vector<std::int32_t> types(texts.size(), 1);
    for (const Json& token : json.find("added_tokens")->items())
        types[token.find("id")->as_unsigned()] = token.find("special")->boolean() ? 3 : 4;
    std::vector<std::string> merges;
    for (const Json& merge : json.find("model")->find("merges")->items())
        merges.push_back(merge.items()[0].text() + " " + merge.items()[1].text());
    GgufKeys file;
    file.add_text("tokenizer.ggml.model", "gpt2");
    if (!pre.empty()) file.add_text("tokenizer.ggml.pre", pre);
    file.add("tokenizer.ggml.tokens", 9, test::gguf_texts(texts));
    file.add("tokenizer.ggml.token_type", 9, test::gguf_numbers(5, types));
    file.add("tokenizer.ggml.merges", 9, test::gguf_texts(merges));
    return file;
}

std::shared_ptr<const ModelTokenizer> tokenizer_in(const GgufKeys& keys) {
    const std::string bytes = keys.bytes();
    MemoryInput input(test::as_bytes(bytes), "file.gguf");
    return read_gguf_tokenizer(GgufFile::read(input));
}

TEST(TokenizerFiles, GgufCutsAsItsNameSays) {
    for (const auto& [name, pre] : {std::pair("gpt2", "gpt-2"), {"digits", "smollm"}, {"qwen2", "qwen2"}, {"bloom", "bloom"}})
        expect_golden_ids(name, *tokenizer_in(byte_level_gguf(name, pre)), true);
    GgufKeys llama3 = byte_level_gguf("llama3", "llama-bpe");
    llama3.add_id("tokenizer.ggml.bos_token_id", 384);
    expect_golden_ids("llama3", *tokenizer_in(llama3), true);
}

/// tests/golden/tokenizer_files/word_splits.json: one vocabulary, and its ids under the pre-tokenizers of published models.
TEST(TokenizerFiles, GgufCutsAsThePublishedModelsDo) {
    const Json golden = json_of(fs::path(ATTN_TEST_DATA) / "golden/tokenizer_files/word_splits.json");
    const auto texts_of = [&](const char* key) {
        std::vector<std::string> texts;
        for (const Json& text : golden.find(key)->items()) texts.push_back(text.text());
        return texts;
    };
    const std::vector<std::string> texts = texts_of("texts");
    const auto ids_by = [&](const std::string& pre) {
        GgufKeys file;
        file.add_text("tokenizer.ggml.model", "gpt2");
        file.add_text("tokenizer.ggml.pre", pre);
        file.add("tokenizer.ggml.tokens", 9, test::gguf_texts(texts_of("vocabulary")));
        file.add("tokenizer.ggml.merges", 9, test::gguf_texts(texts_of("merges")));
        const auto tokenizer = tokenizer_in(file);
        std::vector<std::vector<std::int32_t>> ids;
        for (const std::string& text : texts) ids.push_back(encoded_ids(*tokenizer, text));
        return ids;
    };
    const auto by_default = ids_by("default");
    std::size_t names = 0;
    for (const Json& split : golden.find("splits")->items())
        for (const Json& name : split.find("names")->items()) {
            ++names;
            const auto ids = ids_by(name.text());
            EXPECT_NE(ids, by_default) << name.text();
            for (std::size_t i = 0; i < texts.size(); ++i)
                EXPECT_EQ(ids[i], numbers_in(split.find("ids")->items()[i])) << name.text() << ": \"" << texts[i] << "\"";
        }
    EXPECT_EQ(names, 13U);
}

TEST(TokenizerFiles, GgufSaysWhatStandsAroundAText) {
    const auto with = [](bool begin, bool end) {
        GgufKeys keys = byte_level_gguf("qwen2", "qwen2");
        keys.add_id("tokenizer.ggml.bos_token_id", 377);
        keys.add_id("tokenizer.ggml.eos_token_id", 378);
        keys.add_truth("tokenizer.ggml.add_bos_token", begin);
        keys.add_truth("tokenizer.ggml.add_eos_token", end);
        return encoded_ids(*tokenizer_in(keys), "", true);
    };
    EXPECT_THAT(with(false, false), ElementsAre());
    EXPECT_THAT(with(true, false), ElementsAre(377));
    EXPECT_THAT(with(true, true), ElementsAre(377, 378));
}

TEST(TokenizerFiles, GgufMayNameNoToken) {
    GgufKeys keys = byte_level_gguf("qwen2", "qwen2");
    keys.add_id("tokenizer.ggml.bos_token_id", 0xFFFFFFFF);
    keys.add_truth("tokenizer.ggml.add_bos_token", true);
    EXPECT_THAT(encoded_ids(*tokenizer_in(keys), "", true), ElementsAre());
}

/// A SentencePiece vocabulary for "ab" and " ".
GgufKeys few_pieces() {
    GgufKeys keys;
    keys.add_text("tokenizer.ggml.model", "llama");
    keys.add("tokenizer.ggml.tokens", 9, test::gguf_texts({"<unk>", "<s>", "<|user|>", "a", "b", "\u2581"}));
    keys.add("tokenizer.ggml.scores", 9, test::gguf_numbers<float>(6, {0, 0, 0, -1, -2, -3}));
    keys.add("tokenizer.ggml.token_type", 9, test::gguf_numbers<std::int32_t>(5, {2, 3, 3, 1, 1, 1}));
    keys.add_truth("tokenizer.ggml.add_space_prefix", false);
    return keys;
}

TEST(TokenizerFiles, GgufCutsOutTheUnknownTokenToo) {
    EXPECT_THAT(encoded_ids(*tokenizer_in(few_pieces()), "a<unk>b"), ElementsAre(3, 0, 4));
}

TEST(TokenizerFiles, GgufOfSentencePieceBeginsWithItsUsualToken) {
    EXPECT_THAT(encoded_ids(*tokenizer_in(few_pieces()), "a", true), ElementsAre(1, 3));
    GgufKeys other = few_pieces();
    other.add_id("tokenizer.ggml.bos_token_id", 2);
    EXPECT_THAT(encoded_ids(*tokenizer_in(other), "a", true), ElementsAre(2, 3));
}

TEST(TokenizerFiles, GgufOfPhi3SwallowsSpaceAfterSpecialTokens) {
    EXPECT_THAT(encoded_ids(*tokenizer_in(few_pieces()), "<|user|> a"), ElementsAre(2, 5, 3));
    GgufKeys phi3 = few_pieces();
    phi3.add_text("general.architecture", "phi3");
    EXPECT_THAT(encoded_ids(*tokenizer_in(phi3), "<|user|>  a<s> b"), ElementsAre(2, 3, 1, 5, 4)) << "but not after <s>";
}

TEST(TokenizerFiles, GgufOfT5SaysThatItsSentinelsAreLost) {
    const auto notes = [](const char* architecture, const char* token) {
        GgufKeys keys;
        keys.add_text("general.architecture", architecture);
        keys.add_text("tokenizer.ggml.model", "t5");
        keys.add("tokenizer.ggml.tokens", 9, test::gguf_texts({"<pad>", "</s>", "<unk>", "\u2581", "a", token}));
        keys.add("tokenizer.ggml.scores", 9, test::gguf_numbers<float>(6, {0, 0, 0, -1, -2, -1000}));
        keys.add("tokenizer.ggml.token_type", 9, test::gguf_numbers<std::int32_t>(5, {3, 3, 2, 1, 1, 4}));
        return tokenizer_in(keys)->notes();
    };
    EXPECT_THAT(notes("t5", "[PAD5]"), ElementsAre(testing::HasSubstr("does not name T5's tokens <extra_id_0>")));
    EXPECT_THAT(notes("t5", "<extra_id_0>"), ElementsAre());
    EXPECT_THAT(notes("bert", "[PAD5]"), ElementsAre()) << "XLM-RoBERTa has none";
}

TEST(TokenizerFiles, GgufWithEndlessPiecesIsRefused) {
    std::vector<std::string> texts;
    for (int i = 0; i < 4000; ++i) texts.push_back(std::string(1000, 'a') + std::to_string(i));
    const auto refusal = [&](std::string_view model, std::int32_t type) {
        GgufKeys keys;
        keys.add_text("tokenizer.ggml.model", model);
        keys.add("tokenizer.ggml.tokens", 9, test::gguf_texts(texts));
        keys.add("tokenizer.ggml.scores", 9, test::gguf_numbers(6, std::vector<float>(texts.size())));
        keys.add("tokenizer.ggml.token_type", 9, test::gguf_numbers(5, std::vector<std::int32_t>(texts.size(), type)));
        keys.add("tokenizer.ggml.merges", 9, test::gguf_texts({}));
        try {
            tokenizer_in(keys);
        } catch (const FileError& error) {
            return std::string(error.what());
        }
        return std::string();
    };
    EXPECT_THAT(refusal("llama", 1), HasSubstr("too long to be joined"));
    for (std::string& text : texts) std::rotate(text.begin(), text.begin() + 1000, text.end());  // now they share no beginning
    EXPECT_THAT(refusal("t5", 1), HasSubstr("too long to be searched for together"));
    EXPECT_THAT(refusal("gpt2", 3), HasSubstr("too long to be searched for together"));
}

TEST(TokenizerFiles, GgufMayBringTheWholeTokenizer) {
    GgufKeys keys;
    keys.add_text("tokenizer.huggingface.json", test::file_bytes(kTokenizerJsonCases / "roberta/tokenizer.json"));
    expect_golden_ids("roberta", *tokenizer_in(keys), true);
}

TEST(TokenizerFiles, ATextThatAFileCannotEncodeIsRefusedInItsName) {
    const auto refusal = [](const auto& encode) {
        try {
            encode();
        } catch (const ConfigError& error) {
            return std::string(error.what());
        }
        return std::string();
    };
    const std::string endless = std::string(40, 'a') + "b", stopped = ": the tokenizer's regular expressions take too long on this text";
    const std::string json = R"({"model": {"type": "BPE", "vocab": {"a": 0}, "merges": []},
        "pre_tokenizer": {"type": "Split", "pattern": {"Regex": "(a|aa)+$"}, "behavior": "Isolated"}})";
    const test::TemporaryFolder folder;
    const fs::path path = folder.path() / "tokenizer.json";
    test::put_file(path, json);
    GgufKeys whole;
    whole.add_text("tokenizer.huggingface.json", json);
    const auto of_file = read_tokenizer(folder.path()), of_gguf = tokenizer_in(whole);
    EXPECT_THAT(refusal([&] { of_file->encode(endless); }), testing::StartsWith(path.string() + stopped));
    EXPECT_THAT(refusal([&] { of_file->steps(endless); }), testing::StartsWith(path.string() + stopped));
    EXPECT_THAT(refusal([&] { of_gguf->encode(endless); }), testing::StartsWith("file.gguf, tokenizer.huggingface.json" + stopped));
    // Not only regular expressions.
    GgufKeys bare;
    bare.add_text("tokenizer.ggml.model", "t5");
    bare.add("tokenizer.ggml.tokens", 9, test::gguf_texts({"a", "\u2581"}));
    bare.add("tokenizer.ggml.scores", 9, test::gguf_numbers<float>(6, {-1, -2}));
    EXPECT_THAT(refusal([&] { tokenizer_in(bare)->encode("c"); }), testing::StartsWith("file.gguf: \"c\" is not in the vocabulary"));
    EXPECT_EQ(refusal([&] { tokenizer_in(bare)->encode("a"); }), "");
    // A text that is too long for any tokenizer is not the file's fault.
    EXPECT_THAT(refusal([&] { of_file->encode(std::string(kMaxTextBytes + 1, ' ')); }), testing::StartsWith("a text of "));
}

TEST(TokenizerFiles, GgufWithoutAWayOfCuttingIsReadWithANote) {
    const auto old = tokenizer_in(byte_level_gguf("gpt2", ""));
    ASSERT_EQ(old->notes().size(), 1U);
    EXPECT_THAT(old->notes()[0], HasSubstr("does not say how its model splits"));
    EXPECT_EQ(old->decode(encoded_ids(*old, "1234567 (cats)!")), "1234567 (cats)!");
    EXPECT_EQ(encoded_ids(*old, "1234").size(), 4U);
}

TEST(TokenizerFiles, GgufOfBertHasItsPiecesRewritten) {
    for (const char* name : {"bert_cased", "bert_uncased"}) {
        std::vector<std::string> texts = texts_by_id(json_of(kTokenizerJsonCases / name / "tokenizer.json"));
        std::vector<std::int32_t> types(texts.size(), 1);
        for (std::size_t id = 0; id < texts.size(); ++id) {
            if (texts[id].starts_with('[') && texts[id].ends_with(']') && texts[id].size() > 2) types[id] = 3;
            else if (texts[id].starts_with("##")) texts[id].erase(0, 2);
            else texts[id].insert(0, "\u2581");
        }
        GgufKeys keys;
        keys.add_text("tokenizer.ggml.model", "bert");
        keys.add("tokenizer.ggml.tokens", 9, test::gguf_texts(texts));
        keys.add("tokenizer.ggml.token_type", 9, test::gguf_numbers(5, types));
        GgufKeys silent = keys;
        keys.add_id("tokenizer.ggml.unknown_token_id", 1);
        expect_golden_ids(name, *tokenizer_in(keys), true);
        expect_golden_ids(name, *tokenizer_in(silent), true);
        keys.add_id("tokenizer.ggml.cls_token_id", 7);
        keys.add_id("tokenizer.ggml.seperator_token_id", 8);
        EXPECT_THAT(encoded_ids(*tokenizer_in(keys), "", true), ElementsAre(7, 8));
    }
}

/// A SentencePiece file as a GGUF file.
GgufKeys gguf_of_pieces(const std::string& name, std::string_view model) {
    const std::string path = (kTokenizerFileCases / name / "tokenizer.model").string();
    const SentencePieceFile file = parse_sentence_piece_file(test::file_bytes(path), path);
    std::vector<std::string> texts;
    std::vector<float> scores;
    std::vector<std::int32_t> types;
    for (const SentencePiece& piece : file.model.pieces) {
        texts.push_back(piece.text);
        scores.push_back(static_cast<float>(piece.score));
        types.push_back(static_cast<std::int32_t>(piece.type));
    }
    GgufKeys keys;
    keys.add_text("tokenizer.ggml.model", model);
    keys.add("tokenizer.ggml.tokens", 9, test::gguf_texts(texts));
    keys.add("tokenizer.ggml.scores", 9, test::gguf_numbers(6, scores));
    keys.add("tokenizer.ggml.token_type", 9, test::gguf_numbers(5, types));
    keys.add_truth("tokenizer.ggml.add_space_prefix", file.model.add_dummy_prefix);
    keys.add_truth("tokenizer.ggml.remove_extra_whitespaces", file.model.remove_extra_spaces);
    keys.add_id("tokenizer.ggml.bos_token_id", 1);
    keys.add_id("tokenizer.ggml.eos_token_id", 2);
    if (!file.model.character_map.empty())
        keys.add("tokenizer.ggml.precompiled_charsmap", 9, test::gguf_list(0, file.model.character_map.size(), file.model.character_map));
    return keys;
}

TEST(TokenizerFiles, GgufOfSentencePieceGivesTheSameIds) {
    for (const auto& [name, model] : {std::pair("sentencepiece_unigram", "t5"), {"sentencepiece_bpe_bare", "llama"}}) {
        const auto own = read_tokenizer(kTokenizerFileCases / name);
        const auto gguf = tokenizer_in(gguf_of_pieces(name, model));
        const Json golden = json_of(kTokenizerFileCases / name / "tokens.json");
        for (const Json& entry : golden.find("cases")->items()) {
            const std::string& text = entry.find("text")->text();
            if (text.find("<s>") != std::string::npos) continue;  // here it is parsed as a token, as in llama.cpp
            EXPECT_EQ(encoded_ids(*gguf, text), encoded_ids(*own, text)) << name << ": \"" << text << "\"";
        }
    }
    const auto unigram = tokenizer_in(gguf_of_pieces("sentencepiece_unigram", "t5"));
    EXPECT_THAT(encoded_ids(*unigram, "", true), ElementsAre(2)) << "T5 ends its texts";
    const auto bpe = tokenizer_in(gguf_of_pieces("sentencepiece_bpe", "llama"));
    EXPECT_THAT(encoded_ids(*bpe, "", true), ElementsAre(1)) << "Llama begins them";
    EXPECT_EQ(bpe->decode(encoded_ids(*bpe, "a mat")), "a mat");
    const auto mapped = tokenizer_in(gguf_of_pieces("sentencepiece_unigram_bytes", "t5"));
    EXPECT_EQ(mapped->decode(encoded_ids(*mapped, "\uFB01ne")), "fine");
}

// --- texts of tokens -------------------------------------------------------------------------------------------

TEST(TokenizerFiles, TokensAreShownAsWhatTheyStandFor) {
    const auto bytes_of = [](const ModelTokenizer& tokenizer, std::string_view text) {
        std::vector<std::string> out;
        for (const EncodedToken& token : tokenizer.encode(text, false)) out.push_back(tokenizer.token_bytes(token.id));
        return out;
    };
    const auto joined = [&](const ModelTokenizer& tokenizer, std::string_view text) {
        std::string all;
        for (const std::string& bytes : bytes_of(tokenizer, text)) all += bytes;
        return all;
    };
    const std::string hard = "two\n\nlines, na\u00EFve \u6F22\u5B57 \U0001F98A";
    for (const char* name : {"gpt2", "llama3", "qwen2", "bloom", "digits", "gemma"})
        EXPECT_EQ(joined(*read_tokenizer(kTokenizerJsonCases / name), hard), hard) << name;
    EXPECT_EQ(joined(*read_tokenizer(kTokenizerJsonCases / "llama2"), hard), " " + hard);
    EXPECT_EQ(joined(*read_tokenizer(kTokenizerFileCases / "tiktoken"), hard), hard);
    EXPECT_EQ(joined(*read_tokenizer(kTokenizerFileCases / "sentencepiece_bpe"), hard), " " + hard);
    EXPECT_EQ(bytes_of(*read_tokenizer(kTokenizerJsonCases / "t5"), "the"), std::vector<std::string>{" the"});
    // Letters in BERT's pieces are letters, even if other tokenizers would use them for bytes.
    const auto bert = read_tokenizer(kTokenizerJsonCases / "bert_cased");
    for (std::int64_t id = 0; id < bert->size(); ++id) EXPECT_EQ(bert->token_bytes(id), bert->token_text(id).value_or(""));
    EXPECT_EQ(bert->token_bytes(1 << 20), "");
}

// --- hostile files ---------------------------------------------------------------------------------------------

std::string file_refusal(const std::string& name, const std::string& bytes) {
    const test::TemporaryFolder folder;
    test::put_file(folder.path() / name, bytes);
    try {
        read_tokenizer(folder.path() / name)->encode("The cat \u00BD\uFB01 <s>\xFF sat");
    } catch (const Error& error) {
        EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos) << error.what();
        return error.what();
    }
    return "";
}

/// A field of a protobuf message.
std::string field_of(unsigned number, std::string_view bytes) {
    std::string out(1, static_cast<char>(number << 3U | 2U));
    for (std::size_t length = bytes.size();; length >>= 7U) {
        out += static_cast<char>((length & 0x7FU) | (length > 0x7F ? 0x80U : 0U));
        if (length <= 0x7F) break;
    }
    return out + std::string(bytes);
}
std::string number_field(unsigned number, unsigned value) { return {static_cast<char>(number << 3U), static_cast<char>(value)}; }
std::string piece_of(std::string_view text, unsigned type = 1, float score = 0) {
    return field_of(1, field_of(1, text) + "\x15" + test::le(score) + number_field(3, type));
}

TEST(TokenizerFiles, SentencePieceFilesThatCannotBeAreRefused) {
    const std::string settings = field_of(2, number_field(3, 1)), unknown = piece_of("<unk>", 2) + settings;
    EXPECT_EQ(file_refusal("a.model", unknown + piece_of("a")), "");
    EXPECT_THAT(file_refusal("a.model", piece_of("<unk>", 2) + piece_of("a")), HasSubstr("ends before the tokenizer's settings"));
    EXPECT_THAT(file_refusal("a.model", unknown + piece_of("a") + piece_of("a")), HasSubstr("piece 2: \"a\" is given twice"));
    EXPECT_THAT(file_refusal("a.model", unknown + piece_of("a", 7)), HasSubstr("piece 1: there is no piece type 7"));
    EXPECT_THAT(file_refusal("a.model", unknown + piece_of("")), HasSubstr("piece 1 is empty"));
    EXPECT_THAT(file_refusal("a.model", unknown + piece_of("\xFF")), HasSubstr("piece 1 is empty or not UTF-8"));
    EXPECT_THAT(file_refusal("a.model", unknown + piece_of("a", 1, std::numeric_limits<float>::quiet_NaN())),
                HasSubstr("not a finite number"));
    EXPECT_THAT(file_refusal("a.model", piece_of("a") + settings), HasSubstr("no unknown token"));
    EXPECT_THAT(file_refusal("a.model", unknown + field_of(2, number_field(3, 3))),
                HasSubstr("attnscope does not support the model \"word\""));
    EXPECT_THAT(file_refusal("a.model", unknown + field_of(2, number_field(3, 9))),
                HasSubstr("attnscope does not support the model \"9\""));
    EXPECT_THAT(file_refusal("a.model", unknown + field_of(3, field_of(2, "damaged"))), HasSubstr("character map is damaged"));
    EXPECT_THAT(file_refusal("a.model", unknown + "\x0A\xFF\xFF\xFF\xFF\x0F"), HasSubstr("declares 4294967295 bytes, but only 0 are left"));
    EXPECT_THAT(file_refusal("a.model", unknown + "\x08" + std::string(11, '\xFF')), HasSubstr("a number of more than 64 bits"));
    EXPECT_THAT(file_refusal("a.model", unknown + "\x08\xFF"), HasSubstr("ends within a number"));
    EXPECT_THAT(file_refusal("a.model", unknown + "\x0B"), HasSubstr("field 1 has wire type 3"));
    EXPECT_THAT(file_refusal("a.model", unknown + std::string(1, '\x02') + '\0'), HasSubstr("there is no field 0"));
    EXPECT_THAT(file_refusal("a.model", unknown + number_field(1, 1)), HasSubstr("field 1 is not a message"));
    EXPECT_THAT(file_refusal("a.model", unknown + field_of(1, number_field(1, 1))), HasSubstr("field 1 is not a string"));
    EXPECT_THAT(file_refusal("a.model", unknown + piece_of("a") + piece_of(std::string(2000, 'a')) + field_of(2, number_field(3, 2))),
                HasSubstr("has 2000 bytes; at most 1024 can be joined"));
    EXPECT_THAT(file_refusal("a.model", field_of(3, "")), HasSubstr("expected a SentencePiece model, or lines of tokens in Base64"))
        << "neither";
    EXPECT_THAT(file_refusal("a.model", field_of(1, "") + settings), HasSubstr("piece 0 is empty"));
}

TEST(TokenizerFiles, RanksThatCannotBeAreRefused) {
    EXPECT_THAT(file_refusal("a.tiktoken", ""), HasSubstr("the byte 0x00 has no rank"));
    EXPECT_THAT(file_refusal("a.tiktoken", "AA== 0\nAA== 1\n"), HasSubstr("line 2: the token"));
    EXPECT_THAT(file_refusal("a.tiktoken", "AA== 0\nAQ== 0\n"), HasSubstr("line 2: the tokens"));
    EXPECT_THAT(file_refusal("a.tiktoken", "AA== 99999999999999999999\n"), HasSubstr("line 1: expected a token in Base64 and its rank"));
    EXPECT_THAT(file_refusal("a.tiktoken", "AA== 99999999999\n"), HasSubstr("expected 0 to"));
    EXPECT_THAT(file_refusal("a.tiktoken", "AA== -1\n"), HasSubstr("line 1: expected a token in Base64 and its rank"));
    EXPECT_THAT(file_refusal("a.tiktoken", "A?== 1\n"), HasSubstr("line 1: expected a token in Base64 and its rank"));
    EXPECT_THAT(file_refusal("a.tiktoken", "\xFF\xFE\n"), HasSubstr("line 1: expected a token in Base64"));
}

TEST(TokenizerFiles, ListsOfPiecesThatCannotBeAreRefused) {
    EXPECT_THAT(file_refusal("vocab.txt", ""), HasSubstr("the unknown token \"[UNK]\" is not in the vocabulary"));
    EXPECT_THAT(file_refusal("vocab.txt", "[UNK]\n\xFF\n"), HasSubstr("line 2: is not UTF-8"));
    EXPECT_EQ(file_refusal("vocab.txt", "[UNK]\n"), "");
    const test::TemporaryFolder folder;
    test::put_file(folder.path() / "vocab.txt", "[UNK]\n");
    test::put_file(folder.path() / "tokenizer_config.json", "[1]");
    EXPECT_THROW(read_tokenizer(folder.path()), FileError);
}

TEST(TokenizerFiles, DamagedFilesOfEveryKindAreRefusedOrRead) {
    const std::vector<std::pair<std::string, std::string>> good{
        {"a.model", test::file_bytes(kTokenizerFileCases / "sentencepiece_unigram_bytes/tokenizer.model")},
        {"b.model", test::file_bytes(kTokenizerFileCases / "sentencepiece_bpe/tokenizer.model")},
        {"c.tiktoken", test::file_bytes(kTokenizerFileCases / "tiktoken/small.tiktoken")},
        {"d.gguf", gguf_of_pieces("sentencepiece_unigram_bytes", "t5").bytes()},
        {"e.gguf", byte_level_gguf("llama3", "llama-bpe").bytes()}};
    std::mt19937 random(5);
    for (const auto& [name, bytes] : good) {
        EXPECT_EQ(file_refusal(name, bytes), "") << name;
        std::size_t refused = 0;
        for (int round = 0; round < 60; ++round) {
            std::string damaged = bytes;
            const std::size_t at = random() % bytes.size();
            if (round % 2 == 0) damaged.resize(at);
            else damaged[at] = static_cast<char>(random());
            refused += !file_refusal(name, damaged).empty();
        }
        EXPECT_GT(refused, 20U) << name;
    }
}

/// Sizes declared by a small file do not cause large allocations.
TEST(TokenizerFiles, WhatAFileAnnouncesIsNotAllocated) {
    const auto refused = [](const std::string& label, const std::string& file, const std::string& bytes) {
        const test::TemporaryFolder folder;
        test::put_file(folder.path() / file, bytes);
        const test::AllocationWatch watch;
        try {
            read_tokenizer(folder.path() / file);
            ADD_FAILURE() << label << " was read";
        } catch (const Error&) {
        }
        EXPECT_LT(watch.peak(), std::size_t{16} << 20) << label;
    };
    const std::string unknown = piece_of("<unk>", 2);
    refused("a piece of 4 GB", "a.model", unknown + "\x0A\xFF\xFF\xFF\xFF\x0F");
    refused("an id of 4 million without others", "b.tiktoken", "AA== 5000000\n");
    refused("tensors without end", "c.gguf",
            "GGUF" + test::le<std::uint32_t>(3) + test::le(~std::uint64_t{0}) + test::le<std::uint64_t>(0));
    GgufKeys list;
    list.add("tokenizer.ggml.tokens", 9, test::gguf_list(8, std::uint64_t{1} << 40U, ""));
    refused("a list without end", "d.gguf", list.bytes());
    GgufKeys many;
    many.add("a", 9, test::gguf_list(0, std::uint64_t{1} << 24U, ""));
    refused("sixteen million bytes", "e.gguf", many.bytes());
    refused("deep JSON", "tokenizer.json", std::string(1 << 20, '['));
}

}  // namespace
}  // namespace attn
