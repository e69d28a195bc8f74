#include "app/session/states/hidden_words.hpp"

#include <algorithm>

#include "app/session/states/token.hpp"

namespace attn::app {
namespace {

constexpr std::string_view kContinues = "##";

/// Apostrophes and hyphens count as part of a word.
bool is_word_byte(char c) {
    const auto byte = static_cast<unsigned char>(c);
    const bool letter = (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || (byte >= '0' && byte <= '9');
    return byte >= 0x80 || letter || byte == '\'' || byte == '-';
}

}  // namespace

std::vector<std::uint8_t> shown_positions(std::string_view mask, std::span<const std::vector<Token>> texts) {
    std::size_t length = 0;
    for (const std::vector<Token>& text : texts) length = std::max(length, text.size());
    std::vector<std::uint8_t> shown(texts.size() * length, 0);
    for (std::size_t b = 0; b < texts.size(); ++b)
        for (std::size_t t = 0; t < texts[b].size(); ++t) shown[b * length + t] = !texts[b][t].padding && texts[b][t].text != mask ? 1 : 0;
    return shown;
}

bool is_space_byte(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

std::vector<TextWord> words_of(std::string_view text, std::string_view mask, std::span<const std::string> specials) {
    const auto token_at = [&](std::size_t at) {
        const std::string_view rest = text.substr(at);
        std::size_t longest = rest.starts_with(mask) ? mask.size() : 0;
        for (const std::string& special : specials)
            if (rest.starts_with(special)) longest = std::max(longest, special.size());
        return longest;
    };
    std::vector<TextWord> words;
    for (std::size_t at = 0; at < text.size();) {
        if (const std::size_t length = token_at(at); length > 0) {
            const bool hidden = text.substr(at, length) == mask;
            words.push_back({at, at + length, hidden, !hidden});
            at += length;
            continue;
        }
        const std::size_t begin = at;
        while (at < text.size() && is_word_byte(text[at]) && token_at(at) == 0) ++at;
        if (at > begin) words.push_back({begin, at});
        else ++at;
    }
    return words;
}

std::string with_hidden(std::string_view text, const TextWord& word, std::string_view mask) {
    return std::string(text.substr(0, word.begin)).append(mask).append(text.substr(word.end));
}

std::string with_filled_in(std::string_view text, std::string_view mask, std::size_t which, std::string_view piece) {
    std::size_t left = which;
    for (const TextWord& word : words_of(text, mask)) {
        if (!word.hidden || left-- > 0) continue;
        std::string before(text.substr(0, word.begin));
        if (piece.starts_with(kContinues)) {
            piece.remove_prefix(kContinues.size());
            while (!before.empty() && is_space_byte(before.back())) before.pop_back();
        } else if (piece.starts_with(' ') && (before.empty() || is_space_byte(before.back()))) {
            piece.remove_prefix(1);
        }
        return before.append(piece).append(text.substr(word.end));
    }
    return std::string(text);
}

}  // namespace attn::app
