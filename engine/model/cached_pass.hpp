#pragma once
/// Logits of the token that follows a text which grows, or changes at its end: what was computed of its beginning is kept.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <vector>

#include "engine/attention/key_value_cache.hpp"
#include "engine/model/pass_masks.hpp"
#include "engine/model/program.hpp"

namespace attn {

/// Whether a text of `before` tokens that becomes one of `after` keeps what was computed for it: stretched rotary positions may turn longer
/// texts by other frequencies.
bool keeps_positions(const Plan& plan, std::int64_t before, std::int64_t after);

/// Whether a position's numbers never change when text is added behind it, so that they can be kept: in a decoder-only model under the
/// causal mask alone, with neither mistakes nor edits nor dropout nor biases of ranges of distances.
bool can_cache(const Config& config, const ForwardSettings& settings);

/// A text with the keys and values of its tokens.
template <class Scalar>
struct TextCache {
    std::vector<std::int32_t> text;
    std::optional<KeyValueCache<Scalar>> keys_and_values{};  ///< none of an empty text
    std::size_t bytes() const { return keys_and_values ? keys_and_values->bytes() : 0; }
};

/// Passes over one text from one position to another. The numbers are, bit for bit, those of a ModelPass over all of the text.
template <class Scalar>
class CachedPass {
public:
    /// Of a model with an output head; `parameters` have to outlive this. Throws ConfigError for what can_cache() denies, a model without
    /// a head, or settings as require_settings() does. Passes throw Cancelled once `stop` is requested. `known` is what release() gave of
    /// the same parameters and settings.
    CachedPass(const Parameters<Scalar>& parameters, const ForwardSettings& settings, std::stop_token stop = {},
               TextCache<Scalar> known = {});
    CachedPass(const CachedPass&) = delete;
    CachedPass& operator=(const CachedPass&) = delete;

    /// Tokens of the text so far.
    std::int64_t length() const { return cache_.length(); }
    /// Hands over what is known of the text so far; the pass is of no more use.
    TextCache<Scalar> release();
    /// Leaves the first `length` tokens, at most length().
    void shrink(std::int64_t length);
    /// Adds at least one token and returns the logits [V] after the last one, valid until the next call. Throws ConfigError when the text
    /// becomes longer than the context, Error for an id outside the vocabulary; the text then stays what it was.
    std::span<const Scalar> extend(std::span<const std::int32_t> ids);
    /// The same for a whole text, at least one token: only what comes after the beginning that it shares with the last one is computed.
    std::span<const Scalar> logits_after(std::span<const std::int32_t> text);

private:
    KeyValueCache<Scalar> empty_cache() const;

    const Weights weights_;
    const Plan plan_;
    const ForwardSettings settings_;
    Tap<Scalar> tap_;
    Program<Scalar> program_;
    KeyValueCache<Scalar> cache_;
    std::size_t logits_;              ///< their place
    std::size_t head_;                ///< the first of the nodes that make them of the last row alone
    std::vector<std::int32_t> text_;  ///< whose keys and values are kept
    TokenBatch added_;
};

}  // namespace attn
