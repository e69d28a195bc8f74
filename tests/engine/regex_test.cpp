/// Expressions that take too long are aborted, whatever the reason; those of known tokenizers never are.

#include "engine/tokenizer/regex.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "engine/tensor/error.hpp"
#include "engine/tokenizer/pre_tokenizer.hpp"
#include "engine/tokenizer/tokenizer_files.hpp"

namespace attn {
namespace {

using testing::HasSubstr;

std::string repeated(std::string_view text, std::size_t times) {
    std::string out;
    for (; times > 0; --times) out += text;
    return out;
}

std::string failure(const Regex& regex, std::string_view text, SearchTime& time) {
    try {
        regex.matches(text, time);
    } catch (const ConfigError& error) {
        return error.what();
    }
    return "";
}

/// The time for a text of so many bytes, nearly all of it used up, so that what takes too long is stopped sooner.
SearchTime nearly_none_for(std::size_t bytes) {
    SearchTime time;
    time.take(SearchTime::kFirst + SearchTime::kPerByte * static_cast<double>(bytes) - 0.1);
    return time;
}

/// For a run of n letters it takes about 2^n steps to find that no "b" follows.
const Regex kDoubling("(?:a|a)*b|c");

TEST(Regex, FindsTheSameHoweverManyStepsItTakes) {
    for (std::size_t run = 0; run < 14; ++run) {
        SearchTime time;
        const std::string text = repeated(repeated("a", run) + "c", 3);
        std::vector<Match> expected;
        for (std::size_t i = 1; i <= 3; ++i) expected.push_back({i * (run + 1) - 1, i * (run + 1)});
        EXPECT_EQ(kDoubling.matches(text, time), expected) << run;
        EXPECT_LT(time.left(), SearchTime::kFirst + SearchTime::kPerByte * static_cast<double>(text.size()));
    }
}

TEST(Regex, GivesUpOneMatchThatTakesTooLong) {
    SearchTime time;
    EXPECT_THAT(failure(kDoubling, repeated("a", 60) + "c", time), HasSubstr("take too long on this text"));
}

/// Reads the whole run of letters at each position, without any backtracking.
TEST(Regex, GivesUpWhatTakesLongWithoutGoingBack) {
    const Regex whole_runs("(?>a+)!");
    const std::string text = repeated("a", 150'000) + "c!";
    SearchTime time = nearly_none_for(text.size());
    EXPECT_THAT(failure(whole_runs, text, time), HasSubstr("take too long on this text"));
}

/// Each match succeeds, so no single search is aborted.
TEST(Regex, GivesUpMatchesThatTakeTooLongThoughTheySucceed) {
    const Regex to_the_end("a(?=a*+!)");
    const std::string text = repeated("a", 150'000) + "!";
    SearchTime time = nearly_none_for(text.size());
    EXPECT_THAT(failure(to_the_end, text, time), HasSubstr("take too long on this text"));
}

TEST(Regex, GivesUpManyMatchesThatTakeTooLongTogether) {
    const std::string one = repeated("a", 17) + "c";
    SearchTime few;
    EXPECT_EQ(failure(kDoubling, repeated(one, 3), few), "") << "each of them is bearable";
    SearchTime many = nearly_none_for(5000 * one.size());
    EXPECT_THAT(failure(kDoubling, repeated(one, 5000), many), HasSubstr("were stopped"));
    // The same if the text comes in pieces.
    SearchTime pieces = nearly_none_for(0);
    std::string refused;
    for (int i = 0; i < 5000 && refused.empty(); ++i) refused = failure(kDoubling, one, pieces);
    EXPECT_THAT(refused, HasSubstr("were stopped"));
}

TEST(Regex, TakesLongTextsWithTheExpressionsOfKnownTokenizers) {
    const Regex gpt2(kGpt2Split);
    for (const char* text : {"a", " ", "a ", "word's ", "\n \n", "12345", "?!", "\u6F22\u5B57", "\U0001F98A "}) {
        SearchTime time;
        const std::string whole = repeated(text, 30'000);
        std::size_t bytes = 0;
        for (const Match& match : gpt2.matches(whole, time)) bytes += match.end - match.begin;
        EXPECT_EQ(bytes, whole.size()) << text;
    }
}

TEST(Regex, OfATokenizerIsBoundedForTheWholeText) {
    const auto tokenizer = parse_tokenizer_json(
        R"({"added_tokens": [{"id": 9, "content": "<m>"}], "pre_tokenizer": {"type": "Split", "pattern": {"Regex": "(?:a|a)*b|c"},)"
        R"( "behavior": "Isolated"}, "model": {"type": "WordLevel", "vocab": {"[UNK]": 0}, "unk_token": "[UNK]"}})",
        "tokenizer.json");
    const std::string one = repeated("a", 17) + "c<m>";
    EXPECT_NO_THROW(tokenizer->encode(repeated(one, 3)));
    EXPECT_THROW(tokenizer->encode(repeated(one, 5000)), ConfigError) << "added tokens cut it into pieces";
}

}  // namespace
}  // namespace attn
