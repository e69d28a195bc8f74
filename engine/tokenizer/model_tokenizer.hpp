#pragma once
/// The tokenizer that a published model was trained with, as tokenizer.json describes it.
/// Order: added tokens are cut out, the rest is normalized, cut into words, each word made tokens, special tokens put around.

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

/// What a tokenizer is put together from; all but the model may be empty.
struct TokenizerParts {
    std::vector<AddedToken> added_tokens;
    std::vector<Normalizer> normalizers;
    std::vector<PreTokenizer> pre_tokenizers;
    std::unique_ptr<TokenModel> model;
    std::vector<PostProcessor> post_processors;
    std::vector<Decoder> decoders;   ///< none: tokens are joined by spaces
    std::vector<std::string> notes;  ///< what had to be taken for granted, one sentence each
};

/// A text after one step of its way to tokens.
struct TextStage {
    enum class Kind : std::uint8_t { Typed, AddedTokens, Normalizer, PreTokenizer };

    Kind kind = Kind::Typed;
    std::string name;  ///< of normalizers and pre-tokenizers, as tokenizer.json names them
    PieceList list;
};

/// How a text became tokens.
struct TokenSteps {
    struct Word {
        Piece piece;      ///< of the last stage
        WordTrace trace;  ///< empty for an added token
    };
    std::vector<TextStage> stages;  ///< from what was typed to words
    std::vector<Word> words;        ///< the last stage's pieces
    Encoding tokens;                ///< as encode() gives them
};

/// May be used by several threads at once.
class ModelTokenizer {
public:
    /// Throws ConfigError for an added token whose id is another token's.
    explicit ModelTokenizer(TokenizerParts parts);

    /// The ids of a text; `special` also adds what the template adds. Bytes that are not UTF-8 are read as U+FFFD.
    /// Throws ConfigError for a text beyond kMaxTextBytes or one that the vocabulary cannot spell.
    Encoding encode(std::string_view text, bool special = true) const;
    /// The same, with every token's text as the tokenizers library gives it: as the vocabulary spells it, an added token with the spaces
    /// that it took, and what a Unigram model has no piece for as it stands.
    Encoding encode(std::string_view text, bool special, std::vector<std::string>& texts) const;
    /// The same of two texts; the ranges of the second count in the second.
    Encoding encode_pair(std::string_view first, std::string_view second, bool special = true) const;
    /// The same with every step in between. Throws ConfigError also for a text of more than kMaxStepsBytes.
    TokenSteps steps(std::string_view text, bool special = true) const;
    static constexpr std::size_t kMaxStepsBytes = std::size_t{1} << 14;
    /// Ids outside of the vocabulary are left out.
    std::string decode(std::span<const std::int32_t> ids, bool skip_special = false) const;

    /// One more than the largest id.
    std::int64_t size() const;
    /// A token as the vocabulary spells it ("Ġthe"), nothing for an id that is not used.
    std::optional<std::string> token_text(std::int64_t id) const;
    /// What a token stands for in a text, as bytes: " the", a line break, a part of a character. What has no such meaning ("##ing") is
    /// spelled as in the vocabulary; empty for an id that is not used.
    std::string token_bytes(std::int64_t id) const;
    /// Id of what stands for a text that the vocabulary cannot spell.
    std::optional<std::int32_t> unknown_id() const { return parts_.model->unknown(); }
    /// Id of what the template puts between two texts that it tells apart; nothing where it does not.
    std::optional<std::int32_t> separator() const;
    /// "BPE", "Unigram", ...
    const char* model_type() const { return parts_.model->type(); }
    const std::vector<AddedToken>& added_tokens() const { return added_.all(); }
    const std::vector<std::string>& notes() const { return parts_.notes; }

private:
    Encoding encode_plain(std::string_view text, std::vector<std::string>* texts = nullptr) const;
    /// The words of a text. Calls seen(kind, name, list) after each stage.
    template <class Seen>
    PieceList words_of(std::string_view text, Seen&& seen) const;
    Encoding finish(std::vector<EncodedPart> parts, bool special) const;
    /// With the texts of the tokens, if they are asked for.
    void append_words(const PieceList& list, Encoding& out, std::vector<std::string>* texts) const;

    TokenizerParts parts_;
    AddedTokens added_;
    /// How the model spells bytes.
    bool byte_letters_ = false, byte_names_ = false, space_marks_ = false;
};

}  // namespace attn
