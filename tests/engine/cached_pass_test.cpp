#include "engine/model/cached_pass.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <stop_token>
#include <utility>

#include "engine/model/model_pass.hpp"
#include "engine/model/text_rules.hpp"
#include "engine/ops/parallel.hpp"
#include "engine/reference/verify.hpp"
#include "engine/tensor/error.hpp"
#include "tests/support/random_model.hpp"

namespace attn {
namespace {

using testing_support::RandomModel;
using Ids = std::vector<std::int32_t>;

/// A generating model with settings that allow caching.
RandomModel random_writer(unsigned seed) {
    RandomModel random(seed, seed % 3 != 0);
    random.config.architecture = Architecture::DecoderOnly;
    random.config.lm_head = true;
    if (random.config.position == PositionKind::Buckets) random.config.position = PositionKind::None;
    const double temperature = random.settings.temperature;
    random.settings = {};
    random.settings.masks.causal = true;
    random.settings.temperature = temperature;
    return random;
}

Ids random_ids(RandomModel& random, std::int64_t count) {
    Ids ids(static_cast<std::size_t>(count));
    for (std::int32_t& id : ids) id = static_cast<std::int32_t>(random.between(0, random.config.vocab_size - 1));
    return ids;
}

template <class Scalar>
std::vector<Scalar> copied(std::span<const Scalar> logits) {
    return {logits.begin(), logits.end()};
}

/// The logits after the last token, from a pass over the whole text.
template <class Scalar>
std::vector<Scalar> full_pass(const Parameters<Scalar>& parameters, const Ids& text, const ForwardSettings& settings) {
    ModelPass<Scalar> pass(parameters);
    Tap<Scalar> tap;
    const auto length = static_cast<std::int64_t>(text.size());
    pass.forward({length, text, {length}}, {}, settings, tap);
    return copied(std::span<const Scalar>(pass.logits().values()).last(static_cast<std::size_t>(parameters.config().vocab_size)));
}

/// The same from the stages recorded in a trace.
std::vector<float> recorded(const Parameters<float>& parameters, const Ids& text, const ForwardSettings& settings) {
    const auto length = static_cast<std::int64_t>(text.size());
    const Trace<float> trace =
        trace_forward<float>(std::make_shared<Parameters<float>>(parameters), {length, text, {length}}, {}, settings);
    return copied(std::span<const float>(trace.find(trace.plan->logits())->value.values())
                      .last(static_cast<std::size_t>(parameters.config().vocab_size)));
}

bool agree(const std::vector<float>& a, const std::vector<float>& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [](float x, float y) { return std::abs(x - y) <= reference::kFloatAtol + reference::kFloatRtol * std::abs(y); });
}

template <class Scalar>
void expect_full_pass(unsigned seed) {
    RandomModel random = random_writer(seed);
    const Parameters<Scalar> parameters = random.parameters<Scalar>();
    const Ids text = random_ids(random, random.config.context_length);
    CachedPass<Scalar> pass(parameters, random.settings);
    for (std::int64_t at = 0; at < random.config.context_length;) {
        const std::int64_t next = random.between(at + 1, random.coin() ? at + 1 : random.config.context_length);
        const std::vector<Scalar> logits = copied(pass.extend(std::span(text).subspan(at, next - at)));
        const Ids so_far(text.begin(), text.begin() + next);
        EXPECT_EQ(logits, full_pass(parameters, so_far, random.settings)) << "seed " << seed << ", tokens " << at << " to " << next;
        if constexpr (sizeof(Scalar) == sizeof(float)) {
            EXPECT_TRUE(agree(logits, recorded(parameters, so_far, random.settings))) << "seed " << seed;
        }
        EXPECT_EQ(pass.length(), at = next);
    }
}

/// Beyond the original context length the rotary frequencies of all positions change, and change back below it.
TEST(CachedPass, BeginsAgainWhereALongTextTurnsByOtherFrequencies) {
    RandomModel random = random_writer(3);
    Config& config = random.config;
    config.context_length = 9;
    config.vocab_size = 12;
    config.d_head = 4;
    config.output_projection = true;
    config.position = PositionKind::Rotary;
    config.rotary_size = 0;
    config.layer_kinds.clear();
    const RotaryStretch long_rope{.kind = RotaryScaling::LongRope, .original_context = 5, .short_factors = {1, 1}, .long_factors = {3, 7}};
    for (const RotaryStretch& stretch : {long_rope, {.kind = RotaryScaling::Dynamic, .factor = 3, .original_context = 5}}) {
        config.rotary_stretch = stretch;
        const Parameters<float> parameters = random.parameters<float>();
        const Ids text = random_ids(random, 9);
        CachedPass<float> pass(parameters, random.settings);
        for (const std::size_t length : {3U, 5U, 6U, 9U, 4U, 8U}) {
            const Ids so_far(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(length));
            EXPECT_EQ(copied(pass.logits_after(so_far)), full_pass(parameters, so_far, random.settings)) << length;
        }
    }
}

TEST(CachedPass, GivesTheLogitsOfAFullPassAtEveryStep) {
    for (unsigned seed = 0; seed < 200; ++seed) {
        expect_full_pass<float>(seed);
        expect_full_pass<double>(seed);
    }
}

/// Large enough for complete tiles, several blocks of rows and more than one thread.
Config large_model(PositionKind position) {
    Config config;
    config.vocab_size = 1200;
    config.context_length = 150;
    config.d_model = 192;
    config.num_heads = 6;
    config.num_kv_heads = position == PositionKind::Rotary ? 2 : 0;
    config.d_ff = 500;
    config.position = position;
    config.tied_lm_head = position != PositionKind::Sinusoidal;
    return config;
}

ForwardSettings causal() {
    ForwardSettings settings;
    settings.masks.causal = true;
    return settings;
}

TEST(CachedPass, GivesTheSameBitsWithAnyNumberOfThreads) {
    for (const PositionKind position : {PositionKind::None, PositionKind::Learned, PositionKind::Sinusoidal, PositionKind::Rotary}) {
        const Config config = large_model(position);
        const Parameters<float> parameters = initial_parameters<float>(config);
        Ids text(150);
        for (std::size_t i = 0; i < text.size(); ++i) text[i] = static_cast<std::int32_t>(i * i * 7 % 1200);
        for (const int threads : {1, 3}) {
            const ThreadScope scope(threads);
            CachedPass<float> pass(parameters, causal());
            std::int64_t at = 0;
            for (const std::int64_t next : {70, 71, 72, 100, 149, 150}) {
                const std::vector<float> logits = copied(pass.extend(std::span(text).subspan(at, next - at)));
                EXPECT_EQ(logits, full_pass(parameters, {text.begin(), text.begin() + next}, causal())) << next;
                at = next;
            }
        }
    }
}

TEST(CachedPass, ComputesOnlyWhatFollowsASharedBeginning) {
    for (unsigned seed = 0; seed < 60; ++seed) {
        RandomModel random = random_writer(seed);
        const Parameters<float> parameters = random.parameters<float>();
        CachedPass<float> pass(parameters, random.settings), cut(parameters, random.settings);
        Ids text = random_ids(random, random.config.context_length);
        for (int round = 0; round < 6; ++round) {
            const std::int64_t kept = random.between(0, static_cast<std::int64_t>(text.size()));
            text.resize(static_cast<std::size_t>(kept));
            const Ids more = random_ids(random, random.between(kept == 0 ? 1 : 0, random.config.context_length - kept));
            text.insert(text.end(), more.begin(), more.end());
            const std::vector<float> expected = full_pass(parameters, text, random.settings);
            EXPECT_EQ(copied(pass.logits_after(text)), expected) << "seed " << seed;
            EXPECT_EQ(pass.length(), static_cast<std::int64_t>(text.size()));
            if (more.empty()) continue;
            cut.shrink(std::min(kept, cut.length()));
            EXPECT_EQ(copied(cut.extend(std::span(text).subspan(static_cast<std::size_t>(cut.length())))), expected) << "seed " << seed;
        }
    }
}

TEST(KeyValueCache, KeepsWhatWasPutAndAdvanced) {
    KeyValueCache<float> cache(2, 2, 1);
    const std::vector<float> first{1, 2, 3, 4, 5, 6}, second{7, 8};  // [positions,2 heads,1]
    const auto heads = [](const std::vector<float>& rows) { return HeadsView<const float>{rows.data(), 0, 1, 2}; };
    for (const int layer : {0, 1}) cache.put(layer, heads(first), heads(first), 3);
    EXPECT_EQ(cache.length(), 0) << "not yet advanced";
    cache.advance(3);
    cache.put(0, heads(second), heads(second), 1);
    EXPECT_EQ(*cache.keys(0).at(0, 1, 3), 8);
    EXPECT_EQ(*cache.values(0).at(0, 0, 2), 5);
    cache.shrink(1);
    cache.put(1, heads(second), heads(first), 1);
    EXPECT_EQ(*cache.keys(1).at(0, 0, 0), 1);
    EXPECT_EQ(*cache.keys(1).at(0, 0, 1), 7);
    EXPECT_EQ(*cache.values(1).at(0, 1, 1), 2);
}

/// However often the rows have to move to make room.
TEST(KeyValueCache, GrowsOnePositionAtATime) {
    constexpr std::int64_t kHeads = 3, kSize = 2, kPositions = 200;
    const auto number = [](std::int64_t t, std::int64_t h, std::int64_t d) { return static_cast<float>((t * kHeads + h) * kSize + d); };
    KeyValueCache<float> cache(1, kHeads, kSize);
    for (std::int64_t t = 0; t < kPositions; ++t) {
        std::vector<float> row;
        for (std::int64_t h = 0; h < kHeads; ++h)
            for (std::int64_t d = 0; d < kSize; ++d) row.push_back(number(t, h, d));
        const HeadsView<const float> heads{row.data(), 0, kSize, kHeads * kSize};
        cache.put(0, heads, heads, 1);
        cache.advance(1);
    }
    for (std::int64_t t = 0; t < kPositions; ++t)
        for (std::int64_t h = 0; h < kHeads; ++h)
            for (std::int64_t d = 0; d < kSize; ++d) {
                EXPECT_EQ(cache.keys(0).at(0, h, t)[d], number(t, h, d));
                EXPECT_EQ(cache.values(0).at(0, h, t)[d], number(t, h, d));
            }
}

TEST(CachedPass, OtherKeysGiveOtherLogits) {
    // Negative control: the cache affects the result.
    for (const PositionKind position : {PositionKind::Learned, PositionKind::Rotary}) {
        const Parameters<float> parameters = initial_parameters<float>(large_model(position));
        CachedPass<float> right(parameters, causal()), wrong(parameters, causal());
        right.extend(Ids{3, 1, 4, 1, 5});
        wrong.extend(Ids{3, 2, 4, 1, 5});
        EXPECT_FALSE(agree(copied(right.extend(Ids{9})), copied(wrong.extend(Ids{9}))));
    }
}

TEST(CachedPass, RefusesWhatChangesEarlierPositions) {
    Config config = large_model(PositionKind::Learned);
    EXPECT_TRUE(prefix_stays(config, causal()));
    const auto denies = [&](const auto& change) {
        ForwardSettings settings = causal();
        change(settings);
        EXPECT_FALSE(prefix_stays(config, settings));
        EXPECT_THROW(CachedPass<float>(initial_parameters<float>(config), settings), ConfigError);
    };
    denies([](ForwardSettings& s) { s.masks.causal = false; });
    denies([](ForwardSettings& s) { s.masks.window = 3; });
    denies([](ForwardSettings& s) { s.masks.prefix = 2; });
    denies([](ForwardSettings& s) { s.masks.block = 2; });
    denies([](ForwardSettings& s) { s.masks.painted.push_back({1, 0}); });
    denies([](ForwardSettings& s) { s.mistake = Mistake::NoScale; });
    denies([](ForwardSettings& s) { s.edits.emplace_back(); });
    denies([](ForwardSettings& s) { s.dropout.residual = 0.1; });
    ForwardSettings no_padding = causal();
    no_padding.masks.padding = false;
    EXPECT_TRUE(prefix_stays(config, no_padding));
    config.architecture = Architecture::Encoder;
    denies([](ForwardSettings&) {});
    config.architecture = Architecture::DecoderOnly;
    config.lm_head = false;
    EXPECT_THROW(CachedPass<float>(initial_parameters<float>(config), causal()), ConfigError);
}

TEST(CachedPass, StaysWhatItWasAfterAnError) {
    Config config = large_model(PositionKind::Rotary);
    config.context_length = 6;
    const Parameters<float> parameters = initial_parameters<float>(config);
    std::stop_source source;
    CachedPass<float> pass(parameters, causal()), stopped(parameters, causal(), source.get_token());
    EXPECT_THROW(pass.extend({}), Error);
    EXPECT_THROW(pass.logits_after({}), Error);
    pass.extend(Ids{1, 2, 3});
    EXPECT_THROW(pass.extend(Ids{4, 5, 6, 7}), ConfigError);
    EXPECT_THROW(pass.extend(Ids{4, 1200}), Error);
    EXPECT_THROW(pass.extend(Ids{-1}), Error);
    EXPECT_THROW(pass.shrink(4), Error);
    EXPECT_THROW(pass.shrink(-1), Error);
    EXPECT_EQ(pass.length(), 3);
    EXPECT_EQ(copied(pass.extend(Ids{4, 5, 6})), full_pass(parameters, {1, 2, 3, 4, 5, 6}, causal()));
    stopped.extend(Ids{1, 2});
    source.request_stop();
    EXPECT_THROW(stopped.extend(Ids{3}), Cancelled);
    EXPECT_EQ(stopped.length(), 2);
}

}  // namespace
}  // namespace attn
