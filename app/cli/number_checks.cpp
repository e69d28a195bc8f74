#include "app/cli/number_checks.hpp"

#include <fmt/core.h>

#include <charconv>
#include <cstdint>

namespace attn::app {
namespace {

template <class Number>
bool is_number(const std::string& text) {
    Number number{};
    const char* const end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data(), end, number);
    return error == std::errc() && rest == end;
}

}  // namespace

std::string check_whole_number(const std::string& text) {
    return is_number<std::uint64_t>(text) ? "" : fmt::format("'{}' is not a whole number from 0 to {}", text, UINT64_MAX);
}

std::string check_number(const std::string& text) { return is_number<double>(text) ? "" : fmt::format("'{}' is not a number", text); }

}  // namespace attn::app
