#pragma once
/// Python source text: strings and nested lists of numbers.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace attn::snippet {

/// A string literal in plain ASCII. Bytes that are not UTF-8 become the lone surrogates that Python itself uses for them.
std::string python_string(std::string_view text);

/// "[[1, 2],\n [3, 4]]": lines after the first start `indent` spaces in, long ones are wrapped.
/// Numbers are the shortest that give the float32 back; what is not finite reads "inf", "-inf" and "nan" after `prefix` ("np.").
std::string nested_list(std::span<const float> values, const std::vector<std::int64_t>& shape, std::size_t indent, std::string_view prefix);
std::string nested_list(std::span<const std::int64_t> values, const std::vector<std::int64_t>& shape, std::size_t indent);
/// A list of lists of strings.
std::string nested_list(const std::vector<std::vector<std::string>>& rows, std::size_t indent);
std::string flat_list(const std::vector<std::string>& values, std::size_t indent);

}  // namespace attn::snippet
