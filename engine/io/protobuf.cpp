#include "engine/io/protobuf.hpp"

#include <fmt/format.h>

#include <bit>

#include "engine/io/file_error.hpp"

namespace attn {
namespace {

FileError protobuf_error(FileFault fault, const std::string& source, std::uint64_t byte, std::string_view problem) {
    return {fault, source, fmt::format("byte {}", byte), problem};
}

}  // namespace

ProtobufMessage::ProtobufMessage(std::string_view bytes, std::string_view source, std::uint64_t first_byte)
    : bytes_(bytes), source_(source), first_byte_(first_byte) {}

std::uint64_t ProtobufMessage::take_number() {
    constexpr unsigned kLongest = 10;
    const std::size_t begin = at_;
    std::uint64_t value = 0;
    for (unsigned i = 0; i < kLongest; ++i) {
        if (at_ == bytes_.size()) throw protobuf_error(FileFault::Truncated, source_, first_byte_ + begin, "ends within a number");
        const auto byte = static_cast<unsigned char>(bytes_[at_++]);
        if (i + 1 == kLongest && byte > 1) break;
        value |= static_cast<std::uint64_t>(byte & 0x7FU) << (7 * i);
        if (byte < 0x80) return value;
    }
    throw protobuf_error(FileFault::Overflow, source_, first_byte_ + begin, "a number of more than 64 bits");
}

std::uint64_t ProtobufMessage::take_fixed(std::size_t bytes) {
    if (bytes_.size() - at_ < bytes) throw protobuf_error(FileFault::Truncated, source_, first_byte_ + at_, "ends within a number");
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < bytes; ++i) value |= static_cast<std::uint64_t>(static_cast<unsigned char>(bytes_[at_ + i])) << (8 * i);
    at_ += bytes;
    return value;
}

std::optional<ProtobufField> ProtobufMessage::next() {
    if (at_ == bytes_.size()) return std::nullopt;
    const std::size_t begin = at_;
    const std::uint64_t tag = take_number();
    constexpr std::uint64_t kMaxField = (std::uint64_t{1} << 29U) - 1;
    ProtobufField field;
    field.number = static_cast<std::uint32_t>(tag >> 3U);
    if (tag >> 3U == 0 || tag >> 3U > kMaxField)
        throw protobuf_error(FileFault::Format, source_, first_byte_ + begin, fmt::format("there is no field {}", tag >> 3U));
    field.wire = static_cast<ProtobufField::Wire>(tag & 7U);
    field.at = first_byte_ + at_;
    switch (field.wire) {
    case ProtobufField::Wire::Number:
        field.value = take_number();
        return field;
    case ProtobufField::Wire::Fixed64:
        field.value = take_fixed(8);
        return field;
    case ProtobufField::Wire::Fixed32:
        field.value = take_fixed(4);
        return field;
    case ProtobufField::Wire::Bytes: {
        const std::uint64_t length = take_number();
        if (length > bytes_.size() - at_)
            throw protobuf_error(
                FileFault::Truncated, source_, field.at,
                fmt::format("field {} declares {} bytes, but only {} are left", field.number, length, bytes_.size() - at_));
        field.at = first_byte_ + at_;
        field.bytes = bytes_.substr(at_, static_cast<std::size_t>(length));
        at_ += static_cast<std::size_t>(length);
        return field;
    }
    }
    throw protobuf_error(FileFault::Unsupported, source_, first_byte_ + begin,
                         fmt::format("field {} has wire type {}, which cannot be read", field.number, tag & 7U));
}

void ProtobufMessage::expect(const ProtobufField& field, ProtobufField::Wire wire, std::string_view what) const {
    if (field.wire != wire)
        throw protobuf_error(FileFault::Format, source_, field.at, fmt::format("field {} is not {}", field.number, what));
}

ProtobufMessage ProtobufMessage::message(const ProtobufField& field) const {
    expect(field, ProtobufField::Wire::Bytes, "a message");
    return {field.bytes, source_, field.at};
}

std::string ProtobufMessage::text(const ProtobufField& field) const {
    expect(field, ProtobufField::Wire::Bytes, "a string");
    return std::string(field.bytes);
}

float ProtobufMessage::real(const ProtobufField& field) const {
    expect(field, ProtobufField::Wire::Fixed32, "a number of 32 bits");
    return std::bit_cast<float>(static_cast<std::uint32_t>(field.value));
}

std::uint64_t ProtobufMessage::number(const ProtobufField& field) const {
    expect(field, ProtobufField::Wire::Number, "a whole number");
    return field.value;
}

}  // namespace attn
