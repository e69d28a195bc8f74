/// Models of every family against the results of transformers, and the relevant options of config.json.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <set>

#include "engine/check/check.hpp"
#include "engine/doctor/doctor.hpp"
#include "engine/families/family.hpp"
#include "engine/families/model_folder.hpp"
#include "engine/io/file_error.hpp"
#include "engine/io/safetensors.hpp"
#include "engine/model/transformer.hpp"
#include "engine/trace/trace_file.hpp"
#include "tests/engine/copied_folder.hpp"
#include "tests/engine/io_support.hpp"
#include "tests/support/temporary_folder.hpp"

namespace attn {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

const fs::path kFamilyFolders = fs::path(ATTN_TEST_DATA) / "golden/hf";

struct FamilyCase {
    const char *folder, *family;
    std::size_t tensors;  ///< number of tensors in transformers' results, over all runs
    /// A change to config.json after which numbers no longer agree.
    const char *what, *by;
};

constexpr FamilyCase kFamilyCases[] = {
    {"gpt2_unscaled", "GPT-2", 19, R"("scale_attn_weights": false)", R"("scale_attn_weights": true)"},
    {"gpt_neo", "GPT-Neo", 19, R"("window_size": 8)", R"("window_size": 7)"},
    {"gpt_neox", "GPT-NeoX", 19, R"("rotary_pct": 0.5)", R"("rotary_pct": 1.0)"},
    {"mistral", "Mistral", 19, R"("sliding_window": 8)", R"("sliding_window": null)"},
    {"qwen2", "Qwen2", 19, R"("sliding_attention")", R"("full_attention")"},
    {"qwen3", "Qwen3", 19, R"("rms_norm_eps": 0.0001)", R"("rms_norm_eps": 0.01)"},
    {"smollm3", "SmolLM3", 19, "    1,\n    0\n", "    1,\n    1\n"},
    {"olmo2", "OLMo2", 26, R"("rope_theta": 1000.0)", R"("rope_theta": 10000.0)"},
    {"gemma", "Gemma", 19, R"("gelu_pytorch_tanh")", R"("silu")"},
    {"gemma2", "Gemma 2", 19, R"("attn_logit_softcapping": 4.0)", R"("attn_logit_softcapping": 5.0)"},
    {"gemma3", "Gemma 3", 26, R"("rope_local_base_freq": 500.0)", R"("rope_local_base_freq": 5000.0)"},
    {"phi", "Phi", 19, R"("partial_rotary_factor": 0.375)", R"("partial_rotary_factor": 0.5)"},
    {"phi3", "Phi-3", 19, R"("sliding_window": 6)", R"("sliding_window": 5)"},
    {"phi3_long", "Phi-3", 25, R"("original_max_position_embeddings": 12,)", R"("original_max_position_embeddings": 100,)"},
    {"opt", "OPT", 31, R"("activation_function": "relu")", R"("activation_function": "gelu")"},
    {"opt_post", "OPT", 19, R"("activation_function": "relu")", R"("activation_function": "gelu")"},
    {"bloom", "BLOOM", 31, R"("layer_norm_epsilon": 0.0001)", R"("layer_norm_epsilon": 0.01)"},
    {"bloom_normed", "BLOOM", 19, R"("apply_residual_connection_post_layernorm": true)",
     R"("apply_residual_connection_post_layernorm": false)"},
    {"falcon", "Falcon", 26, R"("rope_theta": 10000.0)", R"("rope_theta": 500.0)"},
    {"falcon_alibi", "Falcon", 26, R"("alibi": true)", R"("alibi": false)"},
    {"bert", "BERT", 18, R"("layer_norm_eps": 1e-12)", R"("layer_norm_eps": 0.01)"},
    {"bert_hub", "BERT", 20, R"("layer_norm_eps": 1e-05)", R"("layer_norm_eps": 0.01)"},
    {"roberta", "RoBERTa", 18, R"("layer_norm_eps": 1e-05)", R"("layer_norm_eps": 0.1)"},
    {"distilbert", "DistilBERT", 18, R"("activation": "gelu")", R"("activation": "relu")"},
    {"t5", "T5", 33, R"("relative_attention_max_distance": 16)", R"("relative_attention_max_distance": 128)"},
    {"t5_v1_1", "T5", 45, R"("feed_forward_proj": "gated-gelu")", R"("feed_forward_proj": "gated-silu")"},
    {"bart", "BART", 45, R"("scale_embedding": true)", R"("scale_embedding": false)"},
};

/// A copy of a case's folder, optionally with a modified config.json.
void copy_folder(const FamilyCase& c, const fs::path& to, bool changed) {
    for (const auto& entry : fs::directory_iterator(kFamilyFolders / c.folder)) {
        std::string text = test::file_bytes(entry.path());
        if (changed && entry.path().filename() == "config.json") {
            std::size_t at = text.find(c.what);
            ASSERT_NE(at, std::string::npos) << c.what;
            for (; at != std::string::npos; at = text.find(c.what, at + 1)) text.replace(at, std::string(c.what).size(), c.by);
        }
        test::put_file(to / entry.path().filename(), text);
    }
}

class Families : public testing::TestWithParam<FamilyCase> {};

TEST_P(Families, AgreeWithTransformersInEveryRun) {
    const FamilyCase& c = GetParam();
    EXPECT_EQ(open_model_folder(kFamilyFolders / c.folder).family->name, c.family);
    const check::Report report = check::check_file(kFamilyFolders / c.folder);
    std::set<std::string> kinds;
    for (const check::TensorResult& result : report.tensors) {
        EXPECT_TRUE(result.ok) << result.name << ": " << result.max_abs;
        kinds.insert(result.name);
    }
    EXPECT_EQ(report.tensors.size(), c.tensors);
    const ModelFolder folder = open_model_folder(kFamilyFolders / c.folder);
    const std::string stack = folder.config.architecture == Architecture::EncoderDecoder ? "decoder." : "";
    const char* end = folder.config.lm_head ? "logits" : "last_hidden_state";
    for (const std::string& name :
         {"one." + stack + "hidden.1", "one." + stack + "attn.0.weights", "one." + std::string(end), "pad." + std::string(end)})
        EXPECT_EQ(kinds.count(name), 1U) << name;
    EXPECT_EQ(kinds.count("one.generated"), folder.config.architecture == Architecture::Encoder ? 0U : 1U);
    EXPECT_TRUE(check::check_file(kFamilyFolders / c.folder, {.in_double = true}).ok());
}

TEST_P(Families, DependOnWhatTheirConfigSays) {
    const test::TemporaryFolder same, changed;
    copy_folder(GetParam(), same.path(), false);
    copy_folder(GetParam(), changed.path(), true);
    EXPECT_TRUE(check::check_file(same.path()).ok());
    EXPECT_FALSE(check::check_file(changed.path()).ok()) << GetParam().what << " to " << GetParam().by;
}

TEST_P(Families, UseEveryTensorOfTheFile) {
    const ModelFolder folder = open_model_folder(kFamilyFolders / GetParam().folder);
    for (const TensorUse& use : folder.tensors)
        EXPECT_FALSE(use.parameters.empty() && use.leftover == Leftover::Unknown) << use.tensor->array.name;
}

/// The doctor does not report as wrong what it cannot compute.
TEST_P(Families, AreNotAccusedByTheDoctor) {
    const ModelFolder folder = open_model_folder(kFamilyFolders / GetParam().folder);
    const TokenBatch tokens{4, {5, 9, 2, 7}, {4}};
    ForwardSettings settings;
    settings.masks.causal = folder.config.architecture != Architecture::Encoder;
    const Trace<float> trace = trace_forward<float>(load_parameters<float>(folder), tokens, tokens, settings);
    EXPECT_NE(doctor::examine(trace_arrays(trace)).verdict, doctor::Verdict::Wrong);
}

/// A base that the model's own configuration states is not asked for, and the rotated queries are judged by it.
TEST(DoctorOfFamilies, KnowsTheBaseOfItsOwnTraces) {
    const ModelFolder folder = open_model_folder(kFamilyFolders / "llama");
    ASSERT_EQ(folder.config.rotary_base, 500);
    const TokenBatch tokens{12, {5, 9, 2, 7, 3, 8, 1, 6, 4, 5, 9, 3}, {12}};
    const doctor::Diagnosis diagnosis =
        doctor::examine(trace_arrays(trace_forward<float>(load_parameters<float>(folder), tokens, tokens, {})));
    EXPECT_EQ(diagnosis.verdict, doctor::Verdict::Correct);
    EXPECT_THAT(diagnosis.explanation, HasSubstr("q_rotated"));
    for (const doctor::Finding& finding : diagnosis.findings) EXPECT_THAT(finding.sentence, testing::Not(HasSubstr("rope_theta")));
}

INSTANTIATE_TEST_SUITE_P(Published, Families, testing::ValuesIn(kFamilyCases), [](const auto& one) { return one.param.folder; });

/// Phi's golden folder under the names from before it was part of transformers, as its convert_phi_weights_to_hf.py reads them.
void write_old_phi(const fs::path& to, bool keys_first) {
    const ArrayFile file = read_safetensors(kFamilyFolders / "phi/model.safetensors");
    ArrayFile old;
    const auto put = [&](NamedArray array, const std::string& name) {
        array.name = name;
        old.arrays.push_back(std::move(array));
    };
    for (const auto& [now, before] : {std::pair("model.embed_tokens.weight", "transformer.embd.wte.weight"),
                                      {"model.final_layernorm.weight", "lm_head.ln.weight"},
                                      {"model.final_layernorm.bias", "lm_head.ln.bias"},
                                      {"lm_head.weight", "lm_head.linear.weight"},
                                      {"lm_head.bias", "lm_head.linear.bias"}})
        put(file.at(now), before);
    for (const int layer : {0, 1})
        for (const std::string_view part : {"weight", "bias"}) {
            const auto now = [&](std::string_view name) { return fmt::format("model.layers.{}.{}.{}", layer, name, part); };
            const auto before = [&](std::string_view name) { return fmt::format("transformer.h.{}.{}.{}", layer, name, part); };
            put(file.at(now("input_layernorm")), before("ln"));
            put(file.at(now("self_attn.dense")), before("mixer.out_proj"));
            put(file.at(now("mlp.fc1")), before("mlp.fc1"));
            put(file.at(now("mlp.fc2")), before("mlp.fc2"));
            NamedArray all = file.at(now(keys_first ? "self_attn.k_proj" : "self_attn.q_proj"));
            for (const std::string_view next : {keys_first ? "self_attn.q_proj" : "self_attn.k_proj", "self_attn.v_proj"}) {
                const NamedArray& more = file.at(now(next));
                all.bytes.insert(all.bytes.end(), more.bytes.begin(), more.bytes.end());
                all.shape[0] += more.shape[0];
            }
            put(all, before("mixer.Wqkv"));
        }
    write_safetensors(to / "model.safetensors", old);
    test::put_file(to / "config.json", R"({"model_type": "phi-msft", "architectures": ["PhiForCausalLM"], "vocab_size": 366,
        "n_positions": 128, "n_embd": 48, "n_layer": 2, "n_head": 3, "n_head_kv": null, "n_inner": 60, "rotary_dim": 6,
        "activation_function": "gelu_new", "layer_norm_epsilon": 0.0001, "flash_attn": false, "tie_word_embeddings": false})");
}

std::vector<float> logits_of_folder(const fs::path& path) {
    const TokenBatch tokens{7, {5, 9, 2, 7, 5, 300, 1}, {7}};
    const Trace<float> trace = trace_forward<float>(load_parameters<float>(open_model_folder(path)), tokens, {}, {});
    const auto values = trace.find({Stage::Logits, -1})->value.values();
    return {values.begin(), values.end()};
}

TEST(OldPhi, IsTheSameModelUnderOtherNames) {
    const test::TemporaryFolder now, old, confused;
    copy_folder({"phi", "", 0, R"("rope_theta": 1000.0)", R"("rope_theta": 10000.0)"}, now.path(), true);
    write_old_phi(old.path(), false);
    write_old_phi(confused.path(), true);
    const ModelFolder folder = open_model_folder(old.path());
    EXPECT_EQ(folder.config, open_model_folder(now.path()).config);
    EXPECT_EQ(folder.family->name, "Phi");
    for (const std::string& note : folder.notes) EXPECT_THAT(note, testing::Not(HasSubstr("architectures")));
    for (const TensorUse& use : folder.tensors) EXPECT_FALSE(use.parameters.empty()) << use.tensor->array.name;
    EXPECT_EQ(logits_of_folder(old.path()), logits_of_folder(now.path()));
    EXPECT_NE(logits_of_folder(confused.path()), logits_of_folder(now.path())) << "queries come first";
}

TEST(OldPhi, WithSharedKeysOrUnpairedDimensionsIsRefused) {
    const auto refusal = [](const std::string& what, const std::string& by) -> std::string {
        const test::TemporaryFolder folder;
        write_old_phi(folder.path(), false);
        std::string config = test::file_bytes(folder.path() / "config.json");
        test::put_file(folder.path() / "config.json", config.replace(config.find(what), what.size(), by));
        try {
            open_model_folder(folder.path());
        } catch (const FileError& error) {
            return error.what();
        }
        return "";
    };
    EXPECT_THAT(refusal(R"("n_head_kv": null)", R"("n_head_kv": 1)"), HasSubstr("/n_head_kv: would need heads that share keys"));
    EXPECT_THAT(refusal(R"("rotary_dim": 6)", R"("rotary_dim": 7)"), HasSubstr("/rotary_dim: is 7; expected an even number up to 16"));
    EXPECT_THAT(refusal(R"("rotary_dim": 6)", R"("rotary_dim": 18)"), HasSubstr("/rotary_dim: is 18; expected an even number up to 16"));
    EXPECT_EQ(refusal(R"("rotary_dim": 6)", R"("rotary_dim": 6)"), "");
}

/// Why a case's config.json is refused after one change.
std::string family_refusal(const char* folder, const std::string& what, const std::string& by) {
    const test::TemporaryFolder changed;
    const FamilyCase c{folder, "", 0, what.c_str(), by.c_str()};
    copy_folder(c, changed.path(), true);
    try {
        open_model_folder(changed.path());
    } catch (const FileError& error) {
        return error.what();
    }
    return "";
}

/// The configuration read from a case's config.json after one change.
Config changed_config(const char* folder, const std::string& what, const std::string& by) {
    const test::TemporaryFolder changed;
    copy_folder({folder, "", 0, what.c_str(), by.c_str()}, changed.path(), true);
    return open_model_folder(changed.path()).config;
}

TEST(FamilyOptions, ThatAreNullAreNoneAndThoseLeftOutTheUsual) {
    EXPECT_EQ(changed_config("gemma2", R"("attn_logit_softcapping": 4.0)", R"("attn_logit_softcapping": null)").score_cap, 0);
    EXPECT_EQ(changed_config("gemma2", R"("attn_logit_softcapping": 4.0)", R"("unused": 4.0)").score_cap, 50);
    EXPECT_EQ(changed_config("gemma2", R"("final_logit_softcapping": 0.5)", R"("final_logit_softcapping": null)").logit_cap, 0);
    EXPECT_TRUE(changed_config("mistral", R"("sliding_window": 8)", R"("sliding_window": null)").layer_kinds.empty());
    EXPECT_EQ(changed_config("mistral", R"("sliding_window": 8)", R"("unused": 8)").layer_kind(1).window, 4096);
    EXPECT_EQ(changed_config("phi", R"("partial_rotary_factor": 0.375)", R"("unused": 1)").rotary_size, 8);
    EXPECT_THAT(family_refusal("gpt_neox", R"("rotary_pct": 0.5)", R"("rope_parameters": {"rope_theta": 100.0})"),
                HasSubstr("/partial_rotary_factor: rotates 3 of the 12 dimensions of a head; expected an even number"))
        << "a quarter, if the file does not say";
    EXPECT_THAT(family_refusal("gpt_neox", R"("rotary_pct": 0.5)", R"("rotary_pct": 0.1)"), HasSubstr("/rotary_pct: rotates 1 of the 12"));
    EXPECT_THAT(family_refusal("gpt_neox", R"("rotary_pct": 0.5)", R"("rope_parameters": {"partial_rotary_factor": 0.6})"),
                HasSubstr("/rope_parameters/partial_rotary_factor: rotates 7 of the 12"));
    EXPECT_EQ(changed_config("gemma3", R"("rope_theta")", R"("unused")").rotary_base, 1e6);
    EXPECT_EQ(changed_config("smollm3", R"("rope_parameters")", R"("unused")").rotary_base, 2e6);
    EXPECT_TRUE(changed_config("smollm3", R"("tie_word_embeddings")", R"("unused")").tied_lm_head);
    // As version 5 of transformers writes T5 1.1: tied, though there is a head of its own.
    const Config t5 =
        changed_config("t5_v1_1", R"("tie_word_embeddings": false)", R"("tie_word_embeddings": true, "scale_decoder_outputs": false)");
    EXPECT_EQ(t5, open_model_folder(kFamilyFolders / "t5_v1_1").config);
}

/// A family's configuration read from what every config.json says, and `more`.
Config small_config(const Family& family, const std::string& more) {
    JsonObject json(R"({"vocab_size": 9, "hidden_size": 8, "num_hidden_layers": 4, "num_attention_heads": 2, "intermediate_size": 8)" +
                        more + "}",
                    "config.json");
    return family.read_config(json);
}

TEST(FamilyOptions, LeftOutAreThoseOfTransformersOwnClass) {
    EXPECT_EQ(small_config(kLlamaFamily, "").context_length, 2048);
    EXPECT_EQ(small_config(kMistralFamily, "").context_length, 131072);
    EXPECT_EQ(small_config(kQwen2Family, "").context_length, 32768);
    EXPECT_EQ(small_config(kQwen3Family, "").context_length, 32768);
    EXPECT_EQ(small_config(kSmolLm3Family, "").context_length, 32768);
    EXPECT_EQ(small_config(kGemmaFamily, "").context_length, 8192);
    EXPECT_EQ(small_config(kGemma2Family, "").context_length, 8192);
    EXPECT_EQ(small_config(kPhi3Family, "").context_length, 4096);
    EXPECT_EQ(small_config(kOlmo2Family, "").layer_norm_eps, 1e-5);
}

/// As transformers 5 builds them: SmolLM3's windows are on the layers without RoPE, and mT5 neither scales nor needs to be told to tie.
TEST(FamilyOptions, ThatDependOnEachOtherDoAsInTransformers) {
    const Config windows =
        small_config(kSmolLm3Family, R"(, "no_rope_layers": [1, 0, 1, 0], "use_sliding_window": true, "sliding_window": 3)");
    for (const std::int64_t layer : {0, 1, 2, 3}) {
        EXPECT_EQ(windows.layer_kind(layer).window, layer % 2 == 0 ? 0 : 3) << layer;
        EXPECT_EQ(windows.layer_kind(layer).rotary == LayerRotary::None, layer % 2 == 1) << layer;
    }
    const Config both = small_config(
        kLlamaFamily,
        R"(, "rope_parameters": {"rope_type": "default", "rope_theta": 300}, "rope_scaling": {"rope_type": "linear", "factor": 4})");
    EXPECT_EQ(both.rotary_stretch.factor, 4);
    EXPECT_EQ(both.rotary_base, 10'000);
    const std::string t5 = R"(, "d_model": 8, "d_kv": 4, "d_ff": 8, "num_layers": 1, "num_heads": 2, "tie_word_embeddings": false)";
    const Config own = small_config(kT5Family, t5), multilingual = small_config(kT5Family, t5 + R"(, "model_type": "mt5")");
    EXPECT_FALSE(own.ffn_gated);
    EXPECT_EQ(own.head_factor, 1);
    EXPECT_TRUE(multilingual.ffn_gated);
    EXPECT_EQ(multilingual.head_factor, 1);
    EXPECT_THAT(family_refusal("qwen2", R"("use_cache": true)", R"("is_causal": false)"),
                HasSubstr("/is_causal: is false, which would need"));
}

/// text_config of google/gemma-3-4b-it, as published.
/// transformers would attend to nothing, and divide by zero.
TEST(FamilyOptions, ThatAreZeroWhereNullWouldBeNoneAreRefused) {
    EXPECT_THAT(family_refusal("mistral", R"("sliding_window": 8)", R"("sliding_window": 0)"), HasSubstr("/sliding_window: is 0"));
    EXPECT_THAT(family_refusal("gemma2", R"("attn_logit_softcapping": 4.0)", R"("attn_logit_softcapping": 0)"),
                HasSubstr("/attn_logit_softcapping: is 0"));
}

/// Phi3Config has a default of its own at the top level, which outranks the object.
TEST(FamilyOptions, OfPhi3TakeTheOriginalContextFromTheTop) {
    const std::string longrope =
        R"(, "max_position_embeddings": 8192, "rope_scaling": {"type": "longrope", "original_max_position_embeddings": 12, "short_factor": [1, 1], "long_factor": [2, 2]})";
    EXPECT_EQ(small_config(kPhi3Family, longrope).rotary_stretch.original_context, 4096);
    EXPECT_EQ(small_config(kPhi3Family, longrope + R"(, "original_max_position_embeddings": 24)").rotary_stretch.original_context, 24);
}

TEST(FamilyOptions, OfMultimodalGemma3AreThoseOfItsClassIfLeftOut) {
    JsonObject json(R"({"model_type": "gemma3", "text_config": {"hidden_size": 2560, "intermediate_size": 10240,
        "model_type": "gemma3_text", "num_hidden_layers": 34, "rope_scaling": {"factor": 8.0, "rope_type": "linear"},
        "sliding_window": 1024}, "mm_tokens_per_image": 256})",
                    "config.json");
    const Config config = kGemma3Family.read_config(json);
    EXPECT_EQ(config.vocab_size, 262208);
    EXPECT_EQ(config.d_model, 2560);
    EXPECT_EQ(config.d_ff, 10240);
    EXPECT_EQ(config.num_layers, 34);
    EXPECT_EQ(config.num_heads, 8);
    EXPECT_EQ(config.kv_heads(), 4);
    EXPECT_EQ(config.head_size(), 256);
    EXPECT_EQ(config.context_length, 131072);
    EXPECT_EQ(config.rotary_base, 1e6);
    EXPECT_EQ(config.rotary_local_base, 1e4);
    EXPECT_EQ(config.rotary_stretch.factor, 8);
    EXPECT_TRUE(config.tied_lm_head);
}

/// As in transformers 5: a length at the top level comes first, and LongRoPE's amplitude follows the factor if there is one.
TEST(FamilyOptions, OfStretchedPositionsComeFromWhereTransformersReadsThem) {
    const auto stretch = [](const std::string& top, const std::string& scaling) {
        JsonObject json(R"({"vocab_size": 9, "hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 8,
            "max_position_embeddings": 64)" +
                            top + R"(, "rope_scaling": {)" + scaling + "}}",
                        "config.json");
        return kLlamaFamily.read_config(json).rotary_stretch;
    };
    const std::string factors = R"("rope_type": "longrope", "short_factor": [1, 1], "long_factor": [2, 2])";
    const auto amplitude = [](double longer, double original) { return std::sqrt(1 + std::log(longer) / std::log(original)); };
    EXPECT_DOUBLE_EQ(stretch("", factors + R"(, "original_max_position_embeddings": 16)").amplitude, amplitude(4, 16));
    EXPECT_DOUBLE_EQ(stretch("", factors + R"(, "original_max_position_embeddings": 16, "factor": 2)").amplitude, amplitude(2, 16));
    EXPECT_DOUBLE_EQ(stretch("", factors + R"(, "factor": 4)").amplitude, amplitude(4, 64));
    const std::string top = R"(, "original_max_position_embeddings": 32)", inside = R"(, "original_max_position_embeddings": 16)";
    const std::string llama3 = R"("rope_type": "llama3", "factor": 8, "low_freq_factor": 1, "high_freq_factor": 4)";
    for (const std::string& scaling : {factors, llama3, std::string(R"("rope_type": "yarn", "factor": 4)")}) {
        EXPECT_EQ(stretch("", scaling).original_context, 64) << scaling;
        EXPECT_EQ(stretch("", scaling + inside).original_context, 16) << scaling;
        EXPECT_EQ(stretch(top, scaling + inside).original_context, 32) << scaling;
    }
    EXPECT_THROW(stretch("", R"("rope_type": "llama3", "factor": 8, "high_freq_factor": 4)"), FileError);
    // Dynamic scaling begins beyond the model's own context.
    const RotaryStretch dynamic = stretch(top, R"("rope_type": "dynamic", "factor": 3)" + inside);
    EXPECT_EQ(dynamic.kind, RotaryScaling::Dynamic);
    EXPECT_EQ(dynamic.original_context, 64);
    EXPECT_EQ(dynamic.factor, 3);
    EXPECT_THROW(stretch("", R"("rope_type": "dynamic")"), FileError);
}

TEST(FamilyOptions, ThatWouldNeedOtherArithmeticAreRefusedByName) {
    EXPECT_THAT(family_refusal("roberta", R"("hidden_act": "gelu")", R"("hidden_act": "relu")"),
                HasSubstr("another activation in the layers than in the output head"));
    EXPECT_THAT(family_refusal("phi", R"("partial_rotary_factor": 0.375)", R"("partial_rotary_factor": 0.05)"),
                HasSubstr("/partial_rotary_factor: rotates 0 of the "));
    EXPECT_THAT(family_refusal("phi", R"("qk_layernorm": false)", R"("qk_layernorm": true)"), HasSubstr("/qk_layernorm"));
    EXPECT_THAT(family_refusal("gemma3", R"("use_bidirectional_attention": false)", R"("use_bidirectional_attention": true)"),
                HasSubstr("attention to later positions"));
    EXPECT_THAT(family_refusal("gemma3", R"("attn_logit_softcapping": null)", R"("attn_logit_softcapping": 3.0)"),
                HasSubstr("/attn_logit_softcapping: is 3, but Gemma 3 does not cap scores"));
    EXPECT_THAT(family_refusal("llama", R"("mlp_bias": false)", R"("partial_rotary_factor": 0.5)"),
                HasSubstr("/partial_rotary_factor: is 0.5, but models of this family rotate whole heads"));
    EXPECT_THAT(family_refusal("gpt_neo", R"("local")", R"("strided")"), HasSubstr("names \"strided\", which is neither global nor local"));
    EXPECT_THAT(family_refusal("phi3_long", R"("short_factor")", R"("short_factors")"), HasSubstr("/rope_parameters/short_factor"));
    EXPECT_THAT(family_refusal("opt_post", R"("word_embed_proj_dim": 40)", R"("word_embed_proj_dim": 41)"), HasSubstr("has shape"));
}

TEST(Families, FalconsOldestFilesHaveOtherNamesForTheSizes) {
    const test::Copied folder("falcon");
    folder.replace("config.json", "\"model_type\": \"falcon\"", "\"model_type\": \"RefinedWebModel\"");
    folder.replace("config.json", "num_attention_heads", "n_head");
    folder.replace("config.json", "num_hidden_layers", "n_layer");
    EXPECT_TRUE(check::check_file(folder.path()).ok());
    folder.replace("config.json", "\"model_type\": \"RefinedWebModel\"", "\"model_type\": \"RefinedWeb\"");
    folder.replace("config.json", "\"num_kv_heads\": 4", "\"n_head_kv\": 2");
    EXPECT_THAT(folder.refusal(), HasSubstr("has shape [84, 56]; config.json requires [112, 56]")) << "Falcon 40B groups heads";
}

TEST(Families, XlmRobertaAndCamembertAreRoberta) {
    for (const char* type : {"xlm-roberta", "camembert"}) {
        const test::Copied folder("roberta");
        folder.replace("config.json", "\"model_type\": \"roberta\"", fmt::format("\"model_type\": \"{}\"", type));
        EXPECT_TRUE(check::check_file(folder.path()).ok()) << type;
    }
}

TEST(Families, GemmaSaysWhereNewerTransformersComputeWithAnotherActivation) {
    const auto notes = [](const char* activation) {
        const test::Copied folder("gemma");
        folder.replace("config.json", R"("hidden_act": "gelu_pytorch_tanh")", fmt::format(R"("hidden_act": "{}")", activation));
        return open_model_folder(folder.path()).notes;
    };
    EXPECT_THAT(notes("gelu"), testing::Contains(HasSubstr("hidden_act \"gelu\", which transformers obeys since version 4.48")));
    EXPECT_THAT(notes("gelu_pytorch_tanh"), testing::Not(testing::Contains(HasSubstr("hidden_act"))));
}

TEST(Families, AnEncoderOfT5WithoutItsDecoderIsRefused) {
    const test::Copied folder("t5");
    folder.replace("config.json", "T5ForConditionalGeneration", "T5EncoderModel");
    EXPECT_THAT(folder.refusal(), HasSubstr("/architectures: names a class that is not supported: an encoder without the decoder"));
}

}  // namespace
}  // namespace attn
