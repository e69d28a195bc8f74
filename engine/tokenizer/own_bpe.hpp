#pragma once
/// Byte-pair encoding trained on the user's text: splits words like GPT-2, then repeatedly merges the most frequent pair (Sennrich et al.,
/// 2016). Ties go to the pair with the lowest ids, as in the tokenizers library, models/bpe/trainer.rs.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/tokenizer/model_tokenizer.hpp"

namespace attn {

/// The number of byte tokens, which come first in every vocabulary, and the largest vocabulary.
inline constexpr std::int64_t kByteTokens = 256, kMostOwnTokens = 65'536;

/// The tokens by id, as bytes: the 256 bytes in GPT-2's order, then the result of each merge, by rank. Fewer than `size` if no pair occurs
/// twice any more. Throws ConfigError for a size beyond these limits or a text beyond kMaxTextBytes.
std::vector<std::string> train_bpe(std::string_view text, std::int64_t size);

/// The tokenizer of such a vocabulary. Its order implies the merges: every token after the bytes must consist of the two earlier tokens to
/// which the merges before it reduce its bytes. Throws ConfigError naming the first token for which that is not true.
std::shared_ptr<const ModelTokenizer> own_bpe(std::span<const std::string> tokens);

}  // namespace attn
