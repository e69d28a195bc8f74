#pragma once
/// The tokenizer a published model was trained with, as tokenizer.json describes it. Steps: cut out added tokens, normalize the rest, split
/// it into words, turn each word into tokens, add special tokens around them.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/tokenizer/added_tokens.hpp"
#include "engine/tokenizer/decoder.hpp"
#include "engine/tokenizer/encoding.hpp"
#include "engine/tokenizer/normalizer.hpp"
#include "engine/tokenizer/post_processor.hpp"
#include "engine/tokenizer/pre_tokenizer.hpp"
#include "engine/tokenizer/token_model.hpp"

namespace attn {

/// The components of a tokenizer; all but the model may be empty.
struct TokenizerParts {
    std::vector<AddedToken> added_tokens;
    std::vector<Normalizer> normalizers;
    std::vector<PreTokenizer> pre_tokenizers;
    std::unique_ptr<TokenModel> model;
    std::vector<PostProcessor> post_processors;
    std::vector<Decoder> decoders;   ///< empty: tokens are joined by spaces
    std::vector<std::string> notes;  ///< assumptions that had to be made, one sentence each
    std::string source;              ///< the file it was read from, for messages; "" if there is none
};

/// A text after one step on its way to tokens.
struct TextStage {
    enum class Kind : std::uint8_t { Typed, AddedTokens, Normalizer, PreTokenizer };

    Kind kind = Kind::Typed;
    std::string name;  ///< of normalizers and pre-tokenizers: the name in tokenizer.json
    PieceList list;
};

/// Every step from text to tokens.
struct TokenSteps {
    struct Word {
        Piece piece;      ///< from the last stage
        WordTrace trace;  ///< empty for added tokens
    };
    std::vector<TextStage> stages;  ///< from typed text to words
    std::vector<Word> words;        ///< one for every piece of the last stage
    Encoding tokens;                ///< as encode() returns them
};

/// Thread-safe. A text that the file's own components cannot encode is refused with a ConfigError that names the file.
class ModelTokenizer {
public:
    /// Throws ConfigError if an added token's id belongs to another token.
    explicit ModelTokenizer(TokenizerParts parts);

    /// The ids of a text; `special` also adds the template's tokens. Invalid UTF-8 is read as U+FFFD. Throws ConfigError for a text beyond
    /// kMaxTextBytes or one that the vocabulary cannot spell.
    Encoding encode(std::string_view text, bool special = true) const;
    /// The same, and the text of every token as the tokenizers library reports it: the vocabulary's spelling, an added token together with
    /// the white space it includes, and unknown text of a Unigram model as it is.
    Encoding encode(std::string_view text, bool special, std::vector<std::string>& texts) const;
    /// The same for two texts; byte ranges of the second refer to the second.
    Encoding encode_pair(std::string_view first, std::string_view second, bool special = true) const;
    Encoding encode_pair(std::string_view first, std::string_view second, bool special, std::vector<std::string>& texts) const;
    /// The same with every intermediate step. Also throws ConfigError for a text of more than kMaxStepsBytes.
    TokenSteps steps(std::string_view text, bool special = true) const;
    static constexpr std::size_t kMaxStepsBytes = std::size_t{1} << 14;
    /// Ids outside the vocabulary are ignored.
    std::string decode(std::span<const std::int32_t> ids, bool skip_special = false) const;

    /// One more than the largest id.
    std::int64_t size() const;
    /// A token in the vocabulary's spelling ("Ġthe"); nullopt for an unused id.
    std::optional<std::string> token_text(std::int64_t id) const;
    /// The bytes a token stands for in a text: " the", a line break, part of a character. A token that stands for none ("##ing") is spelled
    /// as in the vocabulary; empty for an unused id.
    std::string token_bytes(std::int64_t id) const;
    /// The token for text that the vocabulary cannot spell.
    std::optional<std::int32_t> unknown_id() const { return parts_.model->unknown(); }
    /// The separator the template puts between the texts of a pair; nullopt if it has none.
    std::optional<std::int32_t> separator() const;
    /// "BPE", "Unigram", ...
    const char* model_type() const { return parts_.model->type(); }
    /// Whether words are spelled in letters that stand for single bytes, as GPT-2's are.
    bool byte_level() const { return byte_letters_; }
    /// The length of BPE's merge list; 0 for the other models.
    std::size_t merges() const { return parts_.model->merges(); }
    const std::vector<AddedToken>& added_tokens() const { return added_.all(); }
    const std::vector<std::string>& notes() const { return parts_.notes; }

private:
    /// Calls part() and adds the file's name to what it throws.
    template <class Part>
    auto naming_file(Part&& part) const;
    Encoding encode_plain(std::string_view text, std::vector<std::string>* texts = nullptr) const;
    /// Splits a typed text into words. Calls seen(kind, name, list) after each stage.
    template <class Seen>
    PieceList words_of(PieceList list, Seen&& seen) const;
    /// Also sets the tokens' texts unless the pointers are null.
    std::vector<EncodedPart> pair_of(std::string_view first, std::string_view second, std::vector<std::string>* first_texts,
                                     std::vector<std::string>* second_texts) const;
    /// The text of every token, from those of the texts' own tokens.
    std::vector<std::string> texts_of(const Encoding& encoding, std::vector<std::string> of_first,
                                      std::vector<std::string> of_second) const;
    Encoding finish(std::vector<EncodedPart> parts, bool special) const;
    /// Also appends the tokens' texts if `texts` is not null.
    void append_words(const PieceList& list, Encoding& out, std::vector<std::string>* texts) const;

    TokenizerParts parts_;
    AddedTokens added_;
    /// How the model spells bytes and spaces.
    bool byte_letters_ = false, byte_names_ = false, space_marks_ = false;
};

}  // namespace attn
