#include "engine/tokenizer/gguf_tokenizer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

#include "engine/io/file_error.hpp"
#include "engine/io/utf8.hpp"
#include "engine/tokenizer/bpe.hpp"
#include "engine/tokenizer/word_models.hpp"

namespace attn {
namespace {

constexpr std::string_view kWordMark = "\u2581";

/// tokenizer.ggml.token_type
enum TokenType : std::uint64_t { kNormal = 1, kUnknown = 2, kControl = 3, kUserDefined = 4, kUnused = 5, kByte = 6 };

class TokenizerReader {
public:
    explicit TokenizerReader(const GgufFile& file) : file_(file), tokens_(file.list(kTokens)) {
        if (tokens_.empty() || tokens_.size() > static_cast<std::size_t>(Vocabulary::kMaxIds))
            refuse(kTokens, fmt::format("{} tokens; expected 1 to {}", tokens_.size(), Vocabulary::kMaxIds));
        for (const Json& token : tokens_)
            if (!token.is_string()) refuse(kTokens, "expected a list of texts");
        for (const Json& type : numbers(kTypes))
            types_.push_back(type.is_unsigned() ? type.as_unsigned() : static_cast<std::uint64_t>(type.number()));
    }

    std::shared_ptr<const ModelTokenizer> read() {
        const std::string& model = file_.text(kModel);
        try {
            if (model == "gpt2") read_byte_level();
            else if (model == "llama") read_sentence_piece();
            else if (model == "bert") read_word_piece();
            else
                refuse(kModel, fmt::format("there is no tokenizer \"{}\" in attnscope; there are gpt2, llama and bert", escaped(model)),
                       FileFault::Unsupported);
            return std::make_shared<const ModelTokenizer>(std::move(parts_));
        } catch (const ConfigError& error) {
            refuse(kTokens, error.what());
        }
    }

private:
    static constexpr const char *kModel = "tokenizer.ggml.model", *kPre = "tokenizer.ggml.pre", *kTokens = "tokenizer.ggml.tokens",
                                *kTypes = "tokenizer.ggml.token_type", *kScores = "tokenizer.ggml.scores",
                                *kMerges = "tokenizer.ggml.merges";

    [[noreturn]] void refuse(std::string_view key, std::string_view problem, FileFault fault = FileFault::Schema) const {
        throw FileError(fault, file_.source(), key, problem);
    }

    /// A list of numbers, one a token; empty when it is missing.
    const Json::List& numbers(const char* key) const {
        static const Json::List kNone;
        if (file_.find(key) == nullptr) return kNone;
        const Json::List& list = file_.list(key);
        if (list.size() != tokens_.size()) refuse(key, fmt::format("{} numbers for {} tokens", list.size(), tokens_.size()));
        for (const Json& number : list)
            if (!number.is_number()) refuse(key, "expected a list of numbers");
        return list;
    }

    std::uint64_t type(std::size_t id) const { return types_.empty() ? kNormal : types_[id]; }

    /// Control and user-defined tokens are found in the text before anything else.
    void add_special_tokens() {
        for (std::size_t id = 0; id < tokens_.size(); ++id)
            if (type(id) == kControl || type(id) == kUserDefined)
                parts_.added_tokens.push_back(
                    {.id = static_cast<std::int32_t>(id), .content = tokens_[id].text(), .special = type(id) == kControl});
    }

    void read_byte_level() {
        const std::string pre = file_.find(kPre) != nullptr ? file_.text(kPre) : "default";
        if (pre != "gpt-2")
            refuse(kPre, fmt::format("there is no way of cutting \"{}\" in attnscope; there is gpt-2", escaped(pre)),
                   FileFault::Unsupported);
        std::vector<Bpe::Merge> merges;
        for (const Json& merge : file_.list(kMerges)) {
            const std::size_t space = merge.is_string() && !merge.text().empty() ? merge.text().find(' ', 1) : std::string::npos;
            if (space == std::string::npos)
                refuse(kMerges, fmt::format("entry {} is not a pair of tokens", merges.size()), FileFault::Format);
            merges.emplace_back(merge.text().substr(0, space), merge.text().substr(space + 1));
        }
        add_special_tokens();
        parts_.pre_tokenizers = {byte_level(false, true)};
        parts_.decoders = {byte_level_decoder()};
        parts_.model = std::make_unique<Bpe>(vocabulary(), merges, BpeOptions{});
    }

    /// Pairs of pieces that make a piece, by the falling score of that.
    std::vector<Bpe::Merge> merges_by_score(const Vocabulary& pieces) const {
        const Json::List& scores = numbers(kScores);
        if (scores.empty()) refuse(kScores, "this key is missing");
        struct Candidate {
            double score;
            std::int32_t left, right;
        };
        std::vector<Candidate> candidates;
        for (std::size_t id = 0; id < tokens_.size(); ++id) {
            if (type(id) != kNormal && type(id) != kUserDefined) continue;
            const std::string& piece = tokens_[id].text();
            const double score = scores[id].number();
            if (std::isnan(score)) refuse(kScores, fmt::format("the score of token {} is not a number", id));
            for (std::size_t cut = 1; cut < piece.size(); ++cut) {
                if ((static_cast<unsigned char>(piece[cut]) & 0xC0U) == 0x80) continue;
                const auto left = pieces.find(std::string_view(piece).substr(0, cut)),
                           right = pieces.find(std::string_view(piece).substr(cut));
                if (left && right) candidates.push_back({score, *left, *right});
            }
        }
        std::sort(candidates.begin(), candidates.end(), [](const Candidate& a, const Candidate& b) {
            return std::tuple(-a.score, a.left, a.right) < std::tuple(-b.score, b.left, b.right);
        });
        std::vector<Bpe::Merge> merges;
        merges.reserve(candidates.size());
        for (const Candidate& candidate : candidates) merges.emplace_back(*pieces.text(candidate.left), *pieces.text(candidate.right));
        return merges;
    }

    void read_sentence_piece() {
        Vocabulary pieces = vocabulary();
        BpeOptions options;
        options.fuse_unknown = options.byte_fallback = true;
        for (std::size_t id = 0; id < tokens_.size(); ++id)
            if (type(id) == kUnknown) options.unknown = tokens_[id].text();
        std::vector<Bpe::Merge> merges = merges_by_score(pieces);
        add_special_tokens();
        const Json* prefix = file_.find("tokenizer.ggml.add_space_prefix");
        if (prefix == nullptr || !prefix->is_boolean() || prefix->boolean()) parts_.normalizers.push_back(prepend(kWordMark));
        parts_.normalizers.push_back(replace(" ", kWordMark));
        parts_.decoders = sentence_piece_decoders();
        parts_.model = std::make_unique<Bpe>(std::move(pieces), merges, options);
    }

    /// The file has "x" for "##x" and "▁x" for "x".
    void read_word_piece() {
        Vocabulary pieces;
        std::string unknown;
        const Json* unknown_id = file_.find("tokenizer.ggml.unknown_token_id");
        for (std::size_t id = 0; id < tokens_.size(); ++id) {
            std::string text = tokens_[id].text();
            const bool special = text.starts_with('[') && text.ends_with(']');
            if (text.starts_with(kWordMark)) text.erase(0, kWordMark.size());
            else if (type(id) == kNormal && !special) text.insert(0, "##");
            pieces.add(text, static_cast<std::int64_t>(id));
            if (unknown_id != nullptr && unknown_id->is_unsigned() && unknown_id->as_unsigned() == id) unknown = text;
        }
        constexpr std::int64_t kLongestWord = 100;
        add_special_tokens();
        parts_.normalizers = {bert_normalizer()};
        parts_.pre_tokenizers = {bert_pre_tokenizer()};
        parts_.decoders = {word_piece_decoder()};
        parts_.model = std::make_unique<WordPiece>(std::move(pieces), unknown, "##", kLongestWord);
    }

    Vocabulary vocabulary() const {
        Vocabulary out;
        for (std::size_t id = 0; id < tokens_.size(); ++id) out.add(tokens_[id].text(), static_cast<std::int64_t>(id));
        return out;
    }

    const GgufFile& file_;
    const Json::List& tokens_;
    std::vector<std::uint64_t> types_;
    TokenizerParts parts_;
};

}  // namespace

std::shared_ptr<const ModelTokenizer> read_gguf_tokenizer(const GgufFile& file) { return TokenizerReader(file).read(); }

}  // namespace attn
