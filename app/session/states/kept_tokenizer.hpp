#pragma once
/// The tokenizer of a setup without a published model, kept until another one is asked for: putting one of pieces together takes longer
/// than everything that follows a typed letter.

#include <optional>

#include "app/session/states/state.hpp"
#include "engine/tokenizer/tokenizer.hpp"

namespace attn::app {

/// For one thread.
class KeptTokenizer {
public:
    /// Valid until the next call. Throws ConfigError as Tokenizer does.
    const Tokenizer& of(const Setup& setup);

private:
    std::optional<Tokenizer> tokenizer_;
};

}  // namespace attn::app
