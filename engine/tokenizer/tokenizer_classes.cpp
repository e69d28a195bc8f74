#include "engine/tokenizer/tokenizer_classes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <set>
#include <tuple>
#include <utility>

#include "engine/io/file_error.hpp"
#include "engine/io/utf8.hpp"
#include "engine/tensor/error.hpp"
#include "engine/tokenizer/added_token_ids.hpp"
#include "engine/tokenizer/unigram.hpp"
#include "engine/tokenizer/vocabulary_files.hpp"
#include "engine/tokenizer/word_splits.hpp"

namespace attn {
namespace {

using RoleTokens = std::array<std::string, kTokenRoles.size()>;

struct NamedClass {
    std::string_view name;
    TokenizerClass kind;
};
constexpr std::array kNamedClasses = std::to_array<NamedClass>({
    {"GPT2Tokenizer", TokenizerClass::Gpt2},
    {"CodeGenTokenizer", TokenizerClass::Gpt2},
    {"RobertaTokenizer", TokenizerClass::Roberta},
    {"BartTokenizer", TokenizerClass::Roberta},
    {"LEDTokenizer", TokenizerClass::Roberta},
    {"LongformerTokenizer", TokenizerClass::Roberta},
    {"GPTNeoXTokenizer", TokenizerClass::GptNeox},
    {"Qwen2Tokenizer", TokenizerClass::Qwen2},
    {"BertTokenizer", TokenizerClass::Bert},
    {"DistilBertTokenizer", TokenizerClass::Bert},
    {"ElectraTokenizer", TokenizerClass::Bert},
    {"LlamaTokenizer", TokenizerClass::Llama},
    {"GemmaTokenizer", TokenizerClass::Gemma},
    {"T5Tokenizer", TokenizerClass::T5},
    {"MT5Tokenizer", TokenizerClass::T5},
    {"XLMRobertaTokenizer", TokenizerClass::XlmRoberta},
    {"CamembertTokenizer", TokenizerClass::Camembert},
    {"PreTrainedTokenizer", TokenizerClass::Plain},
    {"TokenizersBackend", TokenizerClass::Plain},
    {"BloomTokenizer", TokenizerClass::Plain},
});

/// The class of a model type, and whether it holds whatever class the files name.
struct TypeClass {
    std::string_view type;
    TokenizerClass kind;
    bool always = false;
};
constexpr std::array kTypeClasses = std::to_array<TypeClass>({
    {"gpt2", TokenizerClass::Gpt2},
    {"gpt_neo", TokenizerClass::Gpt2},
    {"opt", TokenizerClass::Gpt2},
    {"phi", TokenizerClass::Gpt2},
    {"phi-msft", TokenizerClass::Gpt2},
    {"bart", TokenizerClass::Roberta},
    {"roberta", TokenizerClass::Roberta},
    {"xlm-roberta", TokenizerClass::XlmRoberta},
    {"camembert", TokenizerClass::Camembert},
    {"gpt_neox", TokenizerClass::GptNeox},
    {"olmo2", TokenizerClass::GptNeox},
    {"qwen2", TokenizerClass::Qwen2, true},
    {"qwen3", TokenizerClass::Qwen2},
    {"bert", TokenizerClass::Bert},
    {"distilbert", TokenizerClass::Bert},
    {"gemma", TokenizerClass::Gemma},
    {"gemma2", TokenizerClass::Gemma},
    {"gemma3", TokenizerClass::Gemma},
    {"gemma3_text", TokenizerClass::Gemma},
    {"t5", TokenizerClass::T5},
    {"mt5", TokenizerClass::T5},
    {"llama", TokenizerClass::Plain},
    {"mistral", TokenizerClass::Plain, true},
    {"smollm3", TokenizerClass::Plain},
    {"phi3", TokenizerClass::Plain, true},
    {"bloom", TokenizerClass::Plain},
    {"falcon", TokenizerClass::Plain},
    {"RefinedWeb", TokenizerClass::Plain},
    {"RefinedWebModel", TokenizerClass::Plain},
});

std::string supported_classes() {
    std::string names;
    for (const NamedClass& known : kNamedClasses)
        if (known.kind != TokenizerClass::Plain) names += (names.empty() ? "" : ", ") + std::string(known.name);
    return names;
}

/// The tokens a class has if the files name no others. They are added if the vocabulary lacks them.
RoleTokens usual_tokens(TokenizerClass kind) {
    const std::string kEndOfText = "<|endoftext|>";
    switch (kind) {
    case TokenizerClass::Gpt2:
        return {kEndOfText, kEndOfText, kEndOfText};
    case TokenizerClass::GptNeox:
        return {kEndOfText, kEndOfText, kEndOfText, "", "<|padding|>"};
    case TokenizerClass::Qwen2:
        return {"", kEndOfText, kEndOfText, "", kEndOfText};
    case TokenizerClass::Roberta:
    case TokenizerClass::XlmRoberta:
    case TokenizerClass::Camembert:
        return {"<s>", "</s>", "<unk>", "</s>", "<pad>", "<s>", "<mask>"};
    case TokenizerClass::Bert:
        return {"", "", "[UNK]", "[SEP]", "[PAD]", "[CLS]", "[MASK]"};
    case TokenizerClass::Llama:
        return {"<s>", "</s>", "<unk>"};
    case TokenizerClass::Gemma:
        return {"<bos>", "<eos>", "<unk>", "", "<pad>", "", "<mask>"};
    case TokenizerClass::T5:
        return {"", "</s>", "<unk>", "", "<pad>"};
    case TokenizerClass::Plain:
        break;
    }
    return {};
}

/// Everything around the model.
class ClassTokens {
public:
    ClassTokens(const TokenizerConfig& config, const RoleTokens& usual) : config_(config) {
        for (std::size_t role = 0; role < usual.size(); ++role)
            named_.at(role) =
                config.tokens.at(role).value_or(AddedToken{.id = kTokenFromString, .content = usual.at(role), .special = true});
    }

    AddedToken& named(TokenRole role) { return named_.at(static_cast<std::size_t>(role)); }
    const std::string& text(TokenRole role) const { return named_.at(static_cast<std::size_t>(role)).content; }

    /// `extra`: what the class adds where the folder's settings name no extra tokens. `flags_dropped`: special tokens lose their flags.
    void add_to(TokenizerParts& parts, std::int64_t entries, const std::optional<std::vector<AddedToken>>& extra,
                bool flags_dropped = false) {
        AddedTokenIds ids(parts.model->vocabulary(), entries);
        const auto add = [&](AddedToken token) {
            token.special = token.special || names_.contains(token.content);
            token.in_text = !(token.special && config_.split_special_tokens.value_or(false));
            ids.add(std::move(token));
        };
        for (const AddedToken& token : named_) names_.insert(token.content);
        for (const auto& [name, token] : config_.further) names_.insert(token.content);
        std::set<std::string_view> listed;
        for (const AddedToken& token : config_.added) {
            listed.insert(token.content);
            add(token);
        }
        std::vector<AddedToken> others;
        std::set<std::tuple<std::string_view, std::int32_t, bool, bool, bool, bool, bool>> seen;
        const auto want = [&](const AddedToken& token) {
            const bool fresh =
                seen.emplace(token.content, token.id, token.single_word, token.lstrip, token.rstrip, token.normalized, token.special)
                    .second;
            if (fresh) others.push_back(token);
        };
        for (const AddedToken& token : named_) want(token);
        for (const auto& [name, token] : config_.further) want(token);
        if (const auto& last = config_.extra ? config_.extra : extra)
            for (const AddedToken& token : *last) want(token);
        for (const AddedToken& token : others)
            if (!listed.contains(token.content)) add(token);
        if (flags_dropped)
            for (const AddedToken& token : others) add({.id = kTokenFromObject, .content = token.content, .special = true});
        for (std::size_t role = 0; role < named_.size(); ++role)
            if (!named_.at(role).content.empty()) ids_.at(role) = ids.find(named_.at(role).content);
        parts.added_tokens = ids.take();
    }

    /// After add_to().
    std::optional<std::int32_t> id(TokenRole role) const { return ids_.at(static_cast<std::size_t>(role)); }
    std::int32_t required_id(TokenRole role) const {
        if (const auto found = id(role)) return *found;
        throw ConfigError(fmt::format("there is no {}, which stands around every text", kTokenRoles.at(static_cast<std::size_t>(role))));
    }

    /// The begin and end tokens that the settings ask for.
    std::vector<PostProcessor> asked_ends() const {
        std::optional<std::int32_t> begin, end;
        if (config_.add_bos_token.value_or(false)) begin = id(TokenRole::Begin);
        if (config_.add_eos_token.value_or(false)) end = id(TokenRole::End);
        if (!begin && !end) return {};
        return {begin_and_end(begin, end)};
    }

private:
    const TokenizerConfig& config_;
    std::array<AddedToken, kTokenRoles.size()> named_;
    std::set<std::string, std::less<>> names_;  ///< the contents of named tokens, which are always special
    std::array<std::optional<std::int32_t>, kTokenRoles.size()> ids_;
};

AddedToken sentinel(std::int32_t number) {
    return {.id = kTokenFromString, .content = fmt::format("<extra_id_{}>", number), .special = true};
}

/// Control pieces and those of the user are cut out of the text.
std::vector<AddedToken> pieces_cut_out(const SentencePieceModel& model) {
    std::vector<AddedToken> tokens;
    for (const SentencePiece& piece : model.pieces)
        if (piece.type == PieceType::Control || piece.type == PieceType::UserDefined)
            tokens.push_back({.id = kTokenFromObject, .content = piece.text, .special = piece.type == PieceType::Control});
    return tokens;
}

void expect_pieces(const SentencePieceModel& model) {
    for (std::size_t id = 0; id < model.pieces.size(); ++id)
        if (model.pieces[id].text.empty() || find_invalid_utf8(model.pieces[id].text))
            throw ConfigError(fmt::format("piece {} is empty or not UTF-8", id));
}

Vocabulary vocabulary_of_texts(const std::vector<std::string>& texts) {
    Vocabulary vocabulary;
    for (std::size_t id = 0; id < texts.size(); ++id) vocabulary.add(texts[id], static_cast<std::int64_t>(id));
    return vocabulary;
}

std::vector<std::string> texts_of_pieces(const SentencePieceModel& model) {
    std::vector<std::string> texts;
    texts.reserve(model.pieces.size());
    for (const SentencePiece& piece : model.pieces) texts.push_back(piece.text);
    return texts;
}

/// Placeholders among the pieces get the texts that the folder lists under their ids.
void rename_pieces(std::vector<std::string>& texts, const std::vector<AddedToken>& added) {
    std::set<std::string> known(texts.begin(), texts.end());
    for (const AddedToken& token : added) {
        if (token.id < 0 || static_cast<std::size_t>(token.id) >= texts.size() || known.contains(token.content)) continue;
        std::string& text = texts[static_cast<std::size_t>(token.id)];
        known.erase(text);
        text = token.content;
        known.insert(text);
    }
}

/// Merges by the ids of the pieces that they make, whatever the model's kind and scores. `texts`: those of the tokens.
std::unique_ptr<TokenModel> bpe_by_ids(const SentencePieceModel& model, const std::vector<std::string>& texts, BpeOptions options) {
    std::vector<std::optional<std::int32_t>> ranks(model.pieces.size());
    for (std::size_t id = 0; id < ranks.size(); ++id) ranks[id] = static_cast<std::int32_t>(id);
    options.letters = letters_without_piece(model);
    std::vector<BpeJoin> joins = joins_of_pieces(vocabulary_of_texts(texts_of_pieces(model)), ranks, options.letters);
    Vocabulary vocabulary = vocabulary_of_texts(texts);
    std::int32_t next = 0;
    for (BpeJoin& join : joins) join.rank = next++;
    options.fuse_unknown = true;
    return std::make_unique<Bpe>(std::move(vocabulary), joins, std::move(options));
}

/// A unigram model, whatever the file's kind.
struct ScoredPieces {
    std::vector<std::string> texts;
    std::vector<double> scores;

    void add(std::string_view text, double score = 0) {
        texts.emplace_back(text);
        scores.push_back(score);
    }
    void add_from(const SentencePieceModel& model, std::size_t first) {
        for (std::size_t id = first; id < model.pieces.size(); ++id) add(model.pieces[id].text, model.pieces[id].score);
    }
    std::unique_ptr<TokenModel> model(std::size_t unknown, bool byte_fallback = false) {
        UnigramOptions options;
        options.unknown = static_cast<std::int32_t>(unknown);
        options.byte_fallback = byte_fallback;
        return std::make_unique<Unigram>(vocabulary_of_texts(texts), scores, std::move(options));
    }
};

/// A character map, if the file has one.
void add_character_map(TokenizerParts& parts, const SentencePieceModel& model) {
    if (!model.character_map.empty()) parts.normalizers.push_back(precompiled(model.character_map));
}

/// Words between white space, each with a mark before it.
void split_at_space(TokenizerParts& parts, bool marked) {
    parts.pre_tokenizers = {whitespace_split(), metaspace(marked ? MetaspaceFront::Always : MetaspaceFront::Never, true)};
    parts.decoders = {metaspace_decoder(marked)};
}

class PiecesReader {
public:
    PiecesReader(TokenizerClass kind, const TokenizerConfig& config, const SentencePieceFile& file)
        : kind_(kind), config_(config), file_(file), model_(file.model), tokens_(config, tokens_of_class()),
          extra_(pieces_cut_out(file.model)), marked_(config.add_prefix_space.value_or(true)) {}

    TokenizerParts read() {
        expect_pieces(model_);
        switch (kind_) {
        case TokenizerClass::Llama:
            read_llama();
            break;
        case TokenizerClass::Gemma:
            read_gemma();
            break;
        case TokenizerClass::T5:
            read_t5();
            break;
        case TokenizerClass::XlmRoberta:
            read_xlm_roberta();
            break;
        case TokenizerClass::Camembert:
            read_camembert();
            break;
        default:
            read_plain();
        }
        return std::move(parts_);
    }

private:
    RoleTokens tokens_of_class() const {
        if (kind_ != TokenizerClass::Plain) return usual_tokens(kind_);
        return {file_.begin >= 0 ? file_.begin_text : "", file_.end >= 0 ? file_.end_text : "",
                file_.unknown >= 0 ? file_.unknown_text : ""};
    }

    void add_tokens() { tokens_.add_to(parts_, parts_.model->vocabulary().size(), extra_); }

    void read_llama() {
        BpeOptions options;
        options.byte_fallback = true;
        parts_.model = bpe_by_ids(model_, texts_of_pieces(model_), options);
        const MetaspaceFront front = config_.legacy.value_or(false) ? MetaspaceFront::Always : MetaspaceFront::First;
        parts_.pre_tokenizers = {metaspace(marked_ ? front : MetaspaceFront::Never, false)};
        parts_.decoders = sentence_piece_decoders(marked_);
        add_tokens();
        parts_.post_processors = tokens_.asked_ends();
    }

    void read_gemma() {
        BpeOptions options;
        options.byte_fallback = true;
        options.unknown = tokens_.text(TokenRole::Unknown);
        parts_.model = bpe_by_ids(model_, texts_of_pieces(model_), options);
        marks_for_spaces();
    }

    /// The file as it stands.
    void read_plain() {
        add_character_map(parts_, model_);
        if (model_.kind == SentencePieceModel::Kind::Bpe) {
            BpeOptions options;
            options.byte_fallback = model_.byte_fallback;
            options.unknown = file_.unknown_text;
            std::vector<std::string> texts = texts_of_pieces(model_);
            rename_pieces(texts, config_.added);
            parts_.model = bpe_by_ids(model_, texts, options);
        } else {
            ScoredPieces pieces;
            pieces.add_from(model_, 0);
            parts_.model = pieces.model(static_cast<std::size_t>(std::max(file_.unknown, 0)), model_.byte_fallback);
        }
        marks_for_spaces();
    }

    /// No mark before the text.
    void marks_for_spaces() {
        parts_.normalizers.push_back(replace_matches(TextPattern::literal(" "), "\u2581"));
        parts_.decoders = sentence_piece_decoders(false);
        add_tokens();
        parts_.post_processors = tokens_.asked_ends();
    }

    void read_t5() {
        constexpr std::int32_t kUsualSentinels = 100, kMostSentinels = 1 << 16;
        const std::int32_t sentinels = config_.extra_ids.value_or(kUsualSentinels);
        if (sentinels > kMostSentinels) throw ConfigError(fmt::format("{} extra_ids; at most {} are accepted", sentinels, kMostSentinels));
        ScoredPieces pieces;
        pieces.add_from(model_, 0);
        for (std::int32_t number = sentinels; number-- > 0;) pieces.add(sentinel(number).content);
        for (std::int32_t number = 0; number < sentinels; ++number) extra_.push_back(sentinel(number));
        parts_.model = pieces.model(2);
        add_character_map(parts_, model_);
        split_at_space(parts_, true);
        add_tokens();
        parts_.post_processors = {begin_and_end(std::nullopt, tokens_.required_id(TokenRole::End), false)};
    }

    void read_xlm_roberta() {
        ScoredPieces pieces;
        for (const TokenRole role : {TokenRole::Begin, TokenRole::Padding, TokenRole::End, TokenRole::Unknown})
            pieces.add(tokens_.text(role));
        pieces.add_from(model_, 3);
        pieces.add(tokens_.text(TokenRole::Mask));
        parts_.model = pieces.model(3);
        add_character_map(parts_, model_);
        split_at_space(parts_, marked_);
        add_between_begin_and_end();
    }

    void read_camembert() {
        ScoredPieces pieces;
        pieces.add("<s>NOTUSED");
        pieces.add(tokens_.text(TokenRole::Padding));
        pieces.add("</s>NOTUSED");
        pieces.add(tokens_.text(TokenRole::Unknown));
        pieces.add("<unk>NOTUSED", -100);
        pieces.add_from(model_, 1);
        pieces.add(tokens_.text(TokenRole::Mask));
        const auto unknown = std::find(pieces.texts.begin(), pieces.texts.end(), tokens_.text(TokenRole::Unknown));
        parts_.model = pieces.model(static_cast<std::size_t>(unknown - pieces.texts.begin()));
        AddedToken& mask = tokens_.named(TokenRole::Mask);
        if (mask.id == kTokenFromString) mask = {.id = kTokenFromObject, .content = mask.content, .lstrip = true, .special = true};
        parts_.normalizers = {replace_matches(TextPattern::regex(R"(\s{2,}|[\n\r\t])"), " "), strip_space(false, true)};
        parts_.pre_tokenizers = {metaspace(marked_ ? MetaspaceFront::Always : MetaspaceFront::Never, true)};
        parts_.decoders = {metaspace_decoder(marked_)};
        add_between_begin_and_end();
    }

    void add_between_begin_and_end() {
        add_tokens();
        parts_.post_processors = {
            roberta_processing(tokens_.required_id(TokenRole::Begin), tokens_.required_id(TokenRole::End), false, false)};
    }

    TokenizerClass kind_;
    const TokenizerConfig& config_;
    const SentencePieceFile& file_;
    const SentencePieceModel& model_;
    ClassTokens tokens_;
    std::vector<AddedToken> extra_;
    bool marked_;  ///< a mark before the text
    TokenizerParts parts_;
};

}  // namespace

std::optional<TokenizerClass> tokenizer_class(const TokenizerConfig& config) {
    const auto type =
        std::find_if(kTypeClasses.begin(), kTypeClasses.end(), [&](const TypeClass& one) { return one.type == config.model_type; });
    const bool known = type != kTypeClasses.end();
    if (known && (type->always || config.tokenizer_class.empty())) return type->kind;
    constexpr std::string_view kFast = "Fast";
    std::string_view name = config.tokenizer_class;
    if (name.ends_with(kFast)) name.remove_suffix(kFast.size());
    for (const NamedClass& one : kNamedClasses)
        if (one.name == name) return one.kind;
    if (name.empty() && config.model_type.empty()) return std::nullopt;
    const std::string source = escaped(config.class_place.native(), 0);
    if (name.empty())
        throw FileError(FileFault::Unsupported, source, "/model_type",
                        fmt::format("attnscope does not know the tokenizer class of models of type \"{}\", and there is no tokenizer.json",
                                    escaped(config.model_type)));
    throw FileError(FileFault::Unsupported, source, "/tokenizer_class",
                    fmt::format("attnscope does not support the tokenizer class \"{}\" without tokenizer.json; expected one of {}",
                                escaped(config.tokenizer_class), supported_classes()));
}

VocabularyFiles vocabulary_files(TokenizerClass kind) {
    switch (kind) {
    case TokenizerClass::Gpt2:
    case TokenizerClass::Roberta:
    case TokenizerClass::GptNeox:
    case TokenizerClass::Qwen2:
        return VocabularyFiles::Merges;
    case TokenizerClass::Bert:
        return VocabularyFiles::Words;
    default:
        return VocabularyFiles::Pieces;
    }
}

std::string_view pieces_file(TokenizerClass kind) {
    if (kind == TokenizerClass::T5) return "spiece.model";
    if (kind == TokenizerClass::XlmRoberta || kind == TokenizerClass::Camembert) return "sentencepiece.bpe.model";
    return kPiecesFile;
}

TokenizerParts merges_tokenizer(TokenizerClass kind, const TokenizerConfig& config, Vocabulary vocabulary,
                                const std::vector<Bpe::Merge>& merges) {
    const bool spaced = config.add_prefix_space.value_or(false);
    const std::int64_t entries = vocabulary.count();
    TokenizerParts parts;
    if (kind == TokenizerClass::Qwen2 || kind == TokenizerClass::GptNeox) parts.normalizers = {nfc()};
    if (kind == TokenizerClass::Qwen2) parts.pre_tokenizers = {split_isolated(kQwen2Split), byte_level(spaced, false)};
    else parts.pre_tokenizers = {byte_level(spaced, true)};
    parts.decoders = {byte_level_decoder()};
    parts.model = std::make_unique<Bpe>(std::move(vocabulary), merges, BpeOptions{});
    ClassTokens tokens(config, usual_tokens(kind));
    tokens.add_to(parts, entries, config.map_extra, kind == TokenizerClass::Qwen2);
    parts.post_processors = tokens.asked_ends();
    if (kind == TokenizerClass::Roberta)
        parts.post_processors = {
            roberta_processing(tokens.required_id(TokenRole::Classifier), tokens.required_id(TokenRole::Separator), true, spaced)};
    return parts;
}

TokenizerParts words_tokenizer(const TokenizerConfig& config, Vocabulary words, bool lower) {
    BertForm form;
    form.lower = config.do_lower_case.value_or(lower);
    form.accents = config.strip_accents.value_or(form.lower);
    form.chinese = config.tokenize_chinese_chars.value_or(true);
    const std::int64_t entries = words.count();
    ClassTokens tokens(config, usual_tokens(TokenizerClass::Bert));
    TokenizerParts parts = bert_parts(std::move(words), form, tokens.text(TokenRole::Unknown));
    tokens.add_to(parts, entries, config.map_extra);
    parts.post_processors = {bert_processing(tokens.required_id(TokenRole::Classifier), tokens.required_id(TokenRole::Separator))};
    return parts;
}

TokenizerParts pieces_tokenizer(TokenizerClass kind, const TokenizerConfig& config, const SentencePieceFile& file) {
    return PiecesReader(kind, config, file).read();
}

}  // namespace attn
