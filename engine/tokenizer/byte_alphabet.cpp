#include "engine/tokenizer/byte_alphabet.hpp"

#include <array>

#include "engine/tokenizer/aligned_text.hpp"

namespace attn {
namespace {

constexpr char32_t kFirstStandIn = 0x100, kStandIns = 68;

constexpr bool is_printable(unsigned byte) { return (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174; }

struct Alphabet {
    std::array<std::string, 256> letters;
    std::array<std::uint8_t, kFirstStandIn + kStandIns> bytes{};
    std::array<bool, kFirstStandIn + kStandIns> known{};

    Alphabet() {
        char32_t next = kFirstStandIn;
        for (unsigned byte = 0; byte < 256; ++byte) {
            const char32_t letter = is_printable(byte) ? byte : next++;
            letters[byte] = utf8_of(letter);
            bytes[letter] = static_cast<std::uint8_t>(byte);
            known[letter] = true;
        }
    }
};

const Alphabet& alphabet() {
    static const Alphabet one;
    return one;
}

}  // namespace

std::string_view byte_letter(unsigned char byte) { return alphabet().letters[byte]; }

std::optional<unsigned char> byte_of_letter(char32_t letter) {
    const Alphabet& all = alphabet();
    if (letter >= all.known.size() || !all.known[letter]) return std::nullopt;
    return all.bytes[letter];
}

std::string letters_of_bytes(std::string_view bytes) {
    std::string letters;
    for (const char byte : bytes) letters += byte_letter(static_cast<unsigned char>(byte));
    return letters;
}

std::optional<std::string> bytes_of_letters(std::string_view letters) {
    std::string out;
    bool all = true;
    each_character(letters, [&](char32_t letter, std::size_t, std::size_t) {
        const std::optional<unsigned char> byte = byte_of_letter(letter);
        all = all && byte.has_value();
        if (byte) out += static_cast<char>(*byte);
    });
    if (!all) return std::nullopt;
    return out;
}

}  // namespace attn
