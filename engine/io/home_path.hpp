#pragma once
/// "~" in paths that no shell has expanded.

#include <string>

namespace attn {

/// A typed path with "~" and "~/…" replaced by the home folder; any other one, and all if there is no home folder, unchanged.
std::string without_tilde(const std::string& path);

}  // namespace attn
