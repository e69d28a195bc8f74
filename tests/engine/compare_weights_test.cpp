/// The same model at two precisions: errors compared with plain sums over the parameters, and what does not count as an error.

#include "engine/precision/compare_weights.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <set>

#include "engine/tensor/error.hpp"
#include "tests/engine/io_support.hpp"
#include "tests/support/coarser_model.hpp"
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

/// Two models that share only their sizes: every error is large, and each must be found in the right place.
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

/// One block is changed by one quantum: the error is that step, in that block.
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

TEST(CompareWeights, NansAreNoAgreement) {
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
    EXPECT_THAT(refusal("llama", "llama_biased"), HasSubstr("this is a different model"));
    EXPECT_THAT(refusal("llama", "smollm3"), HasSubstr("this is a different model"));
    EXPECT_THAT(refusal("llama_q8_0", "llama_q4_k"), HasSubstr("token_embedding.weight: has 48 rows of 256 numbers; in "));
    EXPECT_THAT(refusal("gpt2", "bloom"), HasSubstr("this is a different model"));
    EXPECT_THAT(refusal("gpt2", "t5"), HasSubstr("t5.gguf: the number of layers is 2, and in "));
}

/// The same for merged parameters of all layers.
TEST(CompareWeights, PutTheParametersOfAKindTogether) {
    const test::TemporaryFolder folder;
    const ModelFolder a = open_model_folder(test::fine_model()), b = open_model_folder(test::coarser_model(folder.path()));
    const auto left = load_parameters<double>(a), right = load_parameters<double>(b);
    const WeightComparison comparison = compare_weights(a, b);
    std::int64_t parameters = 0;
    for (const WeightKindError& kind : comparison.kinds) {
        double max = 0, squares = 0, own = 0;
        std::int64_t count = 0;
        std::set<std::string_view> types;
        for (const WeightError& error : comparison.parameters) {
            if (weight_kind(error.parameter) != kind.kind) continue;
            ++parameters;
            types.insert(error.type_b);
            const MatrixView x = left->view(error.parameter), y = right->view(error.parameter);
            for (std::int64_t r = 0; r < x.rows; ++r)
                for (std::int64_t c = 0; c < x.columns; ++c, ++count) {
                    const double difference = y.at(r, c) - x.at(r, c);
                    max = std::max(max, std::abs(difference));
                    squares += difference * difference;
                    own += x.at(r, c) * x.at(r, c);
                }
        }
        EXPECT_NEAR(kind.max, max, 1e-12) << kind.kind;
        EXPECT_GE(kind.max, kind.rms) << kind.kind;
        EXPECT_NEAR(kind.rms, std::sqrt(squares / static_cast<double>(count)), 1e-12) << kind.kind;
        EXPECT_NEAR(kind.relative, std::sqrt(squares / own), 1e-9) << kind.kind;
        EXPECT_EQ(kind.type_b, types.size() == 1 ? *types.begin() : std::string_view()) << kind.kind;
    }
    EXPECT_EQ(parameters, static_cast<std::int64_t>(comparison.parameters.size()));
    EXPECT_LT(comparison.kinds.size(), comparison.parameters.size());
    EXPECT_EQ(weight_kind("encoder.layers.12.attention.q.weight"), "encoder.layers.*.attention.q.weight");
    EXPECT_EQ(weight_kind("final_norm.weight"), "final_norm.weight");
}

TEST(CompareWeights, ReportProgressAfterEveryParameterAndCanBeStopped) {
    const ModelFolder a = compared("llama_q8_0"), b = compared("llama_q4_0");
    const WeightComparison whole = compare_weights(a, b);
    std::size_t told = 0;
    std::stop_source stop;
    compare_weights(a, b, [&](const WeightComparison& so_far, std::size_t total) {
        EXPECT_EQ(total, whole.parameters.size());
        ASSERT_EQ(so_far.parameters.size(), told++);
        if (so_far.parameters.empty()) return;
        EXPECT_EQ(so_far.parameters.back().parameter, whole.parameters[told - 2].parameter);
        EXPECT_EQ(so_far.parameters.back().rms, whole.parameters[told - 2].rms);
    });
    EXPECT_EQ(told, whole.parameters.size() + 1);
    const auto stop_soon = [&](const WeightComparison& so_far, std::size_t) {
        if (so_far.parameters.size() == 2) stop.request_stop();
        EXPECT_LE(so_far.parameters.size(), 2U);
    };
    EXPECT_THROW(compare_weights(a, b, stop_soon, stop.get_token()), Cancelled);
    EXPECT_THROW(weight_error_map(a, b, "lm_head.weight", 4, 4, stop.get_token()), Cancelled);
}

/// Every tile is the RMS of its numbers, whatever its size.
TEST(CompareWeights, AreDrawnAsTheErrorsOfTheirTiles) {
    const ModelFolder a = compared("llama_q8_0"), b = compared("llama_q4_0");
    const auto left = load_parameters<float>(a), right = load_parameters<float>(b);
    const WeightComparison comparison = compare_weights(a, b);
    for (const WeightError& error : comparison.parameters) {
        const ComparedParameter x(*left, error.parameter), y(*right, error.parameter);
        ASSERT_TRUE(x && y) << error.parameter;
        EXPECT_EQ(x.rows(), error.rows);
        EXPECT_EQ(x.columns(), error.columns);
        for (const auto& [most_rows, most_columns] : {std::pair{1, 1}, {3, 2}, {1000, 1000}}) {
            const WeightErrorMap map = weight_error_map(a, b, error.parameter, most_rows, most_columns);
            ASSERT_LE(map.map_rows, most_rows);
            ASSERT_LE(map.map_columns, most_columns);
            ASSERT_GE(map.map_rows * map.tile_rows, error.rows);
            ASSERT_GE(map.map_columns * map.tile_columns, error.columns);
            EXPECT_EQ(map.group, error.type_a == "Q8_0" ? 32 : 0) << error.parameter;
            EXPECT_EQ(map.tile_columns % std::max<std::int64_t>(map.group, 1), 0) << "a scale lies in one tile";
            bool found = map.rms.empty();
            for (const float rms : map.rms) {
                EXPECT_LE(rms, map.largest);
                found = found || rms == map.largest;
            }
            EXPECT_TRUE(found) << error.parameter;
            for (std::int64_t row = 0; row < map.map_rows; ++row)
                for (std::int64_t column = 0; column < map.map_columns; ++column) {
                    double squares = 0;
                    int count = 0;
                    for (std::int64_t r = row * map.tile_rows; r < std::min((row + 1) * map.tile_rows, error.rows); ++r)
                        for (std::int64_t c = column * map.tile_columns; c < std::min((column + 1) * map.tile_columns, error.columns);
                             ++c) {
                            const double difference = y.number(r, c) - x.number(r, c);
                            squares += difference * difference;
                            ++count;
                        }
                    ASSERT_NEAR(map.rms[static_cast<std::size_t>(row * map.map_columns + column)], std::sqrt(squares / count), 1e-7)
                        << error.parameter << " " << row << " " << column;
                }
        }
    }
    EXPECT_THROW(weight_error_map(a, b, "layers.0.attention.nothing", 4, 4), FileError);
}

/// A row is an output of a linear map regardless of the layout in the file, or a token of an embedding table, even if that is also the
/// output head.
TEST(CompareWeights, ReadNumbersAsTheyAreLaidOut) {
    const auto gpt2 = load_parameters<float>(open_model_folder(fs::path(ATTN_TEST_DATA) / "golden/hf/gpt2"));
    const MatrixView q = gpt2->view("layers.0.attention.q.weight"), table = gpt2->view("token_embedding.weight");
    const ComparedParameter map(*gpt2, "layers.0.attention.q.weight"), words(*gpt2, "token_embedding.weight"),
        head(*gpt2, "lm_head.weight");
    EXPECT_EQ(map.number(1, 3), q.at(3, 1));
    EXPECT_EQ(words.number(5, 2), table.at(5, 2));
    ASSERT_TRUE(head) << "a tied head has the table's rows";
    EXPECT_EQ(head.number(5, 2), table.at(5, 2));
    EXPECT_EQ(map.packed(1, 3), "") << "stored by itself";
    EXPECT_FALSE(ComparedParameter(*gpt2, "nothing.weight"));
    const auto packed = load_parameters<float>(compared("llama_q8_0"));
    EXPECT_THAT(ComparedParameter(*packed, "layers.0.ffn.out.weight").packed(2, 40), HasSubstr("Q8_0, block 1 of its row"));
    EXPECT_EQ(ComparedParameter(*packed, "layers.0.norm_1.weight").packed(0, 2), "");
}

}  // namespace
}  // namespace attn
