#include "engine/plan/config.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "engine/tensor/error.hpp"
#include "engine/weights/parameters.hpp"

namespace attn {
namespace {

using testing::HasSubstr;

std::string refusal(const std::function<void(Config&)>& change) {
    Config config;
    change(config);
    try {
        validate(config);
    } catch (const ConfigError& error) {
        return error.what();
    }
    return "accepted";
}

TEST(Config, SaysWhatIsWrongAndWhatWouldBeRight) {
    EXPECT_EQ(refusal([](Config&) {}), "accepted");
    EXPECT_EQ(refusal([](Config& c) { c.d_model = 30; }), "d_model 30 is not divisible by 4 heads: 28 or 32 would be");
    EXPECT_EQ(refusal([](Config& c) { c.d_model = 3; }), "d_model 3 is not divisible by 4 heads: 4 would be");
    EXPECT_EQ(refusal([](Config& c) { c.d_model = 30, c.d_head = 5; }), "accepted") << "a head size of its own needs no division";
    EXPECT_THAT(refusal([](Config& c) { c.d_model = 30, c.d_head = 5, c.output_projection = false; }), HasSubstr("20 (4 x 5)"));
    for (std::int64_t Config::*field :
         {&Config::vocab_size, &Config::context_length, &Config::d_model, &Config::num_heads, &Config::num_layers, &Config::d_ff})
        for (const std::int64_t bad : {std::int64_t{0}, std::int64_t{-1}, std::int64_t{1} << 62})
            EXPECT_THAT(refusal([&](Config& c) { c.*field = bad; }), HasSubstr(std::to_string(bad)));
    EXPECT_THAT(refusal([](Config& c) { c.d_head = -1; }), HasSubstr("d_head"));
    EXPECT_THAT(refusal([](Config& c) { c.any_length = true, c.position = PositionKind::Learned; }), HasSubstr("position table"));
    EXPECT_EQ(refusal([](Config& c) { c.any_length = true, c.position = PositionKind::Rotary; }), "accepted");
    for (const double bad : {0.0, -1.0, std::nan(""), HUGE_VAL})
        EXPECT_THAT(refusal([&](Config& c) { c.layer_norm_eps = bad; }), HasSubstr("layer_norm_eps"));
    EXPECT_THAT(refusal([](Config& c) { c.d_model = 65536, c.d_ff = 262144, c.num_layers = 1000; }), HasSubstr("billion parameters"));
}

TEST(ParameterLayout, ListsEveryParameterOnceWithoutGaps) {
    Config config;
    config.architecture = Architecture::EncoderDecoder;
    config.tied_lm_head = false;
    const ParameterLayout layout(config);
    std::int64_t offset = 0;
    for (const ParameterInfo& info : layout.entries()) {
        EXPECT_EQ(info.offset, offset) << info.name;
        EXPECT_EQ(info.decayed, info.shape.rank() == 2) << info.name;
        EXPECT_EQ(layout.find(info.name), &info);
        offset += info.shape.count();
    }
    EXPECT_EQ(layout.count(), offset);
    EXPECT_NE(layout.find("decoder.layers.1.cross_attention.kv.weight"), nullptr);
    EXPECT_EQ(layout.find("encoder.layers.1.cross_attention.kv.weight"), nullptr);
    EXPECT_EQ(layout.find("layers.0.norm_1.weight"), nullptr);
}

struct Moments {
    double mean = 0, deviation = 0, largest = 0;
};
Moments moments_of(const Parameters<double>& parameters, const char* name) {
    Moments out;
    const double* values = parameters.find(name);
    const std::int64_t n = parameters.layout().find(name)->shape.count();
    for (std::int64_t i = 0; i < n; ++i) {
        out.mean += values[i] / static_cast<double>(n);
        out.deviation += values[i] * values[i] / static_cast<double>(n);
        out.largest = std::max(out.largest, std::abs(values[i]));
    }
    out.deviation = std::sqrt(out.deviation);
    return out;
}

TEST(InitialParameters, HaveTheDocumentedSizes) {
    Config config;
    config.vocab_size = 100;
    config.d_model = 64;
    config.d_ff = 256;
    config.init = Init::Gpt2;
    const auto gpt2 = initial_parameters<double>(config);
    EXPECT_NEAR(moments_of(gpt2, "layers.1.ffn.in.weight").deviation, 0.02, 0.001);
    EXPECT_NEAR(moments_of(gpt2, "layers.1.ffn.out.weight").deviation, 0.01, 0.0005) << "divided by sqrt(2 x 2 layers)";
    EXPECT_EQ(moments_of(gpt2, "layers.1.ffn.in.bias").largest, 0);
    EXPECT_EQ(moments_of(gpt2, "final_norm.weight").mean, 1);
    config.init = Init::Transformer;
    const auto xavier = initial_parameters<double>(config);
    const double bound = std::sqrt(6.0 / (64 + 64));
    EXPECT_LE(moments_of(xavier, "layers.0.attention.qkv.weight").largest, bound);
    EXPECT_NEAR(moments_of(xavier, "layers.0.attention.qkv.weight").deviation, bound / std::sqrt(3.0), 0.01);
    EXPECT_NEAR(moments_of(xavier, "token_embedding.weight").deviation, 0.125, 0.005);
    config.init = Init::Vivid;
    EXPECT_NEAR(moments_of(initial_parameters<double>(config), "layers.0.attention.qkv.weight").deviation, 0.125, 0.005);
}

TEST(InitialParameters, FollowTheSeedAndAreTheSameEverywhere) {
    Config config;
    const auto a = initial_parameters<double>(config), b = initial_parameters<double>(config);
    EXPECT_TRUE(std::equal(a.data(), a.data() + a.count(), b.data()));
    config.seed = 43;
    const auto c = initial_parameters<double>(config);
    EXPECT_FALSE(std::equal(a.data(), a.data() + a.count(), c.data()));
    config.seed = 42;
    config.separate_heads = true;
    EXPECT_EQ(initial_parameters<double>(config).count(), a.count()) << "the storage stays packed";
}

}  // namespace
}  // namespace attn
