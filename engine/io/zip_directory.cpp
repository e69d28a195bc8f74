#include "engine/io/zip_directory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

#include "engine/io/array_file.hpp"

namespace attn {
namespace {

constexpr std::string_view kEndMark = "PK\5\6";
constexpr std::string_view kEnd64Mark = "PK\6\6";
constexpr std::string_view kLocator64Mark = "PK\6\7";
constexpr std::string_view kEntryMark = "PK\1\2";
constexpr std::string_view kLocalMark = "PK\3\4";
constexpr std::size_t kEndBytes = 22, kEnd64Bytes = 56, kLocator64Bytes = 20, kEntryBytes = 46, kLocalBytes = 30;
constexpr std::size_t kMaxComment = 0xFFFF;
constexpr std::uint64_t kMaxDirectory = std::uint64_t{64} << 20;
constexpr std::uint32_t kIn64 = 0xFFFFFFFF;  // the number is in the zip64 extra field
constexpr std::uint16_t kZip64Field = 1;
constexpr std::uint16_t kHasDescriptor = 8;  // flag: sizes are in a data descriptor after the data

/// A record of the archive: little-endian numbers at fixed offsets.
class Record {
public:
    Record(std::string bytes, std::uint64_t place) : bytes_(std::move(bytes)), place_(place) {}
    template <class T>
    T get(std::size_t at) const {
        T value{};
        std::memcpy(&value, bytes_.data() + at, sizeof value);
        return value;
    }
    bool starts_with(std::string_view mark) const { return bytes_.starts_with(mark); }
    std::string_view text(std::size_t at, std::size_t length) const { return std::string_view(bytes_).substr(at, length); }
    std::uint64_t place() const { return place_; }

private:
    std::string bytes_;
    std::uint64_t place_;
};

Record read_record(InputFile& file, std::uint64_t place, std::size_t length) {
    file.seek(place);
    std::string bytes(length, '\0');
    file.read(std::as_writable_bytes(std::span(bytes)));
    return {std::move(bytes), place};
}

struct Directory {
    std::uint64_t entries = 0, bytes = 0, offset = 0;
    std::uint64_t end = 0;  ///< start of the records after the directory
};

/// The last end record whose comment extends exactly to the end of the file.
Record find_end(InputFile& file) {
    if (file.size() < kEndBytes) throw file.error(FileFault::Truncated, fmt::format("{} bytes are too few for a zip archive", file.size()));
    const std::uint64_t tail = std::min<std::uint64_t>(file.size(), kEndBytes + kMaxComment);
    const Record last = read_record(file, file.size() - tail, static_cast<std::size_t>(tail));
    for (std::size_t at = static_cast<std::size_t>(tail) - kEndBytes + 1; at-- > 0;) {
        if (last.text(at, 4) != kEndMark || at + kEndBytes + last.get<std::uint16_t>(at + 20) != tail) continue;
        return {std::string(last.text(at, kEndBytes)), last.place() + at};
    }
    throw file.error_at(FileFault::Format, file.size(), "is not a zip archive, or its end is missing");
}

Directory find_directory64(InputFile& file, std::uint64_t end_place) {
    if (end_place < kLocator64Bytes) throw file.error_at(FileFault::Format, end_place, "the zip64 locator is missing");
    const Record locator = read_record(file, end_place - kLocator64Bytes, kLocator64Bytes);
    if (!locator.starts_with(kLocator64Mark)) throw file.error_at(FileFault::Format, locator.place(), "the zip64 locator is missing");
    const auto place = locator.get<std::uint64_t>(8);
    if (locator.get<std::uint32_t>(4) != 0 || locator.get<std::uint32_t>(16) > 1)
        throw file.error_at(FileFault::Unsupported, locator.place(), "the archive is split into several files");
    if (place > locator.place() || locator.place() - place < kEnd64Bytes)
        throw file.error_at(FileFault::Format, locator.place(), fmt::format("the zip64 end record cannot be at byte {}", place));
    const Record end = read_record(file, place, kEnd64Bytes);
    if (!end.starts_with(kEnd64Mark)) throw file.error_at(FileFault::Format, place, "the zip64 end record is missing");
    if (end.get<std::uint32_t>(16) != 0 || end.get<std::uint32_t>(20) != 0 || end.get<std::uint64_t>(24) != end.get<std::uint64_t>(32))
        throw file.error_at(FileFault::Unsupported, place, "the archive is split into several files");
    return {end.get<std::uint64_t>(32), end.get<std::uint64_t>(40), end.get<std::uint64_t>(48), place};
}

Directory find_directory(InputFile& file) {
    const Record end = find_end(file);
    Directory directory{end.get<std::uint16_t>(10), end.get<std::uint32_t>(12), end.get<std::uint32_t>(16), end.place()};
    if (directory.entries == 0xFFFF || directory.bytes == kIn64 || directory.offset == kIn64)
        directory = find_directory64(file, end.place());
    else if (end.get<std::uint16_t>(4) != 0 || end.get<std::uint16_t>(6) != 0 || end.get<std::uint16_t>(8) != directory.entries)
        throw file.error_at(FileFault::Unsupported, end.place(), "the archive is split into several files");
    if (directory.offset > directory.end || directory.end - directory.offset < directory.bytes)
        throw file.error_at(FileFault::Truncated, end.place(),
                            fmt::format("the directory cannot be {} bytes at byte {}", directory.bytes, directory.offset));
    if (directory.end - directory.offset != directory.bytes)
        throw file.error_at(FileFault::Format, directory.offset + directory.bytes,
                            "there are bytes between the directory and its end record");
    if (directory.entries > kMaxArrays || directory.bytes > kMaxDirectory)
        throw file.error_at(FileFault::Limit, end.place(),
                            fmt::format("{} entries in {} bytes; at most {} in {} bytes are read", directory.entries, directory.bytes,
                                        kMaxArrays, kMaxDirectory));
    if (directory.entries > directory.bytes / kEntryBytes)
        throw file.error_at(FileFault::Format, end.place(),
                            fmt::format("{} entries do not fit in a directory of {} bytes", directory.entries, directory.bytes));
    return directory;
}

/// The numbers in a zip64 extra field, consumed in order.
class Zip64Numbers {
public:
    explicit Zip64Numbers(std::string_view extra) {
        while (extra.size() >= 4) {
            std::uint16_t id = 0, length = 0;
            std::memcpy(&id, extra.data(), 2);
            std::memcpy(&length, extra.data() + 2, 2);
            extra.remove_prefix(4);
            if (length > extra.size()) return;
            if (id == kZip64Field) {
                left_ = extra.substr(0, length);
                return;
            }
            extra.remove_prefix(length);
        }
    }
    /// Replaces `value` if it refers to the zip64 field; false if the field has no number left.
    bool resolve(std::uint64_t& value) {
        if (value != kIn64) return true;
        if (left_.size() < 8) return false;
        std::memcpy(&value, left_.data(), 8);
        left_.remove_prefix(8);
        return true;
    }

private:
    std::string_view left_;
};

std::vector<ZipEntry> read_entries(InputFile& file, const Directory& directory) {
    const Record all = read_record(file, directory.offset, static_cast<std::size_t>(directory.bytes));
    std::vector<ZipEntry> entries;
    entries.reserve(static_cast<std::size_t>(directory.entries));
    std::size_t at = 0;
    while (entries.size() < directory.entries) {
        const auto refuse = [&](FileFault fault, std::string_view problem) { return file.error_at(fault, directory.offset + at, problem); };
        if (directory.bytes - at < kEntryBytes || all.text(at, 4) != kEntryMark)
            throw refuse(FileFault::Format,
                         fmt::format("entry {} of {} is missing from the directory", entries.size() + 1, directory.entries));
        const std::size_t name = all.get<std::uint16_t>(at + 28), extra = all.get<std::uint16_t>(at + 30),
                          comment = all.get<std::uint16_t>(at + 32);
        if (directory.bytes - at - kEntryBytes < name + extra + comment)
            throw refuse(FileFault::Format, "an entry of the directory is cut off");
        ZipEntry entry{std::string(all.text(at + kEntryBytes, name)),
                       all.get<std::uint16_t>(at + 8),
                       all.get<std::uint16_t>(at + 10),
                       all.get<std::uint32_t>(at + 16),
                       all.get<std::uint32_t>(at + 20),
                       all.get<std::uint32_t>(at + 24),
                       all.get<std::uint32_t>(at + 42)};
        Zip64Numbers wide(all.text(at + kEntryBytes + name, extra));
        if (!wide.resolve(entry.unpacked) || !wide.resolve(entry.packed) || !wide.resolve(entry.offset))
            throw refuse(FileFault::Format, "the zip64 numbers of an entry are missing");
        if (entry.name.size() > kMaxArrayName)
            throw refuse(FileFault::Limit, fmt::format("a name of {} bytes is too long", entry.name.size()));
        if (all.get<std::uint16_t>(at + 34) != 0) throw refuse(FileFault::Unsupported, "the archive is split into several files");
        entries.push_back(std::move(entry));
        at += kEntryBytes + name + extra + comment;
    }
    if (at != directory.bytes)
        throw file.error_at(FileFault::Format, directory.offset + at,
                            fmt::format("the directory holds more than its {} entries", directory.entries));
    return entries;
}

FileError entry_error(const InputFile& file, const ZipEntry& entry, FileFault fault, std::string_view problem) {
    return {fault, file.name(), fmt::format("entry \"{}\"", escaped(entry.name)), problem};
}

/// Compares the local header with the directory entry; returns the offset of the end of the entry's data.
std::uint64_t check_local_header(InputFile& file, const ZipEntry& entry, std::uint64_t directory_offset) {
    const auto room = [&](std::uint64_t used, std::uint64_t wanted) {
        return used <= directory_offset && directory_offset - used >= wanted;
    };
    if (!room(entry.offset, kLocalBytes))
        throw entry_error(file, entry, FileFault::Truncated, fmt::format("its data cannot begin at byte {}", entry.offset));
    const Record local = read_record(file, entry.offset, kLocalBytes);
    if (!local.starts_with(kLocalMark))
        throw entry_error(file, entry, FileFault::Format, fmt::format("there is no entry at byte {}", entry.offset));
    const std::size_t name_bytes = local.get<std::uint16_t>(26), extra_bytes = local.get<std::uint16_t>(28);
    const std::uint64_t data = entry.offset + kLocalBytes + name_bytes + extra_bytes;
    if (!room(data, entry.packed)) throw entry_error(file, entry, FileFault::Truncated, "its data reach into the directory");
    const Record names = read_record(file, entry.offset + kLocalBytes, name_bytes + extra_bytes);
    if (names.text(0, name_bytes) != entry.name)
        throw entry_error(file, entry, FileFault::Format, fmt::format("its data are labelled \"{}\"", escaped(names.text(0, name_bytes))));
    if (local.get<std::uint16_t>(8) != entry.method || ((local.get<std::uint16_t>(6) ^ entry.flags) & 1U) != 0)
        throw entry_error(file, entry, FileFault::Format, "its data are labelled with a different method");
    std::uint64_t packed = local.get<std::uint32_t>(18), unpacked = local.get<std::uint32_t>(22);
    Zip64Numbers wide(names.text(name_bytes, extra_bytes));
    const bool resolved = wide.resolve(unpacked) && wide.resolve(packed);
    const bool later = (local.get<std::uint16_t>(6) & kHasDescriptor) != 0;  // the fields here are zero, and the values follow the data
    const bool same = packed == entry.packed && unpacked == entry.unpacked && local.get<std::uint32_t>(14) == entry.crc;
    if (!later && (!resolved || !same)) throw entry_error(file, entry, FileFault::Range, "its sizes or checksum contradict the directory");
    if (entry.method == 0 && !entry.encrypted() && entry.packed != entry.unpacked)
        throw entry_error(file, entry, FileFault::Range, "it is stored uncompressed, but its two sizes differ");
    return data + entry.packed;
}

void check_names(const InputFile& file, const std::vector<ZipEntry>& entries) {
    std::vector<const ZipEntry*> sorted;
    for (const ZipEntry& entry : entries) sorted.push_back(&entry);
    std::sort(sorted.begin(), sorted.end(), [](const auto* a, const auto* b) { return a->name < b->name; });
    const auto same = std::adjacent_find(sorted.begin(), sorted.end(), [](const auto* a, const auto* b) { return a->name == b->name; });
    if (same != sorted.end()) throw entry_error(file, **same, FileFault::Duplicate, "the name is given twice");
}

void check_places(InputFile& file, const std::vector<ZipEntry>& entries, std::uint64_t directory_offset) {
    std::vector<const ZipEntry*> sorted;
    for (const ZipEntry& entry : entries) sorted.push_back(&entry);
    std::sort(sorted.begin(), sorted.end(), [](const auto* a, const auto* b) { return a->offset < b->offset; });
    std::uint64_t free_from = 0;
    for (const ZipEntry* entry : sorted) {
        if (entry->offset < free_from) throw entry_error(file, *entry, FileFault::Range, "it overlaps the previous entry");
        free_from = check_local_header(file, *entry, directory_offset);
    }
}

}  // namespace

std::vector<ZipEntry> read_zip_directory(InputFile& file) {
    const Directory directory = find_directory(file);
    std::vector<ZipEntry> entries = read_entries(file, directory);
    check_names(file, entries);
    check_places(file, entries, directory.offset);
    return entries;
}

}  // namespace attn
