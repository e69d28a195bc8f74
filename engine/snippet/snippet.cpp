#include "engine/snippet/snippet.hpp"

#include <fmt/format.h>

#include "engine/io/file_error.hpp"
#include "engine/snippet/script.hpp"

namespace attn {
namespace {

bool is_attention(Stage stage) {
    const Stage self = to_self(stage);
    return self >= Stage::Q && self <= Stage::AttentionOut;
}

bool is_end(Stage stage) { return stage <= Stage::Embedding || stage == Stage::Logits || stage == Stage::Probabilities; }

/// What it is, and of which text: comments, so on one line each.
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
    // The formulas below are the right ones.
    if (trace.settings.mistake != Mistake::None)
        throw Error(fmt::format("a snippet computes a stage as it should be, but a mistake is switched on: {}",
                                mistake_info(trace.settings.mistake).words));
    snippet::Script script(trace, id, options.dialect);
    script.result();  // throws when there is none
    if (is_end(id.stage)) snippet::write_embedding_code(script, texts);
    else if (is_attention(id.stage)) snippet::write_attention_code(script);
    else snippet::write_block_code(script);
    snippet::write_edits(script);
    return script.finish(options, heading_of(trace, id, texts));
}

}  // namespace attn
