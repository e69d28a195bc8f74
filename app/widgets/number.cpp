#include "app/widgets/number.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

namespace attn::app {
namespace {

constexpr const char* kMinus = "\u2212";
constexpr int kMaxDecimals = 9;

/// Replaces every '-' of a C-formatted number, including the exponent's, and strips the exponent's padding: "1e-05" becomes "1e−5".
std::string dress(const char* begin, const char* end, bool plus, bool ascii) {
    std::string text;
    bool exponent = false;
    if (plus && *begin != '-') text += '+';
    for (const char* at = begin; at != end; ++at) {
        if (*at == '-') {
            text += ascii ? "-" : kMinus;
        } else if (exponent && (*at == '+' || (*at == '0' && at + 1 != end && (at[-1] == '-' || at[-1] == '+')))) {
            continue;  // drop the exponent's plus and leading zeros
        } else {
            text += *at;
        }
        exponent = exponent || *at == 'e';
    }
    return text;
}

std::string fixed_text(double value, int decimals, const NumberFormat& format) {
    std::array<char, 64> buffer{};
    const auto result = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, std::chars_format::fixed, decimals);
    return dress(buffer.data(), result.ptr, format.plus, format.ascii);
}

std::string scientific_text(double value, int decimals, bool plus, bool ascii) {
    std::array<char, 64> buffer{};
    const auto result = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, std::chars_format::scientific, decimals);
    return dress(buffer.data(), result.ptr, plus, ascii);
}

/// The text for NaN and infinities; empty for finite numbers.
std::string special_text(double value, bool plus, bool ascii) {
    if (std::isnan(value)) return ascii ? "nan" : "NaN";
    if (!std::isinf(value)) return {};
    std::string text = value > 0 ? (plus ? "+" : "") : (ascii ? "-" : kMinus);
    return text.append(ascii ? "inf" : "\u221e");
}

}  // namespace

std::string format_number(double value, const NumberFormat& format) {
    if (std::string special = special_text(value, format.plus, format.ascii); !special.empty()) return special;
    if (value == 0) return "0";
    const int decimals = std::clamp(format.decimals, 0, kMaxDecimals);
    const double size = std::abs(value);
    if (format.fixed) return fixed_text(value, decimals, format);
    const double half_unit = 0.5 * std::pow(10.0, -decimals);
    // Thresholds apply to the rounded number: 999.9996 gives "1000", not "1000.000".
    if (size + half_unit < 0.01 && size < 9.5 * 2 * half_unit) {
        return scientific_text(value, std::clamp(decimals - 2, 0, 2), format.plus, format.ascii);
    }
    if (size + half_unit < 1000) {
        if (size >= half_unit) return fixed_text(value, decimals, format);
        // A nonzero number must not read as zero, so show one significant digit.
        return size < 0.0095 ? scientific_text(value, 0, format.plus, format.ascii) : fixed_text(value, size < 0.095 ? 2 : 1, format);
    }
    if (size + 0.5 < 1e5) return fixed_text(value, 0, format);
    return scientific_text(value, std::clamp(decimals, 0, 3), format.plus, format.ascii);
}

std::string format_exact(float value, bool ascii) {
    if (std::string special = special_text(value, false, ascii); !special.empty()) return special;
    if (value == 0) return "0";
    std::array<char, 64> buffer{};
    const auto result = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
    return dress(buffer.data(), result.ptr, false, ascii);
}

std::string format_scientific(double value, int decimals, bool ascii) {
    if (std::string special = special_text(value, false, ascii); !special.empty()) return special;
    if (value == 0) return "0";
    return scientific_text(value, std::clamp(decimals, 0, kMaxDecimals), false, ascii);
}

std::string format_count(std::int64_t value) {
    const std::string digits = std::to_string(value);
    const std::size_t first = digits[0] == '-' ? 1 : 0;
    std::string text = first == 1 ? kMinus : "";
    for (std::size_t at = first; at < digits.size(); ++at) {
        if (at > first && (digits.size() - at) % 3 == 0) text += ',';
        text += digits[at];
    }
    return text;
}

int decimals_that_fit(double largest, int characters, bool negative) {
    if (!std::isfinite(largest)) largest = 0;
    for (int decimals = 2; decimals >= 0; --decimals) {
        const double size = std::max(std::abs(largest), 0.5);
        const int length = number_length(format_number(size, {.decimals = decimals})) + (negative ? 1 : 0);
        if (length <= characters) return decimals;
    }
    return -1;
}

int number_length(const std::string& text) {
    return static_cast<int>(std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

}  // namespace attn::app
