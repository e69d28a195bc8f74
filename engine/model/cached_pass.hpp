#pragma once
/// Next-token logits of a text that grows or changes at its end, with a KV cache for the part that stays the same.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <vector>

#include "engine/attention/key_value_cache.hpp"
#include "engine/model/program.hpp"

namespace attn {

/// A text and the KV cache of its tokens.
template <class Scalar>
struct TextCache {
    std::vector<std::int32_t> text;
    std::optional<KeyValueCache<Scalar>> keys_and_values{};  ///< none for an empty text
    std::size_t bytes() const { return keys_and_values ? keys_and_values->bytes() : 0; }
};

/// Passes over a single text, from one position to another. Bit-identical to a ModelPass over the whole text.
template <class Scalar>
class CachedPass {
public:
    /// `parameters` must outlive this. Throws ConfigError if prefix_stays() is false, if the model has no output head, or for settings that
    /// require_settings() rejects. Passes throw Cancelled once `stop` is requested. `known` is the result of an earlier release() for the
    /// same parameters and settings.
    CachedPass(const Parameters<Scalar>& parameters, const ForwardSettings& settings, std::stop_token stop = {},
               TextCache<Scalar> known = {});
    CachedPass(const CachedPass&) = delete;
    CachedPass& operator=(const CachedPass&) = delete;

    /// Number of tokens so far.
    std::int64_t length() const { return cache_.length(); }
    /// Hands over the cache; this object must not be used afterwards.
    TextCache<Scalar> release();
    /// Keeps the first `length` tokens, at most length().
    void shrink(std::int64_t length);
    /// Appends at least one token and returns the logits [V] after the last one, valid until the next call. Throws ConfigError if the text
    /// would exceed the context and Error for an id outside the vocabulary; the text is then unchanged.
    std::span<const Scalar> extend(std::span<const std::int32_t> ids);
    /// The same for a whole text of at least one token: only what follows the prefix it shares with the previous text is computed.
    std::span<const Scalar> logits_after(std::span<const std::int32_t> text);

private:
    KeyValueCache<Scalar> empty_cache() const;

    const Weights weights_;
    const Plan plan_;
    const ForwardSettings settings_;
    const std::stop_token stop_;
    Program<Scalar> program_;
    KeyValueCache<Scalar> cache_;
    std::size_t logits_;              ///< index of the node
    std::size_t head_;                ///< first node that is computed for the last row only
    std::vector<std::int32_t> text_;  ///< the cached tokens
};

}  // namespace attn
