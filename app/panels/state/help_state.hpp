#pragma once
/// The state of the help sheet.

#include <string>

namespace attn::app {

struct HelpState {
    int page = 0;        ///< 0: the sheet of keys; from 1: help_pages()
    std::string search;  ///< the search text; "" shows the page
};

}  // namespace attn::app
