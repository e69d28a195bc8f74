#include "engine/io/safetensors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <set>
#include <utility>

#include "engine/io/atomic_file.hpp"
#include "engine/io/json.hpp"
#include "engine/io/safetensors_header.hpp"
#include "engine/io/utf8.hpp"

namespace attn {
namespace {

constexpr std::size_t kHeaderAlignment = 8;

ArrayFile read_all(ByteSource& source) {
    SafetensorsHeader header = read_safetensors_header(source);
    std::vector<std::size_t> by_place(header.entries.size());
    std::iota(by_place.begin(), by_place.end(), std::size_t{0});
    std::sort(by_place.begin(), by_place.end(), [&](std::size_t a, std::size_t b) {
        return std::pair(header.entries[a].begin, header.entries[a].end) < std::pair(header.entries[b].begin, header.entries[b].end);
    });

    ArrayFile file;
    file.source = source.name();
    file.metadata = std::move(header.metadata);
    file.arrays.resize(header.entries.size());
    for (const std::size_t i : by_place) {
        SafetensorsEntry& entry = header.entries[i];
        NamedArray& array = file.arrays[i];
        array = {std::move(entry.name), entry.dtype, std::move(entry.shape), {}};
        array.bytes.resize(static_cast<std::size_t>(entry.end - entry.begin));
        source.read(array.bytes);
    }
    return file;
}

void check_writable(const std::string& file, const std::map<std::string, std::string>& metadata, std::span<const PlannedArray> arrays) {
    const auto refuse = [&](FileFault fault, std::string_view name, std::string_view problem) {
        return FileError(fault, file, fmt::format("\"{}\"", escaped(name)), problem);
    };
    for (const auto& [key, value] : metadata)
        if (find_invalid_utf8(key) || find_invalid_utf8(value)) throw refuse(FileFault::Format, key, "metadata must be UTF-8");
    if (arrays.size() > kMaxArrays || metadata.size() > kMaxArrays)
        throw FileError(FileFault::Limit, file, "", fmt::format("more than {} tensors or metadata entries", kMaxArrays));
    std::set<std::string_view> names;
    for (const PlannedArray& array : arrays) {
        if (array.name == "__metadata__") throw refuse(FileFault::Format, array.name, "no tensor can have this name");
        if (find_invalid_utf8(array.name)) throw refuse(FileFault::Format, array.name, "a tensor's name must be UTF-8");
        if (array.name.size() > kMaxArrayName) throw refuse(FileFault::Limit, array.name, "the name is too long");
        if (array.shape.size() > kMaxArrayRank) throw refuse(FileFault::Limit, array.name, "too many axes");
        for (const std::int64_t size : array.shape)
            if (size > kMaxArrayDim) throw refuse(FileFault::Limit, array.name, "an axis is too long");
        if (!names.insert(array.name).second) throw refuse(FileFault::Duplicate, array.name, "two tensors have this name");
    }
}

}  // namespace

ArrayFile read_safetensors(ByteSource& source) {
    try {
        return read_all(source);
    } catch (const std::bad_alloc&) {
        throw FileError(FileFault::Memory, source.name(), "", fmt::format("{} bytes do not fit in the memory that is left", source.size()));
    }
}

ArrayFile read_safetensors(const std::filesystem::path& path, ReadLimits limits) {
    InputFile source(path, std::move(limits));
    ArrayFile file = read_safetensors(source);
    source.expect_unchanged();
    return file;
}

namespace {

using BytesOf = std::function<std::span<const std::byte>(std::size_t)>;

/// Throws if `bytes` is not the array's size.
void expect_to_fill(const std::string& file, const PlannedArray& array, std::size_t bytes) {
    if (checked_bytes(array.shape, array.dtype) == bytes) return;
    throw FileError(FileFault::Schema, file, fmt::format("\"{}\"", escaped(array.name)),
                    fmt::format("{} bytes do not fill {} {}", bytes, dtype_name(array.dtype), shape_text(array.shape)));
}

void write(AtomicFile& file, const std::map<std::string, std::string>& metadata, std::span<const PlannedArray> arrays,
           const BytesOf& bytes_of, const WriteWatch& watch) {
    const std::string name = escaped(file.target().native(), 0);
    check_writable(name, metadata, arrays);
    std::vector<std::size_t> by_alignment(arrays.size());
    std::iota(by_alignment.begin(), by_alignment.end(), std::size_t{0});
    std::stable_sort(by_alignment.begin(), by_alignment.end(),
                     [&](std::size_t a, std::size_t b) { return dtype_size(arrays[a].dtype) > dtype_size(arrays[b].dtype); });
    std::vector<std::uint64_t> begins(arrays.size()), ends(arrays.size());
    std::uint64_t end = 0;
    for (const std::size_t i : by_alignment) {
        begins[i] = end;
        ends[i] = end += checked_bytes(arrays[i].shape, arrays[i].dtype).value_or(0);
    }

    Json header = Json::object();
    // Appended directly: a search for the key would take quadratic time, and the names are known to be unique.
    Json::Members& fields = header.members();
    fields.reserve(arrays.size() + 1);
    if (!metadata.empty()) fields.push_back({"__metadata__", metadata});
    for (std::size_t i = 0; i < arrays.size(); ++i)
        fields.push_back(
            {arrays[i].name, {{"dtype", dtype_name(arrays[i].dtype)}, {"shape", arrays[i].shape}, {"data_offsets", {begins[i], ends[i]}}}});
    std::string text = header.dump();
    text.append((kHeaderAlignment - text.size() % kHeaderAlignment) % kHeaderAlignment, ' ');
    if (text.size() > kMaxSafetensorsHeader) throw FileError(FileFault::Limit, name, "", "the header is too long");

    const std::uint64_t length = text.size();
    file.write(std::as_bytes(std::span(&length, 1)));
    file.write(text);
    WatchedBytes contents(file, end, watch);
    for (const std::size_t i : by_alignment) {
        const std::span<const std::byte> bytes = bytes_of(i);
        expect_to_fill(name, arrays[i], bytes.size());
        contents.write(bytes);
    }
}

}  // namespace

void write_safetensors(AtomicFile& file, const std::map<std::string, std::string>& metadata, std::span<const ArrayView> arrays,
                       const WriteWatch& watch) {
    std::vector<PlannedArray> planned;
    planned.reserve(arrays.size());
    for (const ArrayView& array : arrays) {
        planned.push_back({array.name, array.dtype, array.shape});
        expect_to_fill(escaped(file.target().native(), 0), planned.back(), array.bytes.size());
    }
    write(
        file, metadata, planned, [&](std::size_t i) { return arrays[i].bytes; }, watch);
}

void write_safetensors(const std::filesystem::path& path, const std::map<std::string, std::string>& metadata,
                       std::span<const ArrayView> arrays, const WriteWatch& watch) {
    AtomicFile file(path);
    write_safetensors(file, metadata, arrays, watch);
    file.commit();
}

void write_safetensors(const std::filesystem::path& path, const std::map<std::string, std::string>& metadata,
                       std::span<const PlannedArray> arrays, const BytesOf& bytes_of, const WriteWatch& watch) {
    AtomicFile file(path);
    write(file, metadata, arrays, bytes_of, watch);
    file.commit();
}

void write_safetensors(const std::filesystem::path& path, const ArrayFile& file) {
    std::vector<ArrayView> views;
    views.reserve(file.arrays.size());
    for (const NamedArray& array : file.arrays) views.push_back(view_of(array));
    write_safetensors(path, file.metadata, views);
}

}  // namespace attn
