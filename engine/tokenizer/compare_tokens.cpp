#include "engine/tokenizer/compare_tokens.hpp"

#include <algorithm>
#include <vector>

#include "engine/io/utf8.hpp"
#include "engine/tokenizer/character_class.hpp"

namespace attn {
namespace {

/// The visible part of a token: bytes [begin, end) of the text, and the token's index.
struct Signs {
    std::size_t begin = 0, end = 0, place = 0;
};

std::vector<Signs> signs_of(std::string_view text, const Encoding& encoding) {
    std::vector<Signs> all;
    for (std::size_t place = 0; place < encoding.size(); ++place) {
        const EncodedToken& token = encoding[place];
        if (token.from_template) continue;
        std::size_t begin = text.size(), end = 0;
        for (std::size_t at = token.begin; at < token.end;) {
            const Utf8Unit unit = first_utf8(text.substr(at));
            if (!unit.valid || !is_white_space(unit.code_point)) {
                begin = std::min(begin, at);
                end = at + unit.bytes;
            }
            at += unit.bytes;
        }
        if (begin < end) all.push_back({begin, std::min<std::size_t>(end, token.end), place});
    }
    return all;
}

bool covers_the_same(const Signs& x, const Signs& y) { return x.begin == y.begin && x.end == y.end; }

std::string_view letters_of_token(std::string_view token) {
    constexpr std::string_view kSpaces = " \t\n\r\v\f", kWithin = "##";
    const std::size_t first = token.find_first_not_of(kSpaces);
    if (first == std::string_view::npos) return {};
    token = token.substr(first, token.find_last_not_of(kSpaces) + 1 - first);
    return token.starts_with(kWithin) ? token.substr(kWithin.size()) : token;
}

}  // namespace

std::optional<TokenDifference> first_difference(std::string_view text, const Encoding& a, const Encoding& b) {
    const std::vector<Signs> left = signs_of(text, a), right = signs_of(text, b);
    auto [x, y] = std::mismatch(left.begin(), left.end(), right.begin(), right.end(), covers_the_same);
    if (x == left.end() && y == right.end()) return std::nullopt;
    // If a character is spread over different numbers of tokens, the difference begins at the first of them.
    const auto shares_character = [](const std::vector<Signs>& all, auto at) { return at != all.end() && (at - 1)->end > at->begin; };
    while (x != left.begin() && (shares_character(left, x) || shares_character(right, y))) {
        --x;
        --y;
    }
    TokenDifference found;
    found.a = x == left.end() ? a.size() : x->place;
    found.b = y == right.end() ? b.size() : y->place;
    found.begin = std::min(x == left.end() ? text.size() : x->begin, y == right.end() ? text.size() : y->begin);
    // Continue to where both have a token that ends at the same byte.
    auto i = x, j = y;
    while (i != left.end() && j != right.end()) {
        if (i->end == j->end) {
            // A character in several tokens ends with the last of them.
            while (i + 1 != left.end() && (i + 1)->end == i->end) ++i;
            while (j + 1 != right.end() && (j + 1)->end == j->end) ++j;
            found.end = i->end;
            found.count_a = static_cast<std::size_t>(i + 1 - x);
            found.count_b = static_cast<std::size_t>(j + 1 - y);
            return found;
        }
        if (i->end < j->end) ++i;
        else ++j;
    }
    found.end = text.size();
    found.count_a = static_cast<std::size_t>(left.end() - x);
    found.count_b = static_cast<std::size_t>(right.end() - y);
    return found;
}

std::vector<std::pair<std::size_t, std::size_t>> equal_tokens(std::string_view text, const Encoding& a, const Encoding& b) {
    const std::vector<Signs> left = signs_of(text, a), right = signs_of(text, b);
    std::vector<std::pair<std::size_t, std::size_t>> pairs;
    for (std::size_t i = 0; i < std::min(left.size(), right.size()) && covers_the_same(left[i], right[i]); ++i)
        pairs.emplace_back(left[i].place, right[i].place);
    return pairs;
}

bool spelled_alike(std::string_view a, std::string_view b) { return letters_of_token(a) == letters_of_token(b); }

}  // namespace attn
