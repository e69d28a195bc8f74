#pragma once
/// Helpers for tests of outlines and recomputed parts.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "engine/trace/trace.hpp"
#include "tests/support/random_model.hpp"

namespace attn::testing_support {

/// Bit for bit.
inline void expect_same_stage(const RecordedStage<float>& expected, const RecordedStage<float>& found) {
    SCOPED_TRACE(tensor_name(expected.id));
    ASSERT_EQ(expected.id, found.id);
    ASSERT_EQ(expected.value.shape(), found.value.shape());
    // Compare bits, so that NaN equals itself.
    EXPECT_EQ(std::memcmp(expected.value.data(), found.value.data(), sizeof(float) * static_cast<std::size_t>(expected.value.size())), 0);
    ASSERT_EQ(expected.mask == nullptr, found.mask == nullptr);
    const Shape& shape = expected.value.shape();
    for (std::int64_t t = 0; expected.mask != nullptr && t < shape[2].size; ++t)
        for (std::int64_t s = 0; s < shape[3].size; ++s)
            EXPECT_EQ(expected.mask->may_attend(0, 0, t, s), found.mask->may_attend(0, 0, t, s));
    ASSERT_EQ(expected.edited == nullptr, found.edited == nullptr);
    if (expected.edited != nullptr) {
        EXPECT_EQ(expected.edited->by, found.edited->by);
    }
}

/// A model in which appending text does not change earlier positions, with a text of `length` tokens.
inline RandomModel growing_model(unsigned seed, std::int64_t length) {
    RandomModel model(seed, seed % 2 == 0);
    model.config.architecture = Architecture::DecoderOnly;
    const double temperature = model.settings.temperature;
    model.settings = {};
    model.settings.masks.causal = true;
    model.settings.temperature = temperature;
    model.config.context_length = std::max(model.config.context_length, length);
    model.tokens = {length, std::vector<std::int32_t>(static_cast<std::size_t>(length)), {length}};
    for (std::int32_t& id : model.tokens.ids) id = static_cast<std::int32_t>(model.between(0, model.config.vocab_size - 1));
    return model;
}

/// The first `kept` tokens of a text, followed by different ones.
inline TokenBatch changed_behind(RandomModel& model, std::int64_t kept, std::int64_t length) {
    TokenBatch tokens{length, {model.tokens.ids.begin(), model.tokens.ids.begin() + kept}, {length}};
    while (std::ssize(tokens.ids) < length) tokens.ids.push_back(static_cast<std::int32_t>(model.between(0, model.config.vocab_size - 1)));
    return tokens;
}

}  // namespace attn::testing_support
