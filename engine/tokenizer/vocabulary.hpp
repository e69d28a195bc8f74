#pragma once
/// Maps between token ids and their texts.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace attn {

class Vocabulary {
public:
    static constexpr std::int64_t kMaxIds = std::int64_t{1} << 22;

    /// Ids may come in any order and leave gaps. Throws ConfigError for an id that is taken or beyond kMaxIds. If a text is added twice,
    /// find() returns its last id.
    void add(std::string_view text, std::int64_t id);
    /// The id of a text.
    std::optional<std::int32_t> find(std::string_view text) const;
    /// The text of an id; nullptr if the id is unused.
    const std::string* text(std::int64_t id) const;
    /// How many different texts there are.
    std::int64_t count() const { return static_cast<std::int64_t>(ids_.size()); }
    /// One more than the largest id.
    std::int64_t size() const { return static_cast<std::int64_t>(texts_.size()); }

private:
    struct Hash : std::hash<std::string_view> {
        using is_transparent = void;
    };
    std::vector<std::optional<std::string>> texts_;
    std::unordered_map<std::string, std::int32_t, Hash, std::equal_to<>> ids_;
};

}  // namespace attn
