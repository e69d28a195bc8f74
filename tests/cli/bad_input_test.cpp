/// Whatever is typed or read, the answer is one clear line and exit code 2.

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>

#include "tests/cli/process.hpp"

namespace attn::test {
namespace {

using Arguments = std::vector<std::string>;

Arguments operator+(Arguments left, const Arguments& right) {
    left.insert(left.end(), right.begin(), right.end());
    return left;
}

/// Runs it and expects the refusal to mention `words`.
void expect_refused(const Arguments& arguments, const std::string& words) {
    std::string line;
    for (const std::string& argument : arguments) line += " '" + argument.substr(0, 80) + "'";
    SCOPED_TRACE("attnscope" + line);
    const Outcome outcome = attnscope(arguments);
    EXPECT_EQ(outcome.exit_code, 2) << outcome.err;
    EXPECT_EQ(outcome.out, "");
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
    EXPECT_EQ(outcome.err.rfind("attnscope: ", 0), 0U) << outcome.err;
    EXPECT_NE(outcome.err.find(words), std::string::npos) << outcome.err;
    EXPECT_LT(outcome.err.size(), 600U);
}

TEST(BadInput, UnknownWords) {
    expect_refused({"frobnicate"}, "frobnicate");
    expect_refused({"--frobnicate"}, "--frobnicate");
    expect_refused({"trace", "--out", "x.safetensors", "--frobnicate"}, "--frobnicate");
    expect_refused({"two\nlines"}, "two\\x0Alines");
    expect_refused({"--preset"}, "--preset");
    expect_refused({"--preset", "gpt-tiny", "trace", "--out", "x.safetensors"}, "after 'trace'");
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

TEST(BadInput, PlacesThatCannotBeWritten) {
    const ScratchFolder folder;
    expect_refused({"trace"}, "--out");
    expect_refused({"trace", "--out", ""}, ".safetensors");
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

}  // namespace
}  // namespace attn::test
