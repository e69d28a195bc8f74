/// Snippets for both ends of a model: tokens, embeddings and probabilities.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "engine/snippet/python_text.hpp"
#include "engine/snippet/script.hpp"

namespace attn::snippet {
namespace {

/// Whether looking up the texts in the vocabulary gives the recorded ids.
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

}  // namespace

void write_tokens(Script& script, const SnippetTexts& texts) {
    const bool source = script.id().stack == Stack::Encoder;
    const TokenBatch& batch = script.trace().tokens_of(script.id().stack);
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

void write_embed(Script& script) {
    const std::string tokens = script.input();
    const std::string table = script.parameter(script.node().weight, "E");
    script.remark("A lookup; the same as one-hot rows times E.");
    script.needs_functional();
    const double factor = script.node().settings.factor;
    const std::string times = factor == 1 ? "" : fmt::format(" * {:.17g}", factor);
    script.line(fmt::format("token_embedding = {}[{}]{}", table, tokens, times),
                fmt::format("token_embedding = F.embedding({}, {}){}", tokens, table, times));
}

void write_positions(Script& script) {
    const std::string sizes = fmt::format("{}, {}, {}", script.size(Axis::B), script.size(Axis::T), script.size(Axis::C));
    script.line("B, T, C = " + sizes);
    if (const PlanParameter& table = script.node().weight; !table.empty()) {
        script.parameter(table, "P", script.size(Axis::T));
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

void write_segments(Script& script) {
    const TokenBatch& batch = script.trace().tokens_of(script.id().stack);
    const std::vector<std::int32_t> all = batch.segments.empty() ? std::vector<std::int32_t>(batch.ids.size()) : batch.segments;
    script.integers("segments", {batch.size(), batch.length}, {all.begin(), all.end()});
    const std::string table = script.parameter(script.node().weight, "S");
    script.remark("Which part of the text a token belongs to.");
    script.line(fmt::format("segment_embedding = {}[segments]", table));
}

void write_probabilities(Script& script) {
    const std::string logits = script.input();
    if (script.torch()) return script.line(fmt::format("probabilities = torch.softmax({}, dim=-1)", logits));
    script.line(fmt::format("e = np.exp({0} - {0}.max(axis=-1, keepdims=True))", logits));
    script.line("probabilities = e / e.sum(axis=-1, keepdims=True)");
}

}  // namespace attn::snippet
