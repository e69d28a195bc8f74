#pragma once
/// Tokenizers whose vocabulary is built from texts: characters, words, bytes, or pieces that byte-pair encoding joins.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "engine/tensor/token_batch.hpp"

namespace attn {

class ModelTokenizer;

enum class TokenizerKind : std::uint8_t {
    Character,  ///< Unicode code points; a byte that is not part of valid UTF-8 is a symbol of its own
    Word,       ///< runs of letters and digits (an apostrophe between letters belongs to them), every other visible symbol alone
    Byte,
    Bpe,  ///< pieces of words, joined from bytes (own_bpe.hpp)
};
/// "character", "word", "byte", "bpe"
const char* tokenizer_name(TokenizerKind kind);

/// One symbol of a text and where it stands there: bytes begin..end.
struct TextToken {
    std::int32_t id = 0;
    bool unknown = false;       ///< the vocabulary lacks it; `id` is then the unknown token's
    bool invalid_utf8 = false;  ///< a Character or Word token that is a stray byte
    std::size_t begin = 0, end = 0;
    bool operator==(const TextToken&) const = default;
};

/// Longest text and largest vocabulary accepted.
inline constexpr std::size_t kMaxTextBytes = std::size_t{64} << 20;
inline constexpr std::size_t kMaxVocabulary = std::size_t{1} << 20;

class Tokenizer {
public:
    /// Ids in order of first appearance in `texts`; with `special_tokens` id 0 is "<pad>", id 1 "<unk>" and the symbols follow.
    /// Throws ConfigError for texts or vocabularies beyond the limits above, and for pieces, which have to be trained. Empty texts give a
    /// vocabulary of only the special tokens.
    Tokenizer(TokenizerKind kind, std::span<const std::string> texts, bool special_tokens = true);
    /// Pieces: the vocabulary is trained on the text, and has no special tokens. Throws ConfigError as train_bpe() does.
    static Tokenizer trained(std::string_view text, std::int64_t size);
    /// From a stored vocabulary (vocabulary()), of pieces as own_bpe() takes it. Throws ConfigError for a symbol given twice, an empty
    /// symbol, a symbol that is not one token of this kind, or missing special tokens.
    static Tokenizer from_vocabulary(TokenizerKind kind, std::span<const std::string> vocabulary, bool special_tokens);

    /// No tokens for a text without symbols (empty, or only white space for words): the caller decides what that means.
    /// Throws ConfigError for a text beyond kMaxTextBytes and, in a vocabulary without special tokens, for an unknown symbol.
    std::vector<TextToken> encode(std::string_view text) const;
    /// Words are joined by single spaces, characters and bytes by nothing. Throws Error for an id outside the vocabulary.
    std::string decode(std::span<const std::int32_t> ids) const;

    TokenizerKind kind() const { return kind_; }
    bool has_special_tokens() const { return special_tokens_; }
    /// Text of every id, as bytes: stray bytes are not valid UTF-8, show them with escaped().
    const std::vector<std::string>& vocabulary() const { return vocabulary_; }
    /// What cuts texts into pieces, step by step if wanted; null for every other kind.
    const std::shared_ptr<const ModelTokenizer>& pieces() const { return pieces_; }
    std::int64_t size() const { return static_cast<std::int64_t>(vocabulary_.size()); }
    /// What fills a batch's padding: "<pad>", or id 0 in a vocabulary without special tokens.
    std::int32_t pad_id() const { return 0; }

private:
    Tokenizer(TokenizerKind kind, bool special_tokens);
    /// False when the symbol is there already.
    bool add(std::string_view symbol);

    /// Lets the map be asked without making a string.
    struct Hash : std::hash<std::string_view> {
        using is_transparent = void;
    };

    TokenizerKind kind_;
    bool special_tokens_;
    std::vector<std::string> vocabulary_;
    std::shared_ptr<const ModelTokenizer> pieces_;
    std::unordered_map<std::string, std::int32_t, Hash, std::equal_to<>> ids_;  ///< without the special tokens: no text spells them
};

/// Several encoded texts padded to the longest; sequences without tokens have length 0.
/// Throws ConfigError for no sequence at all or more than 2^26 positions in total.
TokenBatch make_batch(std::span<const std::vector<TextToken>> sequences, std::int32_t pad_id);

}  // namespace attn
