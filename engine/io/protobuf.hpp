#pragma once
/// Reads untrusted messages in Protocol Buffers' wire format: https://protobuf.dev/programming-guides/encoding

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace attn {

/// A field of a message.
struct ProtobufField {
    enum class Wire : std::uint8_t { Number = 0, Fixed64 = 1, Bytes = 2, Fixed32 = 5 };

    std::uint32_t number = 0;
    Wire wire = Wire::Number;
    std::uint64_t value = 0;  ///< for every wire type but Bytes
    std::string_view bytes;   ///< for Bytes: a string or a message
    std::uint64_t at = 0;     ///< byte offset of the content in the file
};

class ProtobufMessage {
public:
    /// `bytes` must outlive this object; first_byte is their offset in the file.
    ProtobufMessage(std::string_view bytes, std::string_view source, std::uint64_t first_byte = 0);

    /// The next field; nullopt at the end. Throws FileError for a number or length that extends beyond the message, and for an invalid wire
    /// type.
    std::optional<ProtobufField> next();

    /// The field's content as a given type; throws FileError(Format) if it has another wire type.
    ProtobufMessage message(const ProtobufField& field) const;
    std::string text(const ProtobufField& field) const;
    float real(const ProtobufField& field) const;
    std::uint64_t number(const ProtobufField& field) const;
    bool truth(const ProtobufField& field) const { return number(field) != 0; }

private:
    std::uint64_t take_number();
    std::uint64_t take_fixed(std::size_t bytes);
    void expect(const ProtobufField& field, ProtobufField::Wire wire, std::string_view what) const;

    std::string_view bytes_;
    std::string source_;
    std::uint64_t first_byte_;
    std::size_t at_ = 0;
};

}  // namespace attn
