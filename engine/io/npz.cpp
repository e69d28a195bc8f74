#include "engine/io/npz.hpp"

#include <fmt/format.h>
#include <unistd.h>
#include <zip.h>

#include <algorithm>
#include <memory>
#include <new>
#include <set>
#include <utility>

#include "engine/io/atomic_file.hpp"
#include "engine/io/npy.hpp"
#include "engine/io/npy_header.hpp"
#include "engine/io/utf8.hpp"
#include "engine/io/zip_directory.hpp"

namespace attn {
namespace {

constexpr std::string_view kExtension = ".npy";
constexpr std::size_t kInflatedPiece = std::size_t{4} << 20;

struct CloseArchive {
    void operator()(zip_t* archive) const { zip_discard(archive); }
};
struct CloseEntry {
    void operator()(zip_file_t* entry) const { zip_fclose(entry); }
};
struct FreeSource {
    void operator()(zip_source_t* source) const { zip_source_free(source); }
};
using Archive = std::unique_ptr<zip_t, CloseArchive>;
using OpenEntry = std::unique_ptr<zip_file_t, CloseEntry>;
using Source = std::unique_ptr<zip_source_t, FreeSource>;

std::string zip_error_text(int code) {
    zip_error_t error;
    zip_error_init_with_code(&error, code);
    std::string text = zip_error_strerror(&error);
    zip_error_fini(&error);
    return text;
}

/// The bytes of an entry while it is being unpacked; never more than the directory announces.
class EntrySource final : public ByteSource {
public:
    EntrySource(zip_t* archive, std::uint64_t index, const ZipEntry& entry, const std::string& file, std::stop_token stop)
        : stop_(std::move(stop)) {
        name_ = fmt::format("{}, entry \"{}\"", file, escaped(entry.name));
        size_ = entry.unpacked;
        entry_.reset(zip_fopen_index(archive, index, 0));
        if (entry_ == nullptr) throw FileError(FileFault::Format, name_, "", fmt::format("cannot be unpacked: {}", zip_strerror(archive)));
    }

    /// Reads to the end, which verifies the checksum; rejects an entry that is longer than announced.
    void expect_end() {
        std::byte more{};
        const zip_int64_t got = zip_fread(entry_.get(), &more, 1);
        if (got < 0) fail();
        if (got > 0) throw error(FileFault::Range, "unpacks to more bytes than the directory says");
    }

private:
    void fill(std::span<std::byte> out) override {
        for (std::size_t done = 0; done < out.size();) {
            if (stop_.stop_requested()) throw Cancelled();
            const zip_int64_t got = zip_fread(entry_.get(), out.data() + done, std::min(kInflatedPiece, out.size() - done));
            if (got < 0) fail();
            if (got == 0) throw error_at(FileFault::Range, position_ + done, "unpacks to fewer bytes than the directory says");
            done += static_cast<std::size_t>(got);
        }
    }
    [[noreturn]] void fail() const {
        throw error(FileFault::Format, fmt::format("cannot be unpacked: {}", zip_file_strerror(entry_.get())));
    }

    std::stop_token stop_;
    OpenEntry entry_;
};

Archive open_archive(const InputFile& file) {
    const int descriptor = file.duplicate();
    int code = 0;
    Archive archive(zip_fdopen(descriptor, 0, &code));
    if (archive != nullptr) return archive;
    ::close(descriptor);
    throw FileError(FileFault::Format, file.name(), "", "is not a zip archive: " + zip_error_text(code));
}

/// libzip locates the directory by itself; make sure it found the one that was checked.
void expect_same_directory(zip_t* archive, const InputFile& file, const std::vector<ZipEntry>& entries) {
    bool same = std::cmp_equal(zip_get_num_entries(archive, 0), entries.size());
    for (std::size_t i = 0; same && i < entries.size(); ++i) {
        zip_stat_t found{};
        same = zip_stat_index(archive, i, 0, &found) == 0 && found.size == entries[i].unpacked && found.comp_size == entries[i].packed &&
               found.crc == entries[i].crc && found.comp_method == entries[i].method;
    }
    if (!same) throw FileError(FileFault::Format, file.name(), "", "its directory is ambiguous: two readers could find different entries");
}

void check_sizes(const InputFile& file, const ZipEntry& entry, std::uint64_t& total) {
    const auto refuse = [&](FileFault fault, const std::string& problem) {
        return FileError(fault, file.name(), fmt::format("entry \"{}\"", escaped(entry.name)), problem);
    };
    if (entry.encrypted()) throw refuse(FileFault::Unsupported, "is encrypted");
    if (entry.method != ZIP_CM_STORE && entry.method != ZIP_CM_DEFLATE)
        throw refuse(FileFault::Unsupported,
                     fmt::format("is compressed by method {}; only stored (0) and deflated (8) entries are read", entry.method));
    if (entry.unpacked > kMaxNpzArrayBytes)
        throw refuse(FileFault::Limit, fmt::format("unpacks to {} bytes; at most {} are read", entry.unpacked, kMaxNpzArrayBytes));
    if (entry.unpacked / kMaxNpzRatio > entry.packed)
        throw refuse(FileFault::Limit,
                     fmt::format("claims that {} bytes unpack to {}, more than compression can do", entry.packed, entry.unpacked));
    total += entry.unpacked;  // at most kMaxArrays terms of at most kMaxNpzArrayBytes: no overflow
    if (total > kMaxNpzTotalBytes)
        throw refuse(FileFault::Limit, fmt::format("brings the file to more than {} bytes in all", kMaxNpzTotalBytes));
}

ArrayFile read_all(InputFile& file, const std::stop_token& stop) {
    const std::vector<ZipEntry> entries = read_zip_directory(file);
    const auto is_array = [](const ZipEntry& entry) { return entry.name.ends_with(kExtension); };
    std::uint64_t total = 0;
    for (const ZipEntry& entry : entries)
        if (is_array(entry)) check_sizes(file, entry, total);

    const Archive archive = open_archive(file);
    expect_same_directory(archive.get(), file, entries);
    ArrayFile out;
    out.source = file.name();
    for (std::size_t i = 0; i < entries.size(); ++i) {
        if (!is_array(entries[i])) {
            out.skipped.push_back({entries[i].name, "it is not a .npy array"});
            continue;
        }
        EntrySource source(archive.get(), i, entries[i], file.name(), stop);
        std::string name = entries[i].name.substr(0, entries[i].name.size() - kExtension.size());
        try {
            NamedArray array = read_npy(source);
            source.expect_end();
            array.name = std::move(name);
            out.arrays.push_back(std::move(array));
        } catch (const UnreadableElements& error) {
            out.skipped.push_back({std::move(name), error.why()});
        }
    }
    return out;
}

/// An array to be added to an archive: header and data, concatenated without copying.
struct PendingEntry {
    std::string name, header;
    zip_buffer_fragment_t parts[2];
};

std::vector<PendingEntry> prepare_entries(const std::string& file, std::span<const ArrayView> arrays) {
    if (arrays.size() > kMaxArrays) throw FileError(FileFault::Limit, file, "", fmt::format("more than {} arrays", kMaxArrays));
    std::vector<PendingEntry> entries(arrays.size());
    std::set<std::string_view> names;
    for (std::size_t i = 0; i < arrays.size(); ++i) {
        const ArrayView& array = arrays[i];
        const auto refuse = [&](FileFault fault, std::string_view problem) {
            return FileError(fault, file, fmt::format("\"{}\"", escaped(array.name)), problem);
        };
        if (!names.insert(array.name).second) throw refuse(FileFault::Duplicate, "two arrays have this name");
        if (find_invalid_utf8(array.name) || array.name.find('\0') != std::string::npos)
            throw refuse(FileFault::Format, "a name must be UTF-8 without NUL");
        if (array.name.size() + kExtension.size() > kMaxArrayName) throw refuse(FileFault::Limit, "the name is too long");
        if (array.bytes.size() > kMaxNpzArrayBytes / 2) throw refuse(FileFault::Limit, "the array is too large");
        PendingEntry& entry = entries[i];
        entry.name = array.name + std::string(kExtension);
        entry.header = npy_header(array, file);
        const auto part = [](std::span<const std::byte> bytes) {
            // libzip's interface is not const-correct; it only reads.
            return zip_buffer_fragment_t{reinterpret_cast<zip_uint8_t*>(const_cast<std::byte*>(bytes.data())), bytes.size()};
        };
        entry.parts[0] = part(std::as_bytes(std::span(entry.header)));
        entry.parts[1] = part(array.bytes);
    }
    return entries;
}

void add_entry(zip_t* archive, PendingEntry& entry, bool compressed, const std::string& file) {
    const auto fail = [&] { throw FileError(FileFault::Io, file, fmt::format("\"{}\"", escaped(entry.name)), zip_strerror(archive)); };
    Source contents(zip_source_buffer_fragment(archive, entry.parts, 2, 0));
    if (contents == nullptr) fail();
    const zip_int64_t index = zip_file_add(archive, entry.name.c_str(), contents.get(), ZIP_FL_ENC_UTF_8);
    if (index < 0) fail();
    static_cast<void>(contents.release());  // now owned by the archive
    // A fixed timestamp, so that equal contents give equal files: 1 January 1980, the earliest a zip archive can store.
    constexpr zip_uint16_t kFirstDay = 0x21;
    if (zip_set_file_compression(archive, static_cast<zip_uint64_t>(index), compressed ? ZIP_CM_DEFLATE : ZIP_CM_STORE, 0) != 0 ||
        zip_file_set_dostime(archive, static_cast<zip_uint64_t>(index), 0, kFirstDay, 0) != 0)
        fail();
}

/// Tells a step of the work as the part from `begin` to `end` of all of it; `watch` must outlive the result.
WriteWatch step_of(const WriteWatch& watch, double begin, double end) {
    if (!watch.told) return watch;
    return {watch.stop, [&watch, begin, end](double share) { watch.told(begin + share * (end - begin)); }};
}

/// Packs the entries into libzip's memory.
void pack(Archive archive, const std::string& name, const WriteWatch& watch) {
    constexpr double kToldEvery = 0.01;
    const auto unwanted = [](zip_t*, void* watched) { return static_cast<const WriteWatch*>(watched)->stop.stop_requested() ? 1 : 0; };
    const auto told = [](zip_t*, double share, void* watched) {
        if (const auto& tell = static_cast<const WriteWatch*>(watched)->told; tell && share > 0) tell(share);
    };
    WriteWatch watched = watch;
    if (zip_register_cancel_callback_with_state(archive.get(), unwanted, nullptr, &watched) != 0 ||
        zip_register_progress_callback_with_state(archive.get(), kToldEvery, told, nullptr, &watched) != 0)
        throw FileError(FileFault::Memory, name, "", zip_strerror(archive.get()));
    if (zip_close(archive.get()) != 0) {
        watch.expect_wanted();
        throw FileError(FileFault::Io, name, "", zip_strerror(archive.get()));
    }
    static_cast<void>(archive.release());
}

/// Copies the finished archive from libzip's memory into the file.
void copy_out(zip_source_t* packed, AtomicFile& file, const std::string& name, const WriteWatch& watch) {
    const auto fail = [&] { throw FileError(FileFault::Io, name, "", zip_error_strerror(zip_source_error(packed))); };
    zip_stat_t about;
    zip_stat_init(&about);
    if (zip_source_stat(packed, &about) != 0 || zip_source_open(packed) != 0) fail();
    WatchedBytes contents(file, about.size, watch);
    std::vector<std::byte> piece(kInflatedPiece);
    for (zip_int64_t got = 0; (got = zip_source_read(packed, piece.data(), piece.size())) != 0;) {
        if (got < 0) fail();
        contents.write(std::span(piece).first(static_cast<std::size_t>(got)));
    }
    zip_source_close(packed);
}

}  // namespace

ArrayFile read_npz(const std::filesystem::path& path, ReadLimits limits) {
    const std::stop_token stop = limits.stop;
    InputFile file(path, std::move(limits));
    try {
        ArrayFile out = read_all(file, stop);
        file.expect_unchanged();
        return out;
    } catch (const std::bad_alloc&) {
        throw FileError(FileFault::Memory, file.name(), "", "its arrays do not fit in the memory that is left");
    }
}

void write_npz(const std::filesystem::path& path, std::span<const ArrayView> arrays, bool compressed, const WriteWatch& watch) {
    const std::string name = escaped(path.native(), 0);
    std::vector<PendingEntry> entries = prepare_entries(name, arrays);
    AtomicFile file(path);
    if (entries.empty()) {  // libzip writes no file for an empty archive
        std::string end("PK\5\6");
        file.write(end.append(18, '\0'));
        file.commit();
        return;
    }
    zip_error_t error;
    zip_error_init(&error);
    const Source packed(zip_source_buffer_create(nullptr, 0, 0, &error));
    Archive archive(packed == nullptr ? nullptr : zip_open_from_source(packed.get(), ZIP_CREATE | ZIP_TRUNCATE, &error));
    const std::string problem = archive == nullptr ? zip_error_strerror(&error) : "";
    zip_error_fini(&error);
    if (archive == nullptr) throw FileError(FileFault::Memory, name, "", problem);
    zip_source_keep(packed.get());  // one reference for the archive, one to read the result
    for (PendingEntry& entry : entries) add_entry(archive.get(), entry, compressed, name);
    // Deflating takes much longer than writing what is left.
    const double packed_share = compressed ? 0.9 : 0.5;
    pack(std::move(archive), name, step_of(watch, 0, packed_share));
    copy_out(packed.get(), file, name, step_of(watch, packed_share, 1));
    file.commit();
}

}  // namespace attn
