#pragma once
/// Which page of the help sheet is read.

#include <string>

namespace attn::app {

struct HelpState {
    int page = 0;        ///< 0: the keys; from 1: help_pages()
    std::string search;  ///< typed; "" shows the page
};

}  // namespace attn::app
