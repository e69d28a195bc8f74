#include "engine/families/model_folder.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <filesystem>
#include <functional>
#include <limits>
#include <map>
#include <set>

#include "engine/check/check.hpp"
#include "engine/io/safetensors.hpp"
#include "engine/model/transformer.hpp"
#include "tests/engine/copied_folder.hpp"
#include "tests/engine/io_support.hpp"
#include "tests/support/temporary_folder.hpp"

namespace attn {
namespace {

namespace fs = std::filesystem;
using test::add_to_element;
using test::Copied;
using test::file_bytes;
using test::kModelFolders;
using test::put_file;
using test::TemporaryFolder;
using test::tensor_named;
using testing::HasSubstr;

ForwardSettings causal_settings() {
    ForwardSettings settings;
    settings.masks.causal = true;
    return settings;
}

void expect_agreement(const char* name, const std::set<std::string>& expected_runs, std::size_t tensors) {
    const check::Report report = check::check_file(kModelFolders / name);
    std::set<std::string> runs;
    for (const check::TensorResult& result : report.tensors) {
        EXPECT_TRUE(result.ok) << result.name << ": " << result.max_abs;
        runs.insert(result.name.substr(0, result.name.find('.')));
    }
    EXPECT_EQ(runs, expected_runs);
    EXPECT_EQ(report.tensors.size(), tensors);
    EXPECT_TRUE(check::check_file(kModelFolders / name, {.in_double = true}).ok());
}

TEST(ModelFolder, Gpt2AgreesWithTransformersInEveryRun) { expect_agreement("gpt2", {"left", "one", "pad"}, 31); }

TEST(ModelFolder, Gpt2WithScoresDividedByTheLayerAgreesToo) {
    expect_agreement("gpt2_hub", {"one", "pad"}, 19);
    const Copied folder("gpt2_hub");
    folder.replace("config.json", "\"scale_attn_by_inverse_layer_idx\": true", "\"scale_attn_by_inverse_layer_idx\": false");
    EXPECT_FALSE(check::check_file(folder.path()).ok()) << "the option matters";
}

TEST(ModelFolder, LlamaAgreesWithTransformersInEveryRun) {
    expect_agreement("llama", {"left", "one", "pad"}, 31);
    expect_agreement("llama_tied", {"one", "pad"}, 19);
    expect_agreement("llama3", {"one", "pad"}, 19);
    const Copied stretched("llama3");
    stretched.replace("config.json", "\"factor\": 8.0", "\"factor\": 2.0");
    EXPECT_FALSE(check::check_file(stretched.path()).ok()) << "the factor matters";
    const Copied folder("llama_tied");
    folder.replace("config.json", "\"rope_theta\": 500.0", "\"rope_theta\": 10000.0");
    EXPECT_FALSE(check::check_file(folder.path()).ok()) << "the base matters";
}

/// transformers rotates every text of a padded batch as one of the whole batch's length.
TEST(ModelFolder, DynamicRotationsAreThoseOfThePaddedLength) {
    expect_agreement("llama_dynamic", {"left", "one", "pad"}, 31);
    const Copied folder("llama_dynamic");
    folder.replace("config.json", R"("factor": 3.0)", R"("factor": 2.0)");
    EXPECT_FALSE(check::check_file(folder.path()).ok()) << "the factor matters";
    const Copied far("llama_dynamic");
    far.change_tensors(
        [](ArrayFile& file) {
            const NamedArray& mask = tensor_named(file, "left.attention_mask");
            NamedArray& positions = tensor_named(file, "left.position_ids");
            const std::int64_t beyond = 200'000;
            for (std::size_t at = 0; at < mask.bytes.size(); at += sizeof beyond) {
                std::int64_t kept = 0;
                std::memcpy(&kept, mask.bytes.data() + at, sizeof kept);
                if (kept == 0) std::memcpy(positions.bytes.data() + at, &beyond, sizeof beyond);
            }
        },
        "expected.safetensors");
    EXPECT_THROW(check::check_file(far.path()), FileError) << "padding is limited as texts are";
}

/// The logits of a few tokens.
std::vector<float> logits_of(const fs::path& path) {
    const ModelFolder folder = open_model_folder(path);
    const Trace<float> trace = trace_forward<float>(load_parameters<float>(folder), {4, {5, 9, 2, 7}, {4}}, {}, causal_settings());
    const auto logits = trace.find({Stage::Logits})->value.values();
    return {logits.begin(), logits.end()};
}

/// Qwen2 is a Llama with biases for queries, keys and values only; Mistral is one without.
TEST(ModelFolder, FamiliesOfLlamasPartsDifferInTheirBiases) {
    const auto without_biases_but = [](const std::string& type, bool attention) {
        Copied folder("llama_tied");
        const auto goes = [&](const NamedArray& array) {
            const bool input_map = array.name.find("q_proj") != std::string::npos || array.name.find("k_proj") != std::string::npos ||
                                   array.name.find("v_proj") != std::string::npos;
            return array.name.ends_with(".bias") && !(attention && input_map);
        };
        folder.change_tensors([&](ArrayFile& file) {
            if (type != "llama") std::erase_if(file.arrays, goes);
            else
                for (NamedArray& array : file.arrays)
                    if (goes(array)) std::fill(array.bytes.begin(), array.bytes.end(), std::byte{0});
        });
        folder.replace("config.json", "\"model_type\": \"llama\"", "\"model_type\": \"" + type + "\"");
        return logits_of(folder.path());
    };
    EXPECT_EQ(without_biases_but("qwen2", true), without_biases_but("llama", true));
    EXPECT_EQ(without_biases_but("mistral", false), without_biases_but("llama", false));
    EXPECT_NE(without_biases_but("llama", true), without_biases_but("llama", false));
}

TEST(ModelFolder, LlamasThatWouldNeedOtherArithmeticAreRefusedByName) {
    const auto with = [](const std::string& what, const std::string& by) {
        const Copied folder("llama_tied");
        folder.replace("config.json", what, by);
        return folder.refusal();
    };
    EXPECT_THAT(with("\"rope_scaling\": null", R"("rope_scaling": {"rope_type": "ntk", "factor": 8.0})"),
                HasSubstr("/rope_scaling/rope_type: is \"ntk\", which is not supported"));
    EXPECT_THAT(with("\"rope_scaling\": null", R"("rope_scaling": {"type": "linear"})"),
                HasSubstr("/rope_scaling/factor: this field is missing"));
    EXPECT_THAT(with("\"rope_scaling\": null", R"("rope_scaling": {"type": "linear", "factor": 0.5})"), HasSubstr("/rope_scaling/factor"));
    EXPECT_THAT(with("\"rope_scaling\": null", R"("rope_scaling": {"type": "longrope", "short_factor": [1], "long_factor": [2]})"),
                HasSubstr("rotary_stretch.short_factors: expected 6 positive numbers"));
    EXPECT_THAT(with("\"model_type\": \"llama\"", R"("model_type": "mistral", "layer_types": ["sliding_attention"])"),
                HasSubstr("/layer_types: has 1 entries for 2 layers"));
    EXPECT_THAT(with("\"model_type\": \"llama\"", R"("model_type": "mistral", "layer_types": ["full_attention", "chunked_attention"])"),
                HasSubstr("names \"chunked_attention\"; only sliding_attention and full_attention are supported"));
    EXPECT_THAT(with("\"model_type\": \"llama\"", R"("model_type": "mistral", "layer_types": ["sliding_attention", "full_attention"])"),
                HasSubstr("/layer_types: leaves the window out in some layers"));
    for (const char* agrees : {R"("model_type": "mistral", "layer_types": ["sliding_attention", "sliding_attention"])",
                               R"("model_type": "mistral", "sliding_window": null, "layer_types": ["full_attention", "full_attention"])"})
        EXPECT_EQ(with("\"model_type\": \"llama\"", agrees), "") << agrees;
    EXPECT_EQ(with("\"model_type\": \"llama\"", R"("model_type": "llama", "rotary_pct": 0.5, "rotary_emb_base": 3)"), "")
        << "keys of GPT-NeoX mean nothing here";
    EXPECT_THAT(with("\"num_attention_heads\": 4", "\"num_attention_heads\": 3"), HasSubstr("does not divide the 3 heads"));
}

TEST(ModelFolder, AWeightThatIsSlightlyOffFailsTheCheck) {
    for (const char* name : {"transformer.h.1.attn.c_attn.weight", "transformer.wpe.weight", "transformer.h.0.mlp.c_proj.bias"}) {
        const Copied folder;
        folder.change_tensors([&](ArrayFile& file) { add_to_element(tensor_named(file, name), 7, 0.01F); });
        EXPECT_FALSE(check::check_file(folder.path()).ok()) << name;
    }
}

TEST(ModelFolder, AnExpectedValueThatIsOffOrNotANumberFailsTheCheck) {
    for (const float by : {1e-3F, std::numeric_limits<float>::quiet_NaN()})
        for (const char* name : {"one.logits", "left.hidden.1", "pad.attn.1.weights", "one.attn.0.k"}) {
            const Copied folder;
            // The last number of the first text belongs to a non-padding token in every run.
            folder.change_tensors(
                [&](ArrayFile& file) {
                    NamedArray& array = tensor_named(file, name);
                    const auto texts = static_cast<std::size_t>(array.shape[0]);
                    const std::size_t last =
                        name[0] == 'l' ? static_cast<std::size_t>(array.count()) : static_cast<std::size_t>(array.count()) / texts;
                    // A padded text ends with padding, but does not begin with it.
                    add_to_element(array, name[0] == 'p' ? 0 : last - 1, by);
                },
                "expected.safetensors");
            EXPECT_FALSE(check::check_file(folder.path()).ok()) << name << " by " << by;
        }
    const Copied folder;
    folder.change_tensors(
        [](ArrayFile& file) {
            NamedArray& ids = tensor_named(file, "one.generated");
            std::int64_t id = 0;
            std::memcpy(&id, ids.bytes.data() + 20 * sizeof id, sizeof id);
            id = id == 5 ? 6 : 5;
            std::memcpy(ids.bytes.data() + 20 * sizeof id, &id, sizeof id);
        },
        "expected.safetensors");
    EXPECT_FALSE(check::check_file(folder.path()).ok());
}

TEST(ModelFolder, SaysWhereEveryTensorWent) {
    const ModelFolder folder = open_model_folder(kModelFolders / "gpt2");
    EXPECT_EQ(folder.family->name, "GPT-2");
    EXPECT_EQ(folder.model_class, "GPT2LMHeadModel");
    EXPECT_EQ(folder.config.d_ff, 96);
    EXPECT_EQ(folder.config.layer_norm_eps, 1e-4);
    EXPECT_TRUE(folder.config.tied_lm_head);
    ASSERT_NE(folder.tokenizer, nullptr);
    EXPECT_EQ(folder.tokenizer->size(), 366);
    std::set<std::string> parameters;
    std::size_t used = 0;
    for (const TensorUse& use : folder.tensors) {
        used += use.parameters.empty() ? 0 : 1;
        for (const TensorSource& source : use.parameters) EXPECT_TRUE(parameters.insert(source.parameter).second) << source.parameter;
    }
    EXPECT_EQ(used, folder.tensors.size());
    EXPECT_TRUE(parameters.contains("layers.1.attention.v.bias"));
    EXPECT_TRUE(folder.notes.empty());
}

/// The same weights under other names, types and in several files give the same parameters.
TEST(ModelFolder, NamesWithoutPrefixBuffersAndACopyOfTheHeadChangeNothing) {
    const Copied folder;
    folder.change_tensors([](ArrayFile& file) {
        NamedArray head = tensor_named(file, "transformer.wte.weight");
        head.name = "lm_head.weight";
        for (NamedArray& array : file.arrays) array.name.erase(0, std::string("transformer.").size());
        file.arrays.push_back(make_array<float>("h.0.attn.bias", {1, 1, 2, 2}, std::vector<float>(4)));
        file.arrays.push_back(make_array<float>("h.1.attn.masked_bias", {1}, std::vector<float>(1)));
        file.arrays.push_back(make_array<float>("score.weight", {1, 1}, std::vector<float>(1)));
        file.arrays.push_back(std::move(head));
    });
    const ModelFolder changed = open_model_folder(folder.path()), original = open_model_folder(kModelFolders / "gpt2");
    const auto a = load_parameters<float>(changed), b = load_parameters<float>(original);
    ASSERT_EQ(a->count(), b->count());
    for (const ParameterInfo& info : a->layout().entries()) EXPECT_EQ(a->copy(info), b->copy(info)) << info.name;
    std::map<std::string, Leftover> left;
    for (const TensorUse& use : changed.tensors)
        if (use.parameters.empty()) left[use.tensor->array.name] = use.leftover;
    EXPECT_EQ(left, (std::map<std::string, Leftover>{{"h.0.attn.bias", Leftover::Buffer},
                                                     {"h.1.attn.masked_bias", Leftover::Buffer},
                                                     {"lm_head.weight", Leftover::Copy},
                                                     {"score.weight", Leftover::Other}}));
}

TEST(ModelFolder, ReadsShardsAndRefusesAnIndexThatIsWrong) {
    const Copied folder;
    ArrayFile all = read_safetensors(folder.path() / "model.safetensors");
    ArrayFile first, second;
    Json map = Json::object();
    for (std::size_t i = 0; i < all.arrays.size(); ++i) {
        const bool in_first = i % 2 == 0;
        map[all.arrays[i].name] = in_first ? "model-00001-of-00002.safetensors" : "model-00002-of-00002.safetensors";
        (in_first ? first : second).arrays.push_back(all.arrays[i]);
    }
    write_safetensors(folder.path() / "model-00001-of-00002.safetensors", first);
    write_safetensors(folder.path() / "model-00002-of-00002.safetensors", second);
    fs::remove(folder.path() / "model.safetensors");
    const auto put_index = [&](const Json& weight_map) {
        Json index = Json::object();
        index["weight_map"] = weight_map;
        put_file(folder.path() / "model.safetensors.index.json", index.dump());
    };
    put_index(map);
    EXPECT_TRUE(check::check_file(folder.path()).ok());

    Json wrong = map;
    wrong["transformer.wte.weight"] = "model-00009-of-00002.safetensors";
    put_index(wrong);
    EXPECT_THAT(folder.refusal(), HasSubstr("model-00009-of-00002.safetensors: cannot be opened"));
    wrong = map;
    std::swap(wrong["transformer.wte.weight"], wrong["transformer.wpe.weight"]);
    if (wrong.find("transformer.wte.weight")->text() == map.find("transformer.wte.weight")->text())
        wrong["transformer.nothing"] = "model-00001-of-00002.safetensors";
    put_index(wrong);
    EXPECT_THAT(folder.refusal(), HasSubstr("is not in model-0000"));
    for (const char* path : {"../model.safetensors", "/etc/passwd", "..", ""}) {
        wrong = map;
        wrong["transformer.wte.weight"] = path;
        put_index(wrong);
        EXPECT_THAT(folder.refusal(), HasSubstr("is not the name of a file in the same folder"));
    }
    put_index(Json::object());
    EXPECT_THAT(folder.refusal(), HasSubstr("is empty"));
    // One file more than are read is counted; far more are refused before they are. Names of tensors and metadata are no files.
    const auto with_files = [&](int count) {
        Json many = map;
        for (int i = 2; i < count; ++i) many[fmt::format("tensor \\\" {}", i)] = fmt::format("{}.safetensors", i);
        put_index(many);
        return folder.refusal();
    };
    EXPECT_THAT(with_files(513), HasSubstr("names 513 files; at most 512 are read"));
    EXPECT_THAT(with_files(600), HasSubstr("names more than 512 files; at most 512 are read"));
    EXPECT_THAT(with_files(512), HasSubstr("10.safetensors: cannot be opened"));
    for (int i = 0; i < 700; ++i) map[fmt::format("one more {}", i)] = "model-00001-of-00002.safetensors";
    put_index(map);
    EXPECT_THAT(folder.refusal(), HasSubstr("one more")) << "many tensors in few files are read";
}

TEST(ModelFolder, SixteenBitWeightsAreWidenedExactly) {
    const Copied folder;
    std::vector<std::uint16_t> bits;
    folder.change_tensors([&](ArrayFile& file) {
        NamedArray& array = tensor_named(file, "transformer.wpe.weight");
        std::vector<std::byte> half(array.bytes.size() / 2);
        for (std::size_t i = 0; i < half.size() / 2; ++i) {
            bits.push_back(static_cast<std::uint16_t>(0x3C00 + i % 64));
            std::memcpy(half.data() + 2 * i, &bits.back(), 2);
        }
        array.dtype = DType::BF16;
        array.bytes = std::move(half);
    });
    const auto parameters = load_parameters<float>(open_model_folder(folder.path()));
    EXPECT_EQ(parameters->view("position_embedding.weight").kind, NumberKind::BF16) << "it stays as it is stored";
    const std::vector<float> positions = parameters->copy(*parameters->layout().find("position_embedding.weight"));
    ASSERT_EQ(positions.size(), bits.size());
    for (std::size_t i = 0; i < bits.size(); ++i) ASSERT_EQ(positions[i], std::bit_cast<float>(static_cast<std::uint32_t>(bits[i]) << 16U));
    folder.change_tensors([](ArrayFile& file) {
        NamedArray& array = tensor_named(file, "transformer.ln_f.bias");
        array = make_array<std::int32_t>(array.name, array.shape, std::vector<std::int32_t>(48));
    });
    EXPECT_THAT(folder.refusal(), HasSubstr("holds I32; expected F32, F16, BF16 or F64"));
}

TEST(ModelFolder, OptionsThatWouldNeedOtherArithmeticAreRefusedByName) {
    const auto with = [](const std::string& what, const std::string& by) {
        const Copied folder;
        folder.replace("config.json", what, by);
        return folder.refusal();
    };
    EXPECT_THAT(with("\"add_cross_attention\": false", "\"add_cross_attention\": true"), HasSubstr("/add_cross_attention: is true"));
    EXPECT_THAT(with("\"gelu_new\"", "\"mish\""), HasSubstr("the activation \"mish\" is not supported"));
    EXPECT_THAT(with("\"model_type\": \"gpt2\"", "\"model_type\": \"mamba\""), HasSubstr("models of type \"mamba\" cannot be opened yet"));
    EXPECT_THAT(with("\"n_head\": 4", "\"n_head\": 5"), HasSubstr("not divisible by 5 heads"));
    EXPECT_THAT(with("\"n_embd\": 48", "\"n_embd\": 9223372036854775807"), HasSubstr("/n_embd: expected an integer from 1 to"));
    EXPECT_THAT(with("\"n_layer\": 2", "\"n_layer\": 3"), HasSubstr("12 of 40 tensors are missing: transformer.h.2.ln_1.weight"));
    EXPECT_THAT(with("\"vocab_size\": 366", "\"vocab_size\": 367"),
                HasSubstr("transformer.wte.weight: has shape [366, 48]; config.json requires [367, 48]"));
    EXPECT_THAT(
        with("\"n_layer\": 2", R"("quantization_config": {"bits": 4, "quant_method": "gptq"}, "n_layer": 2)"),
        HasSubstr("/quantization_config: weights quantized with \"gptq\" are not read; open the original model, or a GGUF file of it"));
    EXPECT_THAT(with("\"n_layer\": 2", R"("quantization": {"group_size": 64, "bits": 4}, "n_layer": 2)"),
                HasSubstr("/quantization: weights quantized are not read"));
    EXPECT_THAT(with("\"n_layer\": 2", R"("compression_config": {"quant_method": "compressed-tensors"}, "n_layer": 2)"),
                HasSubstr("/compression_config: weights quantized with \"compressed-tensors\" are not read"));
    EXPECT_THAT(with("\"model_type\": \"gpt2\"", "\"unnamed\": 1"), HasSubstr("/model_type: this field is missing; it names the family"));
    const auto zeros = [](std::size_t count) {
        std::string list = "\"n_layer\": 2, \"zeros\": [0";
        for (std::size_t i = 1; i < count; ++i) list += ",0";
        return list + "]";
    };
    EXPECT_EQ(with("\"n_layer\": 2", zeros(kSettingsLimits.values / 2)), "");
    EXPECT_THAT(with("\"n_layer\": 2", zeros(kSettingsLimits.values)), HasSubstr("more than 131072 values"));
    EXPECT_THAT(with("\"n_layer\": 2", "\"n_layer\": 1"), "");  // the other layer's tensors are left over, and listed
}

TEST(ModelFolder, AMissingTensorIsNamedAsInTheFile) {
    std::size_t models = 0;
    for (const fs::directory_entry& entry : fs::directory_iterator(kModelFolders)) {
        const std::string model = entry.path().filename().string();
        // Without its old name for a norm's weight, a tensor of bert_hub is expected under the new one.
        if (!fs::exists(entry.path() / "model.safetensors") || model == "bert_hub") continue;
        ++models;
        const Copied folder(model.c_str());
        const ArrayFile whole = read_safetensors(entry.path() / "model.safetensors");
        for (const TensorUse& use : open_model_folder(entry.path()).tensors) {
            const std::string& name = use.tensor->array.name;
            if (use.parameters.empty() || name == "final_logits_bias") continue;  // without it, this bias is zero
            ArrayFile rest = whole;
            std::erase_if(rest.arrays, [&](const NamedArray& array) { return array.name == name; });
            write_safetensors(folder.path() / "model.safetensors", rest);
            const std::string refusal = folder.refusal(), ending = "missing: " + name;
            EXPECT_TRUE(refusal.ends_with(ending)) << model << ": " << name << ": " << refusal;
        }
    }
    EXPECT_GT(models, 20U);
}

TEST(ModelFolder, RefusesWhatIsMissingOrDamaged) {
    {
        const Copied folder;
        fs::remove(folder.path() / "model.safetensors");
        EXPECT_THAT(folder.refusal(), HasSubstr("has no readable weights: expected model.safetensors"));
    }
    {
        const Copied folder;
        put_file(folder.path() / "model.safetensors", file_bytes(folder.path() / "model.safetensors").substr(0, 5000));
        EXPECT_NE(folder.refusal(), "");
    }
    {
        const Copied folder;
        folder.change_tensors([](ArrayFile& file) {
            NamedArray& array = tensor_named(file, "transformer.h.0.attn.c_proj.bias");
            array.shape = {24, 2};
        });
        EXPECT_THAT(folder.refusal(), HasSubstr("has shape [24, 2]; config.json requires [48]"));
    }
    {
        const Copied folder;
        put_file(folder.path() / "tokenizer.json", "{}");
        EXPECT_THAT(folder.refusal(), HasSubstr("tokenizer.json"));
        fs::remove(folder.path() / "tokenizer.json");
        EXPECT_EQ(folder.refusal(), "");
        EXPECT_THAT(open_model_folder(folder.path()).notes, testing::ElementsAre(HasSubstr("no readable tokenizer")));
    }
    {
        const Copied folder;
        EXPECT_FALSE(holds_adapter(folder.path()));
        put_file(folder.path() / "adapter_config.json", R"({"peft_type": "LORA", "base_model_name_or_path": "org/base"})");
        EXPECT_EQ(folder.refusal(), "") << "a model with an adapter beside it";
        fs::remove(folder.path() / "config.json");
        EXPECT_THAT(folder.refusal(), HasSubstr("holds an adapter, not a model; merge it into its base model, org/base, first"));
        EXPECT_TRUE(holds_adapter(folder.path()));
    }
    EXPECT_TRUE(has_config_json(kModelFolders / "gpt2"));
    EXPECT_FALSE(has_config_json(kModelFolders));
}

/// A file changed after it was opened must be detected.
TEST(ModelFolder, AFileThatShrinksOrChangesWhileItIsOpenEndsInAMessage) {
    for (const bool shrinks : {true, false}) {
        const Copied folder;
        const ModelFolder open = open_model_folder(folder.path());
        const auto parameters = load_parameters<float>(open);
        if (shrinks) fs::resize_file(folder.path() / "model.safetensors", 100);
        else fs::last_write_time(folder.path() / "model.safetensors", fs::file_time_type::clock::now() + std::chrono::seconds(5));
        try {
            // Mapped data is read only now, after it has been lost.
            if (shrinks) parameters->copy(parameters->layout().entries().front());
            open.weights->require_intact();
            FAIL() << "nothing was noticed";
        } catch (const FileError& error) {
            EXPECT_EQ(error.fault(), FileFault::Io);
            EXPECT_THAT(error.what(), HasSubstr(shrinks ? "became shorter" : "was changed"));
        }
    }
}

/// How many of the model's numbers are used directly from the mapped file.
std::int64_t mapped_numbers(const ModelFolder& folder, const Parameters<float>& parameters) {
    std::int64_t count = 0;
    for (const ParameterInfo& info : parameters.layout().entries()) {
        const auto* first = static_cast<const std::byte*>(parameters.view(info.name).data);
        for (const WeightFiles::Tensor& tensor : folder.weights->tensors()) {
            const auto& bytes = tensor.array.bytes;
            if (first >= bytes.data() && first < bytes.data() + bytes.size()) count += info.shape.count();
        }
    }
    return count;
}

TEST(ModelFolder, KeepsWeightsWhereTheFileHasThem) {
    const ModelFolder folder = open_model_folder(kModelFolders / "gpt2");
    const auto parameters = load_parameters<float>(folder);
    EXPECT_EQ(mapped_numbers(folder, *parameters), parameters->count()) << "single precision, columns as ours: nothing is copied";
    const auto in_double = load_parameters<double>(folder);
    for (const ParameterInfo& info : parameters->layout().entries())
        for (std::int64_t i = 0; i < info.shape.count(); ++i)
            ASSERT_EQ(in_double->number(info, i), parameters->number(info, i)) << info.name << " " << i;
}

TEST(ModelFolder, KeepsItsWeightsAliveByItself) {
    std::shared_ptr<const Parameters<float>> parameters;
    float first = 0;
    {
        const ModelFolder folder = open_model_folder(kModelFolders / "gpt2");
        parameters = load_parameters<float>(folder);
        first = static_cast<float>(parameters->view("token_embedding.weight").at(0, 0));
    }
    EXPECT_EQ(parameters->view("token_embedding.weight").at(0, 0), first);
}

}  // namespace
}  // namespace attn
