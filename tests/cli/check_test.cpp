#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/cli/process.hpp"

namespace attn::test {
namespace {

using testing::HasSubstr;
using testing::Not;

const std::string kGolden = std::string(ATTN_TEST_DATA) + "/golden/";

TEST(CheckCommand, PrintsOneLineATensor) {
    const Outcome outcome = attnscope_dev({"check", kGolden + "sdpa_causal.safetensors", kGolden + "notebook_single_head.npz"});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_EQ(outcome.err, "");
    for (const char* word : {"sdpa_causal.safetensors: sdpa", "out.weights", "[2, 4, 6, 6]", "context", "abs", "rel", "ok"})
        EXPECT_THAT(outcome.out, HasSubstr(word));
    EXPECT_THAT(outcome.out, Not(HasSubstr("FAIL")));
    // Two files; four outputs and three gradients of the first one, seven matrices of the second.
    EXPECT_EQ(std::count(outcome.out.begin(), outcome.out.end(), '\n'), 2 + 4 + 3 + 7);
}

TEST(CheckCommand, DoubleIsCloser) {
    const Outcome outcome = attnscope_dev({"check", "--double", kGolden + "notebook_multi_head.npz"});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.out;
    EXPECT_THAT(outcome.out, HasSubstr("e-16"));
}

/// The file with one number of the tensor changed; finds it with the header.
std::string with_one_number_changed(std::string bytes, const std::string& tensor) {
    const std::size_t header = 8 + static_cast<unsigned char>(bytes[0]) + 256U * static_cast<unsigned char>(bytes[1]);
    const std::size_t entry = bytes.find("\"" + tensor + "\""), offsets = bytes.find("data_offsets\":[", entry);
    const std::size_t at = header + std::stoul(bytes.substr(offsets + 15));
    bytes[at + 3] = static_cast<char>(bytes[at + 3] ^ 0x40);  // the float's exponent
    return bytes;
}

TEST(CheckCommand, AMismatchIsExitOneAndNamed) {
    const ScratchFolder folder;
    const std::string bytes = read_bytes(kGolden + "sdpa_causal.safetensors");
    const std::string wrong = folder.file("wrong.safetensors", with_one_number_changed(bytes, "out.weights"));
    const Outcome outcome = attnscope_dev({"check", wrong, kGolden + "sdpa_none.safetensors"});
    EXPECT_EQ(outcome.exit_code, 1) << outcome.err;
    EXPECT_EQ(outcome.err, "");
    EXPECT_THAT(outcome.out, testing::ContainsRegex("out.weights [^\n]*FAIL"));
    EXPECT_THAT(outcome.out, testing::ContainsRegex("out.context [^\n]*ok"));
    EXPECT_THAT(outcome.out, HasSubstr("sdpa_none.safetensors"));
}

TEST(CheckCommand, WhatCannotBeReadIsExitTwoAndOneLine) {
    const ScratchFolder folder;
    const std::string bytes = read_bytes(kGolden + "sdpa_causal.safetensors");
    const std::string cut = folder.file("cut.safetensors", bytes.substr(0, bytes.size() - 1)), empty = folder.file("empty.npz", "");
    for (const std::string& file : {cut, empty, folder.path("missing.safetensors"), folder.path("")}) {
        const Outcome outcome = attnscope_dev({"check", file});
        EXPECT_EQ(outcome.exit_code, 2) << file;
        EXPECT_EQ(outcome.out, "");
        EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
        EXPECT_EQ(outcome.err.rfind("attnscope-dev: ", 0), 0U) << outcome.err;
    }
    const auto with = [&](const std::string& name, std::string from, const std::string& to) {
        std::string changed = bytes;
        const std::size_t at = changed.find(from);
        EXPECT_NE(at, std::string::npos) << from;
        return folder.file(name, changed.replace(at, from.size(), to));
    };
    const std::string renamed = with("renamed.safetensors", "\"in.q\"", "\"in.z\"");
    const std::string reshaped = with("reshaped.safetensors", "\"out.context\":{\"dtype\":\"F32\",\"shape\":[2,4,6,8]",
                                      "\"out.context\":{\"dtype\":\"F32\",\"shape\":[4,2,6,8]");
    for (const auto& [file, tensor] : {std::pair{renamed, "in.q"}, std::pair{reshaped, "out.context"}}) {
        const Outcome outcome = attnscope_dev({"check", file});
        EXPECT_EQ(outcome.exit_code, 2);
        EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
        EXPECT_THAT(outcome.err, HasSubstr(tensor));
        EXPECT_THAT(outcome.err, HasSubstr(file));
    }
    // The other files are still checked, and an unreadable file outweighs a mismatch.
    const std::string wrong = folder.file("wrong.safetensors", with_one_number_changed(bytes, "out.weights"));
    const Outcome outcome = attnscope_dev({"check", cut, wrong});
    EXPECT_EQ(outcome.exit_code, 2);
    EXPECT_THAT(outcome.out, HasSubstr("FAIL"));
    EXPECT_EQ(attnscope_dev({"check"}).exit_code, 2);
}

}  // namespace
}  // namespace attn::test
