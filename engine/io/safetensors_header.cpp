#include "engine/io/safetensors_header.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "engine/io/file_error.hpp"
#include "engine/io/json.hpp"
#include "engine/io/json_text_check.hpp"
#include "engine/io/safetensors.hpp"

namespace attn {
namespace {

using nlohmann::json;

constexpr std::uint64_t kLengthBytes = 8;
constexpr std::uint64_t kGitPointerStart = 0x206e6f6973726576;  // "version "
constexpr std::string_view kMetadataKey = "__metadata__";

/// Accepts the only structure a header may have:
///   { "__metadata__": {string: string}, name: {"dtype": string, "shape": [sizes], "data_offsets": [begin, end]}, ... }
class HeaderBuilder final : public nlohmann::json_sax<json> {
public:
    HeaderBuilder(std::string_view source, std::uint64_t first_byte) : source_(source), first_byte_(first_byte) {}
    SafetensorsHeader header;

    bool null() override { return other("null"); }
    bool boolean(bool value) override { return other(value ? "true" : "false"); }
    bool number_integer(number_integer_t value) override {
        if (in_ != Inside::Shape && in_ != Inside::Offsets) return other("a number");
        fail(FileFault::Range, fmt::format("{} is negative", value));
    }
    bool number_float(number_float_t, const string_t& text) override {
        if (in_ != Inside::Shape && in_ != Inside::Offsets) return other("a number");
        fail(FileFault::Range, fmt::format("{} is not a 64-bit integer", escaped(text)));
    }
    bool number_unsigned(number_unsigned_t value) override;
    bool string(string_t& value) override;
    bool binary(binary_t&) override { return false; }  // JSON text has no binary values
    bool start_object(std::size_t) override;
    bool key(string_t& value) override;
    bool end_object() override;
    bool start_array(std::size_t) override;
    bool end_array() override;
    bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception& error) override {
        const bool too_large = dynamic_cast<const json::out_of_range*>(&error) != nullptr;
        throw FileError(too_large ? FileFault::Range : FileFault::Format, source_, fmt::format("byte {}", first_byte_ + position),
                        too_large ? "a number is too large" : "the header is not valid JSON");
    }

private:
    enum class Inside { Nothing, Top, Metadata, Entry, Shape, Offsets };
    enum Field : unsigned { kNoField = 0, kDtype = 1, kShape = 2, kOffsets = 4 };

    [[noreturn]] void fail(FileFault fault, std::string_view problem) const {
        std::string place = "header";
        if (in_ != Inside::Nothing && in_ != Inside::Top) place += " /" + escaped(name_);
        if (in_ == Inside::Entry || in_ == Inside::Shape || in_ == Inside::Offsets || in_ == Inside::Metadata)
            place += "/" + escaped(field_name_);
        throw FileError(fault, source_, place, problem);
    }
    /// A value of a type that is invalid at the current place.
    bool other(std::string_view found) const {
        switch (in_) {
        case Inside::Nothing:
            fail(FileFault::Format, fmt::format("expected an object, found {}", found));
        case Inside::Top:
            fail(FileFault::Format, fmt::format("\"{}\": expected an object, found {}", escaped(name_), found));
        case Inside::Metadata:
            fail(FileFault::Format, fmt::format("expected a string, found {}", found));
        case Inside::Entry:
            fail(FileFault::Format, fmt::format("expected {}, found {}", field_ == kDtype ? "a string" : "a list", found));
        case Inside::Shape:
        case Inside::Offsets:
            fail(FileFault::Range, fmt::format("expected an integer, found {}", found));
        }
        return false;
    }
    void finish_entry();

    std::string_view source_;
    std::uint64_t first_byte_;
    Inside in_ = Inside::Nothing;
    std::string name_;        ///< key at the top level
    std::string field_name_;  ///< key one level down
    bool has_metadata_ = false;
    Field field_ = kNoField;
    unsigned fields_seen_ = 0;  ///< bit set of the entry's fields
    std::vector<std::uint64_t> offsets_;
    SafetensorsEntry entry_;
};

bool HeaderBuilder::number_unsigned(number_unsigned_t value) {
    if (in_ == Inside::Shape) {
        if (value > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
            fail(FileFault::Range, fmt::format("size {} is too large", value));
        if (entry_.shape.size() == kMaxArrayRank) fail(FileFault::Limit, fmt::format("more than {} axes", kMaxArrayRank));
        entry_.shape.push_back(static_cast<std::int64_t>(value));
        return true;
    }
    if (in_ != Inside::Offsets) return other("a number");
    if (offsets_.size() == 2) fail(FileFault::Format, "expected [begin, end], found more numbers");
    offsets_.push_back(value);
    return true;
}

bool HeaderBuilder::string(string_t& value) {
    if (in_ == Inside::Metadata) {
        if (!header.metadata.emplace(field_name_, std::move(value)).second) fail(FileFault::Duplicate, "given twice");
        if (header.metadata.size() > kMaxArrays) fail(FileFault::Limit, fmt::format("more than {} metadata entries", kMaxArrays));
        return true;
    }
    if (in_ != Inside::Entry || field_ != kDtype) return other("a string");
    const std::optional<DType> dtype = dtype_from_name(value);
    if (!dtype) fail(FileFault::Unsupported, fmt::format("element type \"{}\" cannot be read", escaped(value)));
    entry_.dtype = *dtype;
    return true;
}

bool HeaderBuilder::start_object(std::size_t) {
    switch (in_) {
    case Inside::Nothing:
        in_ = Inside::Top;
        return true;
    case Inside::Top:
        in_ = name_ == kMetadataKey ? Inside::Metadata : Inside::Entry;
        field_name_.clear();
        field_ = kNoField;
        fields_seen_ = 0;
        entry_ = {};
        return true;
    default:
        return other("an object");
    }
}

bool HeaderBuilder::key(string_t& value) {
    if (in_ == Inside::Top) {
        if (value == kMetadataKey) {
            if (has_metadata_) fail(FileFault::Duplicate, "\"__metadata__\" is given twice");
            has_metadata_ = true;
        } else {
            if (value.size() > kMaxArrayName)
                fail(FileFault::Limit,
                     fmt::format("tensor name \"{}\" of {} bytes; at most {} are read", escaped(value), value.size(), kMaxArrayName));
            if (header.entries.size() == kMaxArrays) fail(FileFault::Limit, fmt::format("more than {} tensors", kMaxArrays));
        }
        name_ = std::move(value);
        return true;
    }
    field_name_ = std::move(value);
    if (in_ == Inside::Metadata) return true;
    field_ = kNoField;
    if (field_name_ == "dtype") field_ = kDtype;
    if (field_name_ == "shape") field_ = kShape;
    if (field_name_ == "data_offsets") field_ = kOffsets;
    if (field_ == kNoField) fail(FileFault::Format, "there is no such field; expected dtype, shape or data_offsets");
    if ((fields_seen_ & field_) != 0) fail(FileFault::Duplicate, "given twice");
    fields_seen_ |= field_;
    return true;
}

bool HeaderBuilder::start_array(std::size_t) {
    if (in_ != Inside::Entry || field_ == kDtype) return other("a list");
    in_ = field_ == kShape ? Inside::Shape : Inside::Offsets;
    offsets_.clear();
    return true;
}

bool HeaderBuilder::end_array() {
    if (in_ == Inside::Offsets) {
        if (offsets_.size() != 2) fail(FileFault::Format, fmt::format("expected [begin, end], found {} numbers", offsets_.size()));
        entry_.begin = offsets_[0];
        entry_.end = offsets_[1];
    }
    in_ = Inside::Entry;
    return true;
}

bool HeaderBuilder::end_object() {
    if (in_ == Inside::Entry) finish_entry();
    in_ = in_ == Inside::Top ? Inside::Nothing : Inside::Top;
    return true;
}

void HeaderBuilder::finish_entry() {
    for (const auto& [field, text] : {std::pair(kDtype, "dtype"), std::pair(kShape, "shape"), std::pair(kOffsets, "data_offsets")}) {
        if ((fields_seen_ & field) != 0) continue;
        field_name_ = text;
        fail(FileFault::Format, "this field is missing");
    }
    entry_.name = name_;
    header.entries.push_back(std::move(entry_));
}

/// The rules that involve several entries.
class EntryCheck {
public:
    EntryCheck(const std::vector<SafetensorsEntry>& entries, std::string_view source) : source_(source) {
        sorted_.reserve(entries.size());
        for (const SafetensorsEntry& entry : entries) sorted_.push_back(&entry);
    }

    void names_differ() {
        std::sort(sorted_.begin(), sorted_.end(), [](const auto* a, const auto* b) { return a->name < b->name; });
        const auto same =
            std::adjacent_find(sorted_.begin(), sorted_.end(), [](const auto* a, const auto* b) { return a->name == b->name; });
        if (same != sorted_.end()) fail(FileFault::Duplicate, **same, "the name is given twice");
    }

    /// First overflowing products, then their sum, then sizes that merely exceed this program's limits.
    void sizes_are_possible() const {
        std::int64_t sum = 0;
        for (const SafetensorsEntry* entry : sorted_) {
            const std::optional<std::uint64_t> bytes = checked_bytes(entry->shape, entry->dtype);
            if (!bytes)
                fail(FileFault::Overflow, *entry, fmt::format("the number of bytes of shape {} overflows", shape_text(entry->shape)));
            if (__builtin_add_overflow(sum, static_cast<std::int64_t>(*bytes), &sum))
                fail(FileFault::Overflow, *entry, "the sum of the tensors' bytes overflows");
        }
        for (const SafetensorsEntry* entry : sorted_)
            for (const std::int64_t size : entry->shape)
                if (size > kMaxArrayDim)
                    fail(FileFault::Limit, *entry, fmt::format("an axis of {}; at most {} are read", size, kMaxArrayDim));
    }

    void ranges_tile(std::uint64_t data_bytes) {
        for (const SafetensorsEntry* entry : sorted_) {
            const std::uint64_t expected = *checked_bytes(entry->shape, entry->dtype);
            if (entry->end < entry->begin || entry->end - entry->begin != expected)
                fail(FileFault::Range, *entry,
                     fmt::format("data_offsets [{}, {}] do not hold the {} bytes of shape {}", entry->begin, entry->end, expected,
                                 shape_text(entry->shape)));
        }
        std::sort(sorted_.begin(), sorted_.end(),
                  [](const auto* a, const auto* b) { return std::pair(a->begin, a->end) < std::pair(b->begin, b->end); });
        std::uint64_t covered = 0;
        for (const SafetensorsEntry* entry : sorted_) {
            if (entry->begin != covered)
                fail(FileFault::Range, *entry,
                     fmt::format("data begin at {}, {} the end of the tensor before at {}", entry->begin,
                                 entry->begin < covered ? "before" : "with a gap after", covered));
            covered = entry->end;
        }
        if (covered > data_bytes)
            throw FileError(FileFault::Truncated, source_, "",
                            fmt::format("the tensors need {} bytes of data, the file has {}", covered, data_bytes));
        if (covered < data_bytes)
            throw FileError(FileFault::Range, source_, "", fmt::format("{} bytes follow the last tensor", data_bytes - covered));
    }

private:
    [[noreturn]] void fail(FileFault fault, const SafetensorsEntry& entry, const std::string& problem) const {
        throw FileError(fault, source_, "header /" + escaped(entry.name), problem);
    }

    std::vector<const SafetensorsEntry*> sorted_;
    std::string_view source_;
};

std::uint64_t read_header_length(ByteSource& source) {
    if (source.size() < kLengthBytes)
        throw source.error(FileFault::Truncated, fmt::format("{} bytes are too few for a .safetensors file", source.size()));
    std::uint64_t length = 0;
    source.read(std::as_writable_bytes(std::span(&length, 1)));
    if (length == kGitPointerStart) throw FileError(FileFault::Format, source.name(), "", kGitPointerWords);
    if (length > kMaxSafetensorsHeader)
        throw source.error_at(
            FileFault::Limit, 0,
            fmt::format("a header of {} bytes; at most {} are read (is this a .safetensors file?)", length, kMaxSafetensorsHeader));
    if (length > source.remaining())
        throw source.error_at(FileFault::Truncated, 0,
                              fmt::format("a header of {} bytes is declared, but only {} are left", length, source.remaining()));
    if (length < 2) throw source.error_at(FileFault::Truncated, 0, fmt::format("a header of {} bytes is too short", length));
    return length;
}

}  // namespace

SafetensorsHeader parse_safetensors_header(std::string_view text, std::string_view source, std::uint64_t first_byte,
                                           std::uint64_t data_bytes) {
    check_json_text(text, source, first_byte);
    HeaderBuilder builder(source, first_byte);
    json::sax_parse(text, &builder);  // the builder throws every error
    EntryCheck check(builder.header.entries, source);
    check.names_differ();
    check.sizes_are_possible();
    check.ranges_tile(data_bytes);
    return std::move(builder.header);
}

SafetensorsHeader read_safetensors_header(ByteSource& source) {
    // More than the fields of so many tensors take; a longer header is refused before it is in memory.
    constexpr std::uint64_t kMostValues = 16 * kMaxArrays, kPiece = std::uint64_t{64} << 10;
    const std::uint64_t length = read_header_length(source);
    JsonTextCheck check(source.name(), kLengthBytes, {.values = kMostValues});
    std::string text, piece;
    while (text.size() < length) {
        piece.resize(static_cast<std::size_t>(std::min(kPiece, length - text.size())));
        source.read(std::as_writable_bytes(std::span(piece)));
        check.add(piece);
        text += piece;
    }
    return parse_safetensors_header(text, source.name(), kLengthBytes, source.remaining());
}

}  // namespace attn
