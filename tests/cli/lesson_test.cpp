/// attnscope lesson, and pictures of lessons. The latter need OpenGL: skipped without a display unless ATTN_REQUIRE_GL is set.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "tests/cli/process.hpp"

namespace attn::test {
namespace {

using testing::HasSubstr;

void expect_refused(const std::vector<std::string>& arguments, const std::string& named) {
    const Outcome outcome = attnscope(arguments);
    EXPECT_EQ(outcome.exit_code, 2) << testing::PrintToString(arguments);
    EXPECT_EQ(outcome.out, "");
    EXPECT_THAT(outcome.err, testing::StartsWith("attnscope: "));
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr(named));
}

TEST(LessonCommand, ListsThemAll) {
    const Outcome outcome = attnscope({"lesson", "--list"});
    EXPECT_EQ(outcome.exit_code, 0);
    EXPECT_EQ(outcome.err, "");
    EXPECT_EQ(std::count(outcome.out.begin(), outcome.out.end(), '\n'), 13) << outcome.out;
    for (const char* name :
         {"tour", "tokens-and-embeddings", "one-head", "scaling-and-softmax", "masks", "many-heads", "the-block", "dropout",
          "find-the-name", "follow-the-name", "watch-a-head-form", "how-translation-aligns", "your-own-attention"})
        EXPECT_THAT(outcome.out, HasSubstr(name));
}

TEST(LessonCommand, RefusesWhatThereIsNot) {
    const ScratchFolder folder;
    expect_refused({"lesson"}, "--list");
    expect_refused({"lesson", "no-such-lesson"}, "watch-a-head-form");
    expect_refused({"lesson", "masks", "--step", "0"}, "steps 1 to 10");
    expect_refused({"lesson", "masks", "--step", "11"}, "steps 1 to 10");
    expect_refused({"lesson", folder.path(".")}, "");
    expect_refused({"lesson", folder.file("empty.json", "")}, "empty.json");
    expect_refused(
        {"lesson", folder.file("bad.json", R"({"name": "a", "title": "b", "steps": [{"caption": "c"}, {"caption": "d", "head": "x"}]})")},
        "bad.json, line 1, column 74 (/steps/1/head): ");
    const std::string out = folder.path("never.png");
    expect_refused({"render", "--out", out, "--lesson", "no-such-lesson"}, "no-such-lesson");
    expect_refused({"render", "--out", out, "--lesson", "masks", "--step", "99"}, "steps 1 to 10");
    expect_refused({"render", "--out", out, "--lesson", "masks", "--step", "1", "--answer", "1"},
                   "step 1 of the lesson masks has no question");
    expect_refused({"render", "--out", out, "--lesson", "masks", "--step", "3", "--answer", "0"}, "answers 1 to 3");
    expect_refused({"render", "--out", out, "--lesson", "masks", "--step", "3", "--answer", "4"}, "answers 1 to 3");
    expect_refused({"render", "--out", out, "--answer", "1"}, "--lesson");
    expect_refused({"render", "--out", out, "--lesson", "masks", "--text", "mine"}, "--lesson");
    expect_refused({"render", "--out", out, "--lesson", "masks", "--task", "copy"}, "--lesson");
}

TEST(LessonCommand, PlacesThatDoNotExistAreNamedByFileStepAndField) {
    const ScratchFolder folder;
    const auto lesson = [&](const std::string& step) {
        return folder.file("own.json",
                           R"({"name": "own", "title": "Own", "steps": [{"caption": "fine", "preset": "gpt-tiny"}, {"caption": "x")" +
                               step + "}]}");
    };
    for (const auto& [step, named] : std::vector<std::pair<std::string, std::string>>{
             {R"(, "head": 9)", "own.json, line 1, column 103 (/steps/1/head): there is no head 9"},
             {R"(, "stage": "weights", "layer": 7)", "own.json, line 1, column 123 (/steps/1/layer): there is no layer 7"},
             {R"(, "cell": {"T": 99})", "own.json, line 1, column 112 (/steps/1/cell/T): there is no T 99"},
             {R"(, "forward": {"edits": [{"kind": "set", "stage": "layers.9.attention.weights", "row": 0, "column": 0, "value": 1}]})",
              "own.json, line 1, column 125 (/steps/1/forward/edits/0): "}}) {
        const std::string file = lesson(step);
        expect_refused({"lesson", file}, named);
        expect_refused({"render", "--out", folder.path("never.png"), "--lesson", file}, named);
    }
    const std::string quoting = folder.file(
        "quoting.json", R"({"name": "a", "title": "b", "steps": [{"preset": "gpt-tiny", "caption": "It is {weights[0,0,99,1]}."}]})");
    expect_refused({"lesson", quoting}, "quoting.json, line 1, column 62 (/steps/0/caption): {weights[0,0,99,1]}: there is no T 99");
    const std::string claiming = folder.file("claiming.json", R"({"name": "a", "title": "b", "steps": [{"preset": "stories", "caption": "c",
        "stage": "weights", "layer": 1, "claims": ["{most weights[0,2,16,*]} = Tom"]}]})");
    expect_refused({"lesson", claiming}, "claiming.json, line 2, column 52 (/steps/0/claims/0): this is not true: \"{most "
                                         "weights[0,2,16,*]} = Tom\", {most weights[0,2,16,*]} is Lily");
    EXPECT_FALSE(std::filesystem::exists(folder.path("never.png")));
}

TEST(LessonCommand, ARunThatEndsBeforeItsMomentIsReported) {
    if (std::getenv("DISPLAY") == nullptr && std::getenv("ATTN_REQUIRE_GL") == nullptr) GTEST_SKIP() << "there is no screen";
    const ScratchFolder folder;
    const std::string file = folder.file("early.json", R"({"name": "a", "title": "b", "steps": [{"caption": "c", "moment": 50,
        "training": {"task": "copy", "settings": {"model": {"d_model": 8, "num_heads": 1, "num_layers": 1, "d_ff": 8}, "batch_size": 2,
        "evaluate_every": 5, "task": {"length": 3, "symbols": 4}}, "until": {"loss": 1000}}}]})");
    const Outcome outcome = attnscope({"render", "--out", folder.path("never.png"), "--lesson", file});
    EXPECT_EQ(outcome.exit_code, 2);
    EXPECT_THAT(outcome.err, HasSubstr("there is no step 50"));
    EXPECT_FALSE(std::filesystem::exists(folder.path("never.png")));
}

TEST(LessonPictures, DifferFromStepToStep) {
    if (std::getenv("DISPLAY") == nullptr && std::getenv("ATTN_REQUIRE_GL") == nullptr) GTEST_SKIP() << "there is no screen";
    const ScratchFolder folder;
    const auto draw = [&](const std::string& name, const std::string& lesson, const std::string& step) {
        const std::string path = folder.path(name);
        const Outcome outcome = attnscope({"render", "--lesson", lesson, "--step", step, "--out", path});
        EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
        return read_bytes(path);
    };
    const std::string second = draw("2.png", "masks", "2");
    EXPECT_EQ(second, draw("again.png", "masks", "2"));
    const std::string asking = draw("3.png", "masks", "3");
    EXPECT_NE(second, asking);
    for (const char* answer : {"1", "3"}) {
        const std::string path = folder.path(std::string("answered") + answer + ".png");
        ASSERT_EQ(attnscope({"render", "--lesson", "masks", "--step", "3", "--answer", answer, "--out", path}).exit_code, 0);
        EXPECT_NE(read_bytes(path), asking);
    }
    EXPECT_NE(read_bytes(folder.path("answered1.png")), read_bytes(folder.path("answered3.png"))) << "what was expected is said";
    const std::string own = folder.file("own.json", R"({"name": "own", "title": "Own", "steps": [{"title": "One", "caption": "Two words.",
        "preset": "gpt-tiny", "texts": ["two words"], "view": "grid", "stage": "weights"}]})");
    EXPECT_NE(second, draw("own.png", own, "1"));
}

}  // namespace
}  // namespace attn::test
