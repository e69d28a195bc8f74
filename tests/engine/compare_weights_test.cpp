/// The same model at two precisions: errors against plain sums over the loaded parameters, and what does not count as an error.

#include "engine/families/compare_weights.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <filesystem>

#include "tests/engine/io_support.hpp"
#include "tests/support/temporary_folder.hpp"

namespace attn {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

const fs::path kComparedFiles = fs::path(ATTN_TEST_DATA) / "golden/gguf";

ModelFolder compared(const char* name) { return open_model_folder(kComparedFiles / (std::string(name) + ".gguf")); }

TEST(CompareWeights, OfAModelWithItselfAreNothing) {
    for (const char* name : {"llama_q4_k", "gemma2", "gptneox", "t5", "bert"}) {
        const WeightComparison comparison = compare_weights(compared(name), compared(name));
        EXPECT_EQ(comparison.max, 0) << name;
        EXPECT_EQ(comparison.numbers, load_parameters<float>(compared(name))->count()) << name;
        for (const WeightError& error : comparison.parameters) EXPECT_TRUE(error.worst.empty()) << error.parameter;
    }
}

/// Two models with nothing in common but their sizes: every error is large, and none may be found elsewhere.
TEST(CompareWeights, AreWhatPlainSumsSay) {
    const ModelFolder a = compared("llama_q8_0"), b = compared("llama_q4_0");
    const auto left = load_parameters<double>(a), right = load_parameters<double>(b);
    const WeightComparison comparison = compare_weights(a, b);
    std::int64_t numbers = 0;
    for (const WeightError& error : comparison.parameters) {
        const MatrixView x = left->view(error.parameter), y = right->view(error.parameter);
        ASSERT_TRUE(x && y) << error.parameter;
        double max = 0, squares = 0, own = 0;
        for (std::int64_t r = 0; r < x.rows; ++r)
            for (std::int64_t c = 0; c < x.columns; ++c) {
                const double value = x.at(r, c), difference = y.at(r, c) - value;
                max = std::max(max, std::abs(difference));
                squares += difference * difference;
                own += value * value;
            }
        const auto count = static_cast<double>(x.rows * x.columns);
        numbers += x.rows * x.columns;
        EXPECT_EQ(error.rows * error.columns, x.rows * x.columns) << error.parameter;
        EXPECT_DOUBLE_EQ(error.max, max) << error.parameter;
        EXPECT_NEAR(error.rms, std::sqrt(squares / count), 1e-12) << error.parameter;
        EXPECT_NEAR(error.relative, std::sqrt(squares / own), 1e-12) << error.parameter;
        EXPECT_GT(error.max, 0) << error.parameter;
    }
    EXPECT_EQ(comparison.numbers, numbers);
    EXPECT_EQ(numbers, left->count());
}

/// One quantum of one block is another: the error is that step, in that block.
TEST(CompareWeights, NameTheBlockThatDiffers) {
    const test::TemporaryFolder folder;
    const fs::path whole = kComparedFiles / "llama_q8_0.gguf", changed = folder.path() / "changed.gguf";
    const ModelFolder original = open_model_folder(whole);
    const WeightFiles::Tensor* tensor = original.weights->find("blk.0.ffn_down.weight");
    ASSERT_EQ(tensor->blocks, BlockKind::Q8_0);
    std::string bytes = test::file_bytes(whole);
    const std::string stored(reinterpret_cast<const char*>(tensor->array.bytes.data()), tensor->array.bytes.size());
    constexpr std::size_t kBlock = 2 * 5 + 1, kPlace = 7;  // two blocks a row: the second of output 5
    const std::size_t at = bytes.find(stored) + kBlock * 34 + 2 + kPlace;
    bytes[at] = static_cast<char>(bytes[at] ^ 1);
    test::put_file(changed, bytes);
    const WeightComparison comparison = compare_weights(original, open_model_folder(changed));
    const float scale = block_number(BlockKind::Q8_0, tensor->array.bytes.data(), kBlock * 32).scale;
    for (const WeightError& error : comparison.parameters) {
        const bool here = error.parameter == "layers.0.ffn.out.weight";
        EXPECT_EQ(error.max > 0, here) << error.parameter;
        if (!here) continue;
        EXPECT_NEAR(error.max, std::abs(static_cast<double>(scale)), 1e-6 * std::abs(static_cast<double>(scale)));
        ASSERT_EQ(error.worst.size(), 1U);
        EXPECT_EQ(error.worst[0].row, 5);
        EXPECT_EQ(error.worst[0].first, 32);
        EXPECT_EQ(error.worst[0].count, 32);
        EXPECT_EQ(error.worst[0].max, error.max);
        EXPECT_NEAR(error.worst[0].rms, error.max / std::sqrt(32.0), 1e-12);
    }
}

TEST(CompareWeights, ThatAreNoNumbersAreNoAgreement) {
    const test::TemporaryFolder folder;
    const fs::path whole = kComparedFiles / "llama.gguf", changed = folder.path() / "changed.gguf";
    const ModelFolder original = open_model_folder(whole);
    const WeightFiles::Tensor* tensor = original.weights->find("output_norm.weight");
    std::string bytes = test::file_bytes(whole);
    const std::string stored(reinterpret_cast<const char*>(tensor->array.bytes.data()), tensor->array.bytes.size());
    const float nan = std::nanf("");
    std::memcpy(bytes.data() + bytes.find(stored), &nan, sizeof nan);
    test::put_file(changed, bytes);
    const WeightComparison comparison = compare_weights(original, open_model_folder(changed));
    EXPECT_TRUE(std::isnan(comparison.max));
    EXPECT_TRUE(std::isnan(comparison.rms));
}

TEST(CompareWeights, OfAnotherModelAreRefused) {
    const auto refusal = [](const char* a, const char* b) -> std::string {
        try {
            compare_weights(compared(a), compared(b));
        } catch (const FileError& error) {
            return error.what();
        }
        return "";
    };
    EXPECT_THAT(refusal("llama", "llama_biased"), HasSubstr("this is another model"));
    EXPECT_THAT(refusal("llama", "smollm3"), HasSubstr("this is another model"));
    EXPECT_THAT(refusal("llama_q8_0", "llama_q4_k"), HasSubstr("token_embedding.weight: has 48 rows of 256 numbers; in "));
    EXPECT_THAT(refusal("gpt2", "bloom"), HasSubstr("this is another model"));
}

}  // namespace
}  // namespace attn
