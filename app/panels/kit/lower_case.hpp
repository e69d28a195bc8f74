#pragma once
/// Texts to be searched without regard to case.

#include <string>
#include <string_view>

namespace attn::app {

/// The Latin letters A to Z as small ones; all other characters as they are.
std::string lower_case(std::string_view text);

}  // namespace attn::app
