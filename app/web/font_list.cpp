#include "app/web/font_list.hpp"

#include <charconv>
#include <cstdint>
#include <sstream>
#include <utility>

namespace attn::app {
namespace {

/// Whether "5b0-5ff" or "fb1d" contains the letter.
bool is_in(std::string_view range, char32_t letter) {
    std::uint32_t first = 0;
    const char* const end = range.data() + range.size();
    const auto [dash, error] = std::from_chars(range.data(), end, first, 16);
    if (error != std::errc() || (dash != end && *dash != '-')) return false;
    std::uint32_t last = first;
    if (dash != end && std::from_chars(dash + 1, end, last, 16).ec != std::errc()) return false;
    return letter >= first && letter <= last;
}

SystemFont listed(const std::string& line, const LetterSet& letters) {
    std::istringstream words(line);
    SystemFont font;
    std::string word;
    words >> word;
    font.file = word;
    while (words >> word)
        for (const char32_t letter : letters)
            if (is_in(word, letter)) font.letters += letter;
    return font;
}

}  // namespace

SystemFont best_listed_font(const std::string& list, const LetterSet& letters) {
    SystemFont best;
    std::istringstream lines(list);
    for (std::string line; std::getline(lines, line);)
        if (SystemFont font = listed(line, letters); font.letters.size() > best.letters.size()) best = std::move(font);
    return best;
}

}  // namespace attn::app
