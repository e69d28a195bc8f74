#include "engine/io/number_text.hpp"

#include <array>
#include <charconv>
#include <cmath>

namespace attn {

void append_number(std::string& out, float value, const OddNumberNames& names) {
    if (std::isnan(value)) {
        out += names.nan;
        return;
    }
    if (std::isinf(value)) {
        out += value > 0 ? names.infinity : names.minus_infinity;
        return;
    }
    std::array<char, 32> digits{};
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
    // A reader that parses a double first rounds twice, which may give the neighbouring float.
    double parsed = 0;
    std::from_chars(digits.data(), end, parsed);
    if (static_cast<float>(parsed) == value) {
        out.append(digits.data(), end);
        return;
    }
    out.append(digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), static_cast<double>(value)).ptr);
}

std::string number_text(float value, const OddNumberNames& names) {
    std::string out;
    append_number(out, value, names);
    return out;
}

}  // namespace attn
