#pragma once
/// Reads and writes .safetensors files: 8 bytes with the header's length, a JSON header, the tensors' bytes.
/// Format: https://github.com/huggingface/safetensors, "Format". Stricter than the format: names must be unique.

#include <cstddef>
#include <filesystem>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "engine/io/array_file.hpp"
#include "engine/io/input_file.hpp"
#include "engine/io/write_watch.hpp"

namespace attn {

class AtomicFile;

/// Maximum length of a header. The format allows 100 MB; with some 200 bytes for each, kMaxArrays tensors need 13.
inline constexpr std::uint64_t kMaxSafetensorsHeader = std::uint64_t{16} << 20;

/// Arrays in header order. Throws FileError with the file's name and the place; allocates nothing for tensors until the whole header has
/// been checked against the file's size.
ArrayFile read_safetensors(const std::filesystem::path& path, ReadLimits limits = {});
/// The same from any source, from its current position, which must be 0, to its end.
ArrayFile read_safetensors(ByteSource& source);

/// Atomic (see AtomicFile); the same contents give the same bytes. Arrays are stored by decreasing element size, so that every one is
/// aligned. Throws FileError: Duplicate for a repeated name, Format for a name or metadata that is not UTF-8, Schema for bytes that do not
/// match the shape, Limit for what the reader would refuse, Io if the file cannot be written; Cancelled as `watch` asks.
void write_safetensors(const std::filesystem::path& path, const std::map<std::string, std::string>& metadata,
                       std::span<const ArrayView> arrays, const WriteWatch& watch = {});
void write_safetensors(const std::filesystem::path& path, const ArrayFile& file);
/// An array whose bytes are supplied later.
struct PlannedArray {
    std::string name;
    DType dtype = DType::F32;
    std::vector<std::int64_t> shape;
};
/// The same for arrays produced one at a time: bytes_of(i) is called once per array, in file order, and its result must stay valid until
/// the next call. Also throws Schema if the result does not match the shape.
void write_safetensors(const std::filesystem::path& path, const std::map<std::string, std::string>& metadata,
                       std::span<const PlannedArray> arrays, const std::function<std::span<const std::byte>(std::size_t)>& bytes_of,
                       const WriteWatch& watch = {});
/// The same into a file that the caller commits.
void write_safetensors(AtomicFile& file, const std::map<std::string, std::string>& metadata, std::span<const ArrayView> arrays,
                       const WriteWatch& watch = {});

}  // namespace attn
