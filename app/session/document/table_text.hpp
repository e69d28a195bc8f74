#pragma once
/// Texts in tables that a spreadsheet may open. Tokens come from anyone's vocabulary.

#include <string>
#include <string_view>

namespace attn::app {

/// Escaped, and with an apostrophe before what a spreadsheet would compute: text that begins with =, +, - or @ after any spaces.
std::string table_text(std::string_view text);
/// The same as a field of a CSV file: in quotes if it needs them.
std::string csv_field(std::string_view text);

}  // namespace attn::app
