#include "app/session/values/tokenizer_facts.hpp"

#include <string_view>

#include "engine/tokenizer/model_tokenizer.hpp"

namespace attn::app {

TokenizerFacts facts_of(const ModelTokenizer& tokenizer) {
    const bool spells_bytes = tokenizer.byte_level() && std::string_view(tokenizer.model_type()) == "BPE";
    return {spells_bytes ? "byte-level BPE" : tokenizer.model_type(), tokenizer.size(), tokenizer.merges(),
            tokenizer.added_tokens().size()};
}

}  // namespace attn::app
