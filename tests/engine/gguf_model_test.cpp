/// GGUF files as models: files written by llama.cpp's converter against transformers' results for the same weights, and deliberately broken
/// files.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <functional>
#include <limits>
#include <set>
#include <sstream>
#include <tuple>

#include "engine/check/check.hpp"
#include "engine/explain/packed_words.hpp"
#include "engine/families/model_folder.hpp"
#include "engine/io/safetensors.hpp"
#include "engine/plan/rotary.hpp"
#include "engine/tensor/blocks.hpp"
#include "tests/engine/gguf_bytes.hpp"
#include "tests/engine/io_support.hpp"
#include "tests/support/temporary_folder.hpp"

namespace attn {
namespace {

namespace fs = std::filesystem;
using test::file_bytes;
using test::le;
using test::put_file;
using test::TemporaryFolder;
using testing::HasSubstr;
using testing::Not;

const fs::path kGgufFiles = fs::path(ATTN_TEST_DATA) / "golden/gguf";

struct GgufCase {
    const char* file;
    const char* family;
    std::size_t tensors;  ///< number of tensors compared
};
constexpr GgufCase kGgufCases[] = {{"gpt2", "GPT-2", 4},
                                   {"gptneox", "GPT-NeoX", 4},
                                   {"llama", "Llama", 4},
                                   {"llama_biased", "Llama", 4},
                                   {"llama3", "Llama", 4},
                                   {"llama_linear-00001-of-00003", "Llama", 4},
                                   {"qwen2", "Qwen2", 4},
                                   {"qwen2_yarn", "Qwen2", 4},
                                   {"qwen3", "Qwen3", 4},
                                   {"smollm3", "SmolLM3", 7},
                                   {"olmo2", "OLMo2", 4},
                                   {"gemma", "Gemma", 4},
                                   {"gemma2", "Gemma 2", 5},
                                   {"gemma3", "Gemma 3", 9},
                                   {"phi2", "Phi", 4},
                                   {"phi3", "Phi-3", 4},
                                   {"phi3_long", "Phi-3", 4},
                                   {"falcon", "Falcon", 4},
                                   {"falcon_grouped", "Falcon", 4},
                                   {"bloom", "BLOOM", 4},
                                   {"bert", "BERT", 4},
                                   {"t5", "T5", 7},
                                   {"t5_gated", "T5", 7},
                                   {"llama_q8_0", "Llama", 4},
                                   {"llama_q4_0", "Llama", 4},
                                   {"llama_q4_k", "Llama", 4},
                                   {"gemma3_ollama", "Gemma 3", 9}};

fs::path gguf_path(const std::string& name) { return kGgufFiles / (name + ".gguf"); }

bool is_of_pictures(const TensorUse& use) {
    const std::string& name = use.tensor->array.name;
    return name.starts_with("v.") || name.starts_with("mm.");
}

class GgufModels : public testing::TestWithParam<GgufCase> {};

TEST_P(GgufModels, AgreeWithTransformers) {
    const fs::path path = gguf_path(GetParam().file);
    EXPECT_EQ(open_model_folder(path).family->name, GetParam().family);
    for (const bool in_double : {false, true}) {
        const check::Report report = check::check_file(path, {.in_double = in_double});
        EXPECT_EQ(report.tensors.size(), GetParam().tensors);
        for (const check::TensorResult& result : report.tensors) EXPECT_TRUE(result.ok) << result.name << ": " << result.max_abs;
    }
}

TEST_P(GgufModels, UseEveryTensorOfTheFileButThoseOfPictures) {
    for (const TensorUse& use : open_model_folder(gguf_path(GetParam().file)).tensors)
        EXPECT_EQ(use.parameters.empty() && use.leftover != Leftover::Setting, is_of_pictures(use)) << use.tensor->array.name;
}

INSTANTIATE_TEST_SUITE_P(Converted, GgufModels, testing::ValuesIn(kGgufCases), [](const auto& tested) {
    std::string name = tested.param.file;
    return name.substr(0, name.find('-'));
});

/// A modifiable copy of one of the files.
class ChangedGguf {
public:
    explicit ChangedGguf(const std::string& name) : bytes(file_bytes(gguf_path(name))), path_(folder_.path() / (name + ".gguf")) {
        for (const char* ending : {".expected.safetensors", ".expected.json"})
            put_file(folder_.path() / (name + ending), file_bytes(kGgufFiles / (name + ending)));
    }

    /// Overwrites the type and the beginning of a key's value.
    void set(const std::string& key, std::uint32_t type, const std::string& value) {
        const std::size_t at = bytes.find(test::gguf_text(key));
        ASSERT_NE(at, std::string::npos) << key;
        bytes.replace(at + 8 + key.size(), 4 + value.size(), le(type) + value);
    }
    void add(const std::string& key, std::uint32_t type, const std::string& value) { put_keys(test::gguf_key(key, type, value), 1); }
    /// Makes a key one that nobody reads.
    void lose(const std::string& key) { replace(test::gguf_text(key), test::gguf_text(key.substr(0, key.size() - 1) + '?')); }
    /// Adds a tensor that holds no number, before another one.
    void add_empty_tensor(const std::string& name, const std::string& before) {
        const std::string entry =
            test::gguf_text(name) + le<std::uint32_t>(1) + le<std::uint64_t>(0) + le<std::uint32_t>(0) + le<std::uint64_t>(0);
        const std::size_t at = bytes.find(test::gguf_text(before));
        ASSERT_NE(at, std::string::npos) << before;
        bytes.insert(at, entry);
        raise(8, 1);
        put_keys("", 0, entry.size());
    }
    void replace(const std::string& what, const std::string& by) {
        ASSERT_EQ(what.size(), by.size());
        const std::size_t at = bytes.find(what);
        ASSERT_NE(at, std::string::npos) << what;
        bytes.replace(at, what.size(), by);
    }
    const fs::path& write() const {
        put_file(path_, bytes);
        return path_;
    }
    /// The error from opening it or reading its weights.
    std::string refusal() const {
        write();
        try {
            load_parameters<float>(open_model_folder(path_));
        } catch (const FileError& error) {
            return error.what();
        }
        return "";
    }

    std::string bytes;

private:
    void raise(std::size_t at, std::uint64_t by) {
        std::uint64_t count = 0;
        std::memcpy(&count, bytes.data() + at, sizeof count);
        bytes.replace(at, 8, le(count + by));
    }
    /// Adds keys, and another one that pads the header so that tensor data stays aligned although `more` bytes were added.
    void put_keys(std::string keys, std::uint64_t count, std::size_t more = 0) {
        const std::string filler = "filler" + std::to_string(fillers_++);
        const std::size_t filled = more + keys.size() + test::gguf_key(filler, 8, test::gguf_text("")).size();
        keys += test::gguf_key(filler, 8, test::gguf_text(std::string((32 - filled % 32) % 32, 'x')));
        raise(16, count + 1);
        bytes.insert(24, keys);
    }

    TemporaryFolder folder_;
    fs::path path_;
    int fillers_ = 0;
};

/// Evaluates "... 0.0213 × 37 × 9 − 0.0034 × 12", which must give the number shown.
double worked_out(std::string words) {
    words.erase(0, words.find(": ") + 2);
    std::istringstream in(words);
    double product = 1, sum = 0, sign = 1;
    for (std::string word; in >> word;) {
        if (word == "×") continue;
        if (word == "−" || word == "+") {
            sum += sign * product;
            sign = word == "+" ? 1 : -1;
            product = 1;
        } else {
            product *= std::stod(word);
        }
    }
    return sum + sign * product;
}

TEST(GgufModel, SaysHowAWeightIsPacked) {
    std::set<std::string> kinds;
    for (const char* name : {"llama_q8_0", "llama_q4_0", "llama_q4_k"}) {
        const auto parameters = load_parameters<float>(open_model_folder(gguf_path(name)));
        for (const char* parameter : {"token_embedding.weight", "layers.0.attention.q.weight", "layers.0.attention.v.weight",
                                      "layers.0.attention.out.weight", "layers.0.ffn.out.weight", "lm_head.weight"}) {
            const MatrixView view = parameters->view(parameter);
            ASSERT_TRUE(view) << parameter;
            for (std::int64_t r = 0; r < view.rows; r += 3)
                for (std::int64_t c = 0; c < view.columns; c += 5) {
                    const std::string words = packed_words(view, r, c);
                    kinds.insert(words.substr(0, words.find(',')));
                    // Factors are shown with four digits.
                    EXPECT_NEAR(worked_out(words), view.at(r, c), 2e-3 * (1 + std::abs(view.at(r, c)))) << words;
                    const std::int64_t in_row = view.transposed ? r : c, block = kinds.count("Q4_K") > 0 && words[3] == 'K' ? 256 : 32;
                    EXPECT_THAT(words, HasSubstr("block " + std::to_string(in_row / block) + " of its row: "));
                }
        }
        EXPECT_EQ(packed_words(parameters->view("final_norm.weight"), 0, 0), "") << "is stored by itself";
    }
    EXPECT_EQ(kinds, (std::set<std::string>{"Q4_0", "Q4_K", "Q5_0", "Q6_K", "Q8_0"}));
}

TEST(GgufModel, AWeightThatIsSlightlyOffFailsTheCheck) {
    ChangedGguf file("llama_q8_0");
    EXPECT_TRUE(check::check_file(file.write()).ok());
    file.bytes[file.bytes.size() - 100] = static_cast<char>(file.bytes[file.bytes.size() - 100] ^ 0x40);
    EXPECT_FALSE(check::check_file(file.write()).ok());
}

TEST(GgufModel, DependsOnItsMetadata) {
    ChangedGguf base("llama");
    base.set("llama.rope.freq_base", 6, le(600.0F));
    EXPECT_FALSE(check::check_file(base.write()).ok());
    ChangedGguf window("gemma2");
    window.set("gemma2.attention.sliding_window", 4, le<std::uint32_t>(3));
    EXPECT_FALSE(check::check_file(window.write()).ok());
    ChangedGguf stretch("qwen2_yarn");
    stretch.set("qwen2.rope.scaling.factor", 6, le(5.0F));
    EXPECT_FALSE(check::check_file(stretch.write()).ok());
}

TEST(GgufModel, RefusesMetadataThatCannotBe) {
    const auto with = [](const std::string& key, std::uint32_t type, const std::string& value) {
        ChangedGguf file("llama");
        file.set(key, type, value);
        return file.refusal();
    };
    EXPECT_EQ(with("llama.block_count", 4, le<std::uint32_t>(1)), "");
    EXPECT_THAT(with("llama.block_count", 6, le(1.0F)), HasSubstr("/llama.block_count"));
    EXPECT_THAT(with("llama.block_count", 4, le<std::uint32_t>(0)), HasSubstr("/llama.block_count"));
    EXPECT_THAT(with("llama.block_count", 4, le<std::uint32_t>(2)), HasSubstr("tensors are missing: blk.1.attn_norm.weight"));
    EXPECT_THAT(with("llama.block_count", 4, le(~std::uint32_t{0})), HasSubstr("/llama.block_count"));
    EXPECT_THAT(with("llama.block_count", 4, le<std::uint32_t>(9'000'000)),
                HasSubstr("/llama.block_count: expected an integer from 1 to 1024"));
    EXPECT_THAT(with("llama.embedding_length", 4, le<std::uint32_t>(48)), HasSubstr("the metadata requires"));
    EXPECT_THAT(with("llama.attention.head_count", 4, le<std::uint32_t>(5)), HasSubstr("llama.gguf"));
    EXPECT_THAT(with("llama.attention.head_count_kv", 4, le<std::uint32_t>(3)), HasSubstr("llama.gguf"));
    EXPECT_THAT(with("llama.attention.value_length", 4, le<std::uint32_t>(4)), HasSubstr("values of another size are not supported"));
    EXPECT_THAT(with("llama.rope.dimension_count", 4, le<std::uint32_t>(99)), HasSubstr("a head has only 8 dimensions"));
    EXPECT_THAT(with("llama.rope.freq_base", 6, le(std::numeric_limits<float>::quiet_NaN())),
                AllOf(HasSubstr("/llama.rope.freq_base"), HasSubstr("found nan")));
    EXPECT_THAT(with("llama.rope.freq_base", 6, le(-std::numeric_limits<float>::infinity())), HasSubstr("found -inf"));
    EXPECT_THAT(with("llama.attention.layer_norm_rms_epsilon", 6, le(-1.0F)), HasSubstr("rms_epsilon"));
    EXPECT_THAT(with("general.architecture", 8, test::gguf_text("mamba")),
                HasSubstr("models of the architecture \"mamba\" cannot be opened"));
}

TEST(GgufModel, RefusesOptionsThatWouldNeedOtherArithmetic) {
    const auto with = [](const char* name, const std::string& key, std::uint32_t type, const std::string& value) {
        ChangedGguf file(name);
        file.add(key, type, value);
        return file.refusal();
    };
    EXPECT_EQ(with("llama", "llama.expert_count", 4, le<std::uint32_t>(0)), "");
    EXPECT_THAT(with("llama", "llama.expert_count", 4, le<std::uint32_t>(8)), HasSubstr("is 8, which would need a mixture of experts"));
    EXPECT_THAT(with("llama", "llama.logit_scale", 6, le(0.5F)), HasSubstr("/llama.logit_scale: is 0.5, which would need"));
    EXPECT_THAT(with("llama", "llama.attn_logit_softcapping", 6, le(30.0F)), HasSubstr("is 30, which would need a cap on scores"));
    EXPECT_EQ(with("llama", "llama.final_logit_softcapping", 6, le(0.0F)), "");
    EXPECT_THAT(with("llama", "llama.expert_count", 8, test::gguf_text("many")), HasSubstr("/llama.expert_count"));
    EXPECT_THAT(with("gpt2", "gpt2.attention.clamp_kqv", 6, le(8.0F)), HasSubstr("clamping of queries, keys and values"));
    const std::string heads = test::gguf_list(4, 2, le<std::uint32_t>(4) + le<std::uint32_t>(2));
    EXPECT_THAT(with("qwen2", "qwen2.attention.key_length", 9, heads), HasSubstr("differs from layer to layer"));
    const std::string pattern = test::gguf_list(7, 1, le<std::uint8_t>(1));
    EXPECT_THAT(with("gemma2", "gemma2.attention.sliding_window_pattern", 9, pattern),
                HasSubstr("has fewer entries than there are layers"));

    ChangedGguf scaling("llama_linear-00001-of-00003");
    scaling.replace("linear", "cubic!");
    for (const char* part : {"llama_linear-00002-of-00003.gguf", "llama_linear-00003-of-00003.gguf"})
        put_file(scaling.write().parent_path() / part, file_bytes(kGgufFiles / part));
    EXPECT_THAT(scaling.refusal(), HasSubstr("is \"cubic!\", which is not supported"));
    ChangedGguf causal("bert");
    causal.set("bert.attention.causal", 7, le<std::uint8_t>(1));
    EXPECT_THAT(causal.refusal(), HasSubstr("is true, which is not supported for BERT"));
}

Config config_with(const char* name, const std::vector<std::tuple<std::string, std::uint32_t, std::string>>& keys) {
    ChangedGguf file(name);
    for (const auto& [key, type, value] : keys) file.add(key, type, value);
    return open_model_folder(file.write()).config;
}

TEST(GgufModel, AFactorWithoutATypeIsLinearScaling) {
    for (const char* key : {"llama.rope.scale_linear", "llama.rope.scaling.factor"}) {
        const RotaryStretch stretch = config_with("llama", {{key, 6, le(4.0F)}}).rotary_stretch;
        EXPECT_EQ(stretch.kind, RotaryScaling::Linear) << key;
        EXPECT_EQ(stretch.factor, 4) << key;
    }
    EXPECT_EQ(config_with("llama", {{"llama.rope.scale_linear", 6, le(0.0F)}}).rotary_stretch, RotaryStretch()) << "0 stands for none";
    ChangedGguf file("llama");
    file.add("llama.rope.scale_linear", 6, le(4.0F));
    EXPECT_FALSE(check::check_file(file.write()).ok());
}

TEST(GgufModel, YarnHasItsOwnAmplitudeAndCut) {
    const RotaryStretch usual = open_model_folder(gguf_path("qwen2_yarn")).config.rotary_stretch;
    EXPECT_TRUE(usual.whole_pairs);
    const RotaryStretch changed = config_with("qwen2_yarn", {{"qwen2.rope.scaling.yarn_attn_factor", 6, le(0.5F)},
                                                             {"qwen2.rope.scaling.attn_factor", 6, le(3.0F)},
                                                             {"qwen2.rope.scaling.yarn_truncate", 7, le<std::uint8_t>(0)}})
                                      .rotary_stretch;
    EXPECT_EQ(changed.amplitude, 1.5);
    EXPECT_FALSE(changed.whole_pairs);
    const auto with_fast = [](const char* key) { return config_with("qwen2_yarn", {{key, 6, le(16.0F)}}).rotary_stretch.high; };
    EXPECT_EQ(with_fast("qwen2.rope.scaling.yarn_beta_fast"), 16);
    EXPECT_EQ(with_fast("qwen2.rope.scaling.beta_fast"), 16) << "Ollama's name";
}

TEST(GgufModel, AYarnAmplitudeThatCancelsTheUsualOneIsIgnored) {
    const auto with = [](float amplitude) {
        ChangedGguf file("qwen2_yarn");
        file.add("qwen2.rope.scaling.yarn_attn_factor", 6, le(amplitude));
        const check::Report report = check::check_file(file.write());
        return std::pair(report.ok(), fmt::format("{}", fmt::join(open_model_folder(file.write()).notes, " ")));
    };
    const double usual = 0.1 * std::log(4.0) + 1;
    const auto [same, inverse_note] = with(static_cast<float>(1 / usual));
    EXPECT_TRUE(same);
    EXPECT_THAT(inverse_note, HasSubstr("yarn_attn_factor is 0.8782, which would cancel YaRN's amplitude of 1.139: it is ignored"));
    const auto [unchanged, other_note] = with(0.88F);
    EXPECT_FALSE(unchanged);
    EXPECT_THAT(other_note, HasSubstr("sets YaRN's amplitude to 0.88, as attention_factor does"));
    EXPECT_THAT(with(static_cast<float>(usual)), testing::Pair(true, Not(HasSubstr("yarn_attn_factor"))));
}

TEST(GgufModel, RefusesRotariesThatContradictThemselves) {
    const auto with = [](const char* name, const std::string& key, std::uint32_t type, const std::string& value) {
        ChangedGguf file(name);
        file.add(key, type, value);
        return file.refusal();
    };
    EXPECT_THAT(with("llama", "llama.rope.scaling.attn_factor", 6, le(2.0F)), HasSubstr("is 2, which is supported for yarn and longrope"));
    EXPECT_THAT(with("llama", "llama.rope.scaling.factor", 6, le(0.5F)), HasSubstr("is 0.5; expected at least 1"));
    EXPECT_THAT(with("llama", "llama.rope.scaling.type", 8, test::gguf_text("linear")),
                HasSubstr("/llama.rope.scaling.factor: is missing"));
    EXPECT_THAT(with("llama", "llama.rope.scaling.type", 8, test::gguf_text("longrope")),
                HasSubstr("rope_factors_long.weight: is missing"));
    EXPECT_THAT(with("llama3", "llama.rope.scaling.factor", 6, le(4.0F)), HasSubstr("is given together with a factor for each frequency"));
    ChangedGguf narrower("llama3");
    narrower.set("llama.rope.dimension_count", 4, le<std::uint32_t>(2));
    EXPECT_THAT(narrower.refusal(), HasSubstr("rope_freqs.weight"));
}

TEST(GgufModel, Olmo3StretchesOnlyWhereTheWholeTextIsSeen) {
    for (const bool windowed : {false, true}) {
        const std::string pattern = test::gguf_list(7, 1, le<std::uint8_t>(windowed ? 1 : 0));
        const Config config = config_with("olmo2", {{"olmo2.attention.sliding_window", 4, le<std::uint32_t>(4)},
                                                    {"olmo2.attention.sliding_window_pattern", 9, pattern},
                                                    {"olmo2.rope.scaling.type", 8, test::gguf_text("yarn")},
                                                    {"olmo2.rope.scaling.factor", 6, le(4.0F)}});
        ASSERT_EQ(config.num_layers, 1);
        ASSERT_EQ(config.rotary_stretch.kind, RotaryScaling::Yarn);
        EXPECT_EQ(rotary_rule(config, 0).stretch, windowed ? RotaryStretch() : config.rotary_stretch);
        EXPECT_EQ(rotary_rule(config, 0).base, config.rotary_base);
    }
}

TEST(GgufModel, RefusesATensorItWouldNotUse) {
    ChangedGguf file("llama_biased");
    file.replace("blk.0.attn_q.bias", "blk.0.attn_x.bias");  // without it the model seems to have no biases there
    EXPECT_THAT(file.refusal(), HasSubstr("is not a parameter of Llama; without it the results would differ"));
}

TEST(GgufModel, IsRecognizedWhateverItsName) {
    const TemporaryFolder folder;
    const fs::path blob = folder.path() / "sha256-0a1b2c", text = folder.path() / "text";
    put_file(blob, file_bytes(gguf_path("llama")));
    put_file(text, "GGU");
    ASSERT_TRUE(is_gguf_file(blob));
    EXPECT_FALSE(is_gguf_file(text));
    EXPECT_FALSE(is_gguf_file(folder.path()));
    EXPECT_FALSE(is_gguf_file(folder.path() / "missing"));
    EXPECT_EQ(open_model_folder(blob).config, open_model_folder(gguf_path("llama")).config);
}

TEST(GgufModel, APointerOfGitIsNamed) {
    const TemporaryFolder folder;
    const fs::path path = folder.path() / "model.gguf";
    put_file(path, "version https://git-lfs.github.com/spec/v1\noid sha256:0a1b2c\nsize 123456789\n");
    try {
        open_model_folder(path);
        FAIL() << "opened";
    } catch (const FileError& error) {
        EXPECT_THAT(error.what(), HasSubstr("model.gguf: is only a Git LFS pointer"));
    }
}

TEST(GgufModel, RefusesTensorsThatAreMissingOrCannotBeRead) {
    ChangedGguf renamed("llama");
    renamed.replace("blk.0.ffn_down.weight", "blk.0.ffn_town.weight");
    EXPECT_THAT(renamed.refusal(), HasSubstr("1 of 12 tensors are missing: blk.0.ffn_down.weight"));
    ChangedGguf table("llama");
    table.replace("token_embd.weight", "token_umbd.weight");
    EXPECT_THAT(table.refusal(), HasSubstr("token_embd.weight: the token embedding is missing"));
    // Q4_0 and IQ4_NL have blocks of the same size, but the code book is missing.
    ChangedGguf book("llama_q4_0");
    const std::string name = test::gguf_text("blk.0.ffn_up.weight");
    const std::size_t at = book.bytes.find(name) + name.size() + 4 + 16;
    ASSERT_EQ(book.bytes.substr(at, 4), le<std::uint32_t>(2));
    book.bytes.replace(at, 4, le<std::uint32_t>(20));
    EXPECT_THAT(book.refusal(), HasSubstr("tensor \"blk.0.ffn_up.weight\": has type IQ4_NL, which cannot be read"));
}

TEST(GgufModel, RefusesABlockWithANanScale) {
    for (const char* name : {"llama_q8_0", "llama_q4_k"}) {
        ChangedGguf file(name);
        file.write();
        const ModelFolder folder = open_model_folder(file.write());
        const std::string whole = file_bytes(folder.path);
        for (const TensorUse& use : folder.tensors) {
            if (use.tensor->blocks != BlockKind::Q8_0) continue;
            const std::string stored(reinterpret_cast<const char*>(use.tensor->array.bytes.data()), use.tensor->array.bytes.size());
            file.bytes = whole;
            file.bytes.replace(whole.find(stored) + 2 * 34, 2, std::string("\x01\x7E", 2));
            EXPECT_THAT(file.refusal(), HasSubstr(use.tensor->array.name + ": block 2, with the numbers 64 to 95, has a scale"));
            break;
        }
    }
}

TEST(GgufModel, RefusesFrequenciesDividedByNothing) {
    ChangedGguf file("llama3");
    const ModelFolder folder = open_model_folder(file.write());
    const auto factors =
        std::find_if(folder.tensors.begin(), folder.tensors.end(), [](const TensorUse& use) { return use.leftover == Leftover::Setting; });
    ASSERT_NE(factors, folder.tensors.end());
    const std::string stored(reinterpret_cast<const char*>(factors->tensor->array.bytes.data()), factors->tensor->array.bytes.size());
    for (const float divisor : {0.0F, -1.0F, std::numeric_limits<float>::quiet_NaN()}) {
        std::string changed = stored;
        std::memcpy(changed.data(), &divisor, sizeof divisor);
        ChangedGguf bad("llama3");
        bad.replace(stored, changed);
        EXPECT_THAT(bad.refusal(), HasSubstr("rope_freqs.weight: number 0 is"));
    }
}

TEST(GgufModel, EveryTruncationIsRefused) {
    const ChangedGguf whole("llama_q8_0");
    ChangedGguf cut("llama_q8_0");
    for (std::size_t size = 0; size < whole.bytes.size(); size += 61) {
        cut.bytes = whole.bytes.substr(0, size);
        ASSERT_NE(cut.refusal(), "") << size;
    }
    cut.bytes = whole.bytes.substr(0, whole.bytes.size() - 1);
    EXPECT_NE(cut.refusal(), "");
}

/// With any single byte of the header changed, the file is either opened or refused.
TEST(GgufModel, AWrongByteIsReadOrRefused) {
    const ChangedGguf whole("llama_q4_0");
    const std::size_t described = whole.bytes.find("blk.0.ffn_up.weight") + 40;
    ChangedGguf wrong("llama_q4_0");
    for (std::size_t at = 0; at < described; at += 3) {
        wrong.bytes = whole.bytes;
        wrong.bytes[at] = static_cast<char>(wrong.bytes[at] ^ 0x81);
        wrong.refusal();
    }
}

// --- split files --------------------------------------------------------------------------------------------------

class SplitGguf : public testing::Test {
protected:
    SplitGguf() {
        for (int i = 1; i <= 3; ++i) put_file(part(i), file_bytes(kGgufFiles / part(i).filename()));
    }
    fs::path part(int number) const { return folder_.path() / ("llama_linear-0000" + std::to_string(number) + "-of-00003.gguf"); }
    std::string refusal(int number = 1) const {
        try {
            open_model_folder(part(number));
        } catch (const FileError& error) {
            return error.what();
        }
        return "";
    }
    TemporaryFolder folder_;
};

TEST_F(SplitGguf, AnyPartStandsForTheModel) {
    for (int i = 1; i <= 3; ++i) {
        const ModelFolder folder = open_model_folder(part(i));
        EXPECT_EQ(folder.weights->file_count(), 3U);
        EXPECT_EQ(folder.tensors.size(), 12U);
        EXPECT_EQ(folder.config.rotary_stretch.kind, RotaryScaling::Linear);
    }
}

TEST_F(SplitGguf, RefusesPartsThatAreMissing) {
    fs::remove(part(2));
    for (const int i : {1, 3}) EXPECT_THAT(refusal(i), HasSubstr("llama_linear-00002-of-00003.gguf"));
}

TEST_F(SplitGguf, RefusesPartsThatStandForOthers) {
    put_file(part(2), file_bytes(part(1)));
    EXPECT_THAT(refusal(), HasSubstr("says it is part 1 of 3, but its name says part 2 of 3"));
    put_file(part(2), file_bytes(part(3)));
    EXPECT_THAT(refusal(), HasSubstr("says it is part 3 of 3, but its name says part 2 of 3"));
    fs::remove(part(2));
    fs::create_symlink(part(1), part(2));
    EXPECT_THAT(refusal(), HasSubstr("says it is part 1 of 3"));
}

TEST_F(SplitGguf, RefusesNamesThatTellNothing) {
    fs::rename(part(1), folder_.path() / "model.gguf");
    try {
        open_model_folder(folder_.path() / "model.gguf");
        FAIL() << "opened";
    } catch (const FileError& error) {
        EXPECT_THAT(error.what(), HasSubstr("says it is one of 3 files, which must have names like NAME-00001-of-00003.gguf"));
    }
}

TEST_F(SplitGguf, RefusesNumbersThatLie) {
    const std::string first = file_bytes(part(1)), key = test::gguf_text("split.tensors.count");
    const std::size_t at = first.find(key) + key.size() + 4;
    put_file(part(1), std::string(first).replace(at, 4, le<std::uint32_t>(13)));
    EXPECT_THAT(refusal(), HasSubstr("split.tensors.count: declares 13 tensors, but there are 12"));
    const std::string count = test::gguf_text("split.count");
    put_file(part(1), std::string(first).replace(first.find(count) + count.size() + 4, 2, le<std::uint16_t>(60'000)));
    EXPECT_THAT(refusal(), HasSubstr("at most 512 are read"));
}

// --- what Ollama writes otherwise -----------------------------------------------------------------------------------

TEST(GgufModel, OllamasNamesOfGemmasBasesAreRead) {
    ChangedGguf file("gemma3");
    for (const char* key : {"gemma3.rope.freq_base", "gemma3.rope.freq_base_swa"}) file.lose(key);
    EXPECT_FALSE(check::check_file(file.write()).ok());
    file.add("gemma3.rope.global.freq_base", 6, le(5000.0F));
    file.add("gemma3.rope.local.freq_base", 6, le(500.0F));
    EXPECT_TRUE(check::check_file(file.write()).ok());
    EXPECT_THAT(fmt::format("{}", fmt::join(open_model_folder(file.write()).assumed, "; ")), Not(HasSubstr("rotary base")));
    ChangedGguf both("gemma3");
    both.add("gemma3.rope.global.freq_base", 6, le(70.0F));
    EXPECT_TRUE(check::check_file(both.write()).ok()) << "llama.cpp's name comes first";
}

TEST(GgufModel, GemmaThatOmitsItsSettingsHasThePublishedOnes) {
    const auto bare = [](std::uint32_t context, bool unscaled = false) {
        ChangedGguf file("gemma3");
        for (const char* key :
             {"rope.freq_base", "rope.freq_base_swa", "rope.scaling.type", "rope.scaling.factor", "attention.layer_norm_rms_epsilon"})
            file.lose(fmt::format("gemma3.{}", key));
        file.set("gemma3.context_length", 4, le(context));
        if (unscaled) file.add("gemma3.rope.scaling.type", 8, test::gguf_text("none"));
        return open_model_folder(file.write());
    };
    const ModelFolder large = bare(131'072);
    EXPECT_EQ(large.config.rotary_base, 1e6);
    EXPECT_EQ(large.config.rotary_local_base, 1e4);
    EXPECT_EQ(large.config.layer_norm_eps, 1e-6);
    EXPECT_EQ(rotary_rule(large.config, 0).stretch, RotaryStretch()) << "has a window";
    EXPECT_EQ(rotary_rule(large.config, 5).stretch.kind, RotaryScaling::Linear);
    EXPECT_EQ(rotary_rule(large.config, 5).stretch.factor, 8);
    for (const char* said : {"rotary base 1000000", "rotary base 10000 in layers with a sliding window", "norms' epsilon 1e-06",
                             "positions divided by 8 in layers without a sliding window"})
        EXPECT_THAT(large.assumed, testing::Contains(said));
    for (const ModelFolder& small : {bare(32'768), bare(131'072, true)}) {
        EXPECT_EQ(small.config.rotary_stretch, RotaryStretch());
        EXPECT_THAT(small.assumed, Not(testing::Contains(HasSubstr("positions divided"))));
    }
}

TEST(GgufModel, SaysThatALogitCapIsNotGoogles) {
    ChangedGguf file("gemma3");
    EXPECT_THAT(open_model_folder(file.write()).notes, Not(testing::Contains(HasSubstr("cap"))));
    file.add("gemma3.final_logit_softcapping", 6, le(30.0F));
    const ModelFolder folder = open_model_folder(file.write());
    EXPECT_EQ(folder.config.logit_cap, 30);
    EXPECT_THAT(folder.notes, testing::Contains(HasSubstr("caps logits at 30")));
}

TEST(GgufModel, AnEpsilonThatIsMissingIsThatOfThePublishedModels) {
    const auto epsilon = [](const std::string& name, const std::string& key) {
        ChangedGguf file(name);
        file.lose(name + ".attention." + key);
        return open_model_folder(file.write()).config.layer_norm_eps;
    };
    for (const char* name : {"qwen2", "qwen3", "smollm3", "olmo2", "gemma", "gemma2", "gemma3", "t5"})
        EXPECT_EQ(epsilon(name, "layer_norm_rms_epsilon"), 1e-6) << name;
    for (const char* name : {"llama", "phi3"}) EXPECT_EQ(epsilon(name, "layer_norm_rms_epsilon"), 1e-5) << name;
    for (const char* name : {"gpt2", "gptneox", "phi2", "falcon", "bloom"}) EXPECT_EQ(epsilon(name, "layer_norm_epsilon"), 1e-5) << name;
    EXPECT_EQ(epsilon("bert", "layer_norm_epsilon"), 1e-12);
}

TEST(GgufModel, APartForPicturesIsNotUsed) {
    for (const char* name : {"v.patch_embedding", "mm.input_weight01"}) {
        ChangedGguf file("llama3");
        file.replace("rope_freqs.weight", name);
        const ModelFolder folder = open_model_folder(file.write());
        const auto found = std::find_if(folder.tensors.begin(), folder.tensors.end(),
                                        [&](const TensorUse& use) { return use.tensor->array.name == name; });
        ASSERT_NE(found, folder.tensors.end());
        EXPECT_TRUE(found->parameters.empty());
        EXPECT_EQ(found->leftover, Leftover::Other);
    }
}

TEST(GgufModel, EmptyFactorsAreNone) {
    ChangedGguf file("phi3");
    for (const char* name : {"rope_factors_long.weight", "rope_factors_short.weight"}) file.add_empty_tensor(name, "token_embd.weight");
    EXPECT_TRUE(check::check_file(file.write()).ok());
    EXPECT_EQ(open_model_folder(file.write()).config.rotary_stretch, RotaryStretch());
}

TEST(GgufModel, SaysWhatItsFileLeavesOut) {
    const auto assumed = [](const std::string& name, const std::function<void(ChangedGguf&)>& change = {}) {
        ChangedGguf file(name);
        if (change) change(file);
        return fmt::format("{}", fmt::join(open_model_folder(file.write()).assumed, "; "));
    };
    EXPECT_THAT(assumed("smollm3"), HasSubstr("every fourth layer without rotary positions"));
    EXPECT_THAT(assumed("gemma2"), HasSubstr("a sliding window in every other layer"));
    EXPECT_THAT(assumed("llama"), Not(HasSubstr("window"))) << "Llama has none";
    const auto mistral = [](ChangedGguf& file) { file.add("general.basename", 8, test::gguf_text("Mistral-7B")); };
    constexpr const char* kNoWindow = "no sliding window, though some Mistral models, and models made from them, have one of 4096";
    EXPECT_THAT(assumed("llama", mistral), HasSubstr(kNoWindow));
    const auto like_mistral = [](float base, std::uint32_t context, float stretch) {
        return [=](ChangedGguf& file) {
            file.set("llama.rope.freq_base", 6, le(base));
            file.set("llama.context_length", 4, le(context));
            file.add("llama.rope.scaling.factor", 6, le(stretch));
        };
    };
    EXPECT_THAT(assumed("llama", like_mistral(1e4F, 32'768, 1)), HasSubstr(kNoWindow)) << "whatever it is called";
    EXPECT_THAT(assumed("llama", like_mistral(1e4F, 4096, 1)), Not(HasSubstr("window"))) << "Llama 2";
    EXPECT_THAT(assumed("llama", like_mistral(5e5F, 32'768, 1)), Not(HasSubstr("window"))) << "Llama 3";
    EXPECT_THAT(assumed("llama", like_mistral(1e4F, 32'768, 8)), Not(HasSubstr("window"))) << "Llama 2, stretched";
    const auto windowed = [&](ChangedGguf& file) {
        mistral(file);
        file.add("llama.attention.sliding_window", 4, le<std::uint32_t>(8));
    };
    EXPECT_THAT(assumed("llama", windowed), Not(HasSubstr("window"))) << "it is written down";
    EXPECT_THAT(assumed("gemma2"), HasSubstr("rotary base 10000"));
    EXPECT_THAT(assumed("falcon"), HasSubstr("rotary base 10000 (Falcon 2 has 500042: with 10000 its results are wrong)"));
    const auto turned = [](ChangedGguf& file) { file.add("gemma2.rope.freq_base", 6, le(10000.0F)); };
    EXPECT_THAT(assumed("gemma2", turned), Not(HasSubstr("rotary base")));
    for (const char* name : {"gpt2", "bert", "t5", "falcon", "qwen3"}) EXPECT_THAT(assumed(name), HasSubstr("activation")) << name;
    EXPECT_TRUE(open_model_folder(fs::path(ATTN_TEST_DATA) / "golden/hf/gpt2").assumed.empty()) << "a config.json says it all";
}

TEST(GgufModel, KeysOfItsArchitectureThatChangeNoNumberAreListed) {
    ChangedGguf file("llama");
    file.add("llama.attention.value_scale", 6, le(0.5F));
    file.add("other.attention.value_scale", 6, le(0.5F));
    const std::vector<std::string> unread = open_model_folder(file.write()).unread;
    EXPECT_THAT(unread, testing::Contains("llama.attention.value_scale"));
    EXPECT_THAT(unread, testing::Not(testing::Contains("llama.block_count"))) << "it is read";
    EXPECT_THAT(unread, testing::Not(testing::Contains(HasSubstr("other.")))) << "only the architecture's own are its settings";
}

}  // namespace
}  // namespace attn
