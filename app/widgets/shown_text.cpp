#include "app/widgets/shown_text.hpp"

#include <algorithm>
#include <cstddef>

#include "app/widgets/text.hpp"

namespace attn::app {
namespace {

constexpr std::string_view kCut = "\u2026";

std::string joined(const std::vector<std::string>& parts, std::size_t first, std::size_t last) {
    std::string all;
    for (std::size_t i = first; i < last; ++i) all += parts[i];
    return all;
}

}  // namespace

std::vector<std::string> shown_characters(std::string_view text, bool keep_inner_spaces) {
    std::vector<std::string> shown;
    std::size_t before = 0;  // where the previous character begins
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = at + std::max<std::size_t>(character_length(text.substr(at)), 1);
        // How a character is shown depends on the one before it, and on whether it is the last or a space follows.
        const std::string previous = at == 0 ? std::string() : visible_text(text.substr(before, at - before), keep_inner_spaces);
        const std::string_view next = end == text.size() ? "" : text[end] == ' ' ? " " : ".";
        const std::string all = visible_text(std::string(text.substr(before, end - before)).append(next), keep_inner_spaces);
        shown.push_back(all.substr(previous.size(), all.size() - visible_text(next).size() - previous.size()));
        before = at;
        at = end;
    }
    return shown;
}

std::string elide_shown(const ImFont* font, std::string_view text, float width, bool keep_inner_spaces) {
    const std::string whole = visible_text(text, keep_inner_spaces);
    if (text_width(font, whole) <= width) return whole;
    const std::vector<std::string> parts = shown_characters(text, keep_inner_spaces);
    float left = width - text_width(font, kCut);
    std::size_t end = 0;
    while (end < parts.size() && (left -= text_width(font, parts[end])) >= 0) ++end;
    return end == 0 ? std::string() : joined(parts, 0, end).append(kCut);
}

std::string elide_shown_middle(const ImFont* font, std::string_view before, std::string_view text, float width, bool keep_inner_spaces) {
    const std::string whole = std::string(before) + visible_text(text, keep_inner_spaces);
    if (text_width(font, whole) <= width) return whole;
    const std::vector<std::string> parts = shown_characters(text, keep_inner_spaces);
    float left = width - text_width(font, before) - text_width(font, kCut);
    std::size_t head = 0, tail = parts.size();
    // Characters are taken from both ends in turn, the last ones first.
    for (bool from_tail = true; head < tail; from_tail = !from_tail) {
        left -= text_width(font, parts[from_tail ? tail - 1 : head]);
        if (left < 0) break;
        if (from_tail) --tail;
        else ++head;
    }
    if (head == 0 && tail == parts.size()) return {};
    return std::string(before) + joined(parts, 0, head).append(kCut) + joined(parts, tail, parts.size());
}

}  // namespace attn::app
