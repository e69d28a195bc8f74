#pragma once
/// Reading messages in the wire format of Protocol Buffers, without trusting them.
/// Format: https://protobuf.dev/programming-guides/encoding

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace attn {

/// One field of a message.
struct ProtobufField {
    enum class Wire : std::uint8_t { Number = 0, Fixed64 = 1, Bytes = 2, Fixed32 = 5 };

    std::uint32_t number = 0;
    Wire wire = Wire::Number;
    std::uint64_t value = 0;  ///< of all but Bytes
    std::string_view bytes;   ///< of Bytes: a text or a message
    std::uint64_t at = 0;     ///< byte of the file where the content begins
};

class ProtobufMessage {
public:
    /// `bytes` must outlive it; they begin at `first_byte` of the file.
    ProtobufMessage(std::string_view bytes, std::string_view source, std::uint64_t first_byte = 0);

    /// The next field, nothing at the end. Throws FileError for a number or a length that goes beyond the message and for what the format
    /// does not have.
    std::optional<ProtobufField> next();

    /// The field as what the caller knows it to be; throws FileError(Format) when it is of another kind.
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
