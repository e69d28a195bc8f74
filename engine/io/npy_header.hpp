#pragma once
/// Strict parser for the header of a .npy file, a Python dictionary with three known entries.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/io/array_file.hpp"
#include "engine/io/file_error.hpp"

namespace attn {

struct NpyHeader {
    DType dtype = DType::F64;
    bool big_endian = false;
    bool fortran_order = false;
    std::vector<std::int64_t> shape;
};

/// A header that is fine, of an array whose elements are no numbers that we read: strings, objects, dates, records.
class UnreadableElements : public FileError {
public:
    UnreadableElements(std::string_view source, std::string_view place, const std::string& why)
        : FileError(FileFault::Unsupported, source, place, why), why_(why) {}
    const std::string& why() const { return why_; }  ///< the problem alone, without file and place

private:
    std::string why_;
};

/// Throws FileError naming `source` and the byte offset in the file, UnreadableElements for an unknown type; `text` starts at first_byte.
NpyHeader parse_npy_header(std::string_view text, std::string_view source, std::uint64_t first_byte);

}  // namespace attn
