#pragma once
/// The header of a .npy file: a Python dictionary of three known entries, read without a Python interpreter's generosity.

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

/// Parses the dictionary. Throws FileError naming `source` and the byte of the file (`first_byte` is where `text` starts).
NpyHeader parse_npy_header(std::string_view text, std::string_view source, std::uint64_t first_byte);

}  // namespace attn
