/// The ends of a model: tokens and embeddings, logits and probabilities.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "engine/snippet/python_text.hpp"
#include "engine/snippet/script.hpp"
#include "engine/trace/wiring.hpp"

namespace attn::snippet {
namespace {

/// True when looking the texts up gives the recorded ids.
bool spell_the_ids(const std::vector<std::vector<std::string>>& texts, const std::vector<std::string>& vocabulary,
                   const TokenBatch& batch) {
    if (static_cast<std::int64_t>(texts.size()) != batch.size()) return false;
    std::unordered_map<std::string, std::int32_t> ids;
    for (std::size_t i = 0; i < vocabulary.size(); ++i) ids[vocabulary[i]] = static_cast<std::int32_t>(i);
    std::size_t at = 0;
    for (const std::vector<std::string>& row : texts) {
        if (static_cast<std::int64_t>(row.size()) != batch.length) return false;
        for (const std::string& text : row) {
            const auto found = ids.find(text);
            if (found == ids.end() || found->second != batch.ids[at++]) return false;
        }
    }
    return true;
}

void write_tokens(Script& script, const SnippetTexts& texts) {
    const bool source = script.id().stack == Stack::Encoder;
    const TokenBatch& batch = source ? script.trace().source_tokens : script.trace().tokens;
    const auto& words = source ? texts.source_tokens : texts.tokens;
    if (!spell_the_ids(words, texts.vocabulary, batch)) {
        script.integers("ids", {batch.size(), batch.length}, {batch.ids.begin(), batch.ids.end()});
        return script.line("tokens = ids");
    }
    script.line("vocabulary = " + flat_list(texts.vocabulary, 13));
    script.line("texts = " + nested_list(words, 8));
    script.line("ids = {text: i for i, text in enumerate(vocabulary)}");
    script.line("tokens = np.array([[ids[text] for text in row] for row in texts])",
                "tokens = torch.tensor([[ids[text] for text in row] for row in texts])");
}

void write_token_embedding(Script& script) {
    const std::string tokens = script.operand(stage_inputs(script.config(), script.id()).at(0));
    const std::string table = script.parameter("token_embedding.weight", "E");
    script.remark("A lookup; the same as one-hot rows times E.");
    script.needs_functional();
    script.line(fmt::format("token_embedding = {}[{}]", table, tokens),
                fmt::format("token_embedding = F.embedding({}, {})", tokens, table));
}

void write_position_embedding(Script& script) {
    const std::string sizes = fmt::format("{}, {}, {}", script.size(Axis::B), script.size(Axis::T), script.size(Axis::C));
    script.line("B, T, C = " + sizes);
    if (script.config().position == PositionKind::Learned) {
        script.parameter("position_embedding.weight", "P", 0, 0, script.size(Axis::T));
        script.remark("Row t of the learned table, whatever the token.");
        return script.line("position_embedding = np.broadcast_to(P, (B, T, C))", "position_embedding = P.expand(B, T, C)");
    }
    script.remark("Sines in the even columns, cosines in the odd ones.");
    script.line("position = np.arange(T)[:, None]", "position = torch.arange(T, dtype=torch.float64)[:, None]");
    script.line("angles = position * 10000.0 ** (-np.arange(0, C, 2) / C)",
                "angles = position * 10000.0 ** (-torch.arange(0, C, 2, dtype=torch.float64) / C)");
    script.line("table = np.zeros((T, C))", "table = torch.zeros((T, C), dtype=torch.float32)");
    script.line("table[:, 0::2] = np.sin(angles)", "table[:, 0::2] = torch.sin(angles)");
    script.line("table[:, 1::2] = np.cos(angles[:, : C // 2])", "table[:, 1::2] = torch.cos(angles[:, : C // 2])");
    script.line("position_embedding = np.broadcast_to(table, (B, T, C))", "position_embedding = table.expand(B, T, C)");
}

void write_embedding(Script& script) {
    std::string sum;
    for (const StageId& input : stage_inputs(script.config(), script.id())) sum += (sum.empty() ? "" : " + ") + script.operand(input);
    write_dropout(script, "embedding", sum, script.trace().settings.dropout.embedding, script.id());
}

void write_logits(Script& script) {
    const std::string x = script.operand(stage_inputs(script.config(), script.id()).at(0));
    if (!script.config().tied_lm_head) return script.line("logits = " + x + " @ " + script.parameter("lm_head.weight", "W_head"));
    const std::string table = script.parameter("token_embedding.weight", "E");
    script.remark("The head is the token embedding, transposed.");
    script.line(fmt::format("logits = {} @ {}.T", x, table));
}

void write_probabilities(Script& script) {
    const std::string logits = script.operand(stage_inputs(script.config(), script.id()).at(0));
    if (script.torch()) return script.line(fmt::format("probabilities = torch.softmax({}, dim=-1)", logits));
    script.line(fmt::format("e = np.exp({0} - {0}.max(axis=-1, keepdims=True))", logits));
    script.line("probabilities = e / e.sum(axis=-1, keepdims=True)");
}

}  // namespace

void write_embedding_code(Script& script, const SnippetTexts& texts) {
    switch (script.id().stage) {
    case Stage::Tokens:
        return write_tokens(script, texts);
    case Stage::TokenEmbedding:
        return write_token_embedding(script);
    case Stage::PositionEmbedding:
        return write_position_embedding(script);
    case Stage::Embedding:
        return write_embedding(script);
    case Stage::Logits:
        return write_logits(script);
    default:
        return write_probabilities(script);
    }
}

}  // namespace attn::snippet
