#include "engine/tokenizer/added_tokens.hpp"

#include <algorithm>
#include <utility>

#include "engine/tokenizer/character_class.hpp"
#include "engine/tokenizer/component_json.hpp"
#include "engine/tokenizer/vocabulary.hpp"

namespace attn {
namespace {

/// Index of the first byte of the character that ends at `end`.
std::size_t character_before(std::string_view text, std::size_t end) {
    do --end;
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80);
    return end;
}

bool word_before(std::string_view text, std::size_t at) {
    return at > 0 && is_word_character(first_utf8(text.substr(character_before(text, at))).code_point);
}

bool word_at(std::string_view text, std::size_t at) {
    return at < text.size() && is_word_character(first_utf8(text.substr(at)).code_point);
}

std::size_t without_space_before(std::string_view text, std::size_t at, std::size_t limit) {
    while (at > limit) {
        const std::size_t before = character_before(text, at);
        if (!is_white_space(first_utf8(text.substr(before)).code_point)) break;
        at = before;
    }
    return std::max(at, limit);
}

std::size_t without_space_after(std::string_view text, std::size_t at) {
    while (at < text.size()) {
        const Utf8Unit unit = first_utf8(text.substr(at));
        if (!is_white_space(unit.code_point)) break;
        at += unit.bytes;
    }
    return at;
}

}  // namespace

AddedTokens::AddedTokens(std::vector<AddedToken> tokens, const std::vector<Normalizer>& normalizers) : tokens_(std::move(tokens)) {
    for (std::size_t i = 0; i < tokens_.size(); ++i) {
        const AddedToken& token = tokens_[i];
        by_id_[token.id] = i;
        if (!token.in_text) continue;
        if (token.normalized)
            normalized_.add(attn::normalized(normalizers, AlignedText::of(token.content)).text, static_cast<std::int32_t>(i));
        else raw_.add(token.content, static_cast<std::int32_t>(i));
    }
}

const AddedToken* AddedTokens::find(std::int64_t id) const {
    const auto found = by_id_.find(id);
    return found == by_id_.end() ? nullptr : &tokens_[found->second];
}

void AddedTokens::cut(PieceList& list, bool normalized) const {
    std::vector<Piece> out;
    for (const Piece& piece : list.pieces) {
        if (piece.is_text()) cut_piece(list, piece, normalized ? normalized_ : raw_, out);
        else out.push_back(piece);
    }
    list.pieces = std::move(out);
}

void AddedTokens::cut_piece(const PieceList& list, const Piece& piece, const ByteTrie& trie, std::vector<Piece>& out) const {
    const std::string_view text = list.text_of(piece);
    std::size_t done = 0;
    const auto add = [&](std::size_t begin, std::size_t end, std::int32_t token) {
        if (end > begin) out.push_back({piece.begin + begin, piece.begin + end, piece.at_start && begin == 0, token});
    };
    for (std::size_t at = 0; at < text.size();) {
        std::int32_t found = ByteTrie::kNone, node = ByteTrie::kRoot;
        std::size_t match_end = at;
        if (trie.begins(text[at]))
            for (std::size_t end = at; end < text.size();) {
                node = trie.child(node, text[end++]);
                if (node == ByteTrie::kNone) break;
                if (trie.value(node) == ByteTrie::kNone) continue;
                found = trie.value(node);
                match_end = end;
            }
        if (found == ByteTrie::kNone) {
            ++at;
            continue;
        }
        const AddedToken& token = tokens_[static_cast<std::size_t>(found)];
        std::size_t begin = at, end = match_end;
        at = match_end;
        if (token.single_word && (word_before(text, begin) || word_at(text, end))) continue;
        if (token.lstrip) begin = without_space_before(text, begin, done);
        if (token.rstrip) end = without_space_after(text, end);
        add(done, begin, -1);
        add(begin, end, token.id);
        done = end;
    }
    add(done, text.size(), -1);
}

std::vector<AddedToken> read_added_tokens(std::vector<JsonObject> list) {
    std::vector<AddedToken> tokens;
    tokens.reserve(list.size());
    for (JsonObject& json : list) {
        AddedToken& token = tokens.emplace_back();
        if (!json.read("id", token.id, 0, static_cast<std::int32_t>(Vocabulary::kMaxIds - 1))) json.fail_missing("id");
        token.content = required_text(json, "content");
        json.read("single_word", token.single_word);
        json.read("lstrip", token.lstrip);
        json.read("rstrip", token.rstrip);
        json.read("normalized", token.normalized);
        json.read("special", token.special);
        json.expect_no_more();
    }
    return tokens;
}

}  // namespace attn
