#include "app/panels/actions/matching.hpp"

#include <algorithm>
#include <cctype>
#include <vector>

#include "app/panels/kit/lower_case.hpp"

namespace attn::app {
namespace {

constexpr std::size_t kInsideFrom = 4, kSlipFrom = 5;
// Ranks of a typed word by where it is found, and of the whole.
constexpr int kInName = 1, kInOthers = 3, kInside = 6, kSlip = 9, kNotWhole = 1, kPhrase = -40, kName = -60, kBeginsName = -8;

/// Letters of other scripts are bytes from 0x80 on.
bool is_letter(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || static_cast<unsigned char>(c) >= 0x80; }
bool begins_word(std::string_view text, std::size_t at) { return is_letter(text[at]) && (at == 0 || !is_letter(text[at - 1])); }

std::vector<std::string_view> split(std::string_view text, char at) {
    std::vector<std::string_view> parts;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find(at), text.size());
        if (end > 0) parts.push_back(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return parts;
}

std::string_view trimmed(std::string_view text) {
    while (text.starts_with(' ')) text.remove_prefix(1);
    while (text.ends_with(' ')) text.remove_suffix(1);
    return text;
}

/// Whether the word is one slip away from the beginning of the text.
bool slipped(std::string_view word, std::string_view text) {
    if (word.size() < kSlipFrom) return false;
    for (const std::size_t size : {word.size() - 1, word.size(), word.size() + 1})
        if (size <= text.size() && slips_between(word, text.substr(0, size)) <= 1) return true;
    return false;
}

/// The rank of one typed word in a text, found at the beginning of one of its words or, worse, elsewhere.
std::optional<int> rank_in(std::string_view word, std::string_view text, int at_beginning) {
    std::optional<int> best;
    const auto found = [&](int rank) { best = best ? std::min(*best, rank) : rank; };
    for (std::size_t at = 0; at + 1 <= text.size(); ++at) {
        const bool begins = begins_word(text, at);
        if (text.substr(at).starts_with(word)) {
            const std::size_t end = at + word.size();
            const bool whole = end == text.size() || !is_letter(text[end]);
            if (begins) found(at_beginning + (whole ? 0 : kNotWhole));
            else if (word.size() >= kInsideFrom) found(kInside);
        } else if (begins && slipped(word, text.substr(at))) {
            found(kSlip);
        }
    }
    return best;
}

/// Whether every word of the name was typed as a whole; little words do not count.
bool typed_in_full(std::string_view name, const std::vector<std::string_view>& typed) {
    constexpr std::string_view kLittle[] = {"on", "or", "off", "the", "of", "and", "it", "a", "at"};
    std::size_t at = 0;
    while (at < name.size()) {
        if (!begins_word(name, at)) {
            ++at;
            continue;
        }
        std::size_t end = at;
        while (end < name.size() && is_letter(name[end])) ++end;
        const std::string_view own = name.substr(at, end - at);
        const bool little = std::find(std::begin(kLittle), std::end(kLittle), own) != std::end(kLittle);
        if (!little && std::find(typed.begin(), typed.end(), own) == typed.end()) return false;
        at = end;
    }
    return true;
}

}  // namespace

int slips_between(std::string_view a, std::string_view b) {
    std::vector<std::vector<int>> cost(a.size() + 1, std::vector<int>(b.size() + 1));
    for (std::size_t i = 0; i <= a.size(); ++i)
        for (std::size_t j = 0; j <= b.size(); ++j) {
            if (i == 0 || j == 0) {
                cost[i][j] = static_cast<int>(i + j);
                continue;
            }
            const int same = a[i - 1] == b[j - 1] ? 0 : 1;
            int best = std::min({cost[i - 1][j] + 1, cost[i][j - 1] + 1, cost[i - 1][j - 1] + same});
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) best = std::min(best, cost[i - 2][j - 2] + 1);
            cost[i][j] = best;
        }
    return cost[a.size()][b.size()];
}

std::optional<Match> match(const Action& action, std::string_view query) {
    const std::string typed = lower_case(trimmed(query)), name = lower_case(action.name), group = lower_case(action.group),
                      others = lower_case(action.also);
    const std::vector<std::string_view> words = split(typed, ' ');
    if (words.empty()) return Match{};
    Match result{0, typed_in_full(name, words)};
    for (const std::string_view word : words) {
        std::optional<int> best = rank_in(word, name, kInName);
        for (const std::string* text : {&group, &others})
            if (const auto rank = rank_in(word, *text, kInOthers); rank && (!best || *rank < *best)) best = rank;
        if (!best) return std::nullopt;
        result.rank += *best;
    }
    if (name == typed) result.rank += kName;
    else if (name.starts_with(typed)) result.rank += kBeginsName;
    for (const std::string_view one : split(others, ',')) {
        const std::string_view phrase = trimmed(one);
        // Whatever else fits: of several lines with the same other name, the kind decides.
        if (phrase == typed) return Match{kInOthers * static_cast<int>(words.size()) + kPhrase, true};
        if (phrase.size() <= typed.size() + 2 && slipped(typed, phrase)) return Match{result.rank + kPhrase / 2, result.in_full};
    }
    return result;
}

}  // namespace attn::app
