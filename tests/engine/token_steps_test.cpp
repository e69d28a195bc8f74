/// Tokenization step by step: the stages, and what the model does to each word.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <random>

#include "engine/tensor/error.hpp"
#include "engine/tokenizer/tokenizer_files.hpp"

namespace attn {
namespace {

using testing::ElementsAre;

std::shared_ptr<const ModelTokenizer> stepped(const std::string& name) {
    return read_tokenizer(std::filesystem::path(ATTN_TEST_DATA) / "golden" / name);
}

std::vector<std::string> pieces_of(const TextStage& stage) {
    std::vector<std::string> out;
    for (const Piece& piece : stage.list.pieces) out.emplace_back(stage.list.text_of(piece));
    return out;
}

const char* const kStepped[] = {"hf/tokenizers/bert_uncased",
                                "hf/tokenizers/digits",
                                "hf/tokenizers/gpt2",
                                "hf/tokenizers/llama2",
                                "hf/tokenizers/llama3",
                                "hf/tokenizers/qwen2",
                                "hf/tokenizers/t5",
                                "tokenizer_files/tiktoken",
                                "tokenizer_files/sentencepiece_bpe",
                                "tokenizer_files/sentencepiece_unigram_bytes"};
const std::string kSteppedText = "It's 12 o'clock: unhappily na\u00EFve \u6F22\u5B57 \U0001F98A, ab\u0301c.";

/// Replays the merges recorded in the trace, using only its own positions.
std::vector<WordToken> replayed(const WordTrace& trace) {
    std::vector<WordToken> parts = trace.parts;
    for (const WordTrace::Join& join : trace.joins) {
        const auto left = std::find_if(parts.begin(), parts.end(), [&](const WordToken& part) {
            return part.begin == join.joined.begin && part.end == join.joined.middle;
        });
        if (left == parts.end() || left + 1 == parts.end() || (left + 1)->end != join.joined.end) return {};
        *left = {join.joined.id, join.joined.begin, join.joined.end};
        parts.erase(left + 1);
    }
    return parts;
}

bool same_tokens(const std::vector<WordToken>& a, const std::vector<WordToken>& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [](const WordToken& x, const WordToken& y) { return x.id == y.id && x.begin == y.begin && x.end == y.end; });
}

TEST(TokenSteps, EndWithTheTokensOfTheText) {
    for (const char* name : kStepped) {
        const auto tokenizer = stepped(name);
        const TokenSteps steps = tokenizer->steps(kSteppedText);
        EXPECT_EQ(steps.stages.front().list.content.text, kSteppedText);
        std::vector<std::int32_t> ids, from_words;
        for (const EncodedToken& token : tokenizer->encode(kSteppedText, false)) ids.push_back(token.id);
        for (const TokenSteps::Word& word : steps.words) {
            if (!word.piece.is_text()) from_words.push_back(word.piece.token);
            for (const WordToken& token : word.trace.tokens) from_words.push_back(token.id);
        }
        EXPECT_EQ(from_words, ids) << name;
        EXPECT_EQ(steps.tokens.size(), tokenizer->encode(kSteppedText).size()) << name;
    }
}

TEST(TokenSteps, EveryJoinIsTheLowestRankOfThoseInTheList) {
    for (const char* name : kStepped) {
        const auto tokenizer = stepped(name);
        if (std::string(tokenizer->model_type()) != "BPE") continue;
        std::size_t joins = 0;
        for (const TokenSteps::Word& word : tokenizer->steps(kSteppedText).words) {
            const WordTrace& trace = word.trace;
            if (trace.taken_whole || !word.piece.is_text()) continue;
            EXPECT_TRUE(same_tokens(replayed(trace), trace.tokens)) << name;
            for (const WordTrace::Join& join : trace.joins) {
                ++joins;
                ASSERT_FALSE(join.pairs.empty());
                for (const WordTrace::Pair& pair : join.pairs) {
                    EXPECT_LE(join.joined.rank, pair.rank);
                    if (pair.rank == join.joined.rank) {
                        EXPECT_LE(join.joined.begin, pair.begin) << "the leftmost among equals";
                    }
                }
            }
        }
        EXPECT_GE(joins, 4U) << name;
    }
}

TEST(TokenSteps, TheChosenSpellingScoresBest) {
    const auto tokenizer = stepped("tokenizer_files/sentencepiece_unigram_bytes");
    for (const TokenSteps::Word& word : tokenizer->steps(kSteppedText).words) {
        if (!word.piece.is_text()) continue;
        double sum = 0, best = -1e300;
        std::uint32_t end = 0, last = 0;
        for (const WordTrace::Spelling& spelling : word.trace.spellings) last = std::max(last, spelling.token.end);
        for (const WordTrace::Spelling& spelling : word.trace.spellings) {
            if (spelling.token.end == last) best = std::max(best, spelling.total);
            if (!spelling.chosen) continue;
            EXPECT_EQ(spelling.token.begin, end);
            end = spelling.token.end;
            sum = static_cast<double>(static_cast<float>(sum + spelling.score));  // rounded as in SentencePiece
            EXPECT_NEAR(spelling.total, sum, 1e-9);
        }
        EXPECT_EQ(end, last);
        EXPECT_NEAR(sum, best, 1e-9);
    }
}

TEST(TokenSteps, WordPieceTriesTheLongestFirst) {
    const auto tokenizer = parse_tokenizer_json(
        R"({"version": "1.0", "pre_tokenizer": {"type": "BertPreTokenizer"},
            "model": {"type": "WordPiece", "unk_token": "?", "vocab": {"?": 0, "un": 1, "##hap": 2, "##py": 3}}})",
        "tokenizer.json");
    const TokenSteps steps = tokenizer->steps("unhappy! un");
    ASSERT_EQ(steps.words.size(), 3U);
    std::vector<std::string> tried;
    for (const WordTrace::LookUp& look : steps.words[0].trace.look_ups)
        tried.push_back(std::string("unhappy").substr(look.begin, look.end - look.begin) + (look.found ? "*" : ""));
    EXPECT_THAT(tried, ElementsAre("unhappy", "unhapp", "unhap", "unha", "unh", "un*", "happy", "happ", "hap*", "py*"));
    ASSERT_EQ(steps.words[1].trace.look_ups.size(), 1U);
    EXPECT_FALSE(steps.words[1].trace.look_ups[0].found);
}

TEST(TokenSteps, StagesAreNamedAndKeepTheirPlaces) {
    const TokenSteps qwen = stepped("hf/tokenizers/qwen2")->steps("Ab\u0301 12");
    std::vector<std::string> names;
    for (const TextStage& stage : qwen.stages) names.push_back(stage.name);
    EXPECT_THAT(names, ElementsAre("", "", "NFC", "Split", "ByteLevel"));
    EXPECT_THAT(pieces_of(qwen.stages[3]), ElementsAre("Ab", "\u0301", " ", "1", "2"));
    for (const TextStage& stage : qwen.stages) {
        ASSERT_EQ(stage.list.content.origins.size(), stage.list.content.text.size());
        EXPECT_EQ(stage.list.content.origins.back(), (Origin{6, 7})) << stage.name;
    }
    const TokenSteps whole = stepped("hf/tokenizers/llama3")->steps("the");
    ASSERT_EQ(whole.words.size(), 1U);
    EXPECT_EQ(whole.words[0].trace.taken_whole, whole.words[0].trace.tokens.size() == 1);
}

TEST(TokenSteps, LongTextsAreRefusedAndLongWordsListNoPairs) {
    const auto tokenizer = stepped("hf/tokenizers/gpt2");
    EXPECT_THROW(tokenizer->steps(std::string(ModelTokenizer::kMaxStepsBytes + 1, 'a')), ConfigError);
    std::string text;
    for (std::size_t i = 0; i < ModelTokenizer::kMaxStepsBytes / 2; ++i) text += "th";
    const TokenSteps steps = tokenizer->steps(text);
    ASSERT_EQ(steps.words.size(), 1U);
    ASSERT_FALSE(steps.words[0].trace.joins.empty());
    EXPECT_TRUE(steps.words[0].trace.joins[0].pairs.empty());
    EXPECT_TRUE(same_tokens(replayed(steps.words[0].trace), steps.words[0].trace.tokens));
    EXPECT_TRUE(tokenizer->steps("").words.empty());
}

}  // namespace
}  // namespace attn
