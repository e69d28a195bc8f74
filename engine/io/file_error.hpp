#pragma once
/// The error of every reader and writer: what kind of fault, in which file, at which place.

#include <cstdint>
#include <string>
#include <string_view>

#include "engine/tensor/error.hpp"

namespace attn {

/// Why a file was refused or could not be written.
enum class FileFault : std::uint8_t {
    Truncated,    ///< the file ends before something it announces
    Limit,        ///< larger, longer or deeper than this program accepts
    Format,       ///< not what the format prescribes
    Overflow,     ///< sizes whose product or sum does not fit 63 bits
    Range,        ///< a number or a byte range that cannot be
    Duplicate,    ///< the same name twice
    Unsupported,  ///< valid, but of a kind this program does not read
    Schema,       ///< a valid container without what was expected in it
    Io,           ///< the system could not open, read or write it
    Memory,       ///< it does not fit the memory granted to it
};

/// "TRUNC", "LIMIT", ...: the fault as one word.
const char* fault_name(FileFault fault);

/// Text from a file made safe to show: invalid UTF-8, control and direction-changing characters as \xNN or \u{NNNN}, and
/// cut after `max_chars` characters with "…" (0: never).
std::string escaped(std::string_view text, std::size_t max_chars = 64);

/// message: "NAME, PLACE: PROBLEM", or "NAME: PROBLEM" without a place.
class FileError : public IoError {
public:
    /// `place` is a byte offset in words ("byte 8"), a JSON pointer or "".
    FileError(FileFault fault, std::string_view file, std::string_view place, std::string_view problem);
    FileFault fault() const { return fault_; }

private:
    FileFault fault_;
};

}  // namespace attn
