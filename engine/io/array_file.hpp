#pragma once
/// Named arrays in memory, as read from a .safetensors, .npy or .npz file.

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace attn {

/// Limits for reading and writing, in every format.
inline constexpr std::size_t kMaxArrays = 65'536;   ///< arrays in a file, and entries in its metadata
inline constexpr std::size_t kMaxArrayName = 1024;  ///< bytes of an array's name
inline constexpr std::size_t kMaxArrayRank = 8;
inline constexpr std::int64_t kMaxArrayDim = (std::int64_t{1} << 31) - 1;

/// Element types that can be read and written.
enum class DType : std::uint8_t { Bool, U8, I8, U16, I16, U32, I32, U64, I64, F16, BF16, F32, F64 };

/// Bytes of one element.
std::size_t dtype_size(DType dtype);
/// The name in safetensors: "F32", "BOOL", ...
std::string_view dtype_name(DType dtype);
std::optional<DType> dtype_from_name(std::string_view name);

/// Size of an array in bytes; nullopt if a size is negative, or if the element or byte count does not fit 63 bits. An array with a size of
/// 0 has 0 bytes.
std::optional<std::uint64_t> checked_bytes(std::span<const std::int64_t> shape, DType dtype);
/// "[2, 3]"
std::string shape_text(std::span<const std::int64_t> shape);

/// An array that owns its bytes: row-major, little-endian, contiguous; bytes.size() always matches shape and dtype.
struct NamedArray {
    std::string name;
    DType dtype = DType::F32;
    std::vector<std::int64_t> shape;
    std::vector<std::byte> bytes;

    std::int64_t count() const { return static_cast<std::int64_t>(bytes.size() / dtype_size(dtype)); }
    bool operator==(const NamedArray&) const = default;
};

/// An array stored elsewhere in memory, to be written.
struct ArrayView {
    std::string name;
    DType dtype = DType::F32;
    std::vector<std::int64_t> shape;
    std::span<const std::byte> bytes;
};
ArrayView view_of(const NamedArray& array);

/// Element type of a C++ scalar.
template <class T>
constexpr DType dtype_of();

/// A new array holding `values`. Throws ShapeError if their number does not match `shape`. Instantiated for float, double, int64_t, int32_t
/// and uint8_t.
template <class T>
NamedArray make_array(std::string name, std::vector<std::int64_t> shape, std::span<const T> values);

/// Every element converted to T. Throws FileError(Range) naming `source`, the array and the element if a value cannot be represented: an
/// integer out of T's range or not exact in T, a fraction as an integer, a finite number that would become infinite, a BOOL byte other than
/// 0 and 1. Doubles may be rounded to the nearest float. T: float, double, int64_t, int32_t, uint8_t.
template <class T>
std::vector<T> values_as(const NamedArray& array, std::string_view source);

/// The same into existing memory; throws ShapeError if its size does not match.
template <class T>
void copy_values(const ArrayView& array, std::string_view source, std::span<T> out);

/// An entry of a file that was not read.
struct SkippedArray {
    std::string name, why;  ///< why: the end of a sentence, "element type '<U3' cannot be read"
};

/// The contents of a file.
struct ArrayFile {
    std::string source;                           ///< the file's name for messages
    std::map<std::string, std::string> metadata;  ///< safetensors' __metadata__; empty for .npy and .npz
    std::vector<NamedArray> arrays;               ///< in file order
    std::vector<SkippedArray> skipped;            ///< in file order

    /// nullptr if there is no such array.
    const NamedArray* find(std::string_view name) const;
    /// Throws FileError(Schema) if there is no such array, Unsupported if it was skipped.
    const NamedArray& at(std::string_view name) const;
    /// Throws FileError(Schema) if the metadata lacks the key.
    const std::string& metadata_at(const std::string& key) const;
    /// Elements of an array as T; throws like at() and values_as().
    template <class T>
    std::vector<T> values(std::string_view name) const {
        return values_as<T>(at(name), source);
    }
};

template <>
constexpr DType dtype_of<float>() {
    return DType::F32;
}
template <>
constexpr DType dtype_of<double>() {
    return DType::F64;
}
template <>
constexpr DType dtype_of<std::int64_t>() {
    return DType::I64;
}
template <>
constexpr DType dtype_of<std::int32_t>() {
    return DType::I32;
}
template <>
constexpr DType dtype_of<std::uint8_t>() {
    return DType::U8;
}

}  // namespace attn
