#include "engine/tokenizer/letter_case.hpp"

#include "engine/io/utf8.hpp"
#include "engine/tokenizer/aligned_text.hpp"
#include "engine/tokenizer/character_class.hpp"

namespace attn {

std::string in_lower_case(std::string_view text) {
    std::string lower;
    while (!text.empty()) {
        const Utf8Unit unit = first_utf8(text);
        if (unit.valid) lower += utf8_of(lower_case(unit.code_point));
        else lower += text.front();
        text.remove_prefix(unit.bytes);
    }
    return lower;
}

}  // namespace attn
