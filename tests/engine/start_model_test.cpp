/// Runs that train a model further which comes from elsewhere.

#include "engine/train/start_model.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "engine/families/write_model.hpp"
#include "engine/model/transformer.hpp"
#include "engine/tasks/given_words.hpp"
#include "engine/tensor/error.hpp"
#include "engine/train/resume.hpp"
#include "engine/train/training_run.hpp"
#include "tests/support/temporary_folder.hpp"

namespace attn {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> letters(std::size_t count) {
    std::vector<std::string> words;
    for (std::size_t id = 0; id < count; ++id) words.emplace_back(1, static_cast<char>('z' - id));
    return words;
}

class StartModelTest : public testing::Test {
protected:
    /// Writes a model with these words; none: it is spoken to in ids.
    std::string model(const std::vector<std::string>& words, std::int64_t ids,
                      Architecture architecture = Architecture::DecoderOnly) const {
        Config config;
        config.architecture = architecture;
        config.vocab_size = ids;
        config.context_length = 20;
        config.d_model = 16;
        config.num_heads = 2;
        config.num_layers = 2;
        config.seed = 77;
        const std::filesystem::path path = folder_ / "model";
        write_model(path, initial_parameters<float>(config), words);
        return path.string();
    }
    static RunSettings settings(const std::string& from, TaskKind kind = TaskKind::Copy) {
        RunSettings run = default_run(kind);
        run.from = from;
        run.task.length = 4;
        run.task.shortest = 4;
        run.task.symbols = 8;
        run.batch_size = 8;
        run.stop.steps = 60;
        run.train.schedule.rate = 3e-3;
        return run;
    }
    static std::string refusal(const RunSettings& settings) {
        try {
            TrainingRun{settings};
        } catch (const Error& error) {
            return error.what();
        }
        return "";
    }
    static std::vector<float> numbers(const Parameters<float>& parameters) {
        return {parameters.data(), parameters.data() + parameters.count()};
    }

    test::TemporaryFolder folder_;
};

TEST_F(StartModelTest, BeginsWithTheModelsParametersAndLearns) {
    const std::string from = model({}, 30);
    TrainingRun run(settings(from));
    EXPECT_EQ(numbers(run.state().parameters()), numbers(initial_parameters<float>([&] {
                  Config config = run.settings().model;
                  config.seed = 77;
                  return config;
              }())));
    EXPECT_EQ(run.settings().model.vocab_size, 30);
    EXPECT_EQ(run.settings().model.context_length, 20);
    EXPECT_EQ(run.settings().model.num_heads, 2);
    const double before = run.evaluate().loss;
    for (int i = 0; i < 60; ++i) run.step();
    EXPECT_LT(run.evaluate().loss, before - 0.5);
}

TEST_F(StartModelTest, OfAModelWithoutWordsTheTaskNamesTheFirstIds) {
    const TrainingRun run(settings(model({}, 12)));
    EXPECT_THAT(run.dataset().tokenizer().vocabulary(), ElementsAre("a", "b", "c", "d", "e", "f", "g", "h", ">", "<9>", "<10>", "<11>"));
}

TEST_F(StartModelTest, ItsWordsKeepTheirIds) {
    const TrainingRun plain([&] {
        RunSettings own = settings("");
        own.model.num_layers = 1;
        return own;
    }());
    std::vector<std::string> words = letters(26);
    words.insert(words.begin() + 3, ">");
    const TrainingRun run(settings(model(words, 27)));
    EXPECT_EQ(run.dataset().probe(), plain.dataset().probe()) << "the same sequences";
    Batch batch, theirs;
    plain.dataset().training_batch(5, 8, batch);
    run.dataset().training_batch(5, 8, theirs);
    ASSERT_EQ(batch.tokens.ids.size(), theirs.tokens.ids.size());
    const auto word = [](const TrainingRun& of, std::int32_t id) {
        return id < 0 ? "" : of.dataset().tokenizer().vocabulary()[static_cast<std::size_t>(id)];
    };
    for (std::size_t i = 0; i < batch.tokens.ids.size(); ++i) {
        EXPECT_EQ(word(run, theirs.tokens.ids[i]), word(plain, batch.tokens.ids[i]));
        EXPECT_EQ(words[static_cast<std::size_t>(theirs.tokens.ids[i])], word(run, theirs.tokens.ids[i]));
        EXPECT_EQ(word(run, theirs.targets[i]), word(plain, batch.targets[i]));
    }
}

TEST_F(StartModelTest, ATextIsReadInTheModelsWords) {
    RunSettings text = settings(model({"<eos>", "sat", "cat", "", "the"}, 5), TaskKind::Text);
    std::string story;
    for (int i = 0; i < 200; ++i) story += i % 3 == 0 ? "the cat sat\n" : "cat sat the ";
    text.task.text = std::make_shared<const std::string>(story);
    const TrainingRun run(text);
    EXPECT_EQ(run.dataset().tokenizer().kind(), TokenizerKind::Word);
    Batch batch;
    run.dataset().training_batch(0, 8, batch);
    EXPECT_THAT(batch.tokens.ids, Each(testing::AnyOf(1, 2, 4)));
    text.task.text = std::make_shared<const std::string>(story + "dog");
    EXPECT_THAT(refusal(text), HasSubstr("\"dog\""));
}

TEST_F(StartModelTest, ATextOfIdsIsReadAsIds) {
    RunSettings text = settings(model({}, 9), TaskKind::Text);
    std::string ids;
    for (int i = 0; i < 400; ++i) ids += std::to_string(i * i % 9) + " ";
    text.task.text = std::make_shared<const std::string>(ids);
    const TrainingRun run(text);
    Batch batch;
    run.dataset().training_batch(0, 8, batch);
    EXPECT_THAT(batch.tokens.ids, Each(testing::AnyOf(0, 1, 4, 7)));
}

TEST_F(StartModelTest, ResumesWithoutTheModelItBeganWith) {
    for (const bool text : {false, true})
        for (const std::vector<std::string>& words : {std::vector<std::string>(), letters(26)}) {
            if (!text && !words.empty()) continue;  // it has no ">"
            const std::string from = model(words, words.empty() ? 9 : 26);
            RunSettings wanted = settings(from, text ? TaskKind::Text : TaskKind::Copy);
            std::string characters;
            for (int i = 0; i < 500; ++i)
                characters += words.empty() ? std::to_string(i * i % 9) + " " : words[static_cast<std::size_t>(i * i % 26)];
            if (text) wanted.task.text = std::make_shared<const std::string>(characters);
            else wanted.task.symbols = 5;
            TrainingRun whole(wanted);
            for (int i = 0; i < 3; ++i) whole.step();
            const std::filesystem::path file = folder_ / "run.safetensors";
            write_checkpoint(file, take_checkpoint(whole));
            std::filesystem::remove_all(from);
            const auto resumed = resume_run(read_checkpoint(file));
            EXPECT_EQ(resumed->settings().from, from);
            for (int i = 0; i < 3; ++i) EXPECT_EQ(whole.step().loss, resumed->step().loss);
            EXPECT_THAT(refusal(wanted), HasSubstr("model")) << "it begins anew only with the model";
        }
}

/// As the tasks themselves say how long their sequences are.
TEST(LongestLength, IsTheLongestThatFits) {
    for (const TaskKind kind : {TaskKind::Copy, TaskKind::Reverse, TaskKind::Sort, TaskKind::Repeat, TaskKind::Sum, TaskKind::Bigram})
        for (const std::int64_t tokens : {14, 15, 16, 20}) {
            const auto tokens_of = [&](std::int64_t length) {
                TaskSettings task = default_run(kind).task;
                task.symbols = 26;
                task.length = task.shortest = length;
                return Dataset(task, 1).length();
            };
            const std::int64_t longest = longest_length(kind, tokens);
            EXPECT_LE(tokens_of(longest), tokens) << task_info(kind).name;
            EXPECT_GT(tokens_of(longest + 1), tokens) << task_info(kind).name;
        }
}

TEST_F(StartModelTest, WhatDoesNotFitIsSaid) {
    const std::string from = model({}, 6);
    EXPECT_THAT(refusal(settings(from)), HasSubstr("the task has 9 symbols, but the model only 6 ids"));
    RunSettings is_long = settings(model({}, 30));
    is_long.task.length = is_long.task.shortest = 11;
    EXPECT_THAT(refusal(is_long), HasSubstr("the task's sequences have 22 tokens, but the model reads at most 20"));
    EXPECT_THAT(refusal(settings(model(letters(26), 26))), HasSubstr("the task needs the word \">\", which the model does not have"));
    EXPECT_THAT(refusal(settings(model({}, 30, Architecture::Encoder))), HasSubstr("needs a decoder-only model"));
    RunSettings stories = settings(model({}, 2000), TaskKind::Stories);
    stories.task.length = 16;
    EXPECT_EQ(refusal(stories).find("places for new words") == std::string::npos, stories.task.new_words.places == 0);
    EXPECT_NE(refusal(settings((folder_ / "nothing").string())), "");
    EXPECT_THROW(tokenizer_of(std::vector<std::string>{" the", "cat"}), ConfigError);
}

}  // namespace
}  // namespace attn
