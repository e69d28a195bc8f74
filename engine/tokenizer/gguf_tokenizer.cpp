#include "engine/tokenizer/gguf_tokenizer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "engine/io/file_error.hpp"
#include "engine/io/utf8.hpp"
#include "engine/tokenizer/bpe.hpp"
#include "engine/tokenizer/sentence_piece.hpp"
#include "engine/tokenizer/tokenizer_files.hpp"
#include "engine/tokenizer/vocabulary_files.hpp"
#include "engine/tokenizer/word_splits.hpp"

namespace attn {
namespace {

class TokenizerReader {
public:
    explicit TokenizerReader(const GgufFile& file) : file_(file), tokens_(file.list(kTokens)) {
        if (tokens_.empty() || tokens_.size() > static_cast<std::size_t>(Vocabulary::kMaxIds))
            refuse(kTokens, fmt::format("{} tokens; expected 1 to {}", tokens_.size(), Vocabulary::kMaxIds));
        std::size_t bytes = 0;
        for (const Json& token : tokens_) {
            if (!token.is_string()) refuse(kTokens, "expected a list of strings");
            bytes += token.text().size();
        }
        if (bytes > kMostBytes)
            refuse(kTokens, fmt::format("{} bytes of tokens; at most {} are read", bytes, kMostBytes), FileFault::Limit);
        for (const Json& type : numbers(kTypes)) {
            const double number = type.number();
            if (!(number >= 0 && number <= 6)) refuse(kTypes, fmt::format("there is no token type {}", number), FileFault::Unsupported);
            types_.push_back(number < 1 ? PieceType::Normal : static_cast<PieceType>(static_cast<int>(number)));
        }
    }

    std::shared_ptr<const ModelTokenizer> read() {
        const std::string& model = file_.text(kModel);
        try {
            TokenizerParts parts;
            if (model == "gpt2") parts = read_byte_level();
            else if (model == "llama") parts = read_sentence_piece(SentencePieceModel::Kind::Bpe, true, false);
            else if (model == "t5") parts = read_sentence_piece(SentencePieceModel::Kind::Unigram, false, true);
            else if (model == "bert") parts = read_word_piece();
            else
                refuse(kModel,
                       fmt::format("attnscope does not support the tokenizer \"{}\"; expected gpt2, llama, t5 or bert", escaped(model)),
                       FileFault::Unsupported);
            parts.source = file_.source();
            return std::make_shared<const ModelTokenizer>(std::move(parts));
        } catch (const ConfigError& error) {
            refuse(kTokens, error.what());
        }
    }

private:
    static constexpr const char *kModel = "tokenizer.ggml.model", *kPre = "tokenizer.ggml.pre", *kTokens = "tokenizer.ggml.tokens",
                                *kTypes = "tokenizer.ggml.token_type", *kScores = "tokenizer.ggml.scores",
                                *kMerges = "tokenizer.ggml.merges", *kCharacterMap = "tokenizer.ggml.precompiled_charsmap";

    static constexpr std::size_t kMostBytes = std::size_t{8} << 20;  ///< a vocabulary of 262,144 has 2 million
    static constexpr std::uint64_t kNoToken = 0xFFFFFFFF;            ///< llama.cpp's -1

    [[noreturn]] void refuse(std::string_view key, std::string_view problem, FileFault fault = FileFault::Schema) const {
        throw FileError(fault, file_.source(), key, problem);
    }

    /// A list of one number per token; empty if missing.
    const Json::List& numbers(const char* key) const {
        static const Json::List kNone;
        if (file_.find(key) == nullptr) return kNone;
        const Json::List& list = file_.list(key);
        if (list.size() != tokens_.size()) refuse(key, fmt::format("{} numbers for {} tokens", list.size(), tokens_.size()));
        for (const Json& number : list)
            if (!number.is_number()) refuse(key, "expected a list of numbers");
        return list;
    }

    PieceType type(std::size_t id) const { return types_.empty() ? PieceType::Normal : types_[id]; }

    bool truth(std::string_view key, bool otherwise) const {
        const Json* value = file_.find(key);
        if (value == nullptr) return otherwise;
        if (!value->is_boolean()) refuse(key, "expected true or false");
        return value->boolean();
    }

    /// The token id under a key; nullopt if missing.
    std::optional<std::int32_t> token_id(std::string_view key) const {
        const Json* value = file_.find(key);
        if (value == nullptr) return std::nullopt;
        if (!value->is_unsigned()) refuse(key, "is not the id of a token");
        if (value->as_unsigned() == kNoToken) return std::nullopt;
        if (value->as_unsigned() >= tokens_.size()) refuse(key, "is not the id of a token");
        return static_cast<std::int32_t>(value->as_unsigned());
    }

    /// SentencePiece's usual begin token is the one with id 1.
    std::optional<std::int32_t> begin_id(bool usual) const {
        const char* const key = "tokenizer.ggml.bos_token_id";
        if (file_.find(key) == nullptr && usual && file_.text(kModel) == "llama" && tokens_.size() > 1) return 1;
        return token_id(key);
    }

    /// Adds begin and end tokens as the file says, or else as is usual for the model.
    void add_template(TokenizerParts& parts, bool begins, bool ends) const {
        std::optional<std::int32_t> begin, end;
        if (truth("tokenizer.ggml.add_bos_token", begins)) begin = begin_id(begins);
        if (truth("tokenizer.ggml.add_eos_token", ends)) end = token_id("tokenizer.ggml.eos_token_id");
        if (begin || end) parts.post_processors = {begin_and_end(begin, end)};
    }

    /// Control and user-defined tokens, and the unknown one, are cut out of the text before anything else.
    void add_special_tokens(TokenizerParts& parts) const {
        for (std::size_t id = 0; id < tokens_.size(); ++id)
            if (type(id) == PieceType::Control || type(id) == PieceType::Unknown || type(id) == PieceType::UserDefined)
                parts.added_tokens.push_back(
                    {.id = static_cast<std::int32_t>(id), .content = tokens_[id].text(), .special = type(id) != PieceType::UserDefined});
    }

    std::vector<Bpe::Merge> merges() const {
        std::vector<Bpe::Merge> merges;
        for (const Json& merge : file_.list(kMerges)) {
            const std::size_t space = merge.is_string() && !merge.text().empty() ? merge.text().find(' ', 1) : std::string::npos;
            if (space == std::string::npos)
                refuse(kMerges, fmt::format("entry {} is not a pair of tokens", merges.size()), FileFault::Format);
            merges.emplace_back(merge.text().substr(0, space), merge.text().substr(space + 1));
        }
        return merges;
    }

    TokenizerParts read_byte_level() const {
        TokenizerParts parts;
        const bool named = file_.find(kPre) != nullptr;
        const std::string pre = named ? file_.text(kPre) : "default";
        std::optional<WordSplit> split = find_word_split(pre);
        if (!split)
            refuse(kPre,
                   fmt::format("attnscope does not support the pre-tokenizer \"{}\"; expected one of {}", escaped(pre), word_split_names()),
                   FileFault::Unsupported);
        if (!named) parts.notes.push_back("The file does not say how its model splits text into words: llama.cpp's default is used.");
        add_special_tokens(parts);
        add_template(parts, split->begins, false);
        parts.normalizers = std::move(split->normalizers);
        parts.pre_tokenizers = std::move(split->pre_tokenizers);
        parts.decoders = {byte_level_decoder()};
        BpeOptions options;
        options.whole_words_first = split->whole_words_first;
        parts.model = std::make_unique<Bpe>(vocabulary(), merges(), options);
        return parts;
    }

    TokenizerParts read_sentence_piece(SentencePieceModel::Kind kind, bool begins, bool ends) const {
        const Json::List& scores = numbers(kScores);
        if (scores.empty()) refuse(kScores, "this key is missing");
        SentencePieceModel model;
        model.kind = kind;
        for (std::size_t id = 0; id < tokens_.size(); ++id) {
            model.pieces.push_back({tokens_[id].text(), scores[id].number(), type(id)});
            model.byte_fallback = model.byte_fallback || type(id) == PieceType::Byte;
        }
        model.add_dummy_prefix = truth("tokenizer.ggml.add_space_prefix", true);
        model.remove_extra_spaces = truth("tokenizer.ggml.remove_extra_whitespaces", false);
        model.character_map = character_map();
        TokenizerParts parts = sentence_piece_parts(model, SpecialPieces::CutOut);
        if (is_of("phi3")) strip_after_specials(parts);
        if (is_of("t5") && !names_sentinels())
            parts.notes.emplace_back(
                "The file does not name T5's tokens <extra_id_0> to <extra_id_99>: in a text they are ordinary characters.");
        add_template(parts, begins, ends);
        return parts;
    }

    bool is_of(std::string_view name) const {
        const Json* const architecture = file_.find("general.architecture");
        return architecture != nullptr && architecture->is_string() && architecture->text() == name;
    }
    /// Converters write what SentencePiece knows, and T5 has these tokens besides.
    bool names_sentinels() const {
        return std::any_of(tokens_.begin(), tokens_.end(),
                           [](const Json& token) { return token.text().find("<extra_id_0>") != std::string::npos; });
    }
    /// Phi-3's special tokens include the white space after them, which GGUF does not record (ggml-org/llama.cpp, llama-vocab.cpp).
    static void strip_after_specials(TokenizerParts& parts) {
        for (AddedToken& token : parts.added_tokens)
            token.rstrip = token.special && token.content != "<unk>" && token.content != "<s>" && token.content != "<|endoftext|>";
    }

    std::string character_map() const { return file_.find(kCharacterMap) == nullptr ? std::string() : file_.text(kCharacterMap); }

    /// GGUF writes "▁x" for a piece that begins a word and "x" for "##x".
    TokenizerParts read_word_piece() const {
        constexpr std::string_view kWordMark = "\u2581";
        Vocabulary pieces;
        std::string unknown = "[UNK]";
        const std::optional<std::int32_t> unknown_id = token_id("tokenizer.ggml.unknown_token_id");
        for (std::size_t id = 0; id < tokens_.size(); ++id) {
            std::string text = tokens_[id].text();
            const bool special = text.starts_with('[') && text.ends_with(']');
            if (text.starts_with(kWordMark)) text.erase(0, kWordMark.size());
            else if (type(id) == PieceType::Normal && !special) text.insert(0, "##");
            pieces.add(text, static_cast<std::int64_t>(id));
            if (unknown_id == static_cast<std::int32_t>(id)) unknown = text;
        }
        const BertForm form = bert_form_of(pieces);
        TokenizerParts parts = bert_parts(std::move(pieces), form, unknown);
        const auto begin = token_id("tokenizer.ggml.cls_token_id"),
                   end = token_id("tokenizer.ggml.seperator_token_id");  // llama.cpp's spelling
        if (begin && end) parts.post_processors = {bert_processing(*begin, *end)};
        return parts;
    }

    Vocabulary vocabulary() const {
        Vocabulary out;
        for (std::size_t id = 0; id < tokens_.size(); ++id) out.add(tokens_[id].text(), static_cast<std::int64_t>(id));
        return out;
    }

    const GgufFile& file_;
    const Json::List& tokens_;
    std::vector<PieceType> types_;
};

constexpr std::string_view kWhole = "tokenizer.huggingface.json";

}  // namespace

bool has_gguf_tokenizer(const GgufFile& file) {
    const Json* model = file.find("tokenizer.ggml.model");
    const bool none = model == nullptr || (model->is_string() && (model->text() == "none" || model->text() == "no_vocab"));
    return !none || file.find(kWhole) != nullptr;
}

std::shared_ptr<const ModelTokenizer> read_gguf_tokenizer(const GgufFile& file) {
    if (file.find(kWhole) != nullptr) return parse_tokenizer_json(file.text(kWhole), file.source() + ", " + std::string(kWhole));
    return TokenizerReader(file).read();
}

}  // namespace attn
