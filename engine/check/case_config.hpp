#pragma once
/// Reads the configuration in a reference file's metadata.

#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/io/json_object.hpp"

namespace attn::check {

/// Fields by name. Throws FileError naming the file and the field if a field is out of range, or missing without a default.
class CaseConfig {
public:
    CaseConfig(std::string_view text, std::string_view file) : json_(text, std::string(file) + ", config") {}

    std::int64_t size(std::string_view key) { return required<std::int64_t>(key, std::int64_t{1}, std::int64_t{1} << 24); }
    double number(std::string_view key, double min, double max) { return required<double>(key, min, max); }
    std::array<double, 2> pair(std::string_view key, double min, double max) {
        const std::vector<double> values = required<std::vector<double>>(key, min, max);
        if (values.size() != 2) fail(key, "expected two numbers, found " + std::to_string(values.size()));
        return {values[0], values[1]};
    }
    bool flag(std::string_view key) { return required<bool>(key); }
    bool flag(std::string_view key, bool absent) { return has(key) ? flag(key) : absent; }
    std::string text(std::string_view key) { return required<std::string>(key); }
    std::string text(std::string_view key, std::string absent) { return has(key) ? text(key) : std::move(absent); }
    bool has(std::string_view key) const { return json_.has(key); }
    [[noreturn]] void fail(std::string_view key, std::string_view problem) const { json_.fail(key, problem); }

private:
    template <class Value, class... Range>
    Value required(std::string_view key, Range... range) {
        Value value{};
        if (!json_.read(key, value, range...)) json_.fail_missing(key);
        return value;
    }
    JsonObject json_;
};

}  // namespace attn::check
