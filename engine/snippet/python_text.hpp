#pragma once
/// Python literals: strings and nested lists of numbers.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace attn::snippet {

/// An ASCII string literal. Invalid UTF-8 is written as lone surrogates, as Python itself does.
std::string python_string(std::string_view text);

/// "[[1, 2],\n [3, 4]]": lines after the first are indented by `indent` spaces, long ones are wrapped. Numbers have the fewest digits that
/// read back as the same float32; non-finite ones are "inf", "-inf" and "nan" with `prefix` ("np.").
std::string nested_list(std::span<const float> values, const std::vector<std::int64_t>& shape, std::size_t indent, std::string_view prefix);
std::string nested_list(std::span<const std::int64_t> values, const std::vector<std::int64_t>& shape, std::size_t indent);
/// A list of lists of strings.
std::string nested_list(const std::vector<std::vector<std::string>>& rows, std::size_t indent);
std::string flat_list(const std::vector<std::string>& values, std::size_t indent);

}  // namespace attn::snippet
