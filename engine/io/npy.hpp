#pragma once
/// Reads and writes .npy files, versions 1 to 3. Format: numpy.lib.format ("NPY format"). Objects are never unpickled.

#include <filesystem>
#include <string>
#include <string_view>

#include "engine/io/array_file.hpp"
#include "engine/io/input_file.hpp"
#include "engine/io/write_watch.hpp"

namespace attn {

/// The array, converted to row-major and little-endian; its name is the file's stem. Throws FileError.
NamedArray read_npy(const std::filesystem::path& path, ReadLimits limits = {});
/// The same from any source, which must contain exactly one array.
NamedArray read_npy(ByteSource& source);

/// The header before the array's bytes in a .npy file of version 1, with data aligned to 64 bytes. `file` is used in messages. Throws
/// FileError: Unsupported for BF16, which NumPy lacks; Schema for bytes that do not match the shape.
std::string npy_header(const ArrayView& array, std::string_view file);
/// The file is replaced atomically. Throws FileError, and Cancelled as `watch` asks.
void write_npy(const std::filesystem::path& path, const ArrayView& array, const WriteWatch& watch = {});

}  // namespace attn
