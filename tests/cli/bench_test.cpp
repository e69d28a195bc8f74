/// The benchmarks run and report the promised fields. Their speed is not tested.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "tests/cli/process.hpp"

namespace attn::test {
namespace {

using nlohmann::json;
using Arguments = std::vector<std::string>;

/// The single line of JSON that was printed; null, and a failed test, if there was anything else.
json line_of(const Arguments& arguments) {
    const Outcome outcome = attnscope_dev(arguments, std::chrono::seconds(600));
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_EQ(outcome.err, "");
    EXPECT_EQ(std::count(outcome.out.begin(), outcome.out.end(), '\n'), 1) << outcome.out;
    const json line = json::parse(outcome.out, nullptr, false);
    EXPECT_TRUE(line.is_object()) << outcome.out;
    return line.is_object() ? line : json::object();
}

/// Names of the fields that are absent, not numbers, not finite or not positive.
Arguments not_positive(const json& line, const Arguments& names) {
    Arguments bad;
    for (const std::string& name : names)
        if (!line.contains(name) || !line[name].is_number() || !(line[name].get<double>() > 0) || !std::isfinite(line[name].get<double>()))
            bad.push_back(name);
    return bad;
}

const Arguments kOfSteps = {
    "steps",       "ms_median",         "ms_min",          "tokens_per_s", "flop", "gflops", "share_of_peak", "share_of_momentary_peak",
    "peak_gflops", "peak_memory_bytes", "bytes_per_token", "threads"};
const Arguments kOfTheHalf = {"flop_half", "gflops_half", "share_of_peak_half", "share_of_momentary_peak_half"};

TEST(BenchCommand, FieldsThatAreWrongAreFound) {
    const json line = json::parse(R"({"good": 1, "zero": 0, "null": null, "text": "1", "negative": -2})");
    EXPECT_THAT(not_positive(line, {"good", "zero", "null", "text", "negative", "absent"}),
                testing::ElementsAre("zero", "null", "text", "negative", "absent"));
}

TEST(BenchCommand, TrainPrintsOneLine) {
    const json line = line_of({"bench", "train", "--config", "tiny", "--steps", "4", "--threads", "1", "--json"});
    EXPECT_THAT(not_positive(line, kOfSteps), testing::IsEmpty()) << line;
    EXPECT_THAT(not_positive(line, kOfTheHalf), testing::IsEmpty()) << line;
    EXPECT_THAT(not_positive(line, {"first_loss", "last_loss", "parameters", "batch"}), testing::IsEmpty()) << line;
    EXPECT_EQ(line.value("config", ""), "tiny");
    EXPECT_EQ(line.value("steps", 0), 4);
    EXPECT_EQ(line.value("threads", 0), 1);
    // 3 (2 (2048 64 (4 64 + 2 256 + 2 64)) 2 layers + 2 2048 64 65), and 3 2 2 32 64 (64 64 - 64 65 / 2) 2 less for half maps.
    EXPECT_EQ(line.value("flop", 0.0), 3.0 * (2.0 * 2048 * 64 * (4 * 64 + 2 * 256 + 2 * 64) * 2 + 2.0 * 2048 * 64 * 65));
    EXPECT_EQ(line.value("flop", 0.0) - line.value("flop_half", 0.0), 3.0 * 2 * 2 * 32 * 64 * (64 * 64 - 64 * 65 / 2) * 2);
    EXPECT_LE(line.value("ms_min", 0.0), line.value("ms_median", 0.0));
    EXPECT_NEAR(line.value("first_loss", 0.0), std::log(65.0), 0.3);
}

TEST(BenchCommand, TrainLearnsTheSameWithAnyNumberOfThreads) {
    const json one = line_of({"bench", "train", "--config", "tiny", "--steps", "20", "--threads", "1", "--json"});
    const json three = line_of({"bench", "train", "--config", "tiny", "--steps", "20", "--threads", "3", "--json"});
    EXPECT_EQ(one.value("first_loss", 0.0), three.value("first_loss", 1.0));
    EXPECT_EQ(one.value("last_loss", 0.0), three.value("last_loss", 1.0));
    EXPECT_LT(one.value("last_loss", 9.0), one.value("first_loss", 0.0));
}

TEST(BenchCommand, GemmTimesBothProductsOfEveryShape) {
    const json line = line_of({"bench", "gemm", "--steps", "1", "--threads", "2", "--json"});
    EXPECT_EQ(line.value("threads", 0), 2);
    ASSERT_TRUE(line.contains("products"));
    std::vector<std::string> models;
    for (const json& product : line["products"]) {
        EXPECT_THAT(not_positive(product, {"m", "n", "k", "ours_ms", "eigen_ms", "ours_gflops", "eigen_gflops", "eigen_over_ours"}),
                    testing::IsEmpty())
            << product;
        const double operations = 2 * product["m"].get<double>() * product["n"].get<double>() * product["k"].get<double>();
        EXPECT_NEAR(product["ours_gflops"].get<double>() * product["ours_ms"].get<double>() * 1e6, operations, 1e-6 * operations);
        EXPECT_NEAR(product["eigen_over_ours"].get<double>(), product["eigen_ms"].get<double>() / product["ours_ms"].get<double>(), 1e-9);
        models.push_back(product.value("model", ""));
    }
    for (const char* model : {"tiny", "small", "medium", "gpt2", "one row"}) EXPECT_THAT(models, testing::Contains(model));
}

TEST(BenchCommand, AttentionPrintsOneLine) {
    for (const char* positions : {"1", "37"}) {
        const Arguments arguments{"bench", "attention", "--T", positions, "--steps", "3", "--threads", "1", "--json"};
        const double t = std::stod(positions);
        const json whole = line_of(arguments);
        EXPECT_THAT(not_positive(
                        whole, {"steps", "ms_median", "ms_min", "gflops", "share_of_peak", "share_of_momentary_peak", "peak_memory_bytes"}),
                    testing::IsEmpty())
            << whole;
        EXPECT_EQ(whole.value("flop", 0.0), 2 * 2 * 12 * 64 * t * t);
        EXPECT_FALSE(whole.contains("gflops_half"));
        Arguments causal = arguments;
        causal.push_back("--causal");
        const json half = line_of(causal);
        EXPECT_THAT(not_positive(half, kOfTheHalf), testing::IsEmpty()) << half;
        EXPECT_EQ(half.value("flop", 0.0), whole.value("flop", 1.0));
        EXPECT_EQ(half.value("flop_half", 0.0), 2 * 12 * 64 * t * (t + 1));
        EXPECT_DOUBLE_EQ(half.value("share_of_momentary_peak_half", 0.0), half.value("share_of_momentary_peak", 1.0) * (t + 1) / (2 * t));
    }
}

TEST(BenchCommand, ModelPrintsOneLine) {
    const std::string folder = std::string(ATTN_TEST_DATA) + "/golden/hf/llama";
    const json line = line_of({"bench", "model", "--model", folder, "--T", "3,7", "--decode", "2", "--steps", "1", "--json"});
    EXPECT_THAT(not_positive(line, {"gigabytes", "read_gigabytes_per_s", "peak_memory_bytes", "threads"}), testing::IsEmpty()) << line;
    std::vector<std::string> measured;
    for (const json& one : line.at("measured")) {
        measured.push_back(one.value("what", "") + " " + std::to_string(one.value("T", 0)));
        EXPECT_THAT(not_positive(one, {"steps", "ms_median", "ms_min"}), testing::IsEmpty()) << one;
        const double tokens = one.value("what", "") == "decode" ? 1 : one.value("T", 0);
        EXPECT_NEAR(one.value("tokens_per_s", 0.0), tokens / one.value("ms_median", 1.0) * 1e3, 1e-9 * one.value("tokens_per_s", 0.0));
    }
    EXPECT_THAT(measured, testing::ElementsAre("forward 3", "forward 7", "prefill 3", "prefill 7", "decode 3", "read 0"));

    // Only a learned position table limits the length of a text.
    for (const auto& [model, positions, problem] :
         {std::tuple{"llama", "3,x", "\"x\" is not a number"}, {"gpt2", "65", "exceed the model's context length of 64"}}) {
        const Outcome refused =
            attnscope_dev({"bench", "model", "--model", std::string(ATTN_TEST_DATA) + "/golden/hf/" + model, "--T", positions});
        EXPECT_EQ(refused.exit_code, 2) << refused.err;
        EXPECT_THAT(refused.err, testing::HasSubstr(problem));
    }
    const Outcome encoder = attnscope_dev({"bench", "model", "--model", std::string(ATTN_TEST_DATA) + "/golden/hf/bert"});
    EXPECT_THAT(encoder.err, testing::HasSubstr("BERT"));
}

TEST(BenchCommand, PeakPrintsOneLine) {
    const json line = line_of({"bench", "peak", "--json"});
    EXPECT_THAT(not_positive(line, {"gflops_1", "gflops_all", "memory_gb_per_s_1", "memory_gb_per_s_all", "threads"}), testing::IsEmpty())
        << line;
    ASSERT_TRUE(line.contains("builds") && line["builds"].is_array() && !line["builds"].empty()) << line;
    EXPECT_EQ(line["builds"][0].value("kernels", ""), "baseline");
    for (const json& build : line["builds"]) EXPECT_THAT(not_positive(build, {"gflops_1", "gflops_all"}), testing::IsEmpty()) << line;
}

TEST(BenchCommand, UsesTheKernelsThatTheVariableNames) {
    ASSERT_EQ(::setenv("ATTNSCOPE_KERNELS", "baseline", 1), 0);
    const json line = line_of({"bench", "attention", "--T", "8", "--steps", "1", "--threads", "1", "--json"});
    ASSERT_EQ(::setenv("ATTNSCOPE_KERNELS", "v9", 1), 0);
    const Outcome refused = attnscope_dev({"bench", "train", "--config", "tiny", "--steps", "1", "--json"});
    ASSERT_EQ(::unsetenv("ATTNSCOPE_KERNELS"), 0);
    EXPECT_EQ(line.value("kernels", ""), "baseline");
    EXPECT_EQ(refused.exit_code, 2);
    EXPECT_EQ(refused.out, "");
    EXPECT_THAT(refused.err, testing::HasSubstr("v9"));
}

TEST(BenchCommand, WithoutJsonItSaysTheSameInWords) {
    const Outcome train = attnscope_dev({"bench", "train", "--config", "tiny", "--steps", "2", "--threads", "1"});
    EXPECT_EQ(train.exit_code, 0) << train.err;
    for (const char* words :
         {"ms per step", "tokens/s", "GFLOP/s", "% of peak", "% of the peak measured around each", "loss", "bytes per token", "1 thread,"})
        EXPECT_THAT(train.out, testing::HasSubstr(words));
    const Outcome peak = attnscope_dev({"bench", "peak"});
    EXPECT_EQ(peak.exit_code, 0) << peak.err;
    for (const char* words : {"baseline", "GFLOP/s", "memory", "GB/s"}) EXPECT_THAT(peak.out, testing::HasSubstr(words));
}

/// Processor time, which neither other programs nor the number of processors change: each of the threads would take its own for the peak.
TEST(BenchCommand, ThreadsBeyondTheProcessorsAreNotMeasuredOneByOne) {
    const ScratchFolder folder;
    const Outcome outcome = in_shell("ulimit -t 20; attnscope-dev bench attention --T 8 --threads 256 --steps 1 --json", folder.path("."));
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err << " (ended by signal " << outcome.ended_by << ")";
    EXPECT_THAT(outcome.out, testing::HasSubstr("\"threads\":256"));
}

TEST(BenchCommand, RefusesWhatItCannotMeasure) {
    for (const Arguments& arguments : {
             Arguments{},
             {"speed"},
             {"train"},
             {"train", "--config", "huge"},
             {"train", "--config", "tiny", "--steps", "0"},
             {"train", "--config", "tiny", "--steps", "many"},
             {"train", "--config", "tiny", "--threads", "-1"},
             {"attention"},
             {"attention", "--T", "0"},
             {"attention", "--T", "1.5"},
             {"attention", "--T", "1000000000000000000000"},
             {"attention", "--T", "8", "--config", "tiny"},
             {"peak", "tiny"},
             {"peak", "--json", "peak"},
             {"train", "--config", "tiny", "attention", "--T", "8"},
         }) {
        Arguments line{"bench"};
        line.insert(line.end(), arguments.begin(), arguments.end());
        const Outcome outcome = attnscope_dev(line);
        SCOPED_TRACE(testing::PrintToString(line));
        EXPECT_EQ(outcome.exit_code, 2);
        EXPECT_EQ(outcome.out, "");
        EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
        EXPECT_EQ(outcome.err.rfind("attnscope-dev: ", 0), 0U) << outcome.err;
    }
}

}  // namespace
}  // namespace attn::test
