#pragma once
/// A problem as the beginning of a sentence.

#include <string>

namespace attn::app {

/// The problem with a capital letter, unless it begins with a name: of a setting ("d_model 15 is ...") or of a file ("tiny.gguf: ...").
std::string problem_sentence(std::string problem);

}  // namespace attn::app
