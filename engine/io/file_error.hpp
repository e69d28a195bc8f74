#pragma once
/// The error of all readers and writers: the kind of fault, the file and the place in it.

#include <cstdint>
#include <string>
#include <string_view>

#include "engine/tensor/error.hpp"

namespace attn {

/// Why a file was refused or could not be written.
enum class FileFault : std::uint8_t {
    Truncated,    ///< the file ends too early
    Limit,        ///< larger, longer or deeper than this program accepts
    Format,       ///< violates the format
    Overflow,     ///< sizes whose product or sum exceeds 63 bits
    Range,        ///< an impossible number or byte range
    Duplicate,    ///< a name occurs twice
    Unsupported,  ///< valid, but not supported by this program
    Schema,       ///< a valid container that lacks what was expected in it
    Io,           ///< the system could not open, read or write the file
    Memory,       ///< does not fit the memory allowed
};

/// Makes text from a file safe to display: invalid UTF-8, control characters and bidirectional formatting become \xNN or \u{NNNN}, and text
/// longer than max_chars characters is cut off with "…" (0: no limit).
std::string escaped(std::string_view text, std::size_t max_chars = 64);

/// Message: "NAME, PLACE: PROBLEM", or "NAME: PROBLEM" without a place.
class FileError : public IoError {
public:
    /// `place` is a byte offset ("byte 8"), a JSON pointer or "".
    FileError(FileFault fault, std::string_view file, std::string_view place, std::string_view problem);
    FileFault fault() const { return fault_; }

private:
    FileFault fault_;
};

/// For a file that git left in place of a large one.
inline constexpr std::string_view kGitPointerWords = "is only a Git LFS pointer: fetch the file itself with git lfs pull";

}  // namespace attn
