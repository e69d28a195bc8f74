#pragma once
/// What can be refused of a JSON text before anything is built from it.

#include <cstdint>
#include <filesystem>
#include <limits>
#include <string_view>

namespace attn {

struct JsonTextLimits {
    std::uint64_t string_bytes = std::numeric_limits<std::uint64_t>::max();
    std::uint64_t values = std::numeric_limits<std::uint64_t>::max();
};

/// Looks, piece by piece, for what the parser would silently skip, for too many nested brackets, and for what exceeds the limits.
class JsonTextCheck {
public:
    /// `source` names the text in messages, whose byte offsets start at first_byte.
    explicit JsonTextCheck(std::string_view source, std::uint64_t first_byte = 0, JsonTextLimits limits = {})
        : source_(source), at_(first_byte), first_byte_(first_byte), limits_(limits) {}
    /// The next piece of the text. Throws FileError(Format or Limit).
    void add(std::string_view piece);

private:
    void count_value();

    std::string_view source_;
    std::uint64_t at_, first_byte_;
    JsonTextLimits limits_;
    std::uint64_t values_ = 0, string_bytes_ = 0;
    int depth_ = 0;
    bool in_string_ = false, escaped_ = false;
};

/// Does the same for a file and then checks its syntax, in little memory. Throws FileError like Json::parse(), Limit beyond max_bytes.
void check_json_file(const std::filesystem::path& path, std::uint64_t max_bytes, JsonTextLimits limits);

}  // namespace attn
