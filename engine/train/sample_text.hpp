#pragma once
/// The text that a character model learns when the user brings none.

#include <memory>
#include <string>

namespace attn {

/// About 30 kB of English prose, written for this program; always the same object.
const std::shared_ptr<const std::string>& sample_text();

}  // namespace attn
