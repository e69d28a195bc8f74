#pragma once
/// A cached tokenizer for setups without a published model: building one takes longer than everything else a keystroke triggers.

#include <optional>

#include "app/session/states/state.hpp"
#include "engine/tokenizer/tokenizer.hpp"

namespace attn::app {

/// Not thread-safe.
class KeptTokenizer {
public:
    /// The reference is valid until the next call. Throws ConfigError as Tokenizer does.
    const Tokenizer& of(const Setup& setup);

private:
    std::optional<Tokenizer> tokenizer_;
};

}  // namespace attn::app
