#pragma once
/// Line and column of a place in a JSON text, for files that people write by hand.

#include <string>
#include <string_view>

#include "engine/io/file_error.hpp"

namespace attn {

/// "line 3, column 12", both from 1, columns in characters. `place` is one of a FileError's: "byte 8", from 1, or a JSON pointer, of which
/// as much as the text has is followed. "" for any other.
std::string line_and_column(std::string_view json, std::string_view place);

/// The same error of a reader of this text, with line and column of its place. `source`: how the reader calls the text.
FileError with_line(const FileError& error, std::string_view json, std::string_view source);

/// Calls `read`, whose FileErrors then also say line and column.
template <class Read>
auto telling_lines(std::string_view json, std::string_view source, const Read& read) {
    try {
        return read();
    } catch (const FileError& error) {
        throw with_line(error, json, source);
    }
}

}  // namespace attn
