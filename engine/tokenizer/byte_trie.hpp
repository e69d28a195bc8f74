#pragma once
/// A map from strings to values, walked byte by byte.

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "engine/tensor/error.hpp"

namespace attn {

class ByteTrie {
public:
    static constexpr std::int32_t kRoot = 0, kNone = -1;

    /// Adding a string again replaces its value. The empty string is ignored. Throws ConfigError for a string of more than 1024 bytes and
    /// for strings that would take hundreds of megabytes; published vocabularies need a million nodes at most.
    void add(std::string_view text, std::int32_t value) {
        if (text.size() > kLongest)
            throw ConfigError("a token of " + std::to_string(text.size()) + " bytes is too long to be searched for; at most " +
                              std::to_string(kLongest) + " are accepted");
        std::int32_t node = kRoot;
        for (const char c : text) {
            const auto [place, fresh] = children_.try_emplace(key_of(node, c), static_cast<std::int32_t>(values_.size()));
            if (fresh && values_.size() == kMostNodes) throw ConfigError("the tokens are too long to be searched for together");
            if (fresh) values_.push_back(kNone);
            node = place->second;
        }
        if (text.empty()) return;
        values_[static_cast<std::size_t>(node)] = value;
        begins_[static_cast<unsigned char>(text.front())] = true;
    }
    /// Whether any string begins with this byte.
    bool begins(char byte) const { return begins_[static_cast<unsigned char>(byte)]; }
    /// The node after a byte; kNone if no string continues with it.
    std::int32_t child(std::int32_t node, char byte) const {
        const auto found = children_.find(key_of(node, byte));
        return found == children_.end() ? kNone : found->second;
    }
    /// The value of the string that ends at the node; kNone if none does.
    std::int32_t value(std::int32_t node) const { return values_[static_cast<std::size_t>(node)]; }

private:
    static constexpr std::size_t kLongest = 1024;
    static constexpr std::size_t kMostNodes = std::size_t{3} << 20;
    static std::uint64_t key_of(std::int32_t node, char byte) {
        return (static_cast<std::uint64_t>(node) << 8U) | static_cast<unsigned char>(byte);
    }
    std::unordered_map<std::uint64_t, std::int32_t> children_;
    std::vector<std::int32_t> values_{kNone};
    std::array<bool, 256> begins_{};
};

}  // namespace attn
