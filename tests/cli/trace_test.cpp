/// The output of `attnscope trace`, read without the program's own reader.

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>
#include <set>

#include "tests/cli/process.hpp"

namespace attn::test {
namespace {

using nlohmann::json;

/// A .safetensors file as specified: 8 bytes of length, a JSON object, the numbers.
struct Safetensors {
    json header;
    std::string data;

    explicit Safetensors(const std::string& bytes) {
        std::uint64_t length = 0;
        if (bytes.size() < 8) throw std::runtime_error("no header");
        std::memcpy(&length, bytes.data(), 8);
        if (length > bytes.size() - 8) throw std::runtime_error("header too long");
        header = json::parse(bytes.substr(8, length));
        data = bytes.substr(8 + length);
    }

    json metadata(const char* key) const { return json::parse(header.at("__metadata__").at(key).get<std::string>()); }
    std::vector<std::int64_t> shape(const std::string& name) const { return header.at(name).at("shape"); }
    std::vector<float> floats(const std::string& name) const {
        EXPECT_EQ(header.at(name).at("dtype"), "F32") << name;
        const std::size_t begin = header.at(name).at("data_offsets")[0], end = header.at(name).at("data_offsets")[1];
        std::vector<float> values((end - begin) / sizeof(float));
        std::memcpy(values.data(), data.substr(begin, end - begin).data(), end - begin);
        return values;
    }
};

Safetensors traced(std::vector<std::string> arguments) {
    const ScratchFolder folder;
    const std::string out = folder.path("trace.safetensors");
    arguments.insert(arguments.begin(), {"trace", "--out", out});
    const Outcome outcome = attnscope(arguments);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_EQ(outcome.err, "");
    EXPECT_NE(outcome.out.find(out), std::string::npos) << outcome.out;
    EXPECT_EQ(folder.names(), std::vector<std::string>{"trace.safetensors"});
    return Safetensors(read_bytes(out));
}

TEST(Trace, TellsWhenAMistakeHasNoEffect) {
    const ScratchFolder folder;
    const auto told = [&](const std::string& preset, const std::string& bug) {
        const Outcome outcome = attnscope({"trace", "--preset", preset, "--bug", bug, "--out", folder.path("t.safetensors")});
        EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
        return outcome.err;
    };
    EXPECT_EQ(told("self-attention", "no_positions"),
              "attnscope: the mistake no_positions has no effect here: it needs added or rotary positions\n");
    EXPECT_EQ(told("gpt-tiny", "padding_on_queries"),
              "attnscope: the mistake padding_on_queries has no effect here: it needs texts of different lengths\n");
    EXPECT_EQ(told("self-attention", "mask_missing"), "attnscope: the mistake mask_missing has no effect here: it needs an active mask\n");
    EXPECT_EQ(told("gpt-tiny", "mask_missing"), "");
    EXPECT_EQ(told("llama-tiny", "no_positions"), "");
}

TEST(Trace, HoldsEveryStageWithItsAxes) {
    const Safetensors file = traced({"--preset", "gpt-tiny"});
    EXPECT_EQ(file.header["__metadata__"]["format"], "attnscope-trace/1");
    const json stages = file.metadata("stages"), axes = file.metadata("axes"), config = file.metadata("config");

    std::set<std::string> names;
    for (const std::string name : stages) {
        EXPECT_TRUE(names.insert(name).second) << name << " twice";
        ASSERT_TRUE(file.header.contains(name)) << name;
        EXPECT_EQ(axes.at(name).get<std::string>().size(), file.shape(name).size()) << name;
    }
    const int layers = config.at("num_layers");
    ASSERT_GE(layers, 1);
    for (int layer = 0; layer < layers; ++layer)
        for (const char* stage : {"norm_1", "attention.q", "attention.k", "attention.v", "attention.scores", "attention.scaled",
                                  "attention.masked", "attention.weights", "attention.dropped", "attention.context", "attention.concat",
                                  "attention_out", "residual_1", "norm_2", "ffn_hidden", "ffn_activation", "ffn_out", "residual_2"})
            EXPECT_TRUE(names.count("layers." + std::to_string(layer) + "." + stage)) << layer << " " << stage;
    for (const char* stage : {"tokens", "token_embedding", "position_embedding", "embedding", "final_norm", "logits", "probabilities"})
        EXPECT_TRUE(names.count(stage)) << stage;
    EXPECT_EQ(axes.at("layers.0.attention.weights"), "BHTS");
    EXPECT_EQ(axes.at("logits"), "BTV");
}

TEST(Trace, TilesTheFileExactly) {
    const Safetensors file = traced({"--preset", "encoder-block"});
    std::set<std::pair<std::size_t, std::size_t>> ranges;
    for (const auto& [name, entry] : file.header.items())
        if (name != "__metadata__")
            ranges.emplace(entry["data_offsets"][0].get<std::size_t>(), entry["data_offsets"][1].get<std::size_t>());
    std::size_t at = 0;
    for (const auto& [begin, end] : ranges) {
        EXPECT_EQ(begin, at);
        at = end;
    }
    EXPECT_EQ(at, file.data.size());
}

TEST(Trace, KeepsTheTextsAndPadsTheShorter) {
    const Safetensors file = traced({"--preset", "causal-attention", "--text", "one two three four", "--text", "five six"});
    EXPECT_EQ(file.metadata("tokens"), json::parse(R"([["one","two","three","four"],["five","six"]])"));
    EXPECT_EQ(file.metadata("lengths"), json::parse("[4,2]"));
    EXPECT_EQ(file.shape("tokens"), (std::vector<std::int64_t>{2, 4}));
}

TEST(Trace, WeightsAreProbabilitiesUnderTheCausalMask) {
    const Safetensors file = traced({"--preset", "causal-attention", "--text", "one two three four five"});
    const std::string name = "layers.0.attention.weights";
    const std::vector<std::int64_t> shape = file.shape(name);
    const std::vector<float> weights = file.floats(name);
    ASSERT_EQ(shape.size(), 4U);
    ASSERT_EQ(shape[2], 5);
    ASSERT_EQ(shape[3], 5);
    for (std::size_t row = 0; row < weights.size() / 5; ++row) {
        double sum = 0;
        for (std::size_t s = 0; s < 5; ++s) {
            sum += weights[row * 5 + s];
            if (s > row % 5) {
                EXPECT_EQ(weights[row * 5 + s], 0.0F) << row << "," << s;
            }
        }
        EXPECT_TRUE(std::abs(sum - 1) <= 1e-5) << "row " << row << " sums to " << sum;
    }
}

TEST(Trace, ReadsATextFileLineByLine) {
    const ScratchFolder folder;
    const std::string lines = folder.file("lines.txt", "one two\r\n\n  \nthree four five");
    EXPECT_EQ(traced({"--text-file", lines}).metadata("lengths"), json::parse("[2,3]"));
}

TEST(Trace, IsTheSameEveryTime) {
    const ScratchFolder folder;
    for (const char* name : {"a.safetensors", "b.safetensors"})
        ASSERT_EQ(attnscope({"trace", "--text", "the same words", "--out", folder.path(name)}).exit_code, 0);
    EXPECT_TRUE(read_bytes(folder.path("a.safetensors")) == read_bytes(folder.path("b.safetensors")));
}

/// Of 60,000 words every part would take gigabytes: that follows from the plan, so nothing is computed, which would take minutes.
TEST(Trace, IsRefusedBeforeItIsComputedIfItCannotBeWritten) {
#ifdef ATTN_SANITIZED
    GTEST_SKIP() << "the sanitizers need more addresses than the limit leaves";
#endif
    const ScratchFolder folder;
    std::string text;
    for (int i = 0; i < 60'000; ++i) text += i % 3 == 0 ? "a " : "b ";
    folder.file("long.txt", text);
    for (const char* command : {"trace", "export"}) {
        const Outcome outcome = in_shell(std::string("ulimit -t 30 -v 3000000; attnscope ") + command +
                                             " --memory 512 --text-file long.txt --out t.safetensors",
                                         folder.path(""));
        EXPECT_EQ(outcome.exit_code, 2) << outcome.err;
        EXPECT_EQ(outcome.out, "");
        EXPECT_NE(outcome.err.find("but the memory budget leaves 512 MiB"), std::string::npos) << outcome.err;
    }
    EXPECT_EQ(folder.names(), std::vector<std::string>{"long.txt"});
}

}  // namespace
}  // namespace attn::test
