#pragma once
/// Tokenizers whose vocabulary is built from the user's texts: characters, words, bytes, or BPE pieces.

#include <array>
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
    Character,  ///< Unicode code points; a byte of invalid UTF-8 is a symbol of its own
    Word,       ///< runs of letters and digits, with apostrophes between letters; every other visible symbol on its own
    Byte,
    Bpe,  ///< pieces of words, merged from bytes (own_bpe.hpp)
};
/// In the order of the kinds.
inline constexpr std::array<std::string_view, 4> kTokenizerNames = {"character", "word", "byte", "bpe"};
constexpr std::string_view tokenizer_name(TokenizerKind kind) { return kTokenizerNames.at(static_cast<std::size_t>(kind)); }

/// A token of a text, at bytes [begin, end).
struct TextToken {
    std::int32_t id = 0;
    bool unknown = false;       ///< not in the vocabulary; `id` is the unknown token's
    bool invalid_utf8 = false;  ///< a stray byte, as a Character or Word token
    std::size_t begin = 0, end = 0;
    std::int32_t place = 0;  ///< of a word that is new to the model, from 1
    bool operator==(const TextToken&) const = default;
};

/// How many words of a text that are not in a word list it may have places for.
inline constexpr std::int64_t kMostPlaces = 64;
/// Stands in a vocabulary for the id of a place, counted from 1: "<new 1>". No text spells it.
std::string place_name(std::int64_t place);
/// Stands in a vocabulary for an id without a text: "<7>". No text spells it.
std::string unused_name(std::size_t id);
bool has_places(std::span<const std::string> vocabulary);

/// Limits on texts and vocabularies.
inline constexpr std::size_t kMaxTextBytes = std::size_t{64} << 20;
inline constexpr std::size_t kMaxVocabulary = std::size_t{1} << 20;

/// A word list may end with places: ids for words that it does not have. In a text, the first such word stands in the first place, the next
/// other one in the second, and all that are left share the last; the same word, in whatever case, always stands in the same place. Such a
/// list reads every text: a word that it knows in another case only is read as that one, and hyphens inside a word belong to it.
class Tokenizer {
public:
    /// Ids are in order of first appearance in `texts`; with `special_tokens` id 0 is "<pad>" and id 1 "<unk>". Throws ConfigError beyond
    /// the limits above, and for Bpe, which has to be trained. Empty texts give a vocabulary of only the special tokens.
    Tokenizer(TokenizerKind kind, std::span<const std::string> texts, bool special_tokens = true);
    /// A BPE tokenizer trained on the text, without special tokens. Throws ConfigError like train_bpe().
    static Tokenizer trained(std::string_view text, std::int64_t size);
    /// From a stored vocabulary(), with unused_name() where an id has no text; for Bpe as own_bpe() takes it. Throws ConfigError for a
    /// duplicate or empty symbol, a symbol that is not a single token of this kind, or missing special tokens.
    static Tokenizer from_vocabulary(TokenizerKind kind, std::span<const std::string> vocabulary, bool special_tokens);

    /// The words of the texts that a list with places does not have, as they are first spelled, in order; also those beyond its places.
    /// None for every other tokenizer.
    std::vector<std::string> new_words(std::span<const std::string> texts) const;
    /// The same list when it reads texts with these new words: they are its last words, one in each place as far as there are places. A
    /// place without a word is no id of it.
    Tokenizer with_new_words(std::span<const std::string> words) const;

    /// Empty for a text without symbols (an empty one, or only white space for words). Throws ConfigError for a text beyond kMaxTextBytes
    /// and, in a vocabulary with neither special tokens nor places, for an unknown symbol. Where with_new_words() has put no words, those
    /// of this text take the places.
    std::vector<TextToken> encode(std::string_view text) const;
    /// Joins words with single spaces, characters and bytes with nothing. Throws Error for an id outside the vocabulary.
    std::string decode(std::span<const std::int32_t> ids) const;

    TokenizerKind kind() const { return kind_; }
    bool has_special_tokens() const { return special_tokens_; }
    /// Text of every id, as bytes; stray bytes are not valid UTF-8, use escaped() to display them.
    const std::vector<std::string>& vocabulary() const { return vocabulary_; }
    /// The tokenizer of BPE pieces, which can also show its steps; null for every other kind.
    const std::shared_ptr<const ModelTokenizer>& pieces() const { return pieces_; }
    std::int64_t size() const { return static_cast<std::int64_t>(vocabulary_.size()); }
    /// How many new words there are places for.
    std::int64_t places() const { return places_; }
    /// The id of the first place; those after it follow.
    std::int32_t first_place() const { return first_place_; }
    /// The id that pads batches: "<pad>", or 0 in a vocabulary without special tokens.
    std::int32_t pad_id() const { return 0; }

private:
    Tokenizer(TokenizerKind kind, bool special_tokens);
    /// False if the symbol is already there.
    bool add(std::string_view symbol);
    std::vector<TextToken> encode_with_places(std::string_view text) const;
    /// The id of a word of the list, in whatever case, or -1.
    std::int32_t known(std::string_view word) const;
    void know_other_cases();

    /// Allows look-ups without constructing a string.
    struct Hash : std::hash<std::string_view> {
        using is_transparent = void;
    };

    TokenizerKind kind_;
    bool special_tokens_;
    std::vector<std::string> vocabulary_;
    std::shared_ptr<const ModelTokenizer> pieces_;
    using Ids = std::unordered_map<std::string, std::int32_t, Hash, std::equal_to<>>;
    Ids ids_;          ///< without the special tokens and the places, which no text spells
    Ids lower_ids_{};  ///< with places: the same in lower case
    std::int64_t places_ = 0;
    std::int32_t first_place_ = 0;
    bool filled_ = false;  ///< by with_new_words()
};

/// Pads encoded texts to the longest; sequences without tokens have length 0. Throws ConfigError for no sequences or more than 2^26
/// positions in total.
TokenBatch make_batch(std::span<const std::vector<TextToken>> sequences, std::int32_t pad_id);

}  // namespace attn
