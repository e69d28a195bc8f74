#include "engine/io/home_path.hpp"

#include <cstdlib>

namespace attn {

std::string without_tilde(const std::string& path) {
    const char* home = std::getenv("HOME");
    if (home == nullptr || *home != '/' || (path != "~" && !path.starts_with("~/"))) return path;
    return home + path.substr(1);
}

}  // namespace attn
