/// What `attnscope train` prints and writes, and how it handles interruptions.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <tuple>

#include "engine/io/safetensors.hpp"
#include "engine/train/curve_csv.hpp"
#include "tests/cli/curve_table.hpp"
#include "tests/cli/process.hpp"

namespace attn::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::IsSupersetOf;
using testing::Not;

using Arguments = std::vector<std::string>;

Arguments operator+(Arguments left, const Arguments& right) {
    left.insert(left.end(), right.begin(), right.end());
    return left;
}

/// A short run with everything that has a state: dropout, warm-up and a cosine over 40 steps.
Arguments small_run(const std::string& task = "copy") {
    return {"train",
            "--task",
            task,
            "--threads",
            "1",
            "--set",
            "d_model=16",
            "--set",
            "d_ff=16",
            "--set",
            "num_heads=2",
            "--set",
            "num_layers=1",
            "--set",
            "task.length=4",
            "--set",
            "batch_size=8",
            "--set",
            "evaluate_every=10",
            "--set",
            "dropout.residual=0.1",
            "--set",
            "total_steps=40"};
}

std::vector<json> json_lines(const std::string& text) {
    std::vector<json> lines;
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);) lines.push_back(json::parse(line));
    return lines;
}

TEST(Train, LeavesModelCurvesAndMoments) {
    const ScratchFolder folder;
    const Outcome outcome =
        run_program(Arguments{ATTNSCOPE_BINARY} + small_run() + Arguments{"--steps", "25", "--out", folder.path("run")});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    for (const char* words : {"Copy: ", "step      0", "step     20", "step     25", "25 steps done", "--resume"})
        EXPECT_THAT(outcome.out, HasSubstr(words));
    EXPECT_THAT(outcome.out, Not(HasSubstr("\x1b"))) << "not for a file";
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder.path("run"))) names.push_back(entry.path().filename().string());
    EXPECT_THAT(names, IsSupersetOf({"model.safetensors", "curves.csv", "heads.csv", "moments"}));
    // Either pictures, or a line that says why there are none.
    const bool drawn = std::filesystem::exists(folder.path("run/curves.png")) && std::filesystem::exists(folder.path("run/attention.png"));
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), drawn ? 0 : 1) << outcome.err;
    if (std::getenv("DISPLAY") != nullptr || std::getenv("ATTN_REQUIRE_GL") != nullptr) {
        EXPECT_TRUE(drawn) << outcome.err;
    }
    const std::string curves = read_bytes(folder.path("run/curves.csv"));
    EXPECT_EQ(std::count(curves.begin(), curves.end(), '\n'), 1 + 26) << "a header, step 0 and 25 steps";
}

TEST(Train, NeedsNoScreen) {
    const ScratchFolder folder;
    const NoScreen no_screen;
    const Outcome outcome = attnscope(small_run() + Arguments{"--steps", "2", "--out", folder.path("run"), "--json"});
    EXPECT_EQ(outcome.exit_code, 0);
    EXPECT_THAT(outcome.err, HasSubstr("not drawn"));
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
    EXPECT_TRUE(std::filesystem::exists(folder.path("run/model.safetensors")));
}

TEST(Train, JsonHasALineAStep) {
    const Outcome outcome = attnscope(small_run() + Arguments{"--steps", "25", "--json"});
    EXPECT_EQ(outcome.exit_code, 0);
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 2) << "that nothing is kept: " << outcome.err;
    const std::vector<json> lines = json_lines(outcome.out);
    ASSERT_EQ(lines.size(), 26U);
    for (std::size_t i = 0; i < lines.size(); ++i) {
        const json& line = lines[i];
        EXPECT_EQ(line.size(), 8U);
        EXPECT_EQ(line.at("step"), i);
        const bool evaluated = i % 10 == 0 || i == 25;
        for (const char* key : {"loss", "lr", "grad_norm", "tokens_per_s"}) EXPECT_EQ(line.at(key).is_number(), i > 0) << line;
        for (const char* key : {"val_loss", "val_accuracy"}) EXPECT_EQ(line.at(key).is_number(), evaluated) << line;
        EXPECT_EQ(line.at("val_accuracy_by_length").is_object(), evaluated) << line;
        if (evaluated) {
            EXPECT_TRUE(line.at("val_accuracy_by_length").contains("4")) << line;
        }
    }
    EXPECT_LT(lines.back().at("val_loss").get<double>(), lines.front().at("val_loss").get<double>());
}

TEST(Train, AResumedRunLeavesTheSameBytesAsAWholeOne) {
    const ScratchFolder folder;
    const auto train = [](const Arguments& arguments) {
        const Outcome outcome = attnscope(arguments);
        EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    };
    train(small_run() + Arguments{"--steps", "40", "--out", folder.path("whole")});
    train(small_run() + Arguments{"--steps", "23", "--out", folder.path("parts")});
    EXPECT_FALSE(read_bytes(folder.path("whole/model.safetensors")) == read_bytes(folder.path("parts/model.safetensors")));
    train({"train", "--resume", folder.path("parts/model.safetensors"), "--steps", "40", "--out", folder.path("parts"), "--threads", "2"});

    EXPECT_TRUE(read_bytes(folder.path("whole/model.safetensors")) == read_bytes(folder.path("parts/model.safetensors")));
    // The interrupted run was also evaluated at its end.
    std::string parts = without_times(read_bytes(folder.path("parts/curves.csv"))), line, kept;
    const std::string whole = without_times(read_bytes(folder.path("whole/curves.csv")));
    std::istringstream a(whole), b(parts);
    for (std::string x, y; std::getline(a, x) && std::getline(b, y);) {
        if (x.rfind("23,", 0) == 0) EXPECT_EQ(y.rfind(x.substr(0, x.find(",,")), 0), 0U);
        else EXPECT_EQ(x, y);
    }
    EXPECT_EQ(std::count(whole.begin(), whole.end(), '\n'), std::count(parts.begin(), parts.end(), '\n'));
    // Negative control: another seed gives another run.
    train(small_run() + Arguments{"--steps", "40", "--seed", "2", "--out", folder.path("other")});
    EXPECT_FALSE(read_bytes(folder.path("whole/model.safetensors")) == read_bytes(folder.path("other/model.safetensors")));
    EXPECT_NE(whole, without_times(read_bytes(folder.path("other/curves.csv"))));
}

/// Without a schedule end of its own, so that it follows the steps.
Arguments short_run(const std::string& task, int steps) {
    Arguments arguments = small_run(task);
    arguments.resize(arguments.size() - 2);
    return arguments + Arguments{"--set", "warm_up_steps=4", "--steps", std::to_string(steps)};
}

/// The model's tensors, without the optimizer's.
std::map<std::string, std::vector<std::byte>> parameters_in(const std::string& checkpoint) {
    std::map<std::string, std::vector<std::byte>> parameters;
    for (const NamedArray& array : read_safetensors(checkpoint).arrays)
        if (!array.name.starts_with("optimizer.")) parameters[array.name] = array.bytes;
    return parameters;
}

TEST(Train, ALongerRunLearnsOnInEveryTask) {
    const ScratchFolder folder;
    for (const char* task : {"copy", "reverse", "sort", "repeat", "addition", "bigram", "text"})
        for (const bool as_json : {false, true}) {
            SCOPED_TRACE(std::string(task) + (as_json ? " --json" : ""));
            const std::string out = folder.path(std::string(task) + (as_json ? "-json" : ""));
            ASSERT_EQ(attnscope(short_run(task, 20) + Arguments{"--out", out}).exit_code, 0);
            const auto before = parameters_in(out + "/model.safetensors");
            Arguments resume{"train", "--resume", out, "--steps", "40", "--out", out};
            if (as_json) resume.emplace_back("--json");
            const Outcome outcome = attnscope(resume);
            EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
            for (const auto& [name, bytes] : parameters_in(out + "/model.safetensors"))
                EXPECT_FALSE(bytes == before.at(name)) << name << " did not move";
            const Curves curves = curves_from_csv(read_bytes(out + "/curves.csv"), "curves.csv");
            ASSERT_EQ(curves.losses.size(), 40U);
            for (std::size_t i = 20; i < 40; ++i) EXPECT_GT(curves.losses[i].learning_rate, 0) << i;
            EXPECT_LT(curves.losses[20].learning_rate, curves.losses[22].learning_rate) << "it rises to the longer curve";
            EXPECT_LT(curves.losses[39].learning_rate, curves.losses[22].learning_rate / 10) << "and falls to the end";
            if (!as_json) {
                EXPECT_THAT(outcome.out, testing::ContainsRegex("learning rate: .* at step 21, .* at step 23, .* at step 40\n"));
                continue;
            }
            const std::vector<json> lines = json_lines(outcome.out);
            const json& rates = lines.front().at("rates");
            ASSERT_EQ(rates.size(), 3U);
            for (const json& at : rates)
                EXPECT_EQ(at.at("lr").get<double>(), curves.losses.at(at.at("step").get<std::size_t>() - 1).learning_rate);
            for (std::size_t i = 1; i < lines.size(); ++i) EXPECT_EQ(lines[i].size(), 8U) << "the rates are told once";
        }
}

TEST(Train, ARunThatWouldLearnNothingIsRefused) {
    const ScratchFolder folder;
    const std::string out = folder.path("run"), model = out + "/model.safetensors";
    ASSERT_EQ(attnscope(short_run("copy", 20) + Arguments{"--out", out}).exit_code, 0);
    const std::string bytes = read_bytes(model);
    for (const Arguments& more : {Arguments{"--set", "total_steps=10"}, {"--set", "rate=0"}, {"--set", "stop.steps=0"}})
        for (const Arguments& as : {Arguments{}, {"--json"}}) {
            const Arguments steps = more.back() == "stop.steps=0" ? Arguments{} : Arguments{"--steps", "30"};
            const Outcome outcome = attnscope(Arguments{"train", "--resume", model, "--out", out} + steps + more + as);
            EXPECT_EQ(outcome.exit_code, 2) << more.back();
            EXPECT_EQ(outcome.out, "");
            EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
            EXPECT_THAT(outcome.err, HasSubstr("the learning rate is 0 from step 21 on"));
        }
    EXPECT_TRUE(read_bytes(model) == bytes);
    // A new run that learns nothing is an error as well; one with nothing left to do is complete.
    EXPECT_EQ(attnscope(short_run("copy", 20) + Arguments{"--set", "rate=0"}).exit_code, 2);
    const Outcome done = attnscope({"train", "--resume", model, "--out", out});
    EXPECT_EQ(done.exit_code, 0) << done.err;
    EXPECT_THAT(done.out, HasSubstr("nothing was trained, as the run was finished: 20 steps done"));
    const Outcome fewer = attnscope({"train", "--resume", model, "--steps", "10"});
    EXPECT_EQ(fewer.exit_code, 0) << fewer.err;
    EXPECT_THAT(fewer.out, HasSubstr("20 steps done; --steps counts those as well\n"));
}

TEST(Train, OptionsThatContradictEachOtherAreRefused) {
    const auto refusal = [](const Arguments& more) {
        const Outcome outcome = attnscope(short_run("copy", 20) + more);
        EXPECT_EQ(outcome.exit_code, 2);
        EXPECT_EQ(outcome.out, "");
        return outcome.err;
    };
    EXPECT_THAT(refusal({"--set", "stop.steps=30"}), HasSubstr("--steps is 20, but --set stop.steps is 30"));
    EXPECT_THAT(refusal({"--seed", "2", "--set", "seed=3"}), HasSubstr("--seed is 2, but --set seed is 3"));
    EXPECT_THAT(refusal({"--set", "task.kind=sort"}), HasSubstr("--task is copy, but --set task.kind is sort"));
    EXPECT_EQ(attnscope(short_run("copy", 2) + Arguments{"--set", "stop.steps=2"}).exit_code, 0) << "the same twice is no contradiction";
}

TEST(Train, AConstantRateNeedsNoJoin) {
    const ScratchFolder folder;
    const Arguments constant{"--set", "schedule.kind=constant"};
    ASSERT_EQ(attnscope(short_run("copy", 20) + constant + Arguments{"--out", folder.path("parts")}).exit_code, 0);
    ASSERT_EQ(attnscope({"train", "--resume", folder.path("parts"), "--steps", "40", "--out", folder.path("parts")}).exit_code, 0);
    ASSERT_EQ(attnscope(short_run("copy", 40) + constant + Arguments{"--out", folder.path("whole")}).exit_code, 0);
    EXPECT_EQ(parameters_in(folder.path("parts/model.safetensors")), parameters_in(folder.path("whole/model.safetensors")));
}

TEST(Train, TellsAccuracyByLength) {
    const ScratchFolder folder;
    const Outcome outcome = attnscope(small_run() + Arguments{"--steps", "10", "--out", folder.path("run")});
    EXPECT_THAT(outcome.out, testing::ContainsRegex("accuracy by length: .*2: [0-9.]+ %, 3: [0-9.]+ %, 4: [0-9.]+ %\n"));
    EXPECT_THAT(read_bytes(folder.path("run/curves.csv")), HasSubstr("val_accuracy_3,val_accuracy_4\n"));
    const Outcome one = attnscope(small_run() + Arguments{"--steps", "10", "--set", "task.shortest=4"});
    EXPECT_THAT(one.out, testing::ContainsRegex("accuracy by length: 4: [0-9.]+ %\n"));
    EXPECT_THAT(attnscope(small_run("bigram") + Arguments{"--steps", "10"}).out, Not(HasSubstr("by length")));
}

TEST(Train, CtrlCSavesAndTheRunGoesOnFromThere) {
    const ScratchFolder folder;
    for (const auto& [number, name] : {std::pair{SIGINT, "interrupted"}, {SIGTERM, "terminated"}, {SIGHUP, "hung up"}}) {
        const Outcome outcome = attnscope(small_run() + Arguments{"--steps", "1000000", "--json", "--out", folder.path(name)},
                                          std::chrono::seconds(60), {{number, 15}});
        EXPECT_EQ(outcome.exit_code, 128 + number) << outcome.err;
        const auto steps = json_lines(outcome.out).back().at("step").get<int>();
        EXPECT_GE(steps, 14);
        const std::string model = folder.path(std::string(name) + "/model.safetensors");
        const Outcome resumed =
            attnscope({"train", "--resume", model, "--steps", std::to_string(steps + 3), "--json", "--out", folder.path(name)});
        EXPECT_EQ(resumed.exit_code, 0) << resumed.err;
        EXPECT_EQ(json_lines(resumed.out).back().at("step"), steps + 3);
        const std::string curves = read_bytes(folder.path(std::string(name) + "/curves.csv"));
        EXPECT_EQ(std::count(curves.begin(), curves.end(), '\n'), steps + 3 + 2) << "no step lost or repeated";
    }
}

TEST(Train, ASecondCtrlCEndsItAtOnce) {
    const ScratchFolder folder;
    // One step of this takes long.
    const Outcome outcome =
        attnscope({"train", "--task", "text", "--threads", "1", "--set", "d_model=256", "--set", "num_layers=4", "--set", "d_ff=1024",
                   "--set", "batch_size=512", "--set", "task.length=16", "--json", "--out", folder.path("run")},
                  std::chrono::seconds(100), {{SIGINT, 1, std::chrono::milliseconds(100)}, {SIGINT, 1, std::chrono::milliseconds(200)}});
    EXPECT_EQ(outcome.ended_by, SIGINT) << outcome.exit_code << outcome.err;
}

TEST(Train, NumbersThatAreNotFiniteEndItWithTheLastGoodWeights) {
    const ScratchFolder folder;
    // Every step multiplies the weights by -99.
    const Outcome outcome =
        attnscope(small_run() + Arguments{"--set", "weight_decay=100", "--set", "rate=1", "--set", "schedule.kind=constant", "--set",
                                          "decay_everything=true", "--set", "warm_up_steps=0", "--json", "--out", folder.path("run")});
    EXPECT_EQ(outcome.exit_code, 1) << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr("layers.0")) << "names the tensor";
    EXPECT_THAT(outcome.err, HasSubstr("the weights before it are saved"));
    const Outcome sample = attnscope({"sample", "--model", folder.path("run"), "--prompt", "ab>", "--tokens", "1"});
    EXPECT_EQ(sample.exit_code == 0 || sample.err.find("logit") != std::string::npos, true) << sample.err;
}

TEST(Train, SaysAtBothEndsThatNothingIsKept) {
    const ScratchFolder folder;
    const auto count = [](const std::string& text, const std::string& words) {
        std::size_t found = 0;
        for (std::size_t at = 0; (at = text.find(words, at)) != std::string::npos; ++at) ++found;
        return found;
    };
    const Outcome lost = attnscope(small_run() + Arguments{"--steps", "3"});
    EXPECT_EQ(count(lost.out, "nothing of this run will be kept: there is no --out\n"), 1U) << lost.out;
    EXPECT_LT(lost.out.find("will be kept"), lost.out.find("finished after step 3"));
    EXPECT_EQ(count(lost.out, "nothing of this run was kept: --out DIR keeps it\n"), 1U) << lost.out;
    const Outcome kept = attnscope(small_run() + Arguments{"--steps", "3", "--out", folder.path("run")});
    EXPECT_EQ(count(kept.out, "nothing of this run"), 0U) << kept.out;
    const std::string before = read_bytes(folder.path("run/model.safetensors"));
    const Outcome resumed = attnscope({"train", "--resume", folder.path("run"), "--steps", "6"});
    EXPECT_EQ(count(resumed.out, ", and " + folder.path("run") + " stays as it is"), 2U) << resumed.out;
    EXPECT_EQ(read_bytes(folder.path("run/model.safetensors")), before);
    // Lines of JSON are for programs; a person sees standard error.
    const Outcome lines = attnscope(small_run() + Arguments{"--steps", "3", "--json"});
    EXPECT_EQ(count(lines.out, "nothing of this run"), 0U);
    EXPECT_EQ(count(lines.err, "attnscope: nothing of this run w"), 2U) << lines.err;
    const Outcome half = attnscope(small_run() + Arguments{"--steps", "3", "--half", folder.path("half.safetensors")});
    EXPECT_EQ(count(half.out, "nothing of this run"), 0U) << half.out;
}

TEST(Train, SaysWhyThereIsNoConfigJson) {
    for (const auto& [option, value, reason] : {std::tuple("--set", "masks.window=3", "train.forward.masks.window is 3"),
                                                std::tuple("--set", "temperature=0.5", "train.forward.temperature is 0.5"),
                                                std::tuple("--bug", "no_scale", "the mistake no_scale")}) {
        const ScratchFolder folder;
        const std::string run = folder.path("run");
        const Outcome outcome = attnscope(small_run() + Arguments{"--steps", "2", "--out", run, option, value});
        ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
        EXPECT_THAT(outcome.out, HasSubstr(run + " gets no config.json for Hugging Face's transformers: it has no setting for"));
        EXPECT_THAT(outcome.out, HasSubstr(run + " has no config.json"));
        EXPECT_THAT(outcome.out, HasSubstr(reason));
        EXPECT_FALSE(std::filesystem::exists(run + "/config.json"));
    }
    const ScratchFolder folder;
    const Outcome plain = attnscope(small_run() + Arguments{"--steps", "2", "--out", folder.path("run")});
    EXPECT_THAT(plain.out, Not(HasSubstr("config.json")));
    EXPECT_TRUE(std::filesystem::exists(folder.path("run/config.json")));
}

/// Whatever is wrong with a configuration, its file and the place in it are named.
TEST(TrainBad, ConfigurationsNameTheirFileAndKey) {
    const ScratchFolder folder;
    for (const auto& [config, place, problem] :
         {std::tuple(R"({"task": {"kind": "copy"}, "model": {"num_layers": 2, "d_model": 30}})", "/model/d_model", "d_model 30 is not"),
          std::tuple(R"({"task": {"kind": "copy"}, "model": {"d_model": "x"}})", "/model/d_model", "found \"x\""),
          std::tuple(R"({"task": {"kind": "copy"}, "model": {"vocab_size": 99}})", "/model/vocab_size", "is 99; expected 17"),
          std::tuple(R"({"task": {"kind": "copy"}, "model": {"seed": 99}})", "/model/seed", "is 99; expected 1"),
          std::tuple(R"({"task": {"kind": "copy"}, "batch_size": 0})", "/batch_size", "the batch size is 0; expected 1 to 4096"),
          std::tuple(R"({"task": {"kind": "copy", "length": 0}})", "/task/length", "the length is 0; expected 2 to 1024"),
          std::tuple(R"({"task": {"kind": "copy", "length": 5, "shortest": 9}})", "/task/shortest", "is 9; expected 0 to 5"),
          std::tuple(R"({"task": {"kind": "copy", "symbols": 1000}})", "/task/symbols", "is 1000; expected 2 to 62"),
          std::tuple(R"({"task": {"kind": "copy"}, "model": {"architecture": "encoder"}})", "/model/architecture", "an encoder"),
          std::tuple(R"({"task": {"kind": "copy"}, "train": {"schedule": {"rate": 0}}})", "/train/schedule/rate", "nothing would be"),
          std::tuple(R"({"task": {"kind": "copy"}, "train": {"forward": {"masks": {"causal": false}}}})", "/train/forward/masks/causal",
                     "without the causal mask")}) {
        const std::string path = folder.file("c.json", config);
        const Outcome outcome = attnscope({"train", "--config", path, "--steps", "1"});
        EXPECT_EQ(outcome.exit_code, 2) << config;
        EXPECT_THAT(outcome.err, HasSubstr("attnscope: " + path + ", " + place + ": ")) << config;
        EXPECT_THAT(outcome.err, HasSubstr(problem));
    }
    const Outcome set = attnscope({"train", "--task", "copy", "--steps", "1", "--set", "num_layers=1", "--set", "model.d_model=30"});
    EXPECT_THAT(set.err, HasSubstr("--set model.d_model=30: d_model 30 is not divisible by 4 heads"));
    // A resumed run has its own settings, which a configuration may contradict.
    ASSERT_EQ(attnscope(small_run() + Arguments{"--steps", "2", "--out", folder.path("run")}).exit_code, 0);
    const std::string path = folder.file("c.json", R"({"batch_size": 4, "model": {"num_layers": 3}})");
    const Outcome resumed = attnscope({"train", "--resume", folder.path("run"), "--config", path, "--steps", "4"});
    EXPECT_THAT(resumed.err, HasSubstr(path + ", /model/num_layers: task, model and seed of a resumed run cannot be changed"));
}

TEST(Train, TakesSettingsFromAFileAndSingleOnesOverThem) {
    const ScratchFolder folder;
    const std::string config = folder.file("run.json", R"({"task": {"kind": "reverse", "length": 4}, "batch_size": 4,
        "model": {"d_model": 8, "num_heads": 2, "d_ff": 8, "num_layers": 1}, "stop": {"steps": 3}})");
    const Outcome outcome = attnscope({"train", "--config", config, "--set", "num_layers=2", "--seed", "5"});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    for (const char* words : {"Reverse", "2 layers, 2 heads, width 8", "batches of 4", "seed 5", "3 steps done"})
        EXPECT_THAT(outcome.out, HasSubstr(words));
}

/// Expects one line that contains `words`, exit code 2 and no effects.
void expect_train_refused(const Arguments& arguments, const std::string& words) {
    const Outcome outcome = attnscope(arguments);
    SCOPED_TRACE(testing::PrintToString(arguments));
    EXPECT_EQ(outcome.exit_code, 2) << outcome.out;
    EXPECT_EQ(outcome.out, "");
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr(words));
}

TEST(TrainBad, OptionsAndSettings) {
    const ScratchFolder folder;
    const Arguments copy{"train", "--task", "copy"};
    expect_train_refused({"train"}, "--task");
    expect_train_refused({"train", "--task", "cpoy"}, "reverse");
    expect_train_refused(copy + Arguments{"--text-file", "x.txt"}, "--text-file");
    for (const char* steps : {"0", "-1", "many", "1.5", "99999999999999999999", ""})
        expect_train_refused(copy + Arguments{"--steps", steps}, "--steps");
    for (const char* seed : {"-1", "x", "1.5", ""}) expect_train_refused(copy + Arguments{"--seed", seed}, "--seed");
    for (const char* threads : {"0", "-1", "257", "x"}) expect_train_refused(copy + Arguments{"--threads", threads}, "--threads");
    for (const char* set : {"",
                            "rate",
                            "=1",
                            "nothing=1",
                            "no.such.key=1",
                            "rate=",
                            "rate=fast",
                            "rate=-1",
                            "rate=nan",
                            "rate=1e999",
                            "kind=copy",
                            "num_heads=0",
                            "num_heads=1.5",
                            "num_heads=7",
                            "batch_size=0",
                            "architecture=gpt",
                            "model=1",
                            "causal=false",
                            "task.kind=nothing",
                            "rate=\xFF"})
        expect_train_refused(copy + Arguments{"--set", set}, "");
    expect_train_refused(copy + Arguments{"--set", "kind=copy"}, "task.kind");
    expect_train_refused(copy + Arguments{"--set", "num_heads=7"}, "7");
    expect_train_refused(copy + Arguments{"--config", folder.path("missing.json")}, "missing.json");
    expect_train_refused(copy + Arguments{"--config", folder.file("bad.json", "{\"batch_size\": }")}, "bad.json");
    expect_train_refused(copy + Arguments{"--config", folder.file("odd.json", "{\"batchsize\": 3}")}, "batchsize");
    expect_train_refused(copy + Arguments{"--config", folder.file("other.json", "{\"task\": {\"kind\": \"sort\"}}")}, "sort");
    expect_train_refused({"train", "--text-file", folder.path("missing.txt")}, "missing.txt");
    expect_train_refused({"train", "--text-file", folder.file("short.txt", "a few words")}, "");
    expect_train_refused(copy + Arguments{"--out", folder.file("file", "")}, "file");
}

TEST(TrainBad, Checkpoints) {
    const ScratchFolder folder;
    expect_train_refused({"train", "--resume", folder.path("missing.safetensors")}, "missing.safetensors");
    expect_train_refused({"train", "--resume", folder.file("text.safetensors", "not a model at all")}, "text.safetensors");
    ASSERT_EQ(attnscope(small_run() + Arguments{"--steps", "3", "--out", folder.path("run")}).exit_code, 0);
    const std::string model = folder.path("run/model.safetensors");
    const Arguments resume{"train", "--resume", model};
    expect_train_refused(resume + Arguments{"--task", "copy"}, "--task");
    expect_train_refused(resume + Arguments{"--seed", "3"}, "--seed");
    expect_train_refused(resume + Arguments{"--set", "d_model=32"}, "new run");
    expect_train_refused({"train", "--resume", folder.path("run/moments/step-0.safetensors")}, "only a model");
    std::string bytes = read_bytes(model);
    bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 1);
    expect_train_refused({"train", "--resume", folder.file("flipped.safetensors", bytes)}, "damaged");
    expect_train_refused({"train", "--resume", folder.file("cut.safetensors", bytes.substr(0, bytes.size() - 100))}, "cut.safetensors");
}

TEST(Train, WritesTheFinishedModelInHalfPrecisionTheSameWithAnyNumberOfThreads) {
    const ScratchFolder folder;
    const auto written = [&](const char* task, const char* threads, const char* name) {
        Arguments run = small_run(task);
        std::replace(run.begin(), run.end(), std::string("task.length=4"),
                     std::string(task == std::string("stories") ? "task.length=16" : "task.length=2"));
        *(std::find(run.begin(), run.end(), "--threads") + 1) = threads;
        const std::string path = folder.path(name);
        EXPECT_EQ(attnscope(run + Arguments{"--steps", "5", "--half", path}).exit_code, 0);
        return read_bytes(path);
    };
    for (const char* task : {"stories", "sum", "repeat"}) {
        const std::string one = written(task, "1", "one.safetensors"), two = written(task, "2", "two.safetensors");
        EXPECT_FALSE(one.empty());
        EXPECT_EQ(one, two) << task;
    }
    EXPECT_NE(written("stories", "1", "a.safetensors"), written("repeat", "1", "b.safetensors"));
    const Outcome refused = attnscope(small_run() + Arguments{"--steps", "1", "--half", folder.path("no/such/folder.safetensors")});
    EXPECT_EQ(refused.exit_code, 2);
    EXPECT_THAT(refused.err, HasSubstr("no/such"));
}

}  // namespace
}  // namespace attn::test
