#pragma once
/// A streaming parser for the JSON header of .safetensors files: memory grows with the number of tensors, not with the text.

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
    std::uint64_t begin = 0, end = 0;  ///< byte range, relative to the end of the header
};

struct SafetensorsHeader {
    std::map<std::string, std::string> metadata;
    std::vector<SafetensorsEntry> entries;  ///< in header order
};

/// Checks everything that does not depend on the data: JSON, fields, types, and that the ranges match the shapes and tile [0, data_bytes).
/// Throws FileError naming `source` and the byte offset in the file; `text` starts at first_byte.
SafetensorsHeader parse_safetensors_header(std::string_view text, std::string_view source, std::uint64_t first_byte,
                                           std::uint64_t data_bytes);

/// Reads a file's header, leaving the source at the beginning of the data. Throws like parse_safetensors_header(), and for an impossible
/// header length.
SafetensorsHeader read_safetensors_header(ByteSource& source);

}  // namespace attn
