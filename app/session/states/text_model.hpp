#pragma once
/// How one speaks to a model in text, whichever tokenizer it has: one of ours, that of a published model, or none, so that its texts are
/// ids.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "app/session/states/shared_words.hpp"
#include "engine/tensor/token_batch.hpp"
#include "engine/tokenizer/encoding.hpp"
#include "engine/tokenizer/tokenizer.hpp"

namespace attn::app {

/// Which stack reads a text.
enum class Reader : std::uint8_t {
    Model,    ///< a decoder-only model, or the encoder of any other; the tokenizer's template is applied
    Decoder,  ///< the decoder of an encoder-decoder; the text follows the model's decoder start token, if it has one
};

/// What is known of a model's texts without its vocabulary, and so at once.
struct TextConventions {
    std::string_view token = "piece";           ///< what a token is called
    std::string_view between;                   ///< stands between two tokens: " " between words and between ids
    std::string mask;                           ///< hides a word, as typed; "" if nothing does
    std::vector<std::string> specials{};        ///< the other special tokens as typed, such as "[SEP]"
    std::string_view answer_begins;             ///< with it every answer of an encoder-decoder begins, as typed
    std::optional<std::int32_t> decoder_start;  ///< a published encoder-decoder's token before every text of the decoder
    std::vector<std::int32_t> ends{};           ///< the tokens that end a generated text, in order
    bool ends_as_source = false;                ///< an answer ends with the last token of its source
    std::int32_t first_word = 0;                ///< ids before it stand for no text: padding, unknown words
    bool pieces = true;                         ///< tokens are found step by step, and shown as the vocabulary spells them
    bool ids = false;                           ///< there is no tokenizer: a text is a list of ids
    bool pairs = false;                         ///< the two texts of a pair have different segments
    std::vector<std::string> notes{};           ///< how a text is read, where that had to be assumed; one sentence each

    /// Whether the model ends its texts with this token, which is then not part of the text.
    bool is_end(std::int32_t id) const;
    /// The tokens that end what is generated; for an answer, to this source.
    std::vector<std::int32_t> ends_after(std::span<const std::int32_t> source) const;
};

/// Of one of our own tokenizers.
const TextConventions& own_conventions(TokenizerKind kind, bool special_tokens);

class TextModel {
public:
    explicit TextModel(Tokenizer own);
    /// A published model with `ids` ids, whose tokenizer adds to the conventions what it knows of them. Null: its texts are ids.
    TextModel(std::shared_ptr<const ModelTokenizer> pieces, std::int64_t ids, TextConventions conventions = {});

    const TextConventions& conventions() const { return conventions_; }
    /// The model's words for texts that bring words of their own: with those in its places for new words (see Tokenizer). Every other
    /// model, and one that already reads texts with the same words, is given back as it is.
    static std::shared_ptr<const TextModel> reading(const std::shared_ptr<const TextModel>& model, std::span<const std::string> texts);
    /// How many words of a text it may not know, because it has places for them; 0: it knows its words and no others.
    std::int64_t places() const { return symbols_ ? symbols_->places() : 0; }
    /// The place of a word that is new to the model, from 1; 0 for every other token.
    std::int32_t place_of(std::int32_t id) const;
    /// The words of the texts that are new to a model with places, in order, also those that share the last place.
    std::vector<std::string> new_words(std::span<const std::string> texts) const;

    /// The text of every id, as bytes: " the", or part of a UTF-8 character.
    const SharedWords& vocabulary() const { return vocabulary_; }
    /// The tokenizer of pieces, whose steps can be shown; null for characters, words and bytes.
    const std::shared_ptr<const ModelTokenizer>& pieces() const { return pieces_; }

    /// Throws ConfigError as ModelTokenizer::encode() or Tokenizer::encode() does, and for a token without an id in the model.
    std::vector<TextToken> tokens_of(const std::string& text, Reader reader = Reader::Model) const;
    /// The segment of every position, for models that distinguish the two texts of a pair; a typed separator ends the first. Empty if the
    /// text is not a pair.
    std::vector<std::int32_t> segments_of(const TokenBatch& tokens) const;
    /// A complete text, without special tokens.
    std::string decode(std::span<const std::int32_t> ids) const;
    /// A token's text at the start of a text, where some tokenizers leave out the space before a word.
    std::string first_text(std::int32_t id) const;

    /// As ModelTokenizer::encode(); `texts` may be null. Our own tokenizers have no template.
    Encoding encode(std::string_view text, bool special, std::vector<std::string>* texts = nullptr) const;
    /// A token as its vocabulary spells it; "" for an unused id.
    std::string spelling(std::int32_t id) const;

private:
    std::shared_ptr<const ModelTokenizer> pieces_;  ///< null for characters, words and bytes
    std::optional<Tokenizer> symbols_;              ///< otherwise none
    TextConventions conventions_;
    SharedWords vocabulary_;
};

}  // namespace attn::app
