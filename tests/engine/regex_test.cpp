/// Expressions that take too long are aborted, whatever the reason; those of known tokenizers never are.

#include "engine/tokenizer/regex.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <utility>

#include "engine/tensor/error.hpp"
#include "engine/tokenizer/counted_loops.hpp"
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

std::string failure(const Regex& regex, std::string_view text, SearchWork& work) {
    try {
        regex.matches(text, work);
    } catch (const ConfigError& error) {
        return error.what();
    }
    return "";
}

/// Only what a text adds by its bytes, so that what takes too long is stopped sooner.
SearchWork only_for_bytes() {
    SearchWork work;
    work.take(SearchWork::kFirst);
    return work;
}

/// For a run of n letters it takes about 2^n steps to find that no "b" follows.
const Regex kDoubling("(?:a|a)*b|c");

TEST(Regex, FindsTheSameHoweverManyStepsItTakes) {
    for (std::size_t run = 0; run < 14; ++run) {
        SearchWork work;
        const std::string text = repeated(repeated("a", run) + "c", 3);
        std::vector<Match> expected;
        for (std::size_t i = 1; i <= 3; ++i) expected.push_back({i * (run + 1) - 1, i * (run + 1)});
        EXPECT_EQ(kDoubling.matches(text, work), expected) << run;
        EXPECT_LE(work.left(), SearchWork::kFirst + SearchWork::kPerByte * text.size());
    }
}

TEST(Regex, GivesUpOneMatchThatTakesTooLong) {
    SearchWork work;
    EXPECT_THAT(failure(kDoubling, repeated("a", 60) + "c", work), HasSubstr("take too long on this text"));
}

/// Reads the whole run of letters at each position, without any backtracking.
TEST(Regex, GivesUpWhatTakesLongWithoutGoingBack) {
    const Regex whole_runs("(?>a+)!");
    const std::string text = repeated("a", 20'000) + "c!";
    SearchWork work = only_for_bytes();
    EXPECT_THAT(failure(whole_runs, text, work), HasSubstr("take too long on this text"));
}

/// Each match succeeds, so no single search is aborted.
TEST(Regex, GivesUpMatchesThatTakeTooLongThoughTheySucceed) {
    const Regex to_the_end("a(?=a*+!)");
    const std::string text = repeated("a", 20'000) + "!";
    SearchWork work = only_for_bytes();
    EXPECT_THAT(failure(to_the_end, text, work), HasSubstr("take too long on this text"));
}

TEST(Regex, GivesUpManyMatchesThatTakeTooLongTogether) {
    const std::string one = repeated("a", 17) + "c";
    SearchWork few;
    EXPECT_EQ(failure(kDoubling, repeated(one, 3), few), "") << "each of them is bearable";
    SearchWork many = only_for_bytes();
    EXPECT_THAT(failure(kDoubling, repeated(one, 5000), many), HasSubstr("were stopped"));
    // The same if the text comes in pieces.
    SearchWork pieces = only_for_bytes();
    std::string refused;
    for (int i = 0; i < 5000 && refused.empty(); ++i) refused = failure(kDoubling, one, pieces);
    EXPECT_THAT(refused, HasSubstr("were stopped"));
}

TEST(Regex, TakesLongTextsWithTheExpressionsOfKnownTokenizers) {
    const Regex gpt2(kGpt2Split);
    for (const char* text : {"a", " ", "a ", "word's ", "\n \n", "12345", "?!", "\u6F22\u5B57", "\U0001F98A "}) {
        SearchWork work;
        const std::string whole = repeated(text, 30'000);
        std::size_t bytes = 0;
        for (const Match& match : gpt2.matches(whole, work)) bytes += match.end - match.begin;
        EXPECT_EQ(bytes, whole.size()) << text;
    }
}

/// What is given up, and where, is the same on every machine and at every load.
TEST(Regex, CountsItsWork) {
    const std::string text = repeated(repeated("a", 300) + "b ", 20) + "c";
    for (const char* pattern : {"a+b", "(?:a|b)+ ", "(?>a*)c|b", "a(?=a*+b)", "(?<x>a{1,40})\\k<x>b", "\\X+ ", kGpt2Split.data()}) {
        const Regex regex(pattern);
        SearchWork first, second;
        regex.matches(text, first);
        regex.matches(text, second);
        EXPECT_EQ(first.left(), second.left()) << pattern;
        EXPECT_LT(first.left(), SearchWork::kFirst + SearchWork::kPerByte * text.size()) << pattern << " is counted";
    }
    // Every start reads the rest of its run: 300 * 301 / 2 passes for each of the 20 runs, and one for each space between them.
    SearchWork work;
    EXPECT_EQ(Regex("(?>a*)c").matches(text, work).size(), 1U);
    const std::uint64_t passes = SearchWork::kFirst + SearchWork::kPerByte * text.size() - work.left();
    EXPECT_GE(passes, 20U * 300 * 301 / 2);
    EXPECT_LT(passes, 10U * 20 * 300 * 301 / 2);
}

TEST(Regex, MarksWhatIsRepeated) {
    const std::array<std::pair<const char*, const char*>, 30> marked = {{
        {"a+b?", "(?:(*p)a)+b?"},
        {"a*?b++", "(?:(*p)a)*?(?:(*p)b)++"},
        {"(ab|a)*c", "(?:(*p)(ab|a))*c"},
        {"(a+b)*", "(?:(*p)((?:(*p)a)+b))*"},
        {"a{2,3}?b{4}", "(?:(*p)a){2,3}?(?:(*p)b){4}"},
        {"a{,2}+", "(?:(*p)(?:(*p)a){,2})+"},
        {"a?+b??", "a?+b??"},
        {"a{x}{", "a{x}{"},
        {"a{2", "a{2"},
        {"[^a[:digit:]b]+", "(?:(*p)[^a[:digit:]b])+"},
        {"[]a]+[^]a]*", "(?:(*p)[]a])+(?:(*p)[^]a])*"},
        {"[a[b&&[:x]]]+", "(?:(*p)[a[b&&[:x]]])+"},
        {R"([\]a]+\]+)", R"((?:(*p)[\]a])+(?:(*p)\])+)"},
        {"(?i)a+(?i:b|c)+", "(?i)(?:(*p)a)+(?:(*p)(?i:b|c))+"},
        {"a(?#a+)+", "(?:(*p)a(?#a+))+"},
        {"(?<two>a)+(?'three'b)*", "(?:(*p)(?<two>a))+(?:(*p)(?'three'b))*"},
        {"(?<=a+)b(?<!c*)", "(?<=(?:(*p)a)+)b(?<!(?:(*p)c)*)"},
        {"(?=a+)(?!b*)(?>c+)+", "(?=(?:(*p)a)+)(?!(?:(*p)b)*)(?:(*p)(?>(?:(*p)c)+))+"},
        {R"(\p{L}+\P{^N}*\pL+)", R"((?:(*p)\p{L})+(?:(*p)\P{^N})*\p(?:(*p)L)+)"},
        {R"(\x41+\x{1F600}+\x4+)", R"((?:(*p)\x41)+(?:(*p)\x{1F600})+(?:(*p)\x4)+)"},
        {R"(\u0041+\061+\0*)", R"((?:(*p)\u0041)+(?:(*p)\061)+(?:(*p)\0)*)"},
        {R"(\s+(?!\S)|\s+)", R"((?:(*p)\s)+(?!\S)|(?:(*p)\s)+)"},
        {R"((a)\1+)", R"((a)(?:(*p)(?:(*c)\1))+)"},
        {R"((?<x>a)\k<x>\k'x'*)", R"((?<x>a)(?:(*c)\k<x>)(?:(*p)(?:(*c)\k'x'))*)"},
        {R"(\X+)", R"((?:(*p)(?>\O(?:(*p)\Y\O)*))+)"},
        {"\u00e9+\u6f22", "(?:(*p)\u00e9)+\u6f22"},
        {R"(\*+\+)", R"((?:(*p)\*)+\+)"},
        {"a**", "(?:(*p)(?:(*p)a)*)*"},
        {"^+$", "(?:(*p)^)+$"},
        {"", ""},
    }};
    for (const auto& [pattern, expected] : marked) EXPECT_EQ(with_counted_loops(pattern), expected);
}

TEST(Regex, RefusesWhatCannotBeCounted) {
    const auto refusal = [](const char* pattern) -> std::string {
        try {
            const Regex regex(pattern);
        } catch (const ConfigError& error) {
            return error.what();
        }
        return "";
    };
    EXPECT_EQ(refusal("(?<x>a\\g<x>?b)"),
              "the regular expression \"(?<x>a\\g<x>?b)\" has calls of groups \\g, which attnscope does not support");
    for (const char* pattern : {"(?~ab)", "(?x) a +", "(a)?(?(1)b|c)", "a(*FAIL)", "a(?{x})"})
        EXPECT_THAT(refusal(pattern), HasSubstr("which attnscope does not support")) << pattern;
    EXPECT_THAT(refusal("(a"), HasSubstr("cannot be used"));
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
