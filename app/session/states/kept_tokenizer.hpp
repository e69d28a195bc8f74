#pragma once
/// How one speaks to the model of a setup, whether it is published or our own: the only place that asks which.

#include <memory>
#include <string>
#include <vector>

#include "app/session/states/state.hpp"
#include "app/session/states/text_model.hpp"

namespace attn::app {

/// Takes no time, unlike KeptTokenizer.
const TextConventions& conventions_of(const Setup& setup);

/// Whether an id stands for the same token in both, as far as that is known without building a vocabulary.
bool same_ids(const Setup& a, const Setup& b);

/// All texts whose words a setup reads.
std::vector<std::string> texts_read(const Setup& setup);

/// Keeps the tokenizer of our own models: building one takes longer than everything else a keystroke triggers. Not thread-safe.
class KeptTokenizer {
public:
    /// With the new words of the setup's texts. Throws ConfigError as Tokenizer does.
    std::shared_ptr<const TextModel> of(const Setup& setup);

private:
    std::shared_ptr<const TextModel> own_;    ///< null: none yet
    std::shared_ptr<const TextModel> reads_;  ///< the same with the new words of the texts
    std::vector<std::string> vocabulary_;     ///< from which `own_` was made
    TokenizerKind kind_ = TokenizerKind::Word;
    bool special_tokens_ = true;
};

}  // namespace attn::app
