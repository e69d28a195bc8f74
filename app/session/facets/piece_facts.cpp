#include "app/session/facets/piece_facts.hpp"

#include <algorithm>
#include <optional>

#include "engine/tokenizer/byte_alphabet.hpp"

namespace attn::app {
namespace {

TokenPath::Piece piece_spelled(const ModelTokenizer& tokenizer, std::int32_t id) {
    TokenPath::Piece piece;
    piece.spelling = tokenizer.token_text(id).value_or("");
    const auto& added = tokenizer.added_tokens();
    const auto found = std::find_if(added.begin(), added.end(), [&](const AddedToken& token) { return token.id == id; });
    piece.added = found != added.end();
    piece.special = piece.added && found->special;
    return piece;
}

TokenPath::Piece piece_typed(const ModelTokenizer& tokenizer, std::string_view typed, const EncodedToken& token) {
    TokenPath::Piece piece = piece_spelled(tokenizer, token.id);
    piece.begin = std::min<std::size_t>(token.begin, typed.size());
    piece.end = std::clamp<std::size_t>(token.end, piece.begin, typed.size());
    piece.typed = typed.substr(piece.begin, piece.end - piece.begin);
    piece.bytes = piece.typed;
    return piece;
}

/// Whether a vocabulary spells a byte in this way, "<0xF0>".
bool names_a_byte(std::string_view spelling) { return spelling.size() == 6 && spelling.starts_with("<0x") && spelling.ends_with(">"); }

void tell_joins(TokenPath::Piece& piece, const TokenOfWord& made) {
    const WordTrace& trace = made.word.trace;
    const WordToken& token = trace.tokens[made.place];
    const auto part = [&](std::uint32_t begin, std::uint32_t end) {
        return without_byte_letters(made.text.substr(begin, end - begin), made.letters);
    };
    for (const WordTrace::Join& join : trace.joins)
        if (const WordTrace::Pair& pair = join.joined; pair.begin >= token.begin && pair.end <= token.end)
            piece.merges.push_back({part(pair.begin, pair.middle), part(pair.middle, pair.end), pair.rank});
    if (trace.taken_whole) piece.origin = "The word is in the vocabulary as a whole: nothing was joined.";
    else if (piece.merges.empty())
        piece.origin = made.letters ? "A single byte: nothing was joined." : "A single character: nothing was joined.";
    else piece.origin = piece.merges.size() == 1 ? "Made by one merge." : "Made by these merges, in this order.";
}

void tell_score(TokenPath::Piece& piece, const TokenOfWord& made) {
    const WordTrace& trace = made.word.trace;
    const WordToken& token = trace.tokens[made.place];
    for (const WordTrace::Spelling& spelling : trace.spellings)
        if (spelling.chosen && spelling.token.id == token.id && spelling.token.begin == token.begin && spelling.token.end == token.end)
            piece.score = spelling.score;
    piece.origin = trace.tokens.size() == 1 ? "The likeliest spelling of its word is this piece alone."
                                            : "Part of the likeliest spelling of its word.";
}

void tell_look_ups(TokenPath::Piece& piece, const TokenOfWord& made) {
    const WordTrace& trace = made.word.trace;
    const WordToken& token = trace.tokens[made.place];
    piece.tried = static_cast<std::size_t>(
        std::count_if(trace.look_ups.begin(), trace.look_ups.end(), [&](const auto& look) { return look.begin == token.begin; }));
    const std::string_view part = made.text.substr(token.begin, token.end - token.begin);
    if (part.size() == made.text.size()) {
        piece.origin = "The whole word is in the vocabulary.";
    } else if (token.begin == 0) {
        piece.origin = "The longest beginning of the word that is in the vocabulary.";
    } else {
        piece.origin = "The longest beginning of what was left of the word.";
        if (piece.spelling.size() > part.size() && piece.spelling.ends_with(part))
            piece.origin += " “" + piece.spelling.substr(0, piece.spelling.size() - part.size()) + "” marks pieces that continue a word.";
    }
}

}  // namespace

std::string without_byte_letters(std::string_view text, bool letters) {
    if (!letters) return std::string(text);
    return bytes_of_letters(text).value_or(std::string(text));
}

TokenPath::Piece piece_of_template(const ModelTokenizer& tokenizer, std::int32_t id) {
    TokenPath::Piece piece = piece_spelled(tokenizer, id);
    piece.origin = "Not typed: the tokenizer's template adds it.";
    return piece;
}

TokenPath::Piece piece_of_added(const ModelTokenizer& tokenizer, std::string_view typed, const EncodedToken& token) {
    TokenPath::Piece piece = piece_typed(tokenizer, typed, token);
    piece.origin = "An added token: it is cut out of the text before anything else and never split.";
    return piece;
}

TokenPath::Piece piece_of_word(const ModelTokenizer& tokenizer, std::string_view typed, const TokenOfWord& made) {
    TokenPath::Piece piece = piece_typed(tokenizer, typed, made.token);
    piece.starts_word = made.place == 0;
    const WordTrace& trace = made.word.trace;
    const bool by_joins = trace.taken_whole || !trace.parts.empty(), by_score = !trace.spellings.empty();
    if (const std::optional<std::int32_t> unknown = tokenizer.unknown_id(); unknown && *unknown == made.token.id) {
        piece.origin = "Not in the vocabulary: the model reads the unknown token instead.";
        return piece;
    }
    if (by_joins || by_score) piece.bytes = tokenizer.token_bytes(made.token.id);
    if (names_a_byte(piece.spelling) && piece.bytes.size() == 1) piece.origin = "No piece has this character: it is spelled byte by byte.";
    else if (by_joins) tell_joins(piece, made);
    else if (by_score) tell_score(piece, made);
    else tell_look_ups(piece, made);
    return piece;
}

}  // namespace attn::app
