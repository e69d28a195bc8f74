#include "engine/io/gguf.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <tuple>
#include <unordered_set>
#include <utility>

#include "engine/io/array_file.hpp"
#include "engine/io/file_error.hpp"
#include "engine/io/utf8.hpp"

namespace attn {
namespace {

constexpr std::uint32_t kGgufMagic = 0x46554747;                  // "GGUF"
constexpr std::uint32_t kGitPointerMagic = 0x73726576;            // "vers"
constexpr std::uint64_t kGgufMaxEntries = 65'536;                 ///< limit on keys, and on tensors
constexpr std::uint64_t kGgufMaxValues = std::uint64_t{1} << 21;  ///< in all arrays together; a vocabulary of 262,144 needs 1.3 million
constexpr std::uint64_t kGgufMaxText = std::uint64_t{4} << 20;
constexpr std::uint64_t kGgufMaxTexts = std::uint64_t{64} << 20;  ///< bytes of all strings together
constexpr std::uint64_t kGgufMaxName = 64;
constexpr std::uint32_t kGgufMaxAxes = 4;
constexpr std::uint64_t kGgufUsualAlignment = 32;

enum GgufValueType : std::uint32_t {
    kGgufU8,
    kGgufI8,
    kGgufU16,
    kGgufI16,
    kGgufU32,
    kGgufI32,
    kGgufF32,
    kGgufBool,
    kGgufText,
    kGgufList,
    kGgufU64,
    kGgufI64,
    kGgufF64,
    kGgufValueTypes
};
/// Minimum size of a value of each type.
constexpr std::array<std::uint64_t, kGgufValueTypes> kGgufLeastBytes = {1, 1, 2, 2, 4, 4, 4, 1, 8, 12, 8, 8, 8};

using GgufTypeOfId = std::pair<std::uint32_t, GgufType>;
constexpr GgufTypeOfId kGgufTypes[] = {{0, {"F32", block_size(NumberKind::F32)}},    {1, {"F16", block_size(NumberKind::F16)}},
                                       {2, {"Q4_0", block_size(NumberKind::Q4_0)}},  {3, {"Q4_1", block_size(NumberKind::Q4_1)}},
                                       {6, {"Q5_0", block_size(NumberKind::Q5_0)}},  {7, {"Q5_1", block_size(NumberKind::Q5_1)}},
                                       {8, {"Q8_0", block_size(NumberKind::Q8_0)}},  {10, {"Q2_K", block_size(NumberKind::Q2_K)}},
                                       {11, {"Q3_K", block_size(NumberKind::Q3_K)}}, {12, {"Q4_K", block_size(NumberKind::Q4_K)}},
                                       {13, {"Q5_K", block_size(NumberKind::Q5_K)}}, {14, {"Q6_K", block_size(NumberKind::Q6_K)}},
                                       {28, {"F64", block_size(NumberKind::F64)}},   {30, {"BF16", block_size(NumberKind::BF16)}}};
/// Includes types whose data cannot be read, because files that contain them also contain other tensors.
constexpr GgufTypeOfId kOtherGgufTypes[] = {
    {16, {"IQ2_XXS", {256, 66}}}, {17, {"IQ2_XS", {256, 74}}}, {18, {"IQ3_XXS", {256, 98}}}, {19, {"IQ1_S", {256, 50}}},
    {20, {"IQ4_NL", {32, 18}}},   {21, {"IQ3_S", {256, 110}}}, {22, {"IQ2_S", {256, 82}}},   {23, {"IQ4_XS", {256, 136}}},
    {24, {"I8", {1, 1}}},         {25, {"I16", {1, 2}}},       {26, {"I32", {1, 4}}},        {27, {"I64", {1, 8}}},
    {29, {"IQ1_M", {256, 56}}},   {34, {"TQ1_0", {256, 54}}},  {35, {"TQ2_0", {256, 66}}},   {39, {"MXFP4", {32, 17}}},
    {40, {"NVFP4", {64, 36}}},    {41, {"Q1_0", {128, 18}}},   {42, {"Q2_0", {64, 18}}}};

/// Reads small values through a buffer.
class BufferedSource {
public:
    explicit BufferedSource(ByteSource& source) : source_(source) {}

    std::uint64_t position() const { return source_.position() - (held_ - at_); }
    std::uint64_t remaining() const { return source_.size() - position(); }
    FileError error(FileFault fault, std::string_view problem) const { return source_.error_at(fault, position(), problem); }

    void read(void* out, std::size_t bytes) {
        if (bytes > remaining()) throw error(FileFault::Truncated, fmt::format("{} bytes expected, {} left", bytes, remaining()));
        auto* to = static_cast<std::byte*>(out);
        while (bytes > 0) {
            if (at_ == held_) {
                held_ = static_cast<std::size_t>(std::min<std::uint64_t>(buffer_.size(), source_.remaining()));
                source_.read(std::span(buffer_).first(held_));
                at_ = 0;
            }
            const std::size_t part = std::min(bytes, held_ - at_);
            std::memcpy(to, buffer_.data() + at_, part);
            to += part;
            at_ += part;
            bytes -= part;
        }
    }

private:
    ByteSource& source_;
    std::vector<std::byte> buffer_ = std::vector<std::byte>(std::size_t{1} << 16);
    std::size_t at_ = 0, held_ = 0;
};

}  // namespace

const GgufType* gguf_type(std::uint32_t id) {
    for (const auto& [known, type] : kGgufTypes)
        if (known == id) return &type;
    for (const auto& [known, type] : kOtherGgufTypes)
        if (known == id) return &type;
    return nullptr;
}

class GgufReader {
public:
    explicit GgufReader(ByteSource& source) : source_(source), in_(source) { file_.source_ = source.name(); }

    GgufFile read() {
        read_header();
        for (std::uint64_t i = 0; i < keys_; ++i) read_key();
        for (std::uint64_t i = 0; i < count_; ++i) read_tensor();
        place_tensors();
        return std::move(file_);
    }

private:
    template <class T>
    T value() {
        T out{};
        in_.read(&out, sizeof out);
        return out;
    }

    void read_header() {
        if (in_.remaining() < 24) throw in_.error(FileFault::Truncated, "too short for a GGUF file");
        const auto magic = value<std::uint32_t>();
        if (magic == kGitPointerMagic) throw FileError(FileFault::Format, source_.name(), "", kGitPointerWords);
        if (magic != kGgufMagic) throw source_.error_at(FileFault::Format, 0, "does not begin with \"GGUF\"");
        file_.version_ = value<std::uint32_t>();
        if ((file_.version_ & 0xFFFFU) == 0) throw source_.error_at(FileFault::Unsupported, 4, "is big-endian, which cannot be read");
        if (file_.version_ != 2 && file_.version_ != 3)
            throw source_.error_at(FileFault::Unsupported, 4, fmt::format("has version {}; expected 2 or 3", file_.version_));
        count_ = value<std::uint64_t>();
        keys_ = value<std::uint64_t>();
        constexpr std::uint64_t kLeastKey = 8 + 4 + 1, kLeastTensor = 8 + 4 + 8 + 4 + 8;
        if (count_ > kGgufMaxEntries || count_ > in_.remaining() / kLeastTensor)
            throw source_.error_at(FileFault::Limit, 8, fmt::format("declares {} tensors, more than the file can hold", count_));
        if (keys_ > kGgufMaxEntries || keys_ > in_.remaining() / kLeastKey)
            throw source_.error_at(FileFault::Limit, 16, fmt::format("declares {} keys, more than the file can hold", keys_));
    }

    std::string text(std::uint64_t longest) {
        const auto length = value<std::uint64_t>();
        texts_held_ += length;
        if (length > longest || texts_held_ > kGgufMaxTexts)
            throw in_.error(FileFault::Limit,
                            fmt::format("a string of {} bytes; at most {} are read, and {} in all", length, longest, kGgufMaxTexts));
        if (length > in_.remaining())
            throw in_.error(FileFault::Truncated,
                            fmt::format("a string of {} bytes is declared, but only {} are left", length, in_.remaining()));
        std::string out(static_cast<std::size_t>(length), '\0');
        in_.read(out.data(), out.size());
        return out;
    }

    void read_key() {
        std::string key = text(kGgufMaxText);
        if (key.empty() || find_invalid_utf8(key)) throw in_.error(FileFault::Format, "the name of a key is empty or not UTF-8");
        if (!names_.insert(key).second) throw in_.error(FileFault::Duplicate, fmt::format("the key \"{}\" is given twice", escaped(key)));
        const auto type = value<std::uint32_t>();
        file_.metadata_.emplace_back(std::move(key), read_value(type, 0));
    }

    Json read_value(std::uint32_t type, int depth) {
        switch (type) {
        case kGgufU8:
            return static_cast<std::uint64_t>(value<std::uint8_t>());
        case kGgufI8:
            return static_cast<std::int64_t>(value<std::int8_t>());
        case kGgufU16:
            return static_cast<std::uint64_t>(value<std::uint16_t>());
        case kGgufI16:
            return static_cast<std::int64_t>(value<std::int16_t>());
        case kGgufU32:
            return static_cast<std::uint64_t>(value<std::uint32_t>());
        case kGgufI32:
            return static_cast<std::int64_t>(value<std::int32_t>());
        case kGgufF32:
            return static_cast<double>(value<float>());
        case kGgufBool: {
            const auto byte = value<std::uint8_t>();
            if (byte > 1) throw in_.error(FileFault::Range, fmt::format("a bool of {}; expected 0 or 1", byte));
            return byte == 1;
        }
        case kGgufText:
            return text(kGgufMaxText);
        case kGgufList:
            return read_list(depth);
        case kGgufU64:
            return value<std::uint64_t>();
        case kGgufI64:
            return value<std::int64_t>();
        case kGgufF64:
            return value<double>();
        default:
            throw in_.error(FileFault::Unsupported, fmt::format("there is no value type {}", type));
        }
    }

    Json read_list(int depth) {
        constexpr int kDeepest = 4;
        if (depth == kDeepest) throw in_.error(FileFault::Limit, fmt::format("more than {} nested lists", kDeepest));
        const auto type = value<std::uint32_t>();
        const auto count = value<std::uint64_t>();
        if (type >= kGgufValueTypes) throw in_.error(FileFault::Unsupported, fmt::format("there is no value type {}", type));
        if (count > in_.remaining() / kGgufLeastBytes.at(type))
            throw in_.error(FileFault::Limit, fmt::format("a list of {} values, more than the file can hold", count));
        if (type == kGgufU8 || type == kGgufI8) return byte_list(count);
        if (count > kGgufMaxValues - values_held_)
            throw in_.error(FileFault::Limit, fmt::format("a list of {} values; at most {} are read in all", count, kGgufMaxValues));
        values_held_ += count;
        Json::List list;
        for (std::uint64_t i = 0; i < count; ++i) list.push_back(read_value(type, depth + 1));
        return list;
    }

    /// Stored as a string: a list of Json values would take forty times the memory.
    Json byte_list(std::uint64_t count) {
        texts_held_ += count;
        if (count > kGgufMaxText || texts_held_ > kGgufMaxTexts)
            throw in_.error(FileFault::Limit,
                            fmt::format("a list of {} bytes; at most {} are read, and {} in all", count, kGgufMaxText, kGgufMaxTexts));
        std::string out(static_cast<std::size_t>(count), '\0');
        in_.read(out.data(), out.size());
        return out;
    }

    void read_tensor() {
        GgufTensor& tensor = file_.tensors_.emplace_back();
        tensor.name = text(kGgufMaxName);
        const auto refuse = [&](FileFault fault, const std::string& problem) {
            return FileError(fault, file_.source_, fmt::format("tensor \"{}\"", escaped(tensor.name)), problem);
        };
        if (tensor.name.empty() || find_invalid_utf8(tensor.name)) throw refuse(FileFault::Format, "the name is empty or not UTF-8");
        if (!tensor_names_.insert(tensor.name).second) throw refuse(FileFault::Duplicate, "the name is given twice");
        const auto axes = value<std::uint32_t>();
        if (axes > kGgufMaxAxes) throw refuse(FileFault::Limit, fmt::format("has {} axes; at most {} are read", axes, kGgufMaxAxes));
        for (std::uint32_t i = 0; i < axes; ++i) {
            const auto size = value<std::uint64_t>();
            const std::uint64_t least = axes == 1 ? 0 : 1;  // Ollama writes empty lists
            if (size < least || size > static_cast<std::uint64_t>(kMaxArrayDim))
                throw refuse(FileFault::Range, fmt::format("has an axis of {}; sizes go from {} to {}", size, least, kMaxArrayDim));
            tensor.shape.insert(tensor.shape.begin(), static_cast<std::int64_t>(size));
        }
        tensor.type = value<std::uint32_t>();
        tensor.begin = value<std::uint64_t>();
        const GgufType* type = gguf_type(tensor.type);
        if (type == nullptr) throw refuse(FileFault::Unsupported, fmt::format("has type {}, which cannot be read", tensor.type));
        const std::int64_t row = tensor.shape.empty() ? 1 : tensor.shape.back();
        if (row % type->block.numbers != 0)
            throw refuse(FileFault::Schema,
                         fmt::format("has rows of {} numbers, which blocks of {} ({}) do not fill", row, type->block.numbers, type->name));
        std::int64_t bytes = row / type->block.numbers * type->block.bytes;
        for (std::size_t i = 0; i + 1 < tensor.shape.size(); ++i)
            if (__builtin_mul_overflow(bytes, tensor.shape[i], &bytes)) throw refuse(FileFault::Overflow, "the number of bytes overflows");
        tensor.end = static_cast<std::uint64_t>(bytes);  // its length, until the start of the data is known
    }

    void place_tensors() {
        std::uint64_t alignment = kGgufUsualAlignment;
        if (const Json* given = file_.find("general.alignment")) {
            alignment = given->is_unsigned() ? given->as_unsigned() : 0;
            if (!std::has_single_bit(alignment) || alignment > (std::uint64_t{1} << 20))
                throw FileError(FileFault::Range, file_.source_, "general.alignment", "expected a power of two up to 1048576");
        }
        const std::uint64_t data = (in_.position() + alignment - 1) / alignment * alignment;
        std::vector<const GgufTensor*> by_place;
        for (GgufTensor& tensor : file_.tensors_) {
            const std::string place = fmt::format("tensor \"{}\"", escaped(tensor.name));
            const std::uint64_t length = tensor.end;
            if (tensor.begin % alignment != 0)
                throw FileError(FileFault::Range, file_.source_, place,
                                fmt::format("begins at {}, not a multiple of {}", tensor.begin, alignment));
            const std::uint64_t held = source_.size() - std::min(data, source_.size());
            if (tensor.begin > held || length > held - tensor.begin)
                throw FileError(FileFault::Truncated, file_.source_, place,
                                fmt::format("takes {} bytes from {} on in the data of all tensors, of which the file has only {}: the file "
                                            "is incomplete",
                                            length, tensor.begin, held));
            tensor.begin += data;
            tensor.end = tensor.begin + length;
            by_place.push_back(&tensor);
        }
        std::sort(by_place.begin(), by_place.end(),
                  [](const auto* a, const auto* b) { return std::tie(a->begin, a->end) < std::tie(b->begin, b->end); });
        for (std::size_t i = 1; i < by_place.size(); ++i) {
            const GgufTensor &before = *by_place[i - 1], &here = *by_place[i];
            if (here.begin < before.end)
                throw FileError(FileFault::Range, file_.source_, fmt::format("tensor \"{}\"", escaped(here.name)),
                                fmt::format("overlaps \"{}\"", escaped(before.name)));
            // Tensors follow each other, so one that is shorter than its place has another type or shape than the header says.
            if (here.begin - before.end >= alignment)
                throw FileError(FileFault::Range, file_.source_, fmt::format("tensor \"{}\"", escaped(before.name)),
                                fmt::format("takes {} bytes by its type and shape, but the next one begins after {}",
                                            before.end - before.begin, here.begin - before.begin));
        }
    }

    ByteSource& source_;
    BufferedSource in_;
    GgufFile file_;
    std::uint64_t count_ = 0, keys_ = 0;
    std::uint64_t values_held_ = 0, texts_held_ = 0;
    std::unordered_set<std::string> names_, tensor_names_;
};

GgufFile GgufFile::read(ByteSource& source) {
    try {
        return GgufReader(source).read();
    } catch (const std::bad_alloc&) {
        throw FileError(FileFault::Memory, source.name(), "", "its metadata do not fit in the memory that is left");
    }
}

GgufFile GgufFile::read(const std::filesystem::path& path) {
    InputFile source(path, {.max_bytes = ~std::uint64_t{0}, .stop = {}});
    GgufFile file = read(source);
    source.expect_unchanged();
    return file;
}

const Json* GgufFile::find(std::string_view key) const {
    for (const auto& [name, value] : metadata_)
        if (name == key) return &value;
    return nullptr;
}

const std::string& GgufFile::text(std::string_view key) const {
    const Json* value = find(key);
    if (value == nullptr) throw FileError(FileFault::Schema, source_, key, "this key is missing");
    if (!value->is_string()) throw FileError(FileFault::Format, source_, key, "expected a string");
    return value->text();
}

const Json::List& GgufFile::list(std::string_view key) const {
    const Json* value = find(key);
    if (value == nullptr) throw FileError(FileFault::Schema, source_, key, "this key is missing");
    if (!value->is_list()) throw FileError(FileFault::Format, source_, key, "expected a list");
    return value->items();
}

}  // namespace attn
