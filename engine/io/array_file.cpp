#include "engine/io/array_file.hpp"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include "engine/io/file_error.hpp"
#include "engine/tensor/matrix_view.hpp"

namespace attn {

static_assert(std::endian::native == std::endian::little, "files hold little-endian numbers, copied as they are");

namespace {

struct DTypeText {
    std::string_view name;
    std::size_t size;
};
constexpr std::array<DTypeText, 13> kDTypes = {{{"BOOL", 1},
                                                {"U8", 1},
                                                {"I8", 1},
                                                {"U16", 2},
                                                {"I16", 2},
                                                {"U32", 4},
                                                {"I32", 4},
                                                {"U64", 8},
                                                {"I64", 8},
                                                {"F16", 2},
                                                {"BF16", 2},
                                                {"F32", 4},
                                                {"F64", 8}}};

/// Calls use(value) for every element; F16 and BF16 are widened to float.
template <class Stored, class Array, class Use>
void each_stored(const Array& array, Use&& use) {
    const std::size_t count = array.bytes.size() / sizeof(Stored);
    for (std::size_t i = 0; i < count; ++i) {
        Stored value;
        std::memcpy(&value, array.bytes.data() + i * sizeof(Stored), sizeof(Stored));
        use(value, i);
    }
}

template <class Array, class Use>
void each_element(const Array& array, Use&& use) {
    switch (array.dtype) {
    case DType::Bool:
    case DType::U8:
        return each_stored<std::uint8_t>(array, use);
    case DType::I8:
        return each_stored<std::int8_t>(array, use);
    case DType::U16:
        return each_stored<std::uint16_t>(array, use);
    case DType::I16:
        return each_stored<std::int16_t>(array, use);
    case DType::U32:
        return each_stored<std::uint32_t>(array, use);
    case DType::I32:
        return each_stored<std::int32_t>(array, use);
    case DType::U64:
        return each_stored<std::uint64_t>(array, use);
    case DType::I64:
        return each_stored<std::int64_t>(array, use);
    case DType::F16:
        return each_stored<std::uint16_t>(array, [&](std::uint16_t bits, std::size_t i) { use(widen_f16(bits), i); });
    case DType::BF16:
        return each_stored<std::uint16_t>(array, [&](std::uint16_t bits, std::size_t i) { use(widen_bf16(bits), i); });
    case DType::F32:
        return each_stored<float>(array, use);
    case DType::F64:
        return each_stored<double>(array, use);
    }
}

/// Whether an integer can be represented exactly as T.
template <class T, class Integer>
bool integer_fits(Integer value) {
    if constexpr (std::is_floating_point_v<T>) {
        const T converted = static_cast<T>(value);
        // A float rounded up to 2^63 or 2^64 must be caught first, because converting it back would overflow.
        const bool in_range = converted < std::ldexp(T{1}, std::numeric_limits<Integer>::digits);
        return in_range && static_cast<Integer>(converted) == value;
    } else {
        return std::in_range<T>(value);
    }
}

template <class T, class Floating>
bool floating_fits(Floating value) {
    if constexpr (std::is_floating_point_v<T>) {
        return !std::isfinite(value) || std::isfinite(static_cast<T>(value));
    } else {
        const Floating end = std::ldexp(Floating{1}, std::numeric_limits<T>::digits);
        const Floating low = std::is_signed_v<T> ? -end : Floating{0};
        return value >= low && value < end && std::trunc(value) == value;
    }
}

template <class T>
constexpr std::string_view target_name() {
    return dtype_name(dtype_of<T>());
}

}  // namespace

std::size_t dtype_size(DType dtype) { return kDTypes[static_cast<std::size_t>(dtype)].size; }
std::string_view dtype_name(DType dtype) { return kDTypes[static_cast<std::size_t>(dtype)].name; }

std::optional<DType> dtype_from_name(std::string_view name) {
    for (std::size_t i = 0; i < kDTypes.size(); ++i)
        if (kDTypes[i].name == name) return static_cast<DType>(i);
    return std::nullopt;
}

std::optional<std::uint64_t> checked_bytes(std::span<const std::int64_t> shape, DType dtype) {
    // Zero sizes are looked for first, so that an empty array is not taken for an overflow, nor a product that wraps to 0 for an empty
    // array.
    bool empty = false;
    for (const std::int64_t size : shape) {
        if (size < 0) return std::nullopt;
        empty = empty || size == 0;
    }
    if (empty) return 0;
    std::int64_t bytes = static_cast<std::int64_t>(dtype_size(dtype));
    for (const std::int64_t size : shape)
        if (__builtin_mul_overflow(bytes, size, &bytes)) return std::nullopt;
    return static_cast<std::uint64_t>(bytes);
}

std::string shape_text(std::span<const std::int64_t> shape) { return fmt::format("[{}]", fmt::join(shape.begin(), shape.end(), ", ")); }

ArrayView view_of(const NamedArray& array) { return {array.name, array.dtype, array.shape, array.bytes}; }

template <class T>
NamedArray make_array(std::string name, std::vector<std::int64_t> shape, std::span<const T> values) {
    NamedArray array{std::move(name), dtype_of<T>(), std::move(shape), {}};
    const std::optional<std::uint64_t> bytes = checked_bytes(array.shape, array.dtype);
    if (bytes != values.size_bytes())
        throw ShapeError(fmt::format("{} values do not fill an array of shape {}", values.size(), shape_text(array.shape)));
    const auto raw = std::as_bytes(values);
    array.bytes.assign(raw.begin(), raw.end());
    return array;
}

template <class T>
void copy_values(const ArrayView& array, std::string_view source, std::span<T> out) {
    const std::size_t count = array.bytes.size() / dtype_size(array.dtype);
    if (out.size() != count) throw ShapeError(fmt::format("{} values do not fit a place for {}", count, out.size()));
    each_element(array, [&](auto value, std::size_t i) {
        using Value = decltype(value);
        bool fits = array.dtype != DType::Bool || value == Value{0} || value == Value{1};
        if constexpr (std::is_floating_point_v<Value>) fits = fits && floating_fits<T>(value);
        else fits = fits && integer_fits<T>(value);
        if (!fits)
            throw FileError(FileFault::Range, source, fmt::format("\"{}\" element {}", escaped(array.name), i),
                            fmt::format("the {} value {} cannot be read as {}", dtype_name(array.dtype), value, target_name<T>()));
        out[i] = static_cast<T>(value);
    });
}

template <class T>
std::vector<T> values_as(const NamedArray& array, std::string_view source) {
    std::vector<T> out(static_cast<std::size_t>(array.count()));
    copy_values<T>(view_of(array), source, out);
    return out;
}

const NamedArray* ArrayFile::find(std::string_view name) const {
    for (const NamedArray& array : arrays)
        if (array.name == name) return &array;
    return nullptr;
}

const NamedArray& ArrayFile::at(std::string_view name) const {
    const NamedArray* array = find(name);
    for (const SkippedArray& other : skipped)
        if (array == nullptr && other.name == name)
            throw FileError(FileFault::Unsupported, source, fmt::format("array \"{}\"", escaped(name)), other.why);
    if (array == nullptr) throw FileError(FileFault::Schema, source, "", fmt::format("there is no array \"{}\"", escaped(name)));
    return *array;
}

const std::string& ArrayFile::metadata_at(const std::string& key) const {
    const auto found = metadata.find(key);
    if (found == metadata.end()) throw FileError(FileFault::Schema, source, "", fmt::format("the metadata have no \"{}\"", escaped(key)));
    return found->second;
}

#define ATTN_INSTANTIATE(T)                                                                                                                \
    template NamedArray make_array<T>(std::string, std::vector<std::int64_t>, std::span<const T>);                                         \
    template void copy_values<T>(const ArrayView&, std::string_view, std::span<T>);                                                        \
    template std::vector<T> values_as<T>(const NamedArray&, std::string_view);
ATTN_INSTANTIATE(float)
ATTN_INSTANTIATE(double)
ATTN_INSTANTIATE(std::int64_t)
ATTN_INSTANTIATE(std::int32_t)
ATTN_INSTANTIATE(std::uint8_t)
#undef ATTN_INSTANTIATE

}  // namespace attn
