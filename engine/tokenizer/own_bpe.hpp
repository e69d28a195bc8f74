#pragma once
/// Byte-pair encoding trained on a text of one's own: words are cut as GPT-2 does, and the commonest pair is joined again and again.
/// Sennrich et al. 2016; of equally common pairs that with the lowest ids first, as in the tokenizers library, models/bpe/trainer.rs.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/tokenizer/model_tokenizer.hpp"

namespace attn {

/// The single bytes, which come first in every vocabulary, and the largest one.
inline constexpr std::int64_t kByteTokens = 256, kMostOwnTokens = 65'536;

/// The tokens by their ids, as bytes: the 256 bytes in GPT-2's order, then what each join made, by rank. Fewer than `size` where no pair
/// occurs twice any more. Throws ConfigError for a size beyond the limits above or a text beyond kMaxTextBytes.
std::vector<std::string> train_bpe(std::string_view text, std::int64_t size);

/// The tokenizer of such a vocabulary, whose order says what is joined: every token is that of two before it, into which the joins before
/// it turn its bytes. Throws ConfigError naming the first token of which that is not true.
std::shared_ptr<const ModelTokenizer> own_bpe(std::span<const std::string> tokens);

}  // namespace attn
