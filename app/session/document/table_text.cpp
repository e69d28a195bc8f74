#include "app/session/document/table_text.hpp"

#include <algorithm>
#include <array>

#include "engine/io/file_error.hpp"

namespace attn::app {
namespace {

/// The signs that begin a formula, also as they are written between Chinese and Japanese characters.
constexpr std::array<std::string_view, 8> kFormulaSigns = {"=", "+", "-", "@", "＝", "＋", "－", "＠"};

}  // namespace

std::string table_text(std::string_view text) {
    std::string shown = escaped(text, 0);  // tabs and line breaks, too
    const std::string_view begun = std::string_view(shown).substr(std::min(shown.find_first_not_of(' '), shown.size()));
    const bool formula =
        std::any_of(kFormulaSigns.begin(), kFormulaSigns.end(), [&](std::string_view sign) { return begun.starts_with(sign); });
    if (formula) shown.insert(0, 1, '\'');
    return shown;
}

std::string csv_field(std::string_view text) {
    const std::string shown = table_text(text);
    if (shown.find_first_of(",\"") == std::string::npos) return shown;
    std::string out = "\"";
    for (const char c : shown) out.append(c == '"' ? 2 : 1, c);
    return out + '"';
}

}  // namespace attn::app
