#pragma once
/// A short Python program that recomputes one stage of a trace from its operands.

#include <cstdint>
#include <string>
#include <vector>

#include "engine/io/array_file.hpp"
#include "engine/trace/trace.hpp"

namespace attn {

enum class SnippetDialect : std::uint8_t { NumPy, PyTorch };

/// The texts behind the ids. Used only by the snippet of the tokens themselves, which writes ids without it.
struct SnippetTexts {
    std::vector<std::vector<std::string>> tokens, source_tokens;  ///< [B][T]; padding and unknown tokens by their names in the vocabulary
    std::vector<std::string> vocabulary;
};

struct SnippetOptions {
    SnippetDialect dialect = SnippetDialect::NumPy;
    bool operands_in_file = false;  ///< load operands from operands_file instead of writing them as literals
    std::string operands_file{};    ///< .npz file, by its name in the snippet
};

struct Snippet {
    std::string text;
    bool needs_file = false;           ///< loads `arrays` from the file, because that was asked for or literals would be too long
    std::vector<NamedArray> arrays{};  ///< the contents of that file, if needs_file
};

/// Operands whose literals would exceed this many bytes go to a file.
inline constexpr std::size_t kMostSnippetLiterals = 200'000;

/// Operands, the stage's formula in idiomatic NumPy or PyTorch, and an assertion that the result agrees with the recorded numbers within
/// 2e-5 + 1e-4 |value|. Uses the trace's masks, temperature, dropout pattern and edits. Throws Error if the trace has no such stage or was
/// computed with a mistake.
Snippet make_snippet(const Trace<float>& trace, const StageId& id, const SnippetTexts& texts, const SnippetOptions& options = {});

}  // namespace attn
