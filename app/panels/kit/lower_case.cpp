#include "app/panels/kit/lower_case.hpp"

#include <algorithm>
#include <cctype>

namespace attn::app {

std::string lower_case(std::string_view text) {
    std::string result(text);
    std::transform(result.begin(), result.end(), result.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return result;
}

}  // namespace attn::app
