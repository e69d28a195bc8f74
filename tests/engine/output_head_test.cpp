/// Output heads that a file has, lacks, or has otherwise than config.json says.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>

#include "engine/check/check.hpp"
#include "engine/model/transformer.hpp"
#include "tests/engine/copied_folder.hpp"

namespace attn {
namespace {

using test::add_to_element;
using test::Copied;
using test::kModelFolders;
using test::tensor_named;
using testing::Contains;
using testing::HasSubstr;

/// A copy of the embedding that differs from it by `by`.
void add_other_head(ArrayFile& file, const std::string& words, const std::string& name, float by) {
    NamedArray head = tensor_named(file, words);
    head.name = name;
    for (std::size_t i = 0; i < head.bytes.size() / sizeof(float); ++i) add_to_element(head, i, by);
    file.arrays.push_back(std::move(head));
}

/// As in transformers 5, whatever config.json says.
TEST(OutputHead, AHeadInTheFileThatIsNoCopyIsUsed) {
    const Copied other, same;
    other.change_tensors([](ArrayFile& file) { add_other_head(file, "transformer.wte.weight", "lm_head.weight", 0.5F); });
    same.change_tensors([](ArrayFile& file) { add_other_head(file, "transformer.wte.weight", "lm_head.weight", 0); });
    const ModelFolder untied = open_model_folder(other.path());
    EXPECT_FALSE(untied.config.tied_lm_head);
    EXPECT_THAT(untied.notes, testing::Contains(HasSubstr("lm_head.weight is not a copy of transformer.wte.weight, so it is used")));
    EXPECT_TRUE(open_model_folder(same.path()).config.tied_lm_head);
    const Copied masked("bert");
    masked.change_tensors(
        [](ArrayFile& file) { add_other_head(file, "bert.embeddings.word_embeddings.weight", "cls.predictions.decoder.weight", 0.5F); });
    EXPECT_THAT(masked.refusal(), HasSubstr("cls.predictions.decoder.weight: differs from bert.embeddings.word_embeddings.weight"));
}

TEST(OutputHead, AHeadOfItsOwnIsReadTransposed) {
    const Copied folder;
    folder.replace("config.json", "\"tie_word_embeddings\": true", "\"tie_word_embeddings\": false");
    EXPECT_THAT(folder.refusal(), HasSubstr("1 of 29 tensors are missing: lm_head.weight"));
    folder.change_tensors([](ArrayFile& file) {
        NamedArray head = tensor_named(file, "transformer.wte.weight");
        head.name = "lm_head.weight";
        add_to_element(head, 1, 0.5F);  // row 0, column 1
        file.arrays.push_back(std::move(head));
    });
    const ModelFolder own = open_model_folder(folder.path());
    const auto parameters = load_parameters<float>(own);
    const MatrixView head = parameters->view("lm_head.weight"), tokens = parameters->view("token_embedding.weight");
    EXPECT_TRUE(head.transposed) << "it stays as it is stored";
    const std::int64_t vocabulary = own.config.vocab_size, width = own.config.d_model;
    for (std::int64_t v = 0; v < vocabulary; ++v)
        for (std::int64_t c = 0; c < width; ++c)
            ASSERT_EQ(head.at(c, v), static_cast<float>(tokens.at(v, c)) + (v == 0 && c == 1 ? 0.5F : 0.0F));
}

void remove(const Copied& folder, std::string_view start) {
    folder.change_tensors([&](ArrayFile& file) {
        const auto removed = std::erase_if(file.arrays, [&](const NamedArray& array) { return array.name.starts_with(start); });
        EXPECT_GT(removed, 0U) << start;
    });
}

/// Leaves only the layers' results of what transformers computed.
void expect_only_layers(const Copied& folder) {
    folder.change_tensors(
        [](ArrayFile& file) {
            std::erase_if(file.arrays, [](const NamedArray& array) {
                return array.name.find("logits") != std::string::npos || array.name.ends_with("generated");
            });
            EXPECT_GT(file.arrays.size(), 4U);
        },
        "expected.safetensors");
}

TEST(OutputHead, ADecoderOfAClassWithoutHeadIsReadWithoutOne) {
    const Copied folder("mistral");
    remove(folder, "lm_head.weight");
    EXPECT_THAT(folder.refusal(), HasSubstr("1 of 21 tensors are missing: lm_head.weight")) << "a MistralForCausalLM needs it";
    folder.replace("config.json", "MistralForCausalLM", "MistralModel");
    const ModelFolder layers = open_model_folder(folder.path());
    EXPECT_FALSE(layers.config.lm_head);
    EXPECT_THAT(layers.notes, Contains(HasSubstr("no output head")));
    expect_only_layers(folder);
    EXPECT_TRUE(check::check_file(folder.path()).ok());
    folder.replace("config.json", "MistralModel", "MistralForCausalLM");
    test::put_file(folder.path() / "modules.json", "[]");
    EXPECT_EQ(folder.refusal(), "") << "sentence-transformers needs no head, whatever the class";
}

TEST(OutputHead, AnEncoderWhoseFileHasNoHeadNeedsNoClass) {
    const Copied folder("bert");
    remove(folder, "cls.predictions.");
    EXPECT_THAT(folder.refusal(), HasSubstr("tensors are missing: cls.predictions.transform.dense.weight"));
    folder.replace("config.json", "\"architectures\"", "\"unnamed\"");
    EXPECT_FALSE(open_model_folder(folder.path()).config.lm_head);
    expect_only_layers(folder);
    EXPECT_TRUE(check::check_file(folder.path()).ok());
    EXPECT_TRUE(open_model_folder(kModelFolders / "bert").config.lm_head);
}

TEST(OutputHead, ABartWithoutBiasOfTheLogitsHasZeros) {
    const Copied with_zeros("bart"), without("bart");
    with_zeros.change_tensors([](ArrayFile& file) {
        NamedArray& bias = tensor_named(file, "final_logits_bias");
        std::fill(bias.bytes.begin(), bias.bytes.end(), std::byte{0});
    });
    remove(without, "final_logits_bias");
    const auto logits = [](const std::filesystem::path& path) {
        const auto parameters = load_parameters<float>(open_model_folder(path));
        const auto trace = trace_forward<float>(parameters, {2, {2, 7}, {2}}, {3, {5, 9, 2}, {3}}, {});
        const auto values = trace.stages.back().value.values();
        return std::vector<float>(values.begin(), values.end());
    };
    EXPECT_FALSE(open_model_folder(without.path()).config.lm_head_bias);
    EXPECT_EQ(logits(without.path()), logits(with_zeros.path()));
    EXPECT_NE(logits(without.path()), logits(kModelFolders / "bart")) << "the negative control: the bias counts";
}

}  // namespace
}  // namespace attn
