#pragma once
/// Reader and writer of .safetensors files (8 bytes of header length, a JSON header, the tensors' bytes).
/// Format: https://github.com/huggingface/safetensors, "Format". Stricter than it: a name may not appear twice.

#include <cstddef>
#include <filesystem>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "engine/io/array_file.hpp"
#include "engine/io/input_file.hpp"

namespace attn {

class AtomicFile;

/// Bytes of the longest header that is read, as the format says.
inline constexpr std::uint64_t kMaxSafetensorsHeader = 100'000'000;

/// Throws FileError with the file's name and the place; nothing is allocated for tensors before the whole header has been checked
/// against the file's size. Arrays come in the header's order.
ArrayFile read_safetensors(const std::filesystem::path& path, ReadLimits limits = {});
/// The same from any source, read from its current position (0) to its end.
ArrayFile read_safetensors(ByteSource& source);

/// Writes atomically (see AtomicFile); the same contents give the same bytes. Data are laid out by falling element size, so that
/// every tensor is aligned. Throws FileError: Duplicate for a name given twice, Format for a name or metadata that is not UTF-8,
/// Schema for bytes that do not fit the shape, Limit for what the reader would refuse, Io when it cannot be written.
void write_safetensors(const std::filesystem::path& path, const std::map<std::string, std::string>& metadata,
                       std::span<const ArrayView> arrays);
void write_safetensors(const std::filesystem::path& path, const ArrayFile& file);
/// An array whose bytes are not there yet.
struct PlannedArray {
    std::string name;
    DType dtype = DType::F32;
    std::vector<std::int64_t> shape;
};
/// The same bytes, of arrays that are made one after the other: `bytes_of(i)` is called once for each, in the order in which they stand in
/// the file, and what it returns stays as it is until the next call. Throws Schema, too, where that does not fit the shape.
void write_safetensors(const std::filesystem::path& path, const std::map<std::string, std::string>& metadata,
                       std::span<const PlannedArray> arrays, const std::function<std::span<const std::byte>(std::size_t)>& bytes_of);
/// The same into a file that the caller commits.
void write_safetensors(AtomicFile& file, const std::map<std::string, std::string>& metadata, std::span<const ArrayView> arrays);

}  // namespace attn
