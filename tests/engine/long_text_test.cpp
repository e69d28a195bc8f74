/// Passes over long texts that show no maps: their memory grows with the length, not with its square, and they can be stopped.

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <stop_token>
#include <vector>

#include "engine/generate/generate.hpp"
#include "engine/model/cached_pass.hpp"
#include "engine/model/continued_outline.hpp"
#include "engine/model/model_pass.hpp"
#include "engine/model/outline.hpp"
#include "engine/model/recomputation.hpp"
#include "engine/ops/parallel.hpp"
#include "engine/reference/verify.hpp"
#include "engine/tensor/error.hpp"
#include "tests/engine/io_support.hpp"
#include "tests/engine/outlined_models.hpp"

namespace attn {
namespace {

constexpr std::int64_t kLong = 8000;
/// A mask of bytes alone would take 64 MB.
constexpr std::size_t kMost = std::size_t{24} << 20;

Config small_config(Architecture architecture) {
    Config config;
    config.architecture = architecture;
    config.vocab_size = 5;
    config.context_length = kLong;
    config.position = PositionKind::None;
    config.d_model = 4;
    config.num_heads = 2;
    config.num_layers = 2;
    config.d_ff = 4;
    return config;
}

TokenBatch text_of(std::int64_t length, std::int64_t sequences = 1) {
    TokenBatch tokens{length, std::vector<std::int32_t>(static_cast<std::size_t>(length * sequences)), {}};
    for (std::size_t i = 0; i < tokens.ids.size(); ++i) tokens.ids[i] = static_cast<std::int32_t>(i * i % 5);
    for (std::int64_t b = 0; b < sequences; ++b) tokens.lengths.push_back(length - b);
    return tokens;
}

ForwardSettings causal_mask_alone() {
    ForwardSettings settings;
    settings.masks.causal = true;
    return settings;
}

class LongText : public testing::Test {
protected:
    std::shared_ptr<const Parameters<float>> parameters_of(const Config& config) const {
        return std::make_shared<const Parameters<float>>(initial_parameters<float>(config));
    }
    ThreadScope alone_{1};  // so that the watch sees every allocation
};

TEST_F(LongText, IsOutlinedInLittleMemory) {
    const auto parameters = parameters_of(small_config(Architecture::DecoderOnly));
    std::vector<ForwardSettings> all(4, causal_mask_alone());
    all[1].masks.window = 100;
    all[2].masks.painted = {{kLong - 1, 0}};
    all[3].masks.causal = false;
    for (std::size_t i = 0; i < all.size(); ++i) {
        SCOPED_TRACE(i);
        const test::AllocationWatch watch;
        trace_outline<float>(parameters, text_of(kLong), {}, all[i]);
        EXPECT_LT(watch.peak(), kMost);
    }
    const test::AllocationWatch watch;
    trace_outline<float>(parameters, text_of(kLong / 2, 2), {}, causal_mask_alone());
    EXPECT_LT(watch.peak(), kMost) << "several texts, padded";
}

TEST_F(LongText, IsOutlinedInLittleMemoryBySomeOtherModels) {
    const Config encoder = small_config(Architecture::Encoder), both = small_config(Architecture::EncoderDecoder);
    const test::AllocationWatch watch;
    trace_outline<float>(parameters_of(encoder), text_of(kLong), {}, {});
    EXPECT_LT(watch.peak(), kMost) << "an encoder";
    trace_outline<float>(parameters_of(both), text_of(kLong), text_of(kLong), causal_mask_alone());
    EXPECT_LT(watch.peak(), kMost) << "an encoder-decoder";
    Config windows = small_config(Architecture::DecoderOnly);
    windows.layer_kinds = {{.window = 64}, {}};
    trace_outline<float>(parameters_of(windows), text_of(kLong), {}, causal_mask_alone());
    EXPECT_LT(watch.peak(), kMost) << "a layer with a window";
}

TEST_F(LongText, ContinuesAShortOneInLittleMemory) {
    const auto parameters = parameters_of(small_config(Architecture::DecoderOnly));
    const TokenBatch tokens = text_of(kLong);
    for (const std::int64_t kept : {std::int64_t{3}, kLong - 2000}) {
        SCOPED_TRACE(kept);
        const Trace<float> before =
            trace_outline<float>(parameters, {kept, {tokens.ids.begin(), tokens.ids.begin() + kept}, {kept}}, {}, causal_mask_alone());
        const test::AllocationWatch watch;
        const Trace<float> continued = continue_outline(before, tokens);
        EXPECT_LT(watch.peak(), kMost);
        const Trace<float> expected = trace_outline<float>(parameters, tokens, {}, causal_mask_alone());
        ASSERT_EQ(continued.stages.size(), expected.stages.size());
        for (std::size_t i = 0; i < expected.stages.size(); ++i)
            testing_support::expect_same_stage(expected.stages[i], continued.stages[i]);
    }
}

TEST_F(LongText, IsContinuedByTokensInLittleMemory) {
    const auto parameters = parameters_of(small_config(Architecture::DecoderOnly));
    const TokenBatch tokens = text_of(kLong - 1);
    ForwardSettings windowed = causal_mask_alone();
    windowed.masks.window = kLong;  // forbids nothing, but keys and values cannot be kept
    for (const ForwardSettings& settings : {causal_mask_alone(), windowed}) {
        const test::AllocationWatch watch;
        generate(*parameters, {tokens.ids}, settings, {.tokens = 1});
        EXPECT_LT(watch.peak(), kMost);
    }
}

TEST_F(LongText, IsVerifiedInLittleMemory) {
    const auto parameters = parameters_of(small_config(Architecture::DecoderOnly));
    ForwardSettings windowed = causal_mask_alone();
    windowed.masks.window = 100;
    const std::int64_t length = 3000;
    for (const ForwardSettings& settings : {causal_mask_alone(), windowed}) {
        const auto outline = std::make_shared<const Trace<float>>(trace_outline<float>(parameters, text_of(length), {}, settings));
        const test::AllocationWatch watch;
        Recomputation<float> again(outline, Keep::OneLayer);
        const auto show = [&](const reference::StageRowsObserver<float>& each) {
            const auto rows = [&](const StageRows<float>& shown) { each(shown.id, shown.first, shown.value, shown.mask); };
            again.show_rows_around({Stage::Weights, 1}, rows, {}, 8);
        };
        const reference::Verification found = reference::verify_part<float>(*outline, {Stage::Weights, 1}, show, 1e-5, 1e-4);
        EXPECT_EQ(found.first_failure(), nullptr);
        EXPECT_LT(watch.peak(), static_cast<std::size_t>(length * length));
    }
}

/// A pass without a backward pass keeps no maps; its numbers are the same.
TEST(WithoutMaps, LogitsAreThoseOfAPassThatKeepsMaps) {
    for (unsigned seed = 0; seed < 200; ++seed) {
        SCOPED_TRACE(seed);
        const testing_support::RandomModel model(seed, seed % 2 == 0);
        if (!model.config.lm_head) continue;
        const Parameters<float> parameters = model.parameters<float>();
        ForwardSettings settings = model.settings;
        settings.edits.clear();
        Tap<float> tap;
        ModelPass<float> keeps(parameters, Keep::Everything), forgets(parameters, Keep::OneLayer);
        for (ModelPass<float>* pass : {&keeps, &forgets}) pass->forward(model.tokens, model.source, settings, tap);
        const std::span<const float> expected = keeps.logits().values(), found = forgets.logits().values();
        ASSERT_EQ(found.size(), expected.size());
        EXPECT_EQ(std::memcmp(found.data(), expected.data(), expected.size_bytes()), 0);
    }
}

/// Counts how often progress is told after a stop was requested at the first time.
TEST(LongTextStopped, BetweenRows) {
    const Config config = small_config(Architecture::DecoderOnly);
    const auto parameters = std::make_shared<const Parameters<float>>(initial_parameters<float>(config));
    for (const std::int64_t length : {std::int64_t{4000}, kLong}) {
        std::stop_source stop;
        std::atomic<int> told{0}, after{0};
        OutlineLimits limits;
        limits.progress = [&](double share) {
            EXPECT_GE(share, 0);
            EXPECT_LE(share, 1 + 1e-9);
            if (stop.stop_requested()) ++after;
            // Half way through the attention of the first layer.
            else if (++told; share > 0.1) stop.request_stop();
        };
        EXPECT_THROW(trace_outline<float>(parameters, text_of(length), {}, causal_mask_alone(), {}, stop.get_token(), limits), Cancelled);
        EXPECT_GT(told, 10) << "progress is told in small steps";
        EXPECT_LE(after, kMostThreads) << "every thread ends with its rows";
        EXPECT_LT(after, told);
    }
}

TEST(LongTextStopped, OrComputedToItsEnd) {
    const auto parameters = std::make_shared<const Parameters<float>>(initial_parameters<float>(small_config(Architecture::DecoderOnly)));
    const ThreadScope alone(1);
    std::vector<double> shares;
    OutlineLimits limits;
    limits.progress = [&](double share) { shares.push_back(share); };
    trace_outline<float>(parameters, text_of(4000), {}, causal_mask_alone(), {}, {}, limits);
    ASSERT_FALSE(shares.empty());
    EXPECT_TRUE(std::is_sorted(shares.begin(), shares.end()));
    EXPECT_GT(shares.back(), 0.99);
}

}  // namespace
}  // namespace attn
