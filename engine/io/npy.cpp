#include "engine/io/npy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <new>
#include <utility>

#include "engine/io/atomic_file.hpp"
#include "engine/io/npy_header.hpp"
#include "engine/io/utf8.hpp"

namespace attn {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::uint32_t kMaxHeader = 10'000;  // NumPy's own limit for untrusted headers
constexpr std::size_t kDataAlignment = 64;

template <class T>
T read_number(ByteSource& source) {
    T value{};
    source.read(std::as_writable_bytes(std::span(&value, 1)));
    return value;
}

NpyHeader read_header(ByteSource& source) {
    char magic[6];
    source.read(std::as_writable_bytes(std::span(magic)));
    if (std::string_view(magic, 6) != kMagic)
        throw source.error_at(FileFault::Format, 0, "is not a .npy file: expected it to begin with \\x93NUMPY");
    const auto major = read_number<std::uint8_t>(source);
    const auto minor = read_number<std::uint8_t>(source);
    if (major < 1 || major > 3 || minor != 0)
        throw source.error_at(FileFault::Format, 6, fmt::format("expected format version 1.0, 2.0 or 3.0, found {}.{}", major, minor));
    const std::uint64_t place = source.position();
    const std::uint32_t length = major == 1 ? read_number<std::uint16_t>(source) : read_number<std::uint32_t>(source);
    if (length > kMaxHeader)
        throw source.error_at(FileFault::Limit, place, fmt::format("a header of {} bytes; at most {} are read", length, kMaxHeader));
    std::string text(length, '\0');
    const std::uint64_t first_byte = source.position();
    source.read(std::as_writable_bytes(std::span(text)));
    const auto bad =
        major == 3
            ? find_invalid_utf8(text).value_or(text.size())
            : static_cast<std::size_t>(std::find_if(text.begin(), text.end(), [](char c) { return (c & 0x80) != 0; }) - text.begin());
    const std::size_t stop = std::min(bad, text.find('\0'));
    if (stop < text.size()) throw source.error_at(FileFault::Format, first_byte + stop, "a byte that is not allowed in a header");
    return parse_npy_header(text, source.name(), first_byte);
}

void swap_byte_order(std::vector<std::byte>& bytes, std::size_t element) {
    for (auto at = bytes.begin(); at != bytes.end(); at += static_cast<std::ptrdiff_t>(element))
        std::reverse(at, at + static_cast<std::ptrdiff_t>(element));
}

/// From column-major to row-major.
std::vector<std::byte> to_row_major(const std::vector<std::byte>& bytes, std::span<const std::int64_t> shape, std::size_t element) {
    const std::size_t rank = shape.size();
    std::vector<std::size_t> index(rank, 0), stride(rank, element);  // stride: in bytes, in the column-major source
    for (std::size_t axis = 1; axis < rank; ++axis) stride[axis] = stride[axis - 1] * static_cast<std::size_t>(shape[axis - 1]);
    std::vector<std::byte> out(bytes.size());
    std::size_t from = 0;
    for (std::size_t to = 0; to < out.size(); to += element) {
        std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(from), element, out.begin() + static_cast<std::ptrdiff_t>(to));
        for (std::size_t axis = rank; axis-- > 0;) {
            from += stride[axis];
            if (++index[axis] < static_cast<std::size_t>(shape[axis])) break;
            from -= stride[axis] * index[axis];
            index[axis] = 0;
        }
    }
    return out;
}

NamedArray read_array(ByteSource& source) {
    NpyHeader header = read_header(source);
    const std::optional<std::uint64_t> bytes = checked_bytes(header.shape, header.dtype);
    if (!bytes) throw source.error(FileFault::Overflow, fmt::format("the number of bytes of shape {} overflows", shape_text(header.shape)));
    for (const std::int64_t size : header.shape)
        if (size > kMaxArrayDim)
            throw source.error(FileFault::Limit, fmt::format("an axis of {}; at most {} are read", size, kMaxArrayDim));
    if (*bytes > source.remaining())
        throw source.error(FileFault::Truncated, fmt::format("shape {} needs {} bytes of data, the file has {}", shape_text(header.shape),
                                                             *bytes, source.remaining()));
    if (*bytes < source.remaining())
        throw source.error_at(FileFault::Format, source.position() + *bytes,
                              fmt::format("{} bytes follow the array", source.remaining() - *bytes));
    NamedArray array{"", header.dtype, std::move(header.shape), std::vector<std::byte>(static_cast<std::size_t>(*bytes))};
    source.read(array.bytes);
    const std::size_t element = dtype_size(array.dtype);
    if (header.big_endian && element > 1) swap_byte_order(array.bytes, element);
    if (header.fortran_order && array.shape.size() > 1) array.bytes = to_row_major(array.bytes, array.shape, element);
    return array;
}

std::string descr_of(DType dtype) {
    switch (dtype) {
    case DType::Bool:
        return "|b1";
    case DType::U8:
        return "|u1";
    case DType::I8:
        return "|i1";
    case DType::U16:
        return "<u2";
    case DType::I16:
        return "<i2";
    case DType::U32:
        return "<u4";
    case DType::I32:
        return "<i4";
    case DType::U64:
        return "<u8";
    case DType::I64:
        return "<i8";
    case DType::F16:
        return "<f2";
    case DType::F32:
        return "<f4";
    case DType::F64:
        return "<f8";
    case DType::BF16:
        break;
    }
    return "";
}

}  // namespace

NamedArray read_npy(ByteSource& source) {
    try {
        return read_array(source);
    } catch (const std::bad_alloc&) {
        throw FileError(FileFault::Memory, source.name(), "", fmt::format("{} bytes do not fit in the memory that is left", source.size()));
    }
}

NamedArray read_npy(const std::filesystem::path& path, ReadLimits limits) {
    InputFile source(path, std::move(limits));
    NamedArray array = read_npy(source);
    source.expect_unchanged();
    array.name = path.stem().native();
    return array;
}

std::string npy_header(const ArrayView& array, std::string_view file) {
    const auto refuse = [&](FileFault fault, std::string_view problem) {
        return FileError(fault, file, fmt::format("\"{}\"", escaped(array.name)), problem);
    };
    const std::string descr = descr_of(array.dtype);
    if (descr.empty()) throw refuse(FileFault::Unsupported, fmt::format("NumPy has no element type {}", dtype_name(array.dtype)));
    if (checked_bytes(array.shape, array.dtype) != array.bytes.size())
        throw refuse(FileFault::Schema,
                     fmt::format("{} bytes do not fill {} {}", array.bytes.size(), dtype_name(array.dtype), shape_text(array.shape)));
    if (array.shape.size() > kMaxArrayRank) throw refuse(FileFault::Limit, "too many axes");
    const std::string text = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}{}), }}", descr,
                                         fmt::join(array.shape.begin(), array.shape.end(), ", "), array.shape.size() == 1 ? "," : "");
    const std::size_t before = kMagic.size() + 4;  // magic, version and length
    const std::size_t padded = (before + text.size() + 1 + kDataAlignment - 1) / kDataAlignment * kDataAlignment - before;
    std::string out(kMagic);
    out += '\1';
    out += '\0';
    out += static_cast<char>(padded & 0xFFU);
    out += static_cast<char>(padded >> 8U);
    out += text;
    out.append(padded - text.size() - 1, ' ');
    out += '\n';
    return out;
}

void write_npy(const std::filesystem::path& path, const ArrayView& array, const WriteWatch& watch) {
    const std::string header = npy_header(array, escaped(path.native(), 0));
    AtomicFile file(path);
    file.write(header);
    WatchedBytes(file, array.bytes.size(), watch).write(array.bytes);
    file.commit();
}

}  // namespace attn
