#pragma once
/// The JSON header of a .safetensors file, parsed as a stream: memory grows with what the header describes, not with its text.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "engine/io/array_file.hpp"
#include "engine/io/input_file.hpp"

namespace attn {

struct SafetensorsEntry {
    std::string name;
    DType dtype = DType::F32;
    std::vector<std::int64_t> shape;
    std::uint64_t begin = 0, end = 0;  ///< bytes, counted from the end of the header
};

struct SafetensorsHeader {
    std::map<std::string, std::string> metadata;
    std::vector<SafetensorsEntry> entries;  ///< in the header's order
};

/// Checks everything that can be checked without the data: JSON, fields, types, ranges that fit the shapes and tile 0..data_bytes.
/// Throws FileError naming `source` and the byte of the file (`first_byte` is where `text` starts).
SafetensorsHeader parse_safetensors_header(std::string_view text, std::string_view source, std::uint64_t first_byte,
                                           std::uint64_t data_bytes);

/// The header of a whole file; leaves the source where the data begin. Throws as parse_safetensors_header() does, and for a length that the
/// file cannot have.
SafetensorsHeader read_safetensors_header(ByteSource& source);

}  // namespace attn
