/// The config.json beside a run's weights: there only if the folder, read as what it then is, computes what the run computes.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "engine/families/model_folder.hpp"
#include "engine/families/stored_parameters.hpp"
#include "engine/model/transformer.hpp"
#include "engine/train/run_folder_writer.hpp"
#include "tests/support/temporary_folder.hpp"

namespace attn {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

const TokenBatch kTokens{8, {5, 3, 1, 2, 7, 7, 0, 4}, {8}};

RunFolder run_of(const Config& config, const ForwardSettings& forward) {
    RunFolder run;
    run.checkpoint.settings.model = config;
    run.checkpoint.settings.train.forward = forward;
    run.checkpoint.vocabulary = {"a", "b", "c", "d", "e", "f", "g", "h"};
    auto parameters = std::make_shared<Parameters<float>>(config);
    for (std::int64_t i = 0; i < parameters->count(); ++i) parameters->data()[i] = 0.4F * std::sin(static_cast<float>(7 * i));
    run.checkpoint.parameters = parameters;
    run.checkpoint.first_moments.resize(static_cast<std::size_t>(parameters->count()));
    run.checkpoint.second_moments = run.checkpoint.first_moments;
    run.moments = {{0, parameters}};
    return run;
}

std::vector<float> logits_of(std::shared_ptr<const Parameters<float>> parameters, const ForwardSettings& forward) {
    const Trace<float> trace = trace_forward<float>(std::move(parameters), kTokens, {}, forward);
    const auto values = trace.find({Stage::Logits, -1})->value.values();
    return {values.begin(), values.end()};
}

double largest_gap(const std::vector<float>& a, const std::vector<float>& b) {
    double gap = a.size() == b.size() ? 0 : INFINITY;
    for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) gap = std::max(gap, static_cast<double>(std::abs(a[i] - b[i])));
    return gap;
}

Config gpt2() {
    Config config;
    config.vocab_size = 8;
    config.context_length = 16;
    config.d_model = 16;
    config.num_heads = 2;
    config.d_ff = 24;
    return config;
}

Config llama() {
    Config config = gpt2();
    config.norm_kind = NormKind::Rms;
    config.position = PositionKind::Rotary;
    config.ffn_gated = true;
    config.qkv_bias = config.output_bias = config.ffn_bias = false;
    config.activation = Activation::Silu;
    config.num_kv_heads = 1;
    config.tied_lm_head = false;
    return config;
}

ForwardSettings forward_of_a_causal_run() {
    ForwardSettings forward;
    forward.masks.causal = true;
    return forward;
}

/// What the folder is as a published model, computed with nothing but the causal mask, as transformers does; "" if it is none.
struct Written {
    bool is_model = false;
    double gap = 0;
};
Written written(const Config& config, const ForwardSettings& forward) {
    const test::TemporaryFolder folder;
    const RunFolder run = run_of(config, forward);
    write_run_folder(folder.path(), run);
    if (!fs::exists(folder.path() / "config.json")) return {};
    const ModelFolder model = open_model_folder(folder.path());
    return {true, largest_gap(logits_of(load_parameters<float>(model), forward_of_a_causal_run()),
                              logits_of(run.checkpoint.parameters, forward))};
}

using Change = std::function<void(ForwardSettings&)>;

TEST(WrittenConfig, IsThereForPlainModels) {
    for (const Config& config : {gpt2(), llama()}) {
        const Written plain = written(config, forward_of_a_causal_run());
        EXPECT_TRUE(plain.is_model);
        EXPECT_LE(plain.gap, 1e-5);
        ForwardSettings dropout = forward_of_a_causal_run();
        dropout.dropout.attention = 0.1;  // of training only
        EXPECT_TRUE(written(config, dropout).is_model);
        EXPECT_EQ(unlike_transformers(config, forward_of_a_causal_run()), "");
    }
}

TEST(WrittenConfig, IsNotThereForSettingsThatItCannotExpress) {
    std::vector<std::pair<std::string, Change>> changes = {
        {"window is 3", [](ForwardSettings& f) { f.masks.window = 3; }},
        {"block is 4", [](ForwardSettings& f) { f.masks.block = 4; }},
        {"prefix is 2", [](ForwardSettings& f) { f.masks.prefix = 2; }},
        {"causal is off", [](ForwardSettings& f) { f.masks.causal = false; }},
        {"painted",
         [](ForwardSettings& f) {
             f.masks.painted = {{5, 1}};
         }},
        {"temperature is 0.5", [](ForwardSettings& f) { f.temperature = 0.5; }},
        {"edits",
         [](ForwardSettings& f) {
             f.edits = {{.kind = EditKind::Set, .at = {Stage::Scores, 0}, .row = 4, .column = 1, .value = 3}};
         }},
    };
    for (const MistakeInfo& info : mistakes())
        changes.emplace_back("mistake " + std::string(info.name), [&info](ForwardSettings& f) { f.mistake = info.mistake; });
    for (const Config& config : {gpt2(), llama()})
        for (const auto& [says, change] : changes) {
            ForwardSettings forward = forward_of_a_causal_run();
            change(forward);
            EXPECT_FALSE(written(config, forward).is_model) << says;
            EXPECT_THAT(unlike_transformers(config, forward), HasSubstr(says));
        }
}

/// Every setting of the architecture: with a config.json the numbers are those of the run, without one there is a reason.
TEST(WrittenConfig, IsRightWhereverItIs) {
    const std::vector<std::function<void(Config&)>> changes = {
        [](Config& c) { c.separate_heads = true; },
        [](Config& c) { c.qkv_bias = !c.qkv_bias; },
        [](Config& c) { c.output_bias = !c.output_bias; },
        [](Config& c) { c.qkv_bias = c.output_bias = !c.output_bias; },
        [](Config& c) { c.ffn_bias = !c.ffn_bias; },
        [](Config& c) { c.qk_norm = QueryKeyNorm::PerHead; },
        [](Config& c) { c.score_factor = 0.7; },
        [](Config& c) { c.score_cap = 2; },
        [](Config& c) { c.logit_cap = 2; },
        [](Config& c) { c.scale_by_layer = true; },
        [](Config& c) { c.output_projection = false; },
        [](Config& c) { c.residual = false; },
        [](Config& c) { c.residual_from_norm = true; },
        [](Config& c) { c.order = BlockOrder::Parallel; },
        [](Config& c) { c.order = BlockOrder::ParallelOneNorm; },
        [](Config& c) { c.feed_forward = false; },
        [](Config& c) { c.ffn_gated = !c.ffn_gated; },
        [](Config& c) { c.final_norm = false; },
        [](Config& c) { c.tied_lm_head = !c.tied_lm_head; },
        [](Config& c) { c.lm_head_bias = true; },
        [](Config& c) { c.head_factor = 0.5; },
        [](Config& c) { c.embedding_factor = 2; },
        [](Config& c) { c.embedding_norm = true; },
        [](Config& c) { c.d_head = 4; },
        [](Config& c) { c.d_ff = 20; },
        [](Config& c) { c.num_kv_heads = c.num_kv_heads == 0 ? 1 : 0; },
        [](Config& c) { c.norm = NormPlacement::Post; },
        [](Config& c) { c.norm = NormPlacement::None; },
        [](Config& c) { c.norm = NormPlacement::Sandwich; },
        [](Config& c) { c.norm = NormPlacement::Output; },
        [](Config& c) { c.norm_kind = c.norm_kind == NormKind::Rms ? NormKind::LayerNorm : NormKind::Rms; },
        [](Config& c) { c.norm_kind = NormKind::RmsPlusOne; },
        [](Config& c) { c.layer_norm_eps = 0.01; },
        [](Config& c) { c.activation = Activation::Relu; },
        [](Config& c) { c.activation = Activation::GeluErf; },
        [](Config& c) { c.activation = Activation::GeluTanh; },
        [](Config& c) { c.activation = Activation::QuickGelu; },
        [](Config& c) { c.activation = Activation::GeluClipped; },
        [](Config& c) { c.position = PositionKind::None; },
        [](Config& c) { c.position = PositionKind::Sinusoidal; },
        [](Config& c) { c.position = PositionKind::Alibi; },
        [](Config& c) { c.position = PositionKind::Rotary; },
        [](Config& c) { c.rotary_base = 500; },
        [](Config& c) { c.rotary_size = 4; },
        [](Config& c) { c.rotary_stretch = {.kind = RotaryScaling::Linear, .factor = 2}; },
        [](Config& c) { c.rotary_stretch = {.kind = RotaryScaling::Llama3, .factor = 8, .low = 1, .high = 4, .original_context = 64}; },
        [](Config& c) { c.rotary_stretch = {.kind = RotaryScaling::Yarn, .factor = 4, .original_context = 4, .amplitude = 1.2}; },
        [](Config& c) {
            c.layer_kinds = {{.window = 3}, {}};
        },
        [](Config& c) {
            c.layer_kinds = {{.rotary = LayerRotary::None}, {}};
        },
    };
    std::size_t models = 0;
    for (const Config& base : {gpt2(), llama()})
        for (std::size_t i = 0; i < changes.size(); ++i) {
            Config config = base;
            changes[i](config);
            try {
                validate(config);
            } catch (const ConfigError&) {
                continue;
            }
            const Written here = written(config, forward_of_a_causal_run());
            models += here.is_model ? 1 : 0;
            EXPECT_LE(here.gap, 1e-5) << "change " << i;
            EXPECT_EQ(unlike_transformers(config, forward_of_a_causal_run()).empty(), here.is_model) << "change " << i;
        }
    EXPECT_GT(models, 20U);
}

/// A run that goes on with other settings takes the file away that described the first ones.
TEST(WrittenConfig, OfOtherSettingsDoesNotStay) {
    const test::TemporaryFolder folder;
    RunFolderWriter writer(folder.path());
    writer.begin({}, 0);
    EXPECT_EQ(writer.save(run_of(gpt2(), forward_of_a_causal_run())), "");
    EXPECT_TRUE(fs::exists(folder.path() / "config.json"));
    ForwardSettings warm = forward_of_a_causal_run();
    warm.temperature = 2;
    EXPECT_EQ(writer.save(run_of(gpt2(), warm)), "");
    EXPECT_FALSE(fs::exists(folder.path() / "config.json"));
    EXPECT_EQ(writer.save(run_of(gpt2(), forward_of_a_causal_run())), "");
    EXPECT_TRUE(fs::exists(folder.path() / "config.json"));
}

}  // namespace
}  // namespace attn
