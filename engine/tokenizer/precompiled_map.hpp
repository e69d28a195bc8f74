#pragma once
/// SentencePiece's compiled character map: a double-array trie from strings to their normalized form. Layout, little-endian: u32 size of
/// the trie in bytes, the trie's units (u32 each), then NUL-terminated strings.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/tokenizer/aligned_text.hpp"

namespace attn {

class PrecompiledMap {
public:
    /// `bytes` are Base64-decoded. Throws ConfigError if they are not such a map.
    explicit PrecompiledMap(std::string bytes);

    /// Looks up graphemes shorter than 6 bytes as a whole; longer ones, and those not found, character by character. The shortest prefix in
    /// the trie decides. These rules are those of the tokenizers library, with which models are used in practice.
    AlignedText apply(const AlignedText& text) const;

    struct Found {
        std::size_t bytes = 0;  ///< length of the prefix
        std::string_view by;    ///< its normalized form
    };
    /// The longest prefix in the trie, which is what SentencePiece itself replaces.
    std::optional<Found> longest(std::string_view text) const;

private:
    /// Calls use(bytes, normalized form) for every prefix in the trie, shortest first, until it returns false.
    template <class Use>
    void each_front(std::string_view text, Use&& use) const;
    std::optional<std::string_view> find(std::string_view chunk) const;

    std::vector<std::uint32_t> units_;
    std::string texts_;
};

/// Decodes Base64; nullopt if it is invalid.
std::optional<std::string> from_base64(std::string_view text);

}  // namespace attn
