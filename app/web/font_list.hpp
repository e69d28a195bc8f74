#pragma once
/// Which of the page's fonts have which letters: the text of fonts/list.txt, a line for each file, as "Name.ttf 5b0-5ff fb1d" in
/// hexadecimal.

#include <string>
#include <string_view>

#include "app/platform/system_fonts.hpp"

namespace attn::app {

/// The listed font with the most of these letters, by its name; has no letters if no font contains any. Of ranges that are none, and of
/// lines without a name, nothing is taken.
SystemFont best_listed_font(const std::string& list, const LetterSet& letters);

}  // namespace attn::app
