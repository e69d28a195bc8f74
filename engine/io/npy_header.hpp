#pragma once
/// Strict parser for the header of a .npy file, a Python dictionary with three known entries.

#include <cstdint>
#include <string_view>
#include <vector>

#include "engine/io/array_file.hpp"

namespace attn {

struct NpyHeader {
    DType dtype = DType::F64;
    bool big_endian = false;
    bool fortran_order = false;
    std::vector<std::int64_t> shape;
};

/// Throws FileError naming `source` and the byte offset in the file; `text` starts at first_byte.
NpyHeader parse_npy_header(std::string_view text, std::string_view source, std::uint64_t first_byte);

}  // namespace attn
