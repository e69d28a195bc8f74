#include "engine/train/checkpoint.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "engine/families/stored_parameters.hpp"
#include "engine/io/safetensors.hpp"
#include "engine/train/run_json.hpp"
#include "tests/engine/io_support.hpp"

namespace attn {
namespace {

using test::expect_refused;

constexpr std::size_t kLittle = std::size_t{4} << 20;

Config small_model() {
    Config config;
    config.vocab_size = 5;
    config.context_length = 7;
    config.d_model = 8;
    config.num_heads = 2;
    config.num_layers = 2;
    config.d_ff = 12;
    config.tied_lm_head = false;
    return config;
}

/// Fills the moments with all kinds of numbers: those of a long run are subnormal, and every bit must survive.
Checkpoint filled(const Config& config) {
    Checkpoint checkpoint;
    checkpoint.settings.task = {TaskKind::Text, 6, 5, 0.1, "Fjörd.txt", std::make_shared<const std::string>("ab\xFF c\n")};
    checkpoint.settings.model = config;
    checkpoint.settings.train.schedule.rate = 0.1 + 0.2;
    checkpoint.settings.train.schedule.continued = Continuation{3, 1e-4};
    checkpoint.settings.train.forward.masks.causal = true;
    checkpoint.steps = 1234;
    checkpoint.plateau = {1, 0.1 + 0.2, 1};
    checkpoint.tokenizer = TokenizerKind::Character;
    checkpoint.vocabulary = {"a", "b", "\xFF", "é", "\n"};
    checkpoint.vocabulary.resize(static_cast<std::size_t>(config.vocab_size));
    for (std::size_t id = 5; id < checkpoint.vocabulary.size(); ++id)
        checkpoint.vocabulary[id] = std::string(1, static_cast<char>('c' + id));
    auto parameters = std::make_shared<Parameters<float>>(config);
    const auto count = static_cast<std::size_t>(parameters->count());
    checkpoint.first_moments.resize(count);
    checkpoint.second_moments.resize(count);
    std::mt19937 random(3);
    for (float* values : {parameters->data(), checkpoint.first_moments.data(), checkpoint.second_moments.data()})
        for (std::size_t i = 0; i < count; ++i)
            values[i] = i % 50 == 0 ? std::numeric_limits<float>::denorm_min() : std::normal_distribution<float>()(random);
    parameters->data()[3] = -0.0F;
    checkpoint.parameters = parameters;
    return checkpoint;
}

bool same_bits(const float* a, const float* b, std::size_t count) { return std::memcmp(a, b, count * sizeof(float)) == 0; }

void expect_equal(const Checkpoint& back, const Checkpoint& checkpoint) {
    RunSettings settings = back.settings;
    settings.task.text = checkpoint.settings.task.text;
    EXPECT_EQ(settings, checkpoint.settings);
    EXPECT_EQ(back.steps, checkpoint.steps);
    EXPECT_EQ(back.tokenizer, checkpoint.tokenizer);
    EXPECT_EQ(back.special_tokens, checkpoint.special_tokens);
    EXPECT_EQ(back.vocabulary, checkpoint.vocabulary);
    const auto count = static_cast<std::size_t>(checkpoint.parameters->count());
    ASSERT_EQ(static_cast<std::size_t>(back.parameters->count()), count);
    EXPECT_TRUE(same_bits(back.parameters->data(), checkpoint.parameters->data(), count));
    ASSERT_EQ(back.first_moments.size(), checkpoint.first_moments.size());
    ASSERT_EQ(back.second_moments.size(), checkpoint.second_moments.size());
    if (!checkpoint.resumable()) return;
    EXPECT_EQ(back.plateau, checkpoint.plateau);
    EXPECT_TRUE(same_bits(back.first_moments.data(), checkpoint.first_moments.data(), count));
    EXPECT_TRUE(same_bits(back.second_moments.data(), checkpoint.second_moments.data(), count));
}

std::string bytes_of(const Checkpoint& checkpoint) {
    const test::TemporaryFolder folder;
    write_checkpoint(folder / "c.safetensors", checkpoint);
    return test::file_bytes(folder / "c.safetensors");
}

Checkpoint parse(const std::string& bytes, const std::string& config_json = "") {
    MemoryInput source(test::as_bytes(bytes), "bad.safetensors");
    return read_checkpoint(source, config_json);
}

/// The file with modified arrays and metadata.
std::string changed(const std::string& bytes, const std::function<void(ArrayFile&)>& change) {
    MemoryInput source(test::as_bytes(bytes), "good.safetensors");
    ArrayFile file = read_safetensors(source);
    change(file);
    const test::TemporaryFolder folder;
    write_safetensors(folder / "c.safetensors", file);
    return test::file_bytes(folder / "c.safetensors");
}

/// Half precision rounds to nearest with 11 significant bits, fewer below 2^-14.
TEST(HalfCheckpoint, KeepsTheModelToElevenBitsAndAllThatIsSaidOfIt) {
    const Checkpoint checkpoint = filled(small_model());
    const test::TemporaryFolder folder;
    write_half_checkpoint(folder / "half.safetensors", checkpoint);
    const Checkpoint back = parse(test::file_bytes(folder / "half.safetensors"));
    EXPECT_FALSE(back.resumable());
    EXPECT_EQ(back.vocabulary, checkpoint.vocabulary);
    EXPECT_EQ(back.steps, checkpoint.steps);
    EXPECT_EQ(back.settings.train, checkpoint.settings.train);
    bool rounded = false;
    for (std::int64_t i = 0; i < checkpoint.parameters->count(); ++i) {
        const float before = checkpoint.parameters->data()[i], after = back.parameters->data()[i];
        EXPECT_LE(std::abs(after - before), std::max(std::abs(before) * 0x1p-11F, 0x1p-25F));
        rounded = rounded || before != after;
    }
    EXPECT_TRUE(rounded);
    // Numbers already in half precision are kept bit for bit.
    write_half_checkpoint(folder / "again.safetensors", back);
    EXPECT_EQ(test::file_bytes(folder / "again.safetensors"), test::file_bytes(folder / "half.safetensors"));
    write_checkpoint(folder / "whole.safetensors", back);
    EXPECT_LT(std::filesystem::file_size(folder / "half.safetensors"), std::filesystem::file_size(folder / "whole.safetensors"));
}

TEST(HalfCheckpoint, RefusesNumbersThatItCannotHold) {
    Checkpoint checkpoint = filled(small_model());
    auto parameters = std::make_shared<Parameters<float>>(checkpoint.parameters->config());
    parameters->data()[0] = 70000.F;
    checkpoint.parameters = parameters;
    const test::TemporaryFolder folder;
    EXPECT_THROW(write_half_checkpoint(folder / "half.safetensors", checkpoint), FileError);
    EXPECT_FALSE(std::filesystem::exists(folder / "half.safetensors"));
}

NamedArray& array_of(ArrayFile& file, std::string_view name) {
    for (NamedArray& array : file.arrays)
        if (array.name == name) return array;
    throw std::logic_error("the test looks for a tensor that is not there");
}

TEST(Checkpoint, KeepsHowLongARunHasWaited) {
    Checkpoint checkpoint = filled(small_model());
    checkpoint.plateau = {};
    EXPECT_EQ(parse(bytes_of(checkpoint)).plateau, Plateau()) << "never evaluated";
    checkpoint.plateau = {0, std::numeric_limits<double>::infinity(), 1};
    EXPECT_EQ(parse(bytes_of(checkpoint)).plateau, checkpoint.plateau) << "no loss was finite";

    const std::string bytes = bytes_of(checkpoint);
    struct Case {
        FileFault fault;
        const char* json;
    };
    for (const Case& bad : {Case{FileFault::Range, R"({"step": 1235, "without_better": 0})"},
                            {FileFault::Range, R"({"step": 3, "without_better": 5})"},
                            {FileFault::Schema, R"({"step": 3})"},
                            {FileFault::Schema, R"({"without_better": 0})"},
                            {FileFault::Range, R"({"step": 3, "without_better": 0, "best_loss": -1})"}})
        expect_refused(bad.json, bad.fault, "metadata plateau", 8 * kLittle,
                       [&] { parse(changed(bytes, [&](ArrayFile& file) { file.metadata["plateau"] = bad.json; })); });
}

TEST(Checkpoint, KeepsWhereARunCameFromAndWhatWasChanged) {
    Checkpoint checkpoint = filled(small_model());
    EXPECT_EQ(bytes_of(checkpoint).find("\"course\""), std::string::npos) << "there is nothing to tell";
    RunCourse& course = checkpoint.course;
    course.begun = checkpoint.settings;
    course.begun.train.schedule.rate = 0.25;
    course.origin = RunOrigin{7, 400, "“first” try"};
    for (const std::int64_t step : {400, 401, 1234}) course.changes.push_back({step, checkpoint.settings});
    course.changes[1].settings.batch_size = 5;
    const std::string bytes = bytes_of(checkpoint);
    RunCourse back = parse(bytes).course;
    for (const RunSettings* settings : {&back.begun, &back.changes[2].settings}) EXPECT_EQ(*settings->task.text, "ab\xFF c\n");
    EXPECT_TRUE(back.origin->from_earlier);
    back.origin->from_earlier = false;
    back.begun.task.text = course.begun.task.text;
    for (SettingsChange& change : back.changes) change.settings.task.text = course.begun.task.text;
    EXPECT_EQ(back, course);
    for (const auto& [from, to] : {std::pair("401", "400"), std::pair("401", "1235"), std::pair("\"step\"", "\"pets\"")}) {
        std::string json = to_json(course).dump();
        json.replace(json.find(from), std::string_view(from).size(), to);
        expect_refused(json, std::string_view(to).starts_with('"') ? FileFault::Schema : FileFault::Range, "metadata course", 8 * kLittle,
                       [&] { parse(changed(bytes, [&](ArrayFile& file) { file.metadata["course"] = json; })); });
    }
}

TEST(Checkpoint, SurvivesWithEveryBit) {
    const test::TemporaryFolder folder;
    const auto path = folder / "c.safetensors";
    for (const Architecture architecture : {Architecture::DecoderOnly, Architecture::Encoder, Architecture::EncoderDecoder})
        for (const bool plain : {false, true}) {
            Config config = small_model();
            config.architecture = architecture;
            if (plain) {
                config.tied_lm_head = true;
                config.qkv_bias = config.final_norm = false;
                config.position = PositionKind::Sinusoidal;
                config.d_head = 3;
            }
            const Checkpoint checkpoint = filled(config);
            write_checkpoint(path, checkpoint);
            const Checkpoint back = read_checkpoint(path);
            expect_equal(back, checkpoint);
            ASSERT_NE(back.settings.task.text, nullptr);
            EXPECT_EQ(*back.settings.task.text, *checkpoint.settings.task.text);
            EXPECT_EQ(folder.entries(), 1);
        }
}

TEST(Checkpoint, HoldsAModelAloneWithoutTheText) {
    Checkpoint checkpoint = filled(small_model());
    checkpoint.first_moments.clear();
    checkpoint.second_moments.clear();
    const Checkpoint back = parse(bytes_of(checkpoint));
    expect_equal(back, checkpoint);
    EXPECT_FALSE(back.resumable());
    EXPECT_EQ(back.settings.task.text, nullptr);
    checkpoint.first_moments.resize(3);
    EXPECT_THROW(bytes_of(checkpoint), ShapeError);
}

TEST(Checkpoint, HasTheNamesAndShapesOfGpt2) {
    const Checkpoint checkpoint = filled(small_model());
    const std::string bytes = bytes_of(checkpoint);
    MemoryInput source(test::as_bytes(bytes), "c");
    const ArrayFile file = read_safetensors(source);
    using Sizes = std::vector<std::int64_t>;
    EXPECT_EQ(file.at("transformer.wte.weight").shape, (Sizes{5, 8}));
    EXPECT_EQ(file.at("transformer.wpe.weight").shape, (Sizes{7, 8}));
    EXPECT_EQ(file.at("transformer.h.1.ln_1.weight").shape, (Sizes{8}));
    EXPECT_EQ(file.at("transformer.h.1.attn.c_attn.weight").shape, (Sizes{8, 24}));
    EXPECT_EQ(file.at("transformer.h.1.attn.c_attn.bias").shape, (Sizes{24}));
    EXPECT_EQ(file.at("transformer.h.0.attn.c_proj.weight").shape, (Sizes{8, 8}));
    EXPECT_EQ(file.at("transformer.h.0.ln_2.bias").shape, (Sizes{8}));
    EXPECT_EQ(file.at("transformer.h.0.mlp.c_fc.weight").shape, (Sizes{8, 12}));
    EXPECT_EQ(file.at("transformer.h.0.mlp.c_proj.weight").shape, (Sizes{12, 8}));
    EXPECT_EQ(file.at("transformer.ln_f.weight").shape, (Sizes{8}));
    EXPECT_EQ(file.at("lm_head.weight").shape, (Sizes{5, 8}));
    EXPECT_EQ(file.at("optimizer.exp_avg_sq.lm_head.weight").shape, (Sizes{5, 8}));
    EXPECT_EQ(file.metadata_at("format"), "pt");
    // The values: the file's output head is transposed in our layout, everything else is unchanged.
    const auto head = file.values<float>("lm_head.weight");
    const float* ours = checkpoint.parameters->find("lm_head.weight");
    for (std::size_t v = 0; v < 5; ++v)
        for (std::size_t c = 0; c < 8; ++c) EXPECT_EQ(head[v * 8 + c], ours[c * 5 + v]);
    const auto packed = file.values<float>("transformer.h.1.attn.c_attn.weight");
    EXPECT_TRUE(same_bits(packed.data(), checkpoint.parameters->find("layers.1.attention.qkv.weight"), packed.size()));
    std::size_t model = 0;
    for (const NamedArray& array : file.arrays) model += array.name.starts_with("optimizer.") || array.name == "task.text" ? 0 : 1;
    EXPECT_EQ(model, checkpoint.parameters->layout().entries().size());
}

/// A small Llama-like model: 4 heads over 2 key/value heads.
Config small_llama_model() {
    Config config = small_model();
    config.num_heads = 4;
    config.num_kv_heads = 2;
    config.norm_kind = NormKind::Rms;
    config.position = PositionKind::Rotary;
    config.ffn_gated = true;
    config.activation = Activation::Silu;
    return config;
}

TEST(Checkpoint, HasTheNamesAndShapesOfLlama) {
    const Checkpoint checkpoint = filled(small_llama_model());
    const std::string bytes = bytes_of(checkpoint);
    MemoryInput source(test::as_bytes(bytes), "c");
    const ArrayFile file = read_safetensors(source);
    using Sizes = std::vector<std::int64_t>;
    EXPECT_EQ(file.at("model.embed_tokens.weight").shape, (Sizes{5, 8}));
    EXPECT_EQ(file.at("model.layers.1.input_layernorm.weight").shape, (Sizes{8}));
    EXPECT_EQ(file.at("model.layers.1.self_attn.q_proj.weight").shape, (Sizes{8, 8}));
    EXPECT_EQ(file.at("model.layers.1.self_attn.k_proj.weight").shape, (Sizes{4, 8}));
    EXPECT_EQ(file.at("model.layers.1.self_attn.v_proj.bias").shape, (Sizes{4}));
    EXPECT_EQ(file.at("model.layers.0.mlp.gate_proj.weight").shape, (Sizes{12, 8}));
    EXPECT_EQ(file.at("model.layers.0.mlp.down_proj.weight").shape, (Sizes{8, 12}));
    EXPECT_EQ(file.at("model.norm.weight").shape, (Sizes{8}));
    EXPECT_EQ(file.at("optimizer.exp_avg.model.layers.0.self_attn.k_proj.bias").shape, (Sizes{4}));
    // Rows in the file are columns in ours, those of values after queries and keys.
    const MatrixView ours = checkpoint.parameters->view("layers.1.attention.v.weight");
    EXPECT_EQ(ours.numbers<float>(), checkpoint.parameters->find("layers.1.attention.qkv.weight") + 12);
    const auto values = file.values<float>("model.layers.1.self_attn.v_proj.weight");
    for (std::size_t out = 0; out < 4; ++out)
        for (std::size_t in = 0; in < 8; ++in) EXPECT_EQ(values[out * 8 + in], ours.numbers<float>()[in * 16 + out]);
    expect_equal(parse(bytes), checkpoint);
}

TEST(Checkpoint, PartsThatNoForeignModelHasKeepOurNames) {
    Config config = small_llama_model();
    config.norm_kind = NormKind::LayerNorm;  // neither GPT-2 nor Llama
    const Checkpoint checkpoint = filled(config);
    const std::string bytes = bytes_of(checkpoint);
    MemoryInput source(test::as_bytes(bytes), "c");
    EXPECT_EQ(read_safetensors(source).at("layers.0.attention.qkv.weight").shape, (std::vector<std::int64_t>{8, 16}));
    expect_equal(parse(bytes), checkpoint);
    EXPECT_EQ(transformers_config_json(config), "");
}

TEST(Checkpoint, ModelsOfOtherKindsKeepOurNames) {
    Config config = small_model();
    config.architecture = Architecture::EncoderDecoder;
    const std::string bytes = bytes_of(filled(config));
    MemoryInput source(test::as_bytes(bytes), "c");
    const ArrayFile file = read_safetensors(source);
    EXPECT_NE(file.find("decoder.layers.1.cross_attention.kv.weight"), nullptr);
    EXPECT_EQ(file.at("lm_head.weight").shape, (std::vector<std::int64_t>{8, 5}));
}

TEST(CheckpointBad, CutAnywhere) {
    const std::string bytes = bytes_of(filled(small_model()));
    std::uint64_t header = 0;
    std::memcpy(&header, bytes.data(), sizeof header);
    const std::size_t data = 8 + static_cast<std::size_t>(header);
    for (std::size_t length = 0; length < bytes.size(); length += length < data ? 1 : 997)
        EXPECT_THROW(parse(bytes.substr(0, length)), FileError) << "cut after " << length << " bytes";
    EXPECT_THROW(parse(bytes.substr(0, bytes.size() - 1)), FileError);
    EXPECT_THROW(parse(bytes + "x"), FileError);
}

TEST(CheckpointBad, EveryFlippedBitOfTheHeaderAndManyOfTheData) {
    Config config = small_model();
    config.num_layers = 1;
    for (const bool resumable : {true, false}) {
        Checkpoint checkpoint = filled(config);
        if (!resumable) {
            checkpoint.first_moments.clear();
            checkpoint.second_moments.clear();
        }
        std::string bytes = bytes_of(checkpoint);
        std::uint64_t header = 0;
        std::memcpy(&header, bytes.data(), sizeof header);
        const std::size_t bits = 8 * (8 + static_cast<std::size_t>(header));
        int accepted = 0;
        const auto flipped = [&](std::size_t bit) {
            bytes[bit / 8] = static_cast<char>(static_cast<unsigned char>(bytes[bit / 8]) ^ (1U << (bit % 8)));
        };
        const auto try_bit = [&](std::size_t bit) {
            flipped(bit);
            try {
                expect_equal(parse(bytes), checkpoint);
                ++accepted;
            } catch (const FileError&) {
            }
            flipped(bit);
        };
        for (std::size_t bit = 0; bit < bits; ++bit) try_bit(bit);
        std::mt19937 random(1);
        for (int i = 0; i < 2000; ++i) try_bit(bits + random() % (8 * bytes.size() - bits));
        EXPECT_EQ(accepted, 0) << "flipped bits that nobody noticed";
        expect_equal(parse(bytes), checkpoint);
    }
}

TEST(CheckpointBad, NamesTheTensorAtFault) {
    const std::string good = bytes_of(filled(small_model()));
    const auto refused = [&](const char* label, FileFault fault, std::string_view place, const std::function<void(ArrayFile&)>& change) {
        const std::string bytes = changed(good, change);
        expect_refused(label, fault, place, 8 * kLittle, [&] { parse(bytes); });
    };
    const char* fc = "transformer.h.1.mlp.c_fc.weight";
    refused("transposed", FileFault::Schema, "transformer.h.1.mlp.c_fc.weight has shape [12, 8]; expected [8, 12]",
            [&](ArrayFile& file) { std::swap(array_of(file, fc).shape[0], array_of(file, fc).shape[1]); });
    refused("integers", FileFault::Schema, "transformer.h.1.mlp.c_fc.weight holds I32",
            [&](ArrayFile& file) { array_of(file, fc).dtype = DType::I32; });
    refused("missing", FileFault::Schema, "transformer.h.1.mlp.c_fc.weight is missing",
            [&](ArrayFile& file) { std::erase_if(file.arrays, [&](const NamedArray& a) { return a.name == fc; }); });
    refused("moment missing", FileFault::Schema, "optimizer.exp_avg.transformer.wte.weight is missing", [&](ArrayFile& file) {
        std::erase_if(file.arrays, [&](const NamedArray& a) { return a.name == "optimizer.exp_avg.transformer.wte.weight"; });
    });
    refused("second moments missing", FileFault::Schema, "optimizer.exp_avg_sq.", [&](ArrayFile& file) {
        std::erase_if(file.arrays, [&](const NamedArray& a) { return a.name.starts_with("optimizer.exp_avg_sq."); });
    });
    refused("extra", FileFault::Schema, "extra.weight does not belong", [&](ArrayFile& file) {
        file.arrays.push_back(array_of(file, fc));
        file.arrays.back().name = "extra.weight";
    });
    refused("double", FileFault::Schema, "transformer.ln_f.bias holds F64", [&](ArrayFile& file) {
        NamedArray& bias = array_of(file, "transformer.ln_f.bias");
        bias = make_array<double>(bias.name, bias.shape, std::vector<double>(8, 0.5));
    });
    refused("text missing", FileFault::Schema, "Fjörd.txt is missing",
            [&](ArrayFile& file) { std::erase_if(file.arrays, [&](const NamedArray& a) { return a.name == "task.text"; }); });
    refused("all at once", FileFault::Schema, "and ", [&](ArrayFile& file) { file.arrays.clear(); });
    refused("a changed weight", FileFault::Format, "checksum", [&](ArrayFile& file) { array_of(file, fc).bytes[5] ^= std::byte{1}; });
    refused("a changed setting", FileFault::Format, "checksum", [&](ArrayFile& file) { file.metadata.at("steps") = "1235"; });
}

TEST(CheckpointBad, NamesTheMetadataAtFault) {
    const std::string good = bytes_of(filled(small_model()));
    const auto refused = [&](FileFault fault, std::string_view place, const char* key, const std::string& value) {
        const std::string bytes = changed(good, [&](ArrayFile& file) { file.metadata[key] = value; });
        expect_refused(std::string(key) + " = " + value.substr(0, 60), fault, place, 8 * kLittle, [&] { parse(bytes); });
    };
    for (const char* steps : {"", "-1", "1.5", "1e3", " 1", "NaN", "99999999999999999999"})
        refused(FileFault::Range, "metadata steps", "steps", steps);
    refused(FileFault::Unsupported, "attnscope-checkpoint/2", "attnscope", "attnscope-checkpoint/2");
    refused(FileFault::Format, "metadata settings", "settings", R"({"batch_size": NaN})");
    refused(FileFault::Format, "metadata settings", "settings", "");
    refused(FileFault::Schema, "metadata settings, /batch", "settings", R"({"batch": 1})");
    refused(FileFault::Schema, "d_model 9 is not divisible", "settings", R"({"model": {"vocab_size": 5, "d_model": 9, "num_heads": 2}})");
    refused(FileFault::Schema, "has 5 symbols, but the model 6", "settings", R"({"model": {"vocab_size": 6}})");
    // A model far larger than its file is refused before it is allocated.
    refused(FileFault::Schema, "expected [5, 32768]", "settings",
            R"({"model": {"vocab_size": 5, "d_model": 32768, "num_heads": 1, "d_ff": 32768}})");
    const auto vocabulary = [&](FileFault fault, std::string_view place, const std::string& symbols, const std::string& bytes = "[]") {
        refused(fault, place, "vocabulary",
                R"({"kind": "character", "special_tokens": false, "symbols": )" + symbols + R"(, "bytes": )" + bytes + "}");
    };
    vocabulary(FileFault::Range, "given twice", R"(["a", "b", "a", "c", "d"])");
    vocabulary(FileFault::Range, "is empty", R"(["a", "b", "", "c", "d"])");
    vocabulary(FileFault::Range, "is not one character", R"(["a", "b", "xx", "c", "d"])");
    vocabulary(FileFault::Schema, "has 2 symbols, but the model 5", R"(["a", "b"])");
    vocabulary(FileFault::Range, "/bytes", R"(["a", "b", "", "c", "d"])", "[[7, 255]]");
    vocabulary(FileFault::Range, "/bytes", R"(["a", "b", "", "c", "d"])", "[[2, 65]]");
    refused(FileFault::Schema, "/kind", "vocabulary", "{}");
    for (const char* key : {"attnscope", "settings", "vocabulary", "steps", "checksum"}) {
        const std::string bytes = changed(good, [&](ArrayFile& file) { file.metadata.erase(key); });
        expect_refused(std::string("without ") + key, FileFault::Schema, key, 8 * kLittle, [&] { parse(bytes); });
    }
}

/// A file as transformers would write it: without our metadata and moments.
std::string foreign(const Config& config, bool prefix, const std::function<void(ArrayFile&)>& change = {}) {
    return changed(bytes_of(filled(config)), [&](ArrayFile& file) {
        file.metadata = {{"format", "pt"}};
        std::erase_if(file.arrays, [](const NamedArray& a) { return a.name.starts_with("optimizer.") || a.name == "task.text"; });
        if (!prefix)
            for (NamedArray& array : file.arrays)
                if (array.name.starts_with("transformer.")) array.name.erase(0, 12);
        if (change) change(file);
    });
}

TEST(ForeignModel, IsReadWithItsConfigJson) {
    Config config = small_model();
    config.activation = Activation::Relu;
    config.layer_norm_eps = 1e-6;
    const Checkpoint original = filled(config);
    for (const bool prefix : {true, false}) {
        const Checkpoint model = parse(foreign(config, prefix), transformers_config_json(config));
        EXPECT_EQ(model.settings.model.num_heads, 2);
        EXPECT_EQ(model.settings.model.activation, Activation::Relu);
        EXPECT_EQ(model.settings.model.layer_norm_eps, 1e-6);
        EXPECT_FALSE(model.settings.model.tied_lm_head);
        EXPECT_TRUE(model.settings.train.forward.masks.causal);
        EXPECT_TRUE(model.vocabulary.empty());
        EXPECT_FALSE(model.resumable());
        EXPECT_TRUE(
            same_bits(model.parameters->data(), original.parameters->data(), static_cast<std::size_t>(original.parameters->count())));
    }
}

TEST(ForeignModel, IsReadWithGpt2sOwnDefaults) {
    Config config = small_model();
    config.d_model = 128;
    const std::string bytes = foreign(config, false, [](ArrayFile& file) {
        // An old file, with mask buffers and a copy of the embedding as head.
        file.arrays.push_back(make_array<std::uint8_t>("h.0.attn.bias", {1, 1, 2, 2}, std::vector<std::uint8_t>{1, 0, 1, 1}));
        file.arrays.push_back(make_array<float>("h.1.attn.masked_bias", {}, std::vector<float>{-1e4F}));
        array_of(file, "lm_head.weight").bytes = array_of(file, "wte.weight").bytes;
    });
    const Checkpoint model = parse(bytes);
    EXPECT_EQ(model.settings.model.num_heads, 2);
    EXPECT_EQ(model.settings.model.activation, Activation::GeluTanh);
    EXPECT_TRUE(model.settings.model.tied_lm_head);
    EXPECT_EQ(model.settings.model.num_layers, 2);
    EXPECT_EQ(model.settings.model.d_ff, 12);
}

TEST(ForeignModel, IsRefusedWithTheReason) {
    const auto refused = [&](const char* label, std::string_view place, const std::string& bytes, const std::string& config = "",
                             FileFault fault = FileFault::Schema) {
        expect_refused(label, fault, place, 8 * kLittle, [&] { parse(bytes, config); });
    };
    const std::string good = foreign(small_model(), true), config = transformers_config_json(small_model());
    EXPECT_NO_THROW(parse(good, config));
    refused("heads unknown", "config.json", good);
    refused("no heads in config.json", "/n_head", good, "{}");
    refused("unscaled scores", "/scale_attn_weights", good, R"({"n_head": 2, "scale_attn_weights": false})", FileFault::Range);
    refused("scores by layer", "/scale_attn_by_inverse_layer_idx", good, R"({"n_head": 2, "scale_attn_by_inverse_layer_idx": true})",
            FileFault::Range);
    refused("activation", "/activation_function", good, R"({"n_head": 2, "activation_function": "mish"})", FileFault::Unsupported);
    refused("heads do not divide", "d_model 8", good, R"({"n_head": 3})");
    refused("another kind of model", "neither a checkpoint of attnscope nor a GPT-2 model",
            foreign(small_model(), true, [](ArrayFile& file) { file.arrays.erase(file.arrays.begin()); }), config);
    refused("a hole in the layers", "transformer.h.1.ln_1.weight is missing",
            foreign(small_model(), true,
                    [](ArrayFile& file) {
                        for (NamedArray& array : file.arrays)
                            if (const auto at = array.name.find("h.1."); at != std::string::npos) array.name.replace(at, 4, "h.7.");
                    }),
            config);
    refused("integers", "holds I32",
            foreign(small_model(), true, [](ArrayFile& file) { array_of(file, "transformer.h.0.ln_1.bias").dtype = DType::I32; }), config);
    refused("no axes", "two axes",
            foreign(small_model(), true, [](ArrayFile& file) { array_of(file, "transformer.wpe.weight").shape = {56}; }), config);
}

TEST(ReplaceCheckpoint, KeepsTheOneBefore) {
    const test::TemporaryFolder folder;
    const auto path = folder / "model.safetensors";
    Checkpoint checkpoint = filled(small_model());
    checkpoint.steps = 1;
    replace_checkpoint(path, checkpoint);
    EXPECT_EQ(folder.entries(), 1);
    for (const std::int64_t step : {2, 3}) {
        checkpoint.steps = step;
        replace_checkpoint(path, checkpoint);
        EXPECT_EQ(read_checkpoint(path).steps, step);
        EXPECT_EQ(read_checkpoint(folder / "model.previous.safetensors").steps, step - 1);
        EXPECT_EQ(folder.entries(), 2);
    }
    EXPECT_EQ(previous_checkpoint("run/model.safetensors"), std::filesystem::path("run/model.previous.safetensors"));
    // A failed write leaves both files unchanged.
    checkpoint.settings.train.clip_norm = std::numeric_limits<double>::quiet_NaN();
    EXPECT_THROW(replace_checkpoint(path, checkpoint), ConfigError);
    EXPECT_EQ(read_checkpoint(path).steps, 3);
    EXPECT_EQ(read_checkpoint(previous_checkpoint(path)).steps, 2);
    EXPECT_EQ(folder.entries(), 2);
}

TEST(ReplaceCheckpoint, RefusesALinkAndTouchesNothing) {
    const test::TemporaryFolder folder;
    const auto path = folder / "model.safetensors";
    Checkpoint checkpoint = filled(small_model());
    checkpoint.steps = 1;
    write_checkpoint(folder / "elsewhere.safetensors", checkpoint);
    std::filesystem::create_symlink("elsewhere.safetensors", path);
    checkpoint.steps = 2;
    test::expect_refused("link", FileFault::Io, "model.safetensors: is a symbolic link", std::size_t{1} << 24,
                         [&] { replace_checkpoint(path, checkpoint); });
    EXPECT_EQ(read_checkpoint(folder / "elsewhere.safetensors").steps, 1);
    EXPECT_EQ(folder.entries(), 2) << "and no model.previous";
}

TEST(ReplaceCheckpoint, GoesOnAfterBeingKilledBetweenItsTwoNames) {
    const test::TemporaryFolder folder;
    const auto path = folder / "model.safetensors";
    Checkpoint checkpoint = filled(small_model());
    checkpoint.steps = 1;
    replace_checkpoint(path, checkpoint);
    checkpoint.steps = 2;
    EXPECT_THROW(replace_checkpoint(path, checkpoint, [] { throw Error("killed"); }), Error);
    EXPECT_EQ(read_checkpoint(path).steps, 1);
    EXPECT_EQ(read_checkpoint(previous_checkpoint(path)).steps, 1);
    replace_checkpoint(path, checkpoint);
    EXPECT_EQ(read_checkpoint(path).steps, 2);
    EXPECT_EQ(read_checkpoint(previous_checkpoint(path)).steps, 1);
    EXPECT_EQ(folder.entries(), 2);
}

}  // namespace
}  // namespace attn
