#pragma once
/// The text a character model learns by default.

#include <memory>
#include <string>

namespace attn {

/// About 30 kB of English prose written for this program; always the same object.
const std::shared_ptr<const std::string>& sample_text();

}  // namespace attn
