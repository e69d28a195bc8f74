#pragma once
/// One stage of a trace as a short Python program that computes it again from its operands.

#include <cstdint>
#include <string>
#include <vector>

#include "engine/io/array_file.hpp"
#include "engine/trace/trace.hpp"

namespace attn {

enum class SnippetDialect : std::uint8_t { NumPy, PyTorch };

/// What the tokens stand for; only the snippet of the tokens themselves needs it, and writes ids without it.
struct SnippetTexts {
    std::vector<std::vector<std::string>> tokens, source_tokens;  ///< [B][T], padding and unknown tokens under their vocabulary names
    std::vector<std::string> vocabulary;
};

struct SnippetOptions {
    SnippetDialect dialect = SnippetDialect::NumPy;
    bool operands_in_file = false;  ///< the snippet loads its operands from `operands_file` instead of spelling them out
    std::string operands_file{};    ///< .npz; as named in the snippet
};

struct Snippet {
    std::string text;
    bool needs_file = false;           ///< it loads `arrays` from the file: as asked for, or since they are too many to be read as text
    std::vector<NamedArray> arrays{};  ///< what that file has to hold, when needs_file
};

/// Literal operands beyond this many bytes of text go to a file.
inline constexpr std::size_t kMostSnippetLiterals = 200'000;

/// Operands, the stage's formula in the idiom of NumPy or PyTorch, and a comparison with the recorded numbers (2e-5 + 1e-4 of the value),
/// which fails where they differ. Masks, temperature, the dropout pattern and edits are those of the trace. Throws Error when the trace has
/// no such stage, or was computed with a mistake.
Snippet make_snippet(const Trace<float>& trace, const StageId& id, const SnippetTexts& texts, const SnippetOptions& options = {});

}  // namespace attn
