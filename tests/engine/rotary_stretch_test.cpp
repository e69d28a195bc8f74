/// Rotary positions with frequencies scaled for long texts.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "engine/explain/explain.hpp"
#include "engine/plan/config_json.hpp"
#include "engine/plan/rotary.hpp"
#include "engine/reference/verify.hpp"
#include "engine/tensor/error.hpp"
#include "tests/support/random_model.hpp"

namespace attn {
namespace {

using testing_support::RandomModel;

/// A rotary model with frequencies scaled for long texts.
RandomModel stretched_model(unsigned seed, RotaryScaling kind) {
    RandomModel model(seed, true);
    model.config.position = PositionKind::Rotary;
    if (model.config.head_size() % 2 != 0) model.config.d_head = model.config.head_size() + 1;
    model.config.output_projection = true;
    model.config.rotary_base = 20;
    model.config.rotary_size = 0;
    model.config.layer_kinds.clear();
    model.config.rotary_stretch = {kind, 1.5 + seed % 3, 0.2, 0.9, 4};
    return model;
}

TEST(RotaryStretch, FrequenciesAreThoseOfTheFormula) {
    Config config;
    config.d_model = 8;
    config.num_heads = 1;
    config.position = PositionKind::Rotary;
    config.rotary_base = 10000;
    EXPECT_EQ(rotary_frequencies(rotary_rule(config, 0), 1),
              (std::vector<double>{1, std::pow(10000, -0.25), 0.01, std::pow(10000, -0.75)}));
    config.rotary_stretch = {RotaryScaling::Linear, 4, 1, 4, 8192};
    EXPECT_EQ(rotary_frequencies(rotary_rule(config, 0), 1),
              (std::vector<double>{0.25, std::pow(10000, -0.25) / 4, 0.0025, std::pow(10000, -0.75) / 4}));
    // Wavelengths 6.28, 62.8, 628 and 6283 against 100 / 2 and 100 / 0.5: the first is kept, the second interpolated, the others are slowed
    // down.
    config.rotary_stretch = {RotaryScaling::Llama3, 4, 0.5, 2, 100};
    const std::vector<double> found = rotary_frequencies(rotary_rule(config, 0), 1);
    const double between = (100 / (2 * std::numbers::pi / 0.1) - 0.5) / 1.5;
    EXPECT_EQ(found[0], 1);
    EXPECT_NEAR(found[1], (1 - between) * 0.1 / 4 + between * 0.1, 1e-15);
    EXPECT_NEAR(found[2], 0.0025, 1e-17);
    EXPECT_NEAR(found[3], 0.00025, 1e-18);
}

/// Beyond the original context the base grows with the text; up to it nothing changes.
TEST(RotaryStretch, DynamicScalingDependsOnTheLength) {
    Config config;
    config.d_model = 8;
    config.num_heads = 1;
    config.position = PositionKind::Rotary;
    config.rotary_stretch = {RotaryScaling::Dynamic, 2, 1, 4, 100};
    const RotaryRule rule = rotary_rule(config, 0), plain{10000, 8, {}};
    EXPECT_EQ(rotary_frequencies(rule, 100), rotary_frequencies(plain, 100));
    for (const std::int64_t tokens : {101, 300}) {
        const double base = 10000 * std::pow(2 * static_cast<double>(tokens) / 100 - 1, 8.0 / 6);
        const std::vector<double> found = rotary_frequencies(rule, tokens);
        for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(found[i], std::pow(base, -static_cast<double>(i) / 4), 1e-15) << tokens;
    }
    EXPECT_TRUE(same_frequencies(rule, 1, 100));
    EXPECT_FALSE(same_frequencies(rule, 100, 101));
    EXPECT_FALSE(same_frequencies(rule, 300, 301));
    EXPECT_TRUE(same_frequencies(plain, 1, 1000));
    config.d_model = 2;
    EXPECT_THROW(validate(config), ConfigError) << "one pair has no exponent";
}

TEST(RotaryStretch, TheFastPathAgreesWithTheReferenceAndMatters) {
    int differ = 0;
    for (const RotaryScaling kind : {RotaryScaling::Linear, RotaryScaling::Llama3})
        for (unsigned seed = 0; seed < 60; ++seed) {
            SCOPED_TRACE(seed);
            RandomModel model = stretched_model(seed, kind);
            const Trace<double> trace = model.trace<double>();
            EXPECT_TRUE(reference::verify(trace, 1e-11, 1e-11).ok);
            model.config.rotary_stretch = {};
            const Trace<double> plain = model.trace<double>();
            const auto a = trace.stages.back().value.values(), b = plain.stages.back().value.values();
            differ += std::equal(a.begin(), a.end(), b.begin(), b.end()) ? 0 : 1;
        }
    EXPECT_GT(differ, 40);
}

TEST(RotaryStretch, IsExplainedAndWritten) {
    for (unsigned seed = 0; seed < 10; ++seed) {
        const RandomModel model = stretched_model(seed, RotaryScaling::Llama3);
        const Trace<double> trace = model.trace<double>();
        EXPECT_EQ(config_from_json(to_json(model.config).dump(), "test"), model.config);
        for (const auto& stage : trace.stages) {
            if (stage.id.stage != Stage::QRotated || stage.value.empty()) continue;
            const CellRef cell{stage.id, "", {0, 0, stage.value.shape()[2].size - 1, stage.value.shape()[3].size - 1}};
            const Provenance provenance = explain(trace, cell);
            EXPECT_NEAR(provenance.result, stage.value(0, 0, cell.index[2], cell.index[3]), 1e-9);
        }
    }
    Config wrong = stretched_model(1, RotaryScaling::Linear).config;
    wrong.rotary_stretch.factor = 0.5;
    EXPECT_THROW(validate(wrong), ConfigError);
    wrong.rotary_stretch = {RotaryScaling::Llama3, 2, 4, 4, 8};
    EXPECT_THROW(validate(wrong), ConfigError);
}

}  // namespace
}  // namespace attn
