#pragma once
/// Reader and writer of .npy files, versions 1 to 3. Format: numpy.lib.format ("NPY format"). Objects are never unpickled.

#include <filesystem>

#include "engine/io/array_file.hpp"
#include "engine/io/input_file.hpp"

namespace attn {

/// The array, row-major and little-endian whatever the file's order is; its name is the file's stem. Throws FileError.
NamedArray read_npy(const std::filesystem::path& path, ReadLimits limits = {});
/// The same from any source, which must hold exactly one array.
NamedArray read_npy(ByteSource& source);

/// The array's header and bytes as NumPy's save() would write them (version 1, 64-byte aligned). BF16 is refused: NumPy has none.
std::string npy_header(const ArrayView& array, std::string_view file);
/// Writes atomically. Throws FileError.
void write_npy(const std::filesystem::path& path, const ArrayView& array);

}  // namespace attn
