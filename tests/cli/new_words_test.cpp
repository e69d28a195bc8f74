/// Words that a model has never read, on the command line: they stand as typed, and every table has their columns.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/cli/process.hpp"

namespace attn::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;

constexpr const char* kOwn = "Tom gives a red scooter to Sofia because she is sad. Who has the scooter?";

TEST(NewWordsCommand, SampleAnswersInThem) {
    const Outcome said = attnscope({"sample", "--preset", "stories", "--prompt", kOwn, "--tokens", "1", "--temperature", "0"});
    EXPECT_EQ(said.exit_code, 0) << said.err;
    EXPECT_EQ(said.out, std::string(kOwn) + " Sofia\n");
    const Outcome listed = attnscope({"sample", "--preset", "stories", "--prompt", kOwn, "--tokens", "1", "--temperature", "0", "--json"});
    const json token = json::parse(listed.out).at("tokens").at(0);
    EXPECT_EQ(token.at("text"), "Sofia");
    EXPECT_EQ(token.at("id"), 206);
    EXPECT_GT(token.at("probability"), 0.99);
    EXPECT_EQ(listed.out.find("<new"), std::string::npos);
}

TEST(NewWordsCommand, TokenizeNumbersThem) {
    const Outcome table = attnscope({"tokenize", "--preset", "stories", "--text", "tom meets Sofia 's well-known owl"});
    EXPECT_EQ(table.exit_code, 0) << table.err;
    EXPECT_THAT(table.out, HasSubstr("    205  Sofia"));
    EXPECT_THAT(table.out, HasSubstr("\"Sofia\", new word 1\n"));
    EXPECT_THAT(table.out, HasSubstr("\"tom\"\n")) << "known in another case";
    EXPECT_THAT(table.out, HasSubstr("\"well-known\", new word 4\n"));
    const json line = json::parse(attnscope({"tokenize", "--preset", "stories", "--text", "Ana has Bo . Bo ?", "--json"}).out);
    EXPECT_EQ(line.at("tokens"), json({"Ana", "has", "Bo", ".", "Bo", "?"}));
    EXPECT_EQ(line.at("ids").at(2), line.at("ids").at(4));
    // Every text has new words of its own.
    const Outcome two = attnscope({"tokenize", "--preset", "stories", "--text", "Ana", "--text", "Bo", "--json"});
    EXPECT_EQ(std::count(two.out.begin(), two.out.end(), '\n'), 2);
    EXPECT_THAT(two.out, testing::Not(HasSubstr("206")));
}

TEST(NewWordsCommand, TablesHaveTheirColumnsAndNoOthers) {
    const ScratchFolder folder;
    for (const auto& [text, columns] : {std::pair{kOwn, 207}, std::pair{"Tom has the ball .", 205}}) {
        for (const char* stage : {"logits", "probabilities"}) {
            const std::string file = folder.path("table.csv");
            const Outcome outcome = attnscope({"export", "--preset", "stories", "--text", text, "--stage", stage, "--out", file});
            ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
            std::istringstream lines(read_bytes(file));
            std::string header, first;
            std::getline(lines, header);
            std::getline(lines, first);
            EXPECT_EQ(header.find("<new"), std::string::npos);
            EXPECT_THAT(header, HasSubstr(std::to_string(columns - 1)));
            EXPECT_THAT(header, testing::Not(HasSubstr(std::to_string(columns))));
            if (columns == 207) {
                EXPECT_THAT(header, HasSubstr("Sofia"));
            }
        }
        std::filesystem::remove(folder.path("table.csv"));
    }
}

TEST(NewWordsCommand, TrainTeachesThemAndSampleReadsThemInARun) {
    const ScratchFolder folder;
    const std::string recipe = folder.file("recipe.json", R"({"task": {"kind": "stories", "length": 24, "new_words": {"places": 3}},
        "model": {"num_layers": 1, "num_heads": 2, "d_model": 16, "d_ff": 16}, "batch_size": 4, "evaluate_every": 5})");
    const auto train = [&](const char* threads, const char* name) {
        const Outcome outcome = attnscope(
            {"train", "--config", recipe, "--steps", "5", "--threads", threads, "--out", folder.path(name), "--half", folder.path("half")});
        EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
        return read_bytes(folder.path("half"));
    };
    EXPECT_EQ(train("1", "one"), train("2", "two")) << "with any number of threads";
    const std::string run = folder.path("one");
    const Outcome said = attnscope({"sample", "--model", run, "--prompt", "Ana meets Bo and Cy and Di .", "--tokens", "3", "--json"});
    EXPECT_EQ(said.exit_code, 0) << said.err;
    EXPECT_EQ(said.out.find("<new"), std::string::npos);
    const Outcome shown = attnscope({"tokenize", "--run", run, "--text", "Ana meets Bo and Cy and Di ."});
    EXPECT_THAT(shown.out, HasSubstr("\"Di\", new word 3")) << "what is left over shares the last place";
    // A run goes on, and its model is one that reads new words.
    EXPECT_EQ(attnscope({"train", "--resume", run, "--steps", "8", "--out", run}).exit_code, 0);
    const Outcome refused =
        attnscope({"train", "--task", "copy", "--config", folder.file("no.json", R"({"task": {"new_words": {"places": 3}}})")});
    EXPECT_EQ(refused.exit_code, 2);
    EXPECT_THAT(refused.err, HasSubstr("only the task stories"));
}

}  // namespace
}  // namespace attn::test
