#include "engine/snippet/snippet.hpp"

#include <fmt/format.h>

#include "engine/io/file_error.hpp"
#include "engine/snippet/script.hpp"

namespace attn {
namespace {

void write_code(snippet::Script& script, const SnippetTexts& texts) {
    switch (script.node().op) {
    case Op::Tokens:
        return snippet::write_tokens(script, texts);
    case Op::Embed:
        return snippet::write_embed(script);
    case Op::Positions:
        return snippet::write_positions(script);
    case Op::Segments:
        return snippet::write_segments(script);
    case Op::Add:
        return snippet::write_add(script);
    case Op::Norm:
        return snippet::write_norm(script);
    case Op::Linear:
        return snippet::write_linear(script);
    case Op::Rotate:
        return snippet::write_rotate(script);
    case Op::Scores:
        return snippet::write_scores(script);
    case Op::Scale:
        return snippet::write_scale(script);
    case Op::Cap:
        return snippet::write_cap(script);
    case Op::Bias:
        return snippet::write_bias(script);
    case Op::Mask:
        return snippet::write_mask(script);
    case Op::Softmax:
        return snippet::write_softmax(script);
    case Op::Dropout:
        return snippet::write_dropped(script);
    case Op::Mix:
        return snippet::write_mix(script);
    case Op::JoinHeads:
        return snippet::write_join_heads(script);
    case Op::Activate:
        return snippet::write_activate(script);
    case Op::Multiply:
        return snippet::write_multiply(script);
    case Op::Probabilities:
        return snippet::write_probabilities(script);
    case Op::Given:
    case Op::PassOn:
    case Op::LinearByReshape:
    case Op::SoftmaxOverQueries:
    case Op::SoftmaxThenMask:
    case Op::DropoutLeftOn:
    case Op::JoinByReshape:
        break;  // refused before
    }
}

/// Says what the snippet computes and for which text, in comments of one line each.
std::string heading_of(const Trace<float>& trace, const StageId& id, const SnippetTexts& texts) {
    std::string heading = fmt::format("# {} {}, computed from its operands and compared with attnscope\n", tensor_name(id),
                                      trace.find(id)->value.shape().text());
    const auto& rows = id.stack == Stack::Encoder ? texts.source_tokens : texts.tokens;
    constexpr std::size_t kMostRows = 4, kMostCharacters = 90;
    for (std::size_t b = 0; b < rows.size() && b < kMostRows; ++b) {
        std::string text;
        for (const std::string& token : rows[b]) text += (text.empty() ? "" : " ") + token;
        heading += fmt::format("# tokens {}: {}\n", b, escaped(text, kMostCharacters));
    }
    return heading;
}

}  // namespace

Snippet make_snippet(const Trace<float>& trace, const StageId& id, const SnippetTexts& texts, const SnippetOptions& options) {
    // The formulas below are the correct ones.
    if (trace.settings.mistaken())
        throw Error(fmt::format("a snippet computes a stage correctly, but a deliberate mistake is active: {}",
                                mistake_info(trace.settings.mistake).words));
    snippet::Script script(trace, id, options.dialect);
    script.result();  // throws if there is none
    write_code(script, texts);
    snippet::write_edits(script);
    return script.finish(options, heading_of(trace, id, texts));
}

}  // namespace attn
