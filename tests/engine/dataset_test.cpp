#include "engine/tasks/dataset.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <optional>
#include <set>
#include <sstream>

#include "engine/grammar/stories.hpp"
#include "engine/ops/cross_entropy.hpp"
#include "engine/tasks/sample_text.hpp"
#include "engine/tensor/error.hpp"
#include "engine/train/run_settings.hpp"

namespace attn {
namespace {

using testing::HasSubstr;

TaskSettings task(TaskKind kind, std::int64_t length, std::int64_t symbols, double share = 0.1) {
    TaskSettings settings;
    settings.kind = kind;
    settings.length = length;
    settings.symbols = symbols;
    settings.validation_share = share;
    return settings;
}

TaskSettings text_task(std::string text, std::int64_t length, double share) {
    TaskSettings settings = task(TaskKind::Text, length, 2, share);
    settings.text = std::make_shared<const std::string>(std::move(text));
    return settings;
}

/// A sequence: its tokens, and its targets with nullopt where there is none.
struct Line {
    std::vector<std::string> tokens;
    std::vector<std::optional<std::string>> targets;
    std::string text() const {
        std::string out;
        for (const std::string& token : tokens) out += token;
        return out;
    }
};

std::vector<Line> lines_of(const Dataset& data, const Batch& batch) {
    const std::vector<std::string>& words = data.tokenizer().vocabulary();
    std::vector<Line> lines(static_cast<std::size_t>(batch.tokens.size()));
    const auto length = static_cast<std::size_t>(batch.tokens.length);
    for (std::size_t i = 0; i < batch.tokens.ids.size(); ++i) {
        Line& line = lines[i / length];
        line.tokens.push_back(words.at(static_cast<std::size_t>(batch.tokens.ids[i])));
        const std::int32_t target = batch.targets[i];
        line.targets.push_back(target == kIgnoredTarget ? std::nullopt : std::optional(words.at(static_cast<std::size_t>(target))));
    }
    return lines;
}

std::vector<Line> training_lines(const Dataset& data, std::int64_t step, std::int64_t size) {
    Batch batch;
    data.training_batch(step, size, batch);
    return lines_of(data, batch);
}

/// The question with its answer as a person would write it; "" if the targets do not fit the task.
std::string complete(const Line& line) {
    std::string text = line.tokens.front();
    for (std::size_t t = 0; t < line.tokens.size(); ++t) {
        if (t > 0 && line.tokens[t] != text.substr(t, 1)) return "";
        if (line.targets[t]) text += *line.targets[t];
        else if (t + 1 < line.tokens.size()) text += line.tokens[t + 1];
    }
    return text;
}

std::string answer(TaskKind kind, std::string question) {
    // The tasks' alphabet: a to z, A to Z, 0 to 9.
    const auto rank = [](char c) { return std::pair((c <= 'Z' ? 1 : 0) + (c <= '9' ? 1 : 0), c); };
    if (kind == TaskKind::Reverse) return std::string(question.rbegin(), question.rend());
    if (kind == TaskKind::Sort) std::sort(question.begin(), question.end(), [&](char a, char b) { return rank(a) < rank(b); });
    return question;
}

class QuestionTask : public testing::TestWithParam<TaskKind> {};
INSTANTIATE_TEST_SUITE_P(Tasks, QuestionTask, testing::Values(TaskKind::Copy, TaskKind::Reverse, TaskKind::Sort),
                         [](const auto& of) { return task_info(of.param).name; });

TEST_P(QuestionTask, IsAnsweredBehindTheSeparator) {
    for (const std::int64_t length : {2, 3, 8, 17})
        for (const std::int64_t symbols : {12, 16, 62}) {
            const Dataset data(task(GetParam(), length, symbols), 5);
            EXPECT_EQ(data.length(), 2 * length);
            std::vector<Line> lines = training_lines(data, 3, 40);
            const std::vector<Line> held_out = lines_of(data, data.validation());
            lines.insert(lines.end(), held_out.begin(), held_out.end());
            const auto n = static_cast<std::size_t>(length);
            for (const Line& line : lines) {
                const std::string question = line.text().substr(0, n);
                ASSERT_EQ(complete(line), question + ">" + answer(GetParam(), question));
                // Only the answer has targets, since the question is random.
                for (std::size_t t = 0; t < 2 * n; ++t) ASSERT_EQ(line.targets[t].has_value(), t >= n) << t;
            }
        }
}

TEST_P(QuestionTask, HasEveryLengthThatIsAskedFor) {
    TaskSettings settings = task(GetParam(), 8, 12);
    settings.shortest = 3;
    const Dataset data(settings, 5);
    const auto lengths_of = [&](const Batch& batch) {
        std::set<std::int64_t> lengths;
        for (std::int64_t b = 0; b < batch.tokens.size(); ++b) {
            const auto first = static_cast<std::size_t>(b * batch.tokens.length),
                       n = static_cast<std::size_t>(batch.tokens.lengths.at(static_cast<std::size_t>(b)));
            Batch one{{static_cast<std::int64_t>(n), {}, {static_cast<std::int64_t>(n)}}, {}};
            for (std::size_t t = first; t < first + n; ++t) {
                one.tokens.ids.push_back(batch.tokens.ids[t]);
                one.targets.push_back(batch.targets[t]);
            }
            const Line line = attn::lines_of(data, one).front();
            const std::string question = line.text().substr(0, n / 2);
            EXPECT_EQ(complete(line), question + ">" + answer(GetParam(), question));
            for (std::size_t t = first + n; t < first + static_cast<std::size_t>(batch.tokens.length); ++t)
                EXPECT_EQ(batch.targets[t], kIgnoredTarget) << "padding is asked for";
            lengths.insert(static_cast<std::int64_t>(n) / 2);
        }
        return lengths;
    };
    Batch batch;
    data.training_batch(3, 200, batch);
    const std::set<std::int64_t> every{3, 4, 5, 6, 7, 8};
    EXPECT_EQ(lengths_of(batch), every);
    EXPECT_EQ(lengths_of(data.validation()), every);
    EXPECT_EQ(data.probe_batch().tokens.length, 16) << "one of the longest is watched";
    // The same sequences once more, by length.
    std::set<std::int64_t> by_length;
    std::int64_t sequences = 0;
    for (const HeldOutLength& held_out : data.validation_by_length()) {
        by_length.insert(held_out.length);
        sequences += held_out.batch.tokens.size();
        EXPECT_EQ(held_out.batch.tokens.length, 2 * held_out.length);
        EXPECT_EQ(lengths_of(held_out.batch), std::set<std::int64_t>{held_out.length});
    }
    EXPECT_EQ(by_length, every);
    EXPECT_EQ(sequences, data.validation().tokens.size());
    settings.shortest = 9;
    EXPECT_THROW(Dataset(settings, 5), ConfigError);
}

TEST_P(QuestionTask, IsNeverTrainedOnWhatIsHeldOut) {
    // There are 64 questions, so enough batches show every one that may be shown.
    const Dataset data(task(GetParam(), 3, 4, 0.2), 9);
    std::set<std::string> held_out, shown;
    for (const Line& line : lines_of(data, data.validation())) held_out.insert(line.text().substr(0, 3));
    for (std::int64_t step = 0; step < 60; ++step)
        for (const Line& line : training_lines(data, step, 32)) shown.insert(line.text().substr(0, 3));
    EXPECT_EQ(held_out.size(), static_cast<std::size_t>(data.validation().tokens.size())) << "none is held out twice";
    EXPECT_GE(held_out.size(), 4U);
    EXPECT_EQ(held_out.size() + shown.size(), 64U);
    for (const std::string& question : held_out) EXPECT_FALSE(shown.contains(question)) << question;
}

TEST(RepeatTask, AsksFromTheFirstRepeatedSymbolOn) {
    for (const std::int64_t length : {2, 3, 12, 20}) {
        const Dataset data(task(TaskKind::Repeat, length, 24), 2);
        EXPECT_EQ(data.length(), 2 * length - 1);
        std::set<std::size_t> periods;
        for (const Line& line : training_lines(data, 0, 200)) {
            const std::string text = complete(line);
            const std::size_t period = text.find(text[0], 1);
            ASSERT_NE(period, std::string::npos);
            periods.insert(period);
            for (std::size_t t = 0; t < text.size(); ++t) ASSERT_EQ(text[t], text[t % period]) << text;
            ASSERT_EQ(std::set<char>(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(period)).size(), period) << text;
            for (std::size_t t = 0; t < line.targets.size(); ++t) ASSERT_EQ(line.targets[t].has_value(), t >= period) << text;
        }
        EXPECT_EQ(*periods.begin(), static_cast<std::size_t>((length + 1) / 2));
        EXPECT_EQ(*periods.rbegin(), static_cast<std::size_t>(length));
    }
}

TEST(RepeatTask, IsNeverTrainedOnStringsHeldOut) {
    const Dataset data(task(TaskKind::Repeat, 3, 4, 0.25), 4);
    std::set<std::string> held_out, shown;
    for (const Line& line : lines_of(data, data.validation())) held_out.insert(line.text());
    for (std::int64_t step = 0; step < 60; ++step)
        for (const Line& line : training_lines(data, step, 32)) shown.insert(line.text());
    // 4 * 3 strings of 2 symbols and 4 * 3 * 2 of 3
    EXPECT_EQ(held_out.size() + shown.size(), 36U);
    EXPECT_GE(held_out.size(), 3U);
    for (const std::string& text : held_out) EXPECT_FALSE(shown.contains(text)) << text;
}

TEST(AdditionTask, HoldsOutPairsInBothOrders) {
    for (const std::int64_t modulus : {7, 31}) {
        const Dataset data(task(TaskKind::Addition, 8, modulus, 0.3), 6);
        EXPECT_EQ(data.length(), 4);
        const auto pairs_of = [&](const std::vector<Line>& lines) {
            std::set<std::pair<int, int>> pairs;
            for (const Line& line : lines) {
                EXPECT_EQ(line.tokens[1], "+");
                EXPECT_EQ(line.tokens[3], "=");
                const int a = std::atoi(line.tokens[0].c_str()), b = std::atoi(line.tokens[2].c_str());
                EXPECT_THAT(line.targets, testing::ElementsAre(std::nullopt, std::nullopt, std::nullopt,
                                                               std::to_string((a + b) % static_cast<int>(modulus))));
                pairs.insert({a, b});
            }
            return pairs;
        };
        const auto held_out = pairs_of(lines_of(data, data.validation()));
        std::set<std::pair<int, int>> shown;
        for (std::int64_t step = 0; step < 60; ++step) shown.merge(pairs_of(training_lines(data, step, 256)));
        EXPECT_EQ(held_out.size() + shown.size(), static_cast<std::size_t>(modulus * modulus));
        for (const auto& [a, b] : held_out) {
            EXPECT_FALSE(shown.contains({a, b}));
            EXPECT_FALSE(shown.contains({b, a}));
        }
    }
}

TEST(BigramTask, FollowsOneTableThroughout) {
    const Dataset data(task(TaskKind::Bigram, 32, 6), 8);
    // The frequencies of symbol pairs are the same in the first and last batches, and far from uniform.
    const auto shares = [&](std::int64_t first_step) {
        std::vector<double> counts(36), rows(6);
        Batch batch;
        for (std::int64_t step = first_step; step < first_step + 100; ++step) {
            data.training_batch(step, 32, batch);
            for (std::size_t i = 0; i < batch.targets.size(); ++i) {
                const auto row = static_cast<std::size_t>(batch.tokens.ids[i]);
                counts[row * 6 + static_cast<std::size_t>(batch.targets[i])] += 1;
                rows[row] += 1;
            }
        }
        for (std::size_t i = 0; i < 36; ++i) counts[i] /= rows[i / 6];
        return counts;
    };
    const std::vector<double> early = shares(0), late = shares(100'000);
    double largest = 0;
    for (std::size_t i = 0; i < 36; ++i) {
        EXPECT_NEAR(early[i], late[i], 0.05);
        largest = std::max(largest, early[i]);
    }
    EXPECT_GT(largest, 0.4);
    for (const Line& line : lines_of(data, data.validation()))
        for (std::size_t t = 0; t + 1 < line.tokens.size(); ++t) ASSERT_EQ(line.targets[t], line.tokens[t + 1]);
}

TEST(TextTask, HoldsOutTheEnd) {
    std::string text;
    for (int i = 0; i < 720; ++i) text += static_cast<char>('a' + i * 7 % 13);
    for (int i = 0; i < 80; ++i) text += static_cast<char>('N' + i * 5 % 13);
    const Dataset data(text_task(text, 9, 0.1), 1);
    EXPECT_EQ(data.length(), 9);
    std::set<std::string> shown;
    for (std::int64_t step = 0; step < 200; ++step)
        for (const Line& line : training_lines(data, step, 32)) {
            const std::string window = line.text() + line.targets.back().value();
            ASSERT_NE(text.find(window), std::string::npos);
            ASSERT_TRUE(std::all_of(window.begin(), window.end(), [](char c) { return c >= 'a'; })) << window;
            for (std::size_t t = 0; t + 1 < 9; ++t) ASSERT_EQ(line.targets[t], line.tokens[t + 1]);
            shown.insert(window.substr(0, 1));
        }
    EXPECT_EQ(shown.size(), 13U);
    std::string held_out;
    for (const Line& line : lines_of(data, data.validation())) held_out += line.text();
    EXPECT_EQ(held_out, text.substr(720, 72)) << "side by side, each with the next character as its last target";
}

TEST(TextTask, CountsCharactersNotBytes) {
    std::string text;
    for (int i = 0; i < 90'000; ++i) text += i % 3 == 0 ? "ä" : i % 3 == 1 ? "€" : "b";
    const Dataset data(text_task(text, 8, 0.5), 1);
    EXPECT_EQ(data.tokenizer().size(), 3);
    for (const Line& line : training_lines(data, 0, 50)) ASSERT_NE(text.find(line.text()), std::string::npos);
}

TEST(TextTask, HasATextOfItsOwn) {
    EXPECT_GT(sample_text()->size(), 25'000U);
    EXPECT_LT(sample_text()->size(), 40'000U);
    EXPECT_EQ(sample_text().get(), sample_text().get());
    EXPECT_TRUE(std::all_of(sample_text()->begin(), sample_text()->end(), [](char c) { return c == '\n' || (c >= ' ' && c <= '~'); }));
    EXPECT_EQ(sample_text()->back(), '\n');
    const Dataset data(task(TaskKind::Text, 64, 2), 1);
    EXPECT_NE(sample_text()->find(data.probe()), std::string::npos);
}

class EveryTask : public testing::TestWithParam<TaskKind> {};
std::vector<TaskKind> every_task() {
    std::vector<TaskKind> kinds;
    for (const TaskInfo& info : tasks()) kinds.push_back(info.kind);
    return kinds;
}
INSTANTIATE_TEST_SUITE_P(Tasks, EveryTask, testing::ValuesIn(every_task()), [](const auto& of) {
    std::string name = task_info(of.param).name;
    std::replace(name.begin(), name.end(), '-', '_');
    return name;
});

TEST_P(EveryTask, DrawsBatchesFromSeedAndStepAlone) {
    const TaskSettings settings = default_run(GetParam()).task;
    const Dataset data(settings, 3), again(settings, 3), other(settings, 4);
    Batch a, b;
    data.training_batch(17, 8, a);
    again.training_batch(2, 40, b);  // independent of earlier batches and of the batch size
    again.training_batch(17, 8, b);
    EXPECT_EQ(a.tokens, b.tokens);
    EXPECT_EQ(a.targets, b.targets);
    EXPECT_EQ(data.validation().tokens, again.validation().tokens);

    again.training_batch(17, 20, b);
    EXPECT_TRUE(std::equal(a.tokens.ids.begin(), a.tokens.ids.end(), b.tokens.ids.begin())) << "sequences do not depend on the size";
    again.training_batch(18, 8, b);
    EXPECT_NE(a.tokens, b.tokens);
    other.training_batch(17, 8, b);
    EXPECT_NE(a.tokens, b.tokens);
}

TEST_P(EveryTask, ProbesWithASequenceHeldOut) {
    const Dataset data(default_run(GetParam()).task, 1);
    const TokenBatch probe = data.probe_batch().tokens;
    EXPECT_EQ(probe.size(), 1);
    // The longest possible sentence need not be among those held out.
    const std::int64_t spare = GetParam() == TaskKind::Translate ? 2 : 0;
    EXPECT_LE(probe.length, data.length());
    EXPECT_GE(probe.length, data.length() - spare);
    std::vector<std::int32_t> ids;
    for (const TextToken& token : data.tokenizer().encode(data.probe())) ids.push_back(token.id);
    EXPECT_EQ(ids, probe.ids) << "the probe as text is the probe as tokens";
    EXPECT_TRUE(std::equal(ids.begin(), ids.end(), data.validation().tokens.ids.begin()));
}

void expect_refused(const TaskSettings& settings, const std::string& why) {
    try {
        Dataset(settings, 1);
        ADD_FAILURE() << "accepted: " << why;
    } catch (const ConfigError& error) {
        EXPECT_THAT(error.what(), HasSubstr(why));
    }
}

TEST(Tasks, RefuseWhatCannotBeLearned) {
    expect_refused(task(TaskKind::Copy, 1, 16), "the length is 1; expected 2 to 1024");
    expect_refused(task(TaskKind::Copy, 8, 63), "symbols is 63; expected 2 to 62");
    expect_refused(task(TaskKind::Copy, 8, 16, std::numeric_limits<double>::quiet_NaN()), "share held out is nan");
    expect_refused(task(TaskKind::Sort, 2, 2, 0.01), "too few different sequences");
    expect_refused(task(TaskKind::Repeat, 20, 16), "16 symbols are too few");
    expect_refused(task(TaskKind::Addition, 8, 4), "the modulus is 4");
    expect_refused(text_task("too short", 8, 0.1), "of its 9 characters 9 are for training and 0 held out");
    EXPECT_THROW(task_kind("cpoy"), ConfigError);
    for (const TaskInfo& info : tasks()) EXPECT_EQ(task_kind(info.name), info.kind);
}

TEST(Tasks, RefuseBatchesThatDoNotExist) {
    const Dataset data(task(TaskKind::Copy, 4, 8), 1);
    Batch batch;
    EXPECT_THROW(data.training_batch(-1, 4, batch), ConfigError);
    EXPECT_THROW(data.training_batch(0, 0, batch), ConfigError);
}

/// Writes out "347+586:13,13,09=933" like a person, given its two numbers.
std::string on_paper(int a, int b) {
    std::string text = std::to_string(a) + "+" + std::to_string(b) + ":";
    int carried = 0;
    for (int x = a, y = b, place = 0; place < 3; ++place, x /= 10, y /= 10) {
        const int column = x % 10 + y % 10 + carried;
        carried = column / 10;
        text += std::string(place > 0 ? "," : "") + (column < 10 ? "0" : "") + std::to_string(column);
    }
    return text + "=" + std::to_string(a + b);
}

TEST(Sums, AreDoneColumnByColumnAndNeverShownInEitherOrder) {
    const Dataset data(task(TaskKind::Sum, 3, 2), 5);
    EXPECT_EQ(data.length(), 20);
    std::set<std::pair<int, int>> trained, held_out;
    const auto read = [&](const std::vector<Line>& lines, const Batch& batch, std::set<std::pair<int, int>>& pairs) {
        for (std::size_t i = 0; i < lines.size(); ++i) {
            Line line = lines[i];
            const auto tokens = static_cast<std::size_t>(batch.tokens.lengths[i]);
            for (std::size_t t = tokens; t < line.targets.size(); ++t) EXPECT_FALSE(line.targets[t]);
            line.tokens.resize(tokens);
            line.targets.resize(tokens);
            const std::string text = complete(line);
            int a = 0, b = 0;
            ASSERT_EQ(std::sscanf(text.c_str(), "%d+%d:", &a, &b), 2) << text;
            EXPECT_EQ(text, on_paper(a, b));
            for (std::size_t t = 0; t + 1 < tokens; ++t) EXPECT_EQ(line.targets[t].has_value(), t >= text.find(':')) << text;
            pairs.insert({std::min(a, b), std::max(a, b)});
        }
    };
    Batch batch;
    for (std::int64_t step = 0; step < 40; ++step) {
        data.training_batch(step, 100, batch);
        read(lines_of(data, batch), batch, trained);
    }
    read(lines_of(data, data.validation()), data.validation(), held_out);
    EXPECT_EQ(held_out.size(), 256U);
    EXPECT_GT(trained.size(), 3000U);
    for (const auto& pair : held_out) EXPECT_FALSE(trained.contains(pair)) << pair.first << "+" << pair.second;
    EXPECT_THROW(Dataset(task(TaskKind::Sum, 9, 2), 1), ConfigError);
}

TEST(StoryTask, AsksForEveryWordAndKeepsHeldOutStoriesOutOfTraining) {
    const Dataset data(task(TaskKind::Stories, 24, 2, 0.3), 5);
    std::set<std::vector<std::int32_t>> trained;
    const auto stories_of = [&](const Batch& batch, std::set<std::vector<std::int32_t>>& found) {
        for (std::int64_t b = 0; b < batch.tokens.size(); ++b) {
            const auto length = static_cast<std::size_t>(batch.tokens.lengths[static_cast<std::size_t>(b)]);
            const auto first = static_cast<std::size_t>(b * batch.tokens.length);
            std::vector<std::int32_t> story(batch.tokens.ids.begin() + static_cast<std::ptrdiff_t>(first),
                                            batch.tokens.ids.begin() + static_cast<std::ptrdiff_t>(first + length));
            for (std::size_t t = 0; t < 24; ++t) {
                const std::int32_t target = batch.targets[first + t];
                if (t + 1 < length) {
                    EXPECT_EQ(target, story[t + 1]);
                } else if (t >= length) {
                    EXPECT_EQ(target, kIgnoredTarget);
                }
            }
            story.push_back(batch.targets[first + length - 1]);
            EXPECT_NO_THROW(stories().next_words(story));
            EXPECT_TRUE(found.insert(story).second || &found == &trained);
        }
    };
    Batch batch;
    for (std::int64_t step = 0; step < 20; ++step) {
        data.training_batch(step, 50, batch);
        stories_of(batch, trained);
    }
    std::set<std::vector<std::int32_t>> held_out;
    stories_of(data.validation(), held_out);
    EXPECT_EQ(held_out.size(), 256U);
    for (const auto& story : held_out) EXPECT_FALSE(trained.contains(story));
    EXPECT_EQ(data.tokenizer().vocabulary(), stories().vocabulary());
    EXPECT_THROW(Dataset(task(TaskKind::Stories, 8, 2), 1), ConfigError);
}

}  // namespace
}  // namespace attn
