#pragma once
/// Writes GGUF files for tests.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tests/engine/io_support.hpp"

namespace attn::test {

inline std::string gguf_text(std::string_view value) { return le<std::uint64_t>(value.size()) + std::string(value); }
inline std::string gguf_key(std::string_view name, std::uint32_t type, const std::string& value) {
    return gguf_text(name) + le(type) + value;
}
inline std::string gguf_list(std::uint32_t type, std::uint64_t count, const std::string& values) { return le(type) + le(count) + values; }

inline std::string gguf_texts(const std::vector<std::string>& texts) {
    std::string values;
    for (const std::string& text : texts) values += gguf_text(text);
    return gguf_list(8, texts.size(), values);
}
template <class T>
std::string gguf_numbers(std::uint32_t type, const std::vector<T>& numbers) {
    std::string values;
    for (const T number : numbers) values += le(number);
    return gguf_list(type, numbers.size(), values);
}

/// A file with metadata only.
struct GgufKeys {
    std::string keys;
    std::uint64_t count = 0;

    void add(std::string_view name, std::uint32_t type, const std::string& value) {
        keys += gguf_key(name, type, value);
        ++count;
    }
    void add_text(std::string_view name, std::string_view value) { add(name, 8, gguf_text(value)); }
    void add_id(std::string_view name, std::uint32_t value) { add(name, 4, le(value)); }
    void add_truth(std::string_view name, bool value) { add(name, 7, le<std::uint8_t>(value ? 1 : 0)); }
    std::string bytes() const { return "GGUF" + le<std::uint32_t>(3) + le<std::uint64_t>(0) + le(count) + keys; }
};

}  // namespace attn::test
