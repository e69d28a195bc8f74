#pragma once
/// Reads and writes .npz files (zip archives of .npy entries), like numpy.savez and savez_compressed.

#include <filesystem>
#include <span>

#include "engine/io/array_file.hpp"
#include "engine/io/input_file.hpp"
#include "engine/io/write_watch.hpp"

namespace attn {

/// Limits on what an archive may unpack to, whatever its size.
inline constexpr std::uint64_t kMaxNpzArrayBytes = std::uint64_t{1} << 30;
inline constexpr std::uint64_t kMaxNpzTotalBytes = std::uint64_t{2} << 30;
inline constexpr std::uint64_t kMaxNpzRatio = 1100;  ///< unpacked : packed; deflate cannot exceed 1032

/// Arrays in archive order, named like the entries without ".npy"; other entries, and arrays of strings or objects, are skipped and listed.
/// A malformed entry makes the whole file invalid. Throws FileError.
ArrayFile read_npz(const std::filesystem::path& path, ReadLimits limits = {});

/// Atomic; stored or deflated; the same contents give the same bytes. Throws FileError, and Cancelled as `watch` asks.
void write_npz(const std::filesystem::path& path, std::span<const ArrayView> arrays, bool compressed = false, const WriteWatch& watch = {});

}  // namespace attn
