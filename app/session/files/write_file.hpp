#pragma once
/// How the session is asked to write a file.

#include <filesystem>
#include <functional>

#include "engine/io/write_watch.hpp"

namespace attn::app {

/// Writes the file as a whole. Throws Error, and Cancelled as the watch asks.
using WriteFile = std::function<void(const std::filesystem::path&, const WriteWatch&)>;

}  // namespace attn::app
