#pragma once
/// Reader and writer of .npy files, versions 1 to 3. Format: numpy.lib.format ("NPY format"). Objects are never unpickled.

#include <filesystem>
#include <string>
#include <string_view>

#include "engine/io/array_file.hpp"
#include "engine/io/input_file.hpp"

namespace attn {

/// The array, row-major and little-endian whatever the file's order is; its name is the file's stem. Throws FileError.
NamedArray read_npy(const std::filesystem::path& path, ReadLimits limits = {});
/// The same from any source, which must hold exactly one array.
NamedArray read_npy(ByteSource& source);

/// What stands before the array's bytes in a file that NumPy reads: version 1, data aligned to 64 bytes. `file` is for messages.
/// Throws FileError: Unsupported for BF16, which NumPy lacks; Schema for bytes that do not fit the shape.
std::string npy_header(const ArrayView& array, std::string_view file);
/// Writes atomically. Throws FileError.
void write_npy(const std::filesystem::path& path, const ArrayView& array);

}  // namespace attn
