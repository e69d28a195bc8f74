#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "engine/plan/config_json.hpp"
#include "engine/trace/settings_json.hpp"
#include "tests/engine/io_support.hpp"

namespace attn {
namespace {

using test::expect_refused;

/// Expects a refusal with this fault that names the source and the place.
void json_refused(const std::string& text, FileFault fault, const std::string& place = "") {
    expect_refused(text.substr(0, 80), fault, "preset.json" + place, std::size_t{1} << 20, [&] { config_from_json(text, "preset.json"); });
}
void settings_refused(const std::string& text, FileFault fault, const std::string& place) {
    expect_refused(text, fault, "preset.json" + place, std::size_t{1} << 20, [&] { forward_settings_from_json(text, "preset.json"); });
}

TEST(ConfigJson, EveryFieldSurvives) {
    Config config;
    config.architecture = Architecture::EncoderDecoder;
    config.vocab_size = 71;
    config.context_length = 9;
    config.d_model = 30;
    config.num_heads = 3;
    config.d_head = 7;
    config.num_layers = 5;
    config.d_ff = 11;
    config.separate_heads = true;
    config.qkv_bias = config.output_projection = config.output_bias = config.residual = config.feed_forward = false;
    config.scaled_alibi = config.residual_from_norm = true;
    config.final_norm = config.lm_head = config.tied_lm_head = false;
    config.norm = NormPlacement::Post;
    config.activation = Activation::Relu;
    config.position = PositionKind::Sinusoidal;
    config.num_kv_heads = 1;
    config.norm_kind = NormKind::Rms;
    config.any_length = true;
    config.ffn_gated = config.scale_by_layer = true;
    config.ffn_bias = false;
    config.rotary_base = 0.3 - 0.1;
    config.qk_norm = QueryKeyNorm::AllHeads;
    config.score_factor = 0.1 + 0.2;
    config.score_cap = 50;
    config.order = BlockOrder::ParallelOneNorm;
    config.lm_head_bias = config.embedding_norm = true;
    config.logit_cap = 30;
    config.embedding_factor = 1.1;
    config.d_embedding = 12;
    config.rotary_size = 6;
    config.encoder_layers = 4;
    config.encoder_ff = 13;
    config.head_transform = config.stack_positions = true;
    config.head_factor = 0.7;
    config.num_segments = 2;
    config.position_buckets = 8;
    config.position_distance = 9;
    config.rotary_local_base = 33;
    config.rotary_stretch = {RotaryScaling::LongRope, 2, 0.5, 3, 77, true, 1.1, {1, 2, 3}, {4, 5, 6}};
    config.layer_kinds = {{3, LayerRotary::Local}, {0, LayerRotary::None}};
    config.layer_norm_eps = 0.1 + 0.2;
    config.init = Init::Numpy;
    config.seed = ~std::uint64_t{0};
    EXPECT_EQ(config_from_json(to_json(config).dump(), "c"), config);
    EXPECT_EQ(config_from_json(to_json(Config{}).dump(), "c"), Config{});
    EXPECT_EQ(config_from_json("{}", "c"), Config{});
    config.rotary_stretch = {RotaryScaling::Yarn, 2, 0.5, 3, 77, false, 1.1, {}, {}};
    EXPECT_EQ(config_from_json(to_json(config).dump(), "c"), config);
    EXPECT_EQ(to_json(config).size(), 53U) << "a field was added to Config: write and read it, and count it here";
    EXPECT_EQ(to_json(Config{}, ConfigFields::All).size(), 51U);
    EXPECT_EQ(to_json(Config{}).size(), 23U);  // as in files written before some fields existed
}

TEST(ConfigJson, SettingsSurvive) {
    ForwardSettings settings;
    settings.masks = {.causal = true, .padding = false, .window = 3, .prefix = 2, .block = 5, .painted = {{1, 2}, {0, 0}}};
    settings.temperature = 0.7;
    settings.dropout = {0.1, 0.25, 1.0, ~std::uint64_t{0} - 1};
    settings.edits = {
        {.kind = EditKind::Set, .at = {Stage::Q, 1, Stack::Decoder, kCrossAttention}, .row = 3, .column = 2, .value = 0.1 + 0.2},
        {.kind = EditKind::Scale, .at = {Stage::Context, 2}, .head = 3, .value = -1.5},
        {.kind = EditKind::Freeze, .at = {Stage::Weights, 0}, .sequence = 1, .head = 2, .pattern = Pattern::First, .on = false},
        {.kind = EditKind::TakeRow, .at = {Stage::Embedding, -1}, .row = 1, .from = 4},
        {.kind = EditKind::TakeRow, .at = {Stage::Q, 0}, .sequence = 1, .row = 2, .from = 3, .from_sequence = 0},
        {.kind = EditKind::TakeRow, .at = {Stage::Context, 1}, .head = 2, .from = Edit::kAll, .from_sequence = 2}};
    EXPECT_EQ(forward_settings_from_json(to_json(settings).dump(), "c"), settings);
    EXPECT_EQ(forward_settings_from_json("{}", "c"), ForwardSettings{});
}

TEST(ConfigJson, RefusesWhatItDoesNotKnow) {
    json_refused(R"({"d_modle": 4})", FileFault::Schema, ", /d_modle");
    json_refused(R"({"a/b~": 4})", FileFault::Schema, ", /a~1b~0");
    settings_refused(R"({"masks": {"cuasal": true}})", FileFault::Schema, ", /masks/cuasal");
    settings_refused(R"({"dropout": {"x": 1}})", FileFault::Schema, ", /dropout/x");
    json_refused(R"({"d_model": 4, "d_model": 5})", FileFault::Duplicate);
    settings_refused(R"({"masks": {"window": 4, "window": 4}})", FileFault::Duplicate, "");
}

TEST(ConfigJson, RefusesEditsThatCannotBe) {
    const auto edits = [](const std::string& edit) { return R"({"edits": [)" + edit + "]}"; };
    settings_refused(edits("3"), FileFault::Format, ", /edits/0");
    settings_refused(edits(R"({"stage": "embedding"})"), FileFault::Schema, ", /edits/0/kind");
    settings_refused(edits(R"({"kind": "set"})"), FileFault::Schema, ", /edits/0/stage");
    settings_refused(edits(R"({"kind": "set", "stage": "embedding"})"), FileFault::Schema, ", /edits/0/value");
    settings_refused(edits(R"({"kind": "set", "stage": "layers.0.attention.qq", "value": 1})"), FileFault::Range, ", /edits/0/stage");
    settings_refused(edits(R"({"kind": "set", "stage": "tokens", "value": 1})"), FileFault::Range, ", /edits/0/stage");
    settings_refused(edits(R"({"kind": "freeze", "stage": "embedding", "pattern": "self"})"), FileFault::Range, ", /edits/0/stage");
    settings_refused(edits(R"({"kind": "freeze", "stage": "layers.0.attention.weights"})"), FileFault::Schema, ", /edits/0/pattern");
    settings_refused(edits(R"({"kind": "take_row", "stage": "embedding", "from": 1})"), FileFault::Schema, ", /edits/0/row");
    settings_refused(edits(R"({"kind": "take_row", "stage": "embedding", "row": 1})"), FileFault::Schema, ", /edits/0/from");
    const auto set = [&](const std::string& more) { return edits(R"({"kind": "set", "stage": "embedding", )" + more + "}"); };
    settings_refused(set(R"("value": 1, "row": -1)"), FileFault::Range, ", /edits/0/row");
    settings_refused(set(R"("value": 1, "head": -1)"), FileFault::Range, ", /edits/0/head");
    settings_refused(set(R"("value": 2e9)"), FileFault::Range, ", /edits/0/value");
    settings_refused(set(R"("value": 1, "from": 2)"), FileFault::Schema, ", /edits/0/from");
    std::string many = R"({"edits": [)";
    for (std::size_t i = 0; i <= kMostEdits; ++i)
        many += std::string(i == 0 ? "" : ",") + R"({"kind":"set","stage":"embedding","value":1})";
    settings_refused(many + "]}", FileFault::Range, ", /edits");
}

TEST(ConfigJson, RefusesWrongTypesAndRanges) {
    for (const char* value : {"\"4\"", "true", "null", "[4]", "{}"})
        json_refused(std::string(R"({"d_model": )") + value + "}", FileFault::Format, ", /d_model");
    for (const char* value : {"-1", "0", "2.9", "4e0", "2147483648", "18446744073709551616", "-9223372036854775809"})
        json_refused(std::string(R"({"d_model": )") + value + "}", FileFault::Range, ", /d_model");
    for (const char* value : {"-1", "1.0", "18446744073709551616"})
        json_refused(std::string(R"({"seed": )") + value + "}", FileFault::Range, ", /seed");
    json_refused(R"({"residual": 1})", FileFault::Format, ", /residual");
    json_refused(R"({"norm": "pree"})", FileFault::Range, ", /norm");
    json_refused(R"({"norm": 1})", FileFault::Format, ", /norm");
    json_refused(R"({"layer_norm_eps": 0})", FileFault::Range, ", /layer_norm_eps");
    json_refused(R"({"layer_norm_eps": 1e400})", FileFault::Range);
    json_refused(R"({"layer_norm_eps": NaN})", FileFault::Format);
    settings_refused(R"({"temperature": 0})", FileFault::Range, ", /temperature");
    settings_refused(R"({"temperature": -1})", FileFault::Range, ", /temperature");
    settings_refused(R"({"dropout": {"attention": 1.5}})", FileFault::Range, ", /dropout/attention");
    settings_refused(R"({"masks": {"painted": [[1, 2], [1]]}})", FileFault::Format, ", /masks/painted/1");
    settings_refused(R"({"masks": {"painted": [[1, -2]]}})", FileFault::Range, ", /masks/painted/0/1");
    settings_refused(R"({"masks": []})", FileFault::Format, ", /masks");
}

TEST(ConfigJson, RefusesBadText) {
    const std::string good = to_json(Config{}).dump();
    for (std::size_t keep = 0; keep < good.size(); ++keep)
        EXPECT_THROW(config_from_json(good.substr(0, keep), "c"), FileError) << keep;  // J01, J02
    json_refused(std::string(64, '\0'), FileFault::Format);                            // J03
    json_refused("[]", FileFault::Format);
    json_refused("{} {}", FileFault::Format);
    json_refused("\xEF\xBB\xBF{}", FileFault::Format);
    json_refused("{\"a\": \"\xFF\"}", FileFault::Format);
    json_refused(std::string(100'000, '['), FileFault::Limit);  // J10
    const std::string huge = "{\"a\": \"" + std::string(kMaxJsonBytes, 'x') + "\"}";
    json_refused(huge, FileFault::Limit);
}

TEST(ConfigJson, NeverWritesWhatItCouldNotRead) {
    ForwardSettings settings;
    settings.temperature = std::numeric_limits<double>::infinity();
    EXPECT_THROW(to_json(settings), ConfigError);
    Config config;
    config.layer_norm_eps = std::nan("");
    EXPECT_THROW(to_json(config), ConfigError);
}

TEST(JsonObject, ReadsListsAndObjects) {
    JsonObject object(R"({"texts": ["a", "b"], "items": [{"x": 1}, {"x": 2}], "inner": {"y": true}})", "f");
    std::vector<std::string> texts;
    EXPECT_TRUE(object.read("texts", texts));
    EXPECT_EQ(texts, (std::vector<std::string>{"a", "b"}));
    std::int64_t sum = 0;
    for (JsonObject& item : object.objects("items")) {
        std::int64_t x = 0;
        item.read("x", x, 0, 9);
        sum += x;
        item.expect_no_more();
    }
    EXPECT_EQ(sum, 3);
    bool y = false;
    EXPECT_TRUE(object.object("inner").read("y", y));
    EXPECT_TRUE(y);
    EXPECT_FALSE(object.read("absent", y));
    EXPECT_NO_THROW(object.expect_no_more());
    expect_refused("missing", FileFault::Schema, "f, /other", 4096, [&] { object.object("other"); });
    expect_refused("item type", FileFault::Format, "f, /list/1", 1 << 16, [] {
        JsonObject bad(R"({"list": ["a", 2]})", "f");
        std::vector<std::string> out;
        bad.read("list", out);
    });
}

}  // namespace
}  // namespace attn
