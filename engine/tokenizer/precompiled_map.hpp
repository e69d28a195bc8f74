#pragma once
/// SentencePiece's compiled character map: a double-array trie from texts to their normal form.
/// Layout: u32 length of the trie in bytes, the trie's units (u32), then texts that end in NUL bytes. Little-endian.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/tokenizer/aligned_text.hpp"

namespace attn {

class PrecompiledMap {
public:
    /// `bytes` as decoded from Base64. Throws ConfigError when they are not such a map.
    explicit PrecompiledMap(std::string bytes);

    /// Graphemes shorter than 6 bytes are looked up whole, the rest and what is not found by character. The shortest prefix that the trie
    /// knows decides, as in the tokenizers library, which models were trained and published with.
    AlignedText apply(const AlignedText& text) const;

    struct Found {
        std::size_t bytes = 0;  ///< at the front of the text
        std::string_view by;    ///< their normal form
    };
    /// The longest front of a text that the trie knows: what SentencePiece itself replaces.
    std::optional<Found> longest(std::string_view text) const;

private:
    /// Calls use(bytes, normal form) for every front of the text that the trie knows, the shortest first, until it returns false.
    template <class Use>
    void each_front(std::string_view text, Use&& use) const;
    std::optional<std::string_view> find(std::string_view chunk) const;

    std::vector<std::uint32_t> units_;
    std::string texts_;
};

/// The bytes of a Base64 text; nothing for anything else.
std::optional<std::string> from_base64(std::string_view text);

}  // namespace attn
