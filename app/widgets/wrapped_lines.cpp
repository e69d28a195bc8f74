#include "app/widgets/wrapped_lines.hpp"

#include <algorithm>
#include <cctype>

#include "app/widgets/text.hpp"

namespace attn::app {
namespace {

bool is_digit_at(std::string_view text, std::size_t at) {
    return at < text.size() && std::isdigit(static_cast<unsigned char>(text[at])) != 0;
}

/// Two slashes at least: "3/4" and "and/or" are not paths.
bool is_path(std::string_view word) { return std::count(word.begin(), word.end(), '/') > 1; }

/// The end of the piece of a paragraph that begins at `from`, with the spaces after it: a word, or a path's next folder.
std::size_t end_of_piece(std::string_view text, std::size_t from) {
    const std::size_t space = from == 0 ? std::string_view::npos : text.rfind(' ', from - 1);
    const std::size_t begin = space == std::string_view::npos ? 0 : space + 1,
                      first = std::min(text.find_first_not_of(' ', from), text.size());
    const std::size_t end = std::min(text.find(' ', first), text.size());
    if (is_path(text.substr(begin, end - begin))) {
        // The root and the "//" of an address stay with what follows.
        std::size_t slash = text.find('/', std::max(first, from == begin ? first + 1 : from));
        while (slash < end && slash + 1 < end && text[slash + 1] == '/') ++slash;
        if (slash < end && slash + 1 < end) return slash + 1;
    }
    return std::min(text.find_first_not_of(' ', end), text.size());
}

std::string_view without_spaces_after(std::string_view text) { return text.substr(0, text.find_last_not_of(' ') + 1); }

/// The part of a word wider than a line that goes on the line; at least a character. It ends after a sign, but not within a number.
std::size_t part_that_fits(const ImFont* font, std::string_view word, float width) {
    std::size_t end = 0, after_sign = 0;
    for (float used = 0; end < word.size();) {
        const std::size_t length = std::max<std::size_t>(character_length(word.substr(end)), 1);
        used += text_width(font, word.substr(end, length));
        if (end > 0 && used > width) break;
        const bool in_number = end > 0 && is_digit_at(word, end - 1) && is_digit_at(word, end + length);
        if (std::string_view(".,_-=+").find(word[end]) != std::string_view::npos && !in_number) after_sign = end + length;
        end += length;
    }
    return after_sign > end / 2 ? after_sign : end;
}

/// How much of a paragraph goes on its first line.
std::size_t first_line(const ImFont* font, std::string_view text, float width) {
    float used = 0;
    std::size_t end = 0;
    while (end < text.size()) {
        const std::size_t next = end_of_piece(text, end);
        const std::string_view piece = text.substr(end, next - end);
        if (used + text_width(font, without_spaces_after(piece)) > width)
            return end > 0 ? end : part_that_fits(font, without_spaces_after(piece), width);
        used += text_width(font, piece);
        end = next;
    }
    return end;
}

void add_lines(const ImFont* font, std::string_view paragraph, float width, std::vector<std::string_view>& lines) {
    do {
        const std::size_t length = first_line(font, paragraph, width);
        lines.push_back(without_spaces_after(paragraph.substr(0, length)));
        paragraph.remove_prefix(length);
    } while (!paragraph.empty());
}

}  // namespace

std::vector<std::string_view> wrapped_lines(const ImFont* font, std::string_view text, float width) {
    std::vector<std::string_view> lines;
    width = std::max(width, 1.F);  // a pane can be narrower than its margins
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        add_lines(font, text.substr(0, end), width, lines);
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return lines;
}

}  // namespace attn::app
