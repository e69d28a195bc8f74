/// Whatever is typed or read, bad input is answered with one clear line and exit code 2.

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <sstream>

#include "tests/cli/process.hpp"

namespace attn::test {
namespace {

using Arguments = std::vector<std::string>;

Arguments operator+(Arguments left, const Arguments& right) {
    left.insert(left.end(), right.begin(), right.end());
    return left;
}

/// Expects a message of `program` that contains `words`, and nothing else.
void expect_refusal(const Outcome& outcome, const std::string& program, const std::string& words) {
    EXPECT_EQ(outcome.exit_code, 2) << outcome.err;
    EXPECT_EQ(outcome.out, "");
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
    EXPECT_EQ(outcome.err.rfind(program + ": ", 0), 0U) << outcome.err;
    EXPECT_NE(outcome.err.find(words), std::string::npos) << outcome.err;
    EXPECT_LT(outcome.err.size(), 600U);
}

/// Expects the command to be refused with a message that contains `words`.
void expect_refused(const Arguments& arguments, const std::string& words) {
    std::string line;
    for (const std::string& argument : arguments) line += " '" + argument.substr(0, 80) + "'";
    SCOPED_TRACE("attnscope" + line);
    expect_refusal(attnscope(arguments), "attnscope", words);
}

/// The same for a command of attnscope-dev.
void expect_dev_refused(const Arguments& arguments, const std::string& words) {
    SCOPED_TRACE("attnscope-dev " + testing::PrintToString(arguments));
    expect_refusal(attnscope_dev(arguments), "attnscope-dev", words);
}

TEST(BadInput, UnknownWords) {
    expect_refused({"frobnicate"}, "frobnicate");
    expect_refused({"check"}, "no command or file");  // it is one of attnscope-dev
    expect_refused({"--frobnicate"}, "--frobnicate");
    expect_refused({"trace", "--out", "x.safetensors", "--frobnicate"}, "--frobnicate");
    expect_refused({"two\nlines"}, "two\\x0Alines");
    expect_refused({"--preset"}, "--preset");
    expect_refused({"--preset", "gpt-tiny", "trace", "--out", "x.safetensors"}, "after 'trace'");
}

/// The help that is named is the one that helps.
TEST(BadInput, TheCommandsOwnHelpIsNamed) {
    expect_refused({"--frobnicate"}, "(see attnscope --help)");
    expect_refused({"render", "--size", "10", "--out", "x.png"}, "(see attnscope render --help)");
    expect_dev_refused({"bench", "model", "--frobnicate"}, "(see attnscope-dev bench model --help)");
    expect_dev_refused({"bench"}, "say which: bench train | ");
    expect_dev_refused({"bench"}, "(see attnscope-dev bench --help)");
    expect_dev_refused({}, "say which: attnscope-dev check | bench (see attnscope-dev --help)");
}

TEST(BadInput, WhatIsNoModelIsCalledSo) {
    const ScratchFolder folder;
    expect_refused({"model", folder.file("texts.json", "[]")}, "texts.json: this is neither the folder of a model nor a .gguf file");
    expect_refused({"sample", "--model", folder.path(""), "--prompt", "a"}, "neither the folder of a published model");
}

TEST(BadInput, DocumentsThatCannotBeComputed) {
    const ScratchFolder folder;
    const std::string out = folder.path("never.safetensors");
    const Arguments trace{"trace", "--out", out};
    mkfifo(folder.path("pipe").c_str(), 0600);

    expect_refused(trace + Arguments{"--preset", "no-such-preset"}, "no-such-preset");
    expect_refused(trace + Arguments{"--text", ""}, "text");
    expect_refused(trace + Arguments{"--text", "   \t "}, "text");
    expect_refused(trace + Arguments{"--text", "one", "--text-file", "two.txt"}, "--text");
    expect_refused(trace + Arguments{"--text-file", folder.path("missing.txt")}, "missing.txt");
    expect_refused(trace + Arguments{"--text-file", folder.path("")}, "");
    expect_refused(trace + Arguments{"--text-file", folder.path("pipe")}, "pipe");
    expect_refused(trace + Arguments{"--text-file", folder.file("empty.txt", "")}, "empty.txt");
    expect_refused(trace + Arguments{"--text-file", folder.file("blank.txt", "\n \n\t\r\n")}, "blank.txt");
    expect_refused(trace + Arguments{"--text-file", folder.file("binary.txt", std::string("a\0b", 3))}, "binary.txt");
    expect_refused(trace + Arguments{"--text-file", folder.file("utf16.txt", std::string("\xFF\xFE\x61\x00", 4))}, "utf16.txt");
    std::string long_text;
    for (int i = 0; i < 100000; ++i) long_text += "word ";
    expect_refused(trace + Arguments{"--text-file", folder.file("long.txt", long_text)}, "");
    expect_refused(trace + Arguments{"--text-file", folder.file("huge.txt", std::string((64 << 20) + 1, 'a'))}, "");
    EXPECT_FALSE(std::filesystem::exists(out));
}

TEST(BadInput, FilesAndFoldersThatTheWindowCannotOpen) {
    const ScratchFolder folder;
    for (const char* name : {"empty", "foreign", "damaged"}) std::filesystem::create_directory(folder.path(name));
    ASSERT_EQ(attnscope({"export", "--stage", "weights", "--out", folder.path("foreign/model.safetensors")}).exit_code, 0);
    ASSERT_EQ(attnscope({"train", "--task", "copy", "--steps", "1", "--set", "d_model=8", "--set", "num_heads=1", "--set", "d_ff=8",
                         "--out", folder.path("damaged")})
                  .exit_code,
              0);
    std::string model = read_bytes(folder.path("damaged/model.safetensors"));
    model[model.size() - 5] ^= 1;
    folder.file("damaged/model.safetensors", model);

    expect_refused({folder.path("missing")}, "no command or file");
    expect_refused({folder.path("empty")}, "holds neither a training run (model.safetensors) nor a published model");
    expect_refused({folder.path("foreign")}, "holds no training run: its model.safetensors is neither");
    expect_refused({folder.path("damaged")}, "model.safetensors");
    expect_refused({folder.file("empty.txt", "")}, "empty.txt");
    expect_refused({folder.file("broken.json", "{")}, "broken.json");
}

TEST(BadInput, PlacesThatCannotBeWritten) {
    const ScratchFolder folder;
    expect_refused({"trace"}, "--out");
    expect_refused({"trace", "--out", ""}, "--out");
    expect_refused({"trace", "--out", folder.path("trace.npz")}, "trace.npz");
    expect_refused({"trace", "--out", folder.path("nowhere/trace.safetensors")}, "nowhere");
    std::filesystem::create_directory(folder.path("folder.safetensors"));
    expect_refused({"trace", "--out", folder.path("folder.safetensors")}, "folder.safetensors");
    expect_refused({"render", "--out", folder.path("figure.jpg")}, "figure.jpg");
    EXPECT_EQ(folder.names(), std::vector<std::string>{"folder.safetensors"}) << "something was left behind";
}

TEST(BadInput, PicturesThatCannotBeDrawn) {
    const ScratchFolder folder;
    const Arguments render{"render", "--out", folder.path("never.png")};
    for (const char* size : {"", "x", "1600", "1600x", "x1000", "0x0", "1600x0", "-1600x1000", "1600x1000x3", "1600x1000 ", "1e3x1e3",
                             "nanxnan", "99999x1000", "99999999999999999999x1000"})
        expect_refused(render + Arguments{"--size", size}, "--size");
    for (const char* scale : {"0", "-1", "nan", "inf", "100", "two", ""}) expect_refused(render + Arguments{"--scale", scale}, "--scale");
    expect_refused(render + Arguments{"--view", "side"}, "--view");
    expect_refused(render + Arguments{"--view", "tokens"}, "--view: tokens is a stage: give --stage tokens");
    expect_refused(render + Arguments{"--theme", "pink"}, "--theme");
    expect_refused(render + Arguments{"--task", "juggling"}, "juggling");
    expect_refused(render + Arguments{"--steps", "5"}, "--task");
    expect_refused(render + Arguments{"--task", "copy", "--steps", "0"}, "--steps");
    expect_refused(render + Arguments{"--task", "copy", "--seed", "-1"}, "--seed");
    expect_refused(render + Arguments{"--task", "copy", "--preset", "gpt-tiny"}, "--preset");
    expect_refused(render + Arguments{"--task", "copy", "--text", "abc", "--text-file", folder.path("x")}, "--text-file");
    expect_refused(render + Arguments{"--run", folder.path("nowhere")}, "nowhere");
    expect_refused(render + Arguments{"--stage", "no_such_stage"}, "no_such_stage");
    expect_refused(render + Arguments{"--stage", "cross_weights"}, "cross_weights");
    expect_refused(render + Arguments{"--layer", "99"}, "layer");
    expect_refused(render + Arguments{"--layer", "-1"}, "layer");
    expect_refused(render + Arguments{"--layer", "99999999999999999999"}, "layer");
    expect_refused(render + Arguments{"--head", "99"}, "head");
    expect_refused(render + Arguments{"--head", "-1"}, "head");
    expect_refused(render + Arguments{"--text", ""}, "text");
    EXPECT_TRUE(folder.names().empty());
}

TEST(BadInput, AnEmptyValueIsNamed) {
    const ScratchFolder folder;
    const std::string out = folder.path("never.safetensors");
    // Every option on its own, even if the command would need others: the empty value is reported first.
    const std::vector<std::pair<std::string, Arguments>> options = {
        {"", {"--preset", "--text", "--text-file", "--document", "--bug"}},
        {"trace", {"--preset", "--sentence", "--text", "--text-file", "--document", "--bug", "--out"}},
        {"export", {"--stage", "--layer", "--head", "--batch", "--out", "--task", "--run", "--step"}},
        {"snippet", {"--stage", "--layer", "--operands"}},
        {"render", {"--view", "--stage", "--size", "--scale", "--out", "--lesson", "--theme"}},
        {"doctor", {"--leak"}},
        {"train", {"--task", "--text-file", "--steps", "--seed", "--config", "--set", "--bug", "--out", "--half", "--resume", "--threads"}},
        {"sample", {"--model", "--preset", "--prompt", "--tokens", "--temperature", "--top-k", "--top-p", "--seed"}},
        {"lesson", {"--step"}},
        {"tokenize", {"--model", "--run", "--preset", "--text", "--pair", "--texts"}}};
    for (const auto& [command, names] : options)
        for (const std::string& name : names) {
            Arguments arguments;
            std::istringstream words(command);
            for (std::string word; words >> word;) arguments.push_back(word);
            expect_refused(arguments + Arguments{name, ""}, name);
        }
    for (const char* name : {"--threads", "--steps"}) expect_dev_refused({"bench", "attention", name, ""}, name);
    expect_dev_refused({"check", ""}, "empty");
    for (const char* command : {"doctor", "lesson", "model"}) expect_refused({command, ""}, "empty");
    expect_refused({""}, "empty");
    expect_refused({"train", "--task", "copy", "--steps", "1", "--out", ""}, "--out");
    expect_refused({"train", "--task", "copy", "--steps", "1", "--set", "batch_size="}, "/batch_size");
    EXPECT_FALSE(std::filesystem::exists(out));
}

TEST(BadInput, ConfigurationsThatWouldBeIgnored) {
    const ScratchFolder folder;
    const auto config = [&](const std::string& json) {
        return Arguments{"train", "--task", "copy", "--steps", "1", "--config", folder.file("run.json", json)};
    };
    expect_refused(config(""), "run.json: the file is empty");
    expect_refused(config(" "), "run.json");
    expect_refused(config("[]"), "expected an object, found a list");
    expect_refused(config(R"({"model": {"context_length": 1000000000}})"), "model.context_length is 1000000000; expected ");
    expect_refused(config(R"({"model": {"vocab_size": 5000}})"), "model.vocab_size is 5000; expected ");
    expect_refused(config(R"({"model": {"seed": 3}})"), "model.seed is 3; expected ");
    expect_refused({"train", "--task", "copy", "--steps", "1", "--set", "model.context_length=7"}, "model.context_length is 7");
    EXPECT_EQ(attnscope(config(R"({"model": {"num_layers": 1}, "batch_size": 2})")).exit_code, 0);
    EXPECT_EQ(attnscope(config("{}") + Arguments{"--set", "batch_size=2"}).exit_code, 0);
}

TEST(BadInput, MessagesSayWhatWasFoundAndWhatIsExpected) {
    const ScratchFolder folder;
    expect_refused({"train", "--text-file", folder.file("short.txt", "abc"), "--steps", "1"}, "short.txt is too short");
    expect_refused({"train", "--task", "juggling"}, "there is no task \"juggling\"; expected one of copy, ");
    expect_refused({"trace", "--bug", "typo", "--out", folder.path("x.safetensors")}, "there is no mistake \"typo\"; expected one of ");
    // The same file with one letter and the header length changed.
    std::string bytes = read_bytes(ATTN_TEST_DATA "/golden/encoder_layer_post_relu.safetensors");
    const std::size_t at = bytes.find("relu\\\"");
    ASSERT_NE(at, std::string::npos);
    bytes[at] = 's';
    expect_dev_refused({"check", folder.file("case.safetensors", bytes)},
                       "case.safetensors, config, /activation: expected relu or gelu, found \"selu\"");
}

TEST(BadInput, QuotesAreShort) {
    const ScratchFolder folder;
    const std::string much(64 << 10, 'x'), wide = much + "é";
    const std::string file = folder.file("run.json", R"({"model": {"activation": ")" + much + R"(", "num_layers": 1}})");
    const std::string key = folder.file("key.json", "{\"" + much + "\": 1}");
    const std::string out = folder.path("x.safetensors");
    for (const Arguments& arguments : std::vector<Arguments>{{much},
                                                             {wide},
                                                             {"--" + much},
                                                             {"--" + much + "=1"},
                                                             {"trace", "--out", much},
                                                             {"trace", "--out", out, "--preset", much},
                                                             {"trace", "--out", out, "--bug", much},
                                                             {"trace", "--out", out, "--text-file", much},
                                                             {"trace", "--out", out, "--document", much},
                                                             {"export", "--out", out, "--stage", much},
                                                             {"export", "--out", out, "--run", much},
                                                             {"export", "--out", out, "--task", much},
                                                             {"export", "--out", out, "--layer", much},
                                                             {"render", "--out", "x.png", "--view", much},
                                                             {"render", "--out", "x.png", "--size", much},
                                                             {"doctor", much},
                                                             {"check", much},
                                                             {"lesson", much},
                                                             {"train", "--task", much},
                                                             {"train", "--task", "copy", "--set", much},
                                                             {"train", "--task", "copy", "--set", much + "=1"},
                                                             {"train", "--task", "copy", "--set", "activation=" + much},
                                                             {"train", "--task", "copy", "--seed", much},
                                                             {"train", "--task", "copy", "--config", file},
                                                             {"train", "--task", "copy", "--config", key},
                                                             {"sample", "--model", much, "--prompt", "a"}}) {
        const Outcome outcome = arguments[0] == "check" ? attnscope_dev(arguments) : attnscope(arguments);
        SCOPED_TRACE(arguments[0].substr(0, 40) + " " + arguments.back().substr(0, 40));
        EXPECT_EQ(outcome.exit_code, 2);
        EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
        EXPECT_NE(outcome.err.find("…"), std::string::npos) << outcome.err;
        EXPECT_LT(outcome.err.size(), 1200U);
    }
}

}  // namespace
}  // namespace attn::test
