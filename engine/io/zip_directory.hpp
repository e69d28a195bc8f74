#pragma once
/// The directory of a zip archive, checked for faults that unpacking libraries accept: overlapping entries, local headers that contradict
/// the directory, impossible sizes. Format: PKWARE APPNOTE.TXT, sections 4.3.6 to 4.3.16 and 4.5.3.

#include <cstdint>
#include <string>
#include <vector>

#include "engine/io/input_file.hpp"

namespace attn {

struct ZipEntry {
    std::string name;  ///< as stored
    std::uint16_t flags = 0;
    std::uint16_t method = 0;  ///< 0 stored, 8 deflated
    std::uint32_t crc = 0;
    std::uint64_t packed = 0, unpacked = 0;  ///< sizes in bytes
    std::uint64_t offset = 0;                ///< of the local header
    bool encrypted() const { return (flags & 0x2041U) != 0; }
};

/// Entries in directory order. Throws FileError: Format or Truncated for a malformed archive, Limit for more than kMaxArrays entries,
/// Duplicate for a repeated name, Range for overlapping entries or contradictory sizes, Unsupported for a multi-part archive.
std::vector<ZipEntry> read_zip_directory(InputFile& file);

}  // namespace attn
