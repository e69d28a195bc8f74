#pragma once
/// Reader and writer of .npz files (zip archives of .npy entries), as numpy.savez and savez_compressed write them.

#include <filesystem>
#include <span>

#include "engine/io/array_file.hpp"
#include "engine/io/input_file.hpp"

namespace attn {

/// Bounds of what an archive may unpack to, whatever its size.
inline constexpr std::uint64_t kMaxNpzArrayBytes = std::uint64_t{1} << 30;
inline constexpr std::uint64_t kMaxNpzTotalBytes = std::uint64_t{2} << 30;
inline constexpr std::uint64_t kMaxNpzRatio = 1100;  ///< unpacked : packed; deflate cannot exceed 1032

/// Arrays in the archive's order, named as the entries without ".npy"; other entries are skipped with a note. Any malformed entry
/// refuses the whole file. Throws FileError.
ArrayFile read_npz(const std::filesystem::path& path, ReadLimits limits = {});

/// Writes atomically, stored or deflated; the same contents give the same bytes. Throws FileError.
void write_npz(const std::filesystem::path& path, std::span<const ArrayView> arrays, bool compressed = false);

}  // namespace attn
