#include "engine/tokenizer/sentence_piece.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "engine/io/file_error.hpp"
#include "engine/io/utf8.hpp"
#include "engine/tensor/error.hpp"
#include "engine/tokenizer/bpe.hpp"
#include "engine/tokenizer/byte_trie.hpp"
#include "engine/tokenizer/precompiled_map.hpp"
#include "engine/tokenizer/unigram.hpp"

namespace attn {
namespace {

constexpr std::string_view kSpaceMark = "\u2581";

bool is_word_piece(PieceType type) { return type == PieceType::Normal || type == PieceType::UserDefined; }

/// SentencePiece's normalization.
class SentencePieceForm {
public:
    SentencePieceForm(const SentencePieceModel& model, SpecialPieces special) : model_(model) {
        model_.pieces.clear();
        if (!model.character_map.empty()) map_.emplace(model.character_map);
        if (special == SpecialPieces::InWords)
            for (const SentencePiece& piece : model.pieces)
                if (piece.type == PieceType::UserDefined) kept_.add(piece.text, 0);
    }

    AlignedText operator()(const AlignedText& text, SearchWork&) const {
        const std::string_view all = text.text;
        std::size_t at = 0;
        if (model_.remove_extra_spaces)
            while (at < all.size()) {
                const Chunk chunk = first_chunk(all.substr(at));
                if (chunk.by != " ") break;
                at += chunk.bytes;
            }
        AlignedText out;
        if (at == all.size()) return out;
        out.text.reserve(all.size());
        out.origins.reserve(all.size());
        const std::string_view space = model_.escape_spaces ? kSpaceMark : " ";
        if (model_.add_dummy_prefix && !model_.space_after) out.append(space, text.origins[at]);
        bool after_space = model_.remove_extra_spaces;
        while (at < all.size()) {
            const Chunk chunk = first_chunk(all.substr(at));
            const Origin origin{text.origins[at].begin, text.origins[at + chunk.bytes - 1].end};
            std::string_view by = chunk.by;
            while (after_space && by.starts_with(' ')) by.remove_prefix(1);
            for (const char& c : by) {
                if (c == ' ') out.append(space, origin);
                else out.append(std::string_view(&c, 1), origin);
            }
            if (!by.empty()) after_space = model_.remove_extra_spaces && by.ends_with(' ');
            at += chunk.bytes;
        }
        if (model_.remove_extra_spaces)
            while (out.text.ends_with(space)) {
                out.text.resize(out.text.size() - space.size());
                out.origins.resize(out.text.size());
            }
        if (model_.add_dummy_prefix && model_.space_after) out.append(space, text.origins.back());
        return out;
    }

private:
    /// A prefix of a text and its replacement.
    struct Chunk {
        std::size_t bytes;
        std::string_view by;
    };

    Chunk first_chunk(std::string_view text) const {
        std::size_t kept = 0;
        std::int32_t node = ByteTrie::kRoot;
        if (kept_.begins(text[0]))
            for (std::size_t end = 0; end < text.size();) {
                node = kept_.child(node, text[end++]);
                if (node == ByteTrie::kNone) break;
                if (kept_.value(node) != ByteTrie::kNone) kept = end;
            }
        if (kept > 0) return {kept, text.substr(0, kept)};
        if (map_)
            if (const auto found = map_->longest(text)) return {found->bytes, found->by};
        const std::size_t one = first_utf8(text).bytes;
        return {one, text.substr(0, one)};
    }

    SentencePieceModel model_;  ///< options only; without the pieces
    std::optional<PrecompiledMap> map_;
    ByteTrie kept_;  ///< user-defined pieces, which normalization must not change
};

std::optional<std::int32_t> unknown_piece(const SentencePieceModel& model) {
    for (std::size_t id = 0; id < model.pieces.size(); ++id)
        if (model.pieces[id].type == PieceType::Unknown) return static_cast<std::int32_t>(id);
    return std::nullopt;
}

Vocabulary vocabulary_of(const SentencePieceModel& model) {
    Vocabulary out;
    for (std::size_t id = 0; id < model.pieces.size(); ++id) out.add(model.pieces[id].text, static_cast<std::int64_t>(id));
    return out;
}

/// Pieces with equal scores get equal ranks, so that the leftmost pair merges first.
std::unique_ptr<TokenModel> bpe_of(const SentencePieceModel& model, SpecialPieces special) {
    std::map<double, std::int32_t, std::greater<>> by_score;
    for (const SentencePiece& piece : model.pieces)
        if (is_word_piece(piece.type)) by_score[piece.score] = 0;
    std::int32_t next = 0;
    for (auto& [score, rank] : by_score) rank = next++;
    std::vector<std::optional<std::int32_t>> ranks;
    BpeOptions options;
    for (const SentencePiece& piece : model.pieces) {
        const bool kept = piece.type == PieceType::UserDefined && special == SpecialPieces::InWords;
        ranks.push_back(is_word_piece(piece.type) && !kept ? std::optional(by_score.at(piece.score)) : std::nullopt);
        if (kept) options.kept_whole.push_back(piece.text);
    }
    Vocabulary vocabulary = vocabulary_of(model);
    options.letters = letters_without_piece(model);
    const std::vector<BpeJoin> joins = joins_of_pieces(vocabulary, ranks, options.letters);
    if (const auto unknown = unknown_piece(model)) options.unknown = model.pieces[static_cast<std::size_t>(*unknown)].text;
    options.fuse_unknown = true;
    options.byte_fallback = model.byte_fallback;
    return std::make_unique<Bpe>(std::move(vocabulary), joins, options);
}

std::unique_ptr<TokenModel> unigram_of(const SentencePieceModel& model, SpecialPieces special) {
    std::optional<double> least;
    for (const SentencePiece& piece : model.pieces)
        if (piece.type == PieceType::Normal) least = std::min(least.value_or(piece.score), piece.score);
    UnigramOptions options;
    options.unknown = unknown_piece(model);
    options.byte_fallback = model.byte_fallback;
    options.fuse_unknown = !model.byte_fallback;
    constexpr double kUnknownPenalty = 10;
    options.unknown_score = least.value_or(0) - kUnknownPenalty;
    options.single_precision = true;
    std::vector<double> scores;
    for (const SentencePiece& piece : model.pieces) {
        const bool of_user = piece.type == PieceType::UserDefined;
        options.in_words.push_back(piece.type == PieceType::Normal || (of_user && special == SpecialPieces::InWords));
        // SentencePiece computes bytes * best score - 0.1, but its maximum of the negative scores starts at a tiny positive number, which
        // leaves this.
        constexpr double kOfUser = -0.1;
        scores.push_back(of_user ? kOfUser : piece.score);
    }
    return std::make_unique<Unigram>(vocabulary_of(model), std::move(scores), std::move(options));
}

}  // namespace

std::vector<std::string> letters_without_piece(const SentencePieceModel& model) {
    std::set<std::string_view> letters;
    for (const SentencePiece& piece : model.pieces)
        if (piece.type == PieceType::Normal)
            for (std::string_view rest = piece.text; !rest.empty();) {
                const std::size_t bytes = first_utf8(rest).bytes;
                letters.insert(rest.substr(0, bytes));
                rest.remove_prefix(bytes);
            }
    for (const SentencePiece& piece : model.pieces) letters.erase(piece.text);
    return {letters.begin(), letters.end()};
}

TokenizerParts sentence_piece_parts(const SentencePieceModel& model, SpecialPieces special) {
    TokenizerParts parts;
    for (std::size_t id = 0; id < model.pieces.size(); ++id) {
        const SentencePiece& piece = model.pieces[id];
        if (piece.text.empty() || find_invalid_utf8(piece.text)) throw ConfigError(fmt::format("piece {} is empty or not UTF-8", id));
        if (!std::isfinite(piece.score)) throw ConfigError(fmt::format("the score of piece {} is not a finite number", id));
        const bool control = piece.type == PieceType::Control || piece.type == PieceType::Unknown;
        if (special == SpecialPieces::CutOut && (control || piece.type == PieceType::UserDefined))
            parts.added_tokens.push_back({.id = static_cast<std::int32_t>(id), .content = piece.text, .special = control});
    }
    parts.normalizers = {{"SentencePiece", SentencePieceForm(model, special)}};
    parts.decoders = sentence_piece_decoders(model.add_dummy_prefix && !model.space_after);
    parts.model = model.kind == SentencePieceModel::Kind::Bpe ? bpe_of(model, special) : unigram_of(model, special);
    return parts;
}

}  // namespace attn
