#include "app/widgets/letters.hpp"

#include <imgui.h>

#include <algorithm>

#include "app/widgets/text.hpp"

namespace attn::app {

std::u32string letters_of(std::string_view text) {
    std::u32string letters;
    while (!text.empty()) {
        const std::size_t length = character_length(text);
        if (length > 0) {
            const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
            char32_t code = length == 1 ? byte(0) : byte(0) & (0xFFU >> (length + 1));
            for (std::size_t i = 1; i < length; ++i) code = code << 6 | (byte(i) & 0x3FU);
            letters += code;
        }
        text.remove_prefix(std::max<std::size_t>(length, 1));
    }
    return letters;
}

bool has_right_to_left(std::string_view text) {
    const std::u32string letters = letters_of(text);
    return std::any_of(letters.begin(), letters.end(), [](char32_t c) {
        return (c >= 0x0590 && c <= 0x08FF) || (c >= 0xFB1D && c <= 0xFDFF) || (c >= 0xFE70 && c <= 0xFEFF);
    });
}

LackingLetters::LackingLetters() { ImGui::GetIO().UserData = this; }

void note_lacking_letter(char32_t letter) {
    auto* const lacking = static_cast<LackingLetters*>(ImGui::GetIO().UserData);
    if (lacking != nullptr && lacking->noted_.size() < LackingLetters::kMost) lacking->noted_.insert(letter);
}

}  // namespace attn::app
